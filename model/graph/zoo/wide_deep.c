/* wide_deep.c - wide and deep recommender
 *
 * Cheng et al. (arXiv 1606.07792) with the features of NVIDIA's DeepLearningExamples
 * (TensorFlow 2) for Outbrain's clicks: 13 categories and 13 numbers, a linear model of
 * all of them beside an MLP of layers= layers of hidden= features on embeddings. With
 * vocab= (rows of all tables together), tables= or embed_dim=, all tables have the same
 * size.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

struct wide_deep {
    struct dn_zoo_entry entry;
    double numbers;
    double layers;
    double hidden;
    double tables; /* number of tables, where they are equal; vocab: rows of all */
    double vocab;
    double features;
};

static const struct wide_deep rows[] = {
    {{"wide_deep", "wide_deep"}, 13, 5, 1024, 13, 672304, 64},
    /* End of rows */
};

/* Rows and features of Outbrain's tables. */
static const struct table {
    double rows;
    double features;
} outbrain[] = {{300000, 128},
                {250000, 128},
                {100000, 128},
                {4000, 64},
                {4000, 64},
                {2500, 64},
                {2500, 64},
                {2000, 64},
                {1000, 64},
                {1000, 64},
                {300, 64},
                {4, 19},
                {5000, 128}};

/* Look up one row in each of 'n' equal tables. */
static void add_lookups (struct dn_build *build, double n, struct table table)
{
    const struct dn_op op = {.kind = DN_OP_EMBEDDING,
                             .repeat = n,
                             .in = 1,
                             .out = table.features,
                             .weights = table.features,
                             .params = table.rows * table.features,
                             .tensors = 1,
                             .masks = 8,
                             .first = true};

    dn_build_op (build, &op);
}

/* Look up in all tables, or, for the linear model, one number in each. Return the
 * number of features.
 */
static double add_tables (struct dn_build *build,
                          const struct wide_deep *row,
                          bool wide)
{
    double n = DN_WANT (build, tables, row->tables);
    struct table table = {DN_WANT (build, vocab, row->vocab) / n,
                          DN_WANT (build, embed_dim, row->features)};
    const struct dn_spec *spec = build->spec;
    double features = 0;

    if (spec->tables != DN_UNSET || spec->vocab != DN_UNSET
        || spec->embed_dim != DN_UNSET) {
        add_lookups (build, n, wide ? (struct table){table.rows, 1} : table);
        return n * (wide ? 1 : table.features);
    }
    for (size_t i = 0; i < DN_N_ELEMENTS (outbrain); i++) {
        table = outbrain[i];
        if (wide)
            table.features = 1;
        add_lookups (build, 1, table);
        features += table.features;
    }
    return features;
}

static void add_wide (struct dn_build *build, const struct wide_deep *row)
{
    double numbers = build->at.channels;

    build->at.channels = add_tables (build, row, true);
    dn_build_add (build);
    build->at.channels = numbers;
    build->at.input = true;
    dn_build_linear (build, 1, true);
    dn_build_add (build);
}

static void build_wide_deep (struct dn_build *build, const void *data)
{
    const struct wide_deep *row = data;
    double layers = DN_WANT (build, layers, row->layers);
    double hidden = DN_WANT (build, hidden, row->hidden);
    double numbers = DN_WANT (build, in_channels, row->numbers);
    struct dn_shape embedded = {0};

    dn_build_tokens (build, DN_WANT (build, tables, row->tables));
    dn_build_features (build, numbers, 0);
    add_wide (build, row);
    embedded.channels = add_tables (build, row, false);
    build->at = (struct dn_shape){.channels = numbers};
    dn_build_concat (build, &embedded);
    for (int i = 0; i < layers && !build->failed; i++) {
        dn_build_linear (build, hidden, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        dn_build_dropout (build);
    }
    dn_build_linear (build, 1, true);
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_wide_deep = DN_ZOO_FAMILY (rows, build_wide_deep);
