/* cmd_daemon.c - hands the tasks of dnnestd to it: this program knows no Slurm
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import_jobs.h"
#include "jobs/store.h"
#include "output/json.h"

enum {
    OPTION_ONCE,
    OPTION_DRY_RUN,
    OPTION_OUT,
    OPTION_VERBOSE
};

enum {
    /* The first as above. */
    OPTION_VERBOSE_COLLECT = OPTION_OUT,
    OPTION_DB,
    OPTION_SINCE,
    OPTION_IMPORT
};

static const struct dn_option options[] = {
    [OPTION_ONCE] = {"once", 0, NULL, "run the task once and exit"},
    [OPTION_DRY_RUN] = {"dry-run",
                        0,
                        NULL,
                        "change nothing, and print what would be changed"},
    [OPTION_OUT] = {"out",
                    0,
                    "FILE",
                    "write FILE (-: stdout), not the one in StateDir"},
    [OPTION_VERBOSE] = {"verbose",
                        'v',
                        NULL,
                        "also print what is not changed, and why"},
    {NULL, 0, NULL, NULL},
};

static const struct dn_option options_of_collect[] = {
    [OPTION_ONCE] = {"once", 0, NULL, "collect the jobs that have finished, and exit"},
    [OPTION_DRY_RUN] = {"dry-run",
                        0,
                        NULL,
                        "store nothing, and print what would be stored"},
    [OPTION_VERBOSE_COLLECT] = {"verbose", 'v', NULL, "also print what is collected"},
    [OPTION_DB] = {"db", 0, "FILE", "use this store, not the one in StateDir"},
    [OPTION_SINCE] =
        {"since",
         0,
         "TIME",
         "jobs that ended since: YYYY-MM-DD[THH:MM], or seconds since 1970"},
    [OPTION_IMPORT] = {"import",
                       0,
                       "FILE",
                       "import the jobs of a table (CSV), not of Slurm"},
    {NULL, 0, NULL, NULL},
};

/* The command line of dnnestd: program, task, the options above, --conf, NULL. */
#define ARGS_MAX 12

struct line {
    char *args[ARGS_MAX];
    int n_args;
    bool done; /* help was printed, or an error */
    char program[PATH_MAX];
    char out[PATH_MAX + 8];
    char conf[PATH_MAX + 8];
};

/* execv () takes texts that it does not change as if it did. */
static void add (struct line *line, const char *argument)
{
    if (line->n_args < ARGS_MAX - 1)
        memcpy (&line->args[line->n_args++], &argument, sizeof (argument));
}

/* "--out=FILE"; only the last one counts. */
static int set_path (const struct dn_command *self,
                     char text[PATH_MAX + 8],
                     const char *option,
                     const char *path)
{
    struct dn_buf buf = dn_buf_on (text, PATH_MAX + 8);

    dn_buf_add (&buf, "%s=%s", option, path);
    return buf.cut ? dn_options_misuse (self, "%s: the path is too long", option)
                   : DN_EXIT_DONE;
}

/* --- where dnnestd is --------------------------------------------------------------
 */

/* Beside this program, as in a tree where it was built; else where it is installed. */
static void find_program (struct line *line)
{
    const char *named = getenv ("DNNESTD");
    struct dn_buf buf = dn_buf_on (line->program, sizeof (line->program));
    char own[PATH_MAX];
    ssize_t len = readlink ("/proc/self/exe", own, sizeof (own) - 1);
    char *slash;

    if (named && named[0] != '\0') {
        dn_buf_add (&buf, "%s", named);
        return;
    }
    own[len > 0 ? len : 0] = '\0';
    slash = strrchr (own, '/');
    if (slash) {
        dn_buf_add (&buf, "%.*s/dnnestd", (int) (slash - own), own);
        if (!buf.cut && access (line->program, X_OK) == 0)
            return;
    }
    buf = dn_buf_on (line->program, sizeof (line->program));
    dn_buf_add (&buf, "%s/dnnestd", DNNEST_SBINDIR);
}

/* Only returns where dnnestd cannot be started. */
static int become (struct line *line)
{
    signal (SIGPIPE, SIG_DFL);
    execv (line->program, line->args);
    signal (SIGPIPE, SIG_IGN);
    dn_complain (
        "%s: %s (dnnestd is built where libslurm is installed; DNNESTD= names another)",
        line->program,
        strerror (errno));
    return DN_EXIT_CONF;
}

/* Read the options into 'line'; a flag that is given twice counts once. */
static int take_options (const struct dn_command *self,
                         struct dn_options *given,
                         struct line *line)
{
    bool flags[DN_N_ELEMENTS (options)] = {false};
    static const char *const words[] = {[OPTION_ONCE] = "--once",
                                        [OPTION_DRY_RUN] = "--dry-run",
                                        [OPTION_VERBOSE] = "-v"};
    int rc = DN_EXIT_DONE;
    int option;

    while (rc == DN_EXIT_DONE && (option = dn_options_next (given)) >= 0) {
        flags[option] = true;
        if (option == OPTION_OUT)
            rc = set_path (self, line->out, "--out", given->argument);
    }
    if (rc != DN_EXIT_DONE)
        return rc;
    if (option != DN_OPTION_END || !dn_options_count (given, 0, 0)) {
        line->done = true;
        return given->exit_code;
    }
    if (given->json)
        return dn_options_misuse (self, "--json: dnnestd prints none");
    if (given->paths.conf)
        rc = set_path (self, line->conf, "--conf", given->paths.conf);
    for (size_t i = 0; i < DN_N_ELEMENTS (words); i++)
        if (flags[i] && words[i])
            add (line, words[i]);
    return rc;
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct line line = {.n_args = 0};
    struct dn_options given;
    int rc;

    find_program (&line);
    add (&line, line.program);
    add (&line, self->name);
    dn_options_begin (&given, self, argc, argv);
    rc = take_options (self, &given, &line);
    if (rc != DN_EXIT_DONE || line.done)
        return rc;
    if (line.out[0] != '\0')
        add (&line, line.out);
    if (line.conf[0] != '\0')
        add (&line, line.conf);
    return become (&line);
}

/* --- collect -----------------------------------------------------------------------
 */

struct collecting {
    struct line line;
    char db[PATH_MAX + 8];
    char since[PATH_MAX + 8];
    const char *import; /* NULL: from Slurm */
    const char *store;  /* NULL: in StateDir */
};

static int take_option_of_collect (const struct dn_command *self,
                                   struct dn_options *given,
                                   int option,
                                   struct collecting *c)
{
    static const char *const words[] = {[OPTION_ONCE] = "--once",
                                        [OPTION_DRY_RUN] = "--dry-run",
                                        [OPTION_VERBOSE_COLLECT] = "-v"};

    switch (option) {
    case OPTION_DB:
        c->store = given->argument;
        return set_path (self, c->db, "--db", given->argument);
    case OPTION_SINCE:
        return set_path (self, c->since, "--since", given->argument);
    case OPTION_IMPORT:
        c->import = given->argument;
        return DN_EXIT_DONE;
    default:
        add (&c->line, words[option]);
        return DN_EXIT_DONE;
    }
}

static int print_imported (const struct dn_options *given,
                           const char *store,
                           const struct dn_imported *imported)
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

static int import (struct dn_options *given, const struct collecting *c)
{
    struct dn_imported imported;
    struct dn_err err = {.code = DN_E_NONE};
    char path[PATH_MAX];
    struct dn_buf buf = dn_buf_on (path, sizeof (path));
    struct dn_site *site = NULL;

    if (c->store) {
        dn_buf_add (&buf, "%s", c->store);
    } else {
        site = dn_options_site (given, NULL);
        if (!site)
            return DN_EXIT_CONF;
        dn_buf_add (&buf, "%s/%s", site->state_dir, DN_STORE_FILE);
        dn_load_free (site);
    }
    if (buf.cut || dn_import_jobs (c->import, path, &imported, &err) < 0)
        return buf.cut ? DN_EXIT_USAGE : dn_fail (DN_EXIT_DATA, &err);
    return print_imported (given, path, &imported);
}

static int take_options_of_collect (const struct dn_command *self,
                                    struct dn_options *given,
                                    struct collecting *c)
{
    int rc = DN_EXIT_DONE;
    int option;
    int seen = 0;

    while (rc == DN_EXIT_DONE && (option = dn_options_next (given)) >= 0) {
        if (option >= OPTION_DB || !(seen & (1 << option)))
            rc = take_option_of_collect (self, given, option, c);
        seen |= 1 << option;
    }
    if (rc != DN_EXIT_DONE)
        return rc;
    if (option != DN_OPTION_END || !dn_options_count (given, 0, 0)) {
        c->line.done = true;
        return given->exit_code;
    }
    if (c->import && (seen & ~(1 << OPTION_IMPORT | 1 << OPTION_DB | 1 << OPTION_ONCE)))
        return dn_options_misuse (self, "--import can be combined with --db only");
    if (!c->import && !(seen & 1 << OPTION_ONCE)
        && (given->json || c->db[0] != '\0' || c->since[0] != '\0'))
        return dn_options_misuse (self, "--db, --since and --json need --once");
    return given->paths.conf
               ? set_path (self, c->line.conf, "--conf", given->paths.conf)
               : rc;
}

static int run_collect (const struct dn_command *self, int argc, char **argv)
{
    struct collecting c = {.import = NULL};
    struct dn_options given;
    int rc;

    find_program (&c.line);
    add (&c.line, c.line.program);
    add (&c.line, self->name);
    dn_options_begin (&given, self, argc, argv);
    rc = take_options_of_collect (self, &given, &c);
    if (rc != DN_EXIT_DONE || c.line.done)
        return rc;
    if (c.import)
        return import (&given, &c);
    if (given.json)
        add (&c.line, "--json");
    if (c.db[0] != '\0')
        add (&c.line, c.db);
    if (c.since[0] != '\0')
        add (&c.line, c.since);
    if (c.line.conf[0] != '\0')
        add (&c.line, c.line.conf);
    return become (&c.line);
}

const struct dn_command dn_cmd_collect = {
    .name = "collect",
    .summary = "Run dnnestd's task that keeps finished jobs, or import past ones",
    .arguments = "",
    .options = options_of_collect,
    .run = run_collect,
};

const struct dn_command dn_cmd_watch = {
    .name = "watch",
    .summary = "Run dnnestd's task that writes the snapshot of the cluster",
    .arguments = "",
    .options = options,
    .run = run,
};

const struct dn_command dn_cmd_guard = {
    .name = "guard",
    .summary = "Run dnnestd's task that extends lowered limits of running jobs",
    .arguments = "",
    .options = options,
    .run = run,
};
