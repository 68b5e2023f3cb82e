/* csv_cell.h - the cells of a table that is written as CSV
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CSV_CELL_H
#define DN_CSV_CELL_H

#include <stdio.h>

/* Write one cell, quoted where necessary (RFC 4180). A text that a spreadsheet would
 * compute begins with "'", and control bytes become '?'.
 */
void dn_csv_cell (FILE *file, const char *text);

#endif
