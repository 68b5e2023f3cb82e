/* optimizer.c - states, traffic and arithmetic of one step of an optimizer
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>

#include "predict/work.h"

/* Does the optimizer treat what learns in the i-th operator as it treats most? */
static bool is_usual (const struct dn_graph *graph,
                      int i,
                      int head,
                      enum dn_apart apart)
{
    const struct dn_op *op = &graph->ops[i];

    if (apart == DN_APART_OTHERS)
        return (op->kind == DN_OP_LINEAR || op->kind == DN_OP_CONV) && i != head
               && op->part != DN_PART_HEAD && !op->tied && !op->fixed;
    return apart == DN_APART_NONE || op->kind != DN_OP_EMBEDDING;
}

/* Parameters of one copy that the optimizer leaves to AdamW. */
static double apart_params (const struct dn_setup *c)
{
    enum dn_apart apart = dn_optimizer_traits[c->spec->optimizer].apart;
    int head = dn_head_of (c->graph);
    double all = 0;

    for (int i = 0; apart != DN_APART_NONE && i < c->graph->n_ops; i++) {
        const struct dn_op *op = &c->graph->ops[i];

        if (dn_is_sparse (op))
            continue;
        if (!is_usual (c->graph, i, head, apart))
            all += op->repeat * op->params;
        else if (apart == DN_APART_OTHERS) /* biases */
            all += op->repeat * dn_max (op->params - op->n * op->k * op->batches, 0);
    }
    return dn_min (all, c->dense_params);
}

/* The share of the parameters that the optimizer leaves to AdamW. */
static double apart_share (const struct dn_setup *c)
{
    return c->dense_params > 0 ? apart_params (c) / c->dense_params : 0;
}

double dn_optimizer_bytes (const struct dn_setup *c, double state)
{
    const struct dn_optimizer_traits *usual = &dn_optimizer_traits[c->spec->optimizer];
    const struct dn_optimizer_traits *other = &dn_optimizer_traits[DN_OPTIMIZER_ADAMW];
    double element = usual->bytes > 0 ? usual->bytes : state;
    double apart = apart_share (c);

    return (1 - apart) * usual->states * element + apart * other->states * state;
}

bool dn_optimizer_is_fused (const struct dn_setup *c)
{
    return c->spec->fused_optimizer == 1
           || dn_optimizer_traits[c->spec->optimizer].fused;
}

/* Bytes that one step moves per parameter: each state is read and written. */
static double moved_bytes (const struct dn_setup *c,
                           const struct dn_optimizer_traits *traits)
{
    double element = c->traits->state;
    double states = 2 * traits->states;

    return (traits->passes - states) * element
           + states * (traits->bytes > 0 ? traits->bytes : element);
}

/* Seconds of Muon's five Newton-Schulz iterations on a matrix of m x n, m <= n, in
 * bf16: A = X X', B = b A + c A A, X = a X + B X (Jordan et al. 2024). The products are
 * 4 m m n + 2 m m m operations. Kernels read and write 8 m n + 11 m m elements.
 */
static double newton_schulz_time (const struct dn_rates *r, double m, double n)
{
    const double iterations = 5;
    double flops = 4 * m * m * n + 2 * m * m * m;
    double bytes = 2 * (8 * m * n + 11 * m * m);

    return iterations
           * (flops / r->flops[DN_BY_LINEAR] + bytes / r->route[DN_ROUTE_LIGHT]);
}

static double matrices_time (const struct dn_setup *c)
{
    struct dn_setup bf16 = *c;
    struct dn_rates r;
    int head = dn_head_of (c->graph);
    double all = 0;

    bf16.precision = dn_device_precision (c->device, DN_PRECISION_BF16);
    bf16.traits = &dn_precision_traits[bf16.precision];
    dn_rates_init (&r, &bf16);
    for (int i = 0; i < c->graph->n_ops; i++) {
        const struct dn_op *op = &c->graph->ops[i];
        double rows = dn_min (op->n * op->batches, op->k);
        double columns = dn_max (op->n * op->batches, op->k);

        if (op->params > 0 && is_usual (c->graph, i, head, DN_APART_OTHERS))
            all += op->repeat * newton_schulz_time (&r, rows, columns);
    }
    return all;
}

double dn_optimizer_time (const struct dn_setup *c)
{
    const struct dn_constants *k = c->constants;
    const struct dn_optimizer_traits *usual = &dn_optimizer_traits[c->spec->optimizer];
    double apart = apart_share (c);
    double params = dn_shard_params (c);
    double seconds;

    if (dn_is_offloaded (c) || params <= 0)
        return 0;
    seconds =
        params
        * ((1 - apart) * moved_bytes (c, usual)
           + apart * moved_bytes (c, &dn_optimizer_traits[DN_OPTIMIZER_ADAMW]))
        / (k->optimizer_memory * dn_bandwidth (c))
        * dn_habit_number (k, c->spec, c->stack.tuned, DN_HABIT_OPTIMIZER_TRAFFIC);
    if (c->spec->optimizer == DN_OPTIMIZER_MUON)
        seconds += matrices_time (c) * params / c->dense_params;
    return seconds;
}
