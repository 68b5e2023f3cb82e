/* describe.c - a job's description, collected from all carriers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/describe.h"

#include <string.h>

struct dn_carriers dn_carriers_of (const struct dn_job *job,
                                   const struct dn_marks *marks)
{
    return (struct dn_carriers){.sidecar = job->sidecar,
                                .marks = marks,
                                .comment = job->comment,
                                .option = job->option};
}

struct dn_keyset dn_describe_overridden (const struct dn_spec *own,
                                         const struct dn_spec *all)
{
    struct dn_keyset overridden = {{0}};
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        char before[DN_VALUE_MAX];
        char after[DN_VALUE_MAX];

        if (!dn_key_is_network (&keys[i]) || !dn_spec_has (own, &keys[i]))
            continue;
        dn_spec_write_value (own, &keys[i], before);
        dn_spec_write_value (all, &keys[i], after);
        if (strcmp (before, after) != 0)
            dn_keyset_add (&overridden, i);
    }
    return dn_keyset_minus (overridden, DN_KEYSET (model));
}

static int describe (const struct dn_carriers *carriers,
                     struct dn_sidecar *sidecar,
                     enum dn_metadata *state,
                     struct dn_err *err)
{
    struct dn_spec own;

    /* A job that opts out gets no message about errors in the rest. */
    if (dn_note_of_comment (carriers->comment).off
        || dn_note_of_option (carriers->option).off) {
        *state = DN_METADATA_OFF;
        return 0;
    }
    if (!carriers->sidecar)
        return dn_spec_collect (carriers, &sidecar->spec, state, err);
    if (dn_sidecar_read_carried (
            dn_span_of (carriers->sidecar), carriers->deadline, sidecar, err)
        < 0)
        return -1;
    own = sidecar->spec;
    if (dn_spec_collect (carriers, &sidecar->spec, state, err) < 0)
        return -1;
    sidecar->layers.overridden = dn_describe_overridden (&own, &sidecar->spec);
    if (*state == DN_METADATA_NONE)
        *state = DN_METADATA_GIVEN;
    return 0;
}

int dn_describe (const struct dn_carriers *carriers,
                 struct dn_sidecar *sidecar,
                 enum dn_metadata *state,
                 struct dn_err *err)
{
    int rc;

    *sidecar = (struct dn_sidecar){.spec = dn_spec_empty ()};
    *state = DN_METADATA_NONE;
    rc = describe (carriers, sidecar, state, err);
    if (rc < 0 || *state != DN_METADATA_GIVEN) {
        dn_sidecar_free (sidecar);
        sidecar->spec = dn_spec_empty ();
    }
    return rc;
}
