/* constants.c - values of the white box's constants, and the source of each
 *
 * "joint fit": least absolute error of ln (measured / predicted) over the rows of
 * learn/data/training_runs.csv, those of one GPU first, then communication on the
 * others, by tests/bench/calibrate-steps, which prints these lines. The other sources
 * are stated at each value.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/constants.h"

#include <string.h>

const struct dn_constants dn_constants_default = {
    /* joint fit */
    .eff_linear_fp32 = 0.9401,
    .eff_conv_fp32 = 1.542,
    .eff_linear_tensor = 0.5838,
    .eff_conv_tensor = 0.4878,
    .eff_tf32 = 1.133,
    .eff_grouped = 0.02857,
    .eff_memory = 0.6886,
    .eff_light = 0.7037,
    .tile = 0.7406,
    .kernel_s = 1.023e-05,
    .launch_s = 5.991e-05,
    /* Runs of litgpt with and without bitsandbytes' NF4 on one A100 (LLaMA 2 with 7 and
     * 13 billion parameters) differ by 79 to 86 and by 191 ms: two passes that read 4
     * bits and write 16 of each weight take as long at .22 to .27 of the bandwidth. On
     * A10 it is .29.
     */
    .unpack = 0.26,
    /* A kernel of 2.9 us takes 3.8 us when the launches of a stream overlap it, 3.4 us
     * in a graph (Gray, "Getting Started with CUDA Graphs", NVIDIA 2019).
     */
    .captured_s = 3.8e-06,
    /* LSTMs of cuDNN 8 in xwang233/code-snippet, cudnn-rnn-bench-62143, at small
     * batches: 6.7 to 6.8 us a step forward and 12.6 to 13.1 backward (72 features,
     * 2,721 steps; four layers of 152, 2,091), .9 and 1.65 in kernels that keep the
     * weights. 32 features take a tile of matrix units some 140 ns, the latency of
     * shared memory and a few products: an estimate by hand.
     */
    .recurrence_s = 6.7e-06,
    .recurrence_backward = 1.85,
    .recurrence_small_s = 0.9e-06,
    .recurrence_feature_s = 4.5e-09,
    .step_s = 0.003359,
    .optimizer = 1.943,
    .optimizer_launches = 3.49,
    .ngc_tensor = 1.221,
    .ngc_memory = 1.161,
    .ngc_grouped = 2.118,
    .ngc_launch = 0.6147,
    .ngc_step = 0.2971,
    .tuned_spread = 0.4914,
    .tuned_layout = 0.5,
    .tuned_modern = 0.5,
    .graph_launch = 0.455,
    .host_new = 0.8506,
    /* Of the 312 TFLOP/s of A100. FlashAttention-2 reaches 50 to 73 % of them forward
     * and backward, and up to 63 % backward; FlashAttention and the memory-efficient
     * kernel of xFormers 25 to 40 % (Dao, arXiv 2307.08691, abstract, 2.3.1, 4.1):
     * the values give .58 and .32 of both passes. On H100 the same kernels reach 362 to
     * 370 of 989 TFLOP/s forward (Shah et al., arXiv 2407.08608, figure 5, heads of
     * 128) and 335 both passes (Dao, 4.1).
     */
    .flash_forward = 0.65,
    .flash_backward = 0.55,
    .fused_forward = 0.38,
    .fused_backward = 0.3,
    .flash_hopper = 0.57,
    /* Counted in Megatron-LM, whose fused kernels are scale, mask and softmax (9 passes
     * over the scores become 5, and 10 become 4), bias and GELU, bias, dropout and
     * addition, layer norm; half of the operators disappear. No row of such a stack was
     * used: VIA-Research/vTrain's own steps would need 0.17.
     */
    .fused_bytes = 0.45,
    .fused_launch = 0.5,
    /* Estimated by hand from long element-wise kernels: .76 to .92 in
     * kernels_elementwise.csv.
     */
    .optimizer_memory = 0.8,
    /* By definition: one pass, one operator per tensor. */
    .fused_optimizer = 1,
    .fused_launches = 1,
    /* Counted in Megatron-LM, which copies gradients to fp32, unscales, measures and
     * clips them, runs a fused Adam and copies the weights back: 60 bytes per
     * parameter, not 28. One kernel takes a hundred tensors and more; .05 operators per
     * tensor are an estimate by hand. Where tensor parallelism splits the vocabulary,
     * maximum, difference, exponential, sum and quotient of its log-softmax are
     * separate kernels; that 4 of them count is an estimate by hand.
     */
    .megatron_optimizer = 2.1,
    .megatron_launches = 0.05,
    .loss_launches = 1,
    .megatron_loss = 4,
    /* nn.DataParallel. Estimated by hand: every module is copied for every device,
     * which is about half a forward pass of host work. Its copies run at 10-11 GB/s of
     * PCIe's 12.5.
     */
    .dataparallel_host = 0.5,
    .dataparallel_pcie = 0.8,
    /* Geometric mean of V100 (PCIe) and A100 (PCIe) in kernels_{linear,conv,
     * elementwise}.csv, as 'dnnest-bench entry' computes it: .84 and .76, 1.01 and
     * 1.05, .92 and .87. Others are below because their power limit lowers their clock:
     * T4 .39, .72, .76. Matrix units: one H200 reached .78-.81 with bf16 products of
     * 8192^3; the value for convolutions is an estimate by hand.
     */
    .seen_linear_fp32 = 0.8,
    .seen_conv_fp32 = 1.03,
    .seen_linear_tensor = 0.8,
    .seen_conv_tensor = 0.6,
    .seen_stream = 0.895,
    /* NCCL all-reduce tables of VIA-Research/vTrain: start and hop of both boards, the
     * shares of A100 (switches) and of V100 (no switches). Mean error over its 1,736
     * rows 5 %, 1 MiB to 1 GiB.
     */
    .nvlink_eff = 0.715,
    .mesh_eff = 0.904,
    .nvlink_start_s = 3.7e-5,
    .hop_s = 2.3e-6,
    .net_hop_s =
        1.4e-5, /* as NCCL assumes for a ring's step (graph/tuning.cc, Simple) */
    /* joint fit; node_bw is at its upper bound, an adapter of 200 Gb/s per GPU: no row
     * shows nodes with NVLink limited by less
     */
    .pcie_eff = 0.5296,
    .pcie_start_s = 5.079e-05,
    .node_bw = 1.2e+10,
    .node_bw_pcie = 1.651e+09,
    /* Estimates by hand: headers and starts of messages; copies between the network's
     * buffers and memory.
     */
    .net_rdma = 0.9,
    .net_sockets = 0.7,
    .overlap = 0.3498,    /* joint fit */
    .straggler = 0.02576, /* joint fit, of log2 (n): the same for 8 GPUs */
    /* msr-fiddle/synergy, V100: ResNet-18 265-300 images/s and core on 3 cores, AlexNet
     * and M5 284; their plateaus are 1,707 images and 1,280 clips of a second per
     * second. zhengxiawu/pytorch-cls, Xeon E5-2698 v4: a compiled loader (DALI) 164
     * images/s and core, PyTorch's with Pillow 83, both nearly constant up to 12 cores;
     * twice, four and six times as many workers as cores deliver .69, .45 and .39.
     * Tokenised text above 1e5 tokens/s and core, arrays at the rate at which a core
     * copies: estimates by hand.
     */
    .core_jpeg = 265,
    .core_plain = 0.31, /* 83 of 265 images/s, zhengxiawu/pytorch-cls */
    /* libjpeg-turbo decodes 82 (pytorch/vision, pull request 2786) to 137 million
     * pixels per second (pull request 8468) on one core: 1.3 to 2.2 of the 3.8 ms of
     * an image of ImageNet, 182,000 pixels in the mean.
     */
    .decode_share = 0.5,
    /* NVIDIA, "Loading Data Fast with DALI and the New Hardware JPEG Decoder in NVIDIA
     * A100 GPUs": some 6,000 images of ImageNet per second if the multiprocessors
     * decode, 5,000 if the hardware decoder does, 7,000 if both do. The host's share
     * is an estimate by hand: it reads the files, and the entropy coding of a part.
     */
    .gpu_jpeg = 6000,
    .gpu_host = 0.3,
    .core_tokens = 1e5,
    .core_audio = 280,
    .core_bytes = 400e6,
    /* Estimated by hand: crop, flip and scaling of a picture of 32 x 32 in Python, or
     * a row of a table of tokens, take some 100 us.
     */
    .core_arrays = 1e4,
    .cores = 7, /* joint fit: 1,900 images/s and GPU where hosts limit */
    .core_image_limit = 1700,
    .core_audio_limit = 1300,
    .core_crowding = 0.55,
    /* Ren et al. (arXiv 2101.06840), table 4: Adam on the host takes 2.57 s for 10 G
     * parameters, seven arrays of 4 bytes each, on a DGX-2's two Xeon 8168. That fewer
     * cores are slower in proportion is an estimate by hand.
     */
    .host_optimizer = 1.09e11,
    .host_optimizer_cores = 48,
    /* gpu_memory.csv, one vote per network and source, least absolute error of ln
     * (measured / predicted). The context is that of 3,000 MLPs on one A100; lambdal's
     * cards from Pascal to Ampere agree within 0.5 GB. Without the MLPs few networks
     * without convolutions remain, and the two contexts become equal.
     */
    .context_bytes = 1.545e9,
    .context_conv = 0.27e9,
    .workspace = 2.8,
    .slack = 0.01,
    /* Not measured in any table of learn/data. A PyTorch process with CUDA's libraries
     * and pinned pool; interpreter and index of a loader, 0.3-1 GB in practice;
     * PyTorch's prefetch_factor. A request for memory is never lowered because of them.
     */
    .host_process = 4e9,
    .host_worker = 0.8e9,
    .host_workers = 4,
    .host_prefetch = 2,
    /* energy.csv, energy_2.csv, energy_3.csv (ml-energy/zeus: P100, V100, Quadro RTX
     * 6000, A40, limits from 100 W; pipelines of four A100): least absolute error of the
     * logarithm, one vote per network and board. The host's time is too high for these runs, and a small
     * power_half makes up for it; power_steep is an estimate by hand.
     */
    .power_floor = 0.1379,
    .power_pin = 5.076e-11,
    .power_traffic = 0.9841,
    .power_work = 0.243,
    .power_old = 0.5936,
    .power_regulated = 0.9498,
    .power_half = 0.3205,
    .power_steep = 2,
    /* the same, epoch times at 316 limits relative to the board's own; a third power of
     * the clock at first, then linear once the voltage is at its minimum
     */
    .power_slow = 0.3,
    .power_slow_deep = 0.24,
    /* the same with a network left out */
    .sigma_power = 0.16,
    /* Estimated by hand: container and imports, data-set index, algorithm search, first
     * batches; a checkpoint and new loaders per epoch; 50,000 images after 1.28 million
     * at a third of the work are 1.3 %, more with small data sets.
     */
    .start_s = 180,
    .epoch_s = 20,
    .eval_share = 0.03,
    /* the same joint fit with a source left out: 95 % of the rows within a factor
     * of 1.97, 99 % within 2.68 */
    .sigma_step = 0.41,
    .sigma_assumed = 0.15,
    .sigma_precision = 0.4,
    .sigma_parallel = 0.3,
    /* gpu_memory.csv, gpu_memory_2.csv, networks_2.csv: 95 % bounds that hold for rows whose code and
     * networks were left out, one vote per network and source; factors of 1.30, 1.61,
     * 1.69, 2.5 and 1.98 over the median. The 3,000 networks of linear layers have one
     * vote: theirs is the least spread by hand, though 95 % of them are within 4 %. No
     * code of the last kind but WaveGlow's and DGL's was measured: a factor of 2.5.
     */
    .sigma_memory =
        {
            [DN_MEMORY_KIND_IMAGES] = 0.16,
            [DN_MEMORY_KIND_DENSE] = 0.16,
            [DN_MEMORY_KIND_DETECTORS] = 0.29,
            [DN_MEMORY_KIND_ATTENTION] = 0.32,
            [DN_MEMORY_KIND_TUNED] = 0.557,
            [DN_MEMORY_KIND_SPLIT] = 0.415,
            [DN_MEMORY_KIND_OTHER] = 0.557,
        },
};

#define FIELD(member, unit, help, min, max, spread)                                    \
    {                                                                                  \
#member, offsetof(struct dn_constants, member), unit, help, min, max, spread   \
    }

const struct dn_constant_field dn_constant_fields[DN_CONSTANT_FIELDS] = {
    FIELD (eff_linear_fp32,
           "",
           "share of the FP32 peak that matrix products reach",
           0.05,
           3,
           0),
    FIELD (eff_conv_fp32, "", "the same for convolutions", 0.05, 5, 0),
    FIELD (eff_linear_tensor,
           "",
           "share of the matrix-unit peak that matrix products reach",
           0.03,
           2,
           0),
    FIELD (eff_conv_tensor, "", "the same for convolutions", 0.03, 2, 0),
    FIELD (eff_tf32, "", "factor on both for tf32", 0.3, 3, 0),
    FIELD (eff_grouped,
           "",
           "share of the FP32 peak that grouped convolutions reach",
           0.003,
           3,
           0),
    FIELD (eff_memory,
           "",
           "share of the memory bandwidth that products reach",
           0.1,
           3,
           0),
    FIELD (eff_light, "", "the same for operators without products", 0.1, 3, 0),
    FIELD (tile, "", "exponent of the padding of tiles", 0.01, 3, 0),
    FIELD (kernel_s, "s", "minimum time of one kernel on the device", 5e-07, 0.0002, 0),
    FIELD (launch_s,
           "s",
           "host time of an operator in one direction",
           1e-06,
           0.001,
           0.5),
    FIELD (recurrence_s, "s", "per step of a recurrent layer", 2e-07, 0.0004, 0),
    FIELD (step_s, "s", "fixed host time of a step", 1e-05, 0.5, 0.6),
    FIELD (optimizer, "", "traffic of the optimizer over the minimum", 0.3, 20, 0.2),
    FIELD (optimizer_launches,
           "",
           "operators of the optimizer per parameter tensor",
           0.01,
           40,
           0.3),
    FIELD (ngc_tensor,
           "",
           "stack=ngc: factor on the matrix-unit efficiencies",
           0.3,
           5,
           0),
    FIELD (ngc_memory, "", "stack=ngc: factor on both bandwidth shares", 0.3, 5, 0),
    FIELD (ngc_grouped, "", "stack=ngc: factor on eff_grouped", 0.1, 40, 0),
    FIELD (ngc_launch, "", "stack=ngc: factor on launch_s", 0.03, 5, 0),
    FIELD (ngc_step, "", "stack=ngc: factor on step_s", 0.01, 10, 0),
    FIELD (
        tuned_spread,
        "",
        "how tuned code is that spreads a copy of the weights over GPUs, 1: stack=ngc",
        0.01,
        1,
        0),
    FIELD (tuned_layout, "", "the same of layout=nhwc", 0.01, 1, 0),
    FIELD (tuned_modern, "", "the same of software of 2023 and later", 0.01, 1, 0),
    FIELD (graph_launch,
           "",
           "frameworks that compile graphs: factor on launch_s and step_s",
           0.05,
           2,
           0),
    FIELD (host_new, "", "hosts of Ampere and later: the same", 0.1, 2, 0),
    FIELD (captured_s,
           "s",
           "kernels that compiled code or a graph launches: host and device time",
           1e-07,
           1e-3,
           0),
    FIELD (fused_bytes,
           "",
           "fused operators: share of the bytes that remains",
           0.02,
           1,
           0.3),
    FIELD (fused_launch,
           "",
           "fused operators: share of the launches that remains",
           0.02,
           1,
           0),
    FIELD (nvlink_eff,
           "",
           "share of the NVLink rate that a ring reaches",
           0.02,
           1.5,
           0.4),
    FIELD (mesh_eff, "", "the same without switches", 0.02, 1.5, 0.4),
    FIELD (pcie_eff, "", "share of the PCIe rate that a ring reaches", 0.01, 1.5, 0.6),
    FIELD (nvlink_start_s, "s", "start of an all-reduce over NVLink", 1e-07, 0.1, 0.4),
    FIELD (pcie_start_s, "s", "the same over PCIe", 1e-07, 0.5, 0.6),
    FIELD (hop_s, "s", "from one device to the next", 1e-08, 0.01, 0.4),
    FIELD (net_hop_s, "s", "from one node to the next", 1e-07, 0.01, 0),
    FIELD (node_bw, "byte/s", "between nodes with NVLink, per GPU", 1e+07, 1e+12, 0.6),
    FIELD (node_bw_pcie,
           "byte/s",
           "between nodes without NVLink, of a node",
           1e+07,
           1e+12,
           0.6),
    FIELD (overlap,
           "",
           "share of the backward pass that hides communication",
           0.003,
           1,
           0.7),
    FIELD (straggler,
           "",
           "slow-down of two GPUs that wait for one another",
           0.0001,
           0.5,
           0.7),
    FIELD (core_jpeg,
           "1/s",
           "images that one core decodes and resizes",
           20,
           10000,
           0.3),
    FIELD (decode_share,
           "",
           "share of an image's work that grows with its stored bytes",
           0,
           1,
           0),
    FIELD (core_arrays, "1/s", "arrays that one core reads one by one", 100, 1e+07, 0),
    FIELD (gpu_jpeg,
           "1/s",
           "images that an A100 decodes and resizes, beside its work",
           100,
           1e+06,
           0),
    FIELD (gpu_host,
           "",
           "share of an image's work that stays on the host then",
           0.01,
           1,
           0),
    FIELD (core_tokens, "1/s", "tokens of text from one core", 1000, 1e+08, 0.3),
    FIELD (core_audio, "1/s", "audio clips from one core", 10, 100000, 0.3),
    FIELD (core_bytes, "byte/s", "undecoded arrays from one core", 1e+06, 1e+11, 0.3),
    FIELD (core_image_limit,
           "1/s",
           "images that one process can receive",
           50,
           100000,
           0),
    FIELD (core_audio_limit,
           "1/s",
           "audio clips that one process can receive",
           50,
           100000,
           0),
    FIELD (core_plain,
           "",
           "share of core_jpeg that a loader on Pillow reaches",
           0.02,
           1,
           0),
    FIELD (cores, "", "CPUs per GPU, where the job does not state them", 1, 512, 0),
    FIELD (context_bytes,
           "byte",
           "GPU memory of driver, framework and matrix library",
           1e+08,
           2e+10,
           0),
    FIELD (context_conv, "byte", "more with convolutions", 1e+06, 2e+10, 0),
    FIELD (host_process,
           "byte",
           "host memory of one training process",
           1e+08,
           1e+12,
           0),
    FIELD (host_worker, "byte", "host memory of one loader process", 1e+06, 1e+11, 0),
    FIELD (start_s, "s", "start-up of a run", 0.1, 36000, 0),
    FIELD (epoch_s,
           "s",
           "per epoch: loaders restarted, checkpoint written",
           0.01,
           36000,
           0),
    FIELD (optimizer_memory,
           "",
           "share of the memory bandwidth that optimizers reach",
           0.05,
           2,
           0),
    FIELD (fused_optimizer,
           "",
           "fused optimizers: traffic over the minimum",
           0.3,
           20,
           0),
    FIELD (fused_launches,
           "",
           "fused optimizers: operators per parameter tensor",
           0.001,
           40,
           0),
    FIELD (megatron_optimizer,
           "",
           "framework=megatron: traffic of the optimizer over the minimum",
           0.3,
           20,
           0),
    FIELD (megatron_launches,
           "",
           "framework=megatron: operators of the optimizer per parameter tensor",
           0.001,
           40,
           0),
    FIELD (megatron_loss, "", "framework=megatron: kernels of the loss", 0.1, 40, 0),
    FIELD (
        dataparallel_host,
        "",
        "parallel=dataparallel: host time of copying modules, share of a forward pass",
        0.01,
        20,
        0),
    FIELD (dataparallel_pcie,
           "",
           "parallel=dataparallel: share of the PCIe rate that copies reach",
           0.01,
           1.5,
           0),
    FIELD (flash_forward,
           "",
           "flash attention: share of the matrix-unit peak, forward",
           0.03,
           2,
           0),
    FIELD (flash_backward, "", "the same backward", 0.03, 2, 0),
    FIELD (fused_forward,
           "",
           "fused attention: share of the matrix-unit peak, forward",
           0.03,
           2,
           0),
    FIELD (fused_backward, "", "the same backward", 0.03, 2, 0),
    FIELD (flash_hopper, "", "factor on both on Hopper and later", 0.1, 3, 0),
    /* End of dn_constant_fields */
};

int dn_constant_find (const char *name, size_t len)
{
    for (int i = 0; i < DN_CONSTANT_FIELDS; i++)
        if (strlen (dn_constant_fields[i].name) == len
            && memcmp (dn_constant_fields[i].name, name, len) == 0)
            return i;
    return -1;
}

double dn_constant_get (const struct dn_constants *constants, int field)
{
    double value;

    memcpy (&value,
            (const char *) constants + dn_constant_fields[field].offset,
            sizeof (value));
    return value;
}

void dn_constant_set (struct dn_constants *constants, int field, double value)
{
    memcpy (
        (char *) constants + dn_constant_fields[field].offset, &value, sizeof (value));
}
