/* evidence.c - did a job fail for lack of memory?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rescue/rescue_plan.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/messages.h"
#include "host/files.h"
#include "round.h"
#include "task.h"

/* --- where the output of a batch job is ------------------------------------------- */

/* slurmstepd pads numbers with zeros to at most that width. */
#define WIDTH_MAX 10

static void add_text (struct dn_buf *path, const char *text)
{
    dn_buf_text (path, text ? text : "");
}

static void add_number (struct dn_buf *path, int width, int64_t number)
{
    char digits[32];

    snprintf (digits, sizeof (digits), "%0*" PRId64, width, number);
    dn_buf_text (path, digits);
}

/* Add what 'letter' stands for; false if it stands for nothing. The script is the first
 * task on the first node.
 */
static bool add_value (const struct dn_link_job *job,
                       char letter,
                       int width,
                       struct dn_buf *path)
{
    int64_t task = job->array_task == DN_UNSET ? UINT32_MAX - 1 : job->array_task;

    switch (letter) {
    case 'A':
        add_number (path, width, job->job_id);
        return true;
    case 'J':
    case 'j':
        add_number (path, width, job->raw_id);
        return true;
    case 'a':
        add_number (path, width, task);
        return true;
    case 'b':
        add_number (path, width, task % 10);
        return true;
    case 'n':
    case 't':
        add_number (path, width, 0);
        return true;
    case 's':
        dn_buf_text (path, "batch");
        return true;
    case 'N':
        if (job->host)
            dn_buf_put (path, job->host, strcspn (job->host, "."));
        return true;
    case 'u':
        add_text (path, job->user);
        return true;
    case 'x':
        add_text (path, job->title);
        return true;
    default:
        return false;
    }
}

/* Add what the '%' at 'at' begins, and return what follows. A pattern that is none
 * stays as it is.
 */
static const char *add_pattern (const struct dn_link_job *job,
                                const char *at,
                                struct dn_buf *path)
{
    const char *end = at + 1;
    int width = 0;

    if (*end == '%') {
        dn_buf_text (path, "%");
        return end + 1;
    }
    for (; dn_is_digit (*end); end++)
        width = width > WIDTH_MAX ? width : 10 * width + *end - '0';
    if (*end != '\0'
        && add_value (job, *end, width > WIDTH_MAX ? WIDTH_MAX : width, path))
        return end + 1;
    dn_buf_put (path, at, (size_t) (end - at));
    return end;
}

/* With a backslash in it a name has no patterns, and loses all backslashes. */
static void add_plain (const char *name, struct dn_buf *path)
{
    for (; *name; name++)
        if (*name != '\\')
            dn_buf_put (path, name, 1);
}

void dn_output_name (const struct dn_link_job *job,
                     const char *pattern,
                     struct dn_buf *path)
{
    if (!pattern || pattern[0] == '\0')
        pattern = job->array_task == DN_UNSET ? "slurm-%j.out" : "slurm-%A_%a.out";
    if (pattern[0] != '/') {
        add_text (path, job->work_dir);
        dn_buf_text (path, "/");
    }
    if (strchr (pattern, '\\')) {
        add_plain (pattern, path);
        return;
    }
    while (*pattern != '\0') {
        size_t len = strcspn (pattern, "%");

        dn_buf_put (path, pattern, len);
        pattern += len;
        if (*pattern == '%')
            pattern = add_pattern (job, pattern, path);
    }
}

/* --- what is there ---------------------------------------------------------------- */

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
