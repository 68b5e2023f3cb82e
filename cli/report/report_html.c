/* report_html.c - a report as one page without scripts or other files
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common.h"
#include "replace.h"
#include "report/chart.h"
#include "report/page.h"
#include "report/when.h"

/* --- the first screen ------------------------------------------------------------- */

static bool any_unknown (const struct dn_report *report)
{
    for (int kind = 0; kind < DN_N_HARMS; kind++)
        if (dn_report_unknown (report, (enum dn_harm_kind) kind))
            return true;
    return false;
}

static void write_harm_card (FILE *file, const struct dn_report *report)
{
    const struct dn_harm *harm = report->harm;
    bool unknown = any_unknown (report);
    char answer[64];
    char text[128];
    struct dn_buf said = dn_buf_on (answer, sizeof (answer));
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (harm->described == 0)
        dn_buf_add (&said, "not known");
    else if (harm->n_harmed > 0)
        dn_buf_add (&said,
                    "%s job%s",
                    dn_report_count (harm->n_harmed).text,
                    harm->n_harmed > 1 ? "s" : "");
    else
        dn_buf_add (&said, unknown ? "none seen" : "nobody");
    if (harm->described == 0)
        dn_buf_add (&buf, "no job has a record of dnnest");
    else
        dn_buf_add (&buf,
                    "of %s changed jobs ended worse than requested%s",
                    dn_report_count (harm->changed).text,
                    unknown ? "; of some it is not known, see below" : "");
    dn_page_card (file,
                  harm->n_harmed > 0 ? "bad"
                  : unknown          ? "fair"
                                     : "good",
                  "Did anybody get hurt?",
                  harm->n_harmed > 0 ? "harmed" : "harm",
                  answer,
                  text);
}

static void add_interval (struct dn_buf *buf, const struct dn_effect *effect)
{
    dn_buf_add (buf, "%s to ", dn_show_number (effect->low / 60).text);
    dn_buf_add (buf, "%s", dn_show_number (effect->high / 60).text);
}

static void add_effects (struct dn_buf *buf,
                         const struct dn_effect *wait,
                         const struct dn_effect *both)
{
    dn_buf_add (buf, "95 %% interval ");
    add_interval (buf, wait);
    dn_buf_add (buf,
                ": %s. Wait and run ",
                wait->high < 0  ? "shorter"
                : wait->low > 0 ? "longer"
                                : "no effect is shown");
    dn_buf_add (buf, "%s min (", dn_show_number (both->value / 60).text);
    add_interval (buf, both);
    dn_buf_add (buf, "). ");
}

static void write_wait_card (FILE *file, struct dn_sums *sums)
{
    struct dn_effect wait = dn_sums_effect (sums, DN_EFFECT_WAIT);
    struct dn_effect both = dn_sums_effect (sums, DN_EFFECT_TURNAROUND);
    char answer[64];
    char text[256];
    struct dn_buf said = dn_buf_on (answer, sizeof (answer));
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (wait.known && both.known) {
        dn_buf_add (&said, "%s min", dn_show_number (wait.value / 60).text);
        add_effects (&buf, &wait, &both);
    } else {
        dn_buf_add (&said, "not known");
        dn_buf_add (&buf, "Too few jobs or applications to compare. ");
    }
    dn_buf_add (&buf, "%s control jobs, ", dn_report_count (wait.n_control).text);
    dn_buf_add (&buf, "%s changed", dn_report_count (wait.n_changed).text);
    dn_page_card (file,
                  !wait.known     ? "fair"
                  : wait.high < 0 ? "good"
                  : wait.low > 0  ? "bad"
                                  : "",
                  "Wait, against control",
                  "control",
                  answer,
                  text);
}

static void write_freed_card (FILE *file, const struct dn_report *report)
{
    const struct dn_freed *freed = &report->freed;
    const char *why = dn_report_not_freed (report);
    double unreserved = report->sums->all.amounts[DN_MEASURE_GPU_HOURS].saved;
    char text[256];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (why)
        dn_buf_add (&buf, "%s", why);
    else
        dn_buf_add (&buf,
                    "at least: of %s jobs beside changed ones that held less",
                    dn_report_count (freed->n_jobs).text);
    dn_buf_add (&buf,
                ". Not counted: %s only reserved no longer",
                dn_show_number (unreserved).text);
    dn_page_card (file,
                  why ? "fair" : "",
                  "GPU hours that others got",
                  "freed",
                  why ? "not known" : dn_show_number (freed->gpu_hours).text,
                  text);
}

static void write_promise_card (FILE *file, struct dn_sums *sums)
{
    struct dn_sums_judged *all = &sums->judged[DN_SUMS_OF_ALL];
    double kept = dn_report_ratio ((double) all->within_bound, (double) all->n_bound);
    double promised = dn_report_ratio (all->promised, (double) all->n_promised);
    char text[256];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (all->n_bound > 0) {
        dn_buf_add (&buf,
                    "of %s jobs within their bound, ",
                    dn_report_count (all->n_bound).text);
        dn_buf_add (&buf, "%s promised. ", dn_show_share (promised).text);
    }
    if (all->predicted == 0)
        dn_buf_add (&buf, "no job with a prediction has run");
    else
        dn_buf_add (&buf,
                    "Median error of the %s predictions: %s",
                    dn_report_count (all->predicted).text,
                    dn_show_share (dn_report_error (all)).text);
    if (all->predicted > all->n)
        dn_buf_add (&buf,
                    "; of %s the work did not end",
                    dn_report_count (all->predicted - all->n).text);
    dn_page_card (file,
                  all->n_bound == 0  ? "fair"
                  : kept >= promised ? "good"
                                     : "",
                  "Promises kept",
                  "predictions",
                  all->n_bound == 0 ? "not known" : dn_show_share (kept).text,
                  text);
}

static void write_money_card (FILE *file, const struct dn_report *report)
{
    const struct dn_amount *money = &report->sums->all.amounts[DN_MEASURE_MONEY];
    char text[128];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (!report->prices)
        return;
    dn_buf_add (&buf,
                "less than would have been billed as requested; billed: %s",
                dn_show_number (money->used).text);
    dn_page_card (
        file, "", "Charges", "amounts", dn_show_number (money->saved).text, text);
}

/* --- charts ----------------------------------------------------------------------- */

static void begin_figure (FILE *file, const char *title)
{
    fprintf (file, "<figure><h3>%s</h3>\n", title);
}

static void end_figure (FILE *file, const char *caption)
{
    fprintf (file, "<figcaption>%s</figcaption></figure>\n", caption);
}

/* The harmed jobs of each week. */
static void count_harmed (const struct dn_report *report, int64_t harmed[])
{
    const struct dn_sums *sums = report->sums;

    for (int i = 0; i < sums->n_weeks; i++)
        harmed[i] = 0;
    for (int64_t k = 0; k < report->harm->n_harmed; k++)
        for (int i = sums->n_weeks - 1; i >= 0; i--)
            if (report->harm->jobs[k].end_s >= sums->weeks[i].start_s) {
                harmed[i]++;
                break;
            }
}

static void write_charts (FILE *file, const struct dn_report *report)
{
    struct dn_sums *sums = report->sums;
    int64_t harmed[DN_SUMS_WEEKS_MAX];

    count_harmed (report, harmed);
    fputs ("<div class=\"charts\">\n", file);
    begin_figure (file, "Changed jobs by week");
    dn_chart_weeks (file, sums, harmed);
    end_figure (file,
                "<span class=\"key blue\"></span>changed<span class=\"key "
                "rose\"></span>of these harmed");
    begin_figure (file, "Effect, in % of the control group's figure");
    dn_chart_effects (file, sums);
    end_figure (file, "With its 95 % interval. Less is better.");
    begin_figure (file, "Predicted against measured run time");
    dn_chart_points (file, sums);
    fprintf (file,
             "<figcaption><span class=\"key teal\"></span>application known from "
             "its runs<span class=\"key sand\"></span>predicted from its description; "
             "%d of %" PRId64 " jobs</figcaption></figure>\n",
             sums->n_points,
             sums->points_seen);
    begin_figure (file, "Share of jobs within the prediction");
    dn_chart_coverage (file, sums);
    end_figure (file,
                "<span class=\"key blue\"></span>95 % quantile, which should stay near "
                "the dashed line<span class=\"key sand\"></span>bound of the limit");
    fputs ("</div>\n", file);
}

/* --- jobs ------------------------------------------------------------------------- */

static void write_harm_row (FILE *file,
                            const struct dn_report *report,
                            const struct dn_harm_job *job)
{
    char happened[400];
    struct dn_buf buf = dn_buf_on (happened, sizeof (happened));

    dn_report_happened (job, &buf);
    fputs ("<tr id=\"harmed-", file);
    dn_html_anchor (file, job->job);
    fputs ("\"><td>", file);
    dn_html_text (file, job->job);
    fputs ("</td><td class=\"words\">", file);
    dn_html_text (file, happened);
    fputs ("</td><td class=\"words\">", file);
    dn_html_text (file, job->app);
    if (report->names) {
        fputs ("</td><td class=\"words\">", file);
        dn_html_text (file, job->user);
    }
    fprintf (file, "</td><td>%s</td></tr>\n", dn_when_day (job->end_s).text);
}

/* A table of some jobs from 'first' on. */
static void write_jobs (FILE *file,
                        const struct dn_report *report,
                        const struct dn_harm_job *first,
                        int64_t n)
{
    fprintf (file,
             "<div class=\"table\"><table><tr><th>JOB</th><th class=\"words\">WHAT "
             "HAPPENED</th><th class=\"words\">APPLICATION</th>%s<th>ENDED</th></tr>\n",
             report->names ? "<th class=\"words\">USER</th>" : "");
    for (int64_t i = 0; i < n && i < DN_REPORT_HARMED; i++)
        write_harm_row (file, report, first + i);
    fputs ("</table></div>\n", file);
    if (n > DN_REPORT_HARMED)
        fprintf (
            file,
            "<p class=\"soft\">The first %d; <code>dnnest report --json</code> has "
            "all.</p>\n",
            DN_REPORT_HARMED);
}

static void write_harmed (FILE *file, const struct dn_report *report)
{
    const struct dn_harm *harm = report->harm;

    if (harm->n_harmed > 0) {
        fputs ("<h2 id=\"harmed\">Harmed jobs</h2><p class=\"soft\">"
               "<code>dnnest status JOB</code> has the rest of each.</p>\n",
               file);
        write_jobs (file, report, harm->jobs, harm->n_harmed);
    }
    if (harm->n_perhaps > 0) {
        fputs (
            "<h2 id=\"perhaps\">Perhaps harmed</h2><p class=\"soft\">They failed, and "
            "runs as requested did not, but that may be chance.</p>\n",
            file);
        write_jobs (file, report, harm->jobs + harm->n_harmed, harm->n_perhaps);
    }
}

/* Changed jobs beside which there was room. */
static void write_made (FILE *file, const struct dn_freed *freed)
{
    int left = DN_REPORT_ROWS * 3;

    fprintf (file,
             "<h3>By %s changed jobs that held less</h3><ul class=\"jobs\">",
             dn_report_count (freed->n_made).text);
    for (int64_t i = 0; i < freed->n_runs && left > 0; i++) {
        if (!freed->runs[i].made)
            continue;
        fputs ("<li>", file);
        dn_html_text (file, freed->runs[i].job);
        fputs ("</li>\n", file);
        left--;
    }
    fputs ("</ul>\n", file);
}

static void write_freed (FILE *file, const struct dn_report *report)
{
    const struct dn_freed *freed = &report->freed;

    fputs ("<h2 id=\"freed\">GPU hours that others got</h2><p class=\"soft\">Each node "
           "is replayed with its changed jobs as they were requested. A job that would "
           "not have fitted any more into the CPUs, the memory or the GPUs of the node "
           "got its GPUs by these changes. Shorter limits, moves to other types and "
           "all but the first node of a job are not counted.</p>\n",
           file);
    if (freed->n_jobs == 0 || dn_report_not_freed (report))
        return;
    fputs ("<h3>Jobs that got them, those with most first</h3><ul class=\"jobs\">\n",
           file);
    for (int64_t i = 0; i < freed->n_jobs && i < DN_REPORT_ROWS * 3; i++) {
        fputs ("<li>", file);
        dn_html_text (file, freed->runs[i].job);
        fprintf (
            file, ": %s GPU hours</li>\n", dn_show_number (freed->runs[i].hours).text);
    }
    fputs ("</ul>\n", file);
    write_made (file, freed);
}

static void write_harmed_links (FILE *file,
                                const struct dn_report *report,
                                int64_t from_s,
                                int64_t to_s)
{
    for (int64_t i = 0; i < report->harm->n_harmed && i < DN_REPORT_HARMED; i++) {
        const struct dn_harm_job *job = &report->harm->jobs[i];

        if (job->end_s < from_s || job->end_s >= to_s)
            continue;
        fputs ("<a href=\"#harmed-", file);
        dn_html_anchor (file, job->job);
        fputs ("\">", file);
        dn_html_text (file, job->job);
        fputs ("</a> ", file);
    }
}

/* A figure of a week, as a link if there are jobs behind it. */
static void write_linked (FILE *file,
                          const char *what,
                          const struct dn_week *week,
                          const struct dn_listing *jobs,
                          const char *text)
{
    fputs ("<td>", file);
    if (jobs->n > 0)
        fprintf (file, "<a href=\"#%s-%s\">", what, dn_chart_week (week).text);
    fprintf (file, "%s%s</td>", text, jobs->n > 0 ? "</a>" : "");
}

static void write_weeks (FILE *file, const struct dn_report *report)
{
    const struct dn_sums *sums = report->sums;

    fputs (
        "<h2>Weeks</h2>\n<div class=\"table\"><table><tr><th class=\"words\">FROM</th>"
        "<th>JOBS</th><th>CHANGED</th><th>WITHIN BOUND</th><th>WITHIN 95 %</th>"
        "<th class=\"words\">HARMED</th></tr>\n",
        file);
    for (int i = 0; i < sums->n_weeks; i++) {
        const struct dn_week *week = &sums->weeks[i];

        fprintf (
            file, "<tr id=\"week-%s\"><td class=\"words\">", dn_chart_week (week).text);
        fprintf (file, "%s</td>", dn_chart_week (week).text);
        fprintf (file, "<td>%s</td>", dn_report_count (week->jobs).text);
        write_linked (
            file, "changed", week, &week->listed, dn_report_count (week->changed).text);
        fprintf (file,
                 "<td>%s</td>",
                 dn_show_share (dn_report_ratio ((double) week->within_bound,
                                                 (double) week->n_bound))
                     .text);
        write_linked (file,
                      "beyond",
                      week,
                      &week->beyond,
                      dn_show_share (dn_report_ratio ((double) week->within_p95,
                                                      (double) week->n_p95))
                          .text);
        fputs ("<td class=\"words\">", file);
        write_harmed_links (file, report, week->start_s, week->start_s + 604800);
        fputs ("</td></tr>\n", file);
    }
    fputs ("</table></div>\n", file);
}

/* The jobs of a week; names of the list lack it. */
static void write_week_list (FILE *file,
                             const struct dn_week *week,
                             struct dn_page_jobs list,
                             const struct dn_listing *jobs)
{
    char id[64];
    char what[64];
    struct dn_buf buf = dn_buf_on (id, sizeof (id));
    struct dn_buf said = dn_buf_on (what, sizeof (what));

    dn_buf_add (&buf, "%s-%s", list.id, dn_chart_week (week).text);
    dn_buf_add (&said, "%s, week from %s", list.what, dn_chart_week (week).text);
    list.id = id;
    list.what = what;
    dn_page_jobs (file, &list, jobs);
}

static void write_week_jobs (FILE *file, const struct dn_week *week)
{
    static const struct dn_page_jobs changed = {
        "changed",
        "Changed",
        "those with most requested GPU hours first",
        {"limit ", " -> "},
    };
    static const struct dn_page_jobs beyond = {
        "beyond",
        "Not within the prediction",
        "those that ran longest past the 95 % quantile first",
        {"predicted ", ", ran "},
    };

    write_week_list (file, week, changed, &week->listed);
    write_week_list (file, week, beyond, &week->beyond);
}

/* The lists that the charts lead to. */
static void write_behind (FILE *file, const struct dn_sums *sums)
{
#define WAITED                                                                         \
    {                                                                                  \
        "waited ", ", ran "                                                            \
    }
    static const struct dn_page_jobs sides[DN_EFFECT_FAILED + 1][DN_N_SIDES] = {
        [DN_EFFECT_WAIT] =
            {{"waits", "Control group", "longest waits first", WAITED},
             {"waits-changed", "Changed", "longest waits first", WAITED}},
        [DN_EFFECT_TURNAROUND] =
            {{"turnarounds", "Control group", "longest wait and run first", WAITED},
             {"turnarounds-changed", "Changed", "longest wait and run first", WAITED}},
        [DN_EFFECT_FAILED] = {{"failures",
                               "Control group, failed or killed",
                               "most GPU hours first",
                               WAITED},
                              {"failures-changed",
                               "Changed, failed or killed",
                               "most GPU hours first",
                               WAITED}},
    };
#undef WAITED

    if (sums->all.described == 0)
        return;
    fprintf (file,
             "<h2>Jobs behind the charts</h2>\n<p class=\"soft\">At most %d of each. "
             "<code>sacct -anXPD -S FROM -E TO -o JobID,AdminComment</code> has all: "
             "those with <code>\"verdict\":\"change\"</code>, of the control group "
             "<code>control</code>. <code>dnnest status JOB</code> has the rest of "
             "each.</p>\n",
             DN_LISTED_MAX);
    for (int i = 0; i <= DN_EFFECT_FAILED; i++)
        for (int side = 0; side < DN_N_SIDES; side++)
            dn_page_jobs (file, &sides[i][side], &sums->listed[side][i]);
    for (int i = sums->n_weeks - 1; i >= 0; i--)
        write_week_jobs (file, &sums->weeks[i]);
}

static void write_points (FILE *file, const struct dn_sums *sums)
{
    if (sums->n_points == 0)
        return;
    fputs ("<h2>Jobs with a prediction</h2><ul class=\"jobs\">\n", file);
    for (int i = 0; i < sums->n_points; i++) {
        const struct dn_point *point = &sums->points[i];

        fputs ("<li id=\"ran-", file);
        dn_html_anchor (file, point->job);
        fputs ("\">", file);
        dn_html_text (file, point->job);
        fprintf (file, ": %s, ", dn_show_time ((double) point->predicted_s).text);
        fprintf (file, "ran %s</li>\n", dn_show_time ((double) point->measured_s).text);
    }
    fputs ("</ul>\n", file);
}

/* --- tables ----------------------------------------------------------------------- */

static int write_tables (struct dn_report *report)
{
    FILE *file = report->page;
    int rc;

    fputs (
        "<h2 id=\"control\">Against the control group</h2>\n<p class=\"soft\">Drawn at "
        "random from the jobs that dnnest would have changed. The intervals take the "
        "jobs of an application of a user for one draw. NEEDS: jobs to see an effect "
        "of a tenth.</p>\n",
        file);
    rc = dn_report_effects (report);
    fputs ("<h2 id=\"predictions\">Predictions</h2>\n", file);
    rc |= dn_report_judged (report);
    write_freed (file, report);
    fputs ("<h2 id=\"amounts\">Requested, granted, used</h2>\n", file);
    rc |= dn_report_amounts (report);
    if (report->sums->by != DN_GROUPED_BY_NONE)
        fprintf (file,
                 "<h2>By %s</h2>\n",
                 dn_names_get (&dn_by_names, (int) report->sums->by));
    rc |= dn_report_groups (report);
    fputs ("<h2>Why jobs were not changed</h2>\n", file);
    rc |= dn_report_kept (report);
    rc |= dn_report_idle (report);
    return rc;
}

/* --- the page --------------------------------------------------------------------- */

static void write_head (FILE *file, const struct dn_report *report)
{
    const struct dn_sums_part *all = &report->sums->all;
    char title[DN_NAME_MAX * 6];
    char rules[256];
    struct dn_buf buf = dn_buf_on (title, sizeof (title));
    struct dn_buf said = dn_buf_on (rules, sizeof (rules));

    dn_buf_add (&buf,
                "%s%s, mode ",
                report->me ? "Your jobs on " : "dnnest on ",
                report->clusters[0] != '\0' ? report->clusters : "?");
    dn_report_modes (report, &buf);
    dn_buf_add (&buf, ", %s", dn_when_day (report->sums->first_s).text);
    dn_buf_add (&buf, " to %s", dn_when_day (report->sums->last_s).text);
    dn_page_head (file, title);
    dn_report_rules (report, &said);
    fprintf (
        file, "<p class=\"soft\">%s finished jobs, ", dn_report_count (all->seen).text);
    fprintf (file, "%s with a description, ", dn_report_count (all->described).text);
    fprintf (file, "%s changed. Rules now: ", dn_report_count (all->changed).text);
    dn_html_text (file, rules);
    fputs ("</p>\n", file);
}

static void write_foot (FILE *file, const struct dn_report *report)
{
    fputs ("<footer><p>Requested: the limit that the user asked for times what the job "
           "was allocated. Granted: its limit at its end, with extensions. Saved: the "
           "difference, of changed jobs. Money: charges of run times, and what they "
           "would have been as requested. A job that was stopped after its predicted "
           "time counts as one that ended then; of others that did not complete the "
           "time of the work is not known. All definitions: dnnest(1).</p>\n<p>From ",
           file);
    dn_html_text (file, report->store);
    fprintf (file,
             ", %s.</p></footer>\n</main></body></html>\n",
             dn_when_minute (report->now_s).text);
}

static int write_page (FILE *file, struct dn_report *report)
{
    int rc;

    write_head (file, report);
    fputs ("<div class=\"cards\">\n", file);
    write_harm_card (file, report);
    write_wait_card (file, report->sums);
    write_freed_card (file, report);
    write_promise_card (file, report->sums);
    write_money_card (file, report);
    fputs ("</div>\n<div id=\"harm\">\n", file);
    rc = dn_report_harms (report);
    fputs ("</div>\n", file);
    write_charts (file, report);
    write_harmed (file, report);
    rc |= write_tables (report);
    write_weeks (file, report);
    write_behind (file, report->sums);
    write_points (file, report->sums);
    write_foot (file, report);
    return rc;
}

int dn_report_html (struct dn_report *report, const char *path, struct dn_err *err)
{
    dn_cleanup (dn_replace_free) struct dn_replace out = {.file = NULL};
    int rc;

    if (dn_replace_open (&out, path, err) < 0)
        return -1;
    report->page = out.file;
    rc = write_page (out.file, report);
    report->page = NULL;
    if (rc != DN_EXIT_DONE)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    return dn_replace_finish (&out, err);
}
