/* gpu_names.c - which device of the catalogue the name of a GPU means
 *
 * Devices are "a100_sxm4_80gb", "rtx_6000_ada_48gb". Their names and those of drivers
 * and gres types are cut into chip, form and memory, and words that identify nothing
 * are dropped. Drivers count memory without the part that error correction and firmware
 * take.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/gpu_names.h"

#include <math.h>
#include <string.h>

#define CANDIDATES_MAX 16
#define GB             1e9

struct name {
    char chip[DN_NAME_MAX]; /* "rtx3090" */
    char form[DN_NAME_MAX]; /* "sxm4"; "" none */
    int memory_gb;          /* 0: not stated */
};

static bool is_noise (const char *word)
{
    static const char *const noise[] = {"nvidia",
                                        "tesla",
                                        "geforce",
                                        "amd",
                                        "instinct",
                                        "gpu",
                                        "generation",
                                        "oam",
                                        "design",
                                        "with",
                                        "hbm2",
                                        "hbm2e",
                                        "hbm3",
                                        "hbm3e",
                                        "blackwell",
                                        "server",
                                        "workstation",
                                        "edition"};

    for (size_t i = 0; i < DN_N_ELEMENTS (noise); i++)
        if (strcmp (word, noise[i]) == 0)
            return true;
    return false;
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

static struct name name_of (const char *text)
{
    struct name name = {.memory_gb = 0};
    char word[DN_NAME_MAX] = "";
    size_t len = 0;

    for (;; text++) {
        char c = dn_lower (*text);

        if (dn_is_digit (c) || (c >= 'a' && c <= 'z')) {
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

/* The forms must be equal, as far as the driver's goes ("SXM"), where both names have
 * one; where the driver's has none, a board other than cards is preferred.
 */
int dn_device_match (const struct dn_device *device, const char *product, double memory)
{
    const double near = 0.13; /* a K80 of 12 GiB reports 11.17 */
    struct name name = name_of (device->name);
    struct name driver = name_of (product);

    if (driver.chip[0] == '\0' || strcmp (name.chip, driver.chip) != 0
        || (memory > 0 && fabs (memory / device->memory - 1) > near))
        return 0;
    if (strcmp (name.form, driver.form) == 0)
        return 3;
    if (driver.form[0] != '\0' && name.form[0] != '\0')
        return strncmp (name.form, driver.form, strlen (driver.form)) == 0 ? 3 : 0;
    return strcmp (name.form, "pcie") == 0 || strcmp (name.form, "nvl") == 0 ? 1 : 2;
}

const struct dn_device *dn_catalogue_find_product (const struct dn_catalogue *catalogue,
                                                   const char *product,
                                                   double memory)
{
    const struct dn_device *found = NULL;
    int best = 0;

    if (memory <= 0)
        memory = GB * name_of (product).memory_gb;
    for (int i = 0; i < catalogue->n_devices; i++) {
        int how = dn_device_match (&catalogue->devices[i], product, memory);

        if (how == best)
            found = NULL;
        if (how > best) {
            best = how;
            found = &catalogue->devices[i];
        }
    }
    return found;
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

struct candidates {
    const struct dn_device *list[CANDIDATES_MAX];
    int n;
};

static double gb_of (const struct dn_device *device)
{
    struct name name = name_of (device->name);

    return name.memory_gb > 0 ? name.memory_gb : round (device->memory / GB);
}

/* The devices whose chip, form and memory agree with what the type states. */
static struct candidates find (const struct dn_catalogue *catalogue,
                               const struct name *type,
                               int how)
{
    struct candidates out = {.n = 0};

    for (int i = 0; i < catalogue->n_devices; i++) {
        const struct dn_device *device = &catalogue->devices[i];
        struct name name = name_of (device->name);

        if (out.n == CANDIDATES_MAX || device->generation->host
            || chip_matches (name.chip, type->chip) < how)
            continue;
        if (type->form[0] != '\0' && name.form[0] != '\0'
            && strncmp (type->form, name.form, strlen (type->form)) != 0)
            continue;
        if (type->memory_gb > 0 && fabs (gb_of (device) - type->memory_gb) > 1)
            continue;
        out.list[out.n++] = device;
    }
    return out;
}

/* The most probable one: least memory, then the usual board. */
static const struct dn_device *choose (const struct candidates *candidates,
                                       int64_t per_node)
{
    const struct dn_device *best = NULL;
    bool wants_pcie = per_node < 4;
    bool fits = false;

    for (int i = 0; i < candidates->n; i++) {
        const struct dn_device *device = candidates->list[i];
        bool is_pcie = strcmp (name_of (device->name).form, "pcie") == 0;

        if (!best || gb_of (device) < gb_of (best)
            || (gb_of (device) == gb_of (best) && !fits && is_pcie == wants_pcie)) {
            best = device;
            fits = is_pcie == wants_pcie;
        }
    }
    return best;
}

/* "40 or 80 GB? sxm4 or pcie?", of what differs between them. */
static void write_doubt (const struct candidates *candidates, char doubt[DN_REASON_MAX])
{
    struct dn_buf buf = dn_buf_on (doubt, DN_REASON_MAX);
    bool first = true;

    if (candidates->n < 2)
        return;
    for (int i = 0; i < candidates->n; i++) {
        dn_buf_add (&buf, "%s%s", first ? "" : " or ", candidates->list[i]->name);
        first = false;
    }
    dn_buf_add (&buf, "?");
}

struct dn_gpu_guess dn_gpu_guess (const struct dn_catalogue *catalogue,
                                  const char *type,
                                  int64_t per_node,
                                  const struct dn_products *products)
{
    struct name name = name_of (type);
    struct candidates candidates = find (catalogue, &name, 2);
    struct dn_gpu_guess guess = {.device = NULL};

    if (candidates.n == 0)
        candidates = find (catalogue, &name, 1);
    for (int i = 0; i < products->n; i++)
        for (int j = 0; j < candidates.n; j++)
            if (products->devices[i] == candidates.list[j]) {
                guess.device = products->devices[i];
                return guess;
            }
    guess.device = choose (&candidates, per_node);
    write_doubt (&candidates, guess.doubt);
    return guess;
}

/* --- the output of nvidia-smi ----------------------------------------------------- */

static void add_product (struct dn_products *products, const struct dn_device *device)
{
    for (int i = 0; i < products->n; i++)
        if (products->devices[i] == device)
            return;
    if (products->n < DN_PRODUCTS_MAX)
        products->devices[products->n++] = device;
}

/* " 40960 MiB" in bytes; 0 where it is no number. */
static double read_mib (struct dn_span text)
{
    double mib = 0;

    text = dn_span_trim (text);
    if (dn_real_read (dn_span_cut (&text, " "), "memory", 0, 1e9, &mib, NULL) < 0)
        return 0;
    return mib * 1024 * 1024;
}

/* "GPU 0: NVIDIA A100-SXM4-40GB (UUID: ...)", "NVIDIA A100-SXM4-40GB, 40960 MiB" */
static void read_line (struct dn_products *products,
                       const struct dn_catalogue *catalogue,
                       struct dn_span line)
{
    const struct dn_device *device;
    struct dn_span name;
    char product[DN_NAME_MAX];
    double memory = 0;

    if (line.len > 4 && memcmp (line.text, "GPU ", 4) == 0) {
        dn_span_cut (&line, ":");
        name = line.text ? dn_span_cut (&line, "(") : dn_span_of ("");
    } else {
        name = dn_span_cut (&line, ",");
        if (line.text)
            memory = read_mib (line);
    }
    if (dn_name_copy (dn_span_trim (name), product, sizeof (product), "product", NULL)
            < 0
        || product[0] == '\0')
        return;
    device = dn_catalogue_find_product (catalogue, product, memory);
    if (device)
        add_product (products, device);
}

void dn_products_read (struct dn_products *products,
                       const struct dn_catalogue *catalogue,
                       const char *text)
{
    struct dn_span rest = dn_span_of (text);
    struct dn_span line;

    while ((line = dn_span_cut (&rest, "\n")).text)
        read_line (products, catalogue, dn_span_trim (line));
}
