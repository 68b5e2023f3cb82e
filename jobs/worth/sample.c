/* sample.c - mean and quantiles of many values, and the largest, in bounded memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/worth/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/reals.h"
#include "predict/apps.h"

int64_t dn_sample_place (uint64_t *random, int64_t n, int64_t max)
{
    int64_t at = n;

    if (n >= max)
        at = (int64_t) (dn_random (random) % ((uint64_t) n + 1));
    return at < max ? at : -1;
}

void dn_spread_add (struct dn_spread *spread, double value)
{
    int64_t at;

    if (!isfinite (value))
        return;
    at = dn_sample_place (&spread->random, spread->n, DN_SPREAD_MAX);
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

void dn_listing_add (struct dn_listing *listing,
                     const char *job,
                     double weight,
                     double from,
                     double to)
{
    int n = dn_listing_shown (listing);
    int at = n;

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
    snprintf (listing->jobs[at].job, sizeof (listing->jobs[at].job), "%s", job);
}

/* --- clusters --------------------------------------------------------------------- */

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
