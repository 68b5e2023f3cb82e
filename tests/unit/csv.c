/* csv.c - reading the tables of tests/data
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <stdbool.h>

#include "csv.h"

/* Cut 'line' into fields in place; a field may stand in double quotes. */
static int split (char *line, char *fields[CSV_FIELDS_MAX])
{
    int n = 0;
    char *at = line;

    line[strcspn (line, "\r\n")] = '\0';
    while (n < CSV_FIELDS_MAX) {
        bool quoted = *at == '"';
        char *end;

        at += quoted ? 1 : 0;
        fields[n++] = at;
        end = quoted ? strchr (at, '"') : at + strcspn (at, ",");
        if (!end || *end == '\0')
            return n;
        *end++ = '\0';
        if (quoted && *end++ != ',')
            return n;
        at = end;
    }
    return n;
}

void csv_each (const char *name,
               void (*row) (char *const fields[], int n_fields, void *context),
               void *context)
{
    const char *srcdir = getenv ("srcdir");
    char path[4096];
    char line[4096];
    FILE *file;
    int n_lines = 0;

    snprintf (path, sizeof (path), "%s/tests/data/%s", srcdir ? srcdir : ".", name);
    file = fopen (path, "r");
    if (!file)
        fail_msg ("cannot open %s", path);
    while (fgets (line, sizeof (line), file)) {
        char *fields[CSV_FIELDS_MAX] = {NULL};
        int n_fields = split (line, fields);

        if (n_lines++ > 0)
            row (fields, n_fields, context);
    }
    fclose (file);
    assert_true (n_lines > 1);
}
