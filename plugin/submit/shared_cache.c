/* shared_cache.c - a cache that the threads of slurmctld share
 *
 * The lock is held for a comparison and a copy of some KiB. A thread that finds it held
 * computes without the cache: no submission waits for another one, and a child that was
 * forked meanwhile does not wait forever.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "submit/shared_cache.h"

#include <pthread.h>
#include <stdlib.h>

struct dn_shared_cache {
    struct dn_cache_access access; /* first: the callbacks get its address */
    pthread_mutex_t lock;
    struct dn_cache cache; /* under the lock */
};

static bool find (struct dn_cache_access *self,
                  const struct dn_cache_key *key,
                  void *value,
                  size_t size)
{
    struct dn_shared_cache *shared = (struct dn_shared_cache *) (void *) self;
    bool found;

    if (pthread_mutex_trylock (&shared->lock) != 0)
        return false;
    found = dn_cache_find (&shared->cache, key, value, size);
    pthread_mutex_unlock (&shared->lock);
    return found;
}

static void put (struct dn_cache_access *self,
                 const struct dn_cache_key *key,
                 const void *value,
                 size_t size)
{
    struct dn_shared_cache *shared = (struct dn_shared_cache *) (void *) self;

    if (pthread_mutex_trylock (&shared->lock) != 0)
        return;
    dn_cache_put (&shared->cache, key, value, size);
    pthread_mutex_unlock (&shared->lock);
}

struct dn_shared_cache *dn_shared_cache_new (void)
{
    struct dn_shared_cache *shared = calloc (1, sizeof (*shared));

    if (!shared)
        return NULL;
    shared->lock = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
    shared->access.find = find;
    shared->access.put = put;
    return shared;
}

void dn_shared_cache_free (struct dn_shared_cache *cache)
{
    free (cache);
}

struct dn_cache_access *dn_shared_cache_access (struct dn_shared_cache *cache)
{
    return cache ? &cache->access : NULL;
}
