/* output_name.h - where the output of a batch job is
 *
 * slurmstepd makes the path of a pattern (sbatch(1), filename pattern) on the node; the
 * functions of libslurm know some patterns only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_OUTPUT_NAME_H
#define DN_OUTPUT_NAME_H

#include "base/text.h"
#include "slurm/slurm_link.h"

/* Write the path for 'pattern' (NULL or "": Slurm's own); the buffer is cut if it is
 * too long.
 */
void dn_output_name (const struct dn_link_job *job,
                     const char *pattern,
                     struct dn_buf *path);

#endif
