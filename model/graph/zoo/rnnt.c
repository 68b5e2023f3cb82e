/* rnnt.c - recurrent transducer
 *
 * Graves (arXiv 1211.3711) with the sizes of MLPerf training (mlcommons/training,
 * rnn_speech_recognition): seq_len= frames of 10 ms, of which three are joined to
 * in_channels= features, two LSTMs, two of their results joined, three LSTMs; the
 * tgt_len= tokens of the text through two LSTMs; a layer to vocab= pieces of words for
 * all pairs of both.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define JOINED_FRAMES 3
#define JOINED_TOKENS 2

/* LSTMs before and after their results are joined; of the text. */
#define LAYERS_BEFORE 2
#define LAYERS_AFTER  3
#define LAYERS_TEXT   2

struct rnnt {
    struct dn_zoo_entry entry;
    double features;
    double hidden;
    double text;   /* features of the text, and of the pairs */
    double pieces; /* with the blank */
    double frames;
    double target;
};

/* The clips of LibriSpeech last 12.3 s and have 178 letters on average. */
static const struct rnnt rows[] = {
    {{"rnnt", "rnnt"}, 240, 1024, 512, 1024, 1230, 55},
    /* End of rows */
};

static void add_layers (struct dn_build *build, int n, double hidden)
{
    const struct dn_rnn rnn = {.hidden = hidden, .gates = 4};

    for (int i = 0; i < n; i++) {
        if (i > 0)
            dn_build_dropout (build);
        dn_build_rnn (build, &rnn);
    }
}

static void add_text (struct dn_build *build, const struct rnnt *row, double pieces)
{
    dn_build_tokens (build, DN_WANT (build, tgt_len, row->target));
    dn_build_embedding (build, pieces - 1, row->text);
    build->at.dim[0] += 1;
    add_layers (build, LAYERS_TEXT, row->text);
    dn_build_dropout (build);
    dn_build_linear (build, row->text, true);
}

/* Its kernels go along the diagonals of the pairs, and read the layer's result as it is
 * (torchaudio.functional.rnnt_loss, apex's TransducerLoss).
 */
static void set_loss (struct dn_op *op, double diagonals)
{
    op->steps = diagonals;
    op->single = false;
}

static void build_rnnt (struct dn_build *build, const void *data)
{
    const struct rnnt *row = data;
    double frames = DN_WANT (build, seq_len, row->frames);
    double hidden = DN_WANT (build, hidden, row->hidden);
    double pieces = DN_WANT (build, vocab, row->pieces);
    struct dn_shape speech;

    build->graph.decode = DN_DECODE_AUDIO;
    dn_build_features (build,
                       DN_WANT (build, in_channels, row->features),
                       ceil (frames / JOINED_FRAMES));
    add_layers (build, LAYERS_BEFORE, hidden);
    dn_build_dropout (build);
    build->at.channels *= JOINED_TOKENS;
    build->at.dim[0] = ceil (build->at.dim[0] / JOINED_TOKENS);
    dn_build_copy (build);
    add_layers (build, LAYERS_AFTER, hidden);
    dn_build_dropout (build);
    dn_build_linear (build, row->text, true);
    speech = build->at;
    add_text (build, row, pieces);
    build->at.dim[0] *= speech.dim[0];
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_dropout (build);
    dn_build_linear (build, pieces, true);
    dn_build_loss_ctc (build);
    if (!build->failed && build->graph.n_ops > 0)
        set_loss (&build->graph.ops[build->graph.n_ops - 1],
                  speech.dim[0] + build->at.dim[0] / speech.dim[0]);
}

const struct dn_zoo_family dn_zoo_rnnt = DN_ZOO_FAMILY (rows, build_rnnt);
