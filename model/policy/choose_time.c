/* choose_time.c - the time limit that a run needs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"

#include <math.h>
#include <stdio.h>

/* Limits are multiples of five minutes: 03:37:00 would look more exact than it is. */
#define TIME_STEP_S 300

/* A job with --signal must be done before the signal, which Slurm may send a minute
 * early: the seconds that it needs for this.
 */
static int64_t signal_time (const struct dn_request *request)
{
    int64_t seconds = request->job->signal_s;

    return seconds > 0 ? seconds + 60 : 0;
}

int64_t dn_time_before_signal (const struct dn_request *request, int64_t limit_s)
{
    int64_t left = limit_s - signal_time (request);

    return left > 0 ? left : 0;
}

int64_t dn_needed_time (const struct dn_scene *scene, int i)
{
    const struct dn_rules *rules = scene->rules;
    double bound = dn_range_at (scene->estimates[i].train_s, rules->time_quantile)
                   * (1 + rules->time_margin);

    if (bound < 0)
        return DN_UNSET;
    bound += (double) signal_time (scene->request);
    bound = fmax (bound, (double) rules->time_min_s);
    if (bound > 1e10)
        bound = 1e10;
    return (int64_t) ceil (bound / TIME_STEP_S) * TIME_STEP_S;
}

bool dn_keeps_deadline (const struct dn_scene *scene, int64_t seconds)
{
    int64_t left = scene->request->job->deadline_s;

    return (scene->spec->deadline <= 0 || seconds <= scene->spec->deadline)
           && (left == DN_UNSET || seconds <= left);
}

/* Why the time limit is kept regardless of the bound; NULL if it may change. */
static const char *keeps_time (const struct dn_scene *scene)
{
    const struct dn_request *request = scene->request;
    const struct dn_job *job = request->job;

    if (scene->rules->time_limit == DN_TIME_KEEP)
        return "the policy keeps time limits";
    if (request->keep_time[0] != '\0')
        return request->keep_time;
    if (scene->rules->time_limit != DN_TIME_TIME_MIN)
        return NULL;
    /* Slurm rejects a --time-min above the limit, and a job without a limit gets that
     * of its partition. */
    if (request->time_limit_s == DN_UNSET)
        return "no limit was requested";
    if (job->time_min_min != DN_UNSET)
        return "a minimum time was requested (--time-min)";
    if (job->deadline_s != DN_UNSET)
        return "a deadline was requested";
    return job->array ? "--time-min is not set on job arrays" : NULL;
}

/* May the limit become 'needed', more than was requested? If not, 'why' gets the
 * reason.
 */
static bool may_raise_time (const struct dn_scene *scene,
                            int64_t needed,
                            const char **why)
{
    const struct dn_rules *rules = scene->rules;
    bool unset = scene->request->time_limit_s == DN_UNSET;

    *why = NULL;
    if (unset && rules->fill_unset != DN_YES_YES)
        *why = "no limit was requested";
    else if (!unset && rules->never_raise != DN_YES_NO)
        *why = "NeverRaise=yes";
    else if (needed > rules->time_max_s)
        *why = "above TimeMax";
    else if (!dn_keeps_deadline (scene, needed))
        *why = "beyond the deadline";
    else if (needed > dn_longest_limit (scene, scene->decision->chosen))
        *why = "above the MaxTime of the partition, or the MaxWall of the QOS or the "
               "association";
    return !*why;
}

static void set_time (const struct dn_scene *scene, int64_t needed)
{
    const struct dn_estimate *chosen = &scene->estimates[scene->decision->chosen];

    if (scene->rules->time_limit == DN_TIME_TIME_MIN)
        scene->decision->time_min_s = needed;
    else
        scene->decision->time_limit_s = needed;
    dn_scene_say (scene,
                  "time: the bound is %s (likely %s)",
                  dn_time_write (needed).text,
                  dn_time_write ((int64_t) chosen->train_s.p50).text);
}

/* What the metadata lack for the amount of work to be known. */
static const char *lacks_work (const struct dn_spec *spec)
{
    if (spec->epochs >= 0)
        return "the amount of work is unknown (epochs= needs dataset= or samples=)";
    if (spec->tokens >= 0)
        return "the amount of work is unknown (tokens= needs seq_len=)";
    return "the amount of work is unknown (epochs= or steps=)";
}

void dn_choose_time (const struct dn_scene *scene)
{
    const struct dn_request *request = scene->request;
    int64_t needed = dn_needed_time (scene, scene->decision->chosen);
    const char *why = keeps_time (scene);

    if (!why && needed == DN_UNSET)
        why = lacks_work (scene->spec);
    if (why) {
        dn_scene_say (scene, "time: kept, %s", why);
        return;
    }
    if (request->job->time_min_min > 0 && needed < request->job->time_min_min * 60)
        needed = request->job->time_min_min * 60;
    if (needed == request->time_limit_s
        || ((request->time_limit_s == DN_UNSET || needed > request->time_limit_s)
            && (scene->rules->time_limit == DN_TIME_TIME_MIN
                || !may_raise_time (scene, needed, &why))))
        dn_scene_say (
            scene,
            "time: kept, the bound is %s (likely %s)%s%s",
            dn_time_write (needed).text,
            dn_time_write (
                (int64_t) scene->estimates[scene->decision->chosen].train_s.p50)
                .text,
            why ? ", " : "",
            why ? why : "");
    else
        set_time (scene, needed);
}
