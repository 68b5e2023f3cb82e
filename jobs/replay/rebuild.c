/* rebuild.c - the submission of a finished job, from its row
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "replay.h"
#include "base/messages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t dn_rebuild_limit (const struct dn_finished *row)
{
    if (row->asked_limit_s != DN_UNSET || dn_finished_changed (row))
        return row->asked_limit_s;
    return row->limit_s;
}

const char *dn_rebuild_gpu (const struct dn_finished *row)
{
    return row->asked_gpu[0] != '\0' ? row->asked_gpu : row->gpu;
}

int64_t dn_rebuild_cpus (const struct dn_finished *row)
{
    return row->asked_cpus != DN_UNSET ? row->asked_cpus : row->cpus;
}

int64_t dn_rebuild_mem_mb (const struct dn_finished *row)
{
    double gb = row->asked_mem_gb > 0 ? row->asked_mem_gb : row->mem_gb;
    double nodes = row->nodes > 0 ? (double) row->nodes : 1;

    return gb > 0 && gb < 1e9 ? (int64_t) (gb * 1024 / nodes) : DN_UNSET;
}

/* A name that metadata can state: fingerprints have a colon. */
static void copy_app (const char *app, char name[DN_NAME_MAX])
{
    if (strlen (app) >= DN_NAME_MAX)
        return;
    memcpy (name, app, strlen (app) + 1);
    for (char *at = name; *at; at++)
        if (*at == ':')
            *at = '_';
}

/* Do the metadata name the application? No key may be given twice. */
static bool names_app (const char *spec)
{
    const char *at = spec;

    while ((at = strstr (at, "app=")) != NULL) {
        if (at == spec || at[-1] == ',')
            return true;
        at++;
    }
    return false;
}

static int write_comment (const struct dn_finished *row,
                          struct dn_rebuilt *rebuilt,
                          struct dn_err *err)
{
    size_t size = strlen (row->spec) + DN_NAME_MAX + 32;
    bool named = rebuilt->app[0] != '\0' && !names_app (row->spec);

    if (!named && row->spec[0] == '\0')
        return 0;
    rebuilt->comment = malloc (size);
    if (!rebuilt->comment)
        return dn_refuse (err, no_memory);
    snprintf (rebuilt->comment,
              size,
              "dnnest:%s%s%s%s",
              row->spec,
              named && row->spec[0] != '\0' ? "," : "",
              named ? "app=" : "",
              named ? rebuilt->app : "");
    rebuilt->job.comment = rebuilt->comment;
    return 0;
}

static void set_resources (const struct dn_finished *row, struct dn_rebuilt *rebuilt)
{
    struct dn_job *job = &rebuilt->job;
    int64_t nodes = row->nodes > 0 ? row->nodes : 1;
    int64_t cpus = dn_rebuild_cpus (row);
    const char *gpu = dn_rebuild_gpu (row);

    job->min_nodes = job->max_nodes = nodes;
    job->num_tasks = nodes;
    if (cpus >= nodes) {
        job->min_cpus = cpus;
        job->cpus_per_task = cpus / nodes;
    }
    job->mem_per_node_mb = dn_rebuild_mem_mb (row);
    if (row->gpus <= 0)
        return;
    snprintf (rebuilt->tres,
              sizeof (rebuilt->tres),
              "gres/gpu%s%.*s:%" PRId64,
              gpu[0] ? ":" : "",
              DN_NAME_MAX,
              gpu,
              (row->gpus + nodes - 1) / nodes);
    job->tres[DN_GPU_PER_NODE] = rebuilt->tres;
}

int dn_rebuild (const struct dn_finished *row,
                struct dn_rebuilt *rebuilt,
                struct dn_err *err)
{
    int64_t limit_s = dn_rebuild_limit (row);

    memset (rebuilt, 0, sizeof (*rebuilt));
    rebuilt->job = dn_job_empty ();
    rebuilt->job.kind = DN_JOB_BATCH;
    rebuilt->job.user_id = row->user;
    rebuilt->job.name = row->name;
    rebuilt->job.partition = row->partition;
    rebuilt->job.account = row->account;
    rebuilt->job.qos = row->qos;
    rebuilt->job.time_limit_min = limit_s > 0 ? (limit_s + 59) / 60 : limit_s;
    copy_app (row->app, rebuilt->app);
    set_resources (row, rebuilt);
    return write_comment (row, rebuilt, err);
}

void dn_rebuilt_free (struct dn_rebuilt *rebuilt)
{
    free (rebuilt->comment);
    rebuilt->comment = NULL;
}
