/* anatomy.c - where the time of a step goes: kinds of operators, and the longest of
 * them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "anatomy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double dn_op_backward (const struct dn_op_time *time)
{
    return time->backward_data_s + time->backward_weight_s + time->recompute_s;
}

static bool is_product (const struct dn_op *op)
{
    return op->kind == DN_OP_CONV || op->kind == DN_OP_LINEAR
           || op->kind == DN_OP_MATMUL || op->kind == DN_OP_ATTENTION
           || op->kind == DN_OP_RNN;
}

struct dn_shown dn_op_size (const struct dn_op *op)
{
    struct dn_shown out = {""};
    struct dn_buf buf = dn_buf_on (out.text, sizeof (out.text));

    if (!is_product (op)) {
        dn_buf_add (&buf, "%.10g", op->in);
        return out;
    }
    if (op->batches > 1)
        dn_buf_add (&buf, "%.10g*", op->batches);
    dn_buf_add (&buf, "%.10gx%.10gx%.10g", op->m, op->n, op->k);
    return out;
}

static void add_to_group (struct dn_op_group *group,
                          const struct dn_op *op,
                          const struct dn_op_time *time)
{
    if (!group->op)
        group->op = op;
    group->count += op->repeat;
    group->forward_flops += op->repeat * op->flops;
    group->params += op->repeat * (op->params + op->frozen_params);
    dn_op_add (&group->time, time);
}

static int compare (double a, double b)
{
    return (a > b) - (a < b);
}

/* Sorts by kind and size, so that equal operators are adjacent. */
static int by_size (const void *a, const void *b)
{
    const struct dn_op *x = ((const struct dn_op_group *) a)->op;
    const struct dn_op *y = ((const struct dn_op_group *) b)->op;
    const double sizes[][2] = {{x->kind, y->kind},
                               {x->m, y->m},
                               {x->n, y->n},
                               {x->k, y->k},
                               {x->batches, y->batches},
                               {x->in, y->in},
                               {x->out, y->out},
                               {x->steps, y->steps},
                               {x->first, y->first}};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < DN_N_ELEMENTS (sizes); i++)
        rc = compare (sizes[i][0], sizes[i][1]);
    return rc;
}

/* Longest first; equal ones in the order of the network. */
static int by_time (const void *a, const void *b)
{
    const struct dn_op_group *x = a;
    const struct dn_op_group *y = b;
    int rc = compare (dn_op_seconds (&y->time), dn_op_seconds (&x->time));

    return rc != 0 ? rc : (x->op > y->op) - (x->op < y->op);
}

/* Merge equal operators. */
static void merge_tops (struct dn_anatomy *anatomy)
{
    struct dn_op_group *tops = anatomy->tops;
    int n = 0;

    qsort (tops, (size_t) anatomy->n_tops, sizeof (*tops), by_size);
    for (int i = 0; i < anatomy->n_tops; i++) {
        if (n == 0 || by_size (&tops[n - 1], &tops[i]) != 0) {
            tops[n++] = tops[i];
            continue;
        }
        tops[n - 1].op = tops[i].op < tops[n - 1].op ? tops[i].op : tops[n - 1].op;
        tops[n - 1].count += tops[i].count;
        tops[n - 1].forward_flops += tops[i].forward_flops;
        tops[n - 1].params += tops[i].params;
        dn_op_add (&tops[n - 1].time, &tops[i].time);
    }
    anatomy->n_tops = n;
    qsort (tops, (size_t) n, sizeof (*tops), by_time);
}

int dn_anatomy_find (const struct dn_site *site,
                     const struct dn_subject *subject,
                     const struct dn_device *device,
                     struct dn_anatomy *anatomy,
                     struct dn_err *err)
{
    const struct dn_case c = dn_subject_case (site, subject, device, 0);
    const struct dn_graph *graph = &subject->graph;
    size_t n_ops = (size_t) graph->n_ops;
    dn_cleanup (dn_free_ptr) struct dn_op_time *times =
        calloc (n_ops + 1, sizeof (*times));

    memset (anatomy, 0, sizeof (*anatomy));
    anatomy->tops = calloc (n_ops + 1, sizeof (*anatomy->tops));
    if (!times || !anatomy->tops)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    anatomy->subject = subject;
    if (dn_subject_predict (site, subject, &device, 1, &anatomy->estimate, err) < 0)
        return -1;
    dn_whitebox_operators (&c, times);
    anatomy->bottleneck = dn_step_bottleneck (&anatomy->estimate, times, graph->n_ops);
    for (int i = DN_STAGE_FORWARD; i <= DN_STAGE_OPTIMIZER; i++)
        anatomy->device_s += anatomy->estimate.stage_s[i];
    for (int i = 0; i < graph->n_ops; i++) {
        const struct dn_op *op = &graph->ops[i];

        add_to_group (&anatomy->kinds[op->kind], op, &times[i]);
        add_to_group (&anatomy->tops[anatomy->n_tops++], op, &times[i]);
    }
    merge_tops (anatomy);
    return 0;
}

void dn_anatomy_free (struct dn_anatomy *anatomy)
{
    if (!anatomy)
        return;
    free (anatomy->tops);
    anatomy->tops = NULL;
    anatomy->n_tops = 0;
}
