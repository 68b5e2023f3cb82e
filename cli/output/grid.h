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

struct dn_grid_column {
    const char *heading;
    bool right; /* numbers */
};

struct dn_grid_cell {
    char *text; /* owned */
    enum dn_tint tint;
};

struct dn_grid {
    const struct dn_grid_column *columns; /* borrowed */
    int n_columns;
    /* Headings of columns that may be left out, the first of them first, up to a NULL;
     * borrowed. NULL: none. */
    const char *const *spare;
    struct dn_grid_cell *cells; /* owned, row after row */
    size_t n_cells;
    bool failed; /* out of memory: cells are missing */
};

struct dn_grid dn_grid_of (const struct dn_grid_column *columns, int n_columns);

/* Add the next cell, to the right of the last, then in the next row. */
void dn_grid_add (struct dn_grid *grid, const char *format, ...) DN_PRINTF (2, 3);

/* Colour the last cell. */
void dn_grid_tint (struct dn_grid *grid, enum dn_tint tint);

/* Print on stdout. Return an enum dn_exit: DONE, or BUG if out of memory. */
int dn_grid_print (const struct dn_grid *grid);

/* NULL-safe. */
void dn_grid_free (struct dn_grid *grid);

#endif
