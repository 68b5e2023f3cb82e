/* recurrent.h - time that a recurrent layer waits for its own steps; private to
 * predict/
 *
 * A layer of libraries such as cuDNN multiplies the inputs of all steps at once, which
 * is a product like others. What a step adds is a product with the state of the step
 * before, in a kernel that starts when that step has ended, and whose tiles are too few
 * to hide how long a tile takes to pass its features. The weights' gradient is one
 * product again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RECURRENT_H
#define DN_RECURRENT_H

#include "predict/setup.h"

/* Seconds in one pass of the layer, or of another operator whose steps wait for one
 * another; 0 if none do, or if the host launches them one by one. 'backward': of the
 * activation's gradient.
 */
double dn_recurrent_wait (const struct dn_setup *c,
                          const struct dn_op *op,
                          bool backward);

/* Does the version of PyTorch (torch=) decide which kernels run a recurrent layer? */
bool dn_recurrent_reads_torch (const struct dn_case *c);

#endif
