/* grid.h - aligned tables of short ASCII cells, as wide as the terminal
 *
 * A table that is too wide for stdout (terminal.h) is made narrower, by one step after
 * the other until it fits: words of headings come below each other; columns that are
 * named as spare are left out, and named below the table; words of the widest columns
 * of text come below each other; the rest is printed in several blocks, each with the
 * first column.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GRID_H
#define DN_GRID_H

#include "base/base.h"
#include "terminal.h"

struct dn_grid_cell {
    char *text; /* owned */
    enum dn_tint tint;
};

struct dn_grid {
    int n_columns;
    uint64_t right;    /* a bit for each column of numbers */
    const char *spare; /* "A|B": headings of columns that may be left out, first A */
    struct dn_grid_cell *cells; /* owned, row after row, that of the headings first */
    size_t n_cells;
    bool failed; /* out of memory: cells are missing */
};

/* A table with the headings "NAME|SIZE>": '>' is behind that of a column of numbers. */
struct dn_grid dn_grid_of (const char *headings);

/* Add columns before the first row. */
void dn_grid_head (struct dn_grid *grid, const char *format, ...) DN_PRINTF (2, 3);

/* Has it no row? */
bool dn_grid_is_empty (const struct dn_grid *grid);

/* Add the next cell, to the right of the last, then in the next row. */
void dn_grid_add (struct dn_grid *grid, const char *format, ...) DN_PRINTF (2, 3);

/* Likewise a number, "-" if it is negative. */
void dn_grid_count (struct dn_grid *grid, int64_t count);

/* Colour the last cell. */
void dn_grid_tint (struct dn_grid *grid, enum dn_tint tint);

/* Print on stdout. Return an enum dn_exit: DONE, or BUG if out of memory. */
int dn_grid_print (const struct dn_grid *grid);

/* NULL-safe. */
void dn_grid_free (struct dn_grid *grid);

#endif
