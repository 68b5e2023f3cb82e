/* adapter.h - the one place that reads and writes Slurm's job description
 *
 * In: job_desc_msg_t, or the edits of a patch. Out: struct dn_job, or the description
 * edited. Never: a decision.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ADAPTER_H
#define DN_ADAPTER_H

#include <slurm/slurm.h>

#include "request/request.h"
#include "rewrite/rewrite.h"

/* Show 'desc' as plain fields. Nothing is allocated: the strings of 'job' are those of
 * 'desc' and live until it is edited.
 */
void dn_adapter_read (const job_desc_msg_t *desc, struct dn_job *job);

/* Take what was handed over for dnnest out of 'desc', from where it would go on to the
 * nodes: the entries of the job's SPANK environment, and their copies in the
 * environment of a batch job. The strings that dn_adapter_read () has shown are gone
 * then.
 */
void dn_adapter_forget (job_desc_msg_t *desc);

/* Take the variables of a probe out of the environment: a job that is submitted from
 * within one has its mother's.
 */
void dn_adapter_forget_probe (job_desc_msg_t *desc);

/* Make all edits of 'patch', or none: every field must still hold the edit's old value,
 * every new value must fit its field, and all memory is taken before the first change.
 * Return 0, or -1 with 'err' and 'desc' as it was.
 */
int dn_adapter_apply (job_desc_msg_t *desc,
                      const struct dn_patch *patch,
                      struct dn_err *err);

#endif
