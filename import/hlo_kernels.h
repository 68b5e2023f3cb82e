/* hlo_kernels.h - the kernels of an HLO module, how often they run, and what they move
 *
 * In: a parsed module and its costs. Out: for every instruction the kernel that it runs
 * in and the bytes that the kernel reads and writes, for every computation how often it
 * runs, and the peak of memory alive. An optimised module states its fusions. In
 * another, chains of element-wise operations are fused as XLA would: a value that only
 * one kernel uses is never written, broadcasts are computed where they are read, and
 * reductions of the same array share a pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HLO_KERNELS_H
#define DN_HLO_KERNELS_H

#include "import/hlo_cost.h"
#include "import/hlo_entry.h"

/* An instruction that is not in a kernel. */
#define DN_HLO_NOWHERE (-1)

struct dn_hlo_kernels {
    double *runs;  /* per computation: how often, as separate kernels; owned */
    int *home;     /* per instruction: the last one of its kernel; owned */
    double *bytes; /* per instruction, of the kernel that ends there; owned */
    double peak;   /* most bytes alive, without weights and optimizer states */
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
