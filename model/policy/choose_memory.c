/* choose_memory.c - the host memory that a job keeps when its CPUs or GPUs go down
 *
 * Where a default per CPU gives the memory, a job with all CPUs of a node has all of
 * its memory, too, and CPUs that are given back start no other job. So memory that was
 * not requested goes down by evidence: on words alone it stays, after one finished run
 * it is twice the measured peak and 4 GiB, after more 1.5 times the largest peak and 2
 * GiB. Peaks are of resident memory, without what is kept in tmpfs. GPUs that are given
 * back take their share of the memory along.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"

#include <math.h>

/* Memory is set in whole GiB. */
#define MB_PER_GIB 1024

/* Does the rule concern the memory at all? */
static bool may_lower (const struct dn_deciding *d)
{
    const struct dn_request *request = d->request;
    const struct dn_decision *decision = d->decision;
    bool fewer_cpus = (decision->cpus_per_task != DN_UNSET
                       && decision->cpus_per_task < request->cpus_per_task)
                      || (decision->cpus_each_gpu != DN_UNSET
                          && decision->cpus_each_gpu < request->cpus_each_gpu);

    if (d->rules->memory < DN_MEMORY_DEFAULT || request->mem_per_node_mb <= 0)
        return false;
    if (decision->gpus != DN_UNSET)
        return true;
    if (request->job->memory_default)
        return fewer_cpus;
    return d->rules->memory == DN_MEMORY_MEASURED
           && (!dn_given (request->keep_cpus)
               || request->keep_cpus.code == DN_REASON_req_no_cpus);
}

/* Why the memory stays; '*why', none, stays so if it may go down. */
static void keeps (const struct dn_deciding *d,
                   const struct dn_estimate *estimate,
                   struct dn_reason *why)
{
    const struct dn_request *request = d->request;
    const struct dn_script_fact *word = &request->script.first[DN_KEEPS_MEMORY];

    if (request->n_nodes != 1
        && (request->n_nodes != DN_UNSET || request->n_tasks != 1))
        why->code = DN_REASON_memory_nodes;
    else if (word->code != DN_REASON_NONE)
        *why = dn_script_reason (word);
    else if (dn_script_has (&request->script, "mem"))
        why->code = DN_REASON_memory_script;
    else if (estimate->host_kept)
        why->code = DN_REASON_memory_killed;
    else if (d->decision->gpus != DN_UNSET)
        return;
    else if (estimate->host_runs == 0)
        why->code = DN_REASON_memory_unmeasured;
    else
        dn_lacks_evidence (
            d->rules->evidence_memory, estimate->host_runs, "EvidenceMemory", why);
}

static double peak_of (const struct dn_estimate *estimate)
{
    return (double) estimate->host_peak_gb * DN_GIB;
}

/* Bytes that suffice. */
static double needed (const struct dn_deciding *d, const struct dn_estimate *estimate)
{
    const struct dn_request *request = d->request;
    double mem = (double) request->mem_per_node_mb * 1048576;
    double peak = peak_of (estimate);

    if (estimate->host_runs == 0) /* the share of the GPUs that stay */
        mem *= (double) request->n_gpus / (double) request->asked_gpus;
    else if (estimate->host_runs == 1)
        mem = 2 * peak + 4 * DN_GIB;
    else
        mem = 1.5 * peak + 2 * DN_GIB;
    return dn_max (mem, estimate->host_mem);
}

/* CPUs of the whole job, as decided. */
static int64_t cpus_of (const struct dn_deciding *d)
{
    const struct dn_decision *decision = d->decision;
    bool each_gpu = decision->cpus_each_gpu != DN_UNSET;

    return dn_all_cpus (d->request,
                        each_gpu ? decision->cpus_each_gpu : decision->cpus_per_task);
}

void dn_choose_memory (const struct dn_deciding *d)
{
    const struct dn_estimate *estimate = &d->estimates[d->decision->chosen];
    struct dn_reason why = DN_NO_REASON;
    double gib;

    if (!may_lower (d))
        return;
    keeps (d, estimate, &why);
    gib = ceil (needed (d, estimate) / DN_GIB);
    if (!dn_given (why) && gib * MB_PER_GIB >= (double) d->request->mem_per_node_mb)
        why.code = DN_REASON_memory_needed;
    if (!dn_given (why)) {
        d->decision->mem_mb = (int64_t) gib * MB_PER_GIB;
        dn_broken_limit (d, d->decision->chosen, cpus_of (d), &why);
    }
    if (dn_given (why)) {
        d->decision->mem_mb = DN_UNSET;
        dn_deciding_say_kept (d, DN_REASON_memory_kept, &why);
        return;
    }
    dn_deciding_say (
        d,
        estimate->host_runs > 0
            ? &DN_REASON (memory_by_runs,
                          dn_arg_count ((int64_t) gib),
                          dn_arg_count (estimate->host_runs),
                          dn_arg_count ((int64_t) ceil (peak_of (estimate) / DN_GIB)))
            : &DN_REASON (memory_share, dn_arg_count ((int64_t) gib)));
}
