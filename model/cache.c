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

/* Append 'size' bytes. If they do not fit, the key becomes invalid ('len' 0). */
static void add_bytes (struct dn_cache_key *key, const void *bytes, size_t size)
{
    if (key->len == 0 || size > sizeof (key->bytes) - key->len) {
        key->len = 0;
        return;
    }
    memcpy (key->bytes + key->len, bytes, size);
    key->len += size;
}

/* The value of one metadata key, without padding bytes. */
static void add_value (struct dn_cache_key *key,
                       const struct dn_spec *spec,
                       const struct dn_key *row)
{
    const char *value = (const char *) spec + row->offset;

    switch (row->type) {
    case DN_KEY_NAME:
        add_bytes (key, value, strlen (value) + 1);
        break;
    case DN_KEY_ENUM:
        add_bytes (key, value, sizeof (int));
        break;
    case DN_KEY_IMAGE:
        add_bytes (key, spec->image.dim, sizeof (spec->image.dim));
        add_bytes (key, &spec->image.n_dims, sizeof (spec->image.n_dims));
        break;
    case DN_KEY_REAL:
        add_bytes (key, value, sizeof (double));
        break;
    default:
        add_bytes (key, value, sizeof (int64_t));
    }
}

/* FNV-1a. */
static uint64_t hash_of (const unsigned char *bytes, size_t len)
{
    uint64_t hash = UINT64_C (0xcbf29ce484222325);

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * UINT64_C (0x100000001b3);
    return hash;
}

bool dn_cache_key_of (const struct dn_spec *spec,
                      const char *sidecar,
                      const struct dn_device *const devices[],
                      int n_devices,
                      double cpus_per_gpu,
                      int64_t user,
                      struct dn_cache_key *key)
{
    int n_rows;
    const struct dn_key *rows = dn_spec_keys (&n_rows);
    const size_t max = DN_SIDECAR_HANDOVER_MAX;

    key->len = 0;
    key->n_devices = n_devices;
    key->sidecar = (struct dn_span){sidecar, sidecar ? strnlen (sidecar, max + 1) : 0};
    if (key->sidecar.len > max || n_devices > DN_CANDIDATES_MAX)
        return false;
    memcpy (key->bytes, &cpus_per_gpu, sizeof (cpus_per_gpu));
    key->len = sizeof (cpus_per_gpu);
    add_bytes (key, &user, sizeof (user));
    for (int i = 0; i < n_rows; i++)
        add_value (key, spec, &rows[i]);
    add_bytes (key, &spec->derived, sizeof (spec->derived));
    for (int i = 0; i < n_devices; i++) {
        uintptr_t address = (uintptr_t) devices[i];

        add_bytes (key, &address, sizeof (address));
    }
    key->hash = hash_of (key->bytes, key->len) + key->sidecar.len;
    return key->len > 0;
}

static bool is_of (const struct dn_cache_entry *entry, const struct dn_cache_key *key)
{
    return entry->len == key->len && entry->n_devices == key->n_devices
           && entry->sidecar_len == key->sidecar.len
           && memcmp (entry->bytes, key->bytes, key->len) == 0
           && (key->sidecar.len == 0
               || memcmp (entry->sidecar, key->sidecar.text, key->sidecar.len) == 0);
}

/* The entry of a key, or -1. */
static int find_entry (const struct dn_cache *cache, const struct dn_cache_key *key)
{
    for (int i = 0; key->len > 0 && i < DN_CACHE_ENTRIES_MAX; i++)
        if (cache->used[i] > 0 && cache->hashes[i] == key->hash
            && is_of (&cache->entries[i], key))
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
            (size_t) key->n_devices * sizeof (*estimates));
    return true;
}

void dn_cache_put (struct dn_cache *cache,
                   const struct dn_cache_key *key,
                   const struct dn_estimate estimates[])
{
    struct dn_cache_entry *entry;
    int i = find_entry (cache, key);

    if (key->len == 0)
        return;
    /* Another thread may have added the same key since the search. */
    if (i < 0)
        i = oldest_entry (cache);
    cache->used[i] = ++cache->n_calls;
    cache->hashes[i] = key->hash;
    entry = &cache->entries[i];
    entry->len = key->len;
    entry->n_devices = key->n_devices;
    entry->sidecar_len = key->sidecar.len;
    memcpy (entry->bytes, key->bytes, key->len);
    if (key->sidecar.len > 0)
        memcpy (entry->sidecar, key->sidecar.text, key->sidecar.len);
    memcpy (entry->estimates, estimates, (size_t) key->n_devices * sizeof (*estimates));
}
