/* constants.h - the constants of the white box, in one table
 *
 * They were calibrated on measured runs; constants.c states the source of each. They
 * hold only together: launch and step absorb host time, efficiencies above 1 absorb
 * algorithms that need fewer operations than are counted (Winograd). A site may replace
 * them by its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CONSTANTS_H
#define DN_CONSTANTS_H

struct dn_constants {
    /* Time of one kernel: flops / (peak * eff) * padding^tile
     * + bytes / (bandwidth * eff_memory) + launch */
    double eff_linear_fp32;
    double eff_conv_fp32;
    double eff_linear_tensor; /* on matrix units */
    double eff_conv_tensor;
    double eff_tf32;     /* factor on both, for tf32 */
    double eff_grouped;  /* grouped and depthwise convolutions, of the FP32 peak */
    double eff_memory;   /* share of the memory bandwidth */
    double tile;         /* exponent of tile padding */
    double launch_s;     /* per operator and direction */
    double recurrence_s; /* per step of a recurrent layer */
    double step_s;       /* fixed host time of a step */
    double optimizer;    /* unfused optimizers: factor on the least traffic */
    /* What a tuned container changes (stack=ngc) */
    double ngc_tensor;  /* factor on both matrix-unit efficiencies */
    double ngc_memory;  /* factor on eff_memory: fused element-wise kernels */
    double ngc_grouped; /* factor on eff_grouped */
    double ngc_launch;  /* factor on launch_s */
    double ngc_step;    /* factor on step_s */
    /* Communication */
    double nvlink_eff; /* share of the data-sheet rate per direction that a ring sees */
    double pcie_eff;   /* the same over PCIe */
    double link_half;  /* bytes at which half of it is reached */
    double node_bw;    /* between nodes, byte/s per GPU */
    double overlap;    /* share of the compute time that can hide communication */
    double exposed;    /* share of communication that is never hidden */
    double straggler;  /* slow-down per doubling of the GPUs */
    /* Input pipeline: what one core delivers per second */
    double core_jpeg;   /* images, decoded and resized */
    double core_tokens; /* tokens of text */
    double core_audio;  /* clips */
    double core_bytes;  /* bytes of undecoded arrays */
    double cores;       /* per GPU, where the request does not tell */
    /* GPU memory */
    double context_bytes;   /* of driver and framework */
    double workspace_bytes; /* of convolution and matrix libraries */
    double slack;           /* share lost to rounding and fragmentation */
    /* Host memory */
    double host_process; /* bytes of one training process */
    double host_worker;  /* bytes of one loader process */
    /* Power between idle and limit */
    double power_busy; /* share of the range drawn by any running kernel */
    double power_work; /* share that follows the use of arithmetic and memory */
    /* The run around the steps */
    double start_s;    /* start-up: imports, container, first batches */
    double epoch_s;    /* per epoch: loaders restarted, checkpoint written */
    double eval_share; /* evaluation, as a share of the training steps */
    /* Spread of ln (measured / predicted) */
    double sigma_step;      /* of a model never seen, every key given */
    double sigma_assumed;   /* added in square per important key that is missing */
    double sigma_precision; /* the same for the precision */
    double sigma_parallel;  /* the same for tensor and pipeline parallelism */
    double sigma_memory;
};

extern const struct dn_constants dn_constants_default;

#endif
