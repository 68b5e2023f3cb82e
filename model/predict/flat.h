/* flat.h - the binary files of a bundle: rows of numbers behind a header
 *
 * A bundle has the trees of a quantity in QUANTITY.trees, and the runs that its domain
 * is measured from in domain.points. Neither has a checksum: the manifest has the size
 * and the SHA-256 of each file, and they are compared before the file is read. All
 * numbers are little-endian; u16 and u32 are unsigned, f32 and f64 are IEEE 754.
 *
 *     offset  type      what
 *     0       8 bytes   "dnntrees" or "dnnpoint"
 *     8       u32       version of this layout, DN_FLAT_VERSION
 *     12      u32       features, F
 *     16      u32       trees T, or points P
 *     20      u32       nodes of all trees, N; 0 in a file of points
 *
 * Trees go on with
 *
 *     24      f64       the base, which is added to the sum of the trees
 *     32      u32 T     the number of nodes of each tree
 *     32+4T   N nodes   8 bytes each:
 *                       f32  value: of a leaf what the tree adds, of a split the limit
 *                       u16  feature, 0..F-1; 0 of a leaf
 *                       u16  kind, an enum dn_node_kind
 *
 * A row goes to the left child of a split where its feature is less than the limit, or
 * where the feature is missing (NaN) and the kind says so. The children of a tree's
 * split number k, counted from 0, are its nodes 2k+1 (left) and 2k+2 (right). So there
 * are no links that could be wrong: a tree of S splits has 2S+1 nodes, and a split
 * stands before its children. Points go on with
 *
 *     24      f32 F P   the features of each point, one point after the other
 *
 * and both end there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FLAT_H
#define DN_FLAT_H

#include "base/text.h"

#define DN_FLAT_VERSION 1
#define DN_FLAT_HEADER  24

#define DN_FLAT_TREES  "dnntrees"
#define DN_FLAT_POINTS "dnnpoint"

enum dn_node_kind {
    DN_NODE_LEAF,
    DN_NODE_MISSING_RIGHT, /* a split */
    DN_NODE_MISSING_LEFT,
    DN_N_NODE_KINDS
};

/* A header, and the bytes after it. */
struct dn_flat {
    uint32_t n_features;
    uint32_t n_rows; /* trees or points */
    uint32_t n_nodes;
    const unsigned char *data;
    size_t len;
};

/* Read the header of a file of that magic with 'n_features' features and 1..max_rows
 * rows. -1 with 'err'.
 */
int dn_flat_open (struct dn_span file,
                  const char *magic,
                  int n_features,
                  int max_rows,
                  struct dn_flat *flat,
                  struct dn_err *err);

/* -1 with 'err' where the data have another length than 'expected'. */
int dn_flat_check_length (const struct dn_flat *flat,
                          size_t expected,
                          struct dn_err *err);

uint16_t dn_flat_u16 (const unsigned char *at);
uint32_t dn_flat_u32 (const unsigned char *at);
float dn_flat_f32 (const unsigned char *at);
double dn_flat_f64 (const unsigned char *at);

#endif
