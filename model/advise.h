/* advise.h - from a submission to its patch
 *
 * The plugin and "dnnest advise" call the same function, so a dry run gives the result
 * of a real submission.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ADVISE_H
#define DN_ADVISE_H

#include "base/deadline.h"
#include "policy/policy.h"
#include "policy/view.h"
#include "predict/learned.h"
#include "rewrite/rewrite.h"
#include "same_run.h"
#include "site.h"

/* All results about one submission. Allocate it with dn_advice_new (): it is tens of
 * kilobytes, and the stack of a slurmctld thread may be small.
 */
struct dn_advice {
    struct dn_rules rules; /* in force for this job; set also on failure */
    enum dn_metadata metadata;
    struct dn_job job; /* with the defaults of its partition, where they are known */
    struct dn_spec spec;
    bool by_history;             /* alone: the network is not described */
    bool by_run;                 /* an earlier run of the application describes it */
    bool reused;                 /* the estimates are those of an earlier job */
    struct dn_learner learner;   /* the application; its name is in the decision */
    char ignored[DN_REASON_MAX]; /* why text like metadata is not read; "" */
    struct dn_request request;   /* of this job */
    struct dn_candidates candidates;
    struct dn_decision decision;
    struct dn_patch patch;
    struct dn_estimate estimates[DN_CANDIDATES_MAX]; /* one per candidate */
};

/* An empty advice, or NULL without memory. Freed with dn_advice_free (). */
struct dn_advice *dn_advice_new (void);
void dn_advice_free (struct dn_advice *advice);

/* Write the one line for slurmctld's log about an advice with a verdict. */
void dn_advice_log (const struct dn_advice *advice, char text[DN_LOG_TEXT_MAX]);

/* Cheap test whether a submission may concern dnnest: has it the option or a sidecar, a
 * colon in the comment or a line like "#DNNEST" in the head of the script? Where
 * OptIn=all or history holds for any job: does it request any resource that may be a
 * GPU?
 */
bool dn_advise_concerns (const struct dn_site *site, const struct dn_job *job);

/* The rules in force for 'job'. One that names no account is charged to the default
 * account of its user, if the snapshot of 'view' (NULL: none) has it.
 */
struct dn_rules dn_advise_rules (const struct dn_site *site,
                                 const struct dn_view *view,
                                 const struct dn_job *job);

/* Advise on 'job'. Return 0 with 'advice' filled: with a verdict, decision and patch
 * are set. Without a verdict dnnest ignores the job, and the patch has no edit and no
 * text but warnings (dn_decision_warn ()). It ignores
 * jobs without metadata and jobs whose metadata are "off"; but where OptIn=all, a job
 * without metadata that requests GPUs gets the verdict abstain, and where
 * OptIn=history, its time limit may follow what its application took. Return -1 with
 * 'err' when metadata or request cannot be parsed, something failed, or 'deadline'
 * (NULL: none), which is checked before each stage, has passed. The patch is empty
 * then, and the job must not be changed.
 *
 * The reading of the script and the estimates are looked up in 'cache' (NULL: none)
 * before they are computed, and stored there. It must belong to 'site'. The result is
 * the same without a cache.
 *
 * A cluster of 'view' (NULL: nothing is known) that is older than SnapshotAge, or from
 * the future, is not used.
 */
int dn_advise (const struct dn_site *site,
               const struct dn_view *view,
               const struct dn_job *job,
               const struct dn_deadline *deadline,
               struct dn_cache_access *cache,
               struct dn_advice *advice,
               struct dn_err *err) DN_COLD;

#endif
