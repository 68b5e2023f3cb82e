/* onnx_file.h - an ONNX file, unpacked, with names as numbers
 *
 * In: the bytes of a ModelProto. Out: its nodes in their order, with inputs and outputs
 * as indices of values. The file is untrusted: memory is bounded, no message nests in
 * itself (onnx.proto), and a node may read only values computed before it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ONNX_FILE_H
#define DN_ONNX_FILE_H

#include "base/err.h"
#include "generated/onnx.pb-c.h"

/* Limit of a file with its weights, 268 million in fp32. The weights of larger networks
 * are in separate files.
 */
#define DN_ONNX_FILE_MAX (1024 * 1024 * 1024)

/* A hundred times the size of a current large transformer. */
#define DN_ONNX_NODES_MAX  200000
#define DN_ONNX_VALUES_MAX 1000000

struct dn_onnx_node {
    const DnOnnx__Node *proto;
    const int *in;  /* of values; -1: omitted */
    const int *out; /* likewise */
    int n_in;
    int n_out;
};

struct dn_onnx {
    DnOnnx__Model *model; /* owned */
    const DnOnnx__Graph *graph;
    const char **names; /* owned; of values, sorted */
    int n_values;
    int *ids; /* owned; the nodes point into it */
    struct dn_onnx_node *nodes;
    int n_nodes;
};

int dn_onnx_read (const void *bytes,
                  size_t len,
                  struct dn_onnx *file,
                  struct dn_err *err);

/* NULL-safe. */
void dn_onnx_free (struct dn_onnx *file);

/* The number of a value, or -1. */
int dn_onnx_find (const struct dn_onnx *file, const char *name);

const DnOnnx__Attribute *dn_onnx_attribute (const struct dn_onnx_node *node,
                                            const char *name);
int64_t dn_onnx_int (const struct dn_onnx_node *node,
                     const char *name,
                     int64_t otherwise);

/* "Conv"; never NULL. */
const char *dn_onnx_op (const struct dn_onnx_node *node);

/* Prefix the error with "node 'name' (Conv): "; return -1. */
int dn_onnx_wrap (const struct dn_onnx_node *node, struct dn_err *err);

#endif
