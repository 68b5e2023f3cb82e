/* effect.c - changed jobs against the control group
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/worth/sample.h"
#include "jobs/worth/sums.h"

#include <math.h>

/* Standard errors between no effect and one that 4 of 5 intervals of 95 % see: the
 * 97.5 % and 80 % quantiles of the normal law.
 */
#define POWER (1.959964 + 0.841621)

/* Of an interval that is given by its half width. */
#define Z 1.959964

/* The effect whose number of jobs is told, as a share of the control's figure. */
#define TOLD 0.1

const struct dn_names dn_effect_names = DN_NAMES_OF (EFFECTS);

bool dn_effect_is_difference (enum dn_effect_of which)
{
    return which <= DN_EFFECT_FAILED;
}

/* The figure of a side without a cluster (NULL: of all); of a ratio its logarithm. */
static double figure (const struct dn_side_sums *all,
                      const struct dn_side_sums *less,
                      enum dn_effect_of which)
{
    double over = all->over - (less ? less->over : 0);
    double under = all->under - (less ? less->under : 0);

    return which == DN_EFFECT_HELD ? log (over / under) : over / under;
}

/* Half the width of the interval of the difference, and how many clusters are in it. */
static double half_of (const struct dn_sums *sums,
                       enum dn_effect_of which,
                       double value,
                       int64_t *n_clusters)
{
    const struct dn_side_sums *control = &sums->sides.of[DN_SIDE_CONTROL][which];
    const struct dn_side_sums *changed = &sums->sides.of[DN_SIDE_CHANGED][which];
    double squares = 0;
    double sizes[DN_N_SIDES] = {0, 0}; /* squared */

    *n_clusters = 0;
    for (int i = 0; i < DN_CLUSTERS; i++) {
        const struct dn_side_sums *less[] = {
            &sums->clusters[i].of[DN_SIDE_CONTROL][which],
            &sums->clusters[i].of[DN_SIDE_CHANGED][which]};

        if (less[0]->n + less[1]->n == 0)
            continue;
        ++*n_clusters;
        sizes[DN_SIDE_CONTROL] += less[0]->under * less[0]->under;
        sizes[DN_SIDE_CHANGED] += less[1]->under * less[1]->under;
        squares += pow (figure (changed, less[1], which)
                            - figure (control, less[0], which) - value,
                        2);
    }
    return dn_clustered_half (
        squares,
        *n_clusters,
        fmin (dn_clustered_worth (control->under, sizes[DN_SIDE_CONTROL]),
              dn_clustered_worth (changed->under, sizes[DN_SIDE_CHANGED])));
}

static double median_of (struct dn_sums *sums,
                         enum dn_side side,
                         enum dn_effect_of which)
{
    if (which == DN_EFFECT_WAIT)
        return dn_spread_quantile (&sums->medians[side][0], 0.5);
    if (which == DN_EFFECT_ACCURACY)
        return exp (dn_spread_quantile (&sums->medians[side][1], 0.5));
    return NAN;
}

struct dn_effect dn_sums_effect (struct dn_sums *sums, enum dn_effect_of which)
{
    const struct dn_side_sums *control = &sums->sides.of[DN_SIDE_CONTROL][which];
    const struct dn_side_sums *changed = &sums->sides.of[DN_SIDE_CHANGED][which];
    bool difference = dn_effect_is_difference (which);
    double before = figure (control, NULL, which);
    double after = figure (changed, NULL, which);
    struct dn_effect effect = {
        .n_control = control->n,
        .n_changed = changed->n,
        .control = difference ? before : exp (before),
        .changed = difference ? after : exp (after),
        .control_median = median_of (sums, DN_SIDE_CONTROL, which),
        .changed_median = median_of (sums, DN_SIDE_CHANGED, which),
    };
    double half = half_of (sums, which, after - before, &effect.n_clusters);
    double told = difference ? TOLD * effect.control : log1p (TOLD);

    effect.value = difference ? after - before : exp (after - before);
    effect.low = difference ? effect.value - half : effect.value * exp (-half);
    effect.high = difference ? effect.value + half : effect.value * exp (half);
    effect.needed = (double) (effect.n_control + effect.n_changed)
                    * pow (POWER * half / Z / told, 2);
    effect.known = effect.n_control >= DN_EFFECT_MIN
                   && effect.n_changed >= DN_EFFECT_MIN && isfinite (effect.low)
                   && isfinite (effect.high);
    return effect;
}
