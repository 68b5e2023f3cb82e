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
 * error the state in force, if any, is kept, and the log has a line. A line equal to
 * the last one is not logged, except for DN_LOAD_ORDERED. One thread at a time.
 *
 * Return true if the result may change though no file does: a file or the name service
 * could not be read, or a user or group of a Policy line is not known. Then call it
 * again with DN_LOAD_RETRIED, which keeps the present state if nothing has changed.
 */
enum dn_load_cause {
    DN_LOAD_ORDERED, /* a start or a change of slurm.conf */
    DN_LOAD_CHANGED, /* a change of files */
    DN_LOAD_RETRIED
};
bool dn_state_load (const char *conf,
                    const struct dn_load_context *context,
                    enum dn_load_cause cause);

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
