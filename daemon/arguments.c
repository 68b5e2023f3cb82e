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

static int list_options (struct dn_argument *all,
                         const struct dn_argument *common,
                         const struct dn_argument *own)
{
    int n = 0;

    for (const struct dn_argument *argument = common; argument->name; argument++)
        all[n++] = *argument;
    for (const struct dn_argument *argument = own; argument->name; argument++)
        all[n++] = *argument;
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
    int n = list_options (all, common, own);
    int which;
    int option;

    for (int i = 0; i < n; i++)
        options[i] = (struct option){all[i].name, all[i].value != NULL, NULL, 0};
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is no other thread yet */
    while ((option = getopt_long (argc, argv, "Dv", options, &which)) != -1) {
        if (option == '?')
            return DN_DAEMON_USAGE; /* getopt_long () has said why */
        if (option == 'v')
            arguments->verbose = true;
        else if (option == 0 && all[which].flag)
            *all[which].flag = true;
        else if (option == 0)
            *all[which].value = optarg;
        if (asks_help)
            help ();
        if (asks_version)
            printf ("%s %s\n", arguments->options.name, PACKAGE_VERSION);
        arguments->done = asks_help || asks_version;
        if (arguments->done)
            break;
    }
    return DN_DAEMON_DONE;
}

void dn_arguments_log (const struct dn_arguments *arguments, bool ends)
{
    dn_log_begin (arguments->options.name,
                  ends ? DN_LOG_PLAIN : dn_log_style_of_service (),
                  arguments->verbose ? DN_LOG_DEBUG : DN_LOG_INFO);
}
