/* cmd_train.c - learn from measured runs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"
#include "site_train.h"

enum {
    OPTION_SITE,
    OPTION_OUT,
    OPTION_BASE
};

static const struct dn_option options[] = {
    [OPTION_SITE] = {"site",
                     0,
                     "RECORDS.csv",
                     "fit the constants of the white box to a site's own runs"},
    [OPTION_OUT] = {"out", 0, "BUNDLE", "the folder to be made"},
    [OPTION_BASE] = {"base", 0, "BUNDLE", "a bundle to be taken over, its site apart"},
    {NULL, 0, NULL, NULL},
};

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct dn_options given;
    struct dn_site_train train = {.records = NULL};
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    int option;

    dn_options_begin (&given, self, argc, argv);
    while ((option = dn_options_next (&given)) >= 0) {
        if (option == OPTION_SITE)
            train.records = given.argument;
        else if (option == OPTION_OUT)
            train.out = given.argument;
        else
            train.base = given.argument;
    }
    if (option != DN_OPTION_END || !dn_options_count (&given, 0, 0))
        return given.exit_code;
    if (!train.records || !train.out)
        return dn_options_misuse (self, "expected --site and --out");
    train.json = given.json;
    site = dn_options_site (&given, NULL);
    return site ? dn_site_train (site, &train) : given.exit_code;
}

const struct dn_command dn_cmd_train = {
    .name = "train",
    .summary = "Learn from measured runs",
    .arguments = "",
    .options = options,
    .run = run,
};
