/* probe.c - whether a job with probe= becomes a probe
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

/* Why the job does not become a probe; none if it does. */
static struct dn_reason refuses_probe (const struct dn_rules *rules,
                                       const struct dn_job *job,
                                       const char *hook_dir)
{
    if (job->kind != DN_JOB_BATCH || !job->env)
        return DN_REASON (probe_batch);
    if (rules->mode != DN_MODE_ENFORCE)
        return DN_REASON (probe_mode);
    /* The hook is found by PYTHONPATH, whose directories ':' separates. */
    if (!hook_dir || strchr (hook_dir, ':'))
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
