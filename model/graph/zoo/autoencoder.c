/* autoencoder.c - autoencoders over a catalogue of items
 *
 * A sample is one user: a number for each of vocab= items. 'autoencoder' is the dynamic
 * autoencoder of Recoder (amoussawi/recoder): layers= layers of hidden= features in the
 * encoder, and the same number in the decoder. 'vae_cf' is the variational one of Liang
 * et al. (arXiv 1802.05814) with the sizes of NVIDIA's DeepLearningExamples: hidden=
 * features, then mean and variance of embed_dim= each.
 *
 * The layer that reads the items is counted as dense, as in the papers' code.
 * DeepLearningExamples multiplies only the items that a user has rated.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

struct autoencoder {
    struct dn_zoo_entry entry;
    double hidden;
    double latent; /* 0: not variational */
};

static const struct autoencoder rows[] = {
    {{"autoencoder", "autoencoder"}, 200, 0},
    {{"vae_cf", "autoencoder"}, 600, 200},
    /* End of rows */
};

/* Films of MovieLens-20M that were rated often enough. */
#define ITEMS 20108

/* Items that a user has rated on average. Each is copied to the device as a pair of
 * 64-bit indices with a value. Recoder's loader makes dense rows of them.
 */
#define RATED       73
#define RATED_BYTES 20.0

static void add_layer (struct dn_build *build, double out)
{
    dn_build_linear (build, out, true);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
}

/* The layers of equal size in the encoder and in the decoder: none where layers is 1.
 */
static void add_layers (struct dn_build *build, double layers)
{
    double outer = dn_build_repeat (build, 2 * (layers - 1));

    add_layer (build, build->at.channels);
    dn_build_repeat_end (build, outer);
}

/* Mean and logarithm of variance, and a sample of them. */
static void add_latent (struct dn_build *build, double latent)
{
    dn_build_linear (build, 2 * latent, true);
    build->at.channels = latent;
    /* Half, exp (kept), times noise (kept), sum. */
    dn_build_elementwise (build, 1);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    build->at.kept = false;
    dn_build_keep (build);
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

static void build_autoencoder (struct dn_build *build, const void *data)
{
    const struct autoencoder *row = data;
    double items = DN_WANT (build, vocab, ITEMS);
    double hidden = DN_WANT (build, hidden, row->hidden);

    dn_build_features (build, items, 0);
    if (row->latent > 0)
        build->graph.input_bytes = RATED * RATED_BYTES;
    /* Scaled to a length of 1, and some of it dropped. */
    dn_build_elementwise (build, 1);
    build->at.input = true;
    if (row->latent > 0)
        dn_build_dropout (build);
    build->at.input = true;
    add_layer (build, hidden);
    if (row->latent > 0) {
        add_latent (build, DN_WANT (build, embed_dim, row->latent));
        add_layer (build, hidden);
    } else {
        add_layers (build, DN_WANT (build, layers, 1));
    }
    dn_build_linear (build, items, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_autoencoder = DN_ZOO_FAMILY (rows, build_autoencoder);
