/* keeper.h - the one thread of the plugin, for all that must not cost a submission
 *
 * It loads the site, looks every other second whether its files have changed, and
 * writes the decision log and the counters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_KEEPER_H
#define DN_KEEPER_H

/* Start, and load dnnest.conf, which lies beside slurm.conf. Cannot fail: where
 * something is broken, the plugin does nothing and has said so in the log. Called with
 * slurm.conf at rest, as dn_keeper_notice () is.
 */
void dn_keeper_start (void);

/* Write what is left, end the thread, and forget everything. No submission may be in
 * progress. Does not wait for a file system that hangs.
 */
void dn_keeper_stop (void);

/* Has slurm.conf been read again? Then have the site loaded, and wait for that a
 * moment, so that the very next job after a reconfiguration is treated by it. Costs a
 * comparison otherwise. Callable from any thread.
 */
void dn_keeper_notice (void);

#endif
