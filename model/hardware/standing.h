/* standing.h - the account, association and QOS of a job
 *
 * In: a snapshot, the names in a submission. Out: whose limits bind the job, as far as
 * the snapshot has them. Names in a submission come from users: they are compared, not
 * stored, as Slurm does: accounts and QOS without regard to case.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STANDING_H
#define DN_STANDING_H

#include "hardware/cluster.h"
#include "request/request.h"

/* What a job is to the accounting. Texts and entries are borrowed. */
struct dn_standing {
    const char *account;                    /* NULL: unknown */
    const char *qos;                        /* NULL: unknown */
    const struct dn_limited *assoc;         /* NULL: none with limits is known */
    const struct dn_limited *job_qos;       /* NULL: none with limits is known */
    const struct dn_limited *partition_qos; /* NULL: there is none */
    const struct dn_partition *partition;   /* NULL: not one known partition */
};

/* The standing of 'job' in the partition of that name (NULL: unknown). */
struct dn_standing dn_standing_of (const struct dn_cluster *cluster,
                                   const struct dn_job *job,
                                   const char *partition) DN_COLD;

/* The association that 'assoc' is below of, or NULL. */
const struct dn_limited *dn_standing_parent (const struct dn_cluster *cluster,
                                             const struct dn_limited *assoc);

/* Do the lists of the partition admit a job of that standing? A list with names admits
 * no job whose account or QOS is unknown.
 */
bool dn_standing_is_admitted (const struct dn_standing *standing);

/* Add what Slurm will add to the job, by the partitions that it names: the name of the
 * default partition, and memory where none was requested. Where they have no default of
 * their own the cluster's holds, which the job has already.
 */
void dn_standing_add_defaults (const struct dn_cluster *cluster, struct dn_job *job);

#endif
