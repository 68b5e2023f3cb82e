/* report_json.c - a report as JSON, and its groups as CSV
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "report/report.h"

#include <math.h>

#include "common.h"

/* --- JSON ------------------------------------------------------------------------- */

static void put_figure (void *to, const char *name, double value)
{
    dn_json_add_signed (to, name, value);
}

static void put_time (struct json_object *to, const char *key, int64_t time_s)
{
    dn_json_add_count (to, key, time_s > 0 ? time_s : -1);
}

static void put_share (struct json_object *to, const char *key, int64_t a, int64_t b)
{
    dn_json_add_signed (to, key, dn_report_ratio ((double) a, (double) b));
}

void dn_report_put_judged (struct json_object *row, struct dn_sums_judged *judged)
{
    dn_json_add_count (row, "jobs", judged->predicted);
    dn_json_add_count (row, "known", judged->n);
    dn_json_add_signed (row, "median_error", dn_report_error (judged));
    dn_json_add_count (row, "with_bound", judged->n_bound);
    put_share (row, "within_bound", judged->within_bound, judged->n_bound);
    dn_json_add_signed (
        row,
        "promised",
        dn_report_ratio (judged->promised, (double) judged->n_promised));
    dn_json_add_count (row, "with_p95", judged->n_p95);
    put_share (row, "within_p95", judged->within_p95, judged->n_p95);
}

static void put_harm_job (struct json_object *array,
                          const struct dn_report *report,
                          const struct dn_harm_job *job)
{
    struct json_object *row = dn_json_append_object (array);
    struct json_object *kinds;
    char happened[400];
    struct dn_buf buf = dn_buf_on (happened, sizeof (happened));

    dn_report_happened (job, &buf);
    dn_json_add_text (row, "job", job->job);
    kinds = dn_json_add_array (row, "kinds");
    for (int kind = 0; kind < DN_N_HARMS; kind++)
        if (job->harm & 1U << kind)
            json_object_array_add (
                kinds, json_object_new_string (dn_names_get (&dn_harm_names, kind)));
    dn_json_add_text (row, "happened", happened);
    dn_json_add_text (row, "app", job->app);
    if (report->names)
        dn_json_add_text (row, "user", job->user);
    put_time (row, "end", job->end_s);
}

/* First of all: who was harmed. */
static void put_harm (struct json_object *json, const struct dn_report *report)
{
    const struct dn_harm *harm = report->harm;
    struct json_object *to = dn_json_add_object (json, "harm");
    struct json_object *kinds = dn_json_add_object (to, "kinds");
    struct json_object *jobs;

    dn_json_add_count (to, "harmed", harm->n_harmed);
    dn_json_add_count (to, "changed", harm->changed);
    dn_json_add_count (to, "moved", harm->moved);
    for (int i = 0; i < DN_N_HARMS; i++) {
        enum dn_harm_kind kind = (enum dn_harm_kind) i;
        struct json_object *row =
            dn_json_add_object (kinds, dn_names_get (&dn_harm_names, i));

        dn_json_add_count (row,
                           "harmed",
                           dn_report_looked (report, kind) ? harm->of[i].harmed
                                                           : DN_UNSET);
        dn_json_add_count (row, "looked", harm->of[i].looked);
        dn_json_add_count (row, "unknown", harm->of[i].unknown);
        dn_json_add_text (row, "because", dn_report_unknown (report, kind));
    }
    jobs = dn_json_add_array (to, "jobs");
    for (int64_t i = 0; i < harm->n_harmed; i++)
        put_harm_job (jobs, report, &harm->jobs[i]);
    jobs = dn_json_add_array (to, "perhaps");
    for (int64_t i = 0; i < harm->n_perhaps; i++)
        put_harm_job (jobs, report, &harm->jobs[harm->n_harmed + i]);
}

static void put_freed (struct json_object *json, const struct dn_report *report)
{
    const struct dn_freed *freed = &report->freed;
    const char *why = dn_report_not_freed (report);
    struct json_object *to = dn_json_add_object (json, "freed");
    struct json_object *array;

    dn_json_add_signed (to, "gpu_hours", why ? NAN : freed->gpu_hours);
    dn_json_add_text (to, "because", why);
    dn_json_add_count (to, "got_by_jobs", freed->n_jobs);
    dn_json_add_count (to, "made_by_jobs", freed->n_made);
    array = dn_json_add_array (to, "most");
    for (int64_t i = 0; !why && i < freed->n_jobs && i < DN_REPORT_ROWS; i++) {
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (row, "job", freed->runs[i].job);
        dn_json_add_signed (row, "gpu_hours", freed->runs[i].hours);
    }
}

static void put_effects (struct json_object *json, struct dn_report *report)
{
    struct json_object *array = dn_json_add_array (json, "effects");

    for (int i = 0; i < DN_N_EFFECTS; i++) {
        struct dn_effect effect = dn_sums_effect (report->sums, (enum dn_effect_of) i);
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (row, "of", dn_names_get (&dn_effect_names, i));
        dn_json_add_count (row, "control_jobs", effect.n_control);
        dn_json_add_count (row, "changed_jobs", effect.n_changed);
        dn_json_add_signed (
            row, "control", effect.n_control > 0 ? effect.control : NAN);
        dn_json_add_signed (
            row, "changed", effect.n_changed > 0 ? effect.changed : NAN);
        dn_json_add_signed (row, "control_median", effect.control_median);
        dn_json_add_signed (row, "changed_median", effect.changed_median);
        dn_json_add_signed (row, "effect", effect.known ? effect.value : NAN);
        dn_json_add_signed (row, "low", effect.known ? effect.low : NAN);
        dn_json_add_signed (row, "high", effect.known ? effect.high : NAN);
        dn_json_add_count (row, "applications", effect.n_clusters);
        dn_json_add_real (
            row, "jobs_to_see_a_tenth", effect.known ? effect.needed : NAN);
    }
}

static void put_kept (struct json_object *json, const struct dn_sums *sums)
{
    struct json_object *array = dn_json_add_array (json, "kept");

    for (int i = 0; i < sums->n_kept; i++) {
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (row, "why", sums->kept[i].why);
        dn_json_add_count (row, "jobs", sums->kept[i].jobs);
    }
}

static void put_weeks (struct json_object *json, const struct dn_sums *sums)
{
    struct json_object *array = dn_json_add_array (json, "weeks");

    for (int i = 0; i < sums->n_weeks; i++) {
        const struct dn_week *week = &sums->weeks[i];
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_count (row, "start", week->start_s);
        dn_json_add_count (row, "jobs", week->jobs);
        dn_json_add_count (row, "changed", week->changed);
        dn_json_add_signed (row, "saved_hours", week->saved_hours);
        dn_json_add_signed (row, "saved_gpu_hours", week->saved_gpu_hours);
        put_share (row, "within_bound", week->within_bound, week->n_bound);
        put_share (row, "within_p95", week->within_p95, week->n_p95);
        dn_json_add_signed (row,
                            "mean_log_error",
                            dn_report_ratio (week->error, (double) week->n_error));
    }
}

static void put_waste (struct json_object *json, const struct dn_report *report)
{
    struct dn_sums *sums = report->sums;
    struct json_object *to = dn_json_add_object (json, "waste");

    for (int w = 0; w < DN_N_WASTES; w++) {
        struct json_object *array =
            dn_json_add_array (to, dn_names_get (&dn_waste_names, w));

        dn_groups_sort (&sums->users, dn_sums_part_wasted, w);
        for (int64_t i = 1; i < sums->users.n && i <= DN_REPORT_WIDE; i++) {
            const struct dn_sums_group *user = &sums->users.groups[i];
            struct json_object *row;

            if (!(user->part.wasted[w] > 0))
                break;
            row = dn_json_append_object (array);
            dn_json_add_text (row, "user", dn_report_name (report, user, true).text);
            dn_json_add_signed (row, "hours", user->part.wasted[w]);
        }
    }
}

struct json_object *dn_report_idle_rows (const struct dn_report *report, int64_t most)
{
    struct dn_idle *idle = &report->sums->idle;
    struct json_object *array = json_object_new_array ();
    int64_t n = dn_idle_end (idle);

    for (int64_t i = 0; i < n && i < most; i++) {
        const struct dn_idle_app *app = &idle->apps[i];
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (row, "app", app->app);
        if (report->names)
            dn_json_add_text (row, "user", app->user);
        dn_json_add_text (row, "last_job", app->job);
        dn_json_add_count (row, "runs", app->runs);
        dn_json_add_count (row, "gpus", app->gpus);
        dn_json_add_count (row, "gpus_used", app->used);
        dn_json_add_signed (row, "gpu_hours", app->gpu_hours);
    }
    return array;
}

static void put_group (struct json_object *array,
                       const struct dn_report *report,
                       const struct dn_sums_group *group)
{
    struct json_object *row = dn_json_append_object (array);
    bool is_user = report->sums->by == DN_GROUPED_BY_USER;

    dn_json_add_text (row, "name", dn_report_name (report, group, is_user).text);
    dn_report_figures (&group->part, put_figure, row);
}

struct json_object *dn_report_group_rows (const struct dn_report *report, int64_t most)
{
    struct dn_sums *sums = report->sums;
    struct json_object *array = json_object_new_array ();

    dn_groups_sort (&sums->groups, dn_sums_part_gpu_hours, 0);
    for (int64_t i = 1; i < sums->groups.n && i <= most; i++)
        put_group (array, report, &sums->groups.groups[i]);
    if (sums->groups.n > 0 && sums->groups.groups[0].part.seen > 0)
        put_group (array, report, &sums->groups.groups[0]);
    return array;
}

static void put_own (struct json_object *json, const struct dn_report *report)
{
    struct json_object *array = dn_json_add_array (json, "applications");

    for (int i = 0; i < report->n_apps; i++) {
        const struct dn_own_app *app = &report->apps[i];
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (row, "app", app->name);
        dn_json_add_count (row, "runs", app->runs);
        dn_json_add_count (row, "looked_at", app->n);
        dn_json_add_signed (row, "shortest_s", app->n > 0 ? app->shortest_s : NAN);
        dn_json_add_signed (row, "longest_s", app->n > 0 ? app->longest_s : NAN);
        dn_json_add_count (row, "asked_s", app->asked_s);
        dn_json_add_count (row, "time_s", app->limit_s > 0 ? app->limit_s : -1);
        dn_json_add_count (row, "cpus", app->request_cpus > 0 ? app->request_cpus : -1);
    }
}

int dn_report_json (struct dn_report *report)
{
    static const char *const judged[] = {"without_history", "with_history", "all"};
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    struct json_object *part;
    struct dn_sums *sums = report->sums;

    char text[512];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    put_harm (json, report);
    put_freed (json, report);
    dn_json_add_text (json, "store", report->store);
    dn_json_add_text (json, "clusters", report->clusters);
    dn_report_modes (report, &buf);
    dn_json_add_text (json, "modes", text);
    buf.len = 0;
    dn_report_rules (report, &buf);
    dn_json_add_text (json, "rules", text);
    put_time (json, "since", report->since_s);
    put_time (json, "until", report->until_s);
    put_time (json, "first_end", sums->first_s);
    put_time (json, "last_end", sums->last_s);
    dn_json_add_bool (json, "prices", report->prices);
    dn_json_add_count (json, "stranded_by_cpus", report->stranded_cpus);
    dn_json_add_count (json, "stranded_by_memory", report->stranded_mem);
    dn_report_figures (&sums->all, put_figure, dn_json_add_object (json, "all"));
    put_kept (json, sums);
    part = dn_json_add_object (json, "predictions");
    for (int i = 0; i < DN_N_SUMS_OF; i++)
        dn_report_put_judged (dn_json_add_object (part, judged[i]), &sums->judged[i]);
    put_effects (json, report);
    put_waste (json, report);
    json_object_object_add (json, "idle_gpus", dn_report_idle_rows (report, INT64_MAX));
    put_weeks (json, sums);
    dn_json_add_text (json, "grouped_by", dn_names_get (&dn_by_names, (int) sums->by));
    json_object_object_add (json, "rows", dn_report_group_rows (report, INT64_MAX));
    put_own (json, report);
    dn_json_print (json);
    return DN_EXIT_DONE;
}

/* --- CSV -------------------------------------------------------------------------- */

static void csv_name (void *to, const char *name, double value)
{
    (void) to;
    (void) value;
    printf (",%s", name);
}

static void csv_value (void *to, const char *name, double value)
{
    (void) to;
    (void) name;
    printf (",%.12g", value);
}

static void csv_row (const char *name, const struct dn_sums_part *part)
{
    dn_csv_cell (stdout, name);
    dn_report_figures (part, csv_value, NULL);
    putchar ('\n');
}

static void csv_group (const struct dn_report *report,
                       const struct dn_sums_group *group)
{
    bool is_user = report->sums->by == DN_GROUPED_BY_USER;

    csv_row (dn_report_name (report, group, is_user).text, &group->part);
}

int dn_report_csv (struct dn_report *report)
{
    struct dn_groups *groups = &report->sums->groups;

    dn_csv_cell (stdout,
                 report->sums->by == DN_GROUPED_BY_NONE
                     ? "group"
                     : dn_names_get (&dn_by_names, (int) report->sums->by));
    dn_report_figures (&report->sums->all, csv_name, NULL);
    putchar ('\n');
    if (report->sums->by == DN_GROUPED_BY_NONE)
        csv_row ("all", &report->sums->all);
    dn_groups_sort (groups, dn_sums_part_gpu_hours, 0);
    for (int64_t i = 1; i < groups->n; i++)
        csv_group (report, &groups->groups[i]);
    if (groups->n > 0 && groups->groups[0].part.seen > 0)
        csv_group (report, &groups->groups[0]);
    return DN_EXIT_DONE;
}
