/* features.h - the features of a run for the learned residual
 *
 * In: a resolved specification, its graph, a device, and the white box's estimate with
 * the shipped constants (dn_constants_default, so that a site's own do not shift the
 * features). Out: a vector of fixed order. Sizes are natural logarithms and the rest
 * are ratios, so that a network ten times as large is a step of the same length
 * everywhere. Names of models, sources or devices are not features. Unknown values are
 * 0. Every value is finite and bounded for any input.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FEATURES_H
#define DN_FEATURES_H

#include "predict/whitebox.h"

/* Changes with every change of the table's names, order or meaning: a bundle that was
 * trained on another vector is refused.
 */
#define DN_FEATURES_VERSION 1

enum dn_feature {
    /* the white box */
    DN_FEATURE_STEP_TIME,
    DN_FEATURE_DEVICE_SHARE,
    DN_FEATURE_BACKWARD_SHARE,
    DN_FEATURE_OPTIMIZER_SHARE,
    DN_FEATURE_COMMUNICATION_SHARE,
    DN_FEATURE_EXPOSED_SHARE,
    DN_FEATURE_INPUT_SHARE,
    DN_FEATURE_HOST_SHARE,
    DN_FEATURE_BOUND_SHARE,
    /* operators */
    DN_FEATURE_CONV_FLOPS,
    DN_FEATURE_POINTWISE_FLOPS,
    DN_FEATURE_GROUPED_FLOPS,
    DN_FEATURE_LINEAR_FLOPS,
    DN_FEATURE_MATMUL_FLOPS,
    DN_FEATURE_RECURRENT_FLOPS,
    DN_FEATURE_GROUPED_TRAFFIC,
    DN_FEATURE_NORM_TRAFFIC,
    DN_FEATURE_POINT_TRAFFIC,
    DN_FEATURE_SOFTMAX_TRAFFIC,
    DN_FEATURE_COPY_TRAFFIC,
    DN_FEATURE_EMBEDDING_PARAMS,
    DN_FEATURE_PADDING,
    /* size */
    DN_FEATURE_PARAMS,
    DN_FEATURE_SAMPLE_FLOPS,
    DN_FEATURE_SAMPLE_TRAFFIC,
    DN_FEATURE_INTENSITY,
    DN_FEATURE_KERNELS,
    DN_FEATURE_KERNEL_RATE,
    DN_FEATURE_KERNEL_FLOPS,
    DN_FEATURE_KERNEL_TRAFFIC,
    DN_FEATURE_TENSORS,
    DN_FEATURE_REUSE,
    DN_FEATURE_SAMPLE_SIZE,
    DN_FEATURE_SEQUENCE,
    DN_FEATURE_RECURRENCE,
    /* training */
    DN_FEATURE_BATCH,
    DN_FEATURE_ACCUMULATION,
    DN_FEATURE_ELEMENT_BYTES,
    DN_FEATURE_MATRIX_UNITS,
    DN_FEATURE_TF32,
    DN_FEATURE_OPTIMIZER_STATES,
    DN_FEATURE_FRAMEWORK_PYTORCH,
    DN_FEATURE_FRAMEWORK_GRAPH,
    DN_FEATURE_TUNED,
    DN_FEATURE_COMPILED,
    DN_FEATURE_CHECKPOINTING,
    DN_FEATURE_REAL_INPUT,
    DN_FEATURE_NO_OPTIMIZER,
    /* memory and power */
    DN_FEATURE_MEMORY_PRESSURE,
    DN_FEATURE_ACTIVATION_SHARE,
    DN_FEATURE_STATE_SHARE,
    DN_FEATURE_WORKSPACE_SHARE,
    DN_FEATURE_POWER_SHARE,
    DN_FEATURE_POWER_LIMIT,
    /* parallelism */
    DN_FEATURE_GPUS,
    DN_FEATURE_NODES,
    DN_FEATURE_TENSOR_PARALLEL,
    DN_FEATURE_PIPELINE_PARALLEL,
    DN_FEATURE_SHARDING,
    DN_FEATURE_GRADIENT_TRAFFIC,
    /* device */
    DN_FEATURE_PEAK,
    DN_FEATURE_VECTOR_PEAK,
    DN_FEATURE_BANDWIDTH,
    DN_FEATURE_BALANCE,
    DN_FEATURE_MEMORY,
    DN_FEATURE_L2,
    DN_FEATURE_MULTIPROCESSORS,
    DN_FEATURE_LINK,
    DN_FEATURE_GENERATION,
    DN_FEATURE_BOARD_POWER,
    DN_N_FEATURES
};

/* One row per feature; manifest, report and man page read this table. */
struct dn_feature_key {
    const char *name;
    const char *unit; /* "ln s", "share", "0 or 1", ... */
    const char *meaning;
};

/* The table, of DN_N_FEATURES rows in the order of the enum. */
const struct dn_feature_key *dn_feature_keys (void);

/* Sums over the operators of a graph, per sample and forward pass; without those of
 * attention, which run as the device decides.
 */
struct dn_mix {
    double flops[DN_N_OP_KINDS];
    double traffic[DN_N_OP_KINDS]; /* activation elements read and written */
    double pointwise_flops;        /* of convolutions of one position */
    double grouped_flops;
    double grouped_traffic;
    double all_flops;
    double padded_flops;
    double all_traffic;
    double weights;
    double embedding_params;
    double operators;
    double products; /* operators with FLOPs */
    int attentions;  /* operators that are not in the sums */
    double recurrence;
};

void dn_mix_init (struct dn_mix *mix, const struct dn_graph *graph);

/* Fill 'out' from a case and the white box's estimate of it. */
void dn_features (const struct dn_case *c,
                  const struct dn_estimate *white_box,
                  float out[DN_N_FEATURES]);

/* The same with the mix of the graph, which several devices share. */
void dn_features_of (const struct dn_mix *mix,
                     const struct dn_case *c,
                     const struct dn_estimate *white_box,
                     float out[DN_N_FEATURES]);

/* The sort of a run, under which a bundle keeps where its correction counts and how
 * wide its bounds are; names of models are not looked at. The kind of network, by what
 * most of the FLOPs are spent on: "recurrent"; of convolutions "signal" (one
 * dimension), "volume" (three), "depthwise" or "conv"; "attention"; "tables" where
 * embeddings hold most parameters; or "other".
 */
const char *dn_network_kind (const struct dn_graph *graph);

/* The stack of a run that states none. */
#define DN_STACK_UNSTATED "unknown"

/* Write the stack as it was stated: "pytorch", "tensorflow+ngc+compile"; a framework
 * that was not stated is "unknown". A plain stack is one that was not stated.
 */
void dn_stack_name (const struct dn_spec *spec, char name[DN_NAME_MAX]);

#endif
