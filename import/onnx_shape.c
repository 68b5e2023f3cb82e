/* onnx_shape.c - the shapes of all values of an ONNX graph: inputs, learned arrays, and
 * a pass over the nodes. The rules of the operators are in onnx_rules.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/onnx_shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Limits of a dimension, and of the elements of one value. */
#define DIM_MAX      1e9
#define ELEMENTS_MAX 1e15

/* Limit of the arrays whose numbers are kept. Shapes, which a graph computes with, are
 * much smaller.
 */
#define DATA_ELEMENTS_MAX 1024
#define DATA_BYTES_MAX    ((size_t) 64 * 1024 * 1024)

/* Data types of the format. */
enum {
    TYPE_FLOAT = 1,
    TYPE_INT32 = 6,
    TYPE_INT64 = 7,
    TYPE_BOOL = 9,
    TYPE_HALF = 10,
    TYPE_DOUBLE = 11,
    TYPE_BFLOAT16 = 16
};

static bool is_floating (int type)
{
    return type == TYPE_FLOAT || type == TYPE_HALF || type == TYPE_DOUBLE
           || type == TYPE_BFLOAT16;
}

const struct dn_onnx_value *dn_onnx_in (const struct dn_onnx_step *step, int i)
{
    int id = i < step->node->n_in ? step->node->in[i] : -1;

    return id >= 0 ? &step->run->values[id] : NULL;
}

struct dn_onnx_value *dn_onnx_out (const struct dn_onnx_step *step, int i)
{
    int id = i < step->node->n_out ? step->node->out[i] : -1;

    return id >= 0 ? &step->run->values[id] : NULL;
}

double dn_onnx_elements (const struct dn_onnx_value *value)
{
    double elements = 1;

    for (int i = 0; i < value->rank; i++)
        elements *= value->dim[i];
    return elements;
}

double *dn_onnx_data (struct dn_onnx_run *run, struct dn_onnx_value *value)
{
    double elements = dn_onnx_elements (value);
    size_t bytes;

    free (value->data);
    value->data = NULL;
    if (!(elements <= DATA_ELEMENTS_MAX))
        return NULL;
    bytes = (size_t) fmax (elements, 1) * sizeof (*value->data);
    if (bytes > run->data_left)
        return NULL;
    run->data_left -= bytes;
    value->data = calloc (1, bytes);
    return value->data;
}

/* On a machine of another byte order the numbers are wrong, and the shapes computed
 * from them are rejected.
 */
static bool copy_raw (const DnOnnx__Tensor *tensor, double *data, size_t n)
{
    size_t width = tensor->data_type == TYPE_INT64    ? sizeof (int64_t)
                   : tensor->data_type == TYPE_DOUBLE ? sizeof (double)
                   : tensor->data_type == TYPE_BOOL   ? 1
                                                      : sizeof (int32_t);

    if (tensor->raw_data.len != n * width)
        return false;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *at = tensor->raw_data.data + i * width;
        int64_t wide;
        int32_t narrow;
        float real;

        switch (tensor->data_type) {
        case TYPE_INT64:
            memcpy (&wide, at, sizeof (wide));
            data[i] = (double) wide;
            break;
        case TYPE_INT32:
            memcpy (&narrow, at, sizeof (narrow));
            data[i] = narrow;
            break;
        case TYPE_FLOAT:
            memcpy (&real, at, sizeof (real));
            data[i] = real;
            break;
        case TYPE_DOUBLE:
            memcpy (&data[i], at, sizeof (data[i]));
            break;
        case TYPE_BOOL:
            data[i] = *at;
            break;
        default:
            return false;
        }
    }
    return true;
}

static bool copy_data (const DnOnnx__Tensor *tensor, double *data, size_t n)
{
    if (tensor->raw_data.len > 0)
        return copy_raw (tensor, data, n);
    if (tensor->n_int64_data == n && n > 0)
        for (size_t i = 0; i < n; i++)
            data[i] = (double) tensor->int64_data[i];
    else if (tensor->n_int32_data == n && n > 0)
        for (size_t i = 0; i < n; i++)
            data[i] = tensor->int32_data[i];
    else if (tensor->n_float_data == n && n > 0)
        for (size_t i = 0; i < n; i++)
            data[i] = (double) tensor->float_data[i];
    else
        return n == 0;
    return true;
}

static int check_shape (const struct dn_onnx_value *value, struct dn_err *err)
{
    for (int i = 0; i < value->rank; i++)
        if (!(value->dim[i] >= 0 && value->dim[i] <= DIM_MAX))
            return dn_err_set (err,
                               DN_E_RANGE,
                               "dimension %d: %g out of range 0..%g",
                               i,
                               value->dim[i],
                               DIM_MAX);
    if (!(dn_onnx_elements (value) <= ELEMENTS_MAX))
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "%g elements, expected at most %g",
                           dn_onnx_elements (value),
                           ELEMENTS_MAX);
    return 0;
}

/* Set a value that the file contains. */
static int set_tensor (struct dn_onnx_run *run,
                       const DnOnnx__Tensor *tensor,
                       struct dn_onnx_value *value,
                       struct dn_err *err)
{
    double *data;

    if (tensor->n_dims > DN_ONNX_RANK_MAX)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "%zu dimensions, expected at most %d",
                           tensor->n_dims,
                           DN_ONNX_RANK_MAX);
    value->rank = (int) tensor->n_dims;
    for (int i = 0; i < value->rank; i++)
        value->dim[i] = (double) tensor->dims[i];
    value->constant = true;
    value->floating = is_floating (tensor->data_type);
    if (check_shape (value, err) < 0)
        return -1;
    data = dn_onnx_data (run, value);
    if (data && !copy_data (tensor, data, (size_t) dn_onnx_elements (value))) {
        free (value->data);
        value->data = NULL;
    }
    return 0;
}

int dn_onnx_constant (struct dn_onnx_step *step)
{
    const DnOnnx__Attribute *whole = dn_onnx_attribute (step->node, "value");
    const DnOnnx__Attribute *integer = dn_onnx_attribute (step->node, "value_int");
    const DnOnnx__Attribute *integers = dn_onnx_attribute (step->node, "value_ints");
    const DnOnnx__Attribute *real = dn_onnx_attribute (step->node, "value_float");
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    double *data;

    if (!out)
        return 0;
    out->constant = true;
    if (whole && whole->t)
        return set_tensor (step->run, whole->t, out, step->err);
    out->rank = integers ? 1 : 0;
    out->dim[0] = integers ? (double) integers->n_ints : 0;
    out->floating = real != NULL;
    data = dn_onnx_data (step->run, out);
    if (data && integers)
        for (size_t i = 0; i < integers->n_ints; i++)
            data[i] = (double) integers->ints[i];
    else if (data)
        data[0] = integer ? (double) integer->i : real ? (double) real->f : 0;
    return 0;
}

/* "seq", "sequence_length", "max_len" */
static bool sounds_like_length (const char *name)
{
    return strstr (name, "seq") || strstr (name, "len");
}

static bool is_batch (const struct dn_onnx_run *run, const char *name, int axis)
{
    if (!run->symbol)
        return false;
    return run->symbol[0] == '\0' ? name[0] == '\0' && axis == 0
                                  : strcmp (run->symbol, name) == 0;
}

/* The size of a dimension that has a symbol, or 0. */
static double size_of (const struct dn_onnx_run *run, const char *name, int axis)
{
    const struct dn_onnx_sizes *sizes = run->sizes;

    if (is_batch (run, name, axis))
        return run->batch;
    for (int i = 0; i < sizes->n_symbols; i++)
        if (strcmp (sizes->symbols[i].name, name) == 0)
            return sizes->symbols[i].size;
    return sounds_like_length (name) ? sizes->seq_len : 0;
}

static const DnOnnx__TensorType *type_of (const DnOnnx__Value *value)
{
    const DnOnnx__TensorType *type = value->type ? value->type->tensor_type : NULL;

    return type && type->shape && type->shape->n_dim <= DN_ONNX_RANK_MAX ? type : NULL;
}

/* Set a value to its declared shape, if all its dimensions have a size. */
static int set_declared (const struct dn_onnx_run *run,
                         const DnOnnx__Value *declared,
                         struct dn_onnx_value *value,
                         struct dn_err *err)
{
    const DnOnnx__TensorType *type = type_of (declared);

    if (!type)
        return dn_err_set (err, DN_E_RANGE, "no shape");
    for (size_t i = 0; i < type->shape->n_dim; i++) {
        const DnOnnx__Dimension *dim = type->shape->dim[i];
        const char *name = dim->dim_param ? dim->dim_param : "";

        value->dim[i] = dim->has_dim_value && name[0] == '\0'
                            ? (double) dim->dim_value
                            : size_of (run, name, (int) i);
        if (value->dim[i] == 0)
            return dn_err_set (err,
                               DN_E_RANGE,
                               "the size of '%s' is not known, expected --dim NAME=N",
                               dn_quote (name, strlen (name)).text);
    }
    value->rank = (int) type->shape->n_dim;
    value->floating = is_floating (type->elem_type);
    return check_shape (value, err);
}

static int set_initializers (struct dn_onnx_run *run, struct dn_err *err)
{
    const DnOnnx__Graph *graph = run->file->graph;

    for (size_t i = 0; i < graph->n_initializer; i++) {
        const DnOnnx__Tensor *tensor = graph->initializer[i];
        int id = dn_onnx_find (run->file, tensor->name);
        struct dn_onnx_value *value;

        if (id < 0)
            continue;
        value = &run->values[id];
        if (set_tensor (run, tensor, value, err) < 0)
            return dn_err_wrap (err,
                                "initializer '%s'",
                                dn_quote (tensor->name, strlen (tensor->name)).text);
        value->origin = value->floating ? id : -1;
    }
    return 0;
}

static int set_inputs (struct dn_onnx_run *run, struct dn_err *err)
{
    const DnOnnx__Graph *graph = run->file->graph;

    for (size_t i = 0; i < graph->n_input; i++) {
        const DnOnnx__Value *input = graph->input[i];
        int id = dn_onnx_find (run->file, input->name);

        if (id < 0 || run->values[id].rank >= 0) /* older files list weights too */
            continue;
        if (set_declared (run, input, &run->values[id], err) < 0)
            return dn_err_wrap (
                err, "input '%s'", dn_quote (input->name, strlen (input->name)).text);
    }
    return 0;
}

const char *dn_onnx_batch (const struct dn_onnx *file,
                           const struct dn_onnx_sizes *sizes,
                           double *batch)
{
    const DnOnnx__Graph *graph = file->graph;
    const char *found = NULL;

    *batch = sizes->samples > 0 ? sizes->samples : 1;
    for (size_t i = 0; i < graph->n_input && !found; i++) {
        const DnOnnx__TensorType *type = type_of (graph->input[i]);

        for (size_t j = 0; type && j < type->shape->n_dim && !found; j++) {
            const DnOnnx__Dimension *dim = type->shape->dim[j];
            const char *name = dim->dim_param ? dim->dim_param : "";

            if (dim->has_dim_value && name[0] == '\0')
                continue;
            if (j == 0 || strncasecmp (name, "batch", strlen ("batch")) == 0)
                found = name;
        }
    }
    if (!found && sizes->samples == 0 && graph->n_input > 0) {
        const DnOnnx__TensorType *type = type_of (graph->input[0]);

        if (type && type->shape->n_dim > 1 && type->shape->dim[0]->dim_value > 0)
            *batch = (double) type->shape->dim[0]->dim_value;
    }
    return found;
}

/* An output of a node with only constant inputs is constant, and represents the first
 * learned array among them.
 */
static void inherit (const struct dn_onnx_step *step)
{
    bool constant = true;
    int origin = -1;

    for (int i = 0; i < step->node->n_in; i++) {
        const struct dn_onnx_value *in = dn_onnx_in (step, i);

        constant = constant && (!in || in->constant);
        if (in && origin < 0)
            origin = in->origin;
    }
    for (int i = 0; i < step->node->n_out; i++) {
        struct dn_onnx_value *out = dn_onnx_out (step, i);

        if (!out)
            continue;
        out->constant = constant;
        out->origin = constant ? origin : -1;
    }
}

/* An operator without a rule: its outputs may be declared. */
static int shape_declared (struct dn_onnx_step *step)
{
    const DnOnnx__Graph *graph = step->run->file->graph;

    for (int i = 0; i < step->node->n_out; i++) {
        const char *name = step->node->proto->output[i];
        struct dn_onnx_value *out = dn_onnx_out (step, i);

        for (size_t j = 0; out && j < graph->n_value_info + graph->n_output; j++) {
            const DnOnnx__Value *value = j < graph->n_value_info
                                             ? graph->value_info[j]
                                             : graph->output[j - graph->n_value_info];

            if (out->rank < 0 && value->name && strcmp (value->name, name) == 0
                && set_declared (step->run, value, out, step->err) < 0)
                return -1;
        }
        if (out && out->rank < 0)
            return dn_err_set (step->err,
                               DN_E_RANGE,
                               "the operator is not known, and '%s' has no shape",
                               dn_quote (name, strlen (name)).text);
    }
    return 0;
}

/* Limit of the nodes without a rule, each of which searches the declarations. */
#define DECLARED_MAX 1000

static int infer_node (struct dn_onnx_step *step, int *n_declared)
{
    const struct dn_onnx_rule *rule = dn_onnx_rule (step->node);
    int rc;

    for (int i = 0; i < step->node->n_in; i++) {
        const struct dn_onnx_value *in = dn_onnx_in (step, i);

        if (in && in->rank < 0)
            return dn_err_set (
                step->err, DN_E_SYNTAX, "input %d is not computed before it", i);
    }
    for (int i = 0; i < step->node->n_out; i++)
        if (dn_onnx_out (step, i) && dn_onnx_out (step, i)->rank >= 0)
            return dn_err_set (
                step->err, DN_E_SYNTAX, "output %d is computed twice", i);
    inherit (step);
    if (!rule && (*n_declared)++ >= DECLARED_MAX)
        return dn_err_set (step->err,
                           DN_E_LIMIT,
                           "more than %d operators are not known",
                           DECLARED_MAX);
    rc = rule ? rule->shape (step) : shape_declared (step);
    for (int i = 0; rc == 0 && i < step->node->n_out; i++) {
        const struct dn_onnx_value *out = dn_onnx_out (step, i);

        if (out && out->rank < 0) /* statistics and similar, which no node reads */
            continue;
        if (out)
            rc = check_shape (out, step->err);
    }
    return rc;
}

int dn_onnx_infer (struct dn_onnx_run *run, struct dn_err *err)
{
    int n_declared = 0;

    run->data_left = DATA_BYTES_MAX;
    run->values = calloc ((size_t) run->file->n_values + 1, sizeof (*run->values));
    if (!run->values)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < run->file->n_values; i++)
        run->values[i] = (struct dn_onnx_value){.rank = -1, .origin = -1};
    if (set_initializers (run, err) < 0 || set_inputs (run, err) < 0)
        return -1;
    for (int i = 0; i < run->file->n_nodes; i++) {
        struct dn_onnx_step step = {run, &run->file->nodes[i], err};

        if (infer_node (&step, &n_declared) < 0)
            return dn_onnx_wrap (step.node, err);
    }
    return 0;
}

void dn_onnx_run_free (struct dn_onnx_run *run)
{
    for (int i = 0; run->values && i < run->file->n_values; i++)
        free (run->values[i].data);
    free (run->values);
    run->values = NULL;
}
