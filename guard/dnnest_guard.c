/* dnnest_guard.c - the command line of dnnest-guard
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "base/messages.h"
#include "base/text.h"
#include "daemon_log.h"
#include "guard/guard.h"
#include "loop.h"

/* With --if-silent slurmctld that does not answer is tried again for most of the minute
 * until the timer comes again.
 */
#define TRIES 10
#define TRY_S 5

/* Seconds for giving all limits back before it ends: some 10,000 jobs. */
#define LEAVE_S 120

enum {
    OPTION_CONF = 256,
    OPTION_DRY_RUN,
    OPTION_HELP,
    OPTION_IF_SILENT,
    OPTION_ONCE,
    OPTION_RESTORE,
    OPTION_VERSION
};

static const struct option long_options[] = {
    {"conf", required_argument, NULL, OPTION_CONF},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"help", no_argument, NULL, OPTION_HELP},
    {"if-silent", no_argument, NULL, OPTION_IF_SILENT},
    {"once", no_argument, NULL, OPTION_ONCE},
    {"restore", no_argument, NULL, OPTION_RESTORE},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

static void print_help (void)
{
    printf (
        "usage: dnnest-guard [-D] [-v] [--once] [--dry-run] [--conf=FILE]\n"
        "       dnnest-guard --restore [--if-silent] [--dry-run] [-v] [--conf=FILE]\n"
        "\n"
        "Runs beside slurmctld, as SlurmUser, and extends time limits that dnnest\n"
        "lowered before they end a job. When it ends, all jobs get back the limits\n"
        "that their users requested.\n"
        "\n"
        "  --restore    give all limits back, pending jobs too, and exit\n"
        "  --if-silent  only where no guard is alive\n"
        "  --once       look at the jobs once and exit\n"
        "  --dry-run    change nothing, and print what would be changed\n"
        "  -D           stay in the foreground (it always does)\n"
        "  -v           also log what is not changed, and why\n"
        "  --conf=FILE  dnnest.conf (default " DNNEST_CONF ")\n"
        "  --help       this text\n"
        "  --version    the version\n"
        "\n"
        "Exit status: 0 done, 1 slurmctld does not answer, 2 usage, 3 configuration,\n"
        "4 data that cannot be read or written, 5 bug or no memory. dnnest-guard(8)\n");
}

struct line {
    struct dn_loop_options options;
    bool once;
    bool restore;
    bool if_silent;
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
    case OPTION_RESTORE:
        line->restore = true;
        break;
    case OPTION_IF_SILENT:
        line->if_silent = true;
        break;
    case OPTION_HELP:
        print_help ();
        line->done = true;
        break;
    case OPTION_VERSION:
        printf ("dnnest-guard %s\n", PACKAGE_VERSION);
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
    if (optind < argc)
        return dn_loop_usage ("argument", argv[optind], dn_say_usage_options_only);
    if (line->if_silent && !line->restore)
        return dn_loop_usage ("--if-silent", "", dn_say_usage_restore);
    if (line->options.dry_run && !line->once && !line->restore)
        return dn_loop_usage ("--dry-run", "", dn_say_usage_once);
    return DN_DAEMON_DONE;
}

int main (int argc, char **argv)
{
    static const struct dn_task *const tasks[] = {&dn_task_guard, NULL};
    struct line line = {.options = {.name = "dnnest-guard",
                                    .goes_on = true,
                                    .leave_s = LEAVE_S,
                                    .since_s = DN_UNSET}};
    int rc = read_line (argc, argv, &line);
    bool once = line.once || line.restore;

    if (rc != DN_DAEMON_DONE || line.done)
        return rc;
    dn_log_begin ("dnnest-guard",
                  once ? DN_LOG_PLAIN : dn_log_style_of_service (),
                  line.verbose ? DN_LOG_DEBUG : DN_LOG_INFO);
    if (!once)
        return (int) dn_loop_run (&line.options, tasks);
    if (!line.restore)
        return (int) dn_loop_once (&line.options, &dn_task_guard);
    if (!line.if_silent)
        return (int) dn_loop_once (&line.options, &dn_task_restore);
    for (int i = 0; i < TRIES; i++) {
        rc = (int) dn_loop_once (&line.options, &dn_task_restore_if_silent);
        if (rc != DN_DAEMON_UNREACHED)
            break;
        sleep (TRY_S);
    }
    return rc;
}
