/* heartbeat.h - the file 'guard' of StateDir: that the guard is alive, and its tallies
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HEARTBEAT_H
#define DN_HEARTBEAT_H

#include "policy/guarded.h"
#include "task.h"

/* Read once what an earlier process has left; one that is absent or not valid begins
 * anew. '*guarded' is freed with dn_guarded_free (). -1 with 'err' without memory.
 */
int dn_heartbeat_begin (struct dn_guarded **guarded,
                        const struct dn_daemon *d,
                        struct dn_err *err);

/* Replace the file after a complete pass at 'time_s', or with 0 before the guard
 * leaves; in a dry run only where an output is named. -1 with 'err'.
 */
int dn_heartbeat_write (struct dn_guarded *guarded,
                        const struct dn_daemon *d,
                        int64_t time_s,
                        struct dn_err *err);

/* Is a guard of the cluster alive, by the file? Of one that cannot be read it is not.
 */
bool dn_heartbeat_is_alive (const struct dn_daemon *d);

#endif
