/* cache.h - estimates of earlier jobs, for those that are the same
 *
 * A prediction depends on nothing but the site and what is in the key, so a job whose
 * network, run and candidates were seen before needs no second one: the tasks of a
 * sweep, a script that is submitted every night. A cache belongs to one site, whose
 * devices and bundle its estimates point to, and must not outlive it.
 *
 * The cache is plain memory of a fixed size without a lock. Who shares one among
 * threads locks it, see struct dn_cache_access.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CACHE_H
#define DN_CACHE_H

#include "graph/sidecar.h"
#include "predict/predict.h"

/* Different runs that are kept. A user who submits more of them replaces those that
 * were not asked for the longest, which costs others a prediction and nothing else. An
 * entry has 27 KiB, 16 of them for a sidecar: all together stay below 2 MiB.
 */
#define DN_CACHE_ENTRIES_MAX 64

/* The values of all keys of a specification, and the addresses of the devices. */
#define DN_CACHE_KEY_MAX 1280

/* What decides the estimates of a job on its site. */
struct dn_cache_key {
    uint64_t hash; /* keys with different ones differ */
    size_t len;    /* 0: the job is not to be kept */
    unsigned char bytes[DN_CACHE_KEY_MAX];
    struct dn_span sidecar; /* that describes the network, borrowed; empty: none does */
    int n_devices;          /* and so estimates */
};

/* Write the key of a run: the resolved specification, the text of the sidecar if the
 * network is described there (NULL: 'spec' names it), the devices in their order, and
 * the CPUs per GPU of the request. False, and a key with 'len' 0, where the sidecar is
 * longer than what travels with a job.
 */
bool dn_cache_key_of (const struct dn_spec *spec,
                      const char *sidecar,
                      const struct dn_device *const devices[],
                      int n_devices,
                      double cpus_per_gpu,
                      struct dn_cache_key *key);

struct dn_cache_entry {
    size_t len;
    size_t sidecar_len;
    int n_devices;
    unsigned char bytes[DN_CACHE_KEY_MAX];
    char sidecar[DN_SIDECAR_HANDOVER_MAX];
    struct dn_estimate estimates[DN_CANDIDATES_MAX];
};

/* All bytes 0: an empty cache. What is searched lies together. */
struct dn_cache {
    uint64_t n_calls;                    /* of the functions below */
    uint64_t used[DN_CACHE_ENTRIES_MAX]; /* at which call; 0: the entry is empty */
    uint64_t hashes[DN_CACHE_ENTRIES_MAX];
    struct dn_cache_entry entries[DN_CACHE_ENTRIES_MAX];
};

/* Fill 'estimates' with those of the same key, byte for byte; false if there are none.
 */
bool dn_cache_find (struct dn_cache *cache,
                    const struct dn_cache_key *key,
                    struct dn_estimate estimates[]);

/* Keep 'estimates' under 'key', in the place of those that were used longest ago. */
void dn_cache_put (struct dn_cache *cache,
                   const struct dn_cache_key *key,
                   const struct dn_estimate estimates[]);

/* A cache as dn_advise () is given it: the same two functions, locked where threads
 * share it. Each may do nothing, find () then returns false.
 */
struct dn_cache_access {
    bool (*find) (struct dn_cache_access *self,
                  const struct dn_cache_key *key,
                  struct dn_estimate estimates[]);
    void (*put) (struct dn_cache_access *self,
                 const struct dn_cache_key *key,
                 const struct dn_estimate estimates[]);
};

#endif
