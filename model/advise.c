/* advise.c - the stages from a submission to its patch
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "advise.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "graph/describe.h"
#include "hardware/standing.h"
#include "policy/remedy.h"
#include "predict/tuning.h"
#include "request/script.h"

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

/* A fast search for the first "#DNNEST", "#dnnest" or "# DNNEST"; the script is read
 * later, if there is one. Capital letters differ from others in one bit.
 */
static bool has_mark (const char *script)
{
    static const char mark[] = "dnnest";
    const size_t len = sizeof (mark) - 1;
    size_t left = script ? strnlen (script, DN_SCRIPT_HEAD_MAX) : 0;
    const char *at = script;
    const char *found;
    size_t n;

    while (left > 0 && (found = memchr (at, '#', left))) {
        left -= (size_t) (found + 1 - at);
        for (at = found + 1; left > 0 && (*at == ' ' || *at == '\t'); at++)
            left--;
        if (left < len)
            return false;
        for (n = 0; n < len && (at[n] | 0x20) == mark[n]; n++)
            ;
        if (n == len)
            return true;
    }
    return false;
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
           || has_mark (job->script) || (site->opt_in_all && has_tres (job));
}

/* The state of one advice, passed from stage to stage. */
struct making {
    const struct dn_site *site;
    struct dn_view view; /* without a cluster that is too old */
    const struct dn_job *job;
    const struct dn_deadline *deadline;
    struct dn_cache_access *cache; /* NULL: none */
    struct dn_advice *advice;
    struct dn_err *err;
    struct dn_layers layers; /* the job's own network, if it describes one */
    struct dn_graph graph;
    bool control;        /* in the control group */
    bool keeps_several;  /* the limit is kept as there may be several trainings */
    dn_app_key kin;      /* of applications whose times are translated; 0: as its own */
    int64_t batch;       /* that the script states; DN_UNSET: none */
    const char *network; /* that an earlier run has described; NULL: none */
    /* Set by the stages that come first. */
    struct dn_reading reading; /* of the script */
    const struct dn_device *devices[DN_CANDIDATES_MAX];
    struct dn_run_input run;
    struct dn_cache_key key;      /* of the run */
    struct dn_spec measured_spec; /* of an earlier run that describes this one */
    struct dn_estimate measured[DN_CANDIDATES_MAX];
};

static void free_making (struct making **m)
{
    if (!*m)
        return;
    dn_layers_free (&(*m)->layers);
    dn_graph_free (&(*m)->graph);
    free (*m);
}

/* What a stage returns; -1 on failure. */
enum {
    DONE, /* there is nothing more to advise */
    NEXT
};

/* Does the job follow its history alone? Its metadata are of that kind; or it says
 * nothing, and the rules do.
 */
static bool is_by_history (const struct making *m)
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
static int read_script (struct making *m)
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
static void choose_capture (struct making *m)
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
static DN_COLD int describe (struct making *m)
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
        return DONE;
    m->control = dn_policy_in_control (&advice->rules, m->job, &advice->spec);
    choose_capture (m);
    return advice->metadata == DN_METADATA_NONE
                   && advice->rules.opt_in == DN_OPT_IN_METADATA
               ? DONE
               : NEXT;
}

static const struct dn_partition *default_partition (const struct dn_cluster *cluster)
{
    for (int64_t i = 0; i < cluster->n_partitions; i++)
        if (cluster->partitions[i].is_default)
            return &cluster->partitions[i];
    return NULL;
}

/* A partition that stands for all those that the job names: each has the same default
 * memory. NULL: they differ, or one is not known.
 */
static const struct dn_partition *common_partition (const struct dn_cluster *cluster,
                                                    const struct dn_job *job)
{
    const struct dn_partition *first = NULL;
    struct dn_span rest = {job->partition, 0};

    if (!job->partition)
        return default_partition (cluster);
    rest.len = strnlen (job->partition, DN_PARTITIONS_TEXT_MAX);
    for (int i = 0; i < DN_PARTITIONS_MAX && rest.text; i++) {
        char name[DN_NAME_MAX];
        struct dn_span piece = dn_span_trim (dn_span_cut (&rest, ","));
        const struct dn_partition *next =
            dn_span_copy (piece, name, sizeof (name), "partition", NULL) < 0
                ? NULL
                : dn_cluster_partition (cluster, name);

        if (!next || (first && !dn_partitions_same_memory (first, next)))
            return NULL;
        first = next;
    }
    return rest.text ? NULL : first;
}

/* What Slurm will add to the job, by the partitions that it names: the name of the
 * default partition, and memory where none was requested. Where they have no default of
 * their own the cluster's holds, which the job has already.
 */
static void add_defaults (const struct dn_cluster *cluster, struct dn_job *job)
{
    const struct dn_partition *partition = common_partition (cluster, job);

    if (cluster->n_partitions == 0)
        return;
    if (!job->partition && partition)
        job->partition = partition->name;
    if (!job->memory_default)
        return;
    if (!partition) {
        job->memory_open = true;
    } else if (partition->def_mem_per_gpu_mb > 0) {
        job->default_mem_per_gpu_mb = partition->def_mem_per_gpu_mb;
        job->memory_open = false;
    } else if (partition->def_mem_per_cpu_mb > 0) {
        job->default_mem_per_cpu_mb = partition->def_mem_per_cpu_mb;
        job->memory_open = false;
    } else if (partition->def_mem_per_node_mb > 0) {
        job->default_mem_per_cpu_mb = DN_UNSET;
        job->mem_per_node_mb = partition->def_mem_per_node_mb;
        job->memory_open = false;
    }
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
static void keep_for_several (struct making *m)
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
static int fail_request (struct making *m, const struct dn_err *err)
{
    if (m->advice->metadata == DN_METADATA_NONE && err->code != DN_E_TIME)
        return DONE;
    if (m->err)
        *m->err = *err;
    return -1;
}

static DN_COLD int read_request (struct making *m)
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
        add_defaults (m->view.cluster, &advice->job);
    if (dn_request_read (&advice->job, m->deadline, request, &err) < 0)
        return fail_request (m, &err);
    dn_request_keep_by_script (request, &m->reading.script);
    if (silent) {
        /* A job that says nothing of itself keeps all but its time limit. */
        request->keep_gpu = request->keep_cpus = DN_REASON (opted_by_history);
        return request->n_gpus == 0 ? DONE : NEXT;
    }
    dn_policy_lower_gpus (&advice->rules, &advice->spec, request);
    fill_from_request (&advice->spec, request);
    /* Of a job that follows its history nothing is known on other types; its runs are
     * whole jobs, of however many trainings. */
    if (advice->by_history)
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_undescribed);
    else
        keep_for_several (m);
    return NEXT;
}

/* The user whose history the estimates depend on. All users without one share their
 * estimates, under a number that no run has.
 */
static int64_t whose (const struct making *m)
{
    const struct dn_tuning *tuning = m->site->bundle ? m->site->bundle->tuning : NULL;
    const int64_t no_user = -2;

    return tuning && dn_history_knows (tuning->history, m->job->user_id)
               ? m->job->user_id
               : no_user;
}

/* Have the same network and run been estimated before? */
static bool find_cached (struct making *m)
{
    const struct dn_advice *advice = m->advice;

    if (!m->cache)
        return false;
    m->key = dn_run_key (&advice->spec,
                         m->network        ? m->network
                         : m->layers.n > 0 ? m->job->sidecar
                                           : NULL,
                         m->devices,
                         advice->candidates.n_candidates,
                         advice->request.cpus_per_gpu,
                         whose (m),
                         &m->run);
    return m->cache->find (
        m->cache, &m->key, m->advice->estimates, sizeof (m->advice->estimates));
}

/* The metadata of a description that tell an application, and the network of a sidecar
 * as its digest.
 */
static void write_metadata (const struct making *m,
                            const struct dn_spec *spec,
                            char text[DN_METADATA_MAX + DN_DIGEST_LEN])
{
    size_t len;

    dn_spec_write (spec, text, DN_METADATA_MAX);
    len = strlen (text);
    if (m->layers.n > 0 && m->job->sidecar)
        snprintf (text + len,
                  DN_METADATA_MAX + DN_DIGEST_LEN - len,
                  "%s",
                  dn_digest_of (dn_span_of (m->job->sidecar)).hex);
}

/* What tells the application of a job that does not name it: its script, and the
 * metadata that say which application it is, and not how much a run does, on what, or
 * for what purpose.
 */
static struct dn_fingerprint fingerprint_of (const struct making *m)
{
    const struct dn_spec spec = dn_spec_of_application (&m->advice->spec);
    char text[DN_METADATA_MAX + DN_DIGEST_LEN];

    write_metadata (m, &spec, text);
    return dn_fingerprint_of (
        &m->reading.print, m->job, text, dn_learned_counted (&m->advice->spec));
}

/* That of its kin, whose time is translated into that of the job. */
static void name_kin (struct making *m)
{
    struct dn_decision *decision = &m->advice->decision;
    const struct dn_spec spec = dn_spec_of_kin (&m->advice->spec);
    char text[DN_METADATA_MAX + DN_DIGEST_LEN];
    struct dn_buf buf = dn_buf_on (decision->kin, sizeof (decision->kin));
    struct dn_fingerprint print;
    int64_t batch;

    write_metadata (m, &spec, text);
    print = dn_fingerprint_of_kin (
        &m->reading.print, m->job, text, dn_learned_counted (&m->advice->spec), &batch);
    if (print.text[0] == '\0' || strcmp (print.text, decision->app) == 0)
        return;
    m->kin = dn_app_key_of_user (m->job->user_id, print.text);
    m->batch = batch;
    dn_buf_text (&buf, print.text);
    if (batch != DN_UNSET)
        dn_buf_add (&buf, "/%" PRId64, batch);
}

/* What the newest run has said of itself, whatever describes this one. */
static void heed_known (const struct dn_app_known *known, struct dn_request *request)
{
    if (!known)
        return;
    if (known->gpus_runs >= DN_LEARNED_RUNS_MIN && known->gpus_used > 0
        && known->gpus_used < known->gpus && known->gpus == request->n_gpus)
        request->used_gpus = known->gpus_used;
    if (known->loader_share >= DN_LEARNED_LOADER_SHARE)
        dn_reason_keep_code (&request->keep_cpus, DN_REASON_cpus_loader);
}

/* Find out which application the job runs, and whose history of it counts. */
static DN_COLD int name_application (struct making *m)
{
    struct dn_advice *advice = m->advice;
    struct dn_learner *learner = &advice->learner;
    const char *account = advice->job.account;
    char *app = advice->decision.app;

    *learner =
        (struct dn_learner){.named = advice->spec.app[0] != '\0',
                            .gpus = advice->request.n_gpus,
                            .spec = &advice->spec,
                            .bundle = m->site->bundle ? m->site->bundle->name : NULL};
    if (advice->metadata == DN_METADATA_NONE && !advice->by_history)
        return NEXT;
    if (learner->named && advice->rules.record != DN_RECORD_ANONYMOUS) {
        memcpy (app, advice->spec.app, DN_NAME_MAX);
    } else {
        struct dn_fingerprint print = learner->named
                                          ? dn_fingerprint_of_name (advice->spec.app)
                                          : fingerprint_of (m);

        memcpy (app, print.text, sizeof (print.text));
    }
    if (app[0] == '\0')
        return NEXT;
    if (!learner->named && advice->by_history)
        name_kin (m);
    learner->apps = m->view.apps;
    learner->key = dn_app_key_of_user (m->job->user_id, app);
    if (learner->apps && learner->apps->by_account && account
        && advice->rules.history_share == DN_SHARE_ACCOUNT)
        learner->others = dn_app_key_of_account (account, app);
    learner->known = dn_apps_known (learner->apps, learner->key);
    heed_known (learner->known, &advice->request);
    return NEXT;
}

static void find_candidates (struct making *m)
{
    struct dn_candidates *candidates = &m->advice->candidates;

    dn_hardware_candidates (
        &m->site->gpu_types, &m->advice->request, m->view.cluster, candidates);
    for (int i = 0; i < candidates->n_candidates; i++)
        m->devices[i] = candidates->list[i].gpu->device;
}

static int read_known_network (struct making *m, struct dn_err *err)
{
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};

    if (dn_sidecar_read_carried (dn_span_of (m->network), m->deadline, &sidecar, err)
        < 0)
        return -1;
    m->layers = sidecar.layers;
    return 0;
}

static int build_graph (struct making *m,
                        const struct dn_spec *spec,
                        struct dn_graph *graph,
                        struct dn_err *err)
{
    if (m->network && m->layers.n == 0 && read_known_network (m, err) < 0)
        return -1;
    return dn_sidecar_graph_by (
        &m->site->networks, &m->layers, spec, m->deadline, graph, err);
}

static int build (struct making *m, struct dn_err *err)
{
    struct dn_advice *advice = m->advice;

    if (dn_spec_resolve (&advice->spec, &m->site->datasets, advice->request.n_gpus, err)
        < 0)
        return -1;
    find_candidates (m);
    advice->reused = find_cached (m);
    return advice->reused || build_graph (m, &advice->spec, &m->graph, err) == 0 ? NEXT
                                                                                 : -1;
}

static int build_network (struct making *m)
{
    return m->advice->by_run ? NEXT : build (m, m->err);
}

/* What the newest run has described, as metadata. A network of its own has a name in
 * any case.
 */
static bool read_known (struct making *m)
{
    const struct dn_learner *learner = &m->advice->learner;
    struct dn_spec *spec = &m->measured_spec;

    *spec = dn_spec_empty ();
    if (dn_spec_read (dn_span_of (learner->known->spec), spec, NULL) < 0)
        return false;
    m->network = dn_apps_network (learner->apps, learner->known);
    if (m->network && spec->model[0] == '\0')
        memcpy (spec->model, "captured", sizeof ("captured"));
    return !dn_keyset_is_empty (dn_spec_network_keys (spec));
}

/* The batch of the measured run, as the script of this one changes it. */
static bool change_batch (const struct making *m,
                          const struct dn_app_known *known,
                          struct dn_spec *spec)
{
    int64_t *const sizes[] = {&spec->batch, &spec->global_batch};
    int64_t stated = m->batch != DN_UNSET ? m->batch : 0;
    int64_t changed = 0;

    if (stated == known->batch)
        return true;
    for (size_t i = 0; i < DN_N_ELEMENTS (sizes); i++) {
        if (*sizes[i] <= 0)
            continue;
        if (stated <= 0 || known->batch <= 0 || *sizes[i] > DN_COUNT_MAX / stated
            || *sizes[i] * stated % known->batch != 0)
            return false;
        *sizes[i] = *sizes[i] * stated / known->batch;
        changed++;
    }
    return changed > 0;
}

/* Take what a run has described for all that the job does not say. False, and the
 * advice is as before, if that cannot be predicted.
 */
static bool adopt_of (struct making *m, const struct dn_app_known *known)
{
    struct dn_advice *advice = m->advice;
    struct dn_learner *learner = &advice->learner;
    const struct dn_learner own = *learner;
    const struct dn_spec words = advice->spec;
    struct dn_spec described;

    learner->known = known;
    learner->key = known->key;
    if (read_known (m)) {
        described = m->measured_spec;
        advice->by_run = true;
        advice->by_history = false;
        if (known->key == own.key || change_batch (m, known, &described)) {
            dn_spec_fill (&advice->spec, &described);
            if (build (m, NULL) == NEXT)
                return true;
        }
    }
    *learner = own;
    advice->spec = words;
    m->network = NULL;
    advice->by_run = false;
    advice->by_history = true;
    return false;
}

/* What describes a job that does not describe its network: the newest run of its
 * application, or of its kin where it has no history yet; NULL: nothing.
 */
static const struct dn_app_known *describing_run (const struct making *m)
{
    const struct dn_learner *learner = &m->advice->learner;
    int64_t n;

    if (learner->known || learner->named
        || dn_apps_all (learner->apps, learner->key, &n))
        return learner->known;
    return dn_apps_kin (learner->apps, m->kin ? m->kin : learner->key);
}

/* A job that does not describe its network takes what a run has described; what the job
 * says itself holds.
 */
static DN_COLD int adopt (struct making *m)
{
    struct dn_advice *advice = m->advice;
    struct dn_request *request = &advice->request;
    const struct dn_app_known *own = advice->learner.known;
    const struct dn_app_known *known = NULL;
    int64_t n_keys = 0;

    if (advice->by_history && advice->metadata == DN_METADATA_GIVEN)
        known = describing_run (m);
    if (!known || !adopt_of (m, known))
        return NEXT;
    if (known != own)
        heed_known (known, request);
    while (dn_spec_key_of (advice->spec.by_run, (int) n_keys))
        n_keys++;
    if (request->keep_gpu.code == DN_REASON_undescribed)
        request->keep_gpu = DN_NO_REASON;
    if (known->job[0] != '\0')
        advice->decision.by_run = known->job;
    dn_decision_say (
        &advice->decision,
        &DN_REASON (known_by_run,
                    dn_arg_text (advice->decision.by_run ? dn_say_known_run_of
                                                         : dn_say_known_last),
                    dn_arg_text (known->job),
                    dn_arg_count (n_keys),
                    dn_arg_text (m->network ? dn_say_known_network : "")));
    return NEXT;
}

static struct dn_predictor predictor_of (const struct making *m)
{
    struct dn_predictor predictor = dn_site_predictor (m->site);

    predictor.deadline = m->deadline;
    predictor.user = whose (m);
    return predictor;
}

/* Estimate the run on each candidate. */
static int estimate (struct making *m)
{
    struct dn_predictor predictor;
    struct dn_advice *advice = m->advice;
    const struct dn_case c = {.spec = &advice->spec,
                              .graph = &m->graph,
                              .cpus_per_gpu = advice->request.cpus_per_gpu};

    if (advice->reused)
        return NEXT;
    predictor = predictor_of (m);
    if (dn_predict (&predictor,
                    &c,
                    m->devices,
                    advice->candidates.n_candidates,
                    advice->estimates,
                    m->err)
        < 0)
        return -1;
    if (m->cache)
        m->cache->put (m->cache,
                       &m->key,
                       advice->estimates,
                       m->run.n_devices * sizeof (*advice->estimates));
    return NEXT;
}

/* The history is of whole jobs, so it bounds one of several trainings, too, and what a
 * script does beside its training.
 */
static void allow_several (struct making *m)
{
    enum dn_reason_code code = m->advice->request.keep_time.code;

    if (!m->keeps_several && code != DN_REASON_script_staging
        && code != DN_REASON_script_passes)
        return;
    m->advice->request.keep_time = DN_NO_REASON;
    m->advice->request.time_unknown = false;
}

/* --- what runs of the application took ---------------------------------------------
 */

static const char *type_of (const struct making *m, int i)
{
    return m->advice->candidates.list[i].gpu->type;
}

/* Has the software of the newest run kernels for the device? */
static bool lacks_kernels (const struct making *m, int i)
{
    const struct dn_app_known *known = m->advice->learner.known;

    return known && !dn_device_runs_arch (m->devices[i], known->arch);
}

/* Predict the measured run. '*same': this one has the same steps. */
static int predict_measured (struct making *m, bool *same)
{
    struct dn_predictor predictor;
    struct dn_advice *advice = m->advice;
    struct dn_spec *spec = &m->measured_spec;
    const struct dn_app_row *row = dn_learned_source_of (&advice->learner, "").row;
    int64_t gpus = row && row->gpus > 0 ? row->gpus : advice->spec.gpus;
    dn_cleanup (dn_graph_free) struct dn_graph graph = {0};
    const struct dn_case c = {
        .spec = spec, .graph = &graph, .cpus_per_gpu = advice->request.cpus_per_gpu};
    int n = advice->candidates.n_candidates;

    spec->gpus = gpus;
    if (gpus == advice->spec.gpus)
        spec->nodes = advice->spec.nodes;
    if (dn_spec_resolve (spec, &m->site->datasets, gpus, NULL) < 0)
        return -1;
    *same =
        dn_changes_between (
            &(struct dn_setting){.spec = spec, .estimate = advice->estimates},
            &(struct dn_setting){.spec = &advice->spec, .estimate = advice->estimates})
        == 0;
    if (*same) {
        memcpy (m->measured, advice->estimates, (size_t) n * sizeof (*m->measured));
        return 0;
    }
    predictor = predictor_of (m);
    return build_graph (m, spec, &graph, NULL) < 0
                   || dn_predict (&predictor, &c, m->devices, n, m->measured, NULL) < 0
               ? -1
               : 0;
}

static int index_of_type (const struct making *m, const char *type)
{
    for (int i = 0; i < m->advice->candidates.n_candidates; i++)
        if (dn_span_is (dn_span_of (type), type_of (m, i)))
            return i;
    return -1;
}

/* The estimate of a candidate by the runs that say most of it. Return the runs. */
static int64_t learn_of (struct making *m, int i, bool known, bool same)
{
    struct dn_advice *advice = m->advice;
    const struct dn_learner *learner = &advice->learner;
    struct dn_learned_source source = dn_learned_source_of (learner, type_of (m, i));
    int from = known && source.row ? index_of_type (m, source.type) : -1;

    if (from < 0)
        source.row = NULL;
    else if (from != i || !same)
        source.measured = (struct dn_setting){.spec = &m->measured_spec,
                                              .estimate = &m->measured[from]};
    dn_learned_known (learner, &source, type_of (m, i), &advice->estimates[i]);
    return source.row ? source.row->runs : 0;
}

/* Times of some types alone cannot be compared with steps of the others. */
static void settle_known (struct making *m)
{
    struct dn_advice *advice = m->advice;
    int n = advice->candidates.n_candidates;
    bool all = true;

    for (int i = 0; i < n; i++)
        all = all && advice->estimates[i].train_s.p50 > 0;
    for (int i = 0; i < n; i++) {
        struct dn_estimate *estimate = &advice->estimates[i];

        estimate->by_history = true;
        if (all)
            continue;
        estimate->train_s = (struct dn_range){.p50 = -1};
        estimate->history_runs = 0;
        estimate->history_from = NULL;
    }
}

/* Correct the estimate of a candidate. Return the runs that say it. */
static int64_t apply (struct making *m, int i)
{
    struct dn_advice *advice = m->advice;
    struct dn_estimate *estimate = &advice->estimates[i];

    if (advice->by_history)
        *estimate = dn_learned_begin (m->devices[i]);
    estimate->history_from = NULL;
    dn_learned_apply (&advice->learner, type_of (m, i), estimate);
    return estimate->history_runs;
}

/* Correct the estimates by what runs of the application took. Those of a job that an
 * earlier run describes are made of it.
 */
static DN_COLD int learn (struct making *m)
{
    struct dn_advice *advice = m->advice;
    struct dn_candidates *candidates = &advice->candidates;
    int64_t least = INT64_MAX;
    int least_at = 0;
    bool same = true;
    bool known = advice->by_run && predict_measured (m, &same) == 0;

    if (advice->by_history)
        find_candidates (m);
    for (int i = 0; i < candidates->n_candidates; i++) {
        int64_t runs = advice->by_run ? learn_of (m, i, known, same) : apply (m, i);

        advice->estimates[i].no_kernels = lacks_kernels (m, i);
        if (candidates->list[i].requested && runs < least) {
            least = runs;
            least_at = i;
        }
    }
    if (advice->by_run)
        settle_known (m);
    if (least >= DN_LEARNED_RUNS_MIN && least < INT64_MAX)
        allow_several (m);
    else if (advice->by_run && least < INT64_MAX)
        dn_reason_keep (&advice->request.keep_time,
                        &DN_REASON (few_runs,
                                    dn_arg_count (least),
                                    dn_arg_count (DN_LEARNED_RUNS_MIN),
                                    dn_arg_text (type_of (m, least_at))));
    return NEXT;
}

/* A job that stays on GPUs whose memory it exceeds: what would fit? Estimates of an
 * earlier job come without the network.
 */
static void suggest (struct making *m)
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
        || (advice->reused && build_graph (m, &advice->spec, &m->graph, NULL) < 0))
        return;
    predictor = predictor_of (m);
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

/* Does a type that the job may run on lack what a limit needs? If so, the decision
 * abstains. A job that has no such type is left to the policy.
 */
static bool lacks_history (struct making *m)
{
    struct dn_advice *advice = m->advice;
    const struct dn_candidates *candidates = &advice->candidates;
    struct dn_reason why;

    for (int i = 0; i < candidates->n_candidates; i++) {
        const char *type = candidates->list[i].gpu->type;
        int64_t runs = dn_learned_runs (&advice->learner, type);

        if (!candidates->list[i].requested || advice->estimates[i].train_s.p50 > 0)
            continue;
        if (advice->decision.app[0] == '\0')
            why = DN_REASON (no_app);
        else if (runs < DN_LEARNED_RUNS_MIN)
            why = DN_REASON (few_runs,
                             dn_arg_count (runs),
                             dn_arg_count (DN_LEARNED_RUNS_MIN),
                             dn_arg_text (type));
        else
            why = DN_REASON (other_work);
        dn_policy_abstain (&advice->decision, DN_ABSTAIN_HISTORY, &why);
        return true;
    }
    return false;
}

static DN_COLD int decide (struct making *m)
{
    struct dn_advice *advice = m->advice;
    struct dn_decision *decision = &advice->decision;

    if (advice->metadata == DN_METADATA_NONE && !advice->by_history) {
        dn_policy_abstain (decision, DN_ABSTAIN_NO_METADATA, &DN_REASON (no_metadata));
        return NEXT;
    }
    if (m->job->het) {
        dn_policy_abstain (decision, DN_ABSTAIN_COMPONENT, &DN_REASON (component));
        return NEXT;
    }
    if (advice->by_history && lacks_history (m))
        return NEXT;
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
    return NEXT;
}

/* Not all jobs are changed after a start. One that only describes itself is not. */
static void begin_gently (struct making *m)
{
    struct dn_decision *decision = &m->advice->decision;

    if (m->advice->rules.mode == DN_MODE_ENFORCE
        && decision->verdict == DN_VERDICT_CHANGE
        && !dn_policy_may_change (&m->view, m->site->start_changes))
        dn_policy_leave (decision);
}

static DN_COLD int plan (struct making *m)
{
    const struct dn_story story = story_of (m->advice);

    begin_gently (m);
    return dn_rewrite_plan (&story, &m->advice->patch, m->err);
}

/* The stages of a submission, in order. A message about the deadline names the stage.
 */
static const struct stage {
    const char *name;
    int (*run) (struct making *m);
    enum {
        ALL,
        CHANGED,  /* only for jobs that may be changed */
        DESCRIBED /* and whose network is described */
    } jobs;
} stages[] = {
    {"description", describe, ALL},
    {"request", read_request, ALL},
    {"application", name_application, ALL},
    {"captured", adopt, CHANGED},
    {"network", build_network, DESCRIBED},
    {"estimate", estimate, DESCRIBED},
    {"history", learn, CHANGED},
    {"policy", decide, ALL},
    {"rewrite", plan, ALL},
    /* End of stages */
};

static bool concerns (const struct stage *stage, const struct making *m)
{
    const struct dn_advice *advice = m->advice;
    bool described = advice->metadata == DN_METADATA_GIVEN && !advice->by_history;

    return stage->jobs == ALL
           || (!m->job->het
               && (described || (advice->by_history && stage->jobs == CHANGED)));
}

/* There is no verdict, but there may be warnings. */
static int leave (struct making *m)
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
static void name_ignored (const struct making *m)
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
    dn_cleanup (free_making) struct making *m = NULL; /* the stack is small */

    dn_patch_free (&advice->patch);
    begin (advice);
    advice->rules = dn_advise_rules (site, view, job);
    m = malloc (sizeof (*m));
    if (!m)
        return dn_refuse (err, no_memory);
    memset (m, 0, offsetof (struct making, reading));
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
        if (rc == DONE && advice->decision.verdict == DN_VERDICT_NONE)
            rc = leave (m) < 0 ? -1 : DONE;
        if (rc < 0)
            name_ignored (m);
        if (rc != NEXT)
            return rc;
    }
    return 0;
}
