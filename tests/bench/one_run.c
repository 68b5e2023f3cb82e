/* one_run.c - judge times that are translated from one measured run
 *
 * usage: one_run HARDWARE-FOLDER FAMILIES.csv RUNS.csv...
 *
 * Prints a table in Markdown, a row for what differs between the run that is taken as
 * measured and the one that is predicted from it: the pairs and their votes, the error
 * without a run and after it, and how often the 95 % bound held. Each order of a pair
 * counts. A vote is the median of the pairs of one source and network. With FAMILIES
 * (learn/data/families.csv; an empty word: without) the white box's constants are
 * fitted without the source of a run and its relatives. Then it prints how many runs
 * were within the factor that confidence is of, by tenths of confidence, and the errors
 * without a run, after one, and after three, whose translations are averaged.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "learn/reals.h"
#include "learn/score.h"
#include "predict/translate.h"
#include "step_fit.h"

/* What is known of a pair of runs, translated. */
enum value {
    BLIND,     /* |predicted / measured - 1| without a run */
    ERROR,     /* and after it */
    WIDTH,     /* of the bound over the likely time */
    COVERED,   /* 1: by the bound */
    LOG_ERROR, /* ln (measured / predicted) */
    BLIND_LOG, /* the same without a run */
    CONFIDENCE,
    N_VALUES
};

struct pair {
    double value[N_VALUES];
    int vote;
};

/* How many measured runs a prediction has. */
enum {
    NO_RUN,
    ONE_RUN,
    THREE_RUNS,
    N_CLASSES
};

/* The runs of one change around a run, three by three. */
struct three {
    double log_sum; /* of what they say of it */
    int n;
};

struct pairs {
    struct pair *list;
    size_t n;
    double *work;
};

static const struct bench_set *the_set;
static struct dn_estimate *estimates;

/* Up to the memory: a100_sxm4_40gb and a100_pcie_80gb are one chip. */
static bool same_chip (const struct bench_run *a, const struct bench_run *b)
{
    const char *one = a->device->name;
    const char *other = b->device->name;
    size_t len = strcspn (one, "_");

    if (a->device->generation != b->device->generation || a->device->sms <= 0)
        return false;
    return a->device->sms == b->device->sms && strncmp (one, other, len + 1) == 0;
}

static bool is_chip (const struct bench_run *run, const char *chip)
{
    return strncmp (run->device->name, chip, strlen (chip)) == 0;
}

static double batch_ratio (const struct bench_run *a, const struct bench_run *b)
{
    return exp (fabs (log ((double) a->spec.batch / (double) b->spec.batch)));
}

/* The rows of the table: what differs, and which of those pairs. */
static bool other_type (const struct bench_run *a, const struct bench_run *b)
{
    return !same_chip (a, b);
}

static bool v100_a100 (const struct bench_run *a, const struct bench_run *b)
{
    return (is_chip (a, "v100") && is_chip (b, "a100"))
           || (is_chip (a, "a100") && is_chip (b, "v100"));
}

static bool near_batch (const struct bench_run *a, const struct bench_run *b)
{
    return a->spec.batch > 0 && b->spec.batch > 0 && batch_ratio (a, b) <= 2;
}

static bool any (const struct bench_run *a, const struct bench_run *b)
{
    return a != b;
}

static bool one_to_several (const struct bench_run *a, const struct bench_run *b)
{
    return a->several != b->several;
}

static const struct kind {
    const char *name;
    enum dn_gap change;
    bool (*is) (const struct bench_run *a, const struct bench_run *b);
} kinds[] = {
    {"another GPU type", DN_GAP_TYPE, other_type},
    {"V100 and A100", DN_GAP_TYPE, v100_a100},
    {"another board of the same chip", DN_GAP_TYPE, same_chip},
    {"a batch up to twice or half as large", DN_GAP_BATCH, near_batch},
    {"any other batch or length", DN_GAP_BATCH, any},
    {"another number of GPUs or nodes", DN_GAP_GPUS, any},
    {"one GPU and several", DN_GAP_GPUS, one_to_several},
    {"another precision", DN_GAP_PRECISION, any},
};

/* --- pairs ------------------------------------------------------------------------ */

static void add_pair (struct pairs *pairs, int b, const struct dn_range *law, int vote)
{
    double measured = the_set->runs[b].step_s;
    double bound = dn_range_at (*law, 0.95);

    if (dn_rows_grow (&pairs->list, (int64_t) pairs->n, sizeof (*pairs->list), NULL) < 0
        || dn_rows_grow (&pairs->work, (int64_t) pairs->n, sizeof (double), NULL) < 0)
        bench_die ("pairs", "out of memory");
    pairs->list[pairs->n++] = (struct pair){
        .value = {[BLIND] = fabs (estimates[b].step_s.p50 / measured - 1),
                  [ERROR] = fabs (law->p50 / measured - 1),
                  [WIDTH] = bound / law->p50,
                  [COVERED] = measured <= bound,
                  [LOG_ERROR] = log (measured / law->p50),
                  [BLIND_LOG] = log (measured / estimates[b].step_s.p50),
                  [CONFIDENCE] = dn_range_within (*law, DN_CONFIDENCE_FACTOR)},
        .vote = vote};
}

static bool is_of_one_code (const struct bench_run *a, const struct bench_run *b)
{
    return a->label[DN_LABEL_SOURCE] == b->label[DN_LABEL_SOURCE]
           && a->label[DN_LABEL_MODEL] == b->label[DN_LABEL_MODEL];
}

/* The first run of that source and network. */
static int first_of (int at)
{
    int first = 0;

    while (!is_of_one_code (&the_set->runs[first], &the_set->runs[at]))
        first++;
    return first;
}

/* Three runs are taken as measured together: the mean of what each says. */
static void judge_three (int b,
                         double p50,
                         int vote,
                         struct three *three,
                         struct pairs *to)
{
    struct dn_range law = {.p50 = -1};

    three->log_sum += log (p50);
    if (++three->n < 3)
        return;
    law.p50 = exp (three->log_sum / 3);
    add_pair (to, b, &law, vote);
    *three = (struct three){0};
}

static void judge (int a, int b, int vote, struct pairs all[], struct three *three)
{
    const struct bench_run *from = &the_set->runs[a];
    const struct bench_run *to = &the_set->runs[b];
    const struct dn_setting measured = {.spec = &from->spec, .estimate = &estimates[a]};
    const struct dn_setting wanted = {.spec = &to->spec, .estimate = &estimates[b]};
    unsigned found = dn_changes_between (&measured, &wanted);
    struct dn_range law;

    if (found == 0 || (found & (found - 1)) != 0 || (found & 1U << DN_GAP_OTHER) != 0)
        return;
    law = dn_translate_step (from->step_s, &measured, &wanted);
    add_pair (&all[DN_N_ELEMENTS (kinds)], b, &law, vote);
    if (law.p50 > 0)
        judge_three (b, law.p50, vote, three, &all[DN_N_ELEMENTS (kinds) + 1]);
    for (size_t i = 0; i < DN_N_ELEMENTS (kinds); i++)
        if (found == 1U << kinds[i].change && kinds[i].is (from, to))
            add_pair (&all[i], b, &law, vote);
}

/* --- figures ---------------------------------------------------------------------- */

static int by_vote (const void *a, const void *b)
{
    const struct pair *x = a;
    const struct pair *y = b;

    return (x->vote > y->vote) - (x->vote < y->vote);
}

static double mean (double *values, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += values[i];
    return sum / n;
}

/* The statistic 'over' votes of that 'within' them; the pairs are sorted by vote. */
static double figure (const struct pairs *pairs,
                      enum value which,
                      double (*within) (double *values, int n),
                      double (*over) (double *values, int n),
                      int *n_votes)
{
    double *votes = malloc ((pairs->n + 1) * sizeof (*votes));
    double result;
    int n = 0;

    if (!votes)
        bench_die ("votes", "out of memory");
    for (size_t i = 0; i < pairs->n;) {
        int of_vote = 0;
        int vote = pairs->list[i].vote;

        for (; i < pairs->n && pairs->list[i].vote == vote; i++)
            pairs->work[of_vote++] = pairs->list[i].value[which];
        votes[n++] = within (pairs->work, of_vote);
    }
    result = over (votes, n);
    *n_votes = n;
    free (votes);
    return result;
}

static void print_row (const struct kind *kind, struct pairs *pairs)
{
    double blind;
    double error;
    double average;
    double covered;
    double width;
    int n;

    if (pairs->n == 0)
        return;
    qsort (pairs->list, pairs->n, sizeof (*pairs->list), by_vote);
    blind = figure (pairs, BLIND, dn_reals_median, dn_reals_median, &n);
    error = figure (pairs, ERROR, dn_reals_median, dn_reals_median, &n);
    average = figure (pairs, ERROR, dn_reals_median, mean, &n);
    covered = figure (pairs, COVERED, mean, mean, &n);
    width = figure (pairs, WIDTH, dn_reals_median, dn_reals_median, &n);
    for (size_t i = 0; i < pairs->n; i++)
        pairs->work[i] = pairs->list[i].value[ERROR];
    printf (
        "| %s | %zu | %d | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.2f |\n",
        kind->name,
        pairs->n,
        n,
        100 * blind,
        100 * error,
        100 * average,
        100 * dn_reals_median (pairs->work, (int) pairs->n),
        100 * covered,
        width);
}

/* All pairs; a source and network has one vote, in all tenths together. */
static void print_reliability (struct pairs *pairs)
{
    struct dn_reliability bins[DN_RELIABILITY_BINS] = {{0}};

    puts ("\n| confidence | pairs | votes | stated | within 1.5 |\n"
          "|---|---:|---:|---:|---:|");
    qsort (pairs->list, pairs->n, sizeof (*pairs->list), by_vote);
    for (size_t i = 0, end = 0; i < pairs->n; i = end) {
        while (end < pairs->n && pairs->list[end].vote == pairs->list[i].vote)
            end++;
        for (size_t p = i; p < end; p++)
            dn_reliability_add (bins,
                                1 / (double) (end - i),
                                pairs->list[p].value[CONFIDENCE],
                                pairs->list[p].value[LOG_ERROR]);
    }
    for (int b = 0; b < DN_RELIABILITY_BINS; b++)
        if (bins[b].n > 0)
            bench_print_bin (&bins[b], b);
}

/* By how many runs of the same code are measured: of 'one' each run counts once for
 * each other one.
 */
static void print_classes (struct pairs *one, struct pairs *three)
{
    static const struct {
        const char *name;
        enum value error;
        enum value log_error;
    } classes[N_CLASSES] = {[NO_RUN] = {"none", BLIND, BLIND_LOG},
                            [ONE_RUN] = {"one", ERROR, LOG_ERROR},
                            [THREE_RUNS] = {"three", ERROR, LOG_ERROR}};

    puts ("\n| measured runs | predictions | votes | median error | mean | bias |\n"
          "|---|---:|---:|---:|---:|---:|");
    qsort (three->list, three->n, sizeof (*three->list), by_vote);
    for (int i = 0; i < N_CLASSES; i++) {
        struct pairs *pairs = i == THREE_RUNS ? three : one;
        int n;
        double median =
            figure (pairs, classes[i].error, dn_reals_median, dn_reals_median, &n);
        double average = figure (pairs, classes[i].error, dn_reals_median, mean, &n);
        double bias = figure (pairs, classes[i].log_error, dn_reals_median, mean, &n);

        printf ("| %s | %zu | %d | %.1f %% | %.1f %% | %+.1f %% |\n",
                classes[i].name,
                pairs->n,
                n,
                100 * median,
                100 * average,
                100 * (exp (-bias) - 1));
    }
}

/* --- estimates -------------------------------------------------------------------- */

static void estimate (const struct dn_constants *constants, int at)
{
    const struct bench_run *run = &the_set->runs[at];

    dn_whitebox (&(struct dn_case){.constants = constants,
                                   .spec = &run->spec,
                                   .graph = &run->graph,
                                   .device = run->device},
                 &estimates[at]);
}

/* By constants that have not seen the family of the run's source. */
static void estimate_unseen (struct bench_set *set)
{
    for (int first = 0; first < set->n_runs; first++) {
        int code = set->runs[first].label[DN_LABEL_CODE];
        struct dn_constants constants;

        if (estimates[first].step_s.p50 > 0)
            continue;
        for (int i = 0; i < set->n_runs; i++)
            set->runs[i].left_out = set->runs[i].label[DN_LABEL_CODE] == code;
        bench_fit (set, 1, &constants);
        for (int i = first; i < set->n_runs; i++)
            if (set->runs[i].label[DN_LABEL_CODE] == code)
                estimate (&constants, i);
    }
}

int main (int argc, char *argv[])
{
    struct pairs all[DN_N_ELEMENTS (kinds) + 2]; /* then of every kind, and of threes */
    struct dn_runs examples = dn_runs_start (DN_RUNS_MAX, 1);
    struct bench_set set;

    memset (all, 0, sizeof (all));
    memset (&set, 0, sizeof (set));
    if (argc < 4)
        bench_die ("usage", "one_run HARDWARE FAMILIES.csv RUNS.csv...");
    bench_read (&set, &examples, argv[1], argv[2], argv + 3);
    bench_weigh (&set);
    the_set = &set;
    estimates = calloc ((size_t) set.n_runs + 1, sizeof (*estimates));
    if (!estimates)
        bench_die ("runs", "out of memory");
    if (argv[2][0] != '\0')
        estimate_unseen (&set);
    for (int i = 0; i < set.n_runs && argv[2][0] == '\0'; i++)
        estimate (&dn_constants_default, i);
    for (int b = 0; b < set.n_runs; b++) {
        struct three three = {0};
        int vote = first_of (b);

        for (int a = 0; a < set.n_runs; a++)
            if (b != a && is_of_one_code (&set.runs[a], &set.runs[b]))
                judge (a, b, vote, all, &three);
    }
    puts ("| the run that is predicted has | pairs | votes | without a run | after one "
          "run | mean | over pairs | within the 95 % bound | bound / likely |\n"
          "|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (size_t i = 0; i < DN_N_ELEMENTS (kinds); i++)
        print_row (&kinds[i], &all[i]);
    print_reliability (&all[DN_N_ELEMENTS (kinds)]);
    print_classes (&all[DN_N_ELEMENTS (kinds)], &all[DN_N_ELEMENTS (kinds) + 1]);
    return 0;
}
