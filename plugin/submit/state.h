/* state.h - the site as the plugin sees it: loaded once, const, replaced whole
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STATE_H
#define DN_STATE_H

#include "site.h"

/* Load dnnest.conf, which lies beside slurm.conf. Cannot fail: without it, or with a
 * broken one, the plugin does nothing and has said so in the log.
 */
void dn_state_start (void);

/* Forget everything. No snapshot may be in use. */
void dn_state_stop (void);

/* One state of the site. It stays as it is until it is given back. */
struct dn_snapshot;

/* The present state, reloaded first if slurm.conf has been since. NULL: do nothing.
 * Callable from any thread.
 */
struct dn_snapshot *dn_state_take (void);
const struct dn_site *dn_state_site (const struct dn_snapshot *snapshot);
void dn_state_give (struct dn_snapshot *snapshot);

#endif
