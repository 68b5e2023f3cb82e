/* limits_kept.c - limits of QOS, associations and partitions that a change must keep
 *
 * Slurm checks them on the job as it is rewritten, and lets one that exceeds them wait
 * for ever, or refuses it. So a change is refused if the job would exceed a limit that
 * it keeps as submitted. All limits of the partition's QOS, the job's QOS and the chain
 * of associations are looked at, although Slurm lets some of them override others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"

#include <string.h>

#include "base/messages.h"
#include "hardware/billing.h"
#include "hardware/standing.h"

/* Associations above one another, and limits in all, that are looked at. Of a job with
 * more limits no change is known to keep them.
 */
#define CHAIN_MAX  32
#define LIMITS_MAX 256

/* What a job has, as submitted or changed. */
struct use {
    struct dn_billed all;
    struct dn_billed node;
    const char *weights; /* of the partition */
};

static double times (int64_t count, int64_t n)
{
    return count < 0 || n < 0 ? -1 : (double) count * (double) n;
}

/* 'asked': before GPUs and memory are given back. */
static struct use use_of (const struct dn_deciding *d,
                          int i,
                          int64_t cpus,
                          bool asked,
                          const struct dn_standing *standing)
{
    const struct dn_request *request = d->request;
    bool more = asked && request->asked_gpus != DN_UNSET;
    int64_t n_gpus = more ? request->asked_gpus : request->n_gpus;
    int64_t on_node = more ? request->asked_gpus : request->gpus_per_node;
    int64_t mem_mb = asked || d->decision->mem_mb == DN_UNSET ? request->mem_per_node_mb
                                                              : d->decision->mem_mb;
    const struct dn_partition *partition = standing->partition;
    const char *type = i < 0 ? NULL : d->candidates->list[i].gpu->type;
    int64_t n_nodes = request->n_nodes;

    return (struct use){.all = {.cpus = (double) cpus,
                                .mem_mb = times (mem_mb, n_nodes),
                                .nodes = (double) n_nodes,
                                .gpus = (double) n_gpus,
                                .gpu_type = type},
                        .node = {.cpus = cpus < 0 || n_nodes < 1
                                             ? -1
                                             : (double) cpus / (double) n_nodes,
                                 .mem_mb = (double) mem_mb,
                                 .nodes = 1,
                                 .gpus = (double) on_node,
                                 .gpu_type = type},
                        .weights = partition ? partition->weights : ""};
}

/* How much of a trackable resource the job has, on one node or in all; -1: unknown.
 * 'one': of a billing the largest part, which counts instead of the sum at some sites.
 */
static double amount_of (const struct dn_tres_limit *limit,
                         const struct use *use,
                         bool one)
{
    struct dn_span tres = dn_span_of (limit->tres);
    double sum;
    double largest;

    if (!dn_span_is (tres, "billing"))
        return dn_billed_amount (limit->scope == DN_LIMIT_NODE ? &use->node : &use->all,
                                 tres);
    if (!dn_billing_of (use->weights, &use->all, &sum, &largest))
        return -1;
    return one ? largest : sum;
}

/* Does a job with that amount exceed the limit? */
static bool exceeds (const struct dn_tres_limit *limit, double amount)
{
    double free = (double) limit->count;

    if (limit->scope == DN_LIMIT_MIN_JOB)
        return amount < free;
    if (limit->scope == DN_LIMIT_GROUP && limit->used > 0)
        free -= (double) limit->used;
    return amount > free;
}

/* Does the change break the limit? An amount that becomes unknown is too much. */
static bool breaks (const struct dn_tres_limit *limit,
                    const struct use *old,
                    const struct use *new)
{
    for (int one = 0; one <= 1; one++) {
        double before = amount_of (limit, old, one);
        double after = amount_of (limit, new, one);

        if (before >= 0 && exceeds (limit, before))
            continue;
        if (after < 0 ? before >= 0 : exceeds (limit, after))
            return true;
    }
    return false;
}

static const char *const scope_text[] = {
    [DN_LIMIT_JOB] = "MaxTRESPerJob",
    [DN_LIMIT_NODE] = "MaxTRESPerNode",
    [DN_LIMIT_USER] = "MaxTRESPerUser",
    [DN_LIMIT_ACCOUNT] = "MaxTRESPerAccount",
    [DN_LIMIT_GROUP] = "GrpTRES",
    [DN_LIMIT_MIN_JOB] = "MinTRESPerJob",
};
_Static_assert(DN_N_ELEMENTS (scope_text) == DN_N_LIMIT_SCOPES, "a text per scope");

/* Whose limits they are: of the partition's QOS, the job's QOS, or an association. */
struct source {
    const struct dn_limited *limited;
    const char *kind;
};

struct sources {
    struct source list[2 + CHAIN_MAX];
    int n;
};

static struct sources sources_of (const struct dn_cluster *cluster,
                                  const struct dn_standing *standing)
{
    const struct dn_limited *assoc = standing->assoc;
    struct sources sources = {.n = 0};

    if (!cluster->enforces)
        return sources;
    if (standing->partition_qos)
        sources.list[sources.n++] =
            (struct source){standing->partition_qos, dn_say_limit_of_partition};
    if (standing->job_qos)
        sources.list[sources.n++] = (struct source){standing->job_qos, "QOS"};
    for (int i = 0; assoc && i < CHAIN_MAX; i++) {
        sources.list[sources.n++] = (struct source){assoc, "account"};
        assoc = dn_standing_parent (cluster, assoc);
    }
    return sources;
}

static struct dn_reason broken (const struct dn_tres_limit *limit,
                                const struct source *source)
{
    return (struct dn_reason){limit->scope == DN_LIMIT_MIN_JOB ? DN_REASON_limit_below
                                                               : DN_REASON_limit_above,
                              DN_REASON_NONE,
                              {dn_arg_text (scope_text[limit->scope]),
                               dn_arg_word (limit->tres),
                               dn_arg_count (limit->count),
                               dn_arg_text (source->kind),
                               dn_arg_word (source->limited->name)}};
}

/* Which limit of a standing the change breaks; '*why', none, stays so if it keeps all.
 */
static void broken_of (const struct dn_cluster *cluster,
                       const struct dn_standing *standing,
                       const struct use *before,
                       const struct use *after,
                       struct dn_reason *why)
{
    const struct sources sources = sources_of (cluster, standing);
    int n_left = LIMITS_MAX;

    for (int i = 0; i < sources.n; i++) {
        const struct dn_limited *limited = sources.list[i].limited;
        int64_t first = limited->first_limit;

        for (int64_t at = first;
             first >= 0 && at < first + limited->n_limits && at < cluster->n_limits;
             at++) {
            if (n_left-- <= 0)
                why->code = DN_REASON_many_limits;
            else if (breaks (&cluster->limits[at], before, after))
                *why = broken (&cluster->limits[at], &sources.list[i]);
            if (dn_given (*why))
                return;
        }
    }
}

/* The standings of the job on candidate 'i', none without a snapshot; of one that a
 * move to its partition needs, '*own' is filled.
 */
static const struct dn_standing *standings_on (const struct dn_deciding *d,
                                               int i,
                                               struct dn_standing *own,
                                               int *n)
{
    const struct dn_gpu_type *type = d->candidates->list[i].gpu;
    const struct dn_job *job = d->request->job;

    *n = 0;
    if (!d->view->cluster)
        return NULL;
    if (type->by_partition[0] == '\0' || dn_gpu_by_partition (type, job)
        || !dn_gpu_by_partition (d->candidates->named, job)) {
        *n = d->n_standings;
        return d->standings;
    }
    *own = dn_standing_of (d->view->cluster, job, type->by_partition);
    *n = 1;
    return own;
}

void dn_broken_limit (const struct dn_deciding *d,
                      int i,
                      int64_t cpus,
                      struct dn_reason *why)
{
    const struct dn_cluster *cluster = d->view->cluster;
    int64_t requested = d->request->n_cpus;
    struct dn_standing own;
    int n;
    const struct dn_standing *standings = standings_on (d, i, &own, &n);

    for (int k = 0; k < n && !dn_given (*why); k++) {
        const struct dn_standing *old =
            standings == &own ? &d->standings[0] : &standings[k];
        struct use before = use_of (d, d->base, requested, true, old);
        struct use after =
            use_of (d, i, cpus == DN_UNSET ? requested : cpus, false, &standings[k]);

        broken_of (cluster, &standings[k], &before, &after, why);
    }
}

/* Does the job, or a partition of it, name a QOS that the snapshot does not have? It is
 * new, and may have any limit.
 */
static bool is_unknown (const struct dn_standing *standing)
{
    const struct dn_partition *partition = standing->partition;

    return (standing->qos && !standing->job_qos)
           || (partition && partition->qos[0] != '\0' && !standing->partition_qos);
}

static void minutes_of (const struct dn_cluster *cluster,
                        const struct dn_standing *standing,
                        struct dn_reason *why)
{
    const struct sources sources = sources_of (cluster, standing);

    if (cluster->enforces && is_unknown (standing))
        why->code = DN_REASON_limits_unknown;
    for (int i = 0; i < sources.n && !dn_given (*why); i++)
        if (sources.list[i].limited->minutes)
            *why = DN_REASON (limits_minutes,
                              dn_arg_text (sources.list[i].kind),
                              dn_arg_word (sources.list[i].limited->name));
}

struct dn_reason dn_policy_minutes (const struct dn_cluster *cluster,
                                    const struct dn_job *job,
                                    const char *partition)
{
    const struct dn_standing standing = dn_standing_of (cluster, job, partition);
    struct dn_reason why = DN_NO_REASON;

    minutes_of (cluster, &standing, &why);
    return why;
}

void dn_deciding_minutes (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    const struct dn_cluster *cluster = d->view->cluster;
    struct dn_standing own;
    int n;
    const struct dn_standing *standings = standings_on (d, i, &own, &n);

    for (int k = 0; k < n && !dn_given (*why); k++)
        minutes_of (cluster, &standings[k], why);
}

static void lower (int64_t *longest, int64_t limit_s)
{
    if (limit_s >= 0 && limit_s < *longest)
        *longest = limit_s;
}

/* The least CPUs of a node with which the job's memory per CPU is allowed. */
static int64_t least_cpus (const struct dn_partition *partition, int64_t mem_mb)
{
    return !partition || partition->max_mem_per_cpu_mb <= 0 || mem_mb <= 0
               ? 0
               : (mem_mb - 1) / partition->max_mem_per_cpu_mb + 1;
}

void dn_deciding_look_at_limits (struct dn_deciding *d)
{
    const struct dn_job *job = d->request->job;
    struct dn_span rest = {job->partition, 0};

    if (!d->view->cluster)
        return;
    if (job->partition)
        rest.len = strnlen (job->partition, DN_PARTITIONS_TEXT_MAX);
    do {
        struct dn_span piece = dn_span_trim (dn_span_cut (&rest, ","));
        struct dn_standing *standing = &d->standings[d->n_standings++];
        char name[DN_NAME_MAX] = "";
        int64_t least;

        dn_span_copy (piece, name, sizeof (name), "partition", NULL);
        *standing =
            dn_standing_of (d->view->cluster, job, name[0] != '\0' ? name : NULL);
        least = least_cpus (standing->partition, d->request->mem_per_node_mb);
        if (least > d->least_node_cpus)
            d->least_node_cpus = least;
    } while (rest.text && d->n_standings < DN_PARTITIONS_MAX);
}

int64_t dn_longest_limit (const struct dn_deciding *d, int i)
{
    const struct dn_cluster *cluster = d->view->cluster;
    int64_t longest = INT64_MAX;
    struct dn_standing own;
    int n;
    const struct dn_standing *standings = standings_on (d, i, &own, &n);

    for (int k = 0; k < n; k++) {
        const struct sources sources = sources_of (cluster, &standings[k]);

        if (standings[k].partition)
            lower (&longest, standings[k].partition->max_time_s);
        for (int s = 0; s < sources.n; s++)
            lower (&longest, sources.list[s].limited->max_wall_s);
    }
    return longest;
}

/* "gres/gpu:a100", in any case. */
static bool counts_type (const char *tres)
{
    struct dn_span rest = dn_span_of (tres);

    return dn_span_is (dn_span_cut (&rest, ":"), "gres/gpu") && rest.text;
}

static bool limits_types (const struct dn_cluster *cluster,
                          const struct dn_limited *limited)
{
    int64_t end = limited->first_limit + limited->n_limits;

    for (int64_t i = limited->first_limit; i >= 0 && i < end && i < cluster->n_limits;
         i++)
        if (counts_type (cluster->limits[i].tres))
            return true;
    return false;
}

void dn_deciding_typed_limit (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    const struct dn_cluster *cluster = d->view->cluster;
    struct dn_standing own;
    int n;
    const struct dn_standing *standings = standings_on (d, i, &own, &n);

    for (int k = 0; k < n; k++) {
        const struct sources sources = sources_of (cluster, &standings[k]);

        for (int s = 0; s < sources.n; s++)
            if (limits_types (cluster, sources.list[s].limited))
                why->code = DN_REASON_typed_limits;
    }
}
