/* sized.c - networks that their sizes describe: cnn, mlp, lstm_lm, ncf, unet, and
 * totals
 *
 * cnn is a plain stack: layers= 3x3 convolutions with normalisation and rectifier, of
 * hidden= channels at first, doubled with each halving of the resolution (STAGES times
 * at most), then the usual classifier.
 *
 * mlp: layers= is the number of all linear layers, including the last; in_channels= is
 * the number of input features. Where params= is given and hidden= is not, hidden is
 * computed so that the network has that number of parameters.
 *
 * lstm_lm is PyTorch's word_language_model example (pytorch/examples): embedding, LSTM
 * layers with dropout between them, an untied linear layer to the vocabulary;
 * WikiText-2's vocabulary, 35 steps. With classes= it is a classifier of sequences.
 *
 * ncf is neural collaborative filtering, NeuMF (He et al., arXiv 1708.05031): a product
 * of two embeddings beside an MLP on two others; a sample is one pair of user and item.
 * By default as NVIDIA's DeepLearningExamples train it on MovieLens-20M (138,493 users,
 * 26,744 items and 20,000,263 ratings; MLP 256-256-128-64). With layers= or embed_dim=
 * the MLP halves per layer, as in the paper, from embed_dim 2^layers down to embed_dim.
 * vocab= is the number of users and items together.
 *
 * unet is that of the paper (Ronneberger et al., arXiv 1505.04597): unpadded 3x3
 * convolutions without normalisation, 2x2 transposed convolutions, crop and
 * concatenation. 572x572 pixels in, 388x388 out. hidden= is the number of channels of
 * the first level, layers= the number of levels below it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/messages.h"
#include "zoo.h"

#include <math.h>

/* Limits of layers= of ncf, whose MLP doubles with each layer, and of unet. */
#define DEPTH_MAX 16

static const char *const names[] = {"cnn", "mlp", "lstm_lm", "ncf", "unet"};

#define SIZED(family, i, function)                                                     \
    {                                                                                  \
        (family), &names[i], sizeof (names[i]), 1, (function)                          \
    }

#define STAGES_MAX 5

static DN_COLD void build_cnn (struct dn_build *build, const void *row)
{
    double layers = DN_WANT (build, layers, 10);
    double channels =
        round (DN_WANT (build, hidden, 64) * DN_WANT_REAL (build, width, 1));
    int stages = (int) fmin (layers, STAGES_MAX);

    (void) row;
    dn_build_image (build, 3, 224, 2);
    for (int i = 0; i < stages; i++) {
        /* Layers that do not divide evenly go to the first stages. */
        double n = floor ((layers + stages - 1 - i) / stages);

        dn_build_conv_norm_relu (build, fmax (channels, 1), 3, i == 0 ? 1 : 2, 1);
        DN_REPEAT (build, n - 1)
            dn_build_conv_norm_relu (build, fmax (channels, 1), 3, 1, 1);
        channels *= 2;
    }
    dn_build_classifier (build, 1000, false);
}

const struct dn_zoo_family dn_zoo_generic = SIZED ("cnn", 0, build_cnn);

/* The positive root of (layers - 2) h^2 + (in + classes + layers - 1) h + classes =
 * params; the left side is the number of the layers' weights and biases.
 */
static double solve_hidden (double params, double layers, double in, double classes)
{
    double a = layers - 2;
    double b = in + classes + layers - 1;
    double c = classes - params;
    double h = a > 0 ? (sqrt (fmax (b * b - 4 * a * c, 0)) - b) / (2 * a) : -c / b;

    return fmax (1, round (h));
}

static DN_COLD void build_mlp (struct dn_build *build, const void *row)
{
    double in = DN_WANT (build, in_channels, 784);
    double layers = DN_WANT (build, layers, 3);
    double classes = DN_WANT (build, classes, 10);
    double params = DN_WANT_REAL (build, params, 0);
    double hidden = DN_WANT (
        build, hidden, params > 0 ? solve_hidden (params, layers, in, classes) : 512);

    (void) row;
    dn_build_features (build, in, 0);
    if (layers > 1) {
        dn_build_linear_relu (build, hidden);
        DN_REPEAT (build, layers - 2)
            dn_build_linear_relu (build, hidden);
    }
    dn_build_linear (build, classes, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_mlp = SIZED ("mlp", 1, build_mlp);

/* LSTMs with dropout between them where 'dropout' says so. */
static void add_layers (struct dn_build *build,
                        double hidden,
                        double layers,
                        bool dropout)
{
    dn_build_lstm (build, hidden);
    DN_REPEAT (build, layers - 1) {
        if (dropout)
            dn_build_dropout (build);
        dn_build_lstm (build, hidden);
    }
}

/* A classifier of sequences of embed_dim= real numbers, from the last step's features
 * (the LSTM of microsoft/superbenchmark).
 */
static DN_COLD void build_classifier (struct dn_build *build,
                                      double hidden,
                                      double layers)
{
    double features = DN_WANT (build, embed_dim, hidden);

    build->graph.decode = DN_DECODE_NONE;
    dn_build_features (build, features, DN_WANT (build, seq_len, 35));
    add_layers (build, hidden, layers, false);
    build->at.n_dims = 0;
    build->at.kept = false;
    dn_build_linear (build, DN_WANT (build, classes, 2), true);
    dn_build_loss (build);
}

static DN_COLD void build_lstm (struct dn_build *build, const void *row)
{
    double layers = DN_WANT (build, layers, 2);
    double hidden = DN_WANT (build, hidden, 200);
    enum dn_head head = dn_build_head (
        build,
        build->spec->classes == DN_UNSET ? DN_HEAD_LM : DN_HEAD_CLASSIFIER,
        DN_HEAD_BIT (LM) | DN_HEAD_BIT (CLASSIFIER) | DN_HEAD_BIT (NONE));
    double vocab;

    (void) row;
    if (head == DN_HEAD_CLASSIFIER) {
        build_classifier (build, hidden, layers);
        return;
    }
    vocab = DN_WANT (build, vocab, 33278);
    dn_build_tokens (build, DN_WANT (build, seq_len, 35));
    dn_build_embedding (build, vocab, DN_WANT (build, embed_dim, hidden));
    dn_build_dropout (build);
    add_layers (build, hidden, layers, true);
    if (head == DN_HEAD_NONE)
        return;
    dn_build_dropout (build);
    dn_build_linear (build, vocab, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_lstm = SIZED ("lstm", 2, build_lstm);

/* Look up one user and one item in their tables, which have 'vocab' rows together: two
 * vectors.
 */
static void add_pair (struct dn_build *build, double vocab, double features)
{
    dn_build_op (build,
                 DN_OP (EMBEDDING,
                        .repeat = 2,
                        .in = 1,
                        .out = features,
                        .weights = features,
                        .params = vocab / 2 * features,
                        .tensors = 1,
                        .masks = 8,
                        .first = true));
    build->at = (struct dn_shape){.channels = features};
}

static void add_mlp (struct dn_build *build)
{
    static const double usual[] = {256, 128, 64};
    double layers = DN_WANT (build, layers, 3);
    bool halving =
        build->spec->layers != DN_UNSET || build->spec->embed_dim != DN_UNSET;

    if (layers > DEPTH_MAX)
        dn_build_refuse (build, zoo_layers, layers, 1, DEPTH_MAX, "ncf");
    for (int i = 0; i < layers && !build->failed; i++)
        dn_build_linear_relu (build,
                              halving || i >= (int) DN_N_ELEMENTS (usual)
                                  ? build->at.channels / 2
                                  : usual[i]);
}

static DN_COLD void build_ncf (struct dn_build *build, const void *row)
{
    double vocab = DN_WANT (build, vocab, 138493 + 26744);
    double factors = DN_WANT (build, embed_dim, 64);
    double layers = DN_WANT (build, layers, 3);
    double features = factors * pow (2, layers - 1);
    struct dn_shape product;

    (void) row;
    if (build->spec->layers == DN_UNSET && build->spec->embed_dim == DN_UNSET)
        features = 128;
    if (build->spec->vocab == DN_UNSET)
        build->graph.pairs = 20000263;
    dn_build_tokens (build, 2);
    add_pair (build, vocab, factors);
    product = build->at;
    dn_build_multiply (build, &product);
    product = build->at;
    add_pair (build, vocab, features);
    dn_build_concat (build, &build->at);
    add_mlp (build);
    dn_build_concat (build, &product);
    dn_build_linear (build, 1, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_ncf = SIZED ("ncf", 3, build_ncf);

static void add_convs (struct dn_build *build, double channels)
{
    for (int i = 0; i < 2; i++) {
        dn_build_conv (build, channels, 3, 1, 0, 1, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
}

/* Up one level: the channels halve, the left side's activation is cropped and joined.
 */
static void add_up (struct dn_build *build)
{
    double channels = build->at.channels / 2;
    struct dn_shape left;

    dn_build_conv_transpose (build, channels, 2);
    left = build->at;
    dn_build_concat (build, &left);
    add_convs (build, channels);
}

static DN_COLD void build_unet (struct dn_build *build, const void *row)
{
    double channels = DN_WANT (build, hidden, 64);
    double depth = DN_WANT (build, layers, 4);
    double classes = DN_WANT (build, classes, 2);

    (void) row;
    if (depth > DEPTH_MAX)
        dn_build_refuse (build, zoo_layers, depth, 1, DEPTH_MAX, "unet");
    dn_build_image (build, 1, 572, 2);
    add_convs (build, channels);
    for (int i = 0; i < depth && !build->failed; i++) {
        dn_build_pool_max (build, 2, 2, 0);
        channels *= 2;
        add_convs (build, channels);
    }
    for (int i = 0; i < depth && !build->failed; i++)
        add_up (build);
    dn_build_conv (build, classes, 1, 1, 0, 1, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_unet = SIZED ("unet", 4, build_unet);

/* Operators that the totals are spread over when layers= is unset. */
#define LAYERS_UNKNOWN 50

void dn_zoo_unknown (struct dn_build *build)
{
    double layers = DN_WANT (build, layers, LAYERS_UNKNOWN);
    double params = DN_WANT_REAL (build, params, 0) / layers;
    double flops = DN_WANT_REAL (build, flops, 0) / layers;
    double saved = DN_WANT_REAL (build, activations, 0) / layers;
    /* One square product of these FLOPs; its weights may be used more than once. */
    double size = cbrt (fmax (flops / 2, 1));
    struct dn_op op = {.kind = DN_OP_LINEAR,
                       .m = size,
                       .n = size,
                       .k = size,
                       .batches = 1,
                       .flops = flops,
                       .in = saved,
                       .out = saved,
                       .params = params,
                       .tensors = 1,
                       .saved = saved};

    /* The predictor reads these. */
    build->wanted = dn_keyset_or (
        build->wanted, dn_keyset_or (DN_KEYSET (seq_len), DN_KEYSET (image)));
    if (build->spec->image.n_dims > 0)
        dn_build_image (build, 3, 224, build->spec->image.n_dims == 3 ? 3 : 2);
    else
        dn_build_features (build, DN_WANT (build, in_channels, saved), 0);
    DN_REPEAT (build, layers)
        dn_build_op (build, &op);
}
