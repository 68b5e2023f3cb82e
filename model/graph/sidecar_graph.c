/* sidecar_graph.c - the graph of a job's description
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "base/messages.h"
#include "graph/passes.h"
#include "graph/sidecar.h"

/* The layers define a described network. Of the keys of a network, model= is only a
 * label there, and the predictor reads seq_len= and image= unless they override those
 * of the sidecar.
 */
static struct dn_keyset unread_beside (const struct dn_layers *layers,
                                       const struct dn_spec *spec)
{
    struct dn_keyset tokens = dn_keyset_or (DN_KEYSET (seq_len), DN_KEYSET (image));
    struct dn_keyset read = dn_keyset_minus (tokens, layers->overridden);

    return dn_keyset_minus (dn_spec_network_keys (spec),
                            dn_keyset_or (read, DN_KEYSET (model)));
}

/* The operators of one forward pass, and what of them learns. */
static int build_pass (const struct dn_networks *networks,
                       const struct dn_layers *layers,
                       const struct dn_spec *spec,
                       const struct dn_deadline *deadline,
                       struct dn_graph *graph,
                       struct dn_err *err)
{
    if (layers->n == 0)
        return dn_graph_build_by (networks, spec, deadline, graph, err);
    if (dn_layers_graph_by (layers, deadline, graph, err) < 0)
        return dn_err_wrap (err, "graph");
    if (dn_graph_check (graph, spec, err) < 0) {
        dn_graph_free (graph);
        return -1;
    }
    if (spec->trainable >= 0)
        dn_graph_freeze (graph, spec->trainable);
    graph->unread = unread_beside (layers, spec);
    if (spec->name[0] != '\0')
        memcpy (graph->name, spec->name, sizeof (graph->name));
    return 0;
}

int dn_sidecar_graph_by (const struct dn_networks *networks,
                         const struct dn_layers *layers,
                         const struct dn_spec *spec,
                         const struct dn_deadline *deadline,
                         struct dn_graph *graph,
                         struct dn_err *err)
{
    if (build_pass (networks, layers, spec, deadline, graph, err) < 0)
        return -1;
    if (dn_passes_add (networks, spec, deadline, graph, err) == 0)
        return 0;
    dn_graph_free (graph);
    return -1;
}
