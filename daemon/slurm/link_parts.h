/* link_parts.h - what the files of this folder share about the connection
 *
 * Error codes: DN_E_TIME is the connection (dn_link_is_lost ()), DN_E_RANGE a refusal
 * by Slurm, DN_E_NOMEM and DN_E_BUG as everywhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LINK_PARTS_H
#define DN_LINK_PARTS_H

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "slurm/slurm_link.h"

/* What a file of this folder keeps between calls; freed by its own function. */
struct dn_link_tables;
struct dn_link_jobs;

struct dn_link {
    slurm_conf_t *conf;            /* of slurmctld; NULL: not read yet */
    struct dn_link_tables *tables; /* of tables.c; NULL: none */
    struct dn_link_jobs *jobs;     /* of jobs.c; NULL: none */
    void (*free_tables) (struct dn_link_tables *tables); /* set with 'tables' */
    void (*free_jobs) (struct dn_link_jobs *jobs);       /* set with 'jobs' */
    int64_t told_s;  /* slurmctld's clock in its last reply; 0: none yet */
    int64_t told_ms; /* monotonic, when that came */
};

/* Note slurmctld's clock. */
void dn_link_told (struct dn_link *link, int64_t now_s);

/* Set 'err' from an error code of Slurm: "WHAT: Unable to contact slurm controller".
 * Return -1.
 */
int dn_link_fail (int code, const char *what, struct dn_err *err);

/* Minutes of Slurm in seconds; DN_UNSET, DN_UNLIMITED. */
int64_t dn_link_seconds (uint32_t minutes);

/* DefMemPerGPU of a list of job_defaults_t, which may be NULL; DN_UNSET: none. */
int64_t dn_link_mem_per_gpu (struct xlist *job_defaults);

/* A number of Slurm; DN_UNSET where it has none. */
int64_t dn_link_number (uint32_t number);

/* "COMPLETED" for JOB_COMPLETE; "" for what is no state of a job. */
const char *dn_link_state (uint32_t state);

/* The configuration of slurmctld, read again where it has changed. Borrowed from the
 * link until the next call; NULL with 'err'.
 */
const slurm_conf_t *dn_link_slurm_conf (struct dn_link *link, struct dn_err *err);

#endif
