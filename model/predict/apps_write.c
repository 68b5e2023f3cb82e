/* apps_write.c - write the file 'history'
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/apps_lines.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int write_line (enum dn_apps_line kind,
                       const void *row,
                       dn_apps_put_f put,
                       void *to)
{
    char text[DN_FIELDS_LINE_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_fields_write (&dn_apps_kinds[kind], row, &buf);
    return put (to, text, buf.len);
}

/* In whole numbers of 1/'per'; what is no number, or too large, as the end of the range
 * that dn_fields_write () knows.
 */
static int64_t whole (double value, double per)
{
    double scaled = value * per;

    if (!(scaled > 0))
        return 0;
    return scaled < 1e18 ? llround (scaled) : INT64_MAX;
}

static int write_app (const struct dn_app_row *row, dn_apps_put_f put, void *to)
{
    struct dn_app_line app = {
        .type = row->type,
        .gpus = row->gpus,
        .unit = row->unit < DN_N_WORK_UNITS ? row->unit : DN_WORK_RUN,
        .freedom = row->freedom,
        .runs = row->runs,
        .last_s = row->last_s,
        .start_ms = whole (row->start_s, DN_APPS_PER_MILLI),
        .unit_us = whole (row->unit_s, DN_APPS_PER_MICRO),
        .sigma_ppm = whole (row->sigma, DN_APPS_PER_MICRO),
        .longest_ms = whole (row->longest_s, DN_APPS_PER_MILLI),
        .milli_cores = whole (row->cores, DN_APPS_PER_MILLI),
        .memory_mib = whole (row->gpu_mem_gb, DN_APPS_MIB_PER_GIB),
        .host_mib = whole (row->mem_gb, DN_APPS_MIB_PER_GIB),
        .host_runs = row->mem_runs,
        .host_kept = row->mem_kept,
        .work_min = whole (row->work_min, 1),
        .work_max = whole (row->work_max, 1),
        .memory_said = row->gpu_mem_said,
        .step_us = whole (row->step_s, DN_APPS_PER_MICRO),
        .start_up_ms = whole (row->start_up_s, DN_APPS_PER_MILLI)};

    snprintf (app.key, sizeof (app.key), "%016" PRIx64, row->key);
    return write_line (DN_APPS_LINE_APP, &app, put, to);
}

static void copy_text (const char *text, char *out, size_t size)
{
    struct dn_buf buf = dn_buf_on (out, size);

    dn_buf_text (&buf, text);
}

static int write_network (const char *sidecar, dn_apps_put_f put, void *to)
{
    struct dn_app_network network;

    copy_text (sidecar, network.graph, sizeof (network.graph));
    for (char *at = network.graph; (at = strchr (at, '"')); at++)
        *at = '\'';
    return write_line (DN_APPS_LINE_NETWORK, &network, put, to);
}

static int write_known (const struct dn_app_known *known, dn_apps_put_f put, void *to)
{
    struct dn_app_captured captured = {
        .batch = known->batch,
        .network = known->network,
        .last_s = known->last_s,
        .steps = whole (known->steps, 1),
        .milli_epochs = whole (known->epochs, DN_APPS_PER_MILLI),
        .loader_ppm = known->loader_share < 0
                          ? -1
                          : whole (known->loader_share, DN_APPS_PER_MICRO),
        .workers = known->workers,
        .gpus = known->gpus,
        .gpus_used = known->gpus_used,
        .gpus_runs = known->gpus_runs};

    snprintf (captured.key, sizeof (captured.key), "%016" PRIx64, known->key);
    copy_text (known->spec, captured.spec, sizeof (captured.spec));
    copy_text (known->arch, captured.arch, sizeof (captured.arch));
    copy_text (known->job, captured.job, sizeof (captured.job));
    if (known->kin != 0)
        snprintf (captured.kin, sizeof (captured.kin), "%016" PRIx64, known->kin);
    return write_line (DN_APPS_LINE_CAPTURED, &captured, put, to);
}

int dn_apps_write (const struct dn_apps *apps, dn_apps_put_f put, void *to)
{
    const struct dn_app_tail tail = {apps->n_rows, apps->n_known};
    struct dn_app_head head = {.version = DN_APPS_VERSION,
                               .time_s = apps->time_s,
                               .by_account = apps->by_account};
    struct dn_app_type type;
    int rc;

    memcpy (head.cluster, apps->cluster, sizeof (head.cluster));
    memcpy (head.bundle, apps->bundle, sizeof (head.bundle));
    rc = write_line (DN_APPS_LINE_HISTORY, &head, put, to);
    for (int i = 0; i < apps->n_types && rc == 0; i++) {
        memcpy (type.name, apps->types[i], sizeof (type.name));
        rc = write_line (DN_APPS_LINE_TYPE, &type, put, to);
    }
    for (int64_t i = 0; i < apps->n_networks && rc == 0; i++)
        rc = write_network (apps->networks[i], put, to);
    for (int64_t i = 0; i < apps->n_rows && rc == 0; i++)
        rc = write_app (&apps->rows[i], put, to);
    for (int64_t i = 0; i < apps->n_known && rc == 0; i++)
        rc = write_known (&apps->known[i], put, to);
    return rc ? rc : write_line (DN_APPS_LINE_END, &tail, put, to);
}
