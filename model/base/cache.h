/* cache.h - results of earlier jobs, for jobs with the same input
 *
 * What is computed of a site and a text alone need not be computed again: the jobs of a
 * sweep and a script that is submitted every night have the same network, run and
 * script. A cache belongs to one site and must not outlive it, because its values point
 * to the site's tables.
 *
 * The cache is memory of a fixed size without a lock. A caller with several threads
 * must lock it, see struct dn_cache_access.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CACHE_H
#define DN_CACHE_H

#include "base/text.h"

/* Number of entries. A user who submits more different jobs evicts the least recently
 * used entries, which only costs other users a computation.
 */
#define DN_CACHE_ENTRIES_MAX 96

/* Bytes of key and value of an entry. What is longer is not cached. */
#define DN_CACHE_BYTES_MAX (32 * 1024)

/* An input: plain bytes, where padding is 0, and a text. Both are borrowed. */
struct dn_cache_key {
    uint64_t hash; /* equal for equal keys; 0: the job is not cached */
    struct dn_span input;
    struct dn_span text;
};

struct dn_cache_key dn_cache_key_of (struct dn_span input, struct dn_span text);

struct dn_cache_entry {
    size_t n_input; /* bytes */
    size_t n_text;
    size_t n_value;
    char bytes[DN_CACHE_BYTES_MAX]; /* input, text and value */
};

/* All bytes 0: an empty cache. The members that are searched are adjacent in memory. */
struct dn_cache {
    uint64_t n_calls;                    /* uses of entries so far */
    uint64_t used[DN_CACHE_ENTRIES_MAX]; /* the call of its last use; 0: empty */
    uint64_t hashes[DN_CACHE_ENTRIES_MAX];
    struct dn_cache_entry entries[DN_CACHE_ENTRIES_MAX];
};

/* Copy the value of 'key', of at most 'size' bytes, to 'value'. False: there is none.
 */
bool dn_cache_find (struct dn_cache *cache,
                    const struct dn_cache_key *key,
                    void *value,
                    size_t size);

/* Store 'size' bytes under 'key'; the least recently used entry is replaced. */
void dn_cache_put (struct dn_cache *cache,
                   const struct dn_cache_key *key,
                   const void *value,
                   size_t size);

/* A cache as the stages of an advice use it: the same two functions, with a lock where
 * threads share it. Both may do nothing; find () then returns false.
 */
struct dn_cache_access {
    bool (*find) (struct dn_cache_access *self,
                  const struct dn_cache_key *key,
                  void *value,
                  size_t size);
    void (*put) (struct dn_cache_access *self,
                 const struct dn_cache_key *key,
                 const void *value,
                 size_t size);
};

#endif
