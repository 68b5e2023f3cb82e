/* cmd_records.c - shows the store of measured runs, and imports tables into it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "output/csv_cell.h"
#include "output/grid.h"
#include "output/json.h"
#include "output/progress.h"
#include "output/show.h"
#include "own_records.h"
#include "read_runs.h"

/* Default number of rows of the list. */
#define LAST_USUAL 30

/* The options of a call, and its state. */
struct call {
    struct dn_records_filter filter;
    bool csv;
    const char *import; /* NULL: show */
    int64_t user;       /* whose runs are imported; DN_UNSET: as they say */
    char path[PATH_MAX];
    /* showing */
    struct dn_grid grid;
    int64_t n_shown;
    /* importing */
    struct dn_records *records;
    struct dn_reading reading;
    struct dn_progress progress;
    int64_t n_added;
};

static void free_call (struct call *call)
{
    dn_records_close (call->records);
    dn_grid_free (&call->grid);
}

/* --- options --------------------------------------------------------------------- */

static int take_import (struct dn_options *given, void *to)
{
    struct call *call = to;

    if (call->import)
        return dn_options_misuse (given->command, "--import: more than one");
    call->import = given->argument;
    return DN_EXIT_DONE;
}

static const struct dn_option options[] = {
    DN_OPT_FLAG ("csv", 0, "write a table with all columns", csv),
    DN_OPT_TEXT ("app", 0, "NAME", "of this application only", filter.group),
    DN_OPT_TEXT ("gpu", 0, "NAME", "on this device only", filter.gpu),
    DN_OPT_TEXT ("source", 0, "NAME", "from this source only", filter.source),
    DN_OPT_INT ("last",
                'n',
                "N",
                "the newest N only (30; of --csv, --json all)",
                filter.last,
                1,
                INT32_MAX),
    DN_OPT_TAKE ("import",
                 0,
                 "FILE",
                 "add the rows of a table or another store",
                 take_import),
    DN_OPT_USER ("user", 0, "NAME", "of --import: all rows are of this user", user),
    DN_OPT_END,
};

static int check_options (const struct dn_command *self,
                          const struct dn_options *given,
                          const struct call *call)
{
    const struct dn_records_filter *filter = &call->filter;

    if (call->csv && given->json)
        return dn_options_misuse (self, "--csv and --json cannot be combined");
    if (call->import
        && (call->csv || filter->group || filter->gpu || filter->source
            || filter->last > 0))
        return dn_options_misuse (
            self, "--import cannot be combined with the options that show records");
    if (call->user != DN_UNSET && !call->import)
        return dn_options_misuse (self, "--user needs --import");
    return DN_EXIT_DONE;
}

static int take_options (const struct dn_command *self,
                         struct dn_options *given,
                         struct call *call)
{
    struct dn_err err = {0};
    struct dn_buf path = dn_buf_on (call->path, sizeof (call->path));

    if (!dn_options_all (given, call, 0, 1))
        return -1;
    given->exit_code = check_options (self, given, call);
    if (given->exit_code != DN_EXIT_DONE)
        return -1;
    if (given->n_args == 1)
        dn_buf_add (&path, "%s", given->args[0]);
    else if (dn_records_usual_path (call->path, sizeof (call->path), &err) < 0)
        given->exit_code = dn_fail (DN_EXIT_USAGE, &err);
    if (path.cut)
        given->exit_code = dn_options_misuse (self, "the path is too long");
    if (call->filter.last == 0 && !call->csv && !given->json)
        call->filter.last = LAST_USUAL;
    return given->exit_code == DN_EXIT_DONE ? 0 : -1;
}

/* --- showing --------------------------------------------------------------------- */

static const struct dn_grid_column grid_columns[] = {{"RECORD", true},
                                                     {"TIME (UTC)", false},
                                                     {"APPLICATION", false},
                                                     {"GPU", false},
                                                     {"STEP ms", true},
                                                     {"GPU MEMORY", true},
                                                     {"SOURCE", false},
                                                     {"JOB", false}};

static void add_word (struct dn_grid *grid, const char *text)
{
    dn_grid_add (grid, "%s", text[0] ? dn_quote (text, strlen (text)).text : "-");
}

static double known_or_less (double value)
{
    return value > 0 ? value : -1;
}

static int list_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct call *call = context;
    struct dn_run run;

    if (dn_run_read (row, DN_RUN_SHOW, &run, err) < 0)
        return -1;
    dn_grid_add (&call->grid, "%lld", (long long) row->line);
    add_word (&call->grid, run.time);
    add_word (&call->grid, run.group);
    add_word (&call->grid, run.gpu);
    dn_grid_add (&call->grid, "%s", dn_show_real (known_or_less (run.step_ms), 1).text);
    dn_grid_add (&call->grid,
                 "%s",
                 dn_show_bytes (known_or_less (run.peak_mem_gb * DN_GIB)).text);
    add_word (&call->grid, run.source);
    add_word (&call->grid, run.job);
    call->n_shown++;
    return 0;
}

static void print_csv_head (void)
{
    for (int i = 0; i < DN_N_RUN_COLUMNS; i++)
        printf ("%s%s", i > 0 ? "," : "", dn_run_columns[i].name);
    putchar ('\n');
}

static int print_csv_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct call *call = context;

    for (int i = 0; i < row->n_columns; i++) {
        if (i > 0)
            putchar (',');
        dn_csv_cell (stdout, row->values[i]);
    }
    putchar ('\n');
    call->n_shown++;
    return ferror (stdout) ? dn_err_set (err, DN_E_IO, "write error") : 0;
}

static void add_json_cell (struct json_object *to,
                           const struct dn_run_column *column,
                           const char *text)
{
    double value = 0;
    int64_t count = 0;

    if (text[0] == '\0')
        json_object_object_add (to, column->name, NULL);
    else if (column->type == DN_RUN_SIDECAR)
        json_object_object_add (to, column->name, json_tokener_parse (text));
    else if (column->type == DN_RUN_TEXT)
        dn_json_add_text (to, column->name, text);
    else if ((column->type == DN_RUN_REAL || column->type == DN_RUN_MEASURED)
             && dn_real_read (dn_span_of (text), "", 0, 1e300, &value, NULL) == 0)
        dn_json_add_real (to, column->name, value);
    else if (dn_int_read (dn_span_of (text), "", 0, INT64_MAX, &count, NULL) == 0)
        dn_json_add_count (to, column->name, count);
    else
        json_object_object_add (to, column->name, NULL);
}

/* Print one record at a time: the whole document may not fit into memory. */
static int print_json_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct call *call = context;
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();

    dn_json_add_count (json, "record", row->line);
    for (int i = 0; i < row->n_columns; i++)
        add_json_cell (json, &dn_run_columns[i], row->values[i]);
    printf ("%s\n    %s",
            call->n_shown++ > 0 ? "," : "",
            json_object_to_json_string_ext (
                json, JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
    return ferror (stdout) ? dn_err_set (err, DN_E_IO, "write error") : 0;
}

static int read_all (struct call *call, dn_row_f row, struct dn_err *err)
{
    if (dn_records_read (call->records, &call->filter, row, NULL, call, err) < 0)
        return dn_err_wrap (err, "%s", call->path);
    return 0;
}

/* After an error the rest is not printed, so that the document is invalid JSON. */
static int show_json (struct call *call, struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *path = dn_json_text (call->path);

    printf ("{\n  \"store\": %s,\n  \"records\": [",
            json_object_to_json_string_ext (path, JSON_C_TO_STRING_NOSLASHESCAPE));
    if (read_all (call, print_json_row, err) < 0)
        return -1;
    printf ("%s]\n}\n", call->n_shown > 0 ? "\n  " : "");
    return 0;
}

static int show (const struct dn_options *given, struct call *call)
{
    struct dn_err err = {0};
    int rc;

    if (dn_records_open (call->path, DN_RECORDS_READ, &call->records, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (given->json) {
        rc = show_json (call, &err);
    } else if (call->csv) {
        print_csv_head ();
        rc = read_all (call, print_csv_row, &err);
    } else {
        call->grid = dn_grid_of (grid_columns, (int) DN_N_ELEMENTS (grid_columns));
        rc = read_all (call, list_row, &err);
    }
    if (rc < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (call->n_shown == 0)
        dn_complain ("%s: no record", call->path);
    return call->n_shown == 0 || !call->grid.columns ? DN_EXIT_DONE
                                                     : dn_grid_print (&call->grid);
}

/* --- importing ------------------------------------------------------------------- */

static void warn_of_columns (const struct dn_row *row)
{
    for (int i = 0; i < row->n_columns; i++)
        if (!dn_run_column_find (row->names[i]))
            dn_complain ("warning: the column '%s' is not stored",
                         dn_quote (row->names[i], strlen (row->names[i])).text);
}

static int take_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct call *call = context;
    char user[24];
    struct dn_buf text = dn_buf_on (user, sizeof (user));
    struct dn_run run;

    if (call->n_added == 0)
        warn_of_columns (row);
    if (dn_run_check (row, NULL) < 0)
        return dn_err_set (err, DN_E_SYNTAX, "a record needs spec and gpu");
    if (dn_run_read (row, DN_RUN_KEEP, &run, err) < 0)
        return -1;
    if (call->user != DN_UNSET) {
        dn_buf_add (&text, "%lld", (long long) call->user);
        run.user = user;
    } else if (call->reading.user) {
        run.user = call->reading.user;
    }
    if (dn_records_add (call->records, &run, err) < 0)
        return -1;
    call->n_added++;
    return 0;
}

static void show_progress (struct dn_span piece, double share, void *context)
{
    struct call *call = context;

    (void) piece;
    dn_progress_show (&call->progress, call->n_added, share);
}

/* A store that is opened twice by one process loses its locks (records_db.c). */
static bool is_itself (const struct call *call)
{
    struct stat a;
    struct stat b;

    return stat (call->path, &a) == 0 && stat (call->import, &b) == 0
           && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int take_in (const struct dn_options *given, struct call *call)
{
    dn_cleanup (dn_json_free) struct json_object *json = NULL;
    struct dn_err err = {0};
    int rc;

    if (is_itself (call)) {
        dn_complain ("--import: %s is the store itself", call->import);
        return DN_EXIT_USAGE;
    }
    if (dn_records_make (call->path, &call->records, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    call->reading =
        (struct dn_reading){.row = take_row, .piece = show_progress, .context = call};
    call->progress = dn_progress_begin ("rows");
    rc = dn_read_runs (call->import, &call->reading, &err);
    dn_progress_end (&call->progress);
    if (rc == 0 && dn_records_commit (call->records, &err) < 0)
        rc = dn_err_wrap (&err, "%s", call->path);
    if (rc < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (!given->json) {
        printf ("%lld records added\n", (long long) call->n_added);
        return DN_EXIT_DONE;
    }
    json = json_object_new_object ();
    dn_json_add_text (json, "store", call->path);
    dn_json_add_count (json, "imported", call->n_added);
    dn_json_print (json);
    return DN_EXIT_DONE;
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct dn_options given;
    dn_cleanup (free_call) struct call call = {.user = DN_UNSET};

    dn_options_begin (&given, self, argc, argv);
    if (take_options (self, &given, &call) < 0)
        return given.exit_code;
    return call.import ? take_in (&given, &call) : show (&given, &call);
}

const struct dn_command dn_cmd_records = {
    .name = "records",
    .summary = "Show the store of measured runs, or import tables",
    .arguments = "[RECORDS.db]",
    .options = options,
    .run = run,
};
