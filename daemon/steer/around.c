/* around.c - the limits of a cluster that bound a job which moves
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "steer/around.h"

#include <string.h>

/* Levels of an association, at most: a loop cannot last. */
#define LEVELS_MAX 64

static bool is_named (const char *name, const char *text)
{
    return text && strcmp (name, text) == 0;
}

static int64_t least (int64_t a, int64_t b)
{
    if (a == DN_UNLIMITED)
        return b;
    return b == DN_UNLIMITED || a < b ? a : b;
}

static int64_t wall_of_qos (const struct dn_cluster *cluster, const char *name)
{
    for (int64_t i = 0; i < cluster->n_qos; i++)
        if (is_named (cluster->qos[i].name, name))
            return cluster->qos[i].max_wall_s;
    return DN_UNLIMITED;
}

/* The most special association of the job: of its user in the partition, of its user,
 * of the account; or NULL.
 */
static const struct dn_limited *association_of (const struct dn_cluster *cluster,
                                                const struct dn_link_job *job)
{
    const struct dn_limited *best = NULL;
    int best_rank = 0;

    for (int64_t i = 0; i < cluster->n_assocs; i++) {
        const struct dn_limited *assoc = &cluster->assocs[i];
        int rank = 1;

        if (!is_named (assoc->name, job->account))
            continue;
        if (assoc->user_id != DN_UNSET) {
            if (assoc->user_id != job->user_id)
                continue;
            rank = 2;
        }
        if (assoc->partition[0] != '\0') {
            if (!is_named (assoc->partition, job->partition))
                continue;
            rank++;
        }
        if (rank > best_rank) {
            best = assoc;
            best_rank = rank;
        }
    }
    return best;
}

static int64_t wall_of_association (const struct dn_cluster *cluster,
                                    const struct dn_link_job *job)
{
    const struct dn_limited *assoc = association_of (cluster, job);

    for (int level = 0; assoc && level < LEVELS_MAX; level++) {
        if (assoc->max_wall_s != DN_UNLIMITED)
            return assoc->max_wall_s;
        if (assoc->parent < 0 || assoc->parent >= cluster->n_assocs)
            break;
        assoc = &cluster->assocs[assoc->parent];
    }
    return DN_UNLIMITED;
}

static const struct dn_partition *partition_of (const struct dn_cluster *cluster,
                                                const struct dn_link_job *job)
{
    for (int64_t i = 0; i < cluster->n_partitions; i++)
        if (is_named (cluster->partitions[i].name, job->partition))
            return &cluster->partitions[i];
    return NULL;
}

int64_t dn_longest_around (const struct dn_cluster *cluster,
                           const struct dn_link_job *job)
{
    const struct dn_partition *partition = partition_of (cluster, job);
    int64_t wall_s = DN_UNLIMITED;

    if (!partition)
        return 0;
    if (cluster->enforces) {
        wall_s = least (wall_of_qos (cluster, job->qos),
                        wall_of_qos (cluster, partition->qos));
        if (wall_s == DN_UNLIMITED)
            wall_s = wall_of_association (cluster, job);
    }
    return least (partition->max_time_s, wall_s);
}
