/* sample.c - mean and quantiles of many values in bounded memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/worth/sample.h"

#include <math.h>
#include <stdlib.h>

/* SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t draw (uint64_t *state)
{
    uint64_t z = *state += UINT64_C (0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C (0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C (0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* The place of the n-th value, from 0, in a sample of 'max', or -1: it is left out. */
static int64_t place_of (uint64_t *random, int64_t n, int64_t max)
{
    int64_t at = n;

    if (n >= max)
        at = (int64_t) (draw (random) % ((uint64_t) n + 1));
    return at < max ? at : -1;
}

void dn_spread_add (struct dn_spread *spread, double value)
{
    int64_t at;

    if (!isfinite (value))
        return;
    at = place_of (&spread->random, spread->n, DN_SPREAD_MAX);
    spread->n++;
    spread->mean += (value - spread->mean) / (double) spread->n;
    if (at >= 0)
        spread->values[at] = (float) value;
    if (spread->n_values < DN_SPREAD_MAX)
        spread->n_values++;
}

static int by_value (const void *a, const void *b)
{
    float x = *(const float *) a;
    float y = *(const float *) b;

    return (x > y) - (x < y);
}

double dn_spread_quantile (struct dn_spread *spread, double q)
{
    double at = q * (spread->n_values - 1);
    int below = (int) at;
    double part = at - below;

    if (spread->n_values == 0)
        return NAN;
    qsort (spread->values,
           (size_t) spread->n_values,
           sizeof (spread->values[0]),
           by_value);
    if (below + 1 >= spread->n_values)
        return (double) spread->values[spread->n_values - 1];
    return (1 - part) * (double) spread->values[below]
           + part * (double) spread->values[below + 1];
}
