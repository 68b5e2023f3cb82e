/* onnx_shape.h - the shapes of all values of an ONNX graph, for one size of the batch
 *
 * In: a file, how many samples, sizes of its symbols. Out: a shape per value, and the
 * numbers of small ones, since exporters compute shapes within the graph.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ONNX_SHAPE_H
#define DN_ONNX_SHAPE_H

#include "graph/layer.h"
#include "import/onnx_file.h"

#define DN_ONNX_RANK_MAX    8
#define DN_ONNX_SYMBOLS_MAX 16

struct dn_onnx_value {
    double dim[DN_ONNX_RANK_MAX];
    int rank;      /* -1: not computed yet */
    double *data;  /* owned; NULL: only the shape is known */
    bool constant; /* does not depend on the sample */
    bool floating;
    int origin; /* the learned array that it is made of, or -1 */
};

struct dn_onnx_symbol {
    char name[DN_NAME_MAX];
    double size;
};

/* The sizes to read the file with. */
struct dn_onnx_sizes {
    struct dn_onnx_symbol symbols[DN_ONNX_SYMBOLS_MAX];
    int n_symbols;
    double seq_len; /* of symbols whose name suggests a length; 0: unknown */
    double samples; /* in a file without a symbol for them; 0: from its first input */
};

struct dn_onnx_run {
    const struct dn_onnx *file;
    const struct dn_onnx_sizes *sizes;
    const char *symbol; /* of the batch, "" if it has no name; NULL: fixed */
    double batch;
    struct dn_onnx_value *values; /* owned, as many as the file has */
    size_t data_left;
};

/* One node whose output shapes are being computed. */
struct dn_onnx_step {
    struct dn_onnx_run *run;
    const struct dn_onnx_node *node;
    struct dn_err *err;
};

/* The rule of an operator. 'kind' DN_LAYER_UNKNOWN: a view without a kernel. */
struct dn_onnx_rule {
    const char *op;
    int (*shape) (struct dn_onnx_step *step);
    enum dn_layer_kind kind;
};

/* NULL for an operator without a rule. */
const struct dn_onnx_rule *dn_onnx_rule (const struct dn_onnx_node *node);

/* The batch in the file: its symbol, or NULL and its size in 'batch'. */
const char *dn_onnx_batch (const struct dn_onnx *file,
                           const struct dn_onnx_sizes *sizes,
                           double *batch);

/* run->file, sizes, symbol and batch are set by the caller. */
int dn_onnx_infer (struct dn_onnx_run *run, struct dn_err *err);
void dn_onnx_run_free (struct dn_onnx_run *run);

/* For rules. An omitted input is NULL. */
const struct dn_onnx_value *dn_onnx_in (const struct dn_onnx_step *step, int i);
struct dn_onnx_value *dn_onnx_out (const struct dn_onnx_step *step, int i);
double dn_onnx_elements (const struct dn_onnx_value *value);

/* The rule of Constant. */
int dn_onnx_constant (struct dn_onnx_step *step);

/* Room for the numbers of a small value whose shape is set; NULL for a large one. */
double *dn_onnx_data (struct dn_onnx_run *run, struct dn_onnx_value *value);

#endif
