/* kept.c - what the guard keeps from pass to pass: jobs, reservations, a file
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "guard/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/messages.h"
#include "host/view_files.h"
#include "round.h"

/* --- jobs ------------------------------------------------------------------------ */

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

static struct dn_guard_job *add_job (struct dn_guard_jobs *jobs, struct dn_err *err)
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
    entry = add_job (jobs, err);
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
        kept = add_job (jobs, NULL);
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

/* --- reservations ---------------------------------------------------------------- */

#define RESERVATIONS_MAX 4096

struct reading {
    struct dn_reservations new;
    const struct dn_reservations *old;
    int64_t now_s;
    struct dn_err *err;
};

static int64_t known_since (const struct reading *reading,
                            const struct dn_link_reservation *from,
                            const char *name)
{
    for (int64_t i = 0; i < reading->old->n; i++) {
        const struct dn_reserved *old = &reading->old->list[i];

        if (old->from == from->from && strcmp (old->name, name) == 0
            && strcmp (old->nodes, from->nodes) == 0)
            return old->known_s;
    }
    return from->changed_s;
}

static int take_reservation (void *to, const struct dn_link_reservation *from)
{
    struct reading *reading = to;
    struct dn_reservations *new = &reading->new;
    struct dn_reserved *reserved;
    const char *name = from->name ? from->name : "";

    if (!from->nodes || from->until <= reading->now_s)
        return 0;
    if (new->n == RESERVATIONS_MAX)
        return dn_err_set (
            reading->err, DN_E_LIMIT, dn_say_err_reservations, RESERVATIONS_MAX);
    if (dn_rows_grow (&new->list, new->n, sizeof (*new->list), reading->err) < 0)
        return -1;
    reserved = &new->list[new->n++];
    *reserved = (struct dn_reserved){.name = strdup (name),
                                     .nodes = strdup (from->nodes),
                                     .from = from->from,
                                     .known_s = known_since (reading, from, name)};
    return reserved->name && reserved->nodes
               ? 0
               : dn_refuse (reading->err, no_memory_for, "guard");
}

int dn_reservations_read (struct dn_reservations *reservations,
                          struct dn_link *link,
                          int64_t now_s,
                          struct dn_err *err)
{
    struct reading reading = {.old = reservations, .now_s = now_s, .err = err};

    if (dn_link_reservations (link, take_reservation, &reading, err) != 0) {
        dn_reservations_free (&reading.new);
        return -1;
    }
    dn_reservations_free (reservations);
    *reservations = reading.new;
    return 0;
}

/* Does the job run in that reservation? */
static bool is_own (const struct dn_link_job *job, const char *name)
{
    return job->reservation && dn_list_has (job->reservation, dn_span_of (name));
}

const struct dn_reserved *dn_reservations_first (
    const struct dn_reservations *reservations,
    const struct dn_link_job *job,
    int64_t until_s)
{
    const struct dn_reserved *first = NULL;

    for (int64_t i = 0; i < reservations->n; i++) {
        const struct dn_reserved *reserved = &reservations->list[i];

        if (reserved->known_s <= job->start && reserved->from < until_s
            && !is_own (job, reserved->name) && (!first || reserved->from < first->from)
            && dn_link_share_node (job->nodes, reserved->nodes))
            first = reserved;
    }
    return first;
}

void dn_reservations_free (struct dn_reservations *reservations)
{
    for (int64_t i = 0; i < reservations->n; i++) {
        free (reservations->list[i].name);
        free (reservations->list[i].nodes);
    }
    free (reservations->list);
    *reservations = (struct dn_reservations){.n = 0};
}

/* --- the file --------------------------------------------------------------------- */

/* NULL, where there is none, or with 'err'. */
static struct dn_guarded *read_file (const struct dn_daemon *d, struct dn_err *err)
{
    struct dn_view_path path = dn_view_path (d->site->state_dir, DN_GUARDED_FILE);
    struct dn_view_content content = {.guarded = NULL};

    dn_view_read (
        DN_VIEW_GUARDED, path.text, DN_VIEW_OURS, d->site->cluster, &content, err);
    return content.guarded;
}

int dn_heartbeat_begin (struct dn_guarded **guarded,
                        const struct dn_daemon *d,
                        struct dn_err *err)
{
    struct dn_err lost = {.code = DN_E_NONE};

    if (!*guarded)
        *guarded = read_file (d, &lost);
    if (lost.code != DN_E_NONE)
        dn_log (DN_LOG_ERROR, dn_say_guard_counts_lost, lost.text);
    if (!*guarded)
        *guarded = calloc (1, sizeof (**guarded));
    return *guarded ? 0 : dn_refuse (err, no_memory_for, "guard");
}

int dn_heartbeat_write (struct dn_guarded *guarded,
                        const struct dn_daemon *d,
                        int64_t time_s,
                        struct dn_err *err)
{
    dn_cleanup (dn_put_text_free) struct dn_put_text text = {.len = 0};

    snprintf (guarded->cluster, sizeof (guarded->cluster), "%s", d->site->cluster);
    guarded->time_s = time_s;
    guarded->interval_s = (int64_t) d->site->guard_interval_s;
    if (dn_guarded_write (guarded, dn_put_text_add, &text) != 0)
        return dn_refuse (err, no_memory_for, "guard");
    return dn_output_write (&text, d, DN_GUARDED_FILE, err) < 0 ? -1 : 0;
}

bool dn_heartbeat_is_alive (const struct dn_daemon *d)
{
    struct dn_guarded *guarded = read_file (d, NULL);
    bool alive = dn_guarded_is_alive (guarded, d->now_s);

    dn_guarded_free (guarded);
    return alive;
}
