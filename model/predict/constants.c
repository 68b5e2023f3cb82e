/* constants.c - values of the white box's constants, and where each comes from
 *
 * "joint fit": least absolute error of ln (measured / predicted) over the rows of
 * model/data/training_runs.csv, those of one GPU first, then communication on the
 * others, by tests/bench/calibrate-steps, which prints these lines.
 * The other sources are named where they stand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/constants.h"

const struct dn_constants dn_constants_default = {
    /* joint fit */
    .eff_linear_fp32 = 1.04,
    .eff_conv_fp32 = 1.676,
    .eff_linear_tensor = 0.6952,
    .eff_conv_tensor = 0.4406,
    .eff_tf32 = 1.3,
    .eff_grouped = 0.1566,
    .eff_memory = 0.5145,
    .eff_light = 0.5331,
    .tile = 1.029,
    .kernel_s = 2.182e-05,
    .launch_s = 6.242e-05,
    .host_norm = 2.644,
    .recurrence_s = 4e-06, /* kernel launch without the framework: 3-8 us */
    .step_s = 0.003514,
    .optimizer = 4,
    .optimizer_launches = 7.69,
    .ngc_tensor = 1.437,
    .ngc_memory = 1.274,
    .ngc_grouped = 8,
    .ngc_launch = 0.3715,
    .ngc_step = 0.08374,
    .fused_bytes = 0.2013,
    .fused_launch = 0.5,
    /* nvlink_eff: NCCL all-reduce tables of VIA-Research/vTrain; the rest: joint fit */
    .nvlink_eff = 0.77,
    .pcie_eff = 0.2302,
    .link_half = 1.917e+07,
    .node_bw = 2.5e+10,
    .overlap = 0.1315,
    .exposed = 0.001,
    .pipeline_s = 0.007004,
    .split_s = 0.0001415,
    .straggler = 0.02696,
    /* msr-fiddle/synergy, V100: ResNet-18 265-300 images/s and core on 3 cores, AlexNet
     * and M5 284; their plateaus are 1,707 images and 1,280 clips of a second per
     * second. zhengxiawu/pytorch-cls, Xeon E5-2698 v4: a compiled loader (DALI) 164
     * images/s and core, PyTorch's with Pillow 83, both nearly level up to 12 cores;
     * twice, four and six times as many workers as cores deliver .69, .45 and .39.
     * Tokenised text above 1e5 tokens/s and core, arrays at what a core copies: judged.
     */
    .core_jpeg = 265,
    .core_plain = 0.31, /* 83 of 265 images/s, zhengxiawu/pytorch-cls */
    .core_tokens = 1e5,
    .core_audio = 280,
    .core_bytes = 400e6,
    .cores = 7, /* joint fit: 1,900 images/s and GPU where hosts limit */
    .core_image_limit = 1700,
    .core_audio_limit = 1300,
    .core_crowding = 0.55,
    /* gpu_memory.csv, one vote per network and source, least absolute error of ln
     * (measured / predicted). The context is that of 3,000 MLPs on one A100; lambdal's
     * cards from Pascal to Ampere agree within 0.5 GB. Few networks without
     * convolutions are left when the MLPs are left out: the two contexts then merge. */
    .context_bytes = 1.545e9,
    .context_conv = 0.27e9,
    .workspace = 2.8,
    .slack = 0.01,
    /* Not measured in any table of ours. A PyTorch process with CUDA's libraries and
     * pinned pool; interpreter and index of a loader, 0.3-1 GB in practice; PyTorch's
     * prefetch_factor. A request for memory is never lowered on their account. */
    .host_process = 4e9,
    .host_worker = 0.8e9,
    .host_workers = 4,
    .host_prefetch = 2,
    /* energy.csv (ml-energy/zeus: P100, V100, Quadro RTX 6000, limits from 100 W),
     * least mean absolute error over 635 rows; traffic also by what ShuffleNetV2 draws
     * there */
    .power_floor = 0.138,
    .power_pin = 4.4e-11,
    .power_traffic = 0.84,
    .power_work = 0.32,
    .power_old = 0.65,
    .power_regulated = 0.975,
    .power_half = 0.26,
    .power_steep = 3,
    /* the same, epoch times at 316 limits relative to the board's own; a third power
     * of the clock at first, then linear once the voltage is at its least */
    .power_slow = 0.3,
    .power_slow_deep = 0.24,
    /* Judged: container and imports, data-set index, algorithm search, first batches; a
     * checkpoint and new loaders per epoch; 50,000 images after 1.28 million at a third
     * of the work are 1.3 %, more with small data sets. */
    .start_s = 180,
    .epoch_s = 20,
    .eval_share = 0.03,
    /* the same joint fit with a source left out: 95 % of rows within 1.86, 99 %
     * within 2.35 */
    .sigma_step = 0.37,
    .sigma_assumed = 0.15,
    .sigma_precision = 0.4,
    .sigma_parallel = 0.3,
    /* gpu_memory.csv with a model left out: the 95 % bound holds for .99 of all rows,
     * .95 without the MLPs; .99 with convolutions, .91 of stack=ngc without
     * (Transformer-XL .69, all others all) */
    .sigma_memory = 0.1,
    .sigma_memory_other = 0.2,
    .sigma_memory_eager = 0.35,
};
