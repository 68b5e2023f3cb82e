/* watch_task.c - the task 'watch': the state of the cluster becomes a snapshot
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "jobs/worth/room.h"
#include "round.h"
#include "watch/node_groups.h"
#include "watch/waits.h"

/* Nothing is kept between calls but by the link. */
struct watch {
    bool told;      /* that nodes were left out */
    bool told_room; /* that the log of idle GPUs cannot be written */
};

/* What is collected in one call. */
struct pass {
    struct dn_cluster *cluster; /* owned */
    struct dn_node_groups groups;
    struct dn_waits *waits; /* owned */
    const struct dn_daemon *d;
    struct dn_err *err;
};

static void pass_free (struct pass *pass)
{
    dn_cluster_free (pass->cluster);
    dn_node_groups_free (&pass->groups);
    dn_waits_free (pass->waits);
}

static int take_node (void *to, const struct dn_link_node *node)
{
    struct pass *pass = to;

    if (dn_node_groups_add (&pass->groups, node, pass->err) < 0)
        return -1;
    return dn_waits_add_node (pass->waits, node, pass->err);
}

static int take_job (void *to, const struct dn_link_job *job)
{
    struct pass *pass = to;

    return dn_waits_add_job (
        pass->waits, pass->cluster, job, pass->d->now_s, pass->err);
}

/* What a job needs beside each GPU, by the rules and the cluster's default. */
static int set_needs (struct dn_daemon *d, struct pass *pass, struct dn_err *err)
{
    struct dn_link_conf conf;

    if (dn_link_conf (d->link, &conf, err) < 0)
        return -1;
    pass->groups.cpus_per_gpu = d->site->rules.cpus_per_gpu_min;
    if (conf.def_mem_per_gpu_mb > 0)
        pass->groups.mem_per_gpu_mb = conf.def_mem_per_gpu_mb;
    else if (conf.def_mem_per_cpu_mb > 0)
        pass->groups.mem_per_gpu_mb =
            conf.def_mem_per_cpu_mb * pass->groups.cpus_per_gpu;
    return 0;
}

/* Has any policy this scope? */
static bool names_scope (const struct dn_policies *policies, enum dn_scope scope)
{
    for (int i = 0; i < policies->n_policies; i++)
        if (policies->list[i].scopes[scope].text)
            return true;
    return false;
}

/* '*n_left_out': of nodes. */
static int read_cluster (struct dn_daemon *d,
                         struct pass *pass,
                         int64_t *n_left_out,
                         struct dn_err *err)
{
    bool all; /* nodes are in the groups as they are */

    pass->cluster = calloc (1, sizeof (*pass->cluster));
    pass->waits = dn_waits_new ();
    if (!pass->cluster || !pass->waits)
        return dn_refuse (err, no_memory_for, "watch");
    pass->cluster->time_s = d->now_s;
    pass->cluster->accounts = names_scope (&d->site->policies, DN_SCOPE_ACCOUNT);
    if (set_needs (d, pass, err) < 0
        || dn_link_cluster (d->link, pass->cluster, err) < 0
        || dn_link_nodes (d->link, d->now_s, take_node, pass, err) < 0)
        return -1;
    *n_left_out = pass->groups.n_left_out;
    all = pass->groups.n_plain == pass->groups.n_groups && *n_left_out == 0;
    dn_node_groups_move (&pass->groups, pass->cluster);
    if (dn_jobs_each (d, take_job, pass, err) < 0
        || dn_waits_fill (pass->waits, d->now_s, pass->cluster, err) < 0)
        return -1;
    if (all)
        dn_node_groups_name (pass->cluster);
    return 0;
}

static int write_snapshot (const struct dn_daemon *d,
                           const struct dn_cluster *cluster,
                           struct dn_err *err)
{
    dn_cleanup (dn_put_text_free) struct dn_put_text text = {.len = 0};
    int rc;

    if (dn_cluster_write (cluster, dn_put_text_add, &text) != 0)
        return dn_refuse (err, no_memory_for, "snapshot");
    if (text.len > DN_STATE_FILE_MAX)
        return dn_refuse (
            err, member_size, "snapshot", text.len, (size_t) DN_STATE_FILE_MAX);
    rc = dn_output_write (&text, d, DN_CLUSTER_FILE, err);
    if (rc > 0)
        dn_tick (DN_TICK_SNAPSHOTS);
    return rc;
}

/* Only reports need it: a snapshot is as good without. */
static void log_room (struct watch *watch,
                      const struct dn_daemon *d,
                      const struct dn_cluster *cluster)
{
    struct dn_err err = {0};
    bool failed = dn_room_log (cluster, d->site->state_dir, &err) < 0;

    if (failed && !watch->told_room)
        dn_log (DN_LOG_ERROR, dn_say_watch_no_log, err.text);
    watch->told_room = failed;
}

/* Nodes of more kinds than the snapshot has room for are told once. */
static void tell_left_out (struct watch *watch, int64_t n_left_out)
{
    if (n_left_out > 0 && !watch->told)
        dn_log (DN_LOG_ERROR,
                dn_say_watch_left_out,
                (long long) n_left_out,
                DN_NODE_KINDS_MAX);
    watch->told = n_left_out > 0;
}

static int run (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    dn_cleanup (pass_free) struct pass pass = {.d = d, .err = err};
    int64_t n_left_out;
    int rc;

    if (read_cluster (d, &pass, &n_left_out, err) < 0)
        return -1;
    if (pass.cluster->n_assocs > DN_ASSOCS_MAX
        || pass.cluster->n_limits > DN_TRES_LIMITS_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, dn_say_err_limits, DN_ASSOCS_MAX, DN_TRES_LIMITS_MAX);
    tell_left_out (memory, n_left_out);
    rc = write_snapshot (d, pass.cluster, err);
    if (rc > 0)
        log_room (memory, d, pass.cluster);
    return rc < 0 ? -1 : 0;
}

const struct dn_task dn_task_watch = {
    .name = "watch",
    .help = "write the state of the cluster for the plugin",
    .interval_offset = offsetof (struct dn_site, watch_interval_s),
    .memory = sizeof (struct watch),
    .run = run,
};
