/* graph.h - the operators of one training step
 *
 * In: a resolved specification. Out: the forward operators, with shapes, FLOPs, bytes,
 * parameters and what backward needs saved, all per sample. Backward operators follow
 * from the forward ones and are derived in predict/. Equal operators of a network, such
 * as the blocks of a transformer, are listed once with 'repeat'. Never: the device, the
 * batch size, precision.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GRAPH_H
#define DN_GRAPH_H

#include "base/deadline.h"
#include "spec/spec.h"

/* clang-format off */
#define DN_OP_KINDS(ROW)                                                               \
    ROW (OP_UNKNOWN, "unknown")                                                        \
    ROW (OP_CONV, "conv") /* any convolution; groups > 1 for grouped and depthwise */  \
    ROW (OP_LINEAR, "linear") /* a matrix product with weights */                      \
    ROW (OP_MATMUL, "matmul") /* a batched product of two activations */               \
    ROW (OP_ATTENTION, "attention") /* softmax (q k) v, in whatever kernels */         \
    ROW (OP_EMBEDDING, "embedding") /* a gather of rows */                             \
    ROW (OP_RNN, "rnn") /* one recurrent layer, all its time steps */                  \
    ROW (OP_NORM, "norm") /* batch, layer, group normalisation */                      \
    ROW (OP_ACTIVATION, "activation") /* element-wise with one input */                \
    /* element-wise with two inputs: residual additions, products */                   \
    ROW (OP_ELEMENTWISE, "elementwise")                                                \
    ROW (OP_SOFTMAX, "softmax")                                                        \
    ROW (OP_POOL, "pool")                                                              \
    ROW (OP_DROPOUT, "dropout")                                                        \
    ROW (OP_COPY, "copy") /* transposes, concatenations, padding, interpolation */     \
    ROW (OP_LOSS, "loss")
DN_ENUM (dn_op_kind, OP_KINDS);
/* clang-format on */

extern const struct dn_names dn_op_kind_names;

/* What a linear layer does in a transformer, which its builder knows. */
/* clang-format off */
#define DN_ROLES(ROW)                                                                  \
    ROW (ROLE_OTHER, "")                                                               \
    ROW (ROLE_QUERY, "query")                                                          \
    ROW (ROLE_KEY, "key")                                                              \
    ROW (ROLE_VALUE, "value")                                                          \
    /* half of the repetitions give keys, the others values */                         \
    ROW (ROLE_KEY_VALUE, "key_value")                                                  \
    ROW (ROLE_QKV, "qkv") /* queries, keys and values in one layer */                  \
    ROW (ROLE_ATTENTION_OUT, "attention_out")                                          \
    ROW (ROLE_GATE, "gate") /* of a gated feed-forward part: what is activated */      \
    ROW (ROLE_UP, "up")                                                                \
    ROW (ROLE_DOWN, "down")
enum dn_role {
    DN_ROLES (DN_ENUM_CONSTANT)
};
/* clang-format on */

/* A part of a network that frozen= can name. */
/* clang-format off */
#define DN_PARTS(ROW)                                                                  \
    ROW (PART_BODY, "")                                                                \
    ROW (PART_ENCODER, "encoder")                                                      \
    ROW (PART_DECODER, "decoder")                                                      \
    ROW (PART_HEAD, "head")
enum dn_part {
    DN_PARTS (DN_ENUM_CONSTANT)
};
/* clang-format on */

/* One forward operator (or 'repeat' equal ones). Per sample, elements not bytes, one
 * multiply-add = 2 FLOPs. A product is (m, k) x (k, n), 'batches' times; a convolution
 * is the implicit product m = output positions, n = output channels of a group, k =
 * input channels of a group x kernel size, batches = groups. Attention has 'batches'
 * heads of m queries, n keys and k features; its FLOPs, 'in', 'out', 'saved' and
 * 'masks' are those of separate kernels that compute all scores, and predict/ decides
 * which kernels run.
 */
struct dn_op {
    enum dn_op_kind kind;
    enum dn_role role;
    enum dn_part part;
    int source; /* number of the activation that a product reads; 0: not known */
    double repeat;
    double m;
    double n;
    double k;
    double batches;
    double flops;   /* one of them, forward */
    double in;      /* activation elements read */
    double out;     /* activation elements written */
    double weights; /* parameter elements read; shared weights count at every use */
    double params;  /* learned parameters that it adds; shared ones count once */
    double tensors; /* tensors of these: optimizer launches */
    double frozen_params; /* parameters that it adds and that do not learn */
    double frozen_bytes;  /* of these as they are stored; 0: by the precision */
    double saved; /* elements kept for the backward pass, in activation precision */
    double input_saved; /* of these, a product's input */
    double wide_saved;  /* of these, in single precision whatever the network's */
    double amp_saved;   /* more, where torch.amp decides on precisions: the 16 bits by
                           which arrays are longer, or second copies */
    double cast_saved;  /* more, where adapters compute in another precision than the
                           layers beside them: their own copies, less the one they share
                         */
    double masks;       /* bytes kept besides: dropout masks, pooling indices */
    double steps;       /* kernels in sequence that cannot be batched (recurrence), 1 */
    double calls;     /* launches of it: 1; more where the host loops over time steps */
    double each;      /* launches for each sample: where the host loops over them; 0 */
    double kv_heads;  /* attention: heads of keys and values */
    double value_dim; /* attention: features of a head's values */
    double window;    /* attention: keys that a query attends to; 0: all */
    int dims;         /* spatial ones of a convolution */
    bool direct;      /* convolution: as a product, no transform makes it cheaper */
    bool first;       /* no gradient towards its input is computed */
    bool frozen;      /* nothing before it or in it learns: no backward pass */
    bool passed;      /* its weights get no gradient, what is before it does */
    bool fixed;       /* its weights do not learn, a bias may */
    bool tied;        /* its weights are those of an embedding */
    bool expert;      /* of an expert: expert parallelism splits it */
    bool block;       /* of the repeated blocks (graph.block_layers) */
    bool single;      /* in single precision, whatever the network's: losses, powers */
    bool wide;        /* torch.amp computes it in single precision, and keeps that */
    bool causal;      /* attention: a query attends to earlier keys only */
    bool masked;      /* attention: a mask is added to the scores */
    bool dropout;     /* attention: of the probabilities */
    bool moved; /* attention: separate kernels need transposed copies of its arrays */
    bool composed; /* attention: no fused kernel computes its scores */
    bool fused;    /* attention: seen to run in one kernel, whatever the framework */
    bool recent;   /* attention: its network was published in 2023 or later */
    bool kernel;   /* one of the kernels that run in the place of attention */
    bool adapter;  /* of a low-rank adapter */
    bool earlier;  /* of a pass before the last one: none of it is kept (passes.c) */
};

struct dn_graph {
    char name[DN_NAME_MAX];
    struct dn_op *ops; /* owned */
    int n_ops;
    double params;        /* learned parameters */
    double tensors;       /* parameter tensors of these */
    double frozen_params; /* parameters that do not learn */
    double spared;        /* share of the weight gradients' work that is not done,
                             since few parameters learn; 0 */
    double flops;   /* forward FLOPs per sample of convolutions and matrix products */
    double others;  /* FLOPs per sample of passes before the last one, backward, too */
    double input;   /* elements of one input sample */
    int64_t tokens; /* that were taken for seq_len=; 0: it was given, or none */
    double input_bytes;      /* of one sample as it is copied to the device */
    enum dn_decode decode;   /* what samples are read from; unknown: by the operators */
    enum dn_augment augment; /* of its usual loader */
    struct dn_keyset unread; /* keys that were given but have no effect */
    struct dn_keyset read;   /* keys of the network that its builder reads */
    double padding;          /* of a batch to its longest sample: padded over real; 1 */
    double longest;          /* of the longest batch, which sets the memory; 0: that */
    bool tuned;              /* what learns follows from lora=, quant=, frozen= */
    bool recent;             /* one of its operators is */
    int64_t block_layers;    /* repeated blocks (checkpointing, pipeline), 0 if none */
    double block_boundary;   /* elements between two blocks */
    double exchanges[2];     /* passes of blocks before the last one, whose devices
                                exchange activations: forward and backward; 0 */
    double experts;          /* of a mixture's layer, 0 if none */
    double pairs; /* of the user and item of a rating, in the data set; 0: unknown */
};

/* The networks that are files (graph/network.h). */
struct dn_networks;

/* Build the graph that 'spec' describes: a name of the zoo or of 'networks' (NULL:
 * none), a family with its sizes, or params/flops/activations. Return 0, or -1 with
 * 'err' set and 'graph' empty; the caller frees it with dn_graph_free (). DN_E_TIME
 * when the deadline (NULL: none) has passed.
 */
int dn_graph_build_by (const struct dn_networks *networks,
                       const struct dn_spec *spec,
                       const struct dn_deadline *deadline,
                       struct dn_graph *graph,
                       struct dn_err *err) DN_COLD;
#define dn_graph_build(networks, spec, graph, err)                                     \
    dn_graph_build_by (networks, spec, NULL, graph, err)

/* At most 'share' (0 to 1) of all parameters learns; it is not known which. The others
 * count as frozen. The work of their weights' gradients is left out as far as every
 * choice of what learns would leave it out. No effect where no more of them learn.
 */
void dn_graph_freeze (struct dn_graph *graph, double share);

/* Can the network be split as 'spec' says? -1 with 'err' set if not: context
 * parallelism needs attention.
 */
int dn_graph_check (const struct dn_graph *graph,
                    const struct dn_spec *spec,
                    struct dn_err *err);

/* Is there an operator of that kind? */
bool dn_graph_has (const struct dn_graph *graph, enum dn_op_kind kind);

/* Does the operator compute no gradient of its weights? */
bool dn_op_is_frozen (const struct dn_op *op);

/* Is it a product with weights: a convolution, a linear or a recurrent layer? */
bool dn_op_has_weights (const struct dn_op *op);

/* Is it a product at all, with weights or of two activations? */
bool dn_op_is_product (const struct dn_op *op);

/* Add the parameters and tensors of all its repetitions to the totals of the graph. */
void dn_graph_count (struct dn_graph *graph, const struct dn_op *op);

/* Nothing of it is kept for the backward pass. */
void dn_op_keep_nothing (struct dn_op *op);

/* The layer that gives the network's result: the last product before the loss. -1:
 * there is none.
 */
int dn_head_of (const struct dn_graph *graph);

/* NULL-safe, leaves an empty graph. */
void dn_graph_free (struct dn_graph *graph);

/* One network of the zoo. */
struct dn_zoo_entry {
    const char *name;
    const char *family; /* the builder's name: "resnet", "transformer", ... */
};

/* What a name stands for. */
struct dn_model {
    struct dn_zoo_entry entry;
    int64_t image; /* size of images that the name states; DN_UNSET: none */
};

/* Find 'text', a value of model= as users write it; false if it is no network of the
 * zoo or of 'networks', which may be NULL here and below.
 */
bool dn_model_find (const struct dn_networks *networks,
                    const char *text,
                    struct dn_model *model);

/* The network, or family that sizes describe, that someone who writes 'text' most
 * likely means, or that is of its kind: never one that has only similar letters. NULL
 * if none is.
 */
const char *dn_model_nearest (const struct dn_networks *networks,
                              const char *text) DN_COLD;

/* The family that sizes describe whose networks have such names; NULL: not known. */
const char *dn_model_class (const char *text) DN_COLD;

/* Is it the very name of a network that is built from a row of sizes? */
bool dn_zoo_has (const char *name);

/* The i-th network, in order of families, then files; its name is NULL after the last.
 */
struct dn_zoo_entry dn_zoo_at (const struct dn_networks *networks, int i);

/* The i-th value that model= knows, or NULL after the last: the families that are
 * described by their sizes, and the names of all networks. 'networks' is a struct
 * dn_networks: lists of names are read with functions of this type.
 */
const char *dn_model_at (const void *networks, int i);

#endif
