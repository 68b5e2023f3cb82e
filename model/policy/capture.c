/* capture.c - whether a job describes itself
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/policy.h"

#include <string.h>

/* Python finds the hook by PYTHONPATH, whose directories ':' separates. */
static bool is_python_dir (const char *dir)
{
    return dir && !strchr (dir, ':');
}

void dn_policy_capture (const struct dn_rules *rules,
                        const struct dn_job *job,
                        const struct dn_spec *spec,
                        bool opted_in,
                        const char *python_dir,
                        const char *progress_dir,
                        struct dn_decision *decision)
{
    enum dn_capture_rule least = opted_in ? DN_CAPTURE_OPT_IN : DN_CAPTURE_YES;

    if (rules->mode != DN_MODE_ENFORCE || rules->capture < least
        || spec->capture == DN_ANSWER_NO || job->het || job->kind != DN_JOB_BATCH
        || !job->env || job->n_env > DN_ENV_MAX || !is_python_dir (python_dir)
        || !progress_dir)
        return;
    decision->python_dir = python_dir;
    decision->progress_dir = progress_dir;
}
