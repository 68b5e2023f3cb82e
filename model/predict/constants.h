/* constants.h - the constants of the white box, in one table
 *
 * They were calibrated on measured runs; constants.c states the source of each. They
 * are valid only together: launch and step absorb host time, efficiencies above 1
 * absorb algorithms that need fewer operations than are counted (Winograd). A site may
 * replace them with its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CONSTANTS_H
#define DN_CONSTANTS_H

#include "base/text.h"

/* How well the memory of a run is known: kinds that measured runs tell apart. */
enum dn_memory_kind {
    DN_MEMORY_KIND_IMAGES,    /* convolutions */
    DN_MEMORY_KIND_DENSE,     /* linear layers alone */
    DN_MEMORY_KIND_DETECTORS, /* shapes change with every sample */
    DN_MEMORY_KIND_ATTENTION,
    DN_MEMORY_KIND_TUNED, /* NVIDIA's examples, without convolutions */
    DN_MEMORY_KIND_SPLIT, /* networks or their state over devices, or on the host */
    DN_MEMORY_KIND_OTHER, /* recurrent ones, tables, graphs */
    DN_N_MEMORY_KINDS
};

extern const struct dn_names dn_memory_kind_names;

struct dn_constants {
    /* Time of one kernel: flops / (peak * eff) * padding^tile
     * + bytes / (bandwidth * eff_memory) + kernel_s */
    double eff_linear_fp32;
    double eff_conv_fp32;
    double eff_linear_tensor; /* on matrix units */
    double eff_conv_tensor;
    double eff_tf32; /* factor on both, for tf32 */
    /* Attention in one kernel on matrix units, of their peak */
    double flash_forward;
    double flash_backward;
    double fused_forward;
    double fused_backward;
    double flash_hopper; /* factor on all four where AttentionBehind=1 */
    double eff_grouped;  /* depthwise convolutions, of the FP32 peak (twice with 16
                            bits); grouped ones by their channels more */
    double eff_memory;   /* share of the memory bandwidth */
    double eff_light;    /* the same for operators without products */
    double tile;         /* exponent of tile padding */
    double kernel_s;     /* minimum time of one kernel on the device */
    double unpack;       /* share of the memory bandwidth that the unpacking of
                            quantised weights reaches */
    double launch_s;     /* host time of an operator in one direction */
    double captured_s;   /* the same, and kernel_s, where a graph or compiled code
                            launches the kernels */
    /* Per step of a recurrent layer (recurrent.h) */
    double recurrence_s;         /* forward */
    double recurrence_backward;  /* factor on it */
    double recurrence_small_s;   /* forward, of layers that one block computes */
    double recurrence_feature_s; /* per feature that a product sums */
    double step_s;               /* fixed host time of a step */
    double optimizer;            /* unfused optimizers: factor on the minimum traffic */
    double optimizer_launches;   /* and operators per parameter tensor */
    /* What a tuned container changes (stack=ngc) */
    double ngc_tensor;  /* factor on both matrix-unit efficiencies */
    double ngc_memory;  /* factor on eff_memory: fused element-wise kernels */
    double ngc_grouped; /* factor on eff_grouped */
    double ngc_launch;  /* factor on launch_s */
    double ngc_step;    /* factor on step_s */
    /* What of it code has that is not from there (stack.h), 0 to 1: spread over
     * devices, channels last, of 2023 or later
     */
    double tuned_spread;
    double tuned_layout;
    double tuned_modern;
    double graph_launch; /* frameworks that compile graphs: factor on launch_s and
                            step_s */
    double host_new;     /* the same of the hosts of newer devices */
    /* What fused kernels change (compile=1, framework=megatron): remaining shares of
     * the bytes and the launches of operators without products
     */
    double fused_bytes;
    double fused_launch;
    /* Where frameworks and stacks differ (habits.c) */
    double optimizer_memory;   /* share of the bandwidth that an optimizer reaches */
    double fused_optimizer;    /* fused optimizers: factor on the minimum traffic */
    double fused_launches;     /* and operators per parameter tensor */
    double megatron_optimizer; /* the same for Megatron-LM */
    double megatron_launches;
    double loss_launches; /* kernels of a log-softmax and its loss */
    double megatron_loss; /* the same in Megatron-LM */
    double
        dataparallel_host; /* host time of copying modules, share of a forward pass */
    double dataparallel_pcie; /* share of the PCIe rate that its copies reach */
    /* Shares of the data sheet that dnnest-bench measures where the efficiencies above
     * were fitted: a device that reaches more or less is faster or slower by that
     * factor.
     */
    double seen_linear_fp32;
    double seen_conv_fp32;
    double seen_linear_tensor;
    double seen_conv_tensor;
    double seen_stream;
    /* Communication */
    double
        nvlink_eff; /* share of the data-sheet rate per direction that a ring reaches */
    double mesh_eff;       /* the same without switches */
    double pcie_eff;       /* the same over PCIe */
    double nvlink_start_s; /* start of an all-reduce over NVLink */
    double pcie_start_s;   /* the same over PCIe */
    double hop_s;          /* from one device to the next */
    double net_hop_s;      /* from one node to the next */
    double node_bw;        /* between nodes with NVLink, byte/s per GPU, and ... */
    double node_bw_pcie;   /* ... without, of a node, where adapters are unknown */
    double net_rdma;       /* net=ib, roce: share of the adapters' rate */
    double net_sockets;    /* net=ethernet: the same */
    double overlap;        /* share of the backward pass that can hide communication */
    double straggler;      /* slow-down of two GPUs that wait for one another */
    /* Input pipeline: what one core delivers per second */
    double core_jpeg;        /* images, decoded and resized by a compiled loader */
    double core_plain;       /* share of it that a loader on Pillow reaches */
    double decode_share;     /* of their time: the rest grows with what is read */
    double gpu_jpeg;         /* that an A100 decodes and resizes; others by bandwidth */
    double gpu_host;         /* share of their work that stays on the host then */
    double core_tokens;      /* tokens of text */
    double core_audio;       /* clips */
    double core_bytes;       /* bytes of undecoded arrays */
    double core_arrays;      /* such arrays, where they are read one by one */
    double cores;            /* per GPU, where the request does not state them */
    double core_image_limit; /* images per second that one process can receive */
    double core_audio_limit; /* clips */
    double core_crowding;    /* exponent of cores per worker, where workers share */
    /* Optimizer on the host (offload=) */
    double host_optimizer; /* byte/s of weights, gradients and state in a node ... */
    double host_optimizer_cores; /* ... on this number of cores, or more */
    /* GPU memory */
    double context_bytes; /* of driver, framework and matrix library */
    double context_conv;  /* more with convolutions: their library's kernels */
    double workspace; /* of convolutions, per byte of the largest one's activations */
    double slack;     /* share lost to rounding and fragmentation */
    /* Host memory */
    double host_process;  /* bytes of one training process */
    double host_worker;   /* bytes of one loader process */
    double host_workers;  /* loaders per GPU, where the job does not state them */
    double host_prefetch; /* batches that each holds ready */
    /* Power between floor and limit */
    double power_floor;     /* share of the board's limit drawn by an idle process */
    double power_pin;       /* J per byte of peak bandwidth of memory on the board */
    double power_traffic;   /* share of the limit that memory traffic alone needs */
    double power_work;      /* more at full use of the arithmetic */
    double power_old;       /* share of the limit that old boards draw at most */
    double power_regulated; /* share of the limit that the mean power reaches */
    double power_half;      /* busy share at which most of the power is drawn */
    double power_steep;     /* and how steep the rise is */
    double power_slow;      /* slow-down per relative shortage of power ... */
    double power_slow_deep; /* ... and per the cube of it */
    double sigma_power;     /* spread of ln (measured / predicted) power */
    /* The run around the steps */
    double start_s;    /* start-up: imports, container, first batches */
    double epoch_s;    /* per epoch: loaders restarted, checkpoint written */
    double eval_share; /* evaluation, as a share of the training steps */
    /* Spread of ln (measured / predicted) */
    double sigma_step;    /* of a model that was left out of the fit, every key given */
    double sigma_assumed; /* variance added per important key that is missing: its
                             square */
    double sigma_precision; /* the same for the precision */
    double sigma_parallel;  /* the same for tensor and pipeline parallelism */
    double sigma_memory[DN_N_MEMORY_KINDS];
};

extern const struct dn_constants dn_constants_default;

/* The name of a constant, the range of a site's value, and how far sites differ. One
 * row per constant that a site may replace.
 */
struct dn_constant_field {
    const char *name;
    size_t offset; /* in struct dn_constants */
    const char *unit;
    const char *help;
    double min; /* of a site's own value */
    double max;
    /* Between sites, standard deviation of the logarithm: how freely a site's runs move
     * it (learn/site_fit.h). 0: runs do not move it, only the admin sets it. They are
     * less than how far the sources of training_runs.csv are apart, since part of that
     * is the model's own error. Links differ most, but
     * with twice the freedom networks that were not among the runs got worse, and so
     * they did with free efficiencies of arithmetic and memory.
     */
    double spread;
};

/* The number of rows of the table. */
#define DN_CONSTANT_FIELDS 70

extern const struct dn_constant_field dn_constant_fields[DN_CONSTANT_FIELDS];

/* The row of that name, or -1. */
int dn_constant_find (const char *name, size_t len);

double dn_constant_get (const struct dn_constants *constants, int field);
void dn_constant_set (struct dn_constants *constants, int field, double value);

#endif
