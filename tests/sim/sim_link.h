/* sim_link.h - a slurmctld that is made up, for tests of what talks to one
 *
 * It implements slurm_link.h over an array of jobs that the test sets. A link sees the
 * jobs as they were when it read the table; updates change the array. A test may hook
 * into every call: time passes there, people change jobs, connections break.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SIM_LINK_H
#define DN_SIM_LINK_H

#include "slurm/slurm_link.h"

#define SIM_RESERVATIONS_MAX 256

enum sim_call {
    SIM_TABLE,
    SIM_JOB,
    SIM_UPDATE,
    SIM_CLUSTER,
    SIM_RESERVATIONS,
    SIM_NOTIFY
};

/* Of one partition and one QOS. */
struct sim_slurm {
    struct dn_link_job *jobs; /* those without a name are not in the table */
    int n_jobs;
    int64_t max_time_s;
    int64_t default_time_s;
    int64_t max_wall_s;
    struct dn_link_reservation reservations[SIM_RESERVATIONS_MAX];
    int n_reservations;
    int64_t reservations_changed_s;
    const struct dn_link_node *nodes;
    int n_nodes;
    char **texts; /* owned */
    int64_t n_texts;
};

struct dn_link {
    struct sim_slurm *slurm;
    struct dn_link_job *table; /* as it was read; owned */
    int n_table;
    int64_t told_s;  /* slurmctld's time, of its last reply */
    int64_t told_ms; /* and the monotonic clock then */
    int64_t (*clock_ms) (const struct dn_link *link); /* NULL: it stands still */
    int n_tables;
    int n_changes;
    char changed[8][DN_NAME_MAX]; /* the first jobs that were changed */
    int n_notices;
    char notice[256];
    /* Called before and after a call does its work; -1 with 'err': it fails. 'job' is
     * the one that it concerns, or NULL. NULL: nothing. */
    int (*before) (struct dn_link *link,
                   enum sim_call call,
                   const struct dn_link_job *job,
                   struct dn_err *err);
    int (*after) (struct dn_link *link,
                  enum sim_call call,
                  const struct dn_link_job *job,
                  struct dn_err *err);
    void *to; /* of the test */
};

/* A copy of a text, such as an admin comment; valid until sim_free (). */
const char *sim_text (struct sim_slurm *slurm, const char *text);

/* Change the limit of a job, and the end of one that runs. */
void sim_limit (struct dn_link_job *job, int64_t limit_s);

void sim_free (struct sim_slurm *slurm);

/* SlurmUser; root may change jobs, too. */
extern int64_t sim_slurm_user;

#endif
