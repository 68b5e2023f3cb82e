/* stages.h - the parts of the white box, private to predict/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STAGES_H
#define DN_STAGES_H

#include "predict/setup.h"

/* Fill step_s.p50, stage_s and cpus_per_gpu. */
void dn_whitebox_step (const struct dn_setup *c, struct dn_estimate *estimate);

/* Fill an entry per operator of the graph, all but what bounds it. */
void dn_step_operators (const struct dn_setup *c, struct dn_op_time times[]);

/* What the data-parallel copies of one job send one another in an optimizer step,
 * seconds.
 */
struct dn_traffic {
    double behind; /* work on the device goes on meanwhile ... */
    double last;   /* ... but for this part, which has to wait for the work's end */
    double open;   /* nothing goes on meanwhile */
    bool passes;   /* 'behind' runs along all passes, not the last backward one alone */
};

struct dn_traffic dn_data_traffic (const struct dn_setup *c);

/* All-reduces of tensor parallelism in one direction of one micro-batch, their seconds,
 * and the directions there are.
 */
double dn_split_calls (const struct dn_setup *c);
double dn_split_traffic (const struct dn_setup *c);
double dn_split_passes (const struct dn_setup *c);

/* Seconds of handing a micro-batch to the next stage of a pipeline and its gradient
 * back.
 */
double dn_handing_time (const struct dn_setup *c);

/* Fill gpu_mem.p50, memory[] and host_mem. */
void dn_whitebox_memory (const struct dn_setup *c, struct dn_estimate *estimate);

/* The loader of one device: fill cpus_per_gpu with the fewest cores that keep up with
 * 'compute_s' seconds of work per optimizer step, and return the seconds that these
 * cores (or those of the job, if they are fewer) take for the step's samples; 0 without
 * loader.
 */
double dn_whitebox_input (const struct dn_setup *c,
                          double compute_s,
                          struct dn_estimate *estimate);

/* Fill power_w from the step and its stages. */
void dn_whitebox_power (const struct dn_setup *c, struct dn_estimate *estimate);

/* Fill n_steps, train_s, energy_j, samples_per_s from step time and power. */
void dn_run_fill (const struct dn_case *c, struct dn_estimate *estimate);

#endif
