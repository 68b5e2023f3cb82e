/* calibrate_memory.c - fit the constants of GPU memory to measured runs, and judge them
 *
 * usage: calibrate_memory HARDWARE-FOLDER FAMILIES.csv SWEEPS RUNS.csv...
 *
 * The constants are those of context, workspace and slack: least absolute error of ln
 * (measured / predicted), by coordinate descent. Each group of each source has one
 * vote. A run that ran out of memory is censored: its error counts as far as the
 * prediction is below the device's memory.
 *
 * Each family of networks is left out once, and then each pair of one and a family of
 * code: neither rows of that code nor rows of these networks are in the fit. The spread
 * of a kind of networks (enum dn_memory_kind) is that of the errors that the votes of
 * other families have when they are left out, at least the least spread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "learn/families.h"
#include "learn/run_spec.h"
#include "predict/stages.h"

/* Rows of a group and source that the fit uses, evenly chosen. */
#define ROWS_OF_VOTE 24

/* The least spread that is stated, and that of a kind without enough votes: factors of
 * 1.3 and 2.5 between median and 95 %.
 */
#define LEAST_SPREAD   0.16
#define UNKNOWN_SPREAD 0.557
#define VOTES_MIN      4

/* Where 95 % of a normal law are below. */
#define SCORE_95 1.645

struct run {
    struct dn_run_case at;
    enum dn_memory_count count;
    enum dn_memory_kind kind;
    int vote; /* its source and group */
    int code; /* its families */
    int family;
    double measured; /* bytes; 0: not measured */
    bool oom;
    bool fitted;
    double weight;
    double left_out;  /* ln (measured / predicted) when it is left out ... */
    double predicted; /* ... and the prediction, all of the device's memory */
};

struct names {
    char (*names)[2 * DN_NAME_MAX];
    int n;
};

struct set {
    struct dn_catalogue catalogue;
    struct dn_families families;
    struct run *runs;
    int n;
    int size;
    struct names votes;
    struct names codes;
    struct names networks;
};

static int number_of (struct names *names, const char *name)
{
    for (int i = 0; i < names->n; i++)
        if (strcmp (names->names[i], name) == 0)
            return i;
    names->names =
        realloc (names->names, (size_t) (names->n + 1) * sizeof (*names->names));
    if (!names->names)
        bench_die ("rows", "out of memory");
    snprintf (names->names[names->n], sizeof (*names->names), "%s", name);
    return names->n++;
}

static int add_run (const struct dn_row *row, void *context, struct dn_err *err)
{
    static const struct dn_datasets no_datasets;
    struct set *set = context;
    struct dn_err why = {0};
    char vote[2 * DN_NAME_MAX];
    struct run run = {.code = 0};
    const struct dn_run *read = &run.at.run;

    (void) err;
    if (dn_run_case_read (
            row, DN_RUN_JUDGE, &set->catalogue, &no_datasets, &run.at, &why)
        < 0) {
        dn_run_case_free (&run.at);
        return 0;
    }
    run.oom = read->oom == 1;
    run.measured = run.oom ? 0 : dn_run_known (read->peak_mem_gb) * DN_GIB;
    if (run.measured <= 0 && read->oom == DN_UNSET) {
        dn_run_case_free (&run.at);
        return 0;
    }
    run.count = dn_run_memory_count (read);
    snprintf (vote, sizeof (vote), "%s %s", read->source, read->group);
    run.vote = number_of (&set->votes, vote);
    run.code =
        number_of (&set->codes, dn_family_of (&set->families, "source", read->source));
    run.family =
        number_of (&set->networks, dn_family_of (&set->families, "group", read->group));
    if (set->n == set->size) {
        set->size = set->size > 0 ? 2 * set->size : 1024;
        set->runs = realloc (set->runs, (size_t) set->size * sizeof (*set->runs));
        if (!set->runs)
            bench_die ("rows", "out of memory");
    }
    set->runs[set->n++] = run;
    return 0;
}

/* Choose the rows of the fit, and share one vote among them. */
static void weigh (struct set *set)
{
    for (int v = 0; v < set->votes.n; v++) {
        int n = 0;
        int seen = 0;

        for (int i = 0; i < set->n; i++)
            n += set->runs[i].vote == v;
        for (int i = 0; i < set->n; i++) {
            struct run *run = &set->runs[i];
            int step = (n + ROWS_OF_VOTE - 1) / ROWS_OF_VOTE;

            if (run->vote != v)
                continue;
            run->fitted = seen++ % step == 0;
            run->weight = 1.0 / ((n + step - 1) / step);
        }
    }
}

static void predict (const struct dn_constants *constants,
                     struct run *run,
                     struct dn_estimate *estimate)
{
    const struct dn_case c = {
        constants, &run->at.spec, &run->at.graph, run->at.device, 0};
    struct dn_setup setup;

    memset (estimate, 0, sizeof (*estimate));
    estimate->device = run->at.device;
    dn_setup_init (&setup, &c);
    dn_whitebox_memory (&setup, estimate);
    run->kind = estimate->memory_kind;
    run->predicted = estimate->gpu_mem.p50;
}

/* ln (measured / predicted), as the run counts its memory. Of a run that did not fit
 * only a lower limit is known, and NaN of one that did and was not measured.
 */
static double error_of (const struct dn_constants *constants, struct run *run)
{
    struct dn_estimate estimate;

    predict (constants, run, &estimate);
    if (run->measured > 0)
        return log (run->measured / dn_estimate_memory (&estimate, run->count).p50);
    return run->oom ? fmax (log (run->at.device->memory / run->predicted), 0) : NAN;
}

static bool is_held_out (const struct run *run, int code, int family)
{
    return (code >= 0 && run->code == code) || run->family == family;
}

static double loss_of (const struct set *set,
                       const struct dn_constants *constants,
                       int code,
                       int family)
{
    double sum = 0;

    for (int i = 0; i < set->n; i++) {
        struct run *run = &set->runs[i];
        double error;

        if (!run->fitted || is_held_out (run, code, family))
            continue;
        error = error_of (constants, run);
        if (!isnan (error))
            sum += run->weight * fabs (error);
    }
    return sum;
}

static const struct {
    const char *name;
    size_t offset;
    double min;
    double max;
} knobs[] = {
    {"context_bytes", offsetof (struct dn_constants, context_bytes), 2e8, 3e9},
    {"context_conv", offsetof (struct dn_constants, context_conv), 1e7, 2e9},
    {"workspace", offsetof (struct dn_constants, workspace), 0.1, 8},
    {"slack", offsetof (struct dn_constants, slack), 0.002, 0.2},
};

#define N_KNOBS ((int) DN_N_ELEMENTS (knobs))

static double *knob (struct dn_constants *constants, int i)
{
    return (double *) (void *) ((char *) constants + knobs[i].offset);
}

static void fit (const struct set *set,
                 int sweeps,
                 int code,
                 int family,
                 struct dn_constants *constants)
{
    double least = loss_of (set, constants, code, family);

    for (int s = 0; s < sweeps; s++) {
        double step = s == 0 ? 1.6 : s == 1 ? 1.25 : 1.1;

        for (int i = 0; i < N_KNOBS; i++) {
            for (int way = 0; way < 2; way++)
                for (int n = 0; n < 4; n++) {
                    struct dn_constants other = *constants;
                    double *value = knob (&other, i);
                    double loss;

                    *value *= way == 0 ? step : 1 / step;
                    *value = fmin (fmax (*value, knobs[i].min), knobs[i].max);
                    loss = loss_of (set, &other, code, family);
                    if (loss >= least - 1e-9)
                        break;
                    least = loss;
                    *constants = other;
                }
        }
    }
}

/* Student's 95 % quantile by degrees of freedom, over the normal one (Cornish-Fisher,
 * two terms).
 */
static double student (double freedom)
{
    double z = SCORE_95;
    double first = (z * z * z + z) / (4 * freedom);
    double second =
        (5 * pow (z, 5) + 16 * z * z * z + 3 * z) / (96 * freedom * freedom);

    return (z + first + second) / z;
}

struct weighted {
    double error;
    double weight;
};

static int by_error (const void *a, const void *b)
{
    const struct weighted *x = a;
    const struct weighted *y = b;

    return (x->error > y->error) - (x->error < y->error);
}

/* Left-out errors of the rows of a kind, each vote's weights adding up to 1, and the
 * error that nine tenths of a vote's rows are below. Rows of a family of code and one
 * of networks are not in it (-1: all are).
 */
struct errors {
    struct weighted *rows;
    int n_rows;
    double *votes;
    int n_votes;
};

static void collect (const struct set *set,
                     enum dn_memory_kind kind,
                     int code,
                     int family,
                     struct errors *errors)
{
    for (int v = 0; v < set->votes.n; v++) {
        struct weighted *first = errors->rows + errors->n_rows;
        int n = 0;

        for (int i = 0; i < set->n; i++) {
            const struct run *run = &set->runs[i];

            if (run->vote == v && run->kind == kind && !isnan (run->left_out)
                && (family < 0 || !is_held_out (run, code, family)))
                first[n++].error = run->left_out;
        }
        if (n == 0)
            continue;
        for (int i = 0; i < n; i++)
            first[i].weight = 1.0 / n;
        qsort (first, (size_t) n, sizeof (*first), by_error);
        errors->votes[errors->n_votes++] = first[(int) ceil (0.9 * n) - 1].error;
        errors->n_rows += n;
    }
    qsort (errors->rows, (size_t) errors->n_rows, sizeof (*errors->rows), by_error);
    qsort (errors->votes,
           (size_t) errors->n_votes,
           sizeof (*errors->votes),
           bench_compare);
}

/* The spread of a kind: 95 % of the rows are below the bound, one vote for each group
 * of a source, and so are nine tenths of the rows of nine tenths of the groups; times
 * Student's factor.
 */
static double spread_of (const struct set *set,
                         enum dn_memory_kind kind,
                         int code,
                         int family)
{
    struct errors errors = {calloc ((size_t) set->n + 1, sizeof (struct weighted)),
                            0,
                            calloc ((size_t) set->votes.n + 1, sizeof (double)),
                            0};
    double spread = UNKNOWN_SPREAD;
    double below = 0;
    double bound = 0;

    if (!errors.rows || !errors.votes)
        bench_die ("spread", "out of memory");
    collect (set, kind, code, family, &errors);
    if (errors.n_votes >= VOTES_MIN) {
        int at = (int) fmin (ceil (0.9 * (errors.n_votes + 1)), errors.n_votes) - 1;

        for (int i = 0; i < errors.n_rows && below < 0.95 * (errors.n_votes + 1); i++) {
            below += errors.rows[i].weight;
            bound = errors.rows[i].error;
        }
        bound = fmax (bound, errors.votes[at]);
        spread = fmax (bound / SCORE_95 * student (errors.n_votes - 1), LEAST_SPREAD);
    }
    free (errors.rows);
    free (errors.votes);
    return fmin (spread, UNKNOWN_SPREAD);
}

/* Fit the constants without the family of code (-1: with all) and that of networks, and
 * predict the rows that are both.
 */
static void leave_out_pair (struct set *set, int sweeps, int code, int family)
{
    struct dn_constants constants = dn_constants_default;
    bool any = false;

    for (int i = 0; i < set->n; i++)
        any = any
              || ((code < 0 || set->runs[i].code == code)
                  && set->runs[i].family == family);
    if (!any)
        return;
    fit (set, sweeps, code, family, &constants);
    for (int i = 0; i < set->n; i++) {
        struct run *run = &set->runs[i];

        if ((code < 0 || run->code == code) && run->family == family)
            run->left_out = error_of (&constants, run);
    }
}

static void leave_out (struct set *set, int sweeps, bool code)
{
    for (int family = 0; family < set->networks.n; family++) {
        if (!code)
            leave_out_pair (set, sweeps, -1, family);
        for (int c = 0; code && c < set->codes.n; c++)
            leave_out_pair (set, sweeps, c, family);
    }
}

/* Figures of one kind, or of all. */
struct figures {
    int n;
    int n_votes;
    double mean;
    double median;
    double by_vote;       /* mean over votes of the median */
    double covered;       /* rows below their 95 % bound */
    double covered_votes; /* mean over votes of that share */
};

static struct figures judge (const struct set *set, int kind, const double *bounds)
{
    double *errors = calloc ((size_t) set->n + 1, sizeof (*errors));
    double *vote = calloc ((size_t) set->n + 1, sizeof (*vote));
    struct figures f = {.n = 0};

    if (!errors || !vote)
        bench_die ("figures", "out of memory");
    for (int v = 0; v < set->votes.n; v++) {
        int n = 0;
        int covered = 0;

        for (int i = 0; i < set->n; i++) {
            const struct run *run = &set->runs[i];

            if (run->vote != v || run->measured <= 0
                || (kind >= 0 && (int) run->kind != kind))
                continue;
            vote[n] = fabs (expm1 (-run->left_out));
            covered += run->left_out <= SCORE_95 * bounds[i];
            f.mean += vote[n];
            errors[f.n++] = vote[n++];
        }
        if (n == 0)
            continue;
        f.covered += covered;
        f.covered_votes += (double) covered / n;
        f.by_vote += bench_median (vote, n);
        f.n_votes++;
    }
    if (f.n > 0) {
        f.mean /= f.n;
        f.covered /= f.n;
        f.covered_votes /= f.n_votes;
        f.by_vote /= f.n_votes;
        f.median = bench_median (errors, f.n);
    }
    free (errors);
    free (vote);
    return f;
}

static void print_kind (const struct set *set, int kind, const double *bounds)
{
    struct figures f = judge (set, kind, bounds);

    printf ("| %s | %d | %d |",
            kind < 0 ? "all" : dn_names_get (&dn_memory_kind_names, kind),
            f.n,
            f.n_votes);
    if (f.n == 0)
        printf (" | | | | | |");
    else
        printf (" %.1f | %.1f | %.1f | %.1f | %.1f |",
                100 * f.median,
                100 * f.mean,
                100 * f.by_vote,
                100 * f.covered,
                100 * f.covered_votes);
    if (kind >= 0)
        printf (" %.2f |\n",
                exp (SCORE_95 * spread_of (set, (enum dn_memory_kind) kind, -1, -1)));
    else
        printf (" |\n");
}

/* Which runs are said to fit: by the median alone, and when the bound fits, too. */
static void print_fits (const struct set *set, const double *bounds)
{
    int n[2] = {0, 0};
    int median[2] = {0, 0};
    int sure[2] = {0, 0};

    for (int i = 0; i < set->n; i++) {
        const struct run *run = &set->runs[i];
        double room = run->at.device->memory;

        n[run->oom]++;
        median[run->oom] += run->predicted <= room;
        sure[run->oom] += run->predicted * exp (SCORE_95 * bounds[i]) <= room;
    }
    printf ("\n| runs | | median fits | bound fits |\n|---|---:|---:|---:|\n");
    for (int oom = 0; oom < 2; oom++)
        printf ("| %s | %d | %d | %d |\n",
                oom ? "ran out of memory" : "ran",
                n[oom],
                median[oom],
                sure[oom]);
}

/* Judge all rows, left out by networks, or by networks and code. */
static void print_left_out (struct set *set, int sweeps, bool code)
{
    double *bounds = calloc ((size_t) set->n + 1, sizeof (*bounds));

    if (!bounds)
        bench_die ("bounds", "out of memory");
    leave_out (set, sweeps, code);
    for (int i = 0; i < set->n; i++)
        bounds[i] = spread_of (
            set, set->runs[i].kind, code ? set->runs[i].code : -1, set->runs[i].family);
    printf (
        "%s left out:\n\n"
        "| kind | rows | votes | median %% | mean %% | by vote %% | below p95 %% "
        "| by vote %% | p95 / p50 |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        code ? "Networks and code" : "Networks");
    for (int kind = 0; kind < DN_N_MEMORY_KINDS; kind++)
        print_kind (set, kind, bounds);
    print_kind (set, -1, bounds);
    print_fits (set, bounds);
    printf ("\n");
    free (bounds);
}

int main (int argc, char *argv[])
{
    struct dn_constants constants = dn_constants_default;
    struct set set;
    int sweeps;

    memset (&set, 0, sizeof (set));
    if (argc < 5)
        bench_die ("usage",
                   "calibrate_memory HARDWARE FAMILIES.csv SWEEPS RUNS.csv...");
    sweeps = (int) strtol (argv[3], NULL, 10);
    bench_read_catalogue (argv[1], &set.catalogue);
    bench_read_table (argv[2], dn_families_add, &set.families);
    for (int i = 4; i < argc; i++)
        bench_read_table (argv[i], add_run, &set);
    weigh (&set);
    print_left_out (&set, sweeps, false);
    print_left_out (&set, sweeps, true);
    fit (&set, sweeps, -1, -1, &constants);
    for (int i = 0; i < N_KNOBS; i++)
        printf ("    .%s = %.4g,\n", knobs[i].name, *knob (&constants, i));
    return 0;
}
