/* trees.c - tests of the trees of a bundle: correct sums, and invalid files
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "base/limits.h"
#include "predict/flat.h"
#include "predict/trees.h"

#define F 6

/* Places in the file that good () makes. */
enum {
    AT_VERSION = 8,
    AT_FEATURES = 12,
    AT_TREES = 16,
    AT_NODES = 20,
    AT_BASE = 24,
    AT_COUNT = 32, /* nodes of the one tree */
    AT_ROOT = 36,
    AT_LEFT = 44,
    AT_RIGHT = 52,
    SIZE = 60,
    /* of a node */
    FEATURE = 4,
    KIND = 6
};

static void put (char *at, uint64_t number, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        at[i] = (char) (number >> (8 * i));
}

static void put_node (char *at, float value, int feature, int kind)
{
    uint32_t bits;

    memcpy (&bits, &value, sizeof (bits));
    put (at, bits, 4);
    put (at + FEATURE, (uint64_t) feature, 2);
    put (at + KIND, (uint64_t) kind, 2);
}

static void put_header (char *file, int n_trees, int n_nodes, double base)
{
    uint64_t bits;

    memcpy (&bits, &base, sizeof (bits));
    memcpy (file, "dnntrees", 8);
    put (file + AT_VERSION, 1, 4);
    put (file + AT_FEATURES, F, 4);
    put (file + AT_TREES, (uint64_t) n_trees, 4);
    put (file + AT_NODES, (uint64_t) n_nodes, 4);
    put (file + AT_BASE, bits, 8);
}

/* One split, missing values to the left. */
static void good (char file[SIZE])
{
    put_header (file, 1, 3, 0.5);
    put (file + AT_COUNT, 3, 4);
    put_node (file + AT_ROOT, 0.5F, 5, DN_NODE_MISSING_LEFT);
    put_node (file + AT_LEFT, -1, 0, DN_NODE_LEAF);
    put_node (file + AT_RIGHT, 2, 0, DN_NODE_LEAF);
}

static void free_trees (void *trees)
{
    dn_trees_free (trees);
}

/* A file of this length predicts these sums of 'n' rows, together and each alone. */
static void expect_sums (const char *file,
                         size_t len,
                         const float *rows,
                         int n,
                         const char *sums)
{
    struct dn_trees *trees = unit_keep (
        assert_made (dn_trees_read ((struct dn_span){file, len}, F, &unit_err)),
        free_trees);
    long double numbers[3];
    float out[3];
    float one;

    assert_done (dn_trees_predict (trees, rows, n, out, &unit_err));
    for (int i = 0; i < n; i++) {
        numbers[i] = (long double) out[i];
        assert_done (
            dn_trees_predict (trees, rows + (ptrdiff_t) i * F, 1, &one, &unit_err));
        assert_true (one == out[i]);
    }
    assert_string_equal (unit_numbers (numbers, (size_t) n), sums);
}

static void expect_refused (const char *file, size_t len, const char *says)
{
    if (dn_trees_read ((struct dn_span){file, len}, F, &unit_err))
        fail_msg ("taken, expected '%s'", says);
    assert_contains (unit_err.text, says);
}

/* --- sums ------------------------------------------------------------------------ */

TEST ("A file written by hand predicts")
{
    char file[SIZE];
    static const float rows[3 * F] = {
        [5] = NAN, [F + 5] = 0.5F /* not less than 0.5 */, [2 * F + 5] = 0.25F};

    good (file);
    expect_sums (file, SIZE, rows, 3, "-0.5 2.5 -0.5");
    put (file + AT_ROOT + KIND, DN_NODE_MISSING_RIGHT, 2);
    expect_sums (file, SIZE, rows, 1, "2.5");
    dn_trees_free (NULL);
}

/* The second split is the first one's right child: its children are nodes 3 and 4. */
TEST ("Children are in the order of their parents")
{
    enum {
        LEN = 36 + 4 + 6 * 8
    };
    char file[LEN];
    char *nodes = file + 40;
    static const float rows[3 * F] = {-1, 1, [F] = 1, -1, [2 * F] = 1, 1};

    put_header (file, 2, 6, 0);
    put (file + AT_COUNT, 1, 4);
    put (file + AT_COUNT + 4, 5, 4);
    put_node (nodes, 100, 0, DN_NODE_LEAF);
    put_node (nodes + 8, 0, 0, DN_NODE_MISSING_LEFT);
    put_node (nodes + 16, 1, 0, DN_NODE_LEAF);
    put_node (nodes + 24, 0, 1, DN_NODE_MISSING_LEFT);
    put_node (nodes + 32, 2, 0, DN_NODE_LEAF);
    put_node (nodes + 40, 3, 0, DN_NODE_LEAF);
    expect_sums (file, LEN, rows, 3, "101 102 103");
}

/* Each leaf is a number, but the sum of two overflows. */
TEST ("A sum that overflows is an error")
{
    enum {
        LEN = 40 + 2 * 8
    };
    char file[LEN];
    struct dn_trees *trees;
    float row[F] = {0};
    float out;

    put_header (file, 2, 2, 0);
    for (int i = 0; i < 2; i++) {
        put (file + AT_COUNT + 4 * i, 1, 4);
        put_node (file + 40 + 8 * i, 3e38F, 0, DN_NODE_LEAF);
    }
    trees = assert_made (dn_trees_read ((struct dn_span){file, LEN}, F, &unit_err));
    unit_keep (trees, free_trees);
    assert_error (dn_trees_predict (trees, row, 1, &out, &unit_err),
                  "model bundle: a sum is not a number");
}

/* --- invalid files --------------------------------------------------------------- */

#define INFINITE  0x7f800000
#define NO_NUMBER 0x7fc00000

static const struct {
    int at;
    uint64_t number;
    int n_bytes;
    const char *says;
} lies[] = {
    {0, 'X', 1, "not a file of the kind 'dnntrees'"},
    {AT_VERSION, 0, 4, "version 0, this program reads 1"},
    {AT_VERSION, 2, 4, "version 2, this program reads 1"},
    {AT_FEATURES, 7, 4, "7 features, expected 6"},
    {AT_TREES, 0, 4, "0 trees or points, expected 1..2000"},
    {AT_TREES, 2001, 4, "2001 trees or points, expected 1..2000"},
    {AT_TREES, 2, 4, "60 bytes, expected 64 by its header"},
    {AT_NODES, 0, 4, "0 nodes, expected 1..65536"},
    {AT_NODES, 65537, 4, "65537 nodes, expected 1..65536"},
    {AT_NODES, 0xffffffff, 4, "4294967295 nodes, expected 1..65536"},
    {AT_NODES, 4, 4, "60 bytes, expected 68 by its header"},
    {AT_BASE, UINT64_C (0x7ff8000000000000), 8, "base: not a number in"},
    {AT_BASE, UINT64_C (0x7ff0000000000000), 8, "base: not a number in"},
    {AT_COUNT, 0, 4, "tree 0: 0 nodes, expected 1..3"},
    {AT_COUNT, 4, 4, "tree 0: 4 nodes, expected 1..3"},
    {AT_COUNT, 2, 4, "1 nodes after the last tree"},
    {AT_ROOT, NO_NUMBER, 4, "tree 0: node 0: value is not a number"},
    {AT_LEFT, INFINITE, 4, "tree 0: node 1: value is not a number"},
    {AT_ROOT + FEATURE, 6, 2, "tree 0: node 0: feature 6 is out of range"},
    {AT_ROOT + FEATURE, 65535, 2, "tree 0: node 0: feature 65535 is out of range"},
    {AT_RIGHT + FEATURE, 1, 2, "tree 0: node 2: feature 1 is out of range"},
    {AT_ROOT + KIND, 3, 2, "tree 0: node 0: kind 3 is unknown"},
    {AT_ROOT + KIND, 256, 2, "tree 0: node 0: kind 256 is unknown"},
    /* a leaf with children, and a split without */
    {AT_ROOT + FEATURE, 0, 4, "tree 0: node 1 is not a child of a split"},
    {AT_RIGHT + KIND, 1, 2, "tree 0: 3 nodes, but its splits have 5"},
};

TEST ("An error in a file is named")
{
    for (size_t i = 0; i < DN_N_ELEMENTS (lies); i++) {
        char file[SIZE];

        good (file);
        put (file + lies[i].at, lies[i].number, lies[i].n_bytes);
        expect_refused (file, SIZE, lies[i].says);
    }
}

TEST ("A file that is cut or longer is refused")
{
    char file[SIZE + 1] = "";

    good (file);
    for (size_t len = 0; len < SIZE; len++)
        expect_refused (file,
                        len,
                        len < DN_FLAT_HEADER ? "not a file of the kind"
                                             : "bytes, expected");
    expect_refused (file, SIZE + 1, "61 bytes, expected 60 by its header");
}

/* A chain of 'n' splits, each the right child of the one before. */
static struct dn_trees *read_chain (int n, struct dn_err *err)
{
    int n_nodes = 2 * n + 1;
    size_t len = AT_ROOT + 8 * (size_t) n_nodes;
    char *file = unit_keep (malloc (len), free);

    put_header (file, 1, n_nodes, 0);
    put (file + AT_COUNT, (uint64_t) n_nodes, 4);
    for (int i = 0; i < n_nodes; i++)
        put_node (file + AT_ROOT + 8 * (ptrdiff_t) i,
                  0,
                  0,
                  i % 2 == 0 && i < n_nodes - 1 ? DN_NODE_MISSING_LEFT : DN_NODE_LEAF);
    return dn_trees_read ((struct dn_span){file, len}, F, err);
}

TEST ("Depth is limited")
{
    unit_keep (assert_made (read_chain (DN_TREE_DEPTH_MAX, &unit_err)), free_trees);
    for (int n = DN_TREE_DEPTH_MAX + 1; n <= 30000;
         n += 30000 - DN_TREE_DEPTH_MAX - 1) {
        assert_null (read_chain (n, &unit_err));
        assert_contains (unit_err.text, "tree 0: deeper than 32 nodes");
    }
}

static unsigned next (unsigned *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

/* Trees that are accepted predict numbers or give an error, and the walk ends. */
TEST ("A damaged file is refused or harmless")
{
    static const float rows[2 * F] = {NAN, 1, -1, 0, 1e30F, NAN, 0, 0, 0, 0, 0, 1};
    unsigned seed = 20240607;
    int n_taken = 0;
    int n_tries = 20000;

    for (int i = 0; i < n_tries; i++) {
        char file[SIZE];
        struct dn_trees *trees;
        float out[2];

        good (file);
        for (int hit = 0; hit <= i % 3; hit++) {
            size_t at = next (&seed) % SIZE;

            file[at] = (char) (file[at] ^ 1 << next (&seed) % 8);
        }
        trees = dn_trees_read ((struct dn_span){file, SIZE}, F, &unit_err);
        if (!trees) {
            assert_true (unit_err.text[0] != '\0');
            continue;
        }
        n_taken++;
        if (dn_trees_predict (trees, rows, 2, out, &unit_err) == 0)
            assert_true (isfinite (out[0]) && isfinite (out[1]));
        dn_trees_free (trees);
    }
    /* Values may change undetected, which is why files have checksums. */
    assert_true (n_taken > 0 && n_taken < n_tries);
    print_message ("# %d of %d damaged files could be read\n", n_taken, n_tries);
}
