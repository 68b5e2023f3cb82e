/* bounds.c - upper bounds that hold for sources and models that nothing has seen
 *
 * Split conformal prediction (Vovk, Gammerman, Shafer 2005) on ln (measured /
 * predicted) in units of the stated spread. The calibration runs were predicted without
 * their family of sources, or without it and their family of models. How far they are
 * off differs by pair of families more than within one, so each pair has one vote, and
 * what is exchangeable is the pair: of few pairs, the quantile of Student's law with
 * their spread counts where it is above that of the runs. For runs that were killed at
 * their limit only a lower limit is known; the Kaplan-Meier estimate (1958) moves their
 * weight to the longer runs. In addition, at level 0.95 nine tenths of the runs of nine
 * tenths of the models must stay below the bound, and accordingly at other levels: half
 * of the share that may be missed is whole models, half is runs of one model.
 *
 * There is a bound for each level of validation (predict/bundle.h), and one for each
 * kind of network at a level if it has enough votes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/reals.h"

#include "learn/parts.h"

const double dn_train_levels[DN_TRAIN_LEVELS] =
    {0.5, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995};

/* A law of its own needs at least so many votes, and one of a single kind of network
 * more than two above its quantile of 95 %: it is the worst pair of families otherwise.
 */
#define VOTES_MIN      8
#define KIND_VOTES_MIN 50

/* Fewer models do not determine the quantile for nine tenths of them. */
#define MODELS_MIN 10

/* --- quantiles ------------------------------------------------------------------- */

/* Cornish and Fisher's expansion of Student's law around the normal one (Abramowitz and
 * Stegun, Handbook of Mathematical Functions, 26.7.5).
 */
double dn_student_score (double quantile, double freedom)
{
    double z = dn_normal_score (quantile);
    double z2 = z * z;
    double g1 = z * (z2 + 1) / 4;
    double g2 = z * (5 * z2 * z2 + 16 * z2 + 3) / 96;
    double g3 = z * (3 * z2 * z2 * z2 + 19 * z2 * z2 + 17 * z2 - 15) / 384;

    return z + (g1 + (g2 + g3 / freedom) / freedom) / freedom;
}

double dn_scores_quantile (const struct dn_scores *sorted,
                           double level,
                           const bool *skip)
{
    double at_risk = 0;
    double squares = 0;
    double survive = 1;
    double last = 0;

    for (int i = 0; i < sorted->n; i++)
        if (!skip || !skip[i]) {
            at_risk += sorted->weight[i];
            squares += sorted->weight[i] * sorted->weight[i];
        }
    /* Vovk's (n + 1) / n, where n is the number of equal weights with this variance. */
    if (at_risk > 0)
        level *= 1 + squares / (at_risk * at_risk);
    for (int i = 0; i < sorted->n; i++) {
        if (skip && skip[i])
            continue;
        last = sorted->value[i];
        if (!sorted->censored[i] && at_risk > 0)
            survive *= fmax (1 - sorted->weight[i] / at_risk, 0);
        at_risk -= sorted->weight[i];
        if (1 - survive >= level - 1e-12)
            return last;
    }
    return last;
}

/* --- the scores ------------------------------------------------------------------ */

struct score {
    double value;
    bool censored;
    int at;
    int scheme;
};

static int compare (const void *a, const void *b)
{
    const struct score *x = a;
    const struct score *y = b;

    /* A measured value sorts before a censored one of the same size. */
    if (x->value < y->value || x->value > y->value)
        return x->value < y->value ? -1 : 1;
    if (x->censored != y->censored)
        return x->censored ? 1 : -1;
    if (x->at != y->at)
        return x->at - y->at;
    return x->scheme - y->scheme;
}

static int list_scores (const struct dn_training *training,
                        const struct dn_case_set *set,
                        const struct dn_domain *domain,
                        enum dn_quantity quantity,
                        struct score *list)
{
    const struct dn_runs *runs = &training->runs;
    bool step = quantity == DN_QUANTITY_STEP;
    int n = 0;

    for (int s = 0; s < (step ? DN_N_SCHEMES : 1); s++)
        for (int i = 0; i < set->n; i++) {
            const struct dn_example *run = &runs->runs[set->index[i]];

            if (!step)
                list[n++] = (struct score){
                    run->ratio[quantity] / run->memory_sigma, false, i, s};
            else if (dn_scheme_is_unseen (set, s)
                     && set->judged[dn_case_at (set, s, i)])
                list[n++] =
                    (struct score){dn_case_error (set, domain, s, i)
                                       / dn_case_sigma (set, runs, domain, s, i),
                                   run->censored,
                                   i,
                                   s};
        }
    qsort (list, (size_t) n, sizeof (*list), compare);
    return n;
}

static void take_scores (const struct score *list, int n, struct dn_pool *pool)
{
    pool->sorted.n = n;
    for (int i = 0; i < n; i++) {
        const struct score *score = &list[i];

        pool->sorted.value[i] = score->value;
        pool->sorted.censored[i] = score->censored;
        pool->at[i] = score->at;
        pool->voter[i] =
            score->scheme * pool->set->n_units + pool->set->unit[score->at];
        pool->level[i] =
            pool->set->level[dn_case_at (pool->set, score->scheme, score->at)];
    }
}

int dn_pool_make (const struct dn_training *training,
                  const struct dn_case_set *set,
                  const struct dn_domain *domain,
                  enum dn_quantity quantity,
                  struct dn_pool *pool,
                  struct dn_err *err)
{
    size_t n = (size_t) set->n * DN_N_SCHEMES + 1;
    size_t n_models = (size_t) training->runs.labels[DN_LABEL_MODEL].n + 1;
    size_t n_voters = (size_t) set->n_units * DN_N_SCHEMES + 1;
    dn_cleanup (dn_free_ptr) struct score *list = malloc (n * sizeof (*list));

    pool->runs = &training->runs;
    pool->set = set;
    pool->n_voters = set->n_units * DN_N_SCHEMES;
    pool->sorted.value = malloc (n * sizeof (double));
    pool->sorted.weight = malloc (n * sizeof (double));
    pool->sorted.censored = malloc (n * sizeof (bool));
    pool->at = malloc (n * sizeof (int));
    pool->voter = malloc (n * sizeof (int));
    pool->level = malloc (n * sizeof (*pool->level));
    pool->counts = malloc (n_voters * sizeof (int));
    pool->means = malloc (n_voters * sizeof (double));
    pool->means_sorted = malloc (n_voters * sizeof (double));
    pool->models = malloc (n_models * sizeof (double));
    pool->left = malloc (n_models * sizeof (double));
    if (!list || !pool->sorted.value || !pool->sorted.weight || !pool->sorted.censored
        || !pool->at || !pool->voter || !pool->level || !pool->counts || !pool->means
        || !pool->means_sorted || !pool->models || !pool->left)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    take_scores (list, list_scores (training, set, domain, quantity, list), pool);
    return 0;
}

void dn_pool_free (struct dn_pool *pool)
{
    free (pool->sorted.value);
    free (pool->sorted.weight);
    free (pool->sorted.censored);
    free (pool->at);
    free (pool->voter);
    free (pool->level);
    free (pool->counts);
    free (pool->means);
    free (pool->means_sorted);
    free (pool->models);
    free (pool->left);
    memset (pool, 0, sizeof (*pool));
}

/* --- one law --------------------------------------------------------------------- */

/* The runs that a law is fitted to. */
struct choice {
    const int *skip;  /* labels, -1: any */
    int level;        /* of validation; -1: all */
    const char *kind; /* NULL: all */
};

static bool is_chosen (const struct dn_pool *pool, const struct choice *choice, int i)
{
    const struct dn_example *run = &pool->runs->runs[pool->set->index[pool->at[i]]];

    for (int l = 0; l < DN_N_LABELS; l++)
        if (choice->skip[l] >= 0 && run->label[l] == choice->skip[l])
            return false;
    return (choice->level < 0 || (int) pool->level[i] == choice->level)
           && (!choice->kind || strcmp (run->kind, choice->kind) == 0);
}

/* Give each voter one vote, shared by its runs; runs that are not chosen weigh nothing.
 * Return the number of votes.
 */
static int vote (struct dn_pool *pool, const struct choice *choice)
{
    int n = 0;

    memset (pool->counts, 0, (size_t) pool->n_voters * sizeof (int));
    for (int i = 0; i < pool->sorted.n; i++) {
        bool chosen = is_chosen (pool, choice, i);

        pool->sorted.weight[i] = chosen ? 1 : 0;
        n += chosen && pool->counts[pool->voter[i]]++ == 0;
    }
    for (int i = 0; i < pool->sorted.n; i++)
        if (pool->sorted.weight[i] > 0)
            pool->sorted.weight[i] = 1.0 / pool->counts[pool->voter[i]];
    return n;
}

/* The law of a new voter's run: around the median of the votes, with the spread of
 * those above it, and the spread above its own mean within a vote. Votes far below the
 * median say nothing of those above it.
 */
struct law {
    double centre;
    double between; /* variances */
    double within;
    int n;
};

static struct law find_law (struct dn_pool *pool)
{
    double *work = pool->means_sorted;
    const struct dn_scores *scores = &pool->sorted;
    struct law law = {.n = 0};
    int n_above = 0;

    memset (pool->means, 0, (size_t) pool->n_voters * sizeof (double));
    for (int i = 0; i < scores->n; i++)
        if (scores->weight[i] > 0)
            pool->means[pool->voter[i]] += scores->weight[i] * scores->value[i];
    for (int v = 0; v < pool->n_voters; v++)
        if (pool->counts[v] > 0)
            work[law.n++] = pool->means[v];
    if (law.n == 0)
        return law;
    qsort (work, (size_t) law.n, sizeof (*work), dn_reals_compare);
    law.centre = work[law.n / 2];
    for (int i = law.n / 2; i < law.n; i++, n_above++)
        law.between += pow (work[i] - law.centre, 2);
    law.between /= n_above;
    for (int i = 0; i < scores->n; i++)
        if (scores->weight[i] > 0)
            law.within +=
                2 * scores->weight[i]
                * pow (fmax (scores->value[i] - pool->means[pool->voter[i]], 0), 2)
                / law.n;
    return law;
}

static double law_quantile (const struct law *law, double level)
{
    double variance = law->between * (1 + 1.0 / law->n) + law->within;

    return law->centre + dn_student_score (level, law->n - 1.0) * sqrt (variance);
}

/* The share of models, and of the runs of one, that must stay below the bound at
 * 'level'. Not positive at low levels.
 */
static double share_of (double level)
{
    return 1 - 2 * (1 - level);
}

/* The value that this share of the runs of this share of the models stays below;
 * -INFINITY with too few models.
 */
static double quantile_of_models (struct dn_pool *pool, double share)
{
    const struct dn_scores *scores = &pool->sorted;
    int n_models = pool->runs->labels[DN_LABEL_MODEL].n;
    int n = 0;

    if (share < 0.5)
        return -INFINITY;
    for (int m = 0; m < n_models; m++) {
        pool->left[m] = 0;
        pool->models[m] = NAN;
    }
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < scores->n; i++) {
            int m =
                pool->runs->runs[pool->set->index[pool->at[i]]].label[DN_LABEL_MODEL];

            if (scores->weight[i] <= 0)
                continue;
            pool->left[m] += pass == 0 ? share * scores->weight[i] : -scores->weight[i];
            if (pass == 1 && isnan (pool->models[m]) && pool->left[m] <= 1e-12)
                pool->models[m] = scores->value[i];
        }
    for (int m = 0; m < n_models; m++)
        if (!isnan (pool->models[m]))
            pool->left[n++] = pool->models[m];
    if (n < MODELS_MIN)
        return -INFINITY;
    qsort (pool->left, (size_t) n, sizeof (*pool->left), dn_reals_compare);
    return pool->left[(int) fmin (ceil (share * (n + 1)), n) - 1];
}

static void levels_of (struct dn_quantiles *q)
{
    q->n = DN_TRAIN_LEVELS;
    for (int i = 0; i < q->n; i++) {
        q->scores[i] =
            dn_train_levels[i] > 0.5 ? dn_normal_score (dn_train_levels[i]) : 0;
        q->values[i] = -INFINITY;
    }
}

/* Raise the quantiles to those of the chosen runs, if these have so many votes. */
static bool fit_quantiles (struct dn_pool *pool,
                           const struct choice *choice,
                           int votes_min,
                           double margin,
                           struct dn_quantiles *q)
{
    int n_votes = vote (pool, choice);
    struct law law = find_law (pool);
    double least = -INFINITY;

    if (n_votes < votes_min || n_votes == 0)
        return false;
    for (int i = 0; i < q->n; i++) {
        double level = dn_train_levels[i];
        double value = dn_scores_quantile (&pool->sorted, level, NULL);

        if (level > 0.5 && law.n > 1)
            value = fmax (value, law_quantile (&law, level));
        value = fmax (value, quantile_of_models (pool, share_of (level)));
        if (value > 0)
            value *= margin;
        q->values[i] = least = fmax (fmax (q->values[i], value), least);
    }
    return true;
}

/* --- all laws -------------------------------------------------------------------- */

static void add_group (struct dn_bounds *bounds,
                       const char *kind,
                       const char *level,
                       const struct dn_quantiles *q)
{
    struct dn_bound_group *group = &bounds->groups[bounds->n_groups];

    if (bounds->n_groups == DN_BOUND_GROUPS_MAX)
        return;
    snprintf (group->name,
              sizeof (group->name),
              "%s%s%s",
              kind ? kind : "",
              kind && level ? "." : "",
              level ? level : "");
    group->quantiles = *q;
    bounds->n_groups++;
}

/* The laws of kinds at a level of validation; -1: of all runs. */
static void fit_kinds (struct dn_pool *pool,
                       int level,
                       double margin,
                       const int *skip,
                       struct dn_bounds *bounds)
{
    const struct dn_label_names *kinds = &pool->runs->labels[DN_LABEL_KIND];

    for (int k = 0; k < kinds->n; k++) {
        const struct choice choice = {skip, level, kinds->names[k]};
        struct dn_quantiles q;

        levels_of (&q);
        if (fit_quantiles (pool, &choice, KIND_VOTES_MIN, margin, &q))
            add_group (bounds,
                       kinds->names[k],
                       level < 0 ? NULL
                                 : dn_names_get (&dn_validated_level_names, level),
                       &q);
    }
}

/* What was validated less has no smaller bound. */
void dn_bounds_fit (struct dn_pool *pool,
                    enum dn_quantity quantity,
                    double margin,
                    const int skip[DN_N_LABELS],
                    struct dn_bounds *bounds)
{
    const struct choice all = {skip, -1, NULL};
    struct dn_quantiles q;

    memset (bounds, 0, sizeof (*bounds));
    if (pool->sorted.n == 0)
        return;
    levels_of (&bounds->all);
    fit_quantiles (pool, &all, 1, margin, &bounds->all);
    if (quantity != DN_QUANTITY_STEP) {
        fit_kinds (pool, -1, margin, skip, bounds);
        return;
    }
    levels_of (&q);
    for (int level = DN_VALIDATED_STACK; level >= DN_VALIDATED_NOTHING; level--) {
        const struct choice choice = {skip, level, NULL};

        if (!fit_quantiles (pool, &choice, VOTES_MIN, margin, &q))
            continue;
        if (level == DN_VALIDATED_NOTHING)
            break;
        add_group (bounds, NULL, dn_names_get (&dn_validated_level_names, level), &q);
        fit_kinds (pool, level, margin, skip, bounds);
    }
    for (int i = 0; i < bounds->all.n; i++)
        bounds->all.values[i] = fmax (bounds->all.values[i], q.values[i]);
}
