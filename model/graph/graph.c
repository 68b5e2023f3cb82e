/* graph.c - from a specification to the operators of its network
 *
 * First the names of the zoo, then the families under their own names, then the bare
 * numbers params=, flops=, activations= of a network that nobody here knows. The same
 * numbers given besides a name are taken as better knowledge of its totals.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/zoo/zoo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_text[] = {
    [DN_OP_UNKNOWN] = "unknown",
    [DN_OP_CONV] = "conv",
    [DN_OP_LINEAR] = "linear",
    [DN_OP_MATMUL] = "matmul",
    [DN_OP_EMBEDDING] = "embedding",
    [DN_OP_RNN] = "rnn",
    [DN_OP_NORM] = "norm",
    [DN_OP_ACTIVATION] = "activation",
    [DN_OP_ELEMENTWISE] = "elementwise",
    [DN_OP_SOFTMAX] = "softmax",
    [DN_OP_POOL] = "pool",
    [DN_OP_DROPOUT] = "dropout",
    [DN_OP_COPY] = "copy",
    [DN_OP_LOSS] = "loss",
};

const struct dn_names dn_op_kind_names = DN_NAMES (kind_text, DN_N_OP_KINDS);

/* clang-format off */
static const struct dn_zoo_family *const families[] = {
    &dn_zoo_resnet,
    &dn_zoo_vgg,
    &dn_zoo_squeezenet,
    &dn_zoo_densenet,
    &dn_zoo_mobilenet,
    &dn_zoo_shufflenet,
    &dn_zoo_efficientnet,
    &dn_zoo_regnet,
    &dn_zoo_convnext,
    &dn_zoo_vit,
    &dn_zoo_swin,
    &dn_zoo_unet,
    &dn_zoo_nnunet,
    &dn_zoo_detection,
    &dn_zoo_bert,
    &dn_zoo_gpt,
    &dn_zoo_seq2seq,
    &dn_zoo_txl,
    &dn_zoo_lstm,
    &dn_zoo_jasper,
    &dn_zoo_mlp,
    &dn_zoo_ncf,
    &dn_zoo_dlrm,
    &dn_zoo_autoencoder,
    &dn_zoo_fastpitch,
    &dn_zoo_inception,
    &dn_zoo_vnet,
    &dn_zoo_wav2vec2,
    &dn_zoo_deepspeech,
    &dn_zoo_gnmt,
    &dn_zoo_quartznet,
    &dn_zoo_ssd,
    &dn_zoo_wide_deep,
    &dn_zoo_dcgan,
    &dn_zoo_efficientdet,
    &dn_zoo_hifigan,
    &dn_zoo_science,
    &dn_zoo_tacotron2,
    &dn_zoo_waveglow,
    &dn_zoo_yolo,
    /* End of families */
};
/* clang-format on */

#define N_FAMILIES ((int) DN_N_ELEMENTS (families))

/* What stands for a family that is asked for by its own name, with sizes of its own. */
static const struct {
    const char *family;
    const char *name;
} generals[] = {
    {"transformer", "gpt2"},
    {"rnn", "lstm_lm"},
    {"recsys", "dlrm"},
    /* End of generals */
};

/* The name in the zoo that 'name' stands for. */
static const char *name_in_zoo (const char *name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (generals); i++) {
        if (dn_word_equal (
                generals[i].family, strlen (generals[i].family), name, strlen (name)))
            return generals[i].name;
    }
    return name;
}

/* A hint further away than this is not worth giving. */
#define HINT_DISTANCE_MAX 3

static const struct dn_zoo_entry *entry_of (const struct dn_zoo_family *family, int i)
{
    return (const void *) ((const char *) family->rows + (size_t) i * family->row_size);
}

const struct dn_zoo_entry *dn_zoo_at (int i)
{
    if (i < 0)
        return NULL;
    for (int f = 0; f < N_FAMILIES; f++) {
        if (i < families[f]->n_rows)
            return entry_of (families[f], i);
        i -= families[f]->n_rows;
    }
    return NULL;
}

/* The row of 'family' that is called 'name', or NULL. */
static const struct dn_zoo_entry *find_row (const struct dn_zoo_family *family,
                                            const char *name)
{
    for (int i = 0; i < family->n_rows; i++) {
        const struct dn_zoo_entry *entry = entry_of (family, i);

        if (dn_word_equal (entry->name, strlen (entry->name), name, strlen (name)))
            return entry;
    }
    return NULL;
}

/* The family that has 'name', and its row. */
static const struct dn_zoo_family *find_family (const char *name,
                                                const struct dn_zoo_entry **entry)
{
    for (int f = 0; f < N_FAMILIES; f++) {
        *entry = find_row (families[f], name);
        if (*entry)
            return families[f];
    }
    *entry = find_row (&dn_zoo_generic, name);
    return *entry ? &dn_zoo_generic : NULL;
}

/* Insertions, deletions and replacements from 'a' to 'b' (Levenshtein). Both are
 * shorter than DN_NAME_MAX.
 */
static int distance (const char *a, const char *b)
{
    int row[DN_NAME_MAX + 1];
    size_t n = strnlen (b, DN_NAME_MAX);

    for (size_t j = 0; j <= n; j++)
        row[j] = (int) j;
    for (size_t i = 1; a[i - 1] && i <= DN_NAME_MAX; i++) {
        int corner = row[0];

        row[0] = (int) i;
        for (size_t j = 1; j <= n; j++) {
            int change = corner + (dn_word_equal (&a[i - 1], 1, &b[j - 1], 1) ? 0 : 1);
            int shift = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);

            corner = row[j];
            row[j] = change < shift ? change : shift;
        }
    }
    return row[n];
}

static const char *nearest_name (const char *name)
{
    const char *nearest = NULL;
    int least = HINT_DISTANCE_MAX + 1;
    const struct dn_zoo_entry *entry;

    for (int i = 0; (entry = dn_zoo_at (i)); i++) {
        int d = distance (name, entry->name);

        /* Short names are near to everything. */
        if (d < least && 3 * d <= (int) strlen (entry->name)) {
            least = d;
            nearest = entry->name;
        }
    }
    return nearest;
}

static int fail_unknown (const char *name, struct dn_err *err)
{
    const char *nearest = nearest_name (name);
    struct dn_quoted quoted = dn_quote (name, strlen (name));

    if (name[0] == '\0')
        return dn_err_set (err,
                           DN_E_RANGE,
                           "model: missing, expected a name of the zoo, a family (cnn "
                           "transformer rnn mlp recsys), or params, flops and "
                           "activations");
    if (nearest)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "model: '%s' is not in the zoo, did you mean %s?",
                           quoted.text,
                           nearest);
    return dn_err_set (err,
                       DN_E_RANGE,
                       "model: '%s' is not in the zoo, expected one of its names, a "
                       "family (cnn transformer rnn mlp recsys), or params, flops and "
                       "activations",
                       quoted.text);
}

/* What the specification says of the totals, which may be known better than the graph:
 * a changed network keeps the shape of the one it came from.
 */
static void scale_totals (struct dn_graph *graph,
                          double params,
                          double flops,
                          double activations)
{
    double saved = 0;
    double by_params;
    double by_flops;
    double by_saved;

    for (int i = 0; i < graph->n_ops; i++)
        saved += graph->ops[i].repeat * graph->ops[i].saved;
    by_params = params > 0 && graph->params > 0 ? params / graph->params : 1;
    by_flops = flops > 0 && graph->flops > 0 ? flops / graph->flops : 1;
    by_saved = activations > 0 && saved > 0 ? activations / saved : 1;
    for (int i = 0; i < graph->n_ops; i++) {
        struct dn_op *op = &graph->ops[i];

        op->params *= by_params;
        op->weights *= by_params;
        op->flops *= by_flops;
        op->k *= by_flops;
        op->saved *= by_saved;
        op->in *= by_saved;
        op->out *= by_saved;
        op->masks *= by_saved;
    }
    graph->params *= by_params;
    graph->flops *= by_flops;
    graph->block_boundary *= by_saved;
}

static bool has_totals (const struct dn_spec *spec)
{
    return spec->params > 0 && spec->flops > 0 && spec->activations > 0;
}

int dn_graph_build (const struct dn_spec *spec,
                    struct dn_graph *graph,
                    struct dn_err *err)
{
    const struct dn_zoo_entry *entry;
    const struct dn_zoo_family *family =
        find_family (name_in_zoo (spec->model), &entry);
    struct dn_build build;
    double params;
    double flops;
    double activations;

    *graph = (struct dn_graph){0};
    if (!entry && !has_totals (spec))
        return fail_unknown (spec->model, err);
    dn_build_start (&build, spec, spec->model, err);
    params = DN_WANT_REAL (&build, params, 0);
    flops = DN_WANT_REAL (&build, flops, 0);
    activations = DN_WANT_REAL (&build, activations, 0);
    if (family && !build.failed)
        family->build (&build, entry);
    else if (!build.failed)
        dn_zoo_unknown (&build);
    if (dn_build_finish (&build, graph) < 0)
        return -1;
    scale_totals (graph, params, flops, activations);
    return 0;
}

void dn_graph_free (struct dn_graph *graph)
{
    if (!graph)
        return;
    free (graph->ops);
    *graph = (struct dn_graph){0};
}
