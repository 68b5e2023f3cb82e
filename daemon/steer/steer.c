/* steer.c - the task that gives pending open jobs another GPU type
 *
 * A pass plans the whole queue, then looks at the open jobs in the order of their
 * priorities. Each is read again just before its type, its limit and its record are
 * changed in one request. After an error of the connection the pass ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "hardware/standing.h"
#include "policy/scope.h"
#include "round.h"
#include "steer/steer_plan.h"
#include "task.h"

/* Changes in one pass. */
#define CHANGES_MAX 50

/* A job that was given its own type again keeps it for so many passes, or where it was
 * not for lack of room that it did not start (a limit of minutes of GPUs, a licence),
 * for so many; of so many jobs this is remembered.
 */
#define REST_PASSES 20
#define LONG_PASSES 1440
#define RESTS_MAX   256

struct rest {
    int64_t raw_id;
    int64_t until_s;
};

struct steer {
    struct dn_start start;
    struct rest rests[RESTS_MAX];
    int n_rests; /* in all */
};

struct pass {
    struct steer *steer;
    struct dn_daemon *d;
    struct dn_steer_queue *queue; /* owned */
    struct dn_cluster *cluster;   /* owned; NULL: not read yet */
    int n_left;                   /* changes */
    bool open;                    /* there is an open job */
    bool leaves;                  /* dnnestd ends */
    struct dn_err *err;
};

static void free_pass (struct pass *pass)
{
    dn_steer_queue_free (pass->queue);
    dn_cluster_free (pass->cluster);
}

static bool has (const struct dn_link_job *job, const char *member)
{
    return job->admin_comment && strstr (job->admin_comment, member);
}

/* One that dnnest would not touch has no record with "open". */
static bool is_open (const struct dn_link_job *job)
{
    return has (job, "\"open\":[") && job->het_offset == DN_UNSET && !job->federated
           && (!job->reservation || job->reservation[0] == '\0');
}

static bool is_waiting (const struct dn_link_job *job)
{
    return job->phase == DN_PHASE_PENDING && job->priority > 0
           && (job->queued || job->unseen);
}

/* It gets its own type again whatever it waits for: another type may be the reason. */
static bool is_pending (const struct dn_link_job *job)
{
    return job->phase == DN_PHASE_PENDING;
}

static bool is_running (const struct dn_link_job *job)
{
    return job->phase == DN_PHASE_RUNNING;
}

/* --- one job ---------------------------------------------------------------------- */

/* A case with all that it points to. */
struct look {
    struct dn_steer_case c;
    struct dn_recorded recorded;
    struct dn_rules rules;
};

static bool rests (const struct pass *pass, int64_t raw_id)
{
    for (int i = 0; i < RESTS_MAX; i++)
        if (pass->steer->rests[i].raw_id == raw_id
            && pass->steer->rests[i].until_s > pass->d->now_s)
            return true;
    return false;
}

static bool look_at (const struct pass *pass,
                     const struct dn_link_job *job,
                     struct look *look)
{
    const struct dn_site *site = pass->d->site;
    const struct dn_submitter submitter = dn_job_submitter (job);

    if (dn_record_read (job->admin_comment, &look->recorded, NULL) <= 0)
        return false;
    look->rules = dn_site_rules_in_force (site, &submitter);
    look->c =
        (struct dn_steer_case){.recorded = &look->recorded,
                               .rules = &look->rules,
                               .now_s = pass->d->now_s,
                               .interval_s = (int64_t) site->steer_interval_s,
                               .guard_interval_s = (int64_t) site->guard_interval_s,
                               .rests = rests (pass, job->raw_id),
                               .leaves = pass->leaves};
    for (int i = 0; i < look->recorded.n_open; i++) {
        const struct dn_gpu_type *type =
            dn_gpu_types_find (&site->gpu_types, look->recorded.open[i].gpu);

        look->c.costs[i] = type ? type->cost : NAN;
    }
    return true;
}

/* "12_3", the first pending task of an array. */
static void name_of (const struct dn_link_job *job, char name[DN_NAME_MAX])
{
    struct dn_buf buf = dn_buf_on (name, DN_NAME_MAX);

    if (job->pending_tasks)
        dn_buf_add (&buf,
                    "%" PRId64 "_%.*s",
                    job->job_id,
                    (int) strspn (job->pending_tasks, "0123456789"),
                    job->pending_tasks);
    else
        dn_buf_add (&buf, "%s", job->name);
}

static const struct {
    const char *why;
    enum dn_tick tick;
    dn_job_may_f may;
} changes[] = {
    [DN_STEER_MOVE] = {dn_say_steer_move, DN_TICK_STEERED, is_waiting},
    [DN_STEER_UNDO] = {dn_say_steer_back, DN_TICK_STEERED_BACK, is_pending},
    [DN_STEER_FIT] = {dn_say_steer_fit, DN_TICK_FITTED, is_running},
};

/* Return 1 if the job was changed, or would be; 0 if not: a refusal concerns this job
 * only; -1 with 'err' where the connection is lost.
 */
static int change_job (struct pass *pass,
                       const struct dn_link_job *job,
                       const struct look *look,
                       enum dn_steer_verdict verdict,
                       const struct dn_steer_change *change)
{
    const struct dn_open_type *to = &look->recorded.open[change->to];
    const struct dn_steering steering = {
        to->gpu, change->limit_s, change->cap_s, pass->d->now_s};
    char name[DN_NAME_MAX];
    struct dn_link_change edit = {.name = name, .limit_s = change->limit_s};
    dn_cleanup (dn_free_ptr) char *comment = NULL;
    struct dn_err err = {0};
    int rc = 0;

    pass->n_left--;
    name_of (job, name);
    if (!pass->d->dry_run) {
        comment = dn_record_steer (
            job->admin_comment, verdict == DN_STEER_UNDO ? NULL : &steering, &err);
        edit.admin_comment = comment;
        if (!look->recorded.either && to->features[0] != '\0')
            edit.features = to->features;
        else if (!look->recorded.either)
            edit.partition = to->partition;
        if (!comment)
            dn_err_wrap (&err, dn_say_of_job, name);
        else
            rc = dn_job_change (
                pass->d, job, changes[verdict].may, &edit, &err, pass->err);
        if (rc == 0 && err.code != DN_E_NONE)
            dn_log (DN_LOG_ERROR, dn_say_steer_refused, err.text);
        if (rc <= 0)
            return rc;
        dn_tick (changes[verdict].tick);
    }
    dn_log (DN_LOG_INFO,
            dn_say_steer_changed,
            name,
            pass->d->dry_run ? dn_say_daemon_would_change : "",
            look->recorded.open[change->from].gpu,
            to->gpu,
            dn_time_write (job->limit_s).text,
            dn_time_write (change->limit_s).text,
            changes[verdict].why);
    return 1;
}

/* --- pending jobs ----------------------------------------------------------------- */

/* Levels of an association, at most: a loop cannot last. */
#define LEVELS_MAX 64

static int64_t least (int64_t a, int64_t b)
{
    if (a == DN_UNLIMITED)
        return b;
    return b == DN_UNLIMITED || a < b ? a : b;
}

/* The longest limit that partition, QOS and association allow the job, in seconds or
 * DN_UNLIMITED, as Slurm does: a MaxWall of the QOS of the partition or of the job
 * takes precedence over that of the association, and that of the association over those
 * of its parents. In a partition that is not known it is 0.
 */
static int64_t longest_around (const struct dn_cluster *cluster,
                               const struct dn_link_job *job,
                               const char *partition)
{
    const struct dn_job names = {
        .account = job->account, .qos = job->qos, .user_id = job->user_id};
    const struct dn_standing standing = dn_standing_of (cluster, &names, partition);
    const struct dn_limited *assoc = standing.assoc;
    int64_t wall_s = DN_UNLIMITED;

    if (!standing.partition || !cluster->enforces)
        return standing.partition ? standing.partition->max_time_s : 0;
    if (standing.job_qos)
        wall_s = standing.job_qos->max_wall_s;
    if (standing.partition_qos)
        wall_s = least (wall_s, standing.partition_qos->max_wall_s);
    for (int i = 0; wall_s == DN_UNLIMITED && assoc && i < LEVELS_MAX; i++) {
        wall_s = assoc->max_wall_s;
        assoc = dn_standing_parent (cluster, assoc);
    }
    return least (standing.partition->max_time_s, wall_s);
}

/* The longest limit that all partitions of a list allow the job. */
static int64_t longest_in (const struct pass *pass,
                           const struct dn_link_job *job,
                           const char *partitions)
{
    struct dn_span rest = dn_span_of (partitions ? partitions : "");
    struct dn_span piece;
    int64_t longest_s = DN_UNLIMITED;

    while ((piece = dn_span_cut (&rest, ",")).text) {
        char name[DN_NAME_MAX];

        if (dn_span_copy (piece, name, sizeof (name), "partition", NULL) < 0)
            return 0;
        longest_s = least (longest_s, longest_around (pass->cluster, job, name));
    }
    return longest_s;
}

static int read_cluster (struct pass *pass)
{
    if (pass->cluster)
        return 0;
    pass->cluster = calloc (1, sizeof (*pass->cluster));
    if (!pass->cluster)
        return dn_refuse (pass->err, no_memory_for, "steer");
    return dn_link_cluster (pass->d->link, pass->cluster, pass->err);
}

/* A job that was not moved, or not to its good, is left alone for some time. */
static void let_rest (struct pass *pass, const struct dn_steer_job *job)
{
    struct steer *steer = pass->steer;
    bool kept = !is_waiting (&job->link) && job->link.eligible <= pass->d->now_s;
    int passes = kept ? LONG_PASSES : REST_PASSES;
    int64_t for_s = passes * (int64_t) pass->d->site->steer_interval_s;

    steer->rests[steer->n_rests++ % RESTS_MAX] =
        (struct rest){job->link.raw_id, pass->d->now_s + for_s};
}

/* The fastest type that is not yet in 'tried'; -1: none is left. */
static int next_type (const struct dn_recorded *recorded, unsigned *tried)
{
    int next = -1;

    for (int i = 0; i < recorded->n_open; i++)
        if ((*tried >> i & 1) == 0
            && (next < 0 || recorded->open[i].slow < recorded->open[next].slow))
            next = i;
    if (next >= 0)
        *tried |= 1U << next;
    return next;
}

static void say_left (const struct dn_link_job *job, const char *why)
{
    char name[DN_NAME_MAX];

    name_of (job, name);
    dn_log (DN_LOG_DEBUG, dn_say_steer_left, name, why);
}

/* To the fastest of the types that can start the job now. */
static int move (struct pass *pass,
                 const struct dn_steer_job *job,
                 const struct look *look)
{
    const struct dn_recorded *recorded = &look->recorded;
    struct dn_steer_job guest = *job;
    struct dn_steer_change change;
    bool may = false;
    unsigned tried = 0;
    int to;
    int rc;

    if (read_cluster (pass) < 0)
        return -1;
    while (!may && (to = next_type (recorded, &tried)) >= 0) {
        const char *partition = recorded->open[to].partition;

        if (partition[0] == '\0')
            partition = job->link.partition;
        may = dn_steer_may_move (&look->c,
                                 pass->queue,
                                 job,
                                 to,
                                 longest_in (pass, &job->link, partition),
                                 &change);
    }
    if (!may)
        say_left (&job->link, dn_say_steer_left_none);
    if (!may || !dn_start_may_change (&pass->steer->start, pass->d))
        return 0;
    rc = change_job (pass, &job->link, look, DN_STEER_MOVE, &change);
    guest.guest = to > 0;
    if (rc == 0)
        let_rest (pass, job);
    if (rc > 0
        && dn_steer_put (pass->queue,
                         &guest,
                         change.pool,
                         (double) pass->d->now_s,
                         (double) change.limit_s)
               < 0)
        return dn_refuse (pass->err, no_memory_for, "steer");
    return rc < 0 ? -1 : 0;
}

static int serve (struct pass *pass, const struct dn_steer_job *job)
{
    struct dn_steer_change change;
    struct look look;

    if (!is_open (&job->link)
        || (!has (&job->link, "\"steer\":")
            && !(job->start_s > (double) pass->d->now_s))
        || !look_at (pass, &job->link, &look))
        return 0;
    switch (dn_steer_pending (&look.c, job, &change)) {
    case DN_STEER_UNDO:
        let_rest (pass, job);
        return change_job (pass, &job->link, &look, DN_STEER_UNDO, &change) < 0 ? -1
                                                                                : 0;
    case DN_STEER_MOVE:
        return move (pass, job, &look);
    case DN_STEER_HANDS_OFF:
        say_left (&job->link, dn_say_steer_left_own);
        return 0;
    default:
        say_left (&job->link,
                  look.recorded.steer_gpu[0] != '\0' ? dn_say_steer_left_moved
                  : look.c.rests                     ? dn_say_steer_left_rests
                                                     : dn_say_steer_left_kept);
        return 0;
    }
}

/* --- the task --------------------------------------------------------------------- */

static int find_open (void *to, const struct dn_link_job *job)
{
    struct pass *pass = to;

    pass->open = (is_pending (job) || is_running (job)) && is_open (job);
    return pass->open;
}

static int take_node (void *to, const struct dn_link_node *node)
{
    struct pass *pass = to;

    return dn_steer_add_node (pass->queue, node, pass->err);
}

/* Is it on a type that it did not request, or given one? */
static bool is_guest (const struct pass *pass, const struct dn_link_job *job)
{
    const char *type;
    struct look look;

    if (!is_open (job) || (!is_running (job) && !has (job, "\"steer\":"))
        || !look_at (pass, job, &look) || look.recorded.n_open == 0)
        return false;
    type = is_running (job) ? dn_steer_type_of (pass->queue, job)
                            : look.recorded.steer_gpu;
    return type && strcmp (type, look.recorded.open[0].gpu) != 0;
}

static int take_job (void *to, const struct dn_link_job *job)
{
    struct pass *pass = to;
    struct dn_steer_change change;
    struct look look;

    if (dn_steer_add_job (pass->queue, job, is_guest (pass, job), pass->err) < 0)
        return -1;
    if (is_pending (job) && !is_waiting (job) && pass->n_left > 0)
        return serve (pass, &(struct dn_steer_job){.link = *job, .start_s = NAN});
    if (!is_running (job) || pass->n_left == 0 || !is_open (job)
        || !has (job, "\"either\":1") || !look_at (pass, job, &look)
        || dn_steer_running (&look.c, job, dn_steer_type_of (pass->queue, job), &change)
               != DN_STEER_FIT)
        return 0;
    return change_job (pass, job, &look, DN_STEER_FIT, &change) < 0 ? -1 : 0;
}

static int run_steer (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    dn_cleanup (free_pass) struct pass pass = {.steer = memory, .d = d, .err = err};

    if (dn_jobs_each (d, find_open, &pass, err) < 0)
        return -1;
    if (!pass.open)
        return 0;
    pass.n_left = CHANGES_MAX;
    pass.queue = dn_steer_queue_new (d->now_s, err);
    if (!pass.queue || dn_link_nodes (d->link, d->now_s, take_node, &pass, err) < 0
        || dn_jobs_each (d, take_job, &pass, err) < 0
        || dn_steer_lay (pass.queue, err) < 0)
        return -1;
    for (int64_t i = 0; i < pass.queue->n_jobs && pass.n_left > 0; i++)
        if (serve (&pass, &pass.queue->jobs[i]) < 0)
            return -1;
    return 0;
}

static int take_back (void *to, const struct dn_link_job *job)
{
    struct pass *pass = to;

    return is_pending (job)
               ? serve (pass, &(struct dn_steer_job){.link = *job, .start_s = NAN})
               : 0;
}

/* No job waits for a type that it did not ask for while nothing looks after it. */
static int leave_steer (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    struct pass pass = {.steer = memory, .d = d, .leaves = true, .err = err};

    dn_jobs_drop (d);
    return dn_jobs_each (d, take_back, &pass, err) < 0 ? -1 : 0;
}

const struct dn_task dn_task_steer = {
    .name = "steer",
    .help = "give pending jobs that are open to several GPU types another one",
    .interval_offset = offsetof (struct dn_site, steer_interval_s),
    .memory = sizeof (struct steer),
    .run = run_steer,
    .leave = leave_steer,
};
