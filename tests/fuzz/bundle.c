/* bundle.c - fuzz target: the manifest of a model bundle
 *
 * The publisher of a bundle writes it. A bundle that is read predicts numbers, for any
 * domain and bounds of the manifest. The files of the small bundle are added where the
 * manifest still has their checksums.
 *
 * Aims at: model/predict/bundle.c model/predict/domain.c model/base/json_read.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include "../unit/small_bundle.h"

static const struct small_bundle *small (void)
{
    static struct small_bundle bundle;

    if (!bundle.manifest)
        bundle = small_bundle_make ();
    return &bundle;
}

static void check_domain (const struct dn_domain *domain)
{
    static const float places[] = {0, 1, -1e6F, 1e6F, 4.1588F};

    for (size_t i = 0; i < DN_N_ELEMENTS (places); i++) {
        float features[DN_N_FEATURES];
        struct dn_knot knot;
        double distance;

        for (int j = 0; j < DN_N_FEATURES; j++)
            features[j] = places[i];
        distance = dn_domain_distance (domain, features);
        expect (distance >= 0, "a distance");
        knot = dn_domain_at (domain, distance);
        expect (knot.residual >= 0 && knot.residual <= 1 && isfinite (knot.sigma)
                    && knot.sigma >= 0,
                "a knot");
    }
}

static void check_bounds (const struct dn_bounds *bounds)
{
    static const char *const groups[] = {"conv", "attention", "", "*"};

    for (size_t i = 0; i < DN_N_ELEMENTS (groups); i++)
        dn_bounds_of (bounds, groups[i]);
    for (int i = 0; i < bounds->n_groups; i++)
        expect (is_printable (bounds->groups[i].name), "a name");
}

static void add_file (struct dn_bundle *bundle, const struct small_file *file)
{
    struct dn_err err = {0};

    if (dn_bundle_add (bundle, file->name, small_file_span (file), &err) < 0)
        expect_message (&err);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct dn_err err = {0};
    struct dn_bundle *bundle =
        dn_bundle_open ((struct dn_span){(const char *) data, size}, &err);

    if (!bundle) {
        expect_message (&err);
        return 0;
    }
    for (int i = 0; i < N_SMALL_FILES; i++)
        add_file (bundle, &small ()->files[i]);
    if (dn_bundle_close (bundle, &err) < 0) {
        expect_message (&err);
    } else {
        check_domain (&bundle->domain);
        for (int i = 0; i < DN_N_QUANTITIES; i++)
            check_bounds (&bundle->bounds[i]);
    }
    dn_bundle_free (bundle);
    return 0;
}
