/* bench_fit.c - fit a rate and a half-way point per kind of kernel
 *
 * The efficiency of a kernel saturates with its work W: the rate is proportional to W /
 * (W + half), so the time is (W + half) / rate, a straight line. The fit minimises the
 * sum of |ln (predicted / measured)|, so that kernels of all sizes count equally and
 * one outlier from a busy machine has little effect. For a given half the best rate is
 * a median, so only half is searched for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/bench_fit.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The minimum number of samples for a curve. */
#define CURVE_MIN 4

/* Kernels that move fewer bytes may find their operands in a cache. */
#define STREAM_BYTES_MIN 32e6

/* Smaller messages use another protocol, and no gradient bucket is that small. */
#define RING_BYTES_MIN 1e6

static int compare (const void *a, const void *b)
{
    double x = *(const double *) a;
    double y = *(const double *) b;

    return (x > y) - (x < y);
}

/* Median of n > 0 values. Changes their order. */
static double median (double values[], int n)
{
    qsort (values, (size_t) n, sizeof (*values), compare);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

struct points {
    const double *work;
    const double *seconds;
    int n;
    double *room; /* of n values */
};

/* The logarithm of the best rate for a half-way point, and the error that remains. */
static double try_half (const struct points *points, double half, double *log_rate)
{
    double sum = 0;

    for (int i = 0; i < points->n; i++)
        points->room[i] = log ((points->work[i] + half) / points->seconds[i]);
    *log_rate = median (points->room, points->n);
    for (int i = 0; i < points->n; i++)
        sum += fabs (points->room[i] - *log_rate);
    return sum / points->n;
}

/* Half-way points from zero to the largest work, each a few percent larger. */
static double find_half (const struct points *points)
{
    const double stride = 1.05;
    double least = points->work[0];
    double most = points->work[0];
    double log_rate;
    double best = 0;
    double error = try_half (points, 0, &log_rate);
    double half;

    for (int i = 1; i < points->n; i++) {
        least = fmin (least, points->work[i]);
        most = fmax (most, points->work[i]);
    }
    half = fmax (least, most * 1e-9) / 100;
    while (half < most) {
        double now = try_half (points, half, &log_rate);

        if (now < error) {
            error = now;
            best = half;
        }
        half *= stride;
    }
    return best;
}

bool dn_bench_fit_curve (const double work[],
                         const double seconds[],
                         int n,
                         struct dn_bench_fit *fit,
                         struct dn_err *err)
{
    struct points points = {work, seconds, n, NULL};
    double log_rate;

    *fit = (struct dn_bench_fit){.n = n};
    if (n < CURVE_MIN)
        return false;
    points.room = calloc ((size_t) n, sizeof (*points.room));
    if (!points.room) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return false;
    }
    fit->half = find_half (&points);
    try_half (&points, fit->half, &log_rate);
    fit->rate = exp (log_rate);
    for (int i = 0; i < n; i++)
        points.room[i] = fabs (points.room[i] - log_rate);
    fit->spread = median (points.room, n);
    free (points.room);
    return true;
}

/* --- which samples ---------------------------------------------------------------- */

/* The number after the letter in "n32 c64 k3 s1", or 0. */
static double shape_number (const char *shape, char letter)
{
    double number = 0;

    for (const char *at = shape; *at; at++)
        if (*at == letter && (at == shape || at[-1] == ' ')) {
            while (isdigit ((unsigned char) *++at) && number < 1e12)
                number = 10 * number + (*at - '0');
            return number;
        }
    return 0;
}

/* Is this a kernel of the kind that rates are defined by? */
static bool is_reference (const struct dn_sample *row, enum dn_rate_class class)
{
    if (row->pass != DN_SAMPLE_FORWARD || row->flops <= 0)
        return false;
    if (class == DN_RATE_LINEAR)
        return row->op == DN_SAMPLE_GEMM;
    return row->op == DN_SAMPLE_CONV && shape_number (row->shape, 'k') == 3
           && shape_number (row->shape, 's') == 1;
}

/* Which samples to select, and how to count their work. */
struct choice {
    bool (*wanted) (const struct dn_sample *row, const struct choice *choice);
    double (*work) (const struct dn_sample *row, const struct choice *choice);
    enum dn_rate_class class;
    enum dn_format format;
    double stream; /* byte/s of the memory, 0 unknown */
    int64_t devices;
};

static bool is_curve (const struct dn_sample *row, const struct choice *choice)
{
    return is_reference (row, choice->class)
           && dn_precision_traits[row->precision].format == choice->format
           && (choice->stream <= 0 || row->bytes / choice->stream < 0.5 * row->seconds);
}

static double flops_of (const struct dn_sample *row, const struct choice *choice)
{
    (void) choice;
    return row->flops;
}

static double bytes_of (const struct dn_sample *row, const struct choice *choice)
{
    (void) choice;
    return row->bytes;
}

static bool is_stream (const struct dn_sample *row, const struct choice *choice)
{
    (void) choice;
    return row->op == DN_SAMPLE_ELEMENTWISE && row->bytes >= STREAM_BYTES_MIN;
}

static bool is_pcie (const struct dn_sample *row, const struct choice *choice)
{
    (void) choice;
    return row->op == DN_SAMPLE_H2D && row->bytes > 0;
}

static bool is_ring (const struct dn_sample *row, const struct choice *choice)
{
    return row->op == DN_SAMPLE_ALLREDUCE && row->devices == choice->devices
           && row->bytes >= RING_BYTES_MIN;
}

/* Bytes that each of n devices sends around the ring. */
static double sent_of (const struct dn_sample *row, const struct choice *choice)
{
    double n = (double) choice->devices;

    return 2 * (n - 1) / n * row->bytes;
}

static int fit_choice (const struct dn_samples *samples,
                       const struct choice *choice,
                       struct dn_bench_fit *fit,
                       struct dn_err *err)
{
    double *room = calloc (2 * (size_t) samples->n_rows + 1, sizeof (*room));
    struct dn_err why = {0};
    double *seconds;
    int n = 0;

    if (!room)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    seconds = room + samples->n_rows;
    for (int i = 0; i < samples->n_rows; i++)
        if (choice->wanted (&samples->rows[i], choice)) {
            room[n] = choice->work (&samples->rows[i], choice);
            seconds[n++] = samples->rows[i].seconds;
        }
    dn_bench_fit_curve (room, seconds, n, fit, &why);
    free (room);
    return why.code == DN_E_NOMEM ? dn_err_set (err, DN_E_NOMEM, "%s", why.text) : 0;
}

/* --- what has no curve ------------------------------------------------------------ */

/* Minimum seconds of an operator; 0 if it was not measured. */
static double least_seconds (const struct dn_samples *samples, enum dn_sample_op op)
{
    double best = 0;

    for (int i = 0; i < samples->n_rows; i++)
        if (samples->rows[i].op == op && (best <= 0 || samples->rows[i].seconds < best))
            best = samples->rows[i].seconds;
    return best;
}

/* Are these the same recurrent layer, the second with more steps? */
static bool is_longer (const struct dn_sample *a, const struct dn_sample *b)
{
    return b->op == DN_SAMPLE_RNN && b->pass == DN_SAMPLE_FORWARD
           && a->precision == b->precision
           && shape_number (a->shape, 'h') == shape_number (b->shape, 'h')
           && shape_number (a->shape, 'n') == shape_number (b->shape, 'n')
           && shape_number (a->shape, 't') < shape_number (b->shape, 't');
}

/* Time per step of a recurrent layer; the layer with the shortest steps. */
static double find_recurrence (const struct dn_samples *samples)
{
    const double least = 1e-8; /* no step takes less than a few clock cycles */
    double best = 0;

    for (int i = 0; i < samples->n_rows; i++) {
        const struct dn_sample *a = &samples->rows[i];

        if (a->op != DN_SAMPLE_RNN || a->pass != DN_SAMPLE_FORWARD)
            continue;
        for (int j = 0; j < samples->n_rows; j++) {
            const struct dn_sample *b = &samples->rows[j];
            double step;

            if (!is_longer (a, b))
                continue;
            step = (b->seconds - a->seconds)
                   / (shape_number (b->shape, 't') - shape_number (a->shape, 't'));
            if (step > least && (best <= 0 || step < best))
                best = step;
        }
    }
    return best;
}

/* What one core does per second in samples or bytes: the median over the rows. */
static double per_core (const struct dn_samples *samples,
                        enum dn_sample_op op,
                        bool bytes)
{
    double rates[64];
    int n = 0;

    for (int i = 0; i < samples->n_rows && n < (int) DN_N_ELEMENTS (rates); i++) {
        const struct dn_sample *row = &samples->rows[i];

        if (row->op == op && (!bytes || row->bytes > 0))
            rates[n++] = (bytes ? row->bytes : 1) / row->seconds;
    }
    return n > 0 ? median (rates, n) : 0;
}

static int64_t most_devices (const struct dn_samples *samples)
{
    int64_t most = 0;

    for (int i = 0; i < samples->n_rows; i++)
        if (samples->rows[i].op == DN_SAMPLE_ALLREDUCE
            && samples->rows[i].devices > most)
            most = samples->rows[i].devices;
    return most;
}

static int analyse_ring (const struct dn_samples *samples,
                         const struct dn_constants *constants,
                         struct dn_bench_result *result,
                         struct dn_err *err)
{
    struct choice choice = {
        .wanted = is_ring, .work = sent_of, .devices = most_devices (samples)};
    double hops = 2 * (double) (choice.devices - 1) * constants->hop_s;

    if (choice.devices < 2)
        return 0;
    if (fit_choice (samples, &choice, &result->ring, err) < 0)
        return -1;
    result->ring_devices = choice.devices;
    if (result->ring.rate > 0)
        result->ring_start_s =
            fmax (result->ring.half / result->ring.rate - hops, 1e-6);
    return 0;
}

int dn_bench_analyse (const struct dn_samples *samples,
                      const struct dn_constants *constants,
                      struct dn_bench_result *result,
                      struct dn_err *err)
{
    struct choice choice = {.wanted = is_stream, .work = bytes_of};

    memset (result, 0, sizeof (*result));
    if (fit_choice (samples, &choice, &result->stream, err) < 0)
        return -1;
    choice.wanted = is_pcie;
    if (fit_choice (samples, &choice, &result->pcie, err) < 0
        || analyse_ring (samples, constants, result, err) < 0)
        return -1;
    choice.wanted = is_curve;
    choice.work = flops_of;
    choice.stream = result->stream.rate;
    for (int class = 0; class < DN_N_RATE_CLASSES; class ++)
        for (int f = DN_FORMAT_FP32; f < DN_N_FORMATS; f++) {
            choice.class = (enum dn_rate_class) class;
            choice.format = (enum dn_format) f;
            if (fit_choice (samples, &choice, &result->curves[class][f], err) < 0)
                return -1;
        }
    result->recurrence_s = find_recurrence (samples);
    result->launch_s = least_seconds (samples, DN_SAMPLE_LAUNCH);
    result->sync_s = least_seconds (samples, DN_SAMPLE_SYNC);
    result->jpeg = per_core (samples, DN_SAMPLE_JPEG, false);
    result->tokens = per_core (samples, DN_SAMPLE_TEXT, true);
    result->array = per_core (samples, DN_SAMPLE_ARRAY, true);
    return 0;
}
