/* reserved.h - the reservations of the cluster, and since when they are known
 *
 * A job whose own limit would have crossed a reservation that existed when it started
 * could start only because its limit had been lowered: it ends before the reservation.
 * One that was made later shortens no job. Slurm does not tell when a reservation was
 * made, but when its table last changed, which is never earlier.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GUARD_RESERVED_H
#define DN_GUARD_RESERVED_H

#include "slurm/slurm_link.h"

struct dn_reserved {
    char *name;
    char *nodes; /* a hostlist */
    int64_t from;
    int64_t known_s; /* made then or before, seconds since 1970 */
};

/* Zeroed: none has been read. */
struct dn_reservations {
    struct dn_reserved *list; /* owned, as its texts */
    int64_t n;
};

/* Read those that have not ended at 'now_s'. One with another name, begin or nodes is
 * another. -1 with 'err'; then the old ones stay.
 */
int dn_reservations_read (struct dn_reservations *reservations,
                          struct dn_link *link,
                          int64_t now_s,
                          struct dn_err *err);

/* The first one of a node of the job for others that was known when it started and
 * begins before 'until_s'; NULL: none.
 */
const struct dn_reserved *dn_reservations_first (
    const struct dn_reservations *reservations,
    const struct dn_link_job *job,
    int64_t until_s);

void dn_reservations_free (struct dn_reservations *reservations);

#endif
