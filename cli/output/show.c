/* show.c - specifications, networks and estimates, as JSON and as tables
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"

#define UPPER_QUANTILE 0.95

static struct dn_shown unknown (void)
{
    return (struct dn_shown){"-"};
}

struct dn_shown dn_show_time (double seconds)
{
    struct dn_shown out = unknown ();

    if (seconds >= 0 && seconds < 1e15)
        snprintf (out.text,
                  sizeof (out.text),
                  "%.*s",
                  DN_SHOWN_MAX - 1,
                  dn_time_write ((int64_t) ceil (seconds)).text);
    return out;
}

struct dn_shown dn_show_bytes (double bytes)
{
    struct dn_shown out = unknown ();

    if (bytes >= 0 && isfinite (bytes))
        snprintf (out.text, sizeof (out.text), "%.1f GiB", bytes / DN_GIB);
    return out;
}

struct dn_shown dn_show_count (double count)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
    struct dn_shown out = unknown ();
    size_t unit = 0;

    if (count < 0 || !isfinite (count))
        return out;
    while (count >= 999.95 && unit + 1 < DN_N_ELEMENTS (units)) {
        count /= 1000;
        unit++;
    }
    snprintf (out.text, sizeof (out.text), "%.4g %s", count, units[unit]);
    return out;
}

struct dn_shown dn_show_bound (double bound)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    struct dn_shown out = unknown ();
    size_t unit = 0;

    while (bound >= 1000 && fmod (bound, 1000) == 0
           && unit + 1 < DN_N_ELEMENTS (units)) {
        bound /= 1000;
        unit++;
    }
    snprintf (out.text, sizeof (out.text), "%.10g%s", bound, units[unit]);
    return out;
}

struct dn_shown dn_show_real (double value, int decimals)
{
    struct dn_shown out = unknown ();

    if (value >= 0 && isfinite (value))
        snprintf (out.text, sizeof (out.text), "%.*f", decimals, value);
    return out;
}

static struct json_object *key_json (const struct dn_spec *spec,
                                     const struct dn_key *key)
{
    const char *at = (const char *) spec + key->offset;
    char text[DN_VALUE_MAX];
    int64_t count;
    double real;

    switch (key->type) {
    case DN_KEY_INT:
        memcpy (&count, at, sizeof (count));
        return json_object_new_int64 (count);
    case DN_KEY_REAL:
        memcpy (&real, at, sizeof (real));
        return dn_json_real (real);
    default:
        dn_spec_write_value (spec, key, text);
        return dn_json_text (text);
    }
}

struct json_object *dn_show_keys_json (struct dn_keyset set)
{
    struct json_object *array = json_object_new_array ();
    const struct dn_key *key;

    for (int i = 0; (key = dn_spec_key_of (set, i)); i++)
        json_object_array_add (array, dn_json_text (key->name));
    return array;
}

struct json_object *dn_show_spec_json (const struct dn_spec *spec)
{
    struct json_object *json = json_object_new_object ();
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys; i++)
        if (dn_spec_has (spec, &keys[i]))
            json_object_object_add (json, keys[i].name, key_json (spec, &keys[i]));
    return json;
}

struct json_object *dn_show_model_json (const struct dn_graph *graph)
{
    struct json_object *json = json_object_new_object ();

    dn_json_add_text (json, "name", graph->name);
    dn_json_add_real (json, "params", graph->params + graph->frozen_params);
    dn_json_add_real (json, "frozen_params", graph->frozen_params);
    dn_json_add_real (json, "forward_flops_per_sample", graph->flops);
    return json;
}

void dn_show_range_json (struct json_object *to,
                         const char *key,
                         struct dn_range range,
                         double scale,
                         bool known)
{
    struct json_object *json = dn_json_add_object (to, key);

    known = known && range.p50 >= 0;
    dn_json_add_real (json, "p50", known ? range.p50 * scale : -1);
    dn_json_add_real (
        json, "p95", known ? dn_range_at (range, UPPER_QUANTILE) * scale : -1);
}

void dn_show_time_json (struct json_object *to,
                        const char *key,
                        struct dn_range range,
                        double scale,
                        bool known)
{
    static const struct {
        const char *name;
        double level;
    } quantiles[] = {
        {"p50", 0.5}, {"p80", 0.8}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};
    struct json_object *json = dn_json_add_object (to, key);

    known = known && range.p50 >= 0;
    for (size_t i = 0; i < DN_N_ELEMENTS (quantiles); i++)
        dn_json_add_real (json,
                          quantiles[i].name,
                          known ? dn_range_at (range, quantiles[i].level) * scale : -1);
}

/* CPUs of the whole job, or -1 if the demand of the loaders is unknown. */
static int64_t all_cpus (const struct dn_estimate *estimate, const struct dn_spec *spec)
{
    return estimate->cpus_per_gpu < 0 ? -1 : estimate->cpus_per_gpu * spec->gpus;
}

static void add_money (struct json_object *json,
                       const struct dn_forecast *run,
                       const struct dn_spec *spec)
{
    const struct dn_estimate *e = run->estimate;
    double cost = dn_estimate_cost (e, spec->gpus, run->cost_per_hour);
    double rate = dn_estimate_price_performance (e, spec->gpus, run->cost_per_hour);

    dn_json_add_real (json, "cost", e->supported ? cost : -1);
    dn_json_add_real (json, "carbon_g", e->supported ? run->carbon_g : -1);
    dn_json_add_real (json, "samples_per_s", e->supported ? e->samples_per_s : -1);
    dn_json_add_real (json, "price_performance", e->supported ? rate : -1);
    dn_json_add_count (json, "largest_batch", e->supported ? run->largest_batch : -1);
}

struct json_object *dn_show_run_json (const struct dn_forecast *run,
                                      const struct dn_spec *spec)
{
    const struct dn_estimate *estimate = run->estimate;
    struct json_object *json = json_object_new_object ();
    struct json_object *stages;
    bool known = estimate->supported;

    dn_json_add_text (json, "gpu", estimate->device->name);
    if (estimate->fits && !dn_estimate_surely_fits (estimate))
        json_object_object_add (json, "fits", NULL);
    else
        dn_json_add_bool (json, "fits", estimate->fits);
    dn_show_time_json (json, "step_ms", estimate->step_s, 1000, known);
    if (known && estimate->train_s.p50 >= 0)
        dn_show_time_json (json, "train_s", estimate->train_s, 1, true);
    else
        json_object_object_add (json, "train_s", NULL);
    dn_show_range_json (json, "gpu_mem_bytes", estimate->gpu_mem, 1, known);
    dn_json_add_real (
        json,
        "gpu_mem_allocated_bytes",
        known ? ceil (dn_estimate_memory (estimate, DN_MEMORY_ALLOCATED).p50) : -1);
    dn_json_add_real (json, "host_mem_bytes", known ? ceil (estimate->host_mem) : -1);
    dn_json_add_count (json, "cpus", known ? all_cpus (estimate, spec) : -1);
    dn_json_add_real (json, "power_w", known ? estimate->power_w : -1);
    dn_json_add_real (json, "power_w_p95", known ? estimate->power_w_p95 : -1);
    dn_json_add_real (json, "energy_j", known ? estimate->energy_j : -1);
    add_money (json, run, spec);
    dn_json_add_real (json, "confidence", known ? estimate->confidence : 0);
    stages = dn_json_add_object (json, "breakdown_ms");
    for (int i = 0; i < DN_N_STAGES; i++)
        dn_json_add_real (stages,
                          dn_names_get (&dn_stage_names, i),
                          known ? estimate->stage_s[i] * 1000 : -1);
    return json;
}

static int fit_class (const struct dn_estimate *estimate)
{
    return estimate->supported + estimate->fits + dn_estimate_surely_fits (estimate);
}

/* Runs that fit first, then those that perhaps do, then runs that do not, then runs
 * that are not supported; each by time.
 */
static int compare_runs (const void *a, const void *b)
{
    const struct dn_estimate *x = ((const struct dn_forecast *) a)->estimate;
    const struct dn_estimate *y = ((const struct dn_forecast *) b)->estimate;
    int x_class = fit_class (x);
    int y_class = fit_class (y);

    if (x_class != y_class)
        return y_class - x_class;
    if (x->step_s.p50 != y->step_s.p50)
        return x->step_s.p50 < y->step_s.p50 ? -1 : 1;
    return strcmp (x->device->name, y->device->name);
}

static const char *fit_text (const struct dn_estimate *estimate)
{
    if (!estimate->supported)
        return "unsupported";
    if (!estimate->fits)
        return "no";
    return dn_estimate_surely_fits (estimate) ? "yes" : "perhaps";
}

static void add_run (struct dn_grid *grid,
                     const struct dn_forecast *run,
                     const struct dn_spec *spec,
                     bool carbon)
{
    const struct dn_estimate *e = run->estimate;
    double cost = dn_estimate_cost (e, spec->gpus, run->cost_per_hour);
    double rate = dn_estimate_price_performance (e, spec->gpus, run->cost_per_hour);
    double upper = e->train_s.p50 < 0 ? -1 : dn_range_at (e->train_s, UPPER_QUANTILE);

    dn_grid_add (grid, "%s", run->name);
    dn_grid_add (grid, "%s", fit_text (e));
    if (!e->supported) {
        for (int i = 2; i < grid->n_columns; i++)
            dn_grid_add (grid, "-");
        return;
    }
    dn_grid_add (grid, "%s", dn_show_real (e->step_s.p50 * 1000, 1).text);
    dn_grid_add (grid, "%s", dn_show_time (e->train_s.p50).text);
    dn_grid_add (grid, "%s", dn_show_time (upper).text);
    dn_grid_add (grid, "%s", dn_show_bytes (e->gpu_mem.p50).text);
    dn_grid_add (grid, "%lld", (long long) run->largest_batch);
    if (all_cpus (e, spec) < 0)
        dn_grid_add (grid, "-");
    else
        dn_grid_add (grid, "%lld", (long long) all_cpus (e, spec));
    dn_grid_add (grid, "%s", dn_show_real (e->power_w, 0).text);
    dn_grid_add (
        grid, "%s", dn_show_real (e->energy_j < 0 ? -1 : e->energy_j / 3.6e6, 2).text);
    dn_grid_add (grid, "%s", dn_show_real (cost, 2).text);
    dn_grid_add (grid, "%s", dn_show_real (rate, rate < 10 ? 2 : 0).text);
    if (carbon)
        dn_grid_add (
            grid,
            "%s",
            dn_show_real (run->carbon_g < 0 ? -1 : run->carbon_g / 1000, 2).text);
    dn_grid_add (grid, "%s", dn_show_real (e->confidence, 2).text);
}

int dn_show_runs (struct dn_forecast *runs, int n_runs, const struct dn_spec *spec)
{
    /* The last column but one is printed only if any run has its value. */
    struct dn_grid_column columns[] = {
        {"GPU", false},
        {"FITS", false},
        {"STEP ms", true},
        {"TIME likely", true},
        {"TIME p95", true},
        {"GPU MEMORY", true},
        {"MAX BATCH", true},
        {"CPUS", true},
        {"W/GPU", true},
        {"kWh", true},
        {"COST", true},
        {"SAMPLES/s/COST", true},
        {"CO2 kg", true},
        {"CONFIDENCE", true},
    };
    int n_columns = (int) DN_N_ELEMENTS (columns);
    bool carbon = false;
    dn_cleanup (dn_grid_free) struct dn_grid grid;

    for (int i = 0; i < n_runs; i++)
        carbon = carbon || runs[i].carbon_g >= 0;
    if (!carbon) {
        columns[n_columns - 2] = columns[n_columns - 1];
        n_columns--;
    }
    grid = dn_grid_of (columns, n_columns);
    qsort (runs, (size_t) n_runs, sizeof (*runs), compare_runs);
    for (int i = 0; i < n_runs; i++)
        add_run (&grid, &runs[i], spec, carbon);
    return dn_grid_print (&grid);
}

void dn_show_model (const struct dn_graph *graph)
{
    printf ("%s: %s parameters",
            graph->name,
            dn_show_count (graph->params + graph->frozen_params).text);
    if (graph->frozen_params > 0)
        printf (" (%s frozen)", dn_show_count (graph->frozen_params).text);
    printf (", %sFLOP per sample forward\n", dn_show_count (graph->flops).text);
}
