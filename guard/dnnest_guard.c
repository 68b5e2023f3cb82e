/* dnnest_guard.c - the command line of dnnest-guard
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <unistd.h>

#include "arguments.h"
#include "base/messages.h"

/* With --if-silent slurmctld that does not answer is tried again for most of the minute
 * until the timer comes again.
 */
#define TRIES 10
#define TRY_S 5

/* Seconds for giving all limits back before it ends: some 10,000 jobs. */
#define LEAVE_S 120

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
    struct dn_arguments all;
    bool restore;
    bool if_silent;
};

static enum dn_daemon_exit read_line (int argc, char **argv, struct line *line)
{
    const struct dn_argument own[] = {
        {"restore", &line->restore, NULL},
        {"if-silent", &line->if_silent, NULL},
        {0},
    };

    if (dn_arguments_read (argc, argv, own, print_help, &line->all) != DN_DAEMON_DONE)
        return DN_DAEMON_USAGE;
    if (line->all.done)
        return DN_DAEMON_DONE;
    if (optind < argc)
        return dn_loop_usage ("argument", argv[optind], dn_say_usage_options_only);
    if (line->if_silent && !line->restore)
        return dn_loop_usage ("--if-silent", "", dn_say_usage_restore);
    if (line->all.options.daemon.dry_run && !line->all.once && !line->restore)
        return dn_loop_usage ("--dry-run", "", dn_say_usage_once);
    return DN_DAEMON_DONE;
}

int main (int argc, char **argv)
{
    static const struct dn_task *const tasks[] = {&dn_task_guard, NULL};
    struct line line = {.all.options = {.name = "dnnest-guard",
                                        .goes_on = true,
                                        .leave_s = LEAVE_S,
                                        .daemon.since_s = DN_UNSET}};
    int rc = (int) read_line (argc, argv, &line);
    bool once = line.all.once || line.restore;

    if (rc != DN_DAEMON_DONE || line.all.done)
        return rc;
    dn_arguments_log (&line.all, once);
    if (!once)
        return (int) dn_loop_run (&line.all.options, tasks);
    if (!line.restore)
        return (int) dn_loop_once (&line.all.options, &dn_task_guard);
    if (!line.if_silent)
        return (int) dn_loop_once (&line.all.options, &dn_task_restore);
    for (int i = 0; i < TRIES; i++) {
        rc = (int) dn_loop_once (&line.all.options, &dn_task_restore_if_silent);
        if (rc != DN_DAEMON_UNREACHED)
            break;
        sleep (TRY_S);
    }
    return rc;
}
