/* lookback_show.c - what past jobs requested and used, as text and as JSON
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lookback/lookback.h"

#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>

#include "common.h"
#include "output/json.h"
#include "report/report.h"
#include "report/when.h"

static double share (double part, double whole)
{
    return dn_report_ratio (part, whole);
}

/* --- text ------------------------------------------------------------------------- */

static void add_row (struct dn_grid *grid,
                     const char *what,
                     double had,
                     double used,
                     double of)
{
    dn_grid_add (grid, "%s", what);
    dn_grid_add (grid, "%s", dn_show_number (had > 0 ? had : NAN).text);
    dn_grid_add (grid, "%s", dn_show_number (had > 0 ? used : NAN).text);
    dn_grid_add (grid, "%s", dn_show_share (share (used, had)).text);
    dn_grid_add (grid, "%s", dn_show_share (of).text);
}

/* KNOWN: of which share of the hours both are known. */
struct dn_grid dn_lookback_hours_grid (const struct dn_lookback *lookback)
{
    struct dn_grid grid = dn_grid_of ("HOURS|HAD>|USED>|SHARE>|KNOWN>");
    const struct dn_lookback_hours *h = &lookback->hours;
    const struct dn_amount *amounts = lookback->sums->all.amounts;
    double memory_h = h->memory_measured;
    bool nodes = lookback->queue.sim.n_pools > 0;

    add_row (&grid,
             "GPU, of time limits",
             h->gpu_requested,
             h->gpu_limited,
             share (h->gpu_limited, h->gpu));
    add_row (&grid,
             "GPU, of run times (busy)",
             h->gpu_measured,
             h->gpu_busy,
             share (h->gpu_measured, h->gpu));
    add_row (&grid,
             "CPU (busy)",
             h->cpu_measured,
             h->cpu_busy,
             share (h->cpu_measured, h->cpu));
    add_row (&grid, "GiB of host memory (peak)", memory_h, h->memory_used, NAN);
    if (nodes && h->cpu > 0)
        add_row (&grid,
                 "GPU, beside: stranded by CPUs",
                 h->gpu,
                 amounts[DN_MEASURE_BY_CPUS].used,
                 NAN);
    if (nodes && h->cpu > 0)
        add_row (&grid,
                 "GPU, beside: stranded by memory",
                 h->gpu,
                 amounts[DN_MEASURE_BY_MEMORY].used,
                 NAN);
    if (lookback->idle.idle > 0) {
        add_row (&grid,
                 "GPU, idle: no CPU left beside",
                 lookback->idle.idle,
                 lookback->idle.without_cpus,
                 NAN);
        add_row (&grid,
                 "GPU, idle: no memory left beside",
                 lookback->idle.idle,
                 lookback->idle.without_memory,
                 NAN);
    }
    return grid;
}

static void print_limits (struct dn_lookback *lookback)
{
    const struct dn_replay_sums *sums = dn_replay_sums (lookback->replay, 0);

    printf (
        "\nLimits: %s times the run time in the median; %s jobs (%s of the GPU "
        "hours) ended at theirs.\n",
        dn_show_number (dn_spread_quantile (&lookback->looseness, 0.5)).text,
        dn_show_number ((double) lookback->at_limit).text,
        dn_show_share (share (lookback->hours.gpu_at_limit, lookback->hours.gpu)).text);
    printf (
        "Repeats: %s jobs (%s) came after a run of their application had ended; "
        "'auto' knows these.\n",
        dn_show_number ((double) lookback->repeats).text,
        dn_show_share (share ((double) lookback->repeats, (double) sums->jobs)).text);
}

static void print_rules (const struct dn_lookback *lookback)
{
    const struct dn_replay_sums *sums = dn_replay_sums (lookback->replay, 0);

    printf ("\nBy these rules, with dnnest:auto in every job:\n");
    printf ("  limits   %s lowered: %s GPU hours of limits become %s; the guard would "
            "extend %s; %s killed\n",
            dn_show_number ((double) sums->lowered).text,
            dn_show_number (sums->asked_gpu_h).text,
            dn_show_number (sums->set_gpu_h).text,
            dn_show_number ((double) sums->extended).text,
            dn_show_number ((double) sums->killed).text);
    printf ("  CPUs     fewer for %s: %s CPU hours become %s\n",
            dn_show_number ((double) sums->fewer_cpus).text,
            dn_show_number (sums->asked_cpu_h).text,
            dn_show_number (sums->set_cpu_h).text);
    printf ("  memory   less for %s: %s GiB hours of hosts become %s\n",
            dn_show_number ((double) sums->less_memory).text,
            dn_show_number (sums->asked_mem_h).text,
            dn_show_number (sums->set_mem_h).text);
    printf ("  types    not told by accounting: it takes one run that has described "
            "itself\n");
}

static void print_mean (const char *what, const struct dn_clustered_mean *mean)
{
    int digits = fabs (mean->mean) < 600 ? 2 : 0;

    if (!isfinite (mean->low)) {
        printf ("  %-8s not known: it takes jobs of two owners\n", what);
        return;
    }
    printf ("  %-8s %+.*f min [%+.*f to %+.*f]\n",
            what,
            digits,
            mean->mean / 60,
            digits,
            mean->low / 60,
            digits,
            mean->high / 60);
}

static const char *name_of (int64_t user)
{
    const struct passwd *entry =
        user >= 0 && user < UINT32_MAX ? getpwuid ((uid_t) user) : NULL;

    return entry ? entry->pw_name : NULL;
}

struct dn_shown dn_lookback_owner_name (const struct dn_lookback_owner *owner,
                                        int i,
                                        bool names)
{
    const char *name = names ? name_of (owner->user) : NULL;
    struct dn_shown shown;

    if (name)
        snprintf (shown.text, sizeof (shown.text), "%s", name);
    else if (names)
        snprintf (shown.text, sizeof (shown.text), "user %" PRId64, owner->user);
    else
        snprintf (shown.text, sizeof (shown.text), "owner %d", i + 1);
    return shown;
}

static void print_owners (const char *what,
                          const struct dn_lookback_owners *owners,
                          bool names)
{
    for (int i = 0; i < owners->n; i++) {
        const struct dn_lookback_owner *owner = &owners->list[i];

        printf ("    %s %s: %" PRId64 " jobs, %.0f min to their end in place of %.0f\n",
                dn_lookback_owner_name (owner, i, names).text,
                what,
                owner->jobs,
                owner->after_s / 60,
                owner->before_s / 60);
    }
}

static int print_queue (const struct dn_lookback *lookback,
                        bool names,
                        struct dn_err *err)
{
    const struct dn_replay_queue *queue = &lookback->queue;
    struct dn_sim_sums sums;

    if (dn_sim_sum (
            &queue->sim, queue->jobs[DN_REPLAY_BEFORE], queue->n_jobs, -1, &sums, err)
        < 0)
        return -1;
    printf ("\nSimulated queue: mean wait %s min, GPUs %s busy (it was %s min). With "
            "dnnest, 95 %% by %" PRId64 " owners:\n",
            dn_show_number (sums.wait_mean_s / 60).text,
            dn_show_share (sums.utilisation).text,
            dn_show_number (lookback->wait_s.mean / 60).text,
            lookback->wait.n_clusters);
    if (dn_lookback_is_unlike (lookback))
        printf (
            "  This is far from what it was: the nodes, or what held jobs back, were "
            "others.\n  So the differences say little.\n");
    print_mean ("wait", &lookback->wait);
    print_mean ("end", &lookback->end);
    printf ("  owners   %" PRId64 " end 2 %% sooner, %" PRId64 " later, %" PRId64
            " neither\n",
            lookback->sooner,
            lookback->later,
            lookback->owners - lookback->sooner - lookback->later);
    print_owners ("loses", &lookback->losers, names);
    print_owners ("gains", &lookback->gainers, names);
    if (lookback->earlier > 0)
        printf ("  %" PRId64 " earlier jobs are not in it: it would take too long\n",
                lookback->earlier);
    if (queue->left_out > 0)
        printf ("  %" PRId64 " jobs are not in it: no node has their type\n",
                queue->left_out);
    if (lookback->impossible > 0)
        printf ("  %" PRId64 " jobs are not in it: they fit on no node\n",
                lookback->impossible);
    return 0;
}

int dn_lookback_print (struct dn_lookback *lookback, bool names, struct dn_err *err)
{
    dn_cleanup (dn_grid_free) struct dn_grid hours = dn_lookback_hours_grid (lookback);

    printf ("%s jobs with GPUs that ended from %s to %s (%s others).\n\n",
            dn_show_number ((double) lookback->jobs_n).text,
            dn_when_day (lookback->first_s).text,
            dn_when_day (lookback->last_s).text,
            dn_show_number ((double) lookback->jobs.n_others).text);
    if (dn_grid_print (&hours) != DN_EXIT_DONE)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    print_limits (lookback);
    print_rules (lookback);
    if (lookback->queue.sim.n_pools > 0)
        return print_queue (lookback, names, err);
    printf ("\nNo queue: the nodes are not known; --nodes names a table of them\n");
    return 0;
}

/* --- JSON ------------------------------------------------------------------------- */

static void add_hours (struct json_object *json, const struct dn_lookback *lookback)
{
    struct json_object *hours = dn_json_add_object (json, "hours");
    const struct dn_lookback_hours *h = &lookback->hours;
    const struct dn_amount *amounts = lookback->sums->all.amounts;

    dn_json_add_real (hours, "gpu_requested", h->gpu_requested);
    dn_json_add_real (hours, "gpu_limited", h->gpu_limited);
    dn_json_add_real (hours, "gpu", h->gpu);
    dn_json_add_real (hours, "gpu_measured", h->gpu_measured);
    dn_json_add_real (hours, "gpu_busy", h->gpu_busy);
    dn_json_add_real (hours, "gpu_at_limit", h->gpu_at_limit);
    dn_json_add_real (hours, "cpu", h->cpu);
    dn_json_add_real (hours, "cpu_measured", h->cpu_measured);
    dn_json_add_real (hours, "cpu_busy", h->cpu_busy);
    dn_json_add_real (hours, "memory_measured", h->memory_measured);
    dn_json_add_real (hours, "memory_used", h->memory_used);
    dn_json_add_real (hours, "stranded_by_cpus", amounts[DN_MEASURE_BY_CPUS].used);
    dn_json_add_real (hours, "stranded_by_memory", amounts[DN_MEASURE_BY_MEMORY].used);
    dn_json_add_real (hours, "idle", lookback->idle.idle);
    dn_json_add_real (hours, "idle_without_cpus", lookback->idle.without_cpus);
    dn_json_add_real (hours, "idle_without_memory", lookback->idle.without_memory);
}

static void add_rules (struct json_object *json, struct dn_lookback *lookback)
{
    struct json_object *rules = dn_json_add_object (json, "rules");
    const struct dn_replay_sums *sums = dn_replay_sums (lookback->replay, 0);

    dn_json_add_count (rules, "repeats", lookback->repeats);
    dn_json_add_count (rules, "changed", sums->fates[DN_REPLAY_CHANGED]);
    dn_json_add_count (rules, "limits_lowered", sums->lowered);
    dn_json_add_count (rules, "extended", sums->extended);
    dn_json_add_count (rules, "killed", sums->killed);
    dn_json_add_count (rules, "fewer_cpus", sums->fewer_cpus);
    dn_json_add_real (rules, "requested_gpu_h", sums->asked_gpu_h);
    dn_json_add_real (rules, "policy_gpu_h", sums->set_gpu_h);
    dn_json_add_real (rules, "requested_cpu_h", sums->asked_cpu_h);
    dn_json_add_real (rules, "policy_cpu_h", sums->set_cpu_h);
    dn_json_add_count (rules, "less_memory", sums->less_memory);
    dn_json_add_real (rules, "requested_mem_gib_h", sums->asked_mem_h);
    dn_json_add_real (rules, "policy_mem_gib_h", sums->set_mem_h);
    dn_json_add_signed (
        rules, "limit_per_run", dn_spread_quantile (&lookback->looseness, 0.5));
}

static void add_mean (struct json_object *json,
                      const char *key,
                      const struct dn_clustered_mean *mean)
{
    struct json_object *object = dn_json_add_object (json, key);

    dn_json_add_signed (object, "mean_s", mean->mean);
    dn_json_add_signed (object, "low_s", mean->low);
    dn_json_add_signed (object, "high_s", mean->high);
}

static void add_owners (struct json_object *queue,
                        const char *key,
                        const struct dn_lookback_owners *owners,
                        bool names)
{
    struct json_object *array = dn_json_add_array (queue, key);

    for (int i = 0; i < owners->n; i++) {
        const struct dn_lookback_owner *owner = &owners->list[i];
        struct json_object *row = dn_json_append_object (array);

        if (names)
            dn_json_add_count (row, "user", owner->user);
        dn_json_add_count (row, "jobs", owner->jobs);
        dn_json_add_real (row, "before_s", owner->before_s);
        dn_json_add_real (row, "after_s", owner->after_s);
    }
}

static void add_queue (struct json_object *json,
                       const struct dn_lookback *lookback,
                       bool names)
{
    struct json_object *queue = dn_json_add_object (json, "queue");

    dn_json_add_count (queue, "jobs", lookback->wait.n);
    dn_json_add_count (queue, "earlier", lookback->earlier);
    dn_json_add_count (queue, "left_out", lookback->queue.left_out);
    dn_json_add_count (queue, "impossible", lookback->impossible);
    dn_json_add_count (queue, "owners", lookback->owners);
    dn_json_add_count (queue, "sooner", lookback->sooner);
    dn_json_add_count (queue, "later", lookback->later);
    dn_json_add_signed (queue, "wait_mean_s", lookback->waited_s);
    dn_json_add_bool (queue, "unlike", dn_lookback_is_unlike (lookback));
    add_mean (queue, "wait", &lookback->wait);
    add_mean (queue, "end", &lookback->end);
    add_owners (queue, "worst", &lookback->losers, names);
    add_owners (queue, "best", &lookback->gainers, names);
}

int dn_lookback_print_json (struct dn_lookback *lookback,
                            bool names,
                            struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();

    (void) err;
    dn_json_add_count (json, "jobs", lookback->jobs_n);
    dn_json_add_count (json, "others", lookback->jobs.n_others);
    dn_json_add_count (json, "refused", lookback->jobs.n_refused);
    dn_json_add_count (json, "first_s", lookback->first_s);
    dn_json_add_count (json, "last_s", lookback->last_s);
    dn_json_add_count (json, "at_limit", lookback->at_limit);
    dn_json_add_signed (json, "wait_mean_s", lookback->wait_s.mean);
    add_hours (json, lookback);
    add_rules (json, lookback);
    if (lookback->queue.sim.n_pools > 0)
        add_queue (json, lookback, names);
    dn_json_print (json);
    return 0;
}
