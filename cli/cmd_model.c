/* cmd_model.c - shows and verifies model bundles
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/load.h"
#include "output/json.h"

/* A bundle that was loaded, and its parts as they were read: the manifest has the
 * digest of each file.
 */
struct shown {
    const char *dir;
    struct dn_bundle *bundle;
    struct dn_digest id;
    struct json_object *manifest;
    struct json_object *site; /* NULL: none */
};

static void free_shown (struct shown *shown)
{
    dn_bundle_free (shown->bundle);
    json_object_put (shown->manifest);
    json_object_put (shown->site);
}

static int read_member (const char *dir,
                        const char *name,
                        struct json_object **json,
                        struct dn_digest *digest,
                        struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    size_t len;

    if (dn_load_member (dir, name, &text, &len, err) < 0)
        return -1;
    *digest = dn_digest_of ((struct dn_span){text, len});
    *json = dn_json_read_by ((struct dn_span){text, len},
                             DN_BUNDLE_DEPTH_MAX,
                             DN_MANIFEST_VALUES_MAX,
                             NULL,
                             err);
    return *json ? 0 : -1;
}

/* Load it as slurmctld does, which verifies it. */
static int load (struct shown *shown, struct dn_err *err)
{
    struct dn_digest digest;

    shown->bundle = dn_load_bundle (shown->dir, err);
    if (!shown->bundle
        || read_member (
               shown->dir, DN_BUNDLE_MANIFEST, &shown->manifest, &shown->id, err)
               < 0)
        return -1;
    return shown->bundle->tuning
               ? read_member (shown->dir, "site.json", &shown->site, &digest, err)
               : 0;
}

static void print_text (const struct shown *shown, bool all)
{
    int64_t runs = 0;

    if (!all) {
        printf ("%s: ok (%s, %d files)\n",
                shown->dir,
                shown->bundle->name,
                shown->bundle->n_files);
        return;
    }
    (void) dn_json_read_int (shown->site, "runs", 0, INT64_MAX, &runs, NULL);
    printf ("bundle     %s\nname       %s\n", shown->dir, shown->bundle->name);
    printf ("id         %s\nfiles      %d\n", shown->id.hex, shown->bundle->n_files);
    printf (shown->site ? "site       %" PRId64 " runs\n"
                        : "site       not tuned to a site\n",
            runs);
}

static void print_json (const struct shown *shown, bool all)
{
    dn_cleanup (dn_json_free) struct json_object *document = json_object_new_object ();

    dn_json_add_text (document, "dir", shown->dir);
    dn_json_add_text (document, "name", shown->bundle->name);
    dn_json_add_text (document, "id", shown->id.hex);
    if (all) {
        json_object_object_add (
            document, "manifest", json_object_get (shown->manifest));
        json_object_object_add (document, "site", json_object_get (shown->site));
    }
    dn_json_print (document);
}

static int run (struct dn_options *given)
{
    dn_cleanup (free_shown) struct shown shown = {.dir = NULL};
    struct dn_err err = {0};
    bool shows;

    if (!dn_options_all (given, NULL, 1, 2))
        return given->exit_code;
    shows = strcmp (given->args[0], "show") == 0;
    if (!shows && strcmp (given->args[0], "verify") != 0)
        return dn_options_misuse (
            given,
            "'%s' is unknown, expected show or verify",
            dn_quote (given->args[0], strlen (given->args[0])).text);
    if (given->n_args > 1)
        dn_options_model (given, given->args[1]);
    if (!dn_options_site (given, NULL))
        return given->exit_code;
    if (strcmp (given->site->bundle_dir, DN_SITE_NONE) == 0) {
        dn_complain ("no bundle is in use: Bundle=none");
        return DN_EXIT_ABSTAINED;
    }
    shown.dir = given->site->bundle_dir;
    if (load (&shown, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (given->json)
        print_json (&shown, shows);
    else
        print_text (&shown, shows);
    return DN_EXIT_DONE;
}

const struct dn_command dn_cmd_model = {
    .name = "model",
    .summary = "Show or verify a model bundle",
    .arguments = "show|verify [DIR]",
    .run = run,
};
