/* report_html.c - a report as one page without scripts or other files
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>

#include "replace.h"
#include "report/chart.h"
#include "report/when.h"

static const char style[] =
#include "report/page_style.inc"
    ;

static void write_card (FILE *file,
                        const char *kind,
                        const char *value,
                        const char *text)
{
    fprintf (file, "<div class=\"card %s\"><b>", kind);
    dn_html_text (file, value);
    fputs ("</b><span>", file);
    dn_html_text (file, text);
    fputs ("</span></div>\n", file);
}

static void write_saved_card (FILE *file, const struct dn_sums *sums)
{
    const struct dn_amount *gpu = &sums->all.amounts[DN_MEASURE_GPU_HOURS];
    char text[96];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_buf_add (&buf,
                "GPU hours that need not be reserved, %s of those requested",
                dn_report_share (dn_report_ratio (gpu->saved, gpu->requested)).text);
    write_card (file, "good", dn_report_number (gpu->saved).text, text);
}

static void write_killed_card (FILE *file, const struct dn_sums_part *all)
{
    char text[96];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_buf_add (&buf,
                "jobs killed at a limit of dnnest; %s at their users' own",
                dn_report_number ((double) all->killed_user).text);
    write_card (file,
                all->killed_ours > 0 ? "bad" : "good",
                dn_report_number ((double) all->killed_ours).text,
                text);
}

static void write_cards (FILE *file, struct dn_report *report)
{
    struct dn_sums *sums = report->sums;
    struct dn_sums_judged *judged = sums->judged;
    int64_t n = judged[0].n_p95 + judged[1].n_p95;
    int64_t within = judged[0].within_p95 + judged[1].within_p95;
    const struct dn_amount *gpu = &sums->all.amounts[DN_MEASURE_GPU_HOURS];
    const struct dn_amount *money = &sums->all.amounts[DN_MEASURE_MONEY];

    fputs ("<div class=\"cards\">\n", file);
    write_saved_card (file, sums);
    write_killed_card (file, &sums->all);
    write_card (file,
                "",
                dn_report_share (dn_report_ratio (gpu->used, gpu->granted)).text,
                "of the granted GPU hours were used");
    write_card (file,
                "",
                dn_report_share (dn_report_ratio ((double) within, (double) n)).text,
                "of completed jobs ran within the predicted 95 % quantile");
    write_card (file,
                "",
                dn_report_share (dn_report_error (&judged[judged[1].n > 0])).text,
                judged[1].n > 0
                    ? "median error of predicted run times, of known applications"
                    : "median error of predicted run times");
    if (report->prices)
        write_card (file,
                    "",
                    dn_report_number (money->saved).text,
                    "in the site's currency, at its price of a GPU hour");
    fputs ("</div>\n", file);
}

/* --- plots --------------------------------------------------------------------------
 */

static void begin_figure (FILE *file, const char *title)
{
    fprintf (file, "<figure><h3>%s</h3>\n", title);
}

static void end_figure (FILE *file, const char *caption)
{
    fprintf (file, "<figcaption>%s</figcaption></figure>\n", caption);
}

static void write_bars (FILE *file, const struct dn_sums_part *all)
{
    const struct dn_amount *gpu = &all->amounts[DN_MEASURE_GPU_HOURS];
    const struct dn_chart_bar bars[] = {
        {"requested by users", gpu->requested, "requested"},
        {"granted, with limits of dnnest", gpu->granted, "granted"},
        {"used", gpu->used, "used"},
        {"of the requests: after the end of the job",
         all->wasted[DN_WASTE_TIME],
         "waste"},
        {"of the use: GPUs not busy, where measured",
         all->wasted[DN_WASTE_GPUS],
         "waste"},
    };

    dn_chart_bars (file, bars, (int) DN_N_ELEMENTS (bars));
}

static void write_plots (FILE *file, const struct dn_report *report)
{
    const struct dn_sums *sums = report->sums;

    fputs ("<h2>What happened</h2><div class=\"plots\">\n", file);
    begin_figure (file, "Saved GPU hours by week");
    dn_chart_saved (file, sums);
    end_figure (file, "Requested minus granted, of jobs that dnnest changed.");
    begin_figure (file, "GPU hours: requested, granted, used, wasted");
    write_bars (file, &sums->all);
    end_figure (file, "Limits times GPUs; used is run time times GPUs.");
    begin_figure (file, "Predicted against measured run time");
    dn_chart_points (file, sums);
    fprintf (file,
             "<figcaption><span class=\"key teal\"></span>application known from "
             "its runs<span class=\"key sand\"></span>predicted from its description; "
             "%d of %" PRId64 " completed jobs</figcaption></figure>\n",
             sums->n_points,
             sums->points_seen);
    begin_figure (file, "Share of jobs within the prediction");
    dn_chart_coverage (file, sums);
    end_figure (file,
                "<span class=\"key blue\"></span>within the 95 % quantile, which "
                "should stay near the dashed line<span class=\"key sand\"></span>"
                "within the bound that the limit was made from");
    fputs ("</div>\n", file);
}

/* --- tables -------------------------------------------------------------------------
 */

static void begin_table (FILE *file, const char *const heads[], int n)
{
    fputs ("<div class=\"table\"><table><tr>", file);
    for (int i = 0; i < n; i++)
        fprintf (file, "<th>%s</th>", heads[i]);
    fputs ("</tr>\n", file);
}

static void write_cell (FILE *file, const char *text)
{
    fputs ("<td>", file);
    dn_html_text (file, text);
    fputs ("</td>", file);
}

static void write_number (FILE *file, double value)
{
    write_cell (file, dn_report_number (value).text);
}

static void end_table (FILE *file)
{
    fputs ("</table></div>\n", file);
}

static void write_amounts (FILE *file, const struct dn_report *report)
{
    static const char *const heads[] = {
        "", "Requested", "Granted", "Used", "Saved", "Of requested"};

    fputs ("<h2>Requested, granted, used</h2>\n", file);
    begin_table (file, heads, 6);
    for (int q = 0; q < DN_N_MEASURES; q++) {
        const struct dn_amount *amount = &report->sums->all.amounts[q];

        if (q == DN_MEASURE_MONEY && !report->prices)
            continue;
        fputs ("<tr>", file);
        write_cell (file, dn_report_quantity ((enum dn_measure) q));
        write_number (file, amount->requested);
        write_number (file, amount->granted);
        write_number (file, amount->used);
        write_number (file, amount->saved);
        write_cell (
            file,
            dn_report_share (dn_report_ratio (amount->saved, amount->requested)).text);
        fputs ("</tr>\n", file);
    }
    end_table (file);
    if (report->sums->all.measured > 0)
        fprintf (file,
                 "<p class=\"soft\">Energy: %s kWh used by the %s jobs whose energy is "
                 "known.</p>\n",
                 dn_report_number (report->sums->all.energy_kwh).text,
                 dn_report_number ((double) report->sums->all.measured).text);
}

static void write_effect (FILE *file, struct dn_sums *sums, enum dn_effect_of which)
{
    struct dn_effect effect = dn_sums_effect (sums, which);
    double scale = which == DN_EFFECT_WAIT ? 60 : 1;

    fputs ("<tr>", file);
    write_cell (file, dn_report_effect (which));
    write_number (file, (double) effect.n_control);
    write_number (file, (double) effect.n_changed);
    write_number (file, effect.n_control > 0 ? effect.control / scale : NAN);
    write_number (file, effect.n_changed > 0 ? effect.changed / scale : NAN);
    if (effect.known)
        fprintf (file,
                 "<td>%s%s (%s to %s)</td>",
                 which == DN_EFFECT_WAIT ? "" : "&times; ",
                 dn_report_number (effect.value / scale).text,
                 dn_report_number (effect.low / scale).text,
                 dn_report_number (effect.high / scale).text);
    else
        fputs ("<td>too few jobs</td>", file);
    fputs ("</tr>\n", file);
}

static void write_effects (FILE *file, struct dn_report *report)
{
    static const char *const heads[] = {
        "", "Control jobs", "Changed jobs", "Control", "Changed", "Effect (95 %)"};

    fputs ("<h2>Against the control group</h2>\n<p class=\"soft\">The control group is "
           "drawn at random from the jobs that dnnest would have changed. The interval "
           "is the normal one of two independent samples.</p>\n",
           file);
    begin_table (file, heads, 6);
    for (int i = 0; i < DN_N_EFFECTS; i++)
        write_effect (file, report->sums, (enum dn_effect_of) i);
    end_table (file);
}

static void write_kept (FILE *file, const struct dn_sums *sums)
{
    static const char *const heads[] = {"Not changed, because", "Jobs"};

    fputs ("<div>", file);
    begin_table (file, heads, 2);
    for (int i = 0; i < sums->n_kept; i++) {
        fputs ("<tr>", file);
        write_cell (file, sums->kept[i].why);
        write_number (file, (double) sums->kept[i].jobs);
        fputs ("</tr>\n", file);
    }
    end_table (file);
    fputs ("</div>\n", file);
}

static void write_wait (FILE *file, const char *name, struct dn_spread *wait)
{
    fputs ("<tr>", file);
    write_cell (file, name);
    write_number (file, (double) wait->n);
    write_number (file, wait->n > 0 ? wait->mean / 60 : NAN);
    write_number (file, dn_spread_quantile (wait, 0.5) / 60);
    fputs ("</tr>\n", file);
}

static void write_waits (FILE *file, struct dn_sums *sums)
{
    static const char *const heads[] = {"Wait [min]", "Jobs", "Mean", "Median"};

    fputs ("<div>", file);
    begin_table (file, heads, 4);
    write_wait (file, "not changed", &sums->wait_before_s);
    write_wait (file, "changed by dnnest", &sums->wait_after_s);
    end_table (file);
    fprintf (file,
             "<p class=\"soft\">Limits extended: %s times, of %s jobs.</p></div>\n",
             dn_report_number ((double) sums->all.extensions).text,
             dn_report_number ((double) sums->all.extended).text);
}

static void write_waste (FILE *file, struct dn_sums *sums, enum dn_waste waste)
{
    static const char *const heads[] = {"User", "Not used", "Of all"};
    double all = sums->all.wasted[waste];

    if (!(all > 0))
        return;
    dn_groups_sort (&sums->users, dn_sums_part_wasted, (int) waste);
    fprintf (file,
             "<div><p>%s: %s</p>\n",
             dn_report_waste (waste),
             dn_report_number (all).text);
    begin_table (file, heads, 3);
    for (int64_t i = 1; i < sums->users.n && i <= DN_REPORT_WIDE; i++) {
        double wasted = sums->users.groups[i].part.wasted[waste];

        fputs ("<tr>", file);
        write_cell (file, sums->users.groups[i].name);
        write_number (file, wasted);
        write_cell (file, dn_report_share (wasted / all).text);
        fputs ("</tr>\n", file);
    }
    end_table (file);
    fputs ("</div>\n", file);
}

static void write_group (FILE *file, const struct dn_sums_group *group)
{
    const struct dn_amount *gpu = &group->part.amounts[DN_MEASURE_GPU_HOURS];

    fputs ("<tr>", file);
    write_cell (file, group->name);
    write_number (file, (double) group->part.seen);
    write_number (file, (double) group->part.changed);
    write_number (file, gpu->requested);
    write_number (file, gpu->granted);
    write_number (file, gpu->used);
    write_number (file, gpu->saved);
    fputs ("</tr>\n", file);
}

static void write_groups (FILE *file, struct dn_report *report)
{
    const char *by = dn_names_get (&dn_by_names, (int) report->sums->by);
    const char *const heads[] = {
        by, "Jobs", "Changed", "GPU hours requested", "Granted", "Used", "Saved"};
    struct dn_groups *groups = &report->sums->groups;

    if (report->sums->by == DN_GROUPED_BY_NONE || groups->n == 0)
        return;
    dn_groups_sort (groups, dn_sums_part_gpu_hours, 0);
    fprintf (file, "<h2>By %s</h2>\n", by);
    begin_table (file, heads, 7);
    for (int64_t i = 1; i < groups->n && i <= DN_REPORT_ROWS; i++)
        write_group (file, &groups->groups[i]);
    if (groups->groups[0].part.seen > 0)
        write_group (file, &groups->groups[0]);
    end_table (file);
}

/* --- the page -----------------------------------------------------------------------
 */

static void write_head (FILE *file, const struct dn_report *report)
{
    const struct dn_sums_part *all = &report->sums->all;

    fprintf (file,
             "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" "
             "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
             "<title>dnnest report</title>\n<style>%s</style></head><body><main>\n",
             style);
    fprintf (file,
             "<h1>%s</h1>\n",
             report->me ? "Your jobs, and what dnnest did" : "What dnnest did");
    fprintf (file,
             "<p class=\"soft\">%s finished jobs, %s to %s; ",
             dn_report_number ((double) all->seen).text,
             dn_when_day (report->sums->first_s).text,
             dn_when_day (report->sums->last_s).text);
    fprintf (file,
             "%s had a description, ",
             dn_report_number ((double) all->described).text);
    fprintf (
        file, "dnnest changed %s</p>\n", dn_report_number ((double) all->changed).text);
}

static void write_foot (FILE *file, const struct dn_report *report)
{
    fputs ("<footer><p>Requested: the limit that the user asked for times what the job "
           "was allocated. Granted: its limit at its end, with extensions, times the "
           "same. Saved: the difference, of jobs that dnnest changed; it is time that "
           "the scheduler need not reserve; the jobs compute as much as before. "
           "Predictions are judged by completed jobs only.</p>\n<p>From ",
           file);
    dn_html_text (file, report->store);
    fprintf (file,
             ", %s.</p></footer>\n</main></body></html>\n",
             dn_when_minute (report->now_s).text);
}

int dn_report_html (struct dn_report *report, const char *path, struct dn_err *err)
{
    dn_cleanup (dn_replace_free) struct dn_replace out = {.file = NULL};
    FILE *file;

    if (dn_replace_open (&out, path, err) < 0)
        return -1;
    file = out.file;
    write_head (file, report);
    write_cards (file, report);
    write_plots (file, report);
    write_amounts (file, report);
    write_effects (file, report);
    write_groups (file, report);
    fputs ("<h2>Waiting, and why jobs were not changed</h2><div class=\"two\">\n",
           file);
    write_waits (file, report->sums);
    write_kept (file, report->sums);
    fputs ("</div><h2>Largest waste</h2><div class=\"two\">\n", file);
    for (int w = 0; w < DN_N_WASTES; w++)
        write_waste (file, report->sums, (enum dn_waste) w);
    fputs ("</div>\n", file);
    write_foot (file, report);
    return dn_replace_finish (&out, err);
}
