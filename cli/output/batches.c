/* batches.c - one run at many batch sizes: throughput, memory, time, cost
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "batches.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "grid.h"

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
                         struct dn_numbers *numbers,
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

int dn_numbers_take (struct dn_options *given, void *to)
{
    struct dn_numbers *numbers = to;
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
static void set_usual (struct dn_batches *batches)
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

/* Nodes of so many GPUs. */
static int64_t count_nodes (const struct dn_spec *spec, int64_t gpus)
{
    int64_t per_node = spec->nodes > 1 ? spec->gpus / spec->nodes : GPUS_PER_NODE;

    if (gpus == spec->gpus)
        return spec->nodes;
    return (gpus + per_node - 1) / per_node;
}

int dn_batches_resize (const struct dn_site *site,
                       const struct dn_subject *subject,
                       int64_t gpus,
                       int64_t batch,
                       struct dn_subject *out,
                       struct dn_err *err)
{
    struct dn_spec *spec = &out->spec;
    int64_t before = subject->spec.global_batch;

    *out = *subject;
    memset (&out->graph, 0, sizeof (out->graph));
    spec->nodes = count_nodes (&subject->spec, gpus);
    spec->gpus = gpus;
    spec->batch = batch;
    spec->global_batch = DN_UNSET;
    if (dn_spec_resolve (spec, &site->datasets, DN_UNSET, err) < 0)
        return -1;
    if (spec->steps != DN_UNSET)
        spec->steps = rescale (spec->steps, before, spec->global_batch);
    if (spec->eval_every != DN_UNSET)
        spec->eval_every = rescale (spec->eval_every, before, spec->global_batch);
    return dn_sidecar_graph (&site->networks, &out->layers, spec, &out->graph, err);
}

/* Predict one size on all devices; 'estimates' has room for them. */
static int predict_size (const struct dn_site *site,
                         const struct dn_subject *subject,
                         int at,
                         struct dn_batches *batches,
                         struct dn_estimate *estimates,
                         struct dn_err *err)
{
    const struct dn_device *devices[DN_DEVICES_MAX];
    struct dn_subject sized;

    if (dn_batches_resize (
            site, subject, subject->spec.gpus, batches->sizes.list[at], &sized, err)
        < 0)
        return -1;
    for (int i = 0; i < batches->n_rows; i++)
        devices[i] = batches->rows[i].gpu->device;
    if (dn_subject_predict (site, &sized, devices, batches->n_rows, estimates, err) < 0)
        return -1;
    for (int i = 0; i < batches->n_rows; i++) {
        struct dn_batch_row *row = &batches->rows[i];
        struct dn_batch_point *point = &row->points[at];

        point->estimate = estimates[i];
        point->cost = dn_estimate_cost (&estimates[i], sized.spec.gpus, row->gpu->cost);
        point->fits = estimates[i].supported && sized.spec.batch <= row->largest;
    }
    batches->timed = dn_spec_steps (&sized.spec) >= 0;
    dn_graph_free (&sized.graph);
    return 0;
}

/* The smallest size that fits and has DN_KNEE_SHARE of the best throughput. */
static int find_knee (const struct dn_batch_row *row, int n)
{
    double best = 0;

    for (int i = 0; i < n; i++)
        if (row->points[i].fits)
            best = fmax (best, row->points[i].estimate.samples_per_s);
    for (int i = 0; i < n; i++)
        if (row->points[i].fits
            && row->points[i].estimate.samples_per_s >= DN_KNEE_SHARE * best)
            return i;
    return -1;
}

static double knee_rate (const struct dn_batch_row *row)
{
    return row->knee < 0 ? -1 : row->points[row->knee].estimate.samples_per_s;
}

static int compare_rows (const void *a, const void *b)
{
    const struct dn_batch_row *x = a;
    const struct dn_batch_row *y = b;

    if (knee_rate (x) != knee_rate (y))
        return knee_rate (x) > knee_rate (y) ? -1 : 1;
    return strcmp (x->gpu->name, y->gpu->name);
}

static int fill (const struct dn_site *site,
                 const struct dn_subject *subject,
                 struct dn_batches *batches,
                 struct dn_err *err)
{
    size_t n_rows = (size_t) batches->n_rows;
    size_t n = (size_t) batches->sizes.n;
    dn_cleanup (dn_free_ptr) struct dn_estimate *estimates =
        calloc (n_rows, sizeof (*estimates));

    batches->points = calloc (n_rows * n, sizeof (*batches->points));
    if (!estimates || !batches->points)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n_rows; i++)
        batches->rows[i].points = batches->points + i * n;
    for (int i = 0; i < batches->sizes.n; i++)
        if (predict_size (site, subject, i, batches, estimates, err) < 0)
            return -1;
    for (size_t i = 0; i < n_rows; i++)
        batches->rows[i].knee = find_knee (&batches->rows[i], batches->sizes.n);
    qsort (batches->rows, n_rows, sizeof (*batches->rows), compare_rows);
    return 0;
}

int dn_batches_predict (const struct dn_site *site,
                        const struct dn_subject *subject,
                        const struct dn_numbers *sizes,
                        const struct dn_site_gpus *gpus,
                        struct dn_batches *batches,
                        struct dn_err *err)
{
    memset (batches, 0, sizeof (*batches));
    batches->sizes = *sizes;
    batches->rows = calloc ((size_t) gpus->n, sizeof (*batches->rows));
    if (!batches->rows)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    batches->n_rows = gpus->n;
    for (int i = 0; i < gpus->n; i++) {
        const struct dn_case c = dn_subject_case (site, subject, gpus->devices[i], 0);

        batches->rows[i] = (struct dn_batch_row){
            .gpu = &gpus->list[i],
            .largest = dn_policy_largest_batch (&site->rules, &c),
            .may_hold_one = dn_policy_may_hold_one (&c),
        };
    }
    if (batches->sizes.n == 0)
        set_usual (batches);
    if (fill (site, subject, batches, err) == 0)
        return 0;
    dn_batches_free (batches);
    return -1;
}

void dn_batches_free (struct dn_batches *batches)
{
    if (!batches)
        return;
    free (batches->rows);
    free (batches->points);
    batches->rows = NULL;
    batches->points = NULL;
    batches->n_rows = 0;
}

/* --- showing --------------------------------------------------------------------- */

static void add_point (struct json_object *points,
                       int64_t size,
                       const struct dn_batch_point *point)
{
    const struct dn_estimate *e = &point->estimate;
    struct json_object *json = dn_json_append_object (points);
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

void dn_batches_add_json (struct json_object *to, const struct dn_batches *batches)
{
    struct json_object *array = dn_json_add_array (to, "batch_sizes");

    for (int i = 0; i < batches->n_rows; i++) {
        const struct dn_batch_row *row = &batches->rows[i];
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
            add_point (points, batches->sizes.list[p], &row->points[p]);
    }
}

static void add_knee (struct dn_grid *grid,
                      const struct dn_batches *batches,
                      const struct dn_batch_row *row)
{
    const struct dn_batch_point *point = &row->points[row->knee < 0 ? 0 : row->knee];
    const struct dn_estimate *e = &point->estimate;

    dn_grid_add (grid, "%s", row->gpu->name);
    if (e->supported)
        dn_grid_add (
            grid, "%s", dn_show_largest (row->largest, row->may_hold_one).text);
    else
        dn_grid_add (grid, "unsupported");
    if (row->knee < 0) {
        for (int i = 2; i < grid->n_columns; i++)
            dn_grid_add (grid, "-");
        return;
    }
    dn_grid_count (grid, batches->sizes.list[row->knee]);
    dn_grid_add (grid, "%s", dn_show_real (e->samples_per_s, 1).text);
    dn_grid_add (grid, "%s", dn_show_real (e->step_s.p50 * 1000, 1).text);
    dn_grid_add (grid, "%s", dn_show_bytes (e->gpu_mem.p50).text);
    dn_grid_add (grid, "%s", dn_show_time (e->train_s.p50).text);
    dn_grid_add (grid, "%s", dn_show_time (dn_shown_upper (e->train_s)).text);
    dn_grid_add (grid, "%s", dn_show_real (point->cost, 2).text);
}

static int print_knees (const struct dn_batches *batches)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (
        "GPU|MAX BATCH>|KNEE>|SAMPLES/s>|STEP ms>|GPU MEMORY>|TIME likely>|TIME p95>|COST>");

    for (int i = 0; i < batches->n_rows; i++)
        add_knee (&grid, batches, &batches->rows[i]);
    return dn_grid_print (&grid);
}

/* The quantity of a table. Memory is also shown for sizes that do not fit. */
enum quantity {
    QUANTITY_RATE,
    QUANTITY_MEMORY,
    QUANTITY_TIME,
    QUANTITY_COST
};

static struct dn_shown show_point (const struct dn_batch_point *point,
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

static int print_quantity (const struct dn_batches *batches, enum quantity quantity)
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

int dn_batches_print (const struct dn_batches *batches)
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

static double upper_time (const struct dn_combination *c)
{
    return dn_shown_upper (c->point.estimate.train_s);
}

/* The cost rises with the time. */
static double upper_cost (const struct dn_combination *c)
{
    return c->point.cost * upper_time (c) / c->point.estimate.train_s.p50;
}

static bool is_within (const struct dn_combination *c,
                       const struct dn_front_limits *limits)
{
    return c->point.fits && c->point.estimate.train_s.p50 > 0
           && (limits->seconds < 0 || upper_time (c) <= (double) limits->seconds)
           && (limits->budget < 0 || upper_cost (c) <= limits->budget);
}

/* Those within the limits first, the fastest first, of equal ones the cheapest. */
static int compare (const void *a, const void *b)
{
    const struct dn_combination *x = a;
    const struct dn_combination *y = b;
    double by_time = x->point.estimate.train_s.p50 - y->point.estimate.train_s.p50;
    double by_cost = x->point.cost - y->point.cost;

    if (x->within != y->within)
        return x->within ? -1 : 1;
    if (by_time != 0)
        return by_time < 0 ? -1 : 1;
    return (by_cost > 0) - (by_cost < 0);
}

/* In order of time, a combination is on the front if it is cheaper than all before. */
static void find_best (struct dn_front *front)
{
    double cheapest = -1;

    qsort (front->list, (size_t) front->n, sizeof (*front->list), compare);
    for (int i = 0; i < front->n && front->list[i].within; i++) {
        struct dn_combination *c = &front->list[i];

        c->best = cheapest < 0 || c->point.cost < cheapest;
        if (c->best)
            cheapest = c->point.cost;
    }
}

/* All sizes on all devices with one number of GPUs. */
static int add_count (const struct dn_site *site,
                      const struct dn_subject *subject,
                      const struct dn_numbers *sizes,
                      const struct dn_site_gpus *gpus,
                      const struct dn_front_limits *limits,
                      struct dn_front *front,
                      struct dn_err *err)
{
    dn_cleanup (dn_batches_free) struct dn_batches batches = {.n_rows = 0};

    if (dn_batches_predict (site, subject, sizes, gpus, &batches, err) < 0)
        return -1;
    for (int i = 0; i < batches.n_rows; i++)
        for (int p = 0; p < batches.sizes.n; p++) {
            struct dn_combination *c = &front->list[front->n++];

            *c = (struct dn_combination){.gpu = batches.rows[i].gpu,
                                         .gpus = subject->spec.gpus,
                                         .nodes = subject->spec.nodes,
                                         .batch = batches.sizes.list[p],
                                         .point = batches.rows[i].points[p]};
            c->within = is_within (c, limits);
        }
    return 0;
}

int dn_front_predict (const struct dn_site *site,
                      const struct dn_subject *subject,
                      const struct dn_numbers *counts,
                      const struct dn_numbers *sizes,
                      const struct dn_site_gpus *gpus,
                      const struct dn_front_limits *limits,
                      struct dn_front *front,
                      struct dn_err *err)
{
    struct dn_numbers own = {.list = {subject->spec.batch}, .n = 1};
    const struct dn_numbers *used = sizes->n > 0 ? sizes : &own;
    size_t most = (size_t) counts->n * (size_t) used->n * (size_t) gpus->n;
    struct dn_reason lacks = {.code = dn_spec_lacks_work (&subject->spec)};

    *front = (struct dn_front){.limited = limits->seconds >= 0 || limits->budget >= 0};
    if (lacks.code != DN_REASON_NONE)
        return dn_err_set (err, DN_E_RANGE, "--gpus: %s", dn_reason_text (&lacks).text);
    front->list = calloc (most, sizeof (*front->list));
    if (!front->list)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < counts->n; i++) {
        struct dn_subject counted;
        int rc;

        if (dn_batches_resize (
                site, subject, counts->list[i], subject->spec.batch, &counted, err)
            < 0)
            return -1;
        rc = add_count (site, &counted, used, gpus, limits, front, err);
        dn_graph_free (&counted.graph);
        if (rc < 0)
            return -1;
    }
    find_best (front);
    return 0;
}

void dn_front_free (struct dn_front *front)
{
    if (!front)
        return;
    free (front->list);
    *front = (struct dn_front){0};
}

void dn_front_add_json (struct json_object *to, const struct dn_front *front)
{
    struct json_object *array = dn_json_add_array (to, "combinations");

    for (int i = 0; i < front->n; i++) {
        const struct dn_combination *c = &front->list[i];
        const struct dn_estimate *e = &c->point.estimate;
        struct json_object *json = dn_json_append_object (array);

        dn_json_add_text (json, "gpu", c->gpu->device->name);
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
}

static void add_row (struct dn_grid *grid, const struct dn_combination *c)
{
    const struct dn_estimate *e = &c->point.estimate;

    dn_grid_add (grid, "%s", c->gpu->name);
    dn_grid_count (grid, c->gpus);
    dn_grid_count (grid, c->nodes);
    dn_grid_count (grid, c->batch);
    dn_grid_add (grid, "%s", dn_show_time (e->train_s.p50).text);
    dn_grid_add (grid, "%s", dn_show_time (upper_time (c)).text);
    dn_grid_add (grid, "%s", dn_show_real (c->point.cost, 2).text);
    dn_grid_add (grid, "%s", dn_show_real (e->samples_per_s, 1).text);
    dn_grid_add (grid, "%s", dn_show_bytes (e->gpu_mem.p50).text);
}

int dn_front_print (const struct dn_front *front)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (
        "GPU|GPUS>|NODES>|BATCH>|TIME likely>|TIME p95>|COST>|SAMPLES/s>|GPU MEMORY>");
    int n_within = 0;

    for (int i = 0; i < front->n; i++) {
        if (front->list[i].best)
            add_row (&grid, &front->list[i]);
        n_within += front->list[i].within ? 1 : 0;
    }
    if (n_within == 0) {
        dn_complain ("none of %d combinations fits%s",
                     front->n,
                     front->limited ? " and is within the limits" : "");
        return DN_EXIT_ABSTAINED;
    }
    printf ("The best of %d combinations, %d of which %s: no other is both faster and "
            "cheaper\n",
            front->n,
            n_within,
            front->limited ? "are within the limits" : "fit");
    return dn_grid_print (&grid);
}
