/* flat_write.c - write the binary files of a bundle that predict/flat.h describes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/flat_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/flat.h"

struct dn_span dn_flat_file_span (const struct dn_flat_file *file)
{
    return (struct dn_span){file->data, file->len};
}

/* Append the 'n' low bytes of a number. */
static void put (struct dn_flat_file *file, uint64_t number, int n)
{
    for (int i = 0; i < n; i++)
        file->data[file->len++] = (char) (unsigned char) (number >> (8 * i));
}

static void put_f32 (struct dn_flat_file *file, float value)
{
    uint32_t bits;

    memcpy (&bits, &value, sizeof (bits));
    put (file, bits, 4);
}

static void put_f64 (struct dn_flat_file *file, double value)
{
    uint64_t bits;

    memcpy (&bits, &value, sizeof (bits));
    put (file, bits, 8);
}

/* Begin a file that has room for 'size' bytes. */
static int begin (struct dn_flat_file *file,
                  const char *magic,
                  size_t size,
                  int n_features,
                  int n_rows,
                  int n_nodes,
                  struct dn_err *err)
{
    *file = (struct dn_flat_file){.data = malloc (size)};
    if (!file->data)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    file->len = strlen (magic);
    memcpy (file->data, magic, file->len);
    put (file, DN_FLAT_VERSION, 4);
    put (file, (uint64_t) n_features, 4);
    put (file, (uint64_t) n_rows, 4);
    put (file, (uint64_t) n_nodes, 4);
    return 0;
}

static void put_node (struct dn_flat_file *file, const struct dn_node *node)
{
    enum dn_node_kind kind = DN_NODE_LEAF;

    if (node->child > 0)
        kind = node->missing_left ? DN_NODE_MISSING_LEFT : DN_NODE_MISSING_RIGHT;
    put_f32 (file, node->value);
    put (file, node->feature, 2);
    put (file, (uint64_t) kind, 2);
}

int dn_flat_write_trees (const struct dn_trees *trees,
                         struct dn_flat_file *file,
                         struct dn_err *err)
{
    int n_nodes = trees->first[trees->n_trees];

    if (begin (file,
               DN_FLAT_TREES,
               DN_FLAT_HEADER + 8 + 4 * (size_t) trees->n_trees + 8 * (size_t) n_nodes,
               trees->n_features,
               trees->n_trees,
               n_nodes,
               err)
        < 0)
        return -1;
    put_f64 (file, trees->base);
    for (int t = 0; t < trees->n_trees; t++)
        put (file, (uint64_t) (trees->first[t + 1] - trees->first[t]), 4);
    for (int i = 0; i < n_nodes; i++)
        put_node (file, &trees->nodes[i]);
    return 0;
}

static float to_four_digits (double value)
{
    char text[32];
    double rounded = value;

    snprintf (text, sizeof (text), "%.4g", value);
    (void) dn_real_read (dn_span_of (text), "", -1e30, 1e30, &rounded, NULL);
    return (float) rounded;
}

int dn_flat_write_points (const struct dn_domain *domain,
                          struct dn_flat_file *file,
                          struct dn_err *err)
{
    size_t n_values = (size_t) domain->n_points * DN_N_FEATURES;

    if (begin (file,
               DN_FLAT_POINTS,
               DN_FLAT_HEADER + 4 * n_values,
               DN_N_FEATURES,
               domain->n_points,
               0,
               err)
        < 0)
        return -1;
    for (int i = 0; i < domain->n_points; i++)
        for (int f = 0; f < DN_N_FEATURES; f++)
            put_f32 (file,
                     to_four_digits (
                         (double) domain->points[(ptrdiff_t) i * domain->n_used + f]
                         / (double) domain->scale[f]));
    return 0;
}
