/* dev_main.c - the command dnnest-dev
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"
#include "dispatch.h"

int main (int argc, char **argv)
{
    static const struct dn_command *const commands[] = {DN_DEV_COMMANDS (DN_COMMAND_ROW)
                                                            NULL};
    static const struct dn_program program = {
        .name = "dnnest-dev",
        .summary =
            "Train and evaluate the predictor of dnnest, measure, import networks",
        .manual = "dnnest-dev(1)",
        .commands = commands,
    };

    return dn_dispatch (&program, argc, argv);
}
