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
#include <string.h>

#include "base/limits.h"
#include "base/messages.h"
#include "predict/flat.h"

/* Independent lanes of a sum, which are in one register. */
#define LANES 4

/* Points between two looks at the deadline: some 50 microseconds. */
#define POINTS_PER_LOOK 64

/* LANES neighbours of an array. */
typedef float four __attribute__ ((vector_size (LANES * sizeof (float)), aligned (4)));

static inline four squares (const float *a, const float *b)
{
    four difference = *(const four *) a - *(const four *) b;

    return difference * difference;
}

static inline float sum_of (four sums)
{
    return sums[0] + sums[1] + sums[2] + sums[3];
}

/* Squared distance, or infinity where it is more than 'least': the order of
 * the sum is always the same, so that runs together find what each finds alone.
 */
static float square_distance (const float *a, const float *b, int n, float least)
{
    four sums = {0};
    int i = 0;

    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        sums += squares (a + i, b + i);
        sums += squares (a + i + LANES, b + i + LANES);
        sums += squares (a + i + 2 * LANES, b + i + 2 * LANES);
        sums += squares (a + i + 3 * LANES, b + i + 3 * LANES);
        if (sum_of (sums) > least)
            return INFINITY;
    }
    for (; i + LANES <= n; i += LANES)
        sums += squares (a + i, b + i);
    if (i < n)
        sums[0] += (a[i] - b[i]) * (a[i] - b[i]);
    if (i + 1 < n)
        sums[1] += (a[i + 1] - b[i + 1]) * (a[i + 1] - b[i + 1]);
    if (i + 2 < n)
        sums[2] += (a[i + 2] - b[i + 2]) * (a[i + 2] - b[i + 2]);
    return sum_of (sums);
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
    float least;
    float point[DN_N_FEATURES];
};

/* The runs of a call. */
struct runs {
    int n;
    struct run all[DN_CANDIDATES_MAX];
    /* Those that are as the first one in the coordinates of the network, by descending
     * distance, and the others. */
    int n_same;
    struct run *same[DN_CANDIDATES_MAX];
    struct run *other[DN_CANDIDATES_MAX];
};

static void add_run (const struct dn_domain *domain,
                     const float *features,
                     struct runs *runs)
{
    struct run *run = &runs->all[runs->n];
    bool same = true;

    memset (run->point, 0, sizeof (run->point));
    for (int i = 0; i < domain->n_used; i++) {
        float value = features[domain->used[i]];

        run->point[i] = isfinite (value) ? value * domain->scale[i] : 0;
        if (runs->n > 0 && i < domain->n_network)
            same = same && run->point[i] == runs->all[0].point[i];
    }
    run->least = INFINITY;
    if (same)
        runs->same[runs->n_same++] = run;
    else
        runs->other[runs->n - runs->n_same] = run;
    runs->n++;
}

/* Is the run nearer to a point, whose square distance in the coordinates of the network
 * is 'square', than to all before?
 */
static inline bool look_at (const struct dn_domain *domain,
                            const float *at,
                            float square,
                            struct run *run)
{
    int n_network = domain->n_network;

    if (square >= run->least)
        return false;
    square += square_distance (run->point + n_network,
                               at + n_network,
                               domain->n_used - n_network,
                               run->least - square);
    if (square >= run->least)
        return false;
    run->least = square;
    return true;
}

/* Put the i-th run, which got nearer, behind those that are further away. Return
 * whether another one is in its place.
 */
static bool move_down (struct runs *runs, int i)
{
    struct run *run = runs->same[i];
    int k = i;

    for (; k + 1 < runs->n_same && run->least < runs->same[k + 1]->least; k++)
        runs->same[k] = runs->same[k + 1];
    runs->same[k] = run;
    return k > i;
}

/* The runs that share the distance in the coordinates of the network. They are in order
 * of their distances so far, so the first that cannot get nearer is the end of them.
 */
static void look_at_same (const struct dn_domain *domain,
                          const float *at,
                          float shared,
                          struct runs *runs)
{
    for (int i = 0; i < runs->n_same && shared < runs->same[i]->least; i++)
        if (look_at (domain, at, shared, runs->same[i]))
            i -= move_down (runs, i);
}

void dn_domain_distances (const struct dn_domain *domain,
                          const float *features,
                          int n,
                          const struct dn_deadline *deadline,
                          double *distances)
{
    int n_network = domain->n_network;
    struct runs runs;

    if (n <= 0)
        return;
    runs.n = runs.n_same = 0;
    for (int r = 0; r < n; r++)
        add_run (domain, features + (ptrdiff_t) r * DN_N_FEATURES, &runs);
    for (int i = 0; i < domain->n_points; i++) {
        const float *at = domain->points + (ptrdiff_t) i * domain->n_used;

        if (i % POINTS_PER_LOOK == 0 && dn_deadline_passed (deadline))
            return;
        look_at_same (
            domain,
            at,
            square_distance (runs.all[0].point, at, n_network, runs.same[0]->least),
            &runs);
        for (int r = 0; r < n - runs.n_same; r++) {
            struct run *run = runs.other[r];

            look_at (domain,
                     at,
                     square_distance (run->point, at, n_network, run->least),
                     run);
        }
    }
    for (int r = 0; r < n; r++)
        distances[r] = sqrt ((double) runs.all[r].least);
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
