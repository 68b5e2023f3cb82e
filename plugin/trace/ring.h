/* ring.h - a bounded queue from many threads to one, in which nobody waits
 *
 * Each slot has a turn of its own, so threads that put something in only compete for
 * its number, and one that is held up half-way holds up nobody but the reader. A full
 * queue refuses; so does one for which too many others compete.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RING_H
#define DN_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A power of two. At 2000 decisions a second, and no site comes near them, it is full
 * after a second.
 */
#define DN_RING_SIZE 2048

struct dn_ring {
    struct {
        _Atomic size_t turn; /* whose it is: N is free for N, N + 1 holds N's item */
        void *item;
    } slots[DN_RING_SIZE];
    _Atomic size_t in; /* the next to be put in */
    size_t out;        /* the next to be taken out; the reader's own */
};

/* An empty queue. Nobody may use it yet, or any more. */
void dn_ring_init (struct dn_ring *ring);

/* Put 'item' in; false if it was refused. Callable from any thread. */
bool dn_ring_put (struct dn_ring *ring, void *item);

/* Take the oldest item out; NULL when there is none. One thread at a time. */
void *dn_ring_get (struct dn_ring *ring);

#endif
