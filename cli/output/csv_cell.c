/* csv_cell.c - the cells of a table that is written as CSV
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "csv_cell.h"

#include <float.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

/* A spreadsheet computes cells that begin so, unless they are numbers. */
static bool is_formula (const char *text)
{
    double number;

    return text[0] != '\0' && strchr ("=+-@\t\r", text[0])
           && dn_real_read (dn_span_of (text), "", -DBL_MAX, DBL_MAX, &number, NULL)
                  < 0;
}

/* Readers strip blanks from the ends of unquoted cells. */
static bool needs_quotes (const char *text)
{
    size_t len = strlen (text);

    return text[strcspn (text, "\",\r\n")] != '\0'
           || (len > 0 && (strchr (" \t", text[0]) || strchr (" \t", text[len - 1])));
}

/* Control bytes such as those of a terminal become '?'; texts may have lines. */
static char harmless (char c)
{
    return ((unsigned char) c < ' ' && c != '\n' && c != '\t') || c == 127 ? '?' : c;
}

void dn_csv_cell (FILE *file, const char *text)
{
    bool quotes = needs_quotes (text);

    if (quotes)
        fputc ('"', file);
    if (is_formula (text))
        fputc ('\'', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc ('"', file);
        fputc (harmless (*text), file);
    }
    if (quotes)
        fputc ('"', file);
}
