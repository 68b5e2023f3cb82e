/* state.h - the site as the plugin sees it: loaded once, const, replaced whole
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STATE_H
#define DN_STATE_H

#include "host/load.h"
#include "site.h"
#include "submit/shared_cache.h"

/* Build a new state from 'conf' and what it names, with what 'context' has of
 * slurm.conf on top, and put it in the place of the present one. Cannot fail: what is
 * broken leaves what is in force, or nothing is, and the log says so; words that were
 * said last are not said 'again'. One thread at a time.
 */
void dn_state_load (const char *conf,
                    const struct dn_load_context *context,
                    bool again);

/* Forget everything; a snapshot that is in use goes when it is given back. */
void dn_state_forget (void);

/* One state of the site. It stays as it is until it is given back. */
struct dn_snapshot;

/* The present state; NULL: do nothing. Callable from any thread. */
struct dn_snapshot *dn_state_take (void);
const struct dn_site *dn_state_site (const struct dn_snapshot *snapshot);

/* The estimates of earlier jobs on that site, for dn_advise (); NULL: none are kept. */
struct dn_cache_access *dn_state_cache (struct dn_snapshot *snapshot);

/* NULL-safe. */
void dn_state_give (struct dn_snapshot *snapshot);

/* Since when it has been in force, in seconds since 1970. */
int64_t dn_state_since (const struct dn_snapshot *snapshot);

#endif
