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
#include "report/page.h"
#include "report/when.h"

/* --- the first screen
 * -----------------------------------------------------------------
 */

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
    dn_buf_add (buf, "%s to ", dn_report_number (effect->low / 60).text);
    dn_buf_add (buf, "%s", dn_report_number (effect->high / 60).text);
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
    dn_buf_add (buf, "%s min (", dn_report_number (both->value / 60).text);
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
        dn_buf_add (&said, "%s min", dn_report_number (wait.value / 60).text);
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
                dn_report_number (unreserved).text);
    dn_page_card (file,
                  why ? "fair" : "",
                  "GPU hours that others got",
                  "freed",
                  why ? "not known" : dn_report_number (freed->gpu_hours).text,
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
        dn_buf_add (&buf, "%s promised. ", dn_report_share (promised).text);
    }
    if (all->predicted == 0)
        dn_buf_add (&buf, "no job with a prediction has run");
    else
        dn_buf_add (&buf,
                    "Median error of the %s predictions: %s",
                    dn_report_count (all->predicted).text,
                    dn_report_share (dn_report_error (all)).text);
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
                  all->n_bound == 0 ? "not known" : dn_report_share (kept).text,
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
                dn_report_number (money->used).text);
    dn_page_card (
        file, "", "Charges", "amounts", dn_report_number (money->saved).text, text);
}

/* --- tables -------------------------------------------------------------------------
 */

static int write_harmed (FILE *file, const struct dn_report *report)
{
    const struct dn_harm *harm = report->harm;
    int rc = DN_EXIT_DONE;

    if (harm->n_harmed > 0) {
        fputs ("<h2 id=\"harmed\">Harmed jobs</h2><p class=\"soft\">"
               "<code>dnnest status JOB</code> has the rest of each.</p>\n",
               file);
        rc = dn_report_harm_jobs (report, false);
    }
    if (harm->n_perhaps > 0) {
        fputs ("<h2>Perhaps harmed</h2><p class=\"soft\">They failed, and runs as "
               "requested did not, but that may be chance.</p>\n",
               file);
        rc |= dn_report_harm_jobs (report, true);
    }
    if (harm->n_harmed > DN_REPORT_HARMED || harm->n_perhaps > DN_REPORT_HARMED)
        fprintf (
            file,
            "<p class=\"soft\">The first %d; <code>dnnest report --json</code> has "
            "all.</p>\n",
            DN_REPORT_HARMED);
    return rc;
}

static int write_freed (FILE *file, const struct dn_report *report)
{
    static const struct dn_grid_column columns[] = {{"JOB", true}, {"GPU HOURS", true}};
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (columns, 2);
    const struct dn_freed *freed = &report->freed;

    fputs (
        "<h2 id=\"freed\">GPU hours that others got</h2><p class=\"soft\">Each node "
        "is replayed with its changed jobs as they were requested. A job that would "
        "not have fitted any more into the CPUs, the memory or the GPUs of the node "
        "got its GPUs by these changes. Shorter limits, moves to other types and "
        "all but the first node of a job are not counted. Jobs with most first.</p>\n",
        file);
    if (freed->n_jobs == 0 || dn_report_not_freed (report))
        return DN_EXIT_DONE;
    for (int64_t i = 0; i < freed->n_jobs && i < DN_REPORT_ROWS; i++) {
        dn_grid_add (&grid, "%s", freed->runs[i].job);
        dn_grid_add (&grid, "%s", dn_report_number (freed->runs[i].hours).text);
    }
    return dn_html_table (file, &grid);
}

/* The harmed jobs that ended in a week. */
static int64_t harmed_in (const struct dn_harm *harm, const struct dn_week *week)
{
    int64_t n = 0;

    for (int64_t i = 0; i < harm->n_harmed; i++)
        n += harm->jobs[i].end_s >= week->start_s
             && harm->jobs[i].end_s < week->start_s + 7 * 86400;
    return n;
}

static int write_weeks (FILE *file, const struct dn_report *report)
{
    static const struct dn_grid_column columns[] = {{"FROM", false},
                                                    {"JOBS", true},
                                                    {"CHANGED", true},
                                                    {"HARMED", true},
                                                    {"WITHIN BOUND", true},
                                                    {"WITHIN 95 %", true}};
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (columns, 6);

    fputs ("<h2>Weeks</h2>\n", file);
    for (int i = 0; i < report->sums->n_weeks; i++) {
        const struct dn_week *week = &report->sums->weeks[i];
        double bound =
            dn_report_ratio ((double) week->within_bound, (double) week->n_bound);
        double p95 = dn_report_ratio ((double) week->within_p95, (double) week->n_p95);

        dn_grid_add (&grid, "%s", dn_when_day (week->start_s + 43200).text);
        dn_grid_add (&grid, "%s", dn_report_count (week->jobs).text);
        dn_grid_add (&grid, "%s", dn_report_count (week->changed).text);
        dn_grid_add (
            &grid, "%s", dn_report_count (harmed_in (report->harm, week)).text);
        dn_grid_add (&grid, "%s", dn_report_share (bound).text);
        dn_grid_add (&grid, "%s", dn_report_share (p95).text);
    }
    return dn_html_table (file, &grid);
}

static int write_tables (struct dn_report *report)
{
    FILE *file = report->page;
    int rc;

    fputs ("<h2 id=\"harm\">Harm</h2>\n", file);
    rc = dn_report_harms (report);
    rc |= write_harmed (file, report);
    fputs (
        "<h2 id=\"control\">Against the control group</h2>\n<p class=\"soft\">Drawn at "
        "random from the jobs that dnnest would have changed. The intervals take the "
        "jobs of an application of a user for one draw. NEEDS: jobs to see an effect "
        "of a tenth.</p>\n",
        file);
    rc |= dn_report_effects (report);
    fputs ("<h2 id=\"predictions\">Predictions</h2>\n", file);
    rc |= dn_report_judged (report);
    rc |= write_freed (file, report);
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
    rc |= write_weeks (file, report);
    return rc;
}

/* --- the page -----------------------------------------------------------------------
 */

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
    fputs ("</div>\n", file);
    rc = write_tables (report);
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
