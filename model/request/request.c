/* request.c - parsing a submission, and which of it must not be changed
 *
 * A form that is parsed but not safe to rewrite (doc/design.md, The form of a
 * request) is kept unchanged, with the reason. Handled: the same fact in several
 * fields, memory that follows CPUs or GPUs, CPUs that follow GPUs, several tasks. Kept
 * unchanged: GPUs of several types, types mixed with untyped, node lists and
 * reservations that may name a type, whole-node and overcommitted jobs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/request.h"

#include <stdio.h>
#include <string.h>

#include "base/messages.h"
#include "request/nodes.h"
#include "request/steps.h"

struct dn_job dn_job_empty (void)
{
    return (struct dn_job){
        .user_id = DN_UNSET,
        .draw = DN_UNSET,
        .group_id = DN_UNSET,
        .time_limit_min = DN_UNSET,
        .time_min_min = DN_UNSET,
        .deadline_s = DN_UNSET,
        .cpus_per_task = DN_UNSET,
        .min_cpus = DN_UNSET,
        .pn_min_cpus = DN_UNSET,
        .num_tasks = DN_UNSET,
        .ntasks_per_node = DN_UNSET,
        .ntasks_per_tres = DN_UNSET,
        .sockets_per_node = DN_UNSET,
        .min_nodes = DN_UNSET,
        .max_nodes = DN_UNSET,
        .tmp_disk_mb = DN_UNSET,
        .mem_per_node_mb = DN_UNSET,
        .mem_per_cpu_mb = DN_UNSET,
        .default_mem_per_cpu_mb = DN_UNSET,
        .default_mem_per_gpu_mb = DN_UNSET,
    };
}

const char *dn_job_getenv (const struct dn_job *job, const char *name)
{
    size_t len = strlen (name);

    for (int64_t i = 0; job->env && i < job->n_env; i++) {
        const char *entry = job->env[i];

        if (entry && strncmp (entry, name, len) == 0 && entry[len] == '=')
            return entry + len + 1;
    }
    return NULL;
}

void dn_request_keep_all (struct dn_request *request, const struct dn_reason *reason)
{
    dn_reason_keep (&request->keep_time, reason);
    dn_reason_keep (&request->keep_gpu, reason);
    dn_reason_keep (&request->keep_cpus, reason);
}

static bool is_given (const char *text)
{
    return text && text[0] != '\0';
}

/* The count in a text of CPUs or memory per GPU; DN_UNSET unless the text has exactly
 * one entry, for GPUs of any type.
 */
static int read_per_gpu (const char *text,
                         const char *what,
                         int64_t *count,
                         struct dn_err *err)
{
    struct dn_tres_list list;

    *count = DN_UNSET;
    if (dn_tres_read (text, &list, err) < 0)
        return dn_err_wrap (err, "%s", what);
    if (list.n_entries == 1 && list.entries[0].gpu && list.entries[0].type.len == 0)
        *count = list.entries[0].count;
    return 0;
}

/* CPUs per task: the field, or the entry of --tres-per-task if the field is unset
 * (23.11). If the two differ, the CPUs are kept.
 */
static int read_cpus_per_task (struct dn_request *request, struct dn_err *err)
{
    struct dn_tres_list list;
    int64_t in_text = DN_UNSET;

    if (dn_tres_read (request->job->tres[DN_GPU_PER_TASK], &list, err) < 0)
        return -1;
    for (int i = 0; i < list.n_entries; i++)
        if (list.entries[i].cpu)
            in_text = list.entries[i].count;
    if (request->job->cpus_per_task > 0)
        request->cpus_per_task = request->job->cpus_per_task;
    else if (in_text > 0)
        request->cpus_per_task = in_text;
    if (in_text != DN_UNSET && in_text != request->cpus_per_task)
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_req_cpus_differ);
    return 0;
}

/* With --ntasks-per-gpu some versions request the CPUs of one task for all. */
static bool lacks_cpus (const struct dn_request *request)
{
    const struct dn_job *job = request->job;

    return job->ntasks_per_tres > 0 && job->min_cpus > 0 && !job->overcommit
           && request->cpus_per_task > 0
           && job->min_cpus
                  < dn_request_product (request->cpus_per_task, request->n_tasks);
}

static void keep_cpus (struct dn_request *request)
{
    const struct dn_job *job = request->job;

    if (is_given (job->cpus_per_tres)
        && (request->cpus_each_gpu == DN_UNSET || request->cpus_per_task != DN_UNSET))
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_req_cpus_typed);
    if (request->cpus_each_gpu != DN_UNSET && request->n_gpus == DN_UNSET)
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_gpus_unknown);
    if (request->cpus_per_task == DN_UNSET && request->cpus_each_gpu == DN_UNSET)
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_req_no_cpus);
    if (request->n_tasks == DN_UNSET)
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_req_tasks_unknown);
    if (lacks_cpus (request))
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_req_cpus_few);
    if (job->exclusive)
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_req_whole_nodes);
    if (job->overcommit)
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_req_overcommit);
    if (job->special_cores)
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_req_parts);
    if (dn_job_getenv (job, "SRUN_CPUS_PER_TASK"))
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_req_env_cpus);
}

/* CPUs of the job, and CPUs per GPU. Without -c Slurm gives one CPU per task; a job
 * with whole nodes gets all of their CPUs.
 */
static int read_cpus (struct dn_request *request, struct dn_err *err)
{
    const struct dn_job *job = request->job;
    int64_t n_cpus;

    if (read_per_gpu (
            job->cpus_per_tres, "--cpus-per-gpu", &request->cpus_each_gpu, err)
        < 0)
        return -1;
    if (request->cpus_each_gpu != DN_UNSET)
        request->n_cpus = dn_request_product (request->cpus_each_gpu, request->n_gpus);
    else if (request->cpus_per_task != DN_UNSET && request->n_tasks != DN_UNSET
             && !lacks_cpus (request))
        request->n_cpus = dn_request_product (request->cpus_per_task, request->n_tasks);
    else if (job->min_cpus > 0)
        request->n_cpus = job->min_cpus;
    keep_cpus (request);
    n_cpus = request->n_cpus != DN_UNSET ? request->n_cpus : request->n_tasks;
    if (request->cpus_each_gpu != DN_UNSET)
        request->cpus_per_gpu = (double) request->cpus_each_gpu;
    else if (!job->exclusive && n_cpus > 0 && request->n_gpus > 0)
        request->cpus_per_gpu = (double) n_cpus / (double) request->n_gpus;
    return 0;
}

/* The CPUs of every node; DN_UNSET if they are unknown or differ. With CPUs per GPU and
 * GPUs per job they are known only if the GPUs cannot be spread over nodes.
 */
static int64_t node_cpus (const struct dn_request *request)
{
    bool each_gpu = request->cpus_each_gpu != DN_UNSET;

    if (request->n_cpus <= 0)
        return DN_UNSET;
    /* Each node of a job of one task has one. */
    if (request->n_nodes == DN_UNSET && request->n_tasks == 1 && !each_gpu)
        return request->n_cpus;
    if (request->n_nodes <= 0 || request->n_cpus % request->n_nodes != 0
        || (each_gpu && request->n_nodes > 1 && request->gpu_field != DN_GPU_PER_NODE))
        return DN_UNSET;
    return request->n_cpus / request->n_nodes;
}

/* Memory per node that the request amounts to. A request per CPU, or the cluster's
 * default per CPU, shrinks with the CPUs: its total can be kept only if the CPUs of one
 * node are known.
 */
static int read_memory (struct dn_request *request, struct dn_err *err)
{
    const struct dn_job *job = request->job;
    int64_t per_cpu = job->mem_per_cpu_mb;
    int64_t n_cpus = node_cpus (request);
    int64_t per_gpu;

    if (read_per_gpu (job->mem_per_tres, "--mem-per-gpu", &per_gpu, err) < 0)
        return -1;
    if (is_given (job->mem_per_tres) && per_gpu == DN_UNSET)
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_mem_typed);
    if (job->memory_default)
        per_gpu = job->default_mem_per_gpu_mb;
    if (job->mem_per_node_mb != DN_UNSET)
        request->mem_per_node_mb = job->mem_per_node_mb;
    else if (per_gpu != DN_UNSET)
        request->mem_per_node_mb = dn_request_product (per_gpu, request->gpus_per_node);
    if (job->mem_per_node_mb != DN_UNSET || per_gpu != DN_UNSET
        || is_given (job->mem_per_tres))
        return 0;
    if (per_cpu == DN_UNSET)
        per_cpu = job->default_mem_per_cpu_mb;
    if (per_cpu <= 0)
        return 0;
    request->mem_follows_cpus = true;
    if (n_cpus != DN_UNSET && per_cpu <= INT64_MAX / n_cpus)
        request->mem_per_node_mb = per_cpu * n_cpus;
    else
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_req_mem_per_cpu);
    return 0;
}

/* Nodes that were named: requested ones may be of one type only, excluded ones leave
 * the others of a type.
 */
static void read_names (struct dn_request *request)
{
    const struct dn_job *job = request->job;

    if (is_given (job->req_nodes))
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_nodes_named);
    if (!is_given (job->exc_nodes))
        return;
    request->n_excluded = dn_request_count_nodes (job->exc_nodes);
    if (request->n_excluded == DN_UNSET)
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_nodes_excluded);
}

/* The clock of the GPUs is not predicted. srun of the script reads the variable. */
static void read_clock (struct dn_request *request)
{
    if (!is_given (request->job->gpu_freq)
        && !dn_job_getenv (request->job, "SLURM_GPU_FREQ"))
        return;
    dn_reason_keep_code (&request->keep_time, DN_REASON_req_clock);
    dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_clock);
}

/* Kinds of jobs and options that forbid a change. */
static void read_conditions (struct dn_request *request)
{
    const struct dn_job *job = request->job;
    const char *constraint = dn_job_getenv (job, "SLURM_CONSTRAINT");

    /* An srun whose constraint the allocation cannot meet waits forever. */
    if (constraint && (!job->features || strcmp (constraint, job->features) != 0))
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_env_constraint);
    if (job->kind != DN_JOB_BATCH) {
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_batch_gpus);
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_req_batch_cpus);
    }
    if (job->het)
        dn_request_keep_all (request, &DN_REASON (component));
    if (job->ntasks_per_tres > 1)
        dn_request_keep_all (request, &DN_REASON (req_tasks_share));
    if (job->time_limit_min == DN_UNLIMITED)
        dn_reason_keep_code (&request->keep_time, DN_REASON_req_unlimited);
    if (is_given (job->prefer) || is_given (job->batch_features))
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_prefer);
    if (job->memory_open) {
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_mem_node);
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_req_mem_cpus);
    }
    if (job->special_nodes || job->special_cores)
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_parts);
    if (job->exclusive || job->mem_per_node_mb == 0)
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_whole_node);
    if (job->pn_min_cpus > 1 && job->pn_min_cpus > job->cpus_per_task)
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_node_cpus);
    if (is_given (job->reservation))
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_reservation);
}

static void begin (const struct dn_job *job, struct dn_request *request)
{
    memset (request, 0, sizeof (*request));
    request->job = job;
    request->time_limit_s = job->time_limit_min;
    if (job->time_limit_min >= 0)
        request->time_limit_s = job->time_limit_min * 60;
    request->n_gpus = DN_UNSET;
    request->asked_gpus = DN_UNSET;
    request->used_gpus = DN_UNSET;
    request->gpus_per_node = DN_UNSET;
    request->n_nodes = DN_UNSET;
    request->most_nodes = DN_UNSET;
    request->n_tasks = DN_UNSET;
    request->cpus_per_task = DN_UNSET;
    request->cpus_each_gpu = DN_UNSET;
    request->n_cpus = DN_UNSET;
    request->mem_per_node_mb = DN_UNSET;
}

static int read_shape (struct dn_request *request, struct dn_err *err)
{
    return read_cpus_per_task (request, err) < 0 ? -1
                                                 : dn_request_read_gpus (request, err);
}

int dn_request_read_shape (const struct dn_job *job,
                           struct dn_request *request,
                           struct dn_err *err)
{
    begin (job, request);
    return read_shape (request, err);
}

int dn_request_read (const struct dn_job *job,
                     const struct dn_deadline *deadline,
                     struct dn_request *request,
                     struct dn_err *err)
{
    begin (job, request);
    read_conditions (request);
    read_names (request);
    read_clock (request);
    if (dn_deadline_check (deadline, "request", err) < 0
        || read_shape (request, err) < 0 || read_cpus (request, err) < 0
        || read_memory (request, err) < 0) {
        memset (request, 0, sizeof (*request));
        return -1;
    }
    return 0;
}
