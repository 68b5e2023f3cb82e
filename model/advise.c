/* advise.c - the ladder
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "advise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/describe.h"

struct dn_advice *dn_advice_new (void)
{
    return calloc (1, sizeof (struct dn_advice));
}

void dn_advice_free (struct dn_advice *advice)
{
    if (!advice)
        return;
    dn_patch_free (&advice->patch);
    free (advice);
}

/* A fast look for a mark; what it finds is read carefully later. */
static bool has_mark (const char *text, size_t limit, const char *mark)
{
    return text && memmem (text, strnlen (text, limit), mark, strlen (mark));
}

static bool has_tres (const struct dn_job *job)
{
    for (int f = DN_GPU_PER_JOB; f < DN_N_GPU_FIELDS; f++)
        if (job->tres[f] && job->tres[f][0] != '\0')
            return true;
    return false;
}

bool dn_advise_concerns (const struct dn_site *site, const struct dn_job *job)
{
    const char *comment = job->comment;

    /* The comment's mark ignores case; its colon does not have any. */
    return job->option || job->sidecar
           || (comment && memchr (comment, ':', strnlen (comment, DN_COMMENT_MAX)))
           || has_mark (job->script, DN_SCRIPT_HEAD_MAX, "#DNNEST")
           || (site->opt_in_all && has_tres (job));
}

/* A reason that leaves time, GPUs and CPUs as they are; an earlier one stays. */
static void keep_all (struct dn_request *request, const char *reason)
{
    char *const fields[] = {request->keep_time, request->keep_gpu, request->keep_cpus};

    for (size_t i = 0; i < DN_N_ELEMENTS (fields); i++)
        if (fields[i][0] == '\0')
            snprintf (fields[i], DN_REASON_MAX, "%s", reason);
}

/* What the request knows and the metadata leaves open. When neither says how many GPUs
 * work together, nobody can tell how long they take.
 */
static void fill_from_request (struct dn_spec *spec, struct dn_request *request)
{
    if (spec->gpus == DN_UNSET && request->n_gpus == DN_UNSET)
        keep_all (request, "the number of GPUs is open (gpus=)");
    if (spec->nodes == DN_UNSET && request->n_nodes > 1
        && request->n_gpus >= request->n_nodes)
        spec->nodes = request->n_nodes;
}

static int predict_all (const struct dn_site *site,
                        const struct dn_graph *graph,
                        const struct dn_deadline *deadline,
                        struct dn_advice *advice,
                        struct dn_err *err)
{
    struct dn_predictor predictor = dn_site_predictor (site);
    const struct dn_device *devices[DN_CANDIDATES_MAX];
    int n_devices = advice->candidates.n_candidates;
    const struct dn_case c = {.spec = &advice->spec,
                              .graph = graph,
                              .cpus_per_gpu = advice->request.cpus_per_gpu};

    for (int i = 0; i < n_devices; i++)
        devices[i] = advice->candidates.list[i].gpu->device;
    predictor.deadline = deadline;
    return dn_predict (&predictor, &c, devices, n_devices, advice->estimates, err);
}

/* A job that wants to be measured is measured on what it asked for. How that is done,
 * or why it is not, follows from the kind of job and the rules.
 */
static void keep_for_probe (struct dn_advice *advice)
{
    if (advice->spec.probe > 0)
        keep_all (&advice->request, "probe= measures it on what it asked for");
}

static void set_probe (const struct dn_site *site,
                       const struct dn_job *job,
                       struct dn_advice *advice)
{
    struct dn_decision *decision = &advice->decision;
    const char *why = NULL;

    if (advice->spec.probe <= 0)
        return;
    if (job->kind != DN_JOB_BATCH || !job->env)
        why = "probe= is for batch jobs";
    else if (advice->rules.mode != DN_MODE_ENFORCE)
        why = "probe= needs Mode=enforce here; 'dnnest probe' in the script does not";
    else if (strcmp (site->probe_dir, DN_SITE_NONE) == 0
             || strchr (site->probe_dir, ':'))
        why = "probe= is off here (ProbeDir)";
    else
        decision->hook_dir = site->probe_dir;
    if (why)
        snprintf (decision->note, sizeof (decision->note), "%s", why);
}

/* Read what the job says of itself; 'layers' are its own network, if it has one. */
static int read_metadata (const struct dn_job *job,
                          struct dn_advice *advice,
                          struct dn_layers *layers,
                          struct dn_err *err)
{
    const struct dn_carriers carriers = dn_carriers_of (job);
    struct dn_sidecar sidecar;

    if (dn_describe (&carriers, &sidecar, &advice->metadata, err) < 0)
        return -1;
    advice->spec = sidecar.spec;
    *layers = sidecar.layers;
    return 0;
}

static int plan (struct dn_advice *advice, struct dn_err *err)
{
    return dn_rewrite_plan (&advice->rules,
                            &advice->request,
                            &advice->spec,
                            advice->estimates,
                            &advice->decision,
                            &advice->patch,
                            err);
}

/* A job that says nothing of itself: where all jobs are in, it is on record that
 * nothing can be told of it. What is wrong with its request is for Slurm to say.
 */
static int note_silent (const struct dn_job *job,
                        struct dn_advice *advice,
                        struct dn_err *err)
{
    if (advice->metadata != DN_METADATA_NONE || advice->rules.opt_in != DN_OPT_IN_ALL
        || dn_request_read (job, &advice->request, NULL) < 0
        || advice->request.n_gpus == 0)
        return 0;
    dn_policy_abstain (&advice->decision, "it does not describe itself");
    return plan (advice, err);
}

/* What the run would be on each candidate. */
static int estimate (const struct dn_site *site,
                     const struct dn_layers *layers,
                     const struct dn_deadline *deadline,
                     struct dn_advice *advice,
                     struct dn_err *err)
{
    dn_cleanup (dn_graph_free) struct dn_graph graph = {0};

    if (dn_spec_resolve (&advice->spec, &site->datasets, advice->request.n_gpus, err)
            < 0
        || dn_sidecar_graph (layers, &advice->spec, &graph, err) < 0)
        return -1;
    dn_hardware_candidates (&site->gpu_types, &advice->request, &advice->candidates);
    return predict_all (site, &graph, deadline, advice, err);
}

static int decide (const struct dn_site *site,
                   const struct dn_job *job,
                   const struct dn_layers *layers,
                   const struct dn_deadline *deadline,
                   struct dn_advice *advice,
                   struct dn_err *err)
{
    bool control = dn_policy_in_control (&advice->rules, job, &advice->spec);

    if (dn_deadline_check (deadline, "request", err) < 0
        || dn_request_read (job, &advice->request, err) < 0)
        return -1;
    fill_from_request (&advice->spec, &advice->request);
    keep_for_probe (advice);
    if (dn_deadline_check (deadline, "network", err) < 0
        || estimate (site, layers, deadline, advice, err) < 0
        || dn_deadline_check (deadline, "policy", err) < 0)
        return -1;
    dn_policy_decide (&advice->rules,
                      &advice->request,
                      &advice->spec,
                      &advice->candidates,
                      advice->estimates,
                      &advice->decision);
    if (control)
        dn_policy_spare (&advice->decision);
    set_probe (site, job, advice);
    return dn_deadline_check (deadline, "rewrite", err) < 0 ? -1 : plan (advice, err);
}

int dn_advise (const struct dn_site *site,
               const struct dn_job *job,
               const struct dn_deadline *deadline,
               struct dn_advice *advice,
               struct dn_err *err)
{
    dn_cleanup (dn_layers_free) struct dn_layers layers = {.n = 0};
    const struct dn_submitter submitter = dn_submitter_of (job);

    dn_patch_free (&advice->patch);
    memset (advice, 0, sizeof (*advice));
    advice->rules = dn_site_rules (site, &submitter, NULL);
    if (dn_deadline_check (deadline, "description", err) < 0
        || read_metadata (job, advice, &layers, err) < 0)
        return -1;
    return advice->metadata == DN_METADATA_GIVEN
               ? decide (site, job, &layers, deadline, advice, err)
               : note_silent (job, advice, err);
}
