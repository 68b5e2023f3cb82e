/* cmd_predict.c - time, memory, CPUs, energy and cost on GPU types
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>

#include "output/batches.h"
#include "output/grid.h"
#include "output/show.h"
#include "seen.h"
#include "site_gpus.h"
#include "what_if.h"

/* The options of a call. */
struct call {
    struct dn_gpus_wanted wanted;
    bool by_batch;
    struct dn_batch_sizes sizes; /* none: powers of two */
    const char *snapshot;        /* NULL: that of the site */
    int64_t user;                /* DN_UNSET: the caller */
};

static int take_gpu (struct dn_options *given, void *to)
{
    struct call *call = to;

    return dn_gpus_wanted_take (given, &call->wanted);
}

static int take_sizes (struct dn_options *given, void *to)
{
    struct call *call = to;
    struct dn_err err = {0};

    call->by_batch = true;
    return given->argument
                   && dn_batch_sizes_read (given->argument, &call->sizes, &err) < 0
               ? dn_options_misuse (given->command, "%s", err.text)
               : DN_EXIT_DONE;
}

static const struct dn_option options[] = {
    DN_OPT_OLD ("plot", "FILE", "--json prints the numbers"),
    DN_OPT_OLD ("cpu-curve", "[=N]", "the column CPUS has what the loaders need"),
    DN_OPT_OLD ("gpus", "LIST", "predict with gpus=N in SPEC, once for each"),
    DN_OPT_TAKE ("gpu",
                 0,
                 "NAME",
                 "only this GPU type or device; may be repeated",
                 take_gpu),
    DN_OPT_FLAG ("all", 0, "every device of the catalogue but CPUs", wanted.all),
    DN_OPT_TAKE ("batch-sizes",
                 0,
                 "[=LIST]",
                 "compare batch sizes per GPU (powers of two)",
                 take_sizes),
    DN_OPT_TEXT ("snapshot",
                 0,
                 "FILE",
                 "the cluster as in this snapshot, now",
                 snapshot),
    DN_OPT_USER ("user", 0, "NAME", "with the history of this user (the caller)", user),
    DN_OPT_END,
};

/* Where no batch was given: the run with the largest one of each GPU. */
static int predict_largest (const struct dn_site *site,
                            const struct dn_subject *subject,
                            struct dn_forecast *runs,
                            int n_runs,
                            struct dn_estimate *estimates,
                            struct dn_err *err)
{
    for (int i = 0; i < n_runs; i++) {
        struct dn_subject sized;
        int rc;

        if (runs[i].largest_batch < 1 || !runs[i].estimate->supported)
            continue;
        if (dn_batches_resize (site, subject, runs[i].largest_batch, &sized, err) < 0)
            return -1;
        rc = dn_subject_predict (
            site, &sized, &runs[i].estimate->device, 1, &estimates[i], err);
        dn_graph_free (&sized.graph);
        if (rc < 0)
            return -1;
        runs[i].at_largest = &estimates[i];
    }
    return 0;
}

static void print_json (const struct dn_site *site,
                        const struct dn_subject *subject,
                        const struct dn_forecast *runs,
                        int n_runs,
                        const struct dn_batches *batches)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    struct json_object *candidates;
    struct dn_keyset unread = dn_subject_unread (subject);
    const struct dn_forecast *best = dn_best_run (runs, n_runs);

    json_object_object_add (json, "spec", dn_show_spec_json (&subject->spec));
    json_object_object_add (json, "model", dn_show_model_json (&subject->graph));
    dn_json_add_text (json, "model_bundle", site->bundle ? site->bundle->name : NULL);
    candidates = dn_json_add_array (json, "candidates");
    for (int i = 0; i < n_runs; i++) {
        struct json_object *row = dn_show_run_json (&runs[i], &subject->spec);

        dn_remedies_add_json (row, site, subject, best, &runs[i]);
        json_object_array_add (candidates, row);
        /* -Wanalyzer-use-of-uninitialized-value is wrong here: it is set */
        unread = dn_keyset_or (unread, runs[i].estimate->unread);
    }
    json_object_object_add (json, "unread", dn_show_keys_json (unread));
    json_object_object_add (
        json, "assumed", dn_effects_json (site, subject, best->estimate->device));
    if (batches)
        dn_batches_add_json (json, batches);
    dn_json_print (json);
}

/* Read SPEC. With --batch-sizes it needs no batch. */
static int read_subject (const struct dn_site *site,
                         const struct dn_options *given,
                         const struct call *call,
                         struct dn_subject *subject,
                         struct dn_err *err)
{
    const struct dn_batch_sizes *sizes = &call->sizes;

    if (!call->by_batch)
        return dn_subject_read (site, given->args, given->n_args, subject, err);
    if (dn_subject_parse (given->args, given->n_args, subject, err) < 0)
        return -1;
    if (subject->open_batch
        || (subject->spec.batch == DN_UNSET && subject->spec.global_batch == DN_UNSET))
        subject->spec.batch = sizes->n > 0 ? sizes->sizes[0] : 1;
    subject->open_batch = false;
    return dn_subject_build (site, DN_UNSET, subject, err);
}

static int compare_batches (const struct dn_site *site,
                            const struct dn_subject *subject,
                            const struct call *call,
                            const struct dn_site_gpus *gpus,
                            struct dn_batches *batches)
{
    struct dn_err err = {0};

    if (dn_batches_predict (site, subject, &call->sizes, gpus, batches, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    return DN_EXIT_DONE;
}

static int predict (const struct dn_site *site,
                    const struct dn_subject *subject,
                    const struct call *call,
                    const struct dn_site_gpus *gpus,
                    bool json)
{
    dn_cleanup (dn_batches_free) struct dn_batches batches = {.n_rows = 0};
    dn_cleanup (dn_free_ptr) struct dn_estimate *estimates =
        calloc (2 * DN_DEVICES_MAX, sizeof (*estimates));
    struct dn_forecast runs[DN_DEVICES_MAX];
    struct dn_err err = {0};
    int exit_code = DN_EXIT_DONE;

    if (!estimates) {
        dn_complain ("out of memory");
        return DN_EXIT_BUG;
    }
    if (call->by_batch)
        exit_code = compare_batches (site, subject, call, gpus, &batches);
    if (exit_code != DN_EXIT_DONE)
        return exit_code;
    if (dn_site_gpus_predict (site, subject, gpus, runs, estimates, &err) < 0
        || (subject->open_batch
            && predict_largest (
                   site, subject, runs, gpus->n, estimates + DN_DEVICES_MAX, &err)
                   < 0))
        return dn_fail (DN_EXIT_DATA, &err);
    if (json) {
        print_json (site, subject, runs, gpus->n, call->by_batch ? &batches : NULL);
        return DN_EXIT_DONE;
    }
    dn_show_model (&subject->graph);
    if (call->by_batch)
        return dn_batches_print (&batches);
    exit_code = dn_show_runs (runs, gpus->n, &subject->spec);
    dn_remedies_print (site, subject, runs, gpus->n);
    if (exit_code == DN_EXIT_DONE)
        exit_code =
            dn_effects_print (site, subject, runs[0].name, runs[0].estimate->device);
    dn_show_beyond (runs, gpus->n, &subject->spec);
    dn_site_gpus_explain (gpus);
    return exit_code;
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct dn_options given;
    struct call call = {.user = DN_UNSET};
    struct dn_err err = {0};
    dn_cleanup (dn_subject_free) struct dn_subject subject = {.graph = {.n_ops = 0}};
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    dn_cleanup (dn_seen_free) struct dn_seen seen = {.content = {NULL}};
    struct dn_site_gpus gpus;
    int exit_code;

    dn_options_begin (&given, self, argc, argv);
    if (!dn_options_all (&given, &call, 1, -1))
        return given.exit_code;
    site = dn_options_site (&given, NULL);
    if (!site)
        return given.exit_code;
    if (read_subject (site, &given, &call, &subject, &err) < 0)
        return dn_subject_fail (&err);
    if (call.user != DN_UNSET)
        subject.user = call.user;
    call.wanted.usual = subject.open_batch;
    exit_code = dn_seen_look (&seen, site, call.snapshot);
    if (exit_code != DN_EXIT_DONE)
        return exit_code;
    if (dn_site_gpus_find (site, dn_seen_cluster (&seen), &call.wanted, &gpus, &err)
        < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    return predict (site, &subject, &call, &gpus, given.json);
}

const struct dn_command dn_cmd_predict = {
    .name = "predict",
    .summary = "Predict time, memory, CPUs, energy and cost on the GPU types",
    .arguments = "SPEC",
    .options = options,
    .run = run,
};
