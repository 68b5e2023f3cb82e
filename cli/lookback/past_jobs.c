/* past_jobs.c - the jobs of a site before dnnest, from its own accounting
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lookback/past_jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common.h"
#include "jobs/outcome.h"
#include "lookback/sacct_header.h"
#include "output/progress.h"
#include "predict/apps.h"
#include "process/sacct.h"

#define DAY_S       86400
#define PATIENCE_S  600
#define COMMIT_ROWS 20000

/* Between the columns of a row that is handed on: no name of a job has it. */
#define FILE_DELIMITER "<|>"

struct reader {
    struct dn_past_jobs *jobs;
    const struct dn_past_source *source;
    int64_t since_s; /* of the window that is being read */
    int64_t until_s;
    struct dn_progress progress;
    struct dn_err *err;
};

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
        return dn_nodes_past_add (&jobs->nodes, &job, -1, reader->err);
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
    if (dn_nodes_past_add (&jobs->nodes, &job, add_type (jobs, job.gpu), reader->err)
        < 0)
        return -1;
    dn_progress_show (&reader->progress, ++jobs->n, -1);
    if (dn_store_add (jobs->store, &job, reader->err) < 0)
        return -1;
    return jobs->n % COMMIT_ROWS == 0 ? dn_store_commit (jobs->store, reader->err) : 0;
}

/* --- sacct ------------------------------------------------------------------------ */

static int take_accounted (void *to, const struct dn_accounted *job)
{
    return take_job (to, &job->job);
}

void dn_past_sacct_command (struct dn_buf *buf)
{
    dn_buf_add (buf, "sacct -aPD --noconvert -S now-90days -o ");
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

/* One line after the header. The first error is told. */
static int feed_line (struct reader *reader,
                      const struct dn_sacct_header *header,
                      char *line,
                      int64_t number,
                      struct dn_accounting *to,
                      struct dn_err *err)
{
    char text[DN_ACCOUNTING_RECORD_MAX];
    struct dn_buf row = dn_buf_on (text, sizeof (text));
    struct dn_err problem = {.code = DN_E_NONE};

    if (dn_sacct_header_row (header, line, number, FILE_DELIMITER, &row, &problem) == 0)
        return dn_accounting_feed (to, (struct dn_span){text, row.len}, err);
    if (reader->jobs->n_refused++ == 0)
        reader->jobs->first = problem;
    return 0;
}

static int read_header (const char *path,
                        const char *line,
                        struct dn_sacct_header *header,
                        struct dn_err *err)
{
    if (!dn_sacct_is_header (line))
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "%s: line 1 is no header, but '%s': print it without -n, as "
                           "'sacct -aPD --noconvert -o JobID,User,JobName,State,"
                           "Timelimit,NNodes,Submit,Start,End,AllocTRES,TotalCPU,"
                           "TRESUsageInTot'",
                           path,
                           dn_quote (line, strcspn (line, "\r\n")).text);
    if (dn_sacct_header_read (header, line, err) < 0)
        return dn_err_wrap (err, "%s", path);
    if (header->lacks[0] != '\0')
        dn_complain ("note: %s does not tell %s", path, header->lacks);
    return 0;
}

static int feed (struct reader *reader, struct dn_accounting *to, struct dn_err *err)
{
    const char *path = reader->source->sacct;
    dn_cleanup (dn_close_input) FILE *stream = dn_open_input (path, err);
    dn_cleanup (dn_sacct_header_free) struct dn_sacct_header header = {.text = NULL};
    dn_cleanup (dn_free_ptr) char *line = NULL;
    size_t size = 0;
    int rc = 0;

    if (!stream)
        return -1;
    for (int64_t number = 1; rc == 0 && getline (&line, &size, stream) >= 0; number++)
        rc = number == 1 ? read_header (path, line, &header, err)
                         : feed_line (reader, &header, line, number, to, err);
    if (rc == 0 && ferror (stream))
        rc = dn_err_set (err, DN_E_IO, "%s: cannot read", path);
    return rc == 0 && dn_accounting_end (to) != 0 ? -1 : rc;
}

static int read_output (struct reader *reader, struct dn_err *err)
{
    struct dn_accounting *accounting =
        dn_accounting_new (DN_ACCOUNTING_ALL, FILE_DELIMITER, take_accounted, reader);
    int rc;

    if (!accounting)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    rc = feed (reader, accounting, err);
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
        dn_err_set (err, DN_E_IO, "%s: %s", jobs->dir, dn_errno_text (errno).text);
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
    dn_nodes_past_free (&jobs->nodes);
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
    int rc = open_store (jobs, err);

    if (rc == 0)
        rc = source->sacct ? read_output (&reader, err) : read_days (&reader, err);
    dn_progress_end (&reader.progress);
    return rc < 0 ? rc : dn_store_commit (jobs->store, err);
}
