/* round.h - what the tasks of a round share: the table of jobs, reports, output
 *
 * The reply of slurmctld itself is kept, and not copied: it has 14.5 MB for 20,000
 * jobs, and 70 MB in memory, until the round ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ROUND_H
#define DN_ROUND_H

#include "host/progress_file.h"
#include "host/put_file.h"
#include "task.h"

/* Call 'take' for every job, also after other tasks of the same round; the first call
 * sets 'now_s' of the round to the time of the table. A value other than 0 ends the
 * loop and is returned. -1 with 'err', if the table cannot be read.
 */
int dn_jobs_each (struct dn_daemon *d,
                  dn_link_job_f take,
                  void *to,
                  struct dn_err *err);

/* Change a job of the table by 'change', if it is still as the table had it: the same
 * limit, constraint, partition, admin comment and pending tasks, which 'change' may
 * name, and 'may' is true of it. Return 1 if it was changed, 0 if not, and then
 * 'refusal' has the reason of Slurm, if any, or -1 with 'err' where the connection was
 * lost.
 */
typedef bool (*dn_job_may_f) (const struct dn_link_job *now);
int dn_job_change (struct dn_daemon *d,
                   const struct dn_link_job *job,
                   dn_job_may_f may,
                   const struct dn_link_change *change,
                   struct dn_err *refusal,
                   struct dn_err *err);

/* May a task change one more job: StartChanges, counted from its first change after a
 * start of dnnestd? If it may, it is counted. All zeroes at first.
 */
struct dn_start {
    int64_t begun_s;
    uint64_t changes;
};
bool dn_start_may_change (struct dn_start *start, const struct dn_daemon *d);

/* What updates name: the job; of the record of an array the pending tasks that Slurm
 * lists. Freed with free (); NULL without memory.
 */
char *dn_job_pending_name (const struct dn_link_job *job);

/* Has Slurm left tasks out of that list, as in "1,3,5,7..."? */
bool dn_job_is_cut (const struct dn_link_job *job);

/* Free the table, at the end of the round. */
void dn_jobs_drop (struct dn_daemon *d);

/* What a job has reported: the file ProgressDir/JOBID, or else the steps of
 * ProgressDir/JOBID.capture, is read as any file of a user (host/files.h): it must be a
 * regular file of the job's user, reached through no link, and small. False if there is
 * none that can be believed; then 'progress' is empty.
 */
bool dn_progress_of (const struct dn_site *site,
                     const struct dn_link_job *job,
                     struct dn_progress *progress);

/* By which the rules for a job of the table are found, and these rules. */
struct dn_submitter dn_job_submitter (const struct dn_link_job *job);
struct dn_rules dn_rules_of (const struct dn_site *site, const struct dn_link_job *job);

/* Replace the file 'name' of StateDir by the text, or what the options of the daemon
 * say in its place; a dry run only logs it. 1 if the file of StateDir was replaced, 0
 * if not, or -1 with 'err'.
 */
int dn_output_write (const struct dn_put_text *output,
                     const struct dn_daemon *d,
                     const char *name,
                     struct dn_err *err);

#endif
