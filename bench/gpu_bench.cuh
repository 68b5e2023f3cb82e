/* gpu_bench.cuh - the shared parts of the GPU's micro-benchmarks
 *
 * A task is one kernel of one shape. Its operands are in one pool, in enough sets to
 * exceed the last-level cache. Each launch takes the next set, so that no kernel finds
 * its operands in the cache. Sets are filled with random numbers, because zeros need
 * less power and so raise the clocks.
 *
 * Every function that returns int returns -1 with gpu->why set.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GPU_BENCH_CUH
#define DN_GPU_BENCH_CUH

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cudnn.h>
#include <stdint.h>

#include <vector>

#include "bench/gpu.h"

enum precision {
    FP32,
    TF32,
    FP16,
    BF16,
    N_PRECISIONS
};

extern const char *const precision_names[N_PRECISIONS];

enum pass {
    NO_PASS,
    FORWARD,
    BACKWARD_DATA,
    BACKWARD_WEIGHT,
    BACKWARD,
    N_PASSES
};

struct gpu {
    int device;
    cudaDeviceProp prop;
    cudaStream_t stream;
    cudaEvent_t begin;
    cudaEvent_t end;
    cublasHandle_t blas;
    cudnnHandle_t dnn;
    char *pool; /* operands */
    size_t pool_size;
    char *work; /* workspace of the libraries */
    size_t work_size;
    char *why;
    size_t why_size;
};

struct task;
typedef int (*task_f) (struct gpu *gpu,
                       const struct task *task,
                       struct dn_gpu_sample *out);

struct task {
    const char *op;
    task_f run;
    enum precision precision;
    enum pass pass;
    bool typed; /* the sample has a precision */
    bool quick; /* also in the smaller set */
    char shape[96];
    int d[6]; /* its dimensions, in the order of its function */
    double flops;
    double bytes;
};

typedef std::vector<struct task> tasks;

/* Add the tasks of each part that the device can run. */
void add_products (tasks &all, const struct gpu *gpu);
void add_convolutions (tasks &all, const struct gpu *gpu);
void add_layers (tasks &all, const struct gpu *gpu);
void add_light (tasks &all, const struct gpu *gpu);

/* Does the device support the precision? */
bool has_precision (const struct gpu *gpu, enum precision precision);

size_t size_of (enum precision precision);
cudaDataType_t blas_type (enum precision precision);
cudnnDataType_t dnn_type (enum precision precision);

int gpu_fail (struct gpu *gpu, const char *what, const char *text);
void gpu_find_nvml (struct gpu *gpu, const struct dn_gpu_sink *sink);

#define CUDA(gpu, call)                                                                \
    do {                                                                               \
        cudaError_t error_ = (call);                                                   \
        if (error_ != cudaSuccess)                                                     \
            return gpu_fail (gpu, #call, cudaGetErrorString (error_));                 \
    } while (0)
#define BLAS(gpu, call)                                                                \
    do {                                                                               \
        cublasStatus_t status_ = (call);                                               \
        if (status_ != CUBLAS_STATUS_SUCCESS)                                          \
            return gpu_fail (gpu, #call, cublasGetStatusString (status_));             \
    } while (0)
#define DNN(gpu, call)                                                                 \
    do {                                                                               \
        cudnnStatus_t status_ = (call);                                                \
        if (status_ != CUDNN_STATUS_SUCCESS)                                           \
            return gpu_fail (gpu, #call, cudnnGetErrorString (status_));               \
    } while (0)

/* Operands: 'n' consecutive sets of 'bytes' each. */
struct sets {
    char *base;
    size_t bytes;
    int n;
};

/* Alignment of tensors in bytes, at least that of cudaMalloc (). */
#define ALIGNMENT ((size_t) 1024)

static inline size_t aligned (size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Take sets of 'bytes' (a sum of aligned sizes) from the pool and fill them. */
int take_sets (struct gpu *gpu,
               enum precision precision,
               size_t bytes,
               struct sets *sets);

static inline char *set_of (const struct sets *sets, int turn)
{
    return sets->base + (size_t) (turn % sets->n) * sets->bytes;
}

/* Launch the measured kernel once, on gpu->stream, with the operands of 'turn'. */
typedef int (*launch_f) (struct gpu *gpu, const void *context, int turn);

/* Launch repeatedly and fill seconds, spread and runs. */
int measure (struct gpu *gpu,
             launch_f launch,
             const void *context,
             struct dn_gpu_sample *out);

/* The median of n > 0 values, and half the interquartile range divided by it. */
void summarise (std::vector<double> &values, struct dn_gpu_sample *out);

/* Random numbers of the precision in -1..1. */
int fill_random (struct gpu *gpu, enum precision precision, void *at, size_t bytes);

/* Elements of any precision as single ones, in kernels. */
static inline __device__ float load (float x)
{
    return x;
}

static inline __device__ float load (__half x)
{
    return __half2float (x);
}

static inline __device__ float load (__nv_bfloat16 x)
{
    return __bfloat162float (x);
}

static inline __device__ void store (float *at, float x)
{
    *at = x;
}

static inline __device__ void store (__half *at, float x)
{
    *at = __float2half (x);
}

static inline __device__ void store (__nv_bfloat16 *at, float x)
{
    *at = __float2bfloat16 (x);
}

/* All-reduces among all visible devices. ring_steps () is the number of steps; the
 * first of them is step 'done' of 'all'.
 */
int ring_steps (int n_devices, bool quick);
int measure_rings (const struct dn_gpu_sink *sink,
                   struct gpu *gpu,
                   int n_devices,
                   bool quick,
                   int done,
                   int all,
                   bool *stopped);

#endif
