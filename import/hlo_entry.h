/* hlo_entry.h - the parameters of the entry of an HLO module: weights, data, batch
 *
 * In: a parsed module. Out: whether it is a whole training step, the batch, and which
 * of its parameters are learned. HLO states none of this, so it is inferred from
 * shapes. A step returns arrays that have the shapes of its weights; the other
 * parameters are data.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HLO_ENTRY_H
#define DN_HLO_ENTRY_H

#include "import/hlo_text.h"

enum dn_hlo_pass {
    DN_HLO_PASS_GUESS,
    DN_HLO_PASS_STEP,
    DN_HLO_PASS_FORWARD
};

struct dn_hlo_entry {
    bool step;
    double batch;
    double params;        /* learned */
    double tensors;       /* number of learned arrays */
    double states;        /* arrays of an optimizer per learned one */
    double data_elements; /* of the batch */
    double data_bytes;
    /* Shapes of weights and of optimizer states, private */
    uint64_t *weights; /* owned */
    int n_weights;
};

/* 'batch' 0: find it. -1 with 'err' and nothing to free. */
int dn_hlo_entry_find (const struct dn_hlo *module,
                       enum dn_hlo_pass pass,
                       double batch,
                       struct dn_hlo_entry *entry,
                       struct dn_err *err);

/* NULL-safe. */
void dn_hlo_entry_free (struct dn_hlo_entry *entry);

/* Does the array have the shape of a weight, in any order of dimensions? */
bool dn_hlo_is_weight (const struct dn_hlo *module,
                       const struct dn_hlo_entry *entry,
                       const struct dn_hlo_array *array);

/* Is it an array per sample: not a weight, with a dimension that is a multiple of the
 * batch?
 */
bool dn_hlo_is_batched (const struct dn_hlo *module,
                        const struct dn_hlo_entry *entry,
                        const struct dn_hlo_array *array);

#endif
