/* fit.c - how much GPU memory the rules require, and the batch that fits
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/policy.h"

#include <math.h>

/* The bound on the GPU memory of a move; MemoryHeadroom is added to it. */
#define MEMORY_QUANTILE 0.95

/* Above that many operators the search for a batch would take milliseconds. */
#define SEARCHED_OPS 1000

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

/* The largest batch by the estimate, which may differ from the white box by a factor
 * and in its bound.
 */
static int64_t fitting_batch (const struct dn_rules *rules,
                              const struct dn_case *c,
                              const struct dn_estimate *estimate)
{
    struct dn_estimate white;

    dn_whitebox (c, &white);
    return dn_whitebox_largest_batch (
        c, 0.5, fmax (dn_policy_memory (rules, estimate) / white.gpu_mem.p50 - 1, 0));
}

void dn_policy_suggest_batch (const struct dn_rules *rules,
                              const struct dn_case *c,
                              const struct dn_estimate *estimate,
                              struct dn_decision *decision)
{
    struct dn_warning *warning = dn_decision_warning (decision, DN_WARNING_MEMORY);
    int64_t batch;

    if (!warning || c->graph->n_ops > SEARCHED_OPS)
        return;
    batch = fitting_batch (rules, c, estimate);
    dn_warning_add (warning,
                    batch > 0 ? &DN_REASON (warn_batch, dn_arg_count (batch))
                              : &DN_REASON (warn_no_batch));
}
