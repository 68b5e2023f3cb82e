/* cmd_model.c - shows and verifies model bundles
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output/bundle_show.h"
#include "output/json.h"

/* --- actions ------------------------------------------------------------------------
 */

static int show (const struct dn_bundle_shown *shown, bool json)
{
    dn_cleanup (dn_json_free) struct json_object *document = NULL;

    if (!json) {
        dn_bundle_show (shown);
        return DN_EXIT_DONE;
    }
    document = dn_bundle_show_json (shown);
    dn_json_print (document);
    return DN_EXIT_DONE;
}

/* The bundle was verified when it was loaded. */
static int verify (const struct dn_bundle_shown *shown, bool json)
{
    dn_cleanup (dn_json_free) struct json_object *document = NULL;

    if (!json) {
        printf ("%s: ok (%s, %d files)\n",
                shown->dir,
                shown->bundle->name,
                shown->bundle->n_files);
        return DN_EXIT_DONE;
    }
    document = json_object_new_object ();
    dn_json_add_text (document, "dir", shown->dir);
    dn_json_add_text (document, "name", shown->bundle->name);
    dn_json_add_text (document, "id", shown->id.hex);
    dn_json_print (document);
    return DN_EXIT_DONE;
}

static const struct action {
    const char *name;
    int (*run) (const struct dn_bundle_shown *shown, bool json);
} actions[] = {{"show", show}, {"verify", verify}};

static const struct action *find_action (const struct dn_command *self,
                                         struct dn_options *given)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (actions); i++)
        if (strcmp (actions[i].name, given->args[0]) == 0)
            return &actions[i];
    given->exit_code =
        dn_options_misuse (self,
                           "'%s' is unknown, expected show or verify",
                           dn_quote (given->args[0], strlen (given->args[0])).text);
    return NULL;
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    dn_cleanup (dn_bundle_shown_free) struct dn_bundle_shown shown = {.dir = NULL};
    const struct action *action;
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    struct dn_options given;
    struct dn_err err = {0};

    dn_options_begin (&given, self, argc, argv);
    if (!dn_options_all (&given, NULL, 1, 2))
        return given.exit_code;
    action = find_action (self, &given);
    if (!action)
        return given.exit_code;
    if (given.n_args > 1)
        dn_options_model (&given, given.args[1]);
    site = dn_options_site (&given, NULL);
    if (!site)
        return given.exit_code;
    if (strcmp (site->bundle_dir, DN_SITE_NONE) == 0) {
        dn_complain ("no bundle is in use: Bundle=none");
        return DN_EXIT_ABSTAINED;
    }
    if (dn_bundle_shown_load (site->bundle_dir, &shown, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    return action->run (&shown, given.json);
}

const struct dn_command dn_cmd_model = {
    .name = "model",
    .summary = "Show or verify a model bundle",
    .arguments = "show|verify [DIR]",
    .run = run,
};
