/* lstm.c - recurrent language models
 *
 * lstm_lm is PyTorch's word_language_model example (pytorch/examples): embedding,
 * LSTM layers with dropout between them, an untied linear layer to the vocabulary;
 * WikiText-2's vocabulary, 35 steps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

struct lstm {
    struct dn_zoo_entry entry;
    double layers;
    double hidden;
    double vocab;
    double tokens;
};

static const struct lstm rows[] = {
    {{"lstm_lm", "lstm"}, 2, 200, 33278, 35},
    /* End of rows */
};

static void build_lstm (struct dn_build *build, const void *data)
{
    const struct lstm *row = data;
    double layers = DN_WANT (build, layers, row->layers);
    struct dn_rnn rnn = {.hidden = DN_WANT (build, hidden, row->hidden), .gates = 4};
    double vocab = DN_WANT (build, vocab, row->vocab);
    double embed = DN_WANT (build, embed_dim, rnn.hidden);
    double outer;

    dn_build_tokens (build, DN_WANT (build, seq_len, row->tokens));
    dn_build_embedding (build, vocab, embed);
    dn_build_dropout (build);
    dn_build_rnn (build, &rnn);
    outer = dn_build_repeat (build, layers - 1);
    dn_build_dropout (build);
    dn_build_rnn (build, &rnn);
    dn_build_repeat_end (build, outer);
    if (dn_build_head (build, DN_HEAD_LM, DN_HEAD_BIT (NONE)) == DN_HEAD_NONE)
        return;
    dn_build_dropout (build);
    dn_build_linear (build, vocab, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_lstm =
    DN_ZOO_FAMILY_OF (rows, build_lstm, "rnn", "lstm_lm");
