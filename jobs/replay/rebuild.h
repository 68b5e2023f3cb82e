/* rebuild.h - the submission of a finished job, from its row
 *
 * In: a row of a store or of a trace. Out: the submission that dn_advise () takes. Only
 * what the row has is in it: no script, no environment, no features. A job
 * of n CPUs on one node has one task of n CPUs, one on several nodes a task on each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REBUILD_H
#define DN_REBUILD_H

#include "jobs/finished.h"
#include "request/request.h"

/* The texts of a submission that are not in the row. */
struct dn_rebuilt {
    struct dn_job job;
    char tres[DN_NAME_MAX + 48];
    char app[DN_NAME_MAX]; /* the name of its application; "" none */
    char *comment;         /* owned */
};

/* The request before dnnest: its limit (seconds, DN_UNSET, DN_UNLIMITED), GPU type,
 * CPUs of the whole job, and host memory of each node.
 */
int64_t dn_rebuild_limit (const struct dn_finished *row);
const char *dn_rebuild_gpu (const struct dn_finished *row);
int64_t dn_rebuild_cpus (const struct dn_finished *row);
int64_t dn_rebuild_mem_mb (const struct dn_finished *row);

/* 'rebuilt' borrows from the row. -1 with 'err' without memory; freed with
 * dn_rebuilt_free ().
 */
int dn_rebuild (const struct dn_finished *row,
                struct dn_rebuilt *rebuilt,
                struct dn_err *err);
void dn_rebuilt_free (struct dn_rebuilt *rebuilt);

#endif
