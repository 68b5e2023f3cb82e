/* standing.c - the account, association and QOS of a job
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/standing.h"

#include <string.h>

/* The QOS of a job that names none, whose association has no default. */
static const char usual_qos[] = "normal";

/* Associations of one user that are looked at. */
#define OWN_MAX 512

/* Slurm folds letters only: '-' and '_' differ. */
static bool is_same (struct dn_span a, const char *b)
{
    size_t i = 0;

    while (i < a.len && dn_lower (a.text[i]) == dn_lower (b[i]))
        i++;
    return i == a.len && b[i] == '\0';
}

static const struct dn_limited *find_qos (const struct dn_cluster *cluster,
                                          const char *name)
{
    for (int64_t i = 0; name && name[0] != '\0' && i < cluster->n_qos; i++)
        if (is_same (dn_span_of (name), cluster->qos[i].name))
            return &cluster->qos[i];
    return NULL;
}

/* The first association of the user; they are sorted by user. */
static int64_t first_of_user (const struct dn_cluster *cluster, int64_t user_id)
{
    int64_t low = 0;
    int64_t high = cluster->n_assocs;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (cluster->assocs[middle].user_id < user_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The association for that account (NULL: the default one), that of the partition
 * first.
 */
static const struct dn_limited *find_assoc (const struct dn_cluster *cluster,
                                            const struct dn_job *job,
                                            const char *partition)
{
    const struct dn_limited *found = NULL;
    int64_t first =
        job->user_id < 0 ? cluster->n_assocs : first_of_user (cluster, job->user_id);
    bool named = job->account && job->account[0] != '\0';

    for (int64_t i = first; i < cluster->n_assocs && i - first < OWN_MAX; i++) {
        const struct dn_limited *assoc = &cluster->assocs[i];
        bool own = partition && assoc->partition[0] != '\0'
                   && strcmp (assoc->partition, partition) == 0;

        if (assoc->user_id != job->user_id)
            break;
        if ((named ? is_same (dn_span_of (job->account), assoc->name)
                   : assoc->is_default)
            && (own || (assoc->partition[0] == '\0' && !found)))
            found = assoc;
    }
    return found;
}

static const char *text_or_null (const char *text)
{
    return text && text[0] != '\0' ? text : NULL;
}

struct dn_standing dn_standing_of (const struct dn_cluster *cluster,
                                   const struct dn_job *job,
                                   const char *partition)
{
    struct dn_standing standing = {.account = text_or_null (job->account),
                                   .qos = text_or_null (job->qos),
                                   .assoc = find_assoc (cluster, job, partition)};

    if (partition)
        standing.partition = dn_cluster_partition (cluster, partition);
    if (standing.assoc && !standing.account)
        standing.account = text_or_null (standing.assoc->name);
    if (standing.assoc && !standing.qos)
        standing.qos = text_or_null (standing.assoc->qos);
    standing.job_qos = find_qos (cluster, standing.qos ? standing.qos : usual_qos);
    if (standing.partition)
        standing.partition_qos = find_qos (cluster, standing.partition->qos);
    return standing;
}

const struct dn_limited *dn_standing_parent (const struct dn_cluster *cluster,
                                             const struct dn_limited *assoc)
{
    return assoc->parent >= 0 && assoc->parent < cluster->n_assocs
               ? &cluster->assocs[assoc->parent]
               : NULL;
}

static bool has_name (const char *list, const char *name)
{
    struct dn_span rest = dn_span_of (list);

    while (rest.text)
        if (is_same (dn_span_trim (dn_span_cut (&rest, ",")), name))
            return true;
    return false;
}

/* An allowing list takes the place of a denying one. */
static bool admits (const char *allow, const char *deny, const char *name)
{
    if (allow[0] != '\0')
        return name && has_name (allow, name);
    if (deny[0] != '\0')
        return name && strcmp (deny, "*") != 0 && !has_name (deny, name);
    return true;
}

bool dn_standing_is_admitted (const struct dn_standing *standing)
{
    const struct dn_partition *partition = standing->partition;

    return partition
           && admits (
               partition->allow_accounts, partition->deny_accounts, standing->account)
           && admits (partition->allow_qos, partition->deny_qos, standing->qos);
}

static const struct dn_partition *default_partition (const struct dn_cluster *cluster)
{
    for (int64_t i = 0; i < cluster->n_partitions; i++)
        if (cluster->partitions[i].is_default)
            return &cluster->partitions[i];
    return NULL;
}

/* A partition that stands for all those that the job names: each has the same default
 * memory. NULL: they differ, or one is not known.
 */
static const struct dn_partition *common_partition (const struct dn_cluster *cluster,
                                                    const struct dn_job *job)
{
    const struct dn_partition *first = NULL;
    struct dn_span rest = {job->partition, 0};

    if (!job->partition)
        return default_partition (cluster);
    rest.len = strnlen (job->partition, DN_PARTITIONS_TEXT_MAX);
    for (int i = 0; i < DN_PARTITIONS_MAX && rest.text; i++) {
        char name[DN_NAME_MAX];
        struct dn_span piece = dn_span_trim (dn_span_cut (&rest, ","));
        const struct dn_partition *next =
            dn_span_copy (piece, name, sizeof (name), "partition", NULL) < 0
                ? NULL
                : dn_cluster_partition (cluster, name);

        if (!next || (first && !dn_partitions_same_memory (first, next)))
            return NULL;
        first = next;
    }
    return rest.text ? NULL : first;
}

void dn_standing_add_defaults (const struct dn_cluster *cluster, struct dn_job *job)
{
    const struct dn_partition *partition = common_partition (cluster, job);

    if (cluster->n_partitions == 0)
        return;
    if (!job->partition && partition)
        job->partition = partition->name;
    if (!job->memory_default)
        return;
    if (!partition) {
        job->memory_open = true;
    } else if (partition->def_mem_per_gpu_mb > 0) {
        job->default_mem_per_gpu_mb = partition->def_mem_per_gpu_mb;
        job->memory_open = false;
    } else if (partition->def_mem_per_cpu_mb > 0) {
        job->default_mem_per_cpu_mb = partition->def_mem_per_cpu_mb;
        job->memory_open = false;
    } else if (partition->def_mem_per_node_mb > 0) {
        job->default_mem_per_cpu_mb = DN_UNSET;
        job->mem_per_node_mb = partition->def_mem_per_node_mb;
        job->memory_open = false;
    }
}
