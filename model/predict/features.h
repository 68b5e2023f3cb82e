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
#define DN_FEATURE(constant, ...) DN_FEATURE_##constant,
#include "predict/features.inc"
#undef DN_FEATURE
    DN_N_FEATURES
};

/* Does it depend on the device that runs a training? */
static inline bool dn_feature_is_of_device (enum dn_feature feature)
{
    return feature <= DN_FEATURE_BOUND_SHARE || feature == DN_FEATURE_KERNEL_RATE
           || (feature >= DN_FEATURE_ELEMENT_BYTES && feature <= DN_FEATURE_TF32)
           || (feature >= DN_FEATURE_MEMORY_PRESSURE
               && feature <= DN_FEATURE_POWER_LIMIT)
           || feature >= DN_FEATURE_PEAK;
}

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

/* What the features of one run have in common on all devices. */
struct dn_common {
    struct dn_mix mix;              /* of the operators */
    double features[DN_N_FEATURES]; /* that do not depend on the device; 0 where
                                       attention runs as the device decides */
};

/* 'c': the run; its device is not looked at. */
void dn_common_init (struct dn_common *common, const struct dn_case *c);

/* Fill 'out' from a case and the white box's estimate of it. */
void dn_features_of (const struct dn_common *common,
                     const struct dn_case *c,
                     const struct dn_estimate *white_box,
                     float out[DN_N_FEATURES]);

/* The same for one device. */
static inline void dn_features (const struct dn_case *c,
                                const struct dn_estimate *white_box,
                                float out[DN_N_FEATURES])
{
    struct dn_common common;

    dn_common_init (&common, c);
    dn_features_of (&common, c, white_box, out);
}

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
