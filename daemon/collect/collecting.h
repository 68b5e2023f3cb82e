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

#include "jobs/store.h"

/* Texts are borrowed until the call returns. 'admin_comment' may be NULL. A value other
 * than 0 ends the reading and is returned.
 */
typedef int (*dn_ended_f) (void *to,
                           const struct dn_finished *job,
                           const char *admin_comment);

/* A period of ends, seconds since 1970: since_s <= end < until_s. */
struct dn_period {
    int64_t since_s;
    int64_t until_s;
};

/* Where finished jobs come from: slurmdbd. A source gives the jobs of a cluster that
 * ended in a period, each as Slurm's accounting has it: the members of struct
 * dn_finished that accounting knows, and the admin comment, from which the collector
 * fills the others.
 */
struct dn_source {
    const char *name; /* "slurmdbd": column 'source' */
    void *self;
    /* -1 with 'err'; DN_E_TIME: no answer, try again later; DN_E_LIMIT: the answer is
     * too long, ask for a shorter period. A source keeps a whole answer in memory. */
    int (*read) (void *self,
                 const char *cluster,
                 struct dn_period period,
                 dn_ended_f take,
                 void *to,
                 struct dn_err *err);
    void (*close) (void *self);
};

/* Make 'source' that of slurmdbd. dn_link_open () comes before. -1 with 'err'. */
int dn_ended_open (struct dn_source *source, struct dn_err *err);

/* Jobs of a period, in general, at most. */
#define DN_COLLECT_JOBS_MAX 5000

/* Seconds before the mark that are always read again. */
#define DN_COLLECT_OVERLAP_S 600

/* Age of ends that are read again, and so many seconds of them at a time, at least. */
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

/* What a finished job has measured and described of itself: the columns that the job's
 * own file JOBID.capture (host/capture_file.h) of ProgressDir fills. The file must be
 * of the job's user, and of this run: written between its start and its end.
 *
 * A day after the end of a job its files in ProgressDir are removed, since nothing
 * reads them any more, where the directory lets this process do so.
 */

/* The clock of a node, and that of slurmctld. */
#define DN_CAPTURED_SKEW_S 120

/* Fill the columns, but for 'captured': that is the text that is returned, freed with
 * free (). NULL: there is no file that can be believed, and nothing is filled.
 */
char *dn_captured_fill (const char *progress_dir, struct dn_finished *job);

/* Remove what the job has left, unless a later run of that number has written it. */
void dn_captured_remove (const char *progress_dir, const struct dn_finished *job);

#endif
