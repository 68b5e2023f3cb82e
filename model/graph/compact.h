/* compact.h - fewer layers that say the same, or nearly
 *
 * In: the layers of a network. Out: the same for its journey to slurmctld. First what
 * changes nothing: shapes without what no operator asks for, equal layers together.
 * Then what changes little: layers whose sizes are alike as so many of their mean size,
 * with the totals of parameters and of what is kept as they were, those of operations
 * and elements but for rounding. Never: the order of those that are left.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_COMPACT_H
#define DN_COMPACT_H

#include "graph/layer.h"

/* Drop names and all that predicts nothing; put equal layers together. */
void dn_layers_simplify (struct dn_layers *layers);

/* Put layers together whose sizes differ by no more than 'alike', a fraction. 'fewer'
 * is to be freed; -1 without memory.
 */
int dn_layers_fewer (const struct dn_layers *layers,
                     double alike,
                     int n_min,
                     struct dn_layers *fewer);

#endif
