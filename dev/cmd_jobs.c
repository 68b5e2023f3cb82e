/* cmd_jobs.c - past jobs of a table into a store of finished jobs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include <stdio.h>

#include "import_jobs.h"
#include "jobs/store.h"
#include "output/json.h"

struct call {
    const char *db;
};

static const struct dn_option options[] = {
    DN_OPT_TEXT ("db", 0, "FILE", "use this store, not the one in StateDir", db),
    DN_OPT_END,
};

static int print_imported (const struct dn_options *given,
                           const char *store,
                           const struct dn_imported *imported)
{
    dn_cleanup (dn_json_free) struct json_object *json = NULL;

    if (!given->json) {
        printf ("%lld jobs imported\n", (long long) imported->n_jobs);
    } else {
        json = json_object_new_object ();
        dn_json_add_text (json, "store", store);
        dn_json_add_count (json, "imported", imported->n_jobs);
        dn_json_add_count (json, "refused", imported->n_refused);
        dn_json_print (json);
    }
    return imported->n_refused > 0 ? DN_EXIT_DATA : DN_EXIT_DONE;
}

/* The store that is named, or that of the site. Return an enum dn_exit. */
static int find_store (struct dn_options *given, const char *db, char path[PATH_MAX])
{
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    struct dn_buf buf = dn_buf_on (path, PATH_MAX);

    if (db) {
        dn_buf_add (&buf, "%s", db);
    } else {
        site = dn_options_site (given, NULL);
        if (!site)
            return given->exit_code;
        dn_buf_add (&buf, "%s/%s", site->state_dir, DN_STORE_FILE);
    }
    return buf.cut ? dn_options_misuse (given->command, "--db: the path is too long")
                   : DN_EXIT_DONE;
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct dn_imported imported;
    struct dn_options given;
    struct dn_err err = {0};
    char path[PATH_MAX];
    struct call call = {.db = NULL};
    int code;

    dn_options_begin (&given, self, argc, argv);
    if (!dn_options_all (&given, &call, 1, 1))
        return given.exit_code;
    code = find_store (&given, call.db, path);
    if (code != DN_EXIT_DONE)
        return code;
    if (dn_import_jobs (given.args[0], path, &imported, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    return print_imported (&given, path, &imported);
}

const struct dn_command dn_cmd_jobs = {
    .name = "jobs",
    .summary = "Import past jobs of a table into the store of finished jobs",
    .arguments = "FILE.csv",
    .options = options,
    .run = run,
};
