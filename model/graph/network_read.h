/* network_read.h - one size of a network that is a file
 *
 * In: the object "graph" of a file. Out: its operators. An operator is a layer of a
 * sidecar ("ops"), or has the members of struct dn_op itself ("operators").
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_NETWORK_READ_H
#define DN_NETWORK_READ_H

#include "graph/graph.h"

struct json_object;

struct dn_drawn {
    struct dn_graph graph;    /* owned; without its totals */
    struct dn_keyset *growth; /* owned; of each operator: the keys that it grows with */
};

/* Read it by a deadline (NULL: none), with what 'size', an object of "sized", has in
 * its place (NULL: nothing). -1 with 'err' and 'drawn' empty.
 */
int dn_network_read (struct json_object *json,
                     struct json_object *size,
                     const struct dn_deadline *deadline,
                     struct dn_drawn *drawn,
                     struct dn_err *err) DN_COLD;

/* Numbers of an operator and of a graph that can depend on a size. */
struct dn_network_number {
    const char *key;
    size_t offset;
    bool grows; /* of an operator that grows with a key */
};
extern const struct dn_network_number dn_op_numbers[];
extern const int dn_n_op_numbers;
extern const struct dn_network_number dn_graph_numbers[];
extern const int dn_n_graph_numbers;

double *dn_network_number (void *of, const struct dn_network_number *number);

/* NULL-safe, leaves nothing. */
void dn_drawn_free (struct dn_drawn *drawn);

#endif
