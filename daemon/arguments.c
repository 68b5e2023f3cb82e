/* arguments.c - the command line of dnnestd and of dnnest-guard
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "arguments.h"

#include <getopt.h>
#include <stdio.h>

#include "base/base.h"
#include "daemon_log.h"

/* Options of one program and of both. */
#define OPTIONS_MAX 16

/* A list, and the same for getopt_long (), behind the first n of both. Return how many
 * there are then.
 */
static int add_options (const struct dn_argument *list,
                        struct dn_argument *all,
                        struct option *options,
                        int n)
{
    for (; list->name; list++, n++) {
        all[n] = *list;
        options[n] = (struct option){list->name, list->value != NULL, NULL, 0};
    }
    return n;
}

enum dn_daemon_exit dn_arguments_read (int argc,
                                       char **argv,
                                       const struct dn_argument *own,
                                       void (*help) (void),
                                       struct dn_arguments *arguments)
{
    bool asks_help = false;
    bool asks_version = false;
    const struct dn_argument common[] = {
        {"conf", NULL, &arguments->options.conf},
        {"dry-run", &arguments->options.dry_run, NULL},
        {"once", &arguments->once, NULL},
        {"help", &asks_help, NULL},
        {"version", &asks_version, NULL},
        {0},
    };
    struct dn_argument all[OPTIONS_MAX];
    struct option options[OPTIONS_MAX + 1] = {{0}};
    int which;
    int option;

    add_options (own, all, options, add_options (common, all, options, 0));
    while (!asks_help && !asks_version) {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is no other thread yet */
        option = getopt_long (argc, argv, "Dv", options, &which);
        if (option == -1)
            break;
        if (option == '?')
            return DN_DAEMON_USAGE; /* getopt_long () has said why */
        if (option == 'v')
            arguments->verbose = true;
        else if (option == 0 && all[which].flag)
            *all[which].flag = true;
        else if (option == 0)
            *all[which].value = optarg;
    }
    if (asks_help)
        help ();
    if (asks_version)
        printf ("%s %s\n", arguments->options.name, PACKAGE_VERSION);
    arguments->done = asks_help || asks_version;
    return DN_DAEMON_DONE;
}

void dn_arguments_log (const struct dn_arguments *arguments, bool ends)
{
    dn_log_begin (arguments->options.name,
                  ends ? DN_LOG_PLAIN : dn_log_style_of_service (),
                  arguments->verbose ? DN_LOG_DEBUG : DN_LOG_INFO);
}
