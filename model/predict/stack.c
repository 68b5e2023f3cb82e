/* stack.c - how well the code and the host of a run are tuned
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stack.h"

#include <math.h>

#include "predict/attend.h"
#include "predict/habits.h"

/* Is a copy of the weights spread over devices? Such code is written for networks that
 * take weeks.
 */
static bool is_spread (const struct dn_case *c)
{
    const struct dn_spec *spec = c->spec;

    return spec->parallel >= DN_PARALLEL_ZERO1 || spec->tp * spec->pp > 1
           || spec->cp > 1 || (spec->ep > 1 && c->graph->experts > 0);
}

/* Was the software of the run stated to be of 2023 or later? */
static bool is_stated_modern (const struct dn_spec *spec)
{
    return (spec->since != DN_UNSET || dn_spec_torch (spec) >= 0)
           && dn_attention_is_modern (spec);
}

bool dn_reads_layout (const struct dn_case *c)
{
    bool matrix = true;

    if (c->device)
        dn_device_peak (
            c->device, dn_device_precision (c->device, c->spec->precision), &matrix);
    for (int i = 0; matrix && i < c->graph->n_ops; i++) {
        const struct dn_op *op = &c->graph->ops[i];

        if (op->kind == DN_OP_CONV && op->dims == 2 && op->batches <= 1)
            return true;
    }
    return false;
}

static bool has_modern_device (const struct dn_case *c)
{
    return c->device && c->device->generation->modern_code;
}

bool dn_reads_age (const struct dn_case *c)
{
    unsigned habits = dn_habits_of (c->spec);

    if ((habits & DN_HABIT_TUNED) != 0 || (habits & DN_HABIT_TORCH) == 0)
        return false;
    return !has_modern_device (c) || is_stated_modern (c->spec);
}

static double tuned_share (const struct dn_case *c)
{
    const struct dn_constants *k = c->constants;
    const struct dn_spec *spec = c->spec;
    bool modern =
        has_modern_device (c) || (dn_reads_age (c) && is_stated_modern (spec));
    double share = 0;

    if (dn_habits_of (spec) & DN_HABIT_TUNED)
        return 1;
    share += is_spread (c) ? k->tuned_spread : 0;
    share +=
        spec->layout == DN_LAYOUT_NHWC && dn_reads_layout (c) ? k->tuned_layout : 0;
    share += modern ? k->tuned_modern : 0;
    return fmin (share, 1);
}

struct dn_stack_factors dn_stack_factors_of (const struct dn_case *c)
{
    const struct dn_constants *k = c->constants;
    unsigned habits = dn_habits_of (c->spec);
    double tuned = tuned_share (c);
    double host = (c->device->generation->new_host ? k->host_new : 1)
                  * (habits & DN_HABIT_GRAPH ? k->graph_launch : 1);

    return (struct dn_stack_factors){
        .tuned = tuned,
        .tensor = pow (k->ngc_tensor, tuned),
        .memory = pow (k->ngc_memory, tuned),
        .grouped = pow (k->ngc_grouped, tuned),
        .launch =
            host * (habits & DN_HABIT_PLAIN_LAUNCH ? 1 : pow (k->ngc_launch, tuned)),
        .step = host * pow (k->ngc_step, tuned),
    };
}
