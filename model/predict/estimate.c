/* estimate.c - quantiles of a quantity that is known up to a factor, time and cost
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/estimate.h"

#include <math.h>

/* Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23: the error is
 * below 4.5e-4, less than the uncertainty of any spread.
 */
double dn_normal_score (double quantile)
{
    double tail = quantile > 0.5 ? 1 - quantile : quantile;
    double t = sqrt (-2 * log (tail));
    double z = t
               - (2.515517 + 0.802853 * t + 0.010328 * t * t)
                     / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);

    return quantile > 0.5 ? z : -z;
}

/* How fast the values rise beyond the last point. */
static double last_slope (const struct dn_quantiles *q)
{
    int last = q->n - 1;

    if (last == 0)
        return 1;
    return dn_max ((q->values[last] - q->values[last - 1])
                       / (q->scores[last] - q->scores[last - 1]),
                   1);
}

/* Linear between two points. Beyond the ends it rises like the normal law, and above
 * the last point at least as fast as before it, because no data exist there.
 */
static double interpolate (const struct dn_quantiles *q, double score)
{
    int last = q->n - 1;
    double slope;
    int at = 1;

    if (score <= q->scores[0])
        return q->values[0] + (score - q->scores[0]);
    while (at <= last && score > q->scores[at])
        at++;
    if (at > last)
        return q->values[last] + (score - q->scores[last]) * last_slope (q);
    slope = (q->values[at] - q->values[at - 1]) / (q->scores[at] - q->scores[at - 1]);
    return q->values[at - 1] + (score - q->scores[at - 1]) * slope;
}

/* The factor on a median at the standard normal score. */
static double factor_at (double sigma,
                         const struct dn_quantiles *quantiles,
                         double score)
{
    if (sigma <= 0)
        return 1;
    if (quantiles && quantiles->n > 0)
        score = interpolate (quantiles, score);
    return exp (sigma * score);
}

double dn_range_at (struct dn_range range, double quantile)
{
    const struct dn_range_floor *floor = &range.floor;
    double factor;
    double score;

    if (range.p50 <= 0 || quantile == 0.5)
        return range.p50;
    score = dn_normal_score (dn_min (dn_max (quantile, 1e-6), 1 - 1e-6));
    factor = factor_at (range.sigma, range.quantiles, score);
    if (floor->ratio > 0 && quantile > 0.5)
        factor = dn_max (
            factor, floor->ratio * factor_at (floor->sigma, floor->quantiles, score));
    return range.p50 * factor;
}

/* The normal score at which a symmetric law has that value, not negative. */
static double score_at (const struct dn_quantiles *q, double value)
{
    double score = 0;
    double below = 0;

    for (int i = 0; i < q->n; i++) {
        if (value < q->values[i])
            return score
                   + (value - below) / (q->values[i] - below) * (q->scores[i] - score);
        score = q->scores[i];
        below = q->values[i];
    }
    return score + (value - below) / last_slope (q);
}

double dn_range_within (struct dn_range range, double factor)
{
    const struct dn_quantiles *q = range.quantiles;
    double value = log (factor) / range.sigma;

    if (!(range.sigma > 0))
        return 1;
    if (q && q->within)
        q = q->within;
    return erf ((q && q->n > 0 ? score_at (q, value) : value) / sqrt (2));
}

bool dn_estimate_may_fit (const struct dn_estimate *estimate)
{
    return estimate->supported
           && dn_range_at (estimate->gpu_mem, 0.3) <= estimate->device->memory;
}

bool dn_estimate_surely_fits (const struct dn_estimate *estimate)
{
    return estimate->fits
           && dn_range_at (estimate->gpu_mem, 0.95) <= estimate->device->memory;
}

double dn_estimate_time (const struct dn_estimate *estimate)
{
    return estimate->train_s.p50 < 0 ? estimate->step_s.p50 : estimate->train_s.p50;
}

double dn_estimate_cost (const struct dn_estimate *estimate,
                         int64_t n_gpus,
                         double cost_per_hour)
{
    if (estimate->train_s.p50 < 0)
        return -1;
    return estimate->train_s.p50 / 3600 * (double) n_gpus * cost_per_hour;
}
