/* hlo_cost.h - operations of HLO instructions, counted as XLA's own cost analysis does
 *
 * In: a parsed module. Out: floating-point operations of every computation and of
 * single instructions. One multiply-add is two, a transcendental function none (XLA
 * counts those separately). Of a convolution, products with padding or dilation do not
 * count. Unlike in XLA's analysis, a loop counts once per iteration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HLO_COST_H
#define DN_HLO_COST_H

#include "import/hlo_text.h"

struct dn_hlo_cost {
    double flops;    /* of all kinds */
    double products; /* of these, in matrix products and convolutions */
};

/* A matrix product, or a convolution as one: (m, k) x (k, n), 'batches' times. */
struct dn_hlo_product {
    double batches;
    double m;
    double n;
    double k;
    double kernel; /* positions of a convolution's window; 0: matrix product */
    double groups;
    double batch_groups;
    double lhs_batch; /* size of the batch dimension of a convolution's labels */
    double out_space; /* positions of its output, without batch and feature */
    double flops;
    const struct dn_hlo_array *lhs;
    const struct dn_hlo_array *rhs;
    const struct dn_hlo_array *out;
};

/* The result of a pass over a module. */
struct dn_hlo_costs {
    struct dn_hlo_cost *list; /* one per computation, owned */
    double work;              /* steps that may still be spent on windows */
    int unknown_trips;        /* loops with an unknown number of iterations */
    int unknown_calls;        /* custom calls of which only the bytes are known */
};

/* Costs of all computations. -1 with 'err' and nothing to free. */
int dn_hlo_costs_find (const struct dn_hlo *module,
                       struct dn_hlo_costs *costs,
                       struct dn_err *err);

/* NULL-safe. */
void dn_hlo_costs_free (struct dn_hlo_costs *costs);

/* Is it a product? Fill in its sizes. Custom calls of libraries count too. */
bool dn_hlo_product (const struct dn_hlo *module,
                     struct dn_hlo_costs *costs,
                     const struct dn_hlo_instruction *instruction,
                     struct dn_hlo_product *product);

/* The number of iterations of a loop; -1: unknown. */
double dn_hlo_trips (const struct dn_hlo *module,
                     const struct dn_hlo_instruction *loop);

/* The most expensive branch of a conditional: a callee's number, or -1. */
int dn_hlo_branch (const struct dn_hlo *module,
                   const struct dn_hlo_costs *costs,
                   const struct dn_hlo_instruction *conditional);

#endif
