/* passes.h - steps that do more than one forward and one backward pass
 *
 * Applied to a graph whose operators are those of one forward pass, after what learns
 * is known (tune.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PASSES_H
#define DN_PASSES_H

#include "graph/graph.h"

/* Add what method=, passes= and teacher= state. A teacher is a network of the zoo or of
 * 'networks' (NULL: none). Return 0, or -1 with 'err' set; the caller frees 'graph'.
 */
int dn_passes_add (const struct dn_networks *networks,
                   const struct dn_spec *spec,
                   const struct dn_deadline *deadline,
                   struct dn_graph *graph,
                   struct dn_err *err) DN_COLD;

#endif
