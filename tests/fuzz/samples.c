/* samples.c - fuzz target: a samples file, and the catalogue file that is made from it
 *
 * Attack surface: a table that any user's job may have written. The catalogue must be
 * able to read the file made from it, as one device of the requested name.
 *
 * Aims at: learn/samples.c learn/bench_entry.c learn/bench_fit.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include <stdlib.h>
#include <string.h>

#include "learn/bench_fit.h"

/* An entry has about a dozen values. */
#define TEXT_MAX 8192

static void read_again (const char *text)
{
    struct dn_catalogue catalogue = {.devices = NULL};
    struct dn_err err = {0};

    if (dn_catalogue_add (&catalogue, dn_span_of (text), "made", true, &err) == 0)
        expect (strcmp (catalogue.devices[0].name, "device") == 0, "renamed", &err);
    else /* only a rate may be out of the range of any device */
        expect (
            err.code == DN_E_RANGE && strstr (err.text, "out of range"), text, &err);
    dn_catalogue_free (&catalogue);
}

static void make_entry (const struct dn_samples *samples)
{
    static const struct dn_generation ampere = {.matrix_units = 1};
    static const struct dn_device sheet = {.name = "device",
                                           .generation = &ampere,
                                           .fp32 = 1e13,
                                           .tf32 = 1e14,
                                           .fp16 = 2e14,
                                           .bf16 = 2e14,
                                           .bandwidth = 1e12};
    static const struct dn_catalogue catalogue;
    static const char whole[] = "Vendor=x Arch=ampere Fp32=10T Memory=1G Bandwidth=1T "
                                "Tdp=100 ";
    char text[TEXT_MAX];
    struct dn_bench_result result;
    struct dn_err err = {0};

    expect (dn_bench_analyse (samples, &dn_constants_default, &result, &err) == 0,
            "not analysed",
            &err);
    for (int known = 0; known < 2; known++) {
        struct dn_buf buf = dn_buf_on (text, sizeof (text));
        struct dn_bench_entry entry = {"device",
                                       &catalogue,
                                       known ? &sheet : NULL,
                                       samples,
                                       &result,
                                       &dn_constants_default,
                                       "samples"};

        if (known)
            dn_buf_add (&buf, "%s\n", whole);
        if (dn_bench_write_entry (&entry, &buf, &err) == 0)
            read_again (text);
    }
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct dn_samples samples;
    struct dn_err err = {0};

    if (dn_samples_read ((struct dn_span){(const char *) data, size}, &samples, &err)
        < 0) {
        expect_message (&err);
        return 0;
    }
    if (samples.n_rows < 300) /* the search for steps of layers is quadratic */
        make_entry (&samples);
    dn_samples_free (&samples);
    return 0;
}
