/* gpu_core.cu - the device, its memory, and how a kernel is timed
 *
 * A kernel is first launched for a warm-up of the clocks and its library, then in
 * bursts between two events. Each burst is long compared with the events' resolution
 * and with the launch of its first kernel. The median of the bursts is the result, so
 * that a burst disturbed by another process has no effect.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bench/gpu_bench.cuh"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>

#define MIB ((size_t) 1 << 20)

/* Bytes of the operands' pool: the largest task takes 768 MiB per set. And bytes of the
 * libraries' workspace, more than any algorithm needs that a framework would choose.
 */
#define POOL_MAX ((size_t) 3 << 30)
#define WORK_MAX ((size_t) 1 << 30)

/* Milliseconds of the warm-up, of a burst, and of all bursts; and the number of bursts.
 */
#define WARM_MS            15.0f
#define BURST_MS           2.0f
#define TOTAL_MS           300.0f
#define BURSTS             15
#define BURSTS_MIN         5
#define BURST_LAUNCHES_MAX 256

const char *const precision_names[N_PRECISIONS] = {"fp32", "tf32", "fp16", "bf16"};

static const char *const pass_names[N_PASSES] = {"",
                                                 "forward",
                                                 "backward_data",
                                                 "backward_weight",
                                                 "backward"};

int gpu_fail (struct gpu *gpu, const char *what, const char *text)
{
    int len = (int) strcspn (what, " (");

    snprintf (gpu->why, gpu->why_size, "%.*s: %s", len, what, text);
    return -1;
}

bool has_precision (const struct gpu *gpu, enum precision precision)
{
    int capability = 10 * gpu->prop.major + gpu->prop.minor;

    switch (precision) {
    case FP32:
        return true;
    case FP16: /* 6.1 has it at a 64th of the rate */
        return capability >= 60 && capability != 61;
    default:
        return capability >= 80;
    }
}

size_t size_of (enum precision precision)
{
    return precision == FP16 || precision == BF16 ? 2 : 4;
}

cudaDataType_t blas_type (enum precision precision)
{
    return precision == FP16   ? CUDA_R_16F
           : precision == BF16 ? CUDA_R_16BF
                               : CUDA_R_32F;
}

cudnnDataType_t dnn_type (enum precision precision)
{
    return precision == FP16   ? CUDNN_DATA_HALF
           : precision == BF16 ? CUDNN_DATA_BFLOAT16
                               : CUDNN_DATA_FLOAT;
}

/* --- operands --------------------------------------------------------------------- */

/* A hash of the position (splitmix64, Steele et al. 2014) as a number in -1..1. */
static __device__ float random_at (size_t i)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    return (float) (x >> 40) * (2.0f / 16777216.0f) - 1.0f;
}

template <typename T> static __global__ void fill (T *at, size_t n)
{
    size_t stride = (size_t) gridDim.x * blockDim.x;

    for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        store (&at[i], random_at (i));
}

int fill_random (struct gpu *gpu, enum precision precision, void *at, size_t bytes)
{
    size_t n = bytes / size_of (precision);
    unsigned blocks = (unsigned) (16 * gpu->prop.multiProcessorCount);

    if (n == 0)
        return 0;
    if (precision == FP16)
        fill<<<blocks, 256, 0, gpu->stream>>> ((__half *) at, n);
    else if (precision == BF16)
        fill<<<blocks, 256, 0, gpu->stream>>> ((__nv_bfloat16 *) at, n);
    else
        fill<<<blocks, 256, 0, gpu->stream>>> ((float *) at, n);
    CUDA (gpu, cudaGetLastError ());
    return 0;
}

/* Three times the last-level cache, so that it has no data of the set before last. */
int take_sets (struct gpu *gpu,
               enum precision precision,
               size_t bytes,
               struct sets *sets)
{
    const size_t most = 512;
    size_t cache = 3 * (size_t) gpu->prop.l2CacheSize;
    size_t n;

    bytes = aligned (bytes);
    if (bytes == 0 || bytes > gpu->pool_size)
        return gpu_fail (gpu, "operands", "larger than the available memory");
    n = std::max ((size_t) 2, cache / bytes + 1);
    n = std::min (std::min (n, most), gpu->pool_size / bytes);
    *sets = (struct sets){gpu->pool, bytes, (int) n};
    return fill_random (gpu, precision, gpu->pool, n * bytes);
}

/* --- time ------------------------------------------------------------------------- */

static int burst (struct gpu *gpu,
                  launch_f launch,
                  const void *context,
                  int n,
                  int *turn,
                  float *ms)
{
    CUDA (gpu, cudaEventRecord (gpu->begin, gpu->stream));
    for (int i = 0; i < n; i++)
        if (launch (gpu, context, (*turn)++) < 0)
            return -1;
    CUDA (gpu, cudaGetLastError ());
    CUDA (gpu, cudaEventRecord (gpu->end, gpu->stream));
    CUDA (gpu, cudaEventSynchronize (gpu->end));
    CUDA (gpu, cudaEventElapsedTime (ms, gpu->begin, gpu->end));
    return 0;
}

void summarise (std::vector<double> &values, struct dn_gpu_sample *out)
{
    size_t n = values.size ();

    std::sort (values.begin (), values.end ());
    out->seconds = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    out->spread =
        (values[(3 * (n - 1) + 2) / 4] - values[(n - 1) / 4]) / 2 / out->seconds;
    out->runs = (int) n;
}

int measure (struct gpu *gpu,
             launch_f launch,
             const void *context,
             struct dn_gpu_sample *out)
{
    std::vector<double> seconds;
    float ms = 0;
    float total = 0;
    int turn = 0;
    int n = 1;

    /* The first launch also loads code and chooses algorithms: its time is not used. */
    if (burst (gpu, launch, context, 1, &turn, &ms) < 0)
        return -1;
    for (n = 1;; n *= 2) {
        if (burst (gpu, launch, context, n, &turn, &ms) < 0)
            return -1;
        total += ms;
        if (total >= WARM_MS || 2 * n > BURST_LAUNCHES_MAX)
            break;
    }
    n = (int) std::min (
        std::max (ceilf (BURST_MS * (float) n / std::max (ms, 1e-3f)), 1.0f),
        (float) BURST_LAUNCHES_MAX);
    total = 0;
    for (int i = 0; i < BURSTS && (i < BURSTS_MIN || total < TOTAL_MS); i++) {
        if (burst (gpu, launch, context, n, &turn, &ms) < 0)
            return -1;
        total += ms;
        seconds.push_back ((double) ms * 1e-3 / n);
    }
    summarise (seconds, out);
    if (!(out->seconds > 0))
        return gpu_fail (gpu, "events", "no time has passed between them");
    return 0;
}

/* --- the device ------------------------------------------------------------------- */

/* Half of the free memory is left to the libraries and other processes. */
static int take_memory (struct gpu *gpu)
{
    size_t free_bytes = 0;
    size_t all = 0;

    CUDA (gpu, cudaMemGetInfo (&free_bytes, &all));
    gpu->work_size = std::min (WORK_MAX, free_bytes / 8) / MIB * MIB;
    gpu->pool_size = std::min (POOL_MAX, free_bytes / 2) / MIB * MIB;
    if (gpu->work_size < 16 * MIB || gpu->pool_size < 64 * MIB)
        return gpu_fail (gpu, "memory", "less than 128 MiB are free on the device");
    CUDA (gpu, cudaMalloc (&gpu->work, gpu->work_size));
    CUDA (gpu, cudaMalloc (&gpu->pool, gpu->pool_size));
    return 0;
}

static int open_device (struct gpu *gpu)
{
    CUDA (gpu, cudaSetDevice (gpu->device));
    CUDA (gpu, cudaGetDeviceProperties (&gpu->prop, gpu->device));
    /* A stream that does not wait for the legacy one; the libraries work on it too. */
    CUDA (gpu, cudaStreamCreateWithFlags (&gpu->stream, cudaStreamNonBlocking));
    CUDA (gpu, cudaEventCreate (&gpu->begin));
    CUDA (gpu, cudaEventCreate (&gpu->end));
    BLAS (gpu, cublasCreate (&gpu->blas));
    BLAS (gpu, cublasSetStream (gpu->blas, gpu->stream));
    DNN (gpu, cudnnCreate (&gpu->dnn));
    DNN (gpu, cudnnSetStream (gpu->dnn, gpu->stream));
    return take_memory (gpu);
}

/* Errors are ignored here. */
static void close_device (struct gpu *gpu)
{
    if (gpu->pool)
        cudaFree (gpu->pool);
    if (gpu->work)
        cudaFree (gpu->work);
    if (gpu->dnn)
        cudnnDestroy (gpu->dnn);
    if (gpu->blas)
        cublasDestroy (gpu->blas);
    if (gpu->end)
        cudaEventDestroy (gpu->end);
    if (gpu->begin)
        cudaEventDestroy (gpu->begin);
    if (gpu->stream)
        cudaStreamDestroy (gpu->stream);
}

/* Report the power limit by NVML; without it the limit is unknown. NVML is loaded at
 * run time because it comes with the driver only. Its functions are stable since 2013.
 */
void gpu_find_nvml (struct gpu *gpu, const struct dn_gpu_sink *sink)
{
    typedef int (*plain_f) (void);
    typedef int (*handle_f) (const char *, void **);
    typedef int (*power_f) (void *, unsigned int *);
    char bus[32] = "";
    char text[32];
    void *handle = NULL;
    unsigned int milliwatts = 0;
    void *library = dlopen ("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    plain_f init = library ? (plain_f) dlsym (library, "nvmlInit_v2") : NULL;
    plain_f stop = library ? (plain_f) dlsym (library, "nvmlShutdown") : NULL;
    handle_f find =
        library ? (handle_f) dlsym (library, "nvmlDeviceGetHandleByPciBusId_v2") : NULL;
    power_f limit =
        library ? (power_f) dlsym (library, "nvmlDeviceGetPowerManagementLimit") : NULL;
    power_f usage =
        library ? (power_f) dlsym (library, "nvmlDeviceGetPowerUsage") : NULL;

    if (init && stop && find && limit && usage && init () == 0) {
        if (cudaDeviceGetPCIBusId (bus, (int) sizeof (bus), gpu->device) == cudaSuccess
            && find (bus, &handle) == 0) {
            if (limit (handle, &milliwatts) == 0) {
                snprintf (text, sizeof (text), "%.0f", milliwatts / 1e3);
                sink->fact (sink->context, "tdp_w", text);
            }
            if (usage (handle, &milliwatts) == 0) {
                snprintf (text, sizeof (text), "%.0f", milliwatts / 1e3);
                sink->fact (sink->context, "idle_w", text);
            }
        }
        stop ();
    }
    if (library)
        dlclose (library);
}

static int tell_facts (struct gpu *gpu, const struct dn_gpu_sink *sink)
{
    const cudaDeviceProp *prop = &gpu->prop;
    char text[64];
    int driver = 0;

    /* The name first, because a file must not mix samples of different devices. */
    if (sink->fact (sink->context, "gpu", prop->name) < 0)
        return -1;
    CUDA (gpu, cudaDriverGetVersion (&driver));
    snprintf (text, sizeof (text), "CUDA %d.%d", driver / 1000, driver % 1000 / 10);
    if (sink->fact (sink->context, "driver", text) < 0)
        return -1;
    snprintf (text, sizeof (text), "%d.%d", prop->major, prop->minor);
    if (sink->fact (sink->context, "capability", text) < 0)
        return -1;
    snprintf (text, sizeof (text), "%zu", prop->totalGlobalMem);
    if (sink->fact (sink->context, "memory", text) < 0)
        return -1;
    snprintf (text, sizeof (text), "%d", prop->multiProcessorCount);
    if (sink->fact (sink->context, "sms", text) < 0)
        return -1;
    snprintf (text, sizeof (text), "%d", prop->l2CacheSize);
    if (sink->fact (sink->context, "l2", text) < 0)
        return -1;
    gpu_find_nvml (gpu, sink);
    return 0;
}

/* --- the set ---------------------------------------------------------------------- */

/* A task that fails is skipped, unless the device itself has failed. */
static int run_task (struct gpu *gpu,
                     const struct dn_gpu_sink *sink,
                     const struct task *task)
{
    struct dn_gpu_sample sample = {
        .op = task->op,
        .precision = task->typed ? precision_names[task->precision] : "",
        .pass = pass_names[task->pass],
        .shape = task->shape,
        .devices = 1,
        .flops = task->flops,
        .bytes = task->bytes,
        .seconds = 0,
        .spread = 0,
        .runs = 0,
    };
    cudaError_t error;
    int rc;

    if (sink->has (sink->context, &sample))
        return 0;
    gpu->why[0] = '\0';
    rc = task->run (gpu, task, &sample);
    error = cudaStreamSynchronize (gpu->stream);
    if (error != cudaSuccess)
        return gpu_fail (gpu, task->op, cudaGetErrorString (error));
    if (rc == 0)
        return sink->put (sink->context, &sample);
    (void) cudaGetLastError (); /* clears a launch error; device errors return above */
    sink->skip (sink->context, &sample, gpu->why);
    return 0;
}

static int run_all (struct gpu *gpu,
                    const struct dn_gpu_sink *sink,
                    int n_devices,
                    bool quick)
{
    tasks all;
    bool stopped = false;
    int n_tasks;
    int n;

    add_products (all, gpu);
    add_convolutions (all, gpu);
    add_layers (all, gpu);
    add_light (all, gpu);
    if (quick)
        all.erase (
            std::remove_if (all.begin (),
                            all.end (),
                            [] (const struct task &task) { return !task.quick; }),
            all.end ());
    n_tasks = (int) all.size ();
    n = n_tasks + ring_steps (n_devices, quick);
    for (int i = 0; i < n_tasks; i++) {
        if (sink->step (sink->context, i, n))
            return 0;
        if (run_task (gpu, sink, &all[(size_t) i]) < 0)
            return -1;
    }
    if (measure_rings (sink, gpu, n_devices, quick, n_tasks, n, &stopped) < 0)
        return -1;
    if (!stopped)
        sink->step (sink->context, n, n);
    return 0;
}

static int find_device (struct gpu *gpu, int *n_devices)
{
    CUDA (gpu, cudaGetDeviceCount (n_devices));
    if (*n_devices == 0)
        return gpu_fail (gpu, "CUDA", "no device");
    if (gpu->device < 0 || gpu->device >= *n_devices) {
        snprintf (gpu->why,
                  gpu->why_size,
                  "device %d: there are %d, counted from 0",
                  gpu->device,
                  *n_devices);
        return -1;
    }
    return 0;
}

extern "C" int dn_gpu_measure (const struct dn_gpu_sink *sink,
                               int device,
                               bool quick,
                               char *why,
                               size_t size)
{
    struct gpu gpu;
    int n_devices = 0;
    int rc;

    memset (&gpu, 0, sizeof (gpu));
    gpu.device = device;
    gpu.why = why;
    gpu.why_size = size;
    why[0] = '\0';
    rc = find_device (&gpu, &n_devices);
    if (rc == 0) {
        rc = open_device (&gpu);
        if (rc == 0)
            rc = tell_facts (&gpu, sink);
        if (rc == 0)
            rc = run_all (&gpu, sink, n_devices, quick);
        close_device (&gpu);
    }
    return rc;
}
