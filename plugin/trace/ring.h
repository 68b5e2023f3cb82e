/* ring.h - a bounded queue from many threads to one, in which no thread waits
 *
 * Each slot has its own turn, so threads that put items in compete only for its number.
 * A thread that is stopped half-way delays only the reader. dn_ring_put () fails if the
 * queue is full or if too many threads compete.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RING_H
#define DN_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A power of two. About one second of 2000 decisions per second, which is more than any
 * site makes.
 */
#define DN_RING_SIZE 2048

struct dn_ring {
    struct {
        _Atomic size_t turn; /* N: free for item N; N + 1: holds item N */
        void *item;
    } slots[DN_RING_SIZE];
    _Atomic size_t in; /* number of the next item put in */
    size_t out;        /* number of the next item taken out; only the reader uses it */
};

/* Make the queue empty. No other thread may use it meanwhile. */
void dn_ring_init (struct dn_ring *ring);

/* Put 'item' in; false if that failed. Callable from any thread. */
bool dn_ring_put (struct dn_ring *ring, void *item);

/* Take the oldest item out; NULL when there is none. One thread at a time. */
void *dn_ring_get (struct dn_ring *ring);

#endif
