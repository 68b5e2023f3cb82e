/* state.h - the site as the plugin sees it: loaded once, const, replaced as a whole
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STATE_H
#define DN_STATE_H

#include "host/load.h"
#include "site.h"
#include "submit/shared_cache.h"

/* Build a new state from 'conf' and the files that it names, with the overrides of
 * slurm.conf in 'context', and replace the present state by it. Cannot fail: on an
 * error the state in force, if any, is kept, and the log has a line. With 'again', a
 * line equal to the last one is not logged. One thread at a time.
 */
void dn_state_load (const char *conf,
                    const struct dn_load_context *context,
                    bool again);

/* Drop the present state; a snapshot in use is freed when it is given back. */
void dn_state_forget (void);

/* One state of the site. It does not change until it is given back. */
struct dn_snapshot;

/* The present state; NULL: do nothing. Callable from any thread. */
struct dn_snapshot *dn_state_take (void);
const struct dn_site *dn_state_site (const struct dn_snapshot *snapshot);

/* The estimates of earlier jobs on that site, for dn_advise (); NULL: there is no
 * cache.
 */
struct dn_cache_access *dn_state_cache (struct dn_snapshot *snapshot);

/* NULL-safe. */
void dn_state_give (struct dn_snapshot *snapshot);

/* When it was put in force, in seconds since 1970. */
int64_t dn_state_since (const struct dn_snapshot *snapshot);

#endif
