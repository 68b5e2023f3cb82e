/* sources.c - the sources that dnnest.conf names
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "collect/sources.h"

#include <string.h>
#include <time.h>

#include "collect/prometheus.h"
#include "collect/slurmrestd.h"
#include "slurm/ended.h"

int dn_source_open (const struct dn_site *site,
                    struct dn_source *source,
                    struct dn_err *err)
{
    const char *token = "";

    *source = (struct dn_source){.name = NULL};
    if (strcmp (site->accounting, DN_SITE_NONE) == 0)
        return 0;
    if (strcmp (site->accounting, DN_SITE_SLURMDBD) == 0)
        return dn_ended_open (source, err) < 0 ? -1 : 1;
    if (strcmp (site->accounting_token, DN_SITE_NONE) != 0)
        token = site->accounting_token;
    return dn_slurmrestd_open (site->accounting, token, source, err) < 0 ? -1 : 1;
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
    struct dn_measuring measuring = {.url = site->prometheus,
                                     .queries = site->prometheus_queries,
                                     .now_s = (int64_t) time (NULL),
                                     .since_s = since_s};

    if (strcmp (site->prometheus, DN_SITE_NONE) == 0)
        return 0;
    return dn_prometheus_measure (&measuring, store, err);
}
