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
#include <slurm/slurmdb.h>

#include "slurm/slurm_link.h"

struct dn_link {
    /* Replies of slurmctld; NULL: not read yet. */
    slurm_conf_t *conf;
    node_info_msg_t *nodes;
    partition_info_msg_t *partitions;
    reserve_info_msg_t *reservations;
    assoc_mgr_info_msg_t *limits;
    time_t limits_at;           /* when they were loaded */
    job_info_msg_t *jobs;       /* the table that is kept */
    char gres[4 * DN_TRES_MAX]; /* generic resources of one job of it at a time */
    int64_t told_s;             /* slurmctld's clock in its last reply; 0: none yet */
    int64_t told_ms;            /* monotonic, when that came */
};

/* Free the link, but for the tables. */
void dn_link_end (struct dn_link *link);

/* Note slurmctld's clock. */
void dn_link_told (struct dn_link *link, int64_t now_s);

/* Set 'err' from an error code of Slurm: "WHAT: Unable to contact slurm ..."; -1. */
int dn_link_fail (int code, const char *what, struct dn_err *err);

/* The same with errno, of a call of Slurm that has just failed. */
int dn_link_failed (const char *what, struct dn_err *err);

/* For each row of a list of Slurm, which may be NULL. */
#define DN_LINK_EACH(row, list)                                                        \
    for (dn_cleanup (dn_link_each_end) struct listIterator *at_ =                      \
             (list) ? slurm_list_iterator_create (list) : NULL;                        \
         at_ && ((row) = slurm_list_next (at_));)

static inline void dn_link_each_end (struct listIterator *const *at)
{
    if (*at)
        slurm_list_iterator_destroy (*at);
}

/* Minutes of Slurm in seconds; DN_UNSET, DN_UNLIMITED. */
int64_t dn_link_seconds (uint32_t minutes);

/* DefMemPerGPU of a list of job_defaults_t, which may be NULL; DN_UNSET: none. */
int64_t dn_link_mem_per_gpu (struct xlist *job_defaults);

/* A memory default of slurm.conf, if it is per CPU, or if it is not; DN_UNSET: none. */
int64_t dn_link_memory_mb (uint64_t value, bool per_cpu);

/* A number of Slurm; DN_UNSET where it has none. */
int64_t dn_link_number (uint32_t number);

/* "COMPLETED" for JOB_COMPLETE; "" for what is no state of a job. */
const char *dn_link_state (uint32_t state);

/* Fill QOS, associations and limits. */
int dn_link_fill_limits (const assoc_mgr_info_msg_t *from,
                         struct dn_cluster *cluster,
                         struct dn_err *err);

#endif
