/* layer.h - operators as frameworks describe them, and the graph made from them
 *
 * In: layers with the shapes of inputs and outputs, read from a sidecar or made by an
 * importer. Out: struct dn_graph, as the zoo's builders make it. Shapes are per sample,
 * without the batch dimension: channels first for convolutions and pools, before depth,
 * height, width; features last for everything else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LAYER_H
#define DN_LAYER_H

#include "graph/graph.h"

/* clang-format off */
#define DN_LAYER_KINDS(ROW)                                                            \
    ROW (LAYER_UNKNOWN, "unknown", COPY, NULL)                                         \
    ROW (LAYER_CONV1D, "conv1d", CONV, make_conv)                                      \
    ROW (LAYER_CONV2D, "conv2d", CONV, make_conv)                                      \
    ROW (LAYER_CONV3D, "conv3d", CONV, make_conv)                                      \
    ROW (LAYER_CONV_TRANSPOSE, "conv_transpose", CONV, make_conv)                      \
    ROW (LAYER_LINEAR, "linear", LINEAR, make_linear)                                  \
    /* (.., m, k) x (.., k, n) of two activations */                                   \
    ROW (LAYER_MATMUL, "matmul", MATMUL, make_matmul)                                  \
    /* softmax (q k) v of (heads, tokens, size), without layers; keys and values may   \
     * have fewer heads */                                                             \
    ROW (LAYER_ATTENTION, "attention", ATTENTION, make_attention)                      \
    ROW (LAYER_EMBEDDING, "embedding", EMBEDDING, make_embedding)                      \
    ROW (LAYER_RNN, "rnn", RNN, make_rnn)                                              \
    ROW (LAYER_BATCHNORM, "batchnorm", NORM, NULL)                                     \
    ROW (LAYER_LAYERNORM, "layernorm", NORM, NULL)                                     \
    ROW (LAYER_GROUPNORM, "groupnorm", NORM, NULL)                                     \
    ROW (LAYER_ACTIVATION, "activation", ACTIVATION, NULL)                             \
    ROW (LAYER_ELEMENTWISE, "elementwise", ELEMENTWISE, NULL)                          \
    ROW (LAYER_SOFTMAX, "softmax", SOFTMAX, NULL)                                      \
    ROW (LAYER_POOL, "pool", POOL, NULL)                                               \
    ROW (LAYER_REDUCE, "reduce", POOL, NULL)                                           \
    ROW (LAYER_CONCAT, "concat", COPY, NULL)                                           \
    ROW (LAYER_COPY, "copy", COPY, NULL)                                               \
    ROW (LAYER_DROPOUT, "dropout", DROPOUT, NULL)                                      \
    ROW (LAYER_LOSS, "loss", LOSS, NULL)                                               \
    /* 'flops' and 'bytes' are all that is known */                                    \
    ROW (LAYER_OTHER, "other", COPY, make_other)
DN_ENUM (dn_layer_kind, LAYER_KINDS);
/* clang-format on */

extern const struct dn_names dn_layer_kind_names;

#define DN_LAYER_RANK_MAX 6

/* Inputs whose shapes are kept; of further ones only the elements are counted. */
#define DN_LAYER_INPUTS_MAX 3

struct dn_extent {
    double dim[DN_LAYER_RANK_MAX];
    int rank;
};

/* A number that was not given is -1. */
struct dn_layer {
    enum dn_layer_kind kind;
    char name[DN_NAME_MAX]; /* "" where there is none */
    struct dn_extent in[DN_LAYER_INPUTS_MAX];
    int n_in;
    double more_in; /* elements of inputs beyond those */
    struct dn_extent out;
    double more_out; /* elements of outputs beyond the first */
    double kernel;   /* positions of its window */
    double groups;
    double hidden;       /* of a recurrent layer */
    double gates;        /* 4 LSTM, 3 GRU, 1 tanh */
    double params;       /* learned ones that this layer adds */
    double tensors;      /* parameter tensors of these */
    double frozen;       /* parameters that it adds and that do not learn; 0 */
    double frozen_bytes; /* of these as they are stored; 0 unknown */
    double repeat;
    double flops;     /* of one of them, forward */
    double bytes;     /* read and written, at 4 bytes per element */
    double saved;     /* elements kept for the backward pass */
    double masks;     /* bytes kept besides */
    double amp_saved; /* more elements of 16 bits that torch.amp keeps */
    bool first;       /* no gradient towards its input: nothing before it learns */
    double window;    /* attention: keys that a query attends to; 0: all */
    bool causal;      /* attention: a query attends to earlier keys only */
    bool moved; /* attention: separate kernels need transposed copies of its arrays */
    bool fused; /* attention: in one kernel that keeps no probabilities */
};

/* Layers in the order in which they run. */
struct dn_layers {
    char name[DN_NAME_MAX];
    struct dn_layer *list; /* owned */
    int n;
    double blocks;               /* equal blocks of the network; 0 none */
    double boundary;             /* elements between two of them */
    double input_bytes;          /* of one sample as it is copied to the device; -1 */
    struct dn_keyset overridden; /* keys of the sidecar that another carrier changed */
};

/* A layer of which only the kind is known. */
struct dn_layer dn_layer_empty (enum dn_layer_kind kind);

double dn_extent_elements (const struct dn_extent *extent);

/* Append a copy; -1 with DN_E_NOMEM or DN_E_LIMIT. */
int dn_layers_add (struct dn_layers *layers,
                   const struct dn_layer *layer,
                   struct dn_err *err);

/* Set what a layer keeps if its description does not give it. This depends on the layer
 * before it, so call it before the order changes.
 */
void dn_layers_settle (struct dn_layers *layers) DN_COLD;

/* The tensors and masks of a layer as given, else the usual ones. */
double dn_layer_tensors (const struct dn_layer *layer);
double dn_layer_masks (const struct dn_layer *layer);

/* Does the layer have parameters, and none that learns? */
bool dn_layer_is_frozen (const struct dn_layer *layer);

/* Elements of all inputs, of all outputs. */
double dn_layer_in (const struct dn_layer *layer);
double dn_layer_out (const struct dn_layer *layer);

/* NULL-safe, leaves none. */
void dn_layers_free (struct dn_layers *layers);

/* The graph of these layers. -1 with 'err' naming the layer and what of it is missing
 * or does not fit together, and 'graph' empty; DN_E_TIME when the deadline (NULL: none)
 * has passed.
 */
int dn_layers_graph_by (const struct dn_layers *layers,
                        const struct dn_deadline *deadline,
                        struct dn_graph *graph,
                        struct dn_err *err) DN_COLD;
#define dn_layers_graph(layers, graph, err)                                            \
    dn_layers_graph_by (layers, NULL, graph, err)

#endif
