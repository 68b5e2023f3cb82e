/* datasets.c - fuzz target: the table of data sets
 *
 * A table that is read can be searched, and resolves a run to numbers.
 *
 * Aims at: model/spec/dataset.c model/spec/resolve.c model/base/keyline.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static struct dn_datasets datasets;
    struct dn_span text = {(const char *) data, size};
    struct dn_err err = {0};

    memset (&datasets, 0, sizeof (datasets));
    if (dn_datasets_read (text, "datasets", &datasets, &err) < 0) {
        expect_message (&err);
        return 0;
    }
    for (int i = 0; i < datasets.n_rows; i++) {
        struct dn_spec spec = dn_spec_empty ();

        expect (is_printable (datasets.rows[i].name), "a name");
        expect_done (
            dn_spec_read (dn_span_of ("model=resnet50,batch=64,epochs=90"), &spec, &err)
                == 0,
            "no run",
            &err);
        strcpy (spec.dataset, datasets.rows[i].name);
        if (dn_spec_resolve (&spec, &datasets, 4, &err) < 0)
            expect_message (&err);
        else
            expect (spec.samples > 0 && dn_spec_steps (&spec) > 0, "no steps");
    }
    return 0;
}
