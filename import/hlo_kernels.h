/* hlo_kernels.h - which kernels an HLO module becomes, how often, and what they move
 *
 * In: a parsed module and its costs. Out: for every instruction the kernel that it runs
 * in and the bytes that the kernel reads and writes, for every computation how often it
 * runs and what lives while it does. An optimised module says what is fused. In
 * another, chains of element-wise operations are put together as XLA would: a value
 * that one kernel alone uses is never written, broadcasts are made where they are read,
 * and reductions of the same array share a pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HLO_KERNELS_H
#define DN_HLO_KERNELS_H

#include "import/hlo_cost.h"
#include "import/hlo_entry.h"

/* An instruction that is no kernel and in none. */
#define DN_HLO_NOWHERE (-1)

struct dn_hlo_kernels {
    double *runs;  /* per computation: how often as kernels of its own; owned */
    int *home;     /* per instruction: the last one of its kernel; owned */
    double *bytes; /* per instruction, of the kernel that ends there; owned */
    double peak;   /* bytes alive at once, without weights and what is like them */
};

/* -1 with 'err' and nothing to free. */
int dn_hlo_kernels_find (const struct dn_hlo *module,
                         const struct dn_hlo_costs *costs,
                         const struct dn_hlo_entry *entry,
                         struct dn_hlo_kernels *kernels,
                         struct dn_err *err);

/* NULL-safe. */
void dn_hlo_kernels_free (struct dn_hlo_kernels *kernels);

#endif
