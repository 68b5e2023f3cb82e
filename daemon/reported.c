/* reported.c - what a job has reported about its progress, and its rules
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "reported.h"

#include <string.h>

#include "base/messages.h"
#include "host/capture_file.h"
#include "task.h"

bool dn_progress_of (const struct dn_site *site,
                     const struct dn_link_job *job,
                     struct dn_progress *progress)
{
    struct dn_err err = {0};

    memset (progress, 0, sizeof (*progress));
    if (site->progress_dir[0] == '\0')
        return false;
    if (dn_job_progress (
            site->progress_dir, job->raw_id, (uid_t) job->user_id, progress, &err)
        == 0)
        return true;
    dn_log (DN_LOG_DEBUG, dn_say_guard_no_progress, job->name, err.text);
    return false;
}

struct dn_rules dn_rules_of (const struct dn_site *site, const struct dn_link_job *job)
{
    const struct dn_submitter submitter = {.partition = job->partition,
                                           .account = job->account,
                                           .qos = job->qos,
                                           .user_id = job->user_id,
                                           .group_id = job->group_id};

    return dn_site_rules (site, &submitter, NULL);
}
