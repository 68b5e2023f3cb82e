/* evidence.h - did a job fail for lack of GPU memory?
 *
 * Slurm's state OUT_OF_MEMORY is about the memory of the host. That of a GPU is known
 * only by what the job says: in its reports of progress, or in its output, which is
 * read only below OutputDir.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_EVIDENCE_H
#define DN_EVIDENCE_H

#include "site.h"
#include "slurm/slurm_link.h"

/* Bytes of the end of an output that are read. */
#define DN_EVIDENCE_MAX 65536

bool dn_evidence_find (const struct dn_site *site, const struct dn_link_job *job);

#endif
