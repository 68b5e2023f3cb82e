/* sacct.h - jobs from Slurm's accounting, where there is no file of dnnestd
 *
 * sacct is asked as the caller, so slurmdbd decides what he may see. It runs without a
 * shell and is read line by line; one that does not answer is ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SACCT_H
#define DN_SACCT_H

#include "host/load.h"
#include "jobs/accounting.h"
#include "jobs/store.h"

#include <limits.h>

/* Jobs of a store in memory: a row is some 1 KB. */
#define DN_SACCT_JOBS_MAX 20000

struct dn_sacct {
    const char *job; /* as the user knows it, digits and "_+"; NULL: those of 'user' */
    bool everyone;   /* all users that the caller may see; else: */
    int64_t user;    /* uid */
    int64_t since_s; /* jobs that were there at or after it; of 'user' */
    int64_t until_s; /* and at or before it; 0: now */
    int64_t patience_s;
    enum dn_accounting_what what;
};

/* The jobs of the caller of the last month. */
struct dn_sacct dn_sacct_mine (void);

/* Is it the number of a job, as the user knows it: 12, 12_3 or 12+1? */
bool dn_is_job_number (const char *text);

/* The error of more than DN_SACCT_JOBS_MAX jobs. Return -1. */
int dn_sacct_too_many (struct dn_err *err);

/* Call 'take' for each job. Return what it returned, or -1 with 'err'. */
int dn_sacct_read (const struct dn_sacct *which,
                   dn_accounted_f take,
                   void *to,
                   struct dn_err *err);

/* Those that have ended, as a store in memory with what their records say. NULL with
 * 'err'; closed with dn_store_close ().
 */
struct dn_store *dn_sacct_store (const struct dn_sacct *which, struct dn_err *err);

/* 'db', or if it is NULL the store in StateDir, written to 'path'. */
const char *dn_site_store_path (const struct dn_site *site,
                                const char *db,
                                char path[PATH_MAX]);

/* Open the store '*path'. The permissions of the file decide who may: its rows are of
 * all users. Users of a login node have no such file; of their own jobs, accounting
 * serves. Where it does not exist, or may not be read, and 'instead' is not NULL,
 * those jobs of accounting, and '*path' becomes "sacct". NULL with 'err', which says
 * what to do.
 */
struct dn_store *dn_site_store_open (const char **path,
                                     const struct dn_sacct *instead,
                                     struct dn_err *err);

#endif
