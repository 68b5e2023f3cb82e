/* assumed.h - what a prediction takes for keys that were not given
 *
 * In: a resolved specification, its network. Out: pairs of a key and the value that the
 * predictor uses instead, for a person who reads the prediction.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ASSUMED_H
#define DN_ASSUMED_H

#include "graph/graph.h"

/* Assumptions about one run, at most. */
#define DN_ASSUMED_MAX 11

struct dn_assumption {
    const char *key;
    char value[DN_VALUE_MAX];
    bool is_value; /* as metadata states it; else 'value' is in words */
};

/* Fill 'list' and return the number: the length of samples, the precision, the
 * optimizer, the framework, the kernels of attention, the year of the software, what
 * samples are decoded from, their size and the loader's workers, how GPUs share the
 * work, the network between nodes. A key that the run does not need is left out.
 */
int dn_assumed (const struct dn_spec *spec,
                const struct dn_graph *graph,
                struct dn_assumption list[DN_ASSUMED_MAX]);

#endif
