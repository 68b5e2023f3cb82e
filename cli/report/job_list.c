/* job_list.c - the user's own jobs, and how much of what they had they used
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "report/job_list.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common.h"
#include "output/grid.h"
#include "output/json.h"
#include "output/show.h"
#include "rewrite/recorded.h"

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

/* --- reading ---------------------------------------------------------------------- */

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

/* --- sums ------------------------------------------------------------------------- */

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

/* --- output ----------------------------------------------------------------------- */

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
        dn_json_add_text (to, "gpu", row->gpu[0] != '\0' ? row->gpu : NULL);
        dn_json_add_text (to, "set", row->changed[0] != '\0' ? row->changed : NULL);
    }
    dn_json_print (json);
    return DN_EXIT_DONE;
}

int dn_job_list (const struct dn_sacct *which, bool as_json)
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
