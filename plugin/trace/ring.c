/* ring.c - a bounded queue from many threads to one, in which no thread waits
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "trace/ring.h"

#include <stdint.h>

/* An attempt fails only if another thread succeeds. After so many failures, give up. */
#define ATTEMPTS 256

_Static_assert((DN_RING_SIZE & (DN_RING_SIZE - 1)) == 0, "numbers may wrap around");

void dn_ring_init (struct dn_ring *ring)
{
    for (size_t i = 0; i < DN_RING_SIZE; i++) {
        atomic_init (&ring->slots[i].turn, i);
        ring->slots[i].item = NULL;
    }
    atomic_init (&ring->in, 0);
    ring->out = 0;
}

bool dn_ring_put (struct dn_ring *ring, void *item)
{
    size_t mine = atomic_load_explicit (&ring->in, memory_order_relaxed);

    for (int i = 0; i < ATTEMPTS; i++) {
        _Atomic size_t *turn = &ring->slots[mine % DN_RING_SIZE].turn;
        intptr_t ahead =
            (intptr_t) (atomic_load_explicit (turn, memory_order_acquire) - mine);

        if (ahead < 0)
            return false; /* it still holds the item of the previous round */
        if (ahead > 0) {
            mine = atomic_load_explicit (&ring->in, memory_order_relaxed);
            continue;
        }
        if (!atomic_compare_exchange_weak_explicit (
                &ring->in, &mine, mine + 1, memory_order_relaxed, memory_order_relaxed))
            continue;
        ring->slots[mine % DN_RING_SIZE].item = item;
        atomic_store_explicit (turn, mine + 1, memory_order_release);
        return true;
    }
    return false;
}

void *dn_ring_get (struct dn_ring *ring)
{
    size_t mine = ring->out;
    _Atomic size_t *turn = &ring->slots[mine % DN_RING_SIZE].turn;
    void *item;

    if (atomic_load_explicit (turn, memory_order_acquire) != mine + 1)
        return NULL;
    item = ring->slots[mine % DN_RING_SIZE].item;
    ring->out = mine + 1;
    atomic_store_explicit (turn, mine + DN_RING_SIZE, memory_order_release);
    return item;
}
