/* product.c - find the device that a driver's product name means
 *
 * Names of the catalogue are chip, form and memory: "a100_sxm4_80gb",
 * "rtx_6000_ada_48gb". Drivers say "NVIDIA A100-SXM4-80GB", "NVIDIA RTX 6000 Ada
 * Generation", "NVIDIA H100 80GB HBM3", "Tesla T4". Both are split into words. The
 * words of the chip must be equal. The form must be equal where both have one; where a
 * driver's name has none, a board other than PCIe is preferred. The memory must be
 * close: drivers count it without the part that error correction and firmware take.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/hardware.h"

#include <math.h>
#include <string.h>

#define WORDS_MAX 12
#define WORD_MAX  24

static bool is_word (char c)
{
    return dn_is_digit (c) || (dn_lower (c) >= 'a' && dn_lower (c) <= 'z');
}

struct words {
    char chip[WORDS_MAX][WORD_MAX];
    int n;
    char form[WORD_MAX]; /* "" none */
};

/* Words that do not identify the chip. */
static bool is_noise (const char *word)
{
    static const char *const noise[] = {"nvidia",
                                        "tesla",
                                        "geforce",
                                        "amd",
                                        "instinct",
                                        "generation",
                                        "design",
                                        "with",
                                        "gpu",
                                        "nvl",
                                        "hbm2",
                                        "hbm2e",
                                        "hbm3",
                                        "hbm3e",
                                        "oam",
                                        "blackwell",
                                        "server",
                                        "workstation",
                                        "edition"};
    size_t len = strlen (word);

    for (size_t i = 0; i < DN_N_ELEMENTS (noise); i++)
        if (strcmp (word, noise[i]) == 0)
            return true;
    /* "80gb": the memory is compared as a number */
    return len > 2 && dn_is_digit (word[0]) && strcmp (word + len - 2, "gb") == 0;
}

static bool is_form (const char *word)
{
    return strncmp (word, "sxm", 3) == 0 || strcmp (word, "pcie") == 0;
}

static void add_word (struct words *words, const char *word)
{
    if (word[0] == '\0' || is_noise (word))
        return;
    if (is_form (word))
        memcpy (words->form, word, WORD_MAX);
    else if (words->n < WORDS_MAX)
        memcpy (words->chip[words->n++], word, WORD_MAX);
}

/* Words consist of letters and digits, in lower case. A word longer than any of the
 * catalogue's is cut, so that it equals none of them.
 */
static struct words words_of (const char *name)
{
    struct words words = {.n = 0};
    char word[WORD_MAX] = "";
    size_t len = 0;

    for (;; name++) {
        if (is_word (*name)) {
            if (len + 1 < WORD_MAX)
                word[len++] = dn_lower (*name);
            continue;
        }
        add_word (&words, word);
        memset (word, 0, sizeof (word));
        len = 0;
        if (*name == '\0')
            return words;
    }
}

static bool has_word (const struct words *words, const char *word)
{
    for (int i = 0; i < words->n; i++)
        if (strcmp (words->chip[i], word) == 0)
            return true;
    return false;
}

static bool same_chip (const struct words *a, const struct words *b)
{
    if (a->n != b->n || a->n == 0)
        return false;
    for (int i = 0; i < a->n; i++)
        if (!has_word (b, a->chip[i]))
            return false;
    return true;
}

bool dn_device_same_chip (const struct dn_device *a, const struct dn_device *b)
{
    struct words one = words_of (a->name);
    struct words two = words_of (b->name);

    return same_chip (&one, &two);
}

/* How well a device matches the product; 0: it does not. */
static int match (const struct dn_device *device,
                  const struct words *product,
                  double memory)
{
    const double near = 0.13; /* a K80 of 12 GiB reports 11.17 */
    struct words words = words_of (device->name);

    if (!same_chip (&words, product) || fabs (memory / device->memory - 1) > near)
        return 0;
    if (strcmp (words.form, product->form) == 0)
        return 3;
    if (product->form[0] != '\0' && words.form[0] != '\0')
        return 0;
    return strcmp (words.form, "pcie") == 0 ? 1 : 2;
}

const struct dn_device *dn_catalogue_find_product (const struct dn_catalogue *catalogue,
                                                   const char *product,
                                                   double memory)
{
    struct words words = words_of (product);
    const struct dn_device *found = NULL;
    int best = 0;

    for (int i = 0; i < catalogue->n_devices; i++) {
        int how = match (&catalogue->devices[i], &words, memory);

        if (how == best)
            found = NULL;
        if (how > best) {
            best = how;
            found = &catalogue->devices[i];
        }
    }
    return found;
}
