/* effect.c - changed jobs against the control group
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/worth/sums.h"

#include <math.h>

/* 97.5 % quantile of the normal law. */
#define Z 1.959964

static const char *const effect_names[] = {
    [DN_EFFECT_WAIT] = "wait_s",
    [DN_EFFECT_ACCURACY] = "limit_per_run",
    [DN_EFFECT_HELD] = "gpu_hours_granted_per_used",
};
const struct dn_names dn_effect_names = DN_NAMES (effect_names, DN_N_EFFECTS);

/* Variance of a mean. */
static double of_mean (const struct dn_spread *spread)
{
    return dn_spread_variance (spread) / (double) spread->n;
}

/* ln of the ratio of two sums, and its variance: that of the mean of
 * held / mean held - worked / mean worked.
 */
static double ratio_of (const struct dn_side *side, double *variance)
{
    double n = (double) side->held.n;
    double x = side->held.mean;
    double y = side->worked.mean;
    double covariance = (side->product - n * x * y) / (n - 1);

    *variance =
        (dn_spread_variance (&side->held) / (x * x)
         + dn_spread_variance (&side->worked) / (y * y) - 2 * covariance / (x * y))
        / n;
    return log (x / y);
}

static struct dn_effect of_wait (struct dn_side *control, struct dn_side *changed)
{
    double half = Z * sqrt (of_mean (&control->wait_s) + of_mean (&changed->wait_s));
    double value = changed->wait_s.mean - control->wait_s.mean;

    return (struct dn_effect){
        .n_control = control->wait_s.n,
        .n_changed = changed->wait_s.n,
        .control = control->wait_s.mean,
        .changed = changed->wait_s.mean,
        .control_median = dn_spread_quantile (&control->wait_s, 0.5),
        .changed_median = dn_spread_quantile (&changed->wait_s, 0.5),
        .value = value,
        .low = value - half,
        .high = value + half,
    };
}

/* From the logarithm of a figure of both sides, and its variance. */
static struct dn_effect of_logs (double control, double changed, double variance)
{
    double half = Z * sqrt (variance);

    return (struct dn_effect){
        .control = exp (control),
        .changed = exp (changed),
        .control_median = NAN,
        .changed_median = NAN,
        .value = exp (changed - control),
        .low = exp (changed - control - half),
        .high = exp (changed - control + half),
    };
}

static struct dn_effect of_accuracy (struct dn_side *control, struct dn_side *changed)
{
    struct dn_effect effect =
        of_logs (control->accuracy.mean,
                 changed->accuracy.mean,
                 of_mean (&control->accuracy) + of_mean (&changed->accuracy));

    effect.n_control = control->accuracy.n;
    effect.n_changed = changed->accuracy.n;
    effect.control_median = exp (dn_spread_quantile (&control->accuracy, 0.5));
    effect.changed_median = exp (dn_spread_quantile (&changed->accuracy, 0.5));
    return effect;
}

static struct dn_effect of_held (const struct dn_side *control,
                                 const struct dn_side *changed)
{
    double control_variance;
    double changed_variance;
    double before = ratio_of (control, &control_variance);
    double after = ratio_of (changed, &changed_variance);
    struct dn_effect effect =
        of_logs (before, after, control_variance + changed_variance);

    effect.n_control = control->held.n;
    effect.n_changed = changed->held.n;
    return effect;
}

struct dn_effect dn_sums_effect (struct dn_sums *sums, enum dn_effect_of which)
{
    struct dn_effect effect;

    if (which == DN_EFFECT_WAIT)
        effect = of_wait (&sums->control, &sums->changed);
    else if (which == DN_EFFECT_ACCURACY)
        effect = of_accuracy (&sums->control, &sums->changed);
    else
        effect = of_held (&sums->control, &sums->changed);
    effect.known = effect.n_control >= DN_EFFECT_MIN
                   && effect.n_changed >= DN_EFFECT_MIN && isfinite (effect.low)
                   && isfinite (effect.high);
    return effect;
}
