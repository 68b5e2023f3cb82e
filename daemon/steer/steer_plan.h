/* steer_plan.h - whether an open job gets another GPU type
 *
 * In: a job with its record, the rules, and the plan of the queue (steer_queue.h). Out:
 * one verdict, and what to write. No clock, no Slurm.
 *
 * A pending job that has no start now on its type gets another one that has room now,
 * after all that is planned there, if a share of that type is kept, and if the job
 * is predicted to end there at less than DN_STEER_GAIN of the time at which it would
 * end on its own. One that has not started there after two passes gets its own type
 * again, and after one where something else than room keeps it. A job of which Slurm
 * chose the type gets the limit of that type when it runs. Whatever is not as dnnest
 * wrote it is a human's, and stays.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STEER_PLAN_H
#define DN_STEER_PLAN_H

#include "policy/rules.h"
#include "rewrite/recorded.h"
#include "steer/steer_queue.h"

#define DN_STEER_GAIN 0.9

struct dn_steer_case {
    const struct dn_recorded *recorded;
    const struct dn_rules *rules;
    int64_t now_s;
    int64_t interval_s;        /* between two passes */
    int64_t guard_interval_s;  /* between two of the guard */
    double costs[DN_OPEN_MAX]; /* of the types of "open"; NAN: unknown */
    bool rests;                /* it was given its own type again lately */
    bool leaves; /* dnnestd ends: a moved job that waits has its own type again */
};

enum dn_steer_verdict {
    DN_STEER_STAYS,
    DN_STEER_HANDS_OFF, /* it is a human's, or not dnnest's */
    DN_STEER_MOVE,
    DN_STEER_UNDO,
    DN_STEER_FIT
};

/* What a change writes. */
struct dn_steer_change {
    int from, to; /* entries of "open" */
    int64_t limit_s;
    int64_t cap_s;
    int pool; /* of a move, in the plan */
};

/* A pending job of the queue: is it to have its own type again, or may it be moved
 * (DN_STEER_MOVE), or neither?
 */
enum dn_steer_verdict dn_steer_pending (const struct dn_steer_case *c,
                                        const struct dn_steer_job *job,
                                        struct dn_steer_change *change);

/* May it be moved to that entry of "open"? If so, 'change' is filled, and the nodes are
 * at[1] of the queue for dn_steer_put (). 'longest_s' bounds its limit there;
 * DN_UNLIMITED.
 */
bool dn_steer_may_move (const struct dn_steer_case *c,
                        struct dn_steer_queue *queue,
                        const struct dn_steer_job *job,
                        int to,
                        int64_t longest_s,
                        struct dn_steer_change *change);

/* A running job on nodes of that type. */
enum dn_steer_verdict dn_steer_running (const struct dn_steer_case *c,
                                        const struct dn_link_job *job,
                                        const char *type,
                                        struct dn_steer_change *change);

#endif
