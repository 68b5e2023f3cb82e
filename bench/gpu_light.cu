/* gpu_light.cu - kernels bound by memory bandwidth, copies, and launches
 *
 * The kernels are our own, each the simplest that reaches the memory bandwidth: 16
 * bytes per thread and access.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bench/gpu_bench.cuh"

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <chrono>

#define THREADS 256

/* 16 bytes of one type, moved in one access. */
template <typename T> struct alignas (16) pack {
    T v[16 / sizeof (T)];
};

/* --- element-wise ----------------------------------------------------------------- */

template <typename T>
static __global__ void add_packs (const pack<T> *a,
                                  const pack<T> *b,
                                  pack<T> *c,
                                  size_t n)
{
    size_t stride = (size_t) gridDim.x * blockDim.x;

    for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        pack<T> x = a[i];
        pack<T> y = b[i];

        for (int j = 0; j < (int) (16 / sizeof (T)); j++)
            store (&x.v[j], load (x.v[j]) + load (y.v[j]));
        c[i] = x;
    }
}

template <typename T>
static __global__ void rectify_packs (const pack<T> *a, pack<T> *c, size_t n)
{
    size_t stride = (size_t) gridDim.x * blockDim.x;

    for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        pack<T> x = a[i];

        for (int j = 0; j < (int) (16 / sizeof (T)); j++)
            store (&x.v[j], fmaxf (load (x.v[j]), 0.0f));
        c[i] = x;
    }
}

struct light {
    const struct task *task;
    struct sets sets;
    size_t part; /* bytes from one operand to the next */
};

/* Blocks for the work of 'n' threads; at most as many as keep the device busy. */
static unsigned blocks_for (const struct gpu *gpu, size_t n)
{
    size_t most = (size_t) gpu->prop.multiProcessorCount * 32;

    return (unsigned) std::max (std::min ((n + THREADS - 1) / THREADS, most),
                                (size_t) 1);
}

enum {
    ADD,
    RELU
};

template <typename T>
static void launch_packs (struct gpu *gpu,
                          int kind,
                          const char *set,
                          size_t part,
                          size_t n)
{
    const pack<T> *a = (const pack<T> *) (const void *) set;
    const pack<T> *b = (const pack<T> *) (const void *) (set + part);
    pack<T> *c = (pack<T> *) (void *) const_cast<char *> (set + 2 * part);
    size_t packs = n * sizeof (T) / 16;

    if (kind == ADD)
        add_packs<T>
            <<<blocks_for (gpu, packs), THREADS, 0, gpu->stream>>> (a, b, c, packs);
    else
        rectify_packs<T>
            <<<blocks_for (gpu, packs), THREADS, 0, gpu->stream>>> (a, c, packs);
}

static int launch_light (struct gpu *gpu, const void *context, int turn)
{
    const struct light *l = (const struct light *) context;
    const char *set = set_of (&l->sets, turn);
    size_t n = (size_t) l->task->d[1];

    if (l->task->precision == FP16)
        launch_packs<__half> (gpu, l->task->d[0], set, l->part, n);
    else if (l->task->precision == BF16)
        launch_packs<__nv_bfloat16> (gpu, l->task->d[0], set, l->part, n);
    else
        launch_packs<float> (gpu, l->task->d[0], set, l->part, n);
    return 0;
}

static int run_light (struct gpu *gpu,
                      const struct task *task,
                      struct dn_gpu_sample *out)
{
    struct light l = {
        task, {NULL, 0, 0}, aligned ((size_t) task->d[1] * size_of (task->precision))};

    if (take_sets (gpu, task->precision, 3 * l.part, &l.sets) < 0)
        return -1;
    return measure (gpu, launch_light, &l, out);
}

/* --- layer normalisation ---------------------------------------------------------- */

static __device__ float block_sum (float x, float *shared)
{
    for (int offset = 16; offset > 0; offset /= 2)
        x += __shfl_xor_sync (0xffffffffu, x, offset);
    __syncthreads (); /* other threads may still read the previous sum */
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = x;
    __syncthreads ();
    x = 0;
    for (unsigned i = 0; i < blockDim.x / 32; i++)
        x += shared[i];
    return x;
}

/* One block per row; mean and variance in two passes, the second from a cache. */
template <typename T> static __global__ void layer_norm (const T *x, T *y, int width)
{
    __shared__ float shared[THREADS / 32];
    const T *row = x + (size_t) blockIdx.x * (size_t) width;
    T *out = y + (size_t) blockIdx.x * (size_t) width;
    float sum = 0;
    float squares = 0;
    float mean;
    float scale;

    for (int i = (int) threadIdx.x; i < width; i += (int) blockDim.x) {
        float v = load (row[i]);

        sum += v;
        squares += v * v;
    }
    mean = block_sum (sum, shared) / (float) width;
    squares = block_sum (squares, shared) / (float) width;
    scale = rsqrtf (fmaxf (squares - mean * mean, 0.0f) + 1e-5f);
    for (int i = (int) threadIdx.x; i < width; i += (int) blockDim.x)
        store (&out[i], (load (row[i]) - mean) * scale);
}

static int launch_layer_norm (struct gpu *gpu, const void *context, int turn)
{
    const struct light *l = (const struct light *) context;
    void *x = set_of (&l->sets, turn);
    void *y = set_of (&l->sets, turn) + l->part;
    unsigned rows = (unsigned) l->task->d[0];
    int width = l->task->d[1];

    if (l->task->precision == FP16)
        layer_norm<<<rows, THREADS, 0, gpu->stream>>> (
            (const __half *) x, (__half *) y, width);
    else if (l->task->precision == BF16)
        layer_norm<<<rows, THREADS, 0, gpu->stream>>> (
            (const __nv_bfloat16 *) x, (__nv_bfloat16 *) y, width);
    else
        layer_norm<<<rows, THREADS, 0, gpu->stream>>> (
            (const float *) x, (float *) y, width);
    return 0;
}

static int run_layer_norm (struct gpu *gpu,
                           const struct task *task,
                           struct dn_gpu_sample *out)
{
    struct light l = {task,
                      {NULL, 0, 0},
                      aligned ((size_t) task->d[0] * (size_t) task->d[1]
                               * size_of (task->precision))};

    if (take_sets (gpu, task->precision, 2 * l.part, &l.sets) < 0)
        return -1;
    return measure (gpu, launch_layer_norm, &l, out);
}

/* --- embedding -------------------------------------------------------------------- */

/* Random rows of the table, computed in the kernel by a multiplicative hash. */
static __global__ void gather (const float4 *table,
                               float4 *out,
                               int n,
                               int width,
                               int rows,
                               unsigned seed)
{
    int row = (int) (blockIdx.x * blockDim.y + threadIdx.y);

    if (row >= n)
        return;
    unsigned hash = ((unsigned) row + seed) * 2654435761u;
    const float4 *from =
        table
        + (size_t) (((unsigned long long) hash * (unsigned) rows) >> 32)
              * (size_t) width;

    for (int i = (int) threadIdx.x; i < width; i += (int) blockDim.x)
        out[(size_t) row * (size_t) width + (size_t) i] = from[i];
}

/* There is one table, larger than the cache; each launch reads other rows. */
static int launch_gather (struct gpu *gpu, const void *context, int turn)
{
    const struct light *l = (const struct light *) context;
    int n = l->task->d[0];
    dim3 threads (32, THREADS / 32);

    gather<<<(unsigned) (n + THREADS / 32 - 1) / (THREADS / 32),
             threads,
             0,
             gpu->stream>>> ((const float4 *) (const void *) l->sets.base,
                             (float4 *) (void *) (l->sets.base + l->part),
                             n,
                             l->task->d[1] / 4,
                             l->task->d[2],
                             (unsigned) turn * 7919u);
    return 0;
}

static int run_embedding (struct gpu *gpu,
                          const struct task *task,
                          struct dn_gpu_sample *out)
{
    size_t row = (size_t) task->d[1] * sizeof (float);
    struct light l = {task, {NULL, 0, 0}, aligned ((size_t) task->d[2] * row)};

    if (take_sets (gpu, FP32, l.part + aligned ((size_t) task->d[0] * row), &l.sets)
        < 0)
        return -1;
    return measure (gpu, launch_gather, &l, out);
}

/* --- optimizers ------------------------------------------------------------------- */

/* Adam (Kingma and Ba 2015), fused: reads four arrays and writes three. */
static __global__ void adam (float4 *weight,
                             const float4 *gradient,
                             float4 *first,
                             float4 *second,
                             size_t n)
{
    size_t stride = (size_t) gridDim.x * blockDim.x;

    for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        float4 w = weight[i];
        float4 g = gradient[i];
        float4 m = first[i];
        float4 v = second[i];
        float *ws = &w.x;
        float *gs = &g.x;
        float *ms = &m.x;
        float *vs = &v.x;

        for (int j = 0; j < 4; j++) {
            ms[j] = 0.9f * ms[j] + 0.1f * gs[j];
            vs[j] = 0.999f * fabsf (vs[j]) + 0.001f * gs[j] * gs[j];
            ws[j] -= 1e-3f * ms[j] / (sqrtf (vs[j]) + 1e-8f);
        }
        weight[i] = w;
        first[i] = m;
        second[i] = v;
    }
}

/* Gradient descent with momentum: reads three arrays and writes two. */
static __global__ void momentum (float4 *weight,
                                 const float4 *gradient,
                                 float4 *first,
                                 size_t n)
{
    size_t stride = (size_t) gridDim.x * blockDim.x;

    for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        float4 w = weight[i];
        float4 g = gradient[i];
        float4 m = first[i];

        m.x = 0.9f * m.x + g.x;
        m.y = 0.9f * m.y + g.y;
        m.z = 0.9f * m.z + g.z;
        m.w = 0.9f * m.w + g.w;
        w.x -= 1e-3f * m.x;
        w.y -= 1e-3f * m.y;
        w.z -= 1e-3f * m.z;
        w.w -= 1e-3f * m.w;
        weight[i] = w;
        first[i] = m;
    }
}

enum {
    ADAM,
    MOMENTUM
};

static int launch_optimizer (struct gpu *gpu, const void *context, int turn)
{
    const struct light *l = (const struct light *) context;
    char *set = set_of (&l->sets, turn);
    float4 *weight = (float4 *) (void *) set;
    const float4 *gradient = (const float4 *) (const void *) (set + l->part);
    float4 *first = (float4 *) (void *) (set + 2 * l->part);
    float4 *second = (float4 *) (void *) (set + 3 * l->part);
    size_t n = (size_t) l->task->d[1] / 4;

    if (l->task->d[0] == ADAM)
        adam<<<blocks_for (gpu, n), THREADS, 0, gpu->stream>>> (
            weight, gradient, first, second, n);
    else
        momentum<<<blocks_for (gpu, n), THREADS, 0, gpu->stream>>> (
            weight, gradient, first, n);
    return 0;
}

static int run_optimizer (struct gpu *gpu,
                          const struct task *task,
                          struct dn_gpu_sample *out)
{
    struct light l = {
        task, {NULL, 0, 0}, aligned ((size_t) task->d[1] * sizeof (float))};

    if (take_sets (gpu, FP32, 4 * l.part, &l.sets) < 0)
        return -1;
    return measure (gpu, launch_optimizer, &l, out);
}

/* --- copies ----------------------------------------------------------------------- */

static int launch_copy (struct gpu *gpu, const void *context, int turn)
{
    const struct light *l = (const struct light *) context;
    char *set = set_of (&l->sets, turn);

    CUDA (gpu,
          cudaMemcpyAsync (set + l->part,
                           set,
                           (size_t) l->task->d[1],
                           cudaMemcpyDeviceToDevice,
                           gpu->stream));
    return 0;
}

static int run_copy (struct gpu *gpu,
                     const struct task *task,
                     struct dn_gpu_sample *out)
{
    struct light l = {task, {NULL, 0, 0}, aligned ((size_t) task->d[1])};

    if (take_sets (gpu, FP32, 2 * l.part, &l.sets) < 0)
        return -1;
    return measure (gpu, launch_copy, &l, out);
}

struct host_copy {
    size_t bytes;
    char *from; /* pinned */
};

static int launch_host_copy (struct gpu *gpu, const void *context, int turn)
{
    const struct host_copy *h = (const struct host_copy *) context;

    (void) turn;
    CUDA (gpu,
          cudaMemcpyAsync (
              gpu->pool, h->from, h->bytes, cudaMemcpyHostToDevice, gpu->stream));
    return 0;
}

static int run_host_copy (struct gpu *gpu,
                          const struct task *task,
                          struct dn_gpu_sample *out)
{
    struct host_copy h = {(size_t) task->d[1], NULL};
    int rc;

    if (h.bytes > gpu->pool_size)
        return gpu_fail (gpu, "operands", "larger than the available memory");
    CUDA (gpu, cudaMallocHost (&h.from, h.bytes));
    for (size_t i = 0; i < h.bytes; i++)
        h.from[i] = (char) ((i * 2654435761u) >> 24);
    rc = measure (gpu, launch_host_copy, &h, out);
    (void) cudaStreamSynchronize (gpu->stream);
    cudaFreeHost (h.from);
    return rc;
}

/* --- launches --------------------------------------------------------------------- */

static __global__ void nothing (void)
{
}

static int launch_nothing (struct gpu *gpu, const void *context, int turn)
{
    (void) context;
    (void) turn;
    nothing<<<1, 1, 0, gpu->stream>>> ();
    return 0;
}

static int run_launch (struct gpu *gpu,
                       const struct task *task,
                       struct dn_gpu_sample *out)
{
    return measure (gpu, launch_nothing, task, out);
}

/* Timed by the host's clock, because the host waits. */
static int run_sync (struct gpu *gpu,
                     const struct task *task,
                     struct dn_gpu_sample *out)
{
    std::vector<double> seconds;

    (void) task;
    for (int i = 0; i < 220; i++) {
        std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now ();

        nothing<<<1, 1, 0, gpu->stream>>> ();
        CUDA (gpu, cudaGetLastError ());
        CUDA (gpu, cudaStreamSynchronize (gpu->stream));
        if (i >= 20)
            seconds.push_back (std::chrono::duration<double> (
                                   std::chrono::steady_clock::now () - begun)
                                   .count ());
    }
    summarise (seconds, out);
    return 0;
}

/* --- the set ---------------------------------------------------------------------- */

static void add (tasks &all,
                 const char *op,
                 task_f run,
                 enum precision precision,
                 bool typed,
                 const int d[3],
                 double bytes,
                 bool quick,
                 const char *shape)
{
    struct task task = {op,
                        run,
                        precision,
                        typed ? FORWARD : NO_PASS,
                        typed,
                        quick,
                        "",
                        {d[0], d[1], d[2]},
                        0,
                        bytes};

    snprintf (task.shape, sizeof (task.shape), "%s", shape);
    all.push_back (task);
}

static void add_typed (tasks &all, enum precision precision)
{
    static const int layers[][2] = {{4096, 768}, {16384, 1024}, {8192, 4096}};
    double size = (double) size_of (precision);
    char shape[96];

    for (int power = 16; power <= 26; power += 2)
        for (int kind = ADD; kind <= RELU; kind++) {
            const int d[3] = {kind, 1 << power, 0};

            snprintf (
                shape, sizeof (shape), "%s n%d", kind == ADD ? "add" : "relu", d[1]);
            add (all,
                 "elementwise",
                 run_light,
                 precision,
                 true,
                 d,
                 (kind == ADD ? 3 : 2) * size * d[1],
                 true,
                 shape);
        }
    for (const int *layer : layers) {
        const int d[3] = {layer[0], layer[1], 0};

        snprintf (shape, sizeof (shape), "layer r%d w%d", d[0], d[1]);
        add (all,
             "norm",
             run_layer_norm,
             precision,
             true,
             d,
             2.0 * size * d[0] * d[1],
             false,
             shape);
    }
}

static void add_single (tasks &all)
{
    static const int tables[][3] = {
        {4096, 768, 30522}, {32768, 1024, 50257}, {65536, 128, 1000000}};
    char shape[96];

    for (const int *d : tables) {
        snprintf (shape, sizeof (shape), "n%d d%d v%d", d[0], d[1], d[2]);
        add (all,
             "embedding",
             run_embedding,
             FP32,
             true,
             d,
             8.0 * d[0] * d[1],
             false,
             shape);
    }
    for (int power = 18; power <= 24; power += 2)
        for (int kind = ADAM; kind <= MOMENTUM; kind++) {
            const int d[3] = {kind, 1 << power, 0};

            snprintf (shape,
                      sizeof (shape),
                      "%s n%d",
                      kind == ADAM ? "adam" : "momentum",
                      d[1]);
            add (all,
                 "optimizer",
                 run_optimizer,
                 FP32,
                 true,
                 d,
                 (kind == ADAM ? 28.0 : 20.0) * d[1],
                 false,
                 shape);
        }
}

void add_light (tasks &all, const struct gpu *gpu)
{
    static const int none[3] = {0, 0, 0};
    char shape[96];

    for (int p = 0; p < N_PRECISIONS; p++)
        if (p != TF32 && has_precision (gpu, (enum precision) p))
            add_typed (all, (enum precision) p);
    add_single (all);
    for (int power = 16; power <= 28; power += 2) {
        const int d[3] = {0, 1 << power, 0};

        snprintf (shape, sizeof (shape), "n%d", d[1]);
        add (all, "copy", run_copy, FP32, false, d, 2.0 * d[1], power % 4 == 0, shape);
        add (all, "h2d", run_host_copy, FP32, false, d, d[1], true, shape);
    }
    add (all, "launch", run_launch, FP32, false, none, 0, true, "empty");
    add (all, "sync", run_sync, FP32, false, none, 0, true, "empty");
}
