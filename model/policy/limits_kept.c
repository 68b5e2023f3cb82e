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

/* What a job has, as submitted or changed; -1: unknown. */
struct use {
    struct dn_billed all;
    double node_cpus;
    double node_mem_mb;
    double node_gpus;
    const char *weights; /* of the partition */
};

static double times (int64_t count, int64_t n)
{
    return count < 0 || n < 0 ? -1 : (double) count * (double) n;
}

static struct use use_of (const struct dn_deciding *d,
                          int i,
                          int64_t cpus,
                          const char *weights)
{
    const struct dn_request *request = d->request;
    int64_t n_nodes = request->n_nodes;
    struct use use = {
        .all = {.cpus = (double) cpus,
                .mem_mb = times (request->mem_per_node_mb, n_nodes),
                .nodes = (double) n_nodes,
                .gpus = (double) request->n_gpus,
                .gpu_type = i < 0 ? NULL : dn_deciding_type (d, i)},
        .node_mem_mb = (double) request->mem_per_node_mb,
        .node_gpus = (double) request->gpus_per_node,
        .node_cpus = cpus < 0 || n_nodes < 1 ? -1 : (double) cpus / (double) n_nodes,
        .weights = weights};

    return use;
}

static bool is_word (const char *text, const char *word)
{
    return dn_word_equal (text, strlen (text), word, strlen (word));
}

/* Is 'tres' "gres/gpu:TYPE"? */
static bool is_typed (const char *tres, const char *type)
{
    static const char prefix[] = "gres/gpu:";
    const size_t len = sizeof (prefix) - 1;

    return type && strlen (tres) > len && dn_word_equal (tres, len, prefix, len)
           && is_word (tres + len, type);
}

/* How much of a trackable resource the job has, on one node or in all. 'one': of a
 * billing the largest part, which counts instead of the sum at some sites.
 */
static double amount_of (const char *tres, const struct use *use, bool node, bool one)
{
    const struct dn_billed *all = &use->all;
    double sum;
    double largest;

    if (is_word (tres, "cpu"))
        return node ? use->node_cpus : all->cpus;
    if (is_word (tres, "mem"))
        return node ? use->node_mem_mb : all->mem_mb;
    if (is_word (tres, "node"))
        return node ? 1 : all->nodes;
    if (is_word (tres, "gres/gpu") || is_typed (tres, all->gpu_type))
        return node ? use->node_gpus : all->gpus;
    if (is_word (tres, "billing"))
        return !dn_billing_of (use->weights, all, &sum, &largest) ? -1
               : one                                              ? largest
                                                                  : sum;
    return 0;
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
                    const struct use *new,
                    bool one)
{
    bool node = limit->scope == DN_LIMIT_NODE;
    double before = amount_of (limit->tres, old, node, one);
    double after = amount_of (limit->tres, new, node, one);

    if (before >= 0 && exceeds (limit, before))
        return false;
    return after < 0 ? before >= 0 : exceeds (limit, after);
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

/* Receives the limits that bind a job, until it returns false. */
typedef bool (*limit_f) (void *to,
                         const struct dn_tres_limit *limit,
                         const struct source *source);

/* Show 'look' all limits of a standing. False where it returned false, or there are too
 * many.
 */
static bool each_limit (const struct dn_cluster *cluster,
                        const struct dn_standing *standing,
                        limit_f look,
                        void *to)
{
    const struct sources sources = sources_of (cluster, standing);
    int n_left = LIMITS_MAX;

    for (int i = 0; i < sources.n; i++) {
        const struct dn_limited *limited = sources.list[i].limited;
        int64_t first = limited->first_limit;

        for (int64_t at = first;
             first >= 0 && at < first + limited->n_limits && at < cluster->n_limits;
             at++)
            if (n_left-- <= 0 || !look (to, &cluster->limits[at], &sources.list[i]))
                return false;
    }
    return true;
}

/* The standings of the job on candidate 'i'; of one that a move to its partition needs,
 * '*own' is filled.
 */
static const struct dn_standing *standings_on (const struct dn_deciding *d,
                                               int i,
                                               struct dn_standing *own,
                                               int *n)
{
    const struct dn_gpu_type *type = d->candidates->list[i].gpu;
    const struct dn_job *job = d->request->job;

    if (type->by_partition[0] == '\0' || dn_gpu_by_partition (type, job)
        || !dn_gpu_by_partition (d->candidates->named, job)) {
        *n = d->snapshot->n_standings;
        return d->snapshot->standings;
    }
    *own = dn_standing_of (d->view->cluster, job, type->by_partition);
    *n = 1;
    return own;
}

static const char *weights_of (const struct dn_standing *standing)
{
    return standing->partition ? standing->partition->weights : "";
}

/* The two states of the job that are compared, and the limit that is broken. */
struct change {
    struct use before;
    struct use after;
    struct dn_reason why;
};

static bool keeps_one (void *to,
                       const struct dn_tres_limit *limit,
                       const struct source *source)
{
    struct change *change = to;

    if (!breaks (limit, &change->before, &change->after, false)
        && !breaks (limit, &change->before, &change->after, true))
        return true;
    change->why = broken (limit, source);
    return false;
}

struct dn_reason dn_broken_limit (const struct dn_deciding *d, int i, int64_t cpus)
{
    const struct dn_cluster *cluster = d->view->cluster;
    int64_t requested = d->request->n_cpus;
    struct dn_standing own;
    int n = 0;
    const struct dn_standing *standings =
        cluster ? standings_on (d, i, &own, &n) : NULL;

    for (int k = 0; k < n; k++) {
        const char *weights = weights_of (&standings[k]);
        const struct dn_standing *old =
            standings == &own ? &d->snapshot->standings[0] : &standings[k];
        struct change change = {
            use_of (d, d->base, requested, weights_of (old)),
            use_of (d, i, cpus == DN_UNSET ? requested : cpus, weights),
            DN_REASON (other_many_limits),
        };

        if (!each_limit (cluster, &standings[k], keeps_one, &change))
            return change.why;
    }
    return DN_NO_REASON;
}

/* --- limits on CPUs and time ------------------------------------------------------ */

/* Raise the least number of CPUs to that of a limit that the job keeps. */
static bool raise_least (void *to,
                         const struct dn_tres_limit *limit,
                         const struct source *source)
{
    const struct dn_deciding *d = to;
    struct dn_snapshot_of_job *snapshot = d->snapshot;
    int64_t requested = d->request->n_cpus;
    bool billing = is_word (limit->tres, "billing");
    int64_t least = billing ? requested : limit->count;

    if (limit->scope != DN_LIMIT_MIN_JOB || (!billing && !is_word (limit->tres, "cpu"))
        || least > requested || least <= snapshot->least_cpus)
        return true;
    snapshot->least_cpus = least;
    snapshot->least_why = broken (limit, source);
    return true;
}

static void lower (int64_t *longest, int64_t limit_s)
{
    if (limit_s >= 0 && limit_s < *longest)
        *longest = limit_s;
}

/* Look at the limits in one partition that the job names. */
static void look_at (struct dn_deciding *d, const struct dn_standing *standing)
{
    const struct dn_partition *partition = standing->partition;
    struct dn_snapshot_of_job *snapshot = d->snapshot;
    int64_t mem_mb = d->request->mem_per_node_mb;
    int64_t least;

    if (!each_limit (d->view->cluster, standing, raise_least, d)) {
        snapshot->least_cpus = INT64_MAX;
        snapshot->least_why = DN_REASON (many_limits);
    }
    if (!partition || partition->max_mem_per_cpu_mb <= 0 || mem_mb <= 0)
        return;
    least = (mem_mb - 1) / partition->max_mem_per_cpu_mb + 1;
    if (least > snapshot->least_node_cpus)
        snapshot->least_node_cpus = least;
}

void dn_deciding_look_at_limits (struct dn_deciding *d)
{
    const struct dn_job *job = d->request->job;
    struct dn_snapshot_of_job *snapshot = d->snapshot;
    struct dn_span rest = {job->partition, 0};

    snapshot->n_standings = 0;
    snapshot->least_cpus = snapshot->least_node_cpus = 0;
    snapshot->least_why = DN_NO_REASON;
    if (!d->view->cluster)
        return;
    if (job->partition)
        rest.len = strnlen (job->partition, DN_PARTITIONS_TEXT_MAX);
    do {
        struct dn_span piece = dn_span_trim (dn_span_cut (&rest, ","));
        char name[DN_NAME_MAX] = "";

        dn_span_copy (piece, name, sizeof (name), "partition", NULL);
        snapshot->standings[snapshot->n_standings] =
            dn_standing_of (d->view->cluster, job, name[0] != '\0' ? name : NULL);
        look_at (d, &snapshot->standings[snapshot->n_standings++]);
    } while (rest.text && snapshot->n_standings < DN_PARTITIONS_MAX);
}

int64_t dn_longest_limit (const struct dn_deciding *d, int i)
{
    const struct dn_cluster *cluster = d->view->cluster;
    int64_t longest = INT64_MAX;
    struct dn_standing own;
    int n = 0;
    const struct dn_standing *standings =
        cluster ? standings_on (d, i, &own, &n) : NULL;

    for (int k = 0; k < n; k++) {
        const struct sources sources = sources_of (cluster, &standings[k]);

        if (standings[k].partition)
            lower (&longest, standings[k].partition->max_time_s);
        for (int s = 0; s < sources.n; s++)
            lower (&longest, sources.list[s].limited->max_wall_s);
    }
    return longest;
}
