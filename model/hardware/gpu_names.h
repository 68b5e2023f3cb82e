/* gpu_names.h - which device of the catalogue the name of a GPU means
 *
 * Names are those of drivers, "NVIDIA A100-SXM4-80GB", and of gres types: "a100",
 * "v100_32g", "3090", "1g.10gb", or what AutoDetect=nvml makes of a driver's,
 * "nvidia_h100_pcie".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GPU_NAMES_H
#define DN_GPU_NAMES_H

#include "hardware/hardware.h"

/* The device that matches best what its driver calls it, and the bytes that the driver
 * counts (0: those that the name has); NULL where none does, or more than one equally.
 * 'best' (may be NULL) gets their names.
 */
const struct dn_device *dn_catalogue_find_product (const struct dn_catalogue *catalogue,
                                                   const char *product,
                                                   double memory,
                                                   struct dn_buf *best);

/* Devices that are known to be in the cluster, at most. */
#define DN_PRODUCTS_MAX 32

struct dn_products {
    const struct dn_device *devices[DN_PRODUCTS_MAX];
    int n;
};

/* Add it, once. */
void dn_products_add (struct dn_products *products, const struct dn_device *device);

/* The devices that a name may mean, in the order of the catalogue: "V100" five boards,
 * "3090" one. Those whose chip is called so in full, or else those that have a further
 * word.
 */
#define DN_MEANT_MAX 16

struct dn_gpus_meant {
    const struct dn_device *list[DN_MEANT_MAX];
    int n;
};

struct dn_gpus_meant dn_gpus_meant (const struct dn_catalogue *catalogue,
                                    const char *name) DN_COLD;

/* Add "a100_pcie_40gb or a100_sxm4_40gb". */
void dn_gpus_meant_write (const struct dn_gpus_meant *meant, struct dn_buf *buf);

struct dn_gpu_guess {
    const struct dn_device *device; /* NULL: none resembles the name */
    char doubt[DN_REASON_MAX];      /* "a100_pcie_40gb or a100_sxm4_40gb?"; "" none */
};

/* Guess the device of a type of which a node has 'per_node'. Where more than one is
 * possible, it is one of 'products' (NULL: none), else that with the least memory, and
 * for four and more of a node one that is no PCIe board.
 */
struct dn_gpu_guess dn_gpu_guess (const struct dn_catalogue *catalogue,
                                  const char *type,
                                  int64_t per_node,
                                  const struct dn_products *products) DN_COLD;

#endif
