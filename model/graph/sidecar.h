/* sidecar.h - a job's description in JSON, version 1: see dnnest.sidecar(5)
 *
 * In: the text of a sidecar. Out: the specification, and the layers of a network, which
 * replace the zoo's. etc/sidecar.schema.json.in is the same for programs. The text may
 * be hostile: unknown keys are errors, every number has a range, and the caller bounds
 * the length.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SIDECAR_H
#define DN_SIDECAR_H

#include "graph/layer.h"

#define DN_SIDECAR_VERSION 1

/* Bytes that slurmctld reads from a file, that are sent with a job, and that a client
 * reads. The client merges large graphs. A variable of the environment can hold 128
 * KiB, but with 16 KiB the job's record in slurmctld stays small.
 */
#define DN_SIDECAR_SERVER_MAX   (64 * 1024)
#define DN_SIDECAR_HANDOVER_MAX (16 * 1024)
#define DN_SIDECAR_CLIENT_MAX   (8 * 1024 * 1024)

/* Objects and values of a sidecar that came with a job. An operator is an object:
 * DenseNet-201, in 62 KB, has 428 and 10000 values. Freeing them, which no deadline
 * interrupts, takes less than half a millisecond.
 */
#define DN_SIDECAR_OBJECTS_MAX 1024
#define DN_SIDECAR_VALUES_MAX  16384

/* Members of struct dn_layer that a sidecar has by the same name: numbers (double) with
 * their range, and flags (bool). A key of NULL ends the tables.
 */
struct dn_layer_member {
    const char *key;
    size_t offset;
    double min;
    double max;
};
extern const struct dn_layer_member dn_layer_numbers[];
extern const struct dn_layer_member dn_layer_flags[];
void *dn_layer_member (struct dn_layer *layer, const struct dn_layer_member *member);

struct dn_sidecar {
    struct dn_spec spec;     /* as given; nothing is derived from it yet */
    struct dn_layers layers; /* n 0: the zoo builds the network */
};

/* Read a sidecar; its keys override those in 'sidecar->spec'. -1 with 'err' naming the
 * place and 'sidecar' unchanged.
 */
int dn_sidecar_read (struct dn_span text,
                     struct dn_sidecar *sidecar,
                     struct dn_err *err);

/* The same for a sidecar that came with a job, with at most DN_SIDECAR_OBJECTS_MAX
 * objects, by a deadline (NULL: none); DN_E_TIME when it has passed.
 */
int dn_sidecar_read_carried (struct dn_span text,
                             const struct dn_deadline *deadline,
                             struct dn_sidecar *sidecar,
                             struct dn_err *err);

/* The same as JSON (sidecar_write.c), without blanks, to be freed by the caller; NULL
 * if out of memory.
 */
char *dn_sidecar_write (const struct dn_sidecar *sidecar);

/* Check a sidecar and rewrite it, to be sent to slurmctld or stored: without blanks and
 * names, with equal operators merged, and if it is still longer than 'max' bytes,
 * similar ones too. *json is freed by the caller; -1 with 'err' if the sidecar is
 * invalid or still too long.
 */
int dn_sidecar_compact (struct dn_span text,
                        size_t max,
                        char **json,
                        struct dn_err *err);

/* The layers of the object "graph", by a deadline (NULL: none). That of a 'network'
 * that is a file may have members that a sidecar has not, and 'changes', an array of
 * objects whose members replace those of its operators (NULL: none). -1 with 'err'.
 */
struct json_object;
int dn_sidecar_read_layers (struct json_object *json,
                            bool network,
                            struct json_object *changes,
                            struct dn_layers *layers,
                            const struct dn_deadline *deadline,
                            struct dn_err *err) DN_COLD;

/* Changes of operators, in their order; a number stands for so many without one. */
struct dn_sidecar_changes {
    struct json_object *list; /* NULL: there are none */
    size_t at;
    int64_t left; /* operators without a change before it */
};

/* That of the next operator, or NULL. */
struct json_object *dn_sidecar_change (struct dn_sidecar_changes *changes);

/* The graph of the layers, or if there are none, the one that 'spec' describes, which
 * may be one of 'networks' (NULL: there are none), by a deadline (NULL: none);
 * DN_E_TIME when it has passed.
 */
int dn_sidecar_graph_by (const struct dn_networks *networks,
                         const struct dn_layers *layers,
                         const struct dn_spec *spec,
                         const struct dn_deadline *deadline,
                         struct dn_graph *graph,
                         struct dn_err *err);
#define dn_sidecar_graph(networks, layers, spec, graph, err)                           \
    dn_sidecar_graph_by (networks, layers, spec, NULL, graph, err)

/* NULL-safe. */
void dn_sidecar_free (struct dn_sidecar *sidecar);

#endif
