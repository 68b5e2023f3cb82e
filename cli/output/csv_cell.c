/* csv_cell.c - the cells of a table that is written as CSV
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "csv_cell.h"

#include <stdbool.h>
#include <string.h>

/* Readers strip blanks from the ends of unquoted cells. */
static bool needs_quotes (const char *text)
{
    size_t len = strlen (text);

    return text[strcspn (text, "\",\r\n")] != '\0'
           || (len > 0 && (strchr (" \t", text[0]) || strchr (" \t", text[len - 1])));
}

void dn_csv_cell (FILE *file, const char *text)
{
    if (!needs_quotes (text)) {
        fputs (text, file);
        return;
    }
    fputc ('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc ('"', file);
        fputc (*text, file);
    }
    fputc ('"', file);
}
