/* evidence.h - did a job fail for lack of memory?
 *
 * Slurm's state OUT_OF_MEMORY is about the memory of the host; a job whose step was
 * killed may only be FAILED, with a line of slurmstepd in its output. The memory of a
 * GPU is known only by what the job says: in its reports of progress, or in its output,
 * which is read only below OutputDir.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_EVIDENCE_H
#define DN_EVIDENCE_H

#include "site.h"
#include "slurm/slurm_link.h"

/* Bytes of the end of an output that are read. */
#define DN_EVIDENCE_MAX 65536

/* Of that of the host, or that of a GPU. */
bool dn_evidence_find (const struct dn_site *site,
                       const struct dn_link_job *job,
                       bool of_host);

#endif
