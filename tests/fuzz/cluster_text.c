/* cluster_text.c - fuzz target: the snapshot of the cluster
 *
 * What is read is consistent, and what is written of it is read as the same.
 *
 * Aims at: model/hardware/cluster.c model/base/fields.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include <stdlib.h>
#include <string.h>

#include "hardware/cluster.h"

/* Every index that a reader follows. */
static void check (const struct dn_cluster *cluster)
{
    for (int64_t i = 0; i < cluster->n_assocs; i++) {
        const struct dn_limited *assoc = &cluster->assocs[i];
        int depth = 0;

        expect (assoc->first_limit >= 0
                    && assoc->first_limit + assoc->n_limits <= cluster->n_limits,
                "the limits of an association",
                NULL);
        for (int64_t at = i; at != DN_UNSET; at = cluster->assocs[at].parent)
            expect (at < cluster->n_assocs && ++depth <= DN_ASSOC_DEPTH_MAX,
                    "the parents of an association",
                    NULL);
    }
    for (int64_t i = 0; i < cluster->n_groups; i++)
        expect (is_printable (cluster->groups[i].features)
                    && cluster->groups[i].n_up <= cluster->groups[i].n_nodes,
                "a group",
                NULL);
    dn_cluster_partition (cluster, "gpu");
    dn_cluster_wait (cluster, "a100");
}

/* A text is written, read and written again: both must be equal. */
static void write_twice (const struct dn_cluster *cluster)
{
    struct fuzz_text first = {NULL, 0};
    struct fuzz_text second = {NULL, 0};
    struct dn_err err = {0};
    struct dn_cluster *again;

    dn_cluster_write (cluster, put_text, &first);
    again = dn_cluster_read (dn_span_of (first.text), "file", &err);
    expect (again != NULL, "what was written is not read", &err);
    dn_cluster_write (again, put_text, &second);
    expect (strcmp (first.text, second.text) == 0, "another text", NULL);
    dn_cluster_free (again);
    free (first.text);
    free (second.text);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char *text = take_text (data, size);
    struct dn_err err = {0};
    struct dn_cluster *cluster =
        dn_cluster_read ((struct dn_span){text, strlen (text)}, "file", &err);

    if (cluster) {
        write_twice (cluster);
        check (cluster);
    } else {
        expect_message (&err);
    }
    dn_cluster_free (cluster);
    free (text);
    return 0;
}
