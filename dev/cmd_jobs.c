/* cmd_jobs.c - past jobs of a table into a store of finished jobs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "common.h"
#include "jobs/finished.h"
#include "jobs/store.h"
#include "output/json.h"
#include "read_runs.h"

struct call {
    const char *db;
};

static const struct dn_option options[] = {
    DN_OPT_TEXT ("db", "FILE", "use this store, not the one in StateDir", db),
    DN_OPT_END,
};

struct imported {
    int64_t n_jobs;    /* rows that were stored */
    int64_t n_refused; /* rows that could not be read, each printed on stderr */
};

/* Rows of a commit, and rows that are told one by one; further ones are counted. */
#define COMMIT_ROWS 5000
#define TOLD_MAX    100

/* Numbers of jobs whose name is no number are drawn above those of Slurm. */
#define DRAWN_MIN (INT64_C (1) << 32)

struct import {
    const char *path;
    struct dn_store *store;
    struct imported *imported;
    bool begun;
};

static void warn_of_columns (const struct dn_row *row)
{
    char text[DN_ERR_TEXT_MAX];
    struct dn_buf list = dn_buf_on (text, sizeof (text));

    for (int i = 0; i < row->n_columns; i++) {
        bool known = false;

        for (int at = 0; at < DN_N_FINISHED_COLUMNS && !known; at++)
            known = strcmp (row->names[i], dn_finished_columns[at].name) == 0;
        if (!known)
            dn_buf_add (&list,
                        "%s%s",
                        list.len > 0 ? ", " : "",
                        dn_quote (row->names[i], strlen (row->names[i])).text);
    }
    if (list.len > 0)
        dn_complain (
            "note: columns that are ignored: %s%s", text, list.cut ? "..." : "");
}

/* The number of a job that is only named: "12" is 12. Any other name, such as that of a
 * task of an array, has a number that depends on it alone.
 */
static int64_t number_of (const char *name)
{
    int64_t number;

    if (dn_int_read (dn_span_of (name), "job", 0, DRAWN_MIN - 1, &number, NULL) == 0)
        return number;
    return DRAWN_MIN + (int64_t) (dn_hash_text (DN_HASH_SEED, name) >> 12);
}

/* A start before the submission is that of an old run with its number: it is kept. */
static int check (const struct dn_finished *job, struct dn_err *err)
{
    static const int needed[] = {
        DN_FINISHED_AT_submit_s, DN_FINISHED_AT_start_s, DN_FINISHED_AT_end_s};

    if (job->raw_id == DN_UNSET && job->job[0] == '\0')
        return dn_err_set (err, DN_E_SYNTAX, "has neither job nor raw_id");
    for (size_t i = 0; i < DN_N_ELEMENTS (needed); i++) {
        const struct dn_finished_column *column = &dn_finished_columns[needed[i]];

        if (*(const int64_t *) ((const char *) job + column->offset) == DN_UNSET)
            return dn_err_set (err, DN_E_SYNTAX, "has no %s", column->name);
    }
    return job->end_s >= job->start_s
               ? 0
               : dn_err_set (err, DN_E_RANGE, "end_s is before start_s");
}

/* What follows from the cells, where the table does not say it. */
static void complete (struct dn_finished *job, char name[24])
{
    if (job->raw_id == DN_UNSET)
        job->raw_id = number_of (job->job);
    if (job->job[0] == '\0') {
        snprintf (name, 24, "%lld", (long long) job->raw_id);
        job->job = name;
    }
    if (job->source[0] == '\0')
        job->source = "trace";
    if (job->outcome[0] == '\0')
        job->outcome = dn_names_get (&dn_outcome_names, (int) dn_outcome_of (job));
}

static void refuse (struct import *import, int64_t line, const struct dn_err *err)
{
    if (import->imported->n_refused++ < TOLD_MAX)
        dn_complain ("%s: line %lld: %s", import->path, (long long) line, err->text);
}

static int take_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct import *import = context;
    struct dn_err problem = {.code = DN_E_NONE};
    struct dn_finished job;
    char name[24];

    if (!import->begun)
        warn_of_columns (row);
    import->begun = true;
    if (dn_finished_read (row, &job, &problem) < 0 || check (&job, &problem) < 0) {
        refuse (import, row->line, &problem);
        return 0;
    }
    complete (&job, name);
    if (dn_store_add (import->store, &job, &problem) < 0) {
        if (problem.code != DN_E_RANGE && problem.code != DN_E_LIMIT)
            return dn_err_set (err, problem.code, "%s", problem.text);
        refuse (import, row->line, &problem);
        return 0;
    }
    return ++import->imported->n_jobs % COMMIT_ROWS == 0
               ? dn_store_commit (import->store, err)
               : 0;
}

/* Store the rows of the table 'path' ("-": stdin), whose columns are those of
 * jobs/finished_columns.inc. A row needs job or raw_id, submit_s, start_s and end_s. A
 * row that cannot be read is told, with its line, and left out. -1 with 'err' where
 * reading or storing ends; what was stored until then stays, and can come again.
 */
static int import_jobs (const char *path,
                        const char *store,
                        struct imported *imported,
                        struct dn_err *err)
{
    struct import import = {.path = path, .imported = imported};
    struct dn_reading reading = {
        .row = take_row, .context = &import, .unit = "jobs", .n = &imported->n_jobs};
    dn_cleanup (dn_store_cleanup) struct dn_store *open =
        dn_store_open (store, true, err);
    int rc;

    *imported = (struct imported){.n_jobs = 0};
    if (!open)
        return -1;
    /* cppcheck-suppress unreadVariable ; by take_row () */
    import.store = open;
    rc = dn_read_table (path, &reading, err);
    if (imported->n_refused > TOLD_MAX)
        dn_complain ("%s: %lld more rows cannot be read",
                     path,
                     (long long) (imported->n_refused - TOLD_MAX));
    /* What was read before an error is kept: it can come again. */
    return dn_store_commit (open, rc < 0 ? NULL : err) < 0 || rc < 0 ? -1 : 0;
}

static int print_imported (const struct dn_options *given,
                           const char *store,
                           const struct imported *imported)
{
    dn_cleanup (dn_json_free) struct json_object *json = NULL;

    if (!given->json) {
        printf ("%lld jobs imported\n", (long long) imported->n_jobs);
    } else {
        json = json_object_new_object ();
        dn_json_add_text (json, "store", store);
        dn_json_add_count (json, "imported", imported->n_jobs);
        dn_json_add_count (json, "refused", imported->n_refused);
        dn_json_print (json);
    }
    return imported->n_refused > 0 ? DN_EXIT_DATA : DN_EXIT_DONE;
}

/* The store that is named, or that of the site. Return an enum dn_exit. */
static int find_store (struct dn_options *given, const char *db, char path[PATH_MAX])
{
    struct dn_buf buf = dn_buf_on (path, PATH_MAX);

    if (db) {
        dn_buf_add (&buf, "%s", db);
    } else {
        if (!dn_options_site (given, NULL))
            return given->exit_code;
        dn_buf_add (&buf, "%s/%s", given->site->state_dir, DN_STORE_FILE);
    }
    return buf.cut ? dn_options_misuse (given, "--db: the path is too long")
                   : DN_EXIT_DONE;
}

static int run (struct dn_options *given)
{
    struct imported imported;
    struct dn_err err = {0};
    char path[PATH_MAX];
    struct call call = {.db = NULL};
    int code;

    if (!dn_options_all (given, &call, 1, 1))
        return given->exit_code;
    code = find_store (given, call.db, path);
    if (code != DN_EXIT_DONE)
        return code;
    if (import_jobs (given->args[0], path, &imported, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    return print_imported (given, path, &imported);
}

const struct dn_command dn_cmd_jobs = {
    .name = "jobs",
    .summary = "Import past jobs of a table into the store of finished jobs",
    .arguments = "FILE.csv",
    .options = options,
    .run = run,
};
