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
#define DN_SBATCH_OPTION(id, name, letter, argument, help) DN_SBATCH_##id,
#include "process/sbatch_options.inc"
#undef DN_SBATCH_OPTION
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
