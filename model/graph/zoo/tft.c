/* tft.c - Temporal Fusion Transformer, forecasts with a choice among series
 *
 * Lim et al. (arXiv 1912.09363) as NVIDIA's DeepLearningExamples train it: seq_len=
 * steps of a series and of in_channels= others that are also known for the next
 * tgt_len= steps, and a number below vocab= that says whose series it is. The default
 * sizes are those of electricity.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#include <math.h>

#define QUANTILES 3.0

struct tft {
    struct dn_zoo_entry entry;
    double vocab;
};

static const struct tft rows[] = {
    {{"tft", "tft"}, 369},
    /* End of rows */
};

/* Sizes of one network. */
struct sizes {
    double hidden;
    double heads;
    double past;
    double future;
    double known; /* series that are known for the future */
};

/* Where a gated residual network gets a context from. */
enum context {
    CONTEXT_NONE,
    CONTEXT_GIVEN,
    CONTEXT_UNUSED /* its layer is there and has no input */
};

static void add_gate (struct dn_build *build, double out)
{
    dn_build_linear (build, 2 * out, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    build->at.channels = out;
}

/* A layer of the context, which is the same for all steps. */
static void add_context (struct dn_build *build, double hidden, enum context context)
{
    struct dn_op op = {.kind = DN_OP_LINEAR,
                       .m = 1,
                       .n = hidden,
                       .k = hidden,
                       .batches = 1,
                       .flops = 2 * hidden * hidden,
                       .in = hidden,
                       .out = hidden,
                       .weights = hidden * hidden,
                       .params = hidden * hidden,
                       .tensors = 1};

    if (context == CONTEXT_UNUSED) {
        op.kind = DN_OP_COPY;
        op.m = op.flops = op.in = op.out = op.weights = 0;
    }
    dn_build_op (build, &op);
    if (context == CONTEXT_GIVEN)
        dn_build_add (build);
}

/* A gated residual network, to 'out' features; 0: those that it reads. */
static void add_grn (struct dn_build *build,
                     double hidden,
                     double out,
                     enum context context)
{
    struct dn_shape start = build->at;

    dn_build_linear (build, hidden, true);
    if (context != CONTEXT_NONE)
        add_context (build, hidden, context);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, hidden, true);
    if (out <= 0)
        dn_build_dropout (build);
    add_gate (build, out > 0 ? out : start.channels);
    if (out > 0) {
        build->at = start;
        build->at.kept = true;
        dn_build_linear (build, out, true);
    }
    dn_build_add (build);
    if (out != 1)
        dn_build_norm (build, DN_NORM_LAYER);
}

/* Networks of 'n' series, each weighted by what another network finds in all. 'cut':
 * the steps are part of others, so that each network copies what it reads.
 */
static void add_choice (struct dn_build *build,
                        double hidden,
                        double n,
                        enum context context,
                        bool cut)
{
    struct dn_shape at = build->at;
    double positions = dn_shape_positions (&at);
    double outer;

    build->at.channels = n * hidden;
    add_grn (build, hidden, n, context);
    dn_build_softmax (build);
    outer = dn_build_repeat (build, n);
    build->at = at;
    build->at.channels = hidden;
    build->at.kept = !cut;
    add_grn (build, hidden, 0, CONTEXT_NONE);
    dn_build_repeat_end (build, outer);
    dn_build_matmul (build, positions, hidden, 1, n, positions * n * hidden);
    build->at.kept = false;
}

/* A vector for each of 'n' numbers: a product with it and a sum. 'copied': the product
 * is one of matrices, which copies the vector for each step and keeps that.
 */
static void add_numbers (struct dn_build *build, double n, double hidden, bool copied)
{
    const struct dn_op op = {.kind = DN_OP_ELEMENTWISE,
                             .repeat = 2,
                             .in = build->at.dim[0] * n * hidden,
                             .out = build->at.dim[0] * n * hidden,
                             .weights = n * hidden,
                             .params = n * hidden,
                             .tensors = 1,
                             .first = true};

    dn_build_op (build, &op);
    if (copied)
        build->pending += build->at.dim[0] * n * hidden;
}

/* What does not change with time: a row of a table, and four contexts from it. */
static void add_static (struct dn_build *build, const struct sizes *size, double vocab)
{
    double outer;

    build->at = (struct dn_shape){.channels = 1, .dim = {1}, .n_dims = 1};
    dn_build_embedding (build, vocab, size->hidden);
    dn_build_flatten (build);
    add_choice (build, size->hidden, 1, CONTEXT_UNUSED, false);
    dn_build_keep (build);
    outer = dn_build_repeat (build, 4);
    build->at.kept = true;
    add_grn (build, size->hidden, 0, CONTEXT_NONE);
    dn_build_repeat_end (build, outer);
}

/* The series of 'steps', chosen and read in order. */
static void add_reader (struct dn_build *build,
                        const struct sizes *size,
                        double series,
                        double steps,
                        bool cut)
{
    const struct dn_rnn rnn = {.hidden = size->hidden, .gates = 4};

    build->at =
        (struct dn_shape){.channels = size->hidden, .dim = {steps}, .n_dims = 1};
    add_choice (build, size->hidden, series, CONTEXT_GIVEN, cut);
    dn_build_rnn (build, &rnn);
}

/* A gate, a sum with what was before, a norm. */
static void add_gated (struct dn_build *build, double hidden)
{
    add_gate (build, hidden);
    dn_build_add (build);
    dn_build_norm (build, DN_NORM_LAYER);
}

/* All heads have the same values, copied for each. Only the future's part of the result
 * is used.
 */
static void add_attention (struct dn_build *build, const struct sizes *size)
{
    double steps = size->past + size->future;
    double head_dim = size->hidden / size->heads;
    double scores = size->heads * steps * steps;
    struct dn_shape at;

    dn_build_linear (build, (2 * size->heads + 1) * head_dim, false);
    at = build->at;
    dn_build_matmul (
        build, size->heads, steps, steps, head_dim, 2 * size->hidden * steps);
    build->at =
        (struct dn_shape){.channels = scores / steps, .dim = {steps}, .n_dims = 1};
    dn_build_elementwise (build, 2);
    dn_build_softmax (build);
    dn_build_matmul (build, size->heads, steps, head_dim, steps, size->hidden * steps);
    build->at = at;
    build->at.channels = size->hidden;
    dn_build_elementwise (build, 1);
    build->at.channels = head_dim;
    dn_build_linear (build, size->hidden, false);
    dn_build_dropout (build);
}

static void build_tft (struct dn_build *build, const void *data)
{
    const struct tft *row = data;
    const struct sizes size = {.hidden = DN_WANT (build, hidden, 128),
                               .heads = DN_WANT (build, heads, 4),
                               .past = DN_WANT (build, seq_len, 168),
                               .future = DN_WANT (build, tgt_len, 24),
                               .known = DN_WANT (build, in_channels, 3)};
    double steps = size.past + size.future;

    if (fmod (size.hidden, size.heads) != 0)
        dn_build_fail (build,
                       DN_E_RANGE,
                       dn_say_err_net_divisor,
                       "heads",
                       size.heads,
                       "hidden",
                       size.hidden);
    build->graph.decode = DN_DECODE_NONE;
    dn_build_features (build, size.known + 1, steps);
    add_numbers (build, size.known, size.hidden, false);
    add_numbers (build, 1, size.hidden, true);
    add_static (build, &size, DN_WANT (build, vocab, row->vocab));
    add_reader (build, &size, size.known + 1, size.past, false);
    add_reader (build, &size, size.known, size.future, true);
    build->at.dim[0] = steps;
    build->at.kept = false;
    dn_build_copy (build);
    add_gated (build, size.hidden);
    add_grn (build, size.hidden, 0, CONTEXT_GIVEN);
    add_attention (build, &size);
    build->at.dim[0] = size.future;
    add_gated (build, size.hidden);
    add_grn (build, size.hidden, 0, CONTEXT_NONE);
    add_gated (build, size.hidden);
    dn_build_linear (build, QUANTILES, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_tft = DN_ZOO_FAMILY (rows, build_tft);
