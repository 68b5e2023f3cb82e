/* job_submit_dnnest.c - the functions that slurmctld calls
 *
 * slurmctld ends if one of these symbols is missing or init () fails. So init () always
 * succeeds. No return value refuses a job.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "submit/keeper.h"
#include "submit/submit.h"
#include "submit/versions.h"
#include "trace/trace.h"

/* All other symbols of the plugin are hidden, because slurmctld exports some 750. */
#define DN_EXPORT __attribute__ ((visibility ("default")))

DN_EXPORT extern const char plugin_name[];
DN_EXPORT extern const char plugin_type[];
DN_EXPORT extern const uint32_t plugin_version;

const char plugin_name[] = "dnnest: right-sizes deep-learning jobs";
const char plugin_type[] = "job_submit/dnnest";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

DN_EXPORT int init (void);
DN_EXPORT int fini (void);
DN_EXPORT int job_submit (job_desc_msg_t *desc, uint32_t submit_uid, char **err_msg);
DN_EXPORT int job_modify (DN_JOB_MODIFY_PARAMETERS);

int init (void)
{
    dn_keeper_start ();
    return SLURM_SUCCESS;
}

int fini (void)
{
    dn_keeper_stop ();
    return SLURM_SUCCESS;
}

int job_submit (job_desc_msg_t *desc, uint32_t submit_uid, char **err_msg)
{
    (void) submit_uid; /* the job's owner is desc->user_id */
    dn_submit_job (desc, err_msg);
    return SLURM_SUCCESS;
}

/* A limit set by hand is never overridden. */
int job_modify (DN_JOB_MODIFY_PARAMETERS)
{
    DN_JOB_MODIFY_IGNORE ();
    dn_count (&dn_counters.modifications);
    return SLURM_SUCCESS;
}
