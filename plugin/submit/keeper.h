/* keeper.h - the one thread of the plugin, for work that must not delay submissions
 *
 * It loads the site, checks every two seconds whether its files or those of
 * dnnestd have changed, and writes the decision log and the counters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_KEEPER_H
#define DN_KEEPER_H

#include "base/base.h"

/* Start, and load dnnest.conf from the directory of slurm.conf. Cannot fail: on an
 * error the plugin does nothing, and the log has a line. slurm_conf must not change
 * during the call, nor during dn_keeper_notice ().
 */
void dn_keeper_start (void) DN_COLD;

/* Write the remaining lines, end the thread, and free everything. No submission may be
 * in progress. Does not wait for a file system that hangs.
 */
void dn_keeper_stop (void) DN_COLD;

/* If slurm.conf has been read again, order a load of the site, and wait for it a short
 * time, so that it applies to the first job after a reconfiguration. Otherwise the call
 * costs a comparison. Callable from any thread.
 */
void dn_keeper_notice (void);

/* True in the child of a fork (). It has no keeper, and other threads may have held any
 * lock, also locks of the allocator: take none there. Callable from any thread.
 */
bool dn_keeper_is_missing (void);

#endif
