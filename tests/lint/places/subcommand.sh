# shellcheck shell=bash
# subcommand.sh - a change that places.t applies
#
# SPDX-License-Identifier: GPL-2.0-or-later

cat > cli/cmd_zenith.c <<'C'
/* cmd_zenith.c - dnnest zenith: count the devices of the catalogue */
#include <stdio.h>

#include "commands.h"
#include "common.h"
#include "site.h"

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct dn_options given;
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;

    dn_options_begin (&given, self, argc, argv);
    if (!dn_options_all (&given, NULL, 0, 0))
        return given.exit_code;
    site = dn_options_site (&given, NULL);
    if (!site)
        return given.exit_code;
    printf ("%d devices\n", site->catalogue.n_devices);
    return DN_EXIT_DONE;
}

const struct dn_command dn_cmd_zenith = {.name = "zenith",
                                         .summary = "Count the devices",
                                         .arguments = "",
                                         .run = run};
C
sed -i 's|^    X (zoo) .*|&\n    X (zenith) \\|' cli/commands.h
sed -i 's|^    cli/cmd_zoo.c .*|&\n    cli/cmd_zenith.c \\|' cli/cli.am
sed -i 's|^## zoo$|## zenith\n\nCount the devices.\n\n*dnnest zenith* [_OPTION_]...\n\n&|' \
    cli/pages/dnnest.1.scd
