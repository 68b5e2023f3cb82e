/* lookback_html.c - what past jobs requested and used, as a page
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lookback/lookback.h"

#include <inttypes.h>
#include <math.h>

#include "common.h"
#include "replace.h"
#include "report/page.h"
#include "report/report.h"
#include "report/when.h"

#define CARD_MAX 256

/* --- the first screen ------------------------------------------------------------- */

static void write_hours_card (FILE *file, const struct dn_lookback *lookback)
{
    const struct dn_lookback_hours *h = &lookback->hours;
    double run = dn_report_ratio (h->gpu_limited, h->gpu_requested);
    char text[CARD_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_buf_add (&buf,
                "of %s GPU hours of time limits. ",
                dn_show_number (h->gpu_requested).text);
    if (h->gpu_measured > 0)
        dn_buf_add (
            &buf,
            "The GPUs were busy for %s of their run times",
            dn_show_share (dn_report_ratio (h->gpu_busy, h->gpu_measured)).text);
    else
        dn_buf_add (&buf, "How busy the GPUs were is not known");
    dn_page_card (file,
                  run > 0 ? "" : "fair",
                  "GPU hours requested and run",
                  "hours",
                  run > 0 ? dn_show_share (run).text : "not known",
                  text);
}

static void write_repeats_card (FILE *file, const struct dn_lookback *lookback)
{
    char text[CARD_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_buf_add (&buf,
                "%s of %s jobs came after a run of their application had ended: ",
                dn_report_count (lookback->repeats).text,
                dn_report_count (lookback->jobs_n).text);
    dn_buf_add (&buf, "dnnest:auto knows these");
    dn_page_card (file,
                  "",
                  "Jobs that repeat",
                  "rules",
                  dn_show_share (dn_report_ratio ((double) lookback->repeats,
                                                  (double) lookback->jobs_n))
                      .text,
                  text);
}

static void add_minutes (struct dn_buf *buf, double seconds)
{
    dn_buf_add (buf, "%s", dn_show_number (seconds / 60).text);
}

/* Are there simulated waits that can be believed? */
static bool has_queue (const struct dn_lookback *lookback)
{
    return lookback->queue.sim.n_pools > 0 && !dn_lookback_is_unlike (lookback);
}

static void add_unlike (struct dn_buf *buf, const struct dn_lookback *lookback)
{
    dn_buf_add (buf, "The simulated wait without dnnest is far from what it was: ");
    add_minutes (buf, lookback->waited_s);
    dn_buf_add (buf, " min. ");
}

static void write_wait_card (FILE *file, const struct dn_lookback *lookback)
{
    const struct dn_clustered_mean *wait = &lookback->wait;
    bool unlike = dn_lookback_is_unlike (lookback);
    bool known = has_queue (lookback) && isfinite (wait->low);
    char answer[64];
    char text[CARD_MAX];
    struct dn_buf said = dn_buf_on (answer, sizeof (answer));
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (known) {
        add_minutes (&said, wait->mean);
        dn_buf_add (&said, " min");
        dn_buf_add (&buf, "95 %% interval ");
        add_minutes (&buf, wait->low);
        dn_buf_add (&buf, " to ");
        add_minutes (&buf, wait->high);
        dn_buf_add (&buf, ", simulated, by %" PRId64 " owners. ", wait->n_clusters);
    } else {
        dn_buf_add (&said, "not known");
        if (unlike)
            add_unlike (&buf, lookback);
        else
            dn_buf_add (&buf, "It takes the nodes, and jobs of two owners. ");
    }
    dn_buf_add (&buf, "The mean wait was ");
    add_minutes (&buf, lookback->wait_s.mean);
    dn_buf_add (&buf, " min");
    dn_page_card (file,
                  !known           ? "fair"
                  : wait->high < 0 ? "good"
                  : wait->low > 0  ? "bad"
                                   : "",
                  "Wait with dnnest less without",
                  "owners",
                  answer,
                  text);
}

static void write_owners_card (FILE *file, const struct dn_lookback *lookback)
{
    bool known = has_queue (lookback);
    char answer[64];
    char text[CARD_MAX];
    struct dn_buf said = dn_buf_on (answer, sizeof (answer));
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (known) {
        dn_buf_add (
            &said, "%" PRId64 " of %" PRId64, lookback->later, lookback->owners);
        dn_buf_add (&buf,
                    "owners, whose jobs would end 2 %% later; %" PRId64
                    " end 2 %% sooner, the others neither",
                    lookback->sooner);
    } else {
        dn_buf_add (&said, "not known");
        if (dn_lookback_is_unlike (lookback))
            add_unlike (&buf, lookback);
        else
            dn_buf_add (&buf, "It takes the nodes (--nodes)");
    }
    dn_page_card (file,
                  !known                ? "fair"
                  : lookback->later > 0 ? "bad"
                                        : "good",
                  "Who would lose",
                  "owners",
                  answer,
                  text);
}

/* --- tables ----------------------------------------------------------------------- */

static void add_rule (struct dn_grid *grid,
                      const char *what,
                      int64_t jobs,
                      double asked,
                      double set)
{
    dn_grid_add (grid, "%s", what);
    dn_grid_add (grid, "%s", dn_report_count (jobs).text);
    dn_grid_add (grid, "%s", dn_show_number (asked).text);
    dn_grid_add (grid, "%s", dn_show_number (set).text);
}

static int write_rules (FILE *file, struct dn_lookback *lookback)
{
    static const struct dn_page_jobs killed = {
        "killed",
        "Would be killed",
        "those with most GPU hours first",
        {"limit ", ", ran "},
    };
    static const struct dn_page_jobs lowered = {
        "lowered",
        "Limits lowered",
        "those with most GPU hours less first",
        {"limit ", " -> "},
    };
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of ("CHANGED|JOBS>|HOURS REQUESTED>|SET>");
    const struct dn_replay_sums *sums = dn_replay_sums (lookback->replay, 0);

    add_rule (&grid,
              "time limits, GPU hours",
              sums->lowered,
              sums->asked_gpu_h,
              sums->set_gpu_h);
    add_rule (&grid, "CPUs", sums->fewer_cpus, sums->asked_cpu_h, sums->set_cpu_h);
    add_rule (&grid,
              "host memory, GiB hours",
              sums->less_memory,
              sums->asked_mem_h,
              sums->set_mem_h);
    fprintf (
        file,
        "<h2 id=\"rules\">By these rules, with dnnest:auto in every job</h2>\n<p "
        "class=\"soft\">Each job by the runs that had ended before it. The guard would "
        "extend %s limits, and %s jobs would be killed. ",
        dn_report_count (sums->extended).text,
        dn_report_count (sums->killed).text);
    fputs ("GPU types are not counted: accounting does not tell which a job could "
           "use.</p>\n",
           file);
    if (dn_html_table (file, &grid) != DN_EXIT_DONE)
        return DN_EXIT_BUG;
    dn_page_jobs (file, &killed, &lookback->killed);
    dn_page_jobs (file, &lowered, &lookback->lowered);
    return DN_EXIT_DONE;
}

static void add_owners (struct dn_grid *grid,
                        const char *what,
                        const struct dn_lookback_owners *owners,
                        bool names)
{
    for (int i = 0; i < owners->n; i++) {
        const struct dn_lookback_owner *owner = &owners->list[i];

        dn_grid_add (grid, "%s", dn_lookback_owner_name (owner, i, names).text);
        dn_grid_add (grid, "%s", what);
        dn_grid_add (grid, "%s", dn_report_count (owner->jobs).text);
        dn_grid_add (grid, "%s", dn_show_number (owner->before_s / 60).text);
        dn_grid_add (grid, "%s", dn_show_number (owner->after_s / 60).text);
    }
}

static int write_owners (FILE *file, const struct dn_lookback *lookback, bool names)
{
    static const struct dn_page_jobs delayed = {
        "delayed",
        "Jobs that end later",
        "by how much, from submission to end",
        {"", " -> "},
    };
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of ("OWNER|ENDS|JOBS>|MINUTES AS IT WAS>|WITH DNNEST>");

    add_owners (&grid, "later", &lookback->losers, names);
    add_owners (&grid, "sooner", &lookback->gainers, names);
    fputs (
        "<h2 id=\"owners\">Who loses and gains most</h2>\n<p class=\"soft\">Mean time "
        "from submission to end, in two simulated queues of the same jobs and "
        "nodes. <code>--jobs=FILE</code> writes a row of each.</p>\n",
        file);
    if (dn_html_table (file, &grid) != DN_EXIT_DONE)
        return DN_EXIT_BUG;
    dn_page_jobs (file, &delayed, &lookback->delayed);
    return DN_EXIT_DONE;
}

/* --- the page --------------------------------------------------------------------- */

static int write_page (FILE *file, struct dn_lookback *lookback, bool names)
{
    dn_cleanup (dn_grid_free) struct dn_grid hours = dn_lookback_hours_grid (lookback);
    char title[128];
    struct dn_buf buf = dn_buf_on (title, sizeof (title));
    int rc;

    dn_buf_add (&buf, "What past jobs used, %s", dn_when_day (lookback->first_s).text);
    dn_buf_add (&buf, " to %s", dn_when_day (lookback->last_s).text);
    dn_page_head (file, title);
    fprintf (file,
             "<p class=\"soft\">%s jobs with GPUs, ",
             dn_report_count (lookback->jobs_n).text);
    fprintf (file,
             "%s others. Nothing was changed.</p>\n<div class=\"cards\">\n",
             dn_report_count (lookback->jobs.n_others).text);
    write_owners_card (file, lookback);
    write_wait_card (file, lookback);
    write_hours_card (file, lookback);
    write_repeats_card (file, lookback);
    fprintf (
        file,
        "</div>\n<h2 id=\"hours\">Hours</h2>\n<p class=\"soft\">KNOWN: of which share "
        "of the hours both are known. Limits are %s times the run time in the median; ",
        dn_show_number (dn_spread_quantile (&lookback->looseness, 0.5)).text);
    fprintf (file,
             "%s jobs ended at theirs.</p>\n",
             dn_report_count (lookback->at_limit).text);
    rc = dn_html_table (file, &hours);
    rc |= write_rules (file, lookback);
    rc |= write_owners (file, lookback, names);
    fputs ("</main></body></html>\n", file);
    return rc;
}

int dn_lookback_html (struct dn_lookback *lookback,
                      bool names,
                      const char *path,
                      struct dn_err *err)
{
    dn_cleanup (dn_replace_free) struct dn_replace out = {.file = NULL};

    if (dn_replace_open (&out, path, err) < 0)
        return -1;
    if (write_page (out.file, lookback, names) != DN_EXIT_DONE)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    return dn_replace_finish (&out, err);
}
