/* guests.c - how much jobs of other GPU types may hold of a type
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/plan/guests.h"

#include <math.h>

void dn_guests_add (struct dn_guests *guests,
                    bool guest,
                    double gpus,
                    double limit_s,
                    double left_s)
{
    if (guest) {
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
    struct dn_guests sum = {.held_s = gpus * limit_s};
    double mean_s;

    for (int i = 0; pools >> i != 0; i++)
        if (pools >> i & 1) {
            sum.gpus += guests[i].gpus;
            sum.held_s += guests[i].held_s;
            sum.own_s += guests[i].own_s;
            sum.own_gpus += guests[i].own_gpus;
        }
    mean_s = sum.own_gpus > 0 ? sum.own_s / sum.own_gpus : limit_s;
    return keep <= 0 /* also without a limit */
           || keep * sum.held_s <= (1 - keep) * sum.gpus * mean_s * (1 + 1e-9);
}
