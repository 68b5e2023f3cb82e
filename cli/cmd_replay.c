/* cmd_replay.c - what today's policy would have done with past jobs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common.h"
#include "host/view_files.h"
#include "jobs/store.h"
#include "output/progress.h"
#include "output/rows.h"
#include "read_runs.h"
#include "replay/replay_queue.h"
#include "report/when.h"
#include "seen.h"

/* The options of a call, and its state. */
struct call {
    struct dn_options *given;
    struct dn_settings settings;
    struct dn_replay_options options;
    enum {
        GUARD_AS_SEEN,
        GUARD_YES,
        GUARD_NO
    } guard;
    const char *db;
    const char *trace;
    const char *nodes;
    const char *snapshot;
    const char *jobs;
    bool simulate;
    struct dn_replay *replay;
    const struct dn_row *told; /* row of the present job, if it is of a table */
    struct dn_replay_queue queue;
    struct dn_progress progress;
    int64_t n;
    struct dn_err err; /* of a job */
};

static void free_call (struct call *call)
{
    dn_progress_end (&call->progress);
    dn_replay_free (call->replay);
    dn_replay_queue_free (&call->queue);
}

/* --- options ---------------------------------------------------------------------- */

/* Read "yes" or "no". */
static int take_word (struct dn_options *given, void *to)
{
    struct call *call = to;
    const char *name = given->row->name;
    bool yes = strcmp (given->argument, "yes") == 0;

    if (!yes && strcmp (given->argument, "no") != 0)
        return dn_options_misuse (
            given, "--%s=%s: expected yes or no", name, given->argument);
    if (strcmp (name, "guard") == 0)
        call->guard = yes ? GUARD_YES : GUARD_NO;
    else
        call->options.history = yes;
    return DN_EXIT_DONE;
}

static const struct dn_option options[] = {
    DN_OPT_TEXT ("db", "FILE", "the store of finished jobs (that of StateDir)", db),
    DN_OPT_TEXT ("trace", "FILE", "a table of jobs instead", trace),
    DN_OPT_WHEN ("since", "only jobs submitted at or after this time", options.since_s),
    DN_OPT_WHEN ("until", "only jobs submitted before this time", options.until_s),
    DN_OPT_RULE ("set", "KEY=VALUE", "override a rule; may be repeated", settings),
    DN_OPT_TAKE ("guard", "yes|no", "with dnnestd's guard (if it has run)", take_word),
    DN_OPT_TAKE ("history", "yes|no", "with the history of that time (yes)", take_word),
    DN_OPT_FLAG ("simulate", "simulate the queue, too", simulate),
    DN_OPT_TEXT ("nodes", "FILE", "a table of nodes (those of the snapshot)", nodes),
    DN_OPT_TEXT ("snapshot", "FILE", "the nodes of this snapshot", snapshot),
    DN_OPT_INT ("depth",
                "N",
                "waiting jobs that backfill tests (500)",
                queue.sim.depth,
                1,
                INT32_MAX),
    DN_OPT_TEXT ("jobs", "FILE", "write a row per simulated job", jobs),
    DN_OPT_END,
};

static int check_options (struct dn_options *given, const struct call *call)
{
    if (call->db && call->trace)
        return dn_options_misuse (given, "--db and --trace cannot be combined");
    if (call->nodes && call->snapshot)
        return dn_options_misuse (given, "--nodes and --snapshot cannot be combined");
    if (!call->simulate
        && (call->nodes || call->snapshot || call->jobs || call->queue.sim.depth > 0))
        return dn_options_misuse (
            given, "--nodes, --snapshot, --depth and --jobs need --simulate");
    return DN_EXIT_DONE;
}

static int take_options (struct call *call)
{
    call->options.history = true;
    /* The decisions count as if they were applied; --set may say otherwise. */
    dn_settings_add (&call->settings, call->given, "Mode=enforce");
    return dn_options_all (call->given, call, 0, 0)
                   && check_options (call->given, call) == DN_EXIT_DONE
               ? 0
               : -1;
}

/* --- jobs ------------------------------------------------------------------------- */

/* Take a job of a store. */
static int take_job (void *to, const struct dn_finished *row)
{
    struct call *call = to;
    struct dn_replayed job;
    int rc = dn_replay_job (call->replay, row, &job, &call->err);

    if (rc == 1 && call->simulate)
        rc = dn_replay_queue_add (&call->queue, row, &job, call->told, &call->err);
    call->n++;
    dn_progress_show (&call->progress, call->n, -1);
    return rc < 0 ? -1 : 0;
}

/* Take a row of a trace. */
static int take_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct call *call = context;
    struct dn_finished job;

    dn_finished_clear (&job);
    if (dn_finished_read (row, &job, err) < 0)
        return -1;
    call->told = row;
    if (take_job (call, &job) < 0) {
        *err = call->err;
        return -1;
    }
    return 0;
}

static int read_store (struct call *call,
                       const struct dn_site *site,
                       struct dn_err *err)
{
    struct dn_view_path usual = dn_view_path (site->state_dir, DN_STORE_FILE);
    const char *path = call->db ? call->db : usual.text;
    dn_cleanup (dn_store_cleanup) struct dn_store *store =
        dn_store_open (path, false, err);
    struct dn_store_filter filter = dn_store_all ();

    if (!store)
        return -1;
    filter.order = DN_STORE_BY_SUBMIT;
    if (dn_store_read (store, &filter, take_job, call, err) == 0)
        return 0;
    if (call->err.code != DN_E_NONE)
        *err = call->err;
    return -1;
}

/* --- the command ------------------------------------------------------------------ */

/* The nodes of the simulation, and whether a guard has run. Return an enum dn_exit. */
static int read_cluster (struct call *call, const struct dn_site *site)
{
    struct dn_seen seen;
    struct dn_err err = {0};
    int rc = 0;

    dn_seen_read (&seen, site, call->snapshot);
    call->options.guard =
        call->guard == GUARD_YES
        || (call->guard == GUARD_AS_SEEN && seen.view.guarded != NULL);
    if (call->simulate && call->nodes)
        rc = dn_replay_queue_nodes (&call->queue, call->nodes, &err);
    else if (call->simulate && seen.view.cluster)
        rc = dn_replay_queue_cluster (&call->queue, seen.view.cluster, &err);
    else if (call->simulate)
        rc = dn_err_set (&err,
                         DN_E_RANGE,
                         "%s%s: no snapshot of the cluster; name the nodes by --nodes",
                         seen.cluster.path.text,
                         seen.cluster.err.text[0] != '\0' ? " cannot be used" : "");
    dn_seen_free (&seen);
    return rc < 0 ? dn_fail (DN_EXIT_DATA, &err) : DN_EXIT_DONE;
}

static int replay (struct call *call, const struct dn_site *site, struct dn_err *err)
{
    const struct dn_reading trace = {.row = take_row, .context = call};
    int rc = call->trace ? dn_read_table (call->trace, &trace, err)
                         : read_store (call, site, err);

    dn_progress_end (&call->progress);
    if (rc < 0)
        return -1;
    call->queue.sim.keep = site->rules.keep;
    if (call->simulate && dn_replay_queue_run (&call->queue, err) < 0)
        return -1;
    if (call->jobs && dn_replay_queue_write (&call->queue, call->jobs, err) < 0)
        return -1;
    return 0;
}

/* --- output ----------------------------------------------------------------------- */

static void add_sums (struct json_object *row, const struct dn_replay_sums *sums)
{
    struct json_object *fates;

    dn_json_add_name (row, "gpu", sums->type);
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

/* What the tables have beside. */
static void add_text (struct json_object *row, const struct dn_replay_sums *sums)
{
    dn_json_add_text (row, "gpu", sums->type[0] != '\0' ? sums->type : "all");
    dn_json_add_count (row,
                       "advised",
                       sums->fates[DN_REPLAY_KEPT] + sums->fates[DN_REPLAY_CONTROL]
                           + sums->fates[DN_REPLAY_CHANGED]);
    dn_json_add_signed (row, "saved_gpu_h", sums->asked_gpu_h - sums->set_gpu_h);
}

/* Is it the first pool of its type? */
static bool is_first (const struct dn_sim *sim, int pool)
{
    for (int i = 0; i < pool; i++)
        if (strcasecmp (sim->pools[i].type, sim->pools[pool].type) == 0)
            return false;
    return true;
}

static int add_arm (struct json_object *row,
                    const struct dn_replay_queue *queue,
                    int pool,
                    int arm,
                    struct dn_err *err)
{
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

/* Add a row for all jobs and for each type, with both queues; in a table, 'flat', these
 * are rows of their own.
 */
static int add_queue (struct json_object *rows,
                      const struct dn_replay_queue *queue,
                      bool flat,
                      struct dn_err *err)
{
    static const char *const arms[] = {"requested", "policy"};

    for (int pool = -1; pool < queue->sim.n_pools; pool++) {
        const char *type = pool < 0 ? NULL : queue->sim.pools[pool].type;
        struct json_object *both = NULL;

        if (pool >= 0 && !is_first (&queue->sim, pool))
            continue;
        if (!flat) {
            both = dn_json_append_object (rows);
            dn_json_add_text (both, "gpu", type);
        }
        for (int arm = 0; arm < DN_N_REPLAY_ARMS; arm++) {
            struct json_object *row = flat ? dn_json_append_object (rows)
                                           : dn_json_add_object (both, arms[arm]);

            if (flat) {
                dn_json_add_text (row, "gpu", type && type[0] ? type : "all");
                dn_json_add_text (
                    row, "queue", dn_replay_arm_text ((enum dn_replay_arm) arm));
            }
            if (add_arm (row, queue, pool, arm, err) < 0)
                return -1;
        }
    }
    return 0;
}

static int print_queue (const struct dn_replay_queue *queue, struct dn_err *err)
{
    struct json_object *rows = json_object_new_array ();

    if (add_queue (rows, queue, true, err) < 0) {
        json_object_put (rows);
        return -1;
    }
    printf ("\n");
    return dn_rows_print (rows,
                          "GPU=gpu|QUEUE=queue|JOBS>=jobs|WAIT MIN>=wait_mean_s min.1|"
                          "MEDIAN>=wait_median_s min.1|P95>=wait_p95_s min.1|"
                          "SLOWDOWN>=bounded_slowdown .2|BUSY %>=utilisation %.1|"
                          "KILLED>=killed|EXTENDED>=extended|STEERED>=steered",
                          NULL);
}

/* 'queue' is NULL without a simulation. Both tables are of the same rows. */
static int print_text (struct json_object *types,
                       const struct dn_replay_queue *queue,
                       struct dn_err *err)
{
    if (dn_rows_print (json_object_get (types),
                       "GPU=gpu|JOBS>=jobs|ADVISED>=advised|HISTORY>=with_history|"
                       "CHANGED>=fates.changed|LIMIT LOWER>=limits_lowered|"
                       "MOVED>=moved|FEWER CPUS>=fewer_cpus|EXTENDED>=extended|"
                       "KILLED>=killed",
                       NULL)
        != DN_EXIT_DONE)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    printf ("\n");
    if (dn_rows_print (
            json_object_get (types),
            "GPU=gpu|GPU H USED>=used_gpu_h .0|REQUESTED>=requested_gpu_h .0|"
            "BY POLICY>=policy_gpu_h .0|SAVED>=saved_gpu_h .0|"
            "LIMIT/RUN>=requested_limit_per_run .2|"
            "BY POLICY>=policy_limit_per_run .2|CPU H>=requested_cpu_h .0|"
            "BY POLICY>=policy_cpu_h .0",
            NULL)
        != DN_EXIT_DONE)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (queue && print_queue (queue, err) < 0)
        return -1;
    if (queue && queue->left_out > 0)
        printf ("\n%" PRId64 " jobs are not in the queue: they have no GPUs, did not "
                "start, or no node has their type\n",
                queue->left_out);
    return 0;
}

static int print (const struct call *call, struct dn_err *err)
{
    const struct dn_replay_queue *queue = call->simulate ? &call->queue : NULL;
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    struct json_object *rows = dn_json_add_array (json, "types");
    bool as_json = call->given->json;
    const struct dn_replay_sums *sums;
    struct json_object *object;

    for (int i = 0; (sums = dn_replay_sums (call->replay, i)) != NULL; i++) {
        struct json_object *row = dn_json_append_object (rows);

        add_sums (row, sums);
        if (!as_json)
            add_text (row, sums);
    }
    if (!as_json)
        return print_text (rows, queue, err);
    if (queue) {
        object = dn_json_add_object (json, "queue");
        dn_json_add_count (object, "left_out", queue->left_out);
        if (add_queue (dn_json_add_array (object, "types"), queue, false, err) < 0)
            return -1;
    }
    dn_json_print (json);
    return 0;
}

static int run_call (struct call *call, const struct dn_site *site)
{
    struct dn_err err = {0};
    int rc = read_cluster (call, site);

    if (rc != DN_EXIT_DONE)
        return rc;
    call->replay = dn_replay_new (site, &call->options);
    if (!call->replay) {
        dn_err_set (&err, DN_E_NOMEM, "out of memory");
        return dn_fail (DN_EXIT_BUG, &err);
    }
    if (replay (call, site, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    return print (call, &err) < 0 ? dn_fail (DN_EXIT_BUG, &err) : DN_EXIT_DONE;
}

static int run (struct dn_options *given)
{
    dn_cleanup (free_call) struct call call = {.given = given,
                                               .progress = dn_progress_begin ("jobs")};

    if (take_options (&call) < 0 || !dn_options_site (given, call.settings.text))
        return given->exit_code;
    return run_call (&call, given->site);
}

const struct dn_command dn_cmd_replay = {
    .name = "replay",
    .summary = "Show what the policy would have done with past jobs",
    .arguments = "",
    .options = options,
    .run = run,
};
