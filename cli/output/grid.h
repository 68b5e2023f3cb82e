/* grid.h - aligned tables of short ASCII cells
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GRID_H
#define DN_GRID_H

#include "base/base.h"

struct dn_grid_column {
    const char *heading;
    bool right; /* numbers */
};

struct dn_grid {
    const struct dn_grid_column *columns; /* borrowed */
    int n_columns;
    char **cells; /* owned, row after row */
    size_t n_cells;
    bool failed; /* out of memory: cells are missing */
};

struct dn_grid dn_grid_of (const struct dn_grid_column *columns, int n_columns);

/* Add the next cell, to the right of the last, then in the next row. */
void dn_grid_add (struct dn_grid *grid, const char *format, ...) DN_PRINTF (2, 3);

/* Print on stdout. Return an enum dn_exit: DONE, or BUG if out of memory. */
int dn_grid_print (const struct dn_grid *grid);

/* NULL-safe. */
void dn_grid_free (struct dn_grid *grid);

#endif
