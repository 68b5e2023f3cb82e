/* probe_sweep.h - many probes as one job array
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PROBE_SWEEP_H
#define DN_PROBE_SWEEP_H

#include "subject.h"

#define DN_SWEEP_KEYS_MAX   8
#define DN_SWEEP_VALUES_MAX 64

/* Slurm's default MaxArraySize (1001) allows this many tasks. */
#define DN_SWEEP_TASKS_MAX 1000

struct dn_sweep_key {
    char name[DN_NAME_MAX];
    char values[DN_SWEEP_VALUES_MAX][DN_NAME_MAX];
    int n_values;
    bool is_spec; /* a key of the metadata */
};

struct dn_sweep {
    struct dn_sweep_key keys[DN_SWEEP_KEYS_MAX];
    int n_keys;
    int n_tasks; /* of all combinations */
};

/* Take "batch=32,64,128" of --sweep. */
int dn_sweep_add (struct dn_sweep *sweep, const char *text, struct dn_err *err);

/* The parts that all tasks share. */
struct dn_sweep_job {
    const struct dn_site *site;
    const struct dn_sweep *sweep;
    const char *spec;              /* metadata; "{batch}" stands for a value */
    char *const *argv;             /* of the program, the same */
    const char *const *options;    /* of dnnest probe, NULL-terminated */
    const char *const *directives; /* for #SBATCH lines */
    int n_directives;
};

/* The script of the array, owned by the caller. The metadata of every task have been
 * checked. NULL with 'err'.
 */
char *dn_sweep_script (const struct dn_sweep_job *job, struct dn_err *err);

/* Pass a script to sbatch, which prints to our stdout. Return its exit status, -1 with
 * 'err' if it could not be run.
 */
int dn_sweep_submit (const char *script, struct dn_err *err);

#endif
