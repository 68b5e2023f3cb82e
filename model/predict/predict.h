/* predict.h - the one way to a prediction: the white box and what was learned
 *
 * In: a case, the devices to try, and what a site predicts with. Out: an estimate per
 * device, every quantity with its median and the spread of its error. Never: what the
 * user asked for, whether to change it. Plugin and command line call dn_predict ().
 *
 * The files of the room; each calls only those above it:
 *     constants.c  the constants of the white box, and which a site may replace
 *     range.c      quantiles of a quantity that is known up to a factor
 *     estimate.c   names of an estimate's parts, cost and carbon
 *     habits.c     what frameworks, stacks and optimizers do differently
 *     setup.c      what a case comes to: the precision that runs, copies, nodes
 *     power.c      mean power of a board, and what a limit of it costs
 *     traffic.c    what the devices of one job send one another
 *     work.c       the device's work for one operator
 *     input.c      the input pipeline: what a core delivers
 *     step.c       wall time of one optimizer step
 *     memory.c     peak memory of one device, the largest batch
 *     run.c        duration, energy and throughput of the whole run
 *     operators.c  where the time of a step goes, by operator
 *     whitebox.c   all of these in order: an estimate by formulas alone
 *     features.c   what the learned residual sees of a run
 *     flat.c       the binary files of a bundle: rows of numbers behind a header
 *     domain.c     how far a run is from those that were trained on
 *     trees.c      boosted trees, read from a file, and their sums
 *     history.c    what a site's own runs say of another run
 *     history_json.c  the same in site.json
 *     tuning.c     site.json: read, written, applied
 *     bundle.c     what was learned: trees, domain, bounds, a site's own
 *     predict.c    the white box, corrected by what was learned
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PREDICT_H
#define DN_PREDICT_H

#include "base/deadline.h"
#include "predict/bundle.h"
#include "predict/whitebox.h"

/* What a site predicts with. */
struct dn_predictor {
    const struct dn_constants *constants;
    const struct dn_bundle *bundle; /* NULL: the white box alone */
    /* What the bundle was made with, for features; NULL: those that ship. */
    const struct dn_constants *shipped;
    const struct dn_deadline *deadline; /* NULL: none */
};

/* Predict a case on each of 'n_devices' devices. Its own device and constants do not
 * count and may be NULL: 'devices' and the predictor's constants take their places.
 * Return 0, or -1 with 'err' when the deadline has passed or a residual cannot be
 * computed; the estimates mean nothing then: the bundle's bounds hold for what its
 * residuals have corrected, not for the white box.
 */
int dn_predict (const struct dn_predictor *predictor,
                const struct dn_case *c,
                const struct dn_device *const devices[],
                int n_devices,
                struct dn_estimate estimates[],
                struct dn_err *err);

/* The kind of network under which a bundle keeps its bounds: "conv", "recurrent",
 * "attention" or "other", by what most of the FLOPs are spent on.
 */
const char *dn_network_kind (const struct dn_graph *graph);

#endif
