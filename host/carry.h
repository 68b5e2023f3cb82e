/* carry.h - the sidecar that a job's option or comment names, brought to its job
 *
 * The option's file is read on the client, by the SPANK plugin or by a dry run; the
 * comment's by slurmctld, below SidecarDir=. Both end as one text, which the model
 * reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CARRY_H
#define DN_CARRY_H

#include "request/request.h"

/* Names of the two entries of the job's SPANK environment that we hand over. */
#define DN_CARRY_OPTION  "DNNEST_OPTION"
#define DN_CARRY_SIDECAR "DNNEST_SIDECAR"

/* What Slurm itself puts there for an option of ours. It may be an outer job's, so it
 * is never read.
 */
#define DN_CARRY_AUTOMATIC "_SLURM_SPANK_OPTION_dnnest_dnnest"

/* On the client: read the file that the option names, check and compact it. '*sidecar'
 * is freed with free (), NULL where the option names none. Return -1 with 'err'.
 */
int dn_carry_option (const char *option, char **sidecar, struct dn_err *err);

/* On the server: read the file that the comment of 'job' names, as far as 'dir'
 * (SidecarDir=, "" where it is off) and the job's owner let it; nothing is read for a
 * job that has a sidecar already, or opts out. The same results.
 */
int dn_carry_comment (const struct dn_job *job,
                      const char *dir,
                      char **sidecar,
                      struct dn_err *err);

#endif
