/* guests.h - how much jobs of other GPU types may hold of a type
 *
 * A guest runs on a type that it did not request. Jobs that request the type may come
 * at once, and then some of them wait for a guest. If all GPUs of the type were shared
 * evenly, each would wait for the GPU seconds that guests still hold, over the GPUs: so
 * this is what is bounded, by a share of the mean time limit of those jobs. Short
 * guests and those that end soon count little.
 *
 * On few GPUs that alone would leave all of them idle while others wait, so a first
 * guest may come, and all where no job requests the type; but never to more than half.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GUESTS_H
#define DN_GUESTS_H

#include <stdbool.h>
#include <stdint.h>

/* Of the jobs that run or wait on a pool of nodes. */
struct dn_guests {
    double gpus;      /* of its nodes, whether idle or not */
    double held_gpus; /* of guests */
    double held_s;    /* the same, times what is left of their limits */
    double own_s;     /* GPUs of the others, times their limits */
    double own_gpus;  /* of the others that have a limit */
};

/* 'limit_s': 0 or INFINITY: none. 'left_s' of it counts for a guest. */
void dn_guests_add (struct dn_guests *guests,
                    bool guest,
                    double gpus,
                    double limit_s,
                    double left_s);

/* May another guest come to a type that has these pools (as bits)? With it guests hold
 * at most half of the GPUs. If there are other guests, and others: of the GPU time of
 * guests and that of all GPUs for the mean limit of the others together, the latter
 * must be the share 'keep'. 'keep' 0: in any case; 1: in none.
 */
bool dn_guests_may (const struct dn_guests *guests,
                    uint64_t pools,
                    double keep,
                    double gpus,
                    double limit_s);

#endif
