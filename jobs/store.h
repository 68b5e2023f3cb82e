/* store.h - finished jobs in records.db, on SQLite
 *
 * In: finished jobs, in any order, any of them again. Out: the jobs of a period, one
 * row at a time. A job is stored once: a row with the same cluster, raw_id, submit_s
 * and start_s replaces the stored one, but a measured value (gpu_utilisation,
 * gpu_mem_gb, power_w, energy_j), and what the job has said of itself, is kept where
 * the new row lacks it.
 *
 * What was collected and up to when is committed together with the rows, so that a
 * process that is killed at any instant loses nothing and stores nothing twice. Memory
 * does not grow with the number of jobs.
 *
 * Several programs may add at the same time; each waits for the others. The journal is
 * SQLite's rollback journal, not its write-ahead log, whose shared memory does not work
 * across nodes. A store of another version, or with other tables, is refused, and
 * memory is bounded for any content.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STORE_H
#define DN_STORE_H

#include "jobs/finished.h"

/* Its name in StateDir. */
#define DN_STORE_FILE "records.db"

struct dn_store;

/* Open a store to read it, or to add to it; it is created if there is none. 'path'
 * NULL: a new one in memory. NULL with 'err', which names the path. Closed with
 * dn_store_close ().
 */
struct dn_store *dn_store_open (const char *path, bool adding, struct dn_err *err);
void dn_store_close (struct dn_store *store);
void dn_store_cleanup (struct dn_store **store);

/* Add or replace a job. -1 with 'err', which names the column. */
int dn_store_add (struct dn_store *store,
                  const struct dn_finished *job,
                  struct dn_err *err);

/* Up to when jobs of a source ("slurmdbd:CLUSTER") were collected, seconds since 1970;
 * 0 if never. Setting it takes effect with the next commit.
 */
int dn_store_until (struct dn_store *store,
                    const char *source,
                    int64_t *until_s,
                    struct dn_err *err);
int dn_store_set_until (struct dn_store *store,
                        const char *source,
                        int64_t until_s,
                        struct dn_err *err);

/* Make permanent what was added since the last commit; adding may go on. */
int dn_store_commit (struct dn_store *store, struct dn_err *err);

/* Delete jobs that ended before that time. Commits after every few jobs, so that no
 * other process waits for long.
 */
int dn_store_prune (struct dn_store *store, int64_t before_s, struct dn_err *err);

/* Which jobs; 0, NULL and DN_UNSET: all. In the order of their ends, or of their
 * owners, applications and ends.
 */
enum dn_store_order {
    DN_STORE_BY_END,
    DN_STORE_BY_APP, /* user, app, end_s */
    DN_STORE_BY_SUBMIT,
    DN_STORE_BY_ACCOUNT /* account, app, end_s; without those that have no account */
};
struct dn_store_filter {
    int64_t since_s; /* that ended at or after it */
    int64_t until_s; /* that ended before it */
    int64_t user;
    const char *cluster;
    const char *job; /* as the user knows it */
    const char *app;
    bool unmeasured; /* with GPUs, and without gpu_utilisation */
    enum dn_store_order order;
};
struct dn_store_filter dn_store_all (void);

/* Call 'take' for every job; a value other than 0 ends the reading and is returned. The
 * store may be added to meanwhile by other processes. -1 with 'err'.
 */
typedef int (*dn_store_job_f) (void *to, const struct dn_finished *job);
int dn_store_read (struct dn_store *store,
                   const struct dn_store_filter *filter,
                   dn_store_job_f take,
                   void *to,
                   struct dn_err *err);

#endif
