/* lookback.c - what past jobs requested and used, and what dnnest would have changed
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lookback/lookback.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hardware/gpu_names.h"
#include "jobs/finished.h"

/* What is counted as sooner or later. */
#define SAME 0.02

/* Of waits that are unlike. */
#define UNLIKE   3
#define UNLIKE_S 1800

struct pass {
    struct dn_lookback *lookback;
    struct dn_err *err;
};

/* --- types ------------------------------------------------------------------------ */

/* A type of its own for GPUs without one: that of all nodes, if they have one. */
static const char *type_of (const struct dn_lookback *lookback, const char *type)
{
    const struct dn_sim *sim = &lookback->queue.sim;

    if (type[0] != '\0')
        return type;
    for (int i = 1; i < sim->n_pools; i++)
        if (strcasecmp (sim->pools[i].type, sim->pools[0].type) != 0)
            return "gpu";
    return sim->n_pools > 0 && sim->pools[0].type[0] != '\0' ? sim->pools[0].type
                                                             : "gpu";
}

/* What it is predicted on matters little: what counts are the runs themselves. */
static void add_type (struct dn_site *site, const char *name)
{
    struct dn_gpu_guess guess = dn_gpu_guess (&site->catalogue, name, DN_UNSET, NULL);
    const struct dn_device *device = guess.device;
    char text[3 * DN_NAME_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    struct dn_keyline line = {.words = true};
    struct dn_span rest;

    if (dn_gpu_types_resemble (&site->gpu_types, name))
        return;
    for (int i = 0; !device && i < site->catalogue.n_devices; i++)
        if (!site->catalogue.devices[i].generation->host)
            device = &site->catalogue.devices[i];
    if (!device)
        return;
    dn_buf_add (&buf, "Gpu Type=%s Device=%s\n", name, device->name);
    rest = dn_span_of (text);
    if (dn_keyline_next (&rest, &line, NULL) == 1)
        dn_gpu_types_add (&site->gpu_types, &line, &site->catalogue, NULL);
}

/* --- jobs ------------------------------------------------------------------------- */

static void add_hours (struct dn_lookback *lookback,
                       const struct dn_finished *job,
                       double ran_s)
{
    struct dn_lookback_hours *hours = &lookback->hours;
    double nodes = job->nodes > 0 ? (double) job->nodes : 1;
    double gpu_h = (double) job->gpus * ran_s / 3600;
    double cpu_h = job->cpus > 0 ? (double) job->cpus * ran_s / 3600 : 0;

    hours->gpu += gpu_h;
    if (job->limit_s > 0) {
        hours->gpu_requested += (double) job->gpus * (double) job->limit_s / 3600;
        hours->gpu_limited += gpu_h;
    }
    hours->cpu += cpu_h;
    if (job->gpu_utilisation >= 0) {
        hours->gpu_measured += gpu_h;
        hours->gpu_busy += gpu_h * job->gpu_utilisation;
    }
    if (job->cpu_s > 0 && cpu_h > 0) {
        hours->cpu_measured += cpu_h;
        hours->cpu_busy += job->cpu_s / 3600;
    }
    if (job->mem_gb > 0 && job->host_mem_gb > 0) {
        hours->memory_measured += job->mem_gb * ran_s / 3600;
        hours->memory_used += job->host_mem_gb * nodes * ran_s / 3600;
    }
    if (dn_outcome_of (job) == DN_OUTCOME_COMPLETED && job->limit_s > 0 && ran_s > 0)
        dn_spread_add (&lookback->looseness, (double) job->limit_s / ran_s);
    if (dn_outcome_of (job) == DN_OUTCOME_LIMIT_USER) {
        lookback->at_limit++;
        hours->gpu_at_limit += gpu_h;
    }
}

static void list (struct dn_lookback *lookback,
                  const struct dn_finished *row,
                  const struct dn_replayed *replayed)
{
    double gpus = (double) row->gpus;
    double last_s = replayed->n_limits > 0 ? replayed->limits_s[replayed->n_limits - 1]
                                           : (double) replayed->limit_s;

    if (replayed->killed)
        dn_listing_add (&lookback->killed,
                        row->job,
                        gpus * replayed->ran_s,
                        last_s,
                        replayed->ran_s);
    if (replayed->n_limits > 0 && !replayed->soft
        && (double) replayed->limit_s > replayed->limits_s[0])
        dn_listing_add (&lookback->lowered,
                        row->job,
                        gpus * ((double) replayed->limit_s - replayed->limits_s[0]),
                        (double) replayed->limit_s,
                        replayed->limits_s[0]);
}

static int take_job (void *to, const struct dn_finished *row)
{
    struct pass *pass = to;
    struct dn_lookback *lookback = pass->lookback;
    struct dn_finished job = *row;
    struct dn_replayed replayed;
    int rc;

    lookback->jobs_n++;
    add_hours (lookback, row, dn_finished_ran_s (row));
    dn_spread_add (&lookback->wait_s, dn_sums_wait_s (row));
    if (lookback->first_s == 0 || row->end_s < lookback->first_s)
        lookback->first_s = row->end_s;
    if (row->end_s > lookback->last_s)
        lookback->last_s = row->end_s;
    job.gpu = type_of (lookback, row->gpu);
    if (dn_sums_add (lookback->sums, &job, pass->err) < 0)
        return -1;
    rc = dn_replay_job (lookback->replay, &job, &replayed, pass->err);
    lookback->repeats += rc == 1 && replayed.runs > 0;
    if (rc == 1)
        list (lookback, row, &replayed);
    if (rc == 1 && lookback->queue.sim.n_pools > 0
        && lookback->jobs_n > lookback->earlier) {
        if (row->gpu[0] == '\0')
            replayed.from = replayed.gpu = "";
        rc = dn_replay_queue_add (&lookback->queue, row, &replayed, NULL, pass->err);
    }
    return rc < 0 ? -1 : 0;
}

/* --- owners ----------------------------------------------------------------------- */

struct change {
    int64_t user;
    double wait_s;
    double before_s;
    double after_s;
};

static int by_user (const void *left, const void *right)
{
    const struct change *a = left;
    const struct change *b = right;

    return (a->user > b->user) - (a->user < b->user);
}

/* The jobs that start in both queues; their number. */
static int64_t find_changes (struct dn_lookback *lookback, struct change *changes)
{
    const struct dn_replay_queue *queue = &lookback->queue;
    int64_t n = 0;

    for (int64_t i = 0; i < queue->n_jobs; i++) {
        const struct dn_sim_job *before = &queue->jobs[DN_REPLAY_BEFORE][i];
        const struct dn_sim_job *after = &queue->jobs[DN_REPLAY_AFTER][i];

        if (isnan (before->start_s) || isnan (after->start_s))
            continue;
        changes[n++] = (struct change){queue->owners[i].user,
                                       after->start_s - before->start_s,
                                       before->end_s - before->submit_s,
                                       after->end_s - after->submit_s};
        lookback->waited_s += before->start_s - before->submit_s;
        if (after->end_s > before->end_s)
            dn_listing_add (&lookback->delayed,
                            queue->owners[i].job,
                            after->end_s - before->end_s,
                            changes[n - 1].before_s,
                            changes[n - 1].after_s);
    }
    lookback->waited_s /= (double) n;
    qsort (changes, (size_t) n, sizeof (*changes), by_user);
    return n;
}

static double ratio_of (const struct dn_lookback_owner *owner)
{
    return owner->after_s / owner->before_s;
}

/* Put the owner into its place, by 'sign' times the ratio, the largest first. */
static void rank (struct dn_lookback_owners *owners,
                  const struct dn_lookback_owner *owner,
                  int sign)
{
    int at = owners->n;

    while (at > 0 && sign * ratio_of (owner) > sign * ratio_of (&owners->list[at - 1]))
        at--;
    if (at == DN_LOOKBACK_OWNERS)
        return;
    if (owners->n < DN_LOOKBACK_OWNERS)
        owners->n++;
    memmove (&owners->list[at + 1],
             &owners->list[at],
             (size_t) (owners->n - 1 - at) * sizeof (*owner));
    owners->list[at] = *owner;
}

static void add_owner (struct dn_lookback *lookback,
                       const struct dn_lookback_owner *owner)
{
    lookback->owners++;
    if (ratio_of (owner) < 1 - SAME) {
        lookback->sooner++;
        rank (&lookback->gainers, owner, -1);
    } else if (ratio_of (owner) > 1 + SAME) {
        lookback->later++;
        rank (&lookback->losers, owner, 1);
    }
}

static void add_owners (struct dn_lookback *lookback,
                        const struct change *changes,
                        int64_t n)
{
    for (int64_t i = 0; i < n;) {
        struct dn_lookback_owner owner = {.user = changes[i].user};

        for (; i < n && changes[i].user == owner.user; i++) {
            owner.jobs++;
            owner.before_s += changes[i].before_s;
            owner.after_s += changes[i].after_s;
        }
        owner.before_s /= (double) owner.jobs;
        owner.after_s /= (double) owner.jobs;
        add_owner (lookback, &owner);
    }
}

static int compare_queues (struct dn_lookback *lookback, struct dn_err *err)
{
    size_t room = (size_t) (lookback->queue.n_jobs > 0 ? lookback->queue.n_jobs : 1);
    dn_cleanup (dn_free_ptr) struct change *changes = calloc (room, sizeof (*changes));
    dn_cleanup (dn_free_ptr) struct dn_clustered_value *values =
        calloc (room, sizeof (*values));
    int64_t n;

    if (!changes || !values)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    n = find_changes (lookback, changes);
    lookback->impossible = lookback->queue.n_jobs - n;
    add_owners (lookback, changes, n);
    for (int64_t i = 0; i < n; i++)
        values[i] =
            (struct dn_clustered_value){(uint64_t) changes[i].user, changes[i].wait_s};
    lookback->wait = dn_clustered_mean (values, n);
    for (int64_t i = 0; i < n; i++)
        values[i] = (struct dn_clustered_value){
            (uint64_t) changes[i].user, changes[i].after_s - changes[i].before_s};
    lookback->end = dn_clustered_mean (values, n);
    return 0;
}

bool dn_lookback_is_unlike (const struct dn_lookback *lookback)
{
    double was_s = lookback->wait_s.mean;
    double is_s = lookback->waited_s;

    return fabs (is_s - was_s) > UNLIKE_S
           && !(is_s < UNLIKE * was_s && was_s < UNLIKE * is_s);
}

/* --- the whole -------------------------------------------------------------------- */

/* The nodes, for the sums of what is stranded. */
static void set_cluster (const struct dn_sim *sim,
                         struct dn_node_group groups[DN_SIM_POOLS_MAX],
                         struct dn_cluster *cluster)
{
    *cluster = (struct dn_cluster){.groups = groups, .n_groups = sim->n_pools};
    for (int i = 0; i < sim->n_pools; i++) {
        const struct dn_sim_pool *pool = &sim->pools[i];

        groups[i] = (struct dn_node_group){
            .gpus = pool->gpus,
            .cpus = pool->cpus > 0 ? pool->cpus : DN_UNSET,
            .mem_mb = pool->mem_mb > 0 ? pool->mem_mb : DN_UNSET,
            .n_nodes = pool->nodes,
        };
        memcpy (groups[i].type, pool->type, sizeof (pool->type));
    }
}

/* How many jobs are too many to be simulated. */
static int64_t earlier_of (const struct dn_lookback *lookback)
{
    const struct dn_sim *sim = &lookback->queue.sim;
    int64_t nodes = 1;
    int64_t most;

    for (int i = 0; i < sim->n_pools; i++)
        nodes += sim->pools[i].nodes;
    most = DN_LOOKBACK_WORK_MAX / nodes;
    return lookback->jobs.n > most ? lookback->jobs.n - most : 0;
}

/* The nodes as the jobs left them. */
static void add_idle (struct dn_lookback *lookback)
{
    const struct dn_sim *sim = &lookback->queue.sim;
    const struct dn_sim_pool *pools[DN_CANDIDATES_MAX] = {NULL};

    for (int i = 0; i < lookback->jobs.n_types; i++)
        for (int pool = sim->n_pools - 1; pool >= 0; pool--)
            if (strcasecmp (sim->pools[pool].type,
                            type_of (lookback, lookback->jobs.types[i]))
                == 0)
                pools[i] = &sim->pools[pool];
    lookback->idle = dn_nodes_past_idle (&lookback->jobs.nodes, pools);
}

int dn_lookback_run (struct dn_lookback *lookback,
                     struct dn_site *site,
                     struct dn_err *err)
{
    const struct dn_replay_options options = {.guard = true, .history = true};
    struct dn_store_filter filter = dn_store_all ();
    struct dn_node_group groups[DN_SIM_POOLS_MAX];
    struct dn_cluster cluster;
    struct pass pass = {lookback, err};

    for (int i = 0; i < lookback->jobs.n_types; i++)
        add_type (site, type_of (lookback, lookback->jobs.types[i]));
    lookback->replay = dn_replay_new (site, &options);
    lookback->sums = dn_sums_new (DN_GROUPED_BY_NONE, NULL, NULL);
    if (!lookback->replay || !lookback->sums)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    set_cluster (&lookback->queue.sim, groups, &cluster);
    lookback->sums->cluster = &cluster;
    lookback->earlier = earlier_of (lookback);
    filter.order = DN_STORE_BY_SUBMIT;
    if (dn_store_read (lookback->jobs.store, &filter, take_job, &pass, err) != 0)
        return -1;
    lookback->sums->cluster = NULL;
    if (lookback->queue.sim.n_pools == 0)
        return 0;
    add_idle (lookback);
    lookback->queue.sim.keep = site->rules.keep;
    if (dn_replay_queue_run (&lookback->queue, err) < 0)
        return -1;
    return compare_queues (lookback, err);
}

void dn_lookback_free (struct dn_lookback *lookback)
{
    dn_past_jobs_free (&lookback->jobs);
    dn_replay_queue_free (&lookback->queue);
    dn_replay_free (lookback->replay);
    dn_sums_free (lookback->sums);
}
