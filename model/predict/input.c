/* input.c - the input pipeline: what a core delivers, and how many cores are needed
 *
 * Cores add up until the process that collects the batches is full, which no number of
 * loaders changes where they are processes; more workers than cores slow one another
 * down. The 27 profiles of msr-fiddle/synergy and the 240 loader runs of
 * zhengxiawu/pytorch-cls agree on the form, not on the rate: an image costs a core 3.5
 * ms in the one, 6 (compiled loader) or 12 ms (Pillow) in the other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

/* Dimensions of the network's first convolution, 0 without one. */
static int convolution_dims (const struct dn_graph *graph)
{
    for (int i = 0; i < graph->n_ops; i++)
        if (graph->ops[i].kind == DN_OP_CONV)
            return graph->ops[i].dims;
    return 0;
}

/* Of one sample, as the network reads it. */
static double pixels_of (const struct dn_spec *spec, const struct dn_graph *graph)
{
    const struct dn_image *image = &spec->image;

    if (image->n_dims == 1)
        return (double) image->dim[0] * (double) image->dim[0];
    if (image->n_dims == 2)
        return (double) image->dim[0] * (double) image->dim[1];
    return graph->input / 3;
}

/* Pictures of fewer pixels are collections of arrays (MNIST 28 x 28, CIFAR and SVHN
 * 32 x 32), unless the data set says otherwise.
 */
static const double least_picture = 64.0 * 64.0;

/* The data to decode when decode= is unset: what the network says, else pictures, sound
 * or arrays by the dimensions of convolutions, tokens for a network of attention or
 * recurrence, arrays for dense layers. How tuned loaders read tables is unknown.
 *
 * Tokens are read from a file: text is turned into them once, before the training. It
 * is decoded in each epoch only if decode=text says so.
 */
enum dn_decode dn_decode_of (const struct dn_spec *spec, const struct dn_graph *graph)
{
    int dims = convolution_dims (graph);

    if (spec->decode != DN_DECODE_UNKNOWN)
        return spec->decode;
    if (graph->decode != DN_DECODE_UNKNOWN)
        return graph->decode == DN_DECODE_TEXT ? DN_DECODE_NONE : graph->decode;
    if (dims == 1)
        return DN_DECODE_AUDIO;
    if (dims == 2 && pixels_of (spec, graph) >= least_picture)
        return DN_DECODE_JPEG;
    if (dims > 0 || dn_graph_has (graph, DN_OP_ATTENTION)
        || dn_graph_has (graph, DN_OP_SOFTMAX) || dn_graph_has (graph, DN_OP_RNN))
        return DN_DECODE_NONE;
    /* Networks of dense layers read arrays, those with embedding tables rows. */
    if (dn_graph_has (graph, DN_OP_EMBEDDING)
        && (dn_habits_of (spec) & DN_HABIT_FAST_LOADER))
        return DN_DECODE_UNKNOWN;
    return DN_DECODE_NONE;
}

/* Pictures of the size that the rates were measured with: read by the network, of
 * 224 x 224; stored, those of ImageNet.
 */
static const double usual_pixels = 224.0 * 224.0;
static const double stored_pixels = 182e3;
static const double stored_bytes = 110e3;

/* Work on one sample, in pictures of the usual size: what is stored is decoded, and
 * brought to the size that the network reads. Pictures are rarely stored in fewer
 * pixels than are read; collections of smaller ones say so by sample_bytes=.
 */
static double images_per_sample (const struct dn_setup *c)
{
    double share = c->constants->decode_share;
    double read = pixels_of (c->spec, c->graph);
    double stored = c->spec->sample_bytes > 0
                        ? (double) c->spec->sample_bytes / stored_bytes
                        : dn_max (read / stored_pixels, 1);

    return share * stored + (1 - share) * read / usual_pixels;
}

/* What the loader does to a sample before its copy: as the job or the network says.
 * Tuned loaders do it on the device.
 */
enum dn_augment dn_augment_of (const struct dn_spec *spec, const struct dn_graph *graph)
{
    if (spec->augment != DN_AUGMENT_UNKNOWN)
        return spec->augment;
    return (dn_habits_of (spec) & DN_HABIT_FAST_LOADER) ? DN_AUGMENT_UNKNOWN
                                                        : graph->augment;
}

bool dn_reads_augment (const struct dn_spec *spec, const struct dn_graph *graph)
{
    enum dn_decode decode = dn_decode_of (spec, graph);

    if (spec->input == DN_INPUT_SYNTHETIC || spec->input == DN_INPUT_GPU)
        return false;
    return decode == DN_DECODE_JPEG || decode == DN_DECODE_VIDEO
           || (decode == DN_DECODE_NONE && convolution_dims (graph) > 0);
}

/* The same in pictures of the usual size that a core decodes, crops and mirrors
 * meanwhile. Measured on one core, torchvision 0.30 and Pillow 12: RandAugment,
 * AutoAugment and TrivialAugment 0.13 to 0.20 per picture; AugMix 2.6; SimCLR's jitter
 * and blur 3.0; a mosaic, its turn and its colours with OpenCV, 640 x 640, 0.6 for the
 * elements of a picture; nnU-Net's with batchgeneratorsv2, 128^3, 2.0 with four
 * channels, 5.3 with one. nnU-Net's own statement of 160 s for 500 patches with 6 cores
 * is 9 with four.
 */
static double augmented_images (const struct dn_setup *c)
{
    static const double images[DN_N_AUGMENTS] = {[DN_AUGMENT_LIGHT] = 0.2,
                                                 [DN_AUGMENT_HEAVY] = 3,
                                                 [DN_AUGMENT_MOSAIC] = 0.6,
                                                 [DN_AUGMENT_NNUNET] = 6};

    double times = images[dn_augment_of (c->spec, c->graph)];

    if (times <= 0 || !dn_reads_augment (c->spec, c->graph))
        return 0;
    return times * c->graph->input / (3 * usual_pixels);
}

/* Pictures of the usual size that a sample's copy to the device takes the place of. */
static double copies_per_sample (const struct dn_setup *c)
{
    return dn_max (pixels_of (c->spec, c->graph) / usual_pixels, 1.0 / 8);
}

/* Seconds of a core for each array, beside its bytes. Those of dense layers are read in
 * whole batches; PyTorch reads others, and rows of tables, one by one.
 */
static double array_s (const struct dn_setup *c)
{
    const struct dn_graph *graph = c->graph;

    if (dn_has_habit (c, DN_HABIT_FAST_LOADER))
        return 0;
    if (convolution_dims (graph) > 0 || dn_graph_has (graph, DN_OP_ATTENTION)
        || dn_graph_has (graph, DN_OP_SOFTMAX) || dn_graph_has (graph, DN_OP_RNN))
        return 1 / c->constants->core_arrays;
    return dn_graph_has (graph, DN_OP_EMBEDDING) ? 1 / c->constants->core_rows : 0;
}

/* Arrays that one core delivers per second. */
static double arrays_per_core (const struct dn_setup *c)
{
    const struct dn_constants *k = c->constants;

    return 1
           / (dn_max (c->graph->input_bytes, 1) / k->core_bytes + array_s (c)
              + augmented_images (c) / k->core_jpeg);
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

    switch (dn_decode_of (c->spec, c->graph)) {
    case DN_DECODE_JPEG:
        supply.per_core = k->core_jpeg / (images_per_sample (c) + augmented_images (c));
        supply.limit = k->core_image_limit / copies_per_sample (c);
        break;
    case DN_DECODE_VIDEO: /* some sixteen frames of a clip */
        supply.per_core = k->core_jpeg / (16 + augmented_images (c));
        supply.limit = k->core_image_limit / 16;
        break;
    case DN_DECODE_AUDIO:
        supply.per_core = k->core_audio;
        supply.limit = k->core_audio_limit;
        break;
    case DN_DECODE_NONE:
        supply.per_core = arrays_per_core (c);
        break;
    case DN_DECODE_TEXT:
        supply.per_core = k->core_tokens / dn_max (c->graph->input, 1);
        break;
    case DN_DECODE_UNKNOWN:
    case DN_N_DECODES:
        break;
    }
    if (dn_has_habit (c, DN_HABIT_FAST_LOADER)) /* threads of the training process */
        supply.limit = INFINITY;
    return supply;
}

/* Samples per second that 'cores' deliver to one device through 'workers' loaders. */
static double delivered (const struct dn_constants *k,
                         const struct supply *supply,
                         double cores,
                         double workers)
{
    double used = dn_min (cores, workers);
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
    double cores = dn_min (dn_max (ceil (demand / per_core), 1), 1e6);

    if (c->spec->workers >= 0)
        cores = dn_min (cores, dn_max ((double) c->spec->workers, 1));
    return cores;
}

/* Cores that load data, where the job does not state its CPUs. */
static double usual_loaders (const struct dn_setup *c)
{
    double cores = dn_usual_cores (c);

    return c->spec->workers >= 0 ? dn_min (cores, dn_max ((double) c->spec->workers, 1))
                                 : cores;
}

/* Seconds in which the device prepares 'samples': pictures are decoded and resized
 * beside the training. Cores read the files, and decode them in part. Other data are
 * copied.
 */
static double input_on_gpu (const struct dn_setup *c,
                            double samples,
                            double demand,
                            struct dn_estimate *estimate)
{
    const struct dn_constants *k = c->constants;
    const double usual_bw = 1555e9; /* of the device of gpu_jpeg, byte/s */
    double images = images_per_sample (c);

    estimate->cpus_per_gpu = 1;
    if (dn_decode_of (c->spec, c->graph) != DN_DECODE_JPEG)
        return 0;
    estimate->cpus_per_gpu +=
        (int64_t) cores_for (c, demand, k->core_jpeg / images / k->gpu_host);
    return samples * images / (k->gpu_jpeg * c->device->bandwidth / usual_bw);
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
    bool fast = dn_has_habit (c, DN_HABIT_FAST_LOADER)
                || dn_decode_of (c->spec, c->graph) == DN_DECODE_NONE;
    double plain = fast ? 1 : k->core_plain;
    struct supply supply = find_supply (c);
    double samples = c->batch * (double) c->spec->grad_accum;
    double demand;
    double workers;

    estimate->cpus_per_gpu = DN_UNSET;
    if (c->spec->input == DN_INPUT_SYNTHETIC) {
        estimate->cpus_per_gpu = 1; /* the training process itself */
        return 0;
    }
    if (c->spec->input == DN_INPUT_GPU)
        return input_on_gpu (c, samples, head_room * samples / compute_s, estimate);
    if (supply.per_core <= 0)
        return 0;
    /* More than the collecting process can receive has no effect. */
    demand = dn_min (head_room * samples / compute_s, supply.limit);
    estimate->cpus_per_gpu =
        1 + (int64_t) cores_for (c, demand, plain * supply.per_core);
    /* Loaders that are started may all be needed at times. */
    if (estimate->cpus_per_gpu < c->spec->workers)
        estimate->cpus_per_gpu = c->spec->workers;
    /* The number of cores is unknown: those of the usual node load. */
    if (c->cpus_per_gpu <= 0)
        return samples / delivered (k, &supply, usual_loaders (c), usual_loaders (c));
    /* The process and its loaders share those of the job. */
    workers =
        c->spec->workers >= 0 ? dn_max ((double) c->spec->workers, 1) : c->cpus_per_gpu;
    return samples / delivered (k, &supply, c->cpus_per_gpu, workers);
}
