/* shared_cache.h - a cache that the threads of slurmctld share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SHARED_CACHE_H
#define DN_SHARED_CACHE_H

#include "base/cache.h"

struct dn_shared_cache;

/* An empty cache of one site; NULL without memory. Free it with dn_shared_cache_free ()
 * when no thread uses it, before its site.
 */
struct dn_shared_cache *dn_shared_cache_new (void);
void dn_shared_cache_free (struct dn_shared_cache *cache);

/* For dn_advise (), from any thread; NULL for NULL. */
struct dn_cache_access *dn_shared_cache_access (struct dn_shared_cache *cache);

#endif
