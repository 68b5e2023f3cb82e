/* advise.h - the ladder: from a submission to its patch
 *
 * The plugin and "dnnest advise" call this same function, so the dry run is the real
 * run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ADVISE_H
#define DN_ADVISE_H

#include "base/deadline.h"
#include "cache.h"
#include "policy/policy.h"
#include "rewrite/rewrite.h"
#include "site.h"

/* Everything that was found out about one submission. Allocate it with dn_advice_new
 * (): it is tens of kilobytes, and the stack of a controller's thread may be small.
 */
struct dn_advice {
    struct dn_rules rules; /* in force for this job; set whatever else fails */
    enum dn_metadata metadata;
    struct dn_spec spec;
    struct dn_request request;
    struct dn_candidates candidates;
    struct dn_patch patch;
    struct dn_decision decision;
    struct dn_estimate estimates[DN_CANDIDATES_MAX]; /* one per candidate */
};

/* An empty advice, or NULL without memory. Freed with dn_advice_free (). */
struct dn_advice *dn_advice_new (void);
void dn_advice_free (struct dn_advice *advice);

/* Cheap test whether a submission could concern dnnest at all: does it have the option
 * or a sidecar, or is there a "dnnest:" in the comment or a "#DNNEST" in the head of
 * the script? Where OptIn=all holds for somebody: does it ask for any resource that may
 * be a GPU?
 */
bool dn_advise_concerns (const struct dn_site *site, const struct dn_job *job);

/* Advise on 'job'. Return 0 with 'advice' filled: without a verdict the job is not ours
 * and the patch is empty; otherwise decision and patch are set. A job without metadata,
 * or whose metadata is "off", is not ours, but one without that wants GPUs gets a
 * verdict, to abstain, where OptIn=all. Return -1 with 'err' when metadata or request
 * cannot be understood, something failed, or 'deadline' (NULL: none), which is looked
 * at before each stage, has passed; the patch is empty then and the job must stay as it
 * is.
 *
 * 'cache' (NULL: none) is asked for the estimates before they are computed, and given
 * those that were. It must be of the same 'site': the answer is the same without it.
 */
int dn_advise (const struct dn_site *site,
               const struct dn_job *job,
               const struct dn_deadline *deadline,
               struct dn_cache_access *cache,
               struct dn_advice *advice,
               struct dn_err *err);

#endif
