/* cmd_predict.c - time, memory, CPUs, energy and cost on GPU types
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "output/grid.h"
#include "output/rows.h"
#include "output/show.h"
#include "seen.h"
#include "site_gpus.h"
#include "what_if.h"

/* CPUs per GPU that are more than enough for every loader. */
#define CPUS_PLENTY 1e4

/* --- one run at many batch sizes: throughput, memory, time, cost -------------------
 */

#define NUMBERS_MAX 32

/* The knee is the smallest batch with this share of the best throughput. A larger batch
 * needs more memory, and often loses accuracy, for little speed.
 */
#define KNEE_SHARE 0.9

/* Batch sizes per GPU, or numbers of GPUs, ascending. */
struct numbers {
    int64_t list[NUMBERS_MAX];
    int n;
    bool given; /* the option, perhaps without its argument */
};

/* One size on one device. */
struct batch_point {
    struct dn_estimate estimate;
    double cost; /* of the run; -1 unknown */
    bool fits;   /* at most the row's 'largest' */
};

/* One GPU. */
struct batch_row {
    const struct dn_site_gpu *gpu; /* borrowed */
    int64_t largest;               /* batch that the policy accepts there; 0 none */
    bool may_hold_one;             /* a batch of 1 may fit there */
    int knee;                      /* index of the size; -1: none fits */
    struct batch_point *points;    /* one per size, of the table */
};

struct batches {
    struct numbers sizes;            /* none: the powers of two that fit any GPU */
    const struct dn_site_gpus *gpus; /* borrowed */
    struct batch_row *rows;          /* owned */
    struct batch_point *points;      /* owned, row after row */
    int n_rows;
    bool timed; /* the amount of work is known */
};

/* A combination is on the Pareto front if no other one that fits, ends by the deadline
 * and costs at most the budget is both faster and cheaper.
 */
struct front_limits {
    double budget;   /* of the run's cost at its 95 % bound; -1: none */
    int64_t seconds; /* of the run's time at its 95 % bound; DN_UNSET: none */
};

/* One combination that was tried. */
struct combination {
    const struct dn_site_gpu *gpu; /* borrowed */
    int64_t gpus;
    int64_t nodes;
    int64_t batch; /* per GPU */
    struct batch_point point;
    bool within; /* fits, and is within the limits */
    bool best;   /* on the front */
};

struct front {
    struct numbers sizes;
    const struct dn_site_gpus *gpus; /* borrowed */
    struct front_limits limits;
    struct combination *list; /* owned; by time, those that fit first */
    int n;
};

/* The largest size that is tried if --batch-sizes has no list. */
#define USUAL_MAX 65536

static int compare_sizes (const void *a, const void *b)
{
    int64_t x = *(const int64_t *) a;
    int64_t y = *(const int64_t *) b;

    return (x > y) - (x < y);
}

static int read_numbers (struct dn_span rest,
                         const struct dn_option *option,
                         const struct dn_key *key,
                         struct numbers *numbers,
                         struct dn_err *err)
{
    const int64_t min = (int64_t) key->min;
    const int64_t max = (int64_t) key->max;
    int64_t *list = numbers->list;
    int n = 0;

    for (; rest.text; n++) {
        struct dn_span piece = dn_span_trim (dn_span_cut (&rest, ","));

        if (n == (int) option->max)
            return dn_err_set (
                err, DN_E_LIMIT, "%s: more than %d of them", option->name, n);
        if (dn_int_read (piece, option->name, min, max, &list[n], err) < 0)
            return -1;
    }
    qsort (list, (size_t) n, sizeof (*list), compare_sizes);
    numbers->n = 0;
    for (int i = 0; i < n; i++)
        if (numbers->n == 0 || list[i] != list[numbers->n - 1])
            list[numbers->n++] = list[i];
    return 0;
}

/* Take the argument "8,16,32" of an option: at most its 'max' numbers in any order,
 * equal ones once, in the range of the metadata key of its name, else of batch=. Return
 * an enum dn_exit.
 */
static int take_numbers (struct dn_options *given, void *to)
{
    struct numbers *numbers = to;
    const struct dn_key *key = dn_spec_key (dn_span_of (given->row->name));
    struct dn_span text = dn_span_of (given->argument);
    struct dn_err err = {0};

    if (!key)
        key = dn_spec_key (dn_span_of ("batch"));
    numbers->given = true;
    return text.text && read_numbers (text, given->row, key, numbers, &err) < 0
               ? dn_options_misuse (given, "--%s", err.text)
               : DN_EXIT_DONE;
}

/* The powers of two up to the largest that fits any device, at least one size. */
static void set_usual (struct batches *batches)
{
    int64_t largest = 1;

    for (int i = 0; i < batches->n_rows; i++)
        if (batches->rows[i].largest > largest)
            largest = batches->rows[i].largest;
    for (int64_t size = 1; size <= largest && size <= USUAL_MAX; size *= 2)
        batches->sizes.list[batches->sizes.n++] = size;
}

/* Convert 'count' steps of the old size to steps of the new size. */
static int64_t rescale (int64_t count, int64_t old_samples, int64_t new_samples)
{
    double scaled = (double) count * (double) old_samples / (double) new_samples;

    return scaled < 1 ? 1 : (int64_t) ceil (fmin (scaled, 1e15));
}

/* GPUs of a node where the specification does not say how many there are. */
#define GPUS_PER_NODE 8

/* A copy of the subject, which borrows the layers, with another number of GPUs and
 * batch per GPU. Gradient accumulation is unchanged; the number of steps and the
 * evaluation interval are scaled so that the number of samples is the same. Another
 * number of GPUs takes as many to a node as 'subject' has, or eight. Free its graph.
 */
static int resize (const struct dn_subject *subject,
                   int64_t gpus,
                   int64_t batch,
                   struct dn_subject *out,
                   struct dn_err *err)
{
    struct dn_spec *spec = &out->spec;
    int64_t before = subject->spec.global_batch;
    int64_t per_node;

    *out = *subject;
    memset (&out->graph, 0, sizeof (out->graph));
    per_node = spec->nodes > 1 ? spec->gpus / spec->nodes : GPUS_PER_NODE;
    if (gpus != spec->gpus)
        spec->nodes = (gpus + per_node - 1) / per_node;
    spec->gpus = gpus;
    spec->batch = batch;
    spec->global_batch = DN_UNSET;
    if (dn_spec_resolve (spec, &subject->site->datasets, DN_UNSET, err) < 0)
        return -1;
    if (spec->steps != DN_UNSET)
        spec->steps = rescale (spec->steps, before, spec->global_batch);
    if (spec->eval_every != DN_UNSET)
        spec->eval_every = rescale (spec->eval_every, before, spec->global_batch);
    return dn_sidecar_graph (
        &subject->site->networks, &out->layers, spec, &out->graph, err);
}

/* Predict one size on all devices; 'estimates' has room for them. */
static int predict_size (const struct dn_subject *subject,
                         int at,
                         struct batches *batches,
                         struct dn_estimate *estimates,
                         struct dn_err *err)
{
    const struct dn_device *devices[DN_DEVICES_MAX];
    struct dn_subject sized;

    if (resize (subject, subject->spec.gpus, batches->sizes.list[at], &sized, err) < 0)
        return -1;
    for (int i = 0; i < batches->n_rows; i++)
        devices[i] = batches->rows[i].gpu->device;
    if (dn_subject_predict (&sized, devices, batches->n_rows, estimates, err) < 0)
        return -1;
    for (int i = 0; i < batches->n_rows; i++) {
        struct batch_row *row = &batches->rows[i];
        struct batch_point *point = &row->points[at];

        point->estimate = estimates[i];
        point->cost = dn_estimate_cost (&estimates[i], sized.spec.gpus, row->gpu->cost);
        point->fits = estimates[i].supported && sized.spec.batch <= row->largest;
    }
    batches->timed = dn_spec_steps (&sized.spec) >= 0;
    dn_graph_free (&sized.graph);
    return 0;
}

/* The smallest size that fits and has KNEE_SHARE of the best throughput. */
static int find_knee (const struct batch_row *row, int n)
{
    double best = 0;

    for (int i = 0; i < n; i++)
        if (row->points[i].fits)
            best = fmax (best, row->points[i].estimate.samples_per_s);
    for (int i = 0; i < n; i++)
        if (row->points[i].fits
            && row->points[i].estimate.samples_per_s >= KNEE_SHARE * best)
            return i;
    return -1;
}

static double knee_rate (const struct batch_row *row)
{
    return row->knee < 0 ? -1 : row->points[row->knee].estimate.samples_per_s;
}

static int compare_rows (const void *a, const void *b)
{
    const struct batch_row *x = a;
    const struct batch_row *y = b;

    if (knee_rate (x) != knee_rate (y))
        return knee_rate (x) > knee_rate (y) ? -1 : 1;
    return strcmp (x->gpu->name, y->gpu->name);
}

/* Predict 'subject' with each of the sizes instead of its batch on each GPU. The row
 * with the best throughput at the knee comes first. The number of samples is the same.
 */
static int predict_batches (const struct dn_subject *subject,
                            struct batches *batches,
                            struct dn_err *err)
{
    const struct dn_site_gpus *gpus = batches->gpus;
    size_t n_rows = (size_t) gpus->n;
    dn_cleanup (dn_free_ptr) struct dn_estimate *estimates =
        calloc (n_rows, sizeof (*estimates));

    batches->n_rows = gpus->n;
    batches->rows = calloc (n_rows, sizeof (*batches->rows));
    if (!estimates || !batches->rows)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < gpus->n; i++) {
        const struct dn_case c = dn_subject_case (subject, gpus->devices[i], 0);

        batches->rows[i].gpu = &gpus->list[i];
        batches->rows[i].largest = dn_policy_largest_batch (&subject->site->rules, &c);
        batches->rows[i].may_hold_one = dn_policy_may_hold_one (&c);
    }
    if (batches->sizes.n == 0)
        set_usual (batches);
    batches->points =
        calloc (n_rows * (size_t) batches->sizes.n, sizeof (*batches->points));
    if (!batches->points)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < gpus->n; i++)
        batches->rows[i].points = batches->points + i * batches->sizes.n;
    for (int i = 0; i < batches->sizes.n; i++)
        if (predict_size (subject, i, batches, estimates, err) < 0)
            return -1;
    for (int i = 0; i < gpus->n; i++)
        batches->rows[i].knee = find_knee (&batches->rows[i], batches->sizes.n);
    qsort (batches->rows, n_rows, sizeof (*batches->rows), compare_rows);
    return 0;
}

static void free_batches (struct batches *batches)
{
    free (batches->rows);
    free (batches->points);
}

/* --- showing --------------------------------------------------------------------- */

static void add_point (struct json_object *json,
                       int64_t size,
                       const struct batch_point *point)
{
    const struct dn_estimate *e = &point->estimate;
    bool known = e->supported;

    dn_json_add_count (json, "batch", size);
    dn_json_add_bool (json, "fits", point->fits);
    dn_json_add_real (json, "samples_per_s", known ? e->samples_per_s : -1);
    dn_show_time_json (json, "step_ms", e->step_s, 1000, known);
    dn_show_range_json (json, "gpu_mem_bytes", e->gpu_mem, 1, known);
    if (known && e->train_s.p50 >= 0)
        dn_show_time_json (json, "train_s", e->train_s, 1, true);
    else
        json_object_object_add (json, "train_s", NULL);
    dn_json_add_real (json, "cost", known ? point->cost : -1);
}

/* Add "batch_sizes", an object per device, to a document. */
static void add_batches_json (struct json_object *to, const struct batches *batches)
{
    struct json_object *array = dn_json_add_array (to, "batch_sizes");

    for (int i = 0; i < batches->n_rows; i++) {
        const struct batch_row *row = &batches->rows[i];
        struct json_object *json = dn_json_append_object (array);
        struct json_object *points;
        bool known = row->points[0].estimate.supported;

        dn_json_add_text (json, "gpu", row->gpu->device->name);
        dn_json_add_text (json, "type", row->gpu->is_type ? row->gpu->name : NULL);
        dn_json_add_count (json, "largest_batch", known ? row->largest : -1);
        dn_json_add_count (
            json, "knee", row->knee < 0 ? -1 : batches->sizes.list[row->knee]);
        points = dn_json_add_array (json, "points");
        for (int p = 0; p < batches->sizes.n; p++)
            add_point (dn_json_append_object (points),
                       batches->sizes.list[p],
                       &row->points[p]);
    }
}

/* The devices at their knees. */
static int print_knees (const struct batches *batches)
{
    struct json_object *rows = json_object_new_array ();

    for (int i = 0; i < batches->n_rows; i++) {
        const struct batch_row *row = &batches->rows[i];
        struct json_object *json = dn_json_append_object (rows);
        bool known = row->points[0].estimate.supported;

        dn_json_add_text (json, "gpu", row->gpu->name);
        dn_json_add_text (json,
                          "largest",
                          known ? dn_show_largest (row->largest, row->may_hold_one).text
                                : "unsupported");
        if (row->knee >= 0)
            add_point (json, batches->sizes.list[row->knee], &row->points[row->knee]);
    }
    return dn_rows_print (rows,
                          "GPU=gpu|MAX BATCH>=largest|KNEE>=batch|"
                          "SAMPLES/s>=samples_per_s .1|STEP ms>=step_ms.p50 .1|"
                          "GPU MEMORY>=gpu_mem_bytes.p50 memory|"
                          "TIME likely>=train_s.p50 time|TIME p95>=train_s.p95 time|"
                          "COST>=cost .2",
                          NULL);
}

/* The quantity of a table. Memory is also shown for sizes that do not fit. */
enum quantity {
    QUANTITY_RATE,
    QUANTITY_MEMORY,
    QUANTITY_TIME,
    QUANTITY_COST
};

static struct dn_shown show_point (const struct batch_point *point,
                                   enum quantity quantity)
{
    const struct dn_estimate *e = &point->estimate;
    double rate = e->samples_per_s;

    if (!e->supported || (quantity != QUANTITY_MEMORY && !point->fits))
        return dn_show_real (-1, 0);
    if (quantity == QUANTITY_MEMORY)
        return dn_show_real (e->gpu_mem.p50 / DN_GIB, 1);
    if (quantity == QUANTITY_TIME)
        return dn_show_time (e->train_s.p50);
    if (quantity == QUANTITY_COST)
        return dn_show_real (point->cost, 2);
    return dn_show_real (rate, rate < 10 ? 2 : 0);
}

static int print_quantity (const struct batches *batches, enum quantity quantity)
{
    int n = batches->sizes.n;
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of ("BATCH PER GPU");

    for (int i = 0; i < n; i++)
        dn_grid_head (&grid, "%" PRId64 ">", batches->sizes.list[i]);
    for (int i = 0; i < batches->n_rows; i++) {
        dn_grid_add (&grid, "%s", batches->rows[i].gpu->name);
        for (int p = 0; p < n; p++)
            dn_grid_add (
                &grid, "%s", show_point (&batches->rows[i].points[p], quantity).text);
    }
    return dn_grid_print (&grid);
}

/* Print the devices at their knees, then a table per quantity. */
static int print_batches (const struct batches *batches)
{
    static const char *const titles[] = {"Samples per second",
                                         "Memory of one GPU, GiB",
                                         "Time of the run, likely",
                                         "Cost of the run"};
    int exit_code = print_knees (batches);

    for (int q = QUANTITY_RATE; q <= QUANTITY_COST && exit_code == DN_EXIT_DONE; q++) {
        if (q >= QUANTITY_TIME && !batches->timed)
            continue;
        printf ("\n%s:\n", titles[q]);
        exit_code = print_quantity (batches, (enum quantity) q);
    }
    return exit_code;
}

/* --- the front ---------------------------------------------------------------------
 */

static double upper_time (const struct combination *c)
{
    return dn_shown_upper (c->point.estimate.train_s);
}

/* The cost rises with the time. */
static double upper_cost (const struct combination *c)
{
    return c->point.cost * upper_time (c) / c->point.estimate.train_s.p50;
}

static bool is_within (const struct combination *c, const struct front_limits *limits)
{
    return c->point.fits && c->point.estimate.train_s.p50 > 0
           && (limits->seconds < 0 || upper_time (c) <= (double) limits->seconds)
           && (limits->budget < 0 || upper_cost (c) <= limits->budget);
}

/* Those within the limits first, the fastest first, of equal ones the cheapest. */
static int compare (const void *a, const void *b)
{
    const struct combination *x = a;
    const struct combination *y = b;
    double by_time = x->point.estimate.train_s.p50 - y->point.estimate.train_s.p50;
    double by_cost = x->point.cost - y->point.cost;

    if (x->within != y->within)
        return x->within ? -1 : 1;
    if (by_time != 0)
        return by_time < 0 ? -1 : 1;
    return (by_cost > 0) - (by_cost < 0);
}

/* In order of time, a combination is on the front if it is cheaper than all before. */
static void find_best (struct front *front)
{
    double cheapest = -1;

    qsort (front->list, (size_t) front->n, sizeof (*front->list), compare);
    for (int i = 0; i < front->n && front->list[i].within; i++) {
        struct combination *c = &front->list[i];

        c->best = cheapest < 0 || c->point.cost < cheapest;
        if (c->best)
            cheapest = c->point.cost;
    }
}

/* All sizes on all devices with one number of GPUs. */
static int add_count (const struct dn_subject *subject,
                      struct front *front,
                      struct dn_err *err)
{
    dn_cleanup (free_batches) struct batches batches = {.sizes = front->sizes,
                                                        .gpus = front->gpus};

    if (predict_batches (subject, &batches, err) < 0)
        return -1;
    for (int i = 0; i < batches.n_rows; i++)
        for (int p = 0; p < batches.sizes.n; p++) {
            struct combination *c = &front->list[front->n++];

            *c = (struct combination){.gpu = batches.rows[i].gpu,
                                      .gpus = subject->spec.gpus,
                                      .nodes = subject->spec.nodes,
                                      .batch = batches.sizes.list[p],
                                      .point = batches.rows[i].points[p]};
            c->within = is_within (c, &front->limits);
        }
    return 0;
}

/* Predict 'subject' with each number of GPUs and each batch size on each device;
 * without sizes, with its own batch. The batch per GPU stays, the number of samples
 * too. More than eight GPUs take several nodes, unless 'subject' states how many a node
 * has. -1 with 'err': the amount of work is unknown, or a number of GPUs does not go
 * with the specification.
 */
static int predict_front (const struct dn_subject *subject,
                          const struct numbers *counts,
                          struct front *front,
                          struct dn_err *err)
{
    struct dn_reason lacks = {.code = dn_spec_lacks_work (&subject->spec)};
    size_t most;

    if (front->sizes.n == 0)
        front->sizes.list[front->sizes.n++] = subject->spec.batch;
    most = (size_t) counts->n * (size_t) front->sizes.n * (size_t) front->gpus->n;
    if (lacks.code != DN_REASON_NONE)
        return dn_err_set (err, DN_E_RANGE, "--gpus: %s", dn_reason_text (&lacks).text);
    front->list = calloc (most, sizeof (*front->list));
    if (!front->list)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < counts->n; i++) {
        struct dn_subject counted;
        int rc;

        if (resize (subject, counts->list[i], subject->spec.batch, &counted, err) < 0)
            return -1;
        rc = add_count (&counted, front, err);
        dn_graph_free (&counted.graph);
        if (rc < 0)
            return -1;
    }
    find_best (front);
    return 0;
}

static void free_front (struct front *front)
{
    free (front->list);
}

/* An object per combination; of the 'best' alone where these are wanted. */
static struct json_object *combinations_of (const struct front *front, bool best)
{
    struct json_object *array = json_object_new_array ();

    for (int i = 0; i < front->n; i++) {
        const struct combination *c = &front->list[i];
        const struct dn_estimate *e = &c->point.estimate;
        struct json_object *json;

        if (best && !c->best)
            continue;
        json = dn_json_append_object (array);
        dn_json_add_text (json, "gpu", best ? c->gpu->name : c->gpu->device->name);
        dn_json_add_text (json, "type", c->gpu->is_type ? c->gpu->name : NULL);
        dn_json_add_count (json, "gpus", c->gpus);
        dn_json_add_count (json, "nodes", c->nodes);
        dn_json_add_count (json, "batch", c->batch);
        dn_json_add_bool (json, "fits", c->point.fits);
        dn_json_add_bool (json, "within", c->within);
        dn_json_add_bool (json, "best", c->best);
        dn_json_add_real (json, "samples_per_s", e->supported ? e->samples_per_s : -1);
        dn_show_time_json (json, "train_s", e->train_s, 1, e->supported);
        dn_show_range_json (json, "gpu_mem_bytes", e->gpu_mem, 1, e->supported);
        dn_json_add_real (json, "cost", e->supported ? c->point.cost : -1);
    }
    return array;
}

/* Print the front, the fastest first. Return an enum dn_exit. */
static int print_front (const struct front *front)
{
    bool limited = front->limits.seconds >= 0 || front->limits.budget >= 0;
    int n_within = 0;

    for (int i = 0; i < front->n; i++)
        n_within += front->list[i].within ? 1 : 0;
    if (n_within == 0) {
        dn_complain ("none of %d combinations fits%s",
                     front->n,
                     limited ? " and is within the limits" : "");
        return DN_EXIT_ABSTAINED;
    }
    printf ("The best of %d combinations, %d of which %s: no other is both faster and "
            "cheaper\n",
            front->n,
            n_within,
            limited ? "are within the limits" : "fit");
    return dn_rows_print (combinations_of (front, true),
                          "GPU=gpu|GPUS>=gpus|NODES>=nodes|BATCH>=batch|"
                          "TIME likely>=train_s.p50 time|TIME p95>=train_s.p95 time|"
                          "COST>=cost .2|SAMPLES/s>=samples_per_s .1|"
                          "GPU MEMORY>=gpu_mem_bytes.p50 memory",
                          NULL);
}

/* The options of a call. */
struct call {
    struct dn_gpus_wanted wanted;
    int64_t curve;         /* maximum CPUs per GPU of --cpu-curve, 0: no curve */
    struct numbers sizes;  /* of --batch-sizes; none: powers of two */
    struct numbers counts; /* of --gpus; none: no combinations */
    struct front_limits limits;
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
                 take_numbers,
                 DN_OPT_AT (sizes, .max = NUMBERS_MAX)),
    DN_OPT_TAKE ("gpus",
                 "LIST",
                 "the best of GPU types, these numbers, and batches",
                 take_numbers,
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
static int predict_largest (const struct dn_subject *subject,
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
        if (resize (subject, subject->spec.gpus, runs[i].largest_batch, &sized, err)
            < 0)
            return -1;
        rc = dn_subject_predict (
            &sized, &runs[i].estimate->device, 1, &estimates[i], err);
        dn_graph_free (&sized.graph);
        if (rc < 0)
            return -1;
        runs[i].at_largest = &estimates[i];
    }
    return 0;
}

/* Samples per second of the whole job with so many CPUs per GPU. */
static double throughput (const struct dn_subject *subject,
                          const struct dn_forecast *run,
                          double cpus)
{
    const struct dn_case c = dn_subject_case (subject, run->estimate->device, cpus);

    return dn_whitebox_throughput (&c);
}

/* Does the throughput of this run depend on the number of CPUs in a known way? */
static bool has_curve (const struct dn_forecast *run)
{
    return run->estimate->supported && run->estimate->cpus_per_gpu >= 0;
}

static void add_curve (struct json_object *row,
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
    plateau = throughput (subject, run, CPUS_PLENTY);
    for (int64_t cpus = 1; cpus <= n_cpus; cpus++) {
        struct json_object *point = dn_json_append_object (curve);
        double rate = throughput (subject, run, (double) cpus);

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

static int print_curves (const struct dn_subject *subject,
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
        double plateau = throughput (subject, &runs[i], CPUS_PLENTY);

        dn_grid_add (&grid, "%s", runs[i].name);
        for (int p = 0; p < n_picked; p++) {
            double rate = throughput (subject, &runs[i], (double) picked[p]);

            dn_grid_add (
                &grid,
                "%s",
                dn_show_real (has_curve (&runs[i]) ? rate / plateau : -1, 2).text);
        }
    }
    return dn_grid_print (&grid);
}

static void print_json (const struct dn_subject *subject,
                        const struct dn_forecast *runs,
                        int n_runs,
                        int64_t n_cpus,
                        const struct batches *batches)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    struct json_object *candidates;
    struct dn_keyset unread = dn_subject_unread (subject);
    const struct dn_forecast *best = dn_best_run (runs, n_runs);

    json_object_object_add (json, "spec", dn_show_spec_json (&subject->spec));
    json_object_object_add (json, "model", dn_show_model_json (&subject->graph));
    dn_json_add_text (json,
                      "model_bundle",
                      subject->site->bundle ? subject->site->bundle->name : NULL);
    candidates = dn_json_add_array (json, "candidates");
    for (int i = 0; i < n_runs; i++) {
        struct json_object *row = dn_show_run_json (&runs[i], &subject->spec);

        if (n_cpus > 0)
            add_curve (row, subject, &runs[i], n_cpus);
        dn_remedies_add_json (row, subject, best, &runs[i]);
        json_object_array_add (candidates, row);
        /* -Wanalyzer-use-of-uninitialized-value is wrong here: it is set */
        unread = dn_keyset_or (unread, runs[i].estimate->unread);
    }
    json_object_object_add (json, "unread", dn_show_keys_json (unread));
    json_object_object_add (
        json, "assumed", dn_effects_json (subject, best->estimate->device));
    if (batches)
        add_batches_json (json, batches);
    dn_json_print (json);
}

/* Read SPEC. With --batch-sizes it needs no batch. */
static int read_subject (const struct dn_site *site,
                         const struct dn_options *given,
                         const struct call *call,
                         struct dn_subject *subject,
                         struct dn_err *err)
{
    const struct numbers *sizes = &call->sizes;

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
static int compare_counts (const struct dn_subject *subject,
                           const struct call *call,
                           const struct dn_site_gpus *gpus,
                           bool json)
{
    dn_cleanup (free_front) struct front front = {
        .sizes = call->sizes, .gpus = gpus, .limits = call->limits};
    dn_cleanup (dn_json_free) struct json_object *document = NULL;
    struct dn_err err = {0};

    if (front.limits.budget < 0)
        front.limits.budget = subject->spec.budget;
    if (front.limits.seconds < 0)
        front.limits.seconds = subject->spec.deadline;
    if (predict_front (subject, &call->counts, &front, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (!json) {
        dn_show_model (&subject->graph);
        return print_front (&front);
    }
    document = json_object_new_object ();
    json_object_object_add (document, "spec", dn_show_spec_json (&subject->spec));
    json_object_object_add (document, "model", dn_show_model_json (&subject->graph));
    json_object_object_add (document, "combinations", combinations_of (&front, false));
    dn_json_print (document);
    return DN_EXIT_DONE;
}

static int predict (const struct dn_subject *subject,
                    const struct call *call,
                    const struct dn_site_gpus *gpus,
                    bool json)
{
    dn_cleanup (free_batches) struct batches batches = {.sizes = call->sizes,
                                                        .gpus = gpus};
    dn_cleanup (dn_free_ptr) struct dn_estimate *estimates =
        calloc (2 * DN_DEVICES_MAX, sizeof (*estimates));
    struct dn_forecast runs[DN_DEVICES_MAX];
    struct dn_err err = {0};
    int exit_code = DN_EXIT_DONE;

    if (!estimates) {
        dn_complain ("out of memory");
        return DN_EXIT_BUG;
    }
    if (call->sizes.given && predict_batches (subject, &batches, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (dn_site_gpus_predict (subject, gpus, runs, estimates, &err) < 0
        || (subject->open_batch
            && predict_largest (
                   subject, runs, gpus->n, estimates + DN_DEVICES_MAX, &err)
                   < 0))
        return dn_fail (DN_EXIT_DATA, &err);
    if (json) {
        print_json (
            subject, runs, gpus->n, call->curve, call->sizes.given ? &batches : NULL);
        return DN_EXIT_DONE;
    }
    dn_show_model (&subject->graph);
    if (call->sizes.given)
        return print_batches (&batches);
    exit_code = dn_show_runs (runs, gpus->n, &subject->spec);
    dn_remedies_print (subject, runs, gpus->n);
    if (exit_code == DN_EXIT_DONE)
        exit_code = dn_effects_print (subject, runs[0].name, runs[0].estimate->device);
    dn_show_beyond (runs, gpus->n, &subject->spec);
    dn_site_gpus_explain (gpus);
    if (exit_code == DN_EXIT_DONE && call->curve > 0)
        exit_code = print_curves (subject, runs, gpus->n, call->curve);
    return exit_code;
}

static int run (struct dn_options *given)
{
    struct call call = {.user = DN_UNSET,
                        .limits = {.budget = -1, .seconds = DN_UNSET}};
    struct dn_err err = {0};
    dn_cleanup (dn_subject_free) struct dn_subject subject = {.graph = {.n_ops = 0}};
    dn_cleanup (dn_seen_free) struct dn_seen seen = {.content = {NULL}};
    struct dn_site_gpus gpus = {.n = 0};
    int exit_code;

    if (!dn_options_all (given, &call, 1, -1)
        || check_options (given, &call) != DN_EXIT_DONE
        || !dn_options_site (given, NULL))
        return given->exit_code;
    if (read_subject (given->site, given, &call, &subject, &err) < 0)
        return dn_subject_fail (&err);
    if (call.user != DN_UNSET)
        subject.user = call.user;
    call.wanted.usual = subject.open_batch;
    exit_code = dn_seen_look (&seen, given->site, call.snapshot);
    if (exit_code != DN_EXIT_DONE)
        return exit_code;
    gpus.site = given->site;
    gpus.cluster = dn_seen_cluster (&seen);
    if (dn_site_gpus_find (&gpus, &call.wanted, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (call.counts.n > 0)
        return compare_counts (&subject, &call, &gpus, given->json);
    return predict (&subject, &call, &gpus, given->json);
}

const struct dn_command dn_cmd_predict = {
    .name = "predict",
    .summary = "Predict time, memory, CPUs, energy and cost on the GPU types",
    .arguments = "SPEC",
    .options = options,
    .run = run,
};
