/* earlier_runs.c - what earlier runs of a job's application say of it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "making.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/messages.h"

/* The metadata of a description that tell an application, and the network of a sidecar
 * as its digest.
 */
static void write_metadata (const struct dn_making *m,
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
static struct dn_fingerprint fingerprint_of (const struct dn_making *m)
{
    const struct dn_spec spec = dn_spec_of_application (&m->advice->spec);
    char text[DN_METADATA_MAX + DN_DIGEST_LEN];

    write_metadata (m, &spec, text);
    return dn_fingerprint_of (
        &m->reading.print, m->job, text, dn_learned_counted (&m->advice->spec));
}

/* That of its kin, whose time is translated into that of the job. */
static void name_kin (struct dn_making *m)
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

DN_COLD int dn_stage_application (struct dn_making *m)
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
        return DN_STAGE_NEXT;
    if (learner->named && advice->rules.record != DN_RECORD_ANONYMOUS) {
        memcpy (app, advice->spec.app, DN_NAME_MAX);
    } else {
        struct dn_fingerprint print = learner->named
                                          ? dn_fingerprint_of_name (advice->spec.app)
                                          : fingerprint_of (m);

        memcpy (app, print.text, sizeof (print.text));
    }
    if (app[0] == '\0')
        return DN_STAGE_NEXT;
    if (!learner->named && advice->by_history)
        name_kin (m);
    learner->apps = m->view.apps;
    learner->key = dn_app_key_of_user (m->job->user_id, app);
    if (learner->apps && learner->apps->by_account && account
        && advice->rules.history_share == DN_SHARE_ACCOUNT)
        learner->others = dn_app_key_of_account (account, app);
    learner->known = dn_apps_known (learner->apps, learner->key);
    heed_known (learner->known, &advice->request);
    return DN_STAGE_NEXT;
}

/* What the newest run has described, as metadata. A network of its own has a name in
 * any case.
 */
static bool read_known (struct dn_making *m)
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
static bool change_batch (const struct dn_making *m,
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
static bool adopt_of (struct dn_making *m, const struct dn_app_known *known)
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
            if (dn_making_network (m, NULL) == DN_STAGE_NEXT)
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
static const struct dn_app_known *describing_run (const struct dn_making *m)
{
    const struct dn_learner *learner = &m->advice->learner;
    int64_t n;

    if (learner->known || learner->named
        || dn_apps_all (learner->apps, learner->key, &n))
        return learner->known;
    return dn_apps_kin (learner->apps, m->kin ? m->kin : learner->key);
}

/* What the job says itself holds. */
DN_COLD int dn_stage_adopt (struct dn_making *m)
{
    struct dn_advice *advice = m->advice;
    struct dn_request *request = &advice->request;
    const struct dn_app_known *own = advice->learner.known;
    const struct dn_app_known *known = NULL;
    int64_t n_keys = 0;

    if (advice->by_history && advice->metadata == DN_METADATA_GIVEN)
        known = describing_run (m);
    if (!known || !adopt_of (m, known))
        return DN_STAGE_NEXT;
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
    return DN_STAGE_NEXT;
}

/* The history is of whole jobs, so it bounds one of several trainings, too, and what a
 * script does beside its training.
 */
static void allow_several (struct dn_making *m)
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

static const char *type_of (const struct dn_making *m, int i)
{
    return m->advice->candidates.list[i].gpu->type;
}

/* Has the software of the newest run kernels for the device? */
static bool lacks_kernels (const struct dn_making *m, int i)
{
    const struct dn_app_known *known = m->advice->learner.known;

    return known && !dn_device_runs_arch (m->devices[i], known->arch);
}

/* Predict the measured run. '*same': this one has the same steps. */
static int predict_measured (struct dn_making *m, bool *same)
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
    predictor = dn_making_predictor (m);
    return dn_making_graph (m, spec, &graph, NULL) < 0
                   || dn_predict (&predictor, &c, m->devices, n, m->measured, NULL) < 0
               ? -1
               : 0;
}

static int index_of_type (const struct dn_making *m, const char *type)
{
    for (int i = 0; i < m->advice->candidates.n_candidates; i++)
        if (dn_span_is (dn_span_of (type), type_of (m, i)))
            return i;
    return -1;
}

/* The estimate of a candidate by the runs that say most of it. Return the runs. */
static int64_t learn_of (struct dn_making *m, int i, bool known, bool same)
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
static void settle_known (struct dn_making *m)
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
static int64_t apply (struct dn_making *m, int i)
{
    struct dn_advice *advice = m->advice;
    struct dn_estimate *estimate = &advice->estimates[i];

    if (advice->by_history)
        *estimate = dn_learned_begin (m->devices[i]);
    estimate->history_from = NULL;
    dn_learned_apply (&advice->learner, type_of (m, i), estimate);
    return estimate->history_runs;
}

/* The estimates of a job that an earlier run describes are made of it. */
DN_COLD int dn_stage_learn (struct dn_making *m)
{
    struct dn_advice *advice = m->advice;
    struct dn_candidates *candidates = &advice->candidates;
    int64_t least = INT64_MAX;
    int least_at = 0;
    bool same = true;
    bool known = advice->by_run && predict_measured (m, &same) == 0;

    if (advice->by_history)
        dn_making_candidates (m);
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
    return DN_STAGE_NEXT;
}

bool dn_making_lacks_history (struct dn_making *m)
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
