/* bench_fit.h - from measured kernels to what a device reaches
 *
 * In: the samples of one device (learn/samples.h). Out: struct dn_bench_result, and the
 * text of a catalogue file that states it (dnnest.hardware(5)). Never: what runs on it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BENCH_FIT_H
#define DN_BENCH_FIT_H

#include "hardware/hardware.h"
#include "learn/samples.h"
#include "predict/constants.h"

/* seconds = (work + half) / rate */
struct dn_bench_fit {
    double rate;   /* per second; 0: too few samples */
    double half;   /* work of a kernel at half the rate */
    double spread; /* median |ln (predicted / measured)| */
    int n;         /* samples */
};

/* Fit the curve to 'n' kernels. False, and a rate of 0, for fewer than 4. */
bool dn_bench_fit_curve (const double work[],
                         const double seconds[],
                         int n,
                         struct dn_bench_fit *fit,
                         struct dn_err *err);

struct dn_bench_result {
    struct dn_bench_fit curves[DN_N_RATE_CLASSES][DN_N_FORMATS]; /* FLOP */
    struct dn_bench_fit stream;                                  /* bytes */
    struct dn_bench_fit pcie;                                    /* bytes */
    struct dn_bench_fit ring; /* bytes that each device sends */
    int64_t ring_devices;
    double ring_start_s;
    double recurrence_s; /* 0: not measured, as all below */
    double launch_s;
    double sync_s;
    double jpeg; /* what one core does per second: images, tokens, bytes */
    double tokens;
    double array;
};

/* What the samples say. Only kernels of the kind by which the reference was found count
 * for the curves: forward products, forward 3 x 3 convolutions with stride 1; not those
 * that mostly wait for the memory. -1 without memory.
 */
int dn_bench_analyse (const struct dn_samples *samples,
                      const struct dn_constants *constants,
                      struct dn_bench_result *result,
                      struct dn_err *err);

/* A device that the catalogue has, by the name that its driver gives it
 * ("NVIDIA A100-SXM4-40GB") and its memory in bytes. NULL with 'err', which lists those
 * that it may be.
 */
const struct dn_device *dn_bench_device (const struct dn_catalogue *catalogue,
                                         const char *driver_name,
                                         double memory,
                                         struct dn_err *err);

/* Who and what an entry is from. */
struct dn_bench_entry {
    const char *device;            /* name in the catalogue, or a new one */
    const struct dn_device *known; /* of that name, NULL: the entry has to be whole */
    const struct dn_samples *samples;
    const struct dn_bench_result *result;
    const struct dn_constants *constants;
    const char *file; /* of the samples, for its comment */
};

/* Append the text of a catalogue file to 'buf'. -1 with 'err' where nothing was
 * measured that it could state, or a device that is not in the catalogue would lack
 * something.
 */
int dn_bench_write_entry (const struct dn_bench_entry *entry,
                          struct dn_buf *buf,
                          struct dn_err *err);

/* Append the lines of dnnest.conf that state what a core of the host delivers; -1 with
 * 'err' where nothing of it was measured.
 */
int dn_bench_write_host (const struct dn_bench_result *result,
                         struct dn_buf *buf,
                         struct dn_err *err);

#endif
