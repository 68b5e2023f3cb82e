/* cluster.c - the snapshot of the cluster as a text
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"

/* Ends of ranges: seconds since 1970 up to the year 5138, and what a double holds. */
#define TIME_MAX  INT64_C (100000000000)
#define COUNT_MAX INT64_C (9000000000000000)
#define NODES_MAX INT64_C (1000000000)
#define MB_MAX    INT64_C (1000000000000)

const struct dn_names dn_limit_scope_names = DN_NAMES_OF (LIMIT_SCOPES);

#define HEAD      struct dn_cluster_head
#define GROUP     struct dn_node_group
#define WAIT      struct dn_wait
#define PARTITION struct dn_partition
#define LIMITED   struct dn_limited
#define LIMIT     struct dn_tres_limit

static const struct dn_member head_fields[] = {
    DN_COUNT ("Version", HEAD, version, DN_CLUSTER_VERSION, DN_CLUSTER_VERSION),
    DN_TEXT ("Name", HEAD, cluster.name, true),
    DN_COUNT ("Time", HEAD, cluster.time_s, 0, TIME_MAX),
    DN_COUNT ("Slurm", HEAD, cluster.slurm, 0, 99999),
    DN_FLAG ("SoftTimeMin", HEAD, cluster.soft_time_min, true),
    DN_FLAG ("Enforces", HEAD, cluster.enforces, true),
};
static const struct dn_member group_fields[] = {
    DN_TEXT ("Type", GROUP, type, false),
    DN_COUNT ("Gpus", GROUP, gpus, 0, DN_NODE_GPUS_MAX),
    DN_COUNT_OR ("Cpus", GROUP, cpus, 0, NODES_MAX, DN_UNSET),
    DN_COUNT_OR ("Memory", GROUP, mem_mb, 0, MB_MAX, DN_UNSET),
    DN_COUNT_OR ("Tmp", GROUP, tmp_mb, 0, MB_MAX, DN_UNSET),
    DN_COUNT_OR ("ThreadsPerCore", GROUP, threads_per_core, 1, 1024, DN_UNSET),
    DN_COUNT_OR ("ReservedFrom", GROUP, reserved_from, 0, TIME_MAX, 0),
    DN_COUNT_OR ("ReservedUntil", GROUP, reserved_until, 0, TIME_MAX, 0),
    DN_TEXT ("Features", GROUP, features, false),
    DN_TEXT ("Partitions", GROUP, partitions, false),
    DN_COUNT ("Nodes", GROUP, n_nodes, 1, NODES_MAX),
    DN_COUNT ("Up", GROUP, n_up, 0, NODES_MAX),
    {.key = "Idle",
     .type = DN_MEMBER_LIST,
     .offset = offsetof (GROUP, n_idle),
     .required = true,
     .max = NODES_MAX,
     .size = DN_NODE_GPUS_MAX + 1},
    DN_COUNT_OR ("NoCpus", GROUP, stranded_cpus, 0, COUNT_MAX, 0),
    DN_COUNT_OR ("NoMemory", GROUP, stranded_mem, 0, COUNT_MAX, 0),
};
static const struct dn_member wait_fields[] = {
    DN_TEXT ("Type", WAIT, type, false),
    DN_TEXT ("Feature", WAIT, feature, false),
    DN_COUNT_OR ("Gpu", WAIT, wait_s[DN_SHAPE_GPU], 0, TIME_MAX, DN_UNSET),
    DN_COUNT_OR ("Node", WAIT, wait_s[DN_SHAPE_NODE], 0, TIME_MAX, DN_UNSET),
    DN_COUNT_OR ("Nodes", WAIT, wait_s[DN_SHAPE_NODES], 0, TIME_MAX, DN_UNSET),
};
static const struct dn_member partition_fields[] = {
    DN_TEXT ("Name", PARTITION, name, true),
    DN_FLAG ("Default", PARTITION, is_default, false),
    DN_FLAG ("Up", PARTITION, up, true),
    DN_COUNT_OR ("MaxTime", PARTITION, max_time_s, 0, TIME_MAX, DN_UNLIMITED),
    DN_COUNT_OR ("DefaultTime", PARTITION, default_time_s, 0, TIME_MAX, DN_UNSET),
    DN_COUNT_OR ("MaxNodes", PARTITION, max_nodes, 0, NODES_MAX, DN_UNLIMITED),
    DN_COUNT_OR ("DefMemPerCPU", PARTITION, def_mem_per_cpu_mb, 0, MB_MAX, DN_UNSET),
    DN_COUNT_OR ("DefMemPerNode", PARTITION, def_mem_per_node_mb, 0, MB_MAX, DN_UNSET),
    DN_COUNT_OR ("DefMemPerGPU", PARTITION, def_mem_per_gpu_mb, 0, MB_MAX, DN_UNSET),
    DN_COUNT_OR ("MaxMemPerCPU", PARTITION, max_mem_per_cpu_mb, 0, MB_MAX, DN_UNSET),
    DN_COUNT_OR ("MaxMemPerNode", PARTITION, max_mem_per_node_mb, 0, MB_MAX, DN_UNSET),
    DN_TEXT ("QOS", PARTITION, qos, false),
    DN_TEXT ("AllowAccounts", PARTITION, allow_accounts, false),
    DN_TEXT ("DenyAccounts", PARTITION, deny_accounts, false),
    DN_TEXT ("AllowQOS", PARTITION, allow_qos, false),
    DN_TEXT ("DenyQOS", PARTITION, deny_qos, false),
    DN_TEXT ("BillingWeights", PARTITION, weights, false),
};
static const struct dn_member qos_fields[] = {
    DN_TEXT ("Name", LIMITED, name, true),
    DN_COUNT_OR ("MaxWall", LIMITED, max_wall_s, 0, TIME_MAX, DN_UNLIMITED),
    DN_FLAG ("Minutes", LIMITED, minutes, false),
};
static const struct dn_member assoc_fields[] = {
    DN_TEXT ("Account", LIMITED, name, true),
    DN_COUNT_OR ("User", LIMITED, user_id, 0, UINT32_MAX, DN_UNSET),
    DN_TEXT ("Partition", LIMITED, partition, false),
    DN_TEXT ("QOS", LIMITED, qos, false),
    DN_FLAG ("Default", LIMITED, is_default, false),
    DN_COUNT_OR ("Parent", LIMITED, parent, 0, DN_ASSOCS_MAX - 1, DN_UNSET),
    DN_COUNT_OR ("MaxWall", LIMITED, max_wall_s, 0, TIME_MAX, DN_UNLIMITED),
    DN_FLAG ("Minutes", LIMITED, minutes, false),
};
static const struct dn_member tail_fields[] = {
    DN_COUNT ("Rows", struct dn_cluster_tail, rows, 0, COUNT_MAX),
};
static const struct dn_member limit_fields[] = {
    DN_WORD ("Scope", LIMIT, scope, &dn_limit_scope_names),
    DN_TEXT ("Tres", LIMIT, tres, true),
    DN_COUNT ("Count", LIMIT, count, 0, COUNT_MAX),
    DN_COUNT_OR ("Used", LIMIT, used, 0, COUNT_MAX, DN_UNSET),
};

const struct dn_line_kind dn_cluster_kinds[] = {
    [DN_LINE_CLUSTER] = DN_LINE ("Cluster", head_fields),
    [DN_LINE_GROUP] = DN_LINE ("Group", group_fields),
    [DN_LINE_WAIT] = DN_LINE ("Wait", wait_fields),
    [DN_LINE_PARTITION] = DN_LINE ("Partition", partition_fields),
    [DN_LINE_QOS] = DN_LINE ("Qos", qos_fields),
    [DN_LINE_ASSOC] = DN_LINE ("Assoc", assoc_fields),
    [DN_LINE_END] = DN_LINE ("End", tail_fields),
    [DN_LINE_LIMIT] = DN_LINE ("Limit", limit_fields),
};

/* The array of the rows of one kind of line. */
#define TABLE(rows, n, row, max)                                                       \
    {                                                                                  \
        offsetof (struct dn_cluster, rows), offsetof (struct dn_cluster, n),           \
            sizeof (row), max                                                          \
    }

static const struct table {
    size_t rows; /* of the pointer in struct dn_cluster; its size 0: one struct only */
    size_t n;
    size_t size;
    int64_t max;
} tables[DN_N_CLUSTER_LINES] = {
    [DN_LINE_GROUP] = TABLE (groups, n_groups, GROUP, DN_NODE_GROUPS_MAX),
    [DN_LINE_WAIT] = TABLE (waits, n_waits, WAIT, DN_WAITS_MAX),
    [DN_LINE_PARTITION] =
        TABLE (partitions, n_partitions, PARTITION, DN_CLUSTER_PARTITIONS_MAX),
    [DN_LINE_QOS] = TABLE (qos, n_qos, LIMITED, DN_QOS_MAX),
    [DN_LINE_ASSOC] = TABLE (assocs, n_assocs, LIMITED, DN_ASSOCS_MAX),
    [DN_LINE_LIMIT] = TABLE (limits, n_limits, LIMIT, DN_TRES_LIMITS_MAX),
};

struct reading {
    struct dn_cluster *cluster;
    enum dn_cluster_line owner; /* of the limits that follow */
    int64_t rows;               /* so far, between the first line and the last */
    struct dn_err *err;
};

static int read_head (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    const struct reading *r = to;
    struct dn_cluster_head head = {.version = 0};

    if (dn_fields_version (line, DN_CLUSTER_VERSION, err) < 0
        || dn_fields_read (&dn_cluster_kinds[DN_LINE_CLUSTER], line, &head, err) < 0)
        return -1;
    *r->cluster = head.cluster;
    return 0;
}

static int check_group (const struct reading *r, const struct dn_node_group *group)
{
    int64_t n = 0;

    for (int i = 0; i <= DN_NODE_GPUS_MAX; i++) {
        n += group->n_idle[i];
        if (i > group->gpus && group->n_idle[i] > 0)
            return dn_refuse (r->err, idle_gpus, i, group->gpus);
    }
    if (group->n_up > group->n_nodes)
        return dn_refuse (r->err, up, group->n_up, group->n_nodes);
    if (n > group->n_up)
        return dn_refuse (r->err, idle, n, group->n_up);
    if (group->reserved_from > group->reserved_until)
        return dn_refuse (r->err, reserved, group->reserved_until);
    return 0;
}

static int compare (const struct dn_limited *a, const struct dn_limited *b)
{
    int order;

    if (a->user_id != b->user_id)
        return a->user_id < b->user_id ? -1 : 1;
    order = strcmp (a->name, b->name);
    return order ? order : strcmp (a->partition, b->partition);
}

static int check_assoc (const struct reading *r, const struct dn_limited *assoc)
{
    const struct dn_cluster *cluster = r->cluster;

    if (cluster->n_assocs > 0
        && compare (&cluster->assocs[cluster->n_assocs - 1], assoc) >= 0)
        return dn_refuse (r->err, assoc_order, DN_QUOTED (assoc->name));
    return 0;
}

/* The QOS or association whose limits follow. */
static struct dn_limited *limited (const struct reading *r)
{
    struct dn_cluster *cluster = r->cluster;

    return r->owner == DN_LINE_QOS ? &cluster->qos[cluster->n_qos - 1]
                                   : &cluster->assocs[cluster->n_assocs - 1];
}

/* Complete a row that has been read to its struct. */
static int take_row (struct reading *r, enum dn_cluster_line kind, void *row)
{
    struct dn_limited *owner = row;

    if (kind != DN_LINE_LIMIT)
        r->owner = kind;
    switch (kind) {
    case DN_LINE_GROUP:
        return check_group (r, row);
    case DN_LINE_QOS:
        owner->user_id = DN_UNSET;
        owner->parent = DN_UNSET;
        owner->first_limit = r->cluster->n_limits;
        return 0;
    case DN_LINE_ASSOC:
        owner->first_limit = r->cluster->n_limits;
        return check_assoc (r, row);
    case DN_LINE_LIMIT:
        limited (r)->n_limits++;
        return 0;
    default:
        return 0;
    }
}

/* The kind of a line that dn_lines_read () knows. */
static enum dn_cluster_line kind_of (const struct dn_keyline *line)
{
    int kind = 0;

    while (!dn_span_is (line->word, dn_cluster_kinds[kind].word))
        kind++;
    return (enum dn_cluster_line) kind;
}

static int read_row (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct reading *r = to;
    enum dn_cluster_line kind = kind_of (line);
    const struct table *table = &tables[kind];
    void *rows = (char *) r->cluster + table->rows;
    char *first;
    void *row;
    int64_t n;

    memcpy (&n, (const char *) r->cluster + table->n, sizeof (n));
    if (n == table->max)
        return dn_refuse (err, lines, table->max, dn_cluster_kinds[kind].word);
    if (dn_rows_grow (rows, n, table->size, err) < 0)
        return -1;
    memcpy (&first, rows, sizeof (first));
    row = first + (size_t) n * table->size;
    memset (row, 0, table->size);
    if (dn_fields_read (&dn_cluster_kinds[kind], line, row, err) < 0
        || take_row (r, kind, row) < 0)
        return -1;
    n++;
    memcpy ((char *) r->cluster + table->n, &n, sizeof (n));
    r->rows++;
    return 0;
}

/* Are the parents associations, and does each line of them end? */
static int check_parents (const struct reading *r)
{
    const struct dn_cluster *cluster = r->cluster;

    for (int64_t i = 0; i < cluster->n_assocs; i++) {
        int depth = 0;

        for (int64_t at = i; at != DN_UNSET; at = cluster->assocs[at].parent)
            if (at >= cluster->n_assocs || ++depth > DN_ASSOC_DEPTH_MAX)
                return dn_refuse (
                    r->err, parent, cluster->assocs[i].parent, i, DN_ASSOC_DEPTH_MAX);
    }
    return 0;
}

static int read_tail (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    const struct reading *r = to;
    struct dn_cluster_tail tail;

    if (dn_fields_read (&dn_cluster_kinds[DN_LINE_END], line, &tail, err) < 0)
        return -1;
    if (tail.rows != r->rows)
        return dn_refuse (err, rows, "Rows", tail.rows, r->rows);
    return check_parents (r);
}

static int (*const readers[]) (void *, const struct dn_keyline *, struct dn_err *) = {
    [DN_LINE_CLUSTER] = read_head,
    [DN_LINE_GROUP] = read_row,
    [DN_LINE_WAIT] = read_row,
    [DN_LINE_PARTITION] = read_row,
    [DN_LINE_QOS] = read_row,
    [DN_LINE_ASSOC] = read_row,
    [DN_LINE_END] = read_tail,
    [DN_LINE_LIMIT] = read_row,
};
static const struct dn_lines lines = {.kinds = dn_cluster_kinds,
                                      .n_kinds = DN_LINE_END + 1,
                                      .n_parts = 1,
                                      .parts_from = DN_LINE_QOS,
                                      .expected = dn_say_snapshot_lines,
                                      .readers = readers,
                                      .max = DN_STATE_FILE_MAX};

struct dn_cluster *dn_cluster_read (struct dn_span text,
                                    const char *file,
                                    struct dn_err *err)
{
    struct dn_err local = {.code = DN_E_NONE};
    struct reading r = {.cluster = calloc (1, sizeof (*r.cluster)),
                        .err = err ? err : &local};

    if (!r.cluster)
        return DN_NULL (dn_refuse (err, no_memory_for, file));
    if (dn_lines_read (&lines, text, file, &r, r.err) == 0)
        return r.cluster;
    dn_cluster_free (r.cluster);
    return NULL;
}

void dn_cluster_free (struct dn_cluster *cluster)
{
    if (!cluster)
        return;
    free (cluster->groups);
    free (cluster->waits);
    free (cluster->partitions);
    free (cluster->qos);
    free (cluster->assocs);
    free (cluster->limits);
    free (cluster);
}

bool dn_partitions_same_memory (const struct dn_partition *a,
                                const struct dn_partition *b)
{
    return a->def_mem_per_cpu_mb == b->def_mem_per_cpu_mb
           && a->def_mem_per_node_mb == b->def_mem_per_node_mb
           && a->def_mem_per_gpu_mb == b->def_mem_per_gpu_mb;
}

const struct dn_partition *dn_cluster_partition (const struct dn_cluster *cluster,
                                                 const char *name)
{
    for (int64_t i = 0; i < cluster->n_partitions; i++)
        if (strcmp (cluster->partitions[i].name, name) == 0)
            return &cluster->partitions[i];
    return NULL;
}

const struct dn_wait *dn_cluster_wait (const struct dn_cluster *cluster,
                                       const char *type)
{
    for (int64_t i = 0; i < cluster->n_waits; i++)
        if (strcmp (cluster->waits[i].type, type) == 0)
            return &cluster->waits[i];
    return NULL;
}

bool dn_list_has (const char *list, struct dn_span word)
{
    struct dn_span rest = dn_span_of (list);

    while (rest.text) {
        struct dn_span piece = dn_span_trim (dn_span_cut (&rest, ","));

        if (piece.len == word.len && memcmp (piece.text, word.text, word.len) == 0)
            return true;
    }
    return false;
}
