/* collecting.c - finished jobs of a source into the store, by periods of their ends
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "collect/collecting.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/messages.h"
#include "host/capture_file.h"
#include "host/files.h"
#include "import/hf_capture.h"
#include "rewrite/recorded.h"
#include "task.h"

/* A period is lengthened or shortened to have about so many jobs, some 6 KB each with
 * their steps in the answer of slurmdbd. One that does not fit into memory, or takes
 * too long, is much shorter the next time: slurmdbd asks its database once a job, so
 * a try of 200,000 jobs takes minutes.
 */
#define JOBS_FEW     500
#define JOBS_MANY    (DN_COLLECT_JOBS_MAX / 2)
#define PERIOD_S     3600
#define PERIOD_MAX_S (7 * 86400)
#define SHORTER      32

/* Others that add to the store wait for a commit of so many jobs. */
#define COMMIT_JOBS 1000

/* A text of accounting that is longer is cut: a name of a job may be any. */
#define TEXT_MAX 1023

/* A period while it is read. */
struct period {
    struct dn_collecting *c;
    int64_t n;
    struct dn_err *err;
};

/* The marks of a source: its name and cluster. */
struct mark {
    char text[DN_NAME_MAX * 3];
};

static struct mark mark_of (const struct dn_collecting *c,
                            const char *what,
                            const char *more)
{
    struct mark mark;

    snprintf (mark.text,
              sizeof (mark.text),
              "%s%s%s:%.64s",
              c->source->name,
              what,
              more,
              c->cluster);
    return mark;
}

/* What is read for one mark. */
struct reading {
    struct dn_collecting *c;
    struct mark name;
    struct mark try;    /* where a period begins that is being read */
    struct mark length; /* how long one to read there if that does not end */
    int64_t mark_s;
    int64_t at_s;
    int64_t length_s;
    int64_t short_s; /* before it, no period becomes longer */
};

/* --- what a job says of itself ---------------------------------------------------- */

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

    return dn_capture_read (dn_span_of (described ? described : text),
                            name,
                            DN_SIDECAR_COMPACT,
                            capture,
                            err);
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

/* --- a job ----------------------------------------------------------------------- */

/* Names that users choose, without control characters and cut. */
static const char *printable (const char *text, char out[TEXT_MAX + 1])
{
    size_t len = strnlen (text, TEXT_MAX + 1);
    bool harmless = len <= TEXT_MAX;

    for (size_t i = 0; i < len && harmless; i++)
        harmless = (unsigned char) text[i] >= ' ' && text[i] != 0x7f;
    if (harmless)
        return text;
    len = len > TEXT_MAX ? TEXT_MAX : len;
    while (len > 0 && len == TEXT_MAX && ((unsigned char) text[len] & 0xc0) == 0x80)
        len--; /* a whole character of UTF-8 */
    for (size_t i = 0; i < len; i++)
        out[i] =
            (char) ((unsigned char) text[i] >= ' ' && text[i] != 0x7f ? text[i] : '?');
    out[len] = '\0';
    return out;
}

static int take_job (void *to, const struct dn_finished *from, const char *comment)
{
    struct period *period = to;
    struct dn_collecting *c = period->c;
    struct dn_finished job = *from;
    struct dn_recorded recorded;
    char name[TEXT_MAX + 1];
    char account[TEXT_MAX + 1];
    char partition[TEXT_MAX + 1];
    dn_cleanup (dn_free_ptr) char *captured = NULL;

    job.source = c->source->name;
    if (job.cluster[0] == '\0')
        job.cluster = c->cluster;
    job.name = printable (job.name, name);
    job.account = printable (job.account, account);
    job.partition = printable (job.partition, partition);
    dn_finished_from_record (&job, comment, &recorded);
    period->n++;
    c->n_jobs++;
    c->n_records += job.mode[0] != '\0';
    if (!c->store)
        return 0;
    captured = dn_captured_fill (c->progress_dir, &job);
    if (captured)
        job.captured = captured;
    if (c->now_s - job.end_s >= DN_COLLECT_AGAIN_S)
        dn_captured_remove (c->progress_dir, &job);
    if (dn_store_add (c->store, &job, period->err) < 0)
        return dn_err_wrap (period->err, dn_say_of_job, job.job);
    return period->n % COMMIT_JOBS == 0 ? dn_store_commit (c->store, period->err) : 0;
}

/* --- periods --------------------------------------------------------------------- */

/* Where to begin, and the mark; 0: none yet. */
static int find_begin (struct reading *r, struct dn_err *err)
{
    struct dn_collecting *c = r->c;

    c->begun_s = c->since_s != DN_UNSET ? c->since_s : c->first_s;
    if (c->store && dn_store_until (c->store, r->name.text, &r->mark_s, err) < 0)
        return -1;
    if (c->since_s == DN_UNSET && r->mark_s - DN_COLLECT_OVERLAP_S > c->first_s)
        c->begun_s = r->mark_s - DN_COLLECT_OVERLAP_S;
    r->at_s = c->reached_s = c->begun_s;
    return 0;
}

static int64_t next_length (const struct reading *r, int64_t n)
{
    int64_t length_s = r->length_s;

    if (n > JOBS_MANY)
        return length_s * JOBS_MANY / n > 1 ? length_s * JOBS_MANY / n : 1;
    if (n < JOBS_FEW && length_s < PERIOD_MAX_S && r->at_s >= r->short_s)
        return 2 * length_s < PERIOD_MAX_S ? 2 * length_s : PERIOD_MAX_S;
    return length_s;
}

/* Where a process that was killed had begun to read, and how long a period to read
 * there now; 0: not even a second of it can be read.
 */
static int find_try (struct reading *r, int64_t end_s, struct dn_err *err)
{
    int64_t at_s = 0;
    int64_t length_s = 0;

    if (r->c->store
        && (dn_store_until (r->c->store, r->try.text, &at_s, err) < 0
            || dn_store_until (r->c->store, r->length.text, &length_s, err) < 0))
        return -1;
    r->length_s = PERIOD_S;
    if (at_s == 0 || at_s >= end_s || r->c->since_s != DN_UNSET)
        return 0;
    r->at_s = at_s > r->at_s ? at_s : r->at_s;
    r->length_s = length_s;
    r->short_s = at_s + SHORTER * length_s;
    return 0;
}

/* A shorter period; 0: there is none. */
static int64_t shorter (int64_t length_s)
{
    return length_s > 1 ? (length_s + SHORTER - 1) / SHORTER : 0;
}

/* Commit, with where the next period begins; 0: none follows. */
static int commit (const struct reading *r, int64_t next_s, struct dn_err *err)
{
    struct dn_store *store = r->c->store;
    int64_t then_s = shorter (r->length_s);

    if (!store)
        return 0;
    if (dn_store_set_until (store, r->try.text, next_s, err) < 0
        || dn_store_set_until (store, r->length.text, then_s, err) < 0)
        return -1;
    return dn_store_commit (store, err);
}

/* What ended before 'until_s' was read, or cannot be. */
static int move_to (struct reading *r, int64_t until_s, struct dn_err *err)
{
    bool joins = r->mark_s == 0 || r->at_s <= r->mark_s;

    r->at_s = until_s;
    if (r->c->reached_s < until_s)
        r->c->reached_s = until_s;
    if (!r->c->store || !joins || until_s <= r->mark_s)
        return 0;
    r->mark_s = until_s;
    return dn_store_set_until (r->c->store, r->name.text, until_s, err);
}

/* Read a period, or a part of it where it has too many jobs. -1 with 'err'. */
static int read_period (struct reading *r, int64_t end_s, struct dn_err *err)
{
    struct dn_collecting *c = r->c;
    struct period reading = {.c = c, .err = err};
    struct dn_period period = {r->at_s, r->at_s + r->length_s};

    if (r->length_s == 0) {
        /* Not the second but the source: nothing is left out. */
        if (c->n_skipped > 0 && c->skipped_s == r->at_s - 1)
            return -1;
        c->n_skipped++;
        c->skipped_s = r->at_s;
        r->length_s = 1;
        return move_to (r, r->at_s + 1, err);
    }
    if (period.until_s > end_s)
        period.until_s = end_s;
    *err = (struct dn_err){.code = DN_E_NONE};
    if (c->source->read (c->source->self, c->cluster, period, take_job, &reading, err)
        == 0) {
        r->length_s = next_length (r, reading.n);
        return move_to (r, period.until_s, err);
    }
    if (err->code != DN_E_LIMIT)
        return -1;
    r->short_s = period.until_s;
    r->length_s = shorter (period.until_s - period.since_s);
    return 0;
}

/* Read all from 'r->at_s' to 'end_s' and commit each period with the mark, which never
 * moves over jobs that were not read, but for a single second with more than fit. 1
 * where the caller of the pass ends it.
 */
static int read_to (struct reading *r, int64_t end_s, struct dn_err *err)
{
    struct dn_collecting *c = r->c;

    if (find_try (r, end_s, err) < 0 || commit (r, r->at_s, err) < 0)
        return -1;
    while (r->at_s < end_s) {
        if (read_period (r, end_s, err) < 0) {
            commit (r, 0, NULL); /* it was not the period */
            return -1;
        }
        if (commit (r, r->at_s < end_s ? r->at_s : 0, err) < 0)
            return -1;
        if (c->after && c->after (c->to, c) != 0)
            return commit (r, 0, err) < 0 ? -1 : 1;
    }
    return 0;
}

static struct reading reading_of (struct dn_collecting *c, const char *what)
{
    struct reading r = {.c = c, .name = mark_of (c, what, "")};

    r.try = mark_of (c, what, "-try");
    r.length = mark_of (c, what, "-length");
    return r;
}

/* Read once more what ended a day ago. Where nothing was collected before, the day that
 * was just read is the first.
 */
static int read_again (struct dn_collecting *c, struct dn_err *err)
{
    struct reading r = reading_of (c, "-again");
    int64_t end_s = c->now_s - DN_COLLECT_AGAIN_S;

    if (dn_store_until (c->store, r.name.text, &r.mark_s, err) < 0)
        return -1;
    if (r.mark_s == 0) {
        r.at_s = end_s;
        return move_to (&r, end_s, err) < 0 ? -1 : commit (&r, 0, err);
    }
    r.at_s = r.mark_s > c->first_s ? r.mark_s : c->first_s;
    r.mark_s = r.at_s;
    return end_s - r.at_s < DN_COLLECT_AGAIN_EVERY_S ? 0 : read_to (&r, end_s, err);
}

int dn_collect (struct dn_collecting *c, struct dn_err *err)
{
    struct reading r = reading_of (c, "");
    int rc;

    c->n_jobs = c->n_records = c->n_skipped = 0;
    if (find_begin (&r, err) < 0)
        return -1;
    rc = read_to (&r, c->now_s, err);
    if (rc < 0 || c->reached_s < c->now_s || !c->store || c->since_s != DN_UNSET)
        return rc;
    return read_again (c, err);
}
