/* request.c - what a submission amounts to, and what of it must be left alone
 *
 * A form that is understood but whose rewriting has a trap (slurm.md 3.2) is kept as it
 * is, with the reason. The traps that are handled: the same fact in several fields,
 * memory that follows CPUs, several tasks. Those that are kept: GPUs in more than one
 * field, types mixed with untyped, constraints, node lists and reservations that may
 * name a type, whole-node and overcommitted jobs, CPUs that follow GPUs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/request.h"

#include <stdio.h>
#include <string.h>

#include "request/script.h"

struct dn_job dn_job_empty (void)
{
    return (struct dn_job){
        .user_id = DN_UNSET,
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
        .min_nodes = DN_UNSET,
        .max_nodes = DN_UNSET,
        .mem_per_node_mb = DN_UNSET,
        .mem_per_cpu_mb = DN_UNSET,
        .default_mem_per_cpu_mb = DN_UNSET,
    };
}

const char *dn_job_getenv (const struct dn_job *job, const char *name)
{
    size_t len = strlen (name);

    for (int64_t i = 0; i < job->n_env; i++)
        if (strncmp (job->env[i], name, len) == 0 && job->env[i][len] == '=')
            return job->env[i] + len + 1;
    return NULL;
}

static bool is_given (const char *text)
{
    return text && text[0] != '\0';
}

static void keep (char reason[DN_REASON_MAX], const char *text)
{
    if (reason[0] == '\0')
        snprintf (reason, DN_REASON_MAX, "%s", text);
}

/* A product of counts that a hostile client may make as large as it likes; DN_UNSET
 * when it is no number of anything.
 */
static int64_t product (int64_t a, int64_t b)
{
    return a < 0 || b < 0 || (b > 0 && a > DN_COUNT_MAX / b) ? DN_UNSET : a * b;
}

/* How many times the count of 'field' applies to the whole job; DN_UNSET if unknown. */
static int64_t field_multiplier (const struct dn_request *request,
                                 enum dn_gpu_field field)
{
    switch (field) {
    case DN_GPU_PER_JOB:
        return 1;
    case DN_GPU_PER_NODE:
        return request->n_nodes;
    case DN_GPU_PER_TASK:
        return request->n_tasks;
    default: /* sockets are not visible here */
        return DN_UNSET;
    }
}

static void count_gpus (struct dn_request *request, int64_t in_field)
{
    int64_t times = field_multiplier (request, request->gpu_field);

    if (times != DN_UNSET)
        request->n_gpus = product (in_field, times);
    if (request->gpu_field == DN_GPU_PER_NODE)
        request->gpus_per_node = in_field;
    else if (request->n_gpus != DN_UNSET)
        /* An uneven spread puts at most this many on one node; one node may take all
         * when the number of nodes is open. */
        request->gpus_per_node =
            request->n_nodes > 0
                ? (request->n_gpus + request->n_nodes - 1) / request->n_nodes
                : request->n_gpus;
}

/* Find the one GPU entry of the job; anything but one keeps the GPU type. */
static int read_gpus (struct dn_request *request, struct dn_err *err)
{
    struct dn_tres_list list;
    int n_found = 0;

    for (int f = DN_GPU_PER_JOB; f < DN_N_GPU_FIELDS; f++) {
        if (dn_tres_read (request->job->tres[f], &list, err) < 0)
            return -1;
        for (int i = 0; i < list.n_entries; i++) {
            const struct dn_tres *entry = &list.entries[i];

            if (dn_span_is (entry->name, "shard") || dn_span_is (entry->name, "mps"))
                keep (request->keep_gpu, "shares of a GPU are left alone");
            if (!entry->gpu && !dn_span_is (entry->name, "cpu"))
                keep (request->keep_gpu, "other resources of a node were requested");
            if (!entry->gpu)
                continue;
            n_found++;
            request->gpu_field = (enum dn_gpu_field) f;
            if (dn_span_copy (entry->type,
                              request->gpu_type,
                              sizeof (request->gpu_type),
                              "GPU type",
                              err)
                < 0)
                return -1;
            count_gpus (request, entry->count);
        }
    }
    if (n_found == 0) {
        request->n_gpus = 0;
        request->gpus_per_node = 0;
        keep (request->keep_gpu, "no GPU was requested");
    } else if (n_found > 1) {
        request->gpu_field = DN_GPU_NONE;
        request->gpu_type[0] = '\0';
        request->n_gpus = DN_UNSET;
        request->gpus_per_node = DN_UNSET;
        keep (request->keep_gpu, "GPUs are requested in more than one entry");
    } else if (request->gpu_type[0] == '\0') {
        keep (request->keep_gpu, "the GPU request is untyped: any type may serve it");
    }
    return 0;
}

static void read_tasks (struct dn_request *request)
{
    const struct dn_job *job = request->job;

    if (job->min_nodes == DN_UNSET && job->max_nodes == DN_UNSET)
        request->n_nodes = 1;
    else if (job->max_nodes == DN_UNSET || job->max_nodes == job->min_nodes)
        request->n_nodes = job->min_nodes > 0 ? job->min_nodes : DN_UNSET;
    if (job->num_tasks > 0)
        request->n_tasks = job->num_tasks;
    else if (job->ntasks_per_node > 0)
        request->n_tasks = request->n_nodes > 0
                               ? product (job->ntasks_per_node, request->n_nodes)
                               : DN_UNSET;
    else
        request->n_tasks = request->n_nodes;
    /* More tasks than fit on the nodes' minimum: without -N Slurm picks the nodes. */
    if (job->min_nodes == DN_UNSET && request->n_tasks > 1)
        request->n_nodes = DN_UNSET;
}

static void read_cpus (struct dn_request *request)
{
    const struct dn_job *job = request->job;

    if (job->cpus_per_task > 0)
        request->cpus_per_task = job->cpus_per_task;
    if (request->cpus_per_task != DN_UNSET && request->n_tasks != DN_UNSET)
        request->n_cpus = product (request->cpus_per_task, request->n_tasks);
    else if (job->min_cpus > 0)
        request->n_cpus = job->min_cpus;
    if (is_given (job->cpus_per_tres))
        keep (request->keep_cpus, "CPUs follow the GPUs (--cpus-per-gpu)");
    if (request->cpus_per_task == DN_UNSET)
        keep (request->keep_cpus, "no CPUs per task were requested (-c)");
    if (request->n_tasks == DN_UNSET)
        keep (request->keep_cpus, "the number of tasks is open");
    if (job->exclusive)
        keep (request->keep_cpus, "whole nodes were requested");
    if (job->overcommit)
        keep (request->keep_cpus, "overcommitted CPUs");
    if (job->special_cores)
        keep (request->keep_cpus, "cores, threads or tasks per core were specified");
}

/* CPUs that one GPU's processes can count on. Without -c Slurm gives one CPU per task;
 * on whole nodes there are as many as the node has.
 */
static int read_cpus_per_gpu (struct dn_request *request, struct dn_err *err)
{
    const struct dn_job *job = request->job;
    int64_t n_cpus = request->n_cpus != DN_UNSET ? request->n_cpus : request->n_tasks;
    struct dn_tres_list list;

    if (dn_tres_read (job->cpus_per_tres, &list, err) < 0)
        return dn_err_wrap (err, "cpus per gpu");
    if (list.n_entries == 1 && list.entries[0].gpu)
        request->cpus_per_gpu = (double) list.entries[0].count;
    else if (!job->exclusive && n_cpus > 0 && request->n_gpus > 0)
        request->cpus_per_gpu = (double) n_cpus / (double) request->n_gpus;
    return 0;
}

/* Memory per node that the request amounts to. A request per CPU, or the cluster's
 * default per CPU, shrinks with the CPUs: it can only be kept whole when the CPUs of
 * one node are known.
 */
static void read_memory (struct dn_request *request)
{
    const struct dn_job *job = request->job;
    int64_t per_cpu = job->mem_per_cpu_mb;

    if (job->mem_per_node_mb != DN_UNSET) {
        request->mem_per_node_mb = job->mem_per_node_mb;
        return;
    }
    if (is_given (job->mem_per_tres))
        return;
    if (per_cpu == DN_UNSET)
        per_cpu = job->default_mem_per_cpu_mb;
    if (per_cpu <= 0)
        return;
    request->mem_follows_cpus = true;
    if (request->n_nodes > 0 && request->n_cpus > 0
        && request->n_cpus % request->n_nodes == 0
        && per_cpu <= INT64_MAX / request->n_cpus)
        request->mem_per_node_mb = per_cpu * (request->n_cpus / request->n_nodes);
    else
        keep (request->keep_cpus,
              "memory follows CPUs and the CPUs of a node are open");
}

/* Kinds of jobs and conditions that forbid a change altogether. */
static void read_conditions (struct dn_request *request)
{
    const struct dn_job *job = request->job;

    if (job->kind != DN_JOB_BATCH) {
        keep (request->keep_gpu, "only batch jobs can change their GPUs");
        keep (request->keep_cpus, "only batch jobs can change their CPUs");
    }
    if (job->het) {
        keep (request->keep_time, "component of a heterogeneous job");
        keep (request->keep_gpu, "component of a heterogeneous job");
        keep (request->keep_cpus, "component of a heterogeneous job");
    }
    if (job->time_limit_min == DN_UNLIMITED)
        keep (request->keep_time, "an unlimited time was requested");
    if (is_given (job->features) || is_given (job->prefer))
        keep (request->keep_gpu, "a constraint may name a GPU type");
    if (job->memory_open) {
        keep (request->keep_gpu, "no memory was requested: it may follow the node");
        keep (request->keep_cpus, "no memory was requested: it may follow the CPUs");
    }
    if (is_given (job->req_nodes) || is_given (job->exc_nodes))
        keep (request->keep_gpu, "nodes were named");
    if (job->special_nodes || job->special_cores)
        keep (request->keep_gpu, "the shape of a node was specified");
    if (job->exclusive || job->mem_per_node_mb == 0)
        keep (request->keep_gpu, "a whole node or its whole memory was requested");
    if (is_given (job->mem_per_tres) || is_given (job->cpus_per_tres))
        keep (request->keep_gpu, "memory or CPUs follow the GPUs");
    if (job->pn_min_cpus > 1 && job->pn_min_cpus > job->cpus_per_task)
        keep (request->keep_gpu, "CPUs of a node were requested (--mincpus)");
    if (is_given (job->reservation))
        keep (request->keep_gpu, "a reservation was named");
    if (is_given (job->partition) && strchr (job->partition, ','))
        keep (request->keep_gpu, "several partitions were named");
}

/* Steps of the script that would fail with other resources. */
static void read_script (struct dn_request *request)
{
    const char *script = request->job->script;

    if (request->gpu_type[0] != '\0' && dn_script_names (script, request->gpu_type))
        keep (request->keep_gpu, "the script names the GPU type");
    if (dn_script_counts_cpus (script))
        keep (request->keep_cpus, "the script counts CPUs per task");
}

int dn_request_read (const struct dn_job *job,
                     struct dn_request *request,
                     struct dn_err *err)
{
    memset (request, 0, sizeof (*request));
    request->job = job;
    request->time_limit_s = job->time_limit_min;
    if (job->time_limit_min >= 0)
        request->time_limit_s = job->time_limit_min * 60;
    request->n_gpus = DN_UNSET;
    request->gpus_per_node = DN_UNSET;
    request->n_nodes = DN_UNSET;
    request->n_tasks = DN_UNSET;
    request->cpus_per_task = DN_UNSET;
    request->n_cpus = DN_UNSET;
    request->mem_per_node_mb = DN_UNSET;
    read_conditions (request);
    read_tasks (request);
    if (read_gpus (request, err) < 0) {
        memset (request, 0, sizeof (*request));
        return -1;
    }
    read_cpus (request);
    if (read_cpus_per_gpu (request, err) < 0) {
        memset (request, 0, sizeof (*request));
        return -1;
    }
    read_memory (request);
    read_script (request);
    return 0;
}
