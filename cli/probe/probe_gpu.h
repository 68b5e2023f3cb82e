/* probe_gpu.h - memory, utilisation and power of GPUs while a program runs
 *
 * NVIDIA's management library is loaded when it is needed; without it all values are
 * unknown.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PROBE_GPU_H
#define DN_PROBE_GPU_H

#include "base/base.h"

struct dn_gpu_watch;

/* How a program used the GPUs. */
struct dn_gpu_use {
    int n_gpus;         /* that it used; 0: none */
    char product[96];   /* of the first */
    double memory;      /* bytes of it */
    double peak;        /* peak bytes of one GPU, without those in use before */
    double utilisation; /* mean share of time in which kernels ran; -1 unknown */
    double power_w;     /* mean of one GPU; -1 unknown */
};

/* Begin to watch the GPUs of CUDA_VISIBLE_DEVICES, or all. NULL without library or GPU,
 * or if out of memory. Free with dn_gpu_watch_free ().
 */
struct dn_gpu_watch *dn_gpu_watch_new (void);

/* Sample the GPUs. */
void dn_gpu_watch_look (struct dn_gpu_watch *watch, double now_s);

/* Their use between two times; for NULL, no GPUs. */
struct dn_gpu_use dn_gpu_watch_use (const struct dn_gpu_watch *watch,
                                    double from_s,
                                    double to_s);

/* NULL-safe. */
void dn_gpu_watch_free (struct dn_gpu_watch *watch);

#endif
