/* anatomy.h - where the time of a step goes: kinds of operators, and the longest of
 * them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ANATOMY_H
#define DN_ANATOMY_H

#include "subject.h"

/* Operators of one kind, or of one kind and size. */
struct dn_op_group {
    const struct dn_op *op; /* the first of them; NULL: none */
    double count;
    double forward_flops; /* of all of them, per sample */
    double params;
    struct dn_op_time time;
};

/* The content of 'dnnest explain'. */
struct dn_anatomy {
    const struct dn_subject *subject; /* borrowed */
    struct dn_estimate estimate;
    enum dn_bottleneck bottleneck; /* of the step */
    double device_s;               /* seconds that the device works in a step */
    struct dn_op_group kinds[DN_N_OP_KINDS];
    struct dn_op_group *tops; /* owned: operators of equal size, longest first */
    int n_tops;
};

/* Predict 'subject' on 'device' and split the step into its parts. -1 if out of memory.
 * The caller frees it with dn_anatomy_free ().
 */
int dn_anatomy_find (const struct dn_site *site,
                     const struct dn_subject *subject,
                     const struct dn_device *device,
                     struct dn_anatomy *anatomy,
                     struct dn_err *err);

/* NULL-safe. */
void dn_anatomy_free (struct dn_anatomy *anatomy);

/* Seconds of the backward pass, including forward passes that it repeats. */
double dn_op_backward (const struct dn_op_time *time);

/* The size of an operator for one sample: "3136x64x576" (rows, columns, depth) of a
 * product, "12*128x128x64" of twelve products, the elements read of any other operator.
 */
struct dn_shown dn_op_size (const struct dn_op *op);

#endif
