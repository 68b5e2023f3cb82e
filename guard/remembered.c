/* remembered.c - what the guard remembers of the jobs in the table, from pass to pass
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "guard/remembered.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/messages.h"

#define BEGINNING "{\"dnnest\":"

static int by_id (const void *a, const void *b)
{
    int64_t x = ((const struct dn_guard_job *) a)->raw_id;
    int64_t y = ((const struct dn_guard_job *) b)->raw_id;

    return (x > y) - (x < y);
}

static const struct dn_guard_job *find_last (const struct dn_guard_jobs *jobs,
                                             int64_t raw_id)
{
    struct dn_guard_job key = {.raw_id = raw_id};

    if (jobs->n_last == 0)
        return NULL;
    return bsearch (&key, jobs->last, (size_t) jobs->n_last, sizeof (key), by_id);
}

static struct dn_guard_job *add (struct dn_guard_jobs *jobs, struct dn_err *err)
{
    if (dn_rows_grow (&jobs->now, jobs->n_now, sizeof (*jobs->now), err) < 0)
        return NULL;
    return &jobs->now[jobs->n_now++];
}

static void read_promise (const struct dn_link_job *job,
                          const char *comment,
                          struct dn_guard_job *entry)
{
    struct dn_recorded recorded;
    int rc = dn_record_read (comment, &recorded, NULL);

    /* What somebody has removed or damaged still holds. */
    if (rc <= 0 && (entry->lost || entry->promise.set_s > 0)) {
        entry->lost = true;
        return;
    }
    entry->lost = false;
    entry->bad = rc < 0;
    entry->promise = dn_promise_of (&recorded);
    if (recorded.app[0] != '\0')
        entry->promise.app = dn_app_key_of_user (job->user_id, recorded.app);
    if (entry->bad)
        entry->promise.set_s = DN_UNSET;
}

/* Messages about a job are written again when it is started again. One that is back at
 * the limit of its submission has no longer that of a human.
 */
static void begin_run (struct dn_guard_job *entry, const struct dn_link_job *job)
{
    if (job->restarts > 0 && job->limit_s == entry->promise.set_s)
        entry->hands_off = false;
    entry->start = job->start;
    entry->noted = entry->own = entry->warned = false;
    entry->refused = false;
    entry->held = DN_HOLDER_NONE;
}

struct dn_guard_job *dn_guard_jobs_take (struct dn_guard_jobs *jobs,
                                         const struct dn_link_job *job,
                                         struct dn_err *err)
{
    const struct dn_guard_job *last = find_last (jobs, job->raw_id);
    const char *comment = job->admin_comment ? job->admin_comment : "";
    struct dn_guard_job *entry;
    uint64_t hash;

    if (!last && !strstr (comment, BEGINNING))
        return NULL;
    entry = add (jobs, err);
    if (!entry)
        return NULL;
    *entry = last ? *last : (struct dn_guard_job){.raw_id = job->raw_id};
    hash = dn_hash_text (DN_HASH_SEED, comment);
    if (!last || last->hash != hash)
        read_promise (job, comment, entry);
    entry->hash = hash;
    if (entry->start != job->start)
        begin_run (entry, job);
    return entry;
}

void dn_guard_jobs_turn (struct dn_guard_jobs *jobs)
{
    free (jobs->last);
    jobs->last = jobs->now;
    jobs->n_last = jobs->n_now;
    jobs->now = NULL;
    jobs->n_now = 0;
    if (jobs->last && jobs->n_last > 1)
        qsort (jobs->last, (size_t) jobs->n_last, sizeof (*jobs->last), by_id);
}

void dn_guard_jobs_keep (struct dn_guard_jobs *jobs)
{
    int64_t n = jobs->n_now;

    if (n > 1)
        qsort (jobs->now, (size_t) n, sizeof (*jobs->now), by_id);
    for (int64_t i = 0; i < jobs->n_last; i++) {
        const struct dn_guard_job *old = &jobs->last[i];
        struct dn_guard_job *kept;

        if (n > 0 && bsearch (old, jobs->now, (size_t) n, sizeof (*jobs->now), by_id))
            continue;
        kept = add (jobs, NULL);
        if (!kept)
            break;
        *kept = *old;
    }
    dn_guard_jobs_turn (jobs);
}

void dn_guard_jobs_free (struct dn_guard_jobs *jobs)
{
    free (jobs->last);
    free (jobs->now);
    *jobs = (struct dn_guard_jobs){0};
}
