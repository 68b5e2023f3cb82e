/* domain.c - how far a run is from all that were trained on
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/bundle.h"

#include <math.h>
#include <stdlib.h>

#include "base/limits.h"

/* Lanes of a sum that do not wait for each other, as compilers put into one register.
 */
#define LANES 4

/* Squared distance, or infinity where it is more than 'least': a decision compares
 * eight runs with some hundred points.
 */
static float square_distance (const float *a, const float *b, int n, float least)
{
    float sums[LANES] = {0};
    int i = 0;

    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        for (int k = i; k < i + 4 * LANES; k += LANES)
            for (int j = 0; j < LANES; j++)
                sums[j] += (a[k + j] - b[k + j]) * (a[k + j] - b[k + j]);
        if (sums[0] + sums[1] + sums[2] + sums[3] > least)
            return INFINITY;
    }
    for (; i < n; i++)
        sums[i % LANES] += (a[i] - b[i]) * (a[i] - b[i]);
    return sums[0] + sums[1] + sums[2] + sums[3];
}

static float square_to (const struct dn_domain *domain,
                        const float *point,
                        int i,
                        float least)
{
    return square_distance (
        point, domain->points + (ptrdiff_t) i * domain->n_used, domain->n_used, least);
}

/* How much the points differ in a coordinate: the variance. */
static double variance_of (const struct dn_domain *domain, int coordinate)
{
    double sum = 0;
    double squares = 0;

    for (int i = 0; i < domain->n_points; i++) {
        double value =
            (double) domain->points[(ptrdiff_t) i * domain->n_used + coordinate];

        sum += value;
        squares += value * value;
    }
    return squares / domain->n_points - sum / domain->n_points * sum / domain->n_points;
}

/* Find the telling coordinates, the most telling one first. */
static void find_telling (struct dn_domain *domain)
{
    double variances[DN_N_FEATURES];

    for (int i = 0; i < domain->n_used; i++)
        variances[i] = variance_of (domain, i);
    for (int k = 0; k < DN_SKETCH; k++) {
        int most = 0;

        for (int i = 1; i < domain->n_used; i++)
            if (variances[i] > variances[most])
                most = i;
        domain->telling[k] = most;
        variances[most] = -INFINITY; /* others may be below 0, by rounding */
    }
}

int dn_domain_sketch (struct dn_domain *domain, struct dn_err *err)
{
    float *at;

    if (domain->n_used < DN_SKETCH || domain->n_points > DN_PROTOTYPES_MAX)
        return 0;
    at = calloc ((size_t) domain->n_points * DN_SKETCH, sizeof (*at));
    if (!at)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    find_telling (domain);
    domain->sketch = at;
    for (int i = 0; i < domain->n_points; i++)
        for (int k = 0; k < DN_SKETCH; k++)
            *at++ = domain->points[(ptrdiff_t) i * domain->n_used + domain->telling[k]];
    return 0;
}

void dn_domain_free (struct dn_domain *domain)
{
    free (domain->points);
    free (domain->sketch);
}

/* Less than the squared distances that square_distance () finds: its terms are among
 * those, and what the order of rounding changes is far less than what is taken off.
 */
static void find_bounds (const struct dn_domain *domain,
                         const float *point,
                         float bounds[DN_PROTOTYPES_MAX])
{
    const float safe = 0.999F;
    float sketch[DN_SKETCH];

    for (int k = 0; k < DN_SKETCH; k++)
        sketch[k] = point[domain->telling[k]];
    for (int i = 0; i < domain->n_points; i++) {
        const float *other = domain->sketch + (ptrdiff_t) i * DN_SKETCH;
        float sums[LANES] = {0};

        for (int k = 0; k < DN_SKETCH; k += LANES)
            for (int j = 0; j < LANES; j++)
                sums[j] +=
                    (sketch[k + j] - other[k + j]) * (sketch[k + j] - other[k + j]);
        bounds[i] = safe * (sums[0] + sums[1] + sums[2] + sums[3]);
    }
}

/* The point that looks nearest is most often among the nearest: it goes first, and few
 * others have to be looked at.
 */
static float least_by_sketch (const struct dn_domain *domain, const float *point)
{
    float bounds[DN_PROTOTYPES_MAX];
    int nearest = 0;
    float least;

    find_bounds (domain, point, bounds);
    for (int i = 1; i < domain->n_points; i++)
        if (bounds[i] < bounds[nearest])
            nearest = i;
    least = square_to (domain, point, nearest, INFINITY);
    for (int i = 0; i < domain->n_points; i++)
        if (bounds[i] <= least) {
            float square = square_to (domain, point, i, least);

            if (square < least)
                least = square;
        }
    return least;
}

static float least_of_all (const struct dn_domain *domain, const float *point)
{
    float least = INFINITY;

    for (int i = 0; i < domain->n_points; i++) {
        float square = square_to (domain, point, i, least);

        if (square < least)
            least = square;
    }
    return least;
}

double dn_domain_distance (const struct dn_domain *domain,
                           const float features[DN_N_FEATURES])
{
    float point[DN_N_FEATURES];

    for (int i = 0; i < domain->n_used; i++) {
        float value = features[domain->used[i]];

        point[i] = isfinite (value) ? value * domain->scale[i] : 0;
    }
    return sqrt ((double) (domain->sketch ? least_by_sketch (domain, point)
                                          : least_of_all (domain, point)));
}

struct dn_knot dn_domain_at (const struct dn_domain *domain, double distance)
{
    const struct dn_knot *knots = domain->knots;
    const struct dn_knot *a;
    const struct dn_knot *b;
    int at = 0;
    double share;

    while (at < domain->n_knots && distance > knots[at].distance)
        at++;
    if (at == 0 || at == domain->n_knots) {
        struct dn_knot end = knots[at == 0 ? 0 : domain->n_knots - 1];

        end.distance = distance;
        return end;
    }
    a = &knots[at - 1];
    b = &knots[at];
    share = (distance - a->distance) / (b->distance - a->distance);
    return (struct dn_knot){distance,
                            a->residual + share * (b->residual - a->residual),
                            a->sigma + share * (b->sigma - a->sigma)};
}
