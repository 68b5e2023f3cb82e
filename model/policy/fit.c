/* fit.c - how much GPU memory the rules require, and the batch that fits
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/policy.h"

#include <math.h>

/* The bound on the GPU memory of a move; MemoryHeadroom is added to it. */
#define MEMORY_QUANTILE 0.95

/* That of dn_estimate_may_fit (). */
#define LIKELY_QUANTILE 0.3

double dn_policy_memory (const struct dn_rules *rules,
                         const struct dn_estimate *estimate)
{
    return dn_range_at (estimate->gpu_mem, MEMORY_QUANTILE)
           * (1 + rules->memory_headroom);
}

int64_t dn_policy_largest_batch (const struct dn_rules *rules, const struct dn_case *c)
{
    return dn_whitebox_largest_batch (c, MEMORY_QUANTILE, rules->memory_headroom);
}

bool dn_policy_may_hold_one (const struct dn_case *c)
{
    return dn_whitebox_largest_batch (c, LIKELY_QUANTILE, 0) > 0;
}

int64_t dn_policy_fitting_batch (const struct dn_rules *rules,
                                 const struct dn_case *c,
                                 const struct dn_estimate *estimate)
{
    struct dn_estimate white;

    dn_whitebox (c, &white);
    return dn_whitebox_largest_batch (
        c, 0.5, dn_max (dn_policy_memory (rules, estimate) / white.gpu_mem.p50 - 1, 0));
}
