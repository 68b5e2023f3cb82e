/* past_jobs.h - the jobs of a site before dnnest, from its own accounting
 *
 * In: what sacct prints, asked day by day or kept in a file, or a table of jobs. Out:
 * the jobs that had GPUs and have ended, in a store in a directory of its own, which
 * goes with it; all others are counted. Each gets metadata "auto" and an application:
 * its name without its numbers, and its GPUs; one without a name, all that it
 * requested. A record of dnnest is not read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PAST_JOBS_H
#define DN_PAST_JOBS_H

#include <limits.h>

#include "base/limits.h"
#include "jobs/store.h"
#include "lookback/nodes_past.h"

struct dn_past_source {
    const char *table; /* "-": stdin; NULL: sacct */
    const char *sacct; /* a file of dn_past_sacct_command (), likewise */
    int64_t since_s;   /* that ended at or after it */
    int64_t until_s;   /* and before it */
};

/* Texts are those of the first jobs. */
struct dn_past_jobs {
    struct dn_store *store;
    char dir[PATH_MAX];
    int64_t n;           /* that were read */
    int64_t n_others;    /* without GPUs, or that never ran */
    int64_t n_refused;   /* rows of a table that cannot be read; the first is told */
    struct dn_err first; /* of them */
    char types[DN_CANDIDATES_MAX][DN_NAME_MAX]; /* gres types of GPUs */
    int n_types;
    struct dn_nodes_past nodes;
};

/* The command whose output --sacct reads. */
void dn_past_sacct_command (struct dn_buf *buf);

/* Read them. -1 with 'err'; freed with dn_past_jobs_free () in any case. */
int dn_past_jobs_read (struct dn_past_jobs *jobs,
                       const struct dn_past_source *source,
                       struct dn_err *err);
void dn_past_jobs_free (struct dn_past_jobs *jobs);

#endif
