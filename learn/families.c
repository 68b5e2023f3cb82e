/* families.c - which sources share code, and which models are alike
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/families.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static int copy_cell (const struct dn_row *row,
                      const char *column,
                      char *to,
                      size_t size,
                      struct dn_err *err)
{
    const char *value = dn_row_get (row, column);
    int len = snprintf (to, size, "%s", value ? value : "");

    if (len > 0 && (size_t) len < size)
        return 0;
    return dn_err_set (err,
                       DN_E_LIMIT,
                       "'%s' must have 1 to %zu characters, not %d",
                       column,
                       size - 1,
                       len);
}

int dn_families_add (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct dn_families *families = context;
    struct dn_family *family = &families->rows[families->n];

    if (families->n == DN_FAMILIES_MAX)
        return dn_err_set (err, DN_E_LIMIT, "more than %d families", DN_FAMILIES_MAX);
    if (copy_cell (row, "column", family->column, sizeof (family->column), err) < 0
        || copy_cell (row, "pattern", family->pattern, sizeof (family->pattern), err)
               < 0
        || copy_cell (row, "family", family->name, sizeof (family->name), err) < 0)
        return -1;
    families->n++;
    return 0;
}

const char *dn_family_of (const struct dn_families *families,
                          const char *column,
                          const char *value)
{
    for (int i = 0; i < families->n; i++) {
        const struct dn_family *family = &families->rows[i];

        if (strcmp (family->column, column) == 0
            && fnmatch (family->pattern, value, 0) == 0)
            return strcmp (family->name, "=") == 0 ? value : family->name;
    }
    return value;
}
