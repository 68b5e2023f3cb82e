/* cmd_predict.c - time, memory, CPUs, energy and cost on every GPU type
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>

#include "show.h"
#include "subject.h"

enum {
    OPTION_GPU,
    OPTION_ALL
};

static const struct dn_option options[] = {
    [OPTION_GPU] = {"gpu", 0, "NAME", "only this device; may be repeated"},
    [OPTION_ALL] = {"all", 0, NULL, "every device of the catalogue (the default)"},
    {NULL, 0, NULL, NULL},
};

/* The devices to predict on, by name; none: all. */
struct selection {
    const char *names[DN_DEVICES_MAX];
    int n_names;
    bool all;
};

static int take_options (const struct dn_command *self,
                         struct dn_options *given,
                         struct selection *selection)
{
    int option;

    while ((option = dn_options_next (given)) >= 0) {
        if (option == OPTION_ALL)
            selection->all = true;
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
        runs[i] = (struct dn_run){
            devices[i]->name, &estimates[i], dn_subject_cost (site, devices[i])};
    }
    dn_subject_predict (site, subject, devices, n_runs, estimates);
    return n_runs;
}

static void print_json (const struct dn_site *site,
                        const struct dn_subject *subject,
                        const struct dn_run *runs,
                        int n_runs)
{
    dn_cleanup (dn_json_cleanup) struct json_object *json = json_object_new_object ();
    struct json_object *candidates;

    json_object_object_add (json, "spec", dn_show_spec_json (&subject->spec));
    json_object_object_add (json, "model", dn_show_model_json (&subject->graph));
    dn_json_add_text (json, "model_bundle", site->bundle ? site->bundle->name : NULL);
    candidates = dn_json_add_array (json, "candidates");
    for (int i = 0; i < n_runs; i++)
        json_object_array_add (candidates,
                               dn_show_estimate_json (runs[i].estimate,
                                                      &subject->spec,
                                                      runs[i].cost_per_hour));
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
        print_json (site, &subject, runs, n_runs);
        return DN_EXIT_DONE;
    }
    dn_show_model (&subject.graph);
    return dn_show_runs (runs, n_runs, &subject.spec);
}

const struct dn_command dn_cmd_predict = {
    .name = "predict",
    .summary = "Predict time, memory, CPUs, energy and cost on every GPU type",
    .arguments = "SPEC",
    .options = options,
    .run = run,
};
