/* commands.h - the commands, one per cmd_*.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_COMMANDS_H
#define DN_COMMANDS_H

#include "options.h"

/* In the order of the help; each is defined in its cmd_*.c. */
/* clang-format off */
#define DN_COMMANDS(X)                                                                 \
    X (predict)                                                                        \
    X (explain)                                                                        \
    X (advise)                                                                         \
    X (check)                                                                          \
    X (import)                                                                         \
    X (zoo)                                                                            \
    X (hardware)                                                                       \
    X (probe)                                                                          \
    X (progress)                                                                       \
    X (records)                                                                        \
    X (evaluate)                                                                       \
    X (train)                                                                          \
    X (model)                                                                          \
    X (config)                                                                         \
    X (report)                                                                         \
    X (status)                                                                         \
    X (watch)                                                                          \
    X (guard)                                                                          \
    X (collect)                                                                        \
    X (replay)                                                                         \
    X (learn)                                                                          \
    X (completion)                                                                     \
    /* End of DN_COMMANDS */
/* clang-format on */

#define DN_COMMAND_DECLARE(name) extern const struct dn_command dn_cmd_##name;
DN_COMMANDS (DN_COMMAND_DECLARE)

/* The rows of a table: a pointer to each in that order, then NULL. */
#define DN_COMMAND_ROW(name) &dn_cmd_##name,
#define DN_COMMAND_ROWS      DN_COMMANDS (DN_COMMAND_ROW) NULL

#endif
