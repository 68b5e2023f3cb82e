/* warn.c - what the user must know about the job as it was written
 *
 * Wrong warnings are ignored, and later the right ones too: so a job that may not fit
 * is no reason for one, only a job whose likely memory or time is above what it has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"
#include "base/messages.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* The number of GPUs is never changed, so only the user can correct this. */
void dn_warn_of_request (const struct dn_scene *scene)
{
    const struct dn_request *request = scene->request;

    if (request->n_gpus != DN_UNSET && scene->spec->gpus != DN_UNSET
        && scene->spec->gpus != request->n_gpus) {
        dn_decision_warn (scene->decision,
                          DN_WARNING_METADATA,
                          dn_say_warn_gpus,
                          scene->spec->gpus,
                          request->n_gpus);
        dn_scene_say (scene, dn_say_warn_gpus, scene->spec->gpus, request->n_gpus);
    }
    if (request->open_why[0] != '\0')
        dn_decision_warn (scene->decision, DN_WARNING_OPEN, "%s", request->open_why);
}

/* A type on which the run likely does not fail; -1: none. */
static int runs_on (const struct dn_scene *scene)
{
    for (int i = 0; i < scene->candidates->n_candidates; i++)
        if (dn_scene_failure (scene, i) == DN_FAILURE_NONE)
            return i;
    return -1;
}

/* "; moved to a100", "; a100 would hold it (not moved: nodes were named)" */
static void add_other (const struct dn_scene *scene,
                       const struct dn_other *other,
                       const char *would,
                       const char *may,
                       struct dn_buf *buf)
{
    const char *type = other->index < 0 ? NULL : dn_scene_type (scene, other->index);
    int doubtful = runs_on (scene);

    if (!type && doubtful >= 0)
        dn_buf_add (buf, dn_say_warn_doubtful, dn_scene_type (scene, doubtful), may);
    else if (!type)
        dn_buf_add (buf, dn_say_warn_no_other, would);
    else if (other->why[0] != '\0')
        dn_buf_add (buf, dn_say_warn_not_moved, type, would, other->why);
    else if (scene->rules->mode == DN_MODE_ENFORCE)
        dn_buf_add (buf, dn_say_warn_moved, type);
    else
        dn_buf_add (buf, dn_say_warn_certain, type, would);
}

void dn_warn_of_failure (const struct dn_scene *scene,
                         enum dn_failure failure,
                         const struct dn_other *other)
{
    const struct dn_estimate *estimate = &scene->estimates[scene->base];
    const char *type = dn_scene_type (scene, scene->base);
    char text[DN_WARNING_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (failure == DN_FAILURE_PRECISION) {
        dn_buf_add (&buf,
                    dn_say_warn_precision,
                    type,
                    dn_precision_text[scene->spec->precision]);
        add_other (scene, other, dn_say_warn_can, dn_say_warn_run, &buf);
        dn_decision_warn (scene->decision, DN_WARNING_PRECISION, "%s", text);
        return;
    }
    dn_buf_add (&buf,
                dn_say_warn_memory,
                ceil (estimate->gpu_mem.p50 / DN_GIB),
                type,
                floor (estimate->device->memory / DN_GIB));
    add_other (scene, other, dn_say_warn_would_hold, dn_say_warn_hold, &buf);
    dn_decision_warn (scene->decision, DN_WARNING_MEMORY, "%s", text);
}

/* The candidate on which the job will run: the chosen one, unless the job stays as it
 * is; that on which it cannot run does not count.
 */
static int running_on (const struct dn_scene *scene)
{
    const struct dn_decision *decision = scene->decision;

    return scene->rules->mode == DN_MODE_ENFORCE || decision->rescued ? decision->chosen
                                                                      : scene->base;
}

void dn_warn_of_need (const struct dn_scene *scene)
{
    int i = running_on (scene);
    const char *having = NULL;

    if (!dn_scene_lacks (scene, i)
        || dn_decision_warning (scene->decision, DN_WARNING_PRECISION))
        return;
    for (int k = 0; k < scene->candidates->n_candidates && !having; k++)
        if (!dn_scene_lacks (scene, k))
            having = dn_scene_type (scene, k);
    dn_decision_warn (scene->decision,
                      DN_WARNING_PRECISION,
                      dn_say_warn_unit,
                      scene->request->need_why,
                      dn_scene_type (scene, i),
                      having ? having : dn_say_warn_no_other_unit);
}

/* The job will wait until its nodes are back; nodes of other types are there. */
void dn_warn_of_nodes (const struct dn_scene *scene)
{
    const struct dn_candidate *base = &scene->candidates->list[scene->base];
    char why[DN_REASON_MAX];

    if (!base->unavailable)
        return;
    for (int i = 0; i < scene->candidates->n_candidates; i++) {
        if (i == scene->base || scene->candidates->list[i].blocked[0] != '\0'
            || !dn_scene_holds (scene, i, why))
            continue;
        dn_decision_warn (scene->decision,
                          DN_WARNING_NODES,
                          dn_say_warn_nodes,
                          dn_scene_type (scene, scene->base),
                          base->gpu->no_moves ? "" : " (",
                          base->gpu->no_moves ? "" : base->blocked,
                          base->gpu->no_moves ? "" : ")",
                          dn_scene_type (scene, i),
                          dn_scene_starts_now (scene, i) ? dn_say_warn_has_idle
                                                         : dn_say_warn_has_some);
        return;
    }
}

/* "6h34m" */
struct duration {
    char text[DN_TIME_TEXT_MAX];
};

static struct duration likely_on (const struct dn_scene *scene, int i)
{
    int64_t minutes = (int64_t) ceil (scene->estimates[i].train_s.p50 / 60);
    struct duration duration;

    snprintf (duration.text,
              sizeof (duration.text),
              "%" PRId64 "h%02" PRId64 "m",
              minutes / 60,
              minutes % 60);
    return duration;
}

/* The limit that the job will have; DN_UNSET or DN_UNLIMITED. */
static int64_t limit_of (const struct dn_scene *scene)
{
    const struct dn_decision *decision = scene->decision;

    return scene->rules->mode == DN_MODE_ENFORCE && decision->time_limit_s != DN_UNSET
               ? decision->time_limit_s
               : scene->request->time_limit_s;
}

static void warn_of_limit (const struct dn_scene *scene, int i)
{
    double likely = scene->estimates[i].train_s.p50;
    int64_t limit = limit_of (scene);
    int64_t left = dn_time_before_signal (scene->request, limit);

    if (limit < 0 || likely <= (double) left)
        return;
    if (likely > (double) limit)
        dn_decision_warn (scene->decision,
                          DN_WARNING_LIMIT,
                          dn_say_warn_limit,
                          dn_time_write (limit).text,
                          likely_on (scene, i).text);
    else
        dn_decision_warn (scene->decision,
                          DN_WARNING_LIMIT,
                          dn_say_warn_signal,
                          dn_time_write (limit).text,
                          dn_time_write (left).text,
                          likely_on (scene, i).text);
}

/* The cheapest other type that holds the job, can be had, and likely meets the
 * deadline; -1: none.
 */
static int meeting_deadline (const struct dn_scene *scene, int i)
{
    int best = -1;

    for (int k = 0; k < scene->candidates->n_candidates; k++) {
        char why[DN_REASON_MAX];
        double likely = scene->estimates[k].train_s.p50;

        if (k != i && scene->candidates->list[k].blocked[0] == '\0'
            && dn_scene_holds (scene, k, why) && likely >= 0
            && dn_keeps_deadline (scene, (int64_t) likely)
            && (best < 0 || dn_scene_price (scene, k) < dn_scene_price (scene, best)))
            best = k;
    }
    return best;
}

static void warn_of_deadline (const struct dn_scene *scene, int i)
{
    const struct dn_spec *spec = scene->spec;
    double likely = scene->estimates[i].train_s.p50;
    bool own = spec->deadline > 0 && likely > (double) spec->deadline;
    int best;
    char text[DN_WARNING_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (dn_keeps_deadline (scene, (int64_t) likely))
        return;
    dn_buf_add (
        &buf,
        own ? dn_say_warn_deadline_own : dn_say_warn_deadline,
        dn_scene_type (scene, i),
        dn_time_write (own ? spec->deadline : scene->request->job->deadline_s).text,
        likely_on (scene, i).text);
    best = meeting_deadline (scene, i);
    if (best >= 0)
        dn_buf_add (&buf,
                    dn_say_warn_would_meet,
                    dn_scene_type (scene, best),
                    likely_on (scene, best).text);
    dn_decision_warn (scene->decision, DN_WARNING_DEADLINE, "%s", text);
}

void dn_warn_of_time (const struct dn_scene *scene)
{
    int i = running_on (scene);

    if (scene->estimates[i].train_s.p50 < 0 || scene->request->time_unknown)
        return;
    warn_of_limit (scene, i);
    warn_of_deadline (scene, i);
}
