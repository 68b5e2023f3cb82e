/* batches.c - one run at many batch sizes: throughput, memory, time, cost
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "batches.h"

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

int dn_batch_list_read (const char *text,
                        const struct dn_batch_list *list,
                        int64_t *numbers,
                        int *n,
                        struct dn_err *err)
{
    struct dn_span rest = dn_span_of (text);
    int n_read = 0;

    while (rest.text) {
        struct dn_span piece = dn_span_trim (dn_span_cut (&rest, ","));

        if (n_read == list->max)
            return dn_err_set (
                err, DN_E_LIMIT, "%s: more than %d of them", list->what, list->max);
        if (dn_int_read (piece,
                         list->what,
                         (int64_t) list->key->min,
                         (int64_t) list->key->max,
                         &numbers[n_read],
                         err)
            < 0)
            return -1;
        n_read++;
    }
    qsort (numbers, (size_t) n_read, sizeof (*numbers), compare_sizes);
    *n = 0;
    for (int i = 0; i < n_read; i++)
        if (*n == 0 || numbers[i] != numbers[*n - 1])
            numbers[(*n)++] = numbers[i];
    return 0;
}

int dn_batch_sizes_read (const char *text,
                         struct dn_batch_sizes *sizes,
                         struct dn_err *err)
{
    const struct dn_batch_list list = {.what = "--batch-sizes",
                                       .key = dn_spec_key (dn_span_of ("batch")),
                                       .max = DN_BATCHES_MAX};

    return dn_batch_list_read (text, &list, sizes->sizes, &sizes->n, err);
}

/* The powers of two up to the largest that fits any device, at least one size. */
static void set_usual (struct dn_batches *batches)
{
    int64_t largest = 1;

    for (int i = 0; i < batches->n_rows; i++)
        if (batches->rows[i].largest > largest)
            largest = batches->rows[i].largest;
    for (int64_t size = 1; size <= largest && size <= USUAL_MAX; size *= 2)
        batches->sizes.sizes[batches->sizes.n++] = size;
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
            site, subject, subject->spec.gpus, batches->sizes.sizes[at], &sized, err)
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
                        const struct dn_batch_sizes *sizes,
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
            json, "knee", row->knee < 0 ? -1 : batches->sizes.sizes[row->knee]);
        points = dn_json_add_array (json, "points");
        for (int p = 0; p < batches->sizes.n; p++)
            add_point (points, batches->sizes.sizes[p], &row->points[p]);
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
    dn_grid_add (grid, "%lld", (long long) batches->sizes.sizes[row->knee]);
    dn_grid_add (grid, "%s", dn_show_real (e->samples_per_s, 1).text);
    dn_grid_add (grid, "%s", dn_show_real (e->step_s.p50 * 1000, 1).text);
    dn_grid_add (grid, "%s", dn_show_bytes (e->gpu_mem.p50).text);
    dn_grid_add (grid, "%s", dn_show_time (e->train_s.p50).text);
    dn_grid_add (grid, "%s", dn_show_time (dn_shown_upper (e->train_s)).text);
    dn_grid_add (grid, "%s", dn_show_real (point->cost, 2).text);
}

static int print_knees (const struct dn_batches *batches)
{
    static const struct dn_grid_column columns[] = {{"GPU", false},
                                                    {"MAX BATCH", true},
                                                    {"KNEE", true},
                                                    {"SAMPLES/s", true},
                                                    {"STEP ms", true},
                                                    {"GPU MEMORY", true},
                                                    {"TIME likely", true},
                                                    {"TIME p95", true},
                                                    {"COST", true}};
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of (columns, (int) DN_N_ELEMENTS (columns));

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
    struct dn_grid_column columns[DN_BATCHES_MAX + 1] = {{"BATCH PER GPU", false}};
    struct dn_shown headings[DN_BATCHES_MAX];
    int n = batches->sizes.n;
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (columns, n + 1);

    for (int i = 0; i < n; i++) {
        headings[i] = dn_show_real ((double) batches->sizes.sizes[i], 0);
        /* cppcheck-suppress unreadVariable ; by the grid */
        columns[i + 1] = (struct dn_grid_column){headings[i].text, true};
    }
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
