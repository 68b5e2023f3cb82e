/* cmd_predict.c - time, memory, CPUs, energy and cost on GPU types
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "output/batches.h"
#include "output/grid.h"
#include "output/show.h"
#include "seen.h"
#include "site_gpus.h"
#include "what_if.h"

/* CPUs per GPU that are more than enough for every loader. */
#define CPUS_PLENTY 1e4

/* The options of a call. */
struct call {
    struct dn_gpus_wanted wanted;
    int64_t curve;            /* maximum CPUs per GPU of --cpu-curve, 0: no curve */
    struct dn_numbers sizes;  /* of --batch-sizes; none: powers of two */
    struct dn_numbers counts; /* of --gpus; none: no combinations */
    struct dn_front_limits limits;
    const char *snapshot; /* NULL: that of the site */
    int64_t user;         /* DN_UNSET: the caller */
};

static const struct dn_option options[] = {
    DN_OPT_OLD ("plot", "FILE", "--json prints the numbers"),
    DN_OPT_TAKE ("gpu",
                 "NAME",
                 "only this GPU type or device; may be repeated",
                 dn_gpus_wanted_take,
                 DN_OPT_AT (wanted)),
    DN_OPT_FLAG ("all", "every device of the catalogue but CPUs", wanted.all),
    DN_OPT_INT ("cpu-curve",
                "[=N]",
                "also the throughput with 1 to N CPUs per GPU (16)",
                curve,
                1,
                1024,
                .usual = "16"),
    DN_OPT_TAKE ("batch-sizes",
                 "[=LIST]",
                 "compare batch sizes per GPU (powers of two)",
                 dn_numbers_take,
                 DN_OPT_AT (sizes, .max = DN_NUMBERS_MAX)),
    DN_OPT_TAKE ("gpus",
                 "LIST",
                 "the best of GPU types, these numbers, and batches",
                 dn_numbers_take,
                 DN_OPT_AT (counts, .max = 16)),
    DN_OPT_REAL ("budget",
                 "COST",
                 "of --gpus: at most this cost",
                 limits.budget,
                 0,
                 1e12),
    DN_OPT_TIME ("deadline", "TIME", "of --gpus: at most this time", limits.seconds),
    DN_OPT_TEXT ("snapshot", "FILE", "the cluster as in this snapshot, now", snapshot),
    DN_OPT_USER ("user", "NAME", "with the history of this user (the caller)", user),
    DN_OPT_END,
};

/* Refuse options that exclude each other. Return an enum dn_exit. */
static int check_options (struct dn_options *given, const struct call *call)
{
    bool limited = call->limits.budget >= 0 || call->limits.seconds >= 0;

    if (call->curve > 0 && call->sizes.given)
        return dn_options_misuse (given,
                                  "--cpu-curve cannot be combined with --batch-sizes");
    if (call->counts.n == 0 && limited)
        return dn_options_misuse (given, "--budget and --deadline need --gpus");
    if (call->counts.n > 0 && call->curve > 0)
        return dn_options_misuse (given, "--cpu-curve cannot be combined with --gpus");
    return DN_EXIT_DONE;
}

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
        if (dn_batches_resize (
                site, subject, subject->spec.gpus, runs[i].largest_batch, &sized, err)
            < 0)
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

/* Samples per second of the whole job with so many CPUs per GPU. */
static double throughput (const struct dn_site *site,
                          const struct dn_subject *subject,
                          const struct dn_forecast *run,
                          double cpus)
{
    const struct dn_case c =
        dn_subject_case (site, subject, run->estimate->device, cpus);

    return dn_whitebox_throughput (&c);
}

/* Does the throughput of this run depend on the number of CPUs in a known way? */
static bool has_curve (const struct dn_forecast *run)
{
    return run->estimate->supported && run->estimate->cpus_per_gpu >= 0;
}

static void add_curve (struct json_object *row,
                       const struct dn_site *site,
                       const struct dn_subject *subject,
                       const struct dn_forecast *run,
                       int64_t n_cpus)
{
    struct json_object *curve;
    double plateau;

    if (!has_curve (run)) {
        json_object_object_add (row, "cpu_curve", NULL);
        return;
    }
    curve = dn_json_add_array (row, "cpu_curve");
    plateau = throughput (site, subject, run, CPUS_PLENTY);
    for (int64_t cpus = 1; cpus <= n_cpus; cpus++) {
        struct json_object *point = dn_json_append_object (curve);
        double rate = throughput (site, subject, run, (double) cpus);

        dn_json_add_count (point, "cpus_per_gpu", cpus);
        dn_json_add_real (point, "samples_per_s", rate);
        dn_json_add_real (point, "relative", rate / plateau);
    }
}

/* The columns of the curve: 1 2 3 4 6 8 12 16 24 ..., and the last. */
static int pick_columns (int64_t n_cpus, int64_t columns[])
{
    int n_columns = 0;

    for (int64_t step = 1, cpus = 1; cpus < n_cpus; cpus += step) {
        columns[n_columns++] = cpus;
        if (cpus >= 4 && (cpus & (cpus - 1)) == 0)
            step = cpus / 2;
    }
    columns[n_columns++] = n_cpus;
    return n_columns;
}

static int print_curves (const struct dn_site *site,
                         const struct dn_subject *subject,
                         const struct dn_forecast *runs,
                         int n_runs,
                         int64_t n_cpus)
{
    int64_t picked[32];
    int n_picked = pick_columns (n_cpus, picked);
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of ("CPUS PER GPU");

    printf ("\nThroughput with so many CPUs per GPU, of that with more than enough:\n");
    for (int i = 0; i < n_picked; i++)
        dn_grid_head (&grid, "%" PRId64 ">", picked[i]);
    for (int i = 0; i < n_runs; i++) {
        double plateau = throughput (site, subject, &runs[i], CPUS_PLENTY);

        dn_grid_add (&grid, "%s", runs[i].name);
        for (int p = 0; p < n_picked; p++) {
            double rate = throughput (site, subject, &runs[i], (double) picked[p]);

            dn_grid_add (
                &grid,
                "%s",
                dn_show_real (has_curve (&runs[i]) ? rate / plateau : -1, 2).text);
        }
    }
    return dn_grid_print (&grid);
}

static void print_json (const struct dn_site *site,
                        const struct dn_subject *subject,
                        const struct dn_forecast *runs,
                        int n_runs,
                        int64_t n_cpus,
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

        if (n_cpus > 0)
            add_curve (row, site, subject, &runs[i], n_cpus);
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
    const struct dn_numbers *sizes = &call->sizes;

    if (!call->sizes.given)
        return dn_subject_read (site, given->args, given->n_args, subject, err);
    if (dn_subject_parse (given->args, given->n_args, subject, err) < 0)
        return -1;
    if (subject->open_batch
        || (subject->spec.batch == DN_UNSET && subject->spec.global_batch == DN_UNSET))
        subject->spec.batch = sizes->n > 0 ? sizes->list[0] : 1;
    subject->open_batch = false;
    return dn_subject_build (site, DN_UNSET, subject, err);
}

/* The table of --gpus. */
static int compare_counts (const struct dn_site *site,
                           const struct dn_subject *subject,
                           const struct call *call,
                           const struct dn_site_gpus *gpus,
                           bool json)
{
    dn_cleanup (dn_front_free) struct dn_front front = {.n = 0};
    dn_cleanup (dn_json_free) struct json_object *document = NULL;
    struct dn_front_limits limits = call->limits;
    struct dn_err err = {0};

    if (limits.budget < 0)
        limits.budget = subject->spec.budget;
    if (limits.seconds < 0)
        limits.seconds = subject->spec.deadline;
    if (dn_front_predict (
            site, subject, &call->counts, &call->sizes, gpus, &limits, &front, &err)
        < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (!json) {
        dn_show_model (&subject->graph);
        return dn_front_print (&front);
    }
    document = json_object_new_object ();
    json_object_object_add (document, "spec", dn_show_spec_json (&subject->spec));
    json_object_object_add (document, "model", dn_show_model_json (&subject->graph));
    dn_front_add_json (document, &front);
    dn_json_print (document);
    return DN_EXIT_DONE;
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
    if (call->sizes.given)
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
        print_json (site,
                    subject,
                    runs,
                    gpus->n,
                    call->curve,
                    call->sizes.given ? &batches : NULL);
        return DN_EXIT_DONE;
    }
    dn_show_model (&subject->graph);
    if (call->sizes.given)
        return dn_batches_print (&batches);
    exit_code = dn_show_runs (runs, gpus->n, &subject->spec);
    dn_remedies_print (site, subject, runs, gpus->n);
    if (exit_code == DN_EXIT_DONE)
        exit_code =
            dn_effects_print (site, subject, runs[0].name, runs[0].estimate->device);
    dn_show_beyond (runs, gpus->n, &subject->spec);
    dn_site_gpus_explain (gpus);
    if (exit_code == DN_EXIT_DONE && call->curve > 0)
        exit_code = print_curves (site, subject, runs, gpus->n, call->curve);
    return exit_code;
}

static int run (struct dn_options *given)
{
    struct call call = {.user = DN_UNSET,
                        .limits = {.budget = -1, .seconds = DN_UNSET}};
    struct dn_err err = {0};
    dn_cleanup (dn_subject_free) struct dn_subject subject = {.graph = {.n_ops = 0}};
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    dn_cleanup (dn_seen_free) struct dn_seen seen = {.content = {NULL}};
    struct dn_site_gpus gpus;
    int exit_code;

    if (!dn_options_all (given, &call, 1, -1)
        || check_options (given, &call) != DN_EXIT_DONE)
        return given->exit_code;
    site = dn_options_site (given, NULL);
    if (!site)
        return given->exit_code;
    if (read_subject (site, given, &call, &subject, &err) < 0)
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
    if (call.counts.n > 0)
        return compare_counts (site, &subject, &call, &gpus, given->json);
    return predict (site, &subject, &call, &gpus, given->json);
}

const struct dn_command dn_cmd_predict = {
    .name = "predict",
    .summary = "Predict time, memory, CPUs, energy and cost on the GPU types",
    .arguments = "SPEC",
    .options = options,
    .run = run,
};
