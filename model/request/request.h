/* request.h - what the user requested from Slurm
 *
 * In: struct dn_job, the plain fields of a submission as the adapter (or the command
 * line) sees them. Out: struct dn_request, the same parsed: GPUs by type, form and
 * count, CPUs, memory, time, and which of these may be rewritten at all. Never: Slurm's
 * types or sentinels, the network's metadata, a decision.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REQUEST_H
#define DN_REQUEST_H

#include "base/deadline.h"
#include "base/reason.h"
#include "base/text.h"

enum dn_job_kind {
    DN_JOB_UNKNOWN,
    DN_JOB_BATCH,
    DN_JOB_SRUN,
    DN_JOB_SALLOC,
    DN_N_JOB_KINDS
};

/* The four fields that can carry GPUs, in Slurm's own order. */
enum dn_gpu_field {
    DN_GPU_NONE,
    DN_GPU_PER_JOB,    /* --gpus */
    DN_GPU_PER_NODE,   /* --gres, --gpus-per-node */
    DN_GPU_PER_SOCKET, /* --gpus-per-socket */
    DN_GPU_PER_TASK,   /* --gpus-per-task, --tres-per-task */
    DN_N_GPU_FIELDS
};

/* A submission in plain fields. All strings are borrowed and may be NULL; a count or
 * size that was not given is DN_UNSET.
 */
struct dn_job {
    enum dn_job_kind kind;
    int64_t user_id;
    int64_t draw; /* another number for each submission; DN_UNSET: it is none */
    int64_t group_id;
    int64_t time_limit_min; /* minutes, or DN_UNLIMITED */
    int64_t time_min_min;
    int64_t deadline_s; /* --deadline: from the earliest start on; DN_UNSET for none */
    const char *tres[DN_N_GPU_FIELDS]; /* tres_per_*; [DN_GPU_NONE] is not used */
    const char *cpus_per_tres;
    const char *mem_per_tres;
    int64_t cpus_per_task;
    int64_t min_cpus;    /* of the whole job */
    int64_t pn_min_cpus; /* per node */
    int64_t num_tasks;
    int64_t ntasks_per_node;
    int64_t ntasks_per_tres;
    int64_t sockets_per_node;
    int64_t min_nodes;
    int64_t max_nodes;
    int64_t mem_per_node_mb;
    int64_t mem_per_cpu_mb;
    int64_t default_mem_per_cpu_mb; /* of the cluster, when the job gives no memory */
    int64_t default_mem_per_gpu_mb; /* of its partition, in place of the former */
    bool exclusive;                 /* whole nodes */
    bool overcommit;
    bool special_cores; /* core specialisation, cores or tasks per socket */
    bool whole_cores;   /* --hint=nomultithread: one thread or task per core */
    bool memory_open;   /* none given, and the cluster has no default: a partition's may
                           be per CPU, or the job gets all of a node */
    bool memory_default; /* none given: the default of the cluster or a partition */
    bool het;            /* component of a heterogeneous job */
    bool special_nodes;  /* sockets or boards: only some nodes have them */
    int64_t tmp_disk_mb; /* --tmp: temporary disk of a node */
    int64_t signal_s;    /* --signal: that long before the limit; 0 for none */
    const char *features;
    const char *prefer;
    const char *gpu_freq;       /* --gpu-freq: the clock of the GPUs */
    const char *batch_features; /* --batch: features of the first node */
    const char *req_nodes;
    const char *exc_nodes;
    const char *reservation;
    const char *name;
    const char *partition;
    const char *account;
    const char *qos;
    const char *comment;
    const char *admin_comment;
    const char *script;
    const char *option;     /* the value of --dnnest= */
    const char *image;      /* the value of pyxis's --container-image= */
    const char *sidecar;    /* JSON: the file that option or comment name */
    const char *const *env; /* "NAME=value" or NULL, n_env of them */
    int64_t n_env;
    const char *const *args; /* of the command, its first one is the script; n_args */
    int64_t n_args;
};

/* A job without any request. */
struct dn_job dn_job_empty (void);

/* Value of 'name' in the job's environment, or NULL. Borrowed. */
const char *dn_job_getenv (const struct dn_job *job, const char *name);

/* One entry of a tres string. Spans point into the job's text. */
struct dn_tres {
    struct dn_span whole; /* as written */
    struct dn_span name;  /* "gpu", "shard", "license" ... */
    struct dn_span type;  /* of a GPU; len 0 when untyped */
    int64_t count;        /* of GPUs and CPUs; 1 when none is written */
    bool gpu;
    bool cpu;
};

struct dn_tres_list {
    struct dn_tres entries[DN_TRES_ENTRIES_MAX];
    int n_entries;
};

/* Parse a tres string. The spellings of all versions are accepted ("gres:gpu:2",
 * "gres/gpu:a100:2", "gres/gpu:a100=2", "gpu"); entries that are not GPUs are kept
 * verbatim. Return -1 with DN_E_SYNTAX or DN_E_LIMIT.
 */
int dn_tres_read (const char *text,
                  struct dn_tres_list *list,
                  struct dn_err *err) DN_COLD;

/* The names of a constraint of the form "A" or "A&B&C". Spans point into it. */
struct dn_features {
    struct dn_span names[DN_FEATURES_MAX];
    int n_names;
};

/* Parse a constraint. NULL and "" have no names. Return false, and no names, for any
 * other form: alternatives, counts, brackets, names with other characters.
 */
bool dn_features_read (const char *text, struct dn_features *features);

/* What a word of the script says: a reason of the script, NONE for no word. */
struct dn_script_fact {
    enum dn_reason_code code;
    int line;
    char word[48];
};

/* What words of a script keep. */
enum dn_script_keeps {
    DN_KEEPS_TIME,
    DN_KEEPS_GPU,
    DN_KEEPS_CPUS,
    DN_KEEPS_MEMORY,  /* where it follows the CPUs */
    DN_KEEPS_SEVERAL, /* time and GPU type, unless runs= is given */
    DN_KEEPS_NEED,    /* GPUs that have what the program needs */
    DN_N_KEEPS
};

/* Software whose version says for which GPUs it has kernels. */
enum dn_software {
    DN_SOFTWARE_TORCH,     /* or another framework */
    DN_SOFTWARE_CUDA,      /* a module, or that of a build */
    DN_SOFTWARE_CONTAINER, /* of NVIDIA's, by its date */
    DN_N_SOFTWARE
};

/* A version as 100 * major + minor, 0 for none, and where it stands. */
struct dn_version {
    int64_t number;
    struct dn_script_fact at;
};

struct dn_script {
    struct dn_version versions[DN_N_SOFTWARE]; /* the newest of each */
    struct dn_script_fact first[DN_N_KEEPS];   /* the first word; the highest need */
    struct dn_script_fact counted; /* the largest number beside a word of CPUs */
    int64_t n_counted;             /* that number, 0 for none */
    uint64_t names[64];            /* one bit for each part of a word */
};

/* What a command of the script needs of the GPU, whatever the metadata state. */
enum dn_need {
    DN_NEED_NONE,
    DN_NEED_BF16, /* arithmetic of Ampere and later: bf16, tf32, flash attention 2 */
    DN_NEED_FP8,  /* of Ada, Hopper and later */
    DN_N_NEEDS
};

/* The parsed request. Zero GPUs is a valid request. */
struct dn_request {
    const struct dn_job *job;    /* borrowed */
    int64_t time_limit_s;        /* or DN_UNSET, DN_UNLIMITED */
    enum dn_gpu_field gpu_field; /* the field that their number is taken from */
    int64_t n_gpus;              /* of the whole job; DN_UNSET if unknown */
    int64_t asked_gpus; /* their number before it was lowered; DN_UNSET: it was not */
    int64_t used_gpus;  /* that its last runs have used of as many; DN_UNSET: all */
    int64_t gpus_per_node;      /* maximum on one node; DN_UNSET if unknown */
    char gpu_type[DN_NAME_MAX]; /* "" when untyped, or of several types */
    int64_t n_nodes;            /* DN_UNSET if Slurm chooses their number */
    int64_t most_nodes;         /* the most that it may choose; DN_UNSET if unknown */
    int64_t n_tasks;
    int64_t cpus_per_task;   /* DN_UNSET when -c was not given */
    int64_t cpus_each_gpu;   /* DN_UNSET when --cpus-per-gpu was not given */
    int64_t n_cpus;          /* of the whole job; DN_UNSET if unknown */
    int64_t mem_per_node_mb; /* what the request amounts to; DN_UNSET if unknown */
    double cpus_per_gpu;     /* what the request amounts to; 0 if unknown */
    bool mem_follows_cpus;   /* memory shrinks when CPUs do */
    int64_t n_excluded;      /* nodes that -x names, 0 for none */
    /* Why Slurm may choose the number of nodes, and what the user can add; none when
     * it is known.
     */
    struct dn_reason open_why;
    struct dn_script script;
    /* A sentence about script.counted: the CPUs of a GPU must exceed that number. */
    struct dn_reason counted_why;
    enum dn_need need;         /* the highest of all commands */
    struct dn_reason need_why; /* a sentence: the line, the word, what it needs */
    /* None if the script has one training, else why it may have several: the metadata
     * describe one run of it unless they say how many there are.
     */
    struct dn_reason several_why;
    bool time_unknown; /* the time that is predicted is not that of the job */
    /* None when the field may be rewritten, else the reason why not. What partition
     * and constraint mean for the GPU type depends on the site and is not considered
     * here.
     */
    struct dn_reason keep_time;
    struct dn_reason keep_gpu;
    struct dn_reason keep_cpus;
};

/* Does the script have all parts of 'word', letters and digits between others? */
bool dn_script_has (const struct dn_script *script, const char *word);

/* A fact as the reason of what it keeps. */
struct dn_reason dn_script_reason (const struct dn_script_fact *fact);

/* Parse all of 'job' but its script. Forms that are parsed but must not be rewritten
 * set keep_*. Return 0, or -1 with 'err' set for a tres string that cannot be parsed,
 * or when 'deadline' (NULL: none) passes meanwhile.
 */
int dn_request_read (const struct dn_job *job,
                     const struct dn_deadline *deadline,
                     struct dn_request *request,
                     struct dn_err *err) DN_COLD;

/* Keep what the words of the script count, after the request was read: fills script,
 * keep_*, several_why, counted_why and need.
 */
void dn_request_keep_by_script (struct dn_request *request,
                                const struct dn_script *found);

/* Keep time, GPUs and CPUs unchanged; an earlier reason is kept. */
void dn_request_keep_all (struct dn_request *request, const struct dn_reason *reason);

#endif
