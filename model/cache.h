/* cache.h - estimates of earlier jobs, for jobs with the same input
 *
 * A prediction depends only on the site and the key, so a job with the network, run and
 * candidates of an earlier one needs no new prediction. Examples are the jobs of a
 * sweep and a script that is submitted every night. A cache belongs to one site and
 * must not outlive it, because the estimates point to the site's devices and bundle.
 *
 * The cache is memory of a fixed size without a lock. A caller with several threads
 * must lock it, see struct dn_cache_access.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CACHE_H
#define DN_CACHE_H

#include "graph/sidecar.h"
#include "predict/predict.h"

/* Number of entries. A user who submits more different runs evicts the least recently
 * used entries, which only costs other users a prediction. An entry has 27 KiB, 16 of
 * them for a sidecar, so a cache is smaller than 2 MiB.
 */
#define DN_CACHE_ENTRIES_MAX 64

/* The input of a job's estimates, apart from the site. It is compared byte by byte,
 * with its padding, which is 0: a key that differs only there would cost a prediction.
 */
struct dn_cache_input {
    struct dn_spec spec;
    double cpus_per_gpu;
    int64_t user;
    size_t n_devices; /* also the number of estimates */
    const struct dn_device *devices[DN_CANDIDATES_MAX];
};

struct dn_cache_key {
    uint64_t hash; /* equal for equal keys; 0: the job is not cached */
    struct dn_cache_input input;
    struct dn_span sidecar; /* describes the network; borrowed; empty: none */
};

/* Make the key of a run: the resolved specification, the text of the sidecar if that
 * describes the network (NULL: 'spec' names it), the devices in their order, the CPUs
 * per GPU of the request, and whose history counts. False, and a key that is not
 * cached, where the sidecar is longer than a job may carry.
 */
bool dn_cache_key_of (const struct dn_spec *spec,
                      const char *sidecar,
                      const struct dn_device *const devices[],
                      int n_devices,
                      double cpus_per_gpu,
                      int64_t user,
                      struct dn_cache_key *key);

struct dn_cache_entry {
    struct dn_cache_input input;
    size_t sidecar_len;
    char sidecar[DN_SIDECAR_HANDOVER_MAX];
    struct dn_estimate estimates[DN_CANDIDATES_MAX];
};

/* All bytes 0: an empty cache. The members that are searched are adjacent in memory. */
struct dn_cache {
    uint64_t n_calls;                    /* uses of entries so far */
    uint64_t used[DN_CACHE_ENTRIES_MAX]; /* the call of its last use; 0: empty */
    uint64_t hashes[DN_CACHE_ENTRIES_MAX];
    struct dn_cache_entry entries[DN_CACHE_ENTRIES_MAX];
};

/* Copy the estimates of 'key' to 'estimates'; false if there are none. */
bool dn_cache_find (struct dn_cache *cache,
                    const struct dn_cache_key *key,
                    struct dn_estimate estimates[]);

/* Store 'estimates' under 'key'; the least recently used entry is replaced. */
void dn_cache_put (struct dn_cache *cache,
                   const struct dn_cache_key *key,
                   const struct dn_estimate estimates[]);

/* A cache as dn_advise () uses it: the same two functions, with a lock where threads
 * share it. Both may do nothing; find () then returns false.
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
