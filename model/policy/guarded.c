/* guarded.c - the heartbeat of the guard and its tallies of users, as a text
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/guarded.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/messages.h"

/* Seconds since 1970 up to the year 5138; jobs as Slurm counts them. */
#define TIME_MAX     INT64_C (100000000000)
#define INTERVAL_MAX 86400

/* Of the guard: intervals that a heartbeat lasts. */
#define ALIVE_INTERVALS 3

/* Jobs that needed more, from which on their share counts. */
#define NEEDED_MIN 3

/* The lines, with what is not in struct dn_guarded as it is written. */
struct head {
    int64_t version;
    int64_t time_s;
    int64_t interval_s;
};
struct user {
    int64_t id;
    char jobs[DN_GUARDED_JOBS * 12]; /* "14+,13,12": '+' has needed more */
};
struct tail {
    int64_t users;
};

static const struct dn_member head_fields[] = {
    DN_COUNT ("Version", struct head, version, DN_GUARDED_VERSION, DN_GUARDED_VERSION),
    DN_COUNT ("Time", struct head, time_s, 0, TIME_MAX),
    DN_COUNT ("Interval", struct head, interval_s, 1, INTERVAL_MAX),
};
static const struct dn_member user_fields[] = {
    DN_COUNT ("Id", struct user, id, 0, UINT32_MAX),
    DN_TEXT ("Jobs", struct user, jobs, true),
};
static const struct dn_member tail_fields[] = {
    DN_COUNT ("Users", struct tail, users, 0, DN_GUARDED_USERS_MAX),
};

#define LINE(word, fields)                                                             \
    {                                                                                  \
        word, fields, (int) DN_N_ELEMENTS (fields)                                     \
    }

static const struct dn_line_kind kinds[] = {
    [DN_GUARDED_LINE_GUARD] = LINE ("Guard", head_fields),
    [DN_GUARDED_LINE_USER] = LINE ("User", user_fields),
    [DN_GUARDED_LINE_END] = LINE ("End", tail_fields),
};

const struct dn_line_kind *dn_guarded_line (enum dn_guarded_line line)
{
    return &kinds[line];
}

static int read_head (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_guarded *guarded = to;
    struct head head;

    if (dn_fields_version (line, DN_GUARDED_VERSION, err) < 0
        || dn_fields_read (&kinds[DN_GUARDED_LINE_GUARD], line, &head, err) < 0)
        return -1;
    guarded->time_s = head.time_s;
    guarded->interval_s = head.interval_s;
    return 0;
}

/* Index of a job, or -1. */
static int find_job (const struct dn_tally *tally, int64_t job_id)
{
    for (int i = 0; i < tally->n_jobs; i++)
        if (tally->jobs[i] == job_id)
            return i;
    return -1;
}

/* "14+,13,12" */
static int read_jobs (struct dn_span text, struct dn_tally *tally, struct dn_err *err)
{
    while (text.text) {
        struct dn_span item = dn_span_cut (&text, ",");
        bool needed = item.len > 0 && item.text[item.len - 1] == '+';
        int64_t job_id;

        item.len -= needed ? 1 : 0;
        if (tally->n_jobs == DN_GUARDED_JOBS)
            return dn_err_set (err, DN_E_LIMIT, dn_say_err_jobs, DN_GUARDED_JOBS);
        if (dn_int_read (item, "Jobs", 1, UINT32_MAX, &job_id, err) < 0)
            return -1;
        if (find_job (tally, job_id) >= 0)
            return dn_err_set (err, DN_E_SYNTAX, dn_say_err_job_twice, job_id);
        if (needed)
            tally->needed |= UINT32_C (1) << tally->n_jobs;
        tally->jobs[tally->n_jobs++] = job_id;
    }
    return 0;
}

static int read_user (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_guarded *guarded = to;
    struct dn_tally tally = {.n_jobs = 0};
    struct user user;

    if (dn_fields_read (&kinds[DN_GUARDED_LINE_USER], line, &user, err) < 0)
        return -1;
    tally.user_id = user.id;
    if (read_jobs (dn_span_of (user.jobs), &tally, err) < 0)
        return -1;
    if (guarded->n_tallies == DN_GUARDED_USERS_MAX)
        return dn_err_set (err, DN_E_LIMIT, dn_say_err_users, DN_GUARDED_USERS_MAX);
    if (guarded->n_tallies > 0
        && guarded->tallies[guarded->n_tallies - 1].user_id >= user.id)
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_user_order, user.id);
    if (dn_rows_grow (&guarded->tallies, guarded->n_tallies, sizeof (tally), err) < 0)
        return -1;
    guarded->tallies[guarded->n_tallies++] = tally;
    return 0;
}

static int read_tail (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    const struct dn_guarded *guarded = to;
    struct tail tail;

    if (dn_fields_read (&kinds[DN_GUARDED_LINE_END], line, &tail, err) < 0)
        return -1;
    if (tail.users != guarded->n_tallies)
        return dn_err_set (
            err, DN_E_SYNTAX, dn_say_err_user_count, tail.users, guarded->n_tallies);
    return 0;
}

static int (*const readers[]) (void *, const struct dn_keyline *, struct dn_err *) = {
    [DN_GUARDED_LINE_GUARD] = read_head,
    [DN_GUARDED_LINE_USER] = read_user,
    [DN_GUARDED_LINE_END] = read_tail,
};

static const struct dn_lines lines = {.kinds = kinds,
                                      .n_kinds = (int) DN_N_ELEMENTS (readers),
                                      .expected = dn_say_err_guard_lines,
                                      .readers = readers,
                                      .max = DN_STATE_FILE_MAX};

struct dn_guarded *dn_guarded_read (struct dn_span text,
                                    const char *file,
                                    struct dn_err *err)
{
    struct dn_guarded *guarded = calloc (1, sizeof (*guarded));
    struct dn_err local;

    if (!guarded) {
        dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, file);
        return NULL;
    }
    if (dn_lines_read (&lines, text, file, guarded, err ? err : &local) == 0)
        return guarded;
    dn_guarded_free (guarded);
    return NULL;
}

static int write_line (enum dn_guarded_line kind,
                       const void *row,
                       dn_guarded_put_f put,
                       void *to)
{
    char text[DN_FIELDS_LINE_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_fields_write (&kinds[kind], row, &buf);
    return put (to, text, buf.len);
}

static int write_user (const struct dn_tally *tally, dn_guarded_put_f put, void *to)
{
    struct user user = {.id = tally->user_id};
    struct dn_buf buf = dn_buf_on (user.jobs, sizeof (user.jobs));

    for (int i = 0; i < tally->n_jobs; i++)
        dn_buf_add (&buf,
                    "%s%" PRId64 "%s",
                    i > 0 ? "," : "",
                    tally->jobs[i],
                    tally->needed & (UINT32_C (1) << i) ? "+" : "");
    return write_line (DN_GUARDED_LINE_USER, &user, put, to);
}

int dn_guarded_write (const struct dn_guarded *guarded, dn_guarded_put_f put, void *to)
{
    const struct head head = {DN_GUARDED_VERSION, guarded->time_s, guarded->interval_s};
    const struct tail tail = {guarded->n_tallies};
    int rc = write_line (DN_GUARDED_LINE_GUARD, &head, put, to);

    for (int64_t i = 0; i < guarded->n_tallies && rc == 0; i++)
        rc = write_user (&guarded->tallies[i], put, to);
    return rc ? rc : write_line (DN_GUARDED_LINE_END, &tail, put, to);
}

void dn_guarded_free (struct dn_guarded *guarded)
{
    if (!guarded)
        return;
    free (guarded->tallies);
    free (guarded);
}

/* Index of the first tally of this user or a later one. */
static int64_t find_place (const struct dn_guarded *guarded, int64_t user_id)
{
    int64_t low = 0;
    int64_t high = guarded->n_tallies;

    while (low < high) {
        int64_t mid = low + (high - low) / 2;

        if (guarded->tallies[mid].user_id < user_id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct dn_tally *dn_guarded_find (const struct dn_guarded *guarded, int64_t user_id)
{
    int64_t at = find_place (guarded, user_id);

    return at < guarded->n_tallies && guarded->tallies[at].user_id == user_id
               ? &guarded->tallies[at]
               : NULL;
}

/* Remove the tally whose newest job is the oldest, which has the lowest id. */
static void drop_oldest (struct dn_guarded *guarded)
{
    int64_t oldest = 0;

    for (int64_t i = 1; i < guarded->n_tallies; i++)
        if (guarded->tallies[i].jobs[0] < guarded->tallies[oldest].jobs[0])
            oldest = i;
    guarded->n_tallies--;
    memmove (&guarded->tallies[oldest],
             &guarded->tallies[oldest + 1],
             sizeof (*guarded->tallies) * (size_t) (guarded->n_tallies - oldest));
}

/* An empty tally at its place, or NULL without memory. */
static struct dn_tally *add_user (struct dn_guarded *guarded,
                                  int64_t user_id,
                                  struct dn_err *err)
{
    struct dn_tally *tally;
    int64_t at;

    if (guarded->n_tallies == DN_GUARDED_USERS_MAX)
        drop_oldest (guarded);
    else if (dn_rows_grow (&guarded->tallies, guarded->n_tallies, sizeof (*tally), err)
             < 0)
        return NULL;
    at = find_place (guarded, user_id);
    tally = &guarded->tallies[at];
    memmove (tally + 1, tally, sizeof (*tally) * (size_t) (guarded->n_tallies++ - at));
    *tally = (struct dn_tally){.user_id = user_id};
    return tally;
}

/* Put a job in front of the others, of which the oldest may be dropped. */
static void add_job (struct dn_tally *tally, int64_t job_id)
{
    if (tally->n_jobs < DN_GUARDED_JOBS)
        tally->n_jobs++;
    memmove (&tally->jobs[1],
             &tally->jobs[0],
             sizeof (tally->jobs[0]) * (size_t) (tally->n_jobs - 1));
    tally->jobs[0] = job_id;
    tally->needed = (tally->needed << 1) & ((UINT32_C (1) << DN_GUARDED_JOBS) - 1);
}

int dn_guarded_note (struct dn_guarded *guarded,
                     int64_t user_id,
                     int64_t job_id,
                     bool needed,
                     struct dn_err *err)
{
    struct dn_tally *tally = dn_guarded_find (guarded, user_id);
    int at;

    if (!tally)
        tally = add_user (guarded, user_id, err);
    if (!tally)
        return -1;
    at = find_job (tally, job_id);
    if (at < 0) {
        add_job (tally, job_id);
        at = 0;
    }
    if (needed)
        tally->needed |= UINT32_C (1) << at;
    return 0;
}

bool dn_guarded_is_alive (const struct dn_guarded *guarded, int64_t now_s)
{
    return guarded && now_s >= guarded->time_s
           && now_s - guarded->time_s <= ALIVE_INTERVALS * guarded->interval_s;
}

bool dn_guarded_trusts (const struct dn_guarded *guarded, int64_t user_id, double share)
{
    const struct dn_tally *tally = guarded ? dn_guarded_find (guarded, user_id) : NULL;
    int n = tally ? __builtin_popcount (tally->needed) : 0;

    return guarded && (n < NEEDED_MIN || (double) n < share * (double) tally->n_jobs);
}
