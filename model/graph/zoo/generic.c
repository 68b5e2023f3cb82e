/* generic.c - networks that are not in the zoo: the cnn family, and totals
 *
 * cnn is a plain stack: layers= 3x3 convolutions with normalisation and rectifier, of
 * hidden= channels at first, doubled with each halving of the resolution (STAGES times
 * at most), then the usual classifier. The names of the other families are aliases of a
 * row of their zoo file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define STAGES_MAX 5

/* Operators that the totals are spread over when layers= is unset. */
#define LAYERS_UNKNOWN 50

static const char *const rows[] = {
    "cnn",
    /* End of rows */
};

static void build_cnn (struct dn_build *build, const void *row)
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
        double outer;

        dn_build_conv_norm_relu (build, fmax (channels, 1), 3, i == 0 ? 1 : 2, 1);
        outer = dn_build_repeat (build, n - 1);
        dn_build_conv_norm_relu (build, fmax (channels, 1), 3, 1, 1);
        dn_build_repeat_end (build, outer);
        channels *= 2;
    }
    dn_build_classifier (build, 1000, false);
}

const struct dn_zoo_family dn_zoo_generic = DN_ZOO_FAMILY ("cnn", rows, build_cnn);

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
                       .weights = params,
                       .params = params,
                       .tensors = 1,
                       .saved = saved};
    double outer;

    /* The predictor reads these. */
    build->wanted = dn_keyset_or (
        build->wanted, dn_keyset_or (DN_KEYSET (seq_len), DN_KEYSET (image)));
    if (build->spec->image.n_dims > 0)
        dn_build_image (build, 3, 224, build->spec->image.n_dims == 3 ? 3 : 2);
    else
        dn_build_features (build, DN_WANT (build, in_channels, saved), 0);
    outer = dn_build_repeat (build, layers);
    dn_build_op (build, &op);
    dn_build_repeat_end (build, outer);
}
