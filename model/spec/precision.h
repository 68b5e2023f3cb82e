/* precision.h - the number formats of a run: one row per precision
 *
 * A new precision is a row of DN_PRECISIONS, which defines its constant, its name in
 * metadata and its traits. A new number format also needs a rate in struct dn_device
 * (hardware/).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PRECISION_H
#define DN_PRECISION_H

#include "base/base.h"

/* The number formats that a device can multiply. */
enum dn_format {
    DN_FORMAT_NONE,
    DN_FORMAT_FP32,
    DN_FORMAT_TF32,
    DN_FORMAT_FP16,
    DN_FORMAT_BF16,
    DN_FORMAT_FP8,
    DN_N_FORMATS
};

/* Bytes are per element or per parameter. Mixed precision keeps weights and gradients
 * in fp32 and computes with a copy of the weights (Micikevicius et al., ICLR 2018;
 * PyTorch's autocast): fp16, bf16. Pure fp16 (half) stores the weights in fp16 too.
 * tf32 is a way to multiply fp32 elements. Pure bf16 converts the whole network, whose
 * optimizer then has states of the weights' type (torch.optim, zeros_like). fp8 is
 * that of Transformer Engine: linear layers multiply in fp8, keep their input in it,
 * and have two copies of each weight, one of them transposed for the gradient; the rest
 * runs in bf16 (its documentation, "Using FP8 with Transformer Engine"; Micikevicius et
 * al., arXiv 2209.05433).
 */
/* clang-format off */
#define DN_PRECISIONS(ROW)                                                             \
    ROW (UNKNOWN, "unknown",                                                           \
         .format = DN_FORMAT_NONE, .fallback = DN_PRECISION_FP32,                      \
         .activation = 4, .weights = 4, .gradients = 4, .state = 4)                    \
    ROW (FP32, "fp32",                                                                 \
         .format = DN_FORMAT_FP32, .fallback = DN_PRECISION_FP32,                      \
         .activation = 4, .weights = 4, .gradients = 4, .state = 4)                    \
    ROW (TF32, "tf32",                                                                 \
         .format = DN_FORMAT_TF32, .fallback = DN_PRECISION_FP32,                      \
         .matrix = true, .rounds = true,                                               \
         .activation = 4, .weights = 4, .gradients = 4, .state = 4)                    \
    ROW (FP16, "fp16",                                                                 \
         .format = DN_FORMAT_FP16, .fallback = DN_PRECISION_FP16,                      \
         .matrix = true,                                                               \
         .activation = 2, .weights = 4, .copy = 2, .gradients = 4, .state = 4)         \
    ROW (BF16, "bf16",                                                                 \
         .format = DN_FORMAT_BF16, .fallback = DN_PRECISION_BF16,                      \
         .matrix = true, .unit_only = true,                                            \
         .activation = 2, .weights = 4, .copy = 2, .gradients = 4, .state = 4)         \
    ROW (HALF, "half",                                                                 \
         .format = DN_FORMAT_FP16, .fallback = DN_PRECISION_HALF,                      \
         .matrix = true,                                                               \
         .activation = 2, .weights = 2, .gradients = 2, .state = 4)                    \
    ROW (BF16_PURE, "bf16_pure",                                                       \
         .format = DN_FORMAT_BF16, .fallback = DN_PRECISION_BF16_PURE,                 \
         .matrix = true, .unit_only = true,                                            \
         .activation = 2, .weights = 2, .gradients = 2, .state = 2)                    \
    ROW (FP8, "fp8",                                                                   \
         .format = DN_FORMAT_FP8, .fallback = DN_PRECISION_FP8,                        \
         .rest = DN_PRECISION_BF16, .matrix = true, .unit_only = true,                 \
         .activation = 2, .linear = 1, .weights = 4, .copy = 2, .gradients = 4,        \
         .state = 4)
/* clang-format on */

#define DN_PRECISION_CONSTANT(constant, ...) DN_PRECISION_##constant,

enum dn_precision {
    DN_PRECISIONS (DN_PRECISION_CONSTANT) DN_N_PRECISIONS
};

struct dn_precision_traits {
    enum dn_format format; /* of products: selects the peak and the measured rate */
    enum dn_precision fallback; /* what runs on a device without a unit for it */
    enum dn_precision rest;     /* of operators but linear layers, UNKNOWN: the same */
    bool matrix;                /* matrix units do the products, where there are any */
    bool rounds;       /* they round longer elements (struct dn_constants, eff_tf32) */
    bool unit_only;    /* runs on no device without a unit for it */
    double activation; /* bytes of an activation element */
    double linear;     /* of one that a linear layer keeps; 0: the same */
    double weights;    /* bytes of a weight as the optimizer updates it */
    double copy;       /* bytes of a weight's copy that products read; 0: none */
    double gradients;  /* bytes of a gradient, unless the framework halves it */
    double state;      /* bytes of an element of an optimizer's state */
};

extern const char *const dn_precision_text[DN_N_PRECISIONS];
extern const struct dn_precision_traits dn_precision_traits[DN_N_PRECISIONS];

#endif
