/* dnnestd.c - the command line of dnnestd
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "daemon_log.h"
#include "loop.h"
#include "tasks.h"

enum {
    OPTION_CONF = 256,
    OPTION_DRY_RUN,
    OPTION_HELP,
    OPTION_ONCE,
    OPTION_OUT,
    OPTION_VERSION
};

static const struct option long_options[] = {
    {"conf", required_argument, NULL, OPTION_CONF},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"help", no_argument, NULL, OPTION_HELP},
    {"once", no_argument, NULL, OPTION_ONCE},
    {"out", required_argument, NULL, OPTION_OUT},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

static void print_help (void)
{
    printf (
        "usage: dnnestd [-D] [-v] [--conf=FILE]\n"
        "       dnnestd TASK [--once] [--dry-run] [--out=FILE] [-v] [--conf=FILE]\n"
        "\n"
        "Runs beside slurmctld, as SlurmUser, and does all tasks again and again, or\n"
        "one of them.\n"
        "\n");
    for (int i = 0; dn_tasks[i]; i++)
        printf ("  %-11s %s\n", dn_tasks[i]->name, dn_tasks[i]->help);
    printf (
        "\n"
        "  -D          stay in the foreground (it always does)\n"
        "  -v          also log what is not changed, and why\n"
        "  --once      run the task once and end\n"
        "  --dry-run   change nothing, and say what would be changed\n"
        "  --out=FILE  write this file in place of that in StateDir; - for stdout\n"
        "  --conf=FILE dnnest.conf (default " DNNEST_CONF ")\n"
        "  --help      this text\n"
        "  --version   the version\n"
        "\n"
        "Exit status: 0 done, 1 slurmctld does not answer, 2 usage, 3 configuration,\n"
        "4 data that cannot be read or written, 5 bug or no memory. dnnestd(8)\n");
}

static int fail_usage (const char *what, const char *value, const char *expected)
{
    fprintf (
        stderr, "dnnestd: %s '%s': expected %s (try --help)\n", what, value, expected);
    return DN_DAEMON_USAGE;
}

/* The command line. */
struct line {
    struct dn_loop_options options;
    const struct dn_task *task; /* NULL: all */
    bool once;
    bool verbose;
    bool done; /* the line asked for a text only */
};

static int read_option (int option, struct line *line)
{
    switch (option) {
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
        line->task = dn_task_find (argv[optind]);
        if (!line->task)
            return fail_usage ("task", argv[optind], "one of those in --help");
        optind++;
    }
    if (optind < argc)
        return fail_usage ("argument", argv[optind], "one task at most");
    if (!line->task && (line->once || line->options.dry_run || line->options.out))
        return fail_usage ("task", "", "one for --once, --dry-run and --out");
    return DN_DAEMON_DONE;
}

int main (int argc, char **argv)
{
    struct line line = {.task = NULL};
    int rc = read_line (argc, argv, &line);

    if (rc != DN_DAEMON_DONE || line.done)
        return rc;
    dn_log_begin (line.once ? DN_LOG_PLAIN : dn_log_style_of_service (),
                  line.verbose ? DN_LOG_DEBUG : DN_LOG_INFO);
    return (int) (line.once ? dn_loop_once (&line.options, line.task)
                            : dn_loop_run (&line.options, line.task));
}
