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
    X (describe)                                                                       \
    X (import)                                                                         \
    X (zoo)                                                                            \
    X (progress)                                                                       \
    X (model)                                                                          \
    X (config)                                                                         \
    X (lookback)                                                                       \
    X (report)                                                                         \
    X (pause)                                                                          \
    X (resume)                                                                         \
    X (status)                                                                         \
    X (replay)                                                                         \
    X (learn)                                                                          \
    X (completion)                                                                     \
    /* End of DN_COMMANDS */
/* clang-format on */

DN_COMMANDS (DN_COMMAND_DECLARE)

/* The rows of a table: a pointer to each in that order, then NULL. */
#define DN_COMMAND_ROWS DN_COMMANDS (DN_COMMAND_ROW) NULL

#endif
