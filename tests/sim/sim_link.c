/* sim_link.c - a slurmctld that is made up, for tests of what talks to one
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sim_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slurm counts a job without a limit as this long. */
#define LONGEST_S (INT64_C (365) * 86400)

const char *sim_text (struct sim_slurm *slurm, const char *text)
{
    if (dn_rows_grow (&slurm->texts, slurm->n_texts, sizeof (*slurm->texts), NULL) < 0)
        abort ();
    slurm->texts[slurm->n_texts] = strdup (text);
    return slurm->texts[slurm->n_texts++];
}

void sim_limit (struct dn_link_job *job, int64_t limit_s)
{
    int64_t before_s = job->limit_s == DN_UNLIMITED ? LONGEST_S : job->limit_s;
    int64_t after_s = limit_s == DN_UNLIMITED ? LONGEST_S : limit_s;

    if (job->end > 0)
        job->end += after_s - before_s;
    job->limit_s = limit_s;
}

void sim_free (struct sim_slurm *slurm)
{
    for (int64_t i = 0; i < slurm->n_texts; i++)
        free (slurm->texts[i]);
    free (slurm->texts);
    slurm->texts = NULL;
    slurm->n_texts = 0;
}

static int before (struct dn_link *link,
                   enum sim_call call,
                   const struct dn_link_job *job,
                   struct dn_err *err)
{
    return link->before ? link->before (link, call, job, err) : 0;
}

static int after (struct dn_link *link,
                  enum sim_call call,
                  const struct dn_link_job *job,
                  struct dn_err *err)
{
    return link->after ? link->after (link, call, job, err) : 0;
}

int64_t dn_link_now (const struct dn_link *link)
{
    return link->told_s
           + (link->clock_ms ? (link->clock_ms (link) - link->told_ms) / 1000 : 0);
}

int64_t sim_slurm_user;

int dn_link_conf (struct dn_link *link, struct dn_link_conf *conf, struct dn_err *err)
{
    (void) link;
    (void) err;
    *conf = (struct dn_link_conf){.cluster = "", .slurm_user = sim_slurm_user};
    return 0;
}

bool dn_link_is_lost (const struct dn_err *err)
{
    return err->code == DN_E_TIME;
}

int dn_link_jobs (struct dn_link *link, struct dn_err *err)
{
    const struct sim_slurm *slurm = link->slurm;

    link->n_tables++;
    if (before (link, SIM_TABLE, NULL, err) < 0)
        return -1;
    dn_link_jobs_drop (link);
    link->table = calloc ((size_t) slurm->n_jobs + 1, sizeof (*link->table));
    if (!link->table)
        abort ();
    for (int i = 0; i < slurm->n_jobs; i++)
        if (slurm->jobs[i].name[0] != '\0')
            link->table[link->n_table++] = slurm->jobs[i];
    return after (link, SIM_TABLE, NULL, err);
}

void dn_link_jobs_drop (struct dn_link *link)
{
    free (link->table);
    link->table = NULL;
    link->n_table = 0;
}

int dn_link_jobs_each (struct dn_link *link, dn_link_job_f take, void *to)
{
    int rc = 0;

    for (int i = 0; i < link->n_table && rc == 0; i++)
        rc = take (to, &link->table[i]);
    return rc;
}

/* Pending tasks of an array have a name such as 12_[3-5] or 12_3, and their record 12.
 */
static bool has_task (const struct dn_link_job *job, const char *name)
{
    size_t len = strlen (job->name);

    return job->pending_tasks && strncmp (job->name, name, len) == 0
           && name[len] == '_';
}

static struct dn_link_job *find (const struct sim_slurm *slurm,
                                 const char *name,
                                 int64_t raw_id)
{
    struct dn_link_job *record = NULL;

    for (int i = 0; i < slurm->n_jobs; i++) {
        struct dn_link_job *job = &slurm->jobs[i];

        if (job->name[0] == '\0')
            continue;
        if (name ? strcmp (job->name, name) == 0 : job->raw_id == raw_id)
            return job;
        if (name && has_task (job, name))
            record = job;
    }
    return record;
}

int dn_link_job_now (struct dn_link *link,
                     int64_t raw_id,
                     dn_link_job_f take,
                     void *to,
                     struct dn_err *err)
{
    const struct dn_link_job *job;
    int rc = 0;

    if (before (link, SIM_JOB, find (link->slurm, NULL, raw_id), err) < 0)
        return -1;
    job = find (link->slurm, NULL, raw_id);
    if (job)
        rc = take (to, job);
    return rc ? rc : after (link, SIM_JOB, job, err);
}

/* The pending tasks of an array are one record in the table. */
static bool is_with (const struct dn_link_job *job, const struct dn_link_job *record)
{
    return job == record
           || (record->pending_tasks && job->job_id == record->job_id
               && job->phase == DN_PHASE_PENDING && job->name[0] == '\0');
}

int dn_link_update (struct dn_link *link,
                    const struct dn_link_change *change,
                    struct dn_err *err)
{
    struct sim_slurm *slurm = link->slurm;
    struct dn_link_job *record = find (slurm, change->name, 0);

    if (before (link, SIM_UPDATE, record, err) < 0)
        return -1;
    record = find (slurm, change->name, 0);
    if (!record || record->phase >= DN_PHASE_ENDING)
        return dn_err_set (err, DN_E_RANGE, "job %s: has finished", change->name);
    if (change->limit_s > 0 && change->limit_s % 60 != 0)
        return dn_err_set (err, DN_E_BUG, "job %s: no whole minutes", change->name);
    if (link->n_changes < (int) DN_N_ELEMENTS (link->changed))
        snprintf (link->changed[link->n_changes], DN_NAME_MAX, "%s", change->name);
    link->n_changes++;
    for (int i = 0; i < slurm->n_jobs; i++) {
        struct dn_link_job *job = &slurm->jobs[i];

        if (!is_with (job, record))
            continue;
        if (change->limit_s > 0 || change->limit_s == DN_UNLIMITED)
            sim_limit (job, change->limit_s);
        if (change->admin_comment)
            job->admin_comment = sim_text (slurm, change->admin_comment);
        if (change->features)
            job->features = sim_text (slurm, change->features);
    }
    return after (link, SIM_UPDATE, record, err);
}

int dn_link_notify (struct dn_link *link,
                    const struct dn_link_job *job,
                    const char *line,
                    struct dn_err *err)
{
    if (before (link, SIM_NOTIFY, job, err) < 0)
        return -1;
    link->n_notices++;
    snprintf (link->notice, sizeof (link->notice), "%s", line);
    return after (link, SIM_NOTIFY, job, err);
}

int dn_link_cluster (struct dn_link *link,
                     struct dn_cluster *cluster,
                     struct dn_err *err)
{
    if (before (link, SIM_CLUSTER, NULL, err) < 0)
        return -1;
    *cluster = (struct dn_cluster){.enforces = true};
    cluster->partitions = calloc (1, sizeof (*cluster->partitions));
    cluster->n_partitions = 1;
    strcpy (cluster->partitions[0].name, "gpu");
    cluster->partitions[0].max_time_s = link->slurm->max_time_s;
    cluster->partitions[0].default_time_s = link->slurm->default_time_s;
    cluster->qos = calloc (1, sizeof (*cluster->qos));
    cluster->n_qos = 1;
    strcpy (cluster->qos[0].name, "normal");
    cluster->qos[0].max_wall_s = link->slurm->max_wall_s;
    return after (link, SIM_CLUSTER, NULL, err);
}

int dn_link_nodes (struct dn_link *link,
                   int64_t now_s,
                   dn_link_node_f take,
                   void *to,
                   struct dn_err *err)
{
    int rc = 0;

    (void) now_s;
    (void) err;
    for (int i = 0; i < link->slurm->n_nodes && rc == 0; i++)
        rc = take (to, &link->slurm->nodes[i]);
    return rc;
}

int dn_link_reservations (struct dn_link *link,
                          dn_link_reservation_f take,
                          void *to,
                          struct dn_err *err)
{
    if (before (link, SIM_RESERVATIONS, NULL, err) < 0)
        return -1;
    for (int i = 0; i < link->slurm->n_reservations; i++) {
        struct dn_link_reservation reservation = link->slurm->reservations[i];
        int rc;

        reservation.changed_s = link->slurm->reservations_changed_s;
        rc = take (to, &reservation);
        if (rc)
            return rc;
    }
    return after (link, SIM_RESERVATIONS, NULL, err);
}

bool dn_link_share_node (const char *a, const char *b)
{
    struct dn_span rest = dn_span_of (a ? a : "");
    struct dn_span node;

    while ((node = dn_span_cut (&rest, ",")).text)
        if (node.len > 0 && dn_list_has (b ? b : "", node))
            return true;
    return false;
}
