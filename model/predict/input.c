/* input.c - the input pipeline: what a core delivers, and how many cores are needed
 *
 * Cores add up until the process that collects the batches is full, which no number of
 * loaders changes; more workers than cores slow one another down. The 27 profiles of
 * msr-fiddle/synergy and the 240 loader runs of zhengxiawu/pytorch-cls agree on the
 * form, not on the rate: an image costs a core 3.5 ms in the one, 6 (compiled loader)
 * or 12 ms (Pillow) in the other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

/* The data to decode when decode= is unset: what the network says, else images for a
 * network of convolutions, text for one of attention or recurrence, arrays for dense
 * layers. For tables it is unknown.
 */
static enum dn_decode assumed_decode (const struct dn_setup *c)
{
    if (c->spec->decode != DN_DECODE_UNKNOWN)
        return c->spec->decode;
    if (c->graph->decode != DN_DECODE_UNKNOWN)
        return c->graph->decode;
    if (dn_graph_has (c->graph, DN_OP_CONV))
        return DN_DECODE_JPEG;
    if (dn_graph_has (c->graph, DN_OP_ATTENTION)
        || dn_graph_has (c->graph, DN_OP_SOFTMAX) || dn_graph_has (c->graph, DN_OP_RNN))
        return DN_DECODE_TEXT;
    /* Networks of only dense layers read arrays, unless they have embedding tables. */
    if (!dn_graph_has (c->graph, DN_OP_EMBEDDING))
        return DN_DECODE_NONE;
    return DN_DECODE_UNKNOWN;
}

/* Images of the size that the rates were measured with, 224 x 224, in one sample; large
 * ones cost more, small ones at least an eighth.
 */
static double images_per_sample (const struct dn_setup *c)
{
    const struct dn_image *image = &c->spec->image;
    double pixels = 224.0 * 224.0;

    if (image->n_dims == 1)
        pixels = (double) image->dim[0] * (double) image->dim[0];
    else if (image->n_dims == 2)
        pixels = (double) image->dim[0] * (double) image->dim[1];
    return fmax (pixels / (224.0 * 224.0), 1.0 / 8);
}

/* What one core delivers and what the collecting process can receive, in samples per
 * second; 0 when no core is needed.
 */
struct supply {
    double per_core;
    double limit;
};

static struct supply find_supply (const struct dn_setup *c)
{
    const struct dn_constants *k = c->constants;
    struct supply supply = {0, INFINITY};

    if (c->spec->input == DN_INPUT_SYNTHETIC || c->spec->input == DN_INPUT_GPU)
        return supply;
    switch (assumed_decode (c)) {
    case DN_DECODE_JPEG:
        supply.per_core = k->core_jpeg / images_per_sample (c);
        supply.limit = k->core_image_limit / images_per_sample (c);
        break;
    case DN_DECODE_VIDEO: /* some sixteen frames of a clip */
        supply.per_core = k->core_jpeg / 16;
        supply.limit = k->core_image_limit / 16;
        break;
    case DN_DECODE_AUDIO:
        supply.per_core = k->core_audio;
        supply.limit = k->core_audio_limit;
        break;
    case DN_DECODE_NONE:
        supply.per_core = k->core_bytes / fmax (c->graph->input_bytes, 1);
        break;
    case DN_DECODE_TEXT:
        supply.per_core = k->core_tokens / fmax (c->graph->input, 1);
        break;
    case DN_DECODE_UNKNOWN:
    case DN_N_DECODES:
        break;
    }
    return supply;
}

/* Samples per second that 'cores' deliver to one device through 'workers' loaders. */
static double delivered (const struct dn_constants *k,
                         const struct supply *supply,
                         double cores,
                         double workers)
{
    double used = fmin (cores, workers);
    double rate = used * supply->per_core;

    if (workers > cores)
        rate *= pow (cores / workers, k->core_crowding);
    /* Their 8-norm: a smooth minimum. */
    return rate / pow (1 + pow (rate / supply->limit, 8), 1.0 / 8);
}

/* Cores that deliver 'demand' samples per second, each 'per_core', with the loaders
 * that the job starts; without loaders the training process loads the data.
 */
static double cores_for (const struct dn_setup *c, double demand, double per_core)
{
    double cores = fmin (fmax (ceil (demand / per_core), 1), 1e6);

    if (c->spec->workers >= 0)
        cores = fmin (cores, fmax ((double) c->spec->workers, 1));
    return cores;
}

double dn_whitebox_input (const struct dn_setup *c,
                          double compute_s,
                          struct dn_estimate *estimate)
{
    /* The GPU may be faster than predicted and must not wait for data then: cores are
     * counted for its lower 20 % bound, and for a plain loader unless the stack is a
     * tuned one.
     */
    const double head_room = 1.4;
    const struct dn_constants *k = c->constants;
    double plain = dn_has_habit (c, DN_HABIT_FAST_LOADER) ? 1 : k->core_plain;
    struct supply supply = find_supply (c);
    double samples = c->batch * (double) c->spec->grad_accum;
    double demand;
    double workers;

    estimate->cpus_per_gpu = DN_UNSET;
    if (c->spec->input == DN_INPUT_SYNTHETIC || c->spec->input == DN_INPUT_GPU)
        estimate->cpus_per_gpu = 1; /* the training process itself */
    if (supply.per_core <= 0)
        return 0;
    /* More than the collecting process can receive has no effect. */
    demand = fmin (head_room * samples / compute_s, supply.limit);
    estimate->cpus_per_gpu =
        1 + (int64_t) cores_for (c, demand, plain * supply.per_core);
    /* The number of cores is unknown: the fit of the usual number includes the limit.
     */
    if (c->cpus_per_gpu <= 0)
        return samples
               / (fmin (cores_for (c, demand, supply.per_core), k->cores)
                  * supply.per_core);
    /* The process and its loaders share those of the job. */
    workers =
        c->spec->workers >= 0 ? fmax ((double) c->spec->workers, 1) : c->cpus_per_gpu;
    return samples / delivered (k, &supply, c->cpus_per_gpu, workers);
}
