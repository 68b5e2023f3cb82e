/* domain.c - how far a run is from all that were trained on
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/bundle.h"

#include <math.h>

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

double dn_domain_distance (const struct dn_domain *domain,
                           const float features[DN_N_FEATURES])
{
    float point[DN_N_FEATURES];
    float least = INFINITY;

    for (int i = 0; i < domain->n_used; i++) {
        float value = features[domain->used[i]];

        point[i] = isfinite (value) ? value * domain->scale[i] : 0;
    }
    for (int i = 0; i < domain->n_points; i++) {
        const float *other = domain->points + (ptrdiff_t) i * domain->n_used;
        float square = square_distance (point, other, domain->n_used, least);

        if (square < least)
            least = square;
    }
    return sqrt ((double) least);
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
