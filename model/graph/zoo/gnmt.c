/* gnmt.c - recurrent translation with attention
 *
 * GNMT (Wu et al., arXiv 1609.08144) as NVIDIA's DeepLearningExamples and MLPerf train
 * it: LSTMs of hidden= features, layers= on either side, the first of the encoder
 * bidirectional, residuals from the third on; normalised additive attention (Bahdanau
 * et al., 1409.0473) whose result is an input of all layers of the decoder; both sides
 * share one word embedding.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#include <math.h>

/* Both sides of a batch are padded to its longest sample. Samples are drawn from five
 * buckets of ten tokens by the longer side, of at most 50 (DeepLearningExamples): half
 * a bucket, and the shorter side's difference of two tokens, are added to the 24 that
 * WMT 2016's pairs have on average.
 */
#define PADDING 1.27

/* Tokens of the longest sample (DeepLearningExamples, --train-max-length). */
#define LONGEST 50

struct gnmt {
    const char *name;
    double layers;
    double hidden;
    double vocab;
    double source; /* tokens */
    double target;
};

static const struct gnmt rows[] = {
    {"gnmt", 4, 1024, 31794, 32, 32},
    /* End of rows */
};

static void add_rnn (struct dn_build *build, double hidden, bool bidirectional)
{
    const struct dn_rnn rnn = {
        .hidden = hidden, .gates = 4, .bidirectional = bidirectional};

    dn_build_dropout (build);
    dn_build_rnn (build, &rnn);
}

static void add_encoder (struct dn_build *build, double layers, double hidden)
{
    double outer;

    add_rnn (build, hidden, true);
    add_rnn (build, hidden, false);
    outer = dn_build_repeat (build, fmax (layers - 2, 0));
    add_rnn (build, hidden, false);
    dn_build_add (build);
    dn_build_repeat_end (build, outer);
}

/* v tanh (W q + U k + b) of all pairs, softmax, and the mean of 'memory' by it. */
static void add_attention (struct dn_build *build, struct dn_shape *memory)
{
    static const struct dn_op length = {
        .kind = DN_OP_NORM, .weights = 1, .params = 1, .tensors = 1};
    struct dn_shape query = build->at;
    double hidden = query.channels;
    double tokens = query.dim[0];
    double keys = memory->dim[0];

    dn_build_linear (build, hidden, false);
    build->at = *memory;
    dn_build_linear (build, hidden, false);
    build->at.dim[0] = tokens * keys;
    dn_build_add (build);
    dn_build_add_learned (build, hidden);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_op (build, &length);
    dn_build_linear (build, 1, false);
    dn_build_softmax (build);
    dn_build_matmul (build, 1, tokens, hidden, keys, 0);
    build->at = query;
    build->at.kept = false;
}

static void add_decoder (struct dn_build *build,
                         struct dn_shape *memory,
                         double layers,
                         double hidden)
{
    struct dn_shape attended;
    struct dn_shape query;
    double outer;

    add_rnn (build, hidden, false);
    query = build->at;
    add_attention (build, memory);
    attended = build->at;
    build->at = query;
    dn_build_concat (build, &attended);
    add_rnn (build, hidden, false);
    outer = dn_build_repeat (build, fmax (layers - 2, 0));
    dn_build_concat (build, &attended);
    add_rnn (build, hidden, false);
    dn_build_add (build);
    dn_build_repeat_end (build, outer);
}

static void build_gnmt (struct dn_build *build, const void *data)
{
    const struct gnmt *row = data;
    double layers = DN_WANT (build, layers, row->layers);
    double hidden = DN_WANT (build, hidden, row->hidden);
    double vocab = DN_WANT (build, vocab, row->vocab);
    struct dn_shape memory;

    build->graph.padding = PADDING;
    if (layers < 2)
        dn_build_fail (
            build, DN_E_RANGE, dn_say_err_zoo_layers, layers, 2, DN_LAYERS_MAX, "gnmt");
    dn_build_tokens (build, DN_WANT (build, seq_len, row->source));
    dn_build_embedding (build, vocab, hidden);
    add_encoder (build, layers, hidden);
    dn_build_keep (build);
    memory = build->at;
    dn_build_tokens (build, DN_WANT (build, tgt_len, row->target));
    dn_build_embedding_tied (build, hidden);
    add_decoder (build, &memory, layers, hidden);
    build->graph.longest = fmax (LONGEST / memory.dim[0], 1);
    dn_build_linear (build, vocab, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_gnmt = DN_ZOO_FAMILY ("gnmt", rows, build_gnmt);
