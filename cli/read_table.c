/* read_table.c - a table out of a stream, piece by piece
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "read_table.h"

#include <errno.h>
#include <string.h>

#define PIECE_LEN 65536

int dn_read_table (FILE *stream,
                   dn_row_f row,
                   dn_piece_f piece,
                   void *context,
                   struct dn_err *err)
{
    char text[PIECE_LEN];
    dn_cleanup (dn_table_cleanup) struct dn_table *table = dn_table_new (row, context);
    int rc = table ? 0 : dn_err_set (err, DN_E_NOMEM, "out of memory");
    size_t len = 1;

    while (rc == 0 && len > 0) {
        len = fread (text, 1, sizeof (text), stream);
        if (ferror (stream))
            return dn_err_set (err, DN_E_IO, "%s", strerror (errno));
        rc = dn_table_feed (table, text, len, err);
        piece ((struct dn_span){text, len}, context);
    }
    return rc;
}
