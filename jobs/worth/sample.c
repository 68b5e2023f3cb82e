/* sample.c - mean and quantiles of many values, and the largest, in bounded memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/worth/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t draw (uint64_t *state)
{
    uint64_t z = *state += UINT64_C (0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C (0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C (0x94D049BB133111EB);
    return z ^ (z >> 31);
}

int64_t dn_sample_place (uint64_t *random, int64_t n, int64_t max)
{
    int64_t at = n;

    if (n >= max)
        at = (int64_t) (draw (random) % ((uint64_t) n + 1));
    return at < max ? at : -1;
}

void dn_spread_add (struct dn_spread *spread, double value)
{
    double from;
    int64_t at;

    if (!isfinite (value))
        return;
    at = dn_sample_place (&spread->random, spread->n, DN_SPREAD_MAX);
    spread->n++;
    from = value - spread->mean;
    spread->mean += from / (double) spread->n;
    spread->squares += from * (value - spread->mean);
    if (at >= 0)
        spread->values[at] = (float) value;
    if (spread->n_values < DN_SPREAD_MAX)
        spread->n_values++;
}

double dn_spread_variance (const struct dn_spread *spread)
{
    return spread->n > 1 ? spread->squares / (double) (spread->n - 1) : NAN;
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

void dn_listing_add (struct dn_listing *listing,
                     const char *job,
                     double weight,
                     double from,
                     double to)
{
    int n = dn_listing_shown (listing);
    int at = n;
    struct dn_buf buf;

    listing->n++;
    while (at > 0 && weight > listing->jobs[at - 1].weight)
        at--;
    if (at == DN_LISTED_MAX)
        return;
    if (n == DN_LISTED_MAX)
        n--;
    memmove (&listing->jobs[at + 1],
             &listing->jobs[at],
             (size_t) (n - at) * sizeof (listing->jobs[0]));
    listing->jobs[at] = (struct dn_listed){.weight = weight, .from = from, .to = to};
    buf = dn_buf_on (listing->jobs[at].job, sizeof (listing->jobs[at].job));
    dn_buf_add (&buf, "%.23s", job);
}
