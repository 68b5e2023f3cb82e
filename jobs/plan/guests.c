/* guests.c - how much jobs of other GPU types may hold of a type
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/plan/guests.h"

#include <math.h>

/* Of the GPUs of a type, that guests hold at most. */
#define MOST 0.5

void dn_guests_add (struct dn_guests *guests,
                    bool guest,
                    double gpus,
                    double limit_s,
                    double left_s)
{
    if (guest) {
        guests->held_gpus += gpus;
        guests->held_s += gpus * left_s;
    } else if (limit_s > 0 && isfinite (limit_s)) {
        guests->own_s += gpus * limit_s;
        guests->own_gpus += gpus;
    }
}

bool dn_guests_may (const struct dn_guests *guests,
                    uint64_t pools,
                    double keep,
                    double gpus,
                    double limit_s)
{
    struct dn_guests sum = {0};

    for (int i = 0; pools >> i != 0; i++)
        if (pools >> i & 1) {
            sum.gpus += guests[i].gpus;
            sum.held_gpus += guests[i].held_gpus;
            sum.held_s += guests[i].held_s;
            sum.own_s += guests[i].own_s;
            sum.own_gpus += guests[i].own_gpus;
        }
    if (keep <= 0)
        return true;
    if (keep >= 1 || sum.held_gpus + gpus > MOST * sum.gpus)
        return false;
    if (sum.held_gpus <= 0 || sum.own_gpus <= 0)
        return true;
    return keep * (sum.held_s + gpus * limit_s)
           <= (1 - keep) * sum.gpus * (sum.own_s / sum.own_gpus) * (1 + 1e-9);
}
