/* dev_commands.h - the commands of dnnest-dev, one per cmd_*.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_DEV_COMMANDS_H
#define DN_DEV_COMMANDS_H

#include "options.h"

/* In the order of the help. */
/* clang-format off */
#define DN_DEV_COMMANDS(X)                                                             \
    X (evaluate)                                                                       \
    X (train)                                                                          \
    X (jobs)                                                                           \
    X (hardware)                                                                       \
    X (import)                                                                         \
    X (bench)                                                                          \
    /* End of DN_DEV_COMMANDS */
/* clang-format on */

DN_DEV_COMMANDS (DN_COMMAND_DECLARE)

#endif
