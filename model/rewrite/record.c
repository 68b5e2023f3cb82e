/* record.c - the decision record that travels with the job into accounting
 *
 * {"dnnest":1,"version":"...","mode":"enforce","verdict":"change",
 *  "req":{"time_s":86400,"gpu":"a100","gpus":4,"nodes":1,"tasks":1,
 *         "cpus_per_task":80,"mem_mb":256000},
 *  "set":{"time_s":23400,"gpu":"v100","cpus_per_task":24},
 *  "pred":{"gpu":"v100_sxm2_16gb","step_us":228000,"train_s":9000,"bound_s":12000,
 *          "bound_bp":8000,"p95_s":15000,"p99_s":21000,"mem_mb":13000,"cpus_per_gpu":6,
 *          "conf":65,"bundle":"..."},
 *  "warn":"limit","spec":"model=resnet50,batch=256,...",
 *  "why":["few_runs",1,2,"v100"]}
 *
 * etc/record.schema.json and job_submit_dnnest(8) describe each member.
 *
 * "req" is the original request; "set" is what was decided, applied only in mode
 * enforce, and not with the verdict "control". All numbers are whole, so that they do
 * not depend on the locale; unknown ones are omitted. When the record is too long,
 * "why" is removed, then "warn", then "spec", then "pred". Without names, "spec" has
 * only numbers and words of dnnest, and "why", which may quote the script, is omitted.
 * "why" is the code of a reason (base/messages.inc) and its values.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rewrite/words.h"

#include <math.h>
#include <string.h>

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

/* Optional members, in the order in which a record that is too long loses them. */
enum part {
    PART_WHY,
    PART_WARN,
    PART_SPEC,
    PART_PRED,
    N_PARTS
};

static void put_key (struct dn_buf *buf, const char *key)
{
    char last = buf->len > 0 ? buf->text[buf->len - 1] : '{';

    dn_buf_text (buf, last == '{' || last == '[' ? "\"" : ",\"");
    dn_buf_text (buf, key);
    dn_buf_text (buf, "\":");
}

static void put_object (struct dn_buf *buf, const char *key)
{
    put_key (buf, key);
    dn_buf_text (buf, "{");
}

/* A whole number, unless it is unknown. */
static void put_number (struct dn_buf *buf, const char *key, int64_t number)
{
    if (number < 0)
        return;
    put_key (buf, key);
    dn_buf_number (buf, number);
}

/* Rounded, so that the locale has no effect. */
static void put_real (struct dn_buf *buf, const char *key, double value)
{
    /* False for a NaN too. */
    if (value >= 0 && value <= 9e15)
        put_number (buf, key, llround (value));
}

/* sacct -P separates columns by '|' and does not escape it. */
static void add_string (struct dn_buf *buf, const char *text)
{
    dn_buf_put (buf, "\"", 1);
    dn_buf_escape (buf, dn_span_of (text), '|');
    dn_buf_put (buf, "\"", 1);
}

/* A text, unless it is absent or empty. */
static void put_text (struct dn_buf *buf, const char *key, const char *text)
{
    if (!text || text[0] == '\0')
        return;
    put_key (buf, key);
    add_string (buf, text);
}

/* The original partition and constraint are recorded only where they change: then their
 * texts were parsed and are harmless.
 */
static void put_request (struct dn_buf *buf, const struct dn_story *story)
{
    const struct dn_request *request = story->request;
    const struct dn_patch *patch = story->patch;
    int64_t signal_s = request->job->signal_s;

    put_object (buf, "req");
    put_number (buf, "time_s", request->time_limit_s);
    put_number (buf, "by_gres", moved_by_gres (story) ? 1 : DN_UNSET);
    put_number (buf, "unlimited", request->time_limit_s == DN_UNLIMITED ? 1 : DN_UNSET);
    put_number (buf, "signal_s", signal_s > 0 ? signal_s : DN_UNSET);
    put_text (buf, "gpu", DN_QUOTED (request->gpu_type));
    put_number (buf,
                "gpus",
                request->asked_gpus == DN_UNSET ? request->n_gpus
                                                : request->asked_gpus);
    put_number (buf, "nodes", request->n_nodes);
    put_number (buf, "tasks", request->n_tasks);
    put_number (buf, "cpus_per_task", request->cpus_per_task);
    put_number (buf, "cpus_each_gpu", request->cpus_each_gpu);
    put_text (buf, "partition", patch->partition[0] ? request->job->partition : "");
    put_text (buf, "features", patch->features[0] ? request->job->features : "");
    put_number (buf, "mem_mb", request->mem_per_node_mb);
    dn_buf_text (buf, "}");
}

/* What the requested limit amounts to where the same work takes longer; -1: itself. */
static double cap_of (const struct dn_story *story)
{
    double factor = story->decision->factor;
    int64_t asked_s = story->request->time_limit_s;

    return factor > 1 && asked_s > 0 ? ceil ((double) asked_s * factor / 60) * 60 : -1;
}

/* The types that the job may get, the requested one first, each with what selects it
 * and the time there in percent.
 */
static void put_open (struct dn_buf *buf, const struct dn_story *story)
{
    const struct dn_decision *decision = story->decision;
    bool by_partition;

    put_key (buf, "open");
    dn_buf_text (buf, "[");
    by_partition = dn_gpu_by_partition (decision->open[0].gpu, story->request->job);
    for (int i = 0; i < decision->n_open; i++) {
        const struct dn_open *open = &decision->open[i];

        dn_buf_text (buf, i > 0 ? ",{" : "{");
        put_text (buf, "gpu", open->gpu->type);
        put_text (buf, "features", story->patch->places[i]);
        put_text (buf, "partition", by_partition ? open->gpu->by_partition : "");
        put_real (buf, "slow", open->slow * 100);
        dn_buf_text (buf, "}");
    }
    dn_buf_text (buf, "]");
    put_number (buf, "either", decision->either ? 1 : DN_UNSET);
}

static void put_set (struct dn_buf *buf, const struct dn_story *story)
{
    const struct dn_decision *decision = story->decision;

    if (decision->verdict != DN_VERDICT_CHANGE
        && decision->verdict != DN_VERDICT_CONTROL)
        return;
    put_object (buf, "set");
    put_number (buf, "time_s", decision->time_limit_s);
    put_number (buf, "time_min_s", decision->time_min_s);
    put_text (buf, "gpu", decision->gpu ? decision->gpu->type : "");
    put_text (buf, "partition", story->patch->partition);
    put_text (buf, "features", story->patch->features);
    put_number (buf, "cpus_per_task", decision->cpus_per_task);
    put_number (buf, "cpus_each_gpu", decision->cpus_each_gpu);
    put_number (buf, "gpus", decision->gpus);
    put_number (buf, "mem_mb", decision->mem_mb);
    put_real (buf, "cap_s", cap_of (story));
    dn_buf_text (buf, "}");
    if (decision->n_open > 0)
        put_open (buf, story);
}

/* The time without history, rounded as it is recorded; -1: unknown. */
static double base_of (const struct dn_estimate *estimate)
{
    return estimate->base_s > 0 ? round (estimate->base_s) : -1;
}

static void put_prediction (struct dn_buf *buf, const struct dn_story *story)
{
    const struct dn_estimate *chosen = story->chosen;
    int64_t runs = chosen->history_runs;
    double decided = story->decision->time_quantile;
    double quantile = decided > 0 ? decided : story->rules->time_quantile;

    put_object (buf, "pred");
    put_text (buf, "gpu", chosen->device->name);
    put_real (buf, "step_us", chosen->by_history ? -1 : chosen->step_s.p50 * 1e6);
    put_real (buf, "train_s", chosen->train_s.p50);
    put_real (buf, "bound_s", dn_range_at (chosen->train_s, quantile));
    put_real (buf, "bound_bp", quantile * 10000);
    put_real (buf, "p95_s", dn_range_at (chosen->train_s, 0.95));
    put_real (buf, "p99_s", dn_range_at (chosen->train_s, 0.99));
    put_real (
        buf, "mem_mb", chosen->gpu_mem.p50 > 0 ? chosen->gpu_mem.p50 / 1048576 : -1);
    put_number (buf, "cpus_per_gpu", chosen->cpus_per_gpu);
    put_real (buf, "base_s", base_of (chosen));
    put_number (buf, "hist", runs > 0 ? runs : DN_UNSET);
    put_number (buf, "wait_s", story->decision->wait_s);
    put_real (buf, "conf", chosen->confidence * 100);
    put_text (buf, "bundle", chosen->bundle ? chosen->bundle : "");
    dn_buf_text (buf, "}");
}

/* Which application it is, and how much of its work the job does. */
static void put_application (struct dn_buf *buf, const struct dn_story *story)
{
    double work;
    enum dn_work_unit unit;

    if (story->decision->app[0] == '\0')
        return;
    unit = dn_learned_work (
        story->spec, story->chosen ? base_of (story->chosen) : -1, &work);
    put_text (buf, "app", story->decision->app);
    put_text (buf, "kin", story->decision->kin);
    put_text (buf, "unit", dn_names_get (&dn_work_unit_names, (int) unit));
    put_real (buf, "work", work);
}

/* "memory,limit" */
static void put_warnings (struct dn_buf *buf, const struct dn_decision *decision)
{
    char text[DN_WARNINGS_MAX * DN_NAME_MAX];
    struct dn_buf names = dn_buf_on (text, sizeof (text));

    for (int i = 0; i < decision->n_warnings; i++) {
        dn_buf_text (&names, i > 0 ? "," : "");
        dn_buf_text (
            &names, dn_names_get (&dn_warning_names, (int) decision->warnings[i].kind));
    }
    put_text (buf, "warn", text);
}

/* The description, enough to learn from the job later; without 'names' without those
 * that its owner has given.
 */
static void put_spec (struct dn_buf *buf, const struct dn_spec *given, bool names)
{
    struct dn_spec spec = dn_spec_of_words (given);
    char text[DN_RECORD_MAX];
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys && !names; i++)
        if (keys[i].type == DN_KEY_NAME)
            ((char *) &spec)[keys[i].offset] = '\0';
    dn_spec_write (&spec, text, sizeof (text));
    put_text (buf, "spec", text);
}

/* ["few_runs",1,2,"v100"]; of a part of another reason the names of both, "in/code".
 * Values other than counts are recorded as they are shown.
 */
static void put_reason (struct dn_buf *buf, const struct dn_reason *reason)
{
    put_key (buf, "why");
    dn_buf_text (buf, "[\"");
    if (reason->in != DN_REASON_NONE) {
        dn_buf_text (buf, dn_reason_name (reason->in));
        dn_buf_text (buf, "/");
    }
    dn_buf_text (buf, dn_reason_name (reason->code));
    dn_buf_text (buf, "\"");
    for (int i = 0; i < DN_ARGS_MAX && reason->args[i].kind != DN_ARG_NONE; i++) {
        char text[DN_REASON_MAX];
        struct dn_buf value = dn_buf_on (text, sizeof (text));

        dn_buf_text (buf, ",");
        dn_arg_add (&value, &reason->args[i]);
        if (reason->args[i].kind == DN_ARG_COUNT)
            dn_buf_text (buf, text);
        else
            add_string (buf, text);
    }
    dn_buf_text (buf, "]");
}

/* The record without the first 'n_lost' optional members. */
static void write_record (const struct dn_story *story,
                          bool names,
                          int n_lost,
                          struct dn_buf *buf)
{
    const struct dn_decision *decision = story->decision;

    dn_buf_text (buf, "{");
    put_number (buf, "dnnest", 1);
    put_text (buf, "version", PACKAGE_VERSION);
    put_text (buf, "mode", dn_names_get (&dn_mode_names, (int) story->rules->mode));
    put_text (
        buf, "verdict", dn_names_get (&dn_verdict_names, (int) decision->verdict));
    put_request (buf, story);
    put_set (buf, story);
    if (story->chosen && n_lost <= PART_PRED)
        put_prediction (buf, story);
    put_application (buf, story);
    put_text (buf, "by", decision->by_run ? decision->by_run : "");
    if (n_lost <= PART_WARN)
        put_warnings (buf, decision);
    if (n_lost <= PART_SPEC)
        put_spec (buf, story->spec, names);
    if (n_lost <= PART_WHY && names && decision->verdict == DN_VERDICT_ABSTAIN
        && decision->n_reasons > decision->abstained)
        put_reason (buf, &decision->reasons[decision->abstained]);
    dn_buf_text (buf, "}");
}

int dn_record_write (const struct dn_story *story,
                     bool names,
                     char text[DN_RECORD_MAX + 1],
                     struct dn_err *err)
{
    for (int n_lost = 0; n_lost <= N_PARTS; n_lost++) {
        struct dn_buf buf = dn_buf_on (text, DN_RECORD_MAX + 1);

        write_record (story, names, n_lost, &buf);
        if (!buf.cut)
            return 0;
    }
    text[0] = '\0';
    return dn_refuse (err, record_long, DN_RECORD_MAX);
}
