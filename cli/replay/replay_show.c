/* replay_show.c - the sums of a replay as text and as JSON
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "replay_show.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "common.h"
#include "output/grid.h"

/* --- text ------------------------------------------------------------------------- */

static const char *name_of (const char *type)
{
    return type[0] != '\0' ? type : "all";
}

static void add_count (struct dn_grid *grid, int64_t count)
{
    dn_grid_add (grid, "%" PRId64, count);
}

/* A value with 'digits' behind the point, "-" if it is unknown. */
static void add_real (struct dn_grid *grid, double value, int digits)
{
    if (isfinite (value))
        dn_grid_add (grid, "%.*f", digits, value);
    else
        dn_grid_add (grid, "-");
}

static int print_decisions (const struct dn_replay *replay)
{
    static const struct dn_grid_column columns[] = {{"GPU", false},
                                                    {"JOBS", true},
                                                    {"ADVISED", true},
                                                    {"HISTORY", true},
                                                    {"CHANGED", true},
                                                    {"LIMIT LOWER", true},
                                                    {"MOVED", true},
                                                    {"FEWER CPUS", true},
                                                    {"EXTENDED", true},
                                                    {"KILLED", true}};
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of (columns, DN_N_ELEMENTS (columns));
    const struct dn_replay_sums *sums;

    for (int i = 0; (sums = dn_replay_sums (replay, i)) != NULL; i++) {
        dn_grid_add (&grid, "%s", name_of (sums->type));
        add_count (&grid, sums->jobs);
        add_count (&grid,
                   sums->fates[DN_REPLAY_KEPT] + sums->fates[DN_REPLAY_CONTROL]
                       + sums->fates[DN_REPLAY_CHANGED]);
        add_count (&grid, sums->with_history);
        add_count (&grid, sums->fates[DN_REPLAY_CHANGED]);
        add_count (&grid, sums->lowered);
        add_count (&grid, sums->moved);
        add_count (&grid, sums->fewer_cpus);
        add_count (&grid, sums->extended);
        add_count (&grid, sums->killed);
    }
    return dn_grid_print (&grid);
}

static int print_hours (const struct dn_replay *replay)
{
    static const struct dn_grid_column columns[] = {{"GPU", false},
                                                    {"GPU H USED", true},
                                                    {"REQUESTED", true},
                                                    {"BY POLICY", true},
                                                    {"SAVED", true},
                                                    {"LIMIT/RUN", true},
                                                    {"BY POLICY", true},
                                                    {"CPU H", true},
                                                    {"BY POLICY", true}};
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of (columns, DN_N_ELEMENTS (columns));
    const struct dn_replay_sums *sums;

    for (int i = 0; (sums = dn_replay_sums (replay, i)) != NULL; i++) {
        dn_grid_add (&grid, "%s", name_of (sums->type));
        add_real (&grid, sums->used_gpu_h, 0);
        add_real (&grid, sums->asked_gpu_h, 0);
        add_real (&grid, sums->set_gpu_h, 0);
        add_real (&grid, sums->asked_gpu_h - sums->set_gpu_h, 0);
        add_real (&grid, dn_replay_median (sums->asked), 2);
        add_real (&grid, dn_replay_median (sums->set), 2);
        add_real (&grid, sums->asked_cpu_h, 0);
        add_real (&grid, sums->set_cpu_h, 0);
    }
    return dn_grid_print (&grid);
}

/* Is it the first pool of its type? */
static bool is_first (const struct dn_sim *sim, int pool)
{
    for (int i = 0; i < pool; i++)
        if (strcasecmp (sim->pools[i].type, sim->pools[pool].type) == 0)
            return false;
    return true;
}

static int add_queue (struct dn_grid *grid,
                      const struct dn_replay_queue *queue,
                      int pool,
                      struct dn_err *err)
{
    for (int arm = 0; arm < DN_N_REPLAY_ARMS; arm++) {
        struct dn_sim_sums sums;

        if (dn_sim_sum (&queue->sim, queue->jobs[arm], queue->n_jobs, pool, &sums, err)
            < 0)
            return -1;
        dn_grid_add (grid, "%s", name_of (pool < 0 ? "" : queue->sim.pools[pool].type));
        dn_grid_add (grid, "%s", dn_replay_arm_text ((enum dn_replay_arm) arm));
        add_count (grid, sums.jobs);
        add_real (grid, sums.wait_mean_s / 60, 1);
        add_real (grid, sums.wait_median_s / 60, 1);
        add_real (grid, sums.wait_p95_s / 60, 1);
        add_real (grid, sums.slowdown, 2);
        add_real (grid, 100 * sums.utilisation, 1);
        add_count (grid, sums.killed);
        add_count (grid, sums.extended);
        add_count (grid, sums.steered);
    }
    return 0;
}

static int print_queue (const struct dn_replay_queue *queue, struct dn_err *err)
{
    static const struct dn_grid_column columns[] = {{"GPU", false},
                                                    {"QUEUE", false},
                                                    {"JOBS", true},
                                                    {"WAIT MIN", true},
                                                    {"MEDIAN", true},
                                                    {"P95", true},
                                                    {"SLOWDOWN", true},
                                                    {"BUSY %", true},
                                                    {"KILLED", true},
                                                    {"EXTENDED", true},
                                                    {"STEERED", true}};
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of (columns, DN_N_ELEMENTS (columns));

    for (int pool = -1; pool < queue->sim.n_pools; pool++)
        if ((pool < 0 || is_first (&queue->sim, pool))
            && add_queue (&grid, queue, pool, err) < 0)
            return -1;
    printf ("\n");
    return dn_grid_print (&grid);
}

int dn_replay_print (const struct dn_replay *replay,
                     const struct dn_replay_queue *queue,
                     struct dn_err *err)
{
    if (print_decisions (replay) != DN_EXIT_DONE)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    printf ("\n");
    if (print_hours (replay) != DN_EXIT_DONE)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (queue && print_queue (queue, err) < 0)
        return -1;
    if (queue && queue->left_out > 0)
        printf ("\n%" PRId64 " jobs are not in the queue: they have no GPUs, did not "
                "start, or no node has their type\n",
                queue->left_out);
    return 0;
}

/* --- JSON ------------------------------------------------------------------------- */

static void add_sums (struct json_object *row, const struct dn_replay_sums *sums)
{
    struct json_object *fates;

    dn_json_add_text (row, "gpu", sums->type[0] != '\0' ? sums->type : NULL);
    dn_json_add_count (row, "jobs", sums->jobs);
    fates = dn_json_add_object (row, "fates");
    for (int i = 0; i < DN_N_REPLAY_FATES; i++)
        dn_json_add_count (
            fates, dn_replay_fate_text ((enum dn_replay_fate) i), sums->fates[i]);
    dn_json_add_count (row, "with_history", sums->with_history);
    dn_json_add_count (row, "limits_lowered", sums->lowered);
    dn_json_add_count (row, "limits_raised", sums->raised);
    dn_json_add_count (row, "moved", sums->moved);
    dn_json_add_count (row, "fewer_cpus", sums->fewer_cpus);
    dn_json_add_count (row, "extended", sums->extended);
    dn_json_add_count (row, "killed", sums->killed);
    dn_json_add_real (row, "used_gpu_h", sums->used_gpu_h);
    dn_json_add_real (row, "requested_gpu_h", sums->asked_gpu_h);
    dn_json_add_real (row, "policy_gpu_h", sums->set_gpu_h);
    dn_json_add_real (row, "requested_cpu_h", sums->asked_cpu_h);
    dn_json_add_real (row, "policy_cpu_h", sums->set_cpu_h);
    dn_json_add_count (row, "less_memory", sums->less_memory);
    dn_json_add_real (row, "requested_mem_gib_h", sums->asked_mem_h);
    dn_json_add_real (row, "policy_mem_gib_h", sums->set_mem_h);
    dn_json_add_count (row, "ratios", sums->ratios);
    dn_json_add_signed (row, "requested_limit_per_run", dn_replay_median (sums->asked));
    dn_json_add_signed (row, "policy_limit_per_run", dn_replay_median (sums->set));
}

static int add_arm (struct json_object *to,
                    const char *key,
                    const struct dn_replay_queue *queue,
                    int pool,
                    int arm,
                    struct dn_err *err)
{
    struct json_object *row = dn_json_add_object (to, key);
    struct dn_sim_sums sums;

    if (dn_sim_sum (&queue->sim, queue->jobs[arm], queue->n_jobs, pool, &sums, err) < 0)
        return -1;
    dn_json_add_count (row, "jobs", sums.jobs);
    dn_json_add_count (row, "impossible", sums.impossible);
    dn_json_add_count (row, "steered", sums.steered);
    dn_json_add_signed (row, "end_mean_s", sums.end_mean_s);
    dn_json_add_signed (row, "wait_mean_s", sums.wait_mean_s);
    dn_json_add_signed (row, "wait_median_s", sums.wait_median_s);
    dn_json_add_signed (row, "wait_p95_s", sums.wait_p95_s);
    dn_json_add_signed (row, "bounded_slowdown", sums.slowdown);
    dn_json_add_signed (row, "utilisation", sums.utilisation);
    dn_json_add_count (row, "killed", sums.killed);
    dn_json_add_count (row, "extended", sums.extended);
    dn_json_add_real (row, "gpu_h", sums.gpu_hours);
    dn_json_add_real (row, "killed_gpu_h", sums.lost_gpu_hours);
    return 0;
}

static int add_queue_json (struct json_object *json,
                           const struct dn_replay_queue *queue,
                           struct dn_err *err)
{
    struct json_object *object = dn_json_add_object (json, "queue");
    struct json_object *rows;

    dn_json_add_count (object, "left_out", queue->left_out);
    rows = dn_json_add_array (object, "types");
    for (int pool = -1; pool < queue->sim.n_pools; pool++) {
        struct json_object *row;

        if (pool >= 0 && !is_first (&queue->sim, pool))
            continue;
        row = dn_json_append_object (rows);
        dn_json_add_text (row, "gpu", pool < 0 ? NULL : queue->sim.pools[pool].type);
        if (add_arm (row, "requested", queue, pool, DN_REPLAY_BEFORE, err) < 0
            || add_arm (row, "policy", queue, pool, DN_REPLAY_AFTER, err) < 0)
            return -1;
    }
    return 0;
}

int dn_replay_print_json (const struct dn_replay *replay,
                          const struct dn_replay_queue *queue,
                          struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    struct json_object *rows = dn_json_add_array (json, "types");
    const struct dn_replay_sums *sums;

    for (int i = 0; (sums = dn_replay_sums (replay, i)) != NULL; i++)
        add_sums (dn_json_append_object (rows), sums);
    if (queue && add_queue_json (json, queue, err) < 0)
        return -1;
    dn_json_print (json);
    return 0;
}
