/* own_records.h - a user's own store of records: where it is, adding to it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_OWN_RECORDS_H
#define DN_OWN_RECORDS_H

#include "learn/records.h"

/* The default path of the store: below XDG_DATA_HOME or ~/.local/share. -1 with 'err'
 * if neither is known.
 */
int dn_records_usual_path (char *path, size_t size, struct dn_err *err);

/* Open the store 'path' to add to it. Create it and its parent directories if they do
 * not exist.
 */
int dn_records_make (const char *path, struct dn_records **records, struct dn_err *err);

#endif
