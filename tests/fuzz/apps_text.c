/* apps_text.c - fuzz target: the file of histories
 *
 * What is read is consistent, and what is written of it is read as the same.
 *
 * Aims at: model/predict/apps.c model/base/fields.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "text_file.h"

#include "predict/apps.h"

/* Every description is found, and its texts are within their bounds. */
static void check_known (const struct dn_apps *apps)
{
    expect (apps->n_text <= DN_APPS_TEXTS_MAX, "the texts");
    for (int64_t i = 0; i < apps->n_known; i++) {
        const struct dn_app_known *known = dn_apps_known (apps, apps->known[i].key);
        const char *network;

        expect (known == &apps->known[i], "a description is not found");
        network = dn_apps_network (apps, known);
        expect ((network != NULL) == (known->network >= 0), "a network");
        expect (!network || strlen (network) < DN_APPS_NETWORK_MAX, "its text");
        expect (strlen (known->spec) < DN_APPS_SPEC_MAX, "the description");
        expect (strlen (known->arch) < DN_ARCH_MAX, "the architectures");
        expect (known->gpus_runs <= 2 && known->loader_share <= 1, "numbers");
    }
}

/* Every row is found, and its run time is a number whose bounds rise. */
static void check (const struct dn_apps *apps)
{
    check_known (apps);
    for (int64_t i = 0; i < apps->n_rows; i++) {
        const struct dn_app_row *row = &apps->rows[i];
        struct dn_range time = dn_app_row_time (row, (double) row->work_max);
        const struct dn_app_row *found;
        int64_t n;

        expect (row->type >= 0 && row->type < apps->n_types, "the type");
        expect (row->unit < DN_N_WORK_UNITS && row->freedom > 0, "the law");
        found = dn_apps_find (apps, row->key, apps->types[row->type], row->gpus);
        expect (found && found->key == row->key && found->gpus == row->gpus,
                "a row is not found");
        found = dn_apps_all (apps, row->key, &n);
        expect (found && found <= row && row < found + n, "the rows of a key");
        expect (isfinite (time.p50) && time.p50 > 0, "the run time");
        expect (dn_range_at (time, 0.99) >= dn_range_at (time, 0.8), "bounds");
    }
}

TEXT_FILE (apps, check)
