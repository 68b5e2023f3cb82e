/* dnnestd.c - the command line of dnnestd
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arguments.h"
#include "base/messages.h"
#include "base/text.h"
#include "task.h"

/* Seconds for giving moved jobs their own types again before it ends. */
#define LEAVE_S 20

/* In the order of a round. */
static const struct dn_task *const tasks[] = {
    &dn_task_watch,
    &dn_task_rescue,
    &dn_task_collect,
    &dn_task_learn,
    &dn_task_revise,
    &dn_task_steer,
    NULL,
    /* End of tasks */
};

static const struct dn_task *task_find (const char *name)
{
    for (int i = 0; tasks[i]; i++)
        if (strcmp (tasks[i]->name, name) == 0)
            return tasks[i];
    return NULL;
}

static void print_help (void)
{
    printf (
        "usage: dnnestd [-D] [-v] [--conf=FILE]\n"
        "       dnnestd TASK [--once] [--dry-run] [--out=FILE] [-v] [--conf=FILE]\n"
        "\n"
        "Runs beside slurmctld, as SlurmUser, and repeats all tasks, or one of them.\n"
        "\n");
    for (int i = 0; tasks[i]; i++)
        printf ("  %-11s %s\n", tasks[i]->name, tasks[i]->help);
    printf (
        "\n"
        "  -D          stay in the foreground (it always does)\n"
        "  -v          also log what is not changed, and why\n"
        "  --once      run the task once and exit\n"
        "  --dry-run   change nothing, and print what would be changed\n"
        "  --out=FILE  write this file (-: stdout), not the one in StateDir\n"
        "  --db=FILE   collect into this store, not the one in StateDir\n"
        "  --since=T   collect jobs that ended at or after T: seconds since 1970, or\n"
        "              YYYY-MM-DD[THH:MM], local time\n"
        "  --json      print as JSON what was collected\n"
        "  --conf=FILE dnnest.conf (default " DNNEST_CONF ")\n"
        "  --help      this text\n"
        "  --version   the version\n"
        "\n"
        "Exit status: 0 done, 1 slurmctld does not answer, 2 usage, 3 configuration,\n"
        "4 data that cannot be read or written, 5 bug or no memory. dnnestd(8)\n");
}

/* Seconds since 1970, or a date with or without a time of the day. */
static enum dn_daemon_exit read_since (const char *text, int64_t *since_s)
{
    static const char *const formats[] = {
        "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"};

    if (dn_int_read (dn_span_of (text), "since", 0, INT32_MAX, since_s, NULL) == 0)
        return DN_DAEMON_DONE;
    for (size_t i = 0; i < DN_N_ELEMENTS (formats); i++) {
        struct tm local = {.tm_isdst = -1};
        const char *end = strptime (text, formats[i], &local);

        if (end && *end == '\0') {
            *since_s = (int64_t) mktime (&local);
            return DN_DAEMON_DONE;
        }
    }
    return dn_loop_usage ("--since", text, dn_say_usage_since);
}

static enum dn_daemon_exit read_line (int argc,
                                      char **argv,
                                      struct dn_arguments *line,
                                      const struct dn_task **task)
{
    struct dn_loop_options *options = &line->options;
    const char *since = NULL;
    const struct dn_argument own[] = {
        {"out", NULL, &options->daemon.out},
        {"db", NULL, &options->daemon.store},
        {"since", NULL, &since},
        {"json", &options->daemon.json, NULL},
        {0},
    };

    if (dn_arguments_read (argc, argv, own, print_help, line) != DN_DAEMON_DONE)
        return DN_DAEMON_USAGE;
    if (line->done)
        return DN_DAEMON_DONE;
    if (since && read_since (since, &options->daemon.since_s) != DN_DAEMON_DONE)
        return DN_DAEMON_USAGE;
    if (optind < argc) {
        *task = task_find (argv[optind]);
        if (!*task)
            return dn_loop_usage ("task", argv[optind], dn_say_usage_task);
        optind++;
    }
    if (optind < argc)
        return dn_loop_usage ("argument", argv[optind], dn_say_usage_one_task);
    if (!*task && (line->once || options->daemon.dry_run || options->daemon.out))
        return dn_loop_usage ("task", "", dn_say_usage_needs_task);
    if ((options->daemon.store || since || options->daemon.json)
        && (!line->once || *task != &dn_task_collect))
        return dn_loop_usage ("option", "", dn_say_usage_collect);
    return DN_DAEMON_DONE;
}

int main (int argc, char **argv)
{
    struct dn_arguments line = {
        .options = {.name = "dnnestd", .leave_s = LEAVE_S, .daemon.since_s = DN_UNSET}};
    const struct dn_task *one[] = {NULL, NULL};
    int rc = (int) read_line (argc, argv, &line, &one[0]);

    if (rc != DN_DAEMON_DONE || line.done)
        return rc;
    dn_arguments_log (&line, line.once);
    if (line.once)
        return (int) dn_loop_once (&line.options, one[0]);
    return (int) dn_loop_run (&line.options, one[0] ? one : tasks);
}
