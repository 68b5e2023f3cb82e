/* step_fit.c - the fit of the white box's constants to measured steps
 *
 * Maximum a posteriori: ln (measured / predicted) is the effect of the family of the
 * source, normal around 0, and an error with a Laplace distribution, one vote per pair
 * of families of source and model. The logarithm of each constant has a normal prior
 * around what physics and single kernels say: a constant that no row of a fit depends
 * on stays there. Gauss-Newton rounds with reweighted least squares; each round ends
 * with a search along the line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "step_fit.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cholesky.h"

/* A constant to fit: its prior, the spread of it (standard deviation of ln), and
 * physical bounds.
 */
struct knob {
    const char *name;
    size_t offset;
    double prior;
    double spread;
    double min;
    double max;
    bool judged; /* fitted only on request */
};

#define KNOB(member, prior, spread, min, max)                                          \
    {                                                                                  \
#member, offsetof(struct dn_constants, member), prior, spread, min, max, false \
    }
#define JUDGED(member, prior, spread, min, max)                                        \
    {                                                                                  \
#member, offsetof(struct dn_constants, member), prior, spread, min, max, true  \
    }

/* Priors: efficiencies as kernel tables and vendors' libraries reach them, launches and
 * kernels as traces of PyTorch show them (4 us to launch, 10 to 30 us of an operator's
 * Python and dispatch), an optimizer's traffic as its passes without fusion.
 */
static const struct knob knobs[] = {
    KNOB (eff_conv_fp32, 1.1, 0.3, 0.3, 2),
    KNOB (eff_linear_tensor, 0.65, 0.2, 0.2, 1.2),
    KNOB (eff_conv_tensor, 0.5, 0.3, 0.1, 1.2),
    KNOB (eff_tf32, 1, 0.2, 0.5, 1.3),
    KNOB (eff_grouped, 0.03, 0.7, 0.003, 1),
    KNOB (eff_memory, 0.7, 0.2, 0.3, 1.1),
    KNOB (eff_light, 0.75, 0.2, 0.3, 1.1),
    KNOB (tensor_feed, 1e13, 0.7, 1e12, 2e14),
    KNOB (tensor_early, 0.85, 0.2, 0.4, 1.3),
    KNOB (eff_recurrent, 0.6, 0.4, 0.1, 1),
    KNOB (tile, 0.8, 0.3, 0.1, 1.5),
    KNOB (kernel_s, 8e-6, 0.6, 1e-6, 5e-5),
    KNOB (launch_s, 3e-5, 0.5, 3e-6, 1.5e-4),
    KNOB (step_s, 2e-3, 0.7, 1e-4, 2e-2),
    KNOB (optimizer, 2, 0.4, 1, 4),
    KNOB (optimizer_launches, 4, 0.7, 0.05, 10),
    KNOB (ngc_tensor, 1.2, 0.2, 0.5, 1.6),
    KNOB (ngc_memory, 1.15, 0.2, 0.5, 4),
    KNOB (ngc_grouped, 2, 0.7, 0.5, 8),
    KNOB (ngc_launch, 0.7, 0.4, 0.1, 3),
    KNOB (ngc_step, 0.3, 0.7, 0.02, 2),
    KNOB (tuned_spread, 0.5, 0.6, 0.05, 1),
    KNOB (tuned_layout, 0.5, 0.6, 0.05, 1),
    KNOB (tuned_modern, 0.5, 0.6, 0.05, 1),
    KNOB (tuned_vendor, 1.5, 0.4, 1, 4),
    KNOB (modern_launch, 0.65, 0.3, 0.2, 1.2),
    KNOB (graph_launch, 0.4, 0.5, 0.05, 1.5),
    KNOB (host_new, 0.8, 0.3, 0.3, 1.5),
    KNOB (pcie_eff, 0.5, 0.4, 0.05, 0.9),
    KNOB (pcie_start_s, 5e-5, 1, 1e-5, 2e-2),
    KNOB (node_bw, 1.2e10, 0.5, 1e9, 2.5e10),
    KNOB (node_bw_pcie, 2e9, 0.8, 3e8, 1e11),
    KNOB (overlap, 0.5, 0.7, 0.05, 1),
    KNOB (straggler, 0.02, 0.7, 0.001, 0.1),
    JUDGED (nvlink_eff, 0.7, 0.3, 0.1, 1),
    JUDGED (nvlink_start_s, 4e-5, 0.7, 1e-6, 1e-3),
    JUDGED (fused_bytes, 0.45, 0.4, 0.1, 1),
    JUDGED (fused_launch, 0.5, 0.4, 0.1, 1),
    /* End of knobs */
};

#define N_KNOBS ((int) DN_N_ELEMENTS (knobs))

/* Scale of the Laplace distribution of a vote, and the standard deviations of the
 * effect of a family of sources and of the mean of all effects.
 */
#define SCALE  0.3
#define FAMILY 0.35
#define MEAN   0.01

#define FAMILIES_MAX 64
#define N_UNKNOWNS   (N_KNOBS + FAMILIES_MAX)
#define N_EQUATIONS  (DN_N_ELEMENTS (knobs) + FAMILIES_MAX)

/* Rows of one model, source and device, of one GPU or of several, that are fitted at
 * most: the others repeat them.
 */
#define ALIKE_MAX 12

struct bench_slopes {
    double *error; /* of each run: ln (measured / predicted) */
    double *slope; /* N_KNOBS of each run */
    struct dn_constants at;
};

/* --- the rows -------------------------------------------------------------------- */

static bool is_alike (const struct bench_run *a, const struct bench_run *b)
{
    return a->device == b->device && a->several == b->several
           && a->label[DN_LABEL_MODEL] == b->label[DN_LABEL_MODEL]
           && a->label[DN_LABEL_SOURCE] == b->label[DN_LABEL_SOURCE];
}

static bool is_one_vote (const struct bench_run *a, const struct bench_run *b)
{
    return a->fitted == b->fitted
           && a->label[DN_LABEL_FAMILY] == b->label[DN_LABEL_FAMILY]
           && a->label[DN_LABEL_CODE] == b->label[DN_LABEL_CODE];
}

/* Of more rows alike, every n-th is fitted. */
static void thin_out (struct bench_set *set)
{
    for (int i = 0; i < set->n_runs; i++) {
        struct bench_run *run = &set->runs[i];
        int before = 0;
        int n = 0;

        for (int j = 0; j < set->n_runs; j++)
            if (is_alike (&set->runs[j], run)) {
                before += j < i;
                n++;
            }
        run->fitted = run->fitted && before % ((n + ALIKE_MAX - 1) / ALIKE_MAX) == 0;
    }
}

void bench_weigh (struct bench_set *set)
{
    if (set->n_refused > 0)
        fprintf (stderr,
                 "%d rows refused, the last one: %s\n",
                 set->n_refused,
                 set->refused.text);
    if (set->examples->labels[DN_LABEL_CODE].n > FAMILIES_MAX)
        bench_die ("families", "too many");
    thin_out (set);
    for (int i = 0; i < set->n_runs; i++) {
        struct bench_run *run = &set->runs[i];
        int n = 0;

        for (int j = 0; j < set->n_runs; j++)
            n += is_one_vote (&set->runs[j], run);
        run->weight = pow (n, 0.25) / n;
    }
}

double bench_predict (const struct dn_constants *constants, const struct bench_run *run)
{
    struct dn_estimate estimate;

    dn_whitebox (&(struct dn_case){constants, &run->spec, &run->graph, run->device, 0},
                 &estimate);
    return estimate.step_s.p50;
}

static double error_of (const struct dn_constants *constants,
                        const struct bench_run *run)
{
    return log (run->step_s / bench_predict (constants, run));
}

/* --- the constants --------------------------------------------------------------- */

/* Is 'name' in a list separated by commas? */
static bool in_list (const char *list, const char *name)
{
    size_t len = strlen (name);

    for (const char *at = strstr (list, name); at; at = strstr (at + 1, name))
        if ((at == list || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

static bool is_wanted (const struct bench_set *set, const struct knob *knob)
{
    return set->constants ? in_list (set->constants, knob->name) : !knob->judged;
}

static double value_of (const struct dn_constants *constants, const struct knob *knob)
{
    double value;

    memcpy (&value, (const char *) constants + knob->offset, sizeof (value));
    return value;
}

/* Add to the logarithm of a constant, within its bounds. */
static void move (struct dn_constants *constants, const struct knob *knob, double by)
{
    double value = value_of (constants, knob) * exp (by);

    value = fmin (fmax (value, knob->min), knob->max);
    memcpy ((char *) constants + knob->offset, &value, sizeof (value));
}

/* --- the fit --------------------------------------------------------------------- */

static bool is_used (const struct bench_run *run)
{
    return run->fitted && !run->left_out;
}

/* The weight that makes squares of errors their sizes; errors below the least one have
 * its weight.
 */
static double weight_of (const struct bench_run *run, double rest)
{
    const double least = 0.02;

    return run->weight / (SCALE * fmax (fabs (rest), least));
}

/* Mark the families of the runs that are used. Return their number. */
static int mark_families (const struct bench_set *set, bool used[FAMILIES_MAX])
{
    int n = 0;

    memset (used, 0, FAMILIES_MAX * sizeof (*used));
    for (int i = 0; i < set->n_runs; i++) {
        if (is_used (&set->runs[i]) && !used[set->runs[i].label[DN_LABEL_CODE]])
            n++;
        used[set->runs[i].label[DN_LABEL_CODE]] |= is_used (&set->runs[i]);
    }
    return n;
}

/* The weight of the square of the sum of n effects. */
static double weight_of_sum (int n)
{
    return n > 0 ? 1 / (MEAN * MEAN * n * n) : 0;
}

/* The effects of the families that are best for these errors of the runs. */
static void find_effects (const struct bench_set *set,
                          const double *errors,
                          double effects[FAMILIES_MAX])
{
    bool used[FAMILIES_MAX];
    double of_sum = weight_of_sum (mark_families (set, used));

    memset (effects, 0, FAMILIES_MAX * sizeof (*effects));
    for (int turn = 0; turn < 20; turn++) {
        double weights[FAMILIES_MAX] = {0};
        double sums[FAMILIES_MAX] = {0};
        double sum = 0;
        double slack = 0;

        for (int i = 0; i < set->n_runs; i++) {
            const struct bench_run *run = &set->runs[i];
            double weight;

            if (!is_used (run))
                continue;
            weight = weight_of (run, errors[i] - effects[run->label[DN_LABEL_CODE]]);
            weights[run->label[DN_LABEL_CODE]] += weight;
            sums[run->label[DN_LABEL_CODE]] += weight * errors[i];
        }
        for (int f = 0; f < FAMILIES_MAX; f++) {
            weights[f] += 1 / (FAMILY * FAMILY);
            sum += used[f] ? sums[f] / weights[f] : 0;
            slack += used[f] ? 1 / weights[f] : 0;
        }
        sum /= 1 + of_sum * slack;
        for (int f = 0; f < FAMILIES_MAX; f++)
            effects[f] = used[f] ? (sums[f] - of_sum * sum) / weights[f] : 0;
    }
}

static double prior_loss (const struct bench_set *set,
                          const struct dn_constants *constants,
                          const double effects[FAMILIES_MAX])
{
    bool used[FAMILIES_MAX];
    double of_sum = weight_of_sum (mark_families (set, used));
    double all = 0;
    double sum = 0;

    for (int f = 0; f < FAMILIES_MAX; f++) {
        sum += effects[f] * effects[f] / (2 * FAMILY * FAMILY);
        all += effects[f];
    }
    sum += of_sum * all * all / 2;
    for (int k = 0; k < N_KNOBS; k++) {
        double from = log (value_of (constants, &knobs[k]) / knobs[k].prior);

        if (is_wanted (set, &knobs[k]))
            sum += from * from / (2 * knobs[k].spread * knobs[k].spread);
    }
    return sum;
}

/* What the fit makes small. */
static double loss (const struct bench_set *set, const struct dn_constants *constants)
{
    double effects[FAMILIES_MAX];
    double *errors = calloc ((size_t) set->n_runs + 1, sizeof (*errors));
    double sum = 0;

    if (!errors)
        bench_die ("errors", "out of memory");
    for (int i = 0; i < set->n_runs; i++)
        if (is_used (&set->runs[i]))
            errors[i] = error_of (constants, &set->runs[i]);
    find_effects (set, errors, effects);
    for (int i = 0; i < set->n_runs; i++)
        if (is_used (&set->runs[i]))
            sum += set->runs[i].weight
                   * fabs (errors[i] - effects[set->runs[i].label[DN_LABEL_CODE]])
                   / SCALE;
    free (errors);
    return sum + prior_loss (set, constants, effects);
}

static void find_slopes (const struct bench_set *set,
                         const struct dn_constants *at,
                         bool all,
                         struct bench_slopes *slopes)
{
    const double step = 0.05;

    slopes->at = *at;
    for (int i = 0; i < set->n_runs; i++) {
        const struct bench_run *run = &set->runs[i];
        double *slope = &slopes->slope[(ptrdiff_t) i * N_KNOBS];

        if (!run->fitted || (!all && run->left_out))
            continue;
        slopes->error[i] = error_of (at, run);
        for (int k = 0; k < N_KNOBS; k++) {
            struct dn_constants moved = *at;

            if (!is_wanted (set, &knobs[k]))
                continue;
            move (&moved, &knobs[k], step);
            slope[k] = (slopes->error[i] - error_of (&moved, run)) / step;
        }
    }
}

static struct bench_slopes *new_slopes (const struct bench_set *set)
{
    struct bench_slopes *slopes = calloc (1, sizeof (*slopes));
    size_t n = (size_t) set->n_runs + 1;

    if (slopes) {
        slopes->error = calloc (n, sizeof (double));
        slopes->slope = calloc (n * (size_t) N_KNOBS, sizeof (double));
    }
    if (!slopes || !slopes->error || !slopes->slope)
        bench_die ("slopes", "out of memory");
    return slopes;
}

/* Add one row to the normal equations of the moves of constants and the effects. */
static void add_row (const struct bench_run *run,
                     const double *slope,
                     double error,
                     const double *found,
                     double *a,
                     double *b)
{
    int own = N_KNOBS + run->label[DN_LABEL_CODE];
    double *last = &a[own * (own + 1) / 2];
    double rest = error - found[own];
    double weight;

    for (int k = 0; k < N_KNOBS; k++)
        rest -= slope[k] * found[k];
    weight = weight_of (run, rest);
    for (int k = 0; k < N_KNOBS; k++) {
        b[k] += weight * slope[k] * error;
        last[k] += weight * slope[k];
        for (int l = 0; l <= k; l++)
            a[k * (k + 1) / 2 + l] += weight * slope[k] * slope[l];
    }
    b[own] += weight * error;
    last[own] += weight;
}

static void add_priors (const struct bench_set *set,
                        const struct dn_constants *at,
                        double *a,
                        double *b)
{
    bool used[FAMILIES_MAX];
    double of_sum = weight_of_sum (mark_families (set, used));

    for (int f = 0; f < FAMILIES_MAX; f++)
        for (int g = 0; g <= f; g++)
            if (used[f] && used[g])
                a[(N_KNOBS + f) * (N_KNOBS + f + 1) / 2 + N_KNOBS + g] += of_sum;
    for (int k = 0; k < N_UNKNOWNS; k++) {
        double spread = k < N_KNOBS ? knobs[k].spread : FAMILY;
        double weight = 1 / (spread * spread);

        a[k * (k + 3) / 2] += weight;
        if (k < N_KNOBS && is_wanted (set, &knobs[k]))
            b[k] += weight * log (knobs[k].prior / value_of (at, &knobs[k]));
    }
}

/* The moves of the logarithms that are best where slopes are constant. */
static void solve (const struct bench_set *set,
                   const struct bench_slopes *slopes,
                   double found[N_EQUATIONS])
{
    memset (found, 0, N_EQUATIONS * sizeof (*found));
    for (int turn = 0; turn < 20; turn++) {
        double a[N_EQUATIONS * (N_EQUATIONS + 1) / 2] = {0};
        double b[N_EQUATIONS] = {0};

        for (int i = 0; i < set->n_runs; i++)
            if (is_used (&set->runs[i]))
                add_row (&set->runs[i],
                         &slopes->slope[(ptrdiff_t) i * N_KNOBS],
                         slopes->error[i],
                         found,
                         a,
                         b);
        add_priors (set, &slopes->at, a, b);
        if (!dn_cholesky (a, N_UNKNOWNS))
            bench_die ("fit", "the equations have no solution");
        dn_cholesky_lower (a, b, N_UNKNOWNS);
        dn_cholesky_upper (a, b, N_UNKNOWNS);
        memcpy (found, b, sizeof (b));
    }
}

/* Follow the moves as far as the loss becomes less. */
static bool follow (const struct bench_set *set,
                    const double *moves,
                    struct dn_constants *constants)
{
    double best = loss (set, constants);

    for (double share = 1; share > 0.1; share /= 2) {
        struct dn_constants moved = *constants;

        for (int k = 0; k < N_KNOBS; k++)
            if (is_wanted (set, &knobs[k]))
                move (&moved, &knobs[k], share * moves[k]);
        if (loss (set, &moved) < best - 1e-6) {
            *constants = moved;
            return true;
        }
    }
    return false;
}

void bench_fit (struct bench_set *set, int rounds, struct dn_constants *constants)
{
    double moves[N_EQUATIONS];
    struct bench_slopes *own = rounds > 1 ? new_slopes (set) : NULL;

    *constants = dn_constants_default;
    if (rounds > 0 && !set->slopes) {
        set->slopes = new_slopes (set);
        find_slopes (set, constants, true, set->slopes);
    }
    for (int round = 0; round < rounds; round++) {
        if (round > 0)
            find_slopes (set, constants, false, own);
        solve (set, round > 0 ? own : set->slopes, moves);
        if (!follow (set, moves, constants))
            break;
    }
    if (own) {
        free (own->error);
        free (own->slope);
        free (own);
    }
}

void bench_print_constants (const struct bench_set *set,
                            const struct dn_constants *constants)
{
    for (int k = 0; k < N_KNOBS; k++)
        if (is_wanted (set, &knobs[k]))
            printf (
                "    .%s = %.4g,\n", knobs[k].name, value_of (constants, &knobs[k]));
}
