/* run.c - the run around the steps: duration, power, energy
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

/* Share of the power range between idle and limit that a step draws: kernels that run
 * at all, and how hard they work arithmetic and memory.
 */
static double power_share (const struct dn_case *c, const struct dn_estimate *estimate)
{
    const struct dn_constants *k = c->constants;
    const double *stage = estimate->stage_s;
    double kernels = stage[DN_STAGE_FORWARD] + stage[DN_STAGE_BACKWARD_DATA]
                     + stage[DN_STAGE_BACKWARD_WEIGHT] + stage[DN_STAGE_RECOMPUTE]
                     + stage[DN_STAGE_OPTIMIZER];
    double launches = 0;
    double busy;

    for (int i = 0; i < c->graph->n_ops; i++)
        launches += 3 * c->graph->ops[i].repeat * k->launch_s
                    * (double) c->spec->grad_accum / c->model_parallel;
    busy = fmin (fmax (kernels - launches, 0) / estimate->step_s.p50, 1);
    return fmin (k->power_busy * sqrt (busy) + k->power_work * busy, 1);
}

void dn_predict_run (const struct dn_case *c, struct dn_estimate *estimate)
{
    const struct dn_constants *k = c->constants;
    const struct dn_device *device = c->device;
    double limit = device->tdp_w;
    double gpus = (double) c->spec->gpus;
    double epochs = c->spec->epochs > 0 ? c->spec->epochs : 1;
    double evaluations = k->eval_share;

    if (c->spec->power_limit > 0)
        limit = fmin (limit, (double) c->spec->power_limit);
    estimate->power_w =
        device->idle_w + fmax (limit - device->idle_w, 0) * power_share (c, estimate);
    estimate->samples_per_s = (double) c->spec->global_batch / estimate->step_s.p50;
    estimate->n_steps = dn_spec_steps (c->spec);
    estimate->train_s = (struct dn_range){-1, estimate->step_s.sigma};
    estimate->energy_j = -1;
    if (estimate->n_steps < 0)
        return;
    /* Evaluation is a forward pass: about a third of a training step's time. */
    if (c->spec->eval_every > 0 && c->spec->eval_samples > 0)
        evaluations = (double) c->spec->eval_samples / (double) c->spec->global_batch
                      / (double) c->spec->eval_every / 3;
    estimate->train_s.p50 = estimate->n_steps * estimate->step_s.p50 * (1 + evaluations)
                            + k->start_s + epochs * k->epoch_s;
    estimate->energy_j = estimate->train_s.p50 * estimate->power_w * gpus;
}
