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
#define SMALL_FIRST_ARCH DN_ARCH_PASCAL

static bool is_small (const struct dn_setup *c, double hidden)
{
    int version = dn_spec_torch (c->spec);

    return dn_has_habit (c, DN_HABIT_TORCH) && c->device->arch >= SMALL_FIRST_ARCH
           && c->device->arch <= DN_ARCH_BLACKWELL && hidden <= SMALL_HIDDEN_MAX
           && (version < 0 || version >= FIRST_SMALL);
}

double dn_recurrent_wait (const struct dn_setup *c,
                          const struct dn_op *op,
                          bool backward)
{
    const struct dn_constants *k = c->constants;
    double hidden = op->out / (op->m * op->batches);
    double step = c->device->measured.recurrence_s;
    double factor = backward ? k->recurrence_backward : 1;

    if (op->steps <= 1 || op->calls > 1)
        return 0;
    if (step <= 0)
        step = k->recurrence_s;
    if (op->kind != DN_OP_RNN)
        return op->steps * step;
    if (is_small (c, hidden))
        return op->steps * k->recurrence_small_s * factor;
    return op->steps
           * (step * factor + k->recurrence_feature_s * (backward ? op->n : hidden));
}
