/* cmd_explain.c - where the time and the memory of a run go, and its bottleneck
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/rows.h"
#include "seen.h"
#include "site_gpus.h"
#include "subject.h"
#include "what_if.h"

/* Default of --top. */
#define TOP_USUAL 10

struct call {
    const char *gpu;
    int64_t top;
    int64_t user; /* DN_UNSET: the caller */
};

static const struct dn_option options[] = {
    DN_OPT_OLD ("plot", "FILE", "--json prints the numbers"),
    DN_OPT_TEXT ("gpu", "NAME", "the GPU type or device to explain (a usual one)", gpu),
    DN_OPT_INT ("top",
                "N",
                "list the N operators that take longest (10)",
                top,
                0,
                DN_GRAPH_OPS_MAX),
    DN_OPT_USER ("user", "NAME", "with the history of this user (the caller)", user),
    DN_OPT_END,
};

/* Operators of one kind, or of one kind and size. */
struct op_group {
    const struct dn_op *op; /* the first of them; NULL: none */
    double count;
    double forward_flops; /* of all of them, per sample */
    double params;
    struct dn_op_time time;
};

/* The content of 'dnnest explain'. */
struct anatomy {
    const struct dn_subject *subject; /* borrowed */
    struct dn_estimate estimate;
    enum dn_bottleneck bottleneck; /* of the step */
    double device_s;               /* seconds that the device works in a step */
    struct op_group kinds[DN_N_OP_KINDS];
    struct op_group *tops; /* owned: operators of equal size, longest first */
    int n_tops;
};

/* Seconds of the backward pass, including forward passes that it repeats. */
static double backward_of (const struct dn_op_time *time)
{
    return time->backward_data_s + time->backward_weight_s + time->recompute_s;
}

static bool is_product (const struct dn_op *op)
{
    return op->kind == DN_OP_CONV || op->kind == DN_OP_LINEAR
           || op->kind == DN_OP_MATMUL || op->kind == DN_OP_ATTENTION
           || op->kind == DN_OP_RNN;
}

/* The size of an operator for one sample: "3136x64x576" (rows, columns, depth) of a
 * product, "12*128x128x64" of twelve products, the elements read of any other operator.
 */
static struct dn_shown size_of (const struct dn_op *op)
{
    struct dn_shown out = {""};
    struct dn_buf buf = dn_buf_on (out.text, sizeof (out.text));

    if (!is_product (op)) {
        dn_buf_add (&buf, "%.10g", op->in);
        return out;
    }
    if (op->batches > 1)
        dn_buf_add (&buf, "%.10g*", op->batches);
    dn_buf_add (&buf, "%.10gx%.10gx%.10g", op->m, op->n, op->k);
    return out;
}

static void add_to_group (struct op_group *group,
                          const struct dn_op *op,
                          const struct dn_op_time *time)
{
    if (!group->op)
        group->op = op;
    group->count += op->repeat;
    group->forward_flops += op->repeat * op->flops;
    group->params += op->repeat * (op->params + op->frozen_params);
    dn_op_add (&group->time, time);
}

static int compare (double a, double b)
{
    return (a > b) - (a < b);
}

/* Sorts by kind and size, so that equal operators are adjacent. */
static int by_size (const void *a, const void *b)
{
    const struct dn_op *x = ((const struct op_group *) a)->op;
    const struct dn_op *y = ((const struct op_group *) b)->op;
    const double sizes[][2] = {{x->kind, y->kind},
                               {x->m, y->m},
                               {x->n, y->n},
                               {x->k, y->k},
                               {x->batches, y->batches},
                               {x->in, y->in},
                               {x->out, y->out},
                               {x->steps, y->steps},
                               {x->first, y->first}};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < DN_N_ELEMENTS (sizes); i++)
        rc = compare (sizes[i][0], sizes[i][1]);
    return rc;
}

/* Longest first; equal ones in the order of the network. */
static int by_time (const void *a, const void *b)
{
    const struct op_group *x = a;
    const struct op_group *y = b;
    int rc = compare (dn_op_seconds (&y->time), dn_op_seconds (&x->time));

    return rc != 0 ? rc : (x->op > y->op) - (x->op < y->op);
}

/* Merge equal operators. */
static void merge_tops (struct anatomy *anatomy)
{
    struct op_group *tops = anatomy->tops;
    int n = 0;

    qsort (tops, (size_t) anatomy->n_tops, sizeof (*tops), by_size);
    for (int i = 0; i < anatomy->n_tops; i++) {
        if (n == 0 || by_size (&tops[n - 1], &tops[i]) != 0) {
            tops[n++] = tops[i];
            continue;
        }
        tops[n - 1].op = tops[i].op < tops[n - 1].op ? tops[i].op : tops[n - 1].op;
        tops[n - 1].count += tops[i].count;
        tops[n - 1].forward_flops += tops[i].forward_flops;
        tops[n - 1].params += tops[i].params;
        dn_op_add (&tops[n - 1].time, &tops[i].time);
    }
    anatomy->n_tops = n;
    qsort (tops, (size_t) n, sizeof (*tops), by_time);
}

/* Predict 'subject' on 'device' and split the step into its parts. -1 if out of memory.
 * The caller frees it with free_anatomy ().
 */
static int find_anatomy (const struct dn_subject *subject,
                         const struct dn_device *device,
                         struct anatomy *anatomy,
                         struct dn_err *err)
{
    const struct dn_case c = dn_subject_case (subject, device, 0);
    const struct dn_graph *graph = &subject->graph;
    size_t n_ops = (size_t) graph->n_ops;
    dn_cleanup (dn_free_ptr) struct dn_op_time *times =
        calloc (n_ops + 1, sizeof (*times));

    memset (anatomy, 0, sizeof (*anatomy));
    anatomy->tops = calloc (n_ops + 1, sizeof (*anatomy->tops));
    if (!times || !anatomy->tops)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    anatomy->subject = subject;
    if (dn_subject_predict (subject, &device, 1, &anatomy->estimate, err) < 0)
        return -1;
    dn_whitebox_operators (&c, times);
    anatomy->bottleneck = dn_step_bottleneck (&anatomy->estimate, times, graph->n_ops);
    for (int i = DN_STAGE_FORWARD; i <= DN_STAGE_OPTIMIZER; i++)
        anatomy->device_s += anatomy->estimate.stage_s[i];
    for (int i = 0; i < graph->n_ops; i++) {
        const struct dn_op *op = &graph->ops[i];

        add_to_group (&anatomy->kinds[op->kind], op, &times[i]);
        add_to_group (&anatomy->tops[anatomy->n_tops++], op, &times[i]);
    }
    merge_tops (anatomy);
    return 0;
}

static void free_anatomy (struct anatomy *anatomy)
{
    free (anatomy->tops);
}

static double share (double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static const char *bound_text (enum dn_bottleneck bottleneck)
{
    return dn_names_get (&dn_bottleneck_names, (int) bottleneck);
}

static struct json_object *stages_of (const struct dn_estimate *estimate)
{
    struct json_object *stages = json_object_new_array ();

    for (int i = 0; i < DN_N_STAGES; i++) {
        struct json_object *row = dn_json_append_object (stages);

        dn_json_add_text (row, "stage", dn_names_get (&dn_stage_names, i));
        dn_json_add_real (row, "ms", estimate->stage_s[i] * 1000);
        dn_json_add_real (
            row, "share_of_step", share (estimate->stage_s[i], estimate->step_s.p50));
    }
    return stages;
}

static struct json_object *memory_of (const struct dn_estimate *estimate)
{
    struct json_object *memory = json_object_new_array ();

    for (int i = 0; i < DN_N_MEMORY_CLASSES; i++) {
        struct json_object *row = dn_json_append_object (memory);

        dn_json_add_text (row, "class", dn_names_get (&dn_memory_class_names, i));
        dn_json_add_real (row, "bytes", estimate->memory[i]);
        dn_json_add_real (
            row, "share", share (estimate->memory[i], estimate->gpu_mem.p50));
    }
    return memory;
}

static void add_time (struct json_object *row,
                      const struct dn_op_time *time,
                      double device_s)
{
    dn_json_add_real (row, "forward_ms", time->forward_s * 1000);
    dn_json_add_real (row, "backward_ms", backward_of (time) * 1000);
    dn_json_add_real (row, "flops", time->flops);
    dn_json_add_real (row, "bytes", time->bytes);
    dn_json_add_real (row, "share", share (dn_op_seconds (time), device_s));
    dn_json_add_text (row, "bound_by", bound_text (time->bottleneck));
}

static struct json_object *kinds_of (const struct anatomy *anatomy)
{
    struct json_object *ops = json_object_new_array ();
    double flops = 0;

    for (int i = 0; i < DN_N_OP_KINDS; i++)
        flops += anatomy->kinds[i].forward_flops;
    for (int i = 0; i < DN_N_OP_KINDS; i++) {
        const struct op_group *group = &anatomy->kinds[i];
        struct json_object *row;

        if (!group->op)
            continue;
        row = dn_json_append_object (ops);
        dn_json_add_text (row, "kind", dn_names_get (&dn_op_kind_names, i));
        dn_json_add_real (row, "count", group->count);
        dn_json_add_real (row, "forward_flops_per_sample", group->forward_flops);
        dn_json_add_real (row, "flops_share", share (group->forward_flops, flops));
        dn_json_add_real (row, "params", group->params);
        add_time (row, &group->time, anatomy->device_s);
    }
    return ops;
}

static struct json_object *tops_of (const struct anatomy *anatomy, int64_t top)
{
    struct json_object *array = json_object_new_array ();

    for (int i = 0; i < anatomy->n_tops && i < top; i++) {
        const struct op_group *group = &anatomy->tops[i];
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (
            row, "kind", dn_names_get (&dn_op_kind_names, (int) group->op->kind));
        dn_json_add_text (row, "size", size_of (group->op).text);
        dn_json_add_real (row, "count", group->count);
        add_time (row, &group->time, anatomy->device_s);
    }
    return array;
}

static void print_json (const struct dn_site_gpu *gpu,
                        const struct anatomy *anatomy,
                        int64_t top)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    const struct dn_subject *subject = anatomy->subject;
    struct dn_forecast best = dn_site_gpus_run (subject, gpu, &anatomy->estimate);

    json_object_object_add (json, "spec", dn_show_spec_json (&subject->spec));
    json_object_object_add (json, "model", dn_show_model_json (&subject->graph));
    json_object_object_add (
        json, "candidate", dn_show_run_json (&best, &subject->spec));
    json_object_object_add (
        json, "unread", dn_show_keys_json (anatomy->estimate.unread));
    dn_remedies_add_json (json, subject, &best, &best);
    json_object_object_add (json, "assumed", dn_effects_json (subject, gpu->device));
    dn_json_add_text (json, "bound_by", bound_text (anatomy->bottleneck));
    dn_json_add_real (json, "site_factor", anatomy->estimate.site);
    json_object_object_add (json, "stages", stages_of (&anatomy->estimate));
    json_object_object_add (json, "memory", memory_of (&anatomy->estimate));
    json_object_object_add (json, "operators", kinds_of (anatomy));
    json_object_object_add (json, "top", tops_of (anatomy, top));
    dn_json_print (json);
}

static int print_stages (const struct anatomy *anatomy)
{
    const struct dn_estimate *estimate = &anatomy->estimate;

    printf ("\nOne step takes %s ms, bound by %s; stages overlap, they need not add "
            "up.\n",
            dn_show_real (estimate->step_s.p50 * 1000, 1).text,
            bound_text (anatomy->bottleneck));
    return dn_rows_print (stages_of (estimate),
                          "STAGE=stage|ms>=ms .2|% OF STEP>=share_of_step %.1",
                          NULL);
}

/* Where it is not sure that the run fits: what would; and what was assumed. */
static int print_fit (const struct dn_site_gpu *gpu, const struct anatomy *anatomy)
{
    const struct dn_estimate *estimate = &anatomy->estimate;
    const struct dn_forecast run = dn_site_gpus_run (anatomy->subject, gpu, estimate);

    if (!dn_estimate_surely_fits (estimate))
        printf (estimate->fits ? "Perhaps this does not fit.\n"
                               : "This does not fit.\n");
    dn_remedies_print (anatomy->subject, &run, 1);
    printf ("\n");
    return dn_effects_print (anatomy->subject, gpu->name, gpu->device);
}

static int print_memory (const struct dn_estimate *estimate)
{
    printf ("\nOne GPU holds %s of its %s.\n",
            dn_show_bytes (estimate->gpu_mem.p50).text,
            dn_show_bytes (estimate->device->memory).text);
    return dn_rows_print (
        memory_of (estimate), "MEMORY=class|GiB>=bytes GiB.3|%>=share %.1", NULL);
}

#define TIMES                                                                          \
    "COUNT>=count .0|FORWARD ms>=forward_ms .2|BACKWARD ms>=backward_ms .2|"           \
    "GFLOP>=flops G.1|GB>=bytes G.2|%>=share %.1|BOUND BY=bound_by"

/* The optimizer is not an operator of the network, but it takes device time. */
static int print_kinds (const struct anatomy *anatomy)
{
    struct json_object *kinds = kinds_of (anatomy);
    double seconds = anatomy->estimate.stage_s[DN_STAGE_OPTIMIZER];

    if (seconds > 0) {
        struct json_object *row = dn_json_append_object (kinds);

        dn_json_add_text (row, "kind", "(optimizer)");
        dn_json_add_real (row, "backward_ms", seconds * 1000);
        dn_json_add_real (row, "share", share (seconds, anatomy->device_s));
        dn_json_add_text (row, "bound_by", bound_text (DN_BOTTLENECK_BANDWIDTH));
    }
    printf ("\nThe device is busy for %s ms of a step:\n",
            dn_show_real (anatomy->device_s * 1000, 1).text);
    return dn_rows_print (kinds, "OPERATORS=kind|" TIMES, NULL);
}

static int print_tops (const struct anatomy *anatomy, int64_t top)
{
    int n = top < anatomy->n_tops ? (int) top : anatomy->n_tops;

    if (n == 0)
        return DN_EXIT_DONE;
    printf ("\nThe longest operators, those of equal size together (%d of %d):\n",
            n,
            anatomy->n_tops);
    return dn_rows_print (
        tops_of (anatomy, top), "OPERATOR=kind|SIZE=size|" TIMES, NULL);
}

static int print_text (const struct dn_site_gpu *gpu,
                       const struct anatomy *anatomy,
                       int64_t top)
{
    int exit_code;

    dn_show_model (&anatomy->subject->graph);
    printf ("on %s\n", anatomy->estimate.device->name);
    if (!anatomy->estimate.supported) {
        dn_complain ("gpu: %s cannot run this precision",
                     anatomy->estimate.device->name);
        return DN_EXIT_ABSTAINED;
    }
    if (fabs (anatomy->estimate.site - 1) >= 5e-4)
        printf ("By the site's own runs a step takes %s times as long as by the white "
                "box\nalone.\n",
                dn_show_real (anatomy->estimate.site, 3).text);
    exit_code = print_stages (anatomy);
    if (exit_code == DN_EXIT_DONE)
        exit_code = print_memory (&anatomy->estimate);
    if (exit_code == DN_EXIT_DONE)
        exit_code = print_fit (gpu, anatomy);
    if (exit_code == DN_EXIT_DONE)
        exit_code = print_kinds (anatomy);
    return exit_code == DN_EXIT_DONE ? print_tops (anatomy, top) : exit_code;
}

static int run (struct dn_options *given)
{
    struct call call = {.top = TOP_USUAL, .user = DN_UNSET};
    struct dn_err err = {0};
    dn_cleanup (dn_subject_free) struct dn_subject subject = {.graph = {.n_ops = 0}};
    dn_cleanup (free_anatomy) struct anatomy anatomy = {.tops = NULL};
    dn_cleanup (dn_seen_free) struct dn_seen seen = {.content = {NULL}};
    struct dn_site_gpus gpus = {.n = 0};

    if (!dn_options_all (given, &call, 1, -1) || !dn_options_site (given, NULL))
        return given->exit_code;
    if (!call.gpu && dn_usual_device (given->site))
        call.gpu = dn_usual_device (given->site)->name;
    if (!call.gpu)
        return dn_options_misuse (given, "--gpu=NAME is missing");
    dn_seen_read (&seen, given->site, NULL);
    gpus.site = given->site;
    gpus.cluster = dn_seen_cluster (&seen);
    if (dn_site_gpus_add_name (&gpus, call.gpu, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (dn_subject_read (given->site, given->args, given->n_args, &subject, &err) < 0)
        return dn_subject_fail (&err);
    if (call.user != DN_UNSET)
        subject.user = call.user;
    if (find_anatomy (&subject, gpus.devices[0], &anatomy, &err) < 0)
        return dn_fail (DN_EXIT_BUG, &err);
    if (!given->json)
        return print_text (gpus.list, &anatomy, call.top);
    print_json (gpus.list, &anatomy, call.top);
    return anatomy.estimate.supported ? DN_EXIT_DONE : DN_EXIT_ABSTAINED;
}

const struct dn_command dn_cmd_explain = {
    .name = "explain",
    .summary = "Show where the time and the memory of a run go",
    .arguments = "SPEC",
    .options = options,
    .run = run,
};
