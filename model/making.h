/* making.h - the state of one advice, private to model/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_MAKING_H
#define DN_MAKING_H

#include "advise.h"
#include "request/script.h"
#include "same_run.h"

/* What a stage returns; -1 on failure, with the error of the making. */
enum {
    DN_STAGE_DONE, /* there is nothing more to advise */
    DN_STAGE_NEXT
};

/* It is passed from stage to stage. */
struct dn_making {
    const struct dn_site *site;
    struct dn_view view; /* without a cluster that is too old */
    const struct dn_job *job;
    const struct dn_deadline *deadline;
    struct dn_cache_access *cache; /* NULL: none */
    struct dn_advice *advice;
    struct dn_err *err;
    struct dn_layers layers; /* the job's own network, if it describes one */
    struct dn_graph graph;
    bool control;        /* in the control group */
    bool keeps_several;  /* the limit is kept as there may be several trainings */
    dn_app_key kin;      /* of applications whose times are translated; 0: as its own */
    int64_t batch;       /* that the script states; DN_UNSET: none */
    const char *network; /* that an earlier run has described; NULL: none */
    /* Set by the stages that come first. */
    struct dn_reading reading; /* of the script */
    const struct dn_device *devices[DN_CANDIDATES_MAX];
    struct dn_run_input run;
    struct dn_cache_key key;      /* of the run */
    struct dn_spec measured_spec; /* of an earlier run that describes this one */
    struct dn_estimate measured[DN_CANDIDATES_MAX];
};

/* --- estimates.c: the network, the GPU types and the estimates on them ------------ */

/* Stages: the network that the job describes, unless a run did; the run on each
 * candidate.
 */
int dn_stage_network (struct dn_making *m);
int dn_stage_estimate (struct dn_making *m);

/* The GPU types on which the job could run. */
void dn_making_candidates (struct dn_making *m);

/* What that description needs: resolved, with candidates, and the network or earlier
 * estimates of the same run.
 */
int dn_making_network (struct dn_making *m, struct dn_err *err);

/* The network of 'spec'. To be freed. */
int dn_making_graph (struct dn_making *m,
                     const struct dn_spec *spec,
                     struct dn_graph *graph,
                     struct dn_err *err);

struct dn_predictor dn_making_predictor (const struct dn_making *m);

/* --- earlier_runs.c: what runs of the same application say ------------------------ */

/* Stages: which application it is, and whose history of it counts; what a run has
 * described for a job that does not describe its network; the estimates corrected by
 * what the runs took.
 */
int dn_stage_application (struct dn_making *m);
int dn_stage_adopt (struct dn_making *m);
int dn_stage_learn (struct dn_making *m);

/* Abstain where a type that the job may run on lacks what a limit needs. A job that has
 * no such type is left to the policy.
 */
bool dn_making_lacks_history (struct dn_making *m);

#endif
