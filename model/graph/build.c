/* build.c - the cursor: start, keys, list of operators, finish
 *
 * The verbs are in verbs.c. A graph of the zoo has 10 to 700 operators and takes a few
 * to some tens of microseconds; the list grows by doubling.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/build.h"
#include "base/messages.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whole numbers are exact in a double up to here; no network is larger. */
#define COUNT_MAX 9007199254740992.0

#define FIRST_CAPACITY 256

void dn_build_fail (struct dn_build *build, enum dn_errc code, const char *format, ...)
{
    char text[DN_ERR_TEXT_MAX];
    va_list args;

    if (build->failed)
        return;
    build->failed = true;
    va_start (args, format);
    vsnprintf (text, sizeof (text), format, args);
    va_end (args);
    dn_err_set (build->err, code, "%s", text);
}

void dn_build_start (struct dn_build *build,
                     const struct dn_spec *spec,
                     const struct dn_deadline *deadline,
                     const char *name,
                     struct dn_err *err)
{
    *build =
        (struct dn_build){.spec = spec, .deadline = deadline, .err = err, .repeat = 1};
    build->graph.padding = 1;
    snprintf (build->graph.name, sizeof (build->graph.name), "%s", name);
}

/* Remember that the builder has read the key at 'offset'. */
static void want (struct dn_build *build, size_t offset)
{
    build->wanted = dn_keyset_or (build->wanted, dn_keyset_of (offset));
}

double dn_build_int (struct dn_build *build, size_t offset, double otherwise)
{
    int64_t value;

    memcpy (&value, (const char *) build->spec + offset, sizeof (value));
    want (build, offset);
    if (value == DN_UNSET && offset == offsetof (struct dn_spec, seq_len))
        build->graph.tokens = (int64_t) otherwise;
    return value == DN_UNSET ? otherwise : (double) value;
}

double dn_build_real (struct dn_build *build, size_t offset, double otherwise)
{
    double value;

    memcpy (&value, (const char *) build->spec + offset, sizeof (value));
    want (build, offset);
    return value < 0 ? otherwise : value;
}

enum dn_head dn_build_head (struct dn_build *build,
                            enum dn_head otherwise,
                            unsigned others)
{
    enum dn_head head = build->spec->head;

    if (head != otherwise && !(others >> head & 1))
        return otherwise;
    want (build, offsetof (struct dn_spec, head));
    return head;
}

enum dn_stem dn_build_stem (struct dn_build *build, enum dn_stem otherwise)
{
    want (build, offsetof (struct dn_spec, stem));
    return build->spec->stem == DN_STEM_UNKNOWN ? otherwise : build->spec->stem;
}

/* Read the size of the image that the specification gives, if it does. One number
 * applies to all dimensions.
 */
static void read_image (struct dn_build *build, double *dims, int n_dims)
{
    const struct dn_image *image = &build->spec->image;

    want (build, offsetof (struct dn_spec, image));
    if (image->n_dims == 0)
        return;
    if (image->n_dims != 1 && image->n_dims != n_dims) {
        dn_build_refuse (
            build, image_dims_of, image->n_dims, n_dims, build->graph.name);
        return;
    }
    for (int i = 0; i < n_dims; i++)
        dims[i] = (double) image->dim[image->n_dims == 1 ? 0 : i];
}

/* Add 'elements' of 'bytes' each to the sample. */
static void add_input (struct dn_build *build, double elements, double bytes)
{
    build->graph.input += elements;
    build->graph.input_bytes += elements * bytes;
}

void dn_build_image (struct dn_build *build, double channels, double size, int n_dims)
{
    build->at =
        (struct dn_shape){.dim = {size, size, size}, .n_dims = n_dims, .input = true};
    build->at.channels = DN_WANT (build, in_channels, channels);
    read_image (build, build->at.dim, n_dims);
    add_input (build, dn_shape_elements (&build->at), 4);
}

void dn_build_tokens (struct dn_build *build, double tokens)
{
    build->at = (struct dn_shape){
        .channels = 1, .dim = {tokens}, .n_dims = 1, .kept = true, .input = true};
    add_input (build, tokens, 8);
}

void dn_build_features (struct dn_build *build, double features, double tokens)
{
    build->at = (struct dn_shape){.channels = features, .input = true};
    if (tokens > 0) {
        build->at.dim[0] = tokens;
        build->at.n_dims = 1;
    }
    add_input (build, dn_shape_elements (&build->at), 4);
}

double dn_shape_positions (const struct dn_shape *shape)
{
    double positions = 1;

    for (int i = 0; i < shape->n_dims; i++)
        positions *= shape->dim[i];
    return positions;
}

double dn_shape_elements (const struct dn_shape *shape)
{
    return shape->channels * dn_shape_positions (shape);
}

struct dn_repeat dn_build_repeat (struct dn_build *build, double n)
{
    struct dn_repeat outer = {.times = build->repeat, .open = true};

    build->repeat *= n;
    return outer;
}

struct dn_repeat dn_build_repeat_end (struct dn_build *build, struct dn_repeat outer)
{
    build->repeat = outer.times;
    return (struct dn_repeat){.open = false};
}

void dn_build_blocks (struct dn_build *build, double n)
{
    build->graph.block_layers = (int64_t) n;
    build->graph.block_boundary = dn_shape_elements (&build->at);
}

/* Operators between two looks at the deadline: some 10 microseconds. */
#define OPS_PER_LOOK 128

/* False if the deadline has passed. */
static bool is_in_time (struct dn_build *build)
{
    if (build->graph.n_ops % OPS_PER_LOOK == OPS_PER_LOOK - 1
        && dn_deadline_check (build->deadline, dn_say_rest_of_network, build->err) < 0)
        build->failed = true;
    return !build->failed;
}

/* Make room for one more operator. */
static bool grow (struct dn_build *build)
{
    int capacity = build->capacity ? 2 * build->capacity : FIRST_CAPACITY;
    struct dn_op *ops;

    if (build->graph.n_ops < build->capacity)
        return true;
    if (build->graph.n_ops >= DN_GRAPH_OPS_MAX) {
        dn_build_refuse (build, net_ops, build->graph.name, DN_GRAPH_OPS_MAX);
        return false;
    }
    ops = reallocarray (build->graph.ops, (size_t) capacity, sizeof (*ops));
    if (!ops) {
        dn_build_refuse (build, net_memory, capacity, build->graph.name);
        return false;
    }
    build->graph.ops = ops;
    build->capacity = capacity;
    return true;
}

void dn_build_op (struct dn_build *build, const struct dn_op *op)
{
    double pending = build->pending;
    struct dn_op *slot;

    build->pending = 0;
    if (build->failed || build->repeat <= 0 || !is_in_time (build) || !grow (build))
        return;
    slot = &build->graph.ops[build->graph.n_ops++];
    *slot = *op;
    slot->repeat = build->repeat * (op->repeat > 0 ? op->repeat : 1);
    slot->weights = op->weights > 0 ? op->weights : op->params;
    slot->steps = op->steps > 0 ? op->steps : 1;
    slot->calls = build->calls > 0 ? build->calls : 1;
    slot->part = build->part;
    slot->expert = build->expert;
    slot->block = build->graph.block_layers > 1 && build->repeat > 1;
    slot->single = slot->single || slot->kind == DN_OP_LOSS;
    if (build->shared) {
        slot->params = 0;
        slot->tensors = 0;
    }
    slot->saved += pending / slot->repeat;
}

void dn_build_keep (struct dn_build *build)
{
    if (!build->at.kept)
        build->pending += build->repeat * dn_shape_elements (&build->at);
    build->at.kept = true;
}

double dn_build_round (double channels, double divisor)
{
    double rounded = floor ((channels + divisor / 2) / divisor) * divisor;

    rounded = dn_max (rounded, divisor);
    return rounded < 0.9 * channels ? rounded + divisor : rounded;
}

static void sum_up (struct dn_build *build)
{
    struct dn_graph *graph = &build->graph;
    double largest = 0;

    for (int i = 0; i < graph->n_ops; i++) {
        const struct dn_op *op = &graph->ops[i];

        dn_graph_count (graph, op);
        if (dn_op_is_product (op))
            graph->flops += op->repeat * op->flops;
        largest = dn_max (largest, op->repeat * (op->in + op->out + op->saved));
        graph->recent |= op->recent;
    }
    if (!(graph->params + graph->frozen_params <= COUNT_MAX) || !(largest <= COUNT_MAX))
        dn_build_refuse (build,
                         net_size,
                         graph->name,
                         graph->params + graph->frozen_params,
                         largest,
                         COUNT_MAX);
}

int dn_build_finish (struct dn_build *build, struct dn_graph *graph)
{
    if (!build->failed)
        sum_up (build);
    if (build->failed) {
        dn_graph_free (&build->graph);
        *graph = (struct dn_graph){0};
        return -1;
    }
    build->graph.unread =
        dn_keyset_minus (dn_spec_network_keys (build->spec),
                         dn_keyset_or (build->wanted, DN_KEYSET (model)));
    build->graph.read = build->wanted;
    *graph = build->graph;
    build->graph = (struct dn_graph){0};
    return 0;
}
