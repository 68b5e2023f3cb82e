/* bench_gpu.c - dnnest-dev bench gpu: the samples of a GPU
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <string.h>

#include "bench/bench_command.h"
#include "bench/gpu.h"
#include "bench/recorder.h"
#include "process/interrupt.h"
#include "output/progress.h"

#ifdef DN_CUDA

/* The context of the sink's functions. */
struct work {
    struct dn_recorder recorder;
    struct dn_progress progress;
    struct dn_err err;
    int n_new;
    int n_skipped;
    bool stopped;
};

static void set_name (const struct dn_names *names, const char *text, int *value)
{
    int found = dn_names_find (names, text, strlen (text));

    *value = found > 0 ? found : 0;
}

static struct dn_sample sample_of (const struct dn_gpu_sample *from)
{
    /* samples of 16-bit floats are all called fp16 */
    static const char *const precisions[] = {
        [DN_PRECISION_UNKNOWN] = "none",
        [DN_PRECISION_FP32] = "fp32",
        [DN_PRECISION_TF32] = "tf32",
        [DN_PRECISION_FP16] = "fp16",
        [DN_PRECISION_BF16] = "bf16",
    };
    static const struct dn_names names = DN_NAMES (precisions, DN_PRECISION_HALF);
    struct dn_sample sample = {.devices = from->devices,
                               .flops = from->flops,
                               .bytes = from->bytes,
                               .seconds = from->seconds,
                               .spread = from->spread,
                               .runs = from->runs};
    struct dn_buf shape = dn_buf_on (sample.shape, sizeof (sample.shape));
    int op;
    int pass;
    int precision;

    set_name (&dn_sample_op_names, from->op, &op);
    set_name (&dn_sample_pass_names, from->pass, &pass);
    set_name (&names, from->precision, &precision);
    dn_buf_add (&shape, "%s", from->shape);
    sample.op = (enum dn_sample_op) op;
    sample.pass = (enum dn_sample_pass) pass;
    sample.precision = (enum dn_precision) precision;
    return sample;
}

static int take_fact (void *context, const char *key, const char *value)
{
    struct work *work = context;

    return dn_recorder_fact (
        &work->recorder, key, value, strcmp (key, "gpu") == 0, &work->err);
}

static bool has (void *context, const struct dn_gpu_sample *from)
{
    const struct work *work = context;
    struct dn_sample sample = sample_of (from);

    return dn_samples_has (&work->recorder.samples, &sample);
}

static int put (void *context, const struct dn_gpu_sample *from)
{
    struct work *work = context;
    struct dn_sample sample = sample_of (from);

    work->n_new++;
    return dn_recorder_put (&work->recorder, &sample, &work->err);
}

static void skip (void *context, const struct dn_gpu_sample *from, const char *why)
{
    struct work *work = context;

    work->n_skipped++;
    dn_progress_end (&work->progress);
    dn_complain ("%s %s %s %s is left out: %s",
                 from->op,
                 from->precision,
                 from->pass,
                 from->shape,
                 why);
}

static bool step (void *context, int done, int all)
{
    struct work *work = context;

    dn_progress_show (&work->progress, done, all > 0 ? (double) done / all : -1);
    work->stopped = dn_interrupted ();
    return work->stopped;
}

static int measure (const struct dn_bench_given *given, struct work *work)
{
    const struct dn_gpu_sink sink = {work, take_fact, has, put, skip, step};
    char why[DN_ERR_TEXT_MAX] = "";
    int64_t device = 0;
    int rc;

    if (given->device
        && dn_int_read (
               dn_span_of (given->device), "--device", 0, 1023, &device, &work->err)
               < 0)
        return dn_fail (DN_EXIT_USAGE, &work->err);
    if (dn_recorder_open (&work->recorder, given->samples, &work->err) < 0)
        return dn_fail (DN_EXIT_DATA, &work->err);
    dn_interrupt_hold ();
    work->progress = dn_progress_begin ("kernels");
    rc = dn_gpu_measure (&sink, (int) device, given->quick, why, sizeof (why));
    dn_progress_end (&work->progress);
    if (rc < 0 && work->err.code == DN_E_NONE)
        dn_err_set (&work->err, DN_E_IO, "device %d: %s", (int) device, why);
    return rc < 0 ? dn_fail (DN_EXIT_DATA, &work->err) : DN_EXIT_DONE;
}

int dn_bench_gpu (const struct dn_bench_given *given)
{
    struct work work = {.recorder = {.fd = -1}};
    int exit_code = measure (given, &work);

    if (exit_code == DN_EXIT_DONE)
        fprintf (stderr,
                 "%s: %d samples in all, %d new, %d left out%s\n",
                 given->samples,
                 work.recorder.samples.n_rows,
                 work.n_new,
                 work.n_skipped,
                 work.stopped ? "; stopped, run the same command to continue" : "");
    dn_recorder_close (&work.recorder);
    dn_interrupt_release ();
    return exit_code;
}

#else

int dn_bench_gpu (const struct dn_bench_given *given)
{
    (void) given;
    dn_complain ("built without CUDA: configure needs nvcc, cuBLAS and cuDNN "
                 "(--with-cuda=DIR)");
    return DN_EXIT_ABSTAINED;
}

#endif
