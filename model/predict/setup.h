/* setup.h - values that follow from a case: the precision that runs, copies, nodes;
 * private to predict/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SETUP_H
#define DN_SETUP_H

#include "predict/attend.h"

/* Parameters of which a device has no second copy: without those of sparse tables. */
struct dn_held {
    double params; /* that learn */
    double frozen;
    double frozen_bytes; /* of the frozen ones, as they are sent: quantised ones are */
};

/* A case, and values that follow from it, which the parts of the white box share. */
struct dn_setup {
    const struct dn_constants *constants;
    const struct dn_spec *spec;
    const struct dn_graph *graph;
    const struct dn_device *device;
    const struct dn_deadline *deadline;       /* NULL: none; not of the case */
    double cpus_per_gpu;                      /* of the job; <= 0 unknown */
    enum dn_precision precision;              /* what runs if it was not given */
    const struct dn_precision_traits *traits; /* of this precision */
    unsigned habits;                          /* of framework and stack, or-ed */
    struct dn_stack_factors stack;            /* how well it is tuned */
    double batch;                             /* samples per device and pass */
    double padded;             /* the same, padded to the longest of a batch */
    double share;              /* tokens that a pass computes over those of the graph */
    double computed;           /* padded * share: samples' worth of work in a pass */
    double replicas;           /* copies of the weights: data and context parallel */
    double model_parallel;     /* tp * pp: devices that share one copy */
    double norm_split;         /* devices that share what tp leaves whole: sp= */
    double context;            /* devices that share a sequence: cp= */
    bool attention;            /* the network has any that may run in one kernel */
    bool scores;               /* the network lists kernels of attention one by one */
    bool odd;                  /* it has linear layers of odd sizes: dn_is_odd () */
    double chunks;             /* of a stage: vpp= */
    double experts;            /* devices that share the experts: ep=, 1 without any */
    double expert_layers;      /* that have experts */
    double dispatched;         /* elements of a sample that go to them, all layers */
    double dense_params;       /* parameters whose whole gradient exists */
    double table_params;       /* parameters of sparse tables, frozen ones among them */
    double frozen_params;      /* that do not learn, without those of tables */
    double first_params;       /* of embeddings, whose gradients are complete last */
    double normed_params;      /* that a pass computes from others, and keeps */
    double tensors;            /* of learned parameters, of which a copy consists */
    struct dn_held dense;      /* on one device, before they are sharded */
    struct dn_held in_experts; /* the same, if the experts are split */
    double shards;             /* devices that share the state of 'dense' */
    double expert_shards;      /* and of 'in_experts' */
    double nodes;              /* that the job spreads over */
    double domains;            /* of links, that the network joins: at most the nodes */
    struct dn_net net;         /* between them, stated or usual; rate 0: unknown */
    enum dn_parallel parallel; /* what runs if it was not given */
};

/* Fill it, with the batch of the case. Valid as long as the parts of the case. 'other':
 * the same case on another device, from which is taken what it has in common; or NULL.
 */
void dn_setup_init (struct dn_setup *setup,
                    const struct dn_case *c,
                    const struct dn_setup *other);

/* Another batch per device and pass. */
void dn_setup_batch (struct dn_setup *setup, int64_t batch);

/* Learned parameters that a device holds, before and after they are sharded. */
double dn_own_params (const struct dn_setup *setup);
double dn_shard_params (const struct dn_setup *setup);

/* Is the operator a part of attention between its layers: scores, softmax, its dropout,
 * the product with the values? 'op' is one of the graph's.
 */
bool dn_is_attention_core (const struct dn_setup *setup, const struct dn_op *op);

/* Kernels that a device launches for one repetition of an operator, over one: the
 * experts of a layer may be one kernel, and attention has one for each part of a
 * sequence that devices share.
 */
double dn_kernels_of (const struct dn_setup *setup, const struct dn_op *op);

/* Are optimizer and gradients, or more, on the host? */
bool dn_is_offloaded (const struct dn_setup *setup);

/* CPU cores per device, where the job does not state them. */
double dn_usual_cores (const struct dn_setup *setup);

/* Does the run's code have this habit? */
static inline bool dn_has_habit (const struct dn_setup *setup, enum dn_habit habit)
{
    return (setup->habits & (unsigned) habit) != 0;
}

/* Is this a table of which a step uses few rows? Frameworks made for such tables update
 * them row by row, and spread them over the devices.
 */
bool dn_is_sparse (const struct dn_op *op);

/* Matrix units of Volta and Turing read rows of eight 16-bit numbers ("Matrix
 * Multiplication Background User's Guide", NVIDIA): a product of a vocabulary of
 * another size runs on ordinary ones. Megatron pads its vocabulary.
 */
bool dn_is_odd (const struct dn_spec *spec, const struct dn_op *op);

#endif
