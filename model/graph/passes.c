/* passes.c - steps that do more than one forward and one backward pass
 *
 * A method is a row of numbers. Views of a sample are in one batch: an operator has as
 * many samples more. Every other pass is a copy of the operators before those of the
 * pass that learns, of which only the seconds count: its activations are freed before.
 * A copy that stands for a network of its own has weights, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/passes.h"
#include "base/messages.h"
#include "graph/network_read.h"

#include <stdlib.h>
#include <string.h>

/* What a method does with one sample, an image or a text. */
struct method {
    double views;     /* of it that learn, in one batch */
    double learners;  /* networks of that size that learn */
    double others;    /* networks that only run forward: the teacher, or copies */
    double forwards;  /* of them, for each view */
    double again;     /* forward passes of the network itself for each view */
    int64_t passes;   /* that end in gradients, in turn, unless passes= says */
    bool to_input;    /* all of these but the last are towards the sample alone */
    bool generates;   /* the sample token by token, before all else */
    bool has_teacher; /* teacher= must name it */
};

/* Sources: distillation, Hinton et al., arXiv 1503.02531. Contrastive, SimCLR, Chen et
 * al., arXiv 2002.05709, algorithm 1. Triplet, FaceNet, Schroff et al., arXiv
 * 1503.03832. MoCo, He et al., arXiv 1911.05722, algorithm 1: a query that learns, a
 * key of the momentum encoder. BYOL, Grill et al., arXiv 2006.07733. Mean teacher,
 * Tarvainen and Valpola, arXiv 1703.01780. Adversarial, Madry et al., arXiv 1706.06083,
 * with the ten steps that are usual. TRADES, Zhang et al., arXiv 1901.08573: the ten
 * steps, then the image and its adversary. SAM, Foret et al., arXiv 2010.01412. Reward
 * model, Ouyang et al., arXiv 2203.02155: a pair. DPO, Rafailov et al., arXiv
 * 2305.18290: a pair, by policy and reference. ORPO, Hong et al., arXiv 2403.07691: no
 * reference. KTO, Ethayarajh et al., arXiv 2402.01306: the text, and a mismatched one
 * whose divergence has no gradient. GRPO, Shao et al., arXiv 2402.03300: generation and
 * reference. PPO, as Ouyang et al.: generation, reference and reward, the probabilities
 * of the policy that generated, then policy and value learn.
 */
static const struct method methods[DN_N_METHODS] = {
    [DN_METHOD_UNKNOWN] = {1, 1, 0, 1, 0, 1, false, false, false},
    [DN_METHOD_DISTILL] = {1, 1, 1, 1, 0, 1, false, false, true},
    [DN_METHOD_CONTRASTIVE] = {2, 1, 0, 1, 0, 1, false, false, false},
    [DN_METHOD_TRIPLET] = {3, 1, 0, 1, 0, 1, false, false, false},
    [DN_METHOD_MOCO] = {1, 1, 1, 1, 0, 1, false, false, false},
    [DN_METHOD_BYOL] = {2, 1, 1, 1, 0, 1, false, false, false},
    [DN_METHOD_MEAN_TEACHER] = {1, 1, 1, 1, 0, 1, false, false, false},
    [DN_METHOD_ADVERSARIAL] = {1, 1, 0, 1, 0, 11, true, false, false},
    [DN_METHOD_TRADES] = {2, 1, 0, 1, 0, 11, true, false, false},
    [DN_METHOD_SAM] = {1, 1, 0, 1, 0, 2, false, false, false},
    [DN_METHOD_REWARD] = {2, 1, 0, 1, 0, 1, false, false, false},
    [DN_METHOD_DPO] = {2, 1, 1, 1, 0, 1, false, false, false},
    [DN_METHOD_ORPO] = {2, 1, 0, 1, 0, 1, false, false, false},
    [DN_METHOD_KTO] = {1, 1, 1, 2, 1, 1, false, false, false},
    [DN_METHOD_GRPO] = {1, 1, 1, 1, 0, 1, false, true, false},
    [DN_METHOD_PPO] = {1, 2, 2, 1, 1, 1, false, true, false},
};

/* How far a copy of the network runs. */
enum reach {
    REACH_FORWARD,
    REACH_INPUT,   /* and back to the sample */
    REACH_WEIGHTS, /* and to the gradients of what learns */
    REACH_LEARNER  /* the same, of a network of its own, and what it keeps is kept */
};

/* Operators before those of the graph. */
struct earlier {
    struct dn_graph *graph;
    struct dn_op *ops; /* owned; room for all */
    int n;
    double views; /* of the graph's own operators */
};

/* One operator with the work of 'samples'. Tokens of one sample attend to one another,
 * so that more samples are more heads.
 */
static void grow (struct dn_op *op, double samples)
{
    bool pairs = op->kind == DN_OP_ATTENTION || op->kind == DN_OP_MATMUL;

    for (int i = 0; i < dn_n_op_numbers; i++)
        if (dn_op_numbers[i].grows)
            *dn_network_number (op, &dn_op_numbers[i]) *= samples;
    op->each *= samples;
    op->cast_saved *= samples;
    if (op->kind == DN_OP_EMBEDDING)
        op->weights *= samples;
    if (pairs) {
        op->m /= samples;
        op->batches *= samples;
        op->kv_heads *= samples;
    }
}

static void grow_graph (struct dn_graph *graph, double views)
{
    if (views == 1)
        return;
    for (int i = 0; i < graph->n_ops; i++)
        grow (&graph->ops[i], views);
    graph->flops *= views;
    graph->input *= views;
    graph->input_bytes *= views;
    graph->block_boundary *= views;
}

/* Products of a pass, in FLOPs of a forward pass. */
static double flops_of (const struct dn_op *op, enum reach reach)
{
    if (!dn_op_is_product (op))
        return 0;
    return op->repeat * op->flops
           * (reach == REACH_FORWARD ? 1
                                     : 2 + (reach > REACH_INPUT && !op->fixed ? 1 : 0));
}

/* The weights of a copy are those of the graph, which counts them. */
static void share_weights (struct dn_op *op)
{
    op->fixed = dn_op_is_frozen (op);
    op->params = op->tensors = op->frozen_params = 0;
    op->earlier = true;
}

/* Those of a network that only runs forward do not learn. */
static void freeze_weights (struct dn_op *op)
{
    op->frozen_params += op->params;
    op->params = op->tensors = 0;
}

static void set_reach (struct dn_op *op, enum reach reach)
{
    if (reach == REACH_LEARNER)
        return;
    dn_op_keep_nothing (op);
    if (reach == REACH_FORWARD)
        op->frozen = true;
    if (reach == REACH_INPUT) {
        op->frozen = op->first = false;
        op->passed = true;
    }
}

/* Note an operator; what it is of is counted in the graph. */
static void add (struct earlier *earlier, const struct dn_op *op, enum reach reach)
{
    struct dn_graph *graph = earlier->graph;

    earlier->ops[earlier->n++] = *op;
    graph->others += flops_of (op, reach);
    dn_graph_count (graph, op);
}

/* The blocks of a pass are spread over devices as those of the graph are. */
static void add_exchanges (struct earlier *earlier, enum reach reach, double samples)
{
    earlier->graph->exchanges[0] += samples / earlier->views;
    if (reach != REACH_FORWARD)
        earlier->graph->exchanges[1] += samples / earlier->views;
}

/* A copy of 'graph' for 'samples' at once, 'times' in turn; of 'own' weights. What runs
 * forward alone beside adapters is the network without them.
 */
static void add_copy (struct earlier *earlier,
                      const struct dn_graph *graph,
                      enum reach reach,
                      double samples,
                      double times,
                      bool own,
                      bool adapted)
{
    if (samples * times <= 0)
        return;
    for (int i = 0; i < graph->n_ops; i++) {
        struct dn_op op = graph->ops[i];

        if (op.adapter && !adapted)
            continue;
        grow (&op, samples);
        op.repeat *= times;
        if (graph != earlier->graph)
            op.block = op.block && earlier->graph->block_layers > 1;
        set_reach (&op, reach);
        if (!own)
            share_weights (&op);
        else if (reach == REACH_FORWARD)
            freeze_weights (&op);
        add (earlier, &op, reach);
    }
    add_exchanges (earlier, reach, samples * times);
}

/* What of a sample is generated: tokens, the launches for each, keys that one attends
 * to on average.
 */
struct generation {
    double tokens;
    double share;
    double calls;
    double keys;
};

/* Attention of one token at a time to the keys and values before it, which are read
 * again for each.
 */
static void attend_by_token (struct dn_op *op, const struct generation *generation)
{
    double keys =
        op->window > 0 ? dn_min (op->window, generation->keys) : generation->keys;
    double heads = op->batches * generation->tokens;

    op->kind = DN_OP_MATMUL;
    op->m = generation->tokens;
    op->n = keys;
    op->flops = 2 * heads * keys * (op->k + op->value_dim);
    op->in = op->kv_heads * generation->tokens * keys * (op->k + op->value_dim)
             + heads * op->k;
    op->out = heads * op->value_dim;
}

/* The tokens of a sample one after another: all weights are read for each. The tokens
 * before them are one pass. The sequences of all passes of an optimizer step are
 * generated together.
 */
static void add_generation (struct earlier *earlier,
                            const struct generation *generation)
{
    const struct dn_graph *graph = earlier->graph;
    double given = 1 - generation->share;

    for (int i = 0; i < graph->n_ops; i++) {
        struct dn_op op = graph->ops[i];

        if (op.kind == DN_OP_LOSS)
            continue;
        set_reach (&op, REACH_FORWARD);
        share_weights (&op);
        if (op.kind == DN_OP_ATTENTION) {
            struct dn_op before = op;

            before.repeat *= given * given;
            if (given > 0)
                add (earlier, &before, REACH_FORWARD);
            attend_by_token (&op, generation);
        }
        op.calls *= generation->calls;
        add (earlier, &op, REACH_FORWARD);
    }
    add_exchanges (earlier, REACH_FORWARD, 1);
}

static int find_generation (const struct dn_spec *spec,
                            struct dn_graph *graph,
                            struct generation *generation,
                            struct dn_err *err)
{
    int64_t all = spec->seq_len == DN_UNSET ? graph->tokens : spec->seq_len;
    int64_t tokens = spec->tgt_len == DN_UNSET ? all : spec->tgt_len;
    bool causal = false;

    for (int i = 0; i < graph->n_ops; i++)
        causal = causal || graph->ops[i].causal;
    if (!causal || all <= 0)
        return dn_refuse (err, passes_decoder, graph->name);
    if (tokens > all)
        return dn_refuse (err, passes_tokens, tokens, all);
    *generation = (struct generation){.tokens = (double) tokens,
                                      .share = (double) tokens / (double) all,
                                      .calls = (double) tokens
                                               / dn_max ((double) spec->grad_accum, 1),
                                      .keys = (double) all - (double) tokens / 2};
    graph->unread = dn_keyset_minus (graph->unread, DN_KEYSET (tgt_len));
    return 0;
}

/* The network that teacher= names, of the samples of 'spec'. */
static int build_teacher (const struct dn_networks *networks,
                          const struct dn_spec *spec,
                          const struct dn_deadline *deadline,
                          struct dn_graph *teacher,
                          struct dn_err *err)
{
    struct dn_spec own = dn_spec_empty ();

    memcpy (own.model, spec->teacher, sizeof (own.model));
    own.seq_len = spec->seq_len;
    own.tgt_len = spec->tgt_len;
    own.image = spec->image;
    own.in_channels = spec->in_channels;
    own.classes = spec->classes;
    if (dn_graph_build_by (networks, &own, deadline, teacher, err) < 0)
        return dn_err_wrap (err, "teacher");
    return 0;
}

/* Networks that only run forward. Adapters need no copy for a reference: without them
 * the network is the one before the training.
 */
static void add_others (struct earlier *earlier,
                        const struct method *method,
                        const struct dn_spec *spec,
                        const struct dn_graph *teacher)
{
    double samples = method->views * method->forwards;
    double others = dn_max (method->others, teacher->n_ops > 0 ? 1 : 0);

    for (int i = 0; i < (int) others; i++) {
        bool named = i == 0 && teacher->n_ops > 0;

        add_copy (earlier,
                  named ? teacher : earlier->graph,
                  REACH_FORWARD,
                  samples,
                  1,
                  named || i > 0 || spec->lora == DN_UNSET,
                  named);
    }
}

/* The most operators that the passes have. */
static int room_for (const struct dn_graph *graph,
                     const struct method *method,
                     const struct dn_graph *teacher)
{
    int copies = (int) (method->learners + method->others) + 2
                 + (method->again > 0 ? 1 : 0) + (method->generates ? 2 : 0);

    return copies * graph->n_ops + teacher->n_ops;
}

/* Put the passes before the operators of the graph. */
static DN_COLD int add_all (struct dn_graph *graph,
                            const struct method *method,
                            const struct dn_spec *spec,
                            const struct dn_graph *teacher,
                            struct dn_err *err)
{
    double passes = (double) (spec->passes == DN_UNSET ? method->passes : spec->passes);
    int room = room_for (graph, method, teacher);
    struct earlier earlier = {.graph = graph, .views = method->views};
    struct generation generation = {0};

    if (method->generates && find_generation (spec, graph, &generation, err) < 0)
        return -1;
    if (room <= DN_GRAPH_OPS_MAX)
        earlier.ops = calloc ((size_t) room, sizeof (*earlier.ops));
    if (!earlier.ops)
        return dn_refuse (err, passes_ops, graph->name, room, DN_GRAPH_OPS_MAX);
    if (method->generates)
        add_generation (&earlier, &generation);
    add_others (&earlier, method, spec, teacher);
    add_copy (
        &earlier, graph, REACH_FORWARD, method->views * method->again, 1, false, true);
    add_copy (&earlier,
              graph,
              method->to_input ? REACH_INPUT : REACH_WEIGHTS,
              method->to_input ? 1 : method->views,
              passes - 1,
              false,
              true);
    for (int i = 1; i < (int) method->learners; i++)
        add_copy (&earlier, graph, REACH_LEARNER, method->views, 1, true, true);
    grow_graph (graph, method->views);
    memcpy (earlier.ops + earlier.n,
            graph->ops,
            (size_t) graph->n_ops * sizeof (*graph->ops));
    free (graph->ops);
    graph->ops = earlier.ops;
    graph->n_ops += earlier.n;
    graph->recent |= teacher->recent;
    graph->block_boundary *= method->learners;
    return 0;
}

int dn_passes_add (const struct dn_networks *networks,
                   const struct dn_spec *spec,
                   const struct dn_deadline *deadline,
                   struct dn_graph *graph,
                   struct dn_err *err)
{
    const struct method *method = &methods[spec->method];
    struct dn_graph teacher = {0};
    int rc;

    if (spec->method == DN_METHOD_UNKNOWN && spec->passes <= 1
        && spec->teacher[0] == '\0')
        return 0;
    if (method->has_teacher && spec->teacher[0] == '\0')
        return dn_refuse (err, passes_teacher);
    if (spec->teacher[0] != '\0'
        && build_teacher (networks, spec, deadline, &teacher, err) < 0)
        return -1;
    rc = add_all (graph, method, spec, &teacher, err);
    dn_graph_free (&teacher);
    return rc;
}
