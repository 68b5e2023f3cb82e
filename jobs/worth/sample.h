/* sample.h - mean and quantiles of many values, and the largest, in bounded memory
 *
 * The mean is of all values (Welford 1962). Quantiles are those of a random sample of
 * at most DN_SPREAD_MAX values (Vitter's algorithm R), drawn the same way in every run.
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
    double mean; /* of the values so far */
    uint64_t random;
    int n_values;
    float values[DN_SPREAD_MAX];
};

/* Add a value; one that is not finite is ignored. */
void dn_spread_add (struct dn_spread *spread, double value);

/* The quantile 'q', linearly between values; NaN without any. Sorts the sample. */
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

/* The mean of values that are alike within clusters, with an interval.
 *
 * Jobs of one user, or of one application, are not independent: the interval of jobs as
 * if they were is too narrow. The variance is that of the jackknife, which leaves out
 * one of C clusters at a time: (C - 1) / C times the sum of the squared changes (Bell
 * and McCaffrey 2002, Survey Methodology 28; it is wide enough where clusters differ in
 * size). It holds whether jobs were drawn one by one or by cluster. The interval of 95
 * % is that of Student's law, whose degrees are one less than the number of clusters of
 * equal size that would be worth as much (Kish 1965, Survey Sampling).
 */
struct dn_clustered_value {
    uint64_t cluster;
    double value;
};

struct dn_clustered_mean {
    int64_t n;
    int64_t n_clusters;
    double mean; /* NaN without values */
    double low;  /* NaN with fewer than two clusters */
    double high;
};

/* How many clusters of equal size are worth as much as those whose sizes and their
 * squares have these sums.
 */
double dn_clustered_worth (double sizes, double squares);

/* Half the width of the interval of an estimate, from the sum over clusters of the
 * squared change of the estimate without each; NaN with fewer than two clusters.
 * 'worth' of the side that has least.
 */
double dn_clustered_half (double squares, int64_t n_clusters, double worth);

/* Sorts the values by cluster. */
struct dn_clustered_mean dn_clustered_mean (struct dn_clustered_value *values,
                                            int64_t n);

#endif
