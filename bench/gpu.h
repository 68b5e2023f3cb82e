/* gpu.h - the C interface of the GPU's micro-benchmarks
 *
 * In: a sink for the samples. Out: samples. The implementation is CUDA, which compiles
 * as C++, so this header uses only plain types and nothing of model/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GPU_H
#define DN_GPU_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One measured kernel; columns of dnnest-dev(1). */
struct dn_gpu_sample {
    const char *op;
    const char *precision; /* "" if it has none */
    const char *pass;      /* the same */
    const char *shape;
    int devices;
    double flops;
    double bytes;
    double seconds;
    double spread;
    int runs;
};

/* The caller's functions. 'context' is passed to every call. */
struct dn_gpu_sink {
    void *context;
    /* Take a fact of the device; -1 ends the measurement. */
    int (*fact) (void *context, const char *key, const char *value);
    /* Has it been measured already? seconds, spread and runs are not set. */
    bool (*has) (void *context, const struct dn_gpu_sample *sample);
    /* Take a sample; -1 ends the measurement. */
    int (*put) (void *context, const struct dn_gpu_sample *sample);
    /* A kernel that cannot run here, with the reason. */
    void (*skip) (void *context, const struct dn_gpu_sample *sample, const char *why);
    /* 'done' of 'all' kernels are done. Return true to stop. */
    bool (*step) (void *context, int done, int all);
};

/* Measure device 'device' (CUDA's index of the visible devices), and the all-reduce of
 * all devices; a part of the set if 'quick'. Return -1 with a message in 'why' of
 * 'size' bytes; samples that the sink has got before are valid.
 */
int dn_gpu_measure (const struct dn_gpu_sink *sink,
                    int device,
                    bool quick,
                    char *why,
                    size_t size);

#ifdef __cplusplus
}
#endif

#endif
