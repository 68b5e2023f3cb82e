/* score.c - accuracy of predictions
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "learn/reals.h"
#include "predict/estimate.h"

static bool is_named (const struct dn_pairs *pairs, const char *name)
{
    return strncmp (pairs->name, name, DN_NAME_MAX - 1) == 0;
}

/* Rows of one group are mostly adjacent. Return its index, or -1. */
static int find_group (const struct dn_score *score, const char *name)
{
    if (score->last < score->n_groups && is_named (&score->groups[score->last], name))
        return score->last;
    for (int i = 0; i < score->n_groups; i++)
        if (is_named (&score->groups[i], name))
            return i;
    return -1;
}

/* Return the index of a new group, or -1 without memory. */
static int add_group (struct dn_score *score, const char *name)
{
    struct dn_pairs *made;

    if (dn_rows_grow (&score->groups, score->n_groups, sizeof (*made), NULL) < 0)
        return -1;
    made = &score->groups[score->n_groups];
    memset (made, 0, sizeof (*made));
    snprintf (made->name, sizeof (made->name), "%s", name);
    return score->n_groups++;
}

static struct dn_pairs *get_group (struct dn_score *score, const char *name)
{
    int found = find_group (score, name);

    if (found < 0 && score->n_groups >= DN_GROUPS_MAX) {
        name = DN_GROUP_OTHERS;
        found = find_group (score, name);
    }
    if (found < 0)
        found = add_group (score, name);
    if (found < 0)
        return NULL;
    score->last = found;
    return &score->groups[found];
}

/* Make room for one more value. */
static bool grow (struct dn_reservoir *sample)
{
    return sample->n == DN_SAMPLE_MAX
           || dn_rows_grow (&sample->values, (int64_t) sample->n, sizeof (double), NULL)
                  == 0;
}

/* Once the sample is full, every value seen has the same chance to be in it (Vitter's
 * algorithm R). The order of the values has no effect, so the sample may be sorted at
 * any time.
 */
static void add_value (struct dn_reservoir *sample, double value)
{
    uint64_t state = ++sample->n_seen;
    size_t at = sample->n;

    if (at < DN_SAMPLE_MAX)
        sample->n++;
    else
        at = (size_t) (dn_random (&state) % sample->n_seen);
    if (at < DN_SAMPLE_MAX)
        sample->values[at] = value;
}

int dn_score_add (struct dn_score *score,
                  const char *group,
                  double predicted,
                  const double bounds[DN_N_BOUNDS],
                  double measured,
                  struct dn_err *err)
{
    struct dn_pairs *pairs = get_group (score, group);
    double ratio = predicted / measured;

    /* -Wanalyzer-malloc-leak is wrong here: 'score' owns the memory */
    if (!pairs || !grow (&pairs->errors))
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < DN_N_BOUNDS; i++)
        /* -Wanalyzer-malloc-leak is wrong here too */
        if (!grow (&pairs->bounds[i].tightness))
            return dn_err_set (err, DN_E_NOMEM, "out of memory");
    pairs->n++;
    pairs->error += fabs (ratio - 1);
    if (ratio < 1) {
        pairs->n_under++;
        pairs->error_under += 1 - ratio;
    }
    pairs->log_ratio += log (ratio);
    add_value (&pairs->errors, fabs (ratio - 1));
    for (int i = 0; bounds && i < DN_N_BOUNDS; i++) {
        if (isnan (bounds[i]))
            continue;
        pairs->bounds[i].n++;
        pairs->bounds[i].n_covered += measured <= bounds[i];
        add_value (&pairs->bounds[i].tightness, bounds[i] / measured);
    }
    return 0;
}

/* NaN if 'n' is 0. */
static double mean (double sum, size_t n)
{
    return n > 0 ? sum / (double) n : NAN;
}

struct dn_figures dn_pairs_figures (struct dn_pairs *pairs)
{
    struct dn_pairs none = {.n = 0};
    struct dn_figures figures;

    if (!pairs)
        pairs = &none;
    figures = (struct dn_figures){
        .n = pairs->n,
        .mape = mean (pairs->error, pairs->n),
        .median_ape = dn_reals_median (pairs->errors.values, (int) pairs->errors.n),
        .bias = mean (pairs->log_ratio, pairs->n),
        .under = mean ((double) pairs->n_under, pairs->n),
        .under_mape = mean (pairs->error_under, pairs->n_under),
        .over_mape =
            mean (pairs->error - pairs->error_under, pairs->n - pairs->n_under),
    };
    for (int i = 0; i < DN_N_BOUNDS; i++) {
        struct dn_coverage *bound = &pairs->bounds[i];

        figures.coverage[i] = mean ((double) bound->n_covered, bound->n);
        figures.tightness[i] =
            dn_reals_median (bound->tightness.values, (int) bound->tightness.n);
    }
    return figures;
}

double dn_score_macro (struct dn_score *score)
{
    double sum = 0;

    for (int i = 0; i < score->n_groups; i++)
        sum += dn_pairs_figures (&score->groups[i]).median_ape;
    return score->n_groups > 0 ? sum / score->n_groups : NAN;
}

void dn_score_free (struct dn_score *score)
{
    if (!score)
        return;
    for (int i = 0; i < score->n_groups; i++) {
        free (score->groups[i].errors.values);
        for (int b = 0; b < DN_N_BOUNDS; b++)
            free (score->groups[i].bounds[b].tightness.values);
    }
    free (score->groups);
    *score = (struct dn_score){NULL, 0, 0};
}

void dn_reliability_add (struct dn_reliability bins[DN_RELIABILITY_BINS],
                         double vote,
                         double confidence,
                         double error)
{
    struct dn_reliability *bin =
        &bins[(int) fmin (confidence * DN_RELIABILITY_BINS, DN_RELIABILITY_BINS - 1)];
    double within = fabs (error) <= log (DN_CONFIDENCE_FACTOR) ? 1 : 0;

    bin->n++;
    bin->votes += vote;
    bin->stated += (confidence - bin->stated) * vote / bin->votes;
    bin->within += (within - bin->within) * vote / bin->votes;
}
