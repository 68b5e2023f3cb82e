/* link_partitions.c - partitions as plain structs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "slurm/link_tables.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/messages.h"

/* PARTITION_UP; newer headers have more states. */
#define IS_UP(state) ((state) == PARTITION_UP)

/* Of partitions where an ordinary job does not run. */
#define CLOSED_FLAGS (PART_FLAG_ROOT_ONLY | PART_FLAG_REQ_RESV)

/* A memory limit is per CPU or per node; that of the partition, else of the cluster. */
static void set_memory (uint64_t own,
                        uint64_t of_cluster,
                        int64_t *per_cpu_mb,
                        int64_t *per_node_mb)
{
    uint64_t value = own != 0 && own != NO_VAL64 ? own : of_cluster;

    *per_cpu_mb = *per_node_mb = DN_UNSET;
    if (value == 0 || value == NO_VAL64 || value == INFINITE64)
        return;
    if (value & MEM_PER_CPU)
        *per_cpu_mb = (int64_t) (value & ~MEM_PER_CPU);
    else
        *per_node_mb = (int64_t) value;
}

/* "" where there is none, "*" where it is too long. */
static void copy_list (char *out, size_t size, const char *from)
{
    struct dn_buf buf = dn_buf_on (out, size);

    if (!from || strcasecmp (from, "ALL") == 0)
        return;
    dn_buf_add (&buf, "%s", strlen (from) < size ? from : "*");
}

static void copy_text (char *out, size_t size, const char *from)
{
    if (from && strlen (from) < size)
        memcpy (out, from, strlen (from) + 1);
}

#define COPY_LIST(member, from) copy_list (out->member, sizeof (out->member), from)
#define COPY_TEXT(member, from) copy_text (out->member, sizeof (out->member), from)

static void fill (struct dn_partition *out,
                  const partition_info_t *from,
                  const slurm_conf_t *conf)
{
    COPY_TEXT (name, from->name);
    out->is_default = (from->flags & PART_FLAG_DEFAULT) != 0;
    out->up = IS_UP (from->state_up) && (from->flags & CLOSED_FLAGS) == 0;
    out->max_time_s = dn_link_seconds (from->max_time);
    if (out->max_time_s == DN_UNSET)
        out->max_time_s = DN_UNLIMITED;
    out->default_time_s = dn_link_seconds (from->default_time);
    if (out->default_time_s == DN_UNLIMITED)
        out->default_time_s = DN_UNSET;
    out->max_nodes = from->max_nodes == INFINITE || from->max_nodes == NO_VAL
                         ? DN_UNLIMITED
                         : (int64_t) from->max_nodes;
    set_memory (from->def_mem_per_cpu,
                conf->def_mem_per_cpu,
                &out->def_mem_per_cpu_mb,
                &out->def_mem_per_node_mb);
    out->def_mem_per_gpu_mb = dn_link_mem_per_gpu (from->job_defaults_list);
    if (out->def_mem_per_gpu_mb == DN_UNSET)
        out->def_mem_per_gpu_mb = dn_link_mem_per_gpu (conf->job_defaults_list);
    set_memory (from->max_mem_per_cpu,
                conf->max_mem_per_cpu,
                &out->max_mem_per_cpu_mb,
                &out->max_mem_per_node_mb);
    COPY_TEXT (qos, from->qos_char);
    COPY_LIST (allow_accounts, from->allow_accounts);
    COPY_LIST (deny_accounts, from->deny_accounts);
    COPY_LIST (allow_qos, from->allow_qos);
    COPY_LIST (deny_qos, from->deny_qos);
    COPY_TEXT (weights, from->billing_weights_str);
}

int dn_link_fill_partitions (const partition_info_msg_t *from,
                             const slurm_conf_t *conf,
                             struct dn_cluster *cluster,
                             struct dn_err *err)
{
    cluster->partitions =
        calloc ((size_t) from->record_count + 1, sizeof (cluster->partitions[0]));
    if (!cluster->partitions)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "partitions");
    for (uint32_t i = 0; i < from->record_count; i++) {
        const partition_info_t *partition = &from->partition_array[i];

        if (partition->name && partition->name[0] != '\0'
            && strlen (partition->name) < DN_NAME_MAX)
            fill (&cluster->partitions[cluster->n_partitions++], partition, conf);
    }
    return 0;
}
