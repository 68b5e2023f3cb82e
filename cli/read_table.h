/* read_table.h - a table out of a stream, piece by piece
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_READ_TABLE_H
#define DN_READ_TABLE_H

#include <stdio.h>

#include "learn/table.h"

/* Called behind the rows of every piece that was read, the last one is empty. */
typedef void (*dn_piece_f) (struct dn_span piece, void *context);

/* Read the whole stream; 'row' and 'piece' get 'context'. -1 with 'err'. */
int dn_read_table (FILE *stream,
                   dn_row_f row,
                   dn_piece_f piece,
                   void *context,
                   struct dn_err *err);

#endif
