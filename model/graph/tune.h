/* tune.h - fine-tuning: what of a network learns, and the adapters beside it
 *
 * Applied to the graph of a network of the zoo after its builder. What does not learn
 * counts as frozen: no gradient of its weights, no optimizer; gradients of activations
 * pass through it as far back as something learns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TUNE_H
#define DN_TUNE_H

#include "base/deadline.h"
#include "graph/graph.h"

/* Apply trainable=, frozen=, lora=, lora_targets= and quant= to the graph. Return 0, or
 * -1 with 'err' naming the key, and what exists where a name does not, or when
 * 'deadline' (may be NULL) has passed.
 */
int dn_tune (struct dn_graph *graph,
             const struct dn_spec *spec,
             const struct dn_deadline *deadline,
             struct dn_err *err);

/* Add low-rank adapters of rank 'rank' beside the layers in 'names' ("": query and
 * value): two products, a scale and a sum for each (Hu et al., arXiv 2106.09685).
 * needed[op.source] is set for the inputs that they keep. -1 with 'err' set and the
 * graph unchanged.
 */
int dn_adapters_add (struct dn_graph *graph,
                     double rank,
                     const char *names,
                     bool *needed,
                     struct dn_err *err);

#endif
