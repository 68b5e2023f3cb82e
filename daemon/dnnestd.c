/* dnnestd.c - the command line of dnnestd
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/messages.h"
#include "base/text.h"
#include "daemon_log.h"
#include "loop.h"
#include "task.h"

/* Seconds for giving moved jobs their own types again before it ends. */
#define LEAVE_S 20

enum {
    OPTION_CONF = 256,
    OPTION_DB,
    OPTION_DRY_RUN,
    OPTION_HELP,
    OPTION_JSON,
    OPTION_ONCE,
    OPTION_SINCE,
    OPTION_OUT,
    OPTION_VERSION
};

static const struct option long_options[] = {
    {"conf", required_argument, NULL, OPTION_CONF},
    {"db", required_argument, NULL, OPTION_DB},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"help", no_argument, NULL, OPTION_HELP},
    {"json", no_argument, NULL, OPTION_JSON},
    {"once", no_argument, NULL, OPTION_ONCE},
    {"out", required_argument, NULL, OPTION_OUT},
    {"since", required_argument, NULL, OPTION_SINCE},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

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

/* The command line. */
struct line {
    struct dn_loop_options options;
    const struct dn_task *task; /* NULL: all */
    bool once;
    bool verbose;
    bool of_collect; /* an option that only it has */
    bool done;       /* the line asked for a text only */
};

/* Seconds since 1970, or a date with or without a time of the day. */
static int read_since (const char *text, int64_t *since_s)
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

/* The options that only 'collect' has. */
static int read_option_of_collect (int option, struct line *line)
{
    line->of_collect = true;
    switch (option) {
    case OPTION_DB:
        line->options.store = optarg;
        return DN_DAEMON_DONE;
    case OPTION_JSON:
        line->options.json = true;
        return DN_DAEMON_DONE;
    default:
        return read_since (optarg, &line->options.since_s);
    }
}

static int read_option (int option, struct line *line)
{
    switch (option) {
    case OPTION_DB:
    case OPTION_JSON:
    case OPTION_SINCE:
        return read_option_of_collect (option, line);
    case 'D':
        break;
    case 'v':
        line->verbose = true;
        break;
    case OPTION_CONF:
        line->options.conf = optarg;
        break;
    case OPTION_DRY_RUN:
        line->options.dry_run = true;
        break;
    case OPTION_ONCE:
        line->once = true;
        break;
    case OPTION_OUT:
        line->options.out = optarg;
        break;
    case OPTION_HELP:
        print_help ();
        line->done = true;
        break;
    case OPTION_VERSION:
        printf ("dnnestd %s\n", PACKAGE_VERSION);
        line->done = true;
        break;
    default:
        return DN_DAEMON_USAGE; /* getopt_long () has said why */
    }
    return DN_DAEMON_DONE;
}

static int read_line (int argc, char **argv, struct line *line)
{
    int option;
    int rc;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is no other thread yet */
    while ((option = getopt_long (argc, argv, "Dv", long_options, NULL)) != -1) {
        rc = read_option (option, line);
        if (rc != DN_DAEMON_DONE || line->done)
            return rc;
    }
    if (optind < argc) {
        line->task = task_find (argv[optind]);
        if (!line->task)
            return dn_loop_usage ("task", argv[optind], dn_say_usage_task);
        optind++;
    }
    if (optind < argc)
        return dn_loop_usage ("argument", argv[optind], dn_say_usage_one_task);
    if (!line->task && (line->once || line->options.dry_run || line->options.out))
        return dn_loop_usage ("task", "", dn_say_usage_needs_task);
    if (line->of_collect && (!line->once || line->task != &dn_task_collect))
        return dn_loop_usage ("option", "", dn_say_usage_collect);
    return DN_DAEMON_DONE;
}

int main (int argc, char **argv)
{
    struct line line = {
        .options = {.name = "dnnestd", .leave_s = LEAVE_S, .since_s = DN_UNSET}};
    int rc = read_line (argc, argv, &line);
    const struct dn_task *const one[] = {line.task, NULL};

    if (rc != DN_DAEMON_DONE || line.done)
        return rc;
    dn_log_begin ("dnnestd",
                  line.once ? DN_LOG_PLAIN : dn_log_style_of_service (),
                  line.verbose ? DN_LOG_DEBUG : DN_LOG_INFO);
    if (line.once)
        return (int) dn_loop_once (&line.options, line.task);
    return (int) dn_loop_run (&line.options, line.task ? one : tasks);
}
