/* rows.h - tables of the rows of a JSON array
 *
 * What a command prints is an array of objects: with --json as it is, else as a table
 * of some of their members. The columns of the table are a text, "HEADING=MEMBER
 * FORM|...". '>' is behind the heading of a column of numbers (grid.h). MEMBER may be
 * one of a member, "train_s.p95". FORM says how the value is shown. Without one it is
 * as it is: a text, a whole number, or texts with blanks between. ".2": a number with
 * two digits after the point; with a '+' behind it with its sign, with a '?' "-" where
 * it is 0. "UNIT.2": as a multiple of %, min, G, T or GiB. "time", "memory", "si",
 * "number" and "share": by dn_show_time (), dn_show_bytes (), dn_show_count (),
 * dn_show_number () and dn_show_share (). "name": what a user named, 28 printable
 * characters of it. A value that is null, or is not there, is "-".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ROWS_H
#define DN_ROWS_H

#include "output/grid.h"
#include "output/json.h"

/* The table, freed with dn_grid_free (). */
struct dn_grid dn_rows_grid (struct json_object *rows, const char *columns);

/* Print it, and put 'rows'; 'spare' as of a grid, or NULL. Return an enum dn_exit. */
int dn_rows_print (struct json_object *rows, const char *columns, const char *spare);

/* The same below an empty line; nothing without a row. */
int dn_rows_print_any (struct json_object *rows, const char *columns);

#endif
