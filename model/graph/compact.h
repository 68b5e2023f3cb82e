/* compact.h - merging layers that are equal or similar
 *
 * In: the layers of a network. Out: fewer of them, to be sent to slurmctld. The first
 * step changes no prediction: it drops sizes that no operator reads and merges equal
 * layers. The second step changes predictions little: it replaces layers of similar
 * sizes by as many of their mean size. The totals of parameters and saved elements stay
 * the same, those of operations and elements but for rounding. Never: the order of the
 * layers that are left.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_COMPACT_H
#define DN_COMPACT_H

#include "graph/layer.h"

/* Merge equal layers in the place of the first, whose 'repeat' counts them. */
void dn_layers_merge (struct dn_layers *layers);

/* Drop names and all that has no effect on predictions; merge equal layers. */
void dn_layers_simplify (struct dn_layers *layers);

/* Merge layers whose sizes differ by at most the fraction 'alike', but keep at least
 * 'n_min'. The caller frees 'fewer'; -1 if out of memory.
 */
int dn_layers_fewer (const struct dn_layers *layers,
                     double alike,
                     int n_min,
                     struct dn_layers *fewer);

#endif
