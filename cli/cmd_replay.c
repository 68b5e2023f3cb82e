/* cmd_replay.c - what today's policy would have done with past jobs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/view_files.h"
#include "jobs/store.h"
#include "output/progress.h"
#include "read_runs.h"
#include "replay/replay_show.h"
#include "report/when.h"
#include "seen.h"

/* The options of a call, and its state. */
struct call {
    struct dn_options given;
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
            given->command, "--%s=%s: expected yes or no", name, given->argument);
    if (strcmp (name, "guard") == 0)
        call->guard = yes ? GUARD_YES : GUARD_NO;
    else
        call->options.history = yes;
    return DN_EXIT_DONE;
}

static int take_when (struct dn_options *given, void *to)
{
    struct call *call = to;
    bool since = strcmp (given->row->name, "since") == 0;

    return dn_when_take (
        given, time (NULL), since ? &call->options.since_s : &call->options.until_s);
}

static const struct dn_option options[] = {
    DN_OPT_TEXT ("db", 0, "FILE", "the store of finished jobs (that of StateDir)", db),
    DN_OPT_TEXT ("trace", 0, "FILE", "a table of jobs instead", trace),
    DN_OPT_TAKE ("since",
                 0,
                 "TIME",
                 "only jobs submitted at or after this time",
                 take_when),
    DN_OPT_TAKE ("until", 0, "TIME", "only jobs submitted before this time", take_when),
    DN_OPT_RULE ("set", 0, "KEY=VALUE", "override a rule; may be repeated", settings),
    DN_OPT_TAKE ("guard",
                 0,
                 "yes|no",
                 "with dnnestd's guard (if it has run)",
                 take_word),
    DN_OPT_TAKE ("history",
                 0,
                 "yes|no",
                 "with the history of that time (yes)",
                 take_word),
    DN_OPT_FLAG ("simulate", 0, "simulate the queue, too", simulate),
    DN_OPT_TEXT ("nodes", 0, "FILE", "a table of nodes (those of the snapshot)", nodes),
    DN_OPT_TEXT ("snapshot", 0, "FILE", "the nodes of this snapshot", snapshot),
    DN_OPT_INT ("depth",
                0,
                "N",
                "waiting jobs that backfill tests (500)",
                queue.sim.depth,
                1,
                INT32_MAX),
    DN_OPT_TEXT ("jobs", 0, "FILE", "write a row per simulated job", jobs),
    DN_OPT_END,
};

static int check_options (const struct dn_command *self, const struct call *call)
{
    if (call->db && call->trace)
        return dn_options_misuse (self, "--db and --trace cannot be combined");
    if (call->nodes && call->snapshot)
        return dn_options_misuse (self, "--nodes and --snapshot cannot be combined");
    if (!call->simulate
        && (call->nodes || call->snapshot || call->jobs || call->queue.sim.depth > 0))
        return dn_options_misuse (
            self, "--nodes, --snapshot, --depth and --jobs need --simulate");
    return DN_EXIT_DONE;
}

static int take_options (const struct dn_command *self, struct call *call)
{
    struct dn_options *given = &call->given;

    call->options.history = true;
    /* The decisions count as if they were applied; --set may say otherwise. */
    if (!dn_settings_add (&call->settings, self, "Mode=enforce"))
        return -1;
    if (!dn_options_all (given, call, 0, 0))
        return -1;
    given->exit_code = check_options (self, call);
    return given->exit_code == DN_EXIT_DONE ? 0 : -1;
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

static int run_call (struct call *call, const struct dn_site *site)
{
    const struct dn_replay_queue *queue = call->simulate ? &call->queue : NULL;
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
    rc = call->given.json ? dn_replay_print_json (call->replay, queue, &err)
                          : dn_replay_print (call->replay, queue, &err);
    return rc < 0 ? dn_fail (DN_EXIT_BUG, &err) : DN_EXIT_DONE;
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    dn_cleanup (free_call) struct call call = {.progress = dn_progress_begin ("jobs")};

    dn_options_begin (&call.given, self, argc, argv);
    if (take_options (self, &call) < 0)
        return call.given.exit_code;
    site = dn_options_site (&call.given, call.settings.text);
    if (!site)
        return call.given.exit_code;
    return run_call (&call, site);
}

const struct dn_command dn_cmd_replay = {
    .name = "replay",
    .summary = "Show what the policy would have done with past jobs",
    .arguments = "",
    .options = options,
    .run = run,
};
