/* site_runs.h - runs of a site, what they take, and what a tuning predicts of them
 *
 * For the tests of a site's fit (learn/site_fit.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_RUNS_H
#define DN_SITE_RUNS_H

#include "learn/site_fit.h"
#include "predict/predict.h"
#include "site.h"

/* A run of the specification 'text' on a device of scene_plain (), by user 0, for a
 * fit, which takes the graph over; or one whose graph is kept for the test.
 */
struct dn_site_run site_run_of (const char *device, const char *text);
struct dn_site_run site_run_kept (const char *device, const char *text);

struct dn_case site_run_case (const struct dn_constants *constants,
                              const struct dn_site_run *run);

/* By the white box alone. */
struct dn_estimate site_run_estimate (const struct dn_constants *constants,
                                      const struct dn_site_run *run);

/* Seconds that a site measures whose truth is 'constants' times 'scale'. */
double site_run_truth (const struct dn_constants *constants,
                       const struct dn_site_run *run,
                       double scale);

/* With a bundle that has nothing but this tuning, which it borrows. */
struct dn_estimate site_run_refined (struct dn_tuning *tuning,
                                     const struct dn_site_run *run);

/* A fit without runs, and what it has learned of its runs, or the test fails. Both are
 * kept for the test.
 */
struct dn_site_fit *site_fit_new (void);
struct dn_tuning *site_run_learned (struct dn_site_fit *fit);

/* Keep this one, too. */
struct dn_tuning *site_tuning (struct dn_tuning *tuning);

#endif
