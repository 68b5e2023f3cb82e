/* site_rows.c - a site's runs out of a table
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/site_rows.h"

#include <string.h>

#include "learn/row_spec.h"

#define GIB (1024.0 * 1024 * 1024)

/* A measured value in our units. */
static int read_measured (const struct dn_row *row,
                          const char *column,
                          double unit,
                          double *value,
                          struct dn_err *err)
{
    if (dn_row_measured (row, column, value, err) < 0)
        return -1;
    *value *= unit;
    return 0;
}

static int read_device (const struct dn_row *row,
                        const struct dn_catalogue *catalogue,
                        struct dn_site_run *run,
                        struct dn_err *err)
{
    const char *gpu = dn_row_get (row, "gpu");

    run->device = dn_catalogue_find (catalogue, gpu);
    if (!run->device)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "gpu: '%s' is not in the hardware catalogue",
                           dn_quote (gpu, strlen (gpu)).text);
    if (run->device->arch == DN_ARCH_CPU)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "gpu: %s is a CPU, whose runs tell nothing of GPUs",
                           run->device->name);
    if (!dn_device_supports (run->device, run->spec.precision))
        return dn_err_set (
            err, DN_E_RANGE, "gpu: %s cannot run this precision", run->device->name);
    return 0;
}

static int check_measured (const struct dn_site_run *run, struct dn_err *err)
{
    if (run->step_s > 0 || run->gpu_mem > 0 || run->power_w > 0)
        return 0;
    return dn_err_set (
        err, DN_E_RANGE, "nothing was measured: no step_ms, peak_mem_gb, power_w");
}

int dn_site_run_read (const struct dn_row *row,
                      const struct dn_catalogue *catalogue,
                      const struct dn_datasets *datasets,
                      struct dn_site_run *run,
                      struct dn_err *err)
{
    memset (run, 0, sizeof (*run));
    run->spec = dn_spec_empty ();
    if (!dn_row_get (row, "spec") || !dn_row_get (row, "gpu"))
        return dn_err_set (
            err, DN_E_SYNTAX, "the table needs the columns spec and gpu");
    if (read_measured (row, "step_ms", 1e-3, &run->step_s, err) < 0
        || read_measured (row, "peak_mem_gb", GIB, &run->gpu_mem, err) < 0
        || read_measured (row, "power_w", 1, &run->power_w, err) < 0
        || read_measured (row, "cores_per_gpu", 1, &run->cpus_per_gpu, err) < 0
        || dn_row_spec (row, datasets, &run->spec, &run->graph, err) < 0)
        return -1;
    if (read_device (row, catalogue, run, err) == 0 && check_measured (run, err) == 0)
        return 0;
    dn_graph_free (&run->graph);
    return -1;
}
