/* around.h - the limits of a cluster that bound one job
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GUARD_AROUND_H
#define DN_GUARD_AROUND_H

#include "guard/guard_plan.h"
#include "slurm/slurm_link.h"

/* Set 'default_s', 'partition_s' and 'wall_s' of the case from partition, QOS and
 * association of the job, as Slurm does: a MaxWall of the QOS of the partition or of
 * the job takes precedence over that of the association, and that of the association
 * over those of its parents. In a partition that is not known, nothing is extended.
 */
void dn_guard_around (const struct dn_cluster *cluster,
                      const struct dn_link_job *job,
                      struct dn_guard_case *c);

#endif
