/* cluster.h - the state of the cluster, as the snapshot of 'dnnestd watch' describes it
 *
 * In: the text of the snapshot, lines of Key=Value. Out: struct
 * dn_cluster: groups of like nodes with what is up and idle, partitions, expected
 * waits, limits of QOS and associations. It knows nothing of Slurm's structures, of the
 * clock, or of the configuration; a reader compares 'time_s' with its own clock.
 *
 * The text may come from anywhere: every count, length and number has a bound, and one
 * line that is wrong makes the whole snapshot invalid.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CLUSTER_H
#define DN_CLUSTER_H

#include "base/fields.h"
#include "base/limits.h"

/* Version of the format that this program writes, and the only one that it reads. */
#define DN_CLUSTER_VERSION 1

/* Its file in StateDir. */
#define DN_CLUSTER_FILE "cluster.snapshot"

/* GPUs of one type on a node, at most; a node with more counts as one with so many. */
#define DN_NODE_GPUS_MAX 16

/* Like nodes: equal in all members up to 'partitions'. A node with GPUs of two types is
 * in a group of each. DN_UNSET: unknown.
 */
struct dn_node_group {
    char type[DN_NAME_MAX]; /* gres type; "" for GPUs without a type */
    int64_t gpus;           /* of that type on a node */
    int64_t cpus;
    int64_t mem_mb;
    int64_t tmp_mb;
    int64_t threads_per_core;
    int64_t reserved_from;  /* the next or present reservation of these nodes, */
    int64_t reserved_until; /* seconds since 1970; 0: none in the next 30 days */
    char features[DN_NAME_MAX * 4];   /* "ib,nvme"; of all its nodes */
    char partitions[DN_NAME_MAX * 4]; /* "p1,p2" */
    int64_t n_nodes;                  /* all of them */
    /* Those that jobs can run on, now or when others have ended: neither down, drained,
     * failing, in maintenance, nor in a reservation that has begun. */
    int64_t n_up;
    /* Of these, how many nodes have that many idle GPUs, each with at least an idle
     * CPU. A node that is to run another job next (planned) has none. */
    int64_t n_idle[DN_NODE_GPUS_MAX + 1];
    /* Idle GPUs of these nodes that have too few idle CPUs, or too little idle memory,
     * beside them (daemon/watch/node_groups.h). */
    int64_t stranded_cpus;
    int64_t stranded_mem;
};

/* Shapes of jobs with an expected wait of their own. */
enum dn_job_shape {
    DN_SHAPE_GPU,   /* one GPU */
    DN_SHAPE_NODE,  /* all GPUs of a node */
    DN_SHAPE_NODES, /* several nodes */
    DN_N_SHAPES
};

/* The kinds of lines of a snapshot, in the order in which they come; limits follow
 * their QOS or association.
 */
enum dn_cluster_line {
    DN_LINE_CLUSTER,
    DN_LINE_GROUP,
    DN_LINE_WAIT,
    DN_LINE_PARTITION,
    DN_LINE_QOS,
    DN_LINE_ASSOC,
    DN_LINE_END,
    DN_LINE_LIMIT,
    DN_N_CLUSTER_LINES
};

extern const struct dn_line_kind dn_cluster_kinds[];

/* How long a job on a GPU type is expected to wait, seconds; DN_UNSET unknown. And the
 * feature that all nodes of the type have and no other node with GPUs; "" there is
 * none.
 */
struct dn_wait {
    char type[DN_NAME_MAX];
    char feature[DN_NAME_MAX];
    int64_t wait_s[DN_N_SHAPES];
    int64_t moved_gpus; /* by decisions since; changed atomically by their threads */
};

/* Lists of names in a partition: NULL-like "" is all (allow) or none (deny). A list
 * that is longer than its member is written as "*", which matches no user for
 * an allowing list and every user for a denying one.
 */
struct dn_partition {
    char name[DN_NAME_MAX];
    bool is_default;
    bool up;
    int64_t max_time_s;         /* or DN_UNLIMITED */
    int64_t default_time_s;     /* or DN_UNSET */
    int64_t max_nodes;          /* of a job; DN_UNLIMITED */
    int64_t def_mem_per_cpu_mb; /* DN_UNSET: the cluster's */
    int64_t def_mem_per_node_mb;
    int64_t def_mem_per_gpu_mb; /* of jobs with GPUs, before the two above */
    int64_t max_mem_per_cpu_mb;
    int64_t max_mem_per_node_mb;
    char qos[DN_NAME_MAX]; /* of the partition itself; "" none */
    char allow_accounts[DN_NAME_MAX * 4];
    char deny_accounts[DN_NAME_MAX * 4];
    char allow_qos[DN_NAME_MAX * 4];
    char deny_qos[DN_NAME_MAX * 4];
    char weights[DN_NAME_MAX * 4]; /* TRESBillingWeights; "" none */
};

/* What a limit bounds. */
/* clang-format off */
#define DN_LIMIT_SCOPES(ROW)                                                           \
    ROW (LIMIT_JOB, "job") /* MaxTRESPerJob */                                         \
    ROW (LIMIT_NODE, "node") /* MaxTRESPerNode */                                      \
    ROW (LIMIT_USER, "user") /* MaxTRESPerUser of a QOS */                             \
    ROW (LIMIT_ACCOUNT, "account") /* MaxTRESPerAccount of a QOS */                    \
    ROW (LIMIT_GROUP, "group") /* GrpTRES: all jobs of the QOS or association */       \
    ROW (LIMIT_MIN_JOB, "min_job") /* MinTRESPerJob: at least */
DN_ENUM (dn_limit_scope, LIMIT_SCOPES);
/* clang-format on */

extern const struct dn_names dn_limit_scope_names;

/* A limit of a trackable resource ("cpu", "mem" in MB, "node", "billing", "gres/gpu",
 * "gres/gpu:a100").
 */
struct dn_tres_limit {
    enum dn_limit_scope scope;
    char tres[DN_NAME_MAX];
    int64_t count;
    int64_t used; /* by running jobs, of DN_LIMIT_GROUP; DN_UNSET unknown */
};

/* Who has limits: a QOS, or an association. Its limits are consecutive in
 * dn_cluster.limits.
 */
struct dn_limited {
    char name[DN_NAME_MAX]; /* of the QOS; the account of an association */
    int64_t user_id;        /* of an association; DN_UNSET: of the account itself */
    char partition[DN_NAME_MAX]; /* of an association; "" any */
    char qos[DN_NAME_MAX];       /* default QOS of an association; "" unknown */
    bool is_default;             /* the association of a user's default account */
    int64_t parent;              /* index of the parent association; DN_UNSET none */
    int64_t max_wall_s;          /* MaxWall; DN_UNLIMITED */
    bool minutes; /* it limits TRES minutes (TRESMins, TRESRunMins), of which Slurm
                     charges a job its whole time limit */
    int64_t first_limit;
    int64_t n_limits;
};

/* A snapshot. All arrays are owned. Associations are sorted by user, then account, then
 * partition. Only associations of users and accounts that have a limit themselves or by
 * an ancestor are in it, or of users whose QOS has one where they name none; and with
 * 'accounts', those of the default account of each user.
 */
struct dn_cluster {
    char name[DN_NAME_MAX];
    int64_t time_s;     /* when the tables were read, seconds since 1970 */
    int64_t slurm;      /* version of slurmctld, 2411 for 24.11 */
    bool soft_time_min; /* time_min_as_soft_limit is set */
    bool enforces;      /* AccountingStorageEnforce has limits */
    bool accounts;      /* to be set by who fills it; it is not written */
    struct dn_node_group *groups;
    int64_t n_groups;
    struct dn_wait *waits;
    int64_t n_waits;
    struct dn_partition *partitions;
    int64_t n_partitions;
    struct dn_limited *qos;
    int64_t n_qos;
    struct dn_limited *assocs;
    int64_t n_assocs;
    struct dn_tres_limit *limits;
    int64_t n_limits;
};

/* Read a snapshot. 'file' names it in errors. NULL with 'err'; freed with
 * dn_cluster_free ().
 */
struct dn_cluster *dn_cluster_read (struct dn_span text,
                                    const char *file,
                                    struct dn_err *err) DN_COLD;

/* The first line, and the last one with the number of those between them, by which a
 * text that was cut is known.
 */
struct dn_cluster_head {
    int64_t version;
    struct dn_cluster cluster;
};
struct dn_cluster_tail {
    int64_t rows;
};

/* Write it as dn_cluster_read () reads it, by calls of 'put' with pieces of the text.
 * Return what 'put' returned, if not 0. Single values that are out of range are written
 * as dn_fields_put () states; the numbers of rows (limits.h), the order of the
 * associations and their parents are up to the caller.
 */
int dn_cluster_write (const struct dn_cluster *cluster, dn_put_f put, void *to);

/* Is 'word' among the names of "a,b,c"? */
bool dn_list_has (const char *list, struct dn_span word);

/* NULL-safe. */
void dn_cluster_free (struct dn_cluster *cluster) DN_COLD;

/* Does a job that requests no memory get the same in both? */
bool dn_partitions_same_memory (const struct dn_partition *a,
                                const struct dn_partition *b);

/* The entry of that name, or NULL. */
const struct dn_partition *dn_cluster_partition (const struct dn_cluster *cluster,
                                                 const char *name);
const struct dn_wait *dn_cluster_wait (const struct dn_cluster *cluster,
                                       const char *type);

#endif
