/* sidecar.h - a job's description in JSON, version 1: see dnnest.sidecar(5)
 *
 * In: the text of a sidecar. Out: the specification, and the layers of a network that
 * stand in place of the zoo's. etc/sidecar.schema.json.in has the same for programs.
 * All of it is hostile: unknown keys are errors, every number has a range, and the
 * caller bounds the length.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SIDECAR_H
#define DN_SIDECAR_H

#include "graph/layer.h"

#define DN_SIDECAR_VERSION 1

/* What slurmctld reads from a file, what travels with a job, and what a client reads:
 * large graphs are merged on the client. A variable of Slurm's environment holds 128
 * KiB, but with 16 a job's record in slurmctld stays small.
 */
#define DN_SIDECAR_SERVER_MAX   (64 * 1024)
#define DN_SIDECAR_HANDOVER_MAX (16 * 1024)
#define DN_SIDECAR_CLIENT_MAX   (8 * 1024 * 1024)

struct dn_sidecar {
    struct dn_spec spec;     /* as given; nothing is derived from it yet */
    struct dn_layers layers; /* n 0: the zoo builds the network */
};

/* Read a sidecar; its keys go over those that 'sidecar->spec' holds already. -1 with
 * 'err' naming the place and 'sidecar' as it was.
 */
int dn_sidecar_read (struct dn_span text,
                     struct dn_sidecar *sidecar,
                     struct dn_err *err);

/* The same as JSON, without blanks, to be freed by the caller; NULL without memory. */
char *dn_sidecar_write (const struct dn_sidecar *sidecar);

/* Check a sidecar and write it anew for its journey to slurmctld, or to be kept:
 * without blanks and names, equal operators put together, and where it is longer than
 * 'max' then, alike ones too. *json is freed by the caller; -1 with 'err' where the
 * sidecar is wrong or still too long.
 */
int dn_sidecar_compact (struct dn_span text,
                        size_t max,
                        char **json,
                        struct dn_err *err);

/* The graph of the layers, or where there are none the one that 'spec' describes. */
int dn_sidecar_graph (const struct dn_layers *layers,
                      const struct dn_spec *spec,
                      struct dn_graph *graph,
                      struct dn_err *err);

/* NULL-safe. */
void dn_sidecar_free (struct dn_sidecar *sidecar);

#endif
