/* chart.c - charts of a report inside a page
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "report/chart.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "common.h"
#include "output/show.h"
#include "report/page.h"
#include "report/report.h"

/* Of a chart, in its own units, and its margins: labels fit into them at the size that
 * they have on a phone.
 */
#define WIDTH  540.0
#define HEIGHT 300.0
#define LEFT   74.0
#define RIGHT  30.0
#define TOP    18.0
#define BOTTOM 46.0
#define SPAN_X (WIDTH - LEFT - RIGHT)
#define SPAN_Y (HEIGHT - TOP - BOTTOM)

static void begin (FILE *file, const char *what, double height)
{
    fprintf (file,
             "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n",
             WIDTH,
             height,
             what);
}

static void write_line (FILE *file,
                        const char *style,
                        double x1,
                        double y1,
                        double x2,
                        double y2)
{
    fprintf (file,
             "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
             style,
             x1,
             y1,
             x2,
             y2);
}

static void write_label (FILE *file,
                         const char *anchor,
                         double x,
                         double y,
                         const char *text)
{
    fprintf (file,
             "<text class=\"tick\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">",
             anchor,
             x,
             y);
    dn_html_text (file, text);
    fputs ("</text>\n", file);
}

static void write_nothing (FILE *file, const char *text)
{
    write_label (file, "middle", WIDTH / 2, HEIGHT / 2, text);
    fputs ("</svg>\n", file);
}

/* --- predicted against measured --------------------------------------------------- */

/* The range of both axes, logarithms to base e of seconds. */
struct range {
    double low;
    double high;
};

static double across (const struct range *range, double value)
{
    return LEFT + SPAN_X * (log (value) - range->low) / (range->high - range->low);
}

static double up (const struct range *range, double value)
{
    return TOP + SPAN_Y * (1 - (log (value) - range->low) / (range->high - range->low));
}

static struct range range_of (const struct dn_sums *sums)
{
    struct range range = {log (60), log (7200)};

    for (int i = 0; i < sums->n_points; i++) {
        double x = log ((double) sums->points[i].measured_s);
        double y = log ((double) sums->points[i].predicted_s);

        range.low = fmin (range.low, fmin (x, y));
        range.high = fmax (range.high, fmax (x, y));
    }
    range.low -= 0.2;
    range.high += 0.2;
    return range;
}

static void write_time_axes (FILE *file, const struct range *range)
{
    static const struct {
        double seconds;
        const char *name;
    } ticks[] = {{1, "1 s"},
                 {10, "10 s"},
                 {60, "1 min"},
                 {600, "10 min"},
                 {3600, "1 h"},
                 {6 * 3600, "6 h"},
                 {86400, "1 d"},
                 {7 * 86400, "7 d"},
                 {30 * 86400, "30 d"}};

    for (size_t i = 0; i < DN_N_ELEMENTS (ticks); i++) {
        double x = across (range, ticks[i].seconds);
        double y = up (range, ticks[i].seconds);

        if (log (ticks[i].seconds) < range->low || log (ticks[i].seconds) > range->high)
            continue;
        write_line (file, "grid", x, TOP, x, TOP + SPAN_Y);
        write_line (file, "grid", LEFT, y, LEFT + SPAN_X, y);
        write_label (file, "middle", x, TOP + SPAN_Y + 24, ticks[i].name);
        write_label (file, "end", LEFT - 8, y + 5, ticks[i].name);
    }
    write_label (file, "end", LEFT + SPAN_X, TOP + SPAN_Y - 8, "measured");
    write_label (file, "start", LEFT + 6, TOP + 14, "predicted");
}

void dn_chart_points (FILE *file, const struct dn_sums *sums)
{
    struct range range = range_of (sums);
    double low = exp (range.low);
    double high = exp (range.high);

    begin (file, "predicted against measured run times", HEIGHT);
    if (sums->n_points == 0) {
        write_nothing (file, "no job with a prediction has ended");
        return;
    }
    write_time_axes (file, &range);
    write_line (file,
                "even",
                across (&range, low),
                up (&range, low),
                across (&range, high),
                up (&range, high));
    for (int i = 0; i < sums->n_points; i++) {
        const struct dn_point *point = &sums->points[i];

        fputs ("<a href=\"#ran-", file);
        dn_html_anchor (file, point->job);
        fprintf (file,
                 "\"><circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/></a>\n",
                 point->known ? "known" : "new",
                 across (&range, (double) point->measured_s),
                 up (&range, (double) point->predicted_s));
    }
    fputs ("</svg>\n", file);
}

/* --- by week ---------------------------------------------------------------------- */

/* The middle of a week, by its place in time. */
static double week_x (const struct dn_sums *sums, int i)
{
    int64_t first = sums->weeks[0].start_s;
    int64_t last = sums->weeks[sums->n_weeks - 1].start_s;
    double share = (double) (sums->weeks[i].start_s - first + 302400)
                   / (double) (last - first + 604800);

    return LEFT + SPAN_X * share;
}

static double week_width (const struct dn_sums *sums)
{
    int64_t first = sums->weeks[0].start_s;
    int64_t last = sums->weeks[sums->n_weeks - 1].start_s;

    return fmin (60, SPAN_X * 604800 / (double) (last - first + 604800));
}

struct dn_when_text dn_chart_week (const struct dn_week *week)
{
    return dn_when_day (week->start_s + 43200);
}

/* "5 Jan" */
static void write_date (FILE *file, double x, int64_t at_s)
{
    time_t at = (time_t) at_s + 43200;
    struct tm tm;
    char text[16];

    if (localtime_r (&at, &tm) && strftime (text, sizeof (text), "%e %b", &tm) > 0)
        write_label (file, "middle", x, TOP + SPAN_Y + 26, text);
}

/* Some six dates, not too near to each other. */
static void write_weeks (FILE *file, const struct dn_sums *sums)
{
    double last = -WIDTH;

    for (int i = 0; i < sums->n_weeks; i++) {
        double x = week_x (sums, i);

        if (x - last < SPAN_X / 6.5)
            continue;
        write_date (file, x, sums->weeks[i].start_s);
        last = x;
    }
}

static void begin_week (FILE *file, const char *what, const struct dn_week *week)
{
    fprintf (file, "<a href=\"#%s-%s\">", what, dn_chart_week (week).text);
}

static double covered_y (int64_t within, int64_t n)
{
    double share = (double) within / (double) n;

    return TOP + SPAN_Y * (1 - fmax (0, share - 0.5) / 0.5);
}

static void write_coverage (FILE *file, const struct dn_sums *sums, bool bound)
{
    bool begun = false;

    for (int i = 0; i < sums->n_weeks; i++) {
        const struct dn_week *week = &sums->weeks[i];
        int64_t n = bound ? week->n_bound : week->n_p95;
        int64_t within = bound ? week->within_bound : week->within_p95;

        if (n == 0)
            continue;
        if (!begun)
            fprintf (
                file, "<path class=\"%s\" d=\"", bound ? "line bound" : "line p95");
        fprintf (file,
                 "%c%.1f %.1f",
                 begun ? 'L' : 'M',
                 week_x (sums, i),
                 covered_y (within, n));
        begun = true;
    }
    if (begun)
        fputs ("\"/>\n", file);
}

static void write_coverage_points (FILE *file, const struct dn_sums *sums)
{
    for (int i = 0; i < sums->n_weeks; i++) {
        const struct dn_week *week = &sums->weeks[i];

        if (week->n_p95 == 0)
            continue;
        begin_week (file, week->beyond.n > 0 ? "beyond" : "week", week);
        fprintf (file,
                 "<circle class=\"p95\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/></a>\n",
                 week_x (sums, i),
                 covered_y (week->within_p95, week->n_p95));
    }
}

void dn_chart_coverage (FILE *file, const struct dn_sums *sums)
{
    begin (file, "share of jobs within the predicted quantiles", HEIGHT);
    if (sums->judged[DN_SUMS_OF_ALL].n_p95 == 0) {
        write_nothing (file, "no job with a prediction has ended");
        return;
    }
    for (int percent = 50; percent <= 100; percent += 10) {
        double y = covered_y (percent, 100);
        char text[16];
        struct dn_buf buf = dn_buf_on (text, sizeof (text));

        dn_buf_add (&buf, "%d %%", percent);
        write_line (file, "grid", LEFT, y, LEFT + SPAN_X, y);
        write_label (file, "end", LEFT - 8, y + 5, text);
    }
    write_line (
        file, "even", LEFT, covered_y (95, 100), LEFT + SPAN_X, covered_y (95, 100));
    write_weeks (file, sums);
    write_coverage (file, sums, true);
    write_coverage (file, sums, false);
    write_coverage_points (file, sums);
    fputs ("</svg>\n", file);
}

/* The next of some round numbers times a power of ten that is not below. */
static double round_up (double value)
{
    static const double factors[] = {1, 1.6, 2, 2.4, 3.2, 4, 6, 8};
    double power = pow (10, floor (log10 (value)));

    for (size_t i = 0; i < DN_N_ELEMENTS (factors); i++)
        if (factors[i] * power >= value)
            return factors[i] * power;
    return 10 * power;
}

static void write_scale (FILE *file, double most)
{
    for (int i = 0; i <= 4; i += most < 4 ? 4 : 1) {
        double y = TOP + SPAN_Y * (1 - i / 4.0);

        write_line (file, "grid", LEFT, y, LEFT + SPAN_X, y);
        write_label (file, "end", LEFT - 8, y + 5, dn_show_number (most * i / 4).text);
    }
}

static void write_bar (FILE *file,
                       const char *style,
                       double x,
                       double width,
                       double tall)
{
    fprintf (file,
             "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
             "height=\"%.1f\"/>",
             style,
             x,
             TOP + SPAN_Y - tall,
             width,
             tall);
}

void dn_chart_weeks (FILE *file, const struct dn_sums *sums, const int64_t harmed[])
{
    double most = 0;
    double width;

    for (int i = 0; i < sums->n_weeks; i++)
        most = fmax (most, (double) sums->weeks[i].changed);
    begin (file, "changed jobs by week, and those that were harmed", HEIGHT);
    if (!(most > 0)) {
        write_nothing (file, "no job was changed");
        return;
    }
    most = round_up (most);
    write_scale (file, most);
    write_weeks (file, sums);
    width = week_width (sums) * 0.72;
    for (int i = 0; i < sums->n_weeks; i++) {
        double x = week_x (sums, i) - width / 2;
        double bad = SPAN_Y * (double) harmed[i] / most;

        if (sums->weeks[i].changed == 0)
            continue;
        begin_week (file, "changed", &sums->weeks[i]);
        write_bar (
            file, "changed", x, width, SPAN_Y * (double) sums->weeks[i].changed / most);
        fputs ("</a>\n", file);
        if (harmed[i] == 0)
            continue;
        begin_week (file, "week", &sums->weeks[i]);
        write_bar (file, "harmed", x, width, fmax (bad, 4));
        fputs ("</a>\n", file);
    }
    fputs ("</svg>\n", file);
}

/* --- effects ---------------------------------------------------------------------- */

/* From -100 to 100 %; what is beyond ends at the margin. */
static double effect_x (double share)
{
    return LEFT + SPAN_X * (fmin (fmax (share, -1), 1) + 1) / 2;
}

static void write_effect (FILE *file,
                          double y,
                          const char *name,
                          const char *link,
                          const struct dn_effect *effect)
{
    double control = effect->control;
    char text[96];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (!effect->known || !(control > 0)) {
        dn_buf_add (&buf, "%s: not known", name);
        write_label (file, "middle", LEFT + SPAN_X / 2, y - 16, text);
        return;
    }
    dn_buf_add (&buf,
                "%s: %+.0f %% (%+.0f to %+.0f)",
                name,
                100 * effect->value / control,
                100 * effect->low / control,
                100 * effect->high / control);
    fprintf (file, "<a href=\"#%s\">", link);
    write_label (file, "middle", LEFT + SPAN_X / 2, y - 16, text);
    write_line (file,
                "interval",
                effect_x (effect->low / control),
                y,
                effect_x (effect->high / control),
                y);
    fprintf (file,
             "<circle class=\"effect\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"/></a>\n",
             effect_x (effect->value / control),
             y);
}

void dn_chart_effects (FILE *file, struct dn_sums *sums)
{
    static const struct {
        const char *name;
        const char *link;
    } effects[] = {
        [DN_EFFECT_WAIT] = {"mean wait", "waits"},
        [DN_EFFECT_TURNAROUND] = {"wait and run", "turnarounds"},
        [DN_EFFECT_FAILED] = {"failed or killed", "failures"},
    };

    begin (file, "effects against the control group", HEIGHT);
    for (int percent = -100; percent <= 100; percent += 50) {
        double x = effect_x (percent / 100.0);
        char text[16];
        struct dn_buf buf = dn_buf_on (text, sizeof (text));

        dn_buf_add (&buf, "%+d", percent);
        write_line (file, percent == 0 ? "even" : "grid", x, TOP, x, TOP + SPAN_Y);
        write_label (file, "middle", x, TOP + SPAN_Y + 26, percent == 0 ? "0" : text);
    }
    for (int i = 0; i < (int) DN_N_ELEMENTS (effects); i++) {
        struct dn_effect effect = dn_sums_effect (sums, (enum dn_effect_of) i);
        bool listed = sums->listed[DN_SIDE_CONTROL][i].n > 0;

        write_effect (file,
                      TOP + 50 + 75 * i,
                      effects[i].name,
                      listed ? effects[i].link : "control",
                      &effect);
    }
    fputs ("</svg>\n", file);
}
