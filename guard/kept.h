/* kept.h - what the guard keeps from pass to pass: jobs, reservations, a file
 *
 * Jobs: one entry of 160 bytes per job with a record. Jobs that are no longer in the
 * table are forgotten; what must last is in the record itself.
 *
 * Reservations: a job whose own limit would have crossed a reservation that existed
 * when it started could start only because its limit had been lowered: it ends before
 * the reservation. One that was made later shortens no job. Slurm does not tell when a
 * reservation was made, but when its table last changed, which is never earlier.
 *
 * The file 'guard' of StateDir says that the guard is alive, and has its tallies.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GUARD_KEPT_H
#define DN_GUARD_KEPT_H

#include "guard/guard_plan.h"
#include "policy/guarded.h"
#include "task.h"

struct dn_guard_job {
    int64_t raw_id;
    int64_t start;  /* of the present run */
    uint64_t hash;  /* of the admin comment, which shows that it has changed */
    int64_t base_s; /* the limit before what a human has added while it runs */
    struct dn_promise promise;
    bool bad;       /* the record is not valid */
    bool lost;      /* it was: 'promise' is what it said */
    bool guarded;   /* counted */
    bool hands_off; /* permanently */
    /* Of the present run. */
    bool noted;                /* in the tally of its user */
    bool own;                  /* told that it has what its user asked for */
    bool warned;               /* its user, of a reservation */
    bool refused;              /* told that Slurm refused */
    enum dn_guard_holder held; /* told */
};

struct dn_guard_jobs {
    struct dn_guard_job *last; /* of the last pass, sorted by id; owned */
    int64_t n_last;
    struct dn_guard_job *now; /* of this pass, in the order of the table; owned */
    int64_t n_now;
};

/* The entry of a job with a record in this pass, or which had one in the last, its
 * promise read again if the admin comment has changed; it is valid until the next call.
 * NULL where the comment has no record, with 'err' (DN_E_NOMEM) without memory.
 */
struct dn_guard_job *dn_guard_jobs_take (struct dn_guard_jobs *jobs,
                                         const struct dn_link_job *job,
                                         struct dn_err *err);

/* End the pass: entries of this pass become those of the last. */
void dn_guard_jobs_turn (struct dn_guard_jobs *jobs);

/* End a pass that was not complete: entries that it has not reached stay. */
void dn_guard_jobs_keep (struct dn_guard_jobs *jobs);

void dn_guard_jobs_free (struct dn_guard_jobs *jobs);

struct dn_reserved {
    char *name;
    char *nodes; /* a hostlist */
    int64_t from;
    int64_t known_s; /* made then or before, seconds since 1970 */
};

/* Zeroed: none has been read. */
struct dn_reservations {
    struct dn_reserved *list; /* owned, as its texts */
    int64_t n;
};

/* Read those that have not ended at 'now_s'. One with another name, begin or nodes is
 * another. -1 with 'err'; then the old ones stay.
 */
int dn_reservations_read (struct dn_reservations *reservations,
                          struct dn_link *link,
                          int64_t now_s,
                          struct dn_err *err);

/* The first one of a node of the job for others that was known when it started and
 * begins before 'until_s'; NULL: none.
 */
const struct dn_reserved *dn_reservations_first (
    const struct dn_reservations *reservations,
    const struct dn_link_job *job,
    int64_t until_s);

void dn_reservations_free (struct dn_reservations *reservations);

/* Read once what an earlier process has left; one that is absent or not valid begins
 * anew. '*guarded' is freed with dn_guarded_free (). -1 with 'err' without memory.
 */
int dn_heartbeat_begin (struct dn_guarded **guarded,
                        const struct dn_daemon *d,
                        struct dn_err *err);

/* Replace the file after a complete pass at 'time_s', or with 0 before the guard
 * leaves; in a dry run only where an output is named. -1 with 'err'.
 */
int dn_heartbeat_write (struct dn_guarded *guarded,
                        const struct dn_daemon *d,
                        int64_t time_s,
                        struct dn_err *err);

/* Is a guard of the cluster alive, by the file? If it cannot be read, no. */
bool dn_heartbeat_is_alive (const struct dn_daemon *d);

#endif
