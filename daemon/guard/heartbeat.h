/* heartbeat.h - the file 'guard' of StateDir: that the guard is alive, and the tallies
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GUARD_HEARTBEAT_H
#define DN_GUARD_HEARTBEAT_H

#include "policy/guarded.h"
#include "task.h"

struct dn_heartbeat {
    struct dn_guarded *guarded; /* owned; NULL: not read yet */
};

/* Read the file that an earlier process has left, once. One that is absent or not valid
 * begins anew. -1 with 'err' without memory.
 */
int dn_heartbeat_begin (struct dn_heartbeat *heartbeat,
                        const struct dn_daemon *d,
                        struct dn_err *err);

/* dn_guarded_note (). */
int dn_heartbeat_note (struct dn_heartbeat *heartbeat,
                       int64_t user_id,
                       int64_t job_id,
                       bool needed,
                       struct dn_err *err);

/* Write the file after a complete pass; in a dry run only where an output is named. */
int dn_heartbeat_write (struct dn_heartbeat *heartbeat,
                        const struct dn_daemon *d,
                        struct dn_err *err);

void dn_heartbeat_free (struct dn_heartbeat *heartbeat);

#endif
