/* jobs.c - the table of jobs, and updates of single jobs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "slurm/link_parts.h"

#include <errno.h>
#include <malloc.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "watch/lists.h"

/* Exported by libslurm, in no public header. */
extern void slurm_xfree (void **item);

/* Functions that take the id of a job take that of a step from 25.11 or 26.05 on. */
#define ID_FOR(function, type, id)                                                     \
    __builtin_choose_expr(__builtin_types_compatible_p (__typeof__ (function), type),  \
                          (uint32_t) (id),                                             \
                          ((slurm_step_id_t){.job_id = (uint32_t) (id),                \
                                             .step_het_comp = NO_VAL,                  \
                                             .step_id = NO_VAL}))
typedef int load_job_f (job_info_msg_t **, uint32_t, uint16_t);
typedef int notify_job_f (uint32_t, char *);

/* All partitions, and of a federation this cluster's jobs only. */
#define SHOWN (SHOW_ALL | SHOW_LOCAL)

/* slurm_free_job_info_msg () of 22.05 does not free the admin comments. */
static void free_reply (job_info_msg_t *reply)
{
    if (!reply)
        return;
    for (uint32_t i = 0; i < reply->record_count; i++) {
        void *comment = reply->job_array[i].admin_comment;

        slurm_xfree (&comment);
        reply->job_array[i].admin_comment = NULL;
    }
    slurm_free_job_info_msg (reply);
}

int dn_link_jobs (struct dn_link *link, struct dn_err *err)
{
    dn_link_jobs_drop (link);
    errno = 0;
    if (slurm_load_jobs (0, &link->jobs, SHOWN) == SLURM_SUCCESS) {
        dn_link_told (link, link->jobs->last_update);
        return 0;
    }
    link->jobs = NULL;
    return dn_link_failed ("jobs", err);
}

void dn_link_jobs_drop (struct dn_link *link)
{
    if (!link->jobs)
        return;
    free_reply (link->jobs);
    link->jobs = NULL;
    /* The reply is most of the memory of this process: the system gets it back. */
    malloc_trim (0);
}

/* --- a job as a plain struct --------------------------------------------------- */

/* The trackers that a federation keeps of jobs of other clusters are revoked. */
static enum dn_job_phase phase_of (uint32_t state)
{
    if (state & JOB_REVOKED)
        return DN_PHASE_ENDED;
    if (state & JOB_COMPLETING)
        return DN_PHASE_ENDING;
    switch (state & JOB_STATE_BASE) {
    case JOB_PENDING:
        return DN_PHASE_PENDING;
    case JOB_RUNNING:
        return DN_PHASE_RUNNING;
    case JOB_SUSPENDED:
        return DN_PHASE_SUSPENDED;
    default:
        return DN_PHASE_ENDED;
    }
}

/* Its ids, and the one that updates and people use. */
static void set_ids (const slurm_job_info_t *from, struct dn_link_job *job)
{
    struct dn_buf name = dn_buf_on (job->name, sizeof (job->name));

    job->raw_id = from->job_id;
    job->job_id = from->job_id;
    job->array_task = DN_UNSET;
    job->het_offset = DN_UNSET;
    if (from->het_job_id != 0 && from->het_job_id != NO_VAL) {
        job->job_id = from->het_job_id;
        job->het_offset = dn_link_number (from->het_job_offset);
        dn_buf_add (&name, "%u+%u", from->het_job_id, from->het_job_offset);
    } else if (from->array_job_id != 0 && from->array_task_id != NO_VAL) {
        job->job_id = from->array_job_id;
        job->array_task = from->array_task_id;
        dn_buf_add (&name, "%u_%u", from->array_job_id, from->array_task_id);
    } else {
        if (from->array_job_id != 0) {
            job->job_id = from->array_job_id;
            job->pending_tasks = from->array_task_str;
        }
        dn_buf_add (&name, "%u", (unsigned) job->job_id);
    }
}

/* While a job is suspended, pre_sus_time is how long it ran until then; later, until
 * its last suspension, which ended at suspend_time.
 */
static void set_times (const slurm_job_info_t *from, struct dn_link_job *job)
{
    int64_t start = from->start_time;

    job->limit_s = dn_link_seconds (from->time_limit);
    job->time_min_s = from->time_min == NO_VAL ? 0 : dn_link_seconds (from->time_min);
    job->submit = from->submit_time;
    job->eligible = from->eligible_time;
    job->start = start;
    job->end = from->end_time;
    job->deadline = from->deadline == NO_VAL ? 0 : from->deadline;
    if (from->suspend_time > 0 && start > 0) {
        job->suspended_s = from->suspend_time - start - from->pre_sus_time;
        if (job->suspended_s < 0)
            job->suspended_s = 0;
    }
    if (job->phase == DN_PHASE_SUSPENDED)
        job->ran_s = from->pre_sus_time;
}

static void set_gres (const slurm_job_info_t *from,
                      struct dn_link *link,
                      struct dn_link_job *job)
{
    struct dn_buf buf = dn_buf_on (link->gres, sizeof (link->gres));

    job->tres_per[DN_TRES_PER_JOB] = from->tres_per_job;
    job->tres_per[DN_TRES_PER_NODE] = from->tres_per_node;
    job->tres_per[DN_TRES_PER_SOCKET] = from->tres_per_socket;
    job->tres_per[DN_TRES_PER_TASK] = from->tres_per_task;
    for (int i = 0; i < DN_N_TRES_PER; i++)
        if (job->tres_per[i] && job->tres_per[i][0] != '\0')
            dn_buf_add (&buf, "%s%s", buf.len > 0 ? "," : "", job->tres_per[i]);
    job->gres = buf.len > 0 ? link->gres : NULL;
}

/* The count of "gres:gpu:8"; 0: none. */
static int64_t of_gpu (const char *tres)
{
    struct dn_gres gres = dn_gres_read (tres);

    return gres.n_gpus > 0 ? gres.gpus[0].count : 0;
}

static bool is_text (const char *text)
{
    return text && text[0] != '\0';
}

static void set_needs (const slurm_job_info_t *from, struct dn_link_job *job)
{
    int64_t mem_mb = (int64_t) (from->pn_min_memory & ~MEM_PER_CPU);

    job->n_tasks = from->num_tasks == NO_VAL ? 0 : from->num_tasks;
    job->node_cpus = from->pn_min_cpus == NO_VAL16 ? 0 : from->pn_min_cpus;
    job->cpus_per_gpu = of_gpu (from->cpus_per_tres);
    job->mem_per_gpu_mb = of_gpu (from->mem_per_tres);
    job->on_nodes = is_text (from->req_nodes) || is_text (from->exc_nodes);
    if (from->pn_min_memory == NO_VAL64)
        return;
    if (from->pn_min_memory & MEM_PER_CPU)
        job->mem_per_cpu_mb = mem_mb;
    else
        job->node_mem_mb = mem_mb;
}

static const char *name_of_user (uid_t user)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    const struct passwd *entry = getpwuid (user);

    return entry ? entry->pw_name : NULL;
}

/* Only jobs with a record need them. */
static void set_output (const slurm_job_info_t *from, struct dn_link_job *job)
{
    if (!job->batch || !from->admin_comment
        || !strstr (from->admin_comment, "{\"dnnest\":"))
        return;
    job->std_out = from->std_out;
    job->std_err = from->std_err;
    job->title = from->name;
    job->host = from->batch_host;
    if ((from->std_out && strchr (from->std_out, '%'))
        || (from->std_err && strchr (from->std_err, '%')))
        job->user = name_of_user (from->user_id);
}

static void take_job (slurm_job_info_t *from,
                      struct dn_link *link,
                      struct dn_link_job *job)
{
    *job = (struct dn_link_job){
        .user_id = from->user_id,
        .group_id = from->group_id,
        .phase = phase_of (from->job_state),
        .state = dn_link_state (from->job_state & JOB_STATE_BASE),
        .n_nodes = from->num_nodes,
        .n_cpus = from->num_cpus,
        .priority = from->priority,
        .whole = from->shared == JOB_SHARED_NONE,
        .restarts = from->restart_cnt,
        .exit_code = dn_link_number (from->exit_code),
        .batch = from->batch_flag != 0,
        .requeue = from->requeue != 0,
        .federated = from->fed_origin_str != NULL,
        .partition = from->partition,
        .account = from->account,
        .qos = from->qos,
        .features = from->features,
        .nodes = from->nodes,
        .reservation = from->resv_name,
        .tres = from->tres_req_str,
        .comment = from->comment,
        .admin_comment = from->admin_comment,
        .work_dir = from->work_dir,
    };
    job->queued = job->phase == DN_PHASE_PENDING
                  && (from->state_reason == WAIT_PRIORITY
                      || from->state_reason == WAIT_RESOURCES);
    job->unseen =
        job->phase == DN_PHASE_PENDING && from->state_reason == WAIT_NO_REASON;
    set_ids (from, job);
    set_gres (from, link, job);
    set_needs (from, job);
    set_times (from, job);
    set_output (from, job);
}

static int each_of (struct dn_link *link,
                    job_info_msg_t *reply,
                    dn_link_job_f take,
                    void *to)
{
    for (uint32_t i = 0; i < reply->record_count; i++) {
        struct dn_link_job job;
        int rc;

        take_job (&reply->job_array[i], link, &job);
        rc = take (to, &job);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int dn_link_jobs_each (struct dn_link *link, dn_link_job_f take, void *to)
{
    return link->jobs ? each_of (link, link->jobs, take, to) : 0;
}

/* The one record of 'raw_id', which may come with the others of its array. */
struct one {
    int64_t raw_id;
    dn_link_job_f take;
    void *to;
};

static int take_one (void *to, const struct dn_link_job *job)
{
    struct one *one = to;

    return job->raw_id == one->raw_id ? one->take (one->to, job) : 0;
}

int dn_link_job_now (struct dn_link *link,
                     int64_t raw_id,
                     dn_link_job_f take,
                     void *to,
                     struct dn_err *err)
{
    job_info_msg_t *reply = NULL;
    struct one one = {raw_id, take, to};
    int rc;

    errno = 0;
    if (slurm_load_job (&reply, ID_FOR (slurm_load_job, load_job_f, raw_id), SHOWN)
        != SLURM_SUCCESS)
        return errno == ESLURM_INVALID_JOB_ID ? 0 : dn_link_failed ("job", err);
    rc = each_of (link, reply, take_one, &one);
    free_reply (reply);
    return rc;
}

bool dn_link_share_node (const char *a, const char *b)
{
    __auto_type hosts = slurm_hostlist_create (a ? a : "");
    __auto_type others = slurm_hostlist_create (b ? b : "");
    bool shared = false;
    char *host;

    while (hosts && others && !shared && (host = slurm_hostlist_shift (hosts))) {
        shared = slurm_hostlist_find (others, host) >= 0;
        free (host);
    }
    if (hosts)
        slurm_hostlist_destroy (hosts);
    if (others)
        slurm_hostlist_destroy (others);
    return shared;
}

/* --- changes ------------------------------------------------------------------- */

/* What a request about a job has returned: its own code, errno, or the codes of the
 * tasks of an array.
 */
static int check (int rc,
                  int error,
                  job_array_resp_msg_t *reply,
                  const char *what,
                  const char *name,
                  struct dn_err *err)
{
    int code = rc == SLURM_ERROR ? error : rc;

    for (uint32_t i = 0; reply && code == 0 && i < reply->job_array_count; i++)
        code = (int) reply->error_code[i];
    if (reply)
        slurm_free_job_array_resp (reply);
    if (rc == SLURM_ERROR && code == 0)
        code = SLURM_UNEXPECTED_MSG_ERROR;
    if (code == 0)
        return 0;
    dn_link_fail (code, what, err);
    return dn_err_wrap (err, dn_say_of_job, name);
}

static int update (job_desc_msg_t *desc,
                   const char *name,
                   const char *what,
                   struct dn_err *err)
{
    job_array_resp_msg_t *reply = NULL;
    int rc;

    desc->job_id_str = (char *) name;
    errno = 0;
    rc = slurm_update_job2 (desc, &reply);
    return check (rc, errno, reply, what, name, err);
}

int dn_link_update (struct dn_link *link,
                    const struct dn_link_change *change,
                    struct dn_err *err)
{
    job_desc_msg_t desc;
    int64_t limit = change->limit_s;

    (void) link;
    /* Slurm would take 0 minutes, and end the job. */
    if (limit != 0 && limit != DN_UNSET
        && (limit < 60 || limit % 60 != 0 || limit / 60 >= NO_VAL - 1))
        return dn_err_set (
            err, DN_E_BUG, dn_say_err_whole_minutes, change->name, (long long) limit);
    slurm_init_job_desc_msg (&desc);
    if (limit > 0)
        desc.time_limit = (uint32_t) (limit / 60);
    desc.admin_comment = (char *) change->admin_comment;
    desc.tres_per_node = (char *) change->gres;
    desc.partition = (char *) change->partition;
    desc.features = (char *) change->features;
    if (change->mem_mb > 0)
        desc.pn_min_memory = (uint64_t) change->mem_mb;
    return update (&desc, change->name, "update", err);
}

int dn_link_notify (struct dn_link *link,
                    const struct dn_link_job *job,
                    const char *line,
                    struct dn_err *err)
{
    int rc;

    (void) link;
    errno = 0;
    rc = slurm_notify_job (ID_FOR (slurm_notify_job, notify_job_f, job->raw_id),
                           (char *) line);
    return check (rc, errno, NULL, "notify", job->name, err);
}

int dn_link_requeue (struct dn_link *link,
                     const char *name,
                     bool hold,
                     struct dn_err *err)
{
    job_array_resp_msg_t *reply = NULL;
    int rc;

    (void) link;
    errno = 0;
    rc = slurm_requeue2 ((char *) name, hold ? JOB_REQUEUE_HOLD : 0, &reply);
    return check (rc, errno, reply, "requeue", name, err);
}

int dn_link_release (struct dn_link *link, const char *name, struct dn_err *err)
{
    job_desc_msg_t desc;

    (void) link;
    slurm_init_job_desc_msg (&desc);
    desc.priority = INFINITE;
    return update (&desc, name, "release", err);
}
