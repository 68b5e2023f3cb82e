/* cache.c - estimates of earlier jobs, for jobs with the same input
 *
 * Whole keys are compared; the hash only saves comparisons. So a user cannot construct
 * a text that gets the estimates of another one. The search is linear, since a cache
 * has few entries.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cache.h"

#include <string.h>

/* FNV-1a, of words. */
static uint64_t hash_of (const struct dn_cache_input *input)
{
    uint64_t hash = UINT64_C (0xcbf29ce484222325);
    uint64_t word;

    for (size_t at = 0; at + sizeof (word) <= sizeof (*input); at += sizeof (word)) {
        memcpy (&word, (const char *) input + at, sizeof (word));
        hash = (hash ^ word) * UINT64_C (0x100000001b3);
        hash ^= hash >> 32;
    }
    return hash;
}

/* Names may have remains of longer ones behind their end. */
static void copy_spec (const struct dn_spec *spec, struct dn_spec *copy)
{
    int n_rows;
    const struct dn_key *rows = dn_spec_keys (&n_rows);

    memcpy (copy, spec, sizeof (*spec));
    for (int i = 0; i < n_rows; i++)
        if (rows[i].type == DN_KEY_NAME) {
            char *name = (char *) copy + rows[i].offset;
            size_t len = strlen (name);

            memset (name + len, 0, DN_NAME_MAX - len);
        }
}

bool dn_cache_key_of (const struct dn_spec *spec,
                      const char *sidecar,
                      const struct dn_device *const devices[],
                      int n_devices,
                      double cpus_per_gpu,
                      int64_t user,
                      struct dn_cache_key *key)
{
    const size_t max = DN_SIDECAR_HANDOVER_MAX;
    struct dn_cache_input *input = &key->input;

    memset (key, 0, sizeof (*key));
    key->sidecar = (struct dn_span){sidecar, sidecar ? strnlen (sidecar, max + 1) : 0};
    if (key->sidecar.len > max || n_devices > DN_CANDIDATES_MAX)
        return false;
    copy_spec (spec, &input->spec);
    input->cpus_per_gpu = cpus_per_gpu;
    input->user = user;
    input->n_devices = (size_t) n_devices;
    for (int i = 0; i < n_devices; i++)
        input->devices[i] = devices[i];
    key->hash = (hash_of (input) + key->sidecar.len) | 1;
    return true;
}

static bool is_of (const struct dn_cache_entry *entry, const struct dn_cache_key *key)
{
    return entry->sidecar_len == key->sidecar.len
           /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): or a miss */
           && memcmp (&entry->input, &key->input, sizeof (key->input)) == 0
           && (key->sidecar.len == 0
               || memcmp (entry->sidecar, key->sidecar.text, key->sidecar.len) == 0);
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
                    struct dn_estimate estimates[])
{
    int i = find_entry (cache, key);

    if (i < 0)
        return false;
    cache->used[i] = ++cache->n_calls;
    memcpy (estimates,
            cache->entries[i].estimates,
            key->input.n_devices * sizeof (*estimates));
    return true;
}

void dn_cache_put (struct dn_cache *cache,
                   const struct dn_cache_key *key,
                   const struct dn_estimate estimates[])
{
    struct dn_cache_entry *entry;
    int i = find_entry (cache, key);

    if (key->hash == 0)
        return;
    /* Another thread may have added the same key since the search. */
    if (i < 0)
        i = oldest_entry (cache);
    cache->used[i] = ++cache->n_calls;
    cache->hashes[i] = key->hash;
    entry = &cache->entries[i];
    memcpy (&entry->input, &key->input, sizeof (key->input));
    entry->sidecar_len = key->sidecar.len;
    if (key->sidecar.len > 0)
        memcpy (entry->sidecar, key->sidecar.text, key->sidecar.len);
    memcpy (entry->estimates, estimates, key->input.n_devices * sizeof (*estimates));
}
