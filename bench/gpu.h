/* gpu.h - the micro-benchmarks of a GPU, as C sees them
 *
 * In: where the samples go. Out: samples. The other side is CUDA, which compiles as
 * C++: so only plain types are here, and nothing of model/.
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

/* One measured kernel; columns of dnnest-bench(1). */
struct dn_gpu_sample {
    const char *op;
    const char *precision; /* "" where it has none */
    const char *pass;      /* the same */
    const char *shape;
    int devices;
    double flops;
    double bytes;
    double seconds;
    double spread;
    int runs;
};

/* What the caller does with them. 'context' is handed to every call. */
struct dn_gpu_sink {
    void *context;
    /* Tell a fact of the device; -1 ends the measuring. */
    int (*fact) (void *context, const char *key, const char *value);
    /* Has it been measured already? seconds, spread and runs are not set. */
    bool (*has) (void *context, const struct dn_gpu_sample *sample);
    /* Take a sample; -1 ends the measuring. */
    int (*put) (void *context, const struct dn_gpu_sample *sample);
    /* A kernel that cannot be run here, with the reason. */
    void (*skip) (void *context, const struct dn_gpu_sample *sample, const char *why);
    /* So many of all kernels are done; true: stop now. */
    bool (*step) (void *context, int done, int all);
};

/* Measure device 'device' (an index as CUDA counts those it sees), and with it all
 * others in the all-reduce; a part of the set when 'quick'. Return -1 with a message in
 * 'why' of 'size' bytes; what the sink has got until then stays good.
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
