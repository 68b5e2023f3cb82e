/* habits.c - differences between frameworks, stacks and optimizers, in tables
 *
 * A habit without a source is an estimate by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/habits.h"

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
     * Volumes are channels last, and the kernels for them need channels first.
     */
    [DN_FRAMEWORK_TENSORFLOW] = {USUAL | DN_HABIT_GRAPH | DN_HABIT_COMPILES_STEP
                                     | DN_HABIT_CHANNELS_FIRST,
                                 {OPEN}},
    [DN_FRAMEWORK_JAX] = {USUAL | DN_HABIT_GRAPH | DN_HABIT_COMPILES_STEP, {OPEN}},
    [DN_FRAMEWORK_MXNET] = {USUAL | DN_HABIT_GRAPH, {OPEN}},
    [DN_FRAMEWORK_PADDLE] = {USUAL | DN_HABIT_GRAPH, {OPEN}},
    [DN_FRAMEWORK_MINDSPORE] = {USUAL | DN_HABIT_GRAPH, {OPEN}},
    [DN_FRAMEWORK_ONEFLOW] = {USUAL, {OPEN}},
    [DN_FRAMEWORK_HUGECTR] = {USUAL, {OPEN}},
    /* It comes from the vendor, like the containers, but its host code launches kernels
     * one by one, and its optimizer keeps temporaries. The head's time adds to that of
     * blocks whose launches take longer than their work.
     */
    [DN_FRAMEWORK_MEGATRON] = {USUAL | DN_HABIT_TUNED | DN_HABIT_FUSED
                                   | DN_HABIT_IN_TURN | DN_HABIT_SHORT_GRADIENTS,
                               {[DN_HABIT_OPTIMIZER_TRAFFIC] =
                                    NUMBER (megatron_optimizer),
                                [DN_HABIT_OPTIMIZER_LAUNCHES] =
                                    NUMBER (megatron_launches),
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
    [DN_STACK_NGC] = {USUAL | DN_HABIT_TUNED | DN_HABIT_TUNED_LAUNCH | DN_HABIT_OUTPUTS
                          | DN_HABIT_SHORT_LOSS | DN_HABIT_SHORT_GRADIENTS
                          | DN_HABIT_IN_PLACE | DN_HABIT_FAST_LOADER,
                      {[DN_HABIT_OPTIMIZER_TRAFFIC] = NUMBER (fused_optimizer),
                       [DN_HABIT_OPTIMIZER_LAUNCHES] = NUMBER (fused_launches)}},
};

static const struct habits compiled_step = {
    0,
    {[DN_HABIT_OPTIMIZER_TRAFFIC] = NUMBER (fused_optimizer),
     [DN_HABIT_OPTIMIZER_LAUNCHES] = NUMBER (fused_launches)}};

/* The numbers where no other row has one. */
static const struct habits others = {
    0,
    {[DN_HABIT_OPTIMIZER_TRAFFIC] = NUMBER (optimizer),
     [DN_HABIT_OPTIMIZER_LAUNCHES] = NUMBER (optimizer_launches),
     [DN_HABIT_LOSS_LAUNCHES] = NUMBER (loss_launches)}};

unsigned dn_habits_of (const struct dn_spec *spec)
{
    return frameworks[spec->framework].flags | stacks[spec->stack].flags;
}

double dn_habit_number (const struct dn_constants *constants,
                        const struct dn_spec *spec,
                        enum dn_habit_number number)
{
    bool compiled =
        spec->compile == 1 && (dn_habits_of (spec) & DN_HABIT_COMPILES_STEP) != 0;
    const struct habits *const rows[] = {&frameworks[spec->framework],
                                         &stacks[spec->stack],
                                         compiled ? &compiled_step : &others,
                                         &others};
    size_t i = 0;
    double value;

    while (rows[i]->numbers[number] == OPEN)
        i++;
    memcpy (
        &value, (const char *) constants + rows[i]->numbers[number], sizeof (value));
    return value;
}

/* States and passes by the update rules; a pass reads or writes one array of
 * parameters, gradients or states. Adafactor keeps rows and columns only. The memory of
 * an optimizer that was not stated must not be underestimated: the states are Adam's,
 * the passes those of one state.
 */
const struct dn_optimizer_traits dn_optimizer_traits[DN_N_OPTIMIZERS] = {
    [DN_OPTIMIZER_UNKNOWN] = {2, 5},
    [DN_OPTIMIZER_NONE] = {0, 0},
    [DN_OPTIMIZER_SGD] = {0, 3},
    [DN_OPTIMIZER_MOMENTUM] = {1, 5},
    [DN_OPTIMIZER_ADAM] = {2, 7},
    [DN_OPTIMIZER_ADAMW] = {2, 7},
    [DN_OPTIMIZER_LAMB] = {2, 12},
    [DN_OPTIMIZER_LARS] = {1, 5},
    [DN_OPTIMIZER_ADAFACTOR] = {0, 5},
    [DN_OPTIMIZER_ADAGRAD] = {1, 5},
    [DN_OPTIMIZER_ADADELTA] = {2, 7},
    [DN_OPTIMIZER_RMSPROP] = {1, 5},
    [DN_OPTIMIZER_NOVOGRAD] = {1, 12},
    [DN_OPTIMIZER_LION] = {1, 5},
    [DN_OPTIMIZER_MUON] = {1, 12},
    [DN_OPTIMIZER_ADAM8BIT] = {2, 7},
};
