/* range.c - quantiles of a quantity that is known up to a factor
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/estimate.h"

#include <math.h>

/* Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23: error below
 * 4.5e-4, and a score is never needed better than the spread is known.
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

/* Linear between two points; beyond the ends as the normal law goes on, and above the
 * last not slower than before it: the bounds there were never seen.
 */
static double interpolate (const struct dn_quantiles *q, double score)
{
    int last = q->n - 1;
    double slope = 1;
    int at = 1;

    if (score <= q->scores[0])
        return q->values[0] + (score - q->scores[0]);
    while (at <= last && score > q->scores[at])
        at++;
    if (last > 0) {
        int upper = at > last ? last : at;

        slope = (q->values[upper] - q->values[upper - 1])
                / (q->scores[upper] - q->scores[upper - 1]);
    }
    if (at > last)
        return q->values[last] + (score - q->scores[last]) * fmax (slope, 1);
    return q->values[at - 1] + (score - q->scores[at - 1]) * slope;
}

double dn_range_at (struct dn_range range, double quantile)
{
    double score;

    if (range.p50 <= 0 || range.sigma <= 0 || quantile == 0.5)
        return range.p50;
    score = dn_normal_score (fmin (fmax (quantile, 1e-6), 1 - 1e-6));
    if (range.quantiles && range.quantiles->n > 0)
        score = interpolate (range.quantiles, score);
    return range.p50 * exp (range.sigma * score);
}
