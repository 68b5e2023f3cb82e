/* cmd_advise.c - the dry run of the plugin on a batch submission
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "advise.h"
#include "base/messages.h"
#include "host/stopwatch.h"
#include "jobs/history/install.h"
#include "process/sacct.h"
#include "process/sbatch.h"
#include "request/script.h"
#include "seen.h"
#include "what_if.h"
#include "site_gpus.h"
#include "output/grid.h"
#include "output/rows.h"

#define ATTEMPTS 3

/* Seconds to wait for accounting. */
#define PATIENCE_S 10

/* The options and arguments of a call, and the submission. */
struct call {
    struct dn_options *given;
    struct dn_sbatch sbatch;
    struct dn_settings settings;
    const char *snapshot; /* NULL: that of the site */
    int64_t user;         /* DN_UNSET: the caller */
};

static const struct dn_option options[] = {
    DN_OPT_TEXT ("def-mem-per-cpu",
                 "SIZE",
                 "DefMemPerCPU of slurm.conf",
                 sbatch.default_memory),
    DN_OPT_RULE ("set", "KEY=VALUE", "override a rule; may be repeated", settings),
    DN_OPT_SLURM,
    DN_OPT_TEXT ("snapshot", "FILE", "the cluster as in this snapshot, now", snapshot),
    DN_OPT_USER ("user", "NAME", "as if this user submitted it (the caller)", user),
    DN_OPT_END,
};

#define N_OPTIONS ((int) DN_N_ELEMENTS (options) - 1)

static int take_options (struct call *call)
{
    struct dn_options *given = call->given;
    int option;

    while ((option = dn_options_take (given, call)) >= 0)
        dn_sbatch_set (&call->sbatch, option - N_OPTIONS, given->argument);
    if (option == DN_OPTION_END && given->n_args > 0
        && call->sbatch.value[DN_SBATCH_WRAP])
        option = dn_options_misuse (given, "--wrap and a script cannot be combined");
    return option == DN_OPTION_END ? 0 : -1;
}

/* Build the submission from the options and the script. Return an enum dn_exit. */
static int read_submission (struct call *call)
{
    struct dn_err err = {0};
    char *script = NULL;
    int rc;

    if (call->given->n_args > 0) {
        if (dn_read_input (call->given->args[0], &script, &err) < 0)
            return dn_fail (DN_EXIT_DATA, &err);
        rc = dn_sbatch_read_script (&call->sbatch, script);
        if (rc != DN_EXIT_DONE)
            return rc;
    }
    if (dn_sbatch_fill (&call->sbatch, call->given->slurm_version, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    call->sbatch.job.args = (const char *const *) call->given->args;
    call->sbatch.job.n_args = call->given->n_args;
    if (call->user != DN_UNSET)
        call->sbatch.job.user_id = call->user;
    return DN_EXIT_DONE;
}

/* What was decided about a job, and where. */
struct answer {
    const struct dn_site *site;
    const struct dn_cluster *cluster; /* NULL: no snapshot */
    const struct dn_job *job;
    const struct dn_advice *advice;
    const struct dn_advice *enforced; /* with Mode=enforce; NULL: that is its mode */
};

/* The decision record: the admin comment, which was empty before. */
static const char *record_of (const struct dn_advice *advice)
{
    for (int i = 0; i < advice->patch.n_edits; i++)
        if (advice->patch.edits[i].field == DN_FIELD_ADMIN_COMMENT)
            return advice->patch.edits[i].new_text;
    return NULL;
}

static struct json_object *number_json (int64_t number)
{
    return number < 0 ? NULL : json_object_new_int64 (number);
}

static void add_reason (struct json_object *row,
                        const char *key,
                        const struct dn_reason *reason)
{
    dn_json_add_text (
        row, key, reason->code != DN_REASON_NONE ? dn_reason_text (reason).text : NULL);
}

/* Of a table without the record in the admin comment. */
static struct json_object *edits_of (const struct dn_patch *patch, bool as_text)
{
    struct json_object *edits = json_object_new_array ();

    for (int i = 0; i < patch->n_edits; i++) {
        const struct dn_edit *edit = &patch->edits[i];
        bool number = dn_field_is_number (edit->field);
        struct json_object *row;

        if (as_text && edit->field == DN_FIELD_ADMIN_COMMENT)
            continue;
        row = dn_json_append_object (edits);
        dn_json_add_text (
            row, "field", dn_names_get (&dn_field_names, (int) edit->field));
        json_object_object_add (row,
                                "old",
                                number ? number_json (edit->old_number)
                                       : dn_json_text (edit->old_text));
        json_object_object_add (row,
                                "new",
                                number ? number_json (edit->new_number)
                                       : dn_json_text (edit->new_text));
    }
    return edits;
}

/* Is there a decision about the job, also of one without metadata (OptIn=history)? */
static bool is_decided (const struct dn_advice *advice)
{
    return advice->metadata == DN_METADATA_GIVEN
           || (advice->metadata == DN_METADATA_NONE && advice->by_history
               && advice->decision.verdict != DN_VERDICT_NONE);
}

static void add_decision (struct json_object *json,
                          const char *key,
                          const struct dn_advice *advice)
{
    const struct dn_decision *decision = &advice->decision;
    struct json_object *row = dn_json_add_object (json, key);
    struct json_object *types = NULL;
    bool given = is_decided (advice);
    const char *chosen = NULL;

    if (given && decision->chosen >= 0)
        chosen = advice->candidates.list[decision->chosen].gpu->type;
    dn_json_add_text (
        row, "verdict", dn_names_get (&dn_verdict_names, (int) decision->verdict));
    dn_json_add_text (
        row, "mode", dn_names_get (&dn_mode_names, (int) advice->rules.mode));
    dn_json_add_count (row, "time_limit_s", given ? decision->time_limit_s : DN_UNSET);
    dn_json_add_count (row, "time_min_s", given ? decision->time_min_s : DN_UNSET);
    dn_json_add_real (row,
                      "time_quantile",
                      decision->time_quantile > 0 ? decision->time_quantile : -1);
    dn_json_add_bool (row, "time_extended", decision->extended);
    dn_json_add_text (row, "gpu", decision->gpu ? decision->gpu->type : NULL);
    if (decision->n_open > 0) {
        types = json_object_new_array ();
        for (int i = 0; i < decision->n_open; i++)
            json_object_array_add (
                types, json_object_new_string (decision->open[i].gpu->type));
    }
    json_object_object_add (row, "open", types);
    dn_json_add_name (row, "partition", advice->patch.partition);
    dn_json_add_name (row, "features", advice->patch.features);
    dn_json_add_count (
        row, "cpus_per_task", given ? decision->cpus_per_task : DN_UNSET);
    dn_json_add_count (
        row, "cpus_each_gpu", given ? decision->cpus_each_gpu : DN_UNSET);
    dn_json_add_count (row, "gpus", given ? decision->gpus : DN_UNSET);
    dn_json_add_count (row, "mem_mb", given ? decision->mem_mb : DN_UNSET);
    add_reason (row, "note", &decision->note);
    dn_json_add_text (row, "chosen", chosen);
}

/* Build the network of a submission on which dn_advise () has decided. */
static int build_again (const struct dn_job *job, struct dn_subject *subject)
{
    const struct dn_site *site = subject->site;
    struct dn_reading reading;
    struct dn_carriers carriers;
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    enum dn_metadata state;
    struct dn_err err = {0};

    dn_reading_begin (&reading, &site->words);
    carriers = dn_carriers_of (job, &reading.marks);
    if (dn_reading_of (&site->words, job, false, NULL, NULL, &reading, &err) == 0
        && dn_describe (&carriers, &sidecar, &state, &err) == 0) {
        subject->layers = sidecar.layers;
        if (dn_sidecar_graph (&site->networks,
                              &subject->layers,
                              &subject->spec,
                              &subject->graph,
                              &err)
            == 0)
            return 0;
    }
    dn_complain ("%s", err.text);
    return -1;
}

/* Fill 'runs' with the candidates and return their number. The advice does not keep the
 * network, so it is built again, in 'subject', which must be freed; this fails only if
 * out of memory.
 */
static int find_runs (const struct answer *answer,
                      struct dn_subject *subject,
                      struct dn_forecast runs[DN_CANDIDATES_MAX])
{
    const struct dn_advice *advice = answer->advice;

    *subject = (struct dn_subject){
        .site = answer->site, .spec = advice->spec, .user = answer->job->user_id};
    if (advice->candidates.n_candidates == 0 || advice->by_history || advice->by_run)
        return 0;
    if (build_again (answer->job, subject) < 0)
        return 0;
    for (int i = 0; i < advice->candidates.n_candidates; i++) {
        const struct dn_candidate *candidate = &advice->candidates.list[i];

        runs[i] = dn_subject_run (
            subject, candidate->gpu->type, candidate->cost, &advice->estimates[i]);
        runs[i].type = candidate->gpu->type;
        runs[i].now = dn_site_gpus_now (answer->cluster, candidate->gpu);
    }
    return advice->candidates.n_candidates;
}

static void add_candidates (struct json_object *json, const struct answer *answer)
{
    const struct dn_advice *advice = answer->advice;
    struct json_object *array = dn_json_add_array (json, "candidates");
    dn_cleanup (dn_subject_free) struct dn_subject subject;
    struct dn_forecast runs[DN_CANDIDATES_MAX];
    int n_runs = find_runs (answer, &subject, runs);
    const struct dn_forecast *best = dn_best_run (runs, n_runs);

    for (int i = 0; i < n_runs; i++) {
        const struct dn_candidate *candidate = &advice->candidates.list[i];
        struct json_object *row = dn_show_run_json (&runs[i], &advice->spec);

        dn_remedies_add_json (row, &subject, best, &runs[i]);
        dn_json_add_bool (row, "requested", candidate->requested);
        add_reason (row, "blocked", &candidate->blocked);
        json_object_array_add (array, row);
    }
    json_object_object_add (
        json,
        "assumed",
        n_runs > 0 ? dn_effects_json (&subject, best->estimate->device) : NULL);
}

/* The application, and what its runs say of this one on each type that they were on. */
static void add_history (struct json_object *json, const struct dn_advice *advice)
{
    const char *app = advice->decision.app;
    struct json_object *array;

    dn_json_add_name (json, "app", app);
    array = dn_json_add_array (json, "history");
    for (int i = 0; i < advice->candidates.n_candidates; i++) {
        const struct dn_estimate *estimate = &advice->estimates[i];
        struct json_object *row;

        if (estimate->history_runs == 0)
            continue;
        row = dn_json_append_object (array);
        dn_json_add_text (row, "type", advice->candidates.list[i].gpu->type);
        dn_json_add_count (row, "runs", estimate->history_runs);
        dn_json_add_bool (row, "shared", estimate->history_shared);
        dn_json_add_real (row, "likely_s", estimate->train_s.p50);
        dn_json_add_real (row, "p95_s", dn_range_at (estimate->train_s, 0.95));
        dn_json_add_real (row, "base_s", estimate->base_s > 0 ? estimate->base_s : -1);
    }
}

static void add_warnings (struct json_object *json, const struct dn_decision *decision)
{
    struct json_object *warnings = dn_json_add_array (json, "warnings");

    for (int i = 0; i < decision->n_warnings; i++) {
        const struct dn_warning *warning = &decision->warnings[i];
        struct json_object *row = dn_json_append_object (warnings);

        dn_json_add_text (
            row, "kind", dn_names_get (&dn_warning_names, (int) warning->kind));
        dn_json_add_text (row, "text", dn_warning_text (warning).text);
    }
}

static void print_json (const struct answer *answer)
{
    const struct dn_advice *advice = answer->advice;
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    const char *record = record_of (advice);
    const char *message = advice->patch.user_text;
    struct json_object *reasons;

    dn_json_add_text (json,
                      "metadata",
                      advice->metadata == DN_METADATA_GIVEN ? "given"
                      : advice->metadata == DN_METADATA_OFF ? "off"
                                                            : "none");
    json_object_object_add (json,
                            "spec",
                            advice->metadata == DN_METADATA_GIVEN
                                ? dn_show_spec_json (&advice->spec)
                                : NULL);
    add_decision (json, "decision", advice);
    dn_json_add_name (json, "message", message);
    add_warnings (json, &advice->decision);
    json_object_object_add (json, "edits", edits_of (&advice->patch, false));
    reasons = dn_json_add_array (json, "reasons");
    for (int i = 0; i < advice->decision.n_reasons; i++)
        json_object_array_add (
            reasons, dn_json_text (dn_reason_text (&advice->decision.reasons[i]).text));
    json_object_object_add (
        json, "record", record ? json_tokener_parse (record) : NULL);
    add_candidates (json, answer);
    add_history (json, advice);
    if (answer->enforced)
        add_decision (json, "enforced", answer->enforced);
    else
        json_object_object_add (json, "enforced", NULL);
    dn_json_add_real (json, "control_group", advice->rules.control_group);
    dn_json_print (json);
}

static void add_proposal (struct dn_grid *grid,
                          const char *what,
                          const char *old_text,
                          const char *new_text)
{
    dn_grid_add (grid, "%s", what);
    dn_grid_add (grid, "%s", old_text);
    dn_grid_add (grid, "%s", new_text);
}

static void add_count (struct dn_grid *grid, const char *name, int64_t old, int64_t new)
{
    if (new == DN_UNSET)
        return;
    dn_grid_add (grid, "%s", name);
    dn_grid_add (grid, "%" PRId64, old);
    dn_grid_add (grid, "%" PRId64, new);
}

/* The requests of the decision, by the names of sbatch's options. */
static void add_proposals (struct dn_grid *grid, const struct dn_advice *advice)
{
    const struct dn_decision *decision = &advice->decision;
    const struct dn_request *request = &advice->request;

    if (decision->time_limit_s != DN_UNSET)
        add_proposal (grid,
                      "time",
                      dn_time_write (request->time_limit_s).text,
                      dn_time_write (decision->time_limit_s).text);
    if (decision->time_min_s != DN_UNSET)
        add_proposal (grid,
                      "least time",
                      dn_time_write (DN_UNSET).text,
                      dn_time_write (decision->time_min_s).text);
    if (decision->gpu)
        add_proposal (grid, "gpu", decision->from->type, decision->gpu->type);
    for (int i = 1; i < decision->n_open; i++)
        add_proposal (grid, "gpu, or", "-", decision->open[i].gpu->type);
    if (advice->patch.partition[0] != '\0')
        add_proposal (
            grid, "partition", request->job->partition, advice->patch.partition);
    if (advice->patch.features[0] != '\0')
        add_proposal (grid,
                      "constraint",
                      request->job->features ? request->job->features : "-",
                      advice->patch.features);
    add_count (grid, "gpus", request->asked_gpus, decision->gpus);
    add_count (grid, "cpus per task", request->cpus_per_task, decision->cpus_per_task);
    add_count (grid, "cpus per gpu", request->cpus_each_gpu, decision->cpus_each_gpu);
    add_count (grid, "memory [MB]", request->mem_per_node_mb, decision->mem_mb);
}

static int print_changes (const struct dn_advice *advice)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of ("REQUEST|OLD|NEW");

    add_proposals (&grid, advice);
    if (dn_grid_is_empty (&grid))
        return DN_EXIT_DONE;
    printf ("\n");
    return dn_grid_print (&grid);
}

/* The changed fields of the submission. */
static int print_edits (const struct dn_patch *patch)
{
    return dn_rows_print_any (edits_of (patch, true), "FIELD=field|OLD=old|NEW=new");
}

static int print_candidates (const struct answer *answer)
{
    dn_cleanup (dn_subject_free) struct dn_subject subject;
    struct dn_forecast runs[DN_CANDIDATES_MAX];
    int n_runs = find_runs (answer, &subject, runs);
    int rc;

    if (n_runs == 0)
        return DN_EXIT_DONE;
    printf ("\n");
    rc = dn_show_runs (runs, n_runs, &answer->advice->spec);
    dn_remedies_print (&subject, runs, n_runs);
    if (rc == DN_EXIT_DONE)
        rc = dn_effects_print (&subject, runs[0].name, runs[0].estimate->device);
    return rc;
}

/* The lines that the user of the job gets. */
static void print_lines (const struct dn_patch *patch)
{
    if (patch->user_text[0] != '\0')
        printf ("%s\n", patch->user_text);
    for (int i = 0; i < patch->n_warnings; i++)
        printf ("%s\n", patch->warnings[i]);
}

/* What Mode=enforce, and the draw of the control group, would do. */
static int print_enforced (const struct answer *answer)
{
    const struct dn_rules *rules = &answer->advice->rules;
    const struct dn_advice *enforced = answer->enforced;
    int rc = DN_EXIT_DONE;

    if (enforced) {
        printf ("\nwith Mode=enforce: %s\n",
                dn_names_get (&dn_verdict_names, (int) enforced->decision.verdict));
        print_lines (&enforced->patch);
        rc = print_edits (&enforced->patch);
    }
    if (rules->mode != DN_MODE_OBSERVE && rules->control_by == DN_DRAW_JOB
        && rules->control_group > 0 && rules->control_group < 100)
        printf ("\nof such jobs %g %% are left as they are (ControlGroup)\n",
                rules->control_group);
    return rc;
}

static int print_text (const struct answer *answer)
{
    const struct dn_advice *advice = answer->advice;
    int rc;

    print_lines (&advice->patch);
    if (!is_decided (advice)) {
        printf (
            "job unchanged: %s\n",
            advice->metadata == DN_METADATA_OFF
                ? "it opts out (dnnest:off)"
                : "it has no metadata (--dnnest=..., --comment=dnnest:... or #DNNEST "
                  "lines)");
        return DN_EXIT_DONE;
    }
    printf ("verdict: %s (mode %s)\n",
            dn_names_get (&dn_verdict_names, (int) advice->decision.verdict),
            dn_names_get (&dn_mode_names, (int) advice->rules.mode));
    rc = print_changes (advice);
    if (rc == DN_EXIT_DONE)
        rc = print_edits (&advice->patch);
    if (rc == DN_EXIT_DONE)
        rc = print_enforced (answer);
    if (advice->decision.n_reasons > 0)
        printf ("\nReasons:\n");
    for (int i = 0; i < advice->decision.n_reasons; i++)
        printf ("  %s\n", dn_reason_text (&advice->decision.reasons[i]).text);
    return rc == DN_EXIT_DONE ? print_candidates (answer) : rc;
}

/* dn_advice_free () for dn_cleanup. */
static void free_advice (struct dn_advice **advice)
{
    dn_advice_free (*advice);
}

/* Decide without a limit of time, and print a message if slurmctld would exceed
 * it. The fastest of several attempts is compared, because a new process is slow at
 * first.
 */
static int advise_and_time (const struct dn_site *site,
                            const struct dn_view *view,
                            const struct dn_job *job,
                            struct dn_advice *advice,
                            struct dn_err *err)
{
    const double limit_ms = site->decision_ms;
    double least_ms = INFINITY;

    for (int i = 0; i < ATTEMPTS && least_ms > limit_ms; i++) {
        struct dn_stopwatch watch;

        dn_stopwatch_start (&watch, limit_ms);
        if (dn_advise (site, view, job, NULL, NULL, advice, err) < 0)
            return -1;
        least_ms = fmin (least_ms, dn_stopwatch_ms (&watch));
        if (limit_ms <= 0)
            return 0;
    }
    if (least_ms > limit_ms)
        dn_complain (
            "the decision takes %.2g ms here; slurmctld would give it up after "
            "%g ms and leave the job unchanged",
            least_ms,
            limit_ms);
    return 0;
}

/* On a login node, where StateDir cannot be read: the history of the caller's own jobs,
 * from accounting. Without it the decision is that of a first run.
 */
static bool find_history (const struct call *call,
                          const struct dn_site *site,
                          struct dn_seen *seen)
{
    struct dn_sacct mine = dn_sacct_mine ();
    struct dn_err err = {0};
    struct dn_gate gate;
    dn_cleanup (dn_store_cleanup) struct dn_store *store = NULL;

    if (access (site->state_dir, R_OK | X_OK) == 0
        || (call->user != DN_UNSET && call->user != mine.user))
        return false;
    mine.patience_s = PATIENCE_S;
    store = dn_sacct_store (&mine, &err);
    if (store)
        seen->content.apps =
            dn_history_of (site, store, NULL, seen->view.now_s, &gate, &err);
    seen->view.apps = seen->content.apps;
    return seen->content.apps != NULL;
}

/* Where the mode is another one: what Mode=enforce would do. */
static int enforce (const struct call *call,
                    struct dn_site *site,
                    const struct dn_view *view,
                    const struct dn_advice *advice,
                    struct dn_advice *enforced,
                    struct dn_err *err)
{
    if (!is_decided (advice) || advice->rules.mode == DN_MODE_ENFORCE)
        return 0;
    if (dn_site_set (site, "Mode=enforce", err) < 0
        || dn_advise (site, view, &call->sbatch.job, NULL, NULL, enforced, err) < 0)
        return -1;
    return 1;
}

static int advise (struct call *call, struct dn_site *site)
{
    dn_cleanup (dn_seen_free) struct dn_seen seen = {.content = {NULL}};
    dn_cleanup (free_advice) struct dn_advice *advice = dn_advice_new ();
    dn_cleanup (free_advice) struct dn_advice *other = dn_advice_new ();
    dn_cleanup (dn_free_ptr) char *sidecar = NULL;
    struct answer answer = {.site = site, .job = &call->sbatch.job, .advice = advice};
    struct dn_err err = {0};
    int rc = dn_seen_look (&seen, site, call->snapshot);
    int more;

    if (rc != DN_EXIT_DONE)
        return rc;
    if (!advice || !other) {
        dn_complain ("out of memory");
        return DN_EXIT_BUG;
    }
    if (dn_subject_carry (site, &call->sbatch.job, &sidecar, &err) < 0)
        return dn_fail (err.code == DN_E_IO ? DN_EXIT_DATA : DN_EXIT_USAGE, &err);
    if (advise_and_time (site, &seen.view, answer.job, advice, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (is_decided (advice) && find_history (call, site, &seen)
        && advise_and_time (site, &seen.view, answer.job, advice, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    more = enforce (call, site, &seen.view, advice, other, &err);
    if (more < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    answer.cluster = dn_seen_cluster (&seen);
    answer.enforced = more > 0 ? other : NULL;
    if (call->given->json)
        print_json (&answer);
    else
        rc = print_text (&answer);
    if (rc == DN_EXIT_DONE
        && (!is_decided (advice) || advice->decision.verdict == DN_VERDICT_ABSTAIN))
        rc = DN_EXIT_ABSTAINED;
    return rc;
}

static void free_call (struct call *call)
{
    dn_sbatch_free (&call->sbatch);
}

static int run (struct dn_options *given)
{
    dn_cleanup (free_call) struct call call = {.given = given, .user = DN_UNSET};
    int rc;

    if (take_options (&call) < 0
        || !dn_options_site (given, call.settings.len > 0 ? call.settings.text : NULL))
        return given->exit_code;
    if (given->site->time_min_refused)
        dn_complain ("%s", dn_say_time_min_refused);
    rc = read_submission (&call);
    return rc == DN_EXIT_DONE ? advise (&call, given->site) : rc;
}

const struct dn_command dn_cmd_advise = {
    .name = "advise",
    .summary = "Show what the plugin would do to a batch job, without submitting it",
    .arguments = "[SCRIPT [ARGUMENT]...]",
    .options = options,
    .guest_options = dn_sbatch_options,
    .run = run,
};
