/* main.c - the command dnnest
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"
#include "dispatch.h"

int main (int argc, char **argv)
{
    static const struct dn_command *const commands[] = {DN_COMMAND_ROWS};
    static const struct dn_program program = {
        .name = "dnnest",
        .summary = "Right-size deep-learning jobs",
        .manual = "dnnest(7), dnnest(1), dnnest-predict(1)",
        .commands = commands,
    };

    return dn_dispatch (&program, argc, argv);
}
