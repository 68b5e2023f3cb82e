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

/* Points whose bounds are below this part of the known distance are examined first. */
#define NEAR 0.25F

/* Points between two looks at the deadline: with 32 runs some 50 microseconds. */
#define POINTS_PER_LOOK 64

/* Squared distance, or infinity where it is more than 'least': a decision compares
 * eight runs with some hundred points. The order of the sum is always the same, so that
 * a faster search finds the same minimum.
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

/* The variance of the points in a coordinate. */
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

/* Find the coordinates of the largest variance, in descending order. */
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
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    find_telling (domain);
    domain->sketch = at;
    for (int i = 0; i < domain->n_points; i++)
        for (int k = 0; k < DN_SKETCH; k++)
            *at++ = domain->points[(ptrdiff_t) i * domain->n_used + domain->telling[k]];
    return 0;
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
    return dn_domain_sketch (domain, err);
}

void dn_domain_free (struct dn_domain *domain)
{
    free (domain->points);
    free (domain->sketch);
}

/* Runs of one decision, as points: they are of one network in one configuration, and
 * only features that depend on the device differ. In each coordinate they are no
 * farther than 'half' from the 'middle'.
 */
struct cloud {
    float points[DN_CANDIDATES_MAX][DN_N_FEATURES];
    int n;
    float middle[DN_N_FEATURES];
    float half[DN_N_FEATURES];
    const struct dn_deadline *deadline; /* NULL: none */
};

static void find_range (const struct dn_domain *domain, int n, struct cloud *cloud)
{
    const float rounding = 1.000001F; /* a larger range is harmless */

    for (int k = 0; k < domain->n_used; k++) {
        float low = cloud->points[0][k];
        float high = low;

        for (int r = 1; r < n; r++) {
            float value = cloud->points[r][k];

            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        cloud->middle[k] = low < high ? low / 2 + high / 2 : low;
        cloud->half[k] =
            rounding * fmaxf (high - cloud->middle[k], cloud->middle[k] - low);
    }
}

/* A lower bound of the squared distances that square_distance () finds from any point
 * of a cloud. Its terms are among theirs, or less, and the factor 'safe' is far more
 * than the effect of rounding.
 */
static float square_bound (const float *middle, const float *half, const float *at)
{
    const float safe = 0.999F;
    float sums[LANES] = {0};

    for (int k = 0; k < DN_SKETCH; k += LANES)
        for (int j = 0; j < LANES; j++) {
            float beyond = fabsf (at[k + j] - middle[k + j]) - half[k + j];
            float twice = beyond + fabsf (beyond); /* 0 within the range */

            sums[j] += twice * twice;
        }
    return safe / 4 * (sums[0] + sums[1] + sums[2] + sums[3]);
}

static void find_bounds (const struct dn_domain *domain,
                         const struct cloud *cloud,
                         float bounds[DN_PROTOTYPES_MAX])
{
    float middle[DN_SKETCH];
    float half[DN_SKETCH];

    for (int k = 0; k < DN_SKETCH; k++) {
        middle[k] = cloud->middle[domain->telling[k]];
        half[k] = cloud->half[domain->telling[k]];
    }
    for (int i = 0; i < domain->n_points; i++) {
        float bound =
            square_bound (middle, half, domain->sketch + (ptrdiff_t) i * DN_SKETCH);

        bounds[i] = bound < INFINITY ? bound : 0; /* an overflow gives no bound */
    }
}

/* Update the distances of the runs with a point. */
static void look_at (const struct dn_domain *domain,
                     const struct cloud *cloud,
                     int i,
                     float bound,
                     float least[DN_CANDIDATES_MAX])
{
    for (int r = 0; r < cloud->n; r++)
        if (bound <= least[r]) {
            float square = square_to (domain, cloud->points[r], i, least[r]);

            if (square < least[r])
                least[r] = square;
        }
}

/* The largest of squares, which are not negative. */
static float greatest (const float *values, int n)
{
    float most = 0;

    for (int i = 0; i < n; i++)
        if (values[i] > most)
            most = values[i];
    return most;
}

/* Examine the points whose bounds are above 'from' and up to 'to'. */
static void look_between (const struct dn_domain *domain,
                          const struct cloud *cloud,
                          const float *bounds,
                          float from,
                          float to,
                          float least[DN_CANDIDATES_MAX])
{
    int n = 0;

    for (int i = 0; i < domain->n_points; i++)
        if (bounds[i] > from && bounds[i] <= to) {
            if (++n % POINTS_PER_LOOK == 0 && dn_deadline_passed (cloud->deadline))
                return;
            look_at (domain, cloud, i, bounds[i], least);
        }
}

/* The point with the lowest bound is usually among the nearest of some run. It is
 * examined first, then points with low bounds, after which few others remain. 'least'
 * is infinite at first.
 */
static void least_by_sketch (const struct dn_domain *domain,
                             const struct cloud *cloud,
                             float least[DN_CANDIDATES_MAX])
{
    float bounds[DN_PROTOTYPES_MAX];
    float near;
    int nearest = 0;

    find_bounds (domain, cloud, bounds);
    for (int i = 1; i < domain->n_points; i++)
        if (bounds[i] < bounds[nearest])
            nearest = i;
    look_at (domain, cloud, nearest, 0, least);
    near = NEAR * greatest (least, cloud->n);
    look_between (domain, cloud, bounds, -1, near, least);
    look_between (domain, cloud, bounds, near, greatest (least, cloud->n), least);
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

static void find_point (const struct dn_domain *domain,
                        const float *features,
                        float *point)
{
    for (int i = 0; i < domain->n_used; i++) {
        float value = features[domain->used[i]];

        point[i] = isfinite (value) ? value * domain->scale[i] : 0;
    }
}

void dn_domain_distances (const struct dn_domain *domain,
                          const float *features,
                          int n,
                          const struct dn_deadline *deadline,
                          double *distances)
{
    struct cloud cloud;
    float least[DN_CANDIDATES_MAX];

    for (int r = 0; r < n; r++) {
        /* cppcheck-suppress uninitvar ; here they are filled */
        find_point (domain, features + (ptrdiff_t) r * DN_N_FEATURES, cloud.points[r]);
        least[r] = INFINITY;
    }
    cloud.deadline = deadline;
    if (domain->sketch) {
        find_range (domain, n, &cloud);
        cloud.n = n;
        least_by_sketch (domain, &cloud, least);
    } else {
        for (int r = 0; r < n; r++)
            least[r] = least_of_all (domain, cloud.points[r]);
    }
    for (int r = 0; r < n; r++)
        distances[r] = sqrt ((double) least[r]);
}

double dn_domain_distance (const struct dn_domain *domain,
                           const float features[DN_N_FEATURES])
{
    double distance;

    dn_domain_distances (domain, features, 1, NULL, &distance);
    return distance;
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
