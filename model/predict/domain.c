/* domain.c - the distance of a run from the training runs
 *
 * The runs of one decision are of one network in one configuration: only features that
 * depend on the device differ. These are the last coordinates, so that the sum over the
 * others, by which most points are too far away, is found once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/bundle.h"

#include <math.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/messages.h"
#include "predict/flat.h"

/* Independent lanes of a sum, which compilers put into one register. */
#define LANES 4

/* Points between two looks at the deadline: some 50 microseconds. */
#define POINTS_PER_LOOK 64

/* Squared distance, or infinity where it is more than 'least': the order of
 * the sum is always the same, so that runs together find what each finds alone.
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

static int read_point (const unsigned char *at,
                       const struct dn_domain *domain,
                       float *point,
                       struct dn_err *err)
{
    for (int i = 0; i < domain->n_used; i++) {
        float value = dn_flat_f32 (at + 4 * (ptrdiff_t) domain->used[i]);

        if (!(fabs ((double) value) <= DN_FEATURE_MAX))
            return dn_err_set (err,
                               DN_E_RANGE,
                               dn_say_err_point_value,
                               domain->used[i],
                               -DN_FEATURE_MAX,
                               DN_FEATURE_MAX);
        point[i] = value * domain->scale[i];
    }
    return 0;
}

int dn_domain_read (struct dn_span file, struct dn_domain *domain, struct dn_err *err)
{
    const size_t size = sizeof (float) * DN_N_FEATURES;
    struct dn_flat flat;

    if (dn_flat_open (
            file, DN_FLAT_POINTS, DN_N_FEATURES, DN_PROTOTYPES_MAX, &flat, err)
            < 0
        || dn_flat_check_length (&flat, flat.n_rows * size, err) < 0)
        return -1;
    domain->points =
        calloc (flat.n_rows * (size_t) domain->n_used, sizeof (*domain->points));
    if (!domain->points)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    for (; domain->n_points < (int) flat.n_rows; domain->n_points++)
        if (read_point (flat.data + (size_t) domain->n_points * size,
                        domain,
                        domain->points + (ptrdiff_t) domain->n_points * domain->n_used,
                        err)
            < 0)
            return dn_err_wrap (err, dn_say_at_point, domain->n_points);
    return 0;
}

void dn_domain_free (struct dn_domain *domain)
{
    free (domain->points);
}

/* A run as a point, and the square of its distance to the nearest point so far. */
struct run {
    float point[DN_N_FEATURES];
    float least;
    bool same; /* as the first run in the coordinates of the network */
};

static void set_run (const struct dn_domain *domain,
                     const float *features,
                     const struct run *first,
                     struct run *run)
{
    for (int i = 0; i < domain->n_used; i++) {
        float value = features[domain->used[i]];

        run->point[i] = isfinite (value) ? value * domain->scale[i] : 0;
    }
    run->least = INFINITY;
    run->same = true;
    for (int i = 0; i < domain->n_network; i++)
        run->same = run->same && run->point[i] == first->point[i];
}

/* Update the distances of the runs with a point, whose square distance to the first one
 * in the coordinates of the network is 'shared'. Return the largest of those that share
 * it.
 */
static float look_at (const struct dn_domain *domain,
                      const float *at,
                      float shared,
                      int n,
                      struct run runs[DN_CANDIDATES_MAX])
{
    int n_network = domain->n_network;
    float most = 0;

    for (int r = 0; r < n; r++) {
        struct run *run = &runs[r];
        float square = run->same
                           ? shared
                           : square_distance (run->point, at, n_network, run->least);

        if (square < run->least)
            square += square_distance (run->point + n_network,
                                       at + n_network,
                                       domain->n_used - n_network,
                                       run->least - square);
        if (square < run->least)
            run->least = square;
        if (run->same && run->least > most)
            most = run->least;
    }
    return most;
}

void dn_domain_distances (const struct dn_domain *domain,
                          const float *features,
                          int n,
                          const struct dn_deadline *deadline,
                          double *distances)
{
    struct run runs[DN_CANDIDATES_MAX] = {0};
    bool all_same = true;
    float most = INFINITY;

    for (int r = 0; r < n; r++) {
        set_run (domain, features + (ptrdiff_t) r * DN_N_FEATURES, &runs[0], &runs[r]);
        all_same = all_same && runs[r].same;
    }
    for (int i = 0; i < domain->n_points; i++) {
        const float *at = domain->points + (ptrdiff_t) i * domain->n_used;
        float shared = square_distance (runs[0].point, at, domain->n_network, most);

        if (i % POINTS_PER_LOOK == 0 && dn_deadline_passed (deadline))
            return;
        if (!all_same || shared < most)
            most = look_at (domain, at, shared, n, runs);
    }
    for (int r = 0; r < n; r++)
        distances[r] = sqrt ((double) runs[r].least);
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
