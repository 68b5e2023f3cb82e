/* verbs.c - the operators: shapes, FLOPs, passes, parameters, what backward keeps
 *
 * What is kept follows PyTorch's derivatives: convolutions, linear layers and products
 * keep their inputs, normalisations and smooth activations their input, rectifiers,
 * sigmoid, tanh and softmax their output, max pooling its input and 64-bit indices,
 * dropout one byte per element, log-softmax of the loss its output.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/build.h"
#include "base/messages.h"

#include <math.h>

/* Gates of an LSTM, each with two biases. */
#define GATES 4

/* Elements that backward keeps for an operator that needs its input: none if an earlier
 * operator keeps them already. Marks the activation.
 */
static double keep_shape (struct dn_shape *shape)
{
    double elements = shape->kept ? 0 : dn_shape_elements (shape);

    shape->kept = true;
    return elements;
}

/* Keep the input of a product, which the gradient of its weights needs. */
static void keep_input (struct dn_op *op, struct dn_shape *shape)
{
    op->source = shape->number;
    op->input_saved = keep_shape (shape);
    op->saved = op->input_saved;
}

/* The activation has been replaced by a new one of the same shape. */
static void renew (struct dn_build *build)
{
    build->at.kept = false;
    build->at.input = false;
    build->at.number = ++build->n_shapes;
}

/* Append an operator that reads and writes the activation, as far as it does not say
 * otherwise. The activation is then a new one of the same shape.
 */
static void pass (struct dn_build *build, struct dn_op *op)
{
    double elements = dn_shape_elements (&build->at);

    if (op->in <= 0)
        op->in = elements;
    if (op->out <= 0)
        op->out = elements;
    dn_build_op (build, op);
    renew (build);
}

/* Positions of a window that slides over 'size'. */
static double slide (double size, int kernel, int stride, int pad)
{
    return floor ((size + 2.0 * pad - kernel) / stride) + 1;
}

/* The same in all dimensions. Fail if there is none: the sample is too small for the
 * network.
 */
static bool slide_all (struct dn_build *build,
                       struct dn_shape *shape,
                       int kernel,
                       int stride,
                       int pad)
{
    bool image = build->at.n_dims > 1;

    for (int i = 0; i < shape->n_dims; i++) {
        /* -Wanalyzer-use-of-uninitialized-value is wrong here: n_dims are set */
        shape->dim[i] = slide (shape->dim[i], kernel, stride, pad);
        if (shape->dim[i] >= 1)
            continue;
        dn_build_refuse (build,
                         net_small,
                         image ? "image" : "seq_len",
                         image ? build->spec->image.dim[0] : build->spec->seq_len,
                         build->graph.name);
        return false;
    }
    return true;
}

static bool divides (struct dn_build *build, double parts, double whole)
{
    if (parts >= 1 && whole >= parts && parts * floor (whole / parts) == whole)
        return true;
    dn_build_refuse (build, net_groups, whole, build->graph.name, parts);
    return false;
}

/* Append a product with weights and 'biases', by its sizes, which gives 'out'. */
static void add_product (struct dn_build *build,
                         struct dn_op *op,
                         struct dn_shape out,
                         double biases)
{
    double weights = op->n * op->k * op->batches;

    op->first = build->at.input;
    op->flops = 2 * op->m * op->n * op->k * op->batches;
    op->in = dn_shape_elements (&build->at);
    op->out = dn_shape_elements (&out);
    op->weights = weights + biases;
    op->params = (op->tied ? 0 : weights) + biases;
    op->tensors = (op->tied ? 0 : 1) + (biases > 0 ? 1 : 0);
    keep_input (op, &build->at);
    dn_build_op (build, op);
    build->at = out;
    renew (build);
}

void dn_build_conv (struct dn_build *build,
                    double out,
                    int kernel,
                    int stride,
                    int pad,
                    double groups,
                    bool bias)
{
    struct dn_shape shape = build->at;
    struct dn_op op = {.kind = DN_OP_CONV, .batches = groups, .dims = shape.n_dims};

    if (build->failed || !divides (build, groups, shape.channels)
        || !divides (build, groups, out)
        || !slide_all (build, &shape, kernel, stride, pad))
        return;
    op.m = dn_shape_positions (&shape);
    op.n = out / groups;
    op.k = shape.channels / groups * pow (kernel, shape.n_dims);
    /* Winograd's algorithm is for kernels of 3 x 3 that move by one (Lavin and Gray,
     * arXiv 1509.09308; cuDNN: no groups).
     */
    op.direct = shape.n_dims != 2 || kernel != 3 || stride != 1 || groups > 1;
    shape.channels = out;
    add_product (build, &op, shape, bias ? out : 0);
}

void dn_build_conv_transpose (struct dn_build *build, double out, int stride)
{
    struct dn_shape shape = build->at;
    struct dn_op op = {
        .kind = DN_OP_CONV, .batches = 1, .dims = shape.n_dims, .direct = true};

    op.m = dn_shape_positions (&shape);
    op.n = out * pow (stride, shape.n_dims);
    op.k = shape.channels;
    shape.channels = out;
    for (int i = 0; i < shape.n_dims; i++)
        shape.dim[i] *= stride;
    add_product (build, &op, shape, out);
}

/* Scale and shift, if the normalisation has them. */
static double tensors_of (enum dn_norm norm)
{
    if (norm == DN_NORM_PLAIN)
        return 0;
    return norm == DN_NORM_RMS || norm == DN_NORM_SCALE ? 1 : 2;
}

void dn_build_norm (struct dn_build *build, enum dn_norm norm)
{
    double tensors = tensors_of (norm);
    struct dn_op op = {.kind = DN_OP_NORM,
                       .params = tensors * build->at.channels,
                       .tensors = tensors,
                       .saved = keep_shape (&build->at),
                       .wide = norm != DN_NORM_BATCH};

    /* Composed of single kernels, which square in single precision (LlamaRMSNorm of
     * transformers): what the scale multiplies is kept too.
     */
    if (norm == DN_NORM_RMS) {
        op.wide_saved = op.saved;
        op.saved += dn_shape_elements (&build->at);
    }
    pass (build, &op);
}

/* The rest of 0.5 x (1 + tanh (sqrt (2 / pi) (x + 0.044715 x^3))), kernel by kernel: of
 * eight in all, three keep one more operand. A power, and what follows it up to the
 * product with x, is in single precision under torch.amp.
 */
static void add_gelu_parts (struct dn_build *build, double elements)
{
    dn_build_op (build,
                 DN_OP (ACTIVATION,
                        .wide = true,
                        .repeat = 7,
                        .in = elements,
                        .out = elements,
                        .saved = 3 * elements / 7));
}

void dn_build_activation (struct dn_build *build, enum dn_activation activation)
{
    double elements = dn_shape_elements (&build->at);

    if (activation >= DN_ACTIVATION_GELU) {
        pass (build, DN_OP (ACTIVATION, .saved = keep_shape (&build->at)));
        if (activation == DN_ACTIVATION_GELU_TANH)
            add_gelu_parts (build, elements);
        return;
    }
    pass (build, DN_OP (ACTIVATION, .saved = elements));
    build->at.kept = true;
}

void dn_build_pool_max (struct dn_build *build, int kernel, int stride, int pad)
{
    struct dn_shape *at = &build->at;
    struct dn_op op = {.kind = DN_OP_POOL, .in = dn_shape_elements (at)};

    if (build->failed)
        return;
    op.saved = keep_shape (at);
    if (!slide_all (build, at, kernel, stride, pad))
        return;
    op.out = dn_shape_elements (at);
    op.masks = 8 * op.out;
    dn_build_op (build, &op);
    renew (build);
}

void dn_build_pool_global (struct dn_build *build)
{
    dn_build_op (
        build,
        DN_OP (POOL, .in = dn_shape_elements (&build->at), .out = build->at.channels));
    build->at.n_dims = 0;
    renew (build);
}

void dn_build_output (struct dn_build *build, double out, bool bias, bool tied)
{
    struct dn_shape shape = build->at;
    struct dn_op op = {
        .kind = DN_OP_LINEAR, .role = build->role, .batches = 1, .tied = tied};

    build->role = DN_ROLE_OTHER;
    op.m = dn_shape_positions (&shape);
    op.n = out;
    op.k = shape.channels;
    shape.channels = out;
    add_product (build, &op, shape, bias ? out : 0);
}

void dn_build_linear (struct dn_build *build, double out, bool bias)
{
    dn_build_output (build, out, bias, false);
}

void dn_build_matmul (struct dn_build *build,
                      double batches,
                      double m,
                      double n,
                      double k,
                      double saved)
{
    dn_build_op (build,
                 DN_OP (MATMUL,
                        .m = m,
                        .n = n,
                        .k = k,
                        .batches = batches,
                        .flops = 2 * batches * m * n * k,
                        .in = batches * (m * k + k * n),
                        .out = batches * m * n,
                        .saved = saved));
}

void dn_build_embedding (struct dn_build *build, double rows, double features)
{
    double tokens = dn_shape_positions (&build->at);

    dn_build_op (build,
                 DN_OP (EMBEDDING,
                        .in = tokens,
                        .out = tokens * features,
                        .weights = tokens * features,
                        .params = rows * features,
                        .tensors = rows > 0 ? 1 : 0,
                        .masks = 8 * tokens,
                        .first = true));
    build->at.channels = features;
    renew (build);
}

void dn_build_lstm (struct dn_build *build, double hidden)
{
    struct dn_shape *at = &build->at;
    double tokens = dn_shape_positions (at);
    double rows = GATES * hidden;
    struct dn_op op = {.kind = DN_OP_RNN,
                       .m = tokens,
                       .n = rows,
                       .k = at->channels + hidden,
                       .batches = 1,
                       .in = dn_shape_elements (at),
                       .out = tokens * hidden,
                       .tensors = 4,
                       .steps = at->n_dims > 0 ? at->dim[0] : 1,
                       .first = at->input};

    op.flops = 2 * op.m * op.n * op.k;
    op.params = rows * (op.k + 2);
    /* cuDNN's reserve space: the gates, the cell and the output. */
    op.saved = keep_shape (at) + tokens * hidden * (GATES + 2);
    at->channels = hidden;
    dn_build_op (build, &op);
    renew (build);
    at->kept = true;
}

void dn_build_softmax (struct dn_build *build)
{
    pass (build, DN_OP (SOFTMAX, .saved = dn_shape_elements (&build->at)));
    build->at.kept = true;
}

void dn_build_dropout (struct dn_build *build)
{
    pass (build, DN_OP (DROPOUT, .masks = dn_shape_elements (&build->at)));
}

void dn_build_add (struct dn_build *build)
{
    pass (build, DN_OP (ELEMENTWISE, .in = 2 * dn_shape_elements (&build->at)));
}

void dn_build_multiply (struct dn_build *build, struct dn_shape *other)
{
    struct dn_op op = {.kind = DN_OP_ELEMENTWISE,
                       .in = dn_shape_elements (other) + dn_shape_elements (&build->at),
                       .out = dn_shape_elements (other)};

    op.saved = keep_shape (other) + keep_shape (&build->at);
    dn_build_op (build, &op);
    build->at = *other;
    renew (build);
}

void dn_build_elementwise (struct dn_build *build, double n)
{
    if (n > 0)
        pass (build, DN_OP (ELEMENTWISE, .repeat = n));
}

void dn_build_scale (struct dn_build *build)
{
    pass (build,
          DN_OP (ELEMENTWISE,
                 .params = build->at.channels,
                 .tensors = 1,
                 .saved = keep_shape (&build->at)));
}

void dn_build_add_learned (struct dn_build *build, double elements)
{
    pass (build, DN_OP (ELEMENTWISE, .params = elements, .tensors = 1));
}

void dn_build_concat (struct dn_build *build, const struct dn_shape *other)
{
    build->at.channels += other->channels;
    dn_build_copy (build);
}

void dn_build_copy (struct dn_build *build)
{
    pass (build, DN_OP (COPY));
}

void dn_build_loss (struct dn_build *build)
{
    double elements = dn_shape_elements (&build->at);

    /* The masks are the labels, as 64-bit numbers. */
    dn_build_op (build,
                 DN_OP (LOSS,
                        .in = elements,
                        .out = elements,
                        .saved = elements,
                        .masks = 8 * dn_shape_positions (&build->at)));
}

void dn_build_conv_norm (struct dn_build *build,
                         double out,
                         int kernel,
                         int stride,
                         double groups)
{
    dn_build_conv (build, out, kernel, stride, kernel / 2, groups, false);
    dn_build_norm (build, DN_NORM_BATCH);
}

void dn_build_conv_norm_relu (struct dn_build *build,
                              double out,
                              int kernel,
                              int stride,
                              double groups)
{
    dn_build_conv_norm (build, out, kernel, stride, groups);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

void dn_build_linear_relu (struct dn_build *build, double out)
{
    dn_build_linear (build, out, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

void dn_build_gate (struct dn_build *build,
                    double squeezed,
                    enum dn_activation inner,
                    enum dn_activation outer)
{
    struct dn_shape start = build->at;

    dn_build_pool_global (build);
    dn_build_conv (build, squeezed, 1, 1, 0, 1, true);
    dn_build_activation (build, inner);
    dn_build_conv (build, start.channels, 1, 1, 0, 1, true);
    dn_build_activation (build, outer);
    dn_build_multiply (build, &start);
}

void dn_build_classifier (struct dn_build *build, double classes, bool dropout)
{
    classes = DN_WANT (build, classes, classes);
    dn_build_pool_global (build);
    if (dn_build_head (build, DN_HEAD_CLASSIFIER, DN_HEAD_BIT (NONE)) == DN_HEAD_NONE)
        return;
    if (dropout)
        dn_build_dropout (build);
    dn_build_linear (build, classes, true);
    dn_build_loss (build);
}
