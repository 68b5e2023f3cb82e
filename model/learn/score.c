/* score.c - how good predictions are
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct dn_pairs *find_group (struct dn_score *score, const char *name)
{
    for (int i = 0; i < score->n_groups; i++)
        if (strncmp (score->groups[i].name, name, DN_NAME_MAX - 1) == 0)
            return &score->groups[i];
    return NULL;
}

static struct dn_pairs *add_group (struct dn_score *score, const char *name)
{
    struct dn_pairs *grown =
        realloc (score->groups, (size_t) (score->n_groups + 1) * sizeof (*grown));

    if (!grown)
        return NULL;
    score->groups = grown;
    grown += score->n_groups++;
    memset (grown, 0, sizeof (*grown));
    snprintf (grown->name, sizeof (grown->name), "%s", name);
    return grown;
}

static bool grow (struct dn_pairs *pairs)
{
    size_t size = pairs->size > 0 ? 2 * pairs->size : 64;
    double *grown;

    if (pairs->n < pairs->size)
        return true;
    grown = realloc (pairs->ratios, size * sizeof (double));
    if (!grown)
        return false;
    pairs->ratios = grown;
    grown = realloc (pairs->bounds, size * sizeof (double));
    if (!grown)
        return false;
    pairs->bounds = grown;
    pairs->size = size;
    return true;
}

int dn_score_add (struct dn_score *score,
                  const char *group,
                  double predicted,
                  double bound,
                  double measured,
                  struct dn_err *err)
{
    struct dn_pairs *pairs = find_group (score, group);

    if (!pairs)
        pairs = add_group (score, group);
    if (!pairs || !grow (pairs))
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    pairs->ratios[pairs->n] = predicted / measured;
    pairs->bounds[pairs->n++] = bound / measured;
    return 0;
}

static int by_value (const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;

    return (*x > *y) - (*x < *y);
}

/* Sorts. */
static double median (double *values, size_t n)
{
    qsort (values, n, sizeof (*values), by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

struct dn_figures dn_pairs_figures (struct dn_pairs *pairs)
{
    struct dn_figures figures = {.n = pairs->n};
    double n = (double) pairs->n;
    double *errors = malloc ((pairs->n + 1) * sizeof (*errors));

    figures.median_ape = NAN;
    for (size_t i = 0; i < pairs->n; i++) {
        double error = fabs (pairs->ratios[i] - 1);

        if (errors)
            errors[i] = error;
        figures.mape += error / n;
        figures.bias += log (pairs->ratios[i]) / n;
        figures.under += (pairs->ratios[i] < 1) / n;
        figures.coverage_p95 += (pairs->bounds[i] >= 1) / n;
    }
    if (pairs->n > 0) {
        if (errors)
            figures.median_ape = median (errors, pairs->n);
        figures.tightness_p95 = median (pairs->bounds, pairs->n);
    }
    free (errors);
    return figures;
}

double dn_score_macro (struct dn_score *score)
{
    double sum = 0;

    for (int i = 0; i < score->n_groups; i++)
        sum += dn_pairs_figures (&score->groups[i]).median_ape;
    return score->n_groups > 0 ? sum / score->n_groups : 0;
}

void dn_score_free (struct dn_score *score)
{
    if (!score)
        return;
    for (int i = 0; i < score->n_groups; i++) {
        free (score->groups[i].ratios);
        free (score->groups[i].bounds);
    }
    free (score->groups);
    *score = (struct dn_score){NULL, 0};
}
