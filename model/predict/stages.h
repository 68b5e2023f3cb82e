/* stages.h - the parts of a prediction, private to predict/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STAGES_H
#define DN_STAGES_H

#include "predict/predict.h"

/* One prediction's inputs, handed from part to part. */
struct dn_case {
    const struct dn_constants *constants;
    const struct dn_spec *spec;
    const struct dn_graph *graph;
    const struct dn_device *device;
    enum dn_precision precision; /* what runs, where nothing was given */
    double batch;                /* samples per device and pass */
    double padded;               /* the same, padded to the longest of a batch */
    double replicas;             /* data-parallel copies */
    double model_parallel;       /* tp * pp: devices that share one copy */
    double dense_params;         /* parameters whose whole gradient exists */
    double nodes;                /* that the job spreads over */
    enum dn_parallel parallel;   /* what runs, where nothing was given */
    double cpus_per_gpu;         /* of the job; <= 0 unknown */
};

/* The case of a run, its batch that of 'spec'. Valid as long as what it is made of. */
struct dn_case dn_case_of (const struct dn_constants *constants,
                           const struct dn_spec *spec,
                           const struct dn_graph *graph,
                           const struct dn_device *device,
                           double cpus_per_gpu);

/* The part of the step's variance that comes from facts that had to be assumed, and of
 * what the white box knows little; where something was learned, the distance from the
 * runs tells the latter better.
 */
double dn_step_doubt (const struct dn_case *c, bool learned);

/* Bytes of one activation element. */
double dn_activation_bytes (enum dn_precision precision);

/* Is this a table of which a step touches few rows? Frameworks made for such tables
 * update them row by row, and spread them over the devices.
 */
bool dn_is_sparse (const struct dn_op *op);

/* Fill step_s.p50, stage_s and cpus_per_gpu. */
void dn_predict_step (const struct dn_case *c, struct dn_estimate *estimate);

/* Fill an entry per operator of the graph, all but what bounds it. */
void dn_step_operators (const struct dn_case *c, struct dn_op_time times[]);

/* What the data-parallel copies of one job send one another in an optimizer step,
 * seconds.
 */
struct dn_traffic {
    double behind; /* work on the device goes on meanwhile ... */
    double last;   /* ... but for this part, which has to wait for the work's end */
    double open;   /* nothing goes on meanwhile */
    bool passes;   /* 'behind' runs along all passes, not the last backward one alone */
};

struct dn_traffic dn_data_traffic (const struct dn_case *c);

/* All-reduces of tensor parallelism in one direction of one micro-batch, their seconds,
 * and the directions there are.
 */
double dn_split_calls (const struct dn_case *c);
double dn_split_traffic (const struct dn_case *c);
double dn_split_passes (const struct dn_case *c);

/* Seconds of handing a micro-batch to the next stage of a pipeline and its gradient
 * back.
 */
double dn_handing_time (const struct dn_case *c);

/* Fill gpu_mem.p50, memory[] and host_mem. */
void dn_predict_memory (const struct dn_case *c, struct dn_estimate *estimate);

/* The loader of one device: fill cpus_per_gpu with the fewest cores that keep up with
 * 'compute_s' seconds of work per optimizer step, and return the seconds that these
 * cores (or those of the job, if they are fewer) take for the step's samples; 0 without
 * loader.
 */
double dn_predict_input (const struct dn_case *c,
                         double compute_s,
                         struct dn_estimate *estimate);

/* Fill power_w from the step and its stages. */
void dn_predict_power (const struct dn_case *c, struct dn_estimate *estimate);

/* Fill n_steps, train_s, energy_j, samples_per_s from step time and power. */
void dn_predict_run (const struct dn_case *c, struct dn_estimate *estimate);

#endif
