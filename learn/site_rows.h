/* site_rows.h - a site's runs out of a table
 *
 * In: rows that are measured runs (measured_run.h). Out: struct
 * dn_site_run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_ROWS_H
#define DN_SITE_ROWS_H

#include "learn/site_fit.h"
#include "policy/scope.h"
#include "learn/table.h"

/* Read one run; the caller frees its graph. 'people' (NULL: none) knows the users. -1
 * with the reason why it is of no use: a cell that cannot be read, an unknown device,
 * nothing measured.
 */
int dn_site_run_read (const struct dn_row *row,
                      const struct dn_catalogue *catalogue,
                      const struct dn_datasets *datasets,
                      const struct dn_networks *networks,
                      const struct dn_people *people,
                      struct dn_site_run *run,
                      struct dn_err *err);

#endif
