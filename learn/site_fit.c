/* site_fit.c - the most probable constants and scales of one site
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/site_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "learn/reals.h"
#include "learn/site_solve.h"

/* A user and the number of runs, of those that came and of those that are kept. */
struct owner {
    int64_t user;
    int64_t n_seen;
    int n_kept;
};

struct dn_site_fit {
    struct dn_constants base;
    struct dn_site_prior prior;
    struct dn_site_run *runs;
    struct owner *owner_of[DN_SITE_RUNS_MAX]; /* of each run */
    int n_runs;
    int64_t n_seen;
    struct owner owners[DN_SITE_USERS_MAX];
    int n_owners;
    uint64_t random; /* the same runs give the same bundle */
};

/* Errors in units of the stated spread (with its family of code left out): after 1 to
 * 50 runs of the same application, and of a run when all of its application is left
 * out; not below the normal law.
 */
static const struct law {
    double level;
    double seen;
    double unseen;
} laws[] = {
    {0.5, 0, 0},
    {0.8, 0.841, 0.841},
    {0.9, 1.4, 1.34},
    {0.95, 2.13, 1.97},
    {0.975, 3.06, 2.36},
    {0.99, 4.62, 3.25},
    {0.995, 5.94, 4.37},
};

static struct dn_site_prior shipped_prior (void)
{
    /* Most probable on the sources of both tables of runs at the constants that ship */
    struct dn_site_prior prior = {
        .site = 0.217,
        .device = 0.109,
        .likeness = {.spread = 0.251,
                     .noise = 0.0628,
                     .lengths = {[DN_AXIS_BATCH] = 5.61,
                                 [DN_AXIS_ACCUMULATION] = 5.61,
                                 [DN_AXIS_GPUS] = 19.8,
                                 [DN_AXIS_NODES] = 19.8,
                                 [DN_AXIS_SAMPLE_FLOPS] = 6.73,
                                 [DN_AXIS_DEVICE_SHARE] = 0.655,
                                 [DN_AXIS_HOST_SHARE] = 0.655,
                                 [DN_AXIS_INPUT_SHARE] = 0.655,
                                 [DN_AXIS_COMMUNICATION_SHARE] = 0.655,
                                 [DN_AXIS_DEVICE] = 2.62,
                                 [DN_AXIS_PRECISION] = 1.24}},
        .n_level = 20,
        .memory = 0.15,
        .power = 0.15,
    };

    prior.seen.n = prior.unseen.n = (int) DN_N_ELEMENTS (laws);
    for (int i = 0; i < prior.seen.n; i++) {
        prior.seen.scores[i] = prior.unseen.scores[i] =
            laws[i].level > 0.5 ? dn_normal_score (laws[i].level) : 0;
        prior.seen.values[i] = laws[i].seen;
        prior.unseen.values[i] = laws[i].unseen;
    }
    for (int i = 0; i < DN_CONSTANT_FIELDS; i++)
        prior.constants[i] = dn_constant_fields[i].spread;
    return prior;
}

struct dn_site_fit *dn_site_fit_new (void)
{
    struct dn_site_fit *fit = calloc (1, sizeof (*fit));

    if (!fit)
        return NULL;
    fit->base = dn_constants_default;
    fit->prior = shipped_prior ();
    fit->random = 88172645463325252u;
    return fit;
}

void dn_site_fit_free (struct dn_site_fit *fit)
{
    if (!fit)
        return;
    for (int i = 0; i < fit->n_runs; i++)
        dn_graph_free (&fit->runs[i].graph);
    free (fit->runs);
    free (fit);
}

/* The owner of a user's runs. Users beyond those that there is room for share one. */
static struct owner *find_owner (struct dn_site_fit *fit, int64_t user)
{
    int at = 0;

    while (at < fit->n_owners && fit->owners[at].user != user)
        at++;
    if (at == DN_SITE_USERS_MAX)
        return &fit->owners[DN_SITE_USERS_MAX - 1];
    if (at == fit->n_owners)
        fit->owners[fit->n_owners++].user = user;
    return &fit->owners[at];
}

static struct owner *largest_owner (struct dn_site_fit *fit)
{
    struct owner *largest = &fit->owners[0];

    for (int i = 1; i < fit->n_owners; i++)
        if (fit->owners[i].n_kept > largest->n_kept)
            largest = &fit->owners[i];
    return largest;
}

/* The place of the owner's run number 'which'. */
static int find_run (const struct dn_site_fit *fit,
                     const struct owner *owner,
                     uint64_t which)
{
    int at = 0;

    while (fit->owner_of[at] != owner || which-- > 0)
        at++;
    return at;
}

/* The place of the run that the next one of 'owner' replaces, or -1: the new one goes.
 * While another user has more runs, one of that user's goes; else every run of the
 * owner has the same chance to stay (Vitter 1985, algorithm R).
 */
static int find_place (struct dn_site_fit *fit, struct owner *owner)
{
    struct owner *largest = largest_owner (fit);
    uint64_t which;

    if (largest->n_kept > owner->n_kept + 1) {
        which = dn_xorshift (&fit->random) % (uint64_t) largest->n_kept;
        largest->n_kept--;
        owner->n_kept++;
        return find_run (fit, largest, which);
    }
    which = dn_xorshift (&fit->random) % (uint64_t) owner->n_seen;
    return which < (uint64_t) owner->n_kept ? find_run (fit, owner, which) : -1;
}

int dn_site_fit_add (struct dn_site_fit *fit,
                     struct dn_site_run *run,
                     struct dn_err *err)
{
    struct owner *owner = find_owner (fit, run->user);
    int at = fit->n_runs;

    fit->n_seen++;
    owner->n_seen++;
    if (at == DN_SITE_RUNS_MAX) {
        at = find_place (fit, owner);
        if (at < 0) {
            dn_graph_free (&run->graph);
            return 0;
        }
        dn_graph_free (&fit->runs[at].graph);
    } else {
        if (dn_rows_grow (&fit->runs, at, sizeof (*fit->runs), err) < 0)
            return -1;
        fit->n_runs++;
        owner->n_kept++;
    }
    fit->runs[at] = *run;
    fit->owner_of[at] = owner;
    memset (&run->graph, 0, sizeof (run->graph));
    return 0;
}

/* --- the runs that take part ------------------------------------------------------ */

/* A run with its application, for sorting. */
struct candidate {
    const struct dn_site_run *run;
    const char *application;
    uint64_t order; /* random */
};

static int compare_candidates (const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;
    int order = (x->run->user > y->run->user) - (x->run->user < y->run->user);

    if (order == 0)
        order = strcmp (x->application, y->application);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* The runs whose time was measured, by user and application, in random order within
 * one.
 */
static int list_candidates (struct dn_site_fit *fit, struct candidate *candidates)
{
    int n = 0;

    for (int i = 0; i < fit->n_runs; i++)
        if (fit->runs[i].step_s > 0)
            candidates[n++] = (struct candidate){
                .run = &fit->runs[i],
                .application = dn_application_of (&fit->runs[i].spec),
                .order = dn_xorshift (&fit->random)};
    if (n > 0)
        qsort (candidates, (size_t) n, sizeof (*candidates), compare_candidates);
    return n;
}

/* Keep at most 'most' of each application of one user, and at most 'room' in total;
 * with 'out' NULL only count.
 */
static int keep (const struct candidate *candidates,
                 int n,
                 int most,
                 int room,
                 const struct dn_site_run **out)
{
    int kept = 0;
    int own = 0;

    for (int i = 0; i < n && kept < room; i++) {
        bool same =
            i > 0
            && strcmp (candidates[i].application, candidates[i - 1].application) == 0;

        own = same ? own + 1 : 1;
        if (own > most)
            continue;
        if (out)
            out[kept] = candidates[i].run;
        kept++;
    }
    return kept;
}

/* At most 'room' runs of each user, as many of each application as there is room for.
 */
static int keep_all (const struct candidate *candidates,
                     int n,
                     int room,
                     const struct dn_site_run **out)
{
    int kept = 0;
    int end;

    for (int first = 0; first < n && kept <= DN_HISTORY_MAX; first = end) {
        const struct candidate *own = candidates + first;
        int most = DN_HISTORY_OWN_MAX;

        for (end = first + 1; end < n && candidates[end].run->user == own->run->user;)
            end++;
        while (most > 1 && keep (own, end - first, most, room + 1, NULL) > room)
            most--;
        kept += keep (own, end - first, most, room, out ? out + kept : NULL);
    }
    return kept;
}

/* At most DN_HISTORY_MAX of the runs: the same number of each user, but all of a user
 * with fewer. -1 without memory.
 */
static int choose_runs (struct dn_site_fit *fit,
                        const struct dn_site_run *out[2 * DN_HISTORY_MAX])
{
    dn_cleanup (dn_free_ptr) struct candidate *candidates =
        calloc ((size_t) fit->n_runs + 1, sizeof (*candidates));
    int room = DN_HISTORY_MAX;
    int n;

    if (!candidates)
        return -1;
    n = list_candidates (fit, candidates);
    while (room > 1 && keep_all (candidates, n, room, NULL) > DN_HISTORY_MAX)
        room--;
    n = keep_all (candidates, n, room, out);
    return n < DN_HISTORY_MAX ? n : DN_HISTORY_MAX;
}

/* What moves does so only if applications agree on it. */
static struct dn_site_solution *solve (const struct dn_site_fit *fit,
                                       const struct dn_site_run *const *runs,
                                       int n,
                                       struct dn_err *err)
{
    struct dn_site_solution *solution =
        dn_site_solve (&fit->base, &fit->prior, runs, n, true, err);

    if (!solution || solution->n_parameters == 0 || dn_site_agrees (solution))
        return solution;
    dn_site_solution_free (&solution);
    return dn_site_solve (&fit->base, &fit->prior, runs, n, false, err);
}

/* --- writing ---------------------------------------------------------------------- */

static int write_scale (const struct dn_site_parameter *parameter,
                        struct dn_tuning *tuning,
                        struct dn_err *err)
{
    struct dn_scale scale = {.scale = exp (parameter->value),
                             .sigma = sqrt (parameter->variance),
                             .runs = parameter->runs};

    if (!parameter->device) {
        tuning->step = scale;
        return 0;
    }
    snprintf (scale.name, sizeof (scale.name), "%s", parameter->device->name);
    return dn_scales_add (&tuning->devices, &scale, err);
}

static int write_parameters (const struct dn_site_fit *fit,
                             const struct dn_site_solution *solution,
                             struct dn_tuning *tuning,
                             struct dn_err *err)
{
    struct dn_constants constants = dn_site_constants (solution);

    for (int i = 0; i < solution->n_parameters; i++) {
        const struct dn_site_parameter *parameter = &solution->parameters[i];
        int field = parameter->field;

        if (field < 0) {
            if (write_scale (parameter, tuning, err) < 0)
                return -1;
            continue;
        }
        /* What has hardly moved and is hardly better known stays the shipped one. */
        if (!(fabs (parameter->value) > 0.01
              || parameter->variance < 0.9 * parameter->spread * parameter->spread))
            continue;
        tuning->tuned[field].set = true;
        tuning->tuned[field].shipped = dn_constant_get (&fit->base, field);
        tuning->tuned[field].sigma = sqrt (parameter->variance);
        dn_constant_set (
            &tuning->constants, field, dn_constant_get (&constants, field));
    }
    return 0;
}

/* Add the runs of one application of a user. Their noise, and what is known of others
 * like them, is found without the runs of other users.
 */
static int write_block (const struct dn_site_fit *fit,
                        const struct dn_site_member *members,
                        const struct dn_site_run *const *runs,
                        int n,
                        struct dn_history *history,
                        struct dn_err *err)
{
    dn_cleanup (dn_site_solution_free) struct dn_site_solution *alone =
        solve (fit, runs, n, err);

    if (!alone)
        return -1;
    history->alone = alone->likeness.spread;
    history->likeness.common = alone->likeness.common;
    for (int i = 0; i < n; i++)
        history->runs[history->n++] =
            (struct dn_past){.user = members[i].run->user,
                             .trace = members[i].trace,
                             .error = members[i].error,
                             .own = alone->members[i].error,
                             .noise = sqrt (alone->members[i].noise),
                             .level = alone->level};
    return 0;
}

/* Runs without a user of the system, or without the name of an application, match no
 * later job.
 */
static int write_runs (const struct dn_site_fit *fit,
                       const struct dn_site_solution *solution,
                       const struct dn_site_run *const *runs,
                       struct dn_history *history,
                       struct dn_err *err)
{
    int end;

    for (int first = 0; first < solution->n_members; first = end) {
        const struct dn_site_member *member = &solution->members[first];

        end = dn_site_block_end (solution, first);
        if (member->trace.application[0] == '\0' || member->run->user < DN_UNSET)
            continue;
        if (write_block (fit, member, runs + first, end - first, history, err) < 0)
            return -1;
    }
    return 0;
}

static struct dn_history *write_history (const struct dn_site_fit *fit,
                                         const struct dn_site_solution *solution,
                                         const struct dn_site_run *const *runs,
                                         struct dn_err *err)
{
    struct dn_history *history = dn_history_new (solution->n_members);

    if (!history) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    history->n = 0;
    history->likeness = solution->likeness;
    history->alone = solution->likeness.spread;
    history->shared = solution->shared;
    history->device = solution->n_parameters > 0 ? fit->prior.device : 0;
    history->level = solution->level;
    history->seen = fit->prior.seen;
    history->unseen = fit->prior.unseen;
    if (write_runs (fit, solution, runs, history, err) == 0
        && dn_history_close (history, err) == 0)
        return history;
    dn_history_free (history);
    return NULL;
}

static int find_times (struct dn_site_fit *fit,
                       struct dn_tuning *tuning,
                       struct dn_err *err)
{
    const struct dn_site_run *runs[2 * DN_HISTORY_MAX];
    dn_cleanup (dn_site_solution_free) struct dn_site_solution *solution = NULL;
    int n = choose_runs (fit, runs);

    tuning->runs = fit->n_seen;
    tuning->constants = fit->base;
    if (n == 0)
        return 0;
    if (n < 0)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    solution = solve (fit, runs, n, err);
    if (!solution || write_parameters (fit, solution, tuning, err) < 0)
        return -1;
    tuning->history = write_history (fit, solution, runs, err);
    return tuning->history ? 0 : -1;
}

/* Memory and power: one scale, most probable under Student's t. */
struct sample {
    int64_t user;
    double error;
};

struct evidence {
    struct sample *samples;
    int n;
    double *middles; /* of each user's errors */
    double *weights; /* of each user */
    int n_users;
};

static void free_evidence (struct evidence *evidence)
{
    free (evidence->samples);
    free (evidence->middles);
    free (evidence->weights);
}

static int compare_samples (const void *a, const void *b)
{
    const struct sample *x = a;
    const struct sample *y = b;

    if (x->user != y->user)
        return x->user < y->user ? -1 : 1;
    return (x->error > y->error) - (x->error < y->error);
}

/* A user is one error, the median. Runs of one user are alike: four count as two, and
 * more than sixteen as four; so do users of one site.
 */
static void sum_up_users (struct evidence *evidence)
{
    const struct sample *samples = evidence->samples;
    int end;

    if (evidence->n > 0)
        qsort (evidence->samples,
               (size_t) evidence->n,
               sizeof (*evidence->samples),
               compare_samples);
    for (int first = 0; first < evidence->n; first = end) {
        for (end = first;
             end < evidence->n && samples[end].user == samples[first].user;)
            end++;
        evidence->middles[evidence->n_users] =
            (samples[(first + end - 1) / 2].error + samples[(first + end) / 2].error)
            / 2;
        evidence->weights[evidence->n_users++] = sqrt (fmin (end - first, 16));
    }
    for (int i = 0; i < evidence->n_users; i++)
        evidence->weights[i] /= sqrt (evidence->n_users);
}

static struct dn_scale find_scale (struct evidence *evidence, double spread)
{
    const double noise = 0.2;
    const int turns = 20;
    double value = 0;
    double weights = 0;

    sum_up_users (evidence);
    for (int turn = 0; turn < turns; turn++) {
        double sum = 0;

        weights = 1 / (spread * spread);
        for (int i = 0; i < evidence->n_users; i++) {
            double error = (evidence->middles[i] - value) / noise;
            double weight =
                (DN_STUDENT + 1) / (DN_STUDENT + error * error) / (noise * noise);

            weight *= evidence->weights[i];
            weights += weight;
            sum += weight * evidence->middles[i];
        }
        value = sum / weights;
    }
    return (struct dn_scale){
        .scale = exp (value), .sigma = sqrt (1 / weights), .runs = evidence->n};
}

/* Room for all runs. */
static bool make_evidence (struct evidence *evidence, int n_runs)
{
    size_t n = (size_t) n_runs + 1;

    evidence->samples = calloc (n, sizeof (*evidence->samples));
    evidence->middles = calloc (n, sizeof (*evidence->middles));
    evidence->weights = calloc (n, sizeof (*evidence->weights));
    return evidence->samples && evidence->middles && evidence->weights;
}

/* Of memory only a larger need is believed: a job that is moved to a GPU which is too
 * small for it ends at once, by the fault of others.
 */
static int find_resources (struct dn_site_fit *fit,
                           struct dn_tuning *tuning,
                           struct dn_err *err)
{
    dn_cleanup (free_evidence) struct evidence memory = {.n = 0};
    dn_cleanup (free_evidence) struct evidence power = {.n = 0};

    if (!make_evidence (&memory, fit->n_runs) || !make_evidence (&power, fit->n_runs))
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < fit->n_runs; i++) {
        const struct dn_site_run *run = &fit->runs[i];
        const struct dn_case c = dn_site_case (&tuning->constants, run);
        struct dn_estimate estimate;

        dn_whitebox (&c, &estimate);
        if (run->gpu_mem > 0)
            memory.samples[memory.n++] = (struct sample){
                run->user,
                log (run->gpu_mem
                     / dn_estimate_memory (&estimate, run->memory_count).p50)
                    - run->memory_residual};
        if (run->power_w > 0)
            power.samples[power.n++] = (struct sample){
                run->user, log (run->power_w / estimate.power_w) - run->power_residual};
    }
    if (memory.n > 0)
        tuning->memory = find_scale (&memory, fit->prior.memory);
    if (power.n > 0)
        tuning->power = find_scale (&power, fit->prior.power);
    tuning->memory.scale = fmax (tuning->memory.scale, 1);
    return 0;
}

struct dn_tuning *dn_site_fit_solve (struct dn_site_fit *fit, struct dn_err *err)
{
    struct dn_tuning *tuning = dn_tuning_new ();

    if (!tuning) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    if (find_times (fit, tuning, err) == 0 && find_resources (fit, tuning, err) == 0)
        return tuning;
    dn_tuning_free (tuning);
    return NULL;
}
