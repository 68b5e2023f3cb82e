/* scores_plot.c - predictions against measured runs as a picture
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "scores_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/runs.h"

/* Colour of all groups after the last that has its own. */
#define GREY 0xBBBBBB

/* Maximum number of bars, for legibility: the groups with the lowest coverage. */
#define BARS_MAX 30

#define LABEL_LEN 28

/* Colours that colour-blind readers can distinguish: Paul Tol's "muted" scheme, two of
 * his "vibrant" scheme, and black. The largest group has the first.
 */
static const unsigned colours[] = {0x332288,
                                   0xCC6677,
                                   0x117733,
                                   0x88CCEE,
                                   0xDDCC77,
                                   0xAA4499,
                                   0x44AA99,
                                   0x882255,
                                   0x999933,
                                   0xEE7733,
                                   0x0077BB,
                                   0x000000};

#define N_COLOURS ((int) DN_N_ELEMENTS (colours))

static const char *const units[DN_N_METRICS] = {"ms", "GiB", "W"};

struct dn_plot_point {
    float measured; /* in the units of the table */
    float predicted;
    int16_t groups[DN_N_GROUPINGS]; /* index in the score; -1: of none */
};

/* A group as it is drawn. */
struct bar {
    const struct dn_pairs *pairs;
    int rank; /* by size, from 0 */
    double coverage;
};

/* All groups. */
struct ranking {
    int ranks[DN_GROUPS_MAX + 1];       /* by index in the score */
    struct bar bars[DN_GROUPS_MAX + 1]; /* by rank, until they are sorted */
    int n;
};

int dn_scores_plot_open (struct dn_scores_plot *picture,
                         const char *path,
                         struct dn_err *err)
{
    *picture = (struct dn_scores_plot){.metric = DN_N_METRICS};
    return dn_plot_open (&picture->plot, path, 1300, 640, err);
}

static struct dn_plot_point point_of (const struct dn_evaluation *evaluation,
                                      const struct dn_row_result *result,
                                      int metric)
{
    const struct dn_estimate *estimate = &result->estimate;
    const double predicted[DN_N_METRICS] = {
        estimate->step_s.p50 * 1000, result->memory.p50 / DN_GIB, estimate->power_w};
    struct dn_plot_point point = {
        .measured = (float) result->measured[metric],
        .predicted = (float) predicted[metric],
    };

    for (int g = 0; g < DN_N_GROUPINGS; g++)
        point.groups[g] =
            (int16_t) (result->grouped[g] ? evaluation->scores[metric][g].last : -1);
    return point;
}

/* Room for one more point. */
static bool grow (struct dn_scores_plot *picture)
{
    size_t size = picture->size > 0 ? 2 * picture->size : 256;
    struct dn_plot_point *grown;

    if (picture->n < picture->size || picture->n == DN_PLOT_POINTS_MAX)
        return true;
    if (size > DN_PLOT_POINTS_MAX)
        size = DN_PLOT_POINTS_MAX;
    grown = realloc (picture->points, size * sizeof (*grown));
    if (!grown)
        return false;
    picture->points = grown;
    picture->size = size;
    return true;
}

int dn_scores_plot_add (struct dn_scores_plot *picture,
                        const struct dn_evaluation *evaluation,
                        const struct dn_row_result *result,
                        struct dn_err *err)
{
    int metric = 0;
    size_t at;

    while (metric < picture->metric && metric < DN_N_METRICS
           && !(result->predicted && result->measured[metric] > 0))
        metric++;
    if (metric == DN_N_METRICS || !result->predicted || result->measured[metric] <= 0)
        return 0;
    if (metric < picture->metric) {
        picture->metric = metric;
        picture->n = 0;
        picture->n_seen = 0;
    }
    if (!grow (picture))
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    /* Once it is full, every run seen has the same chance (Vitter's algorithm R). */
    at = picture->n;
    picture->n_seen++;
    if (at < DN_PLOT_POINTS_MAX)
        picture->n++;
    else
        at = (size_t) (dn_random (&picture->random) % picture->n_seen);
    if (at < DN_PLOT_POINTS_MAX)
        picture->points[at] = point_of (evaluation, result, metric);
    return 0;
}

/* Largest first; groups of equal size in the order of the table. */
static int by_size (const void *a, const void *b)
{
    const struct bar *x = a;
    const struct bar *y = b;

    if (x->pairs->n != y->pairs->n)
        return x->pairs->n > y->pairs->n ? -1 : 1;
    return (x->pairs > y->pairs) - (x->pairs < y->pairs);
}

/* Worst first. */
static int by_coverage (const void *a, const void *b)
{
    const struct bar *x = a;
    const struct bar *y = b;

    if (x->coverage != y->coverage)
        return x->coverage < y->coverage ? -1 : 1;
    return x->rank - y->rank;
}

/* A group without a bound comes after all others, and has no bar. */
static double coverage_of (const struct dn_coverage *bound)
{
    return bound->n > 0 ? (double) bound->n_covered / (double) bound->n : INFINITY;
}

/* Largest first. */
static void rank_groups (struct dn_score *score, struct ranking *ranking)
{
    ranking->n = score->n_groups;
    for (int i = 0; i < ranking->n; i++)
        ranking->bars[i] = (struct bar){
            .pairs = &score->groups[i],
            .coverage = coverage_of (&score->groups[i].bounds[DN_BOUND_P95]),
        };
    qsort (ranking->bars, (size_t) ranking->n, sizeof (ranking->bars[0]), by_size);
    for (int i = 0; i < ranking->n; i++) {
        ranking->bars[i].rank = i;
        ranking->ranks[ranking->bars[i].pairs - score->groups] = i;
    }
}

static unsigned colour_of (int rank)
{
    return rank < N_COLOURS ? colours[rank] : GREY;
}

/* Write the name of a group and its size as a string. */
static void write_name (struct dn_plot *plot, const char *name, size_t n)
{
    char text[DN_NAME_MAX + 32];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_buf_add (&buf,
                "%.*s%s (%zu)",
                LABEL_LEN,
                name,
                strlen (name) > LABEL_LEN ? "..." : "",
                n);
    dn_plot_text (plot, text);
}

/* Write the points of each colour as a data block; the last block is of all other
 * groups. Return a bit for each block that has points.
 */
static unsigned write_points (const struct dn_scores_plot *picture,
                              const struct ranking *ranking,
                              int grouping)
{
    FILE *script = picture->plot.script;
    unsigned filled = 0;

    for (int c = 0; c <= N_COLOURS; c++) {
        fprintf (script, "$points%d << END\n", c);
        for (size_t i = 0; i < picture->n; i++) {
            const struct dn_plot_point *point = &picture->points[i];
            int group = point->groups[grouping];
            int rank = group >= 0 ? ranking->ranks[group] : N_COLOURS;

            if (c != (rank < N_COLOURS ? rank : N_COLOURS))
                continue;
            fprintf (script,
                     "%.6g %.6g\n",
                     (double) point->measured,
                     (double) point->predicted);
            filled |= 1U << c;
        }
        fputs ("END\n", script);
    }
    return filled;
}

/* Both axes have the same range, so that the line y = x is the diagonal. */
static void write_ranges (const struct dn_scores_plot *picture)
{
    float low = INFINITY;
    float high = 0;

    for (size_t i = 0; i < picture->n; i++) {
        const struct dn_plot_point *point = &picture->points[i];

        low = fminf (low, fminf (point->measured, point->predicted));
        high = fmaxf (high, fmaxf (point->measured, point->predicted));
    }
    fprintf (picture->plot.script,
             "set logscale xy\nset xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n",
             (double) low / 2,
             (double) high * 2,
             (double) low / 2,
             (double) high * 2);
}

static void plot_points (struct dn_scores_plot *picture,
                         const struct ranking *ranking,
                         int grouping)
{
    struct dn_plot *plot = &picture->plot;
    unsigned filled = write_points (picture, ranking, grouping);

    write_ranges (picture);
    fprintf (plot->script,
             "set title 'Predicted against measured'\n"
             "set xlabel 'measured, %s'\nset ylabel 'predicted, %s'\n",
             units[picture->metric],
             units[picture->metric]);
    fputs ("plot x with lines lc rgb 'black' title 'as predicted',"
           " 2*x with lines dt 2 lc rgb 'black' title 'twice, half',"
           " x/2 with lines dt 2 lc rgb 'black' notitle",
           plot->script);
    /* The other groups are drawn first, so that they do not hide coloured points. */
    if (filled & 1U << N_COLOURS)
        fprintf (plot->script,
                 ", $points%d with points pt 7 ps 0.4 lc rgb '#%06X' title 'others'",
                 N_COLOURS,
                 GREY);
    for (int i = 0; i < ranking->n && i < N_COLOURS; i++) {
        const struct dn_pairs *pairs = ranking->bars[i].pairs;

        if (!(filled & 1U << i))
            continue;
        fprintf (plot->script,
                 ", $points%d with points pt 7 ps 0.4 lc rgb '#%06X' title ",
                 i,
                 colours[i]);
        write_name (plot, pairs->name, pairs->n);
    }
    fputs ("\nunset logscale\n", plot->script);
}

static void write_bar (struct dn_plot *plot,
                       const char *name,
                       const struct dn_coverage *bound,
                       unsigned colour)
{
    fprintf (plot->script, "%.6g %u ", coverage_of (bound), colour);
    write_name (plot, name, bound->n);
    fputc ('\n', plot->script);
}

/* Names are labels next to the bars, because names on an axis would be read as formats.
 * Sorts the bars. */
static void plot_coverage (struct dn_plot *plot,
                           struct ranking *ranking,
                           const struct dn_pairs *all,
                           const char *by)
{
    int n = ranking->n < BARS_MAX ? ranking->n : BARS_MAX;

    qsort (ranking->bars, (size_t) ranking->n, sizeof (ranking->bars[0]), by_coverage);
    fputs ("$bars << END\n", plot->script);
    write_bar (plot, "all", &all->bounds[DN_BOUND_P95], 0x555555);
    for (int i = 0; i < n; i++)
        write_bar (plot,
                   ranking->bars[i].pairs->name,
                   &ranking->bars[i].pairs->bounds[DN_BOUND_P95],
                   colour_of (ranking->bars[i].rank));
    fprintf (plot->script, "END\nset title 'Below the 95 %% bound, by %s", by);
    if (n < ranking->n)
        fprintf (plot->script, " (%d worst of %d)", n, ranking->n);
    fprintf (plot->script,
             "' offset 0,0.5\nset yrange [%d.6:-0.6]\nunset ytics\nunset key\n",
             n);
    fputs ("set size nosquare\nset lmargin 34\nset rmargin 4\nset ylabel ''\n"
           "set xlabel 'share of runs'\nset xrange [0:1]\n"
           "set style fill solid noborder\n"
           "set arrow from 0.95, graph 0 to 0.95, graph 1 nohead front dt 2"
           " lc rgb 'black'\n"
           "set label '0.95' at 0.95, graph 1 center offset 0,0.5 front\n",
           plot->script);
    fputs ("plot $bars using (0):0:(0):1:($0-0.4):($0+0.4):2 with boxxyerror"
           " lc rgb variable,"
           " $bars using (0):0:3 with labels right offset -1,0\n",
           plot->script);
}

static void write_title (struct dn_scores_plot *picture,
                         const struct dn_evaluation *evaluation,
                         bool bounds)
{
    char text[256];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_buf_add (&buf,
                "%s: %zu of %lld rows",
                dn_names_get (&dn_metric_names, picture->metric),
                picture->n_seen,
                (long long) evaluation->n_rows);
    if (picture->n < picture->n_seen)
        dn_buf_add (&buf, ", a sample of %zu drawn", picture->n);
    fprintf (picture->plot.script, "set multiplot layout 1,%d title ", bounds ? 2 : 1);
    dn_plot_text (&picture->plot, text);
    fputs ("\nset grid lc rgb '#DDDDDD'\nset tics nomirror scale 0.5\nset border 3\n"
           "set size square\nset format xy '%g'\n"
           "set key bottom right samplen 1 spacing 1.1 font ',9'\n",
           picture->plot.script);
}

int dn_scores_plot_finish (struct dn_scores_plot *picture,
                           struct dn_evaluation *evaluation,
                           enum dn_grouping grouping,
                           struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) struct ranking *ranking = calloc (1, sizeof (*ranking));
    const struct dn_pairs *all;
    struct dn_score *scores;

    if (!ranking)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (picture->n == 0)
        return 0;
    scores = evaluation->scores[picture->metric];
    if (grouping == DN_BY_ALL)
        grouping = scores[DN_BY_GROUP].n_groups > 0 ? DN_BY_GROUP : DN_BY_MODEL;
    all = &scores[DN_BY_ALL].groups[0];
    rank_groups (&scores[grouping], ranking);
    write_title (picture, evaluation, all->bounds[DN_BOUND_P95].n > 0);
    plot_points (picture, ranking, (int) grouping);
    if (all->bounds[DN_BOUND_P95].n > 0)
        plot_coverage (&picture->plot,
                       ranking,
                       all,
                       dn_names_get (&dn_grouping_names, (int) grouping));
    fputs ("unset multiplot\n", picture->plot.script);
    return dn_plot_finish (&picture->plot, err);
}

void dn_scores_plot_free (struct dn_scores_plot *picture)
{
    if (!picture)
        return;
    dn_plot_free (&picture->plot);
    free (picture->points);
    picture->points = NULL;
}
