/* choose_cpus.c - the CPUs that keep the GPUs of a job busy
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"

/* The requested CPUs, per GPU or per task; '*times' is the number of GPUs or tasks. */
static int64_t requested_cpus (const struct dn_request *request, int64_t *times)
{
    bool each_gpu = request->cpus_each_gpu != DN_UNSET;

    *times = each_gpu ? request->n_gpus : request->n_tasks;
    return each_gpu ? request->cpus_each_gpu : request->cpus_per_task;
}

/* CPUs per GPU that keep candidate 'i' busy; the maximum over all types that the job
 * may run on.
 */
static int64_t busy_cpus (const struct dn_scene *scene, int i)
{
    int64_t most = scene->estimates[i].cpus_per_gpu;

    for (int k = 0; k < scene->candidates->n_candidates; k++) {
        if (!scene->candidates->list[i].requested
            || !scene->candidates->list[k].requested || most == DN_UNSET)
            continue;
        if (scene->estimates[k].cpus_per_gpu == DN_UNSET
            || scene->estimates[k].cpus_per_gpu > most)
            most = scene->estimates[k].cpus_per_gpu;
    }
    return most;
}

/* When the CPUs change, memory per CPU becomes memory per node, which must fit a node.
 */
static bool keeps_memory (const struct dn_scene *scene, int i)
{
    int64_t node = scene->candidates->list[i].node_mem_mb;

    return !scene->request->mem_follows_cpus || node == DN_UNSET
           || scene->request->mem_per_node_mb <= node;
}

int64_t dn_all_cpus (const struct dn_request *request, int64_t count)
{
    int64_t times;

    requested_cpus (request, &times);
    return count != DN_UNSET && times != DN_UNSET ? count * times : request->n_cpus;
}

int64_t dn_cpus_on_node (const struct dn_request *request, int64_t count)
{
    int64_t all = dn_all_cpus (request, count);

    if (all != DN_UNSET && request->n_nodes > 1)
        all = (all + request->n_nodes - 1) / request->n_nodes;
    return all;
}

/* May each task or GPU get 'count' CPUs, more than requested? A node must be known to
 * have them.
 */
static bool may_raise_cpus (const struct dn_scene *scene, int i, int64_t count)
{
    int64_t cpus = dn_cpus_on_node (scene->request, count);

    return scene->rules->never_raise == DN_YES_NO && cpus != DN_UNSET
           && cpus <= scene->candidates->list[i].node_cpus;
}

/* Do the metadata say anything about the input pipeline? If not, the estimate assumes
 * data of the usual kind, which is no reason to take CPUs away.
 */
static bool tells_input (const struct dn_spec *spec)
{
    return spec->dataset[0] != '\0' || spec->decode != DN_DECODE_UNKNOWN
           || spec->workers >= 0 || spec->input != DN_INPUT_UNKNOWN
           || spec->sample_bytes > 0;
}

/* CPUs per GPU that a run on candidate 'i' gets: those that keep it busy, at least
 * CpusPerGpuMin.
 */
static int64_t cpus_per_gpu (const struct dn_scene *scene, int i)
{
    int64_t busy = busy_cpus (scene, i);

    return busy > scene->rules->cpus_per_gpu_min ? busy
                                                 : scene->rules->cpus_per_gpu_min;
}

/* Why the job cannot have fewer CPUs than requested, 'needed' per GPU or task; none if
 * it can.
 */
static struct dn_reason keeps_more (const struct dn_scene *scene,
                                    int64_t needed,
                                    int64_t times)
{
    const struct dn_sight *sight = scene->sight;
    int64_t on_node = dn_cpus_on_node (scene->request, needed);

    if (times != DN_UNSET && needed * times < sight->least_cpus)
        return sight->least_why;
    if (times != DN_UNSET
        && needed * times <= scene->request->script.n_counted * scene->request->n_gpus)
        return scene->request->counted_why;
    if (on_node != DN_UNSET && on_node < sight->least_node_cpus)
        return DN_REASON (cpus_max_mem);
    return DN_NO_REASON;
}

int64_t dn_needed_cpus (const struct dn_scene *scene, int i, struct dn_reason *why)
{
    const struct dn_rules *rules = scene->rules;
    const struct dn_request *request = scene->request;
    int64_t per_gpu = busy_cpus (scene, i);
    int64_t times;
    int64_t requested = requested_cpus (request, &times);
    int64_t needed;

    *why = DN_NO_REASON;
    if (rules->cpus != DN_CHOICE_CHOOSE)
        *why = DN_REASON (policy_keeps_cpus);
    else if (request->keep_cpus.code != DN_REASON_NONE)
        *why = request->keep_cpus;
    else if (request->n_gpus <= 0)
        *why = DN_REASON (gpus_unknown);
    else if (per_gpu == DN_UNSET
             || !(scene->estimates[i].by_history || tells_input (scene->spec)))
        *why = DN_REASON (input_unknown);
    else if (per_gpu > rules->cpus_per_gpu_max)
        *why = DN_REASON (cpus_over_max);
    else if (!keeps_memory (scene, i))
        *why = DN_REASON (cpus_memory);
    if (why->code != DN_REASON_NONE)
        return requested;
    /* Every task has at least one CPU. */
    needed = cpus_per_gpu (scene, i) * request->n_gpus;
    if (needed < request->n_tasks)
        needed = request->n_tasks;
    needed = (needed + times - 1) / times;
    if (needed > requested && !may_raise_cpus (scene, i, needed))
        return requested;
    if (needed < requested)
        *why = keeps_more (scene, needed, times);
    return why->code != DN_REASON_NONE ? requested : needed;
}

void dn_choose_cpus (const struct dn_scene *scene)
{
    const struct dn_request *request = scene->request;
    struct dn_decision *decision = scene->decision;
    bool each_gpu = request->cpus_each_gpu != DN_UNSET;
    const char *option = each_gpu ? "--cpus-per-gpu" : "-c";
    struct dn_reason why;
    int64_t each = dn_needed_cpus (scene, decision->chosen, &why);
    int64_t per_gpu = cpus_per_gpu (scene, decision->chosen);
    int64_t times;
    int64_t requested = requested_cpus (request, &times);

    if (why.code != DN_REASON_NONE) {
        dn_scene_say (scene, dn_reason_in (DN_REASON (cpus_kept), why));
        return;
    }
    if (each != requested && each_gpu)
        decision->cpus_each_gpu = each;
    else if (each != requested)
        decision->cpus_per_task = each;
    if (each * times < per_gpu * request->n_gpus)
        dn_scene_say (scene,
                      (struct dn_reason){scene->estimates[decision->chosen].by_history
                                             ? DN_REASON_cpus_short_of_runs
                                             : DN_REASON_cpus_short,
                                         DN_REASON_NONE,
                                         {dn_arg_text (option),
                                          dn_arg_count (each),
                                          dn_arg_count (each * times),
                                          dn_arg_count (per_gpu * request->n_gpus),
                                          dn_arg_count (per_gpu)}});
    else
        dn_scene_say (
            scene,
            (struct dn_reason){
                each == requested ? DN_REASON_cpus_kept_least : DN_REASON_cpus_least,
                DN_REASON_NONE,
                {dn_arg_text (option), dn_arg_count (each), dn_arg_count (per_gpu)}});
}
