/* adapter.h - the one place that reads and writes Slurm's job description
 *
 * In: job_desc_msg_t, or the edits of a patch. Out: struct dn_job, or the edited
 * description. It decides nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ADAPTER_H
#define DN_ADAPTER_H

#include <slurm/slurm.h>

#include "request/request.h"
#include "rewrite/rewrite.h"

/* Read 'desc' into 'job'. Nothing is allocated: the strings of 'job' are those of
 * 'desc' and are valid until it is edited.
 */
void dn_adapter_read (const job_desc_msg_t *desc, struct dn_job *job) DN_COLD;

/* Remove what the client passed for dnnest from 'desc', so that it does not reach the
 * nodes: the entries of the job's SPANK environment, and their copies in the
 * environment of a batch job. Strings from dn_adapter_read () are invalid then.
 */
void dn_adapter_forget (job_desc_msg_t *desc);

/* Remove the variables of one job from the environment: those that it submits inherit
 * them.
 */
void dn_adapter_forget_job (job_desc_msg_t *desc);

/* Make all edits of 'patch', or none. Every field must still hold the edit's old value,
 * every new value must fit its field, and all memory is allocated before the first
 * change. Return 0, or -1 with 'err' and 'desc' unchanged.
 */
int dn_adapter_apply (job_desc_msg_t *desc,
                      const struct dn_patch *patch,
                      struct dn_err *err) DN_COLD;

#endif
