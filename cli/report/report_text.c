/* report_text.c - a report for a terminal of 100 columns
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common.h"
#include "output/rows.h"
#include "report/page.h"
#include "report/when.h"

/* Names come from users: 28 printable characters. */
static void add_name (struct dn_grid *grid, const char *name)
{
    size_t len = strlen (name);

    dn_grid_add (grid, "%s", dn_quote (name, len < 28 ? len : 28).text);
}

static void add_number (struct dn_grid *grid, double value)
{
    dn_grid_add (grid, "%s", dn_show_number (value).text);
}

static void add_share (struct dn_grid *grid, double share)
{
    dn_grid_add (grid, "%s", dn_show_share (share).text);
}

static void print_head (const struct dn_report *report)
{
    const struct dn_sums_part *all = &report->sums->all;
    char modes[96];
    struct dn_buf buf = dn_buf_on (modes, sizeof (modes));

    dn_report_modes (report, &buf);
    if (all->seen > 0)
        printf ("%s, mode %s, jobs that ended %s to %s\n",
                dn_quote (report->clusters, strlen (report->clusters)).text,
                modes,
                dn_when_day (report->sums->first_s).text,
                dn_when_day (report->sums->last_s).text);
    printf ("%s finished jobs, ", dn_show_number ((double) all->seen).text);
    printf ("%s had metadata, ", dn_show_number ((double) all->described).text);
    printf ("dnnest changed %s, ", dn_show_number ((double) all->changed).text);
    printf ("%s ran\n\n", dn_show_number ((double) all->ran).text);
}

/* Print a table, or write it into the page. */
static int show (const struct dn_report *report, const struct dn_grid *grid)
{
    return report->page ? dn_html_table (report->page, grid) : dn_grid_print (grid);
}

/* The same of rows, which are put. */
static int show_rows (const struct dn_report *report,
                      struct json_object *rows,
                      const char *columns)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_rows_grid (rows, columns);

    json_object_put (rows);
    return show (report, &grid);
}

/* --- harm ------------------------------------------------------------------------- */

int dn_report_harms (const struct dn_report *report)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of ("ENDED WORSE THAN REQUESTED|JOBS>|UNKNOWN>|BECAUSE");

    for (int i = 0; i < DN_N_HARMS; i++) {
        enum dn_harm_kind kind = (enum dn_harm_kind) i;
        const struct dn_harm_sum *sum = &report->harm->of[i];
        const char *why = dn_report_unknown (report, kind);

        dn_grid_add (&grid, "%s", dn_report_harm (kind));
        dn_grid_add (&grid, "%s", dn_report_harmed (report, kind).text);
        dn_grid_tint (&grid,
                      sum->harmed > 0                   ? DN_TINT_BAD
                      : dn_report_looked (report, kind) ? DN_TINT_GOOD
                                                        : DN_TINT_DOUBTFUL);
        add_number (&grid, why && sum->unknown == 0 ? NAN : (double) sum->unknown);
        dn_grid_add (&grid, "%s", why ? why : "");
    }
    return show (report, &grid);
}

/* The numbers of those that perhaps were. */
static void print_perhaps (const struct dn_harm *harm)
{
    if (harm->n_perhaps == 0)
        return;
    printf ("\nperhaps, too: %s failed;",
            dn_show_number ((double) harm->n_perhaps).text);
    for (int64_t i = 0; i < harm->n_perhaps && i < DN_REPORT_WIDE; i++) {
        const char *job = harm->jobs[harm->n_harmed + i].job;

        printf (" %s", dn_quote (job, strlen (job)).text);
    }
    printf ("%s\n", harm->n_perhaps > DN_REPORT_WIDE ? " ... (--json)" : "");
}

int dn_report_harm_jobs (const struct dn_report *report)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of ("JOB>|APPLICATION|WHAT HAPPENED");
    const struct dn_harm *harm = report->harm;
    char happened[400];

    if (report->names)
        dn_grid_head (&grid, "USER");
    for (int64_t i = 0; i < harm->n_harmed && i < DN_REPORT_ROWS; i++) {
        const struct dn_harm_job *job = &harm->jobs[i];
        struct dn_buf buf = dn_buf_on (happened, sizeof (happened));

        dn_report_happened (job, &buf);
        add_name (&grid, job->job);
        add_name (&grid, job->app);
        dn_grid_add (&grid, "%s", happened);
        if (report->names)
            add_name (&grid, job->user);
    }
    if (harm->n_harmed > 0)
        printf ("\n%s harmed; 'dnnest status JOB' has the rest of each:\n",
                dn_show_number ((double) harm->n_harmed).text);
    if (harm->n_harmed > 0 && dn_grid_print (&grid) != DN_EXIT_DONE)
        return DN_EXIT_BUG;
    if (harm->n_harmed > DN_REPORT_ROWS)
        printf ("the first %d; --json has all\n", DN_REPORT_ROWS);
    print_perhaps (harm);
    return DN_EXIT_DONE;
}

int dn_report_freed (const struct dn_report *report)
{
    const struct dn_freed *freed = &report->freed;
    const char *why = dn_report_not_freed (report);

    printf ("\nGPU hours that others got beside changed jobs: %s%s\n",
            why ? "not known: " : "",
            why ? why : dn_show_number (freed->gpu_hours).text);
    if (!why && freed->n_jobs > 0)
        printf ("at least, by %" PRId64 " jobs beside %" PRId64 " changed\n",
                freed->n_jobs,
                freed->n_made);
    printf ("\n");
    return DN_EXIT_DONE;
}

/* --- amounts ---------------------------------------------------------------------- */

int dn_report_amounts (const struct dn_report *report)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of ("|REQUESTED>|GRANTED>|USED>|SAVED>|OF REQUESTED>");
    const struct dn_sums_part *all = &report->sums->all;

    for (int q = 0; q < DN_N_MEASURES; q++) {
        const struct dn_amount *amount = &all->amounts[q];

        if ((q == DN_MEASURE_MONEY && !report->prices)
            || (q >= DN_MEASURE_BY_CPUS && !report->sums->cluster))
            continue;
        dn_grid_add (&grid, "%s", dn_report_quantity ((enum dn_measure) q));
        add_number (&grid, amount->requested);
        add_number (&grid, amount->granted);
        add_number (&grid, amount->used);
        add_number (&grid, amount->saved);
        add_share (&grid, dn_report_ratio (amount->saved, amount->requested));
    }
    return show (report, &grid);
}

static void print_events (const struct dn_report *report)
{
    const struct dn_sums_part *all = &report->sums->all;

    if (all->measured > 0)
        printf ("energy: %s kWh used by the %" PRId64 " jobs whose energy is known\n",
                dn_show_number (all->energy_kwh).text,
                all->measured);
    printf ("jobs killed at their users' own limit: %" PRId64 "\n", all->killed_user);
    printf ("limits extended: %" PRId64 " times, of %" PRId64
            " jobs; jobs started again as requested: %" PRId64 "\n",
            all->extensions,
            all->extended,
            all->rescued);
    if (all->forecasts > 0)
        printf ("waits that were expected within a factor of two: %" PRId64
                " of %" PRId64 " jobs\n",
                all->forecasts_near,
                all->forecasts);
    if (report->stranded_cpus != DN_UNSET)
        printf ("idle GPUs now without enough idle CPUs: %" PRId64
                "; without enough idle memory: %" PRId64 "\n",
                report->stranded_cpus,
                report->stranded_mem);
    printf ("\n");
}

int dn_report_judged (const struct dn_report *report)
{
    static const char *const names[] = {"without history", "with history", "all"};
    struct json_object *rows = json_object_new_array ();

    for (int i = 0; i < DN_N_SUMS_OF; i++) {
        struct json_object *row = dn_json_append_object (rows);

        dn_json_add_text (row, "of", names[i]);
        dn_report_put_judged (row, &report->sums->judged[i]);
    }
    return show_rows (report,
                      rows,
                      "PREDICTED TIME=of|JOBS>=jobs number|KNOWN OF>=known number|"
                      "MEDIAN ERROR>=median_error share|"
                      "WITHIN BOUND>=within_bound share|PROMISED>=promised share|"
                      "WITHIN 95 %>=within_p95 share");
}

static void add_effect (struct dn_grid *grid,
                        const struct dn_effect *effect,
                        enum dn_effect_of which)
{
    double scale = which == DN_EFFECT_FAILED         ? 0.01
                   : dn_effect_is_difference (which) ? 60
                                                     : 1;
    const char *sign = dn_effect_is_difference (which) ? "" : "x ";

    dn_grid_add (grid, "%s", dn_report_effect (which));
    dn_grid_add (grid, "%" PRId64 " / %" PRId64, effect->n_control, effect->n_changed);
    add_number (grid, effect->n_control > 0 ? effect->control / scale : NAN);
    add_number (grid, effect->n_changed > 0 ? effect->changed / scale : NAN);
    if (effect->known)
        dn_grid_add (grid,
                     "%s%s (%s to %s)",
                     sign,
                     dn_show_number (effect->value / scale).text,
                     dn_show_number (effect->low / scale).text,
                     dn_show_number (effect->high / scale).text);
    else
        dn_grid_add (grid, "too few jobs or applications");
    add_number (grid, (double) effect->n_clusters);
    add_number (grid, effect->known ? effect->needed : NAN);
}

int dn_report_effects (const struct dn_report *report)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (
        "AGAINST CONTROL GROUP|JOBS>|CONTROL>|CHANGED>|EFFECT (95 % INTERVAL)>|"
        "APPS>|NEEDS>");

    for (int i = 0; i < DN_N_EFFECTS; i++) {
        struct dn_effect effect = dn_sums_effect (report->sums, (enum dn_effect_of) i);

        add_effect (&grid, &effect, (enum dn_effect_of) i);
    }
    return show (report, &grid);
}

int dn_report_kept (const struct dn_report *report)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of ("JOBS>|NOT CHANGED, BECAUSE");

    for (int i = 0; i < report->sums->n_kept; i++) {
        const char *why = report->sums->kept[i].why;

        add_number (&grid, (double) report->sums->kept[i].jobs);
        dn_grid_add (&grid, "%.80s", why);
    }
    return show (report, &grid);
}

int dn_report_wasted (const struct dn_report *report, enum dn_waste waste)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of ("USER|NOT USED>|OF ALL>");
    struct dn_groups *users = &report->sums->users;
    double all = report->sums->all.wasted[waste];

    if (!(all > 0))
        return DN_EXIT_DONE;
    dn_groups_sort (users, dn_sums_part_wasted, (int) waste);
    for (int64_t i = 1; i < users->n && i <= DN_REPORT_WIDE; i++) {
        add_name (&grid, dn_report_name (report, &users->groups[i], true).text);
        add_number (&grid, users->groups[i].part.wasted[waste]);
        add_share (&grid, users->groups[i].part.wasted[waste] / all);
    }
    fprintf (report->page ? report->page : stdout,
             report->page ? "<p>%s: %s</p>\n" : "\n%s: %s\n",
             dn_report_waste (waste),
             dn_show_number (all).text);
    return show (report, &grid);
}

int dn_report_idle (const struct dn_report *report)
{
    int64_t n = dn_idle_end (&report->sums->idle);

    if (n == 0)
        return DN_EXIT_DONE;
    fprintf (report->page ? report->page : stdout,
             report->page ? "<p>%s: %" PRId64 "</p>\n" : "\n%s: %" PRId64 "\n",
             "applications that used fewer GPUs than their jobs had",
             n);
#define IDLE                                                                           \
    "APPLICATION=app name|LAST JOB>=last_job name|RUNS>=runs number|"                  \
    "GPUS>=gpus number|USED>=gpus_used number|GPU HOURS IDLE>=gpu_hours number"
    return show_rows (report,
                      dn_report_idle_rows (report, DN_REPORT_ROWS),
                      report->names ? IDLE "|USER=user name" : IDLE);
#undef IDLE
}

int dn_report_groups (const struct dn_report *report)
{
    static const char columns[] =
        "JOBS>=jobs number|CHANGED>=changed number|"
        "GPU HOURS REQ.>=gpu_hours_requested number|GRANTED>=gpu_hours_granted number|"
        "USED>=gpu_hours_used number|SAVED>=gpu_hours_saved number";
    const struct dn_groups *groups = &report->sums->groups;
    char text[sizeof (columns) + DN_NAME_MAX];

    if (report->sums->by == DN_GROUPED_BY_NONE || groups->n == 0)
        return DN_EXIT_DONE;
    if (!report->page)
        printf ("\n");
    if (!report->page && groups->n - 1 > DN_REPORT_ROWS)
        printf ("the first %d of %" PRId64 ", by GPU hours requested:\n",
                DN_REPORT_ROWS,
                groups->n - 1);
    snprintf (text,
              sizeof (text),
              "%s=name name|%s",
              dn_names_get (&dn_by_names, (int) report->sums->by),
              columns);
    return show_rows (report, dn_report_group_rows (report, DN_REPORT_ROWS), text);
}

/* --- what to write next time ------------------------------------------------------ */

static void print_own (const struct dn_own_app *app)
{
    size_t len = strlen (app->name);

    printf ("\n# %s: %" PRId64 " runs", dn_quote (app->name, len).text, app->runs);
    printf (", the last named %s\n", dn_quote (app->job, strlen (app->job)).text);
    if (app->limit_s == 0) {
        printf ("# fewer than two of them completed: nothing is known yet\n");
        return;
    }
    printf ("#SBATCH --time=%s  # your last %d runs took %s",
            dn_time_write (app->limit_s).text,
            app->n,
            dn_show_time (app->shortest_s).text);
    printf (" to %s%s\n",
            dn_show_time (app->longest_s).text,
            app->exact ? "" : ", and some were killed at their limit");
    if (app->request_cpus > 0 && app->gpus > 0)
        printf ("#SBATCH --cpus-per-gpu=%" PRId64 "  # at most %s of %" PRId64
                " CPUs were busy\n",
                (app->request_cpus + app->gpus - 1) / app->gpus,
                dn_show_number (app->busy_cpus).text,
                app->cpus);
    else if (app->request_cpus > 0)
        printf ("# at most %s of %" PRId64 " CPUs were busy: request %" PRId64 "\n",
                dn_show_number (app->busy_cpus).text,
                app->cpus,
                app->request_cpus);
    if (app->busy_gpus < 0.3)
        printf ("# the GPUs were busy %s of the time\n",
                dn_show_share (app->busy_gpus).text);
}

static void print_apps (const struct dn_report *report)
{
    if (!report->me)
        return;
    printf ("\nWhat to write next time:\n");
    if (report->n_apps == 0)
        printf ("nothing is known yet: no job with an application (app=)\n");
    for (int i = 0; i < report->n_apps; i++)
        print_own (&report->apps[i]);
}

int dn_report_text (struct dn_report *report)
{
    static int (*const tables[]) (const struct dn_report *) = {
        dn_report_effects, dn_report_judged, dn_report_amounts};
    int rc;

    print_head (report);
    if (report->sums->all.seen == 0) {
        printf ("No finished job in the period, or none collected yet"
                " (dnnestd collect).\n");
        return DN_EXIT_DONE;
    }
    rc = dn_report_harms (report);
    rc = rc == DN_EXIT_DONE ? dn_report_harm_jobs (report) : rc;
    rc = rc == DN_EXIT_DONE ? dn_report_freed (report) : rc;
    for (size_t i = 0; i < DN_N_ELEMENTS (tables) && rc == DN_EXIT_DONE; i++) {
        rc = tables[i](report);
        printf ("\n");
    }
    print_events (report);
    rc = rc == DN_EXIT_DONE ? dn_report_kept (report) : rc;
    for (int w = 0; w < DN_N_WASTES && rc == DN_EXIT_DONE; w++)
        rc = dn_report_wasted (report, (enum dn_waste) w);
    rc = rc == DN_EXIT_DONE ? dn_report_idle (report) : rc;
    rc = rc == DN_EXIT_DONE ? dn_report_groups (report) : rc;
    print_apps (report);
    return rc;
}
