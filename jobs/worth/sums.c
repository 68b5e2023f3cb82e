/* sums.c - what finished jobs requested, were granted and used
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/worth/sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "base/text.h"

#define HOUR 3600.0
#define WEEK INT64_C (604800)

/* CPUs that a GPU stands for where a job without GPUs is weighed. */
#define CPUS_OF_A_GPU 64.0

const struct dn_names dn_measure_names = DN_NAMES_OF (MEASURES);

const struct dn_names dn_waste_names = DN_NAMES_OF (WASTES);

const struct dn_names dn_by_names = DN_NAMES_OF (GROUPED_BYS);

struct dn_sums *dn_sums_new (enum dn_grouped_by by,
                             dn_price_f price,
                             const void *prices)
{
    struct dn_sums *sums = calloc (1, sizeof (*sums));

    if (!sums)
        return NULL;
    sums->clusters = calloc (DN_CLUSTERS, sizeof (*sums->clusters));
    if (!sums->clusters) {
        dn_sums_free (sums);
        return NULL;
    }
    sums->by = by;
    sums->price = price;
    sums->prices = prices;
    return sums;
}

void dn_sums_free (struct dn_sums *sums)
{
    if (!sums)
        return;
    free (sums->groups.groups);
    free (sums->groups.slots);
    free (sums->users.groups);
    free (sums->users.slots);
    free (sums->clusters);
    dn_idle_free (&sums->idle);
    free (sums);
}

void dn_sums_cleanup (struct dn_sums **sums)
{
    dn_sums_free (*sums);
    *sums = NULL;
}

/* --- one job ---------------------------------------------------------------------- */

/* What is needed of a job several times. */
struct view {
    const struct dn_finished *job;
    enum dn_outcome outcome;
    bool ran;
    bool changed;
    bool completed;
    bool at_least; /* its work would have taken longer */
    double ran_s;
    double limit_s;
    double asked_s;
};

double dn_sums_wait_s (const struct dn_finished *job)
{
    int64_t from = dn_finished_waits_from (job);

    if (job->start_s <= 0 || from <= 0)
        return NAN;
    return job->start_s > from ? (double) (job->start_s - from) : 0;
}

static struct view view_of (const struct dn_finished *job)
{
    struct view view = {.job = job,
                        .outcome = dn_finished_outcome (job),
                        .ran_s = dn_finished_ran_s (job)};

    view.ran = view.ran_s > 0;
    view.changed = dn_finished_changed (job);
    view.completed =
        view.ran && dn_outcome_evidence (view.outcome) == DN_EVIDENCE_EXACT;
    view.at_least =
        view.ran && dn_outcome_evidence (view.outcome) == DN_EVIDENCE_AT_LEAST;
    view.limit_s = job->limit_s > 0 ? (double) job->limit_s : view.ran_s;
    view.asked_s = job->asked_limit_s > 0 ? (double) job->asked_limit_s : view.limit_s;
    return view;
}

static double count_or (int64_t count, double other)
{
    return count >= 0 ? (double) count : other;
}

static double price_of (const struct dn_sums *sums, const char *type)
{
    double price = sums->price ? sums->price (sums->prices, type) : 0;

    return price > 0 ? price : 0;
}

static void add_amount (struct dn_sums_part *part,
                        enum dn_measure quantity,
                        double requested,
                        double granted,
                        double used,
                        bool changed)
{
    struct dn_amount *amount = &part->amounts[quantity];

    amount->requested += requested;
    amount->granted += granted;
    amount->used += used;
    if (changed)
        amount->saved += requested - granted;
}

/* Charges of the run, and what they would have been as requested. */
static void add_money (const struct dn_sums *sums,
                       struct dn_sums_part *part,
                       const struct view *view)
{
    const struct dn_finished *job = view->job;
    double gpus = count_or (job->gpus, 0);
    double billed = view->ran_s / HOUR * gpus * price_of (sums, job->gpu);
    bool moved = job->asked_gpu[0] != '\0' && strcmp (job->asked_gpu, job->gpu) != 0;
    double slow = moved ? job->said_slow : 1;
    double asked = billed;

    if (view->changed && job->rescued != 1 && slow > 0)
        asked = view->ran_s / HOUR / slow * count_or (job->asked_gpus, gpus)
                * price_of (sums, moved ? job->asked_gpu : job->gpu);
    add_amount (part, DN_MEASURE_MONEY, asked, billed, billed, view->changed);
}

static void add_amounts (const struct dn_sums *sums,
                         struct dn_sums_part *part,
                         const struct view *view)
{
    const struct dn_finished *job = view->job;
    double gpus = count_or (job->gpus, 0);
    double cpus = count_or (job->cpus, 0);
    const double had[] = {1, gpus, cpus}; /* from DN_MEASURE_HOURS on */
    const double asked[] = {
        1, count_or (job->asked_gpus, gpus), count_or (job->asked_cpus, cpus)};

    for (int i = DN_MEASURE_HOURS; i <= DN_MEASURE_CPU_HOURS; i++)
        add_amount (part,
                    (enum dn_measure) i,
                    view->asked_s / HOUR * asked[i],
                    view->limit_s / HOUR * had[i],
                    view->ran_s / HOUR * had[i],
                    view->changed);
    add_money (sums, part, view);
}

/* What a GPU of the type has of its nodes: CPUs, and GiB; 0: unknown. */
static void share_of (const struct dn_sums *sums, const char *type, double share[2])
{
    double gpus = 0;

    share[0] = share[1] = 0;
    for (int64_t i = 0; sums->cluster && i < sums->cluster->n_groups; i++) {
        const struct dn_node_group *group = &sums->cluster->groups[i];
        double nodes = (double) group->n_nodes;

        if (strcmp (group->type, type) != 0)
            continue;
        gpus += nodes * (double) group->gpus;
        share[0] += nodes * (double) group->cpus;
        share[1] += nodes * (double) group->mem_mb / 1024;
    }
    share[0] /= fmax (gpus, 1);
    share[1] /= fmax (gpus, 1);
}

static double beyond (double held, double share, double gpus)
{
    return share > 0 && held > share * gpus ? held / share - gpus : 0;
}

static void add_stranded (const struct dn_sums *sums,
                          struct dn_sums_part *part,
                          const struct view *view)
{
    const struct dn_finished *job = view->job;
    double gpus = count_or (job->gpus, 0);
    double asked_gpus = count_or (job->asked_gpus, gpus);
    const double held[] = {count_or (job->cpus, 0), job->mem_gb};
    const double wanted[] = {count_or (job->asked_cpus, held[0]),
                             job->asked_mem_gb > 0 ? job->asked_mem_gb : job->mem_gb};
    double there[2], here[2];

    if (!(gpus > 0))
        return;
    share_of (sums, job->asked_gpu[0] != '\0' ? job->asked_gpu : job->gpu, there);
    share_of (sums, job->gpu, here);
    for (int i = 0; i < 2; i++) {
        double asked = view->ran_s / HOUR * beyond (wanted[i], there[i], asked_gpus);
        double had = view->ran_s / HOUR * beyond (held[i], here[i], gpus);

        add_amount (part,
                    (enum dn_measure) (DN_MEASURE_BY_CPUS + i),
                    asked,
                    had,
                    had,
                    view->changed);
    }
}

static void add_energy (struct dn_sums_part *part, const struct view *view)
{
    const struct dn_finished *job = view->job;
    double joules = job->energy_j;

    if (!(joules > 0) && job->gpus > 0)
        joules = job->power_w * (double) job->gpus * view->ran_s;
    if (!(joules > 0))
        return;
    part->measured++;
    part->energy_kwh += joules / 3.6e6;
}

/* GPUs, or what its CPUs stand for. */
static double width_of (const struct dn_finished *job)
{
    return job->gpus > 0 ? (double) job->gpus : count_or (job->cpus, 0) / CPUS_OF_A_GPU;
}

static void add_waste (struct dn_sums_part *part, const struct view *view)
{
    const struct dn_finished *job = view->job;
    double beyond = (view->asked_s - view->ran_s) / HOUR * width_of (job);
    double idle = count_or (job->cpus, 0) * view->ran_s - job->cpu_s;
    double resting = count_or (job->gpus, 0) * view->ran_s * (1 - job->gpu_utilisation);

    /* Comparisons with NaN, of what is unknown, are false. */
    if (beyond > 0)
        part->wasted[DN_WASTE_TIME] += beyond;
    if (idle > 0)
        part->wasted[DN_WASTE_CPUS] += idle / HOUR;
    if (resting > 0)
        part->wasted[DN_WASTE_GPUS] += resting / HOUR;
}

/* Waits below this are as good as none. */
#define AT_ONCE_S 300.0

static void add_forecast (struct dn_sums_part *part, const struct dn_finished *job)
{
    double wait_s = fmax (dn_sums_wait_s (job), AT_ONCE_S);
    double expected_s = fmax ((double) job->pred_wait_s, AT_ONCE_S);

    if (job->pred_wait_s < 0 || isnan (dn_sums_wait_s (job)))
        return;
    part->forecasts++;
    part->forecasts_near += expected_s <= 2 * wait_s && wait_s <= 2 * expected_s;
}

static void add_part (const struct dn_sums *sums,
                      struct dn_sums_part *part,
                      const struct view *view)
{
    const struct dn_finished *job = view->job;

    part->seen++;
    part->described += job->verdict[0] != '\0';
    part->changed += view->changed;
    part->extended += job->extensions > 0;
    part->extensions += job->extensions > 0 ? job->extensions : 0;
    part->rescued += job->rescued == 1;
    part->killed_user += view->outcome == DN_OUTCOME_LIMIT_USER;
    add_forecast (part, job);
    if (!view->ran)
        return;
    part->ran++;
    add_amounts (sums, part, view);
    add_stranded (sums, part, view);
    add_energy (part, view);
    add_waste (part, view);
}

/* --- reasons ---------------------------------------------------------------------- */

/* The end of " (2 of 3 runs on v100)", which begins with a number; NULL if 'at' is not
 * at such a part.
 */
static const char *end_of_count (const char *at)
{
    return strncmp (at, " (", 2) == 0 && dn_is_digit (at[2]) ? strchr (at, ')') : NULL;
}

/* The sentence without its counts, quoted parts and numbers, so that reasons of one
 * kind are one.
 */
static void class_of (const char *why, char *text, size_t size)
{
    struct dn_buf buf = dn_buf_on (text, size);
    char last = ' ';

    for (const char *at = why; *at && !buf.cut; at++) {
        const char *end = *at == '\'' ? strchr (at + 1, '\'') : NULL;
        const char *count = end_of_count (at);
        bool number = dn_is_digit (*at) && (last == ' ' || last == '=');

        if (count) {
            at = count;
            continue;
        }
        if (end) {
            dn_buf_add (&buf, "'...'");
            at = end;
        } else if (number) {
            dn_buf_add (&buf, "N");
            while (dn_is_digit (at[1]) || at[1] == '.' || at[1] == ':')
                at++;
        } else {
            dn_buf_add (&buf, "%c", *at);
        }
        last = *at;
    }
}

static const char *reason_of (const struct view *view)
{
    const struct dn_finished *job = view->job;

    if (job->verdict[0] == '\0')
        return dn_say_worth_none;
    if (strcmp (job->verdict, "control") == 0)
        return dn_say_worth_control;
    if (strcmp (job->verdict, "change") == 0)
        return strcmp (job->mode, "observe") == 0 ? dn_say_worth_observe
                                                  : dn_say_worth_advise;
    if (strcmp (job->verdict, "keep") == 0)
        return dn_say_worth_right;
    return job->why[0] != '\0' ? job->why : dn_say_worth_no_prediction;
}

/* The last row takes the reasons for which there is no other. */
static void add_reason (struct dn_sums *sums, const struct view *view)
{
    char text[DN_SUMS_TEXT_MAX];
    int i = 0;

    if (view->changed)
        return;
    class_of (reason_of (view), text, sizeof (text));
    while (i < sums->n_kept && strcmp (sums->kept[i].why, text) != 0)
        i++;
    if (i >= DN_SUMS_REASONS_MAX - 1) {
        i = DN_SUMS_REASONS_MAX - 1;
        memcpy (text, DN_SUMS_OTHERS, sizeof (DN_SUMS_OTHERS));
    }
    if (i >= sums->n_kept) {
        memcpy (sums->kept[i].why, text, sizeof (text));
        sums->n_kept = i + 1;
    }
    sums->kept[i].jobs++;
}

/* --- predictions ------------------------------------------------------------------ */

/* Did the job end within that time? -1: its work would have taken longer than its run,
 * which was shorter than that.
 */
static int within (const struct view *view, double time_s)
{
    if (view->ran_s > time_s)
        return view->completed || view->at_least ? 0 : -1;
    return view->completed ? 1 : -1;
}

/* Count a job, if it tells whether that time holds. Return as within (). */
static int count_within (const struct view *view,
                         double time_s,
                         int64_t *n,
                         int64_t *n_within)
{
    int in = time_s > 0 ? within (view, time_s) : -1;

    *n += in >= 0;
    *n_within += in > 0;
    return in;
}

static void add_bounds (struct dn_sums_judged *judged, const struct view *view)
{
    const struct dn_finished *job = view->job;
    int in = count_within (view, job->bound_s, &judged->n_bound, &judged->within_bound);

    if (in >= 0 && job->bound_bp > 0) {
        judged->n_promised++;
        judged->promised += job->bound_bp / 10000;
    }
    count_within (view, job->p95_s, &judged->n_p95, &judged->within_p95);
}

static void add_point (struct dn_sums *sums, const struct view *view)
{
    int64_t at =
        dn_sample_place (&sums->random, sums->points_seen++, DN_SUMS_POINTS_MAX);
    struct dn_point *point = &sums->points[at < 0 ? 0 : at];

    if (at < 0)
        return;
    *point = (struct dn_point){
        .measured_s = (float) view->ran_s,
        .predicted_s = (float) view->job->likely_s,
        .known = view->job->history_runs > 0,
    };
    snprintf (point->job, sizeof (point->job), "%s", view->job->job);
    if (sums->n_points < DN_SUMS_POINTS_MAX)
        sums->n_points++;
}

static void judge (struct dn_sums *sums, const struct view *view)
{
    const struct dn_finished *job = view->job;
    enum dn_sums_of which[] = {
        job->history_runs > 0 ? DN_SUMS_OF_KNOWN : DN_SUMS_OF_NEW, DN_SUMS_OF_ALL};
    bool predicted = view->ran && job->likely_s > 0;
    bool known = predicted && within (view, job->likely_s) >= 0;

    if (!view->ran)
        return;
    for (int i = 0; i < 2; i++) {
        struct dn_sums_judged *judged = &sums->judged[which[i]];

        judged->predicted += predicted;
        judged->n += known;
        if (known)
            dn_spread_add (&judged->error, fabs (log (job->likely_s / view->ran_s)));
        add_bounds (judged, view);
    }
    if (known)
        add_point (sums, view);
}

/* --- weeks ------------------------------------------------------------------------ */

/* 1970-01-05 was a Monday. */
static int64_t monday_of (int64_t time_s)
{
    return (time_s + 3 * 86400) / WEEK * WEEK - 3 * 86400;
}

/* The row of a week, inserted if it is new; NULL if it is older than those kept. */
static struct dn_week *week_of (struct dn_sums *sums, int64_t time_s)
{
    int64_t start = monday_of (time_s);
    int at = sums->n_weeks;

    while (at > 0 && sums->weeks[at - 1].start_s > start)
        at--;
    if (at > 0 && sums->weeks[at - 1].start_s == start)
        return &sums->weeks[at - 1];
    if (sums->n_weeks == DN_SUMS_WEEKS_MAX) {
        if (at == 0)
            return NULL;
        at--;
        memmove (sums->weeks, sums->weeks + 1, (size_t) at * sizeof (sums->weeks[0]));
    } else {
        memmove (sums->weeks + at + 1,
                 sums->weeks + at,
                 (size_t) (sums->n_weeks - at) * sizeof (sums->weeks[0]));
        sums->n_weeks++;
    }
    sums->weeks[at] = (struct dn_week){.start_s = start};
    return &sums->weeks[at];
}

static void add_week (struct dn_sums *sums, const struct view *view)
{
    const struct dn_finished *job = view->job;
    struct dn_week *week = job->end_s > 0 ? week_of (sums, job->end_s) : NULL;

    if (!week)
        return;
    week->jobs++;
    week->changed += view->changed;
    if (view->changed)
        dn_listing_add (&week->listed,
                        job->job,
                        view->asked_s * width_of (job),
                        view->asked_s,
                        view->limit_s);
    if (view->changed && view->ran) {
        double saved = (view->asked_s - view->limit_s) / HOUR;

        week->saved_hours += saved;
        week->saved_gpu_hours += saved * count_or (job->gpus, 0);
    }
    if (!view->ran)
        return;
    count_within (view, job->bound_s, &week->n_bound, &week->within_bound);
    if (count_within (view, job->p95_s, &week->n_p95, &week->within_p95) == 0)
        dn_listing_add (
            &week->beyond, job->job, view->ran_s / job->p95_s, job->p95_s, view->ran_s);
    if (job->likely_s > 0 && within (view, job->likely_s) >= 0) {
        week->n_error++;
        week->error += fabs (log (job->likely_s / view->ran_s));
    }
}

/* --- the comparison --------------------------------------------------------------- */

static bool would_change (const struct dn_finished *job)
{
    return strcmp (job->mode, "enforce") == 0 && strcmp (job->verdict, "control") == 0
           && (job->set_limit_s > 0 || job->set_cpus > 0 || job->set_gpu[0] != '\0');
}

static void add_to (struct dn_side_sums *sums, double over, double under)
{
    if (!isfinite (over))
        return;
    sums->n++;
    sums->over += over;
    sums->under += under;
}

/* Did it end worse than its user may have wanted, but at the user's own limit? */
static bool has_failed (enum dn_outcome outcome)
{
    return outcome == DN_OUTCOME_FAILED || outcome == DN_OUTCOME_FAILED_EARLY
           || outcome == DN_OUTCOME_OUT_OF_MEMORY || outcome == DN_OUTCOME_LIMIT_OURS;
}

static void add_side (struct dn_side_sums sums[DN_N_EFFECTS], const struct view *view)
{
    double gpus = count_or (view->job->gpus, 0);
    double wait_s = dn_sums_wait_s (view->job);
    double worked = view->ran_s * gpus / HOUR;

    add_to (&sums[DN_EFFECT_WAIT], wait_s, 1);
    add_to (&sums[DN_EFFECT_TURNAROUND], wait_s + view->ran_s, 1);
    add_to (&sums[DN_EFFECT_FAILED], has_failed (view->outcome), 1);
    if (view->completed && view->job->limit_s > 0)
        add_to (&sums[DN_EFFECT_ACCURACY], log (view->limit_s / view->ran_s), 1);
    if (worked > 0)
        add_to (&sums[DN_EFFECT_HELD], view->limit_s * gpus / HOUR, worked);
}

/* A wait that is not known is in no list. */
static void list_side (struct dn_listing listed[], const struct view *view)
{
    const char *job = view->job->job;
    double wait_s = dn_sums_wait_s (view->job);
    double ran_s = view->ran_s;

    if (isnan (wait_s))
        return;
    dn_listing_add (&listed[DN_EFFECT_WAIT], job, wait_s, wait_s, ran_s);
    dn_listing_add (&listed[DN_EFFECT_TURNAROUND], job, wait_s + ran_s, wait_s, ran_s);
    if (has_failed (view->outcome))
        dn_listing_add (&listed[DN_EFFECT_FAILED],
                        job,
                        ran_s * width_of (view->job),
                        wait_s,
                        ran_s);
}

/* The cluster of its application; without one, of its user. */
static struct dn_sides *cluster_of (const struct dn_sums *sums,
                                    const struct dn_finished *job)
{
    dn_app_key key = dn_app_key_of_user (job->user, job->app)
                     ^ dn_app_key_of_account (job->user_name, job->app);

    return &sums->clusters[key % DN_CLUSTERS];
}

static void compare (struct dn_sums *sums, const struct view *view)
{
    double wait = dn_sums_wait_s (view->job);
    enum dn_side side = view->changed ? DN_SIDE_CHANGED : DN_SIDE_CONTROL;

    if (!view->ran)
        return;
    if (!view->changed && !would_change (view->job))
        return;
    list_side (sums->listed[side], view);
    add_side (sums->sides.of[side], view);
    add_side (cluster_of (sums, view->job)->of[side], view);
    dn_spread_add (&sums->medians[side][0], wait);
    if (view->completed && view->job->limit_s > 0)
        dn_spread_add (&sums->medians[side][1], log (view->limit_s / view->ran_s));
}

/* --- groups ----------------------------------------------------------------------- */

static const char *user_of (const struct dn_finished *job, char text[DN_NAME_MAX])
{
    struct dn_buf buf = dn_buf_on (text, DN_NAME_MAX);

    if (job->user_name[0] != '\0')
        return job->user_name;
    dn_buf_add (&buf, "%lld", (long long) job->user);
    return job->user >= 0 ? text : "";
}

/* The value of model= in the metadata. */
static const char *model_of (const char *spec, char text[DN_NAME_MAX])
{
    struct dn_span rest = dn_span_of (spec);
    struct dn_span piece;
    struct dn_buf buf = dn_buf_on (text, DN_NAME_MAX);

    while ((piece = dn_span_cut (&rest, ", ")).text)
        if (piece.len > 6 && strncmp (piece.text, "model=", 6) == 0) {
            dn_buf_add (&buf,
                        "%.*s",
                        piece.len - 6 < DN_NAME_MAX ? (int) piece.len - 6
                                                    : DN_NAME_MAX - 1,
                        piece.text + 6);
            return text;
        }
    return "";
}

static const char *group_of (const struct dn_sums *sums,
                             const struct dn_finished *job,
                             char text[DN_NAME_MAX])
{
    switch (sums->by) {
    case DN_GROUPED_BY_USER:
        return user_of (job, text);
    case DN_GROUPED_BY_ACCOUNT:
        return job->account;
    case DN_GROUPED_BY_PARTITION:
        return job->partition;
    case DN_GROUPED_BY_MODEL:
        return model_of (job->spec, text);
    case DN_GROUPED_BY_APP:
        return job->app;
    default:
        return job->gpu;
    }
}

int dn_sums_add (struct dn_sums *sums,
                 const struct dn_finished *job,
                 struct dn_err *err)
{
    struct view view = view_of (job);
    char text[DN_NAME_MAX];
    struct dn_sums_part *part = dn_groups_get (&sums->users, user_of (job, text), err);

    if (!part)
        return -1;
    add_part (sums, part, &view);
    if (sums->by != DN_GROUPED_BY_NONE) {
        part = dn_groups_get (&sums->groups, group_of (sums, job, text), err);
        if (!part)
            return -1;
        add_part (sums, part, &view);
    }
    if (sums->all.seen == 0 || job->end_s < sums->first_s)
        sums->first_s = job->end_s;
    if (job->end_s > sums->last_s)
        sums->last_s = job->end_s;
    add_part (sums, &sums->all, &view);
    add_reason (sums, &view);
    judge (sums, &view);
    add_week (sums, &view);
    compare (sums, &view);
    return view.completed ? dn_idle_add (&sums->idle, job, err) : 0;
}
