/* sources.h - the sources that dnnest.conf names
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SOURCES_H
#define DN_SOURCES_H

#include "collect/source.h"
#include "jobs/store.h"
#include "site.h"

/* Open the source that the key Accounting names. 1, or 0 where it is none; -1 with
 * 'err'. Closed with dn_source_close (), which is safe for a zeroed one.
 */
int dn_source_open (const struct dn_site *site,
                    struct dn_source *source,
                    struct dn_err *err);
void dn_source_close (struct dn_source *source);

/* Complete jobs of the store that ended at or after 'since_s' and lack what was
 * measured (dn_store_filter.unmeasured), from what the site names; commits. -1 with
 * 'err'; DN_E_TIME: no answer, try again later.
 */
int dn_sources_measure (const struct dn_site *site,
                        struct dn_store *store,
                        int64_t since_s,
                        struct dn_err *err);

#endif
