/* site_fit.c - the most probable constants and scales of one site
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/site_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/site_solve.h"

struct dn_site_fit {
    struct dn_constants base;
    struct dn_site_prior prior;
    struct dn_site_run *runs;
    int n_runs;
    int size;
    int64_t n_seen;
    uint64_t random;
};

/* Errors in units of the stated spread (tests/bench/site-curve --prior): when a run is
 * left out of a site's, and when all of its application is; not below the normal law.
 */
static const struct law {
    double level;
    double seen;
    double unseen;
} laws[] = {
    {0.5, 0, 0},
    {0.8, 0.841, 0.841},
    {0.9, 1.28, 1.31},
    {0.95, 1.69, 2.04},
    {0.975, 2.46, 2.89},
    {0.99, 3.78, 4.43},
    {0.995, 4.32, 5.46},
};

struct dn_site_prior dn_site_prior_default (void)
{
    /* Most probable on the sources of training_runs.csv, each against constants that
     * were fitted without it (tests/bench/site-curve --prior). */
    struct dn_site_prior prior = {
        .site = 0.153,
        .device = 0.131,
        .likeness = {.spread = 0.266,
                     .noise = 0.0616,
                     .lengths = {[DN_AXIS_BATCH] = 3.04,
                                 [DN_AXIS_ACCUMULATION] = 3.04,
                                 [DN_AXIS_GPUS] = 5.04,
                                 [DN_AXIS_NODES] = 5.04,
                                 [DN_AXIS_SAMPLE_FLOPS] = 5.32,
                                 [DN_AXIS_DEVICE] = 1.59,
                                 [DN_AXIS_PRECISION] = 1.74}},
        .n_level = 20,
        .memory = 0.15,
        .power = 0.15,
    };

    prior.seen.n = prior.unseen.n = (int) DN_N_ELEMENTS (laws);
    for (int i = 0; i < prior.seen.n; i++) {
        prior.seen.scores[i] = prior.unseen.scores[i] =
            laws[i].level > 0.5 ? dn_normal_score (laws[i].level) : 0;
        prior.seen.values[i] = laws[i].seen;
        prior.unseen.values[i] = laws[i].unseen;
    }
    for (int i = 0; i < DN_CONSTANT_FIELDS; i++)
        prior.constants[i] = dn_constant_fields[i].spread;
    return prior;
}

struct dn_site_fit *dn_site_fit_new (const struct dn_constants *constants,
                                     const struct dn_site_prior *prior)
{
    struct dn_site_fit *fit = calloc (1, sizeof (*fit));

    if (!fit)
        return NULL;
    fit->base = *constants;
    fit->prior = prior ? *prior : dn_site_prior_default ();
    fit->random = 88172645463325252u;
    return fit;
}

void dn_site_fit_free (struct dn_site_fit *fit)
{
    if (!fit)
        return;
    for (int i = 0; i < fit->n_runs; i++)
        dn_graph_free (&fit->runs[i].graph);
    free (fit->runs);
    free (fit);
}

/* xorshift64 (Marsaglia 2003): the same runs give the same bundle. */
static uint64_t next_random (struct dn_site_fit *fit)
{
    fit->random ^= fit->random << 13;
    fit->random ^= fit->random >> 7;
    fit->random ^= fit->random << 17;
    return fit->random;
}

int dn_site_fit_add (struct dn_site_fit *fit,
                     struct dn_site_run *run,
                     struct dn_err *err)
{
    int at = fit->n_runs;

    fit->n_seen++;
    if (at == DN_SITE_RUNS_MAX) { /* Vitter 1985, algorithm R */
        uint64_t place = next_random (fit) % (uint64_t) fit->n_seen;

        if (place >= DN_SITE_RUNS_MAX) {
            dn_graph_free (&run->graph);
            return 0;
        }
        at = (int) place;
        dn_graph_free (&fit->runs[at].graph);
        fit->n_runs--;
    } else if (at == fit->size) {
        int size = at > 0 ? 2 * at : 64;
        struct dn_site_run *grown =
            realloc (fit->runs, (size_t) size * sizeof (*grown));

        if (!grown)
            return dn_err_set (err, DN_E_NOMEM, "out of memory");
        fit->runs = grown;
        fit->size = size;
    }
    fit->runs[at] = *run;
    fit->n_runs++;
    memset (&run->graph, 0, sizeof (run->graph));
    return 0;
}

/* --- the runs that take part ------------------------------------------------------ */

/* A run with its application, for sorting. */
struct candidate {
    const struct dn_site_run *run;
    const char *application;
    uint64_t order; /* by chance */
};

static int compare_candidates (const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;
    int order = strcmp (x->application, y->application);

    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* The runs whose time was measured, by application, in random order within one. */
static int list_candidates (struct dn_site_fit *fit, struct candidate *candidates)
{
    int n = 0;

    for (int i = 0; i < fit->n_runs; i++)
        if (fit->runs[i].step_s > 0)
            candidates[n++] = (struct candidate){
                .run = &fit->runs[i],
                .application = dn_application_of (&fit->runs[i].spec),
                .order = next_random (fit)};
    if (n > 0)
        qsort (candidates, (size_t) n, sizeof (*candidates), compare_candidates);
    return n;
}

/* Keep at most 'most' of each application; with 'out' NULL only count. */
static int keep (const struct candidate *candidates,
                 int n,
                 int most,
                 const struct dn_site_run **out)
{
    int kept = 0;
    int own = 0;

    for (int i = 0; i < n && kept < DN_HISTORY_MAX + 1; i++) {
        bool same =
            i > 0
            && strcmp (candidates[i].application, candidates[i - 1].application) == 0;

        own = same ? own + 1 : 1;
        if (own > most)
            continue;
        if (out)
            out[kept] = candidates[i].run;
        kept++;
    }
    return kept;
}

/* At most DN_HISTORY_MAX of the runs, as many of each application as there is room for.
 * -1 without memory.
 */
static int choose_runs (struct dn_site_fit *fit,
                        const struct dn_site_run *out[DN_HISTORY_MAX + 1])
{
    dn_cleanup (dn_free_ptr) struct candidate *candidates =
        calloc ((size_t) fit->n_runs + 1, sizeof (*candidates));
    int most = DN_HISTORY_OWN_MAX;
    int n;

    if (!candidates)
        return -1;
    n = list_candidates (fit, candidates);
    while (most > 1 && keep (candidates, n, most, NULL) > DN_HISTORY_MAX)
        most--;
    n = keep (candidates, n, most, out);
    return n < DN_HISTORY_MAX ? n : DN_HISTORY_MAX;
}

/* --- writing ---------------------------------------------------------------------- */

/* A constant that has hardly moved and is hardly better known stays the shipped one. */
static bool is_learned (const struct dn_site_parameter *parameter)
{
    return fabs (parameter->value) > 0.01
           || parameter->variance < 0.9 * parameter->spread * parameter->spread;
}

static int write_scale (const struct dn_site_parameter *parameter,
                        struct dn_tuning *tuning,
                        struct dn_err *err)
{
    struct dn_scale scale = {.scale = exp (parameter->value),
                             .sigma = sqrt (parameter->variance),
                             .runs = parameter->runs};

    if (!parameter->device) {
        tuning->step = scale;
        return 0;
    }
    snprintf (scale.name, sizeof (scale.name), "%s", parameter->device->name);
    return dn_scales_add (&tuning->devices, &scale, err);
}

static int write_parameters (const struct dn_site_fit *fit,
                             const struct dn_site_solution *solution,
                             struct dn_tuning *tuning,
                             struct dn_err *err)
{
    struct dn_constants constants = dn_site_constants (solution);

    for (int i = 0; i < solution->n_parameters; i++) {
        const struct dn_site_parameter *parameter = &solution->parameters[i];
        int field = parameter->field;

        if (field < 0) {
            if (write_scale (parameter, tuning, err) < 0)
                return -1;
            continue;
        }
        if (!is_learned (parameter))
            continue;
        tuning->tuned[field].set = true;
        tuning->tuned[field].shipped = dn_constant_get (&fit->base, field);
        tuning->tuned[field].sigma = sqrt (parameter->variance);
        dn_constant_set (
            &tuning->constants, field, dn_constant_get (&constants, field));
    }
    return 0;
}

/* Runs without the name of an application are not distinguished later. */
static struct dn_history *write_history (const struct dn_site_fit *fit,
                                         const struct dn_site_solution *solution,
                                         struct dn_err *err)
{
    struct dn_history *history = dn_history_new (solution->n_members);

    if (!history) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    history->n = 0;
    for (int i = 0; i < solution->n_members; i++) {
        const struct dn_site_member *member = &solution->members[i];

        if (member->trace.application[0] != '\0')
            history->runs[history->n++] =
                (struct dn_past){.trace = member->trace,
                                 .error = member->error,
                                 .noise = sqrt (member->noise)};
    }
    history->likeness = solution->likeness;
    history->shared = solution->shared;
    history->device = solution->n_parameters > 0 ? fit->prior.device : 0;
    history->level = solution->level;
    history->seen = fit->prior.seen;
    history->unseen = fit->prior.unseen;
    if (dn_history_close (history, err) == 0)
        return history;
    dn_history_free (history);
    return NULL;
}

static int find_times (struct dn_site_fit *fit,
                       struct dn_tuning *tuning,
                       struct dn_err *err)
{
    const struct dn_site_run *runs[DN_HISTORY_MAX + 1];
    dn_cleanup (dn_site_solution_free) struct dn_site_solution *solution = NULL;
    int n = choose_runs (fit, runs);

    tuning->runs = fit->n_seen;
    tuning->constants = fit->base;
    if (n == 0)
        return 0;
    if (n < 0)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    solution = dn_site_solve (&fit->base, &fit->prior, runs, n, err);
    if (!solution || write_parameters (fit, solution, tuning, err) < 0)
        return -1;
    tuning->history = write_history (fit, solution, err);
    return tuning->history ? 0 : -1;
}

/* Memory and power: one scale, most probable under Student's t. */
struct evidence {
    double *errors;
    int n;
};

static struct dn_scale find_scale (const struct evidence *evidence, double spread)
{
    const double noise = 0.2;
    const int turns = 20;
    double value = 0;
    double weights = 0;

    for (int turn = 0; turn < turns; turn++) {
        double sum = 0;

        weights = 1 / (spread * spread);
        for (int i = 0; i < evidence->n; i++) {
            double error = (evidence->errors[i] - value) / noise;
            double weight =
                (DN_STUDENT + 1) / (DN_STUDENT + error * error) / (noise * noise);

            /* Runs of one site are alike: four count as two. */
            weight /= sqrt (evidence->n);
            weights += weight;
            sum += weight * evidence->errors[i];
        }
        value = sum / weights;
    }
    return (struct dn_scale){
        .scale = exp (value), .sigma = sqrt (1 / weights), .runs = evidence->n};
}

static int find_resources (struct dn_site_fit *fit,
                           struct dn_tuning *tuning,
                           struct dn_err *err)
{
    size_t n = (size_t) fit->n_runs + 1;
    struct evidence memory = {calloc (n, sizeof (double)), 0};
    struct evidence power = {calloc (n, sizeof (double)), 0};
    bool ready = memory.errors && power.errors;

    for (int i = 0; ready && i < fit->n_runs; i++) {
        const struct dn_site_run *run = &fit->runs[i];
        const struct dn_case c = dn_site_case (&tuning->constants, run);
        struct dn_estimate estimate;

        dn_whitebox (&c, &estimate);
        if (run->gpu_mem > 0)
            memory.errors[memory.n++] =
                log (run->gpu_mem / estimate.gpu_mem.p50) - run->memory_residual;
        if (run->power_w > 0)
            power.errors[power.n++] =
                log (run->power_w / estimate.power_w) - run->power_residual;
    }
    if (ready && memory.n > 0)
        tuning->memory = find_scale (&memory, fit->prior.memory);
    if (ready && power.n > 0)
        tuning->power = find_scale (&power, fit->prior.power);
    free (memory.errors);
    free (power.errors);
    return ready ? 0 : dn_err_set (err, DN_E_NOMEM, "out of memory");
}

struct dn_tuning *dn_site_fit_solve (struct dn_site_fit *fit, struct dn_err *err)
{
    struct dn_tuning *tuning = dn_tuning_new ();

    if (!tuning) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    if (find_times (fit, tuning, err) == 0 && find_resources (fit, tuning, err) == 0)
        return tuning;
    dn_tuning_free (tuning);
    return NULL;
}
