/* offload.c - what the memory of the host holds instead of the device's
 *
 * ZeRO-Offload (Ren et al., arXiv 2101.06840) sends the gradients of the device's shard
 * to the host while the backward pass computes others, updates the weights there and
 * brings them back: 2 + 2 bytes per parameter and step in mixed precision. Where the
 * weights are on the host, they come in both passes, a block ahead of its use
 * (ZeRO-Infinity, arXiv 2104.07857). Activations go out in the forward pass and come
 * back in the backward pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

/* The optimizer of all devices of a node, on the cores that the job has there. */
static double update_time (const struct dn_setup *c)
{
    const struct dn_constants *k = c->constants;
    double cores = c->cpus_per_gpu > 0 ? c->cpus_per_gpu : dn_usual_cores (c);
    double devices = (double) c->spec->gpus / c->nodes;
    double bytes = dn_shard_params (c) * devices * 4
                   * dn_optimizer_traits[c->spec->optimizer].passes;

    return bytes / k->host_optimizer
           / fmin (cores * devices / k->host_optimizer_cores, 1);
}

struct dn_offloaded dn_offload_time (const struct dn_setup *c)
{
    struct dn_offloaded result = {0};
    double rate = c->device->pcie_bw * c->constants->dataparallel_pcie;
    double passes = (double) c->spec->grad_accum;
    double element = c->traits->activation;
    double learned = dn_shard_params (c);
    double frozen = c->dense.frozen_bytes / c->shards
                    + c->in_experts.frozen_bytes / c->expert_shards;

    if (rate <= 0)
        return result;
    result.stored = dn_stored_activations (c) / rate;
    if (!dn_is_offloaded (c))
        return result;
    result.update = update_time (c);
    result.behind = passes * learned * element / rate;
    if (c->spec->offload == DN_OFFLOAD_PARAMS)
        result.behind += 2 * passes * (learned * element + frozen) / rate;
    else
        result.open = learned * element / rate;
    return result;
}
