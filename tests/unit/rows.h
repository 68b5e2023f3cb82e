/* rows.h - reading the tables of tests/data
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TEST_ROWS_H
#define DN_TEST_ROWS_H

#include "learn/table.h"

/* Open tests/data/NAME of the source tree (srcdir, else the current directory) and call
 * 'row' for every row. Fails the test if it cannot, or if there is no row.
 */
void rows_each (const char *name, dn_row_f row, void *context);

/* The value of a column that the table must have. */
const char *rows_get (const struct dn_row *row, const char *column);

#endif
