/* cmd_predict.c - time, memory, CPUs, energy and cost on every GPU type
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>

#include "grid.h"
#include "show.h"
#include "subject.h"

/* Length of a curve where none is given, and at most. */
#define CURVE_USUAL "16"
#define CURVE_MAX   1024

/* CPUs per GPU with which no loader is short of any. */
#define CPUS_PLENTY 1e4

enum {
    OPTION_GPU,
    OPTION_ALL,
    OPTION_CPU_CURVE
};

static const struct dn_option options[] = {
    [OPTION_GPU] = {"gpu", 0, "NAME", "only this device; may be repeated"},
    [OPTION_ALL] = {"all", 0, NULL, "every device of the catalogue (the default)"},
    [OPTION_CPU_CURVE] = {"cpu-curve",
                          0,
                          "[=N]",
                          "also the throughput with 1 to N CPUs per GPU (16)"},
    {NULL, 0, NULL, NULL},
};

/* The devices to predict on, by name; none: all. */
struct selection {
    const char *names[DN_DEVICES_MAX];
    int n_names;
    bool all;
    int64_t curve; /* CPUs per GPU up to which the throughput is told, 0 not at all */
};

static int take_curve (const struct dn_command *self,
                       const char *text,
                       struct selection *selection)
{
    struct dn_err err;

    if (dn_int_read (dn_span_of (text ? text : CURVE_USUAL),
                     "--cpu-curve",
                     1,
                     CURVE_MAX,
                     &selection->curve,
                     &err)
        < 0)
        return dn_options_misuse (self, "%s", err.text);
    return DN_EXIT_DONE;
}

static int take_options (const struct dn_command *self,
                         struct dn_options *given,
                         struct selection *selection)
{
    int option;

    while ((option = dn_options_next (given)) >= 0) {
        if (option == OPTION_ALL)
            selection->all = true;
        else if (option == OPTION_CPU_CURVE)
            given->exit_code = take_curve (self, given->argument, selection);
        else if (selection->n_names == DN_DEVICES_MAX)
            given->exit_code =
                dn_options_misuse (self, "--gpu: more than %d of them", DN_DEVICES_MAX);
        else
            selection->names[selection->n_names++] = given->argument;
    }
    if (option != DN_OPTION_END || given->exit_code != DN_EXIT_DONE
        || !dn_options_count (given, 1, 1))
        return -1;
    if (selection->all)
        selection->n_names = 0;
    return 0;
}

/* One run per device; the estimates stand in 'estimates'. Return how many, or -1. */
static int predict_all (const struct dn_site *site,
                        const struct dn_subject *subject,
                        const struct selection *selection,
                        struct dn_run *runs,
                        struct dn_estimate *estimates,
                        struct dn_err *err)
{
    const struct dn_device *devices[DN_DEVICES_MAX];
    int n_runs =
        selection->n_names > 0 ? selection->n_names : site->catalogue.n_devices;

    for (int i = 0; i < n_runs; i++) {
        devices[i] = selection->n_names > 0
                         ? dn_subject_device (site, selection->names[i], err)
                         : &site->catalogue.devices[i];
        if (!devices[i])
            return -1;
    }
    dn_subject_predict (site, subject, devices, n_runs, estimates);
    for (int i = 0; i < n_runs; i++)
        runs[i] = dn_subject_run (site,
                                  subject,
                                  devices[i]->name,
                                  dn_subject_cost (site, devices[i]),
                                  &estimates[i]);
    return n_runs;
}

/* Samples per second of the whole job with so many CPUs per GPU. */
static double throughput (const struct dn_site *site,
                          const struct dn_subject *subject,
                          const struct dn_run *run,
                          double cpus)
{
    return dn_predict_throughput (
        &site->constants, &subject->spec, &subject->graph, run->estimate->device, cpus);
}

/* Is it known what the CPUs of this run would do? */
static bool has_curve (const struct dn_run *run)
{
    return run->estimate->supported && run->estimate->cpus_per_gpu >= 0;
}

static void add_curve (struct json_object *row,
                       const struct dn_site *site,
                       const struct dn_subject *subject,
                       const struct dn_run *run,
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

/* Few enough to stand side by side: 1 2 3 4 6 8 12 16 24 ..., and the last. */
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
                         const struct dn_run *runs,
                         int n_runs,
                         int64_t n_cpus)
{
    int64_t picked[32];
    int n_picked = pick_columns (n_cpus, picked);
    struct dn_grid_column columns[33] = {{"CPUS PER GPU", false}};
    struct dn_shown headings[32];
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (columns, n_picked + 1);

    printf ("\nThroughput with so many CPUs per GPU, of that with more than enough:\n");
    for (int i = 0; i < n_picked; i++) {
        headings[i] = dn_show_real ((double) picked[i], 0);
        /* cppcheck-suppress unreadVariable ; by the grid */
        columns[i + 1] = (struct dn_grid_column){headings[i].text, true};
    }
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
                        const struct dn_run *runs,
                        int n_runs,
                        int64_t n_cpus)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    struct json_object *candidates;

    json_object_object_add (json, "spec", dn_show_spec_json (&subject->spec));
    json_object_object_add (json, "model", dn_show_model_json (&subject->graph));
    dn_json_add_text (json, "model_bundle", site->bundle ? site->bundle->name : NULL);
    candidates = dn_json_add_array (json, "candidates");
    for (int i = 0; i < n_runs; i++) {
        struct json_object *row = dn_show_run_json (&runs[i], &subject->spec);

        if (n_cpus > 0)
            add_curve (row, site, subject, &runs[i], n_cpus);
        json_object_array_add (candidates, row);
    }
    dn_json_print (json);
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct dn_options given;
    struct selection selection = {.n_names = 0};
    struct dn_err err = {0};
    dn_cleanup (dn_subject_free) struct dn_subject subject = {.graph = {.n_ops = 0}};
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    dn_cleanup (dn_free_ptr) struct dn_estimate *estimates = NULL;
    struct dn_run runs[DN_DEVICES_MAX];
    int exit_code;
    int n_runs;

    dn_options_begin (&given, self, argc, argv);
    if (take_options (self, &given, &selection) < 0)
        return given.exit_code;
    site = dn_options_site (&given, NULL);
    if (!site)
        return given.exit_code;
    if (dn_subject_read (site, given.args[0], &subject, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    estimates = calloc (DN_DEVICES_MAX, sizeof (*estimates));
    if (!estimates) {
        dn_complain ("out of memory");
        return DN_EXIT_BUG;
    }
    n_runs = predict_all (site, &subject, &selection, runs, estimates, &err);
    if (n_runs < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (given.json) {
        print_json (site, &subject, runs, n_runs, selection.curve);
        return DN_EXIT_DONE;
    }
    dn_show_model (&subject.graph);
    exit_code = dn_show_runs (runs, n_runs, &subject.spec);
    if (exit_code == DN_EXIT_DONE && selection.curve > 0)
        exit_code = print_curves (site, &subject, runs, n_runs, selection.curve);
    return exit_code;
}

const struct dn_command dn_cmd_predict = {
    .name = "predict",
    .summary = "Predict time, memory, CPUs, energy and cost on every GPU type",
    .arguments = "SPEC",
    .options = options,
    .run = run,
};
