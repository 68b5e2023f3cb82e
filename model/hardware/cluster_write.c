/* cluster_write.c - write a snapshot of the cluster
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/cluster.h"

/* Where a text goes, and what the last call returned. */
struct writing {
    dn_put_f put;
    void *to;
    int64_t rows;
    int rc;
};

static void write_line (struct writing *w, enum dn_cluster_line kind, const void *row)
{
    if (w->rc)
        return;
    w->rc = dn_fields_put (&dn_cluster_kinds[kind], row, w->put, w->to);
    w->rows++;
}

static void write_limited (struct writing *w,
                           const struct dn_cluster *cluster,
                           enum dn_cluster_line kind,
                           const struct dn_limited *owner)
{
    write_line (w, kind, owner);
    for (int64_t i = 0; i < owner->n_limits; i++)
        write_line (w, DN_LINE_LIMIT, &cluster->limits[owner->first_limit + i]);
}

int dn_cluster_write (const struct dn_cluster *cluster, dn_put_f put, void *to)
{
    struct writing w = {.put = put, .to = to};
    struct dn_cluster_tail tail;

    write_line (&w,
                DN_LINE_CLUSTER,
                &(struct dn_cluster_head){DN_CLUSTER_VERSION, .cluster = *cluster});
    w.rows = 0;
    for (int64_t i = 0; i < cluster->n_groups; i++)
        write_line (&w, DN_LINE_GROUP, &cluster->groups[i]);
    for (int64_t i = 0; i < cluster->n_waits; i++)
        write_line (&w, DN_LINE_WAIT, &cluster->waits[i]);
    for (int64_t i = 0; i < cluster->n_partitions; i++)
        write_line (&w, DN_LINE_PARTITION, &cluster->partitions[i]);
    for (int64_t i = 0; i < cluster->n_qos; i++)
        write_limited (&w, cluster, DN_LINE_QOS, &cluster->qos[i]);
    for (int64_t i = 0; i < cluster->n_assocs; i++)
        write_limited (&w, cluster, DN_LINE_ASSOC, &cluster->assocs[i]);
    tail.rows = w.rows;
    write_line (&w, DN_LINE_END, &tail);
    return w.rc;
}
