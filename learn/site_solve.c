/* site_solve.c - the equations of a site's fit
 *
 * Levenberg and Marquardt on the squares of the errors, in units of their covariance,
 * and the prior's. The covariance is that of predict/history.h: a block per user and
 * application. The constants' slopes are differences, those of the scales are 1.
 * Between descents the noise of each run becomes that which makes its error one of
 * Student's t. The curvature at the end gives what is still not known (Laplace).
 *
 * A block counts by its vote, which divides its covariance. The votes of a user are
 * bounded, so that a user weighs no more for having more applications than others:
 *
 * - the votes of a user sum up to at most the number of applications of the median
 * user, or VOTES_MIN if that is more;
 * - n users of one application count as the square root of n, because what the white
 * box gets wrong of it is the same for all of them;
 * - a user whose applications are off on average by more than FAR times the spread of
 * an application has as much less votes: the pull of a user on the site is bounded
 * however large the lie is (Huber 1964, with users as the observations). Less than half
 * of the votes cannot carry an estimate away; prior and bounded pull limit the rest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/site_solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cholesky.h"

/* Votes that every user may have. */
#define VOTES_MIN 3

/* Spreads of an application within which a user's mean error counts in full. */
#define FAR 1.5

/* --- parameters and runs ---------------------------------------------------------- */

static bool same_application (const struct dn_site_member *a,
                              const struct dn_site_member *b)
{
    return strcmp (a->trace.application, b->trace.application) == 0;
}

/* Is there a second application, of any user? */
static bool has_second (const struct dn_site_solution *solution)
{
    for (int i = 1; i < solution->n_members; i++)
        if (!same_application (&solution->members[0], &solution->members[i]))
            return true;
    return false;
}

static void add_parameter (struct dn_site_solution *solution,
                           int field,
                           const struct dn_device *device,
                           double spread)
{
    if (spread > 0)
        solution->parameters[solution->n_parameters++] = (struct dn_site_parameter){
            .field = field, .device = device, .spread = spread};
}

/* The scale of a device; NULL: there is none. */
static struct dn_site_parameter *find_scale (struct dn_site_solution *solution,
                                             const struct dn_device *device)
{
    for (int i = solution->n_constants; i < solution->n_parameters; i++)
        if (solution->parameters[i].device == device)
            return &solution->parameters[i];
    return NULL;
}

static void add_parameters (struct dn_site_solution *solution,
                            const struct dn_site_prior *prior)
{
    for (int i = 0; i < DN_CONSTANT_FIELDS; i++)
        add_parameter (solution, i, NULL, prior->constants[i]);
    solution->n_constants = solution->n_parameters;
    add_parameter (solution, -1, NULL, prior->site);
    for (int i = 0; i < solution->n_members; i++) {
        const struct dn_device *device = solution->members[i].run->device;

        if (!find_scale (solution, device))
            add_parameter (solution, -1, device, prior->device);
    }
    for (int i = solution->n_constants; i < solution->n_parameters; i++) {
        struct dn_site_parameter *parameter = &solution->parameters[i];

        for (int k = 0; k < solution->n_members; k++)
            parameter->runs += !parameter->device
                               || parameter->device == solution->members[k].run->device;
    }
}

/* One application cannot separate the site from itself: it has all that may differ. */
static void add_nothing (struct dn_site_solution *solution,
                         const struct dn_site_prior *prior)
{
    double spread = solution->likeness.spread;
    double common = solution->likeness.common;
    double site = prior->site * prior->site;

    solution->likeness.spread =
        sqrt (spread * spread + site + prior->device * prior->device);
    solution->likeness.common = sqrt (common * common + site);
}

struct dn_case dn_site_case (const struct dn_constants *constants,
                             const struct dn_site_run *run)
{
    return (struct dn_case){.constants = constants,
                            .spec = &run->spec,
                            .graph = &run->graph,
                            .device = run->device,
                            .cpus_per_gpu = run->cpus_per_gpu};
}

static void set_member (const struct dn_constants *base,
                        const struct dn_site_run *run,
                        struct dn_site_member *member)
{
    const struct dn_case c = dn_site_case (base, run);
    struct dn_estimate estimate;
    float features[DN_N_FEATURES];

    dn_whitebox (&c, &estimate);
    dn_features (&c, &estimate, features);
    dn_trace_set (&member->trace, &run->spec, run->device, features);
    member->run = run;
}

struct dn_constants dn_site_constants (const struct dn_site_solution *solution)
{
    struct dn_constants constants = solution->base;

    for (int i = 0; i < solution->n_constants; i++) {
        int field = solution->parameters[i].field;
        double value = dn_constant_get (&solution->base, field);

        if (solution->parameters[i].value != 0)
            dn_constant_set (&constants,
                             field,
                             fmin (fmax (value * exp (solution->parameters[i].value),
                                         dn_constant_fields[field].min),
                                   dn_constant_fields[field].max));
    }
    return constants;
}

/* --- errors and their covariance -------------------------------------------------- */

static double predict (const struct dn_constants *constants,
                       const struct dn_site_run *run)
{
    const struct dn_case c = dn_site_case (constants, run);
    struct dn_estimate estimate;

    dn_whitebox (&c, &estimate);
    return log (estimate.step_s.p50);
}

/* How the predicted logarithm of a run changes with the parameters. */
static void find_slopes (const struct dn_site_solution *solution,
                         const struct dn_constants *constants,
                         const struct dn_site_run *run,
                         double predicted,
                         double *slopes)
{
    const double stride = 0.02;

    for (int i = 0; i < solution->n_parameters; i++) {
        const struct dn_site_parameter *parameter = &solution->parameters[i];
        struct dn_constants moved = *constants;

        if (parameter->field < 0) {
            slopes[i] = !parameter->device || parameter->device == run->device;
            continue;
        }
        dn_constant_set (&moved,
                         parameter->field,
                         dn_constant_get (constants, parameter->field) * exp (stride));
        slopes[i] = (predict (&moved, run) - predicted) / stride;
    }
}

/* Errors at the present parameters, and on demand their slopes. */
static void look (struct dn_site_solution *solution, bool slopes)
{
    struct dn_constants constants = dn_site_constants (solution);

    for (int i = 0; i < solution->n_members; i++) {
        struct dn_site_member *member = &solution->members[i];
        const struct dn_site_run *run = member->run;
        double *own = solution->slopes + (ptrdiff_t) i * solution->n_parameters;
        double predicted = predict (&constants, run);

        if (slopes)
            find_slopes (solution, &constants, run, predicted, own);
        member->error = log (run->step_s) - run->step_residual - predicted;
        for (int k = solution->n_constants; k < solution->n_parameters; k++)
            member->error -= own[k] * solution->parameters[k].value;
    }
}

int dn_site_block_end (const struct dn_site_solution *solution, int first)
{
    const struct dn_site_member *members = solution->members;
    int end = first + 1;

    while (end < solution->n_members
           && members[first].run->user == members[end].run->user
           && same_application (&members[first], &members[end]))
        end++;
    return end;
}

bool dn_site_block_factor (const struct dn_site_solution *solution,
                           int first,
                           int end,
                           double *factor)
{
    const struct dn_site_member *members = solution->members;
    double *at = factor;

    for (int i = first; i < end; i++) {
        for (int j = first; j <= i; j++)
            *at++ = members[first].scale
                    * dn_likeness_of (
                        &solution->likeness, &members[i].trace, &members[j].trace);
        at[-1] += members[i].noise;
    }
    for (double *entry = factor; entry < at; entry++)
        *entry /= members[first].vote;
    return dn_cholesky (factor, end - first);
}

static void solve_block (const double *factor, double *x, int n)
{
    dn_cholesky_lower (factor, x, n);
    dn_cholesky_upper (factor, x, n);
}

/* What the inverse covariance of one application makes of errors and, on demand, of
 * slopes, and its diagonal.
 */
static void weigh_block (struct dn_site_solution *solution,
                         int first,
                         int end,
                         const double *factor,
                         bool slopes)
{
    struct dn_site_member *members = solution->members;
    int width = solution->n_parameters;
    double x[DN_HISTORY_OWN_MAX];

    for (int i = first; i < end; i++)
        x[i - first] = members[i].error;
    solve_block (factor, x, end - first);
    for (int i = first; i < end; i++)
        members[i].weight = x[i - first];
    for (int k = 0; slopes && k < width; k++) {
        for (int i = first; i < end; i++)
            x[i - first] = solution->slopes[(ptrdiff_t) i * width + k];
        solve_block (factor, x, end - first);
        for (int i = first; i < end; i++)
            solution->solved[(ptrdiff_t) i * width + k] = x[i - first];
    }
    for (int i = first; slopes && i < end; i++) {
        memset (x, 0, sizeof (x));
        x[i - first] = 1;
        solve_block (factor, x, end - first);
        members[i].inverse = x[i - first];
    }
}

static bool weigh (struct dn_site_solution *solution, bool slopes)
{
    double factor[DN_HISTORY_OWN_MAX * (DN_HISTORY_OWN_MAX + 1) / 2];
    int end;

    for (int first = 0; first < solution->n_members; first = end) {
        end = dn_site_block_end (solution, first);
        if (!dn_site_block_factor (solution, first, end, factor))
            return false;
        weigh_block (solution, first, end, factor, slopes);
    }
    return true;
}

/* The variances under which errors are as probable as by Student's t, of a run and of
 * an application. 'alone': by the errors as they are, else by what each has of them.
 */
static void set_variances (struct dn_site_solution *solution, bool alone)
{
    double noise = solution->likeness.noise * solution->likeness.noise;
    double spread = solution->likeness.spread * solution->likeness.spread;
    int end;

    for (int first = 0; first < solution->n_members; first = end) {
        double sum = 0;
        double square;

        end = dn_site_block_end (solution, first);
        for (int i = first; i < end; i++) {
            struct dn_site_member *member = &solution->members[i];
            double left =
                alone ? member->error : member->noise * member->weight / member->vote;
            double own = alone ? 0 : member->error - left;

            member->noise =
                noise * (DN_STUDENT + left * left / noise) / (DN_STUDENT + 1);
            sum += own * own;
        }
        square = sum / (end - first);
        for (int i = first; i < end; i++)
            solution->members[i].scale =
                fmax ((DN_STUDENT + square / spread) / (DN_STUDENT + 1), 1);
    }
}

static int count_runs (const struct dn_site_user *user)
{
    return user->n;
}

static int count_applications (const struct dn_site_user *user)
{
    return user->n_applications;
}

/* The smallest number that at least half of the users do not exceed. */
static int median_of_users (const struct dn_site_solution *solution,
                            int (*count) (const struct dn_site_user *user))
{
    int below = 0;
    int most = 0;

    while (2 * below < solution->n_users) {
        most++;
        below = 0;
        for (int u = 0; u < solution->n_users; u++)
            below += count (&solution->users[u]) <= most;
    }
    return most;
}

/* The mean over a user's applications of their mean errors. */
static double mean_error (const struct dn_site_solution *solution,
                          const struct dn_site_user *user)
{
    double sum = 0;
    int end;

    for (int first = user->first; first < user->first + user->n; first = end) {
        double own = 0;

        end = dn_site_block_end (solution, first);
        for (int i = first; i < end; i++)
            own += solution->members[i].error;
        sum += own / (end - first);
    }
    return sum / user->n_applications;
}

/* How many users have run the application of this member. */
static int count_users (const struct dn_site_solution *solution,
                        const struct dn_site_member *member)
{
    int n = 0;

    for (int first = 0; first < solution->n_members;
         first = dn_site_block_end (solution, first))
        n += same_application (&solution->members[first], member);
    return n;
}

static void set_votes (struct dn_site_solution *solution)
{
    /* votes that a user may have; a site's only user has all */
    double most = median_of_users (solution, count_applications);
    double far = FAR * solution->likeness.spread;

    if (solution->n_users > 1)
        most = fmax (most, VOTES_MIN);
    for (int u = 0; u < solution->n_users; u++) {
        const struct dn_site_user *user = &solution->users[u];
        double off = fabs (mean_error (solution, user));
        double vote = fmin (most / user->n_applications, 1) * fmin (far / off, 1);
        int end;

        for (int first = user->first; first < user->first + user->n; first = end) {
            int n_users = count_users (solution, &solution->members[first]);

            end = dn_site_block_end (solution, first);
            for (int i = first; i < end; i++)
                solution->members[i].vote = vote / sqrt (n_users);
        }
    }
}

/* --- descent ---------------------------------------------------------------------- */

/* Of the parameters' squares and those of the errors, whose weights are set. */
static double objective (const struct dn_site_solution *solution)
{
    double sum = 0;

    for (int i = 0; i < solution->n_members; i++)
        sum += solution->members[i].error * solution->members[i].weight / 2;
    for (int i = 0; i < solution->n_parameters; i++) {
        double value = solution->parameters[i].value / solution->parameters[i].spread;

        sum += value * value / 2;
    }
    return sum;
}

/* Curvature of the objective, and its gradient in 'step'. */
static void set_normal (struct dn_site_solution *solution)
{
    int n = solution->n_parameters;
    double *row = solution->normal;

    for (int a = 0; a < n; row += ++a) {
        const struct dn_site_parameter *parameter = &solution->parameters[a];
        double variance = parameter->spread * parameter->spread;

        memset (row, 0, ((size_t) a + 1) * sizeof (*row));
        row[a] = 1 / variance;
        solution->step[a] = -parameter->value / variance;
        for (int i = 0; i < solution->n_members; i++) {
            double slope = solution->slopes[(ptrdiff_t) i * n + a];

            if (slope == 0)
                continue;
            solution->step[a] += slope * solution->members[i].weight;
            for (int b = 0; b <= a; b++)
                row[b] += slope * solution->solved[(ptrdiff_t) i * n + b];
        }
    }
}

/* The factor of the curvature, with its diagonal made larger. */
static bool factor_normal (struct dn_site_solution *solution, double damping)
{
    int n = solution->n_parameters;

    memcpy (solution->factor,
            solution->normal,
            (size_t) (n * (n + 1) / 2) * sizeof (*solution->factor));
    for (int i = 0; i < n; i++)
        solution->factor[i * (i + 1) / 2 + i] *= 1 + damping;
    return dn_cholesky (solution->factor, n);
}

static void move (struct dn_site_solution *solution, double sign)
{
    for (int i = 0; i < solution->n_parameters; i++)
        solution->parameters[i].value += sign * solution->step[i];
    look (solution, false);
}

/* One damped step; false, and nothing moved, if it does not lead down. */
static bool descend_once (struct dn_site_solution *solution,
                          double damping,
                          double *best)
{
    double found;

    set_normal (solution);
    if (!factor_normal (solution, damping))
        return false;
    solve_block (solution->factor, solution->step, solution->n_parameters);
    move (solution, 1);
    found = weigh (solution, false) ? objective (solution) : INFINITY;
    if (found < *best) {
        *best = found;
        look (solution, true);
        return weigh (solution, true);
    }
    move (solution, -1);
    (void) weigh (solution, false);
    return false;
}

/* Levenberg and Marquardt, at one level of noise. */
static bool descend (struct dn_site_solution *solution)
{
    const int turns = 15;
    double damping = 1e-3;
    double best;

    if (!weigh (solution, true))
        return false;
    best = objective (solution);
    for (int turn = 0; turn < turns && damping < 1e3; turn++) {
        double before = best;

        if (!descend_once (solution, damping, &best)) {
            damping *= 6;
            continue;
        }
        damping = fmax (damping / 5, 1e-6);
        if (before - best < 1e-3)
            break;
    }
    return true;
}

/* --- what is not known ------------------------------------------------------------ */

/* Variance of a sum of the parameters with these factors. */
static double variance_of (const struct dn_site_solution *solution,
                           const double *factors)
{
    int n = solution->n_parameters;
    double sum = 0;

    memcpy (solution->step, factors, (size_t) n * sizeof (*factors));
    dn_cholesky_lower (solution->factor, solution->step, n);
    for (int i = 0; i < n; i++)
        sum += solution->step[i] * solution->step[i];
    return sum;
}

static void find_variances (struct dn_site_solution *solution)
{
    int n = solution->n_parameters;
    double *one = solution->normal; /* no longer needed */
    double sum = 0;

    for (int i = 0; i < n; i++) {
        memset (one, 0, (size_t) n * sizeof (*one));
        one[i] = 1;
        solution->parameters[i].variance = variance_of (solution, one);
    }
    for (int i = 0; i < solution->n_members; i++)
        sum += variance_of (solution, solution->slopes + (ptrdiff_t) i * n);
    solution->shared = sqrt (sum / solution->n_members);
}

/* How far off the predictions of a user's runs are, each from all others, in units of
 * the spread that is stated: the mean square. One that lies far out counts as three
 * spreads. By the diagonal of the inverse of the covariance of all errors (Rasmussen
 * and Williams 2006, 5.12), parameters included.
 */
static double find_squares (struct dn_site_solution *solution,
                            const struct dn_site_user *user)
{
    const double far = 9;
    double own = solution->likeness.noise * solution->likeness.noise;
    double sum = 0;

    for (int i = user->first; i < user->first + user->n; i++) {
        const struct dn_site_member *member = &solution->members[i];
        double inverse =
            member->inverse
            - variance_of (solution,
                           solution->solved + (ptrdiff_t) i * solution->n_parameters);
        double variance = 1 / fmax (inverse, 1e-6);
        double error = member->weight * variance;

        variance = fmax (variance * member->vote - member->noise, 0) + own;
        sum += fmin (error * error / variance, far);
    }
    return sum / user->n;
}

/* The site's runs count as n, but those of a user as no more than those of the median
 * user; what was found on other sites counts as n_level.
 */
static void find_level (struct dn_site_solution *solution, double n_level)
{
    int most = median_of_users (solution, count_runs);
    double sum = n_level;
    double n = n_level;

    for (int u = 0; u < solution->n_users; u++) {
        const struct dn_site_user *user = &solution->users[u];
        int count = user->n < most ? user->n : most;

        sum += count * find_squares (solution, user);
        n += count;
    }
    solution->level = sqrt (sum / n);
}

/* --- the whole -------------------------------------------------------------------- */

static int make_room (struct dn_site_solution *solution)
{
    size_t n = (size_t) solution->n_parameters;
    size_t rows = (size_t) solution->n_members;

    solution->slopes = calloc (rows * n + 1, sizeof (*solution->slopes));
    solution->solved = calloc (rows * n + 1, sizeof (*solution->solved));
    solution->normal = calloc (n * (n + 1) / 2 + 1, sizeof (*solution->normal));
    solution->factor = calloc (n * (n + 1) / 2 + 1, sizeof (*solution->factor));
    solution->step = calloc (n + 1, sizeof (*solution->step));
    return solution->slopes && solution->solved && solution->normal && solution->factor
                   && solution->step
               ? 0
               : -1;
}

static bool iterate (struct dn_site_solution *solution)
{
    const int turns = 8;

    look (solution, true);
    for (int i = 0; i < solution->n_members; i++)
        solution->members[i].shipped = solution->members[i].error;
    set_variances (solution, true);
    set_votes (solution);
    for (int turn = 0; turn < turns; turn++) {
        if (turn > 0) {
            set_variances (solution, false);
            set_votes (solution);
        }
        if (!descend (solution))
            return false;
    }
    set_normal (solution);
    return factor_normal (solution, 0);
}

static void list_users (struct dn_site_solution *solution)
{
    int end;

    for (int first = 0; first < solution->n_members; first = end) {
        struct dn_site_user *user = &solution->users[solution->n_users];

        end = dn_site_block_end (solution, first);
        if (first == 0
            || solution->members[first].run->user
                   != solution->members[first - 1].run->user) {
            user->first = first;
            solution->n_users++;
        } else {
            user--;
        }
        user->n += end - first;
        user->n_applications++;
    }
}

/* With the runs' names and coordinates, and what may move if anything does. */
static int begin (struct dn_site_solution *solution,
                  const struct dn_site_prior *prior,
                  const struct dn_site_run *const *runs,
                  int n,
                  bool moves)
{
    size_t most = (size_t) n + DN_CONSTANT_FIELDS + 1;

    solution->members = calloc ((size_t) n + 1, sizeof (*solution->members));
    solution->parameters = calloc (most, sizeof (*solution->parameters));
    solution->users = calloc ((size_t) n + 1, sizeof (*solution->users));
    if (!solution->members || !solution->parameters || !solution->users)
        return -1;
    solution->likeness = prior->likeness;
    solution->n_members = n;
    for (int i = 0; i < n; i++)
        set_member (&solution->base, runs[i], &solution->members[i]);
    list_users (solution);
    if (moves && has_second (solution))
        add_parameters (solution, prior);
    else
        add_nothing (solution, prior);
    return make_room (solution);
}

struct dn_site_solution *dn_site_solve (const struct dn_constants *base,
                                        const struct dn_site_prior *prior,
                                        const struct dn_site_run *const *runs,
                                        int n,
                                        bool moves,
                                        struct dn_err *err)
{
    struct dn_site_solution *solution = calloc (1, sizeof (*solution));

    if (!solution) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    solution->base = *base;
    if (begin (solution, prior, runs, n, moves) < 0) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
    } else if (!iterate (solution)) {
        dn_err_set (err, DN_E_BUG, "the fit has no curvature");
    } else {
        find_variances (solution);
        find_level (solution, prior->n_level);
        return solution;
    }
    dn_site_solution_free (&solution);
    return NULL;
}

void dn_site_solution_free (struct dn_site_solution **solution)
{
    struct dn_site_solution *old = *solution;

    *solution = NULL;
    if (!old)
        return;
    free (old->members);
    free (old->users);
    free (old->parameters);
    free (old->slopes);
    free (old->solved);
    free (old->normal);
    free (old->factor);
    free (old->step);
    free (old);
}
