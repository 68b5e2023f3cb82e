/* lookback.h - what past jobs requested and used, and what dnnest would have changed
 *
 * In: the jobs of past_jobs.h, nodes. Out: sums of what they had and used; what today's
 * rules decide for each from the runs of its application that had ended before, all
 * other jobs being as they were (jobs/replay/replay.h); and both queues, simulated.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LOOKBACK_H
#define DN_LOOKBACK_H

#include "host/load.h"
#include "jobs/worth/sample.h"
#include "jobs/worth/sums.h"
#include "lookback/past_jobs.h"
#include "output/grid.h"
#include "output/show.h"
#include "replay/replay_queue.h"

/* Owners that are named as those who lose, or gain, most. */
#define DN_LOOKBACK_OWNERS 3

/* Simulated jobs times nodes: with a long queue 1e7 of them take a minute; the last
 * jobs are simulated.
 */
#define DN_LOOKBACK_WORK_MAX INT64_C (60000000)

/* Hours while the jobs ran; those that are known of some jobs stand beside what these
 * jobs had.
 */
struct dn_lookback_hours {
    double gpu_requested; /* GPUs times time limits, of jobs with one, */
    double gpu_limited;   /* and while these ran */
    double gpu;
    double gpu_measured; /* of jobs whose utilisation is known */
    double gpu_busy;
    double gpu_at_limit; /* of jobs that ended at their limit */
    double cpu;
    double cpu_measured;
    double cpu_busy;
    double memory_measured; /* GiB hours of host memory */
    double memory_used;     /* at their peak */
};

struct dn_lookback_owner {
    int64_t user;
    int64_t jobs;
    double before_s; /* mean time from submission to end */
    double after_s;
};

struct dn_lookback_owners {
    struct dn_lookback_owner list[DN_LOOKBACK_OWNERS];
    int n;
};

struct dn_lookback {
    struct dn_past_jobs jobs;
    int64_t first_s; /* ends of the first and the last job */
    int64_t last_s;
    int64_t jobs_n;   /* each once */
    int64_t at_limit; /* jobs */
    int64_t repeats;  /* jobs of whose application a run had ended */
    struct dn_lookback_hours hours;
    struct dn_idle_hours idle;  /* of the nodes of the queue */
    struct dn_spread wait_s;    /* as it was */
    struct dn_spread looseness; /* limit / run time, of completed jobs */
    struct dn_sums *sums;
    struct dn_replay *replay;
    struct dn_listing lowered; /* limits, by GPU hours: requested and set */
    struct dn_listing killed;  /* by GPU hours: at that limit, and the run time */
    /* simulated: n_pools 0 none */
    struct dn_replay_queue queue;
    struct dn_listing delayed;     /* by how much: times from submission to end */
    double waited_s;               /* mean without dnnest, to compare with wait_s */
    struct dn_clustered_mean wait; /* with dnnest less without, seconds; by owners */
    struct dn_clustered_mean end;
    int64_t earlier;    /* jobs that are not simulated: DN_LOOKBACK_WORK_MAX */
    int64_t impossible; /* jobs that fit on no node */
    int64_t owners;
    int64_t sooner; /* owners whose jobs end at least 2 % sooner, or later */
    int64_t later;
    struct dn_lookback_owners losers; /* the first loses most */
    struct dn_lookback_owners gainers;
};

/* Read the sums and decisions, and run the queues if it has pools. 'site' gets a GPU
 * type for each of the jobs that it lacks, as its name means it; of jobs without a type
 * "gpu". -1 with 'err'.
 */
int dn_lookback_run (struct dn_lookback *lookback,
                     struct dn_site *site,
                     struct dn_err *err);

void dn_lookback_free (struct dn_lookback *lookback);

/* Is the simulated wait without dnnest so far from what it was that the difference says
 * little: by a factor of three and half an hour?
 */
bool dn_lookback_is_unlike (const struct dn_lookback *lookback);

/* What text and page have: the table of hours, freed with dn_grid_free (); and the i-th
 * owner of a list, by name or not.
 */
struct dn_grid dn_lookback_hours_grid (const struct dn_lookback *lookback);
struct dn_shown dn_lookback_owner_name (const struct dn_lookback_owner *owner,
                                        int i,
                                        bool names);

/* Replace 'path' by a page without scripts. -1 with 'err'. */
int dn_lookback_html (struct dn_lookback *lookback,
                      bool names,
                      const char *path,
                      struct dn_err *err);

/* Print it. -1 with 'err' if out of memory. */
int dn_lookback_print (struct dn_lookback *lookback, bool names, struct dn_err *err);
int dn_lookback_print_json (struct dn_lookback *lookback,
                            bool names,
                            struct dn_err *err);

#endif
