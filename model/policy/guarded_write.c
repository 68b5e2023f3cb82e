/* guarded_write.c - the heartbeat of the guard and its tallies of users, as a text
 *
 * The guard and the replay keep the tallies; slurmctld only reads them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/guarded.h"

#include <inttypes.h>
#include <string.h>

static int write_line (enum dn_guarded_line kind,
                       const void *row,
                       dn_put_f put,
                       void *to)
{
    return dn_fields_put (&dn_guarded_kinds[kind], row, put, to);
}

static int write_user (const struct dn_tally *tally, dn_put_f put, void *to)
{
    struct dn_guarded_user user = {.tally = *tally};
    struct dn_buf buf = dn_buf_on (user.jobs, sizeof (user.jobs));

    for (int i = 0; i < tally->n_jobs; i++)
        dn_buf_add (&buf,
                    "%s%" PRId64 "%s",
                    i > 0 ? "," : "",
                    tally->jobs[i],
                    tally->needed & (UINT32_C (1) << i) ? "+" : "");
    return write_line (DN_GUARDED_LINE_USER, &user, put, to);
}

int dn_guarded_write (const struct dn_guarded *guarded, dn_put_f put, void *to)
{
    const struct dn_guarded_tail tail = {guarded->n_tallies};
    struct dn_guarded head = *guarded;
    int rc;

    head.version = DN_GUARDED_VERSION;
    rc = write_line (DN_GUARDED_LINE_GUARD, &head, put, to);
    for (int64_t i = 0; i < guarded->n_tallies && rc == 0; i++)
        rc = write_user (&guarded->tallies[i], put, to);
    return rc ? rc : write_line (DN_GUARDED_LINE_END, &tail, put, to);
}

static void drop (struct dn_guarded *guarded, int64_t at)
{
    guarded->n_tallies--;
    memmove (&guarded->tallies[at],
             &guarded->tallies[at + 1],
             sizeof (*guarded->tallies) * (size_t) (guarded->n_tallies - at));
}

/* Remove the tally whose newest job is the oldest, which has the lowest id. */
static void drop_oldest (struct dn_guarded *guarded)
{
    int64_t oldest = 0;

    for (int64_t i = 1; i < guarded->n_tallies; i++)
        if (guarded->tallies[i].jobs[0] < guarded->tallies[oldest].jobs[0])
            oldest = i;
    drop (guarded, oldest);
}

/* An empty tally at its place, or NULL without memory. */
static struct dn_tally *add_tally (struct dn_guarded *guarded,
                                   int64_t user_id,
                                   dn_app_key app,
                                   struct dn_err *err)
{
    struct dn_tally *tally;
    int64_t at;

    if (guarded->n_tallies == DN_GUARDED_USERS_MAX)
        drop_oldest (guarded);
    else if (dn_rows_grow (&guarded->tallies, guarded->n_tallies, sizeof (*tally), err)
             < 0)
        return NULL;
    at = dn_guarded_place (guarded, user_id, app);
    tally = &guarded->tallies[at];
    memmove (tally + 1, tally, sizeof (*tally) * (size_t) (guarded->n_tallies++ - at));
    *tally = (struct dn_tally){.user_id = user_id, .app = app};
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

static void add_run (struct dn_tally *tally, const struct dn_guarded_run *run)
{
    int at = dn_tally_find (tally, run->job_id);
    bool is_new = at < 0;
    int64_t worst;

    if (is_new) {
        add_job (tally, run->job_id);
        at = 0;
    }
    if (run->needed) {
        tally->needed |= UINT32_C (1) << at;
        tally->debt_s += run->gpu_s;
    } else if (is_new) {
        tally->debt_s -= run->gpu_s;
    }
    if (tally->debt_s < 0)
        tally->debt_s = 0;
    worst = (int64_t) (1000 * dn_tally_share (tally));
    if (tally->debt_s == 0)
        tally->worst = 0;
    else if (worst > tally->worst)
        tally->worst = worst;
}

/* Note the run in one tally; 'make' it where there is none. */
static int note_in (struct dn_guarded *guarded,
                    const struct dn_guarded_run *run,
                    dn_app_key app,
                    bool make,
                    struct dn_err *err)
{
    struct dn_tally *tally = dn_guarded_find (guarded, run->user_id, app);

    if (!tally && !make)
        return 0;
    if (!tally)
        tally = add_tally (guarded, run->user_id, app, err);
    if (!tally)
        return -1;
    add_run (tally, run);
    if (app != 0 && tally->debt_s == 0)
        drop (guarded, tally - guarded->tallies);
    return 0;
}

int dn_guarded_note (struct dn_guarded *guarded,
                     const struct dn_guarded_run *run,
                     struct dn_err *err)
{
    if (note_in (guarded, run, 0, run->lowered, err) < 0)
        return -1;
    return run->app != 0 ? note_in (guarded, run, run->app, run->needed, err) : 0;
}
