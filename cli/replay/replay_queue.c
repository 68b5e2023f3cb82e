/* replay_queue.c - the queue of a replay: the same jobs as they were, and by the policy
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "replay_queue.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fields.h"
#include "common.h"

/* Bytes of a table of nodes, at most. */
#define NODES_MAX 65536

static const char *const arm_text[] = {
    [DN_REPLAY_BEFORE] = "as requested",
    [DN_REPLAY_AFTER] = "by the policy",
};

const char *dn_replay_arm_text (enum dn_replay_arm arm)
{
    static const struct dn_names names = DN_NAMES (arm_text, DN_N_REPLAY_ARMS);

    return dn_names_get (&names, (int) arm);
}

/* --- nodes ------------------------------------------------------------------------ */

static int add_pool (struct dn_sim *sim,
                     const struct dn_sim_pool *pool,
                     struct dn_err *err)
{
    if (sim->n_pools == DN_SIM_POOLS_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, "more than %d kinds of nodes", DN_SIM_POOLS_MAX);
    sim->pools[sim->n_pools++] = *pool;
    return 0;
}

/* A count of a table of nodes; a column that is missing gives 'otherwise' (-1: error).
 */
static int read_count (const struct dn_row *row,
                       const char *column,
                       int64_t otherwise,
                       int64_t *count,
                       struct dn_err *err)
{
    const char *text = dn_row_get (row, column);

    *count = otherwise;
    if ((!text || text[0] == '\0') && otherwise >= 0)
        return 0;
    return dn_int_read (
        dn_span_of (text ? text : ""), column, 1, INT32_MAX, count, err);
}

static int take_node_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct dn_replay_queue *queue = context;
    const char *type = dn_row_get (row, "type");
    struct dn_sim_pool pool = {.nodes = 0};

    if (read_count (row, "nodes", -1, &pool.nodes, err) < 0
        || read_count (row, "gpus", -1, &pool.gpus, err) < 0
        || read_count (row, "cpus", 0, &pool.cpus, err) < 0
        || read_count (row, "mem_mb", 0, &pool.mem_mb, err) < 0
        || dn_span_copy (
               dn_span_of (type ? type : ""), pool.type, DN_NAME_MAX, "type", err)
               < 0)
        return -1;
    return add_pool (&queue->sim, &pool, err);
}

static int need_pools (const struct dn_replay_queue *queue, struct dn_err *err)
{
    if (queue->sim.n_pools == 0)
        return dn_err_set (err, DN_E_RANGE, "no nodes with GPUs");
    return 0;
}

int dn_replay_queue_nodes (struct dn_replay_queue *queue,
                           const char *path,
                           struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    dn_cleanup (dn_table_cleanup) struct dn_table *table =
        dn_table_new (take_node_row, queue);

    if (!table)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (dn_read_large_input (path, NODES_MAX, &text, err) < 0)
        return -1;
    if (dn_table_feed (table, text, strlen (text), err) < 0
        || dn_table_feed (table, "", 0, err) < 0 || need_pools (queue, err) < 0)
        return dn_err_wrap (err, "%s", path);
    return 0;
}

int dn_replay_queue_cluster (struct dn_replay_queue *queue,
                             const struct dn_cluster *cluster,
                             struct dn_err *err)
{
    for (int64_t i = 0; i < cluster->n_groups; i++) {
        const struct dn_node_group *group = &cluster->groups[i];
        struct dn_sim_pool pool = {
            .nodes = group->n_nodes,
            .gpus = group->gpus,
            .cpus = group->cpus > 0 ? group->cpus : 0,
            .mem_mb = group->mem_mb > 0 ? group->mem_mb : 0,
        };

        memcpy (pool.type, group->type, sizeof (pool.type));
        if (pool.nodes > 0 && pool.nodes <= DN_SIM_NODES_MAX && pool.gpus > 0
            && add_pool (&queue->sim, &pool, err) < 0)
            return -1;
    }
    return need_pools (queue, err);
}

/* --- jobs ------------------------------------------------------------------------- */

/* Pools of that type; "": all. */
static uint64_t pools_of (const struct dn_sim *sim, const char *type)
{
    uint64_t pools = 0;

    for (int i = 0; i < sim->n_pools; i++)
        if (type[0] == '\0' || strcasecmp (sim->pools[i].type, type) == 0)
            pools |= UINT64_C (1) << i;
    return pools;
}

static int grow (struct dn_replay_queue *queue, struct dn_err *err)
{
    for (int arm = 0; arm < DN_N_REPLAY_ARMS; arm++)
        if (dn_rows_grow (
                &queue->jobs[arm], queue->n_jobs, sizeof (*queue->jobs[arm]), err)
            < 0)
            return -1;
    return dn_rows_grow (&queue->owners, queue->n_jobs, sizeof (*queue->owners), err);
}

/* The job as it was requested. A limit that the run time passed (Slurm ends jobs some
 * seconds late) does not end it.
 */
static struct dn_sim_job as_requested (const struct dn_replay_queue *queue,
                                       const struct dn_finished *row,
                                       const struct dn_replayed *job)
{
    double limit_s = job->limit_s > 0 ? (double) job->limit_s : INFINITY;

    return (struct dn_sim_job){
        .submit_s = (double) row->submit_s,
        .pools = pools_of (&queue->sim, job->from),
        .gpus = job->gpus,
        .nodes = row->nodes > 1 ? row->nodes : 0,
        .cpus = job->cpus,
        .mem_mb = job->mem_mb,
        .run_s = job->ran_s,
        .limits_s = {fmax (limit_s, job->ran_s + 1)},
        .n_limits = 1,
    };
}

static struct dn_sim_job by_policy (const struct dn_replay_queue *queue,
                                    const struct dn_sim_job *before,
                                    const struct dn_replayed *job)
{
    struct dn_sim_job after = *before;

    after.pools = pools_of (&queue->sim, job->gpu);
    after.cpus = job->cpus_after;
    after.mem_mb = job->mem_after_mb;
    after.run_s = job->runs_s;
    after.likely_s = job->likely_s;
    for (int i = 0; i < job->n_open && after.n_others < DN_SIM_OTHERS_MAX; i++) {
        struct dn_sim_other other = {pools_of (&queue->sim, job->open[i].gpu),
                                     job->ran_s * job->open[i].slow,
                                     job->open[i].slow};

        if (other.pools != 0)
            after.others[after.n_others++] = other;
    }
    if (job->n_limits == 0)
        return after;
    after.n_limits = job->n_limits;
    memcpy (after.limits_s, job->limits_s, sizeof (job->limits_s));
    /* The last is the user's own where others come before it. */
    if (job->n_limits > 1)
        after.limits_s[job->n_limits - 1] =
            fmax (job->limits_s[job->n_limits - 1], before->limits_s[0]);
    return after;
}

/* --- what a table states ---------------------------------------------------------- */

/* A number of a table in 'value', which stays if there is none. */
static int read_told (const struct dn_row *row,
                      const char *column,
                      double *value,
                      struct dn_err *err)
{
    const char *text = dn_row_get (row, column);

    if (!text || text[0] == '\0')
        return 0;
    return dn_real_read (dn_span_of (text), column, 0, 1e12, value, err);
}

/* The run time and the predicted one on that type; NaN: not stated. */
static int read_type (const struct dn_row *row,
                      const char *type,
                      double *run_s,
                      double *likely_s,
                      struct dn_err *err)
{
    char run[DN_NAME_MAX + 8], likely[DN_NAME_MAX + 8];

    *run_s = *likely_s = NAN;
    snprintf (run, sizeof (run), "run_s:%s", type);
    snprintf (likely, sizeof (likely), "likely_s:%s", type);
    return read_told (row, run, run_s, err) < 0
               ? -1
               : read_told (row, likely, likely_s, err);
}

/* The job is open to the other types that the row has both times of. */
static int open_job (const struct dn_sim *sim,
                     const struct dn_row *row,
                     struct dn_sim_job *job,
                     struct dn_err *err)
{
    for (int i = 0; i < sim->n_pools && job->n_others < DN_SIM_OTHERS_MAX; i++) {
        uint64_t pools = pools_of (sim, sim->pools[i].type);
        double run_s, likely_s;

        if (job->pools & pools || pools & ((UINT64_C (1) << i) - 1))
            continue;
        if (read_type (row, sim->pools[i].type, &run_s, &likely_s, err) < 0)
            return -1;
        if (isfinite (run_s) && isfinite (likely_s) && job->likely_s > 0)
            job->others[job->n_others++] =
                (struct dn_sim_other){pools, run_s, likely_s / job->likely_s};
    }
    return 0;
}

/* A limit that a guard doubles up to the user's own. */
static void set_limits (struct dn_sim_job *job, double limit_s)
{
    double own_s = job->limits_s[0];

    job->n_limits = 0;
    while (limit_s > 0 && limit_s < own_s && job->n_limits < DN_SIM_LIMITS_MAX - 1) {
        job->limits_s[job->n_limits++] = limit_s;
        limit_s *= 2;
    }
    job->limits_s[job->n_limits++] = own_s;
}

/* What the row of a table states in place of run time and policy. */
static int take_told (const struct dn_sim *sim,
                      const struct dn_row *row,
                      const struct dn_finished *job,
                      struct dn_sim_job *before,
                      struct dn_sim_job *after,
                      struct dn_err *err)
{
    double open = NAN, run_s, likely_s, cpus, limit_s = 0;

    if (read_told (row, "open", &open, err) < 0
        || read_type (row, dn_rebuild_gpu (job), &run_s, &likely_s, err) < 0)
        return -1;
    if (isfinite (run_s)) {
        before->run_s = run_s;
        before->limits_s[0] = (double) dn_rebuild_limit (job);
    }
    if (isnan (open))
        return 0;
    *after = *before;
    cpus = (double) before->cpus;
    if (open == 0)
        return 0;
    if (read_told (row, "set_cpus", &cpus, err) < 0
        || read_told (row, "set_limit_s", &limit_s, err) < 0)
        return -1;
    after->cpus = (int64_t) cpus;
    after->likely_s = likely_s;
    set_limits (after, limit_s);
    return open_job (sim, row, after, err);
}

int dn_replay_queue_add (struct dn_replay_queue *queue,
                         const struct dn_finished *row,
                         const struct dn_replayed *job,
                         const struct dn_row *told,
                         struct dn_err *err)
{
    struct dn_sim_job before = as_requested (queue, row, job);
    struct dn_sim_job after = by_policy (queue, &before, job);
    int64_t i = queue->n_jobs;

    if (job->gpus < 1 || !(job->ran_s > 0) || before.pools == 0 || after.pools == 0) {
        queue->left_out++;
        return 0;
    }
    if (grow (queue, err) < 0
        || (told && take_told (&queue->sim, told, row, &before, &after, err) < 0))
        return -1;
    queue->jobs[DN_REPLAY_BEFORE][i] = before;
    queue->jobs[DN_REPLAY_AFTER][i] = after;
    queue->owners[i].user = row->user;
    snprintf (queue->owners[i].job, sizeof (queue->owners[i].job), "%s", row->job);
    queue->n_jobs++;
    return 0;
}

int dn_replay_queue_run (struct dn_replay_queue *queue, struct dn_err *err)
{
    for (int arm = 0; arm < DN_N_REPLAY_ARMS; arm++)
        if (dn_simulate (&queue->sim, queue->jobs[arm], queue->n_jobs, err) < 0)
            return -1;
    return 0;
}

static void write_job (FILE *stream, const struct dn_replay_queue *queue, int64_t i)
{
    fprintf (stream, "%s", queue->owners[i].job);
    for (int arm = 0; arm < DN_N_REPLAY_ARMS; arm++) {
        const struct dn_sim_job *job = &queue->jobs[arm][i];

        if (isnan (job->start_s))
            fprintf (stream, ",,,,");
        else
            fprintf (stream,
                     ",%s,%.0f,%.0f,%d",
                     queue->sim.pools[job->pool].type,
                     job->start_s,
                     job->end_s,
                     job->killed);
    }
    fprintf (stream, "\n");
}

int dn_replay_queue_write (const struct dn_replay_queue *queue,
                           const char *path,
                           struct dn_err *err)
{
    FILE *stream = fopen (path, "we");
    int failed;

    if (!stream)
        return dn_err_errno (path, err);
    fprintf (stream,
             "job,gpu,start_s,end_s,killed,"
             "after_gpu,after_start_s,after_end_s,after_killed\n");
    for (int64_t i = 0; i < queue->n_jobs; i++)
        write_job (stream, queue, i);
    failed = ferror (stream);
    if (fclose (stream) != 0 || failed)
        return dn_err_set (err, DN_E_IO, "%s: cannot write", path);
    return 0;
}

void dn_replay_queue_free (struct dn_replay_queue *queue)
{
    for (int arm = 0; arm < DN_N_REPLAY_ARMS; arm++)
        free (queue->jobs[arm]);
    free (queue->owners);
}
