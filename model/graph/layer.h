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

enum dn_layer_kind {
    DN_LAYER_UNKNOWN,
    DN_LAYER_CONV1D,
    DN_LAYER_CONV2D,
    DN_LAYER_CONV3D,
    DN_LAYER_CONV_TRANSPOSE,
    DN_LAYER_LINEAR,
    DN_LAYER_MATMUL,    /* (.., m, k) x (.., k, n) of two activations */
    DN_LAYER_ATTENTION, /* softmax (q k) v of (heads, tokens, size), without layers;
                           keys and values may have fewer heads */
    DN_LAYER_EMBEDDING,
    DN_LAYER_RNN,
    DN_LAYER_BATCHNORM,
    DN_LAYER_LAYERNORM,
    DN_LAYER_GROUPNORM,
    DN_LAYER_ACTIVATION,
    DN_LAYER_ELEMENTWISE,
    DN_LAYER_SOFTMAX,
    DN_LAYER_POOL,
    DN_LAYER_REDUCE,
    DN_LAYER_CONCAT,
    DN_LAYER_COPY,
    DN_LAYER_DROPOUT,
    DN_LAYER_LOSS,
    DN_LAYER_OTHER, /* 'flops' and 'bytes' are all that is known */
    DN_N_LAYER_KINDS
};

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
    int capacity;
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
void dn_layers_settle (struct dn_layers *layers);

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
 * or does not fit together, and 'graph' empty.
 */
int dn_layers_graph (const struct dn_layers *layers,
                     struct dn_graph *graph,
                     struct dn_err *err);

/* The same by a deadline (NULL: none); DN_E_TIME when it has passed. */
int dn_layers_graph_by (const struct dn_layers *layers,
                        const struct dn_deadline *deadline,
                        struct dn_graph *graph,
                        struct dn_err *err) DN_COLD;

#endif
