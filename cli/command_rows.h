/* command_rows.h - how the table of a program's commands declares and lists them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_COMMAND_ROWS_H
#define DN_COMMAND_ROWS_H

#include "options.h"

#define DN_COMMAND_DECLARE(name) extern const struct dn_command dn_cmd_##name;
#define DN_COMMAND_ROW(name)     &dn_cmd_##name,

#endif
