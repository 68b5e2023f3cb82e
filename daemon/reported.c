/* reported.c - what a job has reported about its progress, and its rules
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "reported.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/messages.h"
#include "host/files.h"
#include "task.h"

bool dn_progress_of (const struct dn_site *site,
                     const struct dn_link_job *job,
                     struct dn_progress *progress)
{
    char name[DN_NAME_MAX];
    struct dn_err err = {0};
    dn_cleanup (dn_free_ptr) char *text = NULL;

    memset (progress, 0, sizeof (*progress));
    if (site->progress_dir[0] == '\0')
        return false;
    snprintf (name, sizeof (name), "%" PRId64, job->raw_id);
    if (dn_file_read_below (site->progress_dir,
                            name,
                            (uid_t) job->user_id,
                            DN_PROGRESS_BYTES_MAX,
                            &text,
                            &err)
            == 0
        && dn_progress_read (dn_span_of (text), name, progress, &err) == 0)
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
