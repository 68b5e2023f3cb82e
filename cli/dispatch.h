/* dispatch.h - a program with commands: dnnest, dnnest-dev
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_DISPATCH_H
#define DN_DISPATCH_H

#include "options.h"

struct dn_program {
    const char *name;
    const char *summary;                      /* one sentence without its full stop */
    const char *manual;                       /* its pages */
    const struct dn_command *const *commands; /* ends with NULL */
};

/* Run the command that the arguments name. Return the exit code of the process. */
int dn_dispatch (const struct dn_program *of, int argc, char **argv);

#endif
