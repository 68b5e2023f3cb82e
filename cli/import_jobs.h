/* import_jobs.h - past jobs of a CSV table into the store of finished jobs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_IMPORT_JOBS_H
#define DN_IMPORT_JOBS_H

#include "base/err.h"

struct dn_imported {
    int64_t n_jobs;    /* rows that were stored */
    int64_t n_refused; /* rows that could not be read, each printed on stderr */
};

/* Store the rows of the table 'path' ("-": stdin), whose columns are those of
 * jobs/finished_columns.inc. A row needs job or raw_id, submit_s, start_s and end_s. A
 * row that cannot be read is told, with its line, and left out. -1 with 'err' where
 * reading or storing ends; what was stored until then stays, and can come again.
 */
int dn_import_jobs (const char *path,
                    const char *store,
                    struct dn_imported *imported,
                    struct dn_err *err);

#endif
