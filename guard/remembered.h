/* remembered.h - what the guard remembers of the jobs in the table, from pass to pass
 *
 * One entry of 160 bytes per job with a record. Jobs that are no longer in the table
 * are forgotten; what must last is in the record itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GUARD_REMEMBERED_H
#define DN_GUARD_REMEMBERED_H

#include "guard/guard_plan.h"
#include "slurm/slurm_link.h"

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

#endif
