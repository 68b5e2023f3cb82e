/* unused.c - keys of the training that were given, and that a prediction does not use
 *
 * Each of them may change the time, but no measurement says by how much. The prediction
 * is made as without them, with wider bounds. tests/unit/unread.c tries every key on
 * every network: either an estimate changes, or this file or the network names the key.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
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

/* Activations are moved block by block. */
static bool is_offload_unread (const struct dn_case *c)
{
    if (c->spec->offload == DN_OFFLOAD_ACTIVATIONS)
        return c->graph->block_layers <= 1;
    return c->spec->offload == DN_OFFLOAD_OPTIMIZER
           && c->spec->optimizer == DN_OPTIMIZER_NONE;
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
    bool blocks = c->graph->block_layers > 1;

    if (c->spec->checkpointing == DN_CHECKPOINTING_FULL)
        return !blocks;
    return c->spec->checkpointing == DN_CHECKPOINTING_SELECTIVE
           && !(blocks && dn_keeps_products (c->spec))
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

/* Keys of what runs, by the offset of the key. */
static bool is_run_unread (const struct dn_case *c, size_t key)
{
    bool synthetic = c->spec->input == DN_INPUT_SYNTHETIC;

    switch (key) {
    case offsetof (struct dn_spec, layout):
        return !dn_reads_layout (c);
    case offsetof (struct dn_spec, workers):
    case offsetof (struct dn_spec, decode):
        return synthetic;
    case offsetof (struct dn_spec, augment):
        return !dn_reads_augment (c->spec, c->graph);
    case offsetof (struct dn_spec, sample_bytes): /* the work to decode a picture */
        return synthetic || dn_decode_of (c->spec, c->graph) != DN_DECODE_JPEG;
    case offsetof (struct dn_spec, attention):
        return has_no_choice (c);
    case offsetof (struct dn_spec, packing):
        return c->spec->seq_mean == DN_UNSET || !dn_attention_has_lengths (c);
    case offsetof (struct dn_spec, seq_mean):
        /* Of a packed sequence only flash attention skips what is between documents. */
        return !dn_attention_has_lengths (c)
               || (c->spec->packing == 1 && !has_way (c, DN_ATTENTION_FLASH));
    case offsetof (struct dn_spec, since): /* torch= overrides it */
        return (runs_torch (c) && dn_spec_torch (c->spec) >= 0) || !reads_age (c);
    case offsetof (struct dn_spec, torch):
        return !runs_torch (c) || !(reads_age (c) || dn_recurrent_reads_torch (c));
    case offsetof (struct dn_spec, link):
        return is_link_unread (c);
    default:
        return false;
    }
}

/* Keys of how the work is split and how much there is. */
static bool is_training_unread (const struct dn_case *c, size_t key)
{
    const struct dn_spec *spec = c->spec;

    switch (key) {
    case offsetof (struct dn_spec, fused_optimizer):
        return spec->optimizer == DN_OPTIMIZER_NONE;
    case offsetof (struct dn_spec, lora):
    case offsetof (struct dn_spec, lora_targets):
    case offsetof (struct dn_spec, quant):
    case offsetof (struct dn_spec, frozen):
        /* The author of a described network states what of it learns. */
        return !c->graph->tuned;
    case offsetof (struct dn_spec, sp):
        return is_sp_unread (c);
    case offsetof (struct dn_spec, vpp): /* chunks of a stage are of blocks */
        return spec->vpp > 1 && c->graph->block_layers <= 1;
    case offsetof (struct dn_spec, ep):
        return spec->ep > 1 && c->graph->experts <= 0;
    case offsetof (struct dn_spec, offload):
        return is_offload_unread (c);
    case offsetof (struct dn_spec, loss):
        return !dn_graph_has (c->graph, DN_OP_LOSS);
    case offsetof (struct dn_spec, checkpointing):
        return is_checkpointing_unread (c);
    case offsetof (struct dn_spec, eval_every): /* their number needs both keys */
    case offsetof (struct dn_spec, eval_samples):
        return spec->eval_every == DN_UNSET || spec->eval_samples == DN_UNSET;
    case offsetof (struct dn_spec, tokens): /* steps= and epochs= override it */
        return spec->steps != DN_UNSET || spec->epochs >= 0
               || spec->seq_len == DN_UNSET;
    default:
        return false;
    }
}

struct dn_keyset dn_unread_of (const struct dn_case *c, const struct dn_keyset *given)
{
    struct dn_keyset unread = c->graph->unread;
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = dn_keyset_next (given, 0); i < n_keys;
         i = dn_keyset_next (given, i + 1))
        if (is_run_unread (c, keys[i].offset) || is_training_unread (c, keys[i].offset))
            dn_keyset_add (&unread, i);
    return unread;
}

struct dn_keyset dn_unread_keys (const struct dn_case *c)
{
    const struct dn_keyset given = dn_spec_given (c->spec);

    return dn_unread_of (c, &given);
}
