/* known.h - what names say about what they run, private to request/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_KNOWN_H
#define DN_KNOWN_H

#include "request/shell.h"

/* Programs that may train in a piece of code. */
enum dn_runs {
    DN_RUNS_NONE,
    DN_RUNS_ONE,
    DN_RUNS_MANY
};

/* Is the command of that name known not to train? */
bool dn_known_harmless (struct dn_span name);

/* The same of a command as written: a name, or the path of a system's folder; in other
 * folders a program may have any name.
 */
bool dn_known_path (struct dn_span path);

/* Is the module of Python known not to train? */
bool dn_known_module (struct dn_span name);

/* Is the output of the command settings for the shell, or an installer? */
bool dn_known_settings (struct dn_span word);

/* Does the path of a sourced file say that it only prepares the environment? */
bool dn_known_setup (struct dn_span path);

/* Does the name of a program say that it installs or downloads? */
bool dn_known_preparing (struct dn_span path);

/* Code of Python: what it may run. */
enum dn_runs dn_known_code (struct dn_span code);

#endif
