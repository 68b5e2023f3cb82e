/* gpu_ring.cu - all-reduces among the devices of a node, by NCCL
 *
 * One process drives the first 2, 4, 8 ... and all visible devices. An all-reduce has
 * ended when it has ended on the last device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bench/gpu_bench.cuh"

#include <stdio.h>
#include <string.h>

#include <algorithm>

#ifdef DN_HAVE_NCCL
#include <nccl.h>

#define RING_BURSTS 9
#define RING_MS     5.0f

static const size_t sizes[] = {(size_t) 1 << 20,
                               (size_t) 2 << 20,
                               (size_t) 4 << 20,
                               (size_t) 16 << 20,
                               (size_t) 64 << 20,
                               (size_t) 256 << 20};

#define N_SIZES (sizeof (sizes) / sizeof (sizes[0]))

#define NCCL(gpu, call)                                                                \
    do {                                                                               \
        ncclResult_t result_ = (call);                                                 \
        if (result_ != ncclSuccess)                                                    \
            return gpu_fail (gpu, #call, ncclGetErrorString (result_));                \
    } while (0)

struct member {
    int device;
    ncclComm_t comm;
    cudaStream_t stream;
    cudaEvent_t begin;
    cudaEvent_t end;
    float *from;
    float *to;
};

typedef std::vector<struct member> members;

/* The group is also ended after an error, or later calls would wait for it. */
static int enqueue (struct gpu *gpu, members &ring, size_t bytes)
{
    ncclResult_t result = ncclGroupStart ();
    ncclResult_t ended;

    for (size_t i = 0; i < ring.size () && result == ncclSuccess; i++)
        result = ncclAllReduce (ring[i].from,
                                ring[i].to,
                                bytes / sizeof (float),
                                ncclFloat,
                                ncclSum,
                                ring[i].comm,
                                ring[i].stream);
    ended = ncclGroupEnd ();
    NCCL (gpu, result);
    NCCL (gpu, ended);
    return 0;
}

static int ring_burst (struct gpu *gpu, members &ring, size_t bytes, int n, float *ms)
{
    *ms = 0;
    for (struct member &m : ring) {
        CUDA (gpu, cudaSetDevice (m.device));
        CUDA (gpu, cudaEventRecord (m.begin, m.stream));
    }
    for (int i = 0; i < n; i++)
        if (enqueue (gpu, ring, bytes) < 0)
            return -1;
    for (struct member &m : ring) {
        CUDA (gpu, cudaSetDevice (m.device));
        CUDA (gpu, cudaEventRecord (m.end, m.stream));
    }
    for (struct member &m : ring) {
        float one = 0;

        CUDA (gpu, cudaSetDevice (m.device));
        CUDA (gpu, cudaEventSynchronize (m.end));
        CUDA (gpu, cudaEventElapsedTime (&one, m.begin, m.end));
        *ms = std::max (*ms, one);
    }
    return 0;
}

static int time_ring (struct gpu *gpu,
                      members &ring,
                      size_t bytes,
                      struct dn_gpu_sample *out)
{
    std::vector<double> seconds;
    float ms = 0;
    int n;

    for (int i = 0; i < 3; i++)
        if (ring_burst (gpu, ring, bytes, 2, &ms) < 0)
            return -1;
    n = (int) std::min (std::max (2 * RING_MS / std::max (ms, 1e-3f), 1.0f), 100.0f);
    for (int i = 0; i < RING_BURSTS; i++) {
        if (ring_burst (gpu, ring, bytes, n, &ms) < 0)
            return -1;
        seconds.push_back ((double) ms * 1e-3 / n);
    }
    summarise (seconds, out);
    if (!(out->seconds > 0))
        return gpu_fail (gpu, "events", "no time has passed between them");
    return 0;
}

static int open_member (struct gpu *gpu, struct member *m, size_t bytes)
{
    CUDA (gpu, cudaSetDevice (m->device));
    CUDA (gpu, cudaStreamCreateWithFlags (&m->stream, cudaStreamNonBlocking));
    CUDA (gpu, cudaEventCreate (&m->begin));
    CUDA (gpu, cudaEventCreate (&m->end));
    CUDA (gpu, cudaMalloc (&m->from, bytes));
    CUDA (gpu, cudaMalloc (&m->to, bytes));
    /* Zeros: a link's rate does not depend on what it carries. */
    CUDA (gpu, cudaMemsetAsync (m->from, 0, bytes, m->stream));
    CUDA (gpu, cudaStreamSynchronize (m->stream));
    return 0;
}

static void close_member (struct member *m)
{
    if (cudaSetDevice (m->device) != cudaSuccess)
        return;
    if (m->stream)
        (void) cudaStreamSynchronize (m->stream);
    if (m->comm)
        ncclCommDestroy (m->comm);
    if (m->to)
        cudaFree (m->to);
    if (m->from)
        cudaFree (m->from);
    if (m->end)
        cudaEventDestroy (m->end);
    if (m->begin)
        cudaEventDestroy (m->begin);
    if (m->stream)
        cudaStreamDestroy (m->stream);
}

static int open_ring (struct gpu *gpu, members &ring)
{
    std::vector<int> devices;
    std::vector<ncclComm_t> comms (ring.size ());

    for (size_t i = 0; i < ring.size (); i++) {
        devices.push_back ((int) i);
        if (open_member (gpu, &ring[i], sizes[N_SIZES - 1]) < 0)
            return -1;
    }
    NCCL (gpu, ncclCommInitAll (comms.data (), (int) ring.size (), devices.data ()));
    for (size_t i = 0; i < ring.size (); i++)
        ring[i].comm = comms[i];
    return 0;
}

static struct dn_gpu_sample sample_of (int n_devices, size_t bytes, char shape[32])
{
    struct dn_gpu_sample sample;

    memset (&sample, 0, sizeof (sample));
    snprintf (shape, 32, "n%zu", bytes);
    sample.op = "allreduce";
    sample.precision = "fp32";
    sample.pass = "";
    sample.shape = shape;
    sample.devices = n_devices;
    sample.bytes = (double) bytes;
    return sample;
}

static bool is_done (const struct dn_gpu_sink *sink, int n_devices)
{
    char shape[32];

    for (size_t bytes : sizes) {
        struct dn_gpu_sample sample = sample_of (n_devices, bytes, shape);

        if (!sink->has (sink->context, &sample))
            return false;
    }
    return true;
}

static int time_sizes (const struct dn_gpu_sink *sink, struct gpu *gpu, members &ring)
{
    char shape[32];

    for (size_t bytes : sizes) {
        struct dn_gpu_sample sample = sample_of ((int) ring.size (), bytes, shape);

        if (sink->has (sink->context, &sample))
            continue;
        if (time_ring (gpu, ring, bytes, &sample) < 0
            || sink->put (sink->context, &sample) < 0)
            return -1;
    }
    return 0;
}

/* If the devices cannot communicate or are in use, the step is skipped, and the devices
 * are released.
 */
static int measure_ring (const struct dn_gpu_sink *sink, struct gpu *gpu, int n_devices)
{
    members ring ((size_t) n_devices);
    char shape[32];
    struct dn_gpu_sample sample = sample_of (n_devices, sizes[0], shape);
    int rc;

    if (is_done (sink, n_devices))
        return 0;
    for (int i = 0; i < n_devices; i++) {
        memset (&ring[(size_t) i], 0, sizeof (ring[0]));
        ring[(size_t) i].device = i;
    }
    gpu->why[0] = '\0';
    rc = open_ring (gpu, ring);
    if (rc == 0)
        rc = time_sizes (sink, gpu, ring);
    for (struct member &m : ring)
        close_member (&m);
    CUDA (gpu, cudaSetDevice (gpu->device));
    if (rc < 0 && gpu->why[0] == '\0') /* the sink ends the measurement */
        return -1;
    (void) cudaGetLastError ();
    if (rc < 0)
        sink->skip (sink->context, &sample, gpu->why);
    return 0;
}

/* The n-th number of devices: 2, 4, 8 ... and all; 0 after the last. */
static int devices_of (int step, int n_devices)
{
    int n = 2;

    for (; step > 0 && n < n_devices; step--)
        n *= 2;
    return step > 0 || n_devices < 2 ? 0 : std::min (n, n_devices);
}

int ring_steps (int n_devices, bool quick)
{
    int n = 0;

    while (devices_of (n, n_devices) > 0)
        n++;
    return quick && n > 1 ? 1 : n;
}

int measure_rings (const struct dn_gpu_sink *sink,
                   struct gpu *gpu,
                   int n_devices,
                   bool quick,
                   int done,
                   int all,
                   bool *stopped)
{
    int steps = ring_steps (n_devices, quick);

    for (int i = 0; i < steps && !*stopped; i++) {
        *stopped = sink->step (sink->context, done + i, all);
        if (!*stopped
            && measure_ring (sink, gpu, quick ? n_devices : devices_of (i, n_devices))
                   < 0)
            return -1;
    }
    return 0;
}

#else

int ring_steps (int n_devices, bool quick)
{
    (void) n_devices;
    (void) quick;
    return 0;
}

int measure_rings (const struct dn_gpu_sink *sink,
                   struct gpu *gpu,
                   int n_devices,
                   bool quick,
                   int done,
                   int all,
                   bool *stopped)
{
    (void) sink;
    (void) gpu;
    (void) n_devices;
    (void) quick;
    (void) done;
    (void) all;
    (void) stopped;
    return 0;
}

#endif
