/* onnx_rules.c - the shapes and the kind of every operator of ONNX
 *
 * Where a node computes with shapes, the numbers are computed too. Opsets from 9 on:
 * some attributes became inputs later (axes, sizes, pads), so both are read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/onnx_shape.h"

/* A list of whole numbers of a node. */
struct list {
    double item[DN_ONNX_RANK_MAX * 2];
    int n;
};

static int want (const struct dn_onnx_step *step, int n_in)
{
    for (int i = 0; i < n_in; i++)
        if (!dn_onnx_in (step, i))
            return dn_err_set (step->err, DN_E_SYNTAX, "input %d is missing", i);
    if (!dn_onnx_out (step, 0))
        return dn_err_set (step->err, DN_E_SYNTAX, "it has no output");
    return 0;
}

static int misfit (const struct dn_onnx_step *step, const char *what)
{
    return dn_err_set (step->err, DN_E_RANGE, "%s", what);
}

static void set_shape (struct dn_onnx_value *out, const struct dn_onnx_value *as)
{
    memcpy (out->dim, as->dim, sizeof (out->dim));
    out->rank = as->rank;
    out->floating = as->floating;
}

static bool read_list (const struct dn_onnx_step *step,
                       const char *attribute,
                       int input,
                       struct list *list)
{
    const DnOnnx__Attribute *found = dn_onnx_attribute (step->node, attribute);
    const struct dn_onnx_value *value = input >= 0 ? dn_onnx_in (step, input) : NULL;
    double n = found ? (double) found->n_ints : 0;

    list->n = 0;
    if (!found && value && value->data)
        n = dn_onnx_elements (value);
    if (n > DN_ONNX_RANK_MAX * 2 || (!found && (!value || !value->data)))
        return false;
    for (; list->n < (int) n; list->n++)
        list->item[list->n] =
            found ? (double) found->ints[list->n] : value->data[list->n];
    return true;
}

static double item (const struct list *list, int i, double otherwise)
{
    return i < list->n ? list->item[i] : otherwise;
}

/* An axis, counted from the front; -1 if it is out of range. */
static int axis_of (double axis, int rank)
{
    if (axis < 0)
        axis += rank;
    return axis >= 0 && axis < rank ? (int) axis : -1;
}

static int same (struct dn_onnx_step *step)
{
    if (want (step, 1) < 0)
        return -1;
    set_shape (dn_onnx_out (step, 0), dn_onnx_in (step, 0));
    return 0;
}

static void copy_numbers (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *in = dn_onnx_in (step, 0);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    double *data = in->data ? dn_onnx_data (step->run, out) : NULL;

    if (data && dn_onnx_elements (in) == dn_onnx_elements (out))
        memcpy (data, in->data, (size_t) dn_onnx_elements (in) * sizeof (*data));
}

static int identity (struct dn_onnx_step *step)
{
    if (same (step) < 0)
        return -1;
    copy_numbers (step);
    return 0;
}

static int cast (struct dn_onnx_step *step)
{
    int64_t to = dn_onnx_int (step->node, "to", 1);

    if (identity (step) < 0)
        return -1;
    dn_onnx_out (step, 0)->floating = to == 1 || to == 10 || to == 11 || to == 16;
    return 0;
}

static double compute (const char *op, double a, double b)
{
    switch (op[0] == 'M' ? op[1] : op[0]) {
    case 'A':
        return a + b;
    case 'S':
        return a - b;
    case 'u':
        return a * b;
    case 'D':
        return b != 0 ? a / b : 0;
    case 'a':
        return fmax (a, b);
    case 'i':
        return fmin (a, b);
    case 'o':
        return b != 0 ? a - b * floor (a / b) : 0;
    case 'E':
        return a == b;
    default:
        return NAN;
    }
}

static const char *const computed[] =
    {"Add", "Sub", "Mul", "Div", "Max", "Min", "Mod", "Equal"};

/* Numbers of a sum, product, ... of two arrays of at most one dimension. */
static void compute_numbers (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *a = dn_onnx_in (step, 0);
    const struct dn_onnx_value *b = dn_onnx_in (step, 1);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    const char *op = dn_onnx_op (step->node);
    bool known = false;
    double *data;

    for (size_t i = 0; i < DN_N_ELEMENTS (computed); i++)
        known = known || strcmp (op, computed[i]) == 0;
    if (!known || !b || !a->data || !b->data || out->rank > 1)
        return;
    data = dn_onnx_data (step->run, out);
    for (int i = 0; data && i < (int) dn_onnx_elements (out); i++) {
        double x = a->data[dn_onnx_elements (a) > 1 ? i : 0];
        double y = b->data[dn_onnx_elements (b) > 1 ? i : 0];

        data[i] = compute (op, x, y);
        if (op[0] == 'D' && !a->floating)
            data[i] = trunc (data[i]);
    }
}

static int widen (struct dn_onnx_step *step,
                  struct dn_onnx_value *out,
                  const struct dn_onnx_value *in)
{
    int rank = in->rank > out->rank ? in->rank : out->rank;
    struct dn_onnx_value wide = *out;

    wide.rank = rank;
    for (int i = 1; i <= rank; i++) {
        double a = i <= out->rank ? out->dim[out->rank - i] : 1;
        double b = i <= in->rank ? in->dim[in->rank - i] : 1;

        if (a != b && a != 1 && b != 1)
            return misfit (step, "its inputs have incompatible shapes");
        wide.dim[rank - i] = a == 1 ? b : a;
    }
    *out = wide;
    return 0;
}

static int broadcast (struct dn_onnx_step *step)
{
    struct dn_onnx_value *out = dn_onnx_out (step, 0);

    if (want (step, 1) < 0)
        return -1;
    out->rank = 0;
    for (int i = 0; i < step->node->n_in; i++) {
        const struct dn_onnx_value *in = dn_onnx_in (step, i);

        if (in && widen (step, out, in) < 0)
            return -1;
        out->floating = out->floating || (in && in->floating);
    }
    compute_numbers (step);
    return 0;
}

/* Where of three numbers each. */
static int where (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *in[3];
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    double *data;

    if (want (step, 3) < 0 || broadcast (step) < 0)
        return -1;
    for (int i = 0; i < 3; i++) {
        in[i] = dn_onnx_in (step, i);
        if (!in[i]->data || in[i]->rank > 1)
            return 0;
    }
    data = dn_onnx_data (step->run, out);
    for (int i = 0; data && i < (int) dn_onnx_elements (out); i++) {
        const struct dn_onnx_value *from =
            in[in[0]->data[dn_onnx_elements (in[0]) > 1 ? i : 0] != 0 ? 1 : 2];

        data[i] = from->data[dn_onnx_elements (from) > 1 ? i : 0];
    }
    return 0;
}

/* Positions of a window that slides over 'size'. */
static double slide (const struct dn_onnx_step *step,
                     int i,
                     int n_dims,
                     double size,
                     double window)
{
    const DnOnnx__Attribute *pad = dn_onnx_attribute (step->node, "auto_pad");
    struct list pads;
    struct list strides;
    struct list dilations;
    double stride;
    double free_space;

    read_list (step, "pads", -1, &pads);
    read_list (step, "strides", -1, &strides);
    read_list (step, "dilations", -1, &dilations);
    stride = fmax (1, item (&strides, i, 1));
    if (pad && pad->has_s && pad->s.len >= 4 && memcmp (pad->s.data, "SAME", 4) == 0)
        return ceil (size / stride);
    free_space = size + item (&pads, i, 0) + item (&pads, i + n_dims, 0)
                 - fmax (1, item (&dilations, i, 1)) * (window - 1) - 1;
    if (dn_onnx_int (step->node, "ceil_mode", 0) == 1)
        return ceil (free_space / stride) + 1;
    return floor (free_space / stride) + 1;
}

static int conv (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    const struct dn_onnx_value *w = dn_onnx_in (step, 1);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);

    if (want (step, 2) < 0)
        return -1;
    if (x->rank < 3 || x->rank > 5 || w->rank != x->rank)
        return misfit (
            step, "expected an image and weights with the same number of dimensions");
    set_shape (out, x);
    out->dim[1] = w->dim[0];
    for (int i = 2; i < x->rank; i++)
        out->dim[i] = slide (step, i - 2, x->rank - 2, x->dim[i], w->dim[i]);
    return 0;
}

static int conv_transpose (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    const struct dn_onnx_value *w = dn_onnx_in (step, 1);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    struct list pads;
    struct list strides;
    struct list more;

    if (want (step, 2) < 0)
        return -1;
    if (x->rank < 3 || x->rank > 5 || w->rank != x->rank)
        return misfit (
            step, "expected an image and weights with the same number of dimensions");
    read_list (step, "pads", -1, &pads);
    read_list (step, "strides", -1, &strides);
    read_list (step, "output_padding", -1, &more);
    set_shape (out, x);
    out->dim[1] = w->dim[1] * (double) dn_onnx_int (step->node, "group", 1);
    for (int i = 2; i < x->rank; i++)
        out->dim[i] = (x->dim[i] - 1) * item (&strides, i - 2, 1) + w->dim[i]
                      + item (&more, i - 2, 0) - item (&pads, i - 2, 0)
                      - item (&pads, i - 2 + x->rank - 2, 0);
    return 0;
}

static int pool (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    struct list kernel;

    if (same (step) < 0)
        return -1;
    if (!read_list (step, "kernel_shape", -1, &kernel) || kernel.n != x->rank - 2)
        return misfit (step,
                       "kernel_shape is missing, or does not match the dimensions");
    for (int i = 2; i < x->rank; i++)
        dn_onnx_out (step, 0)->dim[i] =
            slide (step, i - 2, x->rank - 2, x->dim[i], kernel.item[i - 2]);
    return 0;
}

static int pool_global (struct dn_onnx_step *step)
{
    if (same (step) < 0)
        return -1;
    for (int i = 2; i < dn_onnx_in (step, 0)->rank; i++)
        dn_onnx_out (step, 0)->dim[i] = 1;
    return 0;
}

static int gemm (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *a = dn_onnx_in (step, 0);
    const struct dn_onnx_value *b = dn_onnx_in (step, 1);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    bool a_turned = dn_onnx_int (step->node, "transA", 0) == 1;
    bool b_turned = dn_onnx_int (step->node, "transB", 0) == 1;

    if (want (step, 2) < 0)
        return -1;
    if (a->rank != 2 || b->rank != 2 || a->dim[a_turned ? 0 : 1] != b->dim[b_turned])
        return misfit (step, "its factors have incompatible shapes");
    set_shape (out, a);
    out->dim[0] = a->dim[a_turned ? 1 : 0];
    out->dim[1] = b->dim[b_turned ? 0 : 1];
    return 0;
}

static int matmul (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *a = dn_onnx_in (step, 0);
    const struct dn_onnx_value *b = dn_onnx_in (step, 1);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    struct dn_onnx_value left;
    struct dn_onnx_value right;

    if (want (step, 2) < 0)
        return -1;
    if (a->rank < 1 || b->rank < 2 || a->dim[a->rank - 1] != b->dim[b->rank - 2])
        return misfit (step, "its factors have incompatible shapes");
    left = *a;
    right = *b;
    left.rank = a->rank > 2 ? a->rank - 2 : 0;
    right.rank = b->rank - 2;
    out->rank = 0;
    if (widen (step, out, &left) < 0 || widen (step, out, &right) < 0)
        return -1;
    if (out->rank + 2 > DN_ONNX_RANK_MAX)
        return misfit (step, "too many dimensions");
    if (a->rank > 1)
        out->dim[out->rank++] = a->dim[a->rank - 2];
    out->dim[out->rank++] = b->dim[b->rank - 1];
    out->floating = true;
    return 0;
}

static int reduce (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    bool keep = dn_onnx_int (step->node, "keepdims", 1) == 1;
    bool gone[DN_ONNX_RANK_MAX] = {false};
    struct list axes;

    if (want (step, 1) < 0)
        return -1;
    if (strncmp (dn_onnx_op (step->node), "Arg", 3) == 0) {
        axes.item[0] = (double) dn_onnx_int (step->node, "axis", 0);
        axes.n = 1;
    } else
        read_list (step, "axes", 1, &axes);
    for (int i = 0; i < axes.n; i++) {
        int axis = axis_of (axes.item[i], x->rank);

        if (axis < 0)
            return misfit (step, "an axis out of range");
        gone[axis] = true;
    }
    out->floating = x->floating;
    out->rank = 0;
    for (int i = 0; i < x->rank; i++) {
        bool away = axes.n == 0 || gone[i];

        if (!away || keep)
            out->dim[out->rank++] = away ? 1 : x->dim[i];
    }
    return 0;
}

static int reduce_product (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    double *data;

    if (reduce (step) < 0)
        return -1;
    if (!x->data || dn_onnx_elements (dn_onnx_out (step, 0)) != 1)
        return 0;
    data = dn_onnx_data (step->run, dn_onnx_out (step, 0));
    if (data)
        data[0] = 1;
    for (int i = 0; data && i < (int) dn_onnx_elements (x); i++)
        data[0] *= x->data[i];
    return 0;
}

static int reshape (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    bool zero_is_zero = dn_onnx_int (step->node, "allowzero", 0) == 1;
    struct list shape;
    double known = 1;
    int open = -1;

    if (want (step, 1) < 0)
        return -1;
    if (!read_list (step, "shape", 1, &shape) || shape.n > DN_ONNX_RANK_MAX)
        return misfit (step, "its shape is not known");
    for (int i = 0; i < shape.n; i++) {
        out->dim[i] = shape.item[i];
        if (shape.item[i] == 0 && !zero_is_zero && i < x->rank)
            out->dim[i] = x->dim[i];
        if (shape.item[i] == -1)
            open = i;
        else
            known *= out->dim[i];
    }
    if (open >= 0)
        out->dim[open] = known > 0 ? dn_onnx_elements (x) / known : 0;
    out->rank = shape.n;
    out->floating = x->floating;
    if (dn_onnx_elements (out) != dn_onnx_elements (x)
        || (open >= 0 && fmod (out->dim[open], 1) != 0))
        return misfit (step, "its shape has another number of elements");
    copy_numbers (step);
    return 0;
}

static int flatten (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    double axis = (double) dn_onnx_int (step->node, "axis", 1);

    if (want (step, 1) < 0)
        return -1;
    if (axis < 0)
        axis += x->rank;
    out->rank = 2;
    out->dim[0] = out->dim[1] = 1;
    out->floating = x->floating;
    for (int i = 0; i < x->rank; i++)
        out->dim[i < axis ? 0 : 1] *= x->dim[i];
    return 0;
}

/* Numbers of a part of an array, or of another order of its axes: axis 'i' of the
 * output runs from 'first[i]' in steps of 'by[i]' elements of the input.
 */
static void pick_numbers (struct dn_onnx_step *step,
                          double first,
                          const double by[DN_ONNX_RANK_MAX])
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    double *data = x->data ? dn_onnx_data (step->run, out) : NULL;

    for (int i = 0; data && i < (int) dn_onnx_elements (out); i++) {
        double at = first;
        int rest = i;

        for (int j = out->rank - 1; j >= 0; j--) {
            /* No rank exceeds the length of by[]: dn_onnx_infer () checks the ranks.
             * NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
            at += by[j] * (rest % (int) out->dim[j]);
            rest /= (int) out->dim[j];
        }
        data[i] = at >= 0 && at < dn_onnx_elements (x) ? x->data[(int) at] : 0;
    }
}

/* Elements from one index of an axis to the next. */
static double stride_of (const struct dn_onnx_value *x, int axis)
{
    double stride = 1;

    for (int i = axis + 1; i < x->rank; i++)
        stride *= x->dim[i];
    return stride;
}

static int transpose (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    double by[DN_ONNX_RANK_MAX] = {0};
    struct list perm;

    if (same (step) < 0)
        return -1;
    read_list (step, "perm", -1, &perm);
    for (int i = 0; i < x->rank; i++) {
        int from = axis_of (item (&perm, i, x->rank - 1 - i), x->rank);

        if (from < 0)
            return misfit (step, "perm names an axis out of range");
        dn_onnx_out (step, 0)->dim[i] = x->dim[from];
        by[i] = stride_of (x, from);
    }
    pick_numbers (step, 0, by);
    return 0;
}

static int squeeze (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    bool gone[DN_ONNX_RANK_MAX] = {false};
    struct list axes;

    if (want (step, 1) < 0)
        return -1;
    read_list (step, "axes", 1, &axes);
    for (int i = 0; i < axes.n; i++) {
        int axis = axis_of (axes.item[i], x->rank);

        if (axis < 0 || x->dim[axis] != 1)
            return misfit (step, "an axis out of range, or not of size 1");
        gone[axis] = true;
    }
    out->floating = x->floating;
    out->rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (!(gone[i] || (axes.n == 0 && x->dim[i] == 1)))
            out->dim[out->rank++] = x->dim[i];
    copy_numbers (step);
    return 0;
}

static int unsqueeze (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    bool new[DN_ONNX_RANK_MAX] = {false};
    struct list axes;
    int from = 0;

    if (want (step, 1) < 0)
        return -1;
    if (!read_list (step, "axes", 1, &axes) || x->rank + axes.n > DN_ONNX_RANK_MAX)
        return misfit (step, "its axes are not known, or too many");
    for (int i = 0; i < axes.n; i++) {
        int axis = axis_of (axes.item[i], x->rank + axes.n);

        if (axis < 0 || new[axis])
            return misfit (step, "an axis out of range, or twice");
        new[axis] = true;
    }
    out->rank = x->rank + axes.n;
    out->floating = x->floating;
    for (int i = 0; i < out->rank; i++)
        out->dim[i] = new[i] ? 1 : x->dim[from++];
    copy_numbers (step);
    return 0;
}

static void concat_numbers (struct dn_onnx_step *step)
{
    double *data;
    int n = 0;

    for (int i = 0; i < step->node->n_in; i++)
        if (!dn_onnx_in (step, i)->data)
            return;
    data = dn_onnx_data (step->run, dn_onnx_out (step, 0));
    for (int i = 0; data && i < step->node->n_in; i++)
        for (int j = 0; j < (int) dn_onnx_elements (dn_onnx_in (step, i)); j++)
            data[n++] = dn_onnx_in (step, i)->data[j];
}

static int concat (struct dn_onnx_step *step)
{
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    int axis;

    if (want (step, step->node->n_in) < 0 || same (step) < 0)
        return -1;
    axis = axis_of ((double) dn_onnx_int (step->node, "axis", 1), out->rank);
    if (axis < 0)
        return misfit (step, "an axis out of range");
    for (int i = 1; i < step->node->n_in; i++) {
        const struct dn_onnx_value *in = dn_onnx_in (step, i);

        if (in->rank != out->rank)
            return misfit (step, "its inputs have incompatible shapes");
        for (int j = 0; j < in->rank; j++)
            if (j != axis && in->dim[j] != out->dim[j])
                return misfit (step, "its inputs have incompatible shapes");
        out->dim[axis] += in->dim[axis];
    }
    if (out->rank == 1)
        concat_numbers (step);
    return 0;
}

static int split (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    int n = step->node->n_out;
    struct list parts;
    int axis;

    if (want (step, 1) < 0)
        return -1;
    axis = axis_of ((double) dn_onnx_int (step->node, "axis", 0), x->rank);
    if (axis < 0)
        return misfit (step, "an axis out of range");
    read_list (step, "split", 1, &parts);
    for (int i = 0; i < n; i++) {
        struct dn_onnx_value *out = dn_onnx_out (step, i);

        if (!out)
            continue;
        set_shape (out, x);
        out->dim[axis] = item (&parts, i, ceil (x->dim[axis] / n));
    }
    return 0;
}

/* The size of a slice of 'size' between two ends in steps. */
static double cut (double size, double start, double end, double by, double *first)
{
    double low = by > 0 ? 0 : -1;
    double high = by > 0 ? size : size - 1;

    start = fmin (fmax (start < 0 ? start + size : start, low), high);
    end = fmin (fmax (end < 0 ? end + size : end, low), high);
    *first = start;
    return fmax (0, ceil ((end - start) / by));
}

static int slice (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    struct list starts;
    struct list ends;
    struct list axes;
    struct list steps;
    double by[DN_ONNX_RANK_MAX];
    double first = 0;

    if (same (step) < 0)
        return -1;
    if (!read_list (step, "starts", 1, &starts) || !read_list (step, "ends", 2, &ends))
        return misfit (step, "its ends are not known");
    read_list (step, "axes", 3, &axes);
    read_list (step, "steps", 4, &steps);
    for (int i = 0; i < x->rank; i++)
        by[i] = stride_of (x, i);
    for (int i = 0; i < starts.n && i < ends.n; i++) {
        int axis = axis_of (item (&axes, i, i), x->rank);
        double stride = item (&steps, i, 1);
        double start;

        if (axis < 0 || stride == 0)
            return misfit (step, "an axis out of range, or a step of 0");
        out->dim[axis] =
            cut (x->dim[axis], starts.item[i], ends.item[i], stride, &start);
        first += start * stride_of (x, axis);
        by[axis] = stride * stride_of (x, axis);
    }
    pick_numbers (step, first, by);
    return 0;
}

static int gather (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    const struct dn_onnx_value *index = dn_onnx_in (step, 1);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    double *data;
    int axis;

    if (want (step, 2) < 0)
        return -1;
    axis = axis_of ((double) dn_onnx_int (step->node, "axis", 0), x->rank);
    if (axis < 0 || x->rank - 1 + index->rank > DN_ONNX_RANK_MAX)
        return misfit (step, "an axis out of range, or too many dimensions");
    out->rank = 0;
    out->floating = x->floating;
    for (int i = 0; i < axis; i++)
        out->dim[out->rank++] = x->dim[i];
    for (int i = 0; i < index->rank; i++)
        out->dim[out->rank++] = index->dim[i];
    for (int i = axis + 1; i < x->rank; i++)
        out->dim[out->rank++] = x->dim[i];
    if (!x->data || !index->data || x->rank != 1)
        return 0;
    data = dn_onnx_data (step->run, out);
    for (int i = 0; data && i < (int) dn_onnx_elements (out); i++) {
        double at = index->data[i] + (index->data[i] < 0 ? x->dim[0] : 0);

        if (!(at >= 0 && at < x->dim[0]))
            return misfit (step, "an index out of range");
        data[i] = x->data[(int) at];
    }
    return 0;
}

/* The output has the shape of the indices. */
static int gather_elements (struct dn_onnx_step *step)
{
    if (want (step, 2) < 0)
        return -1;
    set_shape (dn_onnx_out (step, 0), dn_onnx_in (step, 1));
    dn_onnx_out (step, 0)->floating = dn_onnx_in (step, 0)->floating;
    return 0;
}

static int shape (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    double first = (double) dn_onnx_int (step->node, "start", 0);
    double end;
    double *data;

    if (want (step, 1) < 0)
        return -1;
    end = (double) dn_onnx_int (step->node, "end", x->rank);
    out->rank = 1;
    out->dim[0] = cut (x->rank, first, end, 1, &first);
    out->constant = true;
    out->origin = -1;
    data = dn_onnx_data (step->run, out);
    for (int i = 0; data && i < (int) out->dim[0]; i++)
        data[i] = x->dim[(int) first + i];
    return 0;
}

static int size (struct dn_onnx_step *step)
{
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    double *data;

    if (want (step, 1) < 0)
        return -1;
    out->rank = 0;
    out->constant = true;
    out->origin = -1;
    data = dn_onnx_data (step->run, out);
    if (data)
        data[0] = dn_onnx_elements (dn_onnx_in (step, 0));
    return 0;
}

/* A shape that an input holds as numbers. */
static int shape_from (struct dn_onnx_step *step, int input)
{
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    struct list list;

    if (!read_list (step, "", input, &list) || list.n > DN_ONNX_RANK_MAX)
        return misfit (step, "its shape is not known");
    out->rank = list.n;
    for (int i = 0; i < list.n; i++)
        out->dim[i] = list.item[i];
    return 0;
}

static int constant_of_shape (struct dn_onnx_step *step)
{
    const DnOnnx__Attribute *value = dn_onnx_attribute (step->node, "value");
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    double fill = 0;
    double *data;

    if (want (step, 1) < 0 || shape_from (step, 0) < 0)
        return -1;
    out->constant = true;
    out->floating = !value || !value->t || value->t->data_type == 1;
    if (value && value->t && value->t->raw_data.len == sizeof (int64_t)) {
        int64_t whole;

        memcpy (&whole, value->t->raw_data.data, sizeof (whole));
        fill = (double) whole;
    }
    data = out->floating || !(dn_onnx_elements (out) >= 0)
               ? NULL
               : dn_onnx_data (step->run, out);
    for (int i = 0; data && i < (int) dn_onnx_elements (out); i++)
        data[i] = fill;
    return 0;
}

static int expand (struct dn_onnx_step *step)
{
    struct dn_onnx_value *out = dn_onnx_out (step, 0);

    if (want (step, 2) < 0 || shape_from (step, 1) < 0)
        return -1;
    out->floating = dn_onnx_in (step, 0)->floating;
    return widen (step, out, dn_onnx_in (step, 0));
}

static int range (struct dn_onnx_step *step)
{
    struct dn_onnx_value *out = dn_onnx_out (step, 0);
    double end[3];
    double *data;

    if (want (step, 3) < 0)
        return -1;
    for (int i = 0; i < 3; i++) {
        if (!dn_onnx_in (step, i)->data)
            return misfit (step, "its ends are not known");
        end[i] = dn_onnx_in (step, i)->data[0];
    }
    if (end[2] == 0)
        return misfit (step, "a step of 0");
    out->rank = 1;
    out->dim[0] = fmax (0, ceil ((end[1] - end[0]) / end[2]));
    data = dn_onnx_data (step->run, out);
    for (int i = 0; data && i < (int) out->dim[0]; i++)
        data[i] = end[0] + i * end[2];
    return 0;
}

static int pad (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    struct list pads;

    if (same (step) < 0)
        return -1;
    if (!read_list (step, "pads", 1, &pads) || pads.n != 2 * x->rank)
        return misfit (step, "pads are not known, or do not match the dimensions");
    for (int i = 0; i < x->rank; i++)
        dn_onnx_out (step, 0)->dim[i] += pads.item[i] + pads.item[i + x->rank];
    return 0;
}

/* Sizes, or scales: the last input that is present determines which. */
static int resize (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    struct list list;
    int at = step->node->n_in - 1;

    if (same (step) < 0)
        return -1;
    if (!read_list (step, "", at, &list) || list.n != x->rank)
        return misfit (step, "its sizes are not known, or do not match the dimensions");
    for (int i = 0; i < x->rank; i++)
        dn_onnx_out (step, 0)->dim[i] =
            at == 3 ? list.item[i] : floor (x->dim[i] * list.item[i]);
    return 0;
}

static int tile (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    struct list times;

    if (same (step) < 0)
        return -1;
    if (!read_list (step, "", 1, &times) || times.n != x->rank)
        return misfit (step,
                       "its repeats are not known, or do not match the dimensions");
    for (int i = 0; i < x->rank; i++)
        dn_onnx_out (step, 0)->dim[i] *= times.item[i];
    return 0;
}

/* Blocks of positions to channels, or back. */
static int shuffle (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    double block = (double) dn_onnx_int (step->node, "blocksize", 1);
    struct dn_onnx_value *out = dn_onnx_out (step, 0);

    if (same (step) < 0)
        return -1;
    if (x->rank != 4 || block < 1)
        return misfit (step, "expected an image and a block size");
    if (dn_onnx_op (step->node)[0] == 'S')
        block = 1 / block;
    out->dim[1] = floor (x->dim[1] / (block * block));
    out->dim[2] = floor (x->dim[2] * block);
    out->dim[3] = floor (x->dim[3] * block);
    return 0;
}

/* (tokens, directions, batch, hidden), and the last states. */
static int recur (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *x = dn_onnx_in (step, 0);
    const struct dn_onnx_value *r = dn_onnx_in (step, 2);
    struct dn_onnx_value *out = step->node->n_out > 0 ? dn_onnx_out (step, 0) : NULL;

    if (!x || !r || !dn_onnx_in (step, 1) || x->rank != 3 || r->rank != 3)
        return misfit (step, "expected a sequence and the weights of both kinds");
    for (int i = 0; i < step->node->n_out; i++) {
        struct dn_onnx_value *state = dn_onnx_out (step, i);
        double dims[] = {x->dim[0], r->dim[0], x->dim[1], r->dim[2]};

        if (!state)
            continue;
        state->rank = state == out ? 4 : 3;
        memcpy (state->dim,
                dims + (state == out ? 0 : 1),
                sizeof (dims[0]) * 4 - (state == out ? 0 : sizeof (dims[0])));
        state->floating = true;
    }
    return 0;
}

/* Attention as one node. Query (batch, tokens, features), in ONNX also (batch, heads,
 * tokens, size); that of ONNX Runtime named Attention has its layer of query, key and
 * value inside, MultiHeadAttention and GroupQueryAttention may have them in one array.
 */
static int attention (struct dn_onnx_step *step)
{
    const struct dn_onnx_value *query = dn_onnx_in (step, 0);
    const struct dn_onnx_value *weights = dn_onnx_in (step, 1);
    const struct dn_onnx_value *value = dn_onnx_in (step, 2);
    double heads = (double) dn_onnx_int (
        step->node, "num_heads", dn_onnx_int (step->node, "q_num_heads", 0));
    double kv_heads =
        (double) dn_onnx_int (step->node, "kv_num_heads", (int64_t) heads);
    bool joined = strcmp (dn_onnx_op (step->node), "Attention") == 0
                  && dn_onnx_attribute (step->node, "num_heads");
    struct dn_onnx_value *out;

    if (want (step, 1) < 0)
        return -1;
    out = dn_onnx_out (step, 0);
    set_shape (out, query);
    if (joined && weights && query->rank == 3 && weights->rank == 2)
        out->dim[2] = floor (weights->dim[1] / 3);
    else if (!joined && query->rank == 4 && value && value->rank == 4)
        out->dim[3] = value->dim[3];
    else if (!joined && query->rank == 3 && value && value->rank == 3 && kv_heads >= 1)
        out->dim[2] = value->dim[2] / kv_heads * heads;
    else
        return misfit (step, "expected query, key and value of three dimensions");
    if (query->rank == 3
        && (heads < 1 || kv_heads < 1 || fmod (out->dim[2], heads) != 0
            || (!joined && weights
                && (weights->rank != 3 || fmod (weights->dim[2], kv_heads) != 0
                    || fmod (value->dim[2], kv_heads) != 0))))
        return misfit (step, "its heads do not divide its features");
    return 0;
}

/* Sorted by their names. */
static const struct dn_onnx_rule rules[] = {
    {"Abs", same, DN_LAYER_ELEMENTWISE},
    {"Add", broadcast, DN_LAYER_ELEMENTWISE},
    {"And", broadcast, DN_LAYER_ELEMENTWISE},
    {"ArgMax", reduce, DN_LAYER_REDUCE},
    {"ArgMin", reduce, DN_LAYER_REDUCE},
    {"Attention", attention, DN_LAYER_ATTENTION},
    {"AveragePool", pool, DN_LAYER_POOL},
    {"BatchNormalization", same, DN_LAYER_BATCHNORM},
    {"Cast", cast, DN_LAYER_COPY},
    {"CastLike", identity, DN_LAYER_COPY},
    {"Ceil", identity, DN_LAYER_ELEMENTWISE},
    {"Celu", same, DN_LAYER_ACTIVATION},
    {"Clip", same, DN_LAYER_ACTIVATION},
    {"Concat", concat, DN_LAYER_CONCAT},
    {"Constant", dn_onnx_constant, DN_LAYER_UNKNOWN},
    {"ConstantOfShape", constant_of_shape, DN_LAYER_UNKNOWN},
    {"Conv", conv, DN_LAYER_CONV2D},
    {"ConvTranspose", conv_transpose, DN_LAYER_CONV_TRANSPOSE},
    {"Cos", same, DN_LAYER_ELEMENTWISE},
    {"CumSum", same, DN_LAYER_ELEMENTWISE},
    {"DepthToSpace", shuffle, DN_LAYER_COPY},
    {"Div", broadcast, DN_LAYER_ELEMENTWISE},
    {"Dropout", same, DN_LAYER_DROPOUT},
    {"Elu", same, DN_LAYER_ACTIVATION},
    {"Equal", broadcast, DN_LAYER_ELEMENTWISE},
    {"Erf", same, DN_LAYER_ELEMENTWISE},
    {"Exp", same, DN_LAYER_ELEMENTWISE},
    {"Expand", expand, DN_LAYER_UNKNOWN},
    {"Flatten", flatten, DN_LAYER_UNKNOWN},
    {"Floor", identity, DN_LAYER_ELEMENTWISE},
    {"GRU", recur, DN_LAYER_RNN},
    {"Gather", gather, DN_LAYER_COPY},
    {"GatherElements", gather_elements, DN_LAYER_COPY},
    {"Gelu", same, DN_LAYER_ACTIVATION},
    {"Gemm", gemm, DN_LAYER_LINEAR},
    {"GlobalAveragePool", pool_global, DN_LAYER_REDUCE},
    {"GlobalMaxPool", pool_global, DN_LAYER_REDUCE},
    {"Greater", broadcast, DN_LAYER_ELEMENTWISE},
    {"GreaterOrEqual", broadcast, DN_LAYER_ELEMENTWISE},
    {"GroupNormalization", same, DN_LAYER_GROUPNORM},
    {"GroupQueryAttention", attention, DN_LAYER_ATTENTION},
    {"HardSigmoid", same, DN_LAYER_ACTIVATION},
    {"HardSwish", same, DN_LAYER_ACTIVATION},
    {"Identity", identity, DN_LAYER_UNKNOWN},
    {"InstanceNormalization", same, DN_LAYER_GROUPNORM},
    {"IsNaN", same, DN_LAYER_ELEMENTWISE},
    {"LRN", same, DN_LAYER_LAYERNORM},
    {"LSTM", recur, DN_LAYER_RNN},
    {"LayerNormalization", same, DN_LAYER_LAYERNORM},
    {"LeakyRelu", same, DN_LAYER_ACTIVATION},
    {"Less", broadcast, DN_LAYER_ELEMENTWISE},
    {"LessOrEqual", broadcast, DN_LAYER_ELEMENTWISE},
    {"Log", same, DN_LAYER_ELEMENTWISE},
    {"LogSoftmax", same, DN_LAYER_SOFTMAX},
    {"MatMul", matmul, DN_LAYER_MATMUL},
    {"Max", broadcast, DN_LAYER_ELEMENTWISE},
    {"MaxPool", pool, DN_LAYER_POOL},
    {"Min", broadcast, DN_LAYER_ELEMENTWISE},
    {"Mish", same, DN_LAYER_ACTIVATION},
    {"Mod", broadcast, DN_LAYER_ELEMENTWISE},
    {"Mul", broadcast, DN_LAYER_ELEMENTWISE},
    {"MultiHeadAttention", attention, DN_LAYER_ATTENTION},
    {"Neg", same, DN_LAYER_ELEMENTWISE},
    {"Not", same, DN_LAYER_ELEMENTWISE},
    {"Or", broadcast, DN_LAYER_ELEMENTWISE},
    {"PRelu", broadcast, DN_LAYER_ACTIVATION},
    {"Pad", pad, DN_LAYER_COPY},
    {"Pow", broadcast, DN_LAYER_ELEMENTWISE},
    {"RNN", recur, DN_LAYER_RNN},
    {"Range", range, DN_LAYER_UNKNOWN},
    {"Reciprocal", same, DN_LAYER_ELEMENTWISE},
    {"ReduceL2", reduce, DN_LAYER_REDUCE},
    {"ReduceLogSumExp", reduce, DN_LAYER_REDUCE},
    {"ReduceMax", reduce, DN_LAYER_REDUCE},
    {"ReduceMean", reduce, DN_LAYER_REDUCE},
    {"ReduceMin", reduce, DN_LAYER_REDUCE},
    {"ReduceProd", reduce_product, DN_LAYER_REDUCE},
    {"ReduceSum", reduce, DN_LAYER_REDUCE},
    {"Relu", same, DN_LAYER_ACTIVATION},
    {"Reshape", reshape, DN_LAYER_UNKNOWN},
    {"Resize", resize, DN_LAYER_COPY},
    {"Round", identity, DN_LAYER_ELEMENTWISE},
    {"ScatterElements", same, DN_LAYER_COPY},
    {"ScatterND", same, DN_LAYER_COPY},
    {"Selu", same, DN_LAYER_ACTIVATION},
    {"Shape", shape, DN_LAYER_UNKNOWN},
    {"Sigmoid", same, DN_LAYER_ACTIVATION},
    {"Sign", same, DN_LAYER_ELEMENTWISE},
    {"SimplifiedLayerNormalization", same, DN_LAYER_LAYERNORM},
    {"Sin", same, DN_LAYER_ELEMENTWISE},
    {"Size", size, DN_LAYER_UNKNOWN},
    {"Slice", slice, DN_LAYER_UNKNOWN},
    {"Softmax", same, DN_LAYER_SOFTMAX},
    {"Softplus", same, DN_LAYER_ACTIVATION},
    {"Softsign", same, DN_LAYER_ACTIVATION},
    {"SpaceToDepth", shuffle, DN_LAYER_COPY},
    {"Split", split, DN_LAYER_UNKNOWN},
    {"Sqrt", same, DN_LAYER_ELEMENTWISE},
    {"Squeeze", squeeze, DN_LAYER_UNKNOWN},
    {"Sub", broadcast, DN_LAYER_ELEMENTWISE},
    {"Sum", broadcast, DN_LAYER_ELEMENTWISE},
    {"Tanh", same, DN_LAYER_ACTIVATION},
    {"ThresholdedRelu", same, DN_LAYER_ACTIVATION},
    {"Tile", tile, DN_LAYER_COPY},
    {"Transpose", transpose, DN_LAYER_COPY},
    {"Trilu", same, DN_LAYER_COPY},
    {"Unsqueeze", unsqueeze, DN_LAYER_UNKNOWN},
    {"Upsample", resize, DN_LAYER_COPY},
    {"Where", where, DN_LAYER_ELEMENTWISE},
    {"Xor", broadcast, DN_LAYER_ELEMENTWISE},
    /* End of rules */
};

static int compare (const void *name, const void *rule)
{
    return strcmp (name, ((const struct dn_onnx_rule *) rule)->op);
}

const struct dn_onnx_rule *dn_onnx_rule (const struct dn_onnx_node *node)
{
    return bsearch (
        dn_onnx_op (node), rules, DN_N_ELEMENTS (rules), sizeof (rules[0]), compare);
}
