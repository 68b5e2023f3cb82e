/* evoformer.c - the Evoformer, which most of AlphaFold 2's work is
 *
 * Jumper et al. (Nature 596, 2021; supplement, algorithms 3 to 15) as OpenFold trains
 * it: seq_len= residues, tgt_len= sequences of the alignment, each pair of a sequence
 * and a residue with hidden= features, each pair of residues with half as many; layers=
 * blocks, with the input embedder and the losses on masked sequences and on distances.
 * The stack of extra sequences, templates and the structure module are left out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define RESIDUES   22.0  /* features of a residue: its kind */
#define SEQUENCES  49.0  /* of a residue of a sequence */
#define DISTANCES  65.0  /* between two residues, along the chain */
#define SINGLE     384.0 /* features of a residue that the structure module gets */
#define KINDS      23.0  /* of a masked residue */
#define BINS       64.0  /* of distances */
#define HEAD_DIM   32.0
#define PAIR_HEADS 4.0
#define OUTER      32.0 /* features whose products make those of pairs */
#define EXPANSION  4.0

struct evoformer {
    struct dn_zoo_entry entry;
    double layers;
    double hidden;
};

static const struct evoformer rows[] = {
    {{"evoformer", "evoformer"}, 48, 256},
    /* End of rows */
};

/* Sizes of one network, and where its two activations stand. */
struct state {
    double residues;
    double sequences;
    double hidden;
    double pair;  /* features */
    double heads; /* of the sequences */
    struct dn_shape m;
    struct dn_shape z;
};

/* Attention in each of 'n_rows' of the cursor's positions, with a gate. */
static void add_heads (struct dn_build *build, double n_rows, double heads)
{
    struct dn_shape start = build->at;
    double tokens = start.dim[0] / n_rows;
    struct dn_op op = {.m = tokens,
                       .n = tokens,
                       .k = HEAD_DIM,
                       .batches = n_rows * heads,
                       .kv_heads = n_rows * heads,
                       .value_dim = HEAD_DIM,
                       .masked = true,
                       .composed = true,
                       .moved = true};
    struct dn_shape out;
    double outer;

    build->role = DN_ROLE_QUERY;
    dn_build_linear (build, heads * HEAD_DIM, false);
    outer = dn_build_repeat (build, 2);
    build->at = start;
    build->at.kept = true;
    build->role = DN_ROLE_KEY_VALUE;
    dn_build_linear (build, heads * HEAD_DIM, false);
    dn_build_repeat_end (build, outer);
    dn_op_set_attention (&op);
    dn_build_op (build, &op);
    out = build->at;
    out.kept = true;
    build->at = start;
    build->at.kept = true;
    dn_build_linear (build, heads * HEAD_DIM, true);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_multiply (build, &out);
    build->role = DN_ROLE_ATTENTION_OUT;
    dn_build_linear (build, start.channels, true);
}

/* The dropout of whole rows or columns, and the sum. */
static void add_dropped (struct dn_build *build)
{
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

static void add_transition (struct dn_build *build)
{
    double features = build->at.channels;

    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, EXPANSION * features, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_linear (build, features, true);
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

/* Scores from the pairs of residues, which are added to the others. */
static void add_pair_scores (struct dn_build *build,
                             struct dn_shape pairs,
                             double heads)
{
    struct dn_shape at = build->at;

    build->at = pairs;
    dn_build_linear (build, heads, false);
    dn_build_copy (build);
    build->at = at;
}

static void add_sequences (struct dn_build *build, struct state *state)
{
    build->at = state->z;
    dn_build_norm (build, DN_NORM_LAYER);
    add_pair_scores (build, build->at, state->heads);
    build->at = state->m;
    dn_build_norm (build, DN_NORM_LAYER);
    add_heads (build, state->sequences, state->heads);
    add_dropped (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_copy (build);
    add_heads (build, state->residues, state->heads);
    dn_build_copy (build);
    dn_build_add (build);
    add_transition (build);
    state->m = build->at;
}

/* The mean of the products of all features of two residues, over the sequences. */
static void add_outer_product (struct dn_build *build, struct state *state)
{
    double n = state->residues * OUTER;
    struct dn_shape start;
    double outer;

    build->at = state->m;
    dn_build_norm (build, DN_NORM_LAYER);
    start = build->at;
    dn_build_keep (build);
    outer = dn_build_repeat (build, 2);
    build->at = start;
    build->at.kept = true;
    dn_build_linear (build, OUTER, true);
    dn_build_elementwise (build, 1);
    dn_build_copy (build);
    dn_build_repeat_end (build, outer);
    dn_build_matmul (build, 1, n, n, state->sequences, 2 * state->sequences * n);
    build->at = state->z;
    build->at.channels = OUTER * OUTER;
    build->at.kept = false;
    dn_build_copy (build);
    dn_build_linear (build, state->pair, true);
    dn_build_elementwise (build, 1);
    dn_build_add (build);
    state->z = build->at;
}

/* A pair of residues from the pairs of both with every third. */
static void add_triangle (struct dn_build *build, const struct state *state)
{
    double n = state->residues;
    struct dn_shape start;
    struct dn_shape part;
    double outer;

    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_keep (build);
    start = build->at;
    outer = dn_build_repeat (build, 2);
    build->at = start;
    dn_build_linear (build, state->pair, true);
    part = build->at;
    build->at = start;
    dn_build_linear (build, state->pair, true);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_multiply (build, &part);
    dn_build_elementwise (build, 1);
    dn_build_copy (build);
    dn_build_repeat_end (build, outer);
    dn_build_matmul (build, state->pair, n, n, n, 2 * n * n * state->pair);
    build->at.kept = false;
    dn_build_copy (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, state->pair, true);
    part = build->at;
    build->at = start;
    dn_build_linear (build, state->pair, true);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_multiply (build, &part);
    add_dropped (build);
}

static void add_pairs (struct dn_build *build, struct state *state)
{
    double outer = dn_build_repeat (build, 2);

    add_triangle (build, state);
    dn_build_repeat_end (build, outer);
    outer = dn_build_repeat (build, 2);
    dn_build_norm (build, DN_NORM_LAYER);
    add_pair_scores (build, build->at, PAIR_HEADS);
    build->at.kept = true;
    add_heads (build, state->residues, PAIR_HEADS);
    add_dropped (build);
    dn_build_repeat_end (build, outer);
    add_transition (build);
    state->z = build->at;
}

/* Features of sequences and of pairs from the residues. */
static void add_embedder (struct dn_build *build, struct state *state)
{
    double n = state->residues;
    double outer;

    dn_build_features (build, RESIDUES, n);
    outer = dn_build_repeat (build, 2);
    build->at = (struct dn_shape){
        .channels = RESIDUES, .dim = {n}, .n_dims = 1, .kept = true, .input = true};
    dn_build_linear (build, state->pair, true);
    dn_build_repeat_end (build, outer);
    build->at = (struct dn_shape){
        .channels = DISTANCES, .dim = {n * n}, .n_dims = 1, .input = true};
    dn_build_linear (build, state->pair, true);
    dn_build_add (build);
    dn_build_add (build);
    state->z = build->at;
    build->at = (struct dn_shape){
        .channels = RESIDUES, .dim = {n}, .n_dims = 1, .kept = true, .input = true};
    dn_build_linear (build, state->hidden, true);
    build->graph.input += SEQUENCES * state->sequences * n;
    build->graph.input_bytes += 4 * SEQUENCES * state->sequences * n;
    build->at = (struct dn_shape){.channels = SEQUENCES,
                                  .dim = {state->sequences * n},
                                  .n_dims = 1,
                                  .input = true};
    dn_build_linear (build, state->hidden, true);
    dn_build_add (build);
    state->m = build->at;
}

static void add_losses (struct dn_build *build, const struct state *state)
{
    build->at = state->m;
    build->at.dim[0] = state->residues;
    dn_build_linear (build, SINGLE, true);
    build->at = state->m;
    dn_build_linear (build, KINDS, true);
    dn_build_loss (build);
    build->at = state->z;
    dn_build_linear (build, BINS, true);
    dn_build_add (build);
    dn_build_loss (build);
}

static void build_evoformer (struct dn_build *build, const void *data)
{
    const struct evoformer *row = data;
    double layers = DN_WANT (build, layers, row->layers);
    struct state state = {.residues = DN_WANT (build, seq_len, 256),
                          .sequences = DN_WANT (build, tgt_len, 128),
                          .hidden = DN_WANT (build, hidden, row->hidden),
                          .heads = DN_WANT (build, heads, 8)};
    double outer;

    state.pair = fmax (1, floor (state.hidden / 2));
    build->graph.decode = DN_DECODE_NONE;
    add_embedder (build, &state);
    dn_build_blocks (build, layers);
    build->graph.block_boundary =
        dn_shape_elements (&state.m) + dn_shape_elements (&state.z);
    outer = dn_build_repeat (build, layers);
    add_sequences (build, &state);
    add_outer_product (build, &state);
    add_pairs (build, &state);
    build->at = state.m;
    dn_build_repeat_end (build, outer);
    add_losses (build, &state);
}

const struct dn_zoo_family dn_zoo_evoformer = DN_ZOO_FAMILY (rows, build_evoformer);
