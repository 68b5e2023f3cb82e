/* cmd_explain.c - where the time and the memory of a run go
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <stdio.h>

#include "show.h"
#include "subject.h"
#include "grid.h"

enum {
    OPTION_GPU
};

static const struct dn_option options[] = {
    [OPTION_GPU] = {"gpu", 0, "NAME", "the device to explain (required)"},
    {NULL, 0, NULL, NULL},
};

/* The forward operators of one kind, per sample. */
struct op_class {
    double count;
    double flops;
    double params;
};

static void sum_ops (const struct dn_graph *graph,
                     struct op_class classes[DN_N_OP_KINDS])
{
    for (int i = 0; i < graph->n_ops; i++) {
        const struct dn_op *op = &graph->ops[i];

        classes[op->kind].count += op->repeat;
        classes[op->kind].flops += op->repeat * op->flops;
        classes[op->kind].params += op->repeat * op->params;
    }
}

static double sum_flops (const struct op_class classes[DN_N_OP_KINDS])
{
    double sum = 0;

    for (int i = 0; i < DN_N_OP_KINDS; i++)
        sum += classes[i].flops;
    return sum;
}

static double share (double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void add_stages (struct json_object *json, const struct dn_estimate *estimate)
{
    struct json_object *stages = dn_json_add_array (json, "stages");
    struct json_object *memory = dn_json_add_array (json, "memory");
    struct json_object *row;

    for (int i = 0; i < DN_N_STAGES; i++) {
        row = dn_json_append_object (stages);
        dn_json_add_text (row, "stage", dn_names_get (&dn_stage_names, i));
        dn_json_add_real (row, "ms", estimate->stage_s[i] * 1000);
        dn_json_add_real (
            row, "share_of_step", share (estimate->stage_s[i], estimate->step_s.p50));
    }
    for (int i = 0; i < DN_N_MEMORY_CLASSES; i++) {
        row = dn_json_append_object (memory);
        dn_json_add_text (row, "class", dn_names_get (&dn_memory_class_names, i));
        dn_json_add_real (row, "bytes", estimate->memory[i]);
        dn_json_add_real (
            row, "share", share (estimate->memory[i], estimate->gpu_mem.p50));
    }
}

static void add_ops (struct json_object *json,
                     const struct op_class classes[DN_N_OP_KINDS])
{
    struct json_object *ops = dn_json_add_array (json, "operators");

    for (int i = 0; i < DN_N_OP_KINDS; i++) {
        struct json_object *row;

        if (classes[i].count <= 0)
            continue;
        row = dn_json_append_object (ops);
        dn_json_add_text (row, "kind", dn_names_get (&dn_op_kind_names, i));
        dn_json_add_real (row, "count", classes[i].count);
        dn_json_add_real (row, "forward_flops_per_sample", classes[i].flops);
        dn_json_add_real (
            row, "flops_share", share (classes[i].flops, sum_flops (classes)));
        dn_json_add_real (row, "params", classes[i].params);
    }
}

static void print_json (const struct dn_site *site,
                        const struct dn_subject *subject,
                        const struct dn_estimate *estimate,
                        const struct op_class classes[DN_N_OP_KINDS])
{
    dn_cleanup (dn_json_cleanup) struct json_object *json = json_object_new_object ();

    json_object_object_add (json, "spec", dn_show_spec_json (&subject->spec));
    json_object_object_add (json, "model", dn_show_model_json (&subject->graph));
    json_object_object_add (
        json,
        "candidate",
        dn_show_estimate_json (
            estimate, &subject->spec, dn_subject_cost (site, estimate->device)));
    add_stages (json, estimate);
    add_ops (json, classes);
    dn_json_print (json);
}

static void add_share (struct dn_grid *grid, double part, double whole)
{
    dn_grid_add (grid, "%s", dn_show_real (100 * share (part, whole), 1).text);
}

static int print_stages (const struct dn_estimate *estimate)
{
    static const struct dn_grid_column columns[] = {
        {"STAGE", false}, {"ms", true}, {"% OF STEP", true}};
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (columns, 3);

    printf ("\nOne step takes %s ms; stages overlap, they need not add up.\n",
            dn_show_real (estimate->step_s.p50 * 1000, 1).text);
    for (int i = 0; i < DN_N_STAGES; i++) {
        dn_grid_add (&grid, "%s", dn_names_get (&dn_stage_names, i));
        dn_grid_add (&grid, "%s", dn_show_real (estimate->stage_s[i] * 1000, 2).text);
        add_share (&grid, estimate->stage_s[i], estimate->step_s.p50);
    }
    return dn_grid_print (&grid);
}

static int print_memory (const struct dn_estimate *estimate)
{
    static const struct dn_grid_column columns[] = {
        {"MEMORY", false}, {"GiB", true}, {"%", true}};
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (columns, 3);

    printf ("\nOne GPU holds %s of its %s.\n",
            dn_show_bytes (estimate->gpu_mem.p50).text,
            dn_show_bytes (estimate->device->memory).text);
    for (int i = 0; i < DN_N_MEMORY_CLASSES; i++) {
        dn_grid_add (&grid, "%s", dn_names_get (&dn_memory_class_names, i));
        dn_grid_add (
            &grid, "%s", dn_show_real (estimate->memory[i] / 1073741824, 3).text);
        add_share (&grid, estimate->memory[i], estimate->gpu_mem.p50);
    }
    return dn_grid_print (&grid);
}

static int print_ops (const struct op_class classes[DN_N_OP_KINDS])
{
    static const struct dn_grid_column columns[] = {{"OPERATOR", false},
                                                    {"COUNT", true},
                                                    {"GFLOP", true},
                                                    {"%", true},
                                                    {"PARAMETERS", true}};
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (columns, 5);

    printf ("\nForward operators of one sample:\n");
    for (int i = 0; i < DN_N_OP_KINDS; i++) {
        if (classes[i].count <= 0)
            continue;
        dn_grid_add (&grid, "%s", dn_names_get (&dn_op_kind_names, i));
        dn_grid_add (&grid, "%s", dn_show_real (classes[i].count, 0).text);
        dn_grid_add (&grid, "%s", dn_show_real (classes[i].flops / 1e9, 3).text);
        add_share (&grid, classes[i].flops, sum_flops (classes));
        dn_grid_add (&grid, "%s", dn_show_real (classes[i].params, 0).text);
    }
    return dn_grid_print (&grid);
}

static int print_text (const struct dn_subject *subject,
                       const struct dn_estimate *estimate,
                       const struct op_class classes[DN_N_OP_KINDS])
{
    dn_show_model (&subject->graph);
    printf ("on %s\n", estimate->device->name);
    if (!estimate->supported) {
        dn_complain ("gpu: %s cannot run this precision", estimate->device->name);
        return DN_EXIT_ABSTAINED;
    }
    if (print_stages (estimate) != DN_EXIT_DONE
        || print_memory (estimate) != DN_EXIT_DONE)
        return DN_EXIT_BUG;
    return print_ops (classes);
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct dn_options given;
    struct dn_err err = {0};
    dn_cleanup (dn_subject_free) struct dn_subject subject = {.graph = {.n_ops = 0}};
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    struct op_class classes[DN_N_OP_KINDS] = {{0}};
    const struct dn_device *device;
    struct dn_estimate estimate;
    const char *name = NULL;
    int option;

    dn_options_begin (&given, self, argc, argv);
    while ((option = dn_options_next (&given)) >= 0)
        name = given.argument;
    if (option != DN_OPTION_END || !dn_options_count (&given, 1, 1))
        return given.exit_code;
    if (!name)
        return dn_options_misuse (self, "--gpu=NAME is missing");
    site = dn_options_site (&given, NULL);
    if (!site)
        return given.exit_code;
    device = dn_subject_device (site, name, &err);
    if (!device || dn_subject_read (site, given.args[0], &subject, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    dn_subject_predict (site, &subject, &device, 1, &estimate);
    sum_ops (&subject.graph, classes);
    if (!given.json)
        return print_text (&subject, &estimate, classes);
    print_json (site, &subject, &estimate, classes);
    return estimate.supported ? DN_EXIT_DONE : DN_EXIT_ABSTAINED;
}

const struct dn_command dn_cmd_explain = {
    .name = "explain",
    .summary = "Show where the time and the memory of a run go",
    .arguments = "SPEC",
    .options = options,
    .run = run,
};
