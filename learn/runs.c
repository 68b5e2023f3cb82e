/* runs.c - the measured runs that are learned from
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/runs.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "learn/reals.h"
#include "learn/run_spec.h"
#include "predict/features.h"

/* Further labels are merged into one, so that a table with a name per row does not fill
 * the memory.
 */
#define LABELS_MAX   4096
#define LABEL_OTHERS "(others)"

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

/* The index of a name, or -1 without memory. */
static int find_label (struct dn_label_names *labels, const char *name)
{
    if (labels->n >= LABELS_MAX)
        name = LABEL_OTHERS;
    for (int i = labels->n - 1; i >= 0; i--)
        if (strncmp (labels->names[i], name, DN_NAME_MAX - 1) == 0)
            return i;
    if (dn_rows_grow (&labels->names, labels->n, sizeof (*labels->names), NULL) < 0)
        return -1;
    snprintf (labels->names[labels->n], DN_NAME_MAX, "%s", name);
    return labels->n++;
}

static double ratio_of (double measured, double predicted)
{
    double ratio = measured > 0 && predicted > 0 ? log (measured / predicted) : NAN;

    return isfinite (ratio) ? ratio : NAN;
}

static int predict_run (const struct dn_run_case *measured,
                        struct dn_example *example,
                        struct dn_err *err)
{
    const struct dn_run *run = &measured->run;
    /* A bundle is trained with data-sheet rates, as predict.c uses it. */
    struct dn_device sheet;
    const struct dn_case c = {.constants = &dn_constants_default,
                              .spec = &measured->spec,
                              .graph = &measured->graph,
                              .device = &sheet,
                              .cpus_per_gpu = dn_run_known (run->cores_per_gpu)};
    struct dn_estimate e;

    dn_device_sheet (measured->device, &sheet);
    dn_whitebox (&c, &e);
    dn_features (&c, &e, example->features);
    example->ratio[DN_QUANTITY_STEP] = ratio_of (run->step_ms / 1000, e.step_s.p50);
    /* The memory that a run needed is unknown if it failed for lack of memory. */
    example->ratio[DN_QUANTITY_MEMORY] =
        run->oom == 1
            ? NAN
            : ratio_of (run->peak_mem_gb * DN_GIB,
                        dn_estimate_memory (&e, dn_run_memory_count (run)).p50);
    example->ratio[DN_QUANTITY_POWER] = ratio_of (run->power_w, e.power_w);
    example->doubt = dn_whitebox_doubt (&c, &e, true);
    example->memory_sigma = e.gpu_mem.sigma;
    example->kind = dn_network_kind (c.graph);
    for (int i = 0; i < DN_N_QUANTITIES; i++)
        if (isfinite (example->ratio[i]))
            return 0;
    return dn_err_set (err, DN_E_RANGE, "nothing was measured that can be predicted");
}

static const char *family_of (const struct dn_runs *runs,
                              const char *column,
                              const char *value)
{
    return runs->families ? dn_family_of (runs->families, column, value) : value;
}

static int read_example (const struct dn_row *row,
                         struct dn_runs *runs,
                         struct dn_example *example,
                         struct dn_err *err)
{
    dn_cleanup (dn_run_case_free) struct dn_run_case measured = {.device = NULL};
    const struct dn_run *run = &measured.run;
    const struct dn_spec *spec = &measured.spec;
    const char *names[DN_N_LABELS];
    char stack[DN_NAME_MAX];

    if (dn_run_case_read (row, DN_RUN_LEARN, &runs->tables, &measured, err) < 0)
        return -1;
    if (isnan (run->step_ms) && isnan (run->peak_mem_gb) && isnan (run->power_w))
        return dn_err_set (err, DN_E_RANGE, "nothing was measured");
    if (predict_run (&measured, example, err) < 0)
        return -1;
    example->censored = run->censored == 1;
    names[DN_LABEL_MODEL] = run->group[0] != '\0'    ? run->group
                            : spec->model[0] != '\0' ? spec->model
                                                     : "unnamed";
    names[DN_LABEL_SOURCE] = run->source[0] != '\0' ? run->source
                             : run->user[0] != '\0' ? run->user
                                                    : "unnamed";
    names[DN_LABEL_GPU] = measured.device->name;
    names[DN_LABEL_CODE] = family_of (runs, "source", names[DN_LABEL_SOURCE]);
    names[DN_LABEL_FAMILY] = family_of (runs, "group", names[DN_LABEL_MODEL]);
    names[DN_LABEL_KIND] = example->kind;
    dn_stack_name (spec, stack);
    names[DN_LABEL_STACK] = stack;
    for (int i = 0; i < DN_N_LABELS; i++) {
        example->label[i] = find_label (&runs->labels[i], names[i]);
        if (example->label[i] < 0)
            return dn_err_set (err, DN_E_NOMEM, "out of memory");
    }
    return 0;
}

/* Find a place for one more run, either a new one or that of a run that is dropped.
 * '*place' is NULL if the new run is not drawn. Algorithm R (Vitter 1985).
 */
static int find_place (struct dn_runs *runs,
                       struct dn_example **place,
                       struct dn_err *err)
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

int dn_runs_add (struct dn_runs *runs, const struct dn_row *row, struct dn_err *err)
{
    struct dn_err why = {0};
    struct dn_example example;
    struct dn_example *place = NULL;

    if (dn_run_check (row, err) < 0)
        return -1;
    runs->n_rows++;
    memset (&example, 0, sizeof (example));
    if (read_example (row, runs, &example, &why) < 0) {
        if (why.code == DN_E_NOMEM)
            return dn_err_set (err, DN_E_NOMEM, "%s", why.text);
        if (runs->reason[0] == '\0') {
            memcpy (runs->reason, why.text, sizeof (runs->reason));
            runs->reason_line = row->line;
        }
        return 0;
    }
    runs->n_seen++;
    runs->n_censored += example.censored;
    if (find_place (runs, &place, err) < 0)
        return -1;
    if (place)
        *place = example;
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

static int copy_cell (const struct dn_row *row,
                      const char *column,
                      char *to,
                      size_t size,
                      struct dn_err *err)
{
    const char *value = dn_row_get (row, column);
    int len = snprintf (to, size, "%s", value ? value : "");

    if (len > 0 && (size_t) len < size)
        return 0;
    return dn_err_set (err,
                       DN_E_LIMIT,
                       "'%s' must have 1 to %zu characters, not %d",
                       column,
                       size - 1,
                       len);
}

int dn_families_add (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct dn_families *families = context;
    struct dn_family *family = &families->rows[families->n];

    if (families->n == DN_FAMILIES_MAX)
        return dn_err_set (err, DN_E_LIMIT, "more than %d families", DN_FAMILIES_MAX);
    if (copy_cell (row, "column", family->column, sizeof (family->column), err) < 0
        || copy_cell (row, "pattern", family->pattern, sizeof (family->pattern), err)
               < 0
        || copy_cell (row, "family", family->name, sizeof (family->name), err) < 0)
        return -1;
    families->n++;
    return 0;
}

const char *dn_family_of (const struct dn_families *families,
                          const char *column,
                          const char *value)
{
    for (int i = 0; i < families->n; i++) {
        const struct dn_family *family = &families->rows[i];

        if (strcmp (family->column, column) == 0
            && fnmatch (family->pattern, value, 0) == 0)
            return strcmp (family->name, "=") == 0 ? value : family->name;
    }
    return value;
}
