/* apps_write.c - write the file 'history'
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/apps_lines.h"

#include <string.h>

static int write_line (enum dn_apps_line kind, const void *row, dn_put_f put, void *to)
{
    return dn_fields_put (&dn_apps_kinds[kind], row, put, to);
}

static void copy_text (const char *text, char *out, size_t size)
{
    struct dn_buf buf = dn_buf_on (out, size);

    dn_buf_text (&buf, text);
}

static int write_network (const char *sidecar, dn_put_f put, void *to)
{
    struct dn_app_network network;

    copy_text (sidecar, network.graph, sizeof (network.graph));
    for (char *at = network.graph; (at = strchr (at, '"')); at++)
        *at = '\'';
    return write_line (DN_APPS_LINE_NETWORK, &network, put, to);
}

static int write_known (const struct dn_app_known *known, dn_put_f put, void *to)
{
    struct dn_app_captured captured = {.known = *known};

    copy_text (known->spec, captured.spec, sizeof (captured.spec));
    copy_text (known->arch, captured.arch, sizeof (captured.arch));
    copy_text (known->job, captured.job, sizeof (captured.job));
    return write_line (DN_APPS_LINE_CAPTURED, &captured, put, to);
}

int dn_apps_write (const struct dn_apps *apps, dn_put_f put, void *to)
{
    const struct dn_app_tail tail = {apps->n_rows, apps->n_known};
    struct dn_apps head = *apps;
    int rc;

    head.version = DN_APPS_VERSION;
    rc = write_line (DN_APPS_LINE_HISTORY, &head, put, to);
    for (int i = 0; i < apps->n_types && rc == 0; i++)
        rc = write_line (DN_APPS_LINE_TYPE, apps->types[i], put, to);
    for (int64_t i = 0; i < apps->n_networks && rc == 0; i++)
        rc = write_network (apps->networks[i], put, to);
    for (int64_t i = 0; i < apps->n_rows && rc == 0; i++)
        rc = write_line (DN_APPS_LINE_APP, &apps->rows[i], put, to);
    for (int64_t i = 0; i < apps->n_known && rc == 0; i++)
        rc = write_known (&apps->known[i], put, to);
    return rc ? rc : write_line (DN_APPS_LINE_END, &tail, put, to);
}
