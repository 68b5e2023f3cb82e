/* onnx_file.c - an ONNX file, unpacked, with names as numbers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/onnx_file.h"

#include <stdlib.h>
#include <string.h>

/* Limit of the memory for unpacking: the weights are copied once, small messages grow
 * some tenfold. A file of only empty messages exceeds it.
 */
#define UNPACK_MAX(len) ((size_t) 512 * 1024 * 1024 + 2 * (len))

/* Every block stores its size, so that freed memory can be used again. */
struct block {
    size_t size;
    max_align_t bytes[];
};

static void *take (void *data, size_t size)
{
    size_t *left = data;
    struct block *block;

    if (size > *left || sizeof (*block) + size > *left)
        return NULL;
    block = malloc (sizeof (*block) + size);
    if (!block)
        return NULL;
    block->size = sizeof (*block) + size;
    *left -= block->size;
    return block->bytes;
}

static void give (void *data, void *pointer)
{
    size_t *left = data;
    struct block *block;

    if (!pointer)
        return;
    block =
        (struct block *) (void *) ((char *) pointer - offsetof (struct block, bytes));
    *left += block->size;
    free (block);
}

static DnOnnx__Model *unpack (const void *bytes, size_t len, struct dn_err *err)
{
    size_t left = UNPACK_MAX (len);
    ProtobufCAllocator allocator = {take, give, &left};
    DnOnnx__Model *model = dn_onnx__model__unpack (&allocator, len, bytes);

    if (!model)
        dn_err_set (err, DN_E_SYNTAX, "not a complete ONNX model, or too large");
    return model;
}

void dn_onnx_free (struct dn_onnx *file)
{
    size_t left = 0;
    ProtobufCAllocator allocator = {take, give, &left};

    if (!file)
        return;
    if (file->model)
        dn_onnx__model__free_unpacked (file->model, &allocator);
    free (file->names);
    free (file->ids);
    free (file->nodes);
    *file = (struct dn_onnx){.n_values = 0};
}

static int compare (const void *a, const void *b)
{
    return strcmp (*(const char *const *) a, *(const char *const *) b);
}

int dn_onnx_find (const struct dn_onnx *file, const char *name)
{
    const char **found;

    if (!name || name[0] == '\0' || file->n_values == 0)
        return -1;
    found = bsearch (
        &name, file->names, (size_t) file->n_values, sizeof (*file->names), compare);
    return found ? (int) (found - file->names) : -1;
}

static int collect_names (struct dn_onnx *file, size_t most, struct dn_err *err)
{
    const DnOnnx__Graph *graph = file->graph;
    size_t n = 0;

    file->names = calloc (most + 1, sizeof (*file->names));
    if (!file->names)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (size_t i = 0; i < graph->n_input; i++)
        file->names[n++] = graph->input[i]->name;
    for (size_t i = 0; i < graph->n_initializer; i++)
        file->names[n++] = graph->initializer[i]->name;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t j = 0; j < graph->node[i]->n_output; j++)
            file->names[n++] = graph->node[i]->output[j];
    for (size_t i = 0; i < n; i++)
        if (!file->names[i])
            file->names[i] = "";
    if (n > 0)
        qsort (file->names, n, sizeof (*file->names), compare);
    for (size_t i = 0; i < n; i++)
        if (file->names[i][0] != '\0'
            && (file->n_values == 0
                || strcmp (file->names[i], file->names[file->n_values - 1]) != 0))
            file->names[file->n_values++] = file->names[i];
    return 0;
}

static int link_node (struct dn_onnx *file,
                      struct dn_onnx_node *node,
                      const DnOnnx__Node *proto,
                      int *ids,
                      struct dn_err *err)
{
    *node = (struct dn_onnx_node){
        proto, ids, ids + proto->n_input, (int) proto->n_input, (int) proto->n_output};
    for (size_t i = 0; i < proto->n_input; i++) {
        const char *name = proto->input[i];

        ids[i] = dn_onnx_find (file, name);
        if (ids[i] < 0 && name && name[0] != '\0') {
            dn_err_set (err,
                        DN_E_RANGE,
                        "input '%s' is not computed by any node",
                        dn_quote (name, strlen (name)).text);
            return dn_onnx_wrap (node, err);
        }
    }
    for (size_t i = 0; i < proto->n_output; i++)
        ids[proto->n_input + i] = dn_onnx_find (file, proto->output[i]);
    return 0;
}

static int link_nodes (struct dn_onnx *file, size_t n_ids, struct dn_err *err)
{
    const DnOnnx__Graph *graph = file->graph;
    int *ids;

    file->ids = calloc (n_ids + 1, sizeof (*file->ids));
    file->nodes = calloc (graph->n_node + 1, sizeof (*file->nodes));
    if (!file->ids || !file->nodes)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    ids = file->ids;
    for (size_t i = 0; i < graph->n_node; i++) {
        const DnOnnx__Node *proto = graph->node[i];

        if (link_node (file, &file->nodes[i], proto, ids, err) < 0)
            return -1;
        ids += proto->n_input + proto->n_output;
    }
    file->n_nodes = (int) graph->n_node;
    return 0;
}

/* Count first: every array is allocated for the file's own numbers. */
static int index_graph (struct dn_onnx *file, struct dn_err *err)
{
    const DnOnnx__Graph *graph = file->graph;
    size_t n_ids = 0;

    if (graph->n_node > DN_ONNX_NODES_MAX)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "%zu nodes, expected at most %d",
                           graph->n_node,
                           DN_ONNX_NODES_MAX);
    for (size_t i = 0; i < graph->n_node; i++)
        n_ids += graph->node[i]->n_input + graph->node[i]->n_output;
    if (n_ids + graph->n_input + graph->n_initializer > DN_ONNX_VALUES_MAX
        || graph->n_value_info + graph->n_output > DN_ONNX_VALUES_MAX)
        return dn_err_set (err, DN_E_LIMIT, "more than %d values", DN_ONNX_VALUES_MAX);
    if (collect_names (file, n_ids + graph->n_input + graph->n_initializer, err) < 0)
        return -1;
    return link_nodes (file, n_ids, err);
}

int dn_onnx_read (const void *bytes,
                  size_t len,
                  struct dn_onnx *file,
                  struct dn_err *err)
{
    *file = (struct dn_onnx){.n_values = 0};
    if (len > DN_ONNX_FILE_MAX)
        return dn_err_set (err, DN_E_LIMIT, "larger than %d bytes", DN_ONNX_FILE_MAX);
    file->model = unpack (bytes, len, err);
    if (!file->model)
        return -1;
    file->graph = file->model->graph;
    if (file->graph && file->graph->n_node > 0) {
        if (index_graph (file, err) == 0)
            return 0;
    } else
        dn_err_set (err, DN_E_SYNTAX, "an ONNX model without nodes");
    dn_onnx_free (file);
    return -1;
}

const DnOnnx__Attribute *dn_onnx_attribute (const struct dn_onnx_node *node,
                                            const char *name)
{
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const DnOnnx__Attribute *attribute = node->proto->attribute[i];

        if (attribute->name && strcmp (attribute->name, name) == 0)
            return attribute;
    }
    return NULL;
}

int64_t dn_onnx_int (const struct dn_onnx_node *node,
                     const char *name,
                     int64_t otherwise)
{
    const DnOnnx__Attribute *attribute = dn_onnx_attribute (node, name);

    return attribute && attribute->has_i ? attribute->i : otherwise;
}

const char *dn_onnx_op (const struct dn_onnx_node *node)
{
    return node->proto->op_type ? node->proto->op_type : "";
}

int dn_onnx_wrap (const struct dn_onnx_node *node, struct dn_err *err)
{
    const char *name = node->proto->name ? node->proto->name : "";

    return dn_err_wrap (err,
                        "node '%s' (%s)",
                        dn_quote (name, strlen (name)).text,
                        dn_quote (dn_onnx_op (node), strlen (dn_onnx_op (node))).text);
}
