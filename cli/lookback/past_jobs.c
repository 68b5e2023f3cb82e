/* past_jobs.c - the jobs of a site before dnnest, from its own accounting
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lookback/past_jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fields.h"
#include "common.h"
#include "jobs/accounting.h"
#include "jobs/finished.h"
#include "output/progress.h"
#include "predict/apps.h"
#include "process/sacct.h"
#include "read_runs.h"
#include "report/when.h"

#define DAY_S       86400
#define PATIENCE_S  600
#define COMMIT_ROWS 20000

/* Between the columns of a file: no name of a job has it. */
#define FILE_DELIMITER "<|>"

struct reader {
    struct dn_past_jobs *jobs;
    const struct dn_past_source *source;
    int64_t since_s; /* of the window that is being read */
    int64_t until_s;
    bool checked; /* the columns of the table */
    struct dn_progress progress;
    struct dn_err *err;
};

/* --- their nodes -------------------------------------------------------------------
 */

static int add_event (struct dn_nodes_past *nodes,
                      const struct dn_node_event *event,
                      struct dn_err *err)
{
    if (dn_rows_grow (&nodes->events, nodes->n, sizeof (*nodes->events), err) < 0)
        return -1;
    nodes->events[nodes->n++] = *event;
    return 0;
}

/* Add a job; 'type' is the index of its GPU type, -1 without GPUs. One whose node is
 * not known is left out. -1 with 'err'.
 */
static int add_to_nodes (struct dn_nodes_past *nodes,
                         const struct dn_finished *job,
                         int type,
                         struct dn_err *err)
{
    int64_t n = job->nodes > 1 ? job->nodes : 1;
    struct dn_node_event event = {.at_s = job->start_s, .type = (int16_t) type};

    if (job->host[0] == '\0' || job->start_s <= 0 || job->end_s <= job->start_s)
        return 0;
    event.node = dn_app_key_of_user (0, job->host);
    event.cpus = (int32_t) (job->cpus > 0 ? job->cpus / n : 0);
    event.gpus = (int16_t) (job->gpus > 0 ? job->gpus / n : 0);
    event.mem_gb = (float) (job->mem_gb > 0 ? job->mem_gb / (double) n : 0);
    if (add_event (nodes, &event, err) < 0)
        return -1;
    event.at_s = job->end_s;
    event.cpus = -event.cpus;
    event.gpus = (int16_t) -event.gpus;
    event.mem_gb = -event.mem_gb;
    return add_event (nodes, &event, err);
}

static int by_node (const void *left, const void *right)
{
    const struct dn_node_event *a = left;
    const struct dn_node_event *b = right;

    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return (a->at_s > b->at_s) - (a->at_s < b->at_s);
}

/* One node: each idle GPU needs at least a CPU and a GiB of memory. */
static void add_node (const struct dn_node_event *events,
                      int64_t n,
                      const struct dn_sim_pool *pool,
                      struct dn_idle_hours *hours)
{
    double cpus = 0;
    double gpus = 0;
    double mem_gb = 0;

    for (int64_t i = 0; i + 1 < n; i++) {
        double h = (double) (events[i + 1].at_s - events[i].at_s) / 3600;
        double idle;
        double free_gb;

        cpus += events[i].cpus;
        gpus += events[i].gpus;
        mem_gb += (double) events[i].mem_gb;
        idle = fmax (0, (double) pool->gpus - gpus);
        free_gb = floor (fmax (0, (double) pool->mem_mb / 1024 - mem_gb));
        hours->idle += idle * h;
        if (pool->cpus > 0)
            hours->without_cpus +=
                fmax (0, idle - fmax (0, (double) pool->cpus - cpus)) * h;
        if (pool->mem_mb > 0)
            hours->without_memory += fmax (0, idle - free_gb) * h;
    }
}

struct dn_idle_hours dn_nodes_past_idle (struct dn_nodes_past *nodes,
                                         const struct dn_sim_pool *const pools[])
{
    struct dn_idle_hours hours = {.idle = 0};

    if (nodes->n > 0)
        qsort (nodes->events, (size_t) nodes->n, sizeof (*nodes->events), by_node);
    for (int64_t from = 0, to; from < nodes->n; from = to) {
        const struct dn_node_event *events = &nodes->events[from];
        int type = -1;

        for (to = from; to < nodes->n && nodes->events[to].node == events->node; to++)
            if (type < 0)
                type = nodes->events[to].type;
        if (type >= 0 && pools[type])
            add_node (events, to - from, pools[type], &hours);
    }
    return hours;
}

/* --- a job ------------------------------------------------------------------------ */

static bool is_name_char (char c)
{
    return (dn_lower (c) >= 'a' && dn_lower (c) <= 'z') || c == '_' || c == '.'
           || c == '-';
}

/* Its name with each number as one 0: runs of a series have one. */
static void add_stem (struct dn_buf *buf, const char *name)
{
    size_t limit = buf->len + 40;

    for (const char *at = name; *at != '\0' && buf->len < limit; at++) {
        bool digit = dn_is_digit (*at);

        if (digit && at > name && dn_is_digit (at[-1]))
            continue;
        dn_buf_add (buf, "%c", digit ? '0' : is_name_char (*at) ? *at : '_');
    }
}

static void write_app (const struct dn_finished *job, char app[DN_NAME_MAX])
{
    struct dn_buf buf = dn_buf_on (app, DN_NAME_MAX);

    if (job->name[0] != '\0')
        add_stem (&buf, job->name);
    else
        dn_buf_add (
            &buf, "c%" PRId64 "-m%.0f-t%" PRId64, job->cpus, job->mem_gb, job->limit_s);
    dn_buf_add (&buf, "-g%" PRId64, job->gpus);
}

/* The index of the type; -1: there is no room for it. */
static int add_type (struct dn_past_jobs *jobs, const char *type)
{
    for (int i = 0; i < jobs->n_types; i++)
        if (strcasecmp (jobs->types[i], type) == 0)
            return i;
    if (jobs->n_types == DN_CANDIDATES_MAX || strlen (type) >= DN_NAME_MAX)
        return -1;
    memcpy (jobs->types[jobs->n_types], type, strlen (type) + 1);
    return jobs->n_types++;
}

static bool counts (const struct dn_finished *job)
{
    return job->gpus > 0 && job->end_s > job->start_s && job->start_s > 0
           && job->submit_s != DN_UNSET && job->submit_s <= job->start_s;
}

/* Store a job that ended within the window. */
static int take_job (struct reader *reader, const struct dn_finished *ended)
{
    struct dn_past_jobs *jobs = reader->jobs;
    struct dn_finished job = *ended;
    char app[DN_NAME_MAX];
    char number[24];

    if (job.end_s == DN_UNSET || job.end_s < reader->since_s
        || (reader->until_s > 0 && job.end_s >= reader->until_s))
        return 0;
    if (!counts (&job)) {
        jobs->n_others++;
        return add_to_nodes (&jobs->nodes, &job, -1, reader->err);
    }
    snprintf (number, sizeof (number), "%" PRId64, jobs->n + 1);
    if (job.raw_id == DN_UNSET)
        job.raw_id = jobs->n + 1;
    if (job.job[0] == '\0')
        job.job = number;
    if (job.user_name[0] == '\0')
        job.user_name = job.account;
    if (job.user == DN_UNSET)
        job.user = (int64_t) (dn_app_key_of_user (0, job.user_name) >> 33);
    if (job.outcome[0] == '\0')
        job.outcome = dn_names_get (&dn_outcome_names, (int) dn_outcome_of (&job));
    write_app (&job, app);
    job.app = app;
    job.spec = "auto";
    if (add_to_nodes (&jobs->nodes, &job, add_type (jobs, job.gpu), reader->err) < 0)
        return -1;
    dn_progress_show (&reader->progress, ++jobs->n, -1);
    if (dn_store_add (jobs->store, &job, reader->err) < 0)
        return -1;
    return jobs->n % COMMIT_ROWS == 0 ? dn_store_commit (jobs->store, reader->err) : 0;
}

/* --- a table ---------------------------------------------------------------------- */

/* A count in a column that the tables of others have; one that is not known. */
static int read_other (const struct dn_row *row,
                       const char *column,
                       int64_t *count,
                       struct dn_err *err)
{
    const char *text = dn_row_get (row, column);

    if (*count != DN_UNSET || !text || text[0] == '\0')
        return 0;
    return strchr (text, '-')
               ? dn_when_read (text, column, 0, count, err)
               : dn_int_read (
                   dn_span_of (text), column, 0, INT64_C (1) << 53, count, err);
}

static int read_others (const struct dn_row *row,
                        struct dn_finished *job,
                        struct dn_err *err)
{
    int64_t ran_s = DN_UNSET;
    int64_t mem_mb = DN_UNSET;

    if (read_other (row, "submit", &job->submit_s, err) < 0
        || read_other (row, "eligible", &job->eligible_s, err) < 0
        || read_other (row, "start", &job->start_s, err) < 0
        || read_other (row, "end", &job->end_s, err) < 0
        || read_other (row, "elapsed_s", &ran_s, err) < 0
        || read_other (row, "mem_mb", &mem_mb, err) < 0)
        return -1;
    if (job->end_s == DN_UNSET && job->start_s != DN_UNSET && ran_s != DN_UNSET)
        job->end_s = job->start_s + ran_s;
    if (!(job->mem_gb >= 0) && mem_mb != DN_UNSET)
        job->mem_gb = (double) mem_mb / 1024;
    return 0;
}

/* How a column of sacct is written anew. */
enum form {
    FORM_AS_IT_IS,
    FORM_TIME,
    FORM_LIMIT,
    FORM_RAW_ID
};

/* What the columns say, by any of their names. */
struct wanted {
    const char *names[4];
    bool needed;
    const char *without; /* what is not known then; NULL: nothing is lost */
    enum form form;
};

static const struct wanted wanted[] = {
    {{"submit_s", "submit"}, true, NULL, FORM_AS_IT_IS},
    {{"start_s", "start"}, true, NULL, FORM_AS_IT_IS},
    {{"end_s", "end", "elapsed_s"}, true, NULL, FORM_AS_IT_IS},
    {{"gpus"}, true, NULL, FORM_AS_IT_IS},
    {{"user", "user_name", "account"}, false, "owners (user)", FORM_AS_IT_IS},
    {{"name"}, false, "names of series (name)", FORM_AS_IT_IS},
    {{"limit_s"}, false, "limits (limit_s)", FORM_AS_IT_IS},
    {{"state"}, false, "how jobs ended (state)", FORM_AS_IT_IS},
    {{"gpu"}, false, "GPU types (gpu)", FORM_AS_IT_IS},
    {{"cpus"}, false, "CPUs (cpus)", FORM_AS_IT_IS},
    {{"cpu_s"}, false, "CPUs that were busy (cpu_s)", FORM_AS_IT_IS},
    {{"mem_gb", "mem_mb"}, false, "memory (mem_gb)", FORM_AS_IT_IS},
    {{"host_mem_gb"}, false, "memory that was used (host_mem_gb)", FORM_AS_IT_IS},
    {{"gpu_utilisation"},
     false,
     "GPUs that were busy (gpu_utilisation)",
     FORM_AS_IT_IS},
};

/* Of a first line: the column of a name; -1: none. */
typedef int (*find_f) (const void *line, const char *name);

/* The column that has it by any name, or -1. */
static int find_any (const struct wanted *column, find_f find, const void *line)
{
    int at = -1;

    for (size_t i = 0; at < 0 && i < 4 && column->names[i]; i++)
        at = find (line, column->names[i]);
    return at;
}

/* Add what some columns would tell to 'lacks'. -1 with 'err' without one that must be
 * there, which ends in 'seen'.
 */
static int check_columns (const struct wanted *columns,
                          size_t n,
                          find_f find,
                          const void *line,
                          const char *seen,
                          struct dn_buf *lacks,
                          struct dn_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *const *names = columns[i].names;

        if (find_any (&columns[i], find, line) >= 0)
            continue;
        if (columns[i].needed)
            return dn_err_set (err,
                               DN_E_SYNTAX,
                               "no column %s%s%s; %s",
                               names[0],
                               names[1] ? " or " : "",
                               names[1] ? names[1] : "",
                               seen);
        if (columns[i].without)
            dn_buf_add (lacks, "%s%s", lacks->len > 0 ? ", " : "", columns[i].without);
    }
    return 0;
}

static int find_cell (const void *row, const char *name)
{
    return dn_row_get (row, name) ? 0 : -1;
}

/* Tell what the table lacks, once. */
static int check_table (const struct dn_row *row, struct dn_err *err)
{
    char text[1024];
    char seen[DN_QUOTE_MAX + 20];
    struct dn_buf lacks = dn_buf_on (text, sizeof (text));

    snprintf (seen,
              sizeof (seen),
              "the first is %s",
              dn_quote (row->names[0], strlen (row->names[0])).text);
    if (check_columns (
            wanted, DN_N_ELEMENTS (wanted), find_cell, row, seen, &lacks, err)
        < 0)
        return -1;
    if (lacks.len > 0)
        dn_complain ("note: the table does not tell %s", text);
    return 0;
}

/* Names of users, and ISO times, in columns of numbers: the row without them, which the
 * job gets afterwards.
 */
#define CELLS_MAX 256
struct plain {
    struct dn_row row;
    const char *values[CELLS_MAX];
    const char *user;
};

static void make_plain (const struct dn_row *row, struct plain *plain)
{
    plain->row = *row;
    plain->user = NULL;
    if (row->n_columns > CELLS_MAX)
        return;
    plain->row.values = plain->values;
    for (int i = 0; i < row->n_columns; i++) {
        const char *value = row->values[i];

        plain->values[i] = value;
        if (strcmp (row->names[i], "user") == 0
            && strspn (value, "0123456789") < strlen (value)) {
            plain->user = value;
            plain->values[i] = "";
        }
    }
}

static int read_row (const struct dn_row *row,
                     struct dn_finished *job,
                     struct dn_err *err)
{
    struct plain plain;

    make_plain (row, &plain);
    if (dn_finished_read (&plain.row, job, err) < 0 || read_others (row, job, err) < 0)
        return -1;
    if (plain.user && job->user_name[0] == '\0')
        job->user_name = plain.user;
    return 0;
}

static int take_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct reader *reader = context;
    struct dn_err problem = {.code = DN_E_NONE};
    struct dn_finished job;

    reader->err = err;
    if (!reader->checked && check_table (row, err) < 0)
        return -1;
    reader->checked = true;
    if (read_row (row, &job, &problem) < 0) {
        if (reader->jobs->n_refused++ == 0)
            dn_err_set (&reader->jobs->first,
                        problem.code,
                        "line %" PRId64 ": %s",
                        row->line,
                        problem.text);
        return 0;
    }
    return take_job (reader, &job);
}

/* --- what sacct prints with a header --------------------------------------------- */

#define COLUMNS_MAX 256

/* A column of the rows that are made. */
struct made {
    const char *name;
    enum form form;
    int at; /* the column that it comes from; -1: none */
};

/* The first line of 'sacct -P', in whose place dn_accounting_feed () gets rows with all
 * columns of dn_accounting_columns (), "" where there is none. The columns are in any
 * order, with '|' between them; times are of any SLURM_TIME_FORMAT that ends in seconds
 * or is ISO 8601.
 */
struct header {
    char *text; /* owned; NULL: there is no such line */
    const char *names[COLUMNS_MAX];
    int n;
    int start;          /* of these */
    char columns[1024]; /* of dn_accounting_columns (), the names of those made */
    struct made made[COLUMNS_MAX];
    int n_made;
};

static const struct wanted others[] = {
    {{"JobIDRaw", "JobID"}, true, NULL, FORM_RAW_ID},
    {{"JobID", "JobIDRaw"}, false, NULL, FORM_AS_IT_IS},
    {{"Submit"}, true, NULL, FORM_TIME},
    {{"Eligible"}, false, NULL, FORM_TIME},
    {{"Start"}, true, NULL, FORM_TIME},
    {{"End", "ElapsedRaw", "Elapsed"}, true, NULL, FORM_TIME},
    {{"AllocTRES", "ReqTRES"}, true, NULL, FORM_AS_IT_IS},
    {{"User", "Account"}, false, "owners (User)", FORM_AS_IT_IS},
    {{"JobName"},
     false,
     "names of series (a request stands for one) (JobName)",
     FORM_AS_IT_IS},
    {{"TimelimitRaw", "Timelimit"}, false, "limits (TimelimitRaw)", FORM_LIMIT},
    {{"State"}, false, "how jobs ended (State)", FORM_AS_IT_IS},
    {{"TotalCPU"}, false, "CPUs that were busy (TotalCPU)", FORM_AS_IT_IS},
    {{"TRESUsageInTot"}, false, "memory that was used (TRESUsageInTot)", FORM_AS_IT_IS},
};

static int find_name (const void *header, const char *name)
{
    const struct header *of = header;

    for (int i = 0; i < of->n; i++)
        if (dn_span_is (dn_span_of (name), of->names[i]))
            return i;
    return -1;
}

static int cut (char *line, const char *cells[COLUMNS_MAX])
{
    int n = 0;

    line[strcspn (line, "\r\n")] = '\0';
    while (line && n < COLUMNS_MAX)
        cells[n++] = strsep (&line, "|");
    return n;
}

/* Which column each of the made ones comes from, once for all rows. */
static void plan (struct header *header)
{
    struct dn_buf buf = dn_buf_on (header->columns, sizeof (header->columns));
    char *rest = header->columns;
    const char *name; /* "" behind the last comma */

    dn_accounting_columns (DN_ACCOUNTING_ALL, &buf);
    header->start = find_name (header, "Start");
    while (header->n_made < COLUMNS_MAX && (name = strsep (&rest, ","))
           && name[0] != '\0') {
        struct made *made = &header->made[header->n_made++];

        *made = (struct made){.name = name, .at = find_name (header, name)};
        for (size_t i = 0; i < DN_N_ELEMENTS (others); i++)
            if (strcmp (name, others[i].names[0]) == 0) {
                made->form = others[i].form;
                made->at = find_any (&others[i], find_name, header);
            }
    }
}

/* Read it, and tell what it lacks. -1 with 'err'. */
static int read_header (struct header *header,
                        const char *path,
                        const char *line,
                        struct dn_err *err)
{
    char text[DN_ERR_TEXT_MAX] = "";
    char seen[DN_QUOTE_MAX + 20];
    struct dn_buf lacks = dn_buf_on (text, sizeof (text));

    header->text = strdup (line);
    if (!header->text)
        return dn_err_set (err, DN_E_NOMEM, "%s: out of memory", path);
    snprintf (seen,
              sizeof (seen),
              "it has '%s'",
              dn_quote (line, strcspn (line, "\r\n")).text);
    header->n = cut (header->text, header->names);
    if (check_columns (
            others, DN_N_ELEMENTS (others), find_name, header, seen, &lacks, err)
        < 0)
        return dn_err_wrap (err, "%s: line 1", path);
    plan (header);
    if (lacks.len > 0)
        dn_complain ("note: %s does not tell %s", path, text);
    return 0;
}

/* Seconds since 1970; of what has no time, such as Unknown, DN_UNSET. */
static int read_time (const char *cell,
                      const char *name,
                      int64_t *time_s,
                      struct dn_err *err)
{
    static const char *const none[] = {"", "Unknown", "None", "0"};

    *time_s = DN_UNSET;
    for (size_t i = 0; i < DN_N_ELEMENTS (none); i++)
        if (strcmp (cell, none[i]) == 0)
            return 0;
    if (strspn (cell, "0123456789") == strlen (cell))
        return dn_int_read (dn_span_of (cell), name, 0, INT64_C (1) << 40, time_s, err);
    return dn_when_read (cell, name, 0, time_s, err);
}

struct row {
    const struct header *header;
    const char *cells[COLUMNS_MAX];
    int64_t number;
    struct dn_buf *buf;
};

/* A time, or the start and what has elapsed since. */
static int put_time (const struct row *row, const struct made *made, struct dn_err *err)
{
    const char *from = row->header->names[made->at];
    const char *cell = row->cells[made->at];
    int64_t start_s;
    int64_t time_s;

    if (strcasecmp (made->name, from) != 0) {
        if (read_time (row->cells[row->header->start], "Start", &start_s, err) < 0
            || (dn_span_is (dn_span_of ("ElapsedRaw"), from)
                    ? dn_int_read (
                        dn_span_of (cell), from, 0, INT64_C (1) << 40, &time_s, err)
                    : dn_time_read (dn_span_of (cell), from, &time_s, err))
                   < 0)
            return -1;
        time_s = start_s == DN_UNSET ? DN_UNSET : start_s + time_s;
    } else if (read_time (cell, made->name, &time_s, err) < 0) {
        return -1;
    }
    if (time_s == DN_UNSET)
        dn_buf_add (row->buf, "Unknown");
    else
        dn_buf_add (row->buf, "%" PRId64, time_s);
    return 0;
}

/* Minutes of "1-00:00:00". */
static int put_limit (const struct row *row, int at, struct dn_err *err)
{
    const char *cell = row->cells[at];
    int64_t seconds;

    if (dn_span_is (dn_span_of ("TimelimitRaw"), row->header->names[at])
        || cell[0] < '0' || cell[0] > '9') {
        dn_buf_add (row->buf, "%s", cell);
        return 0;
    }
    if (dn_time_read (dn_span_of (cell), "Timelimit", &seconds, err) < 0)
        return -1;
    dn_buf_add (row->buf, "%" PRId64, seconds / 60);
    return 0;
}

/* A number of its own for each task, whose JobID has none; steps keep their mark. */
static void put_raw_id (const struct row *row, int at)
{
    const char *cell = row->cells[at];

    if (strcspn (cell, "_+") == strlen (cell))
        dn_buf_add (row->buf, "%s", cell);
    else
        dn_buf_add (
            row->buf, "%" PRId64 "%s", row->number, strchr (cell, '.') ? ".0" : "");
}

static int put (const struct row *row, const struct made *made, struct dn_err *err)
{
    if (made->at < 0)
        return 0;
    if (made->form == FORM_TIME)
        return put_time (row, made, err);
    if (made->form == FORM_LIMIT)
        return put_limit (row, made->at, err);
    if (made->form == FORM_RAW_ID)
        put_raw_id (row, made->at);
    else
        dn_buf_add (row->buf, "%s", row->cells[made->at]);
    return 0;
}

/* Write the row of that line, whose text is cut into pieces, with 'delimiter' between
 * its columns, and a newline. -1 with 'err', which names line and value.
 */
static int write_row (const struct header *header,
                      char *line,
                      int64_t number,
                      const char *delimiter,
                      struct dn_buf *row,
                      struct dn_err *err)
{
    struct row from = {.header = header, .number = number, .buf = row};
    int n = cut (line, from.cells);

    if (n != header->n)
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "line %" PRId64 ": %d columns, expected %d as in line 1",
                           number,
                           n,
                           header->n);
    for (int i = 0; i < header->n_made; i++) {
        dn_buf_add (row, "%s", i > 0 ? delimiter : "");
        if (put (&from, &header->made[i], err) < 0)
            return dn_err_wrap (err, "line %" PRId64, number);
    }
    dn_buf_add (row, "\n");
    return 0;
}

/* --- sacct ------------------------------------------------------------------------ */

static int take_accounted (void *to, const struct dn_accounted *job)
{
    return take_job (to, &job->job);
}

void dn_past_sacct_command (struct dn_buf *buf)
{
    dn_buf_add (buf,
                "SLURM_TIME_FORMAT=%%s sacct -anPD --noconvert "
                "--delimiter='" FILE_DELIMITER "' -S now-90days -o ");
    dn_accounting_columns (DN_ACCOUNTING_ALL, buf);
    if (buf->len > 0 && buf->text[buf->len - 1] == ',')
        buf->text[--buf->len] = '\0';
}

static int read_days (struct reader *reader, struct dn_err *err)
{
    const int64_t end_s = reader->source->until_s;

    for (int64_t from = reader->source->since_s; from < end_s; from += DAY_S) {
        struct dn_sacct which = {
            .everyone = true, .since_s = from, .patience_s = PATIENCE_S};

        reader->since_s = from;
        reader->until_s = from + DAY_S < end_s ? from + DAY_S : end_s;
        which.until_s = reader->until_s;
        if (dn_sacct_read (&which, take_accounted, reader, err) != 0)
            return -1;
    }
    return 0;
}

/* The first error is told. */
static void refuse (struct dn_past_jobs *jobs, const struct dn_err *err)
{
    if (jobs->n_refused++ == 0)
        jobs->first = *err;
}

/* One line after the header of 'sacct -P'; NULL: it has none. */
static int feed_line (struct reader *reader,
                      const struct header *header,
                      char *line,
                      int64_t number,
                      struct dn_accounting *to,
                      struct dn_err *err)
{
    char text[DN_ACCOUNTING_RECORD_MAX];
    struct dn_buf row = dn_buf_on (text, sizeof (text));
    struct dn_err problem = {.code = DN_E_NONE};

    if (!header)
        return dn_accounting_feed (to, dn_span_of (line), err);
    if (write_row (header, line, number, FILE_DELIMITER, &row, &problem) == 0)
        return dn_accounting_feed (to, (struct dn_span){text, row.len}, err);
    refuse (reader->jobs, &problem);
    return 0;
}

/* The first line says which of both forms the file has. */
static int read_first (struct reader *reader,
                       const char *line,
                       struct header *header,
                       struct dn_err *err)
{
    if (strstr (line, FILE_DELIMITER))
        return 0;
    if (strstr (line, "JobID") && strchr (line, '|'))
        return read_header (header, reader->source->sacct, line, err);
    return dn_err_set (err,
                       DN_E_SYNTAX,
                       "%s: line 1 is no header, but '%s': print it without -n, as "
                       "'sacct -aPD --noconvert -o JobID,User,JobName,State,"
                       "Timelimit,NNodes,Submit,Start,End,AllocTRES,TotalCPU,"
                       "TRESUsageInTot'",
                       reader->source->sacct,
                       dn_quote (line, strcspn (line, "\r\n")).text);
}

static int feed (struct reader *reader, struct dn_accounting *to, struct dn_err *err)
{
    const char *path = reader->source->sacct;
    dn_cleanup (dn_close_input) FILE *stream = dn_open_input (path, err);
    struct header header = {.text = NULL};
    dn_cleanup (dn_free_ptr) char *line = NULL;
    size_t size = 0;
    int rc = 0;

    if (!stream)
        return -1;
    for (int64_t number = 1; rc == 0 && getline (&line, &size, stream) >= 0; number++) {
        if (number == 1)
            rc = read_first (reader, line, &header, err);
        if (rc == 0 && (number > 1 || !header.text))
            rc =
                feed_line (reader, header.text ? &header : NULL, line, number, to, err);
    }
    free (header.text);
    if (rc == 0 && ferror (stream))
        rc = dn_err_set (err, DN_E_IO, "%s: cannot read", path);
    return rc == 0 && dn_accounting_end (to) != 0 ? -1 : rc;
}

static int read_output (struct reader *reader, struct dn_err *err)
{
    struct dn_accounting *accounting =
        dn_accounting_new (DN_ACCOUNTING_ALL, FILE_DELIMITER, take_accounted, reader);
    struct dn_err problem;
    int64_t refused;
    int rc;

    if (!accounting)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    rc = feed (reader, accounting, err);
    refused = dn_accounting_refused (accounting);
    dn_err_set (&problem,
                DN_E_SYNTAX,
                "too many columns, expected those that sacct was to print, "
                "with " FILE_DELIMITER " between them, or a header (sacct -P)");
    if (refused > 0) {
        refuse (reader->jobs, &problem);
        reader->jobs->n_refused += refused - 1;
    }
    dn_accounting_free (accounting);
    return rc;
}

/* --- the store -------------------------------------------------------------------- */

static int open_store (struct dn_past_jobs *jobs, struct dn_err *err)
{
    const char *tmp = getenv ("TMPDIR");
    struct dn_buf buf = dn_buf_on (jobs->dir, sizeof (jobs->dir));
    char path[PATH_MAX + 16];

    dn_buf_add (&buf, "%s/dnnest-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp");
    if (buf.cut || !mkdtemp (jobs->dir)) {
        dn_err_errno (jobs->dir, err);
        jobs->dir[0] = '\0';
        return -1;
    }
    snprintf (path, sizeof (path), "%s/jobs.db", jobs->dir);
    jobs->store = dn_store_open (path, true, err);
    return jobs->store ? 0 : -1;
}

void dn_past_jobs_free (struct dn_past_jobs *jobs)
{
    static const char *const files[] = {"jobs.db", "jobs.db-wal", "jobs.db-shm"};
    char path[PATH_MAX + 16];

    dn_store_close (jobs->store);
    free (jobs->nodes.events);
    for (size_t i = 0; jobs->dir[0] != '\0' && i < DN_N_ELEMENTS (files); i++) {
        snprintf (path, sizeof (path), "%s/%s", jobs->dir, files[i]);
        unlink (path);
    }
    if (jobs->dir[0] != '\0')
        rmdir (jobs->dir);
}

int dn_past_jobs_read (struct dn_past_jobs *jobs,
                       const struct dn_past_source *source,
                       struct dn_err *err)
{
    struct reader reader = {.jobs = jobs,
                            .source = source,
                            .since_s = source->since_s,
                            .until_s = source->until_s,
                            .progress = dn_progress_begin ("jobs"),
                            .err = err};
    const struct dn_reading table = {.row = take_row, .context = &reader};
    int rc = open_store (jobs, err);

    if (rc == 0 && source->table)
        rc = dn_read_table (source->table, &table, err);
    else if (rc == 0)
        rc = source->sacct ? read_output (&reader, err) : read_days (&reader, err);
    dn_progress_end (&reader.progress);
    return rc < 0 ? rc : dn_store_commit (jobs->store, err);
}
