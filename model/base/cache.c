/* cache.c - results of earlier jobs, for jobs with the same input
 *
 * Whole keys are compared; the hash only saves comparisons. So a user cannot construct
 * a text that gets the result of another one. The search is linear, since a cache has
 * few entries.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/cache.h"

#include <string.h>

#include "base/hash.h"

/* FNV-1a (hash.h), of words. */
static inline uint64_t add_word (uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * DN_HASH_PRIME;
    return hash ^ hash >> 32;
}

static uint64_t add_hash (uint64_t hash, struct dn_span bytes)
{
    const char *at = bytes.text;
    size_t left = bytes.len;
    uint64_t word;

    for (; left >= sizeof (word); left -= sizeof (word), at += sizeof (word)) {
        memcpy (&word, at, sizeof (word));
        hash = add_word (hash, word);
    }
    word = 0;
    if (left > 0)
        memcpy (&word, at, left);
    return add_word (hash, word) + bytes.len;
}

struct dn_cache_key dn_cache_key_of (struct dn_span input, struct dn_span text)
{
    uint64_t hash = add_hash (DN_HASH_SEED, input);

    return (struct dn_cache_key){add_hash (hash, text) | 1, input, text};
}

/* Is 'bytes' the next part of an entry? Moves 'at' past it. */
static bool is_next (const char **at, size_t n, struct dn_span bytes)
{
    const char *part = *at;

    *at += n;
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): padding is 0 */
    return n == bytes.len && (n == 0 || memcmp (part, bytes.text, n) == 0);
}

static bool is_of (const struct dn_cache_entry *entry, const struct dn_cache_key *key)
{
    const char *at = entry->bytes;

    return is_next (&at, entry->n_input, key->input)
           && is_next (&at, entry->n_text, key->text);
}

/* The entry of a key, or -1. */
static int find_entry (const struct dn_cache *cache, const struct dn_cache_key *key)
{
    for (int i = 0; key->hash != 0 && i < DN_CACHE_ENTRIES_MAX; i++)
        if (cache->hashes[i] == key->hash && is_of (&cache->entries[i], key))
            return i;
    return -1;
}

/* The least recently used entry; an empty one if there is one. */
static int oldest_entry (const struct dn_cache *cache)
{
    int oldest = 0;

    for (int i = 1; i < DN_CACHE_ENTRIES_MAX; i++)
        if (cache->used[i] < cache->used[oldest])
            oldest = i;
    return oldest;
}

bool dn_cache_find (struct dn_cache *cache,
                    const struct dn_cache_key *key,
                    void *value,
                    size_t size)
{
    int i = find_entry (cache, key);
    const struct dn_cache_entry *entry = &cache->entries[i < 0 ? 0 : i];

    if (i < 0 || entry->n_value > size)
        return false;
    cache->used[i] = ++cache->n_calls;
    memcpy (value, entry->bytes + entry->n_input + entry->n_text, entry->n_value);
    return true;
}

static char *add_part (char *at, const void *bytes, size_t n)
{
    if (n > 0)
        memcpy (at, bytes, n);
    return at + n;
}

void dn_cache_put (struct dn_cache *cache,
                   const struct dn_cache_key *key,
                   const void *value,
                   size_t size)
{
    struct dn_cache_entry *entry;
    int i = find_entry (cache, key);
    char *end;

    if (key->hash == 0 || key->input.len + key->text.len + size > DN_CACHE_BYTES_MAX)
        return;
    /* Another thread may have added the same key since the search. */
    if (i < 0)
        i = oldest_entry (cache);
    cache->used[i] = ++cache->n_calls;
    cache->hashes[i] = key->hash;
    entry = &cache->entries[i];
    entry->n_input = key->input.len;
    entry->n_text = key->text.len;
    entry->n_value = size;
    end = add_part (entry->bytes, key->input.text, key->input.len);
    end = add_part (end, key->text.text, key->text.len);
    (void) add_part (end, value, size);
}
