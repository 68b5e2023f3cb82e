/* show.c - specifications, networks and estimates, as JSON and as tables
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "show.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "predict/assumed.h"

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

void dn_show_bounds (struct dn_buf *buf, double min, double max, bool time)
{
    dn_buf_add (buf,
                "%s..",
                time ? dn_time_write ((int64_t) min).text : dn_show_bound (min).text);
    dn_buf_add (buf,
                "%s",
                time ? dn_time_write ((int64_t) max).text : dn_show_bound (max).text);
}

void dn_show_names (struct dn_buf *buf,
                    const struct dn_names *names,
                    const char *between)
{
    for (int i = 1; i < names->n_names; i++)
        dn_buf_add (buf, "%s%s", i > 1 ? between : "", names->names[i]);
}

struct dn_shown dn_show_real (double value, int decimals)
{
    struct dn_shown out = unknown ();

    if (value >= 0 && isfinite (value))
        snprintf (out.text, sizeof (out.text), "%.*f", decimals, value);
    return out;
}

/* Put a comma before each group of three digits. */
static void add_commas (struct dn_buf *buf, const char *digits)
{
    size_t n = strlen (digits);

    for (size_t i = 0; i < n; i++)
        dn_buf_add (buf,
                    "%s%c",
                    i > 0 && (n - i) % 3 == 0 && dn_is_digit (digits[i - 1]) ? "," : "",
                    digits[i]);
}

struct dn_shown dn_show_number (double value)
{
    struct dn_shown shown = {""};
    struct dn_buf buf = dn_buf_on (shown.text, sizeof (shown.text));
    char digits[32];
    struct dn_buf whole = dn_buf_on (digits, sizeof (digits));

    if (!isfinite (value) || fabs (value) > 1e15)
        return (struct dn_shown){"-"};
    if (fabs (value) < 0.005)
        return (struct dn_shown){"0"};
    if (fabs (value) < 99.95 && value != floor (value)) {
        dn_buf_add (&buf, "%.*f", fabs (value) < 9.995 ? 2 : 1, value);
        return shown;
    }
    dn_buf_add (&whole, "%.0f", value);
    add_commas (&buf, digits);
    return shown;
}

struct dn_shown dn_show_share (double share)
{
    struct dn_shown shown = {""};
    struct dn_buf buf = dn_buf_on (shown.text, sizeof (shown.text));

    if (!isfinite (share))
        return (struct dn_shown){"-"};
    dn_buf_add (&buf, "%.1f %%", 100 * share);
    return shown;
}

double dn_shown_upper (struct dn_range range)
{
    return range.p50 < 0 ? -1 : dn_range_at (range, 0.95);
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
    dn_json_add_real (json, "p95", known ? dn_shown_upper (range) * scale : -1);
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
    dn_json_add_bool (json, "may_hold_one", e->supported && run->may_hold_one);
    if (run->at_largest)
        dn_json_add_real (
            json, "largest_batch_step_ms", run->at_largest->step_s.p50 * 1000);
}

struct json_object *dn_show_run_json (const struct dn_forecast *run,
                                      const struct dn_spec *spec)
{
    const struct dn_estimate *estimate = run->estimate;
    struct json_object *json = json_object_new_object ();
    struct json_object *stages;
    bool known = estimate->supported;

    dn_json_add_text (json, "gpu", estimate->device->name);
    dn_json_add_text (json, "type", run->type);
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
    dn_json_add_count (json, "idle_gpus", run->now.n_idle);
    dn_json_add_count (json, "up_gpus", run->now.n_up);
    dn_json_add_count (json, "wait_s", run->now.wait_s);
    stages = dn_json_add_object (json, "breakdown_ms");
    for (int i = 0; i < DN_N_STAGES; i++)
        dn_json_add_real (stages,
                          dn_names_get (&dn_stage_names, i),
                          known ? estimate->stage_s[i] * 1000 : -1);
    return json;
}

/* 0 where a device cannot run it, else 1 no, 2 perhaps, 3 yes. */
static int fit_class (const struct dn_estimate *estimate)
{
    return estimate->supported ? 1 + estimate->fits + dn_estimate_surely_fits (estimate)
                               : 0;
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

const char *dn_show_fit (const struct dn_estimate *estimate)
{
    static const char *const texts[] = {"unsupported", "no", "perhaps", "yes"};

    return texts[fit_class (estimate)];
}

/* The columns that a table has only if a run has their value. */
struct optional {
    bool idle;
    bool wait;
    bool carbon;
    bool largest;
};

static struct optional find_optional (const struct dn_forecast *runs, int n_runs)
{
    struct optional any = {.idle = false};

    for (int i = 0; i < n_runs; i++) {
        any.idle = any.idle || runs[i].now.n_up != DN_UNSET;
        any.wait = any.wait || runs[i].now.wait_s != DN_UNSET;
        any.carbon = any.carbon || runs[i].carbon_g >= 0;
        any.largest = any.largest || runs[i].at_largest;
    }
    return any;
}

static void add_now (struct dn_grid *grid,
                     const struct dn_gpus_now *now,
                     const struct optional *any)
{
    if (any->idle && now->n_up == DN_UNSET)
        dn_grid_add (grid, "-");
    else if (any->idle) {
        dn_grid_add (grid, "%" PRId64 " of %" PRId64, now->n_idle, now->n_up);
        dn_grid_tint (grid, now->n_idle > 0 ? DN_TINT_GOOD : DN_TINT_PLAIN);
    }
    if (any->wait)
        dn_grid_add (grid, "%s", dn_show_time ((double) now->wait_s).text);
}

struct dn_shown dn_show_largest (int64_t largest, bool may_hold_one)
{
    struct dn_shown out = unknown ();

    if (largest > 0)
        snprintf (out.text, sizeof (out.text), "%" PRId64, largest);
    else if (may_hold_one)
        out = (struct dn_shown){"1?"};
    return out;
}

static void add_run (struct dn_grid *grid,
                     const struct dn_forecast *run,
                     const struct dn_spec *spec,
                     const struct optional *any)
{
    static const enum dn_tint tints[] = {
        DN_TINT_BAD, DN_TINT_BAD, DN_TINT_DOUBTFUL, DN_TINT_GOOD};
    const struct dn_estimate *e = run->estimate;
    const struct dn_estimate *most = run->at_largest;
    double cost = dn_estimate_cost (e, spec->gpus, run->cost_per_hour);
    double rate = dn_estimate_price_performance (e, spec->gpus, run->cost_per_hour);

    dn_grid_add (grid, "%s", run->name);
    dn_grid_add (grid, "%s", dn_show_fit (e));
    dn_grid_tint (grid, tints[fit_class (e)]);
    add_now (grid, &run->now, any);
    if (!e->supported) {
        while (grid->n_cells % (size_t) grid->n_columns != 0)
            dn_grid_add (grid, "-");
        return;
    }
    dn_grid_add (grid, "%s", dn_show_real (e->step_s.p50 * 1000, 1).text);
    dn_grid_add (grid, "%s", dn_show_time (e->train_s.p50).text);
    dn_grid_add (grid, "%s", dn_show_time (dn_shown_upper (e->train_s)).text);
    dn_grid_add (grid, "%s", dn_show_bytes (e->gpu_mem.p50).text);
    dn_grid_add (
        grid, "%s", dn_show_largest (run->largest_batch, run->may_hold_one).text);
    if (any->largest) {
        dn_grid_add (
            grid, "%s", dn_show_real (most ? most->step_s.p50 * 1000 : -1, 1).text);
        dn_grid_add (
            grid, "%s", dn_show_real (most ? most->samples_per_s : -1, 1).text);
    }
    dn_grid_count (grid, all_cpus (e, spec));
    dn_grid_add (grid, "%s", dn_show_real (cost, 2).text);
    dn_grid_add (grid, "%s", dn_show_real (rate, rate < 10 ? 2 : 0).text);
    dn_grid_add (grid, "%s", dn_show_real (e->power_w, 0).text);
    dn_grid_add (
        grid, "%s", dn_show_real (e->energy_j < 0 ? -1 : e->energy_j / 3.6e6, 2).text);
    if (any->carbon)
        dn_grid_add (
            grid,
            "%s",
            dn_show_real (run->carbon_g < 0 ? -1 : run->carbon_g / 1000, 2).text);
    dn_grid_add (grid, "%s", dn_show_real (e->confidence, 2).text);
}

int dn_show_runs (struct dn_forecast *runs, int n_runs, const struct dn_spec *spec)
{
    struct optional any = find_optional (runs, n_runs);
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of ("GPU|FITS");

    if (any.idle)
        dn_grid_head (&grid, "IDLE GPUS>");
    if (any.wait)
        dn_grid_head (&grid, "WAIT>");
    dn_grid_head (&grid, "STEP ms>|TIME likely>|TIME p95>|GPU MEMORY>|MAX BATCH>");
    if (any.largest)
        dn_grid_head (&grid, "ITS STEP ms>|ITS SAMPLES/s>");
    dn_grid_head (&grid, "CPUS>|COST>|SAMPLES/s/COST>|W/GPU>|kWh>");
    if (any.carbon)
        dn_grid_head (&grid, "CO2 kg>");
    dn_grid_head (&grid, "CONFIDENCE>");
    grid.spare = "SAMPLES/s/COST|W/GPU|kWh|CO2 kg|STEP ms|CONFIDENCE";
    qsort (runs, (size_t) n_runs, sizeof (*runs), compare_runs);
    for (int i = 0; i < n_runs; i++)
        add_run (&grid, &runs[i], spec, &any);
    return dn_grid_print (&grid);
}

void dn_show_assumed (const struct dn_spec *spec, const struct dn_graph *graph)
{
    struct dn_assumption list[DN_ASSUMED_MAX];
    int n = dn_assumed (spec, graph, list);
    char text[1024];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    for (int i = 0; i < n; i++)
        dn_buf_add (&buf,
                    list[i].is_value ? "%s%s=%s" : "%s%s= %s",
                    i > 0 ? ", " : "Assumed: ",
                    list[i].key,
                    list[i].value);
    if (n > 0)
        dn_terminal_words (text, 0, 2);
    dn_show_lacks_work (spec);
}

void dn_show_lacks_work (const struct dn_spec *spec)
{
    struct dn_reason lacks = {.code = dn_spec_lacks_work (spec)};
    char text[DN_REASON_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_buf_add (&buf, "No time: %s", dn_reason_text (&lacks).text);
    if (lacks.code != DN_REASON_NONE)
        dn_terminal_words (text, 0, 2);
}

static bool is_late (const struct dn_forecast *run, const struct dn_spec *spec)
{
    return dn_shown_upper (run->estimate->train_s) > (double) spec->deadline;
}

static bool is_dear (const struct dn_forecast *run, const struct dn_spec *spec)
{
    const struct dn_estimate *e = run->estimate;

    return dn_estimate_cost (e, spec->gpus, run->cost_per_hour)
               * dn_shown_upper (e->train_s) / e->train_s.p50
           > spec->budget;
}

void dn_show_beyond (const struct dn_forecast *runs,
                     int n_runs,
                     const struct dn_spec *spec)
{
    static const struct {
        const char *key;
        bool (*is_beyond) (const struct dn_forecast *run, const struct dn_spec *spec);
    } wishes[] = {{"deadline", is_late}, {"budget", is_dear}};

    for (size_t w = 0; w < DN_N_ELEMENTS (wishes); w++) {
        const struct dn_key *key = dn_spec_key (dn_span_of (wishes[w].key));
        char value[DN_VALUE_MAX];
        char text[1024];
        struct dn_buf buf = dn_buf_on (text, sizeof (text));
        int n = 0;

        if (!dn_spec_has (spec, key) || dn_spec_steps (spec) < 0)
            continue;
        dn_spec_write_value (spec, key, value);
        dn_buf_add (&buf, "Beyond %s=%s at the p95 of the time:", key->name, value);
        for (int i = 0; i < n_runs; i++)
            if (runs[i].estimate->train_s.p50 > 0
                && wishes[w].is_beyond (&runs[i], spec))
                dn_buf_add (&buf, "%s%s", n++ > 0 ? ", " : " ", runs[i].name);
        dn_buf_add (&buf, "%s", n > 0 ? "" : " none");
        dn_terminal_words (text, 0, 2);
    }
}

struct json_object *dn_show_assumed_json (const struct dn_spec *spec,
                                          const struct dn_graph *graph)
{
    struct json_object *array = json_object_new_array ();
    struct dn_assumption list[DN_ASSUMED_MAX];
    int n = dn_assumed (spec, graph, list);

    for (int i = 0; i < n; i++) {
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (row, "key", list[i].key);
        dn_json_add_text (row, "value", list[i].value);
    }
    return array;
}

void dn_show_model (const struct dn_graph *graph)
{
    printf ("%s: %s parameters",
            graph->name[0] != '\0' ? graph->name : "a network without a name",
            dn_show_count (graph->params + graph->frozen_params).text);
    if (graph->frozen_params > 0)
        printf (" (%s frozen)", dn_show_count (graph->frozen_params).text);
    printf (", %sFLOP per sample forward\n", dn_show_count (graph->flops).text);
}
