/* sources.c - the sources that dnnest.conf names
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "collect/sources.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/prometheus.h"
#include "collect/slurmrestd.h"
#include "slurm/ended.h"

/* A file that dnnest.conf names, or else one in StateDir, or else "". */
static void find_file (const struct dn_site *site,
                       const char *named,
                       const char *name,
                       char path[DN_SITE_PATH_MAX])
{
    int len = strcmp (named, DN_SITE_NONE) != 0
                  ? snprintf (path, DN_SITE_PATH_MAX, "%s", named)
                  : snprintf (path, DN_SITE_PATH_MAX, "%s/%s", site->state_dir, name);

    if (len >= DN_SITE_PATH_MAX
        || (strcmp (named, DN_SITE_NONE) == 0 && access (path, F_OK) < 0))
        path[0] = '\0';
}

int dn_source_open (const struct dn_site *site,
                    struct dn_source *source,
                    struct dn_err *err)
{
    char token[DN_SITE_PATH_MAX];

    *source = (struct dn_source){.name = NULL};
    if (strcmp (site->accounting, DN_SITE_NONE) == 0)
        return 0;
    if (strcmp (site->accounting, DN_SITE_SLURMDBD) == 0)
        return dn_ended_open (source, err) < 0 ? -1 : 1;
    find_file (site, site->accounting_token, "slurmrestd.token", token);
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
    char queries[DN_SITE_PATH_MAX];
    struct dn_measuring measuring = {.url = site->prometheus,
                                     .queries = queries,
                                     .now_s = (int64_t) time (NULL),
                                     .since_s = since_s};

    if (strcmp (site->prometheus, DN_SITE_NONE) == 0)
        return 0;
    find_file (site, site->prometheus_queries, "prometheus.queries", queries);
    return dn_prometheus_measure (&measuring, store, err);
}
