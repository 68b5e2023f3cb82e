/* own_records.h - a user's own store of records: where it is, adding to it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_OWN_RECORDS_H
#define DN_OWN_RECORDS_H

#include "learn/records.h"

/* Where records are kept if nobody says otherwise: below XDG_DATA_HOME or
 * ~/.local/share. -1 with 'err' where neither is known.
 */
int dn_records_usual_path (char *path, size_t size, struct dn_err *err);

/* Open the store 'path' to add to it; make it, and the folders to it, where there is
 * none.
 */
int dn_records_make (const char *path, struct dn_records **records, struct dn_err *err);

/* Add one run, or none (NULL: only make the store), and be done. */
int dn_records_keep (const char *path, const struct dn_run *run, struct dn_err *err);

#endif
