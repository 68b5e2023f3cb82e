/* clustered.c - the mean of values that are alike within clusters, with an interval
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/worth/clustered.h"

#include <math.h>
#include <stdlib.h>

#include "predict/apps.h"

static int by_cluster (const void *left, const void *right)
{
    const struct dn_clustered_value *a = left;
    const struct dn_clustered_value *b = right;

    return (a->cluster > b->cluster) - (a->cluster < b->cluster);
}

/* The 97.5 % quantile of Student's law. */
static double student (double freedom)
{
    const struct dn_range one = {
        .p50 = 1,
        .sigma = 1,
        .quantiles = dn_student_law ((int) fmin (fmax (freedom, 1), 1000))};

    return log (dn_range_at (one, 0.975));
}

double dn_clustered_worth (double sizes, double squares)
{
    return sizes * sizes / squares;
}

double dn_clustered_half (double squares, int64_t n_clusters, double worth)
{
    double c = (double) n_clusters;

    return n_clusters < 2 ? NAN : student (worth - 1) * sqrt (squares * (c - 1) / c);
}

struct dn_clustered_mean dn_clustered_mean (struct dn_clustered_value *values,
                                            int64_t n)
{
    struct dn_clustered_mean of = {.n = n, .mean = NAN, .low = NAN, .high = NAN};
    double sum = 0;
    double squares = 0;
    double sizes = 0; /* squared */
    double half;

    for (int64_t i = 0; i < n; i++)
        sum += values[i].value;
    if (n == 0)
        return of;
    of.mean = sum / (double) n;
    qsort (values, (size_t) n, sizeof (*values), by_cluster);
    for (int64_t i = 0; i < n; of.n_clusters++) {
        uint64_t cluster = values[i].cluster;
        double left = sum;
        double n_left = (double) n;

        for (; i < n && values[i].cluster == cluster; i++) {
            left -= values[i].value;
            n_left--;
        }
        sizes += pow ((double) n - n_left, 2);
        squares += n_left > 0 ? pow (left / n_left - of.mean, 2) : 0;
    }
    half = dn_clustered_half (
        squares, of.n_clusters, dn_clustered_worth ((double) n, sizes));
    of.low = of.mean - half;
    of.high = of.mean + half;
    return of;
}
