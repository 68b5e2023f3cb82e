/* attend.c - which kernels run attention, and their work
 *
 * Separate kernels: a product for the scores, scaling, mask, softmax, dropout, a
 * product with the values, and transposes of (tokens, heads, size) and back; keys and
 * values that heads share are copied to all of them. One kernel keeps query, key, value
 * and output, and the logarithm of each row's sum in single precision (Dao et al.,
 * arXiv 2205.14135, algorithm 2), and computes the scores once more in the backward
 * pass: five products where the forward pass has two.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/attend.h"

#include <math.h>

/* FlashAttention-2 came with PyTorch 2.2 in January 2024. */
#define SECOND_FLASH 202
#define YEAR_SECOND  2024

/* Largest size of a head (Dao, arXiv 2307.08691). */
#define FLASH_HEAD_MAX       256
#define FIRST_FLASH_HEAD_MAX 128

bool dn_attention_is_first (const struct dn_spec *spec)
{
    return dn_age_by (spec, SECOND_FLASH, YEAR_SECOND) == DN_AGE_OLD;
}

bool dn_attention_reads_age (const struct dn_case *c)
{
    enum dn_attention_kind wanted = c->spec->attention;
    bool any = dn_runs_torch (c->spec) || c->spec->framework == DN_FRAMEWORK_MEGATRON
               || wanted == DN_ATTENTION_FLASH;

    if (wanted == DN_ATTENTION_PLAIN || wanted == DN_ATTENTION_FUSED
        || (dn_habits_of (c->spec) & DN_HABIT_VENDOR) != 0)
        return false;
    for (int i = 0; i < c->graph->n_ops; i++) {
        const struct dn_op *op = &c->graph->ops[i];

        if (op->kind == DN_OP_ATTENTION && !op->composed
            && (any || op->fused || op->causal))
            return true;
    }
    return false;
}

static bool can_fuse (const struct dn_device *device, const struct dn_op *op)
{
    return !op->composed && device->generation->fused_attention;
}

static bool can_flash (const struct dn_spec *spec,
                       const struct dn_device *device,
                       const struct dn_op *op)
{
    enum dn_precision precision = dn_device_precision (device, spec->precision);
    double head = dn_attention_is_first (spec) ? FIRST_FLASH_HEAD_MAX : FLASH_HEAD_MAX;

    return device->generation->flash_attention
           && dn_precision_traits[precision].activation < 4
           && dn_max (op->k, op->value_dim) <= head;
}

/* Does the software fuse this attention, if no key says how it runs? device NULL: some
 * GPU of Ampere or later.
 *
 * A decoder in 16 bits on such a GPU runs FlashAttention in every framework: code for
 * them is of 2023 or later, or was updated. That is not so of Megatron's GPT, whose
 * forks of 2021 and 2022 are in use (VIA-Research/vTrain). Other frameworks than
 * PyTorch and Megatron have nothing else. Where no year is known, products in single
 * precision and older GPUs are signs of older code, unless the network is not.
 */
static bool fuses (const struct dn_spec *spec,
                   const struct dn_device *device,
                   const struct dn_op *op)
{
    unsigned habits = dn_habits_of (spec);
    enum dn_age age = dn_age_of (spec);
    enum dn_precision precision =
        device ? dn_device_precision (device, spec->precision) : spec->precision;
    bool flash = (!device || device->generation->flash_attention)
                 && dn_precision_traits[precision].activation < 4;

    if ((habits & DN_HABIT_VENDOR) != 0)
        return true;
    if (age == DN_AGE_OLD)
        return false;
    if (spec->framework != DN_FRAMEWORK_MEGATRON) {
        if (flash && op->causal)
            return true;
        if (!dn_runs_torch (spec))
            return false;
    }
    return age == DN_AGE_MODERN || op->recent
           || (flash && (habits & DN_HABIT_SCORES) == 0);
}

bool dn_attention_is_modern (const struct dn_case *c)
{
    for (int i = 0; i < c->graph->n_ops; i++)
        if (c->graph->ops[i].kind == DN_OP_ATTENTION
            && fuses (c->spec, c->device, &c->graph->ops[i]))
            return true;
    return false;
}

enum dn_attention_kind dn_attention_way (const struct dn_spec *spec,
                                         const struct dn_device *device,
                                         const struct dn_op *op)
{
    enum dn_attention_kind wanted = spec->attention;
    bool automatic = wanted == DN_ATTENTION_UNKNOWN || wanted == DN_ATTENTION_AUTO;

    if (wanted == DN_ATTENTION_PLAIN || !can_fuse (device, op))
        return DN_ATTENTION_PLAIN;
    if (automatic && !op->fused && !fuses (spec, device, op))
        return DN_ATTENTION_PLAIN;
    /* PyTorch's flash kernel needs values of the size of keys. */
    if (wanted == DN_ATTENTION_FUSED || (automatic && op->k != op->value_dim))
        return DN_ATTENTION_FUSED;
    return can_flash (spec, device, op) ? DN_ATTENTION_FLASH : DN_ATTENTION_FUSED;
}

bool dn_attention_has_lengths (const struct dn_case *c)
{
    struct dn_keyset tokens = dn_keyset_and (c->graph->unread, DN_KEYSET (seq_len));

    if (c->spec->seq_len == DN_UNSET || !dn_keyset_is_empty (tokens))
        return false;
    for (int i = 0; i < c->graph->n_ops; i++)
        if (c->graph->ops[i].kind == DN_OP_ATTENTION)
            return true;
    return false;
}

/* 1 + 1/2 + ... + 1/n, by Euler's expansion; its error is below .01 from n = 1 on. */
static double harmonic (double n)
{
    const double gamma = 0.57721566490153286;

    return log (n) + gamma + 1 / (2 * n) - 1 / (12 * n * n);
}

double dn_attention_share (const struct dn_case *c)
{
    const struct dn_spec *spec = c->spec;
    double samples = (double) spec->batch * (double) spec->gpus
                     / ((double) spec->tp * (double) spec->pp);

    if (spec->seq_mean == DN_UNSET || spec->packing == 1
        || !dn_attention_has_lengths (c))
        return 1;
    return dn_min (1,
                   (double) spec->seq_mean * harmonic (dn_max (samples, 1))
                       / (double) spec->seq_len);
}

/* Keys that a query of 'keys' attends to on average: the first query of a causal mask
 * sees one key and those before the tokens, the last one all.
 */
static double visible (double tokens, double keys, double window, bool causal)
{
    double first = causal ? dn_max (keys - tokens, 0) + 1 : keys;
    double width = window > 0 ? dn_min (window, keys) : keys;
    double growing = keys - first + 1; /* queries that see different numbers */
    double short_of = dn_max (width - first, 0);

    if (!causal || width <= first)
        return width;
    return width - short_of * (short_of + 1) / 2 / growing;
}

/* Keys that a kernel of its own computes for a query on average. A token is in a
 * document of twice the mean length on average, for lengths as dn_attention_share ()
 * takes them.
 */
static double computed_keys (const struct dn_spec *spec,
                             const struct dn_op *op,
                             bool flash,
                             double share)
{
    double tokens = op->m * share;
    double keys = op->n * share;
    double window = flash ? op->window : 0;

    if (flash && spec->packing == 1 && spec->seq_mean != DN_UNSET
        && spec->seq_len != DN_UNSET && op->m == op->n) {
        keys = dn_min (keys, 2 * (double) spec->seq_mean);
        tokens = dn_min (tokens, keys);
    }
    return visible (tokens, keys, window, op->causal);
}

/* One kernel. Kernels other than flash need keys and values of all heads. The parts in
 * 'room' are copies of the operator, as below.
 */
static int add_fused (const struct dn_spec *spec,
                      const struct dn_op *op,
                      bool flash,
                      double share,
                      struct dn_op *room)
{
    bool shared = !flash && op->kv_heads < op->batches;
    double pair = op->n * (op->k + op->value_dim);
    struct dn_op *part = room;

    if (shared && op->moved) {
        part->kind = DN_OP_COPY;
        part->in = op->kv_heads * pair;
        part->out = op->batches * pair;
        part->flops = part->saved = part->masks = 0;
        part++;
    }
    part->flops = 2 * op->batches * op->m * computed_keys (spec, op, flash, share)
                  * (op->k + op->value_dim);
    part->in += shared ? (op->batches - op->kv_heads) * pair : 0;
    part->saved = op->saved > 0 ? part->in + part->out : 0;
    part->masks = op->saved > 0 ? 4 * op->batches * op->m : 0;
    return (int) (part - room) + 1;
}

static struct dn_op *add_light (struct dn_op *part,
                                enum dn_op_kind kind,
                                double elements)
{
    part->kind = kind;
    part->in = part->out = elements;
    part->flops = part->saved = part->masks = 0;
    return part + 1;
}

/* A product (m, k) x (k, n) of each head. */
static struct dn_op *add_product (struct dn_op *part,
                                  const struct dn_op *op,
                                  double n,
                                  double k,
                                  double right, /* elements of the second factor */
                                  double saved)
{
    part->kind = DN_OP_MATMUL;
    part->n = n;
    part->k = k;
    part->flops = 2 * op->batches * op->m * n * k;
    part->in = op->batches * op->m * k + right;
    part->out = op->batches * op->m * n;
    part->saved = saved;
    part->masks = 0;
    return part + 1;
}

/* Separate kernels. Selective checkpointing keeps what is on both sides of the scores
 * (Korthikanti et al., arXiv 2205.05198).
 */
static int add_plain (const struct dn_spec *spec,
                      const struct dn_op *op,
                      double share,
                      struct dn_op *room)
{
    bool again = spec->checkpointing == DN_CHECKPOINTING_SELECTIVE;
    double kept = op->saved > 0 ? 1 : 0;
    double seen = again ? 0 : kept;
    double query = op->batches * op->m * op->k;
    double keys = op->n * share;
    double scores = op->batches * op->m * keys;
    double key = op->batches * op->n * op->k;
    double value = op->batches * op->n * op->value_dim;
    struct dn_op *part = room;

    if (op->moved)
        part = add_light (part, DN_OP_COPY, query + key + value);
    part = add_product (part, op, keys, op->k, key, kept * (query + key));
    part = add_light (part, DN_OP_ELEMENTWISE, scores);
    part[-1].repeat *= op->masked ? 2 : 1;
    part = add_light (part, DN_OP_SOFTMAX, scores);
    part[-1].saved = seen * scores;
    if (op->dropout) {
        part = add_light (part, DN_OP_DROPOUT, scores);
        part[-1].masks = seen * scores;
    }
    part = add_product (part,
                        op,
                        op->value_dim,
                        keys,
                        value,
                        kept * value + (op->dropout ? seen * scores : 0));
    if (op->moved)
        part = add_light (part, DN_OP_COPY, op->out);
    part[-1].saved += kept * op->out;
    return (int) (part - room);
}

const struct dn_op *dn_parts_of (const struct dn_spec *spec,
                                 const struct dn_device *device,
                                 double share,
                                 const struct dn_op *op,
                                 struct dn_op room[DN_PARTS_MAX],
                                 int *n)
{
    enum dn_attention_kind way;

    *n = 1;
    if (op->kind != DN_OP_ATTENTION)
        return op;
    for (int i = 0; i < DN_PARTS_MAX; i++)
        room[i] = *op;
    way = dn_attention_way (spec, device, op);
    *n = way == DN_ATTENTION_PLAIN
             ? add_plain (spec, op, share, room)
             : add_fused (spec, op, way == DN_ATTENTION_FLASH, share, room);
    for (int i = 0; i < *n; i++)
        room[i].kernel = true;
    return room;
}
