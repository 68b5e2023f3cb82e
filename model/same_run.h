/* same_run.h - when the estimates of an earlier job are those of this one
 *
 * A prediction depends only on the site and this input.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SAME_RUN_H
#define DN_SAME_RUN_H

#include "base/cache.h"
#include "graph/sidecar.h"
#include "predict/predict.h"

/* The input of a job's estimates, apart from the site and the text of its sidecar. It
 * is compared byte by byte, with its padding, which is 0.
 */
struct dn_run_input {
    struct dn_spec spec;
    double cpus_per_gpu;
    int64_t user;
    size_t n_devices; /* also the number of estimates */
    const struct dn_device *devices[DN_CANDIDATES_MAX];
};

/* The key of a run: the resolved specification, the text of the sidecar if that
 * describes the network (NULL: 'spec' names it), the devices in their order, the CPUs
 * per GPU of the request, and whose history counts. It borrows 'input' and 'sidecar'. A
 * key that is not cached where the sidecar is longer than a job may carry.
 */
struct dn_cache_key dn_run_key (const struct dn_spec *spec,
                                const char *sidecar,
                                const struct dn_device *const devices[],
                                int n_devices,
                                double cpus_per_gpu,
                                int64_t user,
                                struct dn_run_input *input);

#endif
