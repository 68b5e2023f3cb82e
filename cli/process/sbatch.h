/* sbatch.h - a batch submission as the job_submit plugin gets it
 *
 * In: the options of sbatch, on the command line and in #SBATCH lines. Out: struct
 * dn_job filled as sbatch and slurmctld of a given version fill the job description.
 * The SBATCH_* environment and the defaults of partitions are not used.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SBATCH_H
#define DN_SBATCH_H

#include "options.h"
#include "request/request.h"

/* The options that affect struct dn_job. */
enum dn_sbatch_option {
    DN_SBATCH_ACCOUNT,
    DN_SBATCH_ARRAY,
    DN_SBATCH_BATCH,
    DN_SBATCH_COMMENT,
    DN_SBATCH_CONSTRAINT,
    DN_SBATCH_CORE_SPEC,
    DN_SBATCH_CORES_PER_SOCKET,
    DN_SBATCH_CPUS_PER_GPU,
    DN_SBATCH_CPUS_PER_TASK,
    DN_SBATCH_DEADLINE,
    DN_SBATCH_DNNEST,
    DN_SBATCH_EXCLUDE,
    DN_SBATCH_EXCLUSIVE,
    DN_SBATCH_EXTRA_NODE_INFO,
    DN_SBATCH_GPUS,
    DN_SBATCH_GPUS_PER_NODE,
    DN_SBATCH_GPUS_PER_SOCKET,
    DN_SBATCH_GPUS_PER_TASK,
    DN_SBATCH_GPU_FREQ,
    DN_SBATCH_GRES,
    DN_SBATCH_HINT,
    DN_SBATCH_MEM,
    DN_SBATCH_MEM_PER_CPU,
    DN_SBATCH_MEM_PER_GPU,
    DN_SBATCH_MINCPUS,
    DN_SBATCH_NODEFILE,
    DN_SBATCH_NODELIST,
    DN_SBATCH_NODES,
    DN_SBATCH_NTASKS,
    DN_SBATCH_NTASKS_PER_CORE,
    DN_SBATCH_NTASKS_PER_GPU,
    DN_SBATCH_NTASKS_PER_NODE,
    DN_SBATCH_NTASKS_PER_SOCKET,
    DN_SBATCH_OVERCOMMIT,
    DN_SBATCH_OVERSUBSCRIBE,
    DN_SBATCH_PARTITION,
    DN_SBATCH_PREFER,
    DN_SBATCH_QOS,
    DN_SBATCH_RESERVATION,
    DN_SBATCH_SIGNAL,
    DN_SBATCH_THREAD_SPEC,
    DN_SBATCH_THREADS_PER_CORE,
    DN_SBATCH_SOCKETS_PER_NODE,
    DN_SBATCH_TIME,
    DN_SBATCH_TIME_MIN,
    DN_SBATCH_TMP,
    DN_SBATCH_TRES_PER_TASK,
    DN_SBATCH_WRAP,
    DN_N_SBATCH_OPTIONS
};

#define DN_SBATCH_TEXT_MAX (2 * DN_TRES_MAX)
#define DN_SBATCH_ENV_MAX  6

struct dn_sbatch {
    const char *value[DN_N_SBATCH_OPTIONS]; /* borrowed; "" without argument */
    const char *default_memory;             /* DefMemPerCPU=, borrowed; may be NULL */
    char *script;                           /* owned */
    char *words; /* owned: what the values of #SBATCH lines point into */
    bool het;
    struct dn_job job; /* points into this structure */
    char tres[DN_N_GPU_FIELDS][DN_SBATCH_TEXT_MAX];
    char cpus_per_tres[DN_NAME_MAX];
    char mem_per_tres[DN_NAME_MAX];
    char env_text[DN_SBATCH_ENV_MAX][DN_SBATCH_TEXT_MAX];
    const char *env[DN_SBATCH_ENV_MAX];
};

/* All options of sbatch; those after DN_N_SBATCH_OPTIONS have no effect here. Ends with
 * a row without name. */
extern const struct dn_option dn_sbatch_options[];

/* Take one option of the command line. */
void dn_sbatch_set (struct dn_sbatch *sbatch, int option, const char *argument);

/* Take ownership of 'script' (allocated by malloc ()) and read its #SBATCH lines, which
 * the command line overrides. Return an enum dn_exit: DONE, or USAGE after a message.
 */
int dn_sbatch_read_script (struct dn_sbatch *sbatch, char *script);

/* Fill 'job' as Slurm of that version would. */
int dn_sbatch_fill (struct dn_sbatch *sbatch, int version, struct dn_err *err);

/* NULL-safe. */
void dn_sbatch_free (struct dn_sbatch *sbatch);

#endif
