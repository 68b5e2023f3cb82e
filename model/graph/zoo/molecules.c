/* molecules.c - energies of molecules from angles between neighbours: DimeNet
 *
 * DimeNet (Gasteiger et al., arXiv 2003.03123) and DimeNet++ (2011.14115) as PyTorch
 * Geometric implements them. A sample is a molecule of seq_len= atoms and tgt_len=
 * pairs of neighbours; layers= interactions of hidden= features. Each pair meets the
 * other neighbours of its first atom: all atoms are taken to have as many. Energies
 * only: forces need a gradient of the gradient.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define ELEMENTS   95.0 /* kinds of atoms */
#define RADIAL     6.0  /* functions of a distance */
#define ANGULAR    42.0 /* functions of a distance and an angle */
#define BILINEAR   8.0  /* features that those become */
#define OUT_LAYERS 3

/* DimeNet++: features of a pair where it meets others, and of an atom. */
#define MEETING 64.0
#define ATOM    256.0

/* Kernels that compute the functions of the distances, and those with angles. */
#define RADIAL_KERNELS  20.0
#define ANGULAR_KERNELS 994.0

struct molecules {
    struct dn_zoo_entry entry;
    bool plus;
    double layers;
};

static const struct molecules rows[] = {
    {{"dimenet", "molecules"}, false, 6},
    {{"dimenet_plus_plus", "molecules"}, true, 4},
    /* End of rows */
};

/* Sizes of one network. */
struct sizes {
    bool plus;
    double hidden;
    double atoms;
    double pairs;
    double meetings; /* of a pair with another of the same atom */
};

/* The cursor on 'features' of each of 'n' things. */
static void go_to (struct dn_build *build, double features, double n, bool kept)
{
    build->at =
        (struct dn_shape){.channels = features, .dim = {n}, .n_dims = 1, .kept = kept};
}

/* A layer and x sigmoid (x), in two kernels. */
static void add_dense (struct dn_build *build, double out, bool bias)
{
    struct dn_shape sum;

    dn_build_linear (build, out, bias);
    sum = build->at;
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_multiply (build, &sum);
}

/* The functions of distances and angles, which need no gradient but that of the
 * frequencies.
 */
static void add_functions (struct dn_build *build, const struct sizes *size)
{
    const struct dn_op angular = {.kind = DN_OP_ELEMENTWISE,
                                  .repeat = ANGULAR_KERNELS,
                                  .in = size->pairs,
                                  .out = size->pairs,
                                  .first = true};
    const struct dn_op product = {.kind = DN_OP_ELEMENTWISE,
                                  .in = 2 * size->meetings * ANGULAR,
                                  .out = size->meetings * ANGULAR,
                                  .saved = size->meetings * ANGULAR,
                                  .first = true};
    const struct dn_op radial = {.kind = DN_OP_ELEMENTWISE,
                                 .repeat = RADIAL_KERNELS,
                                 .in = size->pairs * RADIAL,
                                 .out = size->pairs * RADIAL,
                                 .saved = size->pairs * RADIAL / 4};
    const struct dn_op frequencies = {.kind = DN_OP_ELEMENTWISE,
                                      .in = size->pairs * RADIAL,
                                      .out = size->pairs * RADIAL,
                                      .weights = RADIAL,
                                      .params = RADIAL,
                                      .tensors = 1};

    dn_build_op (build, &angular);
    dn_build_op (build, &product);
    dn_build_op (build, &radial);
    dn_build_op (build, &frequencies);
}

/* Features of a pair: those of its atoms and of its distance. */
static void add_embedding (struct dn_build *build, const struct sizes *size)
{
    const struct dn_shape atoms = {.channels = 2 * size->hidden};

    dn_build_embedding (build, ELEMENTS, size->hidden);
    go_to (build, RADIAL, size->pairs, true);
    add_dense (build, size->hidden, true);
    dn_build_concat (build, &atoms);
    add_dense (build, size->hidden, true);
    dn_build_keep (build);
}

/* The cursor's features of pairs times layers of their distances. */
static void multiply_by_distance (struct dn_build *build, const struct sizes *size)
{
    struct dn_shape pairs = build->at;

    go_to (build, RADIAL, size->pairs, true);
    if (size->plus)
        dn_build_linear (build, BILINEAR, false);
    dn_build_linear (build, size->hidden, false);
    dn_build_multiply (build, &pairs);
}

/* The cursor's features, of 'from' things, summed up for each of 'to'. */
static void sum_up (struct dn_build *build, double from, double to)
{
    const struct dn_op sum = {.kind = DN_OP_ELEMENTWISE,
                              .in = from * build->at.channels,
                              .out = to * build->at.channels};

    dn_build_op (build, &sum);
    go_to (build, build->at.channels, to, false);
}

/* Layers of the angles times the features of the pairs that meet. */
static void add_meetings (struct dn_build *build, const struct sizes *size)
{
    struct dn_shape features;

    add_dense (build, MEETING, false);
    build->at.dim[0] = size->meetings;
    dn_build_copy (build);
    features = build->at;
    go_to (build, ANGULAR, size->meetings, true);
    dn_build_linear (build, BILINEAR, false);
    dn_build_linear (build, MEETING, false);
    dn_build_multiply (build, &features);
    sum_up (build, size->meetings, size->pairs);
    add_dense (build, size->hidden, false);
}

/* The same as one product with a weight for each angular and two other features. */
static void add_bilinear (struct dn_build *build, const struct sizes *size)
{
    double hidden = size->hidden;
    double weights = hidden * BILINEAR * hidden;
    const struct dn_op outer = {.kind = DN_OP_ELEMENTWISE,
                                .in = size->meetings * (BILINEAR + hidden),
                                .out = size->meetings * BILINEAR * hidden,
                                .saved = size->meetings * (BILINEAR + hidden)};
    const struct dn_op product = {.kind = DN_OP_LINEAR,
                                  .m = size->meetings,
                                  .n = hidden,
                                  .k = BILINEAR * hidden,
                                  .batches = 1,
                                  .flops = 2 * size->meetings * weights,
                                  .in = size->meetings * BILINEAR * hidden,
                                  .out = size->meetings * hidden,
                                  .weights = weights,
                                  .params = weights,
                                  .tensors = 1,
                                  .saved = size->meetings * BILINEAR * hidden};
    struct dn_shape features;

    build->at.dim[0] = size->meetings;
    dn_build_copy (build);
    features = build->at;
    go_to (build, ANGULAR, size->meetings, true);
    dn_build_linear (build, BILINEAR, false);
    dn_build_op (build, &outer);
    dn_build_op (build, &product);
    build->at = features;
    sum_up (build, size->meetings, size->pairs);
}

static void add_residual (struct dn_build *build, const struct sizes *size)
{
    add_dense (build, size->hidden, true);
    add_dense (build, size->hidden, true);
    dn_build_add (build);
}

static void add_interaction (struct dn_build *build, const struct sizes *size)
{
    struct dn_shape start = build->at;

    start.kept = true;
    add_dense (build, size->hidden, true);
    build->at = start;
    add_dense (build, size->hidden, true);
    multiply_by_distance (build, size);
    if (size->plus)
        add_meetings (build, size);
    else
        add_bilinear (build, size);
    dn_build_add (build);
    add_residual (build, size);
    add_dense (build, size->hidden, true);
    dn_build_add (build);
    add_residual (build, size);
    add_residual (build, size);
    dn_build_keep (build);
}

/* The energy of each atom from its pairs. The cursor does not move. */
static void add_output (struct dn_build *build, const struct sizes *size)
{
    struct dn_shape start = build->at;
    struct dn_shape pairs = start;

    go_to (build, RADIAL, size->pairs, true);
    dn_build_linear (build, size->hidden, false);
    dn_build_multiply (build, &pairs);
    sum_up (build, size->pairs, size->atoms);
    if (size->plus)
        dn_build_linear (build, ATOM, false);
    for (int i = 0; i < OUT_LAYERS; i++)
        add_dense (build, build->at.channels, true);
    dn_build_linear (build, 1, false);
    build->at = start;
}

static void build_molecules (struct dn_build *build, const void *data)
{
    const struct molecules *row = data;
    struct sizes size = {.plus = row->plus,
                         .hidden = DN_WANT (build, hidden, 128),
                         .atoms = DN_WANT (build, seq_len, 18),
                         .pairs = DN_WANT (build, tgt_len, 306)};
    double layers = DN_WANT (build, layers, row->layers);
    double outer;

    size.meetings = size.pairs * fmax (0, size.pairs / size.atoms - 1);
    build->graph.decode = DN_DECODE_NONE;
    dn_build_tokens (build, size.atoms);
    /* Their places. */
    build->graph.input += 3 * size.atoms;
    build->graph.input_bytes += 12 * size.atoms;
    add_functions (build, &size);
    add_embedding (build, &size);
    outer = dn_build_repeat (build, layers + 1);
    add_output (build, &size);
    dn_build_repeat_end (build, outer);
    outer = dn_build_repeat (build, layers);
    add_interaction (build, &size);
    dn_build_repeat_end (build, outer);
    build->at.channels = 1;
    dn_build_pool_global (build);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_molecules = DN_ZOO_FAMILY (rows, build_molecules);
