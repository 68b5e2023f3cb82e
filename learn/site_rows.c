/* site_rows.c - a site's runs out of a table
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/site_rows.h"

#include <math.h>
#include <string.h>

#include "learn/run_spec.h"

static int check (const struct dn_run_case *found, struct dn_err *err)
{
    const struct dn_run *run = &found->run;

    if (found->device->generation->host)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "gpu: %s is a CPU, whose runs do not apply to GPUs",
                           found->device->name);
    if (isnan (run->step_ms) && isnan (run->peak_mem_gb) && isnan (run->power_w))
        return dn_err_set (
            err, DN_E_RANGE, "nothing was measured: no step_ms, peak_mem_gb, power_w");
    return 0;
}

int dn_site_run_read (const struct dn_row *row,
                      const struct dn_catalogue *catalogue,
                      const struct dn_datasets *datasets,
                      const struct dn_networks *networks,
                      const struct dn_people *people,
                      struct dn_site_run *run,
                      struct dn_err *err)
{
    struct dn_run_case found = {.device = NULL};

    memset (run, 0, sizeof (*run));
    if (dn_run_check (row, err) < 0
        || dn_run_case_read (
               row, DN_RUN_JUDGE, catalogue, datasets, networks, &found, err)
               < 0
        || check (&found, err) < 0) {
        dn_run_case_free (&found);
        return -1;
    }
    *run =
        (struct dn_site_run){.user = dn_run_user (found.run.user, people),
                             .spec = found.spec,
                             .graph = found.graph,
                             .device = found.device,
                             .cpus_per_gpu = dn_run_known (found.run.cores_per_gpu),
                             .step_s = dn_run_known (found.run.step_ms) * 1e-3,
                             .gpu_mem = dn_run_known (found.run.peak_mem_gb) * DN_GIB,
                             .memory_count = dn_run_memory_count (&found.run),
                             .power_w = dn_run_known (found.run.power_w)};
    return 0;
}
