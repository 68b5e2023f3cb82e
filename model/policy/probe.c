/* probe.c - whether a job with probe= becomes a probe, and whether one describes itself
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/policy.h"

#include <string.h>

void dn_policy_keep_for_probe (const struct dn_spec *spec, struct dn_request *request)
{
    if (spec->probe <= 0)
        return;
    dn_request_keep_all (request, DN_REASON (probe_keeps));
    request->time_unknown = true;
}

/* Python finds the hook by PYTHONPATH, whose directories ':' separates. */
static bool is_hook_dir (const char *dir)
{
    return dir && !strchr (dir, ':');
}

/* Why the job does not become a probe; none if it does. */
static struct dn_reason refuses_probe (const struct dn_rules *rules,
                                       const struct dn_job *job,
                                       const char *hook_dir)
{
    if (job->kind != DN_JOB_BATCH || !job->env)
        return DN_REASON (probe_batch);
    if (rules->mode != DN_MODE_ENFORCE)
        return DN_REASON (probe_mode);
    if (!is_hook_dir (hook_dir))
        return DN_REASON (probe_off);
    return DN_NO_REASON;
}

void dn_policy_probe (const struct dn_rules *rules,
                      const struct dn_job *job,
                      const struct dn_spec *spec,
                      const char *hook_dir,
                      struct dn_decision *decision)
{
    struct dn_reason why;

    if (spec->probe <= 0)
        return;
    why = refuses_probe (rules, job, hook_dir);
    if (dn_given (why))
        decision->note = why;
    else
        decision->hook_dir = hook_dir;
}

void dn_policy_capture (const struct dn_rules *rules,
                        const struct dn_job *job,
                        const struct dn_spec *spec,
                        bool opted_in,
                        const char *hook_dir,
                        const char *progress_dir,
                        struct dn_decision *decision)
{
    enum dn_capture_rule least = opted_in ? DN_CAPTURE_OPT_IN : DN_CAPTURE_YES;

    if (rules->mode != DN_MODE_ENFORCE || rules->capture < least
        || spec->capture == DN_ANSWER_NO || spec->probe > 0 || job->het
        || job->kind != DN_JOB_BATCH || !job->env || job->n_env > DN_ENV_MAX
        || !is_hook_dir (hook_dir) || !progress_dir)
        return;
    decision->capture_dir = hook_dir;
    decision->progress_dir = progress_dir;
}
