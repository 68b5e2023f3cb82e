/* gpu_names.c - which device of the catalogue the name of a GPU means
 *
 * Devices are "a100_sxm4_80gb", "rtx_6000_ada_48gb". Their names and those of drivers
 * and gres types are cut into chip, form and memory, and words that identify nothing
 * are dropped. Drivers count memory without the part that error correction and firmware
 * take. A slice (MIG) is named by its device, or not, and its profile: "1g.5gb".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/gpu_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GB 1e9

struct name {
    char chip[DN_NAME_MAX]; /* "rtx3090" */
    char form[DN_NAME_MAX]; /* "sxm4"; "" none */
    int memory_gb;          /* 0: not stated; of the device, not of its slice */
    char slice[16];         /* "1g.5gb"; "" none */
};

static bool is_noise (const char *word)
{
    static const char noise[] =
        "nvidia tesla geforce amd instinct gpu mig generation oam design with hbm2 "
        "hbm2e hbm3 hbm3e blackwell server workstation edition";

    return dn_words_have (noise, dn_span_of (word));
}

/* "40", "40g", "40gb", of a chip whose name is complete */
static int memory_of (const char *word, bool after_chip)
{
    size_t n = strspn (word, "0123456789");
    int64_t gb = 0;
    bool is_size = strcmp (word + n, "g") == 0 || strcmp (word + n, "gb") == 0
                   || (after_chip && word[n] == '\0');

    if (n == 0 || !is_size
        || dn_int_read ((struct dn_span){word, n}, "memory", 1, 999, &gb, NULL) < 0)
        return 0;
    return (int) gb;
}

static void add_word (struct name *name, const char *word)
{
    int gb = memory_of (word, strpbrk (name->chip, "0123456789"));
    size_t len = strlen (name->chip);
    struct dn_buf buf;

    if (word[0] == '\0' || is_noise (word))
        return;
    if (gb > 0) {
        name->memory_gb = gb;
        return;
    }
    if (strncmp (word, "sxm", 3) == 0 || strcmp (word, "pcie") == 0
        || strcmp (word, "nvl") == 0)
        buf = dn_buf_on (name->form, sizeof (name->form));
    else
        buf = dn_buf_on (name->chip + len, sizeof (name->chip) - len);
    dn_buf_add (&buf, "%s", word);
}

static bool is_alnum (char c)
{
    return dn_is_digit (c) || (c >= 'a' && c <= 'z');
}

/* The length of a profile at 'text', "1g.5gb" or "1g.5gb+me", where a word begins; 0
 * for none. What it adds for media does not count.
 */
static size_t read_slice (const char *text, char slice[16])
{
    size_t len = strspn (text, "0123456789");
    size_t digits = 0;

    if (len == 0 || len > 2 || dn_lower (text[len]) != 'g' || text[len + 1] != '.')
        return 0;
    len += 2;
    digits = strspn (text + len, "0123456789");
    len += digits;
    if (digits == 0 || digits > 4 || dn_lower (text[len]) != 'g'
        || dn_lower (text[len + 1]) != 'b' || is_alnum (dn_lower (text[len + 2])))
        return 0;
    len += 2;
    for (size_t i = 0; i <= len; i++)
        slice[i] = i < len ? dn_lower (text[i]) : '\0';
    if (text[len] == '+')
        for (len++; is_alnum (dn_lower (text[len]));)
            len++;
    return len;
}

static struct name name_of (const char *text)
{
    struct name name = {.memory_gb = 0};
    char word[DN_NAME_MAX] = "";
    size_t len = 0;

    for (;; text++) {
        char c;

        if (len == 0)
            text += read_slice (text, name.slice);
        c = dn_lower (*text);
        if (is_alnum (c)) {
            if (len + 1 < sizeof (word))
                word[len++] = c;
            continue;
        }
        word[len] = '\0';
        add_word (&name, word);
        len = 0;
        if (*text == '\0')
            return name;
    }
}

/* --- products of drivers --------------------------------------------------------- */

/* How well the device matches; 0: it does not. The forms must be equal, as far as the
 * driver's goes ("SXM"), where both names have one; where the driver's has none, a
 * board other than cards is preferred.
 */
static int match (const struct dn_device *device, const char *product, double memory)
{
    const double near = 0.13; /* a K80 of 12 GiB reports 11.17 */
    struct name name = name_of (device->name);
    struct name driver = name_of (product);

    if (driver.chip[0] == '\0' || strcmp (name.chip, driver.chip) != 0
        || strcmp (name.slice, driver.slice) != 0
        || (memory > 0 && fabs (memory / device->memory - 1) > near)
        || (device->slice && driver.memory_gb > 0
            && abs (name.memory_gb - driver.memory_gb) > 1))
        return 0;
    if (strcmp (name.form, driver.form) == 0)
        return 3;
    if (driver.form[0] != '\0' && name.form[0] != '\0')
        return strncmp (name.form, driver.form, strlen (driver.form)) == 0 ? 3 : 0;
    return strcmp (name.form, "pcie") == 0 || strcmp (name.form, "nvl") == 0 ? 1 : 2;
}

const struct dn_device *dn_catalogue_find_product (const struct dn_catalogue *catalogue,
                                                   const char *product,
                                                   double memory,
                                                   struct dn_buf *best)
{
    const struct dn_device *found = NULL;
    const struct name driver = name_of (product);
    int most = 1;
    int n = 0;

    if (memory <= 0 && driver.slice[0] == '\0')
        memory = GB * driver.memory_gb;
    for (int i = 0; i < catalogue->n_devices; i++) {
        int how = match (&catalogue->devices[i], product, memory);

        if (how < most)
            continue;
        n = how > most ? 1 : n + 1;
        most = how;
        found = &catalogue->devices[i];
        if (best && n == 1)
            best->len = 0;
        if (best)
            dn_buf_add (best, "%s%s", n > 1 ? ", " : "", found->name);
    }
    return n == 1 ? found : NULL;
}

/* --- gres types ------------------------------------------------------------------ */

/* Does the chip of a device bear that name, in full or without its brand? 2: in full or
 * without its brand, 1: with a further word, 0: no.
 */
static int chip_matches (const char *device, const char *type)
{
    static const char *const brands[] = {"", "rtx", "gtx", "quadro", "quadrortx"};
    size_t len = strlen (type);
    int best = 0;

    for (size_t i = 0; i < DN_N_ELEMENTS (brands) && len > 0; i++) {
        size_t brand = strlen (brands[i]);
        const char *rest = device + brand;

        if (strncmp (device, brands[i], brand) != 0 || strncmp (rest, type, len) != 0)
            continue;
        rest += len;
        if (rest[0] == '\0')
            return 2;
        if (!dn_is_digit (rest[0]) && !dn_is_digit (type[0]))
            best = 1;
        if (strcmp (rest, "ada") == 0)
            return 2; /* "rtx6000" may be either */
    }
    return best;
}

static double gb_of (const struct dn_device *device)
{
    struct name name = name_of (device->name);

    return name.memory_gb > 0 ? name.memory_gb : round (device->memory / GB);
}

/* Do chip, form, memory and profile agree with what the name states? A profile alone
 * may be of any chip.
 */
static bool agrees (const struct dn_device *device, const struct name *type, int how)
{
    struct name name = name_of (device->name);

    if (device->generation->host || strcmp (name.slice, type->slice) != 0)
        return false;
    if (!(type->chip[0] == '\0' && type->slice[0] != '\0')
        && chip_matches (name.chip, type->chip) < how)
        return false;
    if (type->form[0] != '\0' && name.form[0] != '\0'
        && strncmp (type->form, name.form, strlen (type->form)) != 0)
        return false;
    return type->memory_gb == 0 || fabs (gb_of (device) - type->memory_gb) <= 1;
}

struct dn_gpus_meant dn_gpus_meant (const struct dn_catalogue *catalogue,
                                    const char *name)
{
    const struct name type = name_of (name);
    struct dn_gpus_meant meant = {.n = 0};

    for (int how = 2; how > 0 && meant.n == 0; how--)
        for (int i = 0; i < catalogue->n_devices && meant.n < DN_MEANT_MAX; i++)
            if (agrees (&catalogue->devices[i], &type, how))
                meant.list[meant.n++] = &catalogue->devices[i];
    return meant;
}

/* The most probable one: least memory, then the usual board. */
static const struct dn_device *choose (const struct dn_gpus_meant *meant,
                                       int64_t per_node)
{
    const struct dn_device *best = NULL;
    bool wants_pcie = per_node < 4;
    bool fits = false;

    for (int i = 0; i < meant->n; i++) {
        const struct dn_device *device = meant->list[i];
        bool is_pcie = strcmp (name_of (device->name).form, "pcie") == 0;

        if (!best || gb_of (device) < gb_of (best)
            || (gb_of (device) == gb_of (best) && !fits && is_pcie == wants_pcie)) {
            best = device;
            fits = is_pcie == wants_pcie;
        }
    }
    return best;
}

void dn_gpus_meant_write (const struct dn_gpus_meant *meant, struct dn_buf *buf)
{
    for (int i = 0; i < meant->n; i++)
        dn_buf_add (buf, "%s%s", i > 0 ? " or " : "", meant->list[i]->name);
}

/* Is it that product, or a slice of it? */
static bool is_of (const struct dn_device *device, const struct dn_device *product)
{
    size_t len = strlen (product->name);

    return device == product
           || (device->slice && strncmp (device->name, product->name, len) == 0
               && device->name[len] == '_');
}

struct dn_gpu_guess dn_gpu_guess (const struct dn_catalogue *catalogue,
                                  const char *type,
                                  int64_t per_node,
                                  const struct dn_products *products)
{
    struct dn_gpus_meant meant = dn_gpus_meant (catalogue, type);
    struct dn_gpu_guess guess = {.device = NULL};
    struct dn_buf doubt = dn_buf_on (guess.doubt, sizeof (guess.doubt));

    for (int i = 0; products && i < products->n; i++)
        for (int j = 0; j < meant.n; j++)
            if (is_of (meant.list[j], products->devices[i])) {
                guess.device = meant.list[j];
                return guess;
            }
    guess.device = choose (&meant, per_node);
    if (meant.n > 1) {
        dn_gpus_meant_write (&meant, &doubt);
        dn_buf_text (&doubt, "?");
    }
    return guess;
}

void dn_products_add (struct dn_products *products, const struct dn_device *device)
{
    for (int i = 0; i < products->n; i++)
        if (products->devices[i] == device)
            return;
    if (products->n < DN_PRODUCTS_MAX)
        products->devices[products->n++] = device;
}

const struct dn_gpu_type *dn_gpu_types_resemble (const struct dn_gpu_types *types,
                                                 const char *type)
{
    const struct dn_gpu_type *same = dn_gpu_types_find (types, type);

    for (int i = 0; i < types->n_types && !same; i++)
        if (dn_span_is (dn_span_of (type), types->types[i].type))
            same = &types->types[i];
    return same;
}
