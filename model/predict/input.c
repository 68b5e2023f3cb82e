/* input.c - the input pipeline: what a core delivers, and how many are needed
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

static bool has_op (const struct dn_graph *graph, enum dn_op_kind kind)
{
    for (int i = 0; i < graph->n_ops; i++)
        if (graph->ops[i].kind == kind)
            return true;
    return false;
}

/* What has to be decoded when nobody says: images for a network of convolutions, text
 * for one of attention or recurrence, nothing for tables of numbers.
 */
static enum dn_decode assumed_decode (const struct dn_case *c)
{
    if (c->spec->decode != DN_DECODE_UNKNOWN)
        return c->spec->decode;
    if (has_op (c->graph, DN_OP_CONV))
        return DN_DECODE_JPEG;
    if (has_op (c->graph, DN_OP_SOFTMAX) || has_op (c->graph, DN_OP_RNN))
        return DN_DECODE_TEXT;
    return DN_DECODE_NONE;
}

/* What one core delivers, in samples per second; 0 when no core is needed. */
static double core_rate (const struct dn_case *c)
{
    const struct dn_constants *k = c->constants;
    /* The rate of images was measured for crops of ImageNet, 224 x 224. */
    const double imagenet = 224.0 * 224.0;
    double pixels = imagenet;

    if (c->spec->input == DN_INPUT_SYNTHETIC || c->spec->input == DN_INPUT_GPU)
        return 0;
    if (c->spec->image.n_dims == 1)
        pixels = (double) c->spec->image.dim[0] * (double) c->spec->image.dim[0];
    else if (c->spec->image.n_dims == 2)
        pixels = (double) c->spec->image.dim[0] * (double) c->spec->image.dim[1];
    switch (assumed_decode (c)) {
    case DN_DECODE_JPEG:
        return k->core_jpeg * fmin (imagenet / pixels, 8);
    case DN_DECODE_VIDEO: /* some sixteen frames of a clip */
        return k->core_jpeg / 16;
    case DN_DECODE_AUDIO:
        return k->core_audio;
    case DN_DECODE_NONE:
        return k->core_bytes / fmax (c->graph->input_bytes, 1);
    default:
        return k->core_tokens / fmax (c->graph->input, 1);
    }
}

double dn_predict_input (const struct dn_case *c,
                         double compute_s,
                         struct dn_estimate *estimate)
{
    /* The GPU may be faster than predicted and must not starve then: cores are counted
     * for its lower 20 % bound. */
    const double head_room = 1.4;
    const struct dn_constants *k = c->constants;
    double rate = core_rate (c);
    double samples = c->batch * (double) c->spec->grad_accum;
    double cores;

    estimate->cpus_per_gpu = 1; /* the training process itself */
    if (rate <= 0)
        return 0;
    cores = fmax (ceil (head_room * samples / compute_s / rate), 1);
    if (c->spec->workers > 0)
        cores = fmin (cores, (double) c->spec->workers);
    cores = fmin (cores, 1e6);
    estimate->cpus_per_gpu += (int64_t) cores;
    /* Fewer in the job than that: the process and its loaders share them. */
    cores = fmin (cores, c->cpus_per_gpu > 0 ? c->cpus_per_gpu : k->cores);
    return samples / (rate * cores);
}
