/* traffic.c - what the devices of one job send one another
 *
 * Ring all-reduce (Patarasuk and Yuan 2009): every device sends and receives 2 (n-1)/n
 * of the bytes. The rate of a ring grows with the message, B = B_max * S / (S +
 * S_half), as NCCL's tables show; between nodes the network bounds it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

static bool has_nvlink (const struct dn_case *c)
{
    return c->device->link == DN_LINK_NVLINK && c->spec->link != DN_LINK_PCIE;
}

/* Seconds of an all-reduce of 'bytes' over 'n' devices, within a node or across. */
static double all_reduce (const struct dn_case *c, double bytes, double n, bool across)
{
    const struct dn_constants *k = c->constants;
    double rate = has_nvlink (c) ? c->device->link_bw * k->nvlink_eff
                                 : c->device->pcie_bw * k->pcie_eff;

    if (n <= 1 || bytes <= 0)
        return 0;
    if (across)
        rate = fmin (rate, k->node_bw);
    rate *= bytes / (bytes + k->link_half);
    return 2 * (n - 1) / n * bytes / rate;
}

double dn_gradient_traffic (const struct dn_case *c)
{
    double bytes =
        c->dense_params / c->model_parallel * dn_activation_bytes (c->precision);

    return all_reduce (c, bytes, c->replicas, c->spec->nodes > 1);
}

/* Two all-reduces of the block's output forward and two backward (Megatron-LM), two
 * more when the forward pass is repeated.
 */
double dn_split_calls (const struct dn_case *c, bool recompute)
{
    return (double) c->graph->block_layers * (recompute ? 6 : 4);
}

double dn_split_traffic (const struct dn_case *c, bool recompute)
{
    double bytes =
        c->graph->block_boundary * c->batch * dn_activation_bytes (c->precision);

    return dn_split_calls (c, recompute)
           * all_reduce (c, bytes, (double) c->spec->tp, false);
}
