/* tune.c - what of a network learns
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/tune.h"
#include "base/messages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct dn_tune_word words[] = {
    {"embedding embeddings", EMBEDDING, EMBEDDING},
    {"backbone", BACKBONE, BACKBONE},
    {"attention", ATTENTION, ATTENTION},
    {"ffn mlp", INNER, INNER},
    {"norm", NORM, NORM},
    {"bias", BIAS, BIAS},
    {"encoder", ENCODER, ENCODER},
    {"decoder", DECODER, DECODER},
    {"head classifier", HEAD, HEAD},
};

const struct dn_tune_words dn_part_words = {"frozen",
                                            dn_say_tune_part,
                                            dn_say_tune_all_but,
                                            words,
                                            (int) DN_N_ELEMENTS (words)};

/* Which parameters learn: those in none of the sets, or those in one of them. */
struct choice {
    unsigned sets;
    bool only;
};

/* Biases among the parameters of an operator, and their tensors. */
static double biases_of (const struct dn_op *op, double *tensors)
{
    double biases = 0;

    *tensors = 0;
    if (dn_op_has_weights (op) && op->params > 0)
        biases =
            dn_min (dn_max (op->weights - op->n * op->k * op->batches, 0), op->params);
    else if (op->kind == DN_OP_NORM && op->tensors > 1)
        biases = op->params / 2;
    if (biases > 0)
        *tensors = op->kind == DN_OP_RNN ? biases / op->n : 1;
    return biases;
}

static bool learns (const struct choice *choice, unsigned sets)
{
    return ((sets & choice->sets) != 0) == choice->only;
}

static unsigned all_sets (const struct dn_graph *graph)
{
    int head = dn_head_of (graph);
    unsigned all = 0;
    double tensors;

    for (int i = 0; i < graph->n_ops; i++) {
        if (graph->ops[i].params > 0)
            all |= dn_tune_sets (graph, i, head);
        if (biases_of (&graph->ops[i], &tensors) > 0)
            all |= BIAS;
    }
    if (head >= 0)
        all |= HEAD;
    return all;
}

#define ALL_BUT "all_but_"

static int read_frozen (const struct dn_graph *graph,
                        const char *text,
                        struct choice *choice,
                        struct dn_err *err)
{
    const size_t len = strlen (ALL_BUT);
    struct dn_span rest = dn_span_of (text);

    *choice = (struct choice){0, false};
    if (rest.len > len && dn_word_equal (rest.text, len, ALL_BUT, len)) {
        choice->only = true;
        rest = dn_span_after (rest, len);
    }
    return dn_tune_read (
        &dn_part_words, graph, rest, all_sets (graph), &choice->sets, err);
}

/* Freeze one operator's parameters by the choice. What only a gradient of weights needs
 * is not kept: the normalised input of a norm composed of single kernels, the input of
 * a scale; inputs of products are left to drop_inputs ().
 */
static void freeze (struct dn_op *op, const struct choice *choice, unsigned sets)
{
    double bias_tensors;
    double biases = biases_of (op, &bias_tensors);
    bool weights_learn = learns (choice, sets);
    bool biases_learn = learns (choice, sets | BIAS);
    double frozen =
        (weights_learn ? 0 : op->params - biases) + (biases_learn ? 0 : biases);
    double frozen_tensors = (weights_learn ? 0 : op->tensors - bias_tensors)
                            + (biases_learn ? 0 : bias_tensors);

    if (!weights_learn && op->weights > 0) {
        op->fixed = true;
        if (op->kind == DN_OP_NORM && op->tensors == 1)
            op->saved = dn_max (op->saved - op->out, 0);
        if (op->kind == DN_OP_ELEMENTWISE)
            op->saved = 0;
    }
    op->params -= frozen;
    op->frozen_params += frozen;
    op->tensors -= frozen_tensors;
}

/* Inputs that the gradient of some weights needs. */
static void find_needed (const struct dn_graph *graph, unsigned char *needed)
{
    for (int i = 0; i < graph->n_ops; i++) {
        const struct dn_op *op = &graph->ops[i];

        if (dn_op_has_weights (op) && !op->fixed)
            needed[op->source] = DN_NEEDED_LAYER;
    }
}

/* The gradient of a product's input needs the weights only. The input is kept as long
 * as another product that learns reads it. Quantised layers keep theirs: those of
 * bitsandbytes do in 8 bits (MatMul8bitLt), in 4 bits they did in its first versions
 * (MatMul4Bit; litgpt's runs need as much more).
 */
static void drop_inputs (struct dn_graph *graph, const unsigned char *needed)
{
    for (int i = 0; i < graph->n_ops; i++) {
        struct dn_op *op = &graph->ops[i];

        if (!op->fixed || op->frozen_bytes > 0
            || (op->source > 0 && (needed[op->source] & DN_NEEDED_LAYER) != 0))
            continue;
        if (op->source > 0 && needed[op->source] != 0) {
            op->cast_saved = -op->input_saved;
            continue;
        }
        op->saved -= op->input_saved;
        op->input_saved = 0;
    }
}

static bool has_learned (const struct dn_op *op)
{
    return !op->frozen
           && (op->params > 0
               || (op->weights > 0 && !op->fixed && op->frozen_params <= 0));
}

/* Nothing runs backward before the first operator that learns. Of repeated operators,
 * which stand for those of all blocks, all but the first block's come later.
 */
static void find_passive (struct dn_graph *graph)
{
    int first = 0;

    while (first < graph->n_ops && !has_learned (&graph->ops[first]))
        first++;
    if (first == graph->n_ops)
        return;
    if (graph->ops[first].repeat <= 1)
        graph->ops[first].first = true;
    while (first > 0 && graph->ops[first].repeat > 1
           && graph->ops[first - 1].repeat > 1)
        first--;
    for (int i = 0; i < first; i++) {
        graph->ops[i].frozen = true;
        dn_op_keep_nothing (&graph->ops[i]);
    }
}

/* Bytes of a quantised weight. NF4 with double quantisation: 4 bits, and 0.127 bits for
 * the scales of blocks of 64 (Dettmers et al., arXiv 2305.14314). LLM.int8(): 1 byte,
 * and a scale of 4 bytes for each output (Dettmers et al., arXiv 2208.07339). GPTQ and
 * AWQ: 4 bits, and for groups of 128 a scale of 16 bits and a zero point of 4 (Frantar
 * et al., arXiv 2210.17323; Lin et al., arXiv 2306.00978; their quantised layers).
 */
static double quantised_bytes (const struct dn_op *op, enum dn_quant quant)
{
    double weights = op->n * op->k;

    switch (quant) {
    case DN_QUANT_NF4:
        return weights * (4 + 0.127) / 8;
    case DN_QUANT_GPTQ:
    case DN_QUANT_AWQ:
        return weights * (4 + 20.0 / 128) / 8;
    default:
        return weights + 4 * op->n;
    }
}

/* The frozen linear layers but the head's, as transformers does with bitsandbytes. */
static int quantise (struct dn_graph *graph, enum dn_quant quant, struct dn_err *err)
{
    int head = dn_head_of (graph);
    int n = 0;

    for (int i = 0; i < graph->n_ops; i++) {
        struct dn_op *op = &graph->ops[i];

        if (op->kind != DN_OP_LINEAR || i == head || !op->fixed
            || op->frozen_params < op->n * op->k)
            continue;
        op->frozen_bytes =
            quantised_bytes (op, quant) + 2 * (op->frozen_params - op->n * op->k);
        n++;
    }
    if (n > 0)
        return 0;
    return dn_refuse (err, tune_quant, graph->name);
}

static void count (struct dn_graph *graph)
{
    graph->params = graph->tensors = graph->frozen_params = 0;
    for (int i = 0; i < graph->n_ops; i++)
        dn_graph_count (graph, &graph->ops[i]);
}

/* Is the head a new one, which LoRA trains too (peft, TaskType.SEQ_CLS)? That of a
 * language model has the size of the word embedding, the largest table.
 */
static bool has_new_head (const struct dn_graph *graph)
{
    int head = dn_head_of (graph);
    double largest = 0;

    for (int i = 0; i < graph->n_ops; i++)
        if (graph->ops[i].kind == DN_OP_EMBEDDING)
            largest = dn_max (largest, graph->ops[i].params);
    return head >= 0 && !graph->ops[head].tied
           && graph->ops[head].n * graph->ops[head].k != largest;
}

/* Operators between two looks at the deadline: some 20 microseconds. */
#define OPS_PER_LOOK 2048

static int look (const struct dn_deadline *deadline, struct dn_err *err)
{
    return dn_deadline_check (deadline, dn_say_what_learns, err);
}

static int apply (struct dn_graph *graph,
                  const struct dn_spec *spec,
                  const struct choice *choice,
                  const struct dn_deadline *deadline,
                  unsigned char *needed,
                  struct dn_err *err)
{
    int head = dn_head_of (graph);

    for (int i = 0; i < graph->n_ops; i++) {
        if (i % OPS_PER_LOOK == 0 && look (deadline, err) < 0)
            return -1;
        freeze (&graph->ops[i], choice, dn_tune_sets (graph, i, head));
    }
    find_needed (graph, needed);
    if (spec->quant > DN_QUANT_NONE && quantise (graph, spec->quant, err) < 0)
        return -1;
    if (look (deadline, err) < 0)
        return -1;
    if (spec->lora != DN_UNSET
        && dn_adapters_add (graph, (double) spec->lora, spec->lora_targets, needed, err)
               < 0)
        return -1;
    if (look (deadline, err) < 0)
        return -1;
    drop_inputs (graph, needed);
    find_passive (graph);
    count (graph);
    if (graph->params > 0)
        return 0;
    return dn_refuse (err, tune_all, spec->frozen, graph->name);
}

static int check_keys (const struct dn_spec *spec, struct dn_err *err)
{
    if (spec->lora == DN_UNSET && spec->lora_targets[0] != '\0')
        return dn_refuse (err, tune_targets, spec->lora_targets);
    if (spec->trainable >= 0 && (spec->lora != DN_UNSET || spec->frozen[0] != '\0'))
        return dn_refuse (err, tune_share);
    return 0;
}

int dn_tune (struct dn_graph *graph,
             const struct dn_spec *spec,
             const struct dn_deadline *deadline,
             struct dn_err *err)
{
    struct choice choice = {0, spec->lora != DN_UNSET};
    unsigned char *needed;
    int most = 0;
    int rc;

    graph->tuned = true;
    if (check_keys (spec, err) < 0)
        return -1;
    if (spec->trainable >= 0)
        dn_graph_freeze (graph, spec->trainable);
    if (spec->lora == DN_UNSET && spec->frozen[0] == '\0')
        return spec->quant > DN_QUANT_NONE ? quantise (graph, spec->quant, err) : 0;
    if (look (deadline, err) < 0)
        return -1;
    if (spec->frozen[0] != '\0') {
        if (read_frozen (graph, spec->frozen, &choice, err) < 0)
            return -1;
        if (spec->lora != DN_UNSET && !choice.only)
            choice = (struct choice){0, true};
    } else if (has_new_head (graph)) {
        choice.sets = HEAD;
    }
    for (int i = 0; i < graph->n_ops; i++)
        most = graph->ops[i].source > most ? graph->ops[i].source : most;
    needed = calloc ((size_t) most + 1, sizeof (*needed));
    if (!needed)
        return dn_refuse (err, tune_memory, most);
    rc = apply (graph, spec, &choice, deadline, needed, err);
    free (needed);
    return rc;
}
