/* bench_fit.h - fit the rates that a device reaches to measured kernels
 *
 * In: the samples of one device (learn/samples.h). Out: struct dn_bench_result, and the
 * text of a catalogue file that states it (dnnest.hardware(5)). Never: running kernels.
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
    double rate;   /* per second; 0 with too few samples */
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

/* Fit all curves to the samples. Only two kinds of kernels count for the curves of
 * products, as for the reference: forward products and forward 3 x 3 convolutions with
 * stride 1. Those bound mostly by memory do not count. -1 without memory.
 */
int dn_bench_analyse (const struct dn_samples *samples,
                      const struct dn_constants *constants,
                      struct dn_bench_result *result,
                      struct dn_err *err);

/* Find the device in the catalogue from the name that its driver reports ("NVIDIA
 * A100-SXM4-40GB") and its memory in bytes. NULL with 'err', which lists the
 * candidates.
 */
const struct dn_device *dn_bench_device (const struct dn_catalogue *catalogue,
                                         const char *driver_name,
                                         double memory,
                                         struct dn_err *err);

/* The origin of an entry. */
struct dn_bench_entry {
    const char *device; /* name in the catalogue, or a new one */
    const struct dn_catalogue *catalogue;
    const struct dn_device *known; /* of that name; NULL: the entry must be complete */
    const struct dn_samples *samples;
    const struct dn_bench_result *result;
    const struct dn_constants *constants;
    const char *file; /* name of the samples file, for a comment */
};

/* Append the text of a catalogue file to 'buf'. -1 with 'err' if no measurement can be
 * stated, or if the device is not in the catalogue and a required value is missing.
 */
int dn_bench_write_entry (const struct dn_bench_entry *entry,
                          struct dn_buf *buf,
                          struct dn_err *err);

/* Append the lines of dnnest.conf that state what one core of the host delivers. -1
 * with 'err' if no loader was measured.
 */
int dn_bench_write_host (const struct dn_bench_result *result,
                         struct dn_buf *buf,
                         struct dn_err *err);

#endif
