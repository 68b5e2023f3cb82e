/* tables.c - nodes, partitions, reservations and limits of slurmctld
 *
 * A reply is kept until slurmctld has a newer one. The node table is new whenever a job
 * starts or ends, the others rarely; what is derived from them is made again each time,
 * in some milliseconds for 5,000 nodes. Nodes are found by their names: the indexes
 * that partitions and reservations have belong to the node table of another moment.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "slurm/link_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/messages.h"
#include "watch/lists.h"

/* Reservations that begin later are not looked at. */
#define HORIZON_S (30 * 86400)

/* Limits are always sent. With more records than this, only so often. */
#define LIMITS_MANY  1000
#define LIMITS_AGE_S 300

/* Hidden partitions, and of a federation this cluster only. */
#define SHOWN (SHOW_ALL | SHOW_LOCAL | SHOW_DETAIL)

/* Sets of partitions that nodes are in; a node of a further one counts as in fewer. */
#define SETS_MAX 2048

void dn_link_close (struct dn_link *link)
{
    if (!link)
        return;
    if (link->nodes)
        slurm_free_node_info_msg (link->nodes);
    if (link->partitions)
        slurm_free_partition_info_msg (link->partitions);
    if (link->reservations)
        slurm_free_reservation_info_msg (link->reservations);
    if (link->limits)
        slurm_free_assoc_mgr_info_msg (link->limits);
    dn_link_jobs_drop (link);
    dn_link_end (link);
}

/* 1: there is a newer reply, 0: the old one holds, -1 with 'err'. */
static int newer (int rc, bool have_old, const char *what, struct dn_err *err)
{
    int code = errno;

    if (rc == SLURM_SUCCESS)
        return 1;
    if (code == SLURM_NO_CHANGE_IN_DATA && have_old)
        return 0;
    return dn_link_fail (code ? code : SLURM_UNEXPECTED_MSG_ERROR, what, err);
}

/* Load a table again, if slurmctld has a newer one. */
#define LOADER(table, load, drop)                                                      \
    static int load_##table (struct dn_link *link, struct dn_err *err)                 \
    {                                                                                  \
        __typeof__ (link->table) old = link->table;                                    \
        time_t since = old ? old->last_update : 0;                                     \
        __typeof__ (link->table) new = NULL;                                           \
        int rc;                                                                        \
                                                                                       \
        errno = 0;                                                                     \
        rc = newer (load, old != NULL, #table, err);                                   \
        if (rc <= 0)                                                                   \
            return rc;                                                                 \
        if (old)                                                                       \
            drop (old);                                                                \
        link->table = new;                                                             \
        return 0;                                                                      \
    }

LOADER (nodes, slurm_load_node (since, &new, SHOWN), slurm_free_node_info_msg)
LOADER (partitions,
        slurm_load_partitions (since, &new, SHOWN),
        slurm_free_partition_info_msg)
LOADER (reservations,
        slurm_load_reservations (since, &new),
        slurm_free_reservation_info_msg)

static bool limits_are_old (const struct dn_link *link)
{
    const assoc_mgr_info_msg_t *old = link->limits;
    time_t now = time (NULL);

    return !old || !old->assoc_list || slurm_list_count (old->assoc_list) <= LIMITS_MANY
           || now < link->limits_at || now - link->limits_at >= LIMITS_AGE_S;
}

static int load_limits (struct dn_link *link, struct dn_err *err)
{
    assoc_mgr_info_request_msg_t request = {.flags = ASSOC_MGR_INFO_FLAG_ASSOC
                                                     | ASSOC_MGR_INFO_FLAG_QOS};
    assoc_mgr_info_msg_t *new = NULL;

    if (!limits_are_old (link))
        return 0;
    errno = 0;
    if (newer (slurm_load_assoc_mgr_info (&request, &new), false, "limits", err) < 0)
        return -1;
    if (link->limits)
        slurm_free_assoc_mgr_info_msg (link->limits);
    link->limits = new;
    link->limits_at = time (NULL);
    return 0;
}

/* --- partitions ------------------------------------------------------------------- */

/* Of partitions where an ordinary job does not run. */
#define CLOSED_FLAGS (PART_FLAG_ROOT_ONLY | PART_FLAG_REQ_RESV)

/* A memory limit is per CPU or per node; that of the partition, else of the cluster. */
static void set_memory (uint64_t own,
                        uint64_t of_cluster,
                        int64_t *per_cpu_mb,
                        int64_t *per_node_mb)
{
    uint64_t value = own != 0 && own != NO_VAL64 ? own : of_cluster;

    *per_cpu_mb = dn_link_memory_mb (value, true);
    *per_node_mb = dn_link_memory_mb (value, false);
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

static void fill_partition (struct dn_partition *out,
                            const partition_info_t *from,
                            const slurm_conf_t *conf)
{
    COPY_TEXT (name, from->name);
    out->is_default = (from->flags & PART_FLAG_DEFAULT) != 0;
    out->up = from->state_up == PARTITION_UP /* newer headers have more states */
              && (from->flags & CLOSED_FLAGS) == 0;
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

/* 'conf' has the defaults of the cluster. */
static int fill_partitions (const partition_info_msg_t *from,
                            const slurm_conf_t *conf,
                            struct dn_cluster *cluster,
                            struct dn_err *err)
{
    cluster->partitions =
        calloc ((size_t) from->record_count + 1, sizeof (cluster->partitions[0]));
    if (!cluster->partitions)
        return dn_refuse (err, no_memory_for, "partitions");
    for (uint32_t i = 0; i < from->record_count; i++) {
        const partition_info_t *partition = &from->partition_array[i];

        if (partition->name && partition->name[0] != '\0'
            && strlen (partition->name) < DN_NAME_MAX)
            fill_partition (
                &cluster->partitions[cluster->n_partitions++], partition, conf);
    }
    return 0;
}

/* --- what is asked for ------------------------------------------------------------ */

int dn_link_cluster (struct dn_link *link,
                     struct dn_cluster *cluster,
                     struct dn_err *err)
{
    struct dn_link_conf brief;
    struct dn_buf name = dn_buf_on (cluster->name, sizeof (cluster->name));

    if (dn_link_conf (link, &brief, err) < 0)
        return -1;
    dn_buf_add (&name, "%s", brief.cluster);
    cluster->slurm = brief.slurm;
    cluster->soft_time_min = brief.soft_time_min;
    cluster->enforces = brief.enforces;
    if (load_partitions (link, err) < 0
        || fill_partitions (link->partitions, link->conf, cluster, err) < 0
        || load_limits (link, err) < 0)
        return -1;
    return dn_link_fill_limits (link->limits, cluster, err);
}

int dn_link_reservations (struct dn_link *link,
                          dn_link_reservation_f take,
                          void *to,
                          struct dn_err *err)
{
    int rc = 0;

    if (load_reservations (link, err) < 0)
        return -1;
    if (!link->reservations)
        return 0;
    for (uint32_t i = 0; i < link->reservations->record_count && rc == 0; i++) {
        const reserve_info_t *from = &link->reservations->reservation_array[i];
        struct dn_link_reservation reservation = {
            .name = from->name,
            .from = from->start_time,
            .until = from->end_time,
            .nodes = from->node_list,
            .changed_s = link->reservations->last_update,
        };

        rc = take (to, &reservation);
    }
    return rc;
}

/* --- what other tables say of a node ---------------------------------------------- */

struct place {
    int32_t set;  /* of partitions */
    bool known;   /* it has a name */
    int64_t from; /* its nearest reservation; 0 none */
    int64_t until;
};

/* By the index of the node in its table. */
struct places {
    struct dn_interned names; /* numbered as the nodes that have names */
    int32_t *nodes;           /* node of each name */
    struct place *of;
    char (*sets)[DN_LINK_PARTITIONS_MAX]; /* the first is empty */
    int32_t n_sets;
};

static void places_free (struct places *places)
{
    dn_interned_free (&places->names);
    free (places->nodes);
    free (places->of);
    free (places->sets);
}

static int places_begin (struct places *places,
                         const node_info_msg_t *nodes,
                         struct dn_err *err)
{
    size_t n = nodes->record_count;

    places->nodes = calloc (n + 1, sizeof (places->nodes[0]));
    places->of = calloc (n + 1, sizeof (places->of[0]));
    places->sets = calloc (SETS_MAX, sizeof (places->sets[0]));
    places->n_sets = 1;
    if (!places->nodes || !places->of || !places->sets)
        return dn_refuse (err, no_memory_for, "nodes");
    for (uint32_t i = 0; i < nodes->record_count; i++) {
        const char *name = nodes->node_array[i].name;
        int32_t n_before = places->names.n;
        int32_t number = name ? dn_interned_put (&places->names, name) : -1;

        if (name && number < 0)
            return dn_refuse (err, no_memory_for, "nodes");
        if (number >= n_before) {
            places->nodes[number] = (int32_t) i;
            places->of[i].known = true;
        }
    }
    return 0;
}

/* The node of a name, or NULL. */
static struct place *place_of (const struct places *places, const char *name)
{
    int32_t number = dn_interned_find (&places->names, name);

    return number < 0 ? NULL : &places->of[places->nodes[number]];
}

/* The set 'old' and a partition; 'old' itself where that does not fit. */
static int32_t larger_set (struct places *places, int32_t old, const char *partition)
{
    const char *list = places->sets[old];
    struct dn_buf buf;

    if (places->n_sets == SETS_MAX
        || strlen (list) + strlen (partition) + 2 > DN_LINK_PARTITIONS_MAX)
        return old;
    buf = dn_buf_on (places->sets[places->n_sets], DN_LINK_PARTITIONS_MAX);
    dn_buf_add (&buf, "%s%s%s", list, list[0] ? "," : "", partition);
    return places->n_sets++;
}

/* Add a partition to its nodes. 'larger' has a member for each set, all 0. */
static void place_partition (struct places *places,
                             const partition_info_t *partition,
                             int32_t larger[SETS_MAX])
{
    struct dn_hosts hosts = dn_hosts_of (partition->nodes);
    char name[DN_NAME_MAX];

    while (dn_hosts_next (&hosts, name)) {
        struct place *place = place_of (places, name);

        if (!place)
            continue;
        if (larger[place->set] == 0)
            larger[place->set] = larger_set (places, place->set, partition->name);
        place->set = larger[place->set];
    }
}

static int place_partitions (struct places *places,
                             const partition_info_msg_t *partitions,
                             struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) int32_t *larger = calloc (SETS_MAX, sizeof (larger[0]));

    if (!larger)
        return dn_refuse (err, no_memory_for, "partitions");
    for (uint32_t i = 0; i < partitions->record_count; i++) {
        memset (larger, 0, SETS_MAX * sizeof (larger[0]));
        if (partitions->partition_array[i].name)
            place_partition (places, &partitions->partition_array[i], larger);
    }
    return 0;
}

/* Of two reservations the one that begins first counts, of those that have begun the
 * one that ends last.
 */
static void reserve (struct place *place, int64_t from, int64_t until, int64_t now_s)
{
    bool has_begun = from <= now_s;

    if (place->from != 0 && has_begun && place->from <= now_s) {
        if (until > place->until)
            place->until = until;
        return;
    }
    if (place->from != 0
        && (place->from < from || (place->from == from && place->until >= until)))
        return;
    place->from = from;
    place->until = until;
}

/* A reservation of some cores or GPUs of a node counts as one of the node: which ones
 * it will have is not known before it begins. One of licenses alone has no nodes. One
 * whose start floats begins, each time it is asked, as much later.
 */
static void place_reservations (struct places *places,
                                const reserve_info_msg_t *reservations,
                                int64_t now_s)
{
    for (uint32_t i = 0; i < reservations->record_count; i++) {
        const reserve_info_t *from = &reservations->reservation_array[i];
        struct dn_hosts hosts = dn_hosts_of (from->node_list);
        char name[DN_NAME_MAX];

        if (from->end_time <= now_s || from->start_time >= now_s + HORIZON_S)
            continue;
        while (dn_hosts_next (&hosts, name)) {
            struct place *place = place_of (places, name);

            if (place)
                reserve (place, from->start_time, from->end_time, now_s);
        }
    }
}

/* --- nodes ------------------------------------------------------------------------ */

/* Flags of nodes that run no further job, or that come back as others. */
#define DOWN_FLAGS                                                                     \
    (NODE_STATE_DRAIN | NODE_STATE_NO_RESPOND | NODE_STATE_FAIL | NODE_STATE_MAINT     \
     | NODE_STATE_RES | NODE_STATE_REBOOT_REQUESTED | NODE_STATE_REBOOT_ISSUED         \
     | NODE_STATE_DYNAMIC_FUTURE | NODE_STATE_INVALID_REG)

/* Flags of nodes that take jobs, but not at once. */
#ifdef NODE_STATE_BLOCKED
#define BLOCKED_FLAGS NODE_STATE_BLOCKED
#else
#define BLOCKED_FLAGS 0
#endif
#define BUSY_FLAGS                                                                     \
    (NODE_STATE_POWERED_DOWN | NODE_STATE_POWERING_UP | NODE_STATE_POWERING_DOWN       \
     | NODE_STATE_PLANNED | NODE_STATE_POWER_DOWN | NODE_STATE_POWER_UP                \
     | NODE_STATE_POWER_DRAIN | BLOCKED_FLAGS)

static bool takes_jobs (uint32_t state)
{
    uint32_t base = state & NODE_STATE_BASE;

    return (base == NODE_STATE_IDLE || base == NODE_STATE_ALLOCATED
            || base == NODE_STATE_MIXED)
           && (state & DOWN_FLAGS) == 0;
}

/* CPUs and MB of a node that jobs have, by the version of Slurm. */
#ifdef HAVE_NODE_INFO_T_ALLOC_CPUS

static void allocated (const node_info_t *node, int64_t *cpus, int64_t *mem_mb)
{
    *cpus = node->alloc_cpus;
    *mem_mb = (int64_t) node->alloc_memory;
}

#else

static void allocated (const node_info_t *node, int64_t *cpus, int64_t *mem_mb)
{
    uint16_t n_cpus = 0;
    uint64_t memory = 0; /* the header says uint32_t, scontrol and select/ 64 bits */

    slurm_get_select_nodeinfo (
        node->select_nodeinfo, SELECT_NODEDATA_SUBCNT, NODE_STATE_ALLOCATED, &n_cpus);
    slurm_get_select_nodeinfo (node->select_nodeinfo,
                               SELECT_NODEDATA_MEM_ALLOC,
                               NODE_STATE_ALLOCATED,
                               &memory);
    *cpus = n_cpus;
    *mem_mb = (int64_t) memory;
}

#endif

static struct dn_link_node describe (const node_info_t *from,
                                     const struct place *place,
                                     const char *partitions,
                                     int64_t now_s)
{
    uint16_t cpus = from->cpus_efctv ? from->cpus_efctv : from->cpus;
    int64_t used_cpus;
    int64_t used_mb;
    struct dn_link_node node = {
        .name = from->name,
        .gres = from->gres,
        .gres_used = from->gres_used,
        .gres_drain = from->gres_drain,
        .features = from->features_act ? from->features_act : from->features,
        .partitions = partitions,
        .cpus = cpus,
        .mem_mb = (int64_t) from->real_memory - (int64_t) from->mem_spec_limit,
        .tmp_mb = from->tmp_disk,
        .threads_per_core = from->threads,
        .reserved_from = place->from,
        .reserved_until = place->until,
    };

    allocated (from, &used_cpus, &used_mb);
    node.idle_cpus = node.cpus > used_cpus ? node.cpus - used_cpus : 0;
    node.mem_mb = node.mem_mb > 0 ? node.mem_mb : 0;
    node.idle_mem_mb = node.mem_mb > used_mb ? node.mem_mb - used_mb : 0;
    node.up =
        takes_jobs (from->node_state) && (place->from == 0 || place->from > now_s);
    node.busy = (from->node_state & BUSY_FLAGS) != 0 || from->owner != NO_VAL
                || (from->mcs_label && from->mcs_label[0] != '\0');
    return node;
}

int dn_link_nodes (struct dn_link *link,
                   int64_t now_s,
                   dn_link_node_f take,
                   void *to,
                   struct dn_err *err)
{
    dn_cleanup (places_free) struct places places = {.n_sets = 0};
    int rc = 0;

    if (load_nodes (link, err) < 0 || load_partitions (link, err) < 0
        || load_reservations (link, err) < 0
        || places_begin (&places, link->nodes, err) < 0
        || place_partitions (&places, link->partitions, err) < 0)
        return -1;
    place_reservations (&places, link->reservations, now_s);
    for (uint32_t i = 0; i < link->nodes->record_count && rc == 0; i++) {
        const struct place *place = &places.of[i];
        struct dn_link_node node;

        if (!place->known)
            continue;
        node = describe (
            &link->nodes->node_array[i], place, places.sets[place->set], now_s);
        rc = take (to, &node);
    }
    return rc;
}
