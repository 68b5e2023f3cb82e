/* families.h - which sources share code, and which models are alike
 *
 * Rows of such sources or models are not independent: to judge a prediction on rows
 * that nothing has seen, all of a family are left out (learn/data/families.csv). The
 * table has the columns 'column' (source or group), 'pattern' and 'family'. The first
 * pattern of the column that matches counts; the family '=' is the value itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FAMILIES_H
#define DN_FAMILIES_H

#include "learn/table.h"

#define DN_FAMILIES_MAX 256

/* One pattern: '*' matches any text, also none. */
struct dn_family {
    char column[16];
    char pattern[DN_NAME_MAX];
    char name[DN_NAME_MAX];
};

struct dn_families {
    struct dn_family rows[DN_FAMILIES_MAX];
    int n;
};

/* A dn_row_f, with the families as context: add a row. -1 with 'err' where a cell is
 * missing or too long, or if there are too many rows.
 */
int dn_families_add (const struct dn_row *row, void *context, struct dn_err *err);

/* The family of a value of a column: 'value' itself if no pattern matches. Valid as
 * long as 'families' and 'value'.
 */
const char *dn_family_of (const struct dn_families *families,
                          const char *column,
                          const char *value);

#endif
