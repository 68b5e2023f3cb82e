/* recurrent.c - time that a recurrent layer waits for its own steps
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/recurrent.h"

/* PyTorch 1.12 has the kernels for small layers (pull request 62143): one block keeps
 * the weights of all steps. LSTMs of 32 to 128 features gain, from 152 on they lose.
 */
#define FIRST_SMALL      112
#define SMALL_HIDDEN_MAX 128

static double hidden_of (const struct dn_op *op)
{
    return op->out / (op->m * op->batches);
}

/* Do the steps of the operator wait for one another on the device? */
static bool has_steps (const struct dn_op *op)
{
    return op->steps > 1 && op->calls <= 1;
}

/* device NULL: any. */
static bool could_be_small (const struct dn_spec *spec,
                            const struct dn_device *device,
                            const struct dn_op *op)
{
    return (dn_habits_of (spec) & DN_HABIT_TORCH) != 0 && op->kind == DN_OP_RNN
           && hidden_of (op) <= SMALL_HIDDEN_MAX
           && (!device || device->generation->small_recurrent);
}

bool dn_recurrent_reads_torch (const struct dn_case *c)
{
    for (int i = 0; i < c->graph->n_ops; i++) {
        const struct dn_op *op = &c->graph->ops[i];

        if (has_steps (op) && could_be_small (c->spec, c->device, op))
            return true;
    }
    return false;
}

static bool is_small (const struct dn_setup *c, const struct dn_op *op)
{
    int version = dn_spec_torch (c->spec);

    return could_be_small (c->spec, c->device, op)
           && (version < 0 || version >= FIRST_SMALL);
}

double dn_recurrent_wait (const struct dn_setup *c,
                          const struct dn_op *op,
                          bool backward)
{
    const struct dn_constants *k = c->constants;
    double step = c->device->measured.recurrence_s;
    double factor = backward ? k->recurrence_backward : 1;

    if (!has_steps (op))
        return 0;
    if (step <= 0)
        step = k->recurrence_s;
    if (op->kind != DN_OP_RNN)
        return op->steps * step;
    if (is_small (c, op))
        return op->steps * k->recurrence_small_s * factor;
    return op->steps
           * (step * factor
              + k->recurrence_feature_s * (backward ? op->n : hidden_of (op)));
}
