/* waveglow.c - WaveGlow, speech from mel frames by invertible steps
 *
 * Prenger et al. (arXiv 1811.00002) with the sizes of NVIDIA's DeepLearningExamples:
 * twelve steps on groups of eight samples, each a 1x1 convolution and a WaveNet of
 * layers= layers of hidden= channels; two channels are output after every fourth step.
 * seq_len= counts audio samples.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#include <math.h>

#define MEL         80.0
#define HOP         256.0
#define GROUP       8.0
#define N_STEPS     12
#define EARLY_EVERY 4
#define EARLY       2.0

struct waveglow {
    struct dn_zoo_entry entry;
    double layers;
    double hidden;
    double samples;
};

static const struct waveglow rows[] = {
    {{"waveglow", "waveglow"}, 8, 512, 4000},
    /* End of rows */
};

/* A convolution over time whose weights are directions and one length per output. Its
 * dilation, which doubles with each layer, changes no size.
 */
static void add_conv (struct dn_build *build, double out, int kernel)
{
    const struct dn_op lengths = {
        .kind = DN_OP_NORM, .weights = out, .params = out, .tensors = 1};

    dn_build_conv (build, out, kernel, 1, kernel / 2, 1, true);
    dn_build_op (build, &lengths);
}

/* tanh of one half of the channels times sigmoid of the other; the condition, two times
 * 'hidden' channels, is added before. In DeepLearningExamples that is one compiled
 * function (TorchScript), which keeps both of its inputs.
 */
static void add_gate (struct dn_build *build, double hidden)
{
    struct dn_shape half;

    dn_build_add (build);
    if (build->graph.n_ops > 0 && !build->frozen)
        build->graph.ops[build->graph.n_ops - 1].saved += 4 * hidden * build->at.dim[0];
    build->at.channels = hidden;
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    half = build->at;
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_multiply (build, &half);
}

/* One layer; the last gives no residual. */
static void add_layer (struct dn_build *build,
                       struct dn_shape *mel,
                       double hidden,
                       bool last)
{
    add_conv (build, 2 * hidden, 3);
    build->at = *mel;
    dn_build_keep (build);
    mel->kept = true;
    add_conv (build, 2 * hidden, 1);
    add_gate (build, hidden);
    add_conv (build, last ? hidden : 2 * hidden, 1);
    build->at.channels = hidden;
    dn_build_add (build);
    if (!last)
        dn_build_add (build);
}

static void add_wavenet (struct dn_build *build,
                         struct dn_shape *mel,
                         double layers,
                         double hidden)
{
    double in = build->at.channels;
    double outer;

    add_conv (build, hidden, 1);
    if (layers > 1)
        add_layer (build, mel, hidden, false);
    outer = dn_build_repeat (build, fmax (layers - 2, 0));
    add_layer (build, mel, hidden, false);
    dn_build_repeat_end (build, outer);
    add_layer (build, mel, hidden, true);
    dn_build_conv (build, 2 * in, 1, 1, 0, 1, true);
}

/* Mix the channels, then scale and shift one half by the output of a WaveNet on the
 * other.
 */
static void add_step (struct dn_build *build,
                      struct dn_shape *mel,
                      double layers,
                      double hidden)
{
    double channels = build->at.channels;
    struct dn_shape half;

    dn_build_conv (build, channels, 1, 1, 0, 1, false);
    build->at.channels = channels / 2;
    half = build->at;
    add_wavenet (build, mel, layers, hidden);
    build->at.channels = channels / 2;
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_multiply (build, &half);
    dn_build_add (build);
    dn_build_concat (build, &half);
}

/* Mel frames to the rate of the groups, and samples to channels. */
static struct dn_shape add_condition (struct dn_build *build, double samples)
{
    double frames = floor (samples / HOP) + 1;

    dn_build_features (build, MEL, frames);
    dn_build_conv_transpose (build, MEL, 4 * (int) HOP, (int) HOP, 0, true);
    build->at.channels = MEL * GROUP;
    build->at.dim[0] = floor (samples / GROUP);
    dn_build_copy (build);
    return build->at;
}

static void build_waveglow (struct dn_build *build, const void *data)
{
    const struct waveglow *row = data;
    double samples = DN_WANT (build, seq_len, row->samples);
    double layers = DN_WANT (build, layers, row->layers);
    double hidden = DN_WANT (build, hidden, row->hidden);
    struct dn_shape mel;

    if (samples < GROUP) {
        dn_build_fail (build,
                       DN_E_RANGE,
                       dn_say_err_zoo_least,
                       "seq_len",
                       samples,
                       GROUP,
                       "waveglow");
        return;
    }
    mel = add_condition (build, samples);
    dn_build_features (build, GROUP, floor (samples / GROUP));
    for (int i = 0; i < N_STEPS; i += EARLY_EVERY) {
        double outer;

        if (i > 0)
            build->at.channels -= EARLY;
        add_step (build, &mel, layers, hidden);
        outer = dn_build_repeat (build, EARLY_EVERY - 1);
        add_step (build, &mel, layers, hidden);
        dn_build_repeat_end (build, outer);
    }
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_waveglow = DN_ZOO_FAMILY (rows, build_waveglow);
