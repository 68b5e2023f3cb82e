/* harm.h - jobs that ended worse than their request would have let them
 *
 * In: finished jobs in any order; if dn_harm_again (), all of them once more. Out: for
 * each kind of harm to how many jobs it could happen, to how many it did, of how many
 * that is not known, and the jobs. Pure. Memory is bounded: DN_HARM_JOBS_MAX jobs that
 * may have been harmed, DN_HARM_APPS_MAX applications.
 *
 * Only jobs that dnnest changed can be harmed. The kinds:
 *   limit: killed at a limit below the user's own (outcome limit_ours).
 *   memory: out of memory, after dnnest had lowered the host memory, the GPUs, or moved
 *     the job to another GPU type. Slurm knows host memory only; a job that was out of
 *     GPU memory is known by its new start as requested ("rescued"), else it is one
 *     that failed.
 *   slower: of a job that was moved, and completed or was stopped by a limit: it ran
 *     longer than the longest run of its application on the requested type, with as
 *     many GPUs and as much work, times the slowdown that was said. Of n runs and one
 *     more of the same law the last is the longest with probability 1/(n+1); where
 *     that is above DN_HARM_CHANCE it must also be longer by the factor that limits
 *     have for the error of that slowdown (DN_OPEN_MARGIN). Not known with fewer than
 *     DN_HARM_RUNS such runs, nor of a run that was stopped before that time.
 *   waited: of a job that was moved: a job of the same cluster and QOS that became
 *     eligible later, with at least its GPUs, CPUs, nodes and limit as requested, got
 *     the requested type DN_HARM_WAIT_S before the moved job started. It could have had
 *     these GPUs; fair share and reservations are not looked at. Or the log of idle
 * GPUs has room for it on that type, for DN_ROOM_LASTS_S, DN_HARM_WAIT_S before it
 * started (room.h). Not known if no job of its size got that type while it waited, and
 * the log has not all of that time. failed: with an error, where at least DN_HARM_RUNS
 * runs of its application that were not changed completed and none failed. If failures
 * fell on runs by chance, all k of them would be among the c changed ones of n with
 * probability c/n (c-1)/(n-1) ... (c-k+1)/(n-k+1) (hypergeometric; Fisher 1935): harmed
 * where that is at most DN_HARM_CHANCE, else perhaps, which is counted as not known.
 * Not known with fewer runs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HARM_H
#define DN_HARM_H

#include "jobs/finished.h"
#include "jobs/worth/room.h"

#define DN_HARM_RUNS   2
#define DN_HARM_CHANCE 0.05

/* Waits below this are as good as none. */
#define DN_HARM_WAIT_S 300

/* Jobs that may have been harmed, 500 bytes each; of further ones it is not known. */
#define DN_HARM_JOBS_MAX 100000

/* Applications, twice for those that were moved, 48 bytes each; of further ones nothing
 * is known. */
#define DN_HARM_APPS_MAX 250000

/* clang-format off */
#define DN_HARMS(ROW)                                                                  \
    ROW (HARM_LIMIT, "limit")                                                          \
    ROW (HARM_MEMORY, "memory")                                                        \
    ROW (HARM_SLOWER, "slower")                                                        \
    ROW (HARM_WAITED, "waited")                                                        \
    ROW (HARM_FAILED, "failed")
DN_ENUM (dn_harm_kind, HARMS);
/* clang-format on */
extern const struct dn_names dn_harm_names;

struct dn_harm_sum {
    int64_t looked; /* jobs that were looked at */
    int64_t harmed; /* of these */
    int64_t unknown;
};

/* A job that may have been harmed. */
struct dn_harm_job {
    uint64_t id; /* of cluster and raw_id: the starts of a job are one */
    char job[DN_NAME_MAX];
    char user[DN_NAME_MAX];
    char app[DN_NAME_MAX];
    char asked_gpu[DN_NAME_MAX];
    char gpu[DN_NAME_MAX];
    unsigned harm;    /* bits of enum dn_harm_kind */
    bool perhaps;     /* not harmed, but failed where others did not */
    unsigned waiting; /* bits of kinds to be judged at the end */
    int64_t end_s;
    int64_t eligible_s;
    int64_t start_s;
    int64_t limit_s; /* as it had it, and as requested */
    int64_t asked_limit_s;
    int64_t gpus; /* requested, as the next two */
    int64_t cpus;
    int64_t nodes;
    double mem_gb; /* of a node, as dnnest set it; NaN as requested */
    bool rescued;
    bool logged; /* it is of the cluster of the log of idle GPUs */
    bool exact;  /* it completed, else it would have run longer */
    double ran_s;
    double work; /* 1: unknown */
    double said_slow;
    double allowed_s; /* what the requested type and the said slowdown allow */
    double late_s;    /* of its start, at least */
    int64_t others;   /* runs of its application that completed */
    bool idle;        /* the requested type was, that long before its start */
    bool served;      /* others got the requested type while it waited */
    uint64_t queue;
    uint64_t app_key;
    uint64_t type_key;
};

struct dn_harm {
    const struct dn_room *room; /* the log of idle GPUs; NULL: none. Borrowed, and */
    const char *cluster;        /* of which cluster it is, "" any */
    struct dn_harm_sum of[DN_N_HARMS];
    int64_t described; /* jobs with a record of dnnest */
    int64_t changed;
    int64_t moved;
    /* After dn_harm_end () the harmed ones are first, then those that perhaps were,
     * each job once, by their ends. */
    struct dn_harm_job *jobs;
    int64_t n_jobs;
    int64_t n_harmed;
    int64_t n_perhaps;
    int64_t n_waiting;        /* of the second reading */
    struct dn_harm_app *apps; /* hash table */
    int64_t n_apps;
    int64_t most_wait_s;
};

/* NULL without memory. Freed with dn_harm_free (). */
struct dn_harm *dn_harm_new (void);
void dn_harm_free (struct dn_harm *harm);

/* Add a job. -1 with DN_E_NOMEM. */
int dn_harm_add (struct dn_harm *harm,
                 const struct dn_finished *job,
                 struct dn_err *err);

/* After the last one: must all jobs be read once more? Then show each. */
bool dn_harm_again (struct dn_harm *harm);
void dn_harm_show (struct dn_harm *harm, const struct dn_finished *job);

/* Judge what can only be judged now. */
void dn_harm_end (struct dn_harm *harm);

#endif
