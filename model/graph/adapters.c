/* adapters.c - low-rank adapters beside the layers that lora_targets= names
 *
 * The products are those of peft (LoraLayer): result += B (A (x)) * scale. Without
 * lora_targets=, peft and litgpt adapt query and value, and peft the whole layer where
 * one gives query, key and value (peft.utils.constants, TRANSFORMERS_MODELS_TO_LORA_
 * TARGET_MODULES_MAPPING: q_proj v_proj, query value, c_attn, query_key_value). Query
 * or value of such a layer get adapters on their part of the outputs (MergedLinear of
 * microsoft/LoRA, LoRAQKVLinear of litgpt).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/tune.h"
#include "base/messages.h"

#include <stdlib.h>
#include <string.h>

/* What is adapted where lora_targets= is not given. */
#define USUAL (QUERY | VALUE | WHOLE)

/* Names of layers in transformers and in the original code of the models. */
static const struct dn_tune_word words[] = {
    {"attention", ATTENTION, ATTENTION},
    {"mlp ffn", INNER, INNER},
    {"all all_linear", LAYERS, LAYERS},
    {"q q_proj q_lin query to_q wq", QUERY, QUERY},
    {"k k_proj k_lin key to_k wk", KEY, KEY},
    {"v v_proj v_lin value to_v wv", VALUE, VALUE},
    {"qkv qkv_proj c_attn query_key_value wqkv in_proj",
     QUERY | KEY | VALUE | WHOLE,
     WHOLE},
    {"o o_proj out_proj out_lin proj", OUT, OUT},
    {"gate gate_proj w1", GATE, GATE},
    {"gate_up_proj", GATE | UP, 0},
    {"up up_proj w3 c_fc fc1 fc_in lin1 wi dense_h_to_4h", UP, UP},
    {"down down_proj w2 fc2 fc_out lin2 dense_4h_to_h", DOWN, DOWN},
    {"c_proj", OUT | DOWN, 0},
    {"head lm_head classifier", HEAD, HEAD},
};

const struct dn_tune_words dn_adapter_words = {"lora_targets",
                                               dn_say_tune_layer,
                                               "",
                                               words,
                                               (int) DN_N_ELEMENTS (words)};

/* What the i-th operator is, as a set of targets. */
static unsigned layers_of (const struct dn_graph *graph, int i, int head)
{
    if (graph->ops[i].kind != DN_OP_LINEAR)
        return 0;
    return i == head ? HEAD : dn_tune_sets (graph, i, head) & LAYERS;
}

static unsigned all_layers (const struct dn_graph *graph)
{
    int head = dn_head_of (graph);
    unsigned all = 0;

    for (int i = 0; i < graph->n_ops; i++)
        all |= layers_of (graph, i, head);
    return all;
}

/* The layers that the names mean, in *wanted. */
static int read_targets (const struct dn_graph *graph,
                         const char *names,
                         unsigned *wanted,
                         struct dn_err *err)
{
    unsigned existing = all_layers (graph);

    if ((existing & ~(unsigned) HEAD) == 0)
        return dn_refuse (err, tune_linear, graph->name);
    if (names[0] != '\0')
        return dn_tune_read (
            &dn_adapter_words, graph, dn_span_of (names), existing, wanted, err);
    *wanted = USUAL;
    return (existing & USUAL) != 0
               ? 0
               : dn_tune_fail (
                   &dn_adapter_words, graph, dn_span_of ("q+v"), existing, err);
}

/* Adapters beside one layer: some of its outputs, in some of its repetitions. */
struct adapter {
    double out;
    double repeat;
};

#define PARTS_MAX 3

/* The features of the query in the i-th operator, which gives query, key and value: the
 * attention's output layer reads as many.
 */
static double query_features (const struct dn_graph *graph, int i)
{
    double n = graph->ops[i].n;

    for (int j = i + 1; j < graph->n_ops; j++)
        if (graph->ops[j].role == DN_ROLE_ATTENTION_OUT)
            return graph->ops[j].k < n ? graph->ops[j].k : n / 3;
    return n / 3;
}

/* Fill 'parts' with the adapters beside the i-th operator; return their number. */
static int find_parts (const struct dn_graph *graph,
                       int i,
                       unsigned layers,
                       unsigned wanted,
                       struct adapter parts[PARTS_MAX])
{
    const struct dn_op *op = &graph->ops[i];
    double query;
    int n = 0;

    wanted &= layers;
    if (wanted == 0)
        return 0;
    parts[0] = (struct adapter){op->n, op->repeat};
    if (op->role == DN_ROLE_KEY_VALUE && wanted != layers)
        parts[0].repeat /= 2;
    if (op->role != DN_ROLE_QKV || wanted & WHOLE)
        return 1;
    query = query_features (graph, i);
    if (wanted & QUERY)
        parts[n++] = (struct adapter){query, op->repeat};
    if (wanted & KEY)
        parts[n++] = (struct adapter){(op->n - query) / 2, op->repeat};
    if (wanted & VALUE)
        parts[n++] = (struct adapter){(op->n - query) / 2, op->repeat};
    return n;
}

#define OPS_PER_ADAPTER 4

/* The operators of one adapter; return their FLOPs in all repetitions. */
static double add_adapter (const struct dn_op *base,
                           const struct adapter *adapter,
                           double rank,
                           struct dn_op ops[OPS_PER_ADAPTER])
{
    struct dn_op any = {.part = base->part,
                        .block = base->block,
                        .repeat = adapter->repeat,
                        .m = base->m,
                        .batches = 1,
                        .steps = 1,
                        .calls = base->calls,
                        .expert = base->expert,
                        .adapter = true};
    double out = base->m * adapter->out;

    ops[0] = ops[1] = ops[2] = ops[3] = any;
    ops[0].kind = ops[1].kind = DN_OP_LINEAR;
    ops[0].k = base->k;
    ops[0].n = ops[1].k = rank;
    ops[1].n = adapter->out;
    ops[0].in = base->m * base->k;
    ops[0].out = ops[1].in = ops[1].saved = base->m * rank;
    ops[0].cast_saved = ops[0].in;
    ops[0].source = base->source;
    ops[0].first = base->first;
    for (int i = 0; i < 2; i++) {
        ops[i].flops = 2 * ops[i].m * ops[i].n * ops[i].k;
        ops[i].params = ops[i].weights = ops[i].n * ops[i].k;
        ops[i].tensors = 1;
    }
    ops[1].out = ops[2].in = ops[2].out = ops[3].out = out;
    ops[3].in = 2 * out;
    ops[2].kind = ops[3].kind = DN_OP_ELEMENTWISE;
    return adapter->repeat * (ops[0].flops + ops[1].flops);
}

int dn_adapters_add (struct dn_graph *graph,
                     double rank,
                     const char *names,
                     unsigned char *needed,
                     struct dn_err *err)
{
    int head = dn_head_of (graph);
    int capacity = graph->n_ops;
    struct adapter parts[PARTS_MAX];
    struct dn_op *ops;
    unsigned wanted;
    int n = 0;

    if (read_targets (graph, names, &wanted, err) < 0)
        return -1;
    for (int i = 0; i < graph->n_ops; i++)
        capacity += OPS_PER_ADAPTER
                    * find_parts (graph, i, layers_of (graph, i, head), wanted, parts);
    ops =
        capacity <= DN_GRAPH_OPS_MAX ? calloc ((size_t) capacity, sizeof (*ops)) : NULL;
    if (!ops)
        return dn_refuse (err, tune_adapters, graph->name, capacity, DN_GRAPH_OPS_MAX);
    for (int i = 0; i < graph->n_ops; i++) {
        const struct dn_op *base = &graph->ops[i];
        int n_parts = find_parts (graph, i, layers_of (graph, i, head), wanted, parts);

        ops[n++] = *base;
        if (n_parts > 0)
            needed[base->source] |= DN_NEEDED_ADAPTER;
        for (int p = 0; p < n_parts; p++, n += OPS_PER_ADAPTER)
            graph->flops += add_adapter (base, &parts[p], rank, &ops[n]);
    }
    free (graph->ops);
    graph->ops = ops;
    graph->n_ops = n;
    return 0;
}
