/* ended.c - the jobs that have ended, from slurmdbd through libslurm
 *
 * Each answer has the jobs with their steps, since only steps have CPU time and memory.
 * All states of an end are asked for: then slurmdbd selects by the time of the end, and
 * not what overlaps the period. A job that was requeued is several records
 * (JOBCOND_FLAG_DUP).
 *
 * GPUs are those of the allocation, if AccountingStorageTRES has gres/gpu; their type
 * is known where it has gres/gpu:TYPE, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "collect/collecting.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/messages.h"
#include "jobs/accounting.h"
#include "slurm/link_parts.h"

/* Numbers of TRES that do not depend on the cluster. */
#define TRES_CPU "1"
#define TRES_MEM "2"

#define LIST_TEXT_MAX 1024

/* A number of the database and what it names. */
struct named {
    uint32_t id;
    char name[DN_NAME_MAX];
};

struct names {
    struct named *rows; /* owned */
    int64_t n;
};

struct ended {
    void *connection; /* NULL: not connected */
    struct names qos;
    struct names gpus; /* TRES gres/gpu "" and gres/gpu:TYPE "TYPE" */
};

/* A job as a plain struct, with the texts that are made of it. */
struct made {
    struct dn_finished job;
    char id[DN_NAME_MAX];
    char host[DN_NAME_MAX * 4];
    char gpu[DN_NAME_MAX];
};

static int fail (const char *what, struct dn_err *err)
{
    int code = errno ? errno : ESLURM_DB_CONNECTION;

    dn_link_fail (code, what, err);
    return dn_err_wrap (err, "slurmdbd");
}

static const char *text_of (const char *text)
{
    return text ? text : "";
}

/* --- names of the database ------------------------------------------------------- */

static int add_name (struct names *names,
                     uint32_t id,
                     const char *name,
                     struct dn_err *err)
{
    if (dn_rows_grow (&names->rows, names->n, sizeof (*names->rows), err) < 0)
        return -1;
    names->rows[names->n].id = id;
    snprintf (names->rows[names->n].name, DN_NAME_MAX, "%s", name ? name : "");
    names->n++;
    return 0;
}

static const struct named *find_name (const struct names *names, uint32_t id)
{
    for (int64_t i = 0; i < names->n; i++)
        if (names->rows[i].id == id)
            return &names->rows[i];
    return NULL;
}

static void free_names (struct names *names)
{
    free (names->rows);
    *names = (struct names){.n = 0};
}

static int add_gpu (struct names *names,
                    const slurmdb_tres_rec_t *tres,
                    struct dn_err *err)
{
    const char *name = tres->name ? tres->name : "";

    if (!tres->type || strcmp (tres->type, "gres") != 0)
        return 0;
    if (strcmp (name, "gpu") == 0)
        return add_name (names, tres->id, "", err);
    return strncmp (name, "gpu:", 4) == 0 ? add_name (names, tres->id, name + 4, err)
                                          : 0;
}

static void disconnect (struct ended *ended)
{
    if (ended->connection)
        slurmdb_connection_close (&ended->connection);
    ended->connection = NULL;
    free_names (&ended->qos);
    free_names (&ended->gpus);
}

/* Connect, and read the names, which may have changed since. */
static int connect_dbd (struct ended *ended, struct dn_err *err)
{
    slurmdb_qos_cond_t qos_cond;
    slurmdb_tres_cond_t tres_cond;
    const slurmdb_qos_rec_t *qos;
    const slurmdb_tres_rec_t *tres;
    uint16_t persistent = 0;
    struct xlist *answer;
    int rc = 0;

    memset (&qos_cond, 0, sizeof (qos_cond));
    slurmdb_init_tres_cond (&tres_cond, 0);
    errno = 0;
    ended->connection = slurmdb_connection_get (&persistent);
    if (!ended->connection)
        return fail ("connection", err);
    errno = 0;
    answer = slurmdb_qos_get (ended->connection, &qos_cond);
    if (!answer)
        return fail ("QOS", err);
    DN_LINK_EACH (qos, answer)
        rc = rc < 0 ? rc : add_name (&ended->qos, qos->id, qos->name, err);
    slurm_list_destroy (answer);
    if (rc < 0)
        return rc;
    errno = 0;
    answer = slurmdb_tres_get (ended->connection, &tres_cond);
    if (!answer)
        return fail ("TRES", err);
    DN_LINK_EACH (tres, answer)
        rc = rc < 0 ? rc : add_gpu (&ended->gpus, tres, err);
    slurm_list_destroy (answer);
    return rc;
}

/* --- a job as a plain struct ----------------------------------------------------- */

/* Flags that count as the end of a record, besides the states from JOB_COMPLETE on. */
static const struct {
    uint32_t flag;
    const char *name;
} flags[] = {
    {JOB_REQUEUE, "REQUEUED"},
    {JOB_RESIZING, "RESIZING"},
    {JOB_REVOKED, "REVOKED"},
};
#define N_STATES (JOB_OOM - JOB_COMPLETE + 1)
#define N_ENDS   (N_STATES + DN_N_ELEMENTS (flags))

static const char *state_of (uint32_t state)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (flags); i++)
        if (state & flags[i].flag)
            return flags[i].name;
    state &= JOB_STATE_BASE;
    return state >= JOB_COMPLETE && state <= JOB_OOM ? dn_link_state (state) : "";
}

/* Type and number of the GPUs of an allocation. */
static void take_gpus (const struct ended *ended, const char *text, struct made *made)
{
    struct dn_span rest = dn_span_of (text);
    struct dn_span name;
    int64_t typed = 0;
    int64_t count;

    while (dn_tres_next (&rest, &name, &count)) {
        int64_t id;
        const struct named *gpu = dn_int_read (name, "id", 0, UINT32_MAX, &id, NULL) < 0
                                      ? NULL
                                      : find_name (&ended->gpus, (uint32_t) id);

        if (!gpu || count <= 0)
            continue;
        if (gpu->name[0] == '\0') {
            made->job.gpus = count;
            continue;
        }
        /* Of a job with several types, that of which it has most. */
        if (count > typed)
            snprintf (made->gpu, sizeof (made->gpu), "%s", gpu->name);
        typed = count > typed ? count : typed;
    }
    if (made->job.gpus < typed)
        made->job.gpus = typed;
    if (made->job.gpus == DN_UNSET && ended->gpus.n > 0)
        made->job.gpus = 0;
    made->job.gpu = made->gpu;
}

static int hex_of (char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c != '\0' ? strchr (digits, dn_lower (c)) : NULL;

    return at ? (int) (at - digits) : 0;
}

/* Tasks that never started, of a mask "0x3E0" as "5-9", cut after some ranges. Other
 * texts are kept.
 */
static void write_tasks (struct dn_buf *buf, const char *mask)
{
    size_t len = strlen (mask);
    int64_t n_bits = 4 * (int64_t) (len - 2);
    int64_t first = DN_UNSET;
    int n = 0;

    if (strncmp (mask, "0x", 2) != 0) {
        dn_buf_add (buf, "%.30s", mask);
        return;
    }
    for (int64_t i = 0; i <= n_bits; i++) {
        bool set =
            i < n_bits && (hex_of (mask[len - 1 - (size_t) (i / 4)]) >> i % 4) & 1;

        if (set && first == DN_UNSET) {
            first = i;
        } else if (!set && first != DN_UNSET) {
            if (++n > 3) {
                dn_buf_add (buf, ",...");
                return;
            }
            dn_buf_add (buf, "%s%lld", n > 1 ? "," : "", (long long) first);
            if (i - 1 > first)
                dn_buf_add (buf, "-%lld", (long long) i - 1);
            first = DN_UNSET;
        }
    }
}

/* "12", "12_3", "12_[3-5]" of tasks that never started, "12+1". */
static void write_id (const slurmdb_job_rec_t *job, struct made *made)
{
    struct dn_buf buf = dn_buf_on (made->id, sizeof (made->id));

    if (job->array_task_str && job->array_task_str[0] != '\0') {
        dn_buf_add (&buf, "%u_[", job->array_job_id);
        write_tasks (&buf, job->array_task_str);
        dn_buf_add (&buf, "]");
    } else if (job->array_task_id != NO_VAL) {
        dn_buf_add (&buf, "%u_%u", job->array_job_id, job->array_task_id);
    } else if (job->het_job_id != 0 && job->het_job_offset != NO_VAL) {
        dn_buf_add (&buf, "%u+%u", job->het_job_id, job->het_job_offset);
    } else {
        dn_buf_add (&buf, "%u", job->jobid);
    }
    made->job.job = made->id;
}

/* The sum of the CPU time of all steps, and the largest memory of one: of all its
 * processes, by its nodes. What no step has is unknown.
 */
static void take_steps (struct xlist *steps, struct dn_finished *job)
{
    const slurmdb_step_rec_t *step;
    double cpu_s = 0;
    double mem_gb = 0;

    DN_LINK_EACH (step, steps) {
        double nodes = step->nnodes > 0 && step->nnodes != NO_VAL ? step->nnodes : 1;
        int64_t bytes =
            dn_tres_count (text_of (step->stats.tres_usage_in_tot), TRES_MEM);
        double gb = (double) bytes / DN_GIB / nodes;

        cpu_s += (double) step->tot_cpu_sec + 1e-6 * (double) step->tot_cpu_usec;
        mem_gb = gb > mem_gb ? gb : mem_gb;
    }
    job->cpu_s = cpu_s > 0 ? cpu_s : NAN;
    job->host_mem_gb = mem_gb > 0 ? mem_gb : NAN;
}

/* The exit status, or 128 and the signal, as a shell has it. */
static int64_t exit_of (uint32_t status)
{
    int code = (int) status;

    if (status == NO_VAL)
        return DN_UNSET;
    return WIFSIGNALED (code) ? 128 + WTERMSIG (code) : WEXITSTATUS (code);
}

static void take_times (const slurmdb_job_rec_t *from, struct dn_finished *job)
{
    job->submit_s = from->submit;
    job->eligible_s = from->eligible;
    job->start_s = from->start;
    job->end_s = from->end;
    dn_finished_settle_times (job);
    job->suspended_s = dn_link_number (from->suspended);
    job->limit_s = dn_link_seconds (from->timelimit);
}

static void make_job (const struct ended *ended,
                      const slurmdb_job_rec_t *from,
                      struct made *made)
{
    struct dn_finished *job = &made->job;
    struct dn_buf host = dn_buf_on (made->host, sizeof (made->host));
    const struct named *qos = find_name (&ended->qos, from->qosid);
    int64_t mem_mb;

    dn_finished_clear (job);
    made->gpu[0] = '\0';
    job->cluster = text_of (from->cluster);
    job->raw_id = from->jobid;
    write_id (from, made);
    job->user = dn_link_number (from->uid);
    job->user_name = text_of (from->user);
    job->account = text_of (from->account);
    job->partition = text_of (from->partition);
    job->qos = qos ? qos->name : "";
    job->name = text_of (from->jobname);
    take_times (from, job);
    job->state = state_of (from->state);
    job->exit_code = exit_of (from->exitcode);
#ifdef HAVE_SLURMDB_JOB_REC_T_RESTART_CNT
    job->restarts = from->restart_cnt;
#endif
    if (from->tres_alloc_str && from->tres_alloc_str[0] != '\0') {
        job->nodes = dn_link_number (from->alloc_nodes);
        job->cpus = dn_tres_count (from->tres_alloc_str, TRES_CPU);
        mem_mb = dn_tres_count (from->tres_alloc_str, TRES_MEM);
        job->mem_gb = mem_mb > 0 ? (double) mem_mb / 1024 : NAN;
    } else {
        job->nodes = job->cpus = 0; /* it never ran; the record has what it asked for */
    }
    dn_first_host (text_of (from->nodes), &host);
    job->host = made->host;
    take_gpus (ended, text_of (from->tres_alloc_str), made);
    take_steps (from->steps, job);
}

/* --- reading --------------------------------------------------------------------- */

/* Texts of a list that is freed without them. */
struct asked {
    slurmdb_job_cond_t cond;
    char cluster[LIST_TEXT_MAX];
    char states[N_ENDS][16];
};

static int ask (struct asked *asked, const char *cluster, struct dn_period period)
{
    slurmdb_job_cond_t *cond = &asked->cond;

    memset (asked, 0, sizeof (*asked));
    cond->flags = JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_TRUNC;
    cond->db_flags = SLURMDB_JOB_FLAG_NOTSET;
    cond->usage_start = period.since_s;
    cond->usage_end = period.until_s - 1; /* slurmdbd counts both ends in */
    cond->cluster_list = slurm_list_create (NULL);
    cond->state_list = slurm_list_create (NULL);
    if (!cond->cluster_list || !cond->state_list)
        return -1;
    snprintf (asked->cluster, sizeof (asked->cluster), "%s", cluster);
    slurm_list_append (cond->cluster_list, asked->cluster);
    for (size_t i = 0; i < N_ENDS; i++) {
        uint32_t state =
            i < N_STATES ? JOB_COMPLETE + (uint32_t) i : flags[i - N_STATES].flag;

        snprintf (asked->states[i], sizeof (asked->states[i]), "%u", state);
        slurm_list_append (cond->state_list, asked->states[i]);
    }
    return 0;
}

static void free_asked (struct asked *asked)
{
    if (asked->cond.cluster_list)
        slurm_list_destroy (asked->cond.cluster_list);
    if (asked->cond.state_list)
        slurm_list_destroy (asked->cond.state_list);
}

static int hand_on (const struct ended *ended,
                    struct xlist *answer,
                    struct dn_period period,
                    dn_ended_f take,
                    void *to)
{
    const slurmdb_job_rec_t *job;
    struct made made;

    DN_LINK_EACH (job, answer) {
        int rc;

        if (job->end < period.since_s || job->end >= period.until_s)
            continue;
        make_job (ended, job, &made);
        rc = take (to, &made.job, job->admin_comment);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int read_ended (void *self,
                       const char *cluster,
                       struct dn_period period,
                       dn_ended_f take,
                       void *to,
                       struct dn_err *err)
{
    struct ended *ended = self;
    dn_cleanup (free_asked) struct asked asked;
    struct xlist *answer;
    int rc;

    if (ask (&asked, cluster, period) < 0)
        return dn_refuse (err, no_memory_for, "slurmdbd");
    if (!ended->connection && connect_dbd (ended, err) < 0) {
        disconnect (ended);
        return -1;
    }
    errno = 0;
    answer = slurmdb_jobs_get (ended->connection, &asked.cond);
    if (!answer) {
        /* Too long for slurmdbd or for this process; or slurmdbd has just ended, which
         * the next connection tells. */
        fail ("jobs", err);
        err->code = DN_E_LIMIT;
        disconnect (ended);
        return -1;
    }
    rc = hand_on (ended, answer, period, take, to);
    slurm_list_destroy (answer);
    return rc;
}

static void close_ended (void *self)
{
    disconnect (self);
    free (self);
}

int dn_ended_open (struct dn_source *source, struct dn_err *err)
{
    struct ended *ended = calloc (1, sizeof (*ended));

    if (!ended)
        return dn_refuse (err, no_memory_for, "slurmdbd");
    *source = (struct dn_source){
        .name = "slurmdbd", .self = ended, .read = read_ended, .close = close_ended};
    return 0;
}
