/* collecting.h - finished jobs of a source into the store, by periods of their ends
 *
 * A period's jobs and the mark up to which the source was read are committed together,
 * so a process that is killed at any instant goes on where it was. Each pass begins a
 * while before the mark, and all jobs are read once more a day later, since slurmdbd
 * may learn of an end late; the store replaces what it has.
 *
 * Memory is that of one period, whose length follows the number of its jobs. No source
 * tells this number before it answers: the process has limits of memory and time
 * (daemon/errand.h), and the one after a process that was killed begins with a shorter
 * period, where that one had begun. A second with more jobs than fit is left out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_COLLECTING_H
#define DN_COLLECTING_H

#include "collect/source.h"
#include "jobs/store.h"

/* Jobs of a period, in general, at most. */
#define DN_COLLECT_JOBS_MAX 5000

/* Seconds before the mark that are always read again. */
#define DN_COLLECT_OVERLAP_S 600

/* Age of ends that are read once more, and how many seconds of them at a time, at
 * least.
 */
#define DN_COLLECT_AGAIN_S       86400
#define DN_COLLECT_AGAIN_EVERY_S 21600

struct dn_collecting {
    const struct dn_source *source;
    struct dn_store *store; /* open to add; NULL: store nothing */
    const char *cluster;
    const char *progress_dir; /* where jobs leave files; "" nowhere */
    int64_t now_s;
    int64_t since_s; /* ends from then on; DN_UNSET: from the mark */
    int64_t first_s; /* where to begin without a mark */
    /* Called after each period; a value other than 0 ends the pass, which another goes
     * on with. */
    int (*after) (void *to, const struct dn_collecting *c);
    void *to;
    /* Results */
    int64_t n_jobs;
    int64_t n_records; /* of these with a record of dnnest */
    int64_t n_skipped; /* seconds that have more jobs than fit */
    int64_t skipped_s; /* the last of them */
    int64_t begun_s;   /* where the pass began */
    int64_t reached_s; /* what was read up to */
};

/* Collect what ended up to 'now_s'. 0, 1 where 'after' ended the pass, -1 with 'err';
 * what was committed before an error stays.
 */
int dn_collect (struct dn_collecting *c, struct dn_err *err);

#endif
