/* compact.c - merging layers that are equal or similar
 *
 * The time of an operator is nearly linear in its sizes, so that two of nearly equal
 * sizes take twice the time of their mean; the error is of second order. The layers of
 * DenseNet are all different; their sizes differ by a few percent from one to the next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/compact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* The largest size in a shape. */
#define EXTENT_MAX 1e9

/* Sizes by which layers are compared. */
#define N_SIZES 5

/* Stretches of a network whose layers are merged apart, up to this difference of sizes.
 * Where a network waits depends on the order of layers that the host launches late and
 * those that the device computes long.
 */
#define N_STRETCHES   3
#define STRETCH_ALIKE .3

/* One layer that may be merged with others. */
struct entry {
    const struct dn_layer *layer;
    int at;                /* its place */
    double type[9];        /* equal within a bucket */
    double sizes[N_SIZES]; /* similar within a bucket */
    int bucket;            /* the place of the first layer of its bucket */
};

static bool is_conv (const struct dn_layer *layer)
{
    return layer->kind >= DN_LAYER_CONV1D && layer->kind <= DN_LAYER_CONV_TRANSPOSE;
}

/* Kinds for which only the number of elements counts. */
static bool is_light (const struct dn_layer *layer)
{
    return layer->kind >= DN_LAYER_BATCHNORM && layer->kind <= DN_LAYER_LOSS;
}

/* Join the dimensions of an extent from 'from' up to, but not including, 'to'. */
static void flatten (struct dn_extent *extent, int from, int to)
{
    double product = 1;
    int gone = to - from - 1;

    for (int i = from; i < to; i++)
        product *= extent->dim[i];
    if (gone < 1 || product > EXTENT_MAX)
        return;
    extent->dim[from] = product;
    for (int i = to; i < extent->rank; i++)
        extent->dim[i - gone] = extent->dim[i];
    extent->rank -= gone;
}

/* Join all inputs to one; only their elements count. */
static void join_inputs (struct dn_layer *layer)
{
    double elements = dn_layer_in (layer);

    if (layer->n_in == 0 || elements > EXTENT_MAX)
        return;
    layer->in[0] = (struct dn_extent){.dim = {elements}, .rank = 1};
    layer->n_in = 1;
    layer->more_in = 0;
}

static void simplify (struct dn_layer *layer)
{
    double elements = dn_layer_out (layer);
    struct dn_layer silent = *layer;

    layer->name[0] = '\0';
    if (is_light (layer) || layer->kind == DN_LAYER_EMBEDDING) {
        join_inputs (layer);
        if (elements <= EXTENT_MAX) {
            layer->out = (struct dn_extent){.dim = {elements}, .rank = 1};
            layer->more_out = 0;
        }
    } else if (is_conv (layer) && layer->kind != DN_LAYER_CONV_TRANSPOSE) {
        flatten (&layer->in[0], 1, layer->in[0].rank);
        flatten (&layer->out, 1, layer->out.rank);
    } else if (layer->kind == DN_LAYER_LINEAR) {
        flatten (&layer->in[0], 0, layer->in[0].rank - 1);
        flatten (&layer->out, 0, layer->out.rank - 1);
    }
    silent.masks = silent.tensors = -1;
    if (layer->masks == dn_layer_masks (&silent))
        layer->masks = -1;
    if (layer->tensors == dn_layer_tensors (&silent))
        layer->tensors = -1;
}

static bool extents_equal (const struct dn_extent *a, const struct dn_extent *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

/* Equal but for name and count. */
static bool layers_equal (const struct dn_layer *a, const struct dn_layer *b)
{
    if (a->kind != b->kind || a->n_in != b->n_in || !extents_equal (&a->out, &b->out))
        return false;
    for (int i = 0; i < a->n_in; i++)
        if (!extents_equal (&a->in[i], &b->in[i]))
            return false;
    return a->more_in == b->more_in && a->more_out == b->more_out
           && a->kernel == b->kernel && a->groups == b->groups && a->hidden == b->hidden
           && a->gates == b->gates && a->params == b->params && a->tensors == b->tensors
           && a->frozen == b->frozen && a->frozen_bytes == b->frozen_bytes
           && a->flops == b->flops && a->bytes == b->bytes && a->saved == b->saved
           && a->masks == b->masks && a->amp_saved == b->amp_saved
           && a->first == b->first && a->fused == b->fused && a->causal == b->causal
           && a->moved == b->moved && a->window == b->window;
}

/* Over the numbers that layers_equal () compares most cheaply. */
static uint64_t hash_layer (const struct dn_layer *layer)
{
    const double numbers[] = {layer->kind,
                              dn_extent_elements (&layer->out),
                              dn_extent_elements (&layer->in[0]),
                              layer->params,
                              layer->frozen,
                              layer->saved,
                              layer->flops};

    return dn_hash_bytes (DN_HASH_SEED, numbers, sizeof (numbers));
}

#define N_SLOTS 65536 /* a power of two, above three times DN_GRAPH_OPS_MAX */

void dn_layers_merge (struct dn_layers *layers)
{
    dn_cleanup (dn_free_ptr) int *slots = calloc (N_SLOTS, sizeof (*slots));
    int n = 0;

    dn_layers_settle (layers);
    if (!slots) /* unmerged layers are correct too */
        return;
    for (int i = 0; i < layers->n; i++) {
        uint64_t at = hash_layer (&layers->list[i]) % N_SLOTS;

        while (slots[at] > 0
               && !layers_equal (&layers->list[slots[at] - 1], &layers->list[i]))
            at = (at + 1) % N_SLOTS;
        if (slots[at] > 0) {
            layers->list[slots[at] - 1].repeat += layers->list[i].repeat;
            continue;
        }
        layers->list[n++] = layers->list[i];
        slots[at] = n;
    }
    layers->n = n;
}

void dn_layers_simplify (struct dn_layers *layers)
{
    dn_layers_settle (layers);
    for (int i = 0; i < layers->n; i++)
        simplify (&layers->list[i]);
    dn_layers_merge (layers);
}

static double positions (const struct dn_extent *extent)
{
    return dn_extent_elements (extent) / extent->dim[0];
}

static double last (const struct dn_extent *extent, int back)
{
    return extent->rank >= back ? extent->dim[extent->rank - back] : 1;
}

static double usual_groups (const struct dn_layer *layer)
{
    return is_conv (layer) ? layer->groups : 1;
}

/* The sizes that must be similar in layers that are merged. A layer without sizes is
 * not merged.
 */
static void measure (struct entry *entry)
{
    const struct dn_layer *layer = entry->layer;
    double *sizes = entry->sizes;

    sizes[0] = -1 - entry->at;
    if (layer->kind == DN_LAYER_CONV_TRANSPOSE || layer->out.rank > 2
        || layer->in[0].rank > 2)
        return;
    if (is_conv (layer)) {
        sizes[0] = positions (&layer->out);
        sizes[1] = layer->out.dim[0] / layer->groups;
        sizes[2] = layer->in[0].dim[0] / layer->groups;
        sizes[3] = layer->groups;
        sizes[4] = positions (&layer->in[0]);
    } else if (layer->kind == DN_LAYER_LINEAR) {
        sizes[0] = dn_layer_out (layer) / last (&layer->out, 1);
        sizes[1] = last (&layer->out, 1);
        sizes[2] = last (&layer->in[0], 1);
        sizes[3] = dn_layer_in (layer);
    } else if (layer->kind == DN_LAYER_OTHER) {
        sizes[0] = layer->bytes;
        sizes[1] = layer->flops;
    } else if (is_light (layer) && layer->out.rank == 1 && layer->n_in <= 1
               && layer->more_in + layer->more_out == 0) {
        sizes[0] = dn_layer_out (layer);
        sizes[1] = dn_layer_in (layer);
    }
}

/* A mean of learning and frozen layers would learn, and the bytes of a mean are either
 * known or not.
 */
static double frozen_type (const struct dn_layer *layer)
{
    if (layer->frozen <= 0)
        return 0;
    return (dn_layer_is_frozen (layer) ? 1 : 2) + (layer->frozen_bytes > 0 ? 2 : 0);
}

static struct entry entry_of (const struct dn_layers *layers, int i, double alike)
{
    const struct dn_layer *layer = &layers->list[i];
    bool follows = i > 0 && layers->list[i - 1].kind == DN_LAYER_SOFTMAX;
    struct entry entry = {
        .layer = layer,
        .at = i,
        .bucket = i,
        .type = {(double) layer->kind,
                 layer->kernel,
                 layer->first ? 1 : 0,
                 frozen_type (layer),
                 /* Dropout of probabilities is a part of attention. */
                 follows && layer->kind == DN_LAYER_DROPOUT ? 1 : 0,
                 /* Operators of blocks are not merged with others. */
                 layers->blocks > 1 && layer->repeat >= layers->blocks ? 1 : 0,
                 usual_groups (layer) > 1 ? 1 : 0,
                 layer->in[0].rank + 10 * layer->n_in + 100 * layer->out.rank,
                 alike < STRETCH_ALIKE ? floor (N_STRETCHES * i / (double) layers->n)
                                       : 0}};

    measure (&entry);
    return entry;
}

/* By type, then by sizes, then by place: no two are equal. */
static int compare (const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;

    for (size_t i = 0; i < DN_N_ELEMENTS (x->type); i++)
        if (x->type[i] != y->type[i])
            return x->type[i] < y->type[i] ? -1 : 1;
    for (int i = 0; i < N_SIZES; i++)
        if (x->sizes[i] != y->sizes[i])
            return x->sizes[i] < y->sizes[i] ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static bool are_alike (const struct entry *a, const struct entry *b, double alike)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (a->type); i++)
        if (a->type[i] != b->type[i])
            return false;
    for (int i = 0; i < N_SIZES; i++)
        if (a->sizes[i] != b->sizes[i]
            && (a->sizes[i] < 0 || b->sizes[i] < 0
                || fabs (a->sizes[i] - b->sizes[i])
                       > alike * dn_min (a->sizes[i], b->sizes[i])))
            return false;
    return true;
}

/* Totals of the layers of a bucket. */
struct bucket {
    double n;
    double sizes[N_SIZES];
    double in;
    double out;
    double work; /* products of sizes, in proportion to the operations */
    double params;
    double tensors;
    double frozen;
    double frozen_bytes;
    double saved;
    double masks;
    double amp_saved;
};

static void fill (struct bucket *bucket, const struct entry *entry)
{
    const struct dn_layer *layer = entry->layer;
    double n = layer->repeat;

    bucket->n += n;
    for (int i = 0; i < N_SIZES; i++)
        bucket->sizes[i] += n * entry->sizes[i];
    bucket->in += n * dn_layer_in (layer);
    bucket->out += n * dn_layer_out (layer);
    bucket->work +=
        n * entry->sizes[0] * entry->sizes[1] * entry->sizes[2] * usual_groups (layer);
    bucket->params += n * layer->params;
    bucket->tensors += n * dn_layer_tensors (layer);
    bucket->frozen += n * layer->frozen;
    bucket->frozen_bytes += n * layer->frozen_bytes;
    bucket->saved += n * layer->saved;
    bucket->masks += n * dn_layer_masks (layer);
    bucket->amp_saved += n * layer->amp_saved;
}

static double whole (double number)
{
    return dn_min (dn_max (1, round (number)), EXTENT_MAX);
}

/* Mean sizes as whole numbers: positions, and input and output features of a group. The
 * larger of positions and input features is derived from the operations; the rest after
 * rounding is 'owed' and added to the next bucket.
 */
static void shape_product (struct dn_layer *layer, struct bucket *b, double *owed)
{
    double rows = whole (b->sizes[0] / b->n);
    double out = whole (b->sizes[1] / b->n);
    double in = whole (b->sizes[2] / b->n);
    double groups = is_conv (layer) ? whole (b->sizes[3] / b->n) : 1;
    double each = b->n * groups * out;
    int features = is_conv (layer) ? 0 : 1;

    if (rows > in)
        rows = whole ((b->work + *owed) / (each * in));
    else
        in = whole ((b->work + *owed) / (each * rows));
    *owed += b->work - each * rows * in;
    layer->groups = groups;
    layer->out.rank = layer->in[0].rank = 2;
    layer->out.dim[features] = groups * out;
    layer->out.dim[1 - features] = rows;
    layer->in[0].dim[features] = groups * in;
    layer->in[0].dim[1 - features] = whole (b->in / b->n / (groups * in));
}

static struct dn_layer make_mean (const struct entry *first,
                                  struct bucket *b,
                                  double owed[DN_N_LAYER_KINDS])
{
    struct dn_layer layer = *first->layer;

    layer.repeat = b->n;
    layer.params = b->params / b->n;
    layer.tensors = b->tensors / b->n;
    layer.frozen = b->frozen / b->n;
    layer.frozen_bytes = b->frozen_bytes / b->n;
    layer.saved = b->saved / b->n;
    layer.masks = b->masks / b->n;
    layer.amp_saved = b->amp_saved / b->n;
    if (is_conv (&layer) || layer.kind == DN_LAYER_LINEAR) {
        shape_product (&layer, b, &owed[layer.kind]);
    } else if (layer.kind == DN_LAYER_OTHER) {
        layer.bytes = b->sizes[0] / b->n;
        layer.flops = b->sizes[1] / b->n;
    } else {
        if (layer.n_in > 0)
            layer.in[0] = (struct dn_extent){.dim = {whole (b->in / b->n)}, .rank = 1};
        layer.out = (struct dn_extent){.dim = {whole (b->out / b->n)}, .rank = 1};
    }
    simplify (&layer);
    return layer;
}

/* Replace the members of each bucket, which are adjacent, by one layer in the place of
 * the first. 'entries' become the layers that are left.
 */
static int fill_all (struct entry *entries, int n, struct dn_layer *means)
{
    double owed[DN_N_LAYER_KINDS] = {0};
    int left = 0;

    for (int i = 0; i < n;) {
        struct bucket bucket = {0};
        struct entry first = entries[i];
        int members = 0;

        for (; i < n && entries[i].bucket == first.bucket; i++, members++) {
            fill (&bucket, &entries[i]);
            if (entries[i].at < first.at)
                first.at = entries[i].at;
        }
        means[left] = members > 1 ? make_mean (&first, &bucket, owed) : *first.layer;
        first.layer = &means[left];
        entries[left++] = first;
    }
    return left;
}

static int compare_places (const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

int dn_layers_fewer (const struct dn_layers *layers,
                     double alike,
                     int n_min,
                     struct dn_layers *fewer)
{
    size_t n = (size_t) layers->n;
    dn_cleanup (dn_free_ptr) struct entry *entries = calloc (n + 1, sizeof (*entries));
    dn_cleanup (dn_free_ptr) struct dn_layer *means = calloc (n + 1, sizeof (*means));
    struct dn_err err;
    int left;

    *fewer = *layers;
    fewer->list = NULL;
    fewer->n = 0;
    if (!entries || !means)
        return -1;
    for (int i = 0; i < layers->n; i++)
        entries[i] = entry_of (layers, i, alike);
    qsort (entries, n, sizeof (*entries), compare);
    for (int i = 1, first = 0, gone = 0; i < layers->n; i++) {
        if (gone < layers->n - n_min && are_alike (&entries[first], &entries[i], alike))
            gone++;
        else
            first = i;
        entries[i].bucket = entries[first].at;
    }
    left = fill_all (entries, layers->n, means);
    qsort (entries, (size_t) left, sizeof (*entries), compare_places);
    for (int i = 0; i < left; i++)
        if (dn_layers_add (fewer, entries[i].layer, &err) < 0) {
            dn_layers_free (fewer);
            return -1;
        }
    return 0;
}
