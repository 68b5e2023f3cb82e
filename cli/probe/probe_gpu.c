/* probe_gpu.c - memory, utilisation and power of GPUs while a program runs
 *
 * libnvidia-ml.so.1 comes with the driver, not with the distribution, so it is loaded
 * at run time. The functions and structures are those of nvml.h, unchanged since
 * version 5 (2013).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "probe_gpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define LIBRARY "libnvidia-ml.so.1"

#define GPUS_MAX 16

/* One hour at four samples per second. */
#define LOOKS_MAX 14400

/* Bytes; even an empty CUDA context takes more. */
#define USED_MIN (64.0 * 1024 * 1024)

struct memory_info {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

struct utilisation_info {
    unsigned gpu; /* percent */
    unsigned memory;
};

struct library {
    void *handle;
    int (*init) (void);
    int (*shutdown) (void);
    int (*count) (unsigned *n);
    int (*by_index) (unsigned index, void **device);
    int (*by_uuid) (const char *uuid, void **device);
    int (*name) (void *device, char *name, unsigned size);
    int (*memory) (void *device, struct memory_info *memory);
    int (*utilisation) (void *device, struct utilisation_info *utilisation);
    int (*power) (void *device, unsigned *milliwatts);
};

struct gpu {
    void *device;
    double before; /* bytes in use */
    double peak;
    double total;
};

struct look {
    double time_s;
    double utilisation[GPUS_MAX]; /* -1 unknown */
    double power_w[GPUS_MAX];
};

struct dn_gpu_watch {
    struct library nvml;
    struct gpu gpus[GPUS_MAX];
    int n_gpus;
    struct look *looks; /* owned */
    int n_looks;
    int size;
};

/* POSIX allows to copy a function's address from an object pointer. */
static bool load_symbol (void *handle, const char *name, void *function)
{
    void *symbol = dlsym (handle, name);

    memcpy (function, &symbol, sizeof (symbol));
    return symbol != NULL;
}

static bool load (struct library *nvml)
{
    nvml->handle = dlopen (LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!nvml->handle)
        return false;
    return load_symbol (nvml->handle, "nvmlInit_v2", &nvml->init)
           && load_symbol (nvml->handle, "nvmlShutdown", &nvml->shutdown)
           && load_symbol (nvml->handle, "nvmlDeviceGetCount_v2", &nvml->count)
           && load_symbol (
               nvml->handle, "nvmlDeviceGetHandleByIndex_v2", &nvml->by_index)
           && load_symbol (nvml->handle, "nvmlDeviceGetHandleByUUID", &nvml->by_uuid)
           && load_symbol (nvml->handle, "nvmlDeviceGetName", &nvml->name)
           && load_symbol (nvml->handle, "nvmlDeviceGetMemoryInfo", &nvml->memory)
           && load_symbol (
               nvml->handle, "nvmlDeviceGetUtilizationRates", &nvml->utilisation)
           && load_symbol (nvml->handle, "nvmlDeviceGetPowerUsage", &nvml->power)
           && nvml->init () == 0;
}

static void add_gpu (struct dn_gpu_watch *watch, void *device)
{
    struct memory_info memory = {0};
    struct gpu *gpu = &watch->gpus[watch->n_gpus];

    if (watch->n_gpus == GPUS_MAX || watch->nvml.memory (device, &memory) != 0)
        return;
    *gpu = (struct gpu){.device = device,
                        .before = (double) memory.used,
                        .peak = (double) memory.used,
                        .total = (double) memory.total};
    watch->n_gpus++;
}

static void add_all (struct dn_gpu_watch *watch)
{
    unsigned n = 0;

    if (watch->nvml.count (&n) != 0)
        return;
    for (unsigned i = 0; i < n && i < GPUS_MAX; i++) {
        void *device;

        if (watch->nvml.by_index (i, &device) == 0)
            add_gpu (watch, device);
    }
}

/* Add the GPUs of the list, numbers or "GPU-...". Return false if one is absent, as in
 * a container that renumbers GPUs; the list is then not used.
 */
static bool add_listed (struct dn_gpu_watch *watch, const char *list)
{
    struct dn_span rest = dn_span_of (list);

    while (rest.text) {
        struct dn_span piece = dn_span_trim (dn_span_cut (&rest, ","));
        char uuid[96];
        int64_t index;
        void *device;
        int rc;

        if (dn_int_read (piece, "", 0, 1024, &index, NULL) == 0)
            rc = watch->nvml.by_index ((unsigned) index, &device);
        else if (dn_span_copy (piece, uuid, sizeof (uuid), "", NULL) == 0)
            rc = watch->nvml.by_uuid (uuid, &device);
        else
            rc = -1;
        if (rc != 0)
            return false;
        add_gpu (watch, device);
    }
    return true;
}

struct dn_gpu_watch *dn_gpu_watch_new (void)
{
    const char *list = getenv ("CUDA_VISIBLE_DEVICES");
    struct dn_gpu_watch *watch = calloc (1, sizeof (*watch));

    if (!watch)
        return NULL;
    if (load (&watch->nvml)) {
        if (!list || !add_listed (watch, list)) {
            watch->n_gpus = 0;
            add_all (watch);
        }
        if (watch->n_gpus > 0)
            return watch;
    }
    dn_gpu_watch_free (watch);
    return NULL;
}

static struct look *new_look (struct dn_gpu_watch *watch)
{
    int size = watch->size > 0 ? 2 * watch->size : 256;
    struct look *grown;

    if (watch->n_looks == LOOKS_MAX)
        return NULL;
    if (watch->n_looks == watch->size) {
        grown = realloc (watch->looks, (size_t) size * sizeof (*grown));
        if (!grown)
            return NULL;
        watch->looks = grown;
        watch->size = size;
    }
    return &watch->looks[watch->n_looks++];
}

void dn_gpu_watch_look (struct dn_gpu_watch *watch, double now_s)
{
    struct look *look = new_look (watch);

    for (int i = 0; i < watch->n_gpus; i++) {
        struct gpu *gpu = &watch->gpus[i];
        struct memory_info memory = {0};
        struct utilisation_info utilisation = {0};
        unsigned milliwatts = 0;

        if (watch->nvml.memory (gpu->device, &memory) == 0
            && (double) memory.used > gpu->peak)
            gpu->peak = (double) memory.used;
        if (!look)
            continue;
        look->time_s = now_s;
        look->utilisation[i] = watch->nvml.utilisation (gpu->device, &utilisation) == 0
                                   ? (double) utilisation.gpu / 100
                                   : -1;
        look->power_w[i] = watch->nvml.power (gpu->device, &milliwatts) == 0
                               ? (double) milliwatts / 1000
                               : -1;
    }
}

static bool is_used (const struct gpu *gpu)
{
    return gpu->peak - gpu->before > USED_MIN;
}

/* Mean of the known values, over the GPUs in use and the samples between two times. */
static double mean_of (const struct dn_gpu_watch *watch,
                       double from_s,
                       double to_s,
                       bool power)
{
    double sum = 0;
    int n = 0;

    for (int l = 0; l < watch->n_looks; l++) {
        const struct look *look = &watch->looks[l];

        if (look->time_s < from_s || look->time_s > to_s)
            continue;
        for (int i = 0; i < watch->n_gpus; i++) {
            double value = power ? look->power_w[i] : look->utilisation[i];

            if (!is_used (&watch->gpus[i]) || value < 0)
                continue;
            sum += value;
            n++;
        }
    }
    return n > 0 ? sum / n : -1;
}

struct dn_gpu_use dn_gpu_watch_use (const struct dn_gpu_watch *watch,
                                    double from_s,
                                    double to_s)
{
    struct dn_gpu_use use = {.utilisation = -1, .power_w = -1};

    for (int i = 0; watch && i < watch->n_gpus; i++) {
        const struct gpu *gpu = &watch->gpus[i];

        if (!is_used (gpu))
            continue;
        if (use.n_gpus++ == 0) {
            use.memory = gpu->total;
            if (watch->nvml.name (gpu->device, use.product, sizeof (use.product)) != 0)
                use.product[0] = '\0';
            use.product[sizeof (use.product) - 1] = '\0';
        }
        if (gpu->peak - gpu->before > use.peak)
            use.peak = gpu->peak - gpu->before;
    }
    if (use.n_gpus > 0) {
        use.utilisation = mean_of (watch, from_s, to_s, false);
        use.power_w = mean_of (watch, from_s, to_s, true);
    }
    return use;
}

void dn_gpu_watch_free (struct dn_gpu_watch *watch)
{
    if (!watch)
        return;
    /* shutdown fails without effect if init has failed */
    if (watch->nvml.handle && watch->nvml.shutdown)
        watch->nvml.shutdown ();
    if (watch->nvml.handle)
        dlclose (watch->nvml.handle);
    free (watch->looks);
    free (watch);
}
