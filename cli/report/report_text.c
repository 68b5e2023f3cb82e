/* report_text.c - a report for a terminal of 100 columns
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common.h"
#include "output/grid.h"
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
    dn_grid_add (grid, "%s", dn_report_number (value).text);
}

static void add_share (struct dn_grid *grid, double share)
{
    dn_grid_add (grid, "%s", dn_report_share (share).text);
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
    printf ("%s finished jobs, ", dn_report_number ((double) all->seen).text);
    printf ("%s had metadata, ", dn_report_number ((double) all->described).text);
    printf ("dnnest changed %s, ", dn_report_number ((double) all->changed).text);
    printf ("%s ran\n\n", dn_report_number ((double) all->ran).text);
}

/* Print a table, or write it into the page. */
static int show (const struct dn_report *report, const struct dn_grid *grid)
{
    return report->page ? dn_html_table (report->page, grid) : dn_grid_print (grid);
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
            dn_report_number ((double) harm->n_perhaps).text);
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
                dn_report_number ((double) harm->n_harmed).text);
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
            why ? why : dn_report_number (freed->gpu_hours).text);
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
                dn_report_number (all->energy_kwh).text,
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
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (
        "PREDICTED TIME|JOBS>|KNOWN OF>|MEDIAN ERROR>|WITHIN BOUND>|PROMISED>|"
        "WITHIN 95 %>");

    for (int i = 0; i < DN_N_SUMS_OF; i++) {
        struct dn_sums_judged *judged = &report->sums->judged[i];

        dn_grid_add (&grid, "%s", names[i]);
        add_number (&grid, (double) judged->predicted);
        add_number (&grid, (double) judged->n);
        add_share (&grid, dn_report_error (judged));
        add_share (
            &grid,
            dn_report_ratio ((double) judged->within_bound, (double) judged->n_bound));
        add_share (&grid,
                   dn_report_ratio (judged->promised, (double) judged->n_promised));
        add_share (
            &grid,
            dn_report_ratio ((double) judged->within_p95, (double) judged->n_p95));
    }
    return show (report, &grid);
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
                     dn_report_number (effect->value / scale).text,
                     dn_report_number (effect->low / scale).text,
                     dn_report_number (effect->high / scale).text);
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
             dn_report_number (all).text);
    return show (report, &grid);
}

int dn_report_idle (const struct dn_report *report)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of ("APPLICATION|LAST JOB>|RUNS>|GPUS>|USED>|GPU HOURS IDLE>");
    int64_t n = dn_idle_end (&report->sums->idle);

    if (n == 0)
        return DN_EXIT_DONE;
    if (report->names)
        dn_grid_head (&grid, "USER");
    for (int64_t i = 0; i < n && i < DN_REPORT_ROWS; i++) {
        const struct dn_idle_app *app = &report->sums->idle.apps[i];

        add_name (&grid, app->app);
        add_name (&grid, app->job);
        add_number (&grid, (double) app->runs);
        add_number (&grid, (double) app->gpus);
        add_number (&grid, (double) app->used);
        add_number (&grid, app->gpu_hours);
        if (report->names)
            add_name (&grid, app->user);
    }
    fprintf (report->page ? report->page : stdout,
             report->page ? "<p>%s: %" PRId64 "</p>\n" : "\n%s: %" PRId64 "\n",
             "applications that used fewer GPUs than their jobs had",
             n);
    return show (report, &grid);
}

static void add_group (const struct dn_report *report,
                       struct dn_grid *grid,
                       const struct dn_sums_group *group)
{
    const struct dn_amount *gpu = &group->part.amounts[DN_MEASURE_GPU_HOURS];
    bool is_user = report->sums->by == DN_GROUPED_BY_USER;

    add_name (grid, dn_report_name (report, group, is_user).text);
    add_number (grid, (double) group->part.seen);
    add_number (grid, (double) group->part.changed);
    add_number (grid, gpu->requested);
    add_number (grid, gpu->granted);
    add_number (grid, gpu->used);
    add_number (grid, gpu->saved);
}

int dn_report_groups (const struct dn_report *report)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of (dn_names_get (&dn_by_names, (int) report->sums->by));
    struct dn_groups *groups = &report->sums->groups;

    if (report->sums->by == DN_GROUPED_BY_NONE || groups->n == 0)
        return DN_EXIT_DONE;
    dn_grid_head (&grid, "JOBS>|CHANGED>|GPU HOURS REQ.>|GRANTED>|USED>|SAVED>");
    dn_groups_sort (groups, dn_sums_part_gpu_hours, 0);
    for (int64_t i = 1; i < groups->n && i <= DN_REPORT_ROWS; i++)
        add_group (report, &grid, &groups->groups[i]);
    if (groups->groups[0].part.seen > 0)
        add_group (report, &grid, &groups->groups[0]);
    if (!report->page)
        printf ("\n");
    if (!report->page && groups->n - 1 > DN_REPORT_ROWS)
        printf ("the first %d of %" PRId64 ", by GPU hours requested:\n",
                DN_REPORT_ROWS,
                groups->n - 1);
    return show (report, &grid);
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
                dn_report_number (app->busy_cpus).text,
                app->cpus);
    else if (app->request_cpus > 0)
        printf ("# at most %s of %" PRId64 " CPUs were busy: request %" PRId64 "\n",
                dn_report_number (app->busy_cpus).text,
                app->cpus,
                app->request_cpus);
    if (app->busy_gpus < 0.3)
        printf ("# the GPUs were busy %s of the time\n",
                dn_report_share (app->busy_gpus).text);
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
