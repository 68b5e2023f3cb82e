/* probe_gpu.h - GPUs as the driver sees them, while a program runs
 *
 * NVIDIA's management library is loaded when it is needed; without it nothing is known.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PROBE_GPU_H
#define DN_PROBE_GPU_H

#include "base/base.h"

struct dn_gpu_watch;

/* What a program did with them. */
struct dn_gpu_use {
    int n_gpus;         /* that it used; 0: none */
    char product[96];   /* of the first */
    double memory;      /* bytes of it */
    double peak;        /* bytes of one GPU that were taken at most, beyond what was
                           taken before */
    double utilisation; /* mean share of time in which kernels ran; -1 unknown */
    double power_w;     /* mean of one GPU; -1 unknown */
};

/* Begin to watch those of CUDA_VISIBLE_DEVICES, or all; NULL without library, GPU or
 * memory. Free with dn_gpu_watch_free ().
 */
struct dn_gpu_watch *dn_gpu_watch_new (void);

/* Look at them. */
void dn_gpu_watch_look (struct dn_gpu_watch *watch, double now_s);

/* What they did between two times; NULL-safe: nothing. */
struct dn_gpu_use dn_gpu_watch_use (const struct dn_gpu_watch *watch,
                                    double from_s,
                                    double to_s);

/* NULL-safe. */
void dn_gpu_watch_free (struct dn_gpu_watch *watch);

#endif
