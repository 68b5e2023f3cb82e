/* reach.c - fit how the trees' correction depends on the distance from the runs
 *
 * The trees are evaluated on runs that they had not seen, at all distances. The result
 * is a curve over the distance: near the training runs the residual counts in full, and
 * far from all of them it does not count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/parts.h"
#include "learn/reals.h"

/* Number of points that represent the runs. So many separate known from unknown as well
 * as all 5,957 rows of training_runs.csv, and are few enough to compare with in a
 * decision.
 */
#define POINTS_MAX 450

/* A feature that is the same in all runs has no scale, and one that few runs have has
 * too small a scale. The minimum is this share of its range. */
#define RANGE_SHARE 0.25

/* --- points ---------------------------------------------------------------------- */

static void fit_scales (const struct dn_cases *cases, struct dn_domain *domain)
{
    int n = cases->n;

    domain->n_used = DN_AXES_ALL;
    for (int f = 0; f < DN_N_FEATURES; f++) {
        double sum = 0;
        double squares = 0;
        double low = INFINITY;
        double high = -INFINITY;
        double scale;

        for (int i = 0; i < n; i++) {
            double value = (double) dn_cases_run (cases, i)->features[f];

            sum += value;
            low = fmin (low, value);
            high = fmax (high, value);
        }
        for (int i = 0; i < n; i++) {
            double off = (double) dn_cases_run (cases, i)->features[f] - sum / n;

            squares += off * off;
        }
        scale = fmax (sqrt (squares / n), RANGE_SHARE * (high - low));
        domain->used[f] = f;
        domain->scale[f] =
            (float) (1 / sqrt (DN_N_FEATURES) / (scale > 1e-6 ? scale : 1));
    }
}

static double square_to (const float *features,
                         const struct dn_domain *domain,
                         const float *point)
{
    float sum = 0;

    for (int f = 0; f < DN_N_FEATURES; f++) {
        float d = features[f] * domain->scale[f] - point[f];

        sum += d * d;
    }
    return (double) sum;
}

/* Each point is the run that is furthest from all points so far (Gonzalez 1985). So no
 * run is further from its nearest point than twice the distance of the best choice.
 */
static void spread_points (const struct dn_cases *cases,
                           double *nearest,
                           struct dn_domain *domain)
{
    int n = cases->n;
    int next = 0;

    for (int i = 0; i < n; i++)
        nearest[i] = INFINITY;
    while (domain->n_points < POINTS_MAX) {
        const float *chosen = dn_cases_run (cases, next)->features;
        float *point = domain->points + (ptrdiff_t) domain->n_points * domain->n_used;

        for (int f = 0; f < DN_N_FEATURES; f++)
            point[f] = chosen[f] * domain->scale[f];
        domain->n_points++;
        next = 0;
        for (int i = 0; i < n; i++) {
            const float *features = dn_cases_run (cases, i)->features;

            nearest[i] = fmin (nearest[i], square_to (features, domain, point));
            if (nearest[i] > nearest[next])
                next = i;
        }
        if (nearest[next] <= 1e-12)
            break;
    }
}

int dn_domain_fit (const struct dn_cases *cases,
                   struct dn_domain *domain,
                   struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) double *nearest =
        malloc (((size_t) cases->n + 1) * sizeof (double));

    domain->points = calloc (POINTS_MAX, sizeof (float) * DN_AXES_ALL);
    if (!nearest || !domain->points)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    fit_scales (cases, domain);
    spread_points (cases, nearest, domain);
    return 0;
}

/* --- knots ----------------------------------------------------------------------- */

static const double shares[] = {0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 0.98};
#define N_KNOTS ((int) DN_N_ELEMENTS (shares))

/* The slopes of the spread over the size of kernels that are tried. */
#define SLOPES     30
#define SLOPE_STEP 0.01

/* The minimum spread: repeated runs of one job differ by this. */
#define SIGMA_MIN 0.05

/* Place the knots so that the runs that were left out are spread evenly between them.
 */
static void place_knots (const struct dn_case_set *set,
                         double *work,
                         struct dn_domain *domain)
{
    size_t n = (size_t) set->n_unseen;

    for (size_t i = 0; i < n; i++)
        work[i] = set->unseen[i]->distance;
    qsort (work, n, sizeof (*work), dn_reals_compare);
    domain->n_knots = 0;
    for (int k = 0; k < N_KNOTS; k++) {
        double distance =
            k == 0 || n == 0 ? 0 : work[(size_t) (shares[k] * (double) (n - 1))];

        if (domain->n_knots > 0
            && distance < domain->knots[domain->n_knots - 1].distance + 0.01)
            continue;
        domain->knots[domain->n_knots++] =
            (struct dn_knot){.distance = distance, .residual = 0.5, .sigma = 0.5};
    }
}

/* ln (measured / learned) where the residual counts. */
static double corrected_error (const struct dn_left_out *out,
                               const struct dn_domain *domain)
{
    double moved = dn_domain_at (domain, out->distance).residual * out->residual;

    return out->ratio - fmin (fmax (moved, -DN_TRAIN_LIMIT), DN_TRAIN_LIMIT);
}

double dn_left_out_error (const struct dn_left_out *left_out,
                          const struct dn_domain *domain)
{
    return left_out->corrected ? corrected_error (left_out, domain) : left_out->ratio;
}

double dn_left_out_sigma (const struct dn_left_out *left_out,
                          const struct dn_domain *domain)
{
    double sigma = dn_domain_at (domain, left_out->distance).sigma
                   * dn_crumbs_factor (&domain->crumbs, left_out->run->features);

    return sqrt (sigma * sigma + left_out->run->doubt);
}

/* A run that was killed has an error only if its predicted time is shorter than it ran.
 */
static double absolute (const struct dn_example *run, double error)
{
    return run->censored ? fmax (error, 0) : fabs (error);
}

/* The loss, half by runs and half by votes. */
static double loss (const struct dn_case_set *set, const struct dn_domain *domain)
{
    double sum = 0;

    for (int i = 0; i < set->n_unseen; i++) {
        const struct dn_left_out *out = set->unseen[i];

        sum += (1 + out->vote) * absolute (out->run, corrected_error (out, domain));
    }
    return sum;
}

/* Try another share of the residual at knot 'k'. The shares before it must not be
 * smaller and those after it not larger. */
static bool improve (const struct dn_case_set *set,
                     int k,
                     double step,
                     struct dn_domain *domain,
                     double *best)
{
    struct dn_knot before[DN_KNOTS_MAX];
    double share = fmin (fmax (domain->knots[k].residual + step, 0), 1);
    double result;

    memcpy (before, domain->knots, sizeof (before));
    for (int i = 0; i < domain->n_knots; i++) {
        double *residual = &domain->knots[i].residual;

        *residual = i < k   ? fmax (*residual, share)
                    : i > k ? fmin (*residual, share)
                            : share;
    }
    result = loss (set, domain);
    if (result < *best * (1 - 1e-9)) {
        *best = result;
        return true;
    }
    memcpy (domain->knots, before, sizeof (before));
    return false;
}

static void fit_shares (const struct dn_case_set *set, struct dn_domain *domain)
{
    static const double steps[] = {0.25, 0.25, 0.125, 0.125, 0.0625, 0.0625};
    double best = loss (set, domain);

    for (size_t i = 0; i < DN_N_ELEMENTS (steps); i++)
        for (int k = 0; k < domain->n_knots; k++)
            if (!improve (set, k, steps[i], domain, &best))
                improve (set, k, -steps[i], domain, &best);
}

/* The weight of knot 'k' at a distance: 1 on it, 0 on its neighbours. */
static double hat (const struct dn_domain *domain, int k, double distance)
{
    const struct dn_knot *knots = domain->knots;
    int last = domain->n_knots - 1;
    int other;

    if ((k == 0 && distance <= knots[0].distance)
        || (k == last && distance >= knots[last].distance))
        return 1;
    other = distance < knots[k].distance ? k - 1 : k + 1;
    if (other < 0 || other > last)
        return 0;
    return fmax (1
                     - (distance - knots[k].distance)
                           / (knots[other].distance - knots[k].distance),
                 0);
}

struct weighted {
    double value; /* first, for dn_reals_compare () */
    double weight;
};

/* The spread of the normal law with the ninth decile of the errors around the knot. The
 * quantiles cover the tails. */
static double spread_at (const struct dn_case_set *set,
                         const struct dn_domain *domain,
                         int k,
                         struct weighted *work)
{
    const double level = 0.9;
    const double score = 1.645;
    double total = 0;
    double sum = 0;
    size_t n = 0;

    for (int i = 0; i < set->n_unseen; i++) {
        const struct dn_left_out *out = set->unseen[i];
        double weight = hat (domain, k, out->distance) * out->vote;

        if (weight <= 0 || out->run->censored)
            continue;
        work[n++] = (struct weighted){
            fabs (dn_left_out_error (out, domain))
                / dn_crumbs_factor (&domain->crumbs, out->run->features),
            weight};
        total += weight;
    }
    qsort (work, n, sizeof (*work), dn_reals_compare);
    for (size_t i = 0; i < n; i++) {
        sum += work[i].weight;
        if (sum >= level * total)
            return fmax (work[i].value / score, SIGMA_MIN);
    }
    return SIGMA_MIN;
}

/* The range of the feature in which four fifths of the votes lie, and its mean. */
static bool range_crumbs (const struct dn_case_set *set,
                          struct weighted *work,
                          struct dn_crumbs *crumbs)
{
    const double tail = 0.1;
    double total = 0;
    double mean = 0;
    double sum = 0;

    for (int i = 0; i < set->n; i++) {
        const struct dn_example *run = set->left_out[i].run;
        double x = (double) run->features[DN_FEATURE_KERNEL_FLOPS];

        work[i] = (struct weighted){x, set->vote[i]};
        total += set->vote[i];
        mean += set->vote[i] * x;
    }
    if (!(total > 0))
        return false;
    qsort (work, (size_t) set->n, sizeof (*work), dn_reals_compare);
    crumbs->low = crumbs->high = work[0].value;
    for (int i = 0; i < set->n; i++) {
        if (sum < tail * total)
            crumbs->low = work[i].value;
        if (sum < (1 - tail) * total)
            crumbs->high = work[i].value;
        sum += work[i].weight;
    }
    crumbs->at = fmin (fmax (mean / total, crumbs->low), crumbs->high);
    return true;
}

/* Minus the logarithm of the likelihood of Laplace's law, per vote, with its scale at
 * its most likely value.
 */
static double crumbs_loss (const struct dn_case_set *set,
                           const struct dn_domain *domain)
{
    double votes = 0;
    double scale = 0;
    double logs = 0;

    for (int i = 0; i < set->n_unseen; i++) {
        const struct dn_left_out *out = set->unseen[i];
        double factor = dn_crumbs_factor (&domain->crumbs, out->run->features);

        if (out->run->censored)
            continue;
        votes += out->vote;
        scale += out->vote * fabs (dn_left_out_error (out, domain)) / factor;
        logs += out->vote * log (factor);
    }
    return votes > 0 && scale > 0 ? log (scale / votes) + logs / votes : 0;
}

static void fit_crumbs (const struct dn_case_set *set,
                        struct weighted *work,
                        struct dn_domain *domain)
{
    struct dn_crumbs *crumbs = &domain->crumbs;
    double best_slope = 0;
    double best = INFINITY;

    *crumbs = (struct dn_crumbs){.slope = 0};
    if (!range_crumbs (set, work, crumbs))
        return;
    for (int i = 0; i <= SLOPES; i++) {
        double loss;

        crumbs->slope = i * SLOPE_STEP;
        loss = crumbs_loss (set, domain);
        if (loss < best - 1e-9) {
            best = loss;
            best_slope = crumbs->slope;
        }
    }
    crumbs->slope = best_slope;
}

int dn_knots_fit (const struct dn_case_set *set,
                  struct dn_domain *domain,
                  struct dn_err *err)
{
    size_t n = (size_t) (set->n > 0 ? set->n : 1) * DN_N_SCHEMES;
    dn_cleanup (dn_free_ptr) double *work = malloc (n * sizeof (*work));

    if (!work)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    place_knots (set, work, domain);
    fit_shares (set, domain);
    /* Beyond it no run has been seen, and only the white box counts. */
    domain->knots[domain->n_knots - 1].residual = 0;
    return 0;
}

/* The rising values that are nearest to those that were found: neighbours in the wrong
 * order get their mean (Ayer et al. 1955).
 */
static void rise (const double *value, struct dn_domain *domain)
{
    for (int k = 0; k < domain->n_knots; k++) {
        double highest = 0;

        for (int from = 0; from <= k; from++) {
            double least = INFINITY;
            double sum = 0;

            for (int to = from; to < domain->n_knots; to++) {
                sum += value[to];
                if (to >= k)
                    least = fmin (least, sum / (to - from + 1));
            }
            highest = fmax (highest, least);
        }
        domain->knots[k].sigma = highest;
    }
}

int dn_spread_fit (const struct dn_case_set *set,
                   struct dn_domain *domain,
                   struct dn_err *err)
{
    size_t n = (size_t) (set->n > 0 ? set->n : 1) * DN_N_SCHEMES;
    dn_cleanup (dn_free_ptr) struct weighted *work = malloc (n * sizeof (*work));
    double sigma[DN_KNOTS_MAX] = {0};

    if (!work)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    fit_crumbs (set, work, domain);
    for (int k = 0; k < domain->n_knots; k++)
        sigma[k] = spread_at (set, domain, k, work);
    rise (sigma, domain);
    return 0;
}
