/* advise.c - the stages from a submission to its patch
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "making.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "graph/describe.h"
#include "hardware/standing.h"
#include "policy/remedy.h"

/* Start with an empty advice. The candidates, estimates, reasons and texts are most of
 * it and are not cleared: other members state how many of them are valid.
 */
static void begin (struct dn_advice *advice)
{
    memset (advice, 0, offsetof (struct dn_advice, candidates.list));
    dn_policy_begin (&advice->decision);
    dn_patch_begin (&advice->patch);
}

struct dn_advice *dn_advice_new (void)
{
    struct dn_advice *advice = malloc (sizeof (*advice));

    if (advice)
        begin (advice);
    return advice;
}

void dn_advice_free (struct dn_advice *advice)
{
    if (!advice)
        return;
    dn_patch_free (&advice->patch);
    free (advice);
}

static struct dn_story story_of (const struct dn_advice *advice)
{
    const struct dn_decision *decision = &advice->decision;
    const struct dn_estimate *estimates = advice->estimates;

    return (struct dn_story){
        .rules = &advice->rules,
        .request = &advice->request,
        .spec = &advice->spec,
        .base = decision->base < 0 ? NULL : &estimates[decision->base],
        .chosen = decision->chosen < 0 ? NULL : &estimates[decision->chosen],
        .decision = decision,
        .patch = &advice->patch};
}

void dn_advice_log (const struct dn_advice *advice, char text[DN_LOG_TEXT_MAX])
{
    const struct dn_story story = story_of (advice);

    dn_rewrite_log (&story, text);
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

    /* The mark in the comment, "dnnest:", ignores case, so search for its colon. */
    return job->option || job->sidecar
           || (comment && memchr (comment, ':', strnlen (comment, DN_COMMENT_MAX)))
           || dn_marks_may_be (job->script) || (site->opt_in_all && has_tres (job));
}

static void free_making (struct dn_making **m)
{
    if (!*m)
        return;
    dn_layers_free (&(*m)->layers);
    dn_graph_free (&(*m)->graph);
    free (*m);
}

/* Does the job follow its history alone? Its metadata are of that kind; or it says
 * nothing, and the rules do.
 */
static bool is_by_history (const struct dn_making *m)
{
    const struct dn_advice *advice = m->advice;

    if (advice->metadata == DN_METADATA_NONE)
        return advice->rules.opt_in == DN_OPT_IN_HISTORY;
    return advice->metadata == DN_METADATA_GIVEN && m->layers.n == 0
           && dn_spec_is_by_history (&advice->spec);
}

/* Read the script, but for a job that opts out. If no other text describes the job, all
 * of it is read only if it has a #DNNEST line.
 */
static int read_script (struct dn_making *m)
{
    struct dn_note comment = dn_note_of_comment (m->job->comment);
    bool wanted = m->job->option || m->job->sidecar || comment.pairs.text
                  || comment.file.text || m->advice->rules.opt_in != DN_OPT_IN_METADATA;

    dn_reading_begin (&m->reading, &m->site->words);
    if (comment.off || dn_note_of_option (m->job->option).off)
        return 0;
    return dn_reading_of (
        &m->site->words, m->job, wanted, m->cache, m->deadline, &m->reading, m->err);
}

/* Does the job describe itself? */
static void choose_capture (struct dn_making *m)
{
    const struct dn_site *site = m->site;
    struct dn_advice *advice = m->advice;
    bool opted_in = advice->metadata == DN_METADATA_GIVEN;

    if (!m->control && (opted_in || has_tres (m->job)))
        dn_policy_capture (&advice->rules,
                           m->job,
                           &advice->spec,
                           opted_in,
                           dn_site_python_dir (site),
                           site->progress_dir[0] != '\0' ? site->progress_dir : NULL,
                           &advice->decision);
}

/* Read the job's description. A job without one goes on only where OptIn=all or
 * history.
 */
static DN_COLD int describe (struct dn_making *m)
{
    struct dn_carriers carriers = dn_carriers_of (m->job, &m->reading.marks);
    struct dn_advice *advice = m->advice;
    struct dn_sidecar sidecar;

    carriers.deadline = m->deadline;
    if (read_script (m) < 0)
        return -1;
    dn_spec_ignored (&carriers, advice->ignored);
    if (dn_describe (&carriers, &sidecar, &advice->metadata, m->err) < 0)
        return -1;
    if (advice->ignored[0] != '\0' && advice->metadata != DN_METADATA_OFF)
        dn_decision_warn (&advice->decision,
                          DN_WARNING_METADATA,
                          &DN_REASON (warn_ignored, dn_arg_text (advice->ignored)));
    advice->spec = sidecar.spec;
    m->layers = sidecar.layers;
    if (dn_keyset_is_empty (
            dn_keyset_minus (dn_spec_given (&advice->spec), DN_KEYSET (capture)))
        && m->layers.n == 0 && advice->metadata == DN_METADATA_GIVEN)
        advice->metadata = DN_METADATA_NONE;
    advice->by_history = is_by_history (m);
    if (advice->metadata == DN_METADATA_OFF)
        return DN_STAGE_DONE;
    m->control = dn_policy_in_control (&advice->rules, m->job, &advice->spec);
    choose_capture (m);
    return advice->metadata == DN_METADATA_NONE
                   && advice->rules.opt_in == DN_OPT_IN_METADATA
               ? DN_STAGE_DONE
               : DN_STAGE_NEXT;
}

/* Take from the request what the metadata lack. When neither states the number of GPUs,
 * the training time is unknown.
 */
static void fill_from_request (struct dn_spec *spec, struct dn_request *request)
{
    if (spec->gpus == DN_UNSET && request->n_gpus == DN_UNSET) {
        dn_request_keep_all (request, &DN_REASON (gpus_unknown_state));
        request->time_unknown = true;
    }
    /* The tasks may spread over nodes, which takes longer; a job of one task runs on
     * one of them, whatever other nodes it has. */
    if (spec->nodes == DN_UNSET && request->most_nodes > 1
        && request->n_gpus >= request->most_nodes
        && (spec->gpus == DN_UNSET || spec->gpus >= request->most_nodes)
        && (request->n_nodes != DN_UNSET || request->n_tasks != 1))
        spec->nodes = request->most_nodes;
}

/* The estimate is of one training. Where the script may have several and the metadata
 * do not say how many, the limit must stay, and what is slower might exceed it.
 */
static void keep_for_several (struct dn_making *m)
{
    struct dn_request *request = &m->advice->request;

    if (request->several_why.code == DN_REASON_NONE || m->advice->spec.runs != DN_UNSET)
        return;
    request->time_unknown = true;
    m->keeps_several = request->keep_time.code == DN_REASON_NONE;
    dn_reason_keep (&request->keep_time, &request->several_why);
    dn_reason_keep (&request->keep_gpu, &request->several_why);
}

/* Slurm reports the errors in the request of a job without metadata, so all but a
 * passed deadline are ignored there.
 */
static int fail_request (struct dn_making *m, const struct dn_err *err)
{
    if (m->advice->metadata == DN_METADATA_NONE && err->code != DN_E_TIME)
        return DN_STAGE_DONE;
    if (m->err)
        *m->err = *err;
    return -1;
}

static DN_COLD int read_request (struct dn_making *m)
{
    struct dn_advice *advice = m->advice;
    struct dn_request *request = &advice->request;
    bool silent = advice->metadata == DN_METADATA_NONE;
    struct dn_err err = {.code = DN_E_NONE};

    if (m->job->n_env > DN_ENV_MAX) {
        dn_refuse (&err, env_large, (long long) m->job->n_env, DN_ENV_MAX);
        return fail_request (m, &err);
    }
    advice->job = *m->job;
    if (m->view.cluster && (!silent || advice->by_history))
        dn_standing_add_defaults (m->view.cluster, &advice->job);
    if (dn_request_read (&advice->job, m->deadline, request, &err) < 0)
        return fail_request (m, &err);
    dn_request_keep_by_script (request, &m->reading.script);
    if (silent) {
        /* A job that says nothing of itself keeps all but its time limit. */
        request->keep_gpu = request->keep_cpus = DN_REASON (opted_by_history);
        return request->n_gpus == 0 ? DN_STAGE_DONE : DN_STAGE_NEXT;
    }
    dn_policy_lower_gpus (&advice->rules, &advice->spec, request);
    fill_from_request (&advice->spec, request);
    /* Of a job that follows its history nothing is known on other types; its runs are
     * whole jobs, of however many trainings. */
    if (advice->by_history)
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_undescribed);
    else
        keep_for_several (m);
    return DN_STAGE_NEXT;
}

/* A job that stays on GPUs whose memory it exceeds: what would fit? Estimates of an
 * earlier job come without the network.
 */
static void suggest (struct dn_making *m)
{
    struct dn_advice *advice = m->advice;
    struct dn_decision *decision = &advice->decision;
    struct dn_warning *warning = dn_decision_warning (decision, DN_WARNING_MEMORY);
    struct dn_predictor predictor;
    struct dn_case c = {.constants = &m->site->constants,
                        .spec = &advice->spec,
                        .graph = &m->graph,
                        .cpus_per_gpu = advice->request.cpus_per_gpu};
    struct dn_patient patient = {&predictor,
                                 &advice->rules,
                                 &m->site->datasets,
                                 &m->site->networks,
                                 &m->layers,
                                 &c,
                                 NULL};
    struct dn_remedy remedy;
    int64_t tenths;
    int n;

    if (!warning || advice->by_history || decision->rescued
        || dn_deadline_check (m->deadline, "remedy", NULL) < 0
        || (advice->reused && dn_making_graph (m, &advice->spec, &m->graph, NULL) < 0))
        return;
    predictor = dn_making_predictor (m);
    c.device = m->devices[decision->base];
    patient.estimate = &advice->estimates[decision->base];
    n = dn_remedies (&patient, 1, &remedy);
    if (n > 0) {
        memcpy (decision->remedy, remedy.change, sizeof (decision->remedy));
        tenths = llround (10 * remedy.slow);
        dn_warning_add (warning,
                        &DN_REASON (warn_remedy,
                                    dn_arg_text (decision->remedy),
                                    dn_arg_count (tenths / 10),
                                    dn_arg_count (tenths % 10)));
    } else if (n == 0) {
        dn_warning_add (warning, &DN_REASON (warn_no_batch));
    }
}

static DN_COLD int decide (struct dn_making *m)
{
    struct dn_advice *advice = m->advice;
    struct dn_decision *decision = &advice->decision;

    if (advice->metadata == DN_METADATA_NONE && !advice->by_history) {
        dn_policy_abstain (decision, DN_ABSTAIN_NO_METADATA, &DN_REASON (no_metadata));
        return DN_STAGE_NEXT;
    }
    if (m->job->het) {
        dn_policy_abstain (decision, DN_ABSTAIN_COMPONENT, &DN_REASON (component));
        return DN_STAGE_NEXT;
    }
    if (advice->by_history && dn_making_lacks_history (m))
        return DN_STAGE_NEXT;
    dn_policy_decide (&advice->rules,
                      &advice->request,
                      &advice->spec,
                      &advice->candidates,
                      advice->estimates,
                      &m->view,
                      decision);
    suggest (m);
    if (decision->chosen >= 0 && !advice->by_history)
        dn_policy_say_assumed (
            &advice->spec, &advice->estimates[decision->chosen], decision);
    if (m->control)
        dn_policy_set_control (decision);
    if (m->job->kind == DN_JOB_BATCH && m->job->env && m->site->progress_dir[0] != '\0')
        decision->progress_dir = m->site->progress_dir;
    return DN_STAGE_NEXT;
}

/* Not all jobs are changed after a start. One that only describes itself is not. */
static void begin_gently (struct dn_making *m)
{
    struct dn_decision *decision = &m->advice->decision;

    if (m->advice->rules.mode == DN_MODE_ENFORCE
        && decision->verdict == DN_VERDICT_CHANGE
        && !dn_policy_may_change (&m->view, m->site->start_changes))
        dn_policy_leave (decision);
}

static DN_COLD int plan (struct dn_making *m)
{
    const struct dn_story story = story_of (m->advice);

    begin_gently (m);
    return dn_rewrite_plan (&story, &m->advice->patch, m->err);
}

/* The stages of a submission, in order. A message about the deadline names the stage.
 */
static const struct stage {
    const char *name;
    int (*run) (struct dn_making *m);
    enum {
        ALL,
        CHANGED,  /* only for jobs that may be changed */
        DESCRIBED /* and whose network is described */
    } jobs;
} stages[] = {
    {"description", describe, ALL},
    {"request", read_request, ALL},
    {"application", dn_stage_application, ALL},
    {"captured", dn_stage_adopt, CHANGED},
    {"network", dn_stage_network, DESCRIBED},
    {"estimate", dn_stage_estimate, DESCRIBED},
    {"history", dn_stage_learn, CHANGED},
    {"policy", decide, ALL},
    {"rewrite", plan, ALL},
    /* End of stages */
};

static bool concerns (const struct stage *stage, const struct dn_making *m)
{
    const struct dn_advice *advice = m->advice;
    bool described = advice->metadata == DN_METADATA_GIVEN && !advice->by_history;

    return stage->jobs == ALL
           || (!m->job->het
               && (described || (advice->by_history && stage->jobs == CHANGED)));
}

/* There is no verdict, but there may be warnings. */
static int leave (struct dn_making *m)
{
    const struct dn_story story = story_of (m->advice);

    m->advice->request.job = m->job;
    return dn_rewrite_leave (&story, &m->advice->patch, m->err);
}

/* What of a view the stages may use. */
static struct dn_view current (const struct dn_site *site, const struct dn_view *view)
{
    struct dn_view now = {.cluster = NULL};

    if (!view)
        return now;
    now = *view;
    if (!dn_site_believes (site, now.cluster, now.now_s))
        now.cluster = NULL;
    return now;
}

struct dn_rules dn_advise_rules (const struct dn_site *site,
                                 const struct dn_view *view,
                                 const struct dn_job *job)
{
    struct dn_submitter submitter = dn_submitter_of (job);
    const struct dn_cluster *cluster = current (site, view).cluster;

    if (cluster && site->policies.n_policies > 0 && !submitter.account)
        submitter.account = dn_standing_of (cluster, job, NULL).account;
    return dn_site_rules_in_force (site, &submitter);
}

/* An error ends the advice, and with it the warning about text that was ignored, which
 * may be the cause: it is part of the message then.
 */
static void name_ignored (const struct dn_making *m)
{
    struct dn_err *err = m->err;
    const char *ignored = m->advice->ignored;
    struct dn_err first;

    if (!err || ignored[0] == '\0'
        || (err->code != DN_E_SYNTAX && err->code != DN_E_RANGE
            && err->code != DN_E_LIMIT))
        return;
    first = *err;
    (void) dn_err_set (err, first.code, dn_say_err_ignored, first.text, ignored);
}

int dn_advise (const struct dn_site *site,
               const struct dn_view *view,
               const struct dn_job *job,
               const struct dn_deadline *deadline,
               struct dn_cache_access *cache,
               struct dn_advice *advice,
               struct dn_err *err)
{
    dn_cleanup (free_making) struct dn_making *m = NULL; /* the stack is small */

    dn_patch_free (&advice->patch);
    begin (advice);
    advice->rules = dn_advise_rules (site, view, job);
    m = malloc (sizeof (*m));
    if (!m)
        return dn_refuse (err, no_memory);
    memset (m, 0, offsetof (struct dn_making, reading));
    m->site = site;
    m->view = current (site, view);
    m->job = job;
    m->deadline = deadline;
    m->cache = cache;
    m->advice = advice;
    m->err = err;
    for (size_t i = 0; i < DN_N_ELEMENTS (stages); i++) {
        int rc;

        if (!concerns (&stages[i], m))
            continue;
        if (dn_deadline_check (deadline, stages[i].name, err) < 0)
            return -1;
        rc = stages[i].run (m);
        if (rc == DN_STAGE_DONE && advice->decision.verdict == DN_VERDICT_NONE)
            rc = leave (m) < 0 ? -1 : DN_STAGE_DONE;
        if (rc < 0)
            name_ignored (m);
        if (rc != DN_STAGE_NEXT)
            return rc;
    }
    return 0;
}
