/* sidecar.c - a job's description in JSON
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/sidecar.h"

#include <json-c/json.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/messages.h"

/* {"graph": {"ops": [{"in": [[3, 224, 224]]}]}} is nested six deep. */
#define DEPTH_MAX 8

/* As many operators as a graph may have, with 50 values each. */
#define VALUES_MAX (50 * DN_GRAPH_OPS_MAX)

/* Elements, FLOPs and bytes of one operator; sums over 20,000 of them stay finite. */
#define COUNT_MAX 1e18

/* A dimension, a kernel, a number of groups. */
#define EXTENT_MAX 1e9

/* Inputs and outputs of one operator: DenseNet concatenates 65. */
#define SHAPES_MAX 1024

const struct dn_layer_member dn_layer_numbers[] = {
    {"groups", offsetof (struct dn_layer, groups), 1, EXTENT_MAX},
    {"hidden", offsetof (struct dn_layer, hidden), 1, EXTENT_MAX},
    {"gates", offsetof (struct dn_layer, gates), 1, 16},
    {"params", offsetof (struct dn_layer, params), 0, COUNT_MAX},
    {"tensors", offsetof (struct dn_layer, tensors), 0, EXTENT_MAX},
    {"frozen", offsetof (struct dn_layer, frozen), 0, COUNT_MAX},
    {"frozen_bytes", offsetof (struct dn_layer, frozen_bytes), 0, COUNT_MAX},
    {"repeat", offsetof (struct dn_layer, repeat), 1, EXTENT_MAX},
    {"flops", offsetof (struct dn_layer, flops), 0, COUNT_MAX},
    {"bytes", offsetof (struct dn_layer, bytes), 0, COUNT_MAX},
    {"saved", offsetof (struct dn_layer, saved), 0, COUNT_MAX},
    {"masks", offsetof (struct dn_layer, masks), 0, COUNT_MAX},
    {"amp_saved", offsetof (struct dn_layer, amp_saved), 0, COUNT_MAX},
    {"window", offsetof (struct dn_layer, window), 0, EXTENT_MAX},
    {NULL, 0, 0, 0},
};
const struct dn_layer_member dn_layer_flags[] = {
    {"first", offsetof (struct dn_layer, first), 0, 0},
    {"fused", offsetof (struct dn_layer, fused), 0, 0},
    {"causal", offsetof (struct dn_layer, causal), 0, 0},
    {"moved", offsetof (struct dn_layer, moved), 0, 0},
    {NULL, 0, 0, 0},
};

static const char sidecar_keys[] = "dnnest spec graph";
static const char graph_keys[] = "name source ops blocks boundary input_bytes";
static const char op_keys[] = "op name in out kernel stride groups hidden gates params "
                              "tensors frozen frozen_bytes repeat flops bytes saved "
                              "masks amp_saved window causal moved first fused";

void *dn_layer_member (struct dn_layer *layer, const struct dn_layer_member *member)
{
    return (char *) layer + member->offset;
}

/* [3, 224, 224] */
static int read_extent (struct json_object *array,
                        struct dn_extent *extent,
                        struct dn_err *err)
{
    size_t rank;

    if (!json_object_is_type (array, json_type_array))
        return dn_refuse (err, shape_kind);
    rank = json_object_array_length (array);
    if (rank > DN_LAYER_RANK_MAX)
        return dn_refuse (err, shape_dims, rank, DN_LAYER_RANK_MAX);
    for (size_t i = 0; i < rank; i++) {
        struct json_object *size = json_object_array_get_idx (array, i);
        int64_t value = json_object_get_int64 (size);

        if (!json_object_is_type (size, json_type_int) || value < 1
            || (double) value > EXTENT_MAX)
            return dn_refuse (err,
                              shape_size,
                              DN_QUOTED (json_object_to_json_string (size)),
                              EXTENT_MAX);
        extent->dim[i] = (double) value;
    }
    extent->rank = (int) rank;
    return 0;
}

/* The shapes of 'key'; beyond the first 'max' only their elements are counted. */
static int read_extents (struct json_object *op,
                         const char *key,
                         int max,
                         struct dn_extent extents[],
                         int *n,
                         double *more,
                         struct dn_err *err)
{
    struct json_object *array;

    if (dn_json_read_array (op, key, SHAPES_MAX, &array, err) < 0)
        return -1;
    if (array)
        *more = *n = 0;
    for (size_t i = 0; array && i < json_object_array_length (array); i++) {
        struct dn_extent extent = {.rank = 0};

        if (read_extent (json_object_array_get_idx (array, i), &extent, err) < 0)
            return dn_err_wrap (err, "%s", key);
        if (*n < max)
            extents[(*n)++] = extent;
        else
            *more += dn_extent_elements (&extent);
    }
    return 0;
}

static int read_kernel (struct json_object *op, double *kernel, struct dn_err *err)
{
    double sizes[3];
    double ignored[3];
    int n = 0;
    int n_strides = 0;

    if (dn_json_read_reals (op, "kernel", 1, 1e6, 1, 3, sizes, &n, err) < 0
        || dn_json_read_reals (op, "stride", 1, 1e6, 1, 3, ignored, &n_strides, err)
               < 0)
        return -1;
    for (int i = 0; i < n; i++)
        *kernel = i > 0 ? *kernel * sizes[i] : sizes[i];
    return 0;
}

static int read_members (struct json_object *op,
                         struct dn_layer *layer,
                         struct dn_err *err)
{
    int n_out = 0;

    for (const struct dn_layer_member *i = dn_layer_numbers; i->key; i++)
        if (dn_json_read_real (
                op, i->key, i->min, i->max, dn_layer_member (layer, i), err)
            < 0)
            return -1;
    for (const struct dn_layer_member *i = dn_layer_flags; i->key; i++)
        if (dn_json_read_bool (op, i->key, dn_layer_member (layer, i), err) < 0)
            return -1;
    if (dn_json_read_text (op, "name", layer->name, sizeof (layer->name), err) < 0
        || read_kernel (op, &layer->kernel, err) < 0
        || read_extents (op,
                         "in",
                         DN_LAYER_INPUTS_MAX,
                         layer->in,
                         &layer->n_in,
                         &layer->more_in,
                         err)
               < 0)
        return -1;
    return read_extents (op, "out", 1, &layer->out, &n_out, &layer->more_out, err);
}

static int read_layer (struct json_object *op,
                       struct json_object *change,
                       struct dn_layer *layer,
                       struct dn_err *err)
{
    int kind = DN_LAYER_UNKNOWN;

    if (dn_json_read_keys (op, op_keys, err) < 0
        || dn_json_read_enum (op, "op", &dn_layer_kind_names, &kind, err) < 0)
        return -1;
    if (kind == DN_LAYER_UNKNOWN)
        return dn_err_set (err, DN_E_RANGE, dn_say_err_op_missing);
    *layer = dn_layer_empty ((enum dn_layer_kind) kind);
    if (read_members (op, layer, err) < 0)
        return -1;
    return change
                   && (dn_json_read_keys (change, op_keys, err) < 0
                       || read_members (change, layer, err) < 0)
               ? -1
               : 0;
}

struct json_object *dn_sidecar_change (struct dn_sidecar_changes *changes)
{
    struct json_object *next = NULL;

    if (changes->left > 0)
        changes->left--;
    else if (changes->list)
        next = json_object_array_get_idx (changes->list, changes->at++);
    if (!json_object_is_type (next, json_type_int))
        return next;
    changes->left = json_object_get_int64 (next) - 1;
    return NULL;
}

/* Operators between two looks at the deadline: some 20 microseconds. */
#define OPS_PER_LOOK 8

static int read_layers (struct json_object *ops,
                        struct json_object *changes,
                        struct dn_layers *layers,
                        const struct dn_deadline *deadline,
                        struct dn_err *err)
{
    struct dn_sidecar_changes next = {.list = changes};

    for (size_t i = 0; i < json_object_array_length (ops); i++) {
        struct json_object *op = json_object_array_get_idx (ops, i);
        struct dn_layer layer;

        if (i % OPS_PER_LOOK == 0
            && dn_deadline_check (deadline, dn_say_rest_of_ops, err) < 0)
            return -1;
        if (read_layer (op, dn_sidecar_change (&next), &layer, err) < 0
            || dn_layers_add (layers, &layer, err) < 0)
            return dn_err_wrap (err, "ops[%zu]", i);
    }
    return 0;
}

int dn_sidecar_read_layers (struct json_object *json,
                            bool network,
                            struct json_object *changes,
                            struct dn_layers *layers,
                            const struct dn_deadline *deadline,
                            struct dn_err *err)
{
    struct json_object *ops;
    char source[DN_NAME_MAX];

    if ((!network && dn_json_read_keys (json, graph_keys, err) < 0)
        || dn_json_read_text (json, "name", layers->name, sizeof (layers->name), err)
               < 0
        || dn_json_read_text (json, "source", source, sizeof (source), err) < 0
        || dn_json_read_real (json, "blocks", 0, DN_LAYERS_MAX, &layers->blocks, err)
               < 0
        || dn_json_read_real (json, "boundary", 0, COUNT_MAX, &layers->boundary, err)
               < 0
        || dn_json_read_real (
               json, "input_bytes", 0, COUNT_MAX, &layers->input_bytes, err)
               < 0
        || dn_json_read_array (json, "ops", DN_GRAPH_OPS_MAX, &ops, err) < 0)
        return -1;
    if (!ops || json_object_array_length (ops) == 0)
        return dn_refuse (err, ops_missing);
    if (layers->name[0] == '\0')
        memcpy (layers->name, "graph", sizeof ("graph"));
    return read_layers (ops, changes, layers, deadline, err);
}

/* The values of 'spec' are written as in metadata, "key=value", so that the same parser
 * checks them.
 */
static int read_key (const char *key,
                     struct json_object *value,
                     struct dn_spec *spec,
                     struct dn_err *err)
{
    char text[DN_METADATA_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    switch (json_object_get_type (value)) {
    case json_type_string:
    case json_type_int:
        dn_buf_add (&buf, "%s=%s", key, json_object_get_string (value));
        break;
    case json_type_boolean:
        dn_buf_add (&buf, "%s=%d", key, json_object_get_boolean (value) ? 1 : 0);
        break;
    case json_type_double:
        dn_buf_add (&buf, "%s=%s", key, json_object_to_json_string (value));
        break;
    default:
        return dn_refuse (err,
                          json_type,
                          DN_QUOTED (key),
                          json_type_to_name (json_object_get_type (value)),
                          dn_say_sidecar_value);
    }
    if (buf.cut || strchr (text, ',') || strchr (text, '\n'))
        return dn_refuse (err, sidecar_short, DN_QUOTED (key));
    return dn_spec_read_at (dn_span_of (text), 0, spec, err);
}

static int read_spec (struct json_object *json,
                      struct dn_spec *spec,
                      struct dn_err *err)
{
    json_object_object_foreach (json, key, value)
    {
        if (read_key (key, value, spec, err) < 0)
            return -1;
    }
    return 0;
}

static int read_version (struct json_object *json, struct dn_err *err)
{
    int64_t version = 0;

    if (dn_json_read_int (json, "dnnest", 0, INT64_MAX, &version, err) < 0)
        return -1;
    if (version == DN_SIDECAR_VERSION)
        return 0;
    return dn_refuse (err,
                      sidecar_version,
                      dn_json_member (json, "dnnest") ? dn_say_version_other
                                                      : dn_say_version_missing,
                      DN_SIDECAR_VERSION);
}

/* A described network needs a name, of characters that metadata allows. */
static void name_model (struct dn_sidecar *sidecar)
{
    char *name = sidecar->spec.model;

    snprintf (name, sizeof (sidecar->spec.model), "%s", sidecar->layers.name);
    for (; *name; name++)
        if (!dn_is_letter (*name) && !dn_is_digit (*name) && !strchr ("_.-", *name))
            *name = '_';
}

static int read_sidecar (struct json_object *json,
                         struct dn_sidecar *sidecar,
                         const struct dn_deadline *deadline,
                         struct dn_err *err)
{
    struct json_object *spec;
    struct json_object *graph;

    if (dn_json_read_keys (json, sidecar_keys, err) < 0 || read_version (json, err) < 0
        || dn_json_read_object (json, "spec", &spec, err) < 0
        || dn_json_read_object (json, "graph", &graph, err) < 0)
        return -1;
    if (spec && read_spec (spec, &sidecar->spec, err) < 0)
        return dn_err_wrap (err, "spec");
    sidecar->layers.input_bytes = -1;
    if (graph
        && dn_sidecar_read_layers (graph, false, NULL, &sidecar->layers, deadline, err)
               < 0)
        return dn_err_wrap (err, "graph");
    if (graph && sidecar->spec.model[0] == '\0')
        name_model (sidecar);
    return 0;
}

static int read_text (struct dn_span text,
                      size_t max_values,
                      const struct dn_deadline *deadline,
                      struct dn_sidecar *sidecar,
                      struct dn_err *err)
{
    struct dn_sidecar read = {.spec = sidecar->spec, .layers = {.n = 0}};
    dn_cleanup (dn_json_free) struct json_object *json =
        dn_json_read_by (text, DEPTH_MAX, max_values, deadline, err);

    if (!json || read_sidecar (json, &read, deadline, err) < 0) {
        dn_layers_free (&read.layers);
        return dn_err_wrap (err, "sidecar");
    }
    dn_layers_free (&sidecar->layers);
    *sidecar = read;
    return 0;
}

int dn_sidecar_read (struct dn_span text,
                     struct dn_sidecar *sidecar,
                     struct dn_err *err)
{
    return read_text (text, VALUES_MAX, NULL, sidecar, err);
}

int dn_sidecar_read_carried (struct dn_span text,
                             const struct dn_deadline *deadline,
                             struct dn_sidecar *sidecar,
                             struct dn_err *err)
{
    if (dn_json_has_more (text, '{', DN_SIDECAR_OBJECTS_MAX))
        return dn_refuse (err, sidecar_objects, DN_SIDECAR_OBJECTS_MAX);
    return read_text (text, DN_SIDECAR_VALUES_MAX, deadline, sidecar, err);
}

void dn_sidecar_free (struct dn_sidecar *sidecar)
{
    if (sidecar)
        dn_layers_free (&sidecar->layers);
}
