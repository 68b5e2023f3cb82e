/* site_rows.c - a site's runs out of a table
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/site_rows.h"

#include <string.h>

#include "learn/run_spec.h"

static int read_device (const struct dn_run *measured,
                        const struct dn_catalogue *catalogue,
                        struct dn_site_run *run,
                        struct dn_err *err)
{
    run->device = dn_run_device (measured, catalogue, err);
    if (!run->device)
        return -1;
    if (run->device->generation->host)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "gpu: %s is a CPU, whose runs do not apply to GPUs",
                           run->device->name);
    return dn_run_supported (run->device, &run->spec, err);
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
                      const struct dn_networks *networks,
                      const struct dn_people *people,
                      struct dn_site_run *run,
                      struct dn_err *err)
{
    struct dn_run measured;

    memset (run, 0, sizeof (*run));
    run->spec = dn_spec_empty ();
    if (dn_run_check (row, err) < 0
        || dn_run_read (row, DN_RUN_JUDGE, &measured, err) < 0
        || dn_run_spec (&measured, datasets, networks, &run->spec, &run->graph, err)
               < 0)
        return -1;
    run->user = dn_run_user (measured.user, people);
    run->step_s = dn_run_known (measured.step_ms) * 1e-3;
    run->memory_count = dn_run_memory_count (&measured);
    run->gpu_mem = dn_run_known (measured.peak_mem_gb) * DN_GIB;
    run->power_w = dn_run_known (measured.power_w);
    run->cpus_per_gpu = dn_run_known (measured.cores_per_gpu);
    if (read_device (&measured, catalogue, run, err) == 0
        && check_measured (run, err) == 0)
        return 0;
    dn_graph_free (&run->graph);
    return -1;
}
