/* range.c - quantiles of a quantity that is known up to a factor
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/predict.h"

#include <math.h>

/* The standard normal quantile. Abramowitz and Stegun, Handbook of Mathematical
 * Functions, 26.2.23: error below 4.5e-4, and z is never needed better than the spread
 * is known.
 */
static double normal_quantile (double quantile)
{
    double tail = quantile > 0.5 ? 1 - quantile : quantile;
    double t = sqrt (-2 * log (tail));
    double z = t
               - (2.515517 + 0.802853 * t + 0.010328 * t * t)
                     / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);

    return quantile > 0.5 ? z : -z;
}

double dn_range_at (struct dn_range range, double quantile)
{
    if (range.p50 <= 0 || range.sigma <= 0 || quantile == 0.5)
        return range.p50;
    if (quantile < 1e-6)
        quantile = 1e-6;
    if (quantile > 1 - 1e-6)
        quantile = 1 - 1e-6;
    return range.p50 * exp (range.sigma * normal_quantile (quantile));
}
