/* daemon_site.c - the configuration of dnnestd, loaded anew when its files change
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "daemon_site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/messages.h"
#include "host/load.h"

static void free_rules (struct dn_slurm_rules *rules)
{
    free (rules->slurmctld_parameters);
    free (rules->scheduler_parameters);
    *rules = (struct dn_slurm_rules){.version = 0};
}

static int copy_rules (const struct dn_link_conf *conf,
                       struct dn_slurm_rules *rules,
                       struct dn_err *err)
{
    *rules = (struct dn_slurm_rules){.version = conf->slurm};
    rules->slurmctld_parameters = strdup (conf->slurmctld_parameters);
    rules->scheduler_parameters = strdup (conf->scheduler_parameters);
    if (rules->slurmctld_parameters && rules->scheduler_parameters)
        return 0;
    free_rules (rules);
    return dn_refuse (err, no_memory_for, "site");
}

static bool is_same (const struct dn_slurm_rules *rules,
                     const struct dn_link_conf *conf)
{
    return rules->slurmctld_parameters && rules->version == conf->slurm
           && strcmp (rules->slurmctld_parameters, conf->slurmctld_parameters) == 0
           && strcmp (rules->scheduler_parameters, conf->scheduler_parameters) == 0;
}

/* An installation without dnnest.conf works with the defaults. */
static const char *conf_path (const struct dn_daemon_site *daemon_site)
{
    if (daemon_site->conf)
        return daemon_site->conf;
    return access (DNNEST_CONF, F_OK) < 0 && errno == ENOENT ? NULL : DNNEST_CONF;
}

int dn_daemon_site_load (struct dn_daemon_site *daemon_site,
                         const struct dn_link_conf *conf,
                         struct dn_err *err)
{
    struct dn_load_paths paths = dn_load_default_paths ();
    struct dn_load_context context = {.cluster = daemon_site->cluster};
    struct dn_site *site;

    paths.conf = conf_path (daemon_site);
    paths.model = daemon_site->rules_only ? DN_SITE_NONE : NULL;
    if (conf && !is_same (&daemon_site->slurm, conf)) {
        free_rules (&daemon_site->slurm);
        if (copy_rules (conf, &daemon_site->slurm, err) < 0)
            return -1;
    }
    dn_watch_conf (&daemon_site->watch, paths.conf ? paths.conf : DNNEST_CONF);
    daemon_site->identity = dn_watch_identity (&daemon_site->watch);
    context.slurm_version = daemon_site->slurm.version;
    context.slurmctld_parameters = daemon_site->slurm.slurmctld_parameters;
    context.scheduler_parameters = daemon_site->slurm.scheduler_parameters;
    site = dn_load_site (&paths, &context, err);
    if (!site)
        return -1;
    dn_load_free (daemon_site->site);
    daemon_site->site = site;
    return 0;
}

static void ignore (void *to, const struct dn_err *err)
{
    (void) to;
    (void) err;
}

int dn_daemon_site_defaults (struct dn_daemon_site *daemon_site)
{
    const struct dn_load_paths paths = dn_load_default_paths ();
    const char *conf = conf_path (daemon_site);
    struct dn_problems problems = {.report = ignore};
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_site *site = calloc (1, sizeof (*site));
    size_t len;

    if (!site || dn_site_init (site, paths.hardware, paths.datasets, NULL) < 0) {
        dn_load_free (site);
        return -1;
    }
    if (conf && dn_load_file (conf, &text, &len, NULL) == 0)
        dn_site_read_paths (site, (struct dn_span){text, len}, conf, &problems, NULL);
    dn_load_free (daemon_site->site);
    daemon_site->site = site;
    return 0;
}

bool dn_daemon_site_is_old (const struct dn_daemon_site *daemon_site,
                            const struct dn_link_conf *conf)
{
    return (conf && !is_same (&daemon_site->slurm, conf))
           || dn_watch_identity (&daemon_site->watch) != daemon_site->identity;
}

void dn_daemon_site_free (struct dn_daemon_site *daemon_site)
{
    dn_load_free (daemon_site->site);
    daemon_site->site = NULL;
    free_rules (&daemon_site->slurm);
}
