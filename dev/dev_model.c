/* dev_model.c - compares the trees of a bundle with libxgboost
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include <stdio.h>

#include "learn/confirm.h"

static void free_bundle (struct dn_bundle **bundle)
{
    dn_bundle_free (*bundle);
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    dn_cleanup (free_bundle) struct dn_bundle *bundle = NULL;
    struct dn_options given;
    struct dn_err err = {0};
    char text[PATH_MAX];
    const char *dir;

    dn_options_begin (&given, self, argc, argv);
    if (!dn_options_all (&given, NULL, 1, 1))
        return given.exit_code;
    dir = dn_options_absolute (text, given.args[0]);
    bundle = dn_load_bundle (dir, &err);
    if (!bundle)
        return dn_fail (DN_EXIT_DATA, &err);
    if (dn_confirm_bundle (bundle, &err) < 0) {
        dn_err_wrap (&err, "%s", dir);
        return dn_fail (DN_EXIT_DATA, &err);
    }
    printf ("%s: libxgboost makes the same predictions\n", dir);
    return DN_EXIT_DONE;
}

const struct dn_command dn_cmd_model = {
    .name = "model",
    .summary = "Compare the trees of a model bundle with libxgboost",
    .arguments = "DIR",
    .run = run,
};
