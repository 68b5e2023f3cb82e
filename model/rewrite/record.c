/* record.c - the decision record that travels with the job into accounting
 *
 * {"dnnest":1,"mode":"enforce","verdict":"change",
 *  "req":{"time_s":86400,"gpu":"a100","gpus":4,"cpus_per_task":80,"mem_mb":256000},
 *  "set":{"time_s":23400,"gpu":"v100","cpus_per_task":24},
 *  "pred":{"gpu":"v100_sxm2_16gb","step_us":228000,"train_s":9000,"bound_s":21000,
 *          "mem_mb":13000,"cpus_per_gpu":6,"conf":65},
 *  "spec":"model=resnet50,batch=256,...","why":"..."}
 *
 * "req" is the original request, whatever was done to it; "set" is what the decision
 * asks for, applied only in mode enforce, and not for the verdict "control". All
 * numbers are whole, so that no locale can spoil them; unknown ones are left out. When
 * the whole is too long, "why" goes, then "spec".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rewrite/words.h"

#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "base/json_read.h"

/* Add 'value' and take it over; a NULL one (no memory) is an error. */
static int add (struct json_object *object, const char *key, struct json_object *value)
{
    if (!value)
        return -1;
    if (json_object_object_add (object, key, value) < 0) {
        json_object_put (value);
        return -1;
    }
    return 0;
}

static int add_number (struct json_object *object, const char *key, int64_t value)
{
    return value < 0 ? 0 : add (object, key, json_object_new_int64 (value));
}

/* A real, rounded to whole; what is unknown (negative) or absurd is left out. */
static int add_real (struct json_object *object, const char *key, double value)
{
    return value < 0 || value > 9e15 ? 0 : add_number (object, key, llround (value));
}

static int add_text (struct json_object *object, const char *key, const char *value)
{
    return value[0] == '\0' ? 0 : add (object, key, json_object_new_string (value));
}

/* The original of a place is kept where it changes: its text is known to be harmless.
 */
static int add_request (struct json_object *object, const struct dn_story *story)
{
    const struct dn_request *request = story->request;
    const struct dn_patch *patch = story->patch;
    struct dn_quoted type = dn_quote (request->gpu_type, strlen (request->gpu_type));

    if (add_number (object, "time_s", request->time_limit_s) < 0
        || add_text (object, "gpu", type.text) < 0
        || add_number (object, "gpus", request->n_gpus) < 0
        || add_number (object, "cpus_per_task", request->cpus_per_task) < 0
        || add_number (object, "cpus_each_gpu", request->cpus_each_gpu) < 0
        || add_text (
               object, "partition", patch->partition[0] ? request->job->partition : "")
               < 0
        || add_text (
               object, "features", patch->features[0] ? request->job->features : "")
               < 0
        || add_number (object, "mem_mb", request->mem_per_node_mb) < 0)
        return -1;
    return 0;
}

static int add_set (struct json_object *object, const struct dn_story *story)
{
    const struct dn_decision *decision = story->decision;

    if (add_number (object, "time_s", decision->time_limit_s) < 0
        || add_number (object, "time_min_s", decision->time_min_s) < 0
        || add_text (object, "gpu", decision->gpu ? decision->gpu->type : "") < 0
        || add_text (object, "partition", story->patch->partition) < 0
        || add_text (object, "features", story->patch->features) < 0
        || add_number (object, "cpus_per_task", decision->cpus_per_task) < 0
        || add_number (object, "cpus_each_gpu", decision->cpus_each_gpu) < 0)
        return -1;
    return 0;
}

static int add_prediction (struct json_object *object, const struct dn_story *story)
{
    const struct dn_estimate *chosen = story->chosen;
    double quantile = story->rules->time_quantile;

    if (add_text (object, "gpu", chosen->device->name) < 0
        || add_real (object, "step_us", chosen->step_s.p50 * 1e6) < 0
        || add_real (object, "train_s", chosen->train_s.p50) < 0
        || add_real (object, "bound_s", dn_range_at (chosen->train_s, quantile)) < 0
        || add_real (object, "mem_mb", chosen->gpu_mem.p50 / 1048576) < 0
        || add_number (object, "cpus_per_gpu", chosen->cpus_per_gpu) < 0
        || add_real (object, "conf", chosen->confidence * 100) < 0)
        return -1;
    return 0;
}

/* The specification as metadata text: enough to train on the job later. */
static void write_spec (const struct dn_spec *spec, char *text, size_t size)
{
    struct dn_buf buf = dn_buf_on (text, size);
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        char value[DN_VALUE_MAX];

        if (!dn_spec_has (spec, &keys[i]))
            continue;
        dn_spec_write_value (spec, &keys[i], value);
        dn_buf_add (&buf, "%s%s=%s", buf.len > 0 ? "," : "", keys[i].name, value);
    }
    if (buf.cut)
        text[0] = '\0';
}

/* Add the object 'part' under 'key', filled by one of the functions above. */
static struct json_object *add_part (struct json_object *record, const char *key)
{
    struct json_object *part = json_object_new_object ();

    return add (record, key, part) < 0 ? NULL : part;
}

static int fill_record (const struct dn_story *story, struct json_object *record)
{
    const struct dn_decision *decision = story->decision;
    struct json_object *part;
    char spec[DN_RECORD_MAX];

    write_spec (story->spec, spec, sizeof (spec));
    if (add_number (record, "dnnest", 1) < 0
        || add_text (
               record, "mode", dn_names_get (&dn_mode_names, (int) story->rules->mode))
               < 0
        || add_text (record,
                     "verdict",
                     dn_names_get (&dn_verdict_names, (int) decision->verdict))
               < 0)
        return -1;
    if (!(part = add_part (record, "req")) || add_request (part, story) < 0)
        return -1;
    if ((decision->verdict == DN_VERDICT_CHANGE
         || decision->verdict == DN_VERDICT_CONTROL)
        && (!(part = add_part (record, "set")) || add_set (part, story) < 0))
        return -1;
    if (story->chosen
        && (!(part = add_part (record, "pred")) || add_prediction (part, story) < 0))
        return -1;
    if (add_text (record, "spec", spec) < 0)
        return -1;
    if (decision->verdict == DN_VERDICT_ABSTAIN && decision->n_reasons > 0)
        return add_text (record, "why", decision->reasons[0]);
    return 0;
}

int dn_record_write (const struct dn_story *story,
                     char text[DN_RECORD_MAX + 1],
                     struct dn_err *err)
{
    static const char *const optional[] = {"why", "spec", "pred"};
    dn_cleanup (dn_json_free) struct json_object *record = json_object_new_object ();
    const char *json = NULL;

    text[0] = '\0';
    if (!record || fill_record (story, record) < 0)
        return dn_err_set (err, DN_E_NOMEM, "record: out of memory");
    for (size_t i = 0; i <= DN_N_ELEMENTS (optional); i++) {
        json = json_object_to_json_string_ext (
            record, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
        if (!json)
            return dn_err_set (err, DN_E_NOMEM, "record: out of memory");
        if (strlen (json) <= DN_RECORD_MAX) {
            memcpy (text, json, strlen (json) + 1);
            return 0;
        }
        if (i < DN_N_ELEMENTS (optional))
            json_object_object_del (record, optional[i]);
    }
    return dn_err_set (err, DN_E_BUG, "record: longer than %d", DN_RECORD_MAX);
}
