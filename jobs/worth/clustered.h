/* clustered.h - the mean of values that are alike within clusters, with an interval
 *
 * Jobs of one user, or of one application, are not independent: the interval of jobs as
 * if they were is too narrow. The variance is that of the jackknife, which leaves out
 * one of C clusters at a time: (C - 1) / C times the sum of the squared changes (Bell
 * and McCaffrey 2002, Survey Methodology 28; it is wide enough where clusters differ in
 * size). It holds whether jobs were drawn one by one or by cluster. The interval of 95
 * % is that of Student's law, whose degrees are one less than the number of clusters of
 * equal size that would be worth as much (Kish 1965, Survey Sampling).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CLUSTERED_H
#define DN_CLUSTERED_H

#include <stddef.h>
#include <stdint.h>

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
