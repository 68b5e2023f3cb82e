/* what_if.c - what other descriptions of a run would change
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "what_if.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "output/grid.h"
#include "output/terminal.h"

/* What a job is compared on at a site without GPU types. */
#define USUAL_DEVICE "a100_sxm4_80gb"

/* What an assumption may change in silence. */
#define TOLERATED 1.1

/* Lines of remedies in a table of many GPUs. */
#define LINES_MAX 12

/* Where no seq_len= is given, texts are rarely cut longer than that. */
#define USUAL_TOKENS 2048

/* The values to compare an assumption with. */
static const struct {
    const char *key;
    const char *others[2];
} alternatives[] = {
    {"precision", {"precision=bf16", "precision=fp16"}},
    {"optimizer", {"optimizer=sgd", "optimizer=adam8bit"}},
    {"framework", {"framework=tensorflow", "framework=jax"}},
    {"since", {"since=2019", "since=2025"}},
    {"attention", {"attention=plain", "attention=flash"}},
    {"decode", {"decode=none", "decode=jpeg"}},
    {"sample_bytes", {"sample_bytes=10k", "sample_bytes=1M"}},
    {"workers", {"workers=2", "workers=16"}},
    {"parallel", {"parallel=zero3", NULL}},
    {"net", {"net=ib100", "net=ib400x8"}},
};

/* A copy of the subject with other pairs, on one device. */
static int vary (const struct dn_subject *subject,
                 const char *pairs,
                 const struct dn_device *device,
                 struct dn_estimate *estimate)
{
    struct dn_subject other = *subject;
    int rc;

    memset (&other.graph, 0, sizeof (other.graph));
    if (dn_spec_read (dn_span_of (pairs), &other.spec, NULL) < 0
        || dn_spec_resolve (&other.spec, &other.site->datasets, DN_UNSET, NULL) < 0
        || dn_sidecar_graph (
               &other.site->networks, &other.layers, &other.spec, &other.graph, NULL)
               < 0)
        return -1;
    rc = dn_subject_predict (&other, &device, 1, estimate, NULL);
    dn_graph_free (&other.graph);
    return rc == 0 && estimate->supported ? 0 : -1;
}

static int64_t cpus_of (const struct dn_subject *subject, const struct dn_estimate *e)
{
    return e->cpus_per_gpu < 0 ? -1 : e->cpus_per_gpu * subject->spec.gpus;
}

/* How far a ratio is from 1, either way. */
static double farness (double ratio)
{
    return ratio > 0 ? fabs (log (ratio)) : 0;
}

static void compare (const struct dn_subject *subject,
                     const char *pairs,
                     const struct dn_estimate *assumed,
                     const struct dn_estimate *other,
                     struct dn_effect *effect)
{
    /* Of the run where its work is known with both, else of a step. */
    bool runs = other->train_s.p50 > 0 && assumed->train_s.p50 > 0;
    double time = runs ? dn_estimate_time (other) / dn_estimate_time (assumed)
                       : other->step_s.p50 / assumed->step_s.p50;
    double memory = other->gpu_mem.p50 / assumed->gpu_mem.p50;
    bool first = effect->other[0] == '\0';
    struct dn_buf buf;

    effect->matters = effect->matters || farness (time) > log (TOLERATED)
                      || farness (memory) > log (TOLERATED)
                      || effect->cpus != cpus_of (subject, other);
    if (!first
        && fmax (farness (time), farness (memory))
               <= fmax (farness (effect->time), farness (effect->memory)))
        return;
    buf = dn_buf_on (effect->other, sizeof (effect->other));
    dn_buf_text (&buf, pairs);
    effect->time = time;
    effect->memory = memory;
    effect->other_cpus = cpus_of (subject, other);
}

static void find_effect (const struct dn_subject *subject,
                         const struct dn_estimate *assumed,
                         struct dn_effect *effect)
{
    char tokens[DN_NAME_MAX];
    const char *others[2] = {NULL, NULL};
    struct dn_estimate other;

    for (size_t i = 0; i < DN_N_ELEMENTS (alternatives); i++)
        if (strcmp (alternatives[i].key, effect->what.key) == 0)
            memcpy (others, alternatives[i].others, sizeof (others));
    if (strcmp (effect->what.key, "seq_len") == 0) {
        int64_t n = subject->graph.tokens;

        snprintf (tokens,
                  sizeof (tokens),
                  "seq_len=%" PRId64,
                  n > USUAL_TOKENS ? USUAL_TOKENS : (n + 1) / 2);
        others[0] = tokens;
    }
    effect->cpus = cpus_of (subject, assumed);
    for (int i = 0; i < 2 && others[i]; i++)
        if (vary (subject, others[i], assumed->device, &other) == 0)
            compare (subject, others[i], assumed, &other, effect);
}

int dn_effects (const struct dn_subject *subject,
                const struct dn_device *device,
                struct dn_effect list[DN_ASSUMED_MAX])
{
    struct dn_assumption assumed[DN_ASSUMED_MAX];
    int n = dn_assumed (&subject->spec, &subject->graph, assumed);
    struct dn_estimate estimate;
    bool known = device
                 && dn_subject_predict (subject, &device, 1, &estimate, NULL) == 0
                 && estimate.supported;

    for (int i = 0; i < n; i++) {
        list[i] = (struct dn_effect){.what = assumed[i], .cpus = -1, .other_cpus = -1};
        if (known)
            find_effect (subject, &estimate, &list[i]);
    }
    return n;
}

const struct dn_device *dn_usual_device (const struct dn_site *site)
{
    if (site->gpu_types.n_types > 0)
        return site->gpu_types.types[0].device;
    return dn_catalogue_find (&site->catalogue, USUAL_DEVICE);
}

/* "1.25x" */
static void add_ratio (struct dn_grid *grid, double ratio)
{
    dn_grid_add (grid, "%sx", dn_show_real (ratio, 2).text);
}

static int print_table (const struct dn_effect *list, int n, const char *name)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of ("ASSUMED|WITH|TIME>|MEMORY>|CPUS>");
    char text[2 * DN_NAME_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    for (int i = 0; i < n; i++) {
        const struct dn_effect *e = &list[i];

        if (!e->matters)
            continue;
        dn_grid_add (
            &grid, e->what.is_value ? "%s=%s" : "%s=", e->what.key, e->what.value);
        dn_grid_add (&grid, "%s", e->other);
        add_ratio (&grid, e->time);
        add_ratio (&grid, e->memory);
        if (e->cpus < 0 || e->other_cpus < 0)
            dn_grid_add (&grid, "-");
        else
            dn_grid_add (&grid, "%" PRId64 " -> %" PRId64, e->cpus, e->other_cpus);
    }
    if (dn_grid_is_empty (&grid))
        return DN_EXIT_DONE;
    dn_buf_add (
        &buf, "Worth stating, as another value changes the prediction on %s:", name);
    dn_terminal_words (text, 0, 2);
    return dn_grid_print (&grid);
}

int dn_effects_print (const struct dn_subject *subject,
                      const char *name,
                      const struct dn_device *device)
{
    struct dn_effect list[DN_ASSUMED_MAX];
    int n = dn_effects (subject, device, list);
    int rc;

    if (subject->open_batch)
        dn_terminal_words (
            "No batch: batch=1 is taken; a job needs batch= or global_batch=.", 0, 2);
    dn_show_assumed (&subject->spec, &subject->graph);
    rc = device ? print_table (list, n, name) : DN_EXIT_DONE;
    if (subject->spec.precision == DN_PRECISION_UNKNOWN)
        printf ("If it trains with AMP, say precision=%s.\n",
                !device || device->bf16 > 0 ? "bf16" : "fp16");
    return rc;
}

struct json_object *dn_effects_json (const struct dn_subject *subject,
                                     const struct dn_device *device)
{
    struct json_object *array = json_object_new_array ();
    struct dn_effect list[DN_ASSUMED_MAX];
    int n = dn_effects (subject, device, list);

    for (int i = 0; i < n; i++) {
        const struct dn_effect *e = &list[i];
        struct json_object *row = dn_json_append_object (array);
        bool known = e->other[0] != '\0';

        dn_json_add_text (row, "key", e->what.key);
        dn_json_add_text (row, "value", e->what.value);
        dn_json_add_bool (row, "matters", e->matters);
        dn_json_add_text (row, "other", known ? e->other : NULL);
        dn_json_add_real (row, "time_ratio", known ? e->time : -1);
        dn_json_add_real (row, "memory_ratio", known ? e->memory : -1);
        dn_json_add_count (row, "cpus", e->cpus);
        dn_json_add_count (row, "other_cpus", e->other_cpus);
    }
    return array;
}

/* --- remedies -------------------------------------------------------------------- */

static bool is_better (const struct dn_estimate *a, const struct dn_estimate *b)
{
    bool a_fits = dn_estimate_surely_fits (a);
    bool b_fits = dn_estimate_surely_fits (b);

    if (a->supported != b->supported)
        return a->supported;
    return a_fits != b_fits ? a_fits : a->step_s.p50 < b->step_s.p50;
}

const struct dn_forecast *dn_best_run (const struct dn_forecast *runs, int n_runs)
{
    const struct dn_forecast *best = runs;

    for (int i = 1; i < n_runs; i++)
        if (is_better (runs[i].estimate, best->estimate))
            best = &runs[i];
    return best;
}

/* What makes the i-th run fit; a remedy without a change is the GPU of 'best'. Return
 * the number; none if it fits already.
 */
static int find_remedies (const struct dn_subject *subject,
                          const struct dn_forecast *best,
                          const struct dn_forecast *run,
                          struct dn_remedy list[DN_REMEDIES_MAX])
{
    const struct dn_estimate *own = run->estimate;
    struct dn_predictor predictor = dn_site_predictor (subject->site);
    const struct dn_case c = dn_subject_case (subject, own->device, 0);
    const struct dn_patient patient = {&predictor,
                                       &subject->site->rules,
                                       &subject->site->datasets,
                                       &subject->site->networks,
                                       &subject->layers,
                                       &c,
                                       own};
    struct dn_remedy other = {.estimate = *best->estimate};
    int n;

    if (!own->supported || dn_estimate_surely_fits (own))
        return 0;
    /* cppcheck-suppress unreadVariable ; by the patient */
    predictor.user = subject->user;
    n = dn_remedies (&patient, DN_REMEDIES_MAX, list);
    if (!dn_estimate_surely_fits (best->estimate))
        return n;
    other.slow = best->estimate->step_s.p50 / own->step_s.p50;
    return dn_remedy_keep (&other, list, n, DN_REMEDIES_MAX);
}

void dn_remedies_print (const struct dn_subject *subject,
                        const struct dn_forecast *runs,
                        int n_runs)
{
    const struct dn_forecast *best = dn_best_run (runs, n_runs);
    int n_lines = 0;

    for (int i = 0; i < n_runs && n_lines < LINES_MAX; i++) {
        struct dn_remedy list[DN_REMEDIES_MAX];
        int n = find_remedies (subject, best, &runs[i], list);
        char text[1024];
        struct dn_buf buf = dn_buf_on (text, sizeof (text));

        if (n > 0 && n_lines++ == 0)
            dn_terminal_words (
                "What would fit, and its time over that of the run as described:",
                0,
                2);
        dn_buf_add (&buf, "  %s:", runs[i].name);
        for (int k = 0; k < n; k++)
            dn_buf_add (&buf,
                        "%s %s%s (%sx)",
                        k > 0 ? ";" : "",
                        list[k].change[0] ? "" : "on ",
                        list[k].change[0] ? list[k].change : best->name,
                        dn_show_real (list[k].slow, 2).text);
        if (n > 0)
            dn_terminal_words (text, 0, 4);
    }
}

void dn_remedies_add_json (struct json_object *row,
                           const struct dn_subject *subject,
                           const struct dn_forecast *best,
                           const struct dn_forecast *run)
{
    struct json_object *array = dn_json_add_array (row, "remedies");
    struct dn_remedy list[DN_REMEDIES_MAX];
    int n = find_remedies (subject, best, run, list);

    for (int k = 0; k < n; k++) {
        const struct dn_estimate *e = &list[k].estimate;
        struct json_object *json = dn_json_append_object (array);
        bool changed = list[k].change[0] != '\0';

        dn_json_add_text (json, "change", changed ? list[k].change : NULL);
        dn_json_add_text (json, "gpu", changed ? NULL : best->name);
        dn_json_add_real (json, "time_ratio", list[k].slow);
        dn_show_time_json (json, "step_ms", e->step_s, 1000, true);
        dn_show_range_json (json, "gpu_mem_bytes", e->gpu_mem, 1, true);
    }
}

/* --- where a description fits ---------------------------------------------------- */

struct fits {
    struct dn_site_gpus gpus;
    struct dn_forecast runs[DN_DEVICES_MAX];
    struct dn_estimate estimates[DN_DEVICES_MAX];
};

/* Its runs, to be released with free (). NULL with 'err'. */
static struct fits *find_fits (const struct dn_subject *subject, struct dn_err *err)
{
    const struct dn_gpus_wanted wanted = {.usual = true};
    struct fits *fits = calloc (1, sizeof (*fits));

    if (!fits) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    fits->gpus.site = subject->site;
    if (dn_site_gpus_find (&fits->gpus, &wanted, err) < 0
        || dn_site_gpus_predict (subject, &fits->gpus, fits->runs, fits->estimates, err)
               < 0) {
        free (fits);
        return NULL;
    }
    return fits;
}

/* The GPUs on which a run fits so. */
static void add_class (struct dn_buf *buf,
                       const struct fits *fits,
                       const char *fit,
                       const char *text)
{
    bool first = true;

    for (int i = 0; i < fits->gpus.n; i++) {
        if (strcmp (dn_show_fit (fits->runs[i].estimate), fit) != 0)
            continue;
        dn_buf_add (buf,
                    "%s%s %s",
                    first && buf->len > 0 ? " " : "",
                    first ? text : ",",
                    fits->runs[i].name);
        first = false;
    }
    if (!first)
        dn_buf_text (buf, ".");
}

int dn_fits_print (const struct dn_subject *subject)
{
    static const char *const classes[][2] = {{"yes", "It fits"},
                                             {"perhaps", "It perhaps fits"},
                                             {"no", "It does not fit"},
                                             {"unsupported", "It cannot run on"}};
    dn_cleanup (dn_free_ptr) struct fits *fits = NULL;
    char text[DN_DEVICES_MAX * 2 * DN_NAME_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    struct dn_err err = {0};

    fits = find_fits (subject, &err);
    if (!fits)
        return dn_fail (DN_EXIT_DATA, &err);
    for (size_t k = 0; k < DN_N_ELEMENTS (classes); k++)
        add_class (&buf, fits, classes[k][0], classes[k][1]);
    printf ("\n");
    dn_terminal_words (text, 0, 2);
    dn_remedies_print (subject, fits->runs, fits->gpus.n);
    return DN_EXIT_DONE;
}

struct json_object *dn_fits_json (const struct dn_subject *subject, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) struct fits *fits = find_fits (subject, err);
    const struct dn_forecast *best =
        fits ? dn_best_run (fits->runs, fits->gpus.n) : NULL;
    struct json_object *array = fits ? json_object_new_array () : NULL;

    for (int i = 0; fits && i < fits->gpus.n; i++) {
        struct json_object *row = dn_show_run_json (&fits->runs[i], &subject->spec);

        dn_remedies_add_json (row, subject, best, &fits->runs[i]);
        json_object_array_add (array, row);
    }
    return array;
}
