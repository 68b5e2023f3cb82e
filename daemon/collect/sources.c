/* sources.c - the sources that dnnest.conf names
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "collect/sources.h"

#include <string.h>

#include "slurm/ended.h"

int dn_source_open (const struct dn_site *site,
                    struct dn_source *source,
                    struct dn_err *err)
{
    *source = (struct dn_source){.name = NULL};
    if (strcmp (site->accounting, DN_SITE_NONE) == 0)
        return 0;
    if (strcmp (site->accounting, DN_SITE_SLURMDBD) == 0)
        return dn_ended_open (source, err) < 0 ? -1 : 1;
    return dn_err_set (err, DN_E_RANGE, "Accounting: this dnnestd reads slurmdbd only");
}

void dn_source_close (struct dn_source *source)
{
    if (source->close)
        source->close (source->self);
    *source = (struct dn_source){.name = NULL};
}

int dn_sources_measure (const struct dn_site *site,
                        struct dn_store *store,
                        int64_t since_s,
                        struct dn_err *err)
{
    (void) site;
    (void) store;
    (void) since_s;
    (void) err;
    return 0;
}
