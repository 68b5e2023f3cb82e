/* deepspeech.c - Deep Speech 2
 *
 * Amodei et al. (arXiv 1512.02595) with the sizes of SeanNaren/deepspeech.pytorch: two
 * convolutions over a spectrogram of in_channels= frequencies, layers= bidirectional
 * LSTMs of hidden= features whose directions are added, a layer to classes= letters for
 * CTC. seq_len= is in 10 ms frames.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#define WINDOWS 32

struct deepspeech {
    struct dn_zoo_entry entry;
    double frequencies;
    double frames;
    double layers;
    double hidden;
    double letters;
};

static const struct deepspeech rows[] = {
    {{"deepspeech2", "deepspeech"}, 161, 1670, 5, 1024, 29},
    /* End of rows */
};

/* The positions after the end of a sample are set to zero after every layer. */
static void add_mask (struct dn_build *build)
{
    double elements = dn_shape_elements (&build->at);
    struct dn_op op = {
        .kind = DN_OP_ELEMENTWISE, .in = elements, .out = elements, .masks = elements};

    dn_build_op (build, &op);
    build->at.kept = false;
}

static void add_conv (struct dn_build *build, int height, int stride)
{
    const struct dn_conv conv = {.out = WINDOWS,
                                 .kernel = {height, 11},
                                 .stride = {2, stride},
                                 .pad = {height / 2, 5},
                                 .groups = 1,
                                 .bias = true};

    dn_build_conv_of (build, &conv);
    add_mask (build);
    dn_build_norm (build, DN_NORM_BATCH);
    add_mask (build);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    add_mask (build);
}

/* Both directions, added. */
static void add_layer (struct dn_build *build, const struct dn_rnn *rnn)
{
    dn_build_rnn (build, rnn);
    build->at.channels = rnn->hidden;
    dn_build_add (build);
}

static void build_deepspeech (struct dn_build *build, const void *data)
{
    const struct deepspeech *row = data;
    double frames = DN_WANT (build, seq_len, row->frames);
    double layers = DN_WANT (build, layers, row->layers);
    struct dn_rnn rnn = {.hidden = DN_WANT (build, hidden, row->hidden),
                         .gates = 4,
                         .bidirectional = true};
    double outer;

    dn_build_features (build, DN_WANT (build, in_channels, row->frequencies), frames);
    build->at = (struct dn_shape){
        .channels = 1, .dim = {build->at.channels, frames}, .n_dims = 2, .input = true};
    add_conv (build, 41, 2);
    add_conv (build, 21, 1);
    build->at = (struct dn_shape){
        .channels = WINDOWS * build->at.dim[0], .dim = {build->at.dim[1]}, .n_dims = 1};
    dn_build_copy (build);
    add_layer (build, &rnn);
    outer = dn_build_repeat (build, layers - 1);
    dn_build_norm (build, DN_NORM_BATCH);
    add_layer (build, &rnn);
    dn_build_repeat_end (build, outer);
    dn_build_norm (build, DN_NORM_BATCH);
    dn_build_linear (build, DN_WANT (build, classes, row->letters), false);
    dn_build_loss_ctc (build);
}

const struct dn_zoo_family dn_zoo_deepspeech = DN_ZOO_FAMILY (rows, build_deepspeech);
