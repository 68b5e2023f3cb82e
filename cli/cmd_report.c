/* cmd_report.c - who was harmed, what others got, and what finished jobs used
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "jobs/store.h"
#include "output/grid.h"
#include "output/json.h"
#include "output/progress.h"
#include "output/show.h"
#include "report/report.h"
#include "process/sacct.h"
#include "report/when.h"
#include "rewrite/recorded.h"
#include "seen.h"

#define WEEK_S (7 * 86400)

/* The options of a call, and its state. */
struct call {
    const char *db;
    const char *html;
    bool csv;
    bool jobs;
    enum dn_grouped_by by;
    struct dn_store_filter filter;
    struct dn_report report;
    struct dn_progress progress;
    struct dn_own_runs own;
    const char *state_dir;
    struct dn_room *room;
    struct dn_seen seen;
    struct dn_err err;
};

static void free_call (struct call *call)
{
    dn_sums_free (call->report.sums);
    dn_harm_free (call->report.harm);
    dn_room_free (call->room);
    dn_freed_free (&call->report.freed);
    free (call->report.apps);
    dn_seen_free (&call->seen);
}

/* --- options ---------------------------------------------------------------------- */

static const struct dn_option options[] = {
    DN_OPT_TEXT ("db", "FILE", "the store of finished jobs (StateDir/records.db)", db),
    DN_OPT_WHEN ("since", "jobs that ended at or after it (now-7days)", filter.since_s),
    DN_OPT_WHEN ("until", "jobs that ended before it", filter.until_s),
    DN_OPT_ENUM ("by",
                 "WHAT",
                 "user, account, partition, model, app or type",
                 by,
                 dn_by_names),
    DN_OPT_FLAG ("me", "your own jobs, and what to request next time", report.me),
    DN_OPT_FLAG ("jobs", "your own jobs of the last days, and what they used", jobs),
    DN_OPT_FLAG ("names", "names of users, not their numbers", report.names),
    DN_OPT_FLAG ("csv", "write the sums as a table, a row per group", csv),
    DN_OPT_TEXT ("html", "FILE", "write a page with charts", html),
    DN_OPT_END,
};

static int take_options (struct dn_options *given, struct call *call)
{
    if (!dn_options_all (given, call, 0, 0))
        return -1;
    if (call->csv && given->json)
        dn_options_misuse (given, "--csv and --json cannot be combined");
    else if (call->jobs && (call->csv || call->html || call->db || call->by))
        dn_options_misuse (
            given, "--jobs cannot be combined with --csv, --html, --db or --by");
    else if (call->filter.until_s > 0 && call->filter.until_s <= call->filter.since_s)
        dn_options_misuse (given,
                           "--until is not after --since, expected a later time");
    return given->exit_code == DN_EXIT_DONE ? 0 : -1;
}

/* --- reading ---------------------------------------------------------------------- */

static double price_of (const void *prices, const char *type)
{
    const struct dn_gpu_type *gpu = dn_gpu_types_find (prices, type);

    return gpu ? gpu->cost : 0;
}

static bool any_price (const struct dn_gpu_types *types)
{
    for (int i = 0; i < types->n_types; i++)
        if (types->types[i].cost > 0)
            return true;
    return false;
}

static int take_own (void *to, const struct dn_own_app *app)
{
    struct call *call = to;
    struct dn_report *report = &call->report;

    if (report->n_apps == DN_REPORT_APPS_MAX)
        return 0;
    if (!report->apps)
        report->apps = calloc (DN_REPORT_APPS_MAX, sizeof (*report->apps));
    if (!report->apps)
        return dn_err_set (&call->err, DN_E_NOMEM, "out of memory");
    report->apps[report->n_apps++] = *app;
    return 0;
}

/* Which cluster it is of, and in which mode dnnest saw it. */
static void take_title (struct dn_report *report, const struct dn_finished *job)
{
    int mode = dn_names_find (&dn_mode_names, job->mode, strlen (job->mode));
    struct dn_buf buf = dn_buf_on (report->clusters, sizeof (report->clusters));
    struct dn_span rest = dn_span_of (report->clusters);
    struct dn_span piece;
    size_t len = strlen (job->cluster);

    if (mode > 0)
        report->modes[mode] = true;
    while ((piece = dn_span_cut (&rest, ", ")).text)
        if (piece.len == len && memcmp (piece.text, job->cluster, len) == 0)
            return;
    buf.len = strlen (report->clusters);
    if (len > 0 && len < sizeof (report->clusters) - buf.len - 2)
        dn_buf_add (&buf, "%s%s", buf.len > 0 ? ", " : "", job->cluster);
}

static int take_job (void *to, const struct dn_finished *job)
{
    struct call *call = to;
    struct dn_report *report = &call->report;

    if (report->me && dn_own_runs_add (&call->own, job) < 0)
        return -1;
    dn_progress_show (&call->progress, report->sums->all.seen, -1);
    take_title (report, job);
    return dn_harm_add (report->harm, job, &call->err) < 0
                   || dn_freed_add (&report->freed, job, &call->err) < 0
               ? -1
               : dn_sums_add (report->sums, job, &call->err);
}

/* Once more, to see who was served while moved jobs waited. */
static int take_again (void *to, const struct dn_finished *job)
{
    struct call *call = to;

    dn_harm_show (call->report.harm, job);
    return 0;
}

/* The caller's own jobs of that time, of the last month where none is given. */
static struct dn_sacct mine_of (const struct call *call)
{
    struct dn_sacct mine = dn_sacct_mine ();

    if (call->filter.since_s > 0)
        mine.since_s = call->filter.since_s;
    else if (call->jobs)
        mine.since_s = call->report.now_s - WEEK_S;
    mine.until_s = call->filter.until_s;
    return mine;
}

static int read_jobs (struct call *call, struct dn_err *err)
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = NULL;
    struct dn_sacct mine = mine_of (call);
    int rc;

    store = dn_site_store_open (
        &call->report.store, call->report.me && !call->db ? &mine : NULL, err);
    if (!store)
        return -1;
    call->progress = dn_progress_begin ("jobs");
    rc = dn_store_read (store, &call->filter, take_job, call, err);
    if (rc == 0 && call->report.me)
        rc = dn_own_runs_end (&call->own);
    if (rc == 0 && dn_harm_again (call->report.harm)) {
        call->report.harm->room = call->room = dn_room_read (call->state_dir);
        rc = call->room ? dn_store_read (store, &call->filter, take_again, call, err)
                        : dn_err_set (err, DN_E_NOMEM, "out of memory");
    }
    dn_harm_end (call->report.harm);
    dn_freed_end (&call->report.freed);
    dn_progress_end (&call->progress);
    if (rc < 0 && call->err.code != DN_E_NONE)
        *err = call->err;
    return rc;
}

/* Without a snapshot in use nothing is known. */
static void count_stranded (const struct dn_cluster *cluster, struct dn_report *report)
{
    report->stranded_cpus = report->stranded_mem = cluster ? 0 : DN_UNSET;
    for (int64_t i = 0; cluster && i < cluster->n_groups; i++) {
        report->stranded_cpus += cluster->groups[i].stranded_cpus;
        report->stranded_mem += cluster->groups[i].stranded_mem;
    }
}

/* --- the user's own jobs --------------------------------------------------------- */

#define SHORT_MAX 24 /* of a name in the table */

/* A job, or several records of one or of an array. Shares are used / had. */
struct row {
    int64_t id; /* of the job or of the array */
    int64_t n;  /* records */
    int64_t n_state;
    char state[DN_NAME_MAX]; /* the last one, of 'n_state' records */
    char name[DN_NAME_MAX];
    double ran_s;
    double limit_s;
    double cpu_s; /* of jobs whose use is known, as the next three */
    double cpu_had_s;
    double mem_gb;
    double mem_had_gb;
    int64_t gpus;
    char gpu[DN_NAME_MAX];
    char changed[DN_NAME_MAX * 2];
};

struct list {
    struct row *rows; /* owned */
    int64_t n;
    int64_t size;
    int64_t now_s;
    struct dn_err *err;
};

static void free_list (struct list *list)
{
    free (list->rows);
}

/* What dnnest changed of a job: "time 02:55:00, v100, 8 CPUs". */
static void tell_changes (const struct dn_finished *job, char *text, size_t size)
{
    struct dn_buf buf = dn_buf_on (text, size);

    if (!dn_finished_changed (job))
        return;
    if (job->set_limit_s > 0)
        dn_buf_add (&buf, "time %s", dn_time_write (job->set_limit_s).text);
    if (job->set_gpu[0] != '\0')
        dn_buf_add (&buf,
                    "%s%s",
                    buf.len > 0 ? ", " : "",
                    dn_quote (job->set_gpu, strlen (job->set_gpu)).text);
    if (job->set_cpus > 0)
        dn_buf_add (&buf, "%s%" PRId64 " CPUs", buf.len > 0 ? ", " : "", job->set_cpus);
    if (job->set_mem_gb > 0)
        dn_buf_add (
            &buf, "%s%.0f GiB", buf.len > 0 ? ", " : "", ceil (job->set_mem_gb));
}

static struct row row_of (const struct list *list, const struct dn_accounted *from)
{
    struct dn_finished job = from->job;
    struct dn_recorded recorded;
    struct row row = {.n = 1, .n_state = 1};
    struct dn_span id = {job.job, strspn (job.job, "0123456789")};

    dn_finished_from_record (&job, from->admin_comment, &recorded);
    if (job.end_s == DN_UNSET)
        job.end_s = list->now_s;
    if (dn_int_read (id, "job", 0, INT64_MAX, &row.id, NULL) < 0)
        row.id = job.raw_id;
    snprintf (
        row.name, sizeof (row.name), "%s", dn_quote (job.name, strlen (job.name)).text);
    snprintf (row.state, sizeof (row.state), "%s", job.state);
    snprintf (
        row.gpu, sizeof (row.gpu), "%s", dn_quote (job.gpu, strlen (job.gpu)).text);
    row.gpus = job.gpus > 0 ? job.gpus : 0;
    row.ran_s = dn_finished_ran_s (&job);
    row.limit_s = job.limit_s > 0 && row.ran_s > 0 ? (double) job.limit_s : 0;
    if (job.cpu_s > 0 && job.cpus > 0) {
        row.cpu_s = job.cpu_s;
        row.cpu_had_s = row.ran_s * (double) job.cpus;
    }
    if (job.host_mem_gb > 0 && job.mem_gb > 0) {
        row.mem_gb = job.host_mem_gb * (double) (job.nodes > 0 ? job.nodes : 1);
        row.mem_had_gb = job.mem_gb;
    }
    tell_changes (&job, row.changed, sizeof (row.changed));
    return row;
}

static int take (void *to, const struct dn_accounted *job)
{
    struct list *list = to;

    if (list->n == DN_SACCT_JOBS_MAX)
        return dn_sacct_too_many (list->err);
    if (dn_rows_grow (&list->rows, list->n, sizeof (*list->rows), list->err) < 0)
        return -1;
    list->rows[list->n++] = row_of (list, job);
    return 0;
}

static int by_id (const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;

    return (a->id > b->id) - (a->id < b->id);
}

static void add (struct row *sum, const struct row *row)
{
    if (strcmp (sum->state, row->state) != 0) {
        memcpy (sum->state, row->state, sizeof (sum->state));
        sum->n_state = 0;
    }
    sum->n++;
    sum->n_state++;
    sum->ran_s += row->ran_s;
    sum->limit_s += row->limit_s;
    sum->cpu_s += row->cpu_s;
    sum->cpu_had_s += row->cpu_had_s;
    sum->mem_gb += row->mem_gb;
    sum->mem_had_gb += row->mem_had_gb;
    if (sum->changed[0] == '\0')
        memcpy (sum->changed, row->changed, sizeof (sum->changed));
}

/* Sum up the rows of each job. */
static void sum_up (struct list *list)
{
    int64_t n = 0;

    qsort (list->rows, (size_t) list->n, sizeof (*list->rows), by_id);
    for (int64_t i = 0; i < list->n; i++)
        if (n > 0 && list->rows[n - 1].id == list->rows[i].id)
            add (&list->rows[n - 1], &list->rows[i]);
        else
            list->rows[n++] = list->rows[i];
    list->n = n;
}

static double share (double used, double had)
{
    return had > 0 ? used / had : NAN;
}

static void add_share (struct dn_grid *grid, double used, double had)
{
    if (had > 0)
        dn_grid_add (grid, "%.0f %%", 100 * used / had);
    else
        dn_grid_add (grid, "-");
}

static void add_row (struct dn_grid *grid, const struct row *row)
{
    if (row->n > 1)
        dn_grid_add (grid, "%" PRId64 " x%" PRId64, row->id, row->n);
    else
        dn_grid_add (grid, "%" PRId64, row->id);
    dn_grid_add (grid, "%.*s", SHORT_MAX, row->name);
    if (row->n_state < row->n)
        dn_grid_add (grid, "%s %" PRId64, row->state, row->n_state);
    else
        dn_grid_add (grid, "%s", row->state);
    dn_grid_add (grid, "%s", row->ran_s > 0 ? dn_show_time (row->ran_s).text : "-");
    add_share (grid, row->ran_s, row->limit_s);
    add_share (grid, row->cpu_s, row->cpu_had_s);
    add_share (grid, row->mem_gb, row->mem_had_gb);
    dn_grid_add (grid, row->gpus > 0 ? "%" PRId64 " %s" : "-", row->gpus, row->gpu);
    dn_grid_add (grid, "%s", row->changed[0] != '\0' ? row->changed : "-");
}

static int print_text (const struct list *list)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of ("JOB>|NAME|STATE|ELAPSED>|OF LIMIT>|CPU>|MEMORY>|GPUS|DNNEST SET");

    grid.spare = "NAME";
    for (int64_t i = 0; i < list->n; i++)
        add_row (&grid, &list->rows[i]);
    return dn_grid_print (&grid);
}

static int print_json (const struct list *list)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    struct json_object *jobs = dn_json_add_array (json, "jobs");

    for (int64_t i = 0; i < list->n; i++) {
        const struct row *row = &list->rows[i];
        struct json_object *to = dn_json_append_object (jobs);

        dn_json_add_count (to, "job", row->id);
        dn_json_add_count (to, "records", row->n);
        dn_json_add_text (to, "name", row->name);
        dn_json_add_text (to, "state", row->state);
        dn_json_add_signed (to, "ran_s", row->ran_s);
        dn_json_add_signed (to, "of_limit", share (row->ran_s, row->limit_s));
        dn_json_add_signed (to, "of_cpus", share (row->cpu_s, row->cpu_had_s));
        dn_json_add_signed (to, "of_memory", share (row->mem_gb, row->mem_had_gb));
        dn_json_add_count (to, "gpus", row->gpus);
        dn_json_add_name (to, "gpu", row->gpu);
        dn_json_add_name (to, "set", row->changed);
    }
    dn_json_print (json);
    return DN_EXIT_DONE;
}

/* Print those jobs of accounting in the order of their numbers, the tasks of an array
 * and the starts of a job summed, as JSON or text. Return an enum dn_exit.
 */
static int show_jobs (const struct dn_sacct *which, bool as_json)
{
    struct dn_err err = {0};
    dn_cleanup (free_list) struct list list = {.now_s = (int64_t) time (NULL),
                                               .err = &err};

    struct dn_sacct asked = *which;

    asked.what = DN_ACCOUNTING_USE;
    if (dn_sacct_read (&asked, take, &list, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    sum_up (&list);
    if (as_json)
        return print_json (&list);
    if (list.n > 0)
        return print_text (&list);
    printf ("no job\n");
    return DN_EXIT_DONE;
}

/* --- the command ------------------------------------------------------------------ */

static int show (const struct dn_options *given, struct call *call)
{
    struct dn_err err = {0};

    if (call->html && dn_report_html (&call->report, call->html, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (given->json)
        return dn_report_json (&call->report);
    if (call->csv)
        return dn_report_csv (&call->report);
    return call->html ? DN_EXIT_DONE : dn_report_text (&call->report);
}

static int run (struct dn_options *given)
{
    dn_cleanup (free_call) struct call call = {.filter = dn_store_all ()};
    struct dn_err err = {0};
    char path[PATH_MAX];

    call.report.now_s = (int64_t) time (NULL);
    if (take_options (given, &call) < 0 || !dn_options_site (given, NULL))
        return given->exit_code;
    if (call.jobs) {
        struct dn_sacct mine = mine_of (&call);

        return show_jobs (&mine, given->json);
    }
    if (call.report.me) {
        call.report.names = true;
        call.filter.user = (int64_t) geteuid ();
        call.filter.order = DN_STORE_BY_APP;
    }
    call.own = (struct dn_own_runs){.take = take_own, .to = &call};
    call.report.store = dn_site_store_path (given->site, call.db, path);
    call.report.since_s = call.filter.since_s;
    call.report.until_s = call.filter.until_s;
    call.report.prices = any_price (&given->site->gpu_types);
    dn_seen_read (&call.seen, given->site, NULL);
    count_stranded (dn_seen_cluster (&call.seen), &call.report);
    call.report.rules = &given->site->rules;
    call.state_dir = given->site->state_dir;
    call.report.freed.cluster = dn_seen_cluster (&call.seen);
    call.report.harm = dn_harm_new ();
    call.report.sums = dn_sums_new (call.by, price_of, &given->site->gpu_types);
    if (call.report.sums)
        call.report.sums->cluster = dn_seen_cluster (&call.seen);
    if (call.report.harm)
        call.report.harm->cluster = given->site->cluster;
    if (!call.report.sums || !call.report.harm)
        dn_err_set (&err, DN_E_NOMEM, "out of memory");
    if (err.code != DN_E_NONE || read_jobs (&call, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    return show (given, &call);
}

const struct dn_command dn_cmd_report = {
    .name = "report",
    .summary = "Show who was harmed, what dnnest saved, and what finished jobs used",
    .arguments = "",
    .options = options,
    .run = run,
};
