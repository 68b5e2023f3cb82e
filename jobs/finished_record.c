/* finished_record.c - what the admin comment of a finished job says of it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/finished.h"

#include <math.h>
#include <string.h>

#include "base/json_read.h"
#include "jobs/outcome.h"
#include "rewrite/rewrite.h"

/* Numbers in a record: seconds of 2^32 minutes are the largest. */
#define NUMBER_MAX INT64_C (300000000000)

/* A text of the record; "" where it has none. */
static const char *text_of (const struct json_object *part,
                            const char *key,
                            char *text,
                            size_t size)
{
    text[0] = '\0';
    if (dn_json_read_text (part, key, text, size, NULL) < 0)
        text[0] = '\0';
    return text;
}
#define TEXT_OF(part, key, text) text_of (part, key, text, sizeof (text))

static int64_t count_of (const struct json_object *part, const char *key)
{
    int64_t count = DN_UNSET;

    if (dn_json_read_int (part, key, 0, NUMBER_MAX, &count, NULL) < 0)
        return DN_UNSET;
    return count;
}

/* In units of 'unit'; NaN where the record has none. */
static double real_of (const struct json_object *part, const char *key, double unit)
{
    double value = NAN;

    if (dn_json_read_real (part, key, 0, (double) NUMBER_MAX, &value, NULL) < 0)
        return NAN;
    return value / unit;
}

/* CPUs in all, of what a part of the record says per GPU or per task. */
static int64_t cpus_of (const struct json_object *part, const struct json_object *req)
{
    int64_t each_gpu = count_of (part, "cpus_each_gpu");
    int64_t per_task = count_of (part, "cpus_per_task");
    int64_t gpus = count_of (req, "gpus");
    int64_t tasks = count_of (req, "tasks");

    if (each_gpu > 0 && each_gpu <= DN_COUNT_MAX && gpus > 0
        && gpus <= DN_COUNT_MAX / 8)
        return each_gpu * gpus;
    if (per_task > 0 && per_task <= DN_COUNT_MAX && tasks <= DN_COUNT_MAX / 8)
        return per_task * (tasks > 0 ? tasks : 1);
    return DN_UNSET;
}

static void read_prediction (struct dn_finished *job,
                             const struct json_object *pred,
                             struct dn_finished_texts *texts)
{
    job->base_s = real_of (pred, "base_s", 1);
    job->likely_s = real_of (pred, "train_s", 1);
    job->bound_s = real_of (pred, "bound_s", 1);
    job->bound_bp = real_of (pred, "bound_bp", 1);
    job->p95_s = real_of (pred, "p95_s", 1);
    job->pred_gpu = TEXT_OF (pred, "gpu", texts->pred_gpu);
    job->pred_mem_gb = real_of (pred, "mem_mb", 1024);
    job->pred_cpus = real_of (pred, "cpus_per_gpu", 1);
    job->confidence = real_of (pred, "conf", 100);
    job->bundle = TEXT_OF (pred, "bundle", texts->bundle);
    job->history_runs = count_of (pred, "hist");
}

static void read_decision (struct dn_finished *job,
                           const struct json_object *record,
                           struct dn_finished_texts *texts)
{
    const struct json_object *req = dn_json_member (record, "req");
    const struct json_object *set = dn_json_member (record, "set");

    job->asked_limit_s = count_of (req, "time_s");
    if (count_of (req, "unlimited") == 1)
        job->asked_limit_s = DN_UNLIMITED;
    job->asked_gpu = TEXT_OF (req, "gpu", texts->asked_gpu);
    job->asked_cpus = cpus_of (req, req);
    job->set_limit_s = count_of (set, "time_s");
    job->set_gpu = TEXT_OF (set, "gpu", texts->set_gpu);
    job->set_cpus = cpus_of (set, req);
}

/* What accounting does not count: the type that dnnest set, or that was asked for. */
static void complete_gpus (struct dn_finished *job, const struct json_object *req)
{
    if (job->gpus == DN_UNSET)
        job->gpus = count_of (req, "gpus");
    if (job->gpu[0] == '\0' && job->gpus != 0)
        job->gpu = dn_finished_changed (job) && job->set_gpu[0] != '\0'
                       ? job->set_gpu
                       : job->asked_gpu;
}

static void read_record (struct dn_finished *job,
                         const struct json_object *record,
                         struct dn_finished_texts *texts)
{
    double later[DN_EXTENSIONS_MAX];
    int n_later = 0;

    job->mode = TEXT_OF (record, "mode", texts->mode);
    job->verdict = TEXT_OF (record, "verdict", texts->verdict);
    dn_record_why (record, texts->why);
    job->why = texts->why;
    job->warn = TEXT_OF (record, "warn", texts->warn);
    job->spec = TEXT_OF (record, "spec", texts->spec);
    job->app = TEXT_OF (record, "app", texts->app);
    job->work_unit = TEXT_OF (record, "unit", texts->work_unit);
    job->work = real_of (record, "work", 1);
    read_decision (job, record, texts);
    complete_gpus (job, dn_json_member (record, "req"));
    read_prediction (job, dn_json_member (record, "pred"), texts);
    if (dn_json_read_reals (
            record, "later", 60, 3e11, 1, DN_EXTENSIONS_MAX, later, &n_later, NULL)
        < 0)
        n_later = 0;
    job->extensions = n_later;
    job->rescued = count_of (record, "rescued") == 1;
}

void dn_finished_from_record (struct dn_finished *job,
                              const char *admin_comment,
                              struct dn_finished_texts *texts)
{
    dn_cleanup (dn_json_free) struct json_object *record = NULL;

    if (dn_record_json (admin_comment, &record, NULL) > 0)
        read_record (job, record, texts);
    job->outcome = dn_names_get (&dn_outcome_names, (int) dn_outcome_of (job));
}
