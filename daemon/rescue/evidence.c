/* evidence.c - did a job fail for lack of memory?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rescue/evidence.h"

#include <limits.h>
#include <string.h>

#include "base/messages.h"
#include "host/files.h"
#include "reported.h"
#include "rescue/output_name.h"
#include "task.h"

/* The clocks of nodes and controller may differ by that much. */
#define SKEW_S 60

/* What the job reported in this run of it. */
static bool is_reported (const struct dn_site *site, const struct dn_link_job *job)
{
    struct dn_progress progress;

    return dn_progress_of (site, job, &progress)
           && progress.out_of_memory_s >= job->start - SKEW_S
           && progress.out_of_memory_s > 0;
}

/* 'path' relative to 'dir'; NULL: it is not below it. */
static const char *below (const char *path, const char *dir)
{
    size_t len = strlen (dir);

    while (len > 1 && dir[len - 1] == '/')
        len--;
    if (!path || strncmp (path, dir, len) != 0 || path[len] != '/')
        return NULL;
    path += len;
    while (*path == '/')
        path++;
    return *path != '\0' ? path : NULL;
}

/* slurmstepd: error: Detected 1 oom_kill event in StepId=17.0 (cgroups)
 * slurmstepd: error: StepId=17.0 exceeded memory limit (2 > 1) ... (OverMemoryKill)
 */
static bool says_host (struct dn_span line)
{
    static const char *const words[] = {
        "oom_kill event", "oom-kill event", "exceeded memory limit ("};

    for (size_t i = 0; i < DN_N_ELEMENTS (words); i++)
        if (memmem (line.text, line.len, words[i], strlen (words[i])))
            return true;
    return false;
}

static bool is_printed (const struct dn_site *site,
                        const struct dn_link_job *job,
                        const char *pattern,
                        bool of_host)
{
    char path[PATH_MAX];
    struct dn_buf buf = dn_buf_on (path, sizeof (path));
    const char *name;
    struct dn_err err = {0};
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_span rest, line;

    dn_output_name (job, pattern, &buf);
    name = buf.cut ? NULL : below (path, site->output_dir);
    if (!name)
        return false;
    if (dn_file_tail_below (
            site->output_dir, name, (uid_t) job->user_id, DN_EVIDENCE_MAX, &text, &err)
        < 0) {
        dn_log (DN_LOG_DEBUG, dn_say_rescue_no_output, job->name, err.text);
        return false;
    }
    rest = dn_span_of (text);
    while ((line = dn_span_cut (&rest, "\r\n")).text)
        if (of_host ? says_host (line) : dn_says_out_of_memory (line))
            return true;
    return false;
}

bool dn_evidence_find (const struct dn_site *site,
                       const struct dn_link_job *job,
                       bool of_host)
{
    bool failed = strcmp (job->state, "FAILED") == 0;

    if (of_host ? !failed : failed && is_reported (site, job))
        return true;
    if (!failed || site->output_dir[0] == '\0')
        return false;
    return (job->std_err && is_printed (site, job, job->std_err, of_host))
           || is_printed (site, job, job->std_out, of_host);
}
