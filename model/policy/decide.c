/* decide.c - whether to change a job, and to what
 *
 * The order: is a decision possible (estimates, confidence); the GPU type; the CPUs on
 * it; the time limit on it. Each step either finds a value that is not above the
 * requested one or keeps the field, and gives the reason. Nothing is raised, unless
 * NeverRaise=no: then a time limit and CPUs that do not suffice are raised, within
 * TimeMax, CpusPerGpuMax and the node.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/policy.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The bound on the GPU memory of a move; MemoryHeadroom is added to it. */
#define MEMORY_QUANTILE 0.95

/* Reals are written as whole numbers, because the decimal point depends on the locale.
 */
#define MIB (1024.0 * 1024)

/* Limits are multiples of five minutes: 03:37:00 would look more exact than it is. */
#define TIME_STEP_S 300

static const char *const verdict_text[] = {
    [DN_VERDICT_NONE] = "none",
    [DN_VERDICT_ABSTAIN] = "abstain",
    [DN_VERDICT_KEEP] = "keep",
    [DN_VERDICT_CHANGE] = "change",
    [DN_VERDICT_CONTROL] = "control",
};
static const char *const abstain_text[] = {
    [DN_ABSTAIN_NONE] = "none",
    [DN_ABSTAIN_NO_METADATA] = "no_metadata",
    [DN_ABSTAIN_COMPONENT] = "heterogeneous",
    [DN_ABSTAIN_NO_GPU] = "no_gpu",
    [DN_ABSTAIN_UNMAPPED] = "unmapped_type",
    [DN_ABSTAIN_GPUS] = "gpus_mismatch",
    [DN_ABSTAIN_UNSUPPORTED] = "unsupported_precision",
    [DN_ABSTAIN_MEMORY] = "memory",
    [DN_ABSTAIN_CONFIDENCE] = "confidence",
    [DN_ABSTAIN_UNREAD_KEY] = "unread_key",
};

const struct dn_names dn_verdict_names = DN_NAMES (verdict_text, DN_N_VERDICTS);
const struct dn_names dn_abstain_names = DN_NAMES (abstain_text, DN_N_ABSTAIN);

/* The input and output of one decision. */
struct scene {
    const struct dn_rules *rules;
    const struct dn_request *request;
    const struct dn_spec *spec;
    const struct dn_candidates *candidates;
    const struct dn_estimate *estimates;
    struct dn_decision *decision;
};

/* What the choice of a GPU type saves, per objective. */
static const char *const saved_text[] = {
    [DN_OBJECTIVE_UNKNOWN] = "cost",
    [DN_OBJECTIVE_COST] = "cost",
    [DN_OBJECTIVE_TIME] = "time",
    [DN_OBJECTIVE_ENERGY] = "energy",
};

static void say (const struct scene *scene, const char *format, ...) DN_PRINTF (2, 3);

static void say (const struct scene *scene, const char *format, ...)
{
    struct dn_decision *decision = scene->decision;
    va_list args;

    if (decision->n_reasons == DN_REASONS_MAX)
        return;
    va_start (args, format);
    vsnprintf (decision->reasons[decision->n_reasons++], DN_REASON_MAX, format, args);
    va_end (args);
}

static const char *type_of (const struct scene *scene, int i)
{
    return scene->candidates->list[i].gpu->type;
}

/* The candidate that the job runs on as submitted: the requested type, or the slowest
 * of those that an untyped request may get. -1 when none is mapped.
 */
static int find_base (const struct scene *scene)
{
    int base = -1;

    for (int i = 0; i < scene->candidates->n_candidates; i++)
        if (scene->candidates->list[i].requested
            && (base < 0
                || scene->estimates[i].step_s.p50 > scene->estimates[base].step_s.p50))
            base = i;
    return base;
}

static bool abstain (const struct scene *scene, enum dn_abstain why)
{
    scene->decision->abstain = why;
    return false;
}

/* The number of GPUs is never changed, so only the user can correct this. */
static void note_gpus (const struct scene *scene)
{
    snprintf (scene->decision->note,
              DN_REASON_MAX,
              "metadata says %" PRId64 " GPUs, %" PRId64 " were requested",
              scene->spec->gpus,
              scene->request->n_gpus);
    say (scene, "%s", scene->decision->note);
}

/* Is a decision about this job possible? If not, the reason is recorded. */
static bool can_decide (const struct scene *scene, int base)
{
    const struct dn_request *request = scene->request;
    const struct dn_estimate *estimate;

    if (request->n_gpus == 0) {
        say (scene, "no GPU was requested");
        return abstain (scene, DN_ABSTAIN_NO_GPU);
    }
    if (base < 0) {
        say (scene,
             "gpu: type '%s' is not mapped by a Gpu line",
             dn_quote (request->gpu_type, strlen (request->gpu_type)).text);
        return abstain (scene, DN_ABSTAIN_UNMAPPED);
    }
    estimate = &scene->estimates[base];
    if (!dn_policy_reads_network (scene->spec, estimate, scene->decision))
        return abstain (scene, DN_ABSTAIN_UNREAD_KEY);
    if (request->n_gpus != DN_UNSET && scene->spec->gpus != request->n_gpus) {
        note_gpus (scene);
        if (scene->spec->gpus > request->n_gpus)
            return abstain (scene, DN_ABSTAIN_GPUS);
    }
    if (!estimate->supported) {
        say (scene, "gpu: %s cannot run this precision", type_of (scene, base));
        return abstain (scene, DN_ABSTAIN_UNSUPPORTED);
    }
    if (!estimate->fits) {
        say (scene,
             "gpu: needs about %.0f MiB of GPU memory, %s has %.0f",
             estimate->gpu_mem.p50 / MIB,
             type_of (scene, base),
             estimate->device->memory / MIB);
        return abstain (scene, DN_ABSTAIN_MEMORY);
    }
    if (estimate->confidence < scene->rules->min_confidence) {
        say (scene,
             "confidence %.0f %% is below MinConfidence, %.0f %%",
             100 * estimate->confidence,
             100 * scene->rules->min_confidence);
        return abstain (scene, DN_ABSTAIN_CONFIDENCE);
    }
    return true;
}

/* The time limit that a run on candidate 'i' needs, a multiple of TIME_STEP_S; DN_UNSET
 * if unknown. */
static int64_t needed_time (const struct scene *scene, int i)
{
    const struct dn_rules *rules = scene->rules;
    double bound = dn_range_at (scene->estimates[i].train_s, rules->time_quantile)
                   * (1 + rules->time_margin);

    if (bound < 0)
        return DN_UNSET;
    /* A job with --signal must be done before the signal, which Slurm may send a minute
     * early. */
    if (scene->request->job->signal_s > 0)
        bound += (double) scene->request->job->signal_s + 60;
    bound = fmax (bound, (double) rules->time_min_s);
    if (bound > 1e10)
        bound = 1e10;
    return (int64_t) ceil (bound / TIME_STEP_S) * TIME_STEP_S;
}

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
static int64_t busy_cpus (const struct scene *scene, int i)
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
static bool keeps_memory (const struct scene *scene, int i)
{
    int64_t node = scene->candidates->list[i].gpu->node_mem_mb;

    return !scene->request->mem_follows_cpus || node == DN_UNSET
           || scene->request->mem_per_node_mb <= node;
}

/* CPUs on one node when each task or GPU has 'count'; all of them if the number of
 * nodes is open. */
static int64_t cpus_on_node (const struct dn_request *request, int64_t count)
{
    int64_t all = request->n_cpus;
    int64_t times;

    requested_cpus (request, &times);
    if (count != DN_UNSET && times != DN_UNSET)
        all = count * times;
    if (all != DN_UNSET && request->n_nodes > 1)
        all = (all + request->n_nodes - 1) / request->n_nodes;
    return all;
}

/* May each task or GPU get 'count' CPUs, more than requested? A node must be known to
 * have them.
 */
static bool may_raise_cpus (const struct scene *scene, int i, int64_t count)
{
    int64_t cpus = cpus_on_node (scene->request, count);

    return scene->rules->never_raise == DN_YES_NO && cpus != DN_UNSET
           && cpus <= scene->candidates->list[i].node_cpus;
}

/* CPUs that a run on candidate 'i' needs, in the unit of the request (per GPU or per
 * task); the requested ones where these must be kept.
 */
static int64_t needed_cpus (const struct scene *scene, int i, const char **why)
{
    const struct dn_rules *rules = scene->rules;
    const struct dn_request *request = scene->request;
    int64_t per_gpu = busy_cpus (scene, i);
    int64_t times;
    int64_t requested = requested_cpus (request, &times);
    int64_t needed;

    *why = NULL;
    if (rules->cpus != DN_CHOICE_CHOOSE)
        *why = "the policy keeps CPUs";
    else if (request->keep_cpus[0] != '\0')
        *why = request->keep_cpus;
    else if (request->n_gpus <= 0)
        *why = "the number of GPUs is unknown";
    else if (per_gpu == DN_UNSET)
        *why = "what the input pipeline needs is unknown (decode=)";
    else if (per_gpu > rules->cpus_per_gpu_max)
        *why = "more CPUs per GPU are needed than CpusPerGpuMax";
    else if (!keeps_memory (scene, i))
        *why = "memory is requested per CPU and may not fit one node";
    if (*why)
        return requested;
    if (per_gpu < rules->cpus_per_gpu_min)
        per_gpu = rules->cpus_per_gpu_min;
    /* Every task has at least one CPU. */
    needed = per_gpu * request->n_gpus;
    if (needed < request->n_tasks)
        needed = request->n_tasks;
    needed = (needed + times - 1) / times;
    if (needed > requested && !may_raise_cpus (scene, i, needed))
        return requested;
    return needed;
}

static enum dn_objective objective_of (const struct scene *scene)
{
    return scene->spec->objective != DN_OBJECTIVE_UNKNOWN ? scene->spec->objective
                                                          : scene->rules->objective;
}

/* The objective's value of one step on candidate 'i'. */
static double price (const struct scene *scene, int i)
{
    const struct dn_estimate *estimate = &scene->estimates[i];

    switch (objective_of (scene)) {
    case DN_OBJECTIVE_TIME:
        return estimate->step_s.p50;
    case DN_OBJECTIVE_ENERGY:
        return estimate->step_s.p50 * estimate->power_w;
    default:
        return estimate->step_s.p50 * scene->candidates->list[i].gpu->cost;
    }
}

/* Does a run of that length meet the deadlines if it starts immediately? The deadline
 * of the metadata is a duration, that of --deadline a point in time.
 */
static bool keeps_deadline (const struct scene *scene, int64_t needed)
{
    int64_t left = scene->request->job->deadline_s;

    return (scene->spec->deadline <= 0 || needed <= scene->spec->deadline)
           && (left == DN_UNSET || needed <= left);
}

/* Would the run on candidate 'i' end within the requested limit and the deadline? */
static bool within_time (const struct scene *scene, int i, int base, char *why)
{
    int64_t needed = needed_time (scene, i);
    int64_t limit = scene->request->time_limit_s;

    if (needed == DN_UNSET) {
        if (scene->estimates[i].step_s.p50 <= scene->estimates[base].step_s.p50)
            return true;
        snprintf (why, DN_REASON_MAX, "slower, and the amount of work is unknown");
        return false;
    }
    if (limit == DN_UNSET
        && scene->estimates[i].step_s.p50 > scene->estimates[base].step_s.p50) {
        snprintf (why, DN_REASON_MAX, "slower, and the partition's limit is unknown");
        return false;
    }
    if (limit > 0 && needed > limit) {
        snprintf (why,
                  DN_REASON_MAX,
                  "would need %s, above the requested limit",
                  dn_time_write (needed).text);
        return false;
    }
    if (!keeps_deadline (scene, needed)) {
        snprintf (why,
                  DN_REASON_MAX,
                  "would need %s, above the deadline",
                  dn_time_write (needed).text);
        return false;
    }
    return true;
}

double dn_policy_memory (const struct dn_rules *rules,
                         const struct dn_estimate *estimate)
{
    return dn_range_at (estimate->gpu_mem, MEMORY_QUANTILE)
           * (1 + rules->memory_headroom);
}

/* May the job move to candidate 'i'? If not, 'why' gets the reason. */
static bool may_move (const struct scene *scene, int i, int base, char *why)
{
    const struct dn_rules *rules = scene->rules;
    const struct dn_candidate *candidate = &scene->candidates->list[i];
    const struct dn_estimate *estimate = &scene->estimates[i];
    const char *keep_cpus;
    int64_t cpus = cpus_on_node (scene->request, needed_cpus (scene, i, &keep_cpus));
    double memory = dn_policy_memory (rules, estimate);
    double slowdown = estimate->step_s.p50 / scene->estimates[base].step_s.p50;

    if (candidate->blocked[0] != '\0')
        snprintf (why, DN_REASON_MAX, "%s", candidate->blocked);
    else if (!estimate->supported)
        snprintf (why, DN_REASON_MAX, "cannot run this precision");
    else if (scene->spec->precision == DN_PRECISION_UNKNOWN
             && scene->estimates[base].device->bf16 > 0 && estimate->device->bf16 <= 0)
        snprintf (why, DN_REASON_MAX, "precision= is not stated, and it has no bf16");
    else if (memory > estimate->device->memory)
        snprintf (why,
                  DN_REASON_MAX,
                  "may need %.0f MiB of GPU memory, it has %.0f",
                  memory / MIB,
                  estimate->device->memory / MIB);
    else if (estimate->confidence < rules->min_confidence)
        snprintf (why,
                  DN_REASON_MAX,
                  "confidence %.0f %% is too low",
                  100 * estimate->confidence);
    else if (slowdown > rules->max_slowdown)
        snprintf (why, DN_REASON_MAX, "would take %.0f %% of the time", 100 * slowdown);
    else if (cpus != DN_UNSET && cpus > candidate->node_cpus)
        snprintf (why,
                  DN_REASON_MAX,
                  "would need %" PRId64 " CPUs per node, it has %" PRId64,
                  cpus,
                  candidate->node_cpus);
    else
        return within_time (scene, i, base, why);
    return false;
}

/* The candidate to run on: the best by the objective among those that the job may move
 * to and that save at least MinGain; 'base' if there is none.
 */
static int choose_gpu (const struct scene *scene, int base)
{
    const char *keep = scene->request->keep_gpu[0] != '\0' ? scene->request->keep_gpu
                                                           : scene->candidates->keep;
    double limit = price (scene, base) * (1 - scene->rules->min_gain);
    int best = base;

    if (scene->rules->gpu_type != DN_CHOICE_CHOOSE)
        keep = "the policy keeps GPU types";
    if (keep[0] != '\0') {
        say (scene, "gpu: kept, %s", keep);
        return base;
    }
    for (int i = 0; i < scene->candidates->n_candidates; i++) {
        char why[DN_REASON_MAX];

        if (i == base)
            continue;
        if (!may_move (scene, i, base, why))
            say (scene, "gpu: not %s: %s", type_of (scene, i), why);
        else if (price (scene, i) > limit)
            say (scene, "gpu: not %s: too little gain", type_of (scene, i));
        else if (best == base || price (scene, i) < price (scene, best))
            best = i;
    }
    if (best != base) {
        scene->decision->gpu = scene->candidates->list[best].gpu;
        scene->decision->from = scene->candidates->list[base].gpu;
        say (scene,
             "gpu: %s takes %.0f %% of the time of %s at %.0f %% of its %s",
             type_of (scene, best),
             100 * scene->estimates[best].step_s.p50
                 / scene->estimates[base].step_s.p50,
             type_of (scene, base),
             100 * price (scene, best) / price (scene, base),
             saved_text[objective_of (scene)]);
    } else {
        say (scene, "gpu: %s is the right type", type_of (scene, base));
    }
    return best;
}

static void choose_cpus (const struct scene *scene)
{
    const struct dn_request *request = scene->request;
    bool each_gpu = request->cpus_each_gpu != DN_UNSET;
    const char *why;
    int64_t needed = needed_cpus (scene, scene->decision->chosen, &why);
    int64_t times;
    int64_t requested = requested_cpus (request, &times);

    if (why) {
        say (scene, "cpus: kept, %s", why);
    } else if (needed != requested) {
        if (each_gpu)
            scene->decision->cpus_each_gpu = needed;
        else
            scene->decision->cpus_per_task = needed;
        say (scene,
             "cpus: the input pipeline needs %" PRId64 " per GPU",
             busy_cpus (scene, scene->decision->chosen));
    } else {
        say (scene,
             "cpus: kept, %" PRId64 " per %s, the input pipeline needs %" PRId64
             " per GPU",
             requested,
             each_gpu ? "GPU" : "task",
             busy_cpus (scene, scene->decision->chosen));
    }
}

/* Why the time limit is kept regardless of the bound; NULL if it may change. */
static const char *keeps_time (const struct scene *scene)
{
    const struct dn_request *request = scene->request;
    const struct dn_job *job = request->job;

    if (scene->rules->time_limit == DN_TIME_KEEP)
        return "the policy keeps time limits";
    if (request->keep_time[0] != '\0')
        return request->keep_time;
    if (scene->rules->time_limit != DN_TIME_TIME_MIN)
        return NULL;
    /* Slurm rejects a --time-min above the limit, and a job without a limit gets that
     * of its partition. */
    if (request->time_limit_s == DN_UNSET)
        return "no limit was requested";
    if (job->time_min_min != DN_UNSET)
        return "a minimum time was requested (--time-min)";
    if (job->deadline_s != DN_UNSET)
        return "a deadline was requested";
    return job->array ? "--time-min is not set on job arrays" : NULL;
}

/* May the limit become 'needed', more than was requested? If not, 'why' gets the
 * reason.
 */
static bool may_raise_time (const struct scene *scene, int64_t needed, const char **why)
{
    const struct dn_rules *rules = scene->rules;
    bool unset = scene->request->time_limit_s == DN_UNSET;

    *why = NULL;
    if (unset && rules->fill_unset != DN_YES_YES)
        *why = "no limit was requested";
    else if (!unset && rules->never_raise != DN_YES_NO)
        *why = "NeverRaise=yes";
    else if (needed > rules->time_max_s)
        *why = "above TimeMax";
    else if (!keeps_deadline (scene, needed))
        *why = "beyond the deadline";
    return !*why;
}

static void set_time (const struct scene *scene, int64_t needed)
{
    const struct dn_estimate *chosen = &scene->estimates[scene->decision->chosen];

    if (scene->rules->time_limit == DN_TIME_TIME_MIN)
        scene->decision->time_min_s = needed;
    else
        scene->decision->time_limit_s = needed;
    say (scene,
         "time: the bound is %s (likely %s)",
         dn_time_write (needed).text,
         dn_time_write ((int64_t) chosen->train_s.p50).text);
}

static void choose_time (const struct scene *scene)
{
    const struct dn_request *request = scene->request;
    int64_t needed = needed_time (scene, scene->decision->chosen);
    const char *why = keeps_time (scene);

    if (!why && needed == DN_UNSET)
        why = "the amount of work is unknown (epochs= or steps=)";
    if (why) {
        say (scene, "time: kept, %s", why);
        return;
    }
    if (request->job->time_min_min > 0 && needed < request->job->time_min_min * 60)
        needed = request->job->time_min_min * 60;
    if (needed == request->time_limit_s
        || ((request->time_limit_s == DN_UNSET || needed > request->time_limit_s)
            && (scene->rules->time_limit == DN_TIME_TIME_MIN
                || !may_raise_time (scene, needed, &why))))
        say (scene,
             "time: kept, the bound is %s (likely %s)%s%s",
             dn_time_write (needed).text,
             dn_time_write (
                 (int64_t) scene->estimates[scene->decision->chosen].train_s.p50)
                 .text,
             why ? ", " : "",
             why ? why : "");
    else
        set_time (scene, needed);
}

void dn_policy_begin (struct dn_decision *decision)
{
    decision->verdict = DN_VERDICT_NONE;
    decision->abstain = DN_ABSTAIN_NONE;
    decision->time_limit_s = DN_UNSET;
    decision->time_min_s = DN_UNSET;
    decision->gpu = NULL;
    decision->from = NULL;
    decision->cpus_per_task = DN_UNSET;
    decision->cpus_each_gpu = DN_UNSET;
    decision->chosen = -1;
    decision->n_reasons = 0;
    decision->note[0] = '\0';
    decision->hook_dir = NULL;
}

void dn_policy_abstain (struct dn_decision *decision,
                        enum dn_abstain why,
                        const char *reason)
{
    dn_policy_begin (decision);
    decision->verdict = DN_VERDICT_ABSTAIN;
    decision->abstain = why;
    snprintf (decision->reasons[decision->n_reasons++], DN_REASON_MAX, "%s", reason);
}

void dn_policy_decide (const struct dn_rules *rules,
                       const struct dn_request *request,
                       const struct dn_spec *spec,
                       const struct dn_candidates *candidates,
                       const struct dn_estimate *estimates,
                       struct dn_decision *decision)
{
    struct scene scene = {rules, request, spec, candidates, estimates, decision};
    int base = find_base (&scene);

    dn_policy_begin (decision);
    decision->chosen = base;
    if (!can_decide (&scene, base)) {
        decision->verdict = DN_VERDICT_ABSTAIN;
        return;
    }
    decision->chosen = choose_gpu (&scene, base);
    choose_cpus (&scene);
    choose_time (&scene);
    decision->verdict = decision->gpu || decision->cpus_per_task != DN_UNSET
                                || decision->cpus_each_gpu != DN_UNSET
                                || decision->time_limit_s != DN_UNSET
                                || decision->time_min_s != DN_UNSET
                            ? DN_VERDICT_CHANGE
                            : DN_VERDICT_KEEP;
}

int64_t dn_policy_largest_batch (const struct dn_rules *rules, const struct dn_case *c)
{
    return dn_whitebox_largest_batch (c, MEMORY_QUANTILE, rules->memory_headroom);
}
