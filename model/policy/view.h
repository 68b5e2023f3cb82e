/* view.h - what the files of dnnestd say at the time of a submission
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_VIEW_H
#define DN_VIEW_H

#include "hardware/cluster.h"
#include "policy/guarded.h"
#include "predict/apps.h"

/* Members may be NULL. dn_advise () gives the stages no cluster that is too old; how
 * old the heartbeat of the guard may be is up to dn_guarded_is_alive ().
 */
struct dn_view {
    const struct dn_cluster *cluster;
    const struct dn_guarded *guarded;
    const struct dn_apps *apps;
    int64_t now_s; /* seconds since 1970 */
    bool replayed; /* of the past: that there is no cluster means no doubt */
    /* When slurmctld began to change jobs by this site and model, and the changes of
     * the present hour (dn_policy_may_change ()), which all threads count; NULL: not
     * counted.
     */
    int64_t begun_s;
    uint64_t *changes;
};

#endif
