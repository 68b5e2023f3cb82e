/* grid.c - aligned tables of short ASCII cells
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

struct dn_grid dn_grid_of (const struct dn_grid_column *columns, int n_columns)
{
    return (struct dn_grid){columns, n_columns, NULL, 0, false};
}

void dn_grid_add (struct dn_grid *grid, const char *format, ...)
{
    char **grown = realloc (grid->cells, (grid->n_cells + 1) * sizeof (*grid->cells));
    char *cell = NULL;
    va_list args;
    int n;

    if (!grown) {
        grid->failed = true;
        return;
    }
    grid->cells = grown;
    va_start (args, format);
    n = vasprintf (&cell, format, args);
    va_end (args);
    if (n < 0) {
        grid->failed = true;
        return;
    }
    grid->cells[grid->n_cells++] = cell;
}

static int width_of (const struct dn_grid *grid, int column)
{
    size_t width = strlen (grid->columns[column].heading);

    for (size_t i = (size_t) column; i < grid->n_cells; i += (size_t) grid->n_columns)
        if (strlen (grid->cells[i]) > width)
            width = strlen (grid->cells[i]);
    return (int) width;
}

/* The last column is not padded with blanks. */
static void print_cell (const struct dn_grid *grid, int column, const char *text)
{
    bool last = column == grid->n_columns - 1;
    int width = width_of (grid, column);

    if (grid->columns[column].right)
        printf ("%*s%s", width, text, last ? "\n" : "  ");
    else if (last)
        printf ("%s\n", text);
    else
        printf ("%-*s  ", width, text);
}

int dn_grid_print (const struct dn_grid *grid)
{
    if (grid->failed) {
        dn_complain ("out of memory");
        return DN_EXIT_BUG;
    }
    for (int c = 0; c < grid->n_columns; c++)
        print_cell (grid, c, grid->columns[c].heading);
    for (size_t i = 0; i < grid->n_cells; i++)
        print_cell (grid, (int) (i % (size_t) grid->n_columns), grid->cells[i]);
    return DN_EXIT_DONE;
}

void dn_grid_free (struct dn_grid *grid)
{
    if (!grid)
        return;
    for (size_t i = 0; i < grid->n_cells; i++)
        free (grid->cells[i]);
    free (grid->cells);
    grid->cells = NULL;
    grid->n_cells = 0;
}
