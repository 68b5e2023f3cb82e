/* lstm.c - recurrent language models
 *
 * lstm_lm is PyTorch's word_language_model example (pytorch/examples): embedding,
 * LSTM layers with dropout between them, an untied linear layer to the vocabulary;
 * WikiText-2's vocabulary, 35 steps. With classes= it is a classifier of sequences.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

struct lstm {
    const char *name;
    double layers;
    double hidden;
    double vocab;
    double tokens;
};

static const struct lstm rows[] = {
    {"lstm_lm", 2, 200, 33278, 35},
    /* End of rows */
};

/* LSTMs with dropout between them where 'dropout' says so. */
static void add_layers (struct dn_build *build,
                        double hidden,
                        double layers,
                        bool dropout)
{
    double outer;

    dn_build_lstm (build, hidden);
    outer = dn_build_repeat (build, layers - 1);
    if (dropout)
        dn_build_dropout (build);
    dn_build_lstm (build, hidden);
    dn_build_repeat_end (build, outer);
}

/* A classifier of sequences of embed_dim= real numbers, from the last step's features
 * (the LSTM of microsoft/superbenchmark).
 */
static void build_classifier (struct dn_build *build,
                              const struct lstm *row,
                              double hidden,
                              double layers)
{
    double features = DN_WANT (build, embed_dim, hidden);

    build->graph.decode = DN_DECODE_NONE;
    dn_build_features (build, features, DN_WANT (build, seq_len, row->tokens));
    add_layers (build, hidden, layers, false);
    build->at.n_dims = 0;
    build->at.kept = false;
    dn_build_linear (build, DN_WANT (build, classes, 2), true);
    dn_build_loss (build);
}

static void build_lstm (struct dn_build *build, const void *data)
{
    const struct lstm *row = data;
    double layers = DN_WANT (build, layers, row->layers);
    double hidden = DN_WANT (build, hidden, row->hidden);
    enum dn_head head = dn_build_head (
        build,
        build->spec->classes == DN_UNSET ? DN_HEAD_LM : DN_HEAD_CLASSIFIER,
        DN_HEAD_BIT (LM) | DN_HEAD_BIT (CLASSIFIER) | DN_HEAD_BIT (NONE));
    double vocab;

    if (head == DN_HEAD_CLASSIFIER) {
        build_classifier (build, row, hidden, layers);
        return;
    }
    vocab = DN_WANT (build, vocab, row->vocab);
    dn_build_tokens (build, DN_WANT (build, seq_len, row->tokens));
    dn_build_embedding (build, vocab, DN_WANT (build, embed_dim, hidden));
    dn_build_dropout (build);
    add_layers (build, hidden, layers, true);
    if (head == DN_HEAD_NONE)
        return;
    dn_build_dropout (build);
    dn_build_linear (build, vocab, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_lstm =
    DN_ZOO_FAMILY_OF ("lstm", rows, build_lstm, "rnn", "lstm_lm");
