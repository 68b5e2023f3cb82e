/* learned.h - the estimate of an application that has run before
 *
 * In: the history of applications (apps.h), which of them a job runs, and the estimate
 * of the model, if the job describes its network. Out: the same estimate by what the
 * runs took: the law of the run time is that of the application's row for that GPU type
 * and number of GPUs, which has been fitted together with the prediction.
 *
 * - A bound is never below what the longest run took, in proportion to the work; where
 *   the site shares histories by account, not below the longest run of others either.
 *   Their runs raise needs and bounds, and lower none.
 * - Work outside that of the runs by more than a factor of 2 widens the law; by more
 *   than 10, the history is not used.
 * - Where other types were seen only, a prediction is raised by what these were above
 *   theirs, and not lowered.
 * - Measured GPU memory raises the bound of any type. On the type that it was measured
 *   on it replaces the prediction where a fingerprint names the application; app= may
 *   name runs of different sizes. What only the runs say of it raises a prediction.
 * - Measured CPUs raise the need; a quarter is added for peaks.
 * - Of host memory the largest peak of runs on any type is known, and how many measured
 *   it with as many GPUs; the policy makes a bound of them.
 *
 * - A job whose network an earlier run has described, and not its own words, has the
 *   times of its runs alone: on other types and numbers of GPUs, and with another
 * batch, times the ratio of the predicted steps (translate.h), up and down.
 *
 * Confidence is that of the law (dn_range_within ()): runs that scatter more, or fewer
 * ones, have less.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LEARNED_H
#define DN_LEARNED_H

#include "predict/apps.h"
#include "predict/translate.h"
#include "spec/spec.h"

/* Runs without which nothing is said of a job that has no model. */
#define DN_LEARNED_RUNS_MIN 2

/* Whose history, and of what. */
struct dn_learner {
    const struct dn_apps *apps; /* NULL: none */
    dn_app_key key;
    dn_app_key others; /* of the account, whose runs widen only; 0: none */
    bool named;        /* by app= */
    int64_t gpus;      /* of the job; DN_UNSET: unknown */
    const struct dn_spec *spec;
    const char *bundle; /* in force; NULL: none */
    /* What its newest run has described; NULL: nothing. */
    const struct dn_app_known *known;
};

/* The share of its time that a run waits for data, from which its CPUs are kept. */
#define DN_LEARNED_LOADER_SHARE 0.05

/* The runs that say most of a run on a GPU type. */
struct dn_learned_source {
    const struct dn_app_row *row; /* NULL: there are none */
    const char *type;             /* that they were on */
    struct dn_setting measured;   /* theirs; no estimate: it is the wanted one */
};

/* Do the metadata state how much a run does, so that the rest describes the
 * application?
 */
bool dn_learned_counted (const struct dn_spec *spec);

/* The unit in which the work of a run is recorded, and '*work'; 'base_s' is the time
 * that is predicted without history, not positive if there is none.
 */
enum dn_work_unit dn_learned_work (const struct dn_spec *spec,
                                   double base_s,
                                   double *work);

/* An estimate by history alone, of which nothing is known yet. */
struct dn_estimate dn_learned_begin (const struct dn_device *device);

/* Widen the law for that work by the row of others' runs. NULL-safe. Was it widened? */
bool dn_learned_widen (const struct dn_app_row *others,
                       double work,
                       struct dn_range *law);

/* Correct the estimate of runs on the GPU type of that name. */
void dn_learned_apply (const struct dn_learner *learner,
                       const char *type,
                       struct dn_estimate *estimate) DN_COLD;

/* The runs on the type and number of GPUs, else others: with as many GPUs, if there are
 * any. Their setting is left to the caller.
 */
struct dn_learned_source dn_learned_source_of (const struct dn_learner *learner,
                                               const char *type);

/* The estimate of a run whose network an earlier run has described: steps and GPU
 * memory are predicted, time and CPUs are those of the source, translated. What a job
 * has said of itself lowers no need.
 */
void dn_learned_known (const struct dn_learner *learner,
                       const struct dn_learned_source *source,
                       const char *type,
                       struct dn_estimate *estimate) DN_COLD;

/* Runs of the application on that type, and with as many GPUs, that were learned from.
 */
int64_t dn_learned_runs (const struct dn_learner *learner, const char *type);

#endif
