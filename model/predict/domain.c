/* domain.c - the distance of a run from the training runs
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

/* Runs of one decision, as points: they are of one network in one configuration, and
 * only features that depend on the device differ.
 */
struct cloud {
    float points[DN_CANDIDATES_MAX][DN_N_FEATURES];
    int n;
    int common[DN_N_FEATURES]; /* coordinates in which all are equal */
    int n_common;
    float least[DN_CANDIDATES_MAX]; /* square of the distance to the nearest so far */
};

static void add_run (const struct dn_domain *domain,
                     const float *features,
                     struct cloud *cloud)
{
    float *point = cloud->points[cloud->n];

    for (int i = 0; i < domain->n_used; i++) {
        float value = features[domain->used[i]];

        point[i] = isfinite (value) ? value * domain->scale[i] : 0;
    }
    cloud->least[cloud->n++] = INFINITY;
}

static void find_common (const struct dn_domain *domain, struct cloud *cloud)
{
    for (int k = 0; k < domain->n_used; k++) {
        bool common = true;

        for (int r = 1; r < cloud->n; r++)
            common = common && cloud->points[r][k] == cloud->points[0][k];
        if (common)
            cloud->common[cloud->n_common++] = k;
    }
}

/* A lower bound of the squares that square_distance () finds from any run to the point,
 * by the coordinates that the runs share: these suffice to exclude all but some twenty
 * points. Infinity where it is more than 'most'. The factor 'safe' is far more than the
 * effect of rounding.
 */
static float square_bound (const struct dn_domain *domain,
                           const struct cloud *cloud,
                           int i,
                           float most)
{
    const float safe = 0.999F;
    const int step = 8;
    const float *at = domain->points + (ptrdiff_t) i * domain->n_used;
    float sum = 0;

    for (int c = 0; c < cloud->n_common;) {
        int end = c + step < cloud->n_common ? c + step : cloud->n_common;

        for (; c < end; c++) {
            int k = cloud->common[c];

            sum += (at[k] - cloud->points[0][k]) * (at[k] - cloud->points[0][k]);
        }
        if (safe * sum > most)
            return INFINITY;
    }
    return safe * sum;
}

/* Update the distances of the runs with a point. Return the largest of them. */
static float look_at (const struct dn_domain *domain, struct cloud *cloud, int i)
{
    float most = 0;

    for (int r = 0; r < cloud->n; r++) {
        float square = square_distance (cloud->points[r],
                                        domain->points + (ptrdiff_t) i * domain->n_used,
                                        domain->n_used,
                                        cloud->least[r]);

        if (square < cloud->least[r])
            cloud->least[r] = square;
        if (cloud->least[r] > most)
            most = cloud->least[r];
    }
    return most;
}

/* The point with the lowest bound is usually among the nearest of some run. It is
 * examined first, after which few others remain.
 */
static void find_least (const struct dn_domain *domain,
                        const struct dn_deadline *deadline,
                        struct cloud *cloud)
{
    float lowest = INFINITY;
    float most;
    int nearest = 0;

    for (int i = 0; i < domain->n_points; i++) {
        float bound = square_bound (domain, cloud, i, lowest);

        if (bound < lowest) {
            lowest = bound;
            nearest = i;
        }
    }
    most = look_at (domain, cloud, nearest);
    for (int i = 0; i < domain->n_points; i++) {
        if (i % POINTS_PER_LOOK == 0 && dn_deadline_passed (deadline))
            return;
        if (square_bound (domain, cloud, i, most) <= most)
            most = look_at (domain, cloud, i);
    }
}

void dn_domain_distances (const struct dn_domain *domain,
                          const float *features,
                          int n,
                          const struct dn_deadline *deadline,
                          double *distances)
{
    struct cloud cloud;

    cloud.n = cloud.n_common = 0;
    for (int r = 0; r < n; r++)
        add_run (domain, features + (ptrdiff_t) r * DN_N_FEATURES, &cloud);
    find_common (domain, &cloud);
    find_least (domain, deadline, &cloud);
    for (int r = 0; r < n; r++)
        distances[r] = sqrt ((double) cloud.least[r]);
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
