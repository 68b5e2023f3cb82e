/* job_story.c - what dnnest did to one job, and what became of it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "report/job_story.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "host/capture_file.h"
#include "jobs/worth/sums.h"
#include "output/json.h"
#include "output/show.h"
#include "process/child.h"
#include "process/sacct.h"
#include "report/when.h"
#include "rewrite/recorded.h"
#include "site.h"

/* Rows of one job: it is started again some times at most. */
#define RUNS_MAX 100

struct story {
    int n_runs;
    struct json_object *runs; /* NULL: as text */
};

/* --- JSON ------------------------------------------------------------------------- */

static void add_column (struct json_object *to,
                        const struct dn_finished *job,
                        const struct dn_finished_column *column)
{
    const char *at = (const char *) job + column->offset;
    int64_t count = 0;
    double real = 0;
    const char *text = NULL;

    switch (column->type) {
    case DN_FINISHED_TEXT:
        memcpy (&text, at, sizeof (text));
        dn_json_add_text (to, column->name, text && text[0] != '\0' ? text : NULL);
        break;
    case DN_FINISHED_COUNT:
        memcpy (&count, at, sizeof (count));
        if (count == DN_UNLIMITED)
            dn_json_add_text (to, column->name, "UNLIMITED");
        else
            dn_json_add_count (to, column->name, count);
        break;
    default:
        memcpy (&real, at, sizeof (real));
        dn_json_add_signed (to, column->name, real);
        break;
    }
}

static void add_run (struct json_object *runs, const struct dn_finished *job)
{
    struct json_object *row = dn_json_append_object (runs);

    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++)
        add_column (row, job, &dn_finished_columns[i]);
    dn_json_add_signed (row, "wait_s", dn_sums_wait_s (job));
    dn_json_add_signed (row, "ran_s", dn_finished_ran_s (job));
}

/* --- text ------------------------------------------------------------------------- */

/* A user's text: printable ASCII only. Valid until the third call after it. */
static const char *safe (const char *text)
{
    static struct dn_quoted quoted[3];
    static int next;

    next = (next + 1) % 3;
    quoted[next] = dn_quote (text, strlen (text));
    return quoted[next].text;
}

static struct dn_shown limit_of (int64_t limit_s)
{
    static const struct dn_shown unlimited = {"UNLIMITED"};

    return limit_s == DN_UNLIMITED ? unlimited : dn_show_time ((double) limit_s);
}

static void print_change (const char *what, const char *before, const char *after)
{
    printf ("  %-12s %s -> %s\n", what, before, after);
}

static void print_decision (const struct dn_finished *job)
{
    bool changed = dn_finished_changed (job);
    char asked[32];
    char set[32];

    if (job->verdict[0] == '\0') {
        printf ("  dnnest       did not see it, or kept no record\n");
        return;
    }
    printf ("  dnnest       %s, in mode %s%s%s\n",
            safe (job->verdict),
            safe (job->mode),
            job->why[0] != '\0' ? ": " : "",
            safe (job->why));
    if (job->set_limit_s > 0)
        print_change (changed ? "limit" : "(limit)",
                      limit_of (job->asked_limit_s).text,
                      limit_of (job->set_limit_s).text);
    if (job->set_gpu[0] != '\0')
        print_change (changed ? "GPU type" : "(GPU type)",
                      safe (job->asked_gpu),
                      safe (job->set_gpu));
    if (job->set_cpus > 0) {
        snprintf (asked, sizeof (asked), "%" PRId64, job->asked_cpus);
        snprintf (set, sizeof (set), "%" PRId64, job->set_cpus);
        print_change (changed ? "CPUs" : "(CPUs)", asked, set);
    }
    if (job->set_mem_gb > 0)
        print_change (changed ? "memory" : "(memory)",
                      dn_show_bytes (job->asked_mem_gb * DN_GIB).text,
                      dn_show_bytes (job->set_mem_gb * DN_GIB).text);
    if (job->warn[0] != '\0')
        printf ("  warned of    %s\n", safe (job->warn));
}

static void print_prediction (const struct dn_finished *job)
{
    double ran_s = dn_finished_ran_s (job);

    if (!(job->likely_s > 0))
        return;
    printf ("  predicted    %s, at most %s",
            dn_show_time (job->likely_s).text,
            dn_show_time (isfinite (job->bound_s) ? job->bound_s : -1).text);
    if (job->history_runs > 0)
        printf (", from %" PRId64 " earlier runs", job->history_runs);
    printf ("\n");
    if (ran_s > 0)
        printf (
            "  used         %s, %.0f %% of the predicted time, %.0f %% of its limit\n",
            dn_show_time (ran_s).text,
            100 * ran_s / job->likely_s,
            job->limit_s > 0 ? 100 * ran_s / (double) job->limit_s : NAN);
}

static void print_use (const struct dn_finished *job)
{
    double ran_s = dn_finished_ran_s (job);

    printf ("  had          %" PRId64 " GPUs %s, %" PRId64 " CPUs, limit %s\n",
            job->gpus > 0 ? job->gpus : 0,
            safe (job->gpu),
            job->cpus > 0 ? job->cpus : 0,
            limit_of (job->limit_s).text);
    if (job->cpu_s > 0 && ran_s > 0)
        printf ("  busy CPUs    %.1f\n", job->cpu_s / ran_s);
    if (isfinite (job->gpu_utilisation))
        printf ("  busy GPUs    %.0f %% of the time\n", 100 * job->gpu_utilisation);
    if (isfinite (job->gpu_mem_gb))
        printf ("  GPU memory   %.1f GiB\n", job->gpu_mem_gb);
}

static void print_run (const struct dn_finished *job)
{
    printf ("Job %s, %s", safe (job->job), safe (job->name));
    printf (", of %s: %s", safe (job->user_name), safe (job->state));
    printf (" (%s)\n", safe (job->outcome));
    printf ("  submitted    %s, waited %s\n",
            dn_when_minute (job->submit_s).text,
            dn_show_time (isfinite (dn_sums_wait_s (job)) ? dn_sums_wait_s (job) : -1)
                .text);
    printf ("  ran          %s to %s, %s\n",
            dn_when_minute (job->start_s).text,
            dn_when_minute (job->end_s).text,
            dn_show_time (dn_finished_ran_s (job)).text);
    print_decision (job);
    if (job->extensions > 0)
        printf ("  extended     %" PRId64 " times\n", job->extensions);
    if (job->rescued == 1)
        printf ("  rescued      started again with the original request\n");
    print_prediction (job);
    print_use (job);
}

/* --- a job that has not ended ----------------------------------------------------- */

static void add_types (struct dn_buf *buf, const struct dn_recorded *r)
{
    dn_buf_add (buf, "may run on ");
    for (int i = 0; i < r->n_open; i++)
        dn_buf_add (buf,
                    "%s%s",
                    i == 0              ? ""
                    : i + 1 < r->n_open ? ", "
                                        : " or ",
                    safe (r->open[i].gpu));
    if (r->steer_gpu[0] != '\0')
        dn_buf_add (buf,
                    "; moved to %s at %s, limit %s",
                    safe (r->steer_gpu),
                    dn_when_minute (r->steered_at_s).text,
                    limit_of (r->steer_s).text);
    else if (r->either)
        dn_buf_add (buf, ", whichever can start it first");
}

/* Fill 'open' with what its record says of the types that it may get. */
static bool tell_types (const char *text, struct json_object *json)
{
    struct dn_recorded recorded;
    char line[512];
    struct dn_buf buf = dn_buf_on (line, sizeof (line));

    if (dn_record_read (text, &recorded, NULL) <= 0 || recorded.n_open == 0)
        return false;
    add_types (&buf, &recorded);
    dn_json_add_text (json, "open", line);
    return true;
}

/* The value of a field of the line, up to a blank; its text is NULL if there is none.
 */
static struct dn_span field_of (const char *text, const char *key)
{
    size_t len = strlen (key);

    for (const char *at = text; (at = strstr (at, key)); at += len)
        if ((at == text || at[-1] == ' ') && at[len] == '=')
            return (struct dn_span){at + len + 1, strcspn (at + len + 1, " ")};
    return (struct dn_span){NULL, 0};
}

/* The number of a field, of "UserId=name(1000)" that in parentheses; DN_UNSET: none. */
static int64_t number_of (const char *text, const char *key)
{
    struct dn_span value = field_of (text, key);
    const char *open = value.text ? memchr (value.text, '(', value.len) : NULL;
    int64_t number = DN_UNSET;

    if (open) {
        value.len -= (size_t) (open + 1 - value.text);
        value.text = open + 1;
        value.len -= value.len > 0;
    }
    if (!value.text || dn_int_read (value, key, 0, UINT32_MAX, &number, NULL) < 0)
        return DN_UNSET;
    return number;
}

/* At the mean pace between the first report and the last; DN_UNSET: not known. */
static int64_t end_of (const struct dn_progress *progress)
{
    const struct dn_progress_report *first = progress->reports;
    const struct dn_progress_report *last = &first[progress->n_reports - 1];
    double pace_s;

    if (progress->n_reports < 2 || last->done <= first->done
        || last->time_s <= first->time_s)
        return DN_UNSET;
    pace_s =
        (double) (last->time_s - first->time_s) / (double) (last->done - first->done);
    pace_s *= (double) (last->total - last->done);
    return pace_s < 1e9 ? last->time_s + (int64_t) pace_s : DN_UNSET;
}

/* Add to 'json' when the job is expected to end ("expected_end_s"), when its limit ends
 * it ("limit_end_s"), and whether that is before ("beyond_limit"). 'text' is the line
 * of 'scontrol show job -o' with SLURM_TIME_FORMAT=%s. False: the job is not running,
 * or has reported nothing in 'progress_dir'.
 */
static bool tell_end (const char *text,
                      const char *progress_dir,
                      struct json_object *json)
{
    int64_t id = number_of (text, "JobId");
    int64_t user = number_of (text, "UserId");
    int64_t limit_s = number_of (text, "EndTime");
    struct dn_progress progress;
    int64_t end_s;

    if (progress_dir[0] == '\0' || id < 0 || user < 0
        || !dn_span_is (field_of (text, "JobState"), "RUNNING")
        || dn_job_progress (progress_dir, id, (uid_t) user, &progress, NULL) < 0)
        return false;
    end_s = end_of (&progress);
    if (end_s == DN_UNSET)
        return false;
    dn_json_add_count (json, "expected_end_s", end_s);
    if (limit_s != DN_UNSET) {
        dn_json_add_count (json, "limit_end_s", limit_s);
        dn_json_add_bool (json, "beyond_limit", end_s > limit_s);
    }
    return true;
}

/* Print these as text, if they are there. */
static void print_end (struct json_object *json)
{
    struct json_object *end = json_object_object_get (json, "expected_end_s");
    struct json_object *limit = json_object_object_get (json, "limit_end_s");
    bool beyond =
        json_object_get_boolean (json_object_object_get (json, "beyond_limit"));

    if (!end)
        return;
    printf ("  expected end %s", dn_when_minute (json_object_get_int64 (end)).text);
    if (limit)
        printf (", %s that of its limit, %s",
                beyond ? "AFTER" : "before",
                dn_when_minute (json_object_get_int64 (limit)).text);
    printf ("\n");
}

/* What slurmctld, and its own reports, say of a job that has not ended: the types that
 * it may get, and when it is expected to end. False: nothing.
 */
static bool tell_open (const char *id,
                       const char *progress_dir,
                       struct json_object *json)
{
    char *argv[] = {"scontrol", "show", "job", "-o", (char *) id, NULL};
    dn_cleanup (dn_free_ptr) char *text = NULL;
    bool types;
    bool end;

    if (!dn_is_job_number (id))
        return false;
    setenv ("SLURM_TIME_FORMAT", "%s", 1); /* as tell_end reads */
    text = dn_child_output (argv, true, NULL);
    if (!text)
        return false;
    text[strcspn (text, "\n")] = '\0'; /* of an array, the first record */
    types = tell_types (text, json);
    end = tell_end (text, progress_dir, json);
    return types || end;
}

static void print_open (const char *id, struct json_object *json)
{
    const char *types = json_object_get_string (json_object_object_get (json, "open"));

    printf ("Job %s: %s\n", id, types ? types : "is running");
    print_end (json);
}

/* --- reading ---------------------------------------------------------------------- */

static int take (void *to, const struct dn_finished *job)
{
    struct story *story = to;

    if (story->n_runs++ == RUNS_MAX)
        return 1;
    if (story->runs)
        add_run (story->runs, job);
    else
        print_run (job);
    return 0;
}

int dn_job_story (const struct dn_site *site,
                  const char *db,
                  const char *id,
                  bool as_json)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    dn_cleanup (dn_store_cleanup) struct dn_store *store = NULL;
    struct dn_store_filter filter = dn_store_all ();
    struct dn_sacct instead = dn_sacct_mine ();
    char usual[PATH_MAX];
    const char *path = dn_site_store_path (site, db, usual);
    struct dn_err err = {0};
    struct story story = {.n_runs = 0};
    bool failed;
    bool open;

    filter.job = instead.job = id;
    store = dn_site_store_open (&path, db ? NULL : &instead, &err);
    dn_json_add_text (json, "job", id);
    dn_json_add_text (json, "store", path);
    if (as_json)
        story.runs = dn_json_add_array (json, "runs");
    failed = !store || dn_store_read (store, &filter, take, &story, &err) < 0;
    open = story.n_runs == 0 && tell_open (id, site->progress_dir, json);
    if (failed && !open)
        return dn_fail (DN_EXIT_DATA, &err);
    if (open && !as_json)
        print_open (id, json);
    if (as_json)
        dn_json_print (json);
    if (story.n_runs > 0 || open)
        return DN_EXIT_DONE;
    dn_complain ("job %s is not in %s; one that is pending, running or has just ended "
                 "is shown by 'scontrol show job %s'",
                 safe (id),
                 path,
                 safe (id));
    return DN_EXIT_ABSTAINED;
}
