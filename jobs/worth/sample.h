/* sample.h - mean and quantiles of many values, and the largest, in bounded memory
 *
 * Mean and variance are of all values (Welford 1962). Quantiles are those of a random
 * sample of at most DN_SPREAD_MAX values (Vitter's algorithm R), drawn the same way in
 * every run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SAMPLE_H
#define DN_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* The median of a sample of this size is within two percentiles of that of all values
 * in 95 of 100 cases.
 */
#define DN_SPREAD_MAX 2048

/* Empty when zeroed. */
struct dn_spread {
    int64_t n;
    double mean;    /* of the values so far */
    double squares; /* sum of squared differences from the mean */
    uint64_t random;
    int n_values;
    float values[DN_SPREAD_MAX];
};

/* Add a value; one that is not finite is ignored. */
void dn_spread_add (struct dn_spread *spread, double value);

/* Variance of one value, with n - 1; NaN of fewer than two. */
double dn_spread_variance (const struct dn_spread *spread);

/* The quantile 'q', 0 to 1, between neighbours linearly; NaN without values. Sorts the
 * sample.
 */
double dn_spread_quantile (struct dn_spread *spread, double q);

/* Jobs that a list shows. */
#define DN_LISTED_MAX 20

struct dn_listed {
    double weight;   /* those with most of it are in the list, the first has most */
    double from, to; /* seconds; the list says of what */
    char job[24];
};

/* Jobs behind a figure. Empty when zeroed. */
struct dn_listing {
    int64_t n; /* in all */
    struct dn_listed jobs[DN_LISTED_MAX];
};

/* Add a job; the text is cut to its member. */
void dn_listing_add (struct dn_listing *listing,
                     const char *job,
                     double weight,
                     double from,
                     double to);

static inline int dn_listing_shown (const struct dn_listing *listing)
{
    return listing->n < DN_LISTED_MAX ? (int) listing->n : DN_LISTED_MAX;
}

/* The place of the n-th value, from 0, in a sample of 'max', or -1: it is left out. */
int64_t dn_sample_place (uint64_t *random, int64_t n, int64_t max);

#endif
