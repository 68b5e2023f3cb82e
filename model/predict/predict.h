/* predict.h - the only path to a prediction: white box and residual
 *
 * In: a case, the devices to try, and what a site predicts with. Out: an estimate per
 * device, every quantity with its median and the spread of its error. It does not know
 * the user's request, nor decide on changes. Plugin and command line call dn_predict
 * ().
 *
 * The files of the room; each calls only those above it:
 *     constants.c  constants.inc as values, and which of them a site may replace
 *     estimate.c   quantiles of a quantity known up to a factor, time and cost
 *     habits.c     differences between frameworks, stacks and optimizers, tuned code
 *     attend.c     which kernels run attention, and their work
 *     setup.c      values that follow from a case: precision, copies, nodes
 *     traffic.c    communication: collectives, copies, split work, the host's memory
 *     power.c      mean power of a board, the slow-down by its limit
 *     work.c       the device's work for one operator
 *     optimizer.c  states, traffic and arithmetic of an optimizer
 *     input.c      the input pipeline: what a core delivers
 *     assumed.c    what is taken for keys that were not given
 *     memory.c     peak memory of one device, the largest batch
 *     unused.c     keys that no estimate depends on
 *     step.c       wall time of one optimizer step
 *     whitebox.c   all of these in order, and the run: an estimate by formulas alone
 *     operators.c  what people read: time by operator, bottleneck, names, carbon
 *     features.c   the features of a run for the learned residual, and its kind
 *     flat.c       the binary files of a bundle: rows of numbers after a header
 *     domain.c     the distance of a run from the training runs
 *     trees.c      boosted trees, read from a file, and their sums
 *     history.c    what a site's own runs say of another run
 *     apps.c       what the finished runs of each user's applications say
 *     apps_write.c  and written
 *     translate.c  the time of a run from a measured one of another configuration
 *     learned.c    the estimate of an application that has run before
 *     history_json.c  the same in site.json
 *     tuning.c     site.json: read and applied
 *     tuning_write.c  and written
 *     bundle.c     the learned part: trees, domain, bounds, the site's
 *     predict.c    the white box, corrected by what was learned
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PREDICT_H
#define DN_PREDICT_H

#include "base/deadline.h"
#include "predict/bundle.h"
#include "predict/whitebox.h"

/* The data that a site predicts with. */
struct dn_predictor {
    const struct dn_constants *constants;
    const struct dn_bundle *bundle; /* NULL: the white box alone */
    /* The constants that the bundle was made with, for features; NULL: the shipped
     * ones.
     */
    const struct dn_constants *shipped;
    const struct dn_deadline *deadline; /* NULL: none */
    int64_t user; /* whose history counts; DN_UNSET: that of runs without a user */
};

/* Predict a case on each of 'n_devices' devices. Its own device and constants are
 * ignored and may be NULL: 'devices' and the predictor's constants replace them. Return
 * 0, or -1 with 'err' when the deadline has passed or a residual cannot be computed.
 * The estimates are then invalid: the bundle's bounds apply to corrected estimates, not
 * to the white box.
 */
int dn_predict (const struct dn_predictor *predictor,
                const struct dn_case *c,
                const struct dn_device *const devices[],
                int n_devices,
                struct dn_estimate estimates[],
                struct dn_err *err);

#endif
