/* front.c - GPU types x numbers of GPUs x batch sizes, and the best of them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "front.h"

#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "grid.h"

int dn_counts_read (const char *text, struct dn_counts *counts, struct dn_err *err)
{
    const struct dn_key *key = dn_spec_key (dn_span_of ("gpus"));
    struct dn_batch_list list = {.what = "--gpus", .key = key, .max = DN_COUNTS_MAX};

    return dn_batch_list_read (text, &list, counts->counts, &counts->n, err);
}

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
           && (limits->seconds < 0 || upper_time (c) <= limits->seconds)
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
                      const struct dn_batch_sizes *sizes,
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
                                         .batch = batches.sizes.sizes[p],
                                         .point = batches.rows[i].points[p]};
            c->within = is_within (c, limits);
        }
    return 0;
}

int dn_front_predict (const struct dn_site *site,
                      const struct dn_subject *subject,
                      const struct dn_counts *counts,
                      const struct dn_batch_sizes *sizes,
                      const struct dn_site_gpus *gpus,
                      const struct dn_front_limits *limits,
                      struct dn_front *front,
                      struct dn_err *err)
{
    struct dn_batch_sizes own = {.sizes = {subject->spec.batch}, .n = 1};
    const struct dn_batch_sizes *used = sizes->n > 0 ? sizes : &own;
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
                site, subject, counts->counts[i], subject->spec.batch, &counted, err)
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
    dn_grid_add (grid, "%lld", (long long) c->gpus);
    dn_grid_add (grid, "%lld", (long long) c->nodes);
    dn_grid_add (grid, "%lld", (long long) c->batch);
    dn_grid_add (grid, "%s", dn_show_time (e->train_s.p50).text);
    dn_grid_add (grid, "%s", dn_show_time (upper_time (c)).text);
    dn_grid_add (grid, "%s", dn_show_real (c->point.cost, 2).text);
    dn_grid_add (grid, "%s", dn_show_real (e->samples_per_s, 1).text);
    dn_grid_add (grid, "%s", dn_show_bytes (e->gpu_mem.p50).text);
}

int dn_front_print (const struct dn_front *front)
{
    static const struct dn_grid_column columns[] = {{"GPU", false},
                                                    {"GPUS", true},
                                                    {"NODES", true},
                                                    {"BATCH", true},
                                                    {"TIME likely", true},
                                                    {"TIME p95", true},
                                                    {"COST", true},
                                                    {"SAMPLES/s", true},
                                                    {"GPU MEMORY", true}};
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of (columns, (int) DN_N_ELEMENTS (columns));
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
