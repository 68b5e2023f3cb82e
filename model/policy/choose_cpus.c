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
static int64_t busy_cpus (const struct dn_deciding *d, int i)
{
    int64_t most = d->estimates[i].cpus_per_gpu;

    for (int k = 0; k < d->candidates->n_candidates; k++) {
        if (!d->candidates->list[i].requested || !d->candidates->list[k].requested
            || most == DN_UNSET)
            continue;
        if (d->estimates[k].cpus_per_gpu == DN_UNSET
            || d->estimates[k].cpus_per_gpu > most)
            most = d->estimates[k].cpus_per_gpu;
    }
    return most;
}

/* When the CPUs change, memory per CPU becomes memory per node, which must fit a node.
 */
static bool keeps_memory (const struct dn_deciding *d, int i)
{
    int64_t node = d->candidates->list[i].node_mem_mb;

    return !d->request->mem_follows_cpus || node == DN_UNSET
           || d->request->mem_per_node_mb <= node;
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
 * have them, unless the job has as many on more GPUs that it gives back.
 */
static bool may_raise_cpus (const struct dn_deciding *d, int i, int64_t count)
{
    int64_t cpus = dn_cpus_on_node (d->request, count);

    if (d->request->asked_gpus != DN_UNSET && cpus != DN_UNSET
        && cpus <= d->request->n_cpus)
        return true;
    return d->rules->never_raise == DN_YES_NO && cpus != DN_UNSET
           && cpus <= d->candidates->list[i].node_cpus;
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
static int64_t cpus_per_gpu (const struct dn_deciding *d, int i)
{
    int64_t busy = busy_cpus (d, i);

    return busy > d->rules->cpus_per_gpu_min ? busy : d->rules->cpus_per_gpu_min;
}

/* Why the job cannot have fewer CPUs than requested, 'needed' per GPU or task; '*why',
 * none, stays so if it can.
 */
static void keeps_more (const struct dn_deciding *d,
                        int64_t needed,
                        int64_t times,
                        struct dn_reason *why)
{
    int64_t on_node = dn_cpus_on_node (d->request, needed);

    if (times != DN_UNSET)
        dn_broken_limit (d, d->base, needed * times, why);
    if (times != DN_UNSET
        && needed * times <= d->request->script.n_counted * d->request->n_gpus)
        dn_reason_keep (why, &d->request->counted_why);
    if (on_node != DN_UNSET && on_node < d->least_node_cpus)
        dn_reason_keep_code (why, DN_REASON_cpus_max_mem);
}

/* Is it known what the input pipeline of a run on candidate 'i' needs? */
static bool knows_input (const struct dn_deciding *d, int i)
{
    return busy_cpus (d, i) != DN_UNSET
           && (d->estimates[i].by_history || tells_input (d->spec));
}

/* CPUs that a job whose number of GPUs goes down keeps where its needs are unknown, per
 * task: those of the GPUs that stay; 0: there is no such share.
 */
static int64_t share_of_gpus (const struct dn_request *request)
{
    if (request->asked_gpus == DN_UNSET || request->cpus_each_gpu != DN_UNSET)
        return 0;
    return (request->cpus_per_task * request->n_gpus + request->asked_gpus - 1)
           / request->asked_gpus;
}

/* CPUs that a run on candidate 'i' needs, in the unit of the request; the requested
 * ones, and the reason '*why', where these must be kept.
 */
static int64_t needed_cpus (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    const struct dn_rules *rules = d->rules;
    const struct dn_request *request = d->request;
    int64_t per_gpu = busy_cpus (d, i);
    int64_t times;
    int64_t requested = requested_cpus (request, &times);
    int64_t share = knows_input (d, i) ? 0 : share_of_gpus (request);
    int64_t needed;

    *why = DN_NO_REASON;
    if (rules->cpus != DN_CHOICE_CHOOSE)
        why->code = DN_REASON_policy_keeps_cpus;
    else if (dn_given (request->keep_cpus))
        *why = request->keep_cpus;
    else if (request->n_gpus <= 0)
        why->code = DN_REASON_gpus_unknown;
    else if (!knows_input (d, i) && share == 0)
        why->code = DN_REASON_input_unknown;
    else if (per_gpu > rules->cpus_per_gpu_max)
        why->code = DN_REASON_cpus_over_max;
    else if (!keeps_memory (d, i))
        why->code = DN_REASON_cpus_memory;
    if (dn_given (*why))
        return requested;
    /* Every task has at least one CPU. */
    needed = cpus_per_gpu (d, i) * request->n_gpus;
    if (needed < request->n_tasks)
        needed = request->n_tasks;
    needed = (needed + times - 1) / times;
    if (needed < share)
        needed = share;
    if (needed > requested && !may_raise_cpus (d, i, needed))
        return requested;
    if (needed < requested)
        dn_lacks_evidence (
            rules->evidence_cpus, dn_deciding_runs (d, i), "EvidenceCpus", why);
    if (needed < requested && !dn_given (*why))
        keeps_more (d, needed, times, why);
    return dn_given (*why) ? requested : needed;
}

void dn_deciding_look_at_cpus (struct dn_deciding *d)
{
    for (int i = 0; i < d->candidates->n_candidates; i++)
        d->options[i].cpus = needed_cpus (d, i, &d->options[i].cpus_kept);
}

void dn_choose_cpus (const struct dn_deciding *d)
{
    const struct dn_request *request = d->request;
    struct dn_decision *decision = d->decision;
    bool each_gpu = request->cpus_each_gpu != DN_UNSET;
    struct dn_arg unit = each_gpu ? dn_arg_text ("--cpus-per-gpu") : dn_arg_text ("-c");
    const struct dn_option *option = &d->options[decision->chosen];
    int64_t each = option->cpus;
    int64_t per_gpu = cpus_per_gpu (d, decision->chosen);
    int64_t times;
    int64_t requested = requested_cpus (request, &times);

    if (dn_given (option->cpus_kept)) {
        dn_deciding_say_kept (d, DN_REASON_cpus_kept, &option->cpus_kept);
        return;
    }
    if (each != requested && each_gpu)
        decision->cpus_each_gpu = each;
    else if (each != requested)
        decision->cpus_per_task = each;
    if (!knows_input (d, decision->chosen))
        dn_deciding_say (d, &DN_REASON (cpus_share, unit, dn_arg_count (each)));
    else if (each * times < per_gpu * request->n_gpus)
        dn_deciding_say (d,
                         &(struct dn_reason){d->estimates[decision->chosen].by_history
                                                 ? DN_REASON_cpus_short_of_runs
                                                 : DN_REASON_cpus_short,
                                             DN_REASON_NONE,
                                             {unit,
                                              dn_arg_count (each),
                                              dn_arg_count (each * times),
                                              dn_arg_count (per_gpu * request->n_gpus),
                                              dn_arg_count (per_gpu)}});
    else
        dn_deciding_say (
            d,
            &(struct dn_reason){each == requested ? DN_REASON_cpus_kept_least
                                                  : DN_REASON_cpus_least,
                                DN_REASON_NONE,
                                {unit, dn_arg_count (each), dn_arg_count (per_gpu)}});
}
