/* guarded.c - the heartbeat of the guard and its tallies of users, read from a text
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
#define ALIVE_INTERVALS 4

/* GPU seconds: a thousand GPUs for a century. */
#define DEBT_MAX INT64_C (4000000000000)

/* Jobs that needed more, from which on their share counts. */
#define NEEDED_MIN 3

/* Nor is anyone of whose last jobs a smaller share did. */
#define TRUST_SHARE 0.25

#define HEAD struct dn_guarded
#define USER struct dn_guarded_user

static const struct dn_member head_fields[] = {
    DN_COUNT ("Version", HEAD, version, DN_GUARDED_VERSION, DN_GUARDED_VERSION),
    DN_TEXT ("Cluster", HEAD, cluster, false),
    DN_COUNT ("Time", HEAD, time_s, 0, TIME_MAX),
    DN_COUNT ("Interval", HEAD, interval_s, 1, INTERVAL_MAX),
};
static const struct dn_member user_fields[] = {
    DN_COUNT ("Id", USER, tally.user_id, 0, UINT32_MAX),
    DN_KEY ("App", USER, tally.app, false),
    DN_TEXT ("Jobs", USER, jobs, true),
    DN_COUNT_OR ("Debt", USER, tally.debt_s, 1, DEBT_MAX, 0),
    DN_COUNT_OR ("Worst", USER, tally.worst, 1, 1000, 0),
};
static const struct dn_member tail_fields[] = {
    DN_COUNT ("Users", struct dn_guarded_tail, users, 0, DN_GUARDED_USERS_MAX),
};

const struct dn_line_kind dn_guarded_kinds[] = {
    [DN_GUARDED_LINE_GUARD] = DN_LINE ("Guard", head_fields),
    [DN_GUARDED_LINE_USER] = DN_LINE ("User", user_fields),
    [DN_GUARDED_LINE_END] = DN_LINE ("End", tail_fields),
};

static int read_head (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    if (dn_fields_version (line, DN_GUARDED_VERSION, err) < 0)
        return -1;
    return dn_fields_read (&dn_guarded_kinds[DN_GUARDED_LINE_GUARD], line, to, err);
}

int dn_tally_find (const struct dn_tally *tally, int64_t job_id)
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
            return dn_refuse (err, jobs, DN_GUARDED_JOBS);
        if (dn_int_read (item, "Jobs", 1, UINT32_MAX, &job_id, err) < 0)
            return -1;
        if (dn_tally_find (tally, job_id) >= 0)
            return dn_refuse (err, job_twice, job_id);
        if (needed)
            tally->needed |= UINT32_C (1) << tally->n_jobs;
        tally->jobs[tally->n_jobs++] = job_id;
    }
    return 0;
}

static int read_user (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_guarded *guarded = to;
    struct dn_guarded_user user = {.tally = {.n_jobs = 0}};
    struct dn_tally *tally = &user.tally;

    if (dn_fields_read (&dn_guarded_kinds[DN_GUARDED_LINE_USER], line, &user, err) < 0
        || read_jobs (dn_span_of (user.jobs), tally, err) < 0)
        return -1;
    if (guarded->n_tallies == DN_GUARDED_USERS_MAX)
        return dn_refuse (err, users, DN_GUARDED_USERS_MAX);
    if (dn_guarded_place (guarded, tally->user_id, tally->app) < guarded->n_tallies)
        return dn_refuse (err, user_order, tally->user_id);
    if (dn_rows_grow (&guarded->tallies, guarded->n_tallies, sizeof (*tally), err) < 0)
        return -1;
    guarded->tallies[guarded->n_tallies++] = *tally;
    return 0;
}

static int read_tail (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    const struct dn_guarded *guarded = to;
    struct dn_guarded_tail tail;

    if (dn_fields_read (&dn_guarded_kinds[DN_GUARDED_LINE_END], line, &tail, err) < 0)
        return -1;
    if (tail.users != guarded->n_tallies)
        return dn_refuse (err, user_count, tail.users, guarded->n_tallies);
    return 0;
}

static int (*const readers[]) (void *, const struct dn_keyline *, struct dn_err *) = {
    [DN_GUARDED_LINE_GUARD] = read_head,
    [DN_GUARDED_LINE_USER] = read_user,
    [DN_GUARDED_LINE_END] = read_tail,
};

static const struct dn_lines lines = {.kinds = dn_guarded_kinds,
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

    if (!guarded)
        return DN_NULL (dn_refuse (err, no_memory_for, file));
    if (dn_lines_read (&lines, text, file, guarded, err ? err : &local) == 0)
        return guarded;
    dn_guarded_free (guarded);
    return NULL;
}

void dn_guarded_free (struct dn_guarded *guarded)
{
    if (!guarded)
        return;
    free (guarded->tallies);
    free (guarded);
}

static bool is_before (const struct dn_tally *tally, int64_t user_id, dn_app_key app)
{
    return tally->user_id != user_id ? tally->user_id < user_id : tally->app < app;
}

int64_t dn_guarded_place (const struct dn_guarded *guarded,
                          int64_t user_id,
                          dn_app_key app)
{
    int64_t low = 0;
    int64_t high = guarded->n_tallies;

    while (low < high) {
        int64_t mid = low + (high - low) / 2;

        if (is_before (&guarded->tallies[mid], user_id, app))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct dn_tally *dn_guarded_find (const struct dn_guarded *guarded,
                                  int64_t user_id,
                                  dn_app_key app)
{
    int64_t at = dn_guarded_place (guarded, user_id, app);
    struct dn_tally *tally = &guarded->tallies[at];

    return at < guarded->n_tallies && tally->user_id == user_id && tally->app == app
               ? tally
               : NULL;
}

int64_t dn_guarded_lead (int64_t interval_s)
{
    return 7 * interval_s + 30;
}

int64_t dn_signal_lead (int64_t signal_s)
{
    return signal_s > 0 ? signal_s + 60 : 0;
}

/* Processes know slurmctld's clock to a second or so, and a pass may end between the
 * look at it and that at the file.
 */
bool dn_guarded_is_alive (const struct dn_guarded *guarded, int64_t now_s)
{
    return guarded && guarded->time_s - now_s <= guarded->interval_s
           && now_s - guarded->time_s <= ALIVE_INTERVALS * guarded->interval_s;
}

double dn_tally_share (const struct dn_tally *tally)
{
    int n = __builtin_popcount (tally->needed);

    return n < NEEDED_MIN ? -1 : (double) n / (double) tally->n_jobs;
}

bool dn_guarded_trusts (const struct dn_guarded *guarded, int64_t user_id)
{
    const struct dn_tally *tally =
        guarded ? dn_guarded_find (guarded, user_id, 0) : NULL;

    return !tally
           || (dn_tally_share (tally) < TRUST_SHARE
               && (tally->debt_s == 0 || tally->worst == 0
                   || tally->worst < 1000 * TRUST_SHARE));
}

bool dn_guarded_earned (const struct dn_guarded *guarded,
                        int64_t user_id,
                        const char *app)
{
    if (!guarded || guarded->n_tallies == 0 || app[0] == '\0')
        return true;
    return !dn_guarded_find (guarded, user_id, dn_app_key_of_user (user_id, app));
}
