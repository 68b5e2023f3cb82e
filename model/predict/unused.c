/* unused.c - keys of the training that were given, and that a prediction does not use
 *
 * Each of them may change the time, but no measurement says by how much. The prediction
 * is made as without them, with wider bounds. tests/unit/unread.c tries every key on
 * every network: either an estimate changes, or this file or the network names the key.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/recurrent.h"
#include "predict/stack.h"
#include "predict/stages.h"

/* Does any attention run that way? */
static bool has_way (const struct dn_case *c, enum dn_attention_kind way)
{
    for (int i = 0; i < c->graph->n_ops; i++) {
        const struct dn_op *op = &c->graph->ops[i];

        if (op->kind == DN_OP_ATTENTION
            && (!c->device || dn_attention_way (c->spec, c->device, op) == way))
            return true;
    }
    return false;
}

/* link=pcie slows down devices with NVLink. A link faster than the device's is not
 * believed. One device needs none.
 */
static bool is_link_unread (const struct dn_case *c)
{
    if (c->spec->gpus <= 1 || c->spec->link == DN_LINK_PCIE)
        return false;
    return c->spec->link == DN_LINK_IB
           || (c->device && c->device->link != c->spec->link);
}

static bool has_no_loader (const struct dn_case *c)
{
    return c->spec->input == DN_INPUT_SYNTHETIC;
}

/* It is the work to decode a picture. */
static bool is_sample_bytes_unread (const struct dn_case *c)
{
    return has_no_loader (c) || dn_decode_of (c->spec, c->graph) != DN_DECODE_JPEG;
}

static bool has_no_experts (const struct dn_case *c)
{
    return c->spec->ep > 1 && c->graph->experts <= 0;
}

/* Chunks of a stage are of blocks. */
static bool is_vpp_unread (const struct dn_case *c)
{
    return c->spec->vpp > 1 && c->graph->block_layers <= 1;
}

/* Activations are moved block by block. */
static bool is_offload_unread (const struct dn_case *c)
{
    switch (c->spec->offload) {
    case DN_OFFLOAD_ACTIVATIONS:
        return c->graph->block_layers <= 1;
    case DN_OFFLOAD_OPTIMIZER:
        return c->graph->whole_step || c->spec->optimizer == DN_OPTIMIZER_NONE;
    case DN_OFFLOAD_PARAMS:
        return c->graph->whole_step;
    default:
        return false;
    }
}

/* Sequence parallelism splits what tensor parallelism does not. */
static bool is_sp_unread (const struct dn_case *c)
{
    return c->spec->sp == 1 && !dn_graph_has (c->graph, DN_OP_NORM)
           && !dn_graph_has (c->graph, DN_OP_DROPOUT)
           && !dn_graph_has (c->graph, DN_OP_ELEMENTWISE);
}

/* Recomputation is of blocks, or of the scores of attention. */
static bool is_checkpointing_unread (const struct dn_case *c)
{
    if (c->spec->checkpointing == DN_CHECKPOINTING_FULL)
        return c->graph->block_layers <= 1;
    return c->spec->checkpointing == DN_CHECKPOINTING_SELECTIVE
           && !dn_graph_has (c->graph, DN_OP_SOFTMAX)
           && !has_way (c, DN_ATTENTION_PLAIN);
}

/* No attention, or none that a fused kernel computes. */
static bool has_no_choice (const struct dn_case *c)
{
    for (int i = 0; i < c->graph->n_ops; i++)
        if (c->graph->ops[i].kind == DN_OP_ATTENTION && !c->graph->ops[i].composed)
            return false;
    return true;
}

/* since= or torch=: how old the software is. */
static bool reads_age (const struct dn_case *c)
{
    return dn_attention_reads_age (c) || dn_reads_age (c) || dn_memory_reads_age (c);
}

static bool runs_torch (const struct dn_case *c)
{
    return (dn_habits_of (c->spec) & DN_HABIT_TORCH) != 0;
}

static bool is_torch_unread (const struct dn_case *c)
{
    return !runs_torch (c) || !(reads_age (c) || dn_recurrent_reads_torch (c));
}

/* torch= overrides it. */
static bool is_since_unread (const struct dn_case *c)
{
    return (runs_torch (c) && dn_spec_torch (c->spec) >= 0) || !reads_age (c);
}

static bool is_packing_unread (const struct dn_case *c)
{
    return c->spec->seq_mean == DN_UNSET || !dn_attention_has_lengths (c);
}

/* Of a packed sequence only flash attention skips what is between documents. */
static bool is_seq_mean_unread (const struct dn_case *c)
{
    return !dn_attention_has_lengths (c)
           || (c->spec->packing == 1 && !has_way (c, DN_ATTENTION_FLASH));
}

/* A step that is described as a whole has its optimizer in it. */
static bool has_no_optimizer (const struct dn_case *c)
{
    return c->graph->whole_step || c->spec->optimizer == DN_OPTIMIZER_NONE;
}

/* The author of a described network states what of it learns. */
static bool is_described (const struct dn_case *c)
{
    return !c->graph->tuned;
}

static bool is_layout_unread (const struct dn_case *c)
{
    return !dn_reads_layout (c);
}

/* The number of evaluations needs both keys. */
static bool is_evaluation_unread (const struct dn_case *c)
{
    return c->spec->eval_every == DN_UNSET || c->spec->eval_samples == DN_UNSET;
}

static bool is_micro_batch_unread (const struct dn_case *c)
{
    return c->spec->micro_batch != c->spec->batch;
}

/* steps= and epochs= override it. */
static bool is_tokens_unread (const struct dn_case *c)
{
    return c->spec->steps != DN_UNSET || c->spec->epochs >= 0
           || c->spec->seq_len == DN_UNSET;
}

static const struct rule {
    size_t offset; /* of the key */
    bool (*is_unread) (const struct dn_case *c);
} rules[] = {
    {offsetof (struct dn_spec, layout), is_layout_unread},
    {offsetof (struct dn_spec, sample_bytes), is_sample_bytes_unread},
    {offsetof (struct dn_spec, fused_optimizer), has_no_optimizer},
    {offsetof (struct dn_spec, lora), is_described},
    {offsetof (struct dn_spec, lora_targets), is_described},
    {offsetof (struct dn_spec, quant), is_described},
    {offsetof (struct dn_spec, frozen), is_described},
    {offsetof (struct dn_spec, attention), has_no_choice},
    {offsetof (struct dn_spec, packing), is_packing_unread},
    {offsetof (struct dn_spec, seq_mean), is_seq_mean_unread},
    {offsetof (struct dn_spec, since), is_since_unread},
    {offsetof (struct dn_spec, torch), is_torch_unread},
    {offsetof (struct dn_spec, sp), is_sp_unread},
    {offsetof (struct dn_spec, vpp), is_vpp_unread},
    {offsetof (struct dn_spec, ep), has_no_experts},
    {offsetof (struct dn_spec, offload), is_offload_unread},
    {offsetof (struct dn_spec, link), is_link_unread},
    {offsetof (struct dn_spec, workers), has_no_loader},
    {offsetof (struct dn_spec, decode), has_no_loader},
    {offsetof (struct dn_spec, checkpointing), is_checkpointing_unread},
    {offsetof (struct dn_spec, eval_every), is_evaluation_unread},
    {offsetof (struct dn_spec, eval_samples), is_evaluation_unread},
    {offsetof (struct dn_spec, micro_batch), is_micro_batch_unread},
    {offsetof (struct dn_spec, tokens), is_tokens_unread},
    /* End of rules */
};

struct dn_keyset dn_unread_keys (const struct dn_case *c)
{
    struct dn_keyset given = dn_spec_given (c->spec);
    struct dn_keyset unread = c->graph->unread;

    for (size_t i = 0; i < DN_N_ELEMENTS (rules); i++) {
        struct dn_keyset key = dn_keyset_and (given, dn_keyset_of (rules[i].offset));

        if (!dn_keyset_is_empty (key) && rules[i].is_unread (c))
            /* -Wanalyzer-use-of-uninitialized-value is wrong here: it is set */
            unread = dn_keyset_or (unread, key);
    }
    return unread;
}
