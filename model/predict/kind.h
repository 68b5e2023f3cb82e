/* kind.h - what sort of run a bundle was validated on
 *
 * In: the graph and the specification of a run. Out: names of the kind of network and
 * of the stack that runs it, under which a bundle keeps where its correction counts
 * and how wide its bounds are. Names of models are not looked at.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_KIND_H
#define DN_KIND_H

#include "graph/graph.h"

/* The kind of network, by what most of the FLOPs are spent on: "recurrent"; of
 * convolutions "signal" (one dimension), "volume" (three), "depthwise" or "conv";
 * "attention"; "tables" where embeddings hold most parameters; or "other".
 */
const char *dn_network_kind (const struct dn_graph *graph);

/* The stack of a run that states none. */
#define DN_STACK_UNSTATED "unknown"

/* Write the stack as it was stated: "pytorch", "tensorflow+ngc+compile"; a framework
 * that was not stated is "unknown". A plain stack is one that was not stated.
 */
void dn_stack_name (const struct dn_spec *spec, char name[DN_NAME_MAX]);

#endif
