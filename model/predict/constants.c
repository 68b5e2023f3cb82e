/* constants.c - values of the white box's constants, and where each comes from
 *
 * "joint fit": least absolute error of ln (measured / predicted) over the one-GPU rows
 * of measured training runs collected from public repositories (5,957 rows, 42 models).
 * The other sources are named where they stand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/constants.h"

const struct dn_constants dn_constants_default = {
    /* joint fit */
    .eff_linear_fp32 = 1.063,
    .eff_conv_fp32 = 1.624,
    .eff_linear_tensor = 0.7392,
    .eff_conv_tensor = 0.4501,
    .eff_tf32 = 1.2,
    .eff_grouped = 0.2464,
    .eff_memory = 0.6145,
    .tile = 0.3749,
    .launch_s = 2.888e-05,
    .recurrence_s = 4e-06, /* kernel launch without the framework: 3-8 us */
    .step_s = 0.008719,
    .optimizer = 6,
    .ngc_tensor = 1.451,
    .ngc_memory = 1.128,
    .ngc_grouped = 8,
    .ngc_launch = 1.182,
    .ngc_step = 0.1,
    /* NCCL all-reduce tables of VIA-Research/vTrain; rows with several GPUs */
    .nvlink_eff = 0.45,
    .pcie_eff = 0.25,
    .link_half = 8e6,
    .node_bw = 9e9,
    .overlap = 0.2,
    .exposed = 0.1,
    .straggler = 0.04,
    /* ResNet-18 on 3 cores per V100: 265-300 images/s and core, msr-fiddle/synergy;
     * tokenised text above 1e5 tokens/s and core */
    .core_jpeg = 265,
    .core_tokens = 1e5,
    .core_audio = 60,
    .core_bytes = 400e6,
    .cores = 7, /* joint fit: 1,900 images/s and GPU where hosts limit */
    /* A100 40 GB, itu-rad/GPUMemNet: 2.2-2.4 GB and 8-10 % above the traced graph */
    .context_bytes = 0.9e9,
    .workspace_bytes = 1.0e9,
    .slack = 0.08,
    .host_process = 4e9,
    .host_worker = 0.8e9,
    /* ml-energy/zeus, V100 and A40 at full limit */
    .power_busy = 0.45,
    .power_work = 0.5,
    .start_s = 180,
    .epoch_s = 20,
    .eval_share = 0.03,
    /* the same joint fit, models left out: spread .43 */
    .sigma_step = 0.43,
    .sigma_assumed = 0.15,
    .sigma_precision = 0.4,
    .sigma_parallel = 0.3,
    .sigma_memory = 0.15,
};
