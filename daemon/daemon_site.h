/* daemon_site.h - the configuration of dnnestd, loaded anew when its files change
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_DAEMON_SITE_H
#define DN_DAEMON_SITE_H

#include "host/watch.h"
#include "slurm/slurm_link.h"

/* What of slurm.conf the rules depend on. */
struct dn_slurm_rules {
    int version;
    char *slurmctld_parameters; /* owned; NULL: not known */
    char *scheduler_parameters;
};

/* Zeroed: nothing loaded yet. */
struct dn_daemon_site {
    bool rules_only;      /* without a model, which no rule depends on */
    const char *conf;     /* dnnest.conf, or NULL: the default path, if it exists */
    struct dn_site *site; /* in force; owned */
    const char *cluster;  /* borrowed; NULL: dn_link_open () was not called yet */
    struct dn_slurm_rules slurm;
    struct dn_watch watch;
    uint64_t identity; /* of the files when they were last loaded, or refused */
};

/* Load the site; 'conf' is that of slurmctld, NULL where it is not known. On failure
 * return -1 with 'err', and the site in force stays.
 */
int dn_daemon_site_load (struct dn_daemon_site *daemon_site,
                         const struct dn_link_conf *conf,
                         struct dn_err *err);

/* Load the defaults, with the paths of dnnest.conf if it can be read. -1: no memory. */
int dn_daemon_site_defaults (struct dn_daemon_site *daemon_site);

/* Have the files changed since the last load, or with 'conf' (NULL: not known) what
 * the rules depend on?
 */
bool dn_daemon_site_is_old (const struct dn_daemon_site *daemon_site,
                            const struct dn_link_conf *conf);

void dn_daemon_site_free (struct dn_daemon_site *daemon_site);

#endif
