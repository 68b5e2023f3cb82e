/* site_advice.c - what would make the time limits of a site better
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config/site_advice.h"

#include "seen.h"

static bool has_guard (const struct dn_site *site)
{
    dn_cleanup (dn_seen_free) struct dn_seen seen;

    dn_seen_read (&seen, site, NULL);
    return seen.guarded.state == DN_SEEN_USED;
}

const char *dn_site_advice (const struct dn_site *site, int slurm, bool slurm_conf)
{
    enum dn_time_mode mode = site->rules.time_limit;

    if (mode == DN_TIME_KEEP || mode == DN_TIME_TIME_MIN
        || (mode == DN_TIME_AUTO && site->time_min_is_soft))
        return NULL;
    if (mode == DN_TIME_AUTO && slurm >= DN_SOFT_TIME_MIN_SLURM)
        return slurm_conf ? "SchedulerParameters=time_min_as_soft_limit in slurm.conf "
                            "lets Slurm plan with the predicted time, and jobs keep "
                            "their whole time limits"
                          : NULL;
    return has_guard (site)
               ? NULL
               : "no guard is alive: while dnnestd runs, time limits follow "
                 "GuardedQuantile, and are extended where a job needs more";
}
