/* habits.c - differences between frameworks, stacks and optimizers, in tables
 *
 * A habit without a source is an estimate by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/habits.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* A number is the offset of its constant; OPEN where the row has none. */
#define OPEN          0
#define NUMBER(field) offsetof (struct dn_constants, field)
_Static_assert(NUMBER (eff_linear_fp32) == OPEN, "no number is the first constant");

struct habits {
    unsigned flags;
    size_t numbers[DN_N_HABIT_NUMBERS];
};

/* Most frameworks compute attention in several kernels and need a launcher for several
 * GPUs. PyTorch of today does neither: its attention is one kernel
 * (scaled_dot_product_attention: the ViT of itu-rad/GPUMemNet needs .116 GiB per
 * sample, .130 with scores and .109 without), and nn.DataParallel is one line. A
 * framework that was not stated is treated as PyTorch, except for the launcher.
 */
#define USUAL (DN_HABIT_SCORES | DN_HABIT_LAUNCHER)

static const struct habits frameworks[DN_N_FRAMEWORKS] = {
    [DN_FRAMEWORK_UNKNOWN] = {DN_HABIT_TORCH | DN_HABIT_LAUNCHER, {OPEN}},
    [DN_FRAMEWORK_PYTORCH] = {DN_HABIT_TORCH, {OPEN}},
    /* XLA compiles a step with its optimizer in it; torch.compile does not include it.
     * Volumes are channels last, and the kernels for them need channels first. Experts
     * are one batched product there (Lepikhin et al., arXiv 2006.16668, algorithm 2), a
     * grouped one in Megatron-LM; PyTorch's users loop over them.
     */
    [DN_FRAMEWORK_TENSORFLOW] = {USUAL | DN_HABIT_GRAPH | DN_HABIT_COMPILES_STEP
                                     | DN_HABIT_COMPOSED | DN_HABIT_CHANNELS_FIRST
                                     | DN_HABIT_GROUPED,
                                 {OPEN}},
    [DN_FRAMEWORK_JAX] = {USUAL | DN_HABIT_GRAPH | DN_HABIT_COMPILES_STEP
                              | DN_HABIT_GROUPED,
                          {OPEN}},
    [DN_FRAMEWORK_MXNET] = {USUAL | DN_HABIT_GRAPH, {OPEN}},
    [DN_FRAMEWORK_PADDLE] = {USUAL | DN_HABIT_GRAPH, {OPEN}},
    [DN_FRAMEWORK_MINDSPORE] = {USUAL | DN_HABIT_GRAPH, {OPEN}},
    [DN_FRAMEWORK_ONEFLOW] = {USUAL, {OPEN}},
    [DN_FRAMEWORK_HUGECTR] = {USUAL, {OPEN}},
    /* It comes from the vendor, like the containers, but its host code launches kernels
     * one by one, and its optimizer keeps temporaries. The head's time adds to that of
     * blocks whose launches take longer than their work.
     */
    [DN_FRAMEWORK_MEGATRON] =
        {USUAL | DN_HABIT_TUNED | DN_HABIT_PLAIN_LAUNCH | DN_HABIT_FUSED
             | DN_HABIT_IN_TURN | DN_HABIT_SHORT_GRADIENTS | DN_HABIT_GROUPED,
         {[DN_HABIT_OPTIMIZER_TRAFFIC] = NUMBER (megatron_optimizer),
          [DN_HABIT_OPTIMIZER_LAUNCHES] = NUMBER (megatron_launches),
          [DN_HABIT_LOSS_LAUNCHES] = NUMBER (megatron_loss)}},
};

/* NVIDIA's example code in its containers. It is older than fused attention and than
 * the practice of computing losses in fp32: it halves the whole network (apex, O2). Its
 * networks without convolutions keep every output: all outputs are .91 to .98 of the
 * memory that a sample of BERT-base and BERT-large (fp16 and fp32) and of NCF (fp32)
 * needs, those that the derivatives need .51 to .55. The reason is unknown. Its loader
 * is compiled (DALI).
 */
static const struct habits stacks[DN_N_STACKS] = {
    [DN_STACK_NGC] = {USUAL | DN_HABIT_TUNED | DN_HABIT_OUTPUTS | DN_HABIT_SHORT_LOSS
                          | DN_HABIT_SHORT_GRADIENTS | DN_HABIT_IN_PLACE
                          | DN_HABIT_FAST_LOADER,
                      {[DN_HABIT_OPTIMIZER_TRAFFIC] = NUMBER (fused_optimizer),
                       [DN_HABIT_OPTIMIZER_LAUNCHES] = NUMBER (fused_launches)}},
};

static const struct habits one_kernel = {
    0,
    {[DN_HABIT_OPTIMIZER_TRAFFIC] = NUMBER (fused_optimizer),
     [DN_HABIT_OPTIMIZER_LAUNCHES] = NUMBER (fused_launches)}};

static const struct habits several_kernels = {
    0,
    {[DN_HABIT_OPTIMIZER_TRAFFIC] = NUMBER (optimizer),
     [DN_HABIT_OPTIMIZER_LAUNCHES] = NUMBER (optimizer_launches)}};

/* The numbers where no other row has one. */
static const struct habits others = {
    0,
    {[DN_HABIT_LOSS_LAUNCHES] = NUMBER (loss_launches)}};

static const struct habits none = {0, {OPEN}};

unsigned dn_habits_of (const struct dn_spec *spec)
{
    return frameworks[spec->framework].flags | stacks[spec->stack].flags;
}

static double number_at (const struct dn_constants *constants, size_t offset)
{
    double value;

    memcpy (&value, (const char *) constants + offset, sizeof (value));
    return value;
}

double dn_habit_number (const struct dn_constants *constants,
                        const struct dn_spec *spec,
                        double tuned,
                        enum dn_habit_number number)
{
    bool compiled =
        spec->compile == 1 && (dn_habits_of (spec) & DN_HABIT_COMPILES_STEP) != 0;
    bool fused =
        spec->fused_optimizer == 1 || dn_optimizer_traits[spec->optimizer].fused;
    const struct habits *const rows[] = {fused                        ? &one_kernel
                                         : spec->fused_optimizer == 0 ? &several_kernels
                                                                      : &none,
                                         &frameworks[spec->framework],
                                         &stacks[spec->stack],
                                         compiled ? &one_kernel : &several_kernels,
                                         &others};
    size_t i = 0;
    double value;

    while (rows[i]->numbers[number] == OPEN)
        i++;
    value = number_at (constants, rows[i]->numbers[number]);
    if (rows[i] == &several_kernels && i > 0)
        value = pow (value, 1 - tuned)
                * pow (number_at (constants, one_kernel.numbers[number]), tuned);
    return value;
}

/* States and passes by the update rules; a pass reads or writes one array of
 * parameters, gradients or states. Adafactor keeps rows and columns only. The memory of
 * an optimizer that was not stated must not be underestimated: the states are Adam's,
 * the passes those of one state.
 *
 * Lion reads gradient and momentum, and writes momentum and weight (Chen et al., arXiv
 * 2302.06675, program 1). Muon keeps a momentum of the matrices of inner layers; the
 * rest is AdamW's (Jordan et al. 2024, kellerjordan.github.io/posts/muon; torch.optim.
 * Muon accepts matrices only). The passes of its Newton-Schulz iterations are counted
 * by optimizer.c. Adam in 8 bits has a scale of 4 bytes for each block of 256 elements
 * (bitsandbytes; 2048 in Dettmers et al., arXiv 2110.02861); transformers' Trainer
 * keeps the states of embeddings in 32 bits.
 */
const struct dn_optimizer_traits dn_optimizer_traits[DN_N_OPTIMIZERS] = {
    [DN_OPTIMIZER_UNKNOWN] = {.states = 2, .passes = 5},
    [DN_OPTIMIZER_NONE] = {.states = 0, .passes = 0},
    [DN_OPTIMIZER_SGD] = {.states = 0, .passes = 3},
    [DN_OPTIMIZER_MOMENTUM] = {.states = 1, .passes = 5},
    [DN_OPTIMIZER_ADAM] = {.states = 2, .passes = 7},
    [DN_OPTIMIZER_ADAMW] = {.states = 2, .passes = 7},
    [DN_OPTIMIZER_LAMB] = {.states = 2, .passes = 12},
    [DN_OPTIMIZER_LARS] = {.states = 1, .passes = 5},
    [DN_OPTIMIZER_ADAFACTOR] = {.states = 0, .passes = 5},
    [DN_OPTIMIZER_ADAGRAD] = {.states = 1, .passes = 5},
    [DN_OPTIMIZER_ADADELTA] = {.states = 2, .passes = 7},
    [DN_OPTIMIZER_RMSPROP] = {.states = 1, .passes = 5},
    [DN_OPTIMIZER_NOVOGRAD] = {.states = 1, .passes = 12},
    [DN_OPTIMIZER_LION] = {.states = 1, .passes = 5},
    [DN_OPTIMIZER_MUON] = {.states = 1, .passes = 6, .apart = DN_APART_OTHERS},
    [DN_OPTIMIZER_ADAM8BIT] = {.states = 2,
                               .passes = 7,
                               .bytes = 1 + 4.0 / 256,
                               .fused = true,
                               .apart = DN_APART_TABLES},
};
