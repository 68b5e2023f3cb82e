/* run.c - the run around the steps: duration, energy, throughput
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

double dn_run_seconds (const struct dn_constants *constants,
                       const struct dn_spec *spec,
                       double step_s,
                       double start_s,
                       double epoch_starts)
{
    double n_steps = dn_spec_steps (spec);
    double evaluations = constants->eval_share;

    if (n_steps < 0)
        return -1;
    /* Evaluation is a forward pass: about a third of a training step's time. */
    if (spec->eval_every > 0 && spec->eval_samples > 0)
        evaluations = (double) spec->eval_samples / (double) spec->global_batch
                      / (double) spec->eval_every / 3;
    return dn_spec_runs (spec)
           * (n_steps * step_s * (1 + evaluations) + start_s
              + epoch_starts * constants->epoch_s);
}

void dn_run_fill (const struct dn_case *c, struct dn_estimate *estimate)
{
    double gpus = (double) c->spec->gpus;
    double epochs = c->spec->epochs > 0 ? c->spec->epochs : 1;

    estimate->samples_per_s = (double) c->spec->global_batch / estimate->step_s.p50;
    estimate->n_steps = dn_spec_steps (c->spec);
    estimate->train_s = estimate->step_s;
    estimate->train_s.p50 = dn_run_seconds (
        c->constants, c->spec, estimate->step_s.p50, c->constants->start_s, epochs);
    estimate->energy_j = -1;
    if (estimate->n_steps >= 0)
        estimate->energy_j = estimate->train_s.p50 * estimate->power_w * gpus;
}
