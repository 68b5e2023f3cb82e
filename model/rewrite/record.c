/* record.c - the decision record that travels with the job into accounting
 *
 * {"dnnest":1,"version":"...","mode":"enforce","verdict":"change",
 *  "req":{"time_s":86400,"gpu":"a100","gpus":4,"nodes":1,"tasks":1,
 *         "cpus_per_task":80,"mem_mb":256000},
 *  "set":{"time_s":23400,"gpu":"v100","cpus_per_task":24},
 *  "pred":{"gpu":"v100_sxm2_16gb","step_us":228000,"train_s":9000,"bound_s":12000,
 *          "bound_bp":8000,"p95_s":15000,"p99_s":21000,"mem_mb":13000,"cpus_per_gpu":6,
 *          "conf":65,"bundle":"..."},
 *  "warn":"limit","spec":"model=resnet50,batch=256,...","why":"..."}
 *
 * etc/record.schema.json and job_submit_dnnest(8) describe each member.
 *
 * "req" is the original request; "set" is what was decided, applied only in mode
 * enforce, and not with the verdict "control". All numbers are whole, so that they do
 * not depend on the locale; unknown ones are omitted. When the record is too long,
 * "why" is removed, then "warn", then "spec", then "pred". Without names, "spec" has
 * only numbers and words of dnnest, and "why", which may quote the script, is omitted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rewrite/words.h"

#include <math.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/messages.h"
#include "predict/learned.h"

/* Does the edit name the new GPU type where a pending job cannot get another one? */
static bool is_fixed (const struct dn_edit *edit, const char *type)
{
    if (edit->field == DN_FIELD_ENV)
        return strncmp (edit->new_text, "SLURM_CONSTRAINT=", 17) == 0
               || (strncmp (edit->new_text, "SLURM_", 6) == 0
                   && strstr (edit->new_text, type));
    return (edit->field == DN_FIELD_TRES_PER_JOB
            || edit->field == DN_FIELD_TRES_PER_SOCKET
            || edit->field == DN_FIELD_TRES_PER_TASK)
           && strstr (edit->new_text, type);
}

/* Is the new type in --gres only? Slurm can change that of a pending job, but not its
 * environment, which repeats the other options.
 */
static bool moved_by_gres (const struct dn_story *story)
{
    const struct dn_gpu_type *gpu = story->decision->gpu;
    bool per_node = false;

    for (int i = 0; gpu && i < story->patch->n_edits; i++) {
        const struct dn_edit *edit = &story->patch->edits[i];

        if (is_fixed (edit, gpu->type))
            return false;
        per_node = per_node || edit->field == DN_FIELD_TRES_PER_NODE;
    }
    return per_node;
}

/* The original partition and constraint are recorded only where they change: then their
 * texts were parsed and are harmless.
 */
static int add_request (struct json_object *object, const struct dn_story *story)
{
    const struct dn_request *request = story->request;
    const struct dn_patch *patch = story->patch;
    struct dn_quoted type = dn_quote (request->gpu_type, strlen (request->gpu_type));
    int64_t signal_s = request->job->signal_s;
    bool unlimited = request->time_limit_s == DN_UNLIMITED;

    if (dn_json_put_number (object, "time_s", request->time_limit_s) < 0
        || dn_json_put_number (object, "by_gres", moved_by_gres (story) ? 1 : DN_UNSET)
               < 0
        || dn_json_put_number (object, "unlimited", unlimited ? 1 : DN_UNSET) < 0
        || dn_json_put_number (object, "signal_s", signal_s > 0 ? signal_s : DN_UNSET)
               < 0
        || dn_json_put_text (object, "gpu", type.text) < 0
        || dn_json_put_number (object, "gpus", request->n_gpus) < 0
        || dn_json_put_number (object, "nodes", request->n_nodes) < 0
        || dn_json_put_number (object, "tasks", request->n_tasks) < 0
        || dn_json_put_number (object, "cpus_per_task", request->cpus_per_task) < 0
        || dn_json_put_number (object, "cpus_each_gpu", request->cpus_each_gpu) < 0
        || dn_json_put_text (
               object, "partition", patch->partition[0] ? request->job->partition : "")
               < 0
        || dn_json_put_text (
               object, "features", patch->features[0] ? request->job->features : "")
               < 0
        || dn_json_put_number (object, "mem_mb", request->mem_per_node_mb) < 0)
        return -1;
    return 0;
}

static int add_set (struct json_object *object, const struct dn_story *story)
{
    const struct dn_decision *decision = story->decision;

    if (dn_json_put_number (object, "time_s", decision->time_limit_s) < 0
        || dn_json_put_number (object, "time_min_s", decision->time_min_s) < 0
        || dn_json_put_text (object, "gpu", decision->gpu ? decision->gpu->type : "")
               < 0
        || dn_json_put_text (object, "partition", story->patch->partition) < 0
        || dn_json_put_text (object, "features", story->patch->features) < 0
        || dn_json_put_number (object, "cpus_per_task", decision->cpus_per_task) < 0
        || dn_json_put_number (object, "cpus_each_gpu", decision->cpus_each_gpu) < 0)
        return -1;
    return 0;
}

/* The time without history, rounded as it is recorded; -1: unknown. */
static double base_of (const struct dn_estimate *estimate)
{
    return estimate->base_s > 0 ? round (estimate->base_s) : -1;
}

/* Which application it is, and how much of its work the job does. */
static int add_application (struct json_object *record, const struct dn_story *story)
{
    double work;
    enum dn_work_unit unit = dn_learned_work (
        story->spec, story->chosen ? base_of (story->chosen) : -1, &work);

    if (story->decision->app[0] == '\0')
        return 0;
    if (dn_json_put_text (record, "app", story->decision->app) < 0
        || dn_json_put_text (
               record, "unit", dn_names_get (&dn_work_unit_names, (int) unit))
               < 0)
        return -1;
    return dn_json_put_real (record, "work", work);
}

static int add_prediction (struct json_object *object, const struct dn_story *story)
{
    const struct dn_estimate *chosen = story->chosen;
    int64_t runs = chosen->history_runs;
    double step_s = chosen->by_history ? -1 : chosen->step_s.p50;
    double memory = chosen->gpu_mem.p50 > 0 ? chosen->gpu_mem.p50 : -1;
    double decided = story->decision->time_quantile;
    double quantile = decided > 0 ? decided : story->rules->time_quantile;

    if (dn_json_put_text (object, "gpu", chosen->device->name) < 0
        || dn_json_put_real (object, "step_us", step_s * 1e6) < 0
        || dn_json_put_real (object, "train_s", chosen->train_s.p50) < 0
        || dn_json_put_real (object, "bound_s", dn_range_at (chosen->train_s, quantile))
               < 0
        || dn_json_put_real (object, "bound_bp", quantile * 10000) < 0
        || dn_json_put_real (object, "p95_s", dn_range_at (chosen->train_s, 0.95)) < 0
        || dn_json_put_real (object, "p99_s", dn_range_at (chosen->train_s, 0.99)) < 0
        || dn_json_put_real (object, "mem_mb", memory / 1048576) < 0
        || dn_json_put_number (object, "cpus_per_gpu", chosen->cpus_per_gpu) < 0
        || dn_json_put_real (object, "base_s", base_of (chosen)) < 0
        || dn_json_put_number (object, "hist", runs > 0 ? runs : DN_UNSET) < 0
        || dn_json_put_real (object, "conf", chosen->confidence * 100) < 0
        || dn_json_put_text (object, "bundle", chosen->bundle ? chosen->bundle : "")
               < 0)
        return -1;
    return 0;
}

/* The description, enough to learn from the job later; without 'names' without those
 * that its owner has given.
 */
static void write_spec (const struct dn_spec *given,
                        bool names,
                        char text[DN_RECORD_MAX])
{
    struct dn_spec spec = *given;
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys && !names; i++)
        if (keys[i].type == DN_KEY_NAME)
            ((char *) &spec)[keys[i].offset] = '\0';
    dn_spec_write (&spec, text, DN_RECORD_MAX);
}

/* "memory,limit" */
static void write_warnings (const struct dn_decision *decision, struct dn_buf *buf)
{
    for (int i = 0; i < decision->n_warnings; i++)
        dn_buf_add (buf,
                    "%s%s",
                    i > 0 ? "," : "",
                    dn_names_get (&dn_warning_names, (int) decision->warnings[i].kind));
}

static int fill_record (const struct dn_story *story,
                        bool names,
                        struct json_object *record)
{
    const struct dn_decision *decision = story->decision;
    struct json_object *part;
    char spec[DN_RECORD_MAX];
    char warnings[DN_WARNINGS_MAX * DN_NAME_MAX];
    struct dn_buf buf = dn_buf_on (warnings, sizeof (warnings));

    write_spec (story->spec, names, spec);
    write_warnings (decision, &buf);
    if (dn_json_put_number (record, "dnnest", 1) < 0
        || dn_json_put_text (record, "version", PACKAGE_VERSION) < 0
        || dn_json_put_text (
               record, "mode", dn_names_get (&dn_mode_names, (int) story->rules->mode))
               < 0
        || dn_json_put_text (record,
                             "verdict",
                             dn_names_get (&dn_verdict_names, (int) decision->verdict))
               < 0)
        return -1;
    if (!(part = dn_json_put_object (record, "req")) || add_request (part, story) < 0)
        return -1;
    if ((decision->verdict == DN_VERDICT_CHANGE
         || decision->verdict == DN_VERDICT_CONTROL)
        && (!(part = dn_json_put_object (record, "set")) || add_set (part, story) < 0))
        return -1;
    if (story->chosen
        && (!(part = dn_json_put_object (record, "pred"))
            || add_prediction (part, story) < 0))
        return -1;
    if (add_application (record, story) < 0
        || dn_json_put_number (
               record, "probe", decision->hook_dir ? story->spec->probe : DN_UNSET)
               < 0
        || dn_json_put_text (record, "warn", warnings) < 0
        || dn_json_put_text (record, "spec", spec) < 0)
        return -1;
    if (names && decision->verdict == DN_VERDICT_ABSTAIN && decision->n_reasons > 0)
        return dn_json_put_text (record, "why", decision->reasons[0]);
    return 0;
}

/* sacct -P separates columns by '|' and does not escape it. In JSON it occurs only in
 * strings, which can escape it. False if the text becomes too long.
 */
static bool write_without_bars (const char *json, char text[DN_RECORD_MAX + 1])
{
    struct dn_buf buf = dn_buf_on (text, DN_RECORD_MAX + 1);
    const char *bar;

    for (; (bar = strchr (json, '|')) && !buf.cut; json = bar + 1)
        dn_buf_add (&buf, "%.*s\\u007c", (int) (bar - json), json);
    dn_buf_add (&buf, "%s", json);
    return !buf.cut;
}

int dn_record_line (struct json_object *record,
                    char text[DN_RECORD_MAX + 1],
                    struct dn_err *err)
{
    static const char *const optional[] = {"why", "warn", "spec", "pred"};

    for (size_t i = 0; i <= DN_N_ELEMENTS (optional); i++) {
        const char *json = dn_json_line (record);

        text[0] = '\0';
        if (!json)
            return dn_err_set (err, DN_E_NOMEM, dn_say_err_record_memory);
        if (write_without_bars (json, text))
            return 0;
        if (i < DN_N_ELEMENTS (optional))
            json_object_object_del (record, optional[i]);
    }
    text[0] = '\0';
    return dn_err_set (err, DN_E_BUG, dn_say_err_record_long, DN_RECORD_MAX);
}

int dn_record_write (const struct dn_story *story,
                     bool names,
                     char text[DN_RECORD_MAX + 1],
                     struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *record = json_object_new_object ();

    text[0] = '\0';
    if (!record || fill_record (story, names, record) < 0)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_record_memory);
    return dn_record_line (record, text, err);
}
