/* cmd_learn.c - learns the history of applications from finished jobs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "jobs/history/install.h"
#include "output/json.h"

struct call {
    struct dn_learning learning;
    bool paced;
    bool rollback;
    const char *db;
    const char *out;
};

static const struct dn_option options[] = {
    DN_OPT_OLD ("once", NULL, "learn always ends after one time"),
    DN_OPT_FLAG ("dry-run",
                 "judge what would be learned, install nothing",
                 learning.dry_run),
    DN_OPT_TEXT ("db", "FILE", "the store of finished jobs, not that in StateDir", db),
    DN_OPT_TEXT ("out", "FILE", "write FILE, not the history in StateDir", out),
    /* As dnnestd does: install nothing after a rollback. */
    DN_OPT_FLAG ("paced", NULL, paced),
    DN_OPT_FLAG ("rollback", "restore the previous history", rollback),
    DN_OPT_END,
};

/* --- showing ---------------------------------------------------------------------- */

static const char *const results[] = {
    [DN_LEARNED_INSTALLED] = "installed",
    [DN_LEARNED_REFUSED] = "refused",
    [DN_LEARNED_HELD] = "held",
    [DN_LEARNED_JUDGED] = "judged",
};

static void add_judged (struct json_object *json,
                        const char *key,
                        const struct dn_judged *judged)
{
    struct json_object *to = dn_json_add_object (json, key);

    dn_json_add_count (to, "runs", judged->runs);
    dn_json_add_real (to, "error", isnan (judged->error) ? -1 : judged->error);
    dn_json_add_real (to, "coverage", isnan (judged->coverage) ? -1 : judged->coverage);
}

static void print_json (const struct dn_learned *learned)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();

    dn_json_add_text (json, "result", results[learned->result]);
    dn_json_add_count (json, "rows", learned->n_rows);
    dn_json_add_count (json, "applications", learned->n_apps);
    dn_json_add_count (json, "took_ms", learned->took_ms);
    add_judged (json, "before", &learned->gate.before);
    add_judged (json, "after", &learned->gate.after);
    add_judged (json, "alone", &learned->gate.alone);
    dn_json_add_text (json, "why", learned->gate.why);
    dn_json_print (json);
}

static void print_text (const struct dn_learned *learned)
{
    static const char *const texts[] = {
        [DN_LEARNED_INSTALLED] = "installed",
        [DN_LEARNED_REFUSED] = "not installed, it is worse than what is in force",
        [DN_LEARNED_JUDGED] = "would be installed",
    };

    if (learned->result == DN_LEARNED_HELD) {
        printf ("Nothing is learned after a rollback, until 'dnnest learn' is run by "
                "hand\n");
        return;
    }
    printf ("History of %" PRId64 " applications, %" PRId64 " rows: %s\n%s\n",
            learned->n_apps,
            learned->n_rows,
            texts[learned->result],
            learned->gate.why);
}

/* --- the command ------------------------------------------------------------------ */

static int roll_back (const struct call *call)
{
    struct dn_err err = {0};

    if (dn_history_rollback (call->learning.site, call->learning.now_s, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    printf ("The previous history is in force again; dnnestd installs none until "
            "'dnnest learn' is run by hand\n");
    return DN_EXIT_DONE;
}

static int run (struct dn_options *given)
{
    struct call call = {.rollback = false};
    struct dn_learned learned;
    struct dn_err err = {0};
    char db[PATH_MAX];
    char out[PATH_MAX];

    if (!dn_options_all (given, &call, 0, 0))
        return given->exit_code;
    if (call.rollback && (call.learning.dry_run || call.db || call.out))
        return dn_options_misuse (given,
                                  "--rollback cannot be combined with other options");
    call.learning.asked = !call.paced;
    call.learning.db = call.db ? dn_options_absolute (db, call.db) : NULL;
    call.learning.out = call.out ? dn_options_absolute (out, call.out) : NULL;
    if (!dn_options_site (given, NULL))
        return given->exit_code;
    call.learning.site = given->site;
    call.learning.now_s = (int64_t) time (NULL);
    if (call.rollback)
        return roll_back (&call);
    if (dn_history_learn (&call.learning, &learned, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (given->json)
        print_json (&learned);
    else
        print_text (&learned);
    return learned.result == DN_LEARNED_REFUSED || learned.result == DN_LEARNED_HELD
               ? DN_EXIT_ABSTAINED
               : DN_EXIT_DONE;
}

const struct dn_command dn_cmd_learn = {
    .name = "learn",
    .summary = "Learn the history of applications from finished jobs",
    .arguments = "",
    .options = options,
    .run = run,
};
