/* build.h - the toolkit that the zoo's builders are written with
 *
 * A cursor follows the data through the network. It has the shape of the current
 * activation; each verb appends one operator and advances the cursor. Image networks
 * have channels and up to three spatial dimensions, sequence networks features and one
 * dimension of tokens, a flat vector has none.
 *
 * After the first error verbs do nothing, so builders need no checks. Loops of a
 * builder are bounded by the limits of the key table; element counts are doubles, which
 * cannot wrap.
 *
 * What backward keeps is counted as eager PyTorch keeps it. An activation that several
 * operators need is counted by the first of them and marked 'kept'; rectifiers work in
 * place, so their output replaces their input.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BUILD_H
#define DN_BUILD_H

#include "graph/graph.h"

/* One activation, of one sample. */
struct dn_shape {
    double channels; /* or features */
    double dim[3];   /* depth, height, width; height, width; or tokens */
    int n_dims;
    bool kept;  /* already counted as saved */
    bool input; /* the sample itself: needs no gradient */
    int number; /* of the activation; 0: not known */
};

struct dn_build {
    const struct dn_spec *spec;
    const struct dn_deadline *deadline; /* NULL: none */
    struct dn_err *err;
    struct dn_graph graph;
    int capacity;
    struct dn_shape at;
    double repeat;     /* how often the following operators occur in the network */
    bool shared;       /* the following operators use parameters already counted */
    bool expert;       /* the following operators are those of experts */
    double calls;      /* times that the host launches them in a loop; 0: once */
    enum dn_role role; /* of the next linear layer */
    enum dn_part part; /* of the following operators */
    int n_shapes;      /* activations so far */
    double pending;    /* kept elements that are counted with the next operator */
    bool failed;       /* 'err' holds the first error */
    struct dn_keyset wanted; /* keys of the specification that the builder has read */
};

enum dn_norm {
    DN_NORM_BATCH,
    DN_NORM_LAYER,
    DN_NORM_RMS,   /* scale only */
    DN_NORM_SCALE, /* of layers, scale only */
    DN_NORM_PLAIN  /* no parameters */
};

/* What an activation keeps for backward. */
enum dn_activation {
    DN_ACTIVATION_RELU,     /* its output, in place: also leaky ReLU */
    DN_ACTIVATION_SIGMOID,  /* its output: also tanh */
    DN_ACTIVATION_GELU,     /* its input: also SiLU, hard-swish; ReLU6, whose in-place
                               form keeps a copy */
    DN_ACTIVATION_GELU_TANH /* composed of eight kernels, as gelu_new of Hugging Face
                             */
};

/* Begin the network 'name'. The values of 'spec' are within the key table's ranges;
 * 'spec' and 'err' must outlive the build.
 */
void dn_build_start (struct dn_build *build,
                     const struct dn_spec *spec,
                     const struct dn_deadline *deadline,
                     const char *name,
                     struct dn_err *err);

/* Compute the totals, and move the graph to 'graph'. Return 0, or -1 with the first
 * error and 'graph' empty. graph->unread has the keys that were given but not read.
 */
int dn_build_finish (struct dn_build *build, struct dn_graph *graph) DN_COLD;

/* Record the first error. */
void dn_build_fail (struct dn_build *build, enum dn_errc code, const char *format, ...)
    DN_PRINTF (3, 4);

/* With the code and the text of the message err_ID. */
#define dn_build_refuse(build, id, ...)                                                \
    dn_build_fail (build, dn_code_##id, dn_say_err_##id, ##__VA_ARGS__)

/* The value of a key of the specification, or 'otherwise' if it was not given: DN_WANT
 * (build, layers, 12).
 */
#define DN_WANT(build, key, otherwise)                                                 \
    dn_build_int ((build), offsetof (struct dn_spec, key), (otherwise))
#define DN_WANT_REAL(build, key, otherwise)                                            \
    dn_build_real ((build), offsetof (struct dn_spec, key), (otherwise))

double dn_build_int (struct dn_build *build, size_t offset, double otherwise);
double dn_build_real (struct dn_build *build, size_t offset, double otherwise);
enum dn_stem dn_build_stem (struct dn_build *build, enum dn_stem otherwise);

/* head=, where the network can have the 'others' besides 'otherwise': a set of
 * DN_HEAD_BIT (). Another head counts as not read.
 */
#define DN_HEAD_BIT(constant) (1U << DN_HEAD_##constant)
enum dn_head dn_build_head (struct dn_build *build,
                            enum dn_head otherwise,
                            unsigned others);

/* Put the cursor on the input: an image of 'n_dims' dimensions, 'channels' x size x ...
 * of 4 bytes each, unless image= and in_channels= are given.
 */
void dn_build_image (struct dn_build *build, double channels, double size, int n_dims);

/* Put the cursor on a sequence of 'tokens' token numbers of 8 bytes, which are added to
 * the input.
 */
void dn_build_tokens (struct dn_build *build, double tokens);

/* Put the cursor on 'features' real numbers for each of 'tokens' (0: a flat vector). */
void dn_build_features (struct dn_build *build, double features, double tokens);

double dn_shape_elements (const struct dn_shape *shape);
double dn_shape_positions (const struct dn_shape *shape);

/* The operators of the statement that follows occur 'n' times in a row (0: not at all).
 * The activation must be the same before and after it.
 */
#define DN_REPEAT(build, n)                                                            \
    for (struct dn_repeat outer = dn_build_repeat ((build), (n)); outer.open;          \
         outer = dn_build_repeat_end ((build), outer))

struct dn_repeat {
    double times; /* around the statement */
    bool open;
};
struct dn_repeat dn_build_repeat (struct dn_build *build, double n);
struct dn_repeat dn_build_repeat_end (struct dn_build *build, struct dn_repeat outer);

/* The network has 'n' blocks that begin here: the operators that are repeated from now
 * on.
 */
void dn_build_blocks (struct dn_build *build, double n);

void dn_build_conv (struct dn_build *build,
                    double out,
                    int kernel,
                    int stride,
                    int pad,
                    double groups,
                    bool bias);
/* Transposed, with bias: a kernel as large as its stride, without padding. */
void dn_build_conv_transpose (struct dn_build *build, double out, int stride) DN_COLD;
void dn_build_norm (struct dn_build *build, enum dn_norm norm);
void dn_build_activation (struct dn_build *build, enum dn_activation activation);
void dn_build_pool_max (struct dn_build *build,
                        int kernel,
                        int stride,
                        int pad) DN_COLD;
/* Average over all positions; the result is flat. */
void dn_build_pool_global (struct dn_build *build);
void dn_build_linear (struct dn_build *build, double out, bool bias);
/* The same; 'tied': with the weights of an embedding, so that only a bias is added. */
void dn_build_output (struct dn_build *build, double out, bool bias, bool tied);
/* A batched product (m, k) x (k, n) that keeps 'saved' elements. The cursor does not
 * move.
 */
void dn_build_matmul (struct dn_build *build,
                      double batches,
                      double m,
                      double n,
                      double k,
                      double saved);
/* Fill kind, flops, in, out, saved and masks of attention from its sizes (m, n, k,
 * batches, kv_heads, value_dim) and 'dropout'. It keeps its output, too.
 */
void dn_op_set_attention (struct dn_op *op);
/* Rows of a table with 'rows' rows (0: a table that was counted before); the cursor
 * gets 'features' features.
 */
void dn_build_embedding (struct dn_build *build, double rows, double features);
/* One layer of 'hidden' features, with two vectors of biases. */
void dn_build_lstm (struct dn_build *build, double hidden) DN_COLD;
void dn_build_softmax (struct dn_build *build);
void dn_build_dropout (struct dn_build *build);
/* Add an activation of the same shape. */
void dn_build_add (struct dn_build *build);
/* Multiply 'other', position by position, with the cursor's activation, which may be
 * smaller (a gate per channel). Both are kept. The cursor gets the shape of 'other'.
 */
void dn_build_multiply (struct dn_build *build, struct dn_shape *other);
/* 'n' element-wise kernels with constants, which keep nothing: scaling, masks. */
void dn_build_elementwise (struct dn_build *build, double n);
/* A learned scale per channel. */
void dn_build_scale (struct dn_build *build);
/* A learned array of 'elements' that is added to the activation. */
void dn_build_add_learned (struct dn_build *build, double elements);
void dn_build_concat (struct dn_build *build, const struct dn_shape *other);
/* A copy of the activation, such as a transpose. */
void dn_build_copy (struct dn_build *build);
void dn_build_loss (struct dn_build *build);
/* An operator that no verb appends: dn_build_op (build, DN_OP (COPY, .in = n)). Without
 * 'weights' it reads its 'params'. The cursor does not move.
 */
void dn_build_op (struct dn_build *build, const struct dn_op *op);
#define DN_OP(constant, ...) (&(struct dn_op){.kind = DN_OP_##constant, ##__VA_ARGS__})

/* Count the activation as kept, with the next operator. */
void dn_build_keep (struct dn_build *build);

/* Usual combinations. */
void dn_build_conv_norm (struct dn_build *build,
                         double out,
                         int kernel,
                         int stride,
                         double groups);
void dn_build_conv_norm_relu (struct dn_build *build,
                              double out,
                              int kernel,
                              int stride,
                              double groups);

void dn_build_linear_relu (struct dn_build *build, double out);

/* Squeeze and excitation (arXiv 1709.01507): the activation is multiplied with a gate
 * per channel, which is the average over all positions through two layers, as 1x1
 * convolutions: to 'squeezed' channels and 'inner', and back and 'outer'.
 */
void dn_build_gate (struct dn_build *build,
                    double squeezed,
                    enum dn_activation inner,
                    enum dn_activation outer);

/* The classifier of an image network: average over positions, dropout if wanted, a
 * linear layer to classes= (default 'classes'), loss; head=none ends after the average.
 */
void dn_build_classifier (struct dn_build *build, double classes, bool dropout);

/* Channels rounded to a multiple of 'divisor', never below 90 % of 'channels': the rule
 * of MobileNet and its variants.
 */
double dn_build_round (double channels, double divisor);

#endif
