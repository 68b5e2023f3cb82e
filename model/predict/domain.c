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

/* Points between two looks at the deadline: some 50 microseconds. */
#define POINTS_PER_LOOK 64

/* Four neighbours of an array. */
typedef float four __attribute__ ((vector_size (4 * sizeof (float))));

static inline four squares (const float *a, const float *b)
{
    four difference = *(const four *) a - *(const four *) b;

    return difference * difference;
}

/* Squared distance in 'n' coordinates, which are whole groups. The order of the sum is
 * always the same, so that runs together find what each finds alone.
 */
static inline float square_distance (const float *a, const float *b, int n)
{
    four sums = {0};

    for (const float *end = a + n; a < end; a += DN_AXES_GROUP, b += DN_AXES_GROUP) {
        sums += squares (a, b);
        sums += squares (a + 4, b + 4);
        sums += squares (a + 8, b + 8);
        sums += squares (a + 12, b + 12);
    }
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
            return dn_refuse (
                err, point_value, domain->used[i], -DN_FEATURE_MAX, DN_FEATURE_MAX);
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
        return dn_refuse (err, no_memory);
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

/* Runs of one network in one configuration, and how far they are from the points. */
struct search {
    const struct dn_domain *domain;
    int n;
    struct run {
        float least; /* square of the distance from the nearest point so far */
        _Alignas(four) float place[DN_AXES_ALL + DN_AXES_GROUP];
    } runs[DN_CANDIDATES_MAX];
    /* Squares of the distances from all points in the coordinates of the network. */
    float shared[DN_PROTOTYPES_MAX];
};

/* Add a run. False: it is of another network than the first one. */
static bool add_run (struct search *search, const float *features)
{
    const struct dn_domain *domain = search->domain;
    struct run *run = &search->runs[search->n];

    run->least = INFINITY;
    for (int i = 0; i < domain->n_used; i++) {
        float value = features[domain->used[i]];

        run->place[i] = isfinite (value) ? value * domain->scale[i] : 0;
    }
    if (memcmp (run->place,
                search->runs[0].place,
                (size_t) domain->n_network * sizeof (float))
        != 0)
        return false;
    search->n++;
    return true;
}

/* Is a run nearer to a point than to all before? */
static bool look_at (struct search *search, int point)
{
    const struct dn_domain *domain = search->domain;
    int n = domain->n_network;
    const float *at = domain->points + (ptrdiff_t) point * domain->n_used;
    float shared = search->shared[point];
    bool nearer = false;

    for (struct run *run = search->runs; run < search->runs + search->n; run++) {
        float square;

        if (shared >= run->least)
            continue;
        square = shared + square_distance (run->place + n, at + n, domain->n_used - n);
        if (square < run->least) {
            run->least = square;
            nearer = true;
        }
    }
    return nearer;
}

static float largest_least (const struct search *search)
{
    float most = 0;

    for (int r = 0; r < search->n; r++)
        if (search->runs[r].least > most)
            most = search->runs[r].least;
    return most;
}

/* The nearest point by what the runs share is the first one to be looked at: most
 * others are further away than it by that alone. -1 when the deadline passes.
 */
static int find_least (struct search *search, const struct dn_deadline *deadline)
{
    const struct dn_domain *domain = search->domain;
    int n = domain->n_points;
    int nearest = 0;
    float most = INFINITY;

    for (int i = 0; i < n; i++) {
        if (i % POINTS_PER_LOOK == 0 && dn_deadline_passed (deadline))
            return -1;
        search->shared[i] =
            square_distance (search->runs[0].place,
                             domain->points + (ptrdiff_t) i * domain->n_used,
                             domain->n_network);
        if (search->shared[i] < search->shared[nearest])
            nearest = i;
    }
    if (n > 0 && look_at (search, nearest))
        most = largest_least (search);
    for (int i = 0; i < n; i++)
        if (search->shared[i] < most && look_at (search, i))
            most = largest_least (search);
    return 0;
}

void dn_domain_distances (const struct dn_domain *domain,
                          const float *features,
                          int n,
                          const struct dn_deadline *deadline,
                          double *distances)
{
    struct search search;

    search.domain = domain;
    for (int done = 0; done < n; done += search.n) {
        search.n = 0;
        while (done + search.n < n
               && add_run (&search,
                           features + (ptrdiff_t) (done + search.n) * DN_N_FEATURES))
            ;
        if (find_least (&search, deadline) < 0)
            return;
        for (int r = 0; r < search.n; r++)
            distances[done + r] = sqrt ((double) search.runs[r].least);
    }
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

double dn_crumbs_factor (const struct dn_crumbs *crumbs,
                         const float features[DN_N_FEATURES])
{
    double x = (double) features[DN_FEATURE_KERNEL_FLOPS];

    if (!isfinite (x))
        x = crumbs->low;
    x = dn_min (dn_max (x, crumbs->low), crumbs->high);
    return exp (crumbs->slope * (crumbs->at - x));
}
