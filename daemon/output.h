/* output.h - where the file of a task goes: StateDir, --out=FILE, stdout, or nowhere
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_OUTPUT_H
#define DN_OUTPUT_H

#include "host/put_file.h"
#include "task.h"

/* Replace the file 'name' of StateDir by the text, or what the options of the daemon
 * say in its place; a dry run only logs it. 1 if the file of StateDir was replaced, 0
 * if not, or -1 with 'err'.
 */
int dn_output_write (const struct dn_put_text *output,
                     const struct dn_daemon *d,
                     const char *name,
                     struct dn_err *err);

#endif
