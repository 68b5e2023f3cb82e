/* bounds.c - upper bounds that hold for sources and models that nothing has seen
 *
 * Split conformal prediction (Vovk, Gammerman, Shafer 2005) on ln (measured /
 * predicted) in units of the stated spread. The calibration runs were predicted without
 * their family of sources, or without it and their family of models. How far they are
 * off differs by pair of families more than within one, so each pair has one vote, and
 * what is exchangeable is the pair. Where fewer than one vote is expected above a
 * quantile, that of Student's law with the votes' spread counts if it is above. For
 * runs that were killed at their limit only a lower limit is known; the Kaplan-Meier
 * estimate (1958) moves their weight to the longer runs.
 *
 * There is a law for each level of validation (predict/bundle.h), of the runs that are
 * validated at least so, and at each level one for each kind of network. Of n votes of
 * a kind, n times the share that may be missed are above its quantile. The law of its
 * level counts as one such vote: quantiles of kinds with few votes are near it.
 *
 * The laws of confidence are quantiles of the absolute score. They are those of the
 * votes, without the correction for a finite sample, because confidence may err both
 * ways. In them the law of a level counts as WITHIN_SHARED such votes: with one, kinds
 * of few votes stated confidences that no pair left out of the fit confirmed.
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

/* Of a symmetric law: so much of the absolute value is below it that 0.55 is a tenth.
 */
const double dn_train_within_levels[DN_TRAIN_WITHIN_LEVELS] =
    {0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99};

/* A level of validation needs at least so many votes for a law of its own. */
#define VOTES_MIN 8

#define WITHIN_SHARED 4

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

/* The value below which that share lies, by Kaplan and Meier. */
static double plain_quantile (const struct dn_scored *sorted, int n, double level)
{
    double at_risk = 0;
    double survive = 1;
    double last = 0;

    for (int i = 0; i < n; i++)
        at_risk += sorted[i].weight;
    for (int i = 0; i < n; i++) {
        last = sorted[i].value;
        if (!sorted[i].censored && at_risk > 0)
            survive *= fmax (1 - sorted[i].weight / at_risk, 0);
        at_risk -= sorted[i].weight;
        if (1 - survive >= level - 1e-12)
            return last;
    }
    return last;
}

double dn_scores_quantile (const struct dn_scored *sorted, int n, double level)
{
    double sum = 0;
    double squares = 0;

    for (int i = 0; i < n; i++) {
        sum += sorted[i].weight;
        squares += sorted[i].weight * sorted[i].weight;
    }
    /* Vovk's (n + 1) / n, where n is the number of equal weights with this variance. */
    if (sum > 0)
        level *= 1 + squares / (sum * sum);
    return plain_quantile (sorted, n, level);
}

/* --- the scores ------------------------------------------------------------------ */

static int compare (const void *a, const void *b)
{
    const struct dn_scored *x = a;
    const struct dn_scored *y = b;

    /* A measured value sorts before a censored one of the same size. */
    if (x->value < y->value || x->value > y->value)
        return x->value < y->value ? -1 : 1;
    if (x->censored != y->censored)
        return x->censored ? 1 : -1;
    if (x->left_out->at != y->left_out->at)
        return x->left_out->at - y->left_out->at;
    return (x->left_out > y->left_out) - (x->left_out < y->left_out);
}

/* Of memory the white box states the spread, and the scheme does not matter. */
static void list_scores (const struct dn_case_set *set,
                         const struct dn_domain *domain,
                         struct dn_pool *pool)
{
    bool step = set->quantity == DN_QUANTITY_STEP;

    pool->n = step ? set->n_unseen : set->n;
    for (int i = 0; i < pool->n; i++) {
        const struct dn_left_out *out = step ? set->unseen[i] : &set->left_out[i];
        struct dn_scored *score = &pool->sorted[i];

        score->left_out = out;
        score->voter = set->unit[out->at];
        score->censored = step && out->run->censored;
        score->value =
            step ? dn_left_out_error (out, domain) / dn_left_out_sigma (out, domain)
                 : out->ratio / out->run->memory_sigma;
        if (pool->law == DN_LAW_WITHIN)
            score->value =
                score->censored ? fmax (score->value, 0) : fabs (score->value);
    }
    qsort (pool->sorted, (size_t) pool->n, sizeof (*pool->sorted), compare);
}

int dn_pool_make (const struct dn_runs *runs,
                  const struct dn_case_set *set,
                  const struct dn_domain *domain,
                  enum dn_law law,
                  struct dn_pool *pool,
                  struct dn_err *err)
{
    size_t n = (size_t) set->n * DN_N_SCHEMES + 1;
    size_t n_voters = (size_t) set->n_units + 1;

    pool->runs = runs;
    pool->quantity = set->quantity;
    pool->law = law;
    pool->n_voters = set->n_units;
    pool->sorted = calloc (n, sizeof (*pool->sorted));
    pool->counts = malloc (n_voters * sizeof (int));
    pool->means = malloc (n_voters * sizeof (double));
    pool->means_sorted = malloc (n_voters * sizeof (double));
    if (!pool->sorted || !pool->counts || !pool->means || !pool->means_sorted)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    list_scores (set, domain, pool);
    return 0;
}

void dn_pool_free (struct dn_pool *pool)
{
    free (pool->sorted);
    free (pool->counts);
    free (pool->means);
    free (pool->means_sorted);
    memset (pool, 0, sizeof (*pool));
}

/* --- one law --------------------------------------------------------------------- */

/* The runs that a law is fitted to. */
struct choice {
    const int *skip;  /* labels, -1: any */
    int level;        /* of validation, or a higher one; -1: all */
    const char *kind; /* NULL: all */
};

static bool is_chosen (const struct dn_left_out *out, const struct choice *choice)
{
    const struct dn_example *run = out->run;

    for (int l = 0; l < DN_N_LABELS; l++)
        if (choice->skip[l] >= 0 && run->label[l] == choice->skip[l])
            return false;
    return (choice->level < 0 || (int) out->level >= choice->level)
           && (!choice->kind || strcmp (run->kind, choice->kind) == 0);
}

/* Give each voter one vote, shared by its runs; runs that are not chosen weigh nothing.
 * Return the number of votes.
 */
static int vote (struct dn_pool *pool, const struct choice *choice)
{
    int n = 0;

    memset (pool->counts, 0, (size_t) pool->n_voters * sizeof (int));
    for (int i = 0; i < pool->n; i++) {
        struct dn_scored *score = &pool->sorted[i];
        bool chosen = is_chosen (score->left_out, choice);

        score->weight = chosen ? 1 : 0;
        n += chosen && pool->counts[score->voter]++ == 0;
    }
    for (int i = 0; i < pool->n; i++)
        if (pool->sorted[i].weight > 0)
            pool->sorted[i].weight = 1.0 / pool->counts[pool->sorted[i].voter];
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
    const struct dn_scored *scores = pool->sorted;
    struct law law = {.n = 0};
    int n_above = 0;

    memset (pool->means, 0, (size_t) pool->n_voters * sizeof (double));
    for (int i = 0; i < pool->n; i++)
        if (scores[i].weight > 0)
            pool->means[scores[i].voter] += scores[i].weight * scores[i].value;
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
    for (int i = 0; i < pool->n; i++)
        if (scores[i].weight > 0)
            law.within +=
                2 * scores[i].weight
                * pow (fmax (scores[i].value - pool->means[scores[i].voter], 0), 2)
                / law.n;
    return law;
}

static double law_quantile (const struct law *law, double level)
{
    double variance = law->between * (1 + 1.0 / law->n) + law->within;

    return law->centre + dn_student_score (level, law->n - 1.0) * sqrt (variance);
}

static const double *levels_of (const struct dn_pool *pool, int *n)
{
    bool within = pool->law == DN_LAW_WITHIN;

    *n = within ? DN_TRAIN_WITHIN_LEVELS : DN_TRAIN_LEVELS;
    return within ? dn_train_within_levels : dn_train_levels;
}

static void start_quantiles (const struct dn_pool *pool, struct dn_quantiles *q)
{
    const double *levels = levels_of (pool, &q->n);

    for (int i = 0; i < q->n; i++) {
        q->scores[i] = levels[i] > 0.5 ? dn_normal_score (levels[i]) : 0;
        q->values[i] = -INFINITY;
    }
    q->within = NULL;
}

/* The quantile of the chosen runs, which have 'n' votes. */
static double quantile_of (struct dn_pool *pool, double level, const struct law *law)
{
    double value;

    if (pool->law == DN_LAW_WITHIN)
        return plain_quantile (pool->sorted, pool->n, 2 * level - 1);
    value = dn_scores_quantile (pool->sorted, pool->n, level);
    if (level > 0.5 && law->n > 1 && law->n * (1 - level) < 1)
        value = fmax (value, law_quantile (law, level));
    return value;
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
    const double *levels = levels_of (pool, &q->n);
    double least = -INFINITY;

    if (n_votes < votes_min || n_votes == 0)
        return false;
    for (int i = 0; i < q->n; i++) {
        double value = quantile_of (pool, levels[i], &law);

        if (value > 0 && pool->law == DN_LAW_BOUNDS)
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

/* The law of a kind among those of a level, '*q' of which is raised to it as far as its
 * votes weigh.
 */
static bool fit_kind (struct dn_pool *pool,
                      const struct choice *choice,
                      double margin,
                      struct dn_quantiles *q)
{
    int n_votes = vote (pool, choice);
    const double *levels = levels_of (pool, &q->n);
    double shared = pool->law == DN_LAW_WITHIN ? WITHIN_SHARED : 1;
    double least = -INFINITY;

    if (n_votes == 0)
        return false;
    for (int i = 0; i < q->n; i++) {
        double level = pool->law == DN_LAW_WITHIN ? 2 * levels[i] - 1 : levels[i];
        double beyond = n_votes * fmin (level, 1 - level);
        double own = plain_quantile (pool->sorted, pool->n, level);

        if (own > 0 && pool->law == DN_LAW_BOUNDS)
            own *= margin;
        q->values[i] = least =
            fmax ((beyond * own + shared * q->values[i]) / (beyond + shared), least);
    }
    return true;
}

/* The laws of kinds at a level of validation, whose own is 'of_level'. */
static void fit_kinds (struct dn_pool *pool,
                       int level,
                       double margin,
                       const int *skip,
                       const struct dn_quantiles *of_level,
                       struct dn_bounds *bounds)
{
    const struct dn_label_names *kinds = &pool->runs->labels[DN_LABEL_KIND];

    for (int k = 0; k < kinds->n; k++) {
        const struct choice choice = {skip, level, kinds->names[k]};
        struct dn_quantiles q = *of_level;

        if (fit_kind (pool, &choice, margin, &q))
            add_group (bounds,
                       kinds->names[k],
                       dn_names_get (&dn_validated_level_names, level),
                       &q);
    }
}

/* What was validated less has no smaller bound. */
void dn_bounds_fit (struct dn_pool *pool,
                    double margin,
                    const int skip[DN_N_LABELS],
                    struct dn_bounds *bounds)
{
    const struct choice all = {skip, -1, NULL};
    struct dn_quantiles q;

    memset (bounds, 0, sizeof (*bounds));
    if (pool->n == 0)
        return;
    start_quantiles (pool, &bounds->all);
    fit_quantiles (pool, &all, 1, margin, &bounds->all);
    if (pool->quantity != DN_QUANTITY_STEP)
        return;
    start_quantiles (pool, &q);
    for (int level = DN_VALIDATED_STACK; level >= DN_VALIDATED_NOTHING; level--) {
        const struct choice choice = {skip, level, NULL};

        if (!fit_quantiles (pool, &choice, VOTES_MIN, margin, &q))
            continue;
        if (level == DN_VALIDATED_NOTHING)
            break;
        add_group (bounds, NULL, dn_names_get (&dn_validated_level_names, level), &q);
        fit_kinds (pool, level, margin, skip, &q, bounds);
    }
    for (int i = 0; i < bounds->all.n; i++)
        bounds->all.values[i] = fmax (bounds->all.values[i], q.values[i]);
}
