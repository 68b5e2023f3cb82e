/* runs.c - the measured runs that are learned from
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/row_spec.h"
#include "predict/predict.h"

#define GIB (1024.0 * 1024 * 1024)

/* Labels beyond are one: a table of as many names as rows must not fill the memory. */
#define LABELS_MAX   4096
#define LABEL_OTHERS "(others)"

uint64_t dn_random (uint64_t *state)
{
    uint64_t z = *state += UINT64_C (0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct dn_runs dn_runs_start (int max, uint64_t seed)
{
    return (struct dn_runs){.max = max, .state = seed};
}

void dn_runs_free (struct dn_runs *runs)
{
    if (!runs)
        return;
    for (int i = 0; i < DN_N_LABELS; i++)
        free (runs->labels[i].names);
    free (runs->runs);
    memset (runs, 0, sizeof (*runs));
}

/* The number of a name, or -1 without memory. */
static int find_label (struct dn_label_names *labels, const char *name)
{
    if (labels->n >= LABELS_MAX)
        name = LABEL_OTHERS;
    for (int i = labels->n - 1; i >= 0; i--)
        if (strncmp (labels->names[i], name, DN_NAME_MAX - 1) == 0)
            return i;
    if (labels->n == labels->size) {
        int size = labels->size > 0 ? 2 * labels->size : 64;
        void *grown = realloc (labels->names, (size_t) size * sizeof (*labels->names));

        if (!grown)
            return -1;
        labels->names = grown;
        labels->size = size;
    }
    snprintf (labels->names[labels->n], DN_NAME_MAX, "%s", name);
    return labels->n++;
}

/* 0 or 1; an empty cell is 0. */
static int read_flag (const struct dn_row *row,
                      const char *column,
                      bool *flag,
                      struct dn_err *err)
{
    const char *text = dn_row_get (row, column);

    *flag = text && strcmp (text, "1") == 0;
    if (!text || text[0] == '\0' || *flag || strcmp (text, "0") == 0)
        return 0;
    return dn_err_set (err,
                       DN_E_SYNTAX,
                       "%s: '%s', expected 0 or 1",
                       column,
                       dn_quote (text, strlen (text)).text);
}

/* What a row tells before anything is predicted. */
struct cells {
    const struct dn_device *device;
    struct dn_spec spec;
    struct dn_graph graph; /* owned */
    double step_ms;
    double memory_gib;
    double power_w;
    double cores;
    bool oom;
};

static void free_cells (struct cells *cells)
{
    dn_graph_free (&cells->graph);
}

static int read_cells (const struct dn_row *row,
                       const struct dn_catalogue *catalogue,
                       const struct dn_datasets *datasets,
                       struct cells *cells,
                       bool *censored,
                       struct dn_err *err)
{
    const char *gpu = dn_row_get (row, "gpu");

    cells->spec = dn_spec_empty ();
    cells->device = dn_catalogue_find (catalogue, gpu);
    if (!cells->device)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "gpu: '%s' is not in the hardware catalogue",
                           dn_quote (gpu, strlen (gpu)).text);
    if (dn_row_measured (row, "step_ms", &cells->step_ms, err) < 0
        || dn_row_measured (row, "peak_mem_gb", &cells->memory_gib, err) < 0
        || dn_row_measured (row, "power_w", &cells->power_w, err) < 0
        || dn_row_measured (row, "cores_per_gpu", &cells->cores, err) < 0
        || read_flag (row, "oom", &cells->oom, err) < 0
        || read_flag (row, "censored", censored, err) < 0
        || dn_row_spec (row, datasets, &cells->spec, &cells->graph, err) < 0)
        return -1;
    if (!dn_device_supports (cells->device, cells->spec.precision))
        return dn_err_set (
            err, DN_E_RANGE, "gpu: %s cannot run this precision", cells->device->name);
    if (cells->step_ms <= 0 && cells->memory_gib <= 0 && cells->power_w <= 0)
        return dn_err_set (err, DN_E_RANGE, "nothing was measured");
    return 0;
}

static double ratio_of (double measured, double predicted)
{
    double ratio = measured > 0 && predicted > 0 ? log (measured / predicted) : NAN;

    return isfinite (ratio) ? ratio : NAN;
}

static int predict_run (const struct cells *cells,
                        struct dn_run *run,
                        struct dn_err *err)
{
    /* A bundle learns, as predict.c asks it, from data sheets. */
    struct dn_device sheet;
    const struct dn_case c = {.constants = &dn_constants_default,
                              .spec = &cells->spec,
                              .graph = &cells->graph,
                              .device = &sheet,
                              .cpus_per_gpu = cells->cores};
    struct dn_estimate e;

    dn_device_sheet (cells->device, &sheet);
    dn_whitebox (&c, &e);
    dn_features (&c, &e, run->features);
    run->ratio[DN_QUANTITY_STEP] = ratio_of (cells->step_ms / 1000, e.step_s.p50);
    /* A run that died for lack of memory does not tell how much it wanted. */
    run->ratio[DN_QUANTITY_MEMORY] =
        cells->oom ? NAN : ratio_of (cells->memory_gib * GIB, e.gpu_mem.p50);
    run->ratio[DN_QUANTITY_POWER] = ratio_of (cells->power_w, e.power_w);
    run->doubt = dn_whitebox_doubt (&c, true);
    run->memory_sigma = e.gpu_mem.sigma;
    run->kind = dn_network_kind (c.graph);
    for (int i = 0; i < DN_N_QUANTITIES; i++)
        if (isfinite (run->ratio[i]))
            return 0;
    return dn_err_set (err, DN_E_RANGE, "nothing was measured that can be predicted");
}

static int read_run (const struct dn_row *row,
                     const struct dn_catalogue *catalogue,
                     const struct dn_datasets *datasets,
                     struct dn_runs *runs,
                     struct dn_run *run,
                     struct dn_err *err)
{
    const char *group = dn_row_get (row, "group");
    const char *source = dn_row_get (row, "source");
    dn_cleanup (free_cells) struct cells cells = {.device = NULL};
    const char *names[DN_N_LABELS];

    if (read_cells (row, catalogue, datasets, &cells, &run->censored, err) < 0
        || predict_run (&cells, run, err) < 0)
        return -1;
    if (!group || group[0] == '\0')
        group = cells.spec.model[0] != '\0' ? cells.spec.model : "unnamed";
    names[DN_LABEL_MODEL] = group;
    names[DN_LABEL_SOURCE] = source && source[0] != '\0' ? source : "unnamed";
    names[DN_LABEL_GPU] = cells.device->name;
    for (int i = 0; i < DN_N_LABELS; i++) {
        run->label[i] = find_label (&runs->labels[i], names[i]);
        if (run->label[i] < 0)
            return dn_err_set (err, DN_E_NOMEM, "out of memory");
    }
    return 0;
}

/* Room for one more run, or that of one that is given up for it; NULL in '*place' where
 * the new one is not drawn. Algorithm R (Vitter 1985).
 */
static int find_place (struct dn_runs *runs, struct dn_run **place, struct dn_err *err)
{
    uint64_t at;

    if (runs->n < runs->max) {
        if (runs->n == runs->size) {
            int size = runs->size > 0 ? 2 * runs->size : 1024;
            void *grown = realloc (runs->runs, (size_t) size * sizeof (*runs->runs));

            if (!grown)
                return dn_err_set (err, DN_E_NOMEM, "out of memory");
            runs->runs = grown;
            runs->size = size;
        }
        *place = &runs->runs[runs->n++];
        return 0;
    }
    at = dn_random (&runs->state) % (uint64_t) runs->n_seen;
    *place = at < (uint64_t) runs->max ? &runs->runs[at] : NULL;
    return 0;
}

int dn_runs_add (struct dn_runs *runs,
                 const struct dn_row *row,
                 const struct dn_catalogue *catalogue,
                 const struct dn_datasets *datasets,
                 struct dn_err *err)
{
    struct dn_err why = {0};
    struct dn_run run;
    struct dn_run *place = NULL;

    if (!dn_row_get (row, "spec") || !dn_row_get (row, "gpu"))
        return dn_err_set (
            err, DN_E_SYNTAX, "the table needs the columns spec and gpu");
    runs->n_rows++;
    memset (&run, 0, sizeof (run));
    if (read_run (row, catalogue, datasets, runs, &run, &why) < 0) {
        if (why.code == DN_E_NOMEM)
            return dn_err_set (err, DN_E_NOMEM, "%s", why.text);
        if (runs->reason[0] == '\0') {
            memcpy (runs->reason, why.text, sizeof (runs->reason));
            runs->reason_line = row->line;
        }
        return 0;
    }
    runs->n_seen++;
    runs->n_censored += run.censored;
    if (find_place (runs, &place, err) < 0)
        return -1;
    if (place)
        *place = run;
    return 0;
}

int *dn_runs_with (const struct dn_runs *runs, enum dn_quantity quantity, int *n)
{
    int *indices = malloc ((size_t) (runs->n > 0 ? runs->n : 1) * sizeof (*indices));

    *n = 0;
    for (int i = 0; indices && i < runs->n; i++)
        if (isfinite (runs->runs[i].ratio[quantity]))
            indices[(*n)++] = i;
    return indices;
}
