/* around.h - the limits of a cluster that bound a job which moves
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_AROUND_H
#define DN_AROUND_H

#include "slurm/slurm_link.h"

/* The longest limit that partition, QOS and association allow the job, in seconds or
 * DN_UNLIMITED, as Slurm does: a MaxWall of the QOS of the partition or of the job
 * takes precedence over that of the association, and that of the association over those
 * of its parents. In a partition that is not known it is 0.
 */
int64_t dn_longest_around (const struct dn_cluster *cluster,
                           const struct dn_link_job *job);

#endif
