/* finished_record.c - what the admin comment of a finished job says of it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/finished.h"

#include <math.h>

#include "jobs/outcome.h"
#include "rewrite/recorded.h"

/* CPUs in all, of what a part of the record says per GPU or per task. */
static int64_t cpus_of (const struct dn_recorded *r,
                        int64_t gpus,
                        int64_t each_gpu,
                        int64_t per_task)
{
    if (each_gpu > 0 && each_gpu <= DN_COUNT_MAX && gpus > 0
        && gpus <= DN_COUNT_MAX / 8)
        return each_gpu * gpus;
    if (per_task > 0 && per_task <= DN_COUNT_MAX && r->tasks <= DN_COUNT_MAX / 8)
        return per_task * (r->tasks > 0 ? r->tasks : 1);
    return DN_UNSET;
}

/* GPUs that the job has by its record. */
static int64_t gpus_of (const struct dn_recorded *r)
{
    return r->changed && r->set_gpus != DN_UNSET ? r->set_gpus : r->gpus;
}

static double real_of (int64_t count)
{
    return count == DN_UNSET ? NAN : (double) count;
}

/* The time on the type that an open job got, by that on the requested one. */
static double slow_of (const struct dn_finished *job, const struct dn_recorded *r)
{
    int at = dn_open_find (r, job->gpu[0] != '\0' ? job->gpu : dn_recorded_gpu (r));

    return at > 0 ? (double) r->open[at].slow / (double) r->open[0].slow : NAN;
}

static void take_decision (struct dn_finished *job, const struct dn_recorded *r)
{
    job->mode = r->mode;
    job->verdict = r->verdict;
    job->why = r->why;
    job->warn = r->warn;
    job->spec = r->spec;
    job->app = r->app;
    job->kin = r->kin;
    job->work_unit = r->work_unit;
    job->work = r->work;
    job->asked_limit_s = dn_recorded_cap (r);
    job->asked_gpu = r->asked_gpu;
    job->asked_gpus = r->gpus;
    job->asked_cpus =
        cpus_of (r, r->gpus, r->asked_cpus_each_gpu, r->asked_cpus_per_task);
    job->asked_mem_gb =
        real_of (r->asked_mem_mb) / 1024 * (double) (job->nodes > 0 ? job->nodes : 1);
    job->set_limit_s = dn_recorded_set (r);
    job->set_gpu = r->steer_gpu[0] != '\0' ? r->steer_gpu : r->set_gpu;
    job->set_cpus =
        cpus_of (r, gpus_of (r), r->set_cpus_each_gpu, r->set_cpus_per_task);
    job->pred_wait_s = r->wait_s;
    job->set_mem_gb = real_of (r->set_mem_mb) / 1024;
    job->said_slow = slow_of (job, r);
    job->extensions = r->n_later;
    job->rescued = r->rescued;
}

static void take_prediction (struct dn_finished *job, const struct dn_recorded *r)
{
    bool moved = dn_recorded_there (r, 1) != 1;

    job->base_s = dn_recorded_there (r, r->base_s);
    job->likely_s = dn_recorded_there (r, real_of (r->likely_s));
    job->bound_s = dn_recorded_there (r, r->bound_s);
    job->bound_bp = r->bound_bp;
    job->p95_s = dn_recorded_there (r, real_of (r->p95_s));
    job->pred_gpu = moved ? "" : r->pred_gpu; /* which has its times for one device */
    job->pred_mem_gb = r->pred_mem_mb / 1024;
    job->pred_cpus = r->pred_cpus;
    job->confidence = r->confidence / 100;
    job->bundle = r->bundle;
    job->history_runs = r->history_runs;
}

/* What accounting does not count: the type that dnnest set, or that was asked for. */
static void complete_gpus (struct dn_finished *job, const struct dn_recorded *recorded)
{
    if (job->gpus == DN_UNSET)
        job->gpus = gpus_of (recorded);
    if (job->gpu[0] == '\0' && job->gpus != 0)
        job->gpu = dn_recorded_gpu (recorded);
}

void dn_finished_from_record (struct dn_finished *job,
                              const char *admin_comment,
                              struct dn_recorded *recorded)
{
    dn_record_read (admin_comment, recorded, NULL);
    if (recorded->found) {
        take_decision (job, recorded);
        take_prediction (job, recorded);
        complete_gpus (job, recorded);
    }
    job->outcome = dn_names_get (&dn_outcome_names, (int) dn_outcome_of (job));
}
