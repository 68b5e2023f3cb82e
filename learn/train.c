/* train.c - train a model bundle from measured runs: the parts in order
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/train.h"

#include <stdlib.h>
#include <string.h>

#include "learn/boost.h"
#include "learn/parts.h"

/* With fewer runs, nothing can be learned or left out. */
#define RUNS_MIN 20

struct dn_training dn_training_start (int max_runs, uint64_t seed)
{
    return (struct dn_training){.runs = dn_runs_start (max_runs, seed),
                                .seed = seed,
                                .max_folds = 12,
                                .margin = 1};
}

void dn_training_free (struct dn_training *training)
{
    if (!training)
        return;
    dn_runs_free (&training->runs);
    free (training->manifest);
    free (training->step.data);
    free (training->points.data);
    for (int s = 0; s < DN_N_SCHEMES; s++)
        free (training->judgements[s].runs);
    memset (training->judgements, 0, sizeof (training->judgements));
    training->manifest = training->step.data = training->points.data = NULL;
}

static int check_runs (const struct dn_training *training,
                       const struct dn_case_set *set,
                       struct dn_err *err)
{
    int n_measured = 0;

    for (int i = 0; i < set->n; i++)
        n_measured += !training->runs.runs[set->index[i]].censored;
    if (n_measured >= RUNS_MIN)
        return 0;
    if (training->runs.reason[0] != '\0')
        return dn_err_set (err,
                           DN_E_RANGE,
                           "%d runs with a step time, at least %d expected; line %lld: "
                           "%s",
                           n_measured,
                           RUNS_MIN,
                           (long long) training->runs.reason_line,
                           training->runs.reason);
    return dn_err_set (err,
                       DN_E_RANGE,
                       "%d runs with a step time, at least %d expected",
                       n_measured,
                       RUNS_MIN);
}

/* Compare on the rows of the training. */
static int confirm (struct dn_training *training,
                    const struct dn_case_set *set,
                    const struct dn_boost *made,
                    const struct dn_trees *trees,
                    struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) float *rows =
        malloc ((size_t) set->n * DN_N_FEATURES * sizeof (*rows));

    if (!rows)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < set->n; i++) {
        const struct dn_example *run = &training->runs.runs[set->index[i]];

        memcpy (
            rows + (size_t) i * DN_N_FEATURES, run->features, sizeof (run->features));
    }
    return dn_confirm_trees (trees, made, rows, set->n, &training->confirmed, err);
}

/* The trees of the bundle are trained on all runs. */
static int train_all (struct dn_training *training,
                      const struct dn_cases *all,
                      struct dn_err *err)
{
    struct dn_boost *made = dn_train_trees (all, training->seed, err);
    struct dn_trees *trees = made ? dn_boost_trees (made, DN_N_FEATURES, err) : NULL;
    int rc = -1;

    if (trees && confirm (training, all->set, made, trees, err) == 0)
        rc = dn_flat_write_trees (trees, &training->step, err);
    dn_trees_free (trees);
    dn_boost_free (made);
    return rc;
}

static void free_domain (struct dn_domain *domain)
{
    free (domain->points);
}

static int fit_bounds (const struct dn_training *training,
                       const struct dn_case_set *set,
                       const struct dn_domain *domain,
                       enum dn_law law,
                       struct dn_bounds *bounds,
                       struct dn_err *err)
{
    dn_cleanup (dn_pool_free) struct dn_pool pool = {0};
    /* that of the white box's step time, whose constants were fitted to the runs */
    double margin = set->quantity == DN_QUANTITY_STEP ? training->margin : 1;
    int none[DN_N_LABELS];

    for (int i = 0; i < DN_N_LABELS; i++)
        none[i] = -1;
    if (dn_pool_make (&training->runs, set, domain, law, &pool, err) < 0)
        return -1;
    dn_bounds_fit (&pool, margin, none, bounds);
    return 0;
}

int dn_training_run (struct dn_training *training, struct dn_err *err)
{
    dn_cleanup (dn_case_set_free) struct dn_case_set step = {0};
    dn_cleanup (dn_case_set_free) struct dn_case_set memory = {0};
    dn_cleanup (free_domain) struct dn_domain domain = {.n_knots = 0};
    dn_cleanup (dn_free_ptr) struct dn_bounds *bounds =
        calloc (DN_N_QUANTITIES + 1, sizeof (*bounds));
    const struct dn_runs *runs = &training->runs;
    struct dn_cases all;
    struct dn_bounds *within;

    if (!bounds)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    within = &bounds[DN_N_QUANTITIES];
    if (dn_case_set_init (&step, runs, DN_QUANTITY_STEP, err) < 0
        || dn_case_set_init (&memory, runs, DN_QUANTITY_MEMORY, err) < 0
        || check_runs (training, &step, err) < 0
        || dn_cross_validate (training, &step, err) < 0
        || dn_knots_fit (&step, &domain, err) < 0
        || dn_gates_fit (training, &step, &domain, err) < 0
        || dn_spread_fit (&step, &domain, err) < 0
        || dn_judge (training, &step, &domain, err) < 0)
        return -1;
    all = (struct dn_cases){&step, NULL, step.weight, step.n};
    if (dn_domain_fit (&all, &domain, err) < 0
        || fit_bounds (
               training, &step, &domain, DN_LAW_BOUNDS, &bounds[DN_QUANTITY_STEP], err)
               < 0
        || fit_bounds (training, &step, &domain, DN_LAW_WITHIN, within, err) < 0
        || fit_bounds (training,
                       &memory,
                       &domain,
                       DN_LAW_BOUNDS,
                       &bounds[DN_QUANTITY_MEMORY],
                       err)
               < 0
        || (!training->bounds_only && train_all (training, &all, err) < 0)
        || dn_flat_write_points (&domain, &training->points, err) < 0)
        return -1;
    return dn_manifest_write (training, &domain, bounds, within, err);
}
