/* describe.c - a job's description, collected from all carriers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/describe.h"

struct dn_carriers dn_carriers_of (const struct dn_job *job)
{
    return (struct dn_carriers){.sidecar = job->sidecar,
                                .script = job->script,
                                .comment = job->comment,
                                .option = job->option};
}

static int describe (const struct dn_carriers *carriers,
                     struct dn_sidecar *sidecar,
                     enum dn_metadata *state,
                     struct dn_err *err)
{
    /* A job that opts out gets no message about errors in the rest. */
    if (dn_note_of_comment (carriers->comment).off
        || dn_note_of_option (carriers->option).off) {
        *state = DN_METADATA_OFF;
        return 0;
    }
    if (carriers->sidecar
        && dn_sidecar_read_carried (
               dn_span_of (carriers->sidecar), carriers->deadline, sidecar, err)
               < 0)
        return -1;
    if (dn_spec_collect (carriers, &sidecar->spec, state, err) < 0)
        return -1;
    if (*state == DN_METADATA_NONE && carriers->sidecar)
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
