/* arguments.h - the command line of dnnestd and of dnnest-guard, and their log
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ARGUMENTS_H
#define DN_ARGUMENTS_H

#include "loop.h"

/* An option of one of the programs: what it sets, of which one is not NULL. */
struct dn_argument {
    const char *name; /* without "--"; NULL ends a list */
    bool *flag;
    const char **value; /* of its argument; it stays that of main () */
};

struct dn_arguments {
    struct dn_loop_options options;
    bool once;
    bool verbose;
    bool done; /* the line asked for a text only, which was printed */
};

/* Read the options 'own' of a program, and those of both: -D (which does nothing), -v,
 * --conf, --dry-run, --once, --help, which calls 'help', and --version, with
 * options.name. 'optind' (getopt_long(3)) is the first argument after them. Return
 * DN_DAEMON_USAGE if one is wrong, after saying so.
 */
enum dn_daemon_exit dn_arguments_read (int argc,
                                       char **argv,
                                       const struct dn_argument *own,
                                       void (*help) (void),
                                       struct dn_arguments *arguments);

/* Begin the log of the program: in plain lines if it is to end by itself. */
void dn_arguments_log (const struct dn_arguments *arguments, bool ends);

#endif
