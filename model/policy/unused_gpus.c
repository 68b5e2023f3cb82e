/* unused_gpus.c - GPUs that the description says a job does not use
 *
 * The number is lowered only where the job is one task on one node, its CPUs can go
 * down too, and no word of the script starts processes for more GPUs or counts GPUs. A
 * step that requests GPUs by itself would fail with fewer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/policy.h"

/* Words of a script that start a process for each GPU, or that count or name GPUs. */
static const char *const counting[] = {"torchrun",
                                       "distributed",
                                       "accelerate",
                                       "deepspeed",
                                       "horovodrun",
                                       "mpirun",
                                       "mpiexec",
                                       "jsrun",
                                       "colossalai",
                                       "exact",
                                       "ntasks",
                                       "gres",
                                       "tres",
                                       "gpus",
                                       "ngpus",
                                       "devices",
                                       "nproc"};

static bool counts_gpus (const struct dn_script *script)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (counting); i++)
        if (dn_script_has (script, counting[i]))
            return true;
    return false;
}

/* Is the job of a form whose number of GPUs is in places that are all known? */
static bool is_plain (const struct dn_request *request)
{
    const struct dn_job *job = request->job;

    return request->n_nodes == 1 && request->n_tasks == 1 && job->ntasks_per_tres <= 0
           && !(job->mem_per_tres && job->mem_per_tres[0] != '\0')
           && !job->tres[DN_GPU_PER_SOCKET] && !dn_given (request->keep_gpu)
           && !dn_given (request->several_why)
           && (!dn_given (request->keep_cpus)
               || request->keep_cpus.code == DN_REASON_req_no_cpus);
}

void dn_policy_lower_gpus (const struct dn_rules *rules,
                           const struct dn_spec *spec,
                           struct dn_request *request)
{
    if (rules->gpus != DN_GPUS_CHOOSE || spec->gpus <= 0
        || spec->gpus >= request->n_gpus || !is_plain (request)
        || counts_gpus (&request->script))
        return;
    request->asked_gpus = request->n_gpus;
    request->n_gpus = spec->gpus;
    request->gpus_per_node = spec->gpus;
}
