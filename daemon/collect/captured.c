/* captured.c - what a finished job has measured and described of itself
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "collect/captured.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/messages.h"
#include "host/capture_file.h"
#include "host/files.h"
#include "import/hf_capture.h"
#include "task.h"

struct name {
    char text[DN_NAME_MAX];
};

static struct name name_of (const struct dn_finished *job, const char *suffix)
{
    struct name name;

    snprintf (name.text, sizeof (name.text), "%" PRId64 "%s", job->raw_id, suffix);
    return name;
}

/* Most jobs leave none. */
static bool is_there (const char *progress_dir, const char *name)
{
    dn_cleanup (dn_fd_cleanup) int dir =
        open (progress_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    return dir >= 0 && fstatat (dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_of_run (const struct dn_capture *capture, const struct dn_finished *job)
{
    return job->start_s > 0 && capture->time_s >= job->start_s - DN_CAPTURED_SKEW_S
           && capture->time_s <= job->end_s + DN_CAPTURED_SKEW_S;
}

/* What a file may state, as a store has it. */
static void fill (const struct dn_capture *capture, struct dn_finished *job)
{
    job->start_up_s = capture->start_up_s;
    job->step_ms = capture->step_ms;
    job->step_p95_ms = capture->step_p95_ms;
    job->loader_share = capture->loader_share;
    job->gpus_used = capture->gpus_used;
    job->said_gpu_mem_gb = fmax (capture->gpu_reserved_gb, capture->gpu_allocated_gb);
}

static int read_text (const char *text,
                      const char *name,
                      struct dn_capture *capture,
                      struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *described = dn_hf_capture (dn_span_of (text));

    return dn_capture_read (
        dn_span_of (described ? described : text), name, capture, err);
}

char *dn_captured_fill (const char *progress_dir, struct dn_finished *job)
{
    struct name name = name_of (job, DN_CAPTURE_SUFFIX);
    dn_cleanup (dn_free_ptr) char *text = NULL;
    dn_cleanup (dn_capture_free) struct dn_capture capture = {.sidecar = NULL};
    struct dn_err err = {0};
    char *kept;

    /* Where slurmdbd hears of a job's end before its start, it is root's at first. */
    if (progress_dir[0] == '\0' || job->user <= 0
        || !is_there (progress_dir, name.text))
        return NULL;
    if (dn_file_read_below (progress_dir,
                            name.text,
                            (uid_t) job->user,
                            DN_CAPTURE_BYTES_MAX,
                            &text,
                            &err)
            < 0
        || read_text (text, name.text, &capture, &err) < 0) {
        dn_log (DN_LOG_DEBUG, dn_say_collect_no_capture, job->job, err.text);
        return NULL;
    }
    if (!is_of_run (&capture, job)) {
        dn_log (DN_LOG_DEBUG,
                dn_say_collect_no_capture,
                job->job,
                dn_say_collect_other_run);
        return NULL;
    }
    kept = dn_capture_write (&capture);
    if (!kept)
        return NULL;
    fill (&capture, job);
    return kept;
}

/* The name may have been given to another file meanwhile: that is a file of
 * ProgressDir, too, under the number of a job that has ended. No link is followed.
 */
static void remove_file (int dir, const char *name, const struct dn_finished *job)
{
    struct stat st;

    if (fstatat (dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG (st.st_mode)
        && st.st_uid == (uid_t) job->user
        && st.st_mtime <= job->end_s + DN_CAPTURED_SKEW_S)
        unlinkat (dir, name, 0);
}

void dn_captured_remove (const char *progress_dir, const struct dn_finished *job)
{
    dn_cleanup (dn_fd_cleanup) int dir = -1;

    if (progress_dir[0] == '\0' || job->user < 0)
        return;
    dir = open (progress_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return;
    remove_file (dir, name_of (job, "").text, job);
    remove_file (dir, name_of (job, DN_CAPTURE_SUFFIX).text, job);
}
