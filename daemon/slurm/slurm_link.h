/* slurm_link.h - the tables of slurmctld as plain structs, and updates of jobs
 *
 * Only the files of this folder include Slurm's headers and differ by its version. All
 * calls may block for MessageTimeout, which dn_link_open () lowers; none is made while
 * slurmctld is known to be down (dn_link_is_up ()). One thread at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SLURM_LINK_H
#define DN_SLURM_LINK_H

#include "base/err.h"
#include "base/limits.h"
#include "hardware/cluster.h"

struct dn_link;

/* Connect to the cluster of slurm.conf (SLURM_CONF of the environment, else the
 * default). NULL with 'err'. Closed with dn_link_close ().
 */
struct dn_link *dn_link_open (struct dn_err *err);

/* ClusterName of slurm.conf, "" if it has none; dn_link_open () comes before. */
const char *dn_link_cluster_name (void);
void dn_link_close (struct dn_link *link);

/* Does a controller answer? Costs no wait where none is running. */
bool dn_link_is_up (struct dn_link *link);

/* The error of a call that failed because of the connection (down, failing over, no
 * munged): try again later.
 */
bool dn_link_is_lost (const struct dn_err *err);

/* slurmctld's clock, seconds since 1970: as of its last reply that states it, and
 * then by the monotonic clock; before the first one that of this host.
 */
int64_t dn_link_now (const struct dn_link *link);

/* The configuration in force, borrowed from the link until the next call. */
struct dn_link_conf {
    const char *cluster;
    int slurm;          /* 2411 for 24.11 */
    bool soft_time_min; /* SchedulerParameters=time_min_as_soft_limit */
    bool enforces;      /* AccountingStorageEnforce has limits */
    bool accounts;      /* AccountingStorageType is slurmdbd */
    const char *scheduler_parameters;
    const char *slurmctld_parameters;
    int64_t slurm_user;         /* uid of SlurmUser */
    int64_t def_mem_per_cpu_mb; /* DN_UNSET */
    int64_t def_mem_per_node_mb;
    int64_t def_mem_per_gpu_mb;
};
int dn_link_conf (struct dn_link *link, struct dn_link_conf *conf, struct dn_err *err);

/* --- tables for the snapshot (tables.c) ---------------------------------------- */

/* Fill 'cluster' but for its time, groups and waits. A table that has not changed since
 * the last call is not sent again by slurmctld; limits, which are always sent, are read
 * again every five minutes where there are many.
 */
int dn_link_cluster (struct dn_link *link,
                     struct dn_cluster *cluster,
                     struct dn_err *err);

/* A node. Texts are borrowed and may be NULL. */
struct dn_link_node {
    const char *name;
    const char *gres;       /* "gpu:a100:4(S:0-1)" */
    const char *gres_used;  /* "gpu:a100:1(IDX:0)" */
    const char *gres_drain; /* of the same form, or "N/A" */
    const char *features;   /* "ib,nvme" */
    const char *partitions; /* "p1,p2"; those that fit into DN_LINK_PARTITIONS_MAX */
    int64_t cpus;           /* that jobs can have */
    int64_t idle_cpus;
    int64_t mem_mb; /* that jobs can have */
    int64_t idle_mem_mb;
    int64_t tmp_mb;
    int64_t threads_per_core;
    /* Jobs can run on it, now or when others have ended: it is neither down, drained,
     * failing, in maintenance, reserved now, nor about to reboot. */
    bool up;
    /* It is up, but does not take a job at once: powered down, planned for another job,
     * kept for one user, or blocked. */
    bool busy;
    int64_t reserved_from;  /* the present or next reservation, seconds since 1970 */
    int64_t reserved_until; /* 0: none that begins in the next 30 days */
};
#define DN_LINK_PARTITIONS_MAX (DN_NAME_MAX * 4)

/* Call 'take' for every node at 'now_s'; it ends the loop by a value other than 0,
 * which is returned. Nodes without a name (of a cloud, powered down and hidden) are
 * left out.
 */
typedef int (*dn_link_node_f) (void *to, const struct dn_link_node *node);
int dn_link_nodes (struct dn_link *link,
                   int64_t now_s,
                   dn_link_node_f take,
                   void *to,
                   struct dn_err *err);

/* A reservation that has not ended. Borrowed. */
struct dn_link_reservation {
    const char *name;
    int64_t from; /* seconds since 1970 */
    int64_t until;
    const char *nodes; /* a hostlist */
    int64_t changed_s; /* the last change of any reservation */
};
typedef int (*dn_link_reservation_f) (void *to,
                                      const struct dn_link_reservation *reservation);
int dn_link_reservations (struct dn_link *link,
                          dn_link_reservation_f take,
                          void *to,
                          struct dn_err *err);

/* --- jobs (jobs.c) ------------------------------------------------------------- */

enum dn_job_phase {
    DN_PHASE_PENDING,
    DN_PHASE_RUNNING,
    DN_PHASE_SUSPENDED,
    DN_PHASE_ENDING, /* completing */
    DN_PHASE_ENDED,
    DN_N_PHASES
};

/* How GPUs are requested. */
enum dn_tres_per {
    DN_TRES_PER_JOB,
    DN_TRES_PER_NODE,
    DN_TRES_PER_SOCKET,
    DN_TRES_PER_TASK,
    DN_N_TRES_PER
};

/* A job of the table. Texts are borrowed, or NULL. Times: since 1970, 0 unknown [s]. */
struct dn_link_job {
    int64_t job_id;            /* as the user knows it: an array's own id */
    int64_t array_task;        /* DN_UNSET: none */
    int64_t het_offset;        /* DN_UNSET: none */
    int64_t raw_id;            /* of this record */
    char name[DN_NAME_MAX];    /* "12", "12_3", "12+1": for updates and logs */
    const char *pending_tasks; /* of an array, as "3,5-9"; NULL: it is no such record */
    int64_t user_id;
    int64_t group_id;
    enum dn_job_phase phase;
    const char *state;  /* "OUT_OF_MEMORY", as squeue shows it */
    int64_t limit_s;    /* the time limit; DN_UNLIMITED */
    int64_t time_min_s; /* --time-min; 0 none */
    int64_t submit, eligible, start,
        end; /* of a pending job, start is the expected one */
    int64_t deadline;
    int64_t suspended_s; /* in all, but for a suspension that lasts */
    int64_t ran_s;       /* of a suspended job: how long it ran before */
    int64_t n_nodes, n_cpus;
    int64_t n_tasks;
    int64_t node_cpus;   /* at least, on each node; 0: not stated, as the next two */
    int64_t node_mem_mb; /* of memory per node or per CPU one is stated */
    int64_t mem_per_cpu_mb;
    int64_t mem_per_gpu_mb; /* 0: not stated */
    int64_t cpus_per_gpu;
    int64_t priority; /* 0: held */
    int64_t restarts;
    int64_t exit_code; /* as wait () returns it */
    bool batch;
    bool queued;   /* pending for resources, or after other jobs that are */
    bool unseen;   /* pending, and the scheduler has not looked at it yet */
    bool on_nodes; /* it asks for nodes by their names, or excludes some */
    bool whole;    /* it has its nodes to itself (--exclusive) */
    bool requeue;  /* may be requeued */
    bool federated;
    const char *partition; /* of a running job the one that it runs in */
    const char *account;
    const char *qos;
    const char *features; /* the constraint */
    const char *nodes;    /* a hostlist */
    const char *reservation;
    const char *tres; /* requested, as "cpu=4,gres/gpu:a100=1" */
    const char *gres; /* tres_per_* as requested, joined by "," */
    const char *tres_per[DN_N_TRES_PER];
    const char *comment;
    const char *admin_comment;
    const char *work_dir;
    /* Of a batch job with a record. */
    const char *std_out; /* with patterns: rescue/rescue_plan.h */
    const char *std_err;
    const char *title; /* --job-name */
    const char *user;
    const char *host; /* that ran the script */
};

/* Read the whole table of jobs, and keep it in the link until the next call, or until
 * dn_link_jobs_drop (). 70 MB for 20,000 jobs.
 */
int dn_link_jobs (struct dn_link *link, struct dn_err *err);
void dn_link_jobs_drop (struct dn_link *link);

/* Call 'take' for every job of the table that is kept; it ends the loop by a value
 * other than 0, which is returned.
 */
typedef int (*dn_link_job_f) (void *to, const struct dn_link_job *job);
int dn_link_jobs_each (struct dn_link *link, dn_link_job_f take, void *to);

/* Call 'take' for one job as it is now, by the id of its record; not at all, where
 * slurmctld no longer has it.
 */
int dn_link_job_now (struct dn_link *link,
                     int64_t raw_id,
                     dn_link_job_f take,
                     void *to,
                     struct dn_err *err);

/* Have two hostlists a node in common? */
bool dn_link_share_node (const char *a, const char *b);

/* Change a job. 0 or DN_UNSET, and NULL: no change. A limit is whole minutes, and
 * at least one. After an error of the connection the change may have been made: read
 * the job again.
 */
struct dn_link_change {
    const char *name; /* of the job */
    int64_t limit_s;
    const char *admin_comment;
    const char *gres; /* tres_per_node; of a pending job, from 23.02 on */
    const char *partition;
    const char *features;
    int64_t mem_mb; /* host memory of a node */
};
int dn_link_update (struct dn_link *link,
                    const struct dn_link_change *change,
                    struct dn_err *err);

/* Send a line to the standard error of a running job. */
int dn_link_notify (struct dn_link *link,
                    const struct dn_link_job *job,
                    const char *line,
                    struct dn_err *err);

/* scontrol requeuehold, and release. */
int dn_link_requeue (struct dn_link *link,
                     const char *name,
                     bool hold,
                     struct dn_err *err);
int dn_link_release (struct dn_link *link, const char *name, struct dn_err *err);

#endif
