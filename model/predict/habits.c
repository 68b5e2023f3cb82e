/* habits.c - differences between frameworks, stacks and optimizers, in tables, and how
 * well the code and the host of a run are tuned
 *
 * A habit without a source is an estimate by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/attend.h"

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

/* Loaders of most frameworks are compiled code, those of PyTorch and Paddle run in
 * Python.
 *
 * Most frameworks compute attention in several kernels and need a launcher for several
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
                                     | DN_HABIT_GROUPED | DN_HABIT_FAST_LOADER,
                                 {OPEN}},
    /* Functions are compiled, whatever compile= says, and a call returns before the
     * device has done its work (its manual, "Asynchronous dispatch").
     */
    [DN_FRAMEWORK_JAX] = {USUAL | DN_HABIT_GRAPH | DN_HABIT_COMPILES_STEP
                              | DN_HABIT_GROUPED | DN_HABIT_FAST_LOADER
                              | DN_HABIT_CAPTURES | DN_HABIT_RUNS_AHEAD,
                          {OPEN}},
    /* It fuses pointwise operators since 1.6 (MXNET_USE_FUSION), and NVIDIA's container
     * a batch norm with the addition and the activation behind it.
     */
    [DN_FRAMEWORK_MXNET] = {USUAL | DN_HABIT_GRAPH | DN_HABIT_FAST_LOADER
                                | DN_HABIT_FUSED,
                            {OPEN}},
    [DN_FRAMEWORK_PADDLE] = {USUAL | DN_HABIT_GRAPH, {OPEN}},
    [DN_FRAMEWORK_MINDSPORE] = {USUAL | DN_HABIT_GRAPH | DN_HABIT_FAST_LOADER, {OPEN}},
    [DN_FRAMEWORK_ONEFLOW] = {USUAL | DN_HABIT_FAST_LOADER, {OPEN}},
    /* It captures a step in a graph of CUDA (use_cuda_graph of its solver), and threads
     * of their own read its data.
     */
    [DN_FRAMEWORK_HUGECTR] = {USUAL | DN_HABIT_FAST_LOADER | DN_HABIT_CAPTURES
                                  | DN_HABIT_RUNS_AHEAD,
                              {OPEN}},
    /* It comes from the vendor, like the containers, but its host code launches kernels
     * one by one, and its optimizer keeps temporaries. The head's time adds to that of
     * blocks whose launches take longer than their work.
     */
    [DN_FRAMEWORK_MEGATRON] =
        {USUAL | DN_HABIT_TUNED | DN_HABIT_PLAIN_LAUNCH | DN_HABIT_FUSED
             | DN_HABIT_IN_TURN | DN_HABIT_SHORT_GRADIENTS | DN_HABIT_GROUPED
             | DN_HABIT_SCATTERS,
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
    /* Submissions to MLPerf Training: steps are captured in graphs of CUDA, attention,
     * normalisation and activations run in kernels that were written for the network
     * (mlcommons/training_results_v2.0, NVIDIA/benchmarks).
     */
    [DN_STACK_MLPERF] = {DN_HABIT_LAUNCHER | DN_HABIT_TUNED | DN_HABIT_VENDOR
                             | DN_HABIT_FUSED | DN_HABIT_CAPTURES | DN_HABIT_SHORT_LOSS
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

/* transformers 5, of the end of 2025, computes the experts of a layer in one grouped
 * product.
 */
#define FIRST_GROUPED 210
#define YEAR_GROUPED  2026

static bool groups_experts (const struct dn_spec *spec)
{
    return dn_runs_torch (spec)
           && dn_age_by (spec, FIRST_GROUPED, YEAR_GROUPED) == DN_AGE_MODERN;
}

/* XLA launches the kernels of what it has compiled; those of torch.compile are launched
 * from Python.
 */
unsigned dn_habits_of (const struct dn_spec *spec)
{
    unsigned flags = frameworks[spec->framework].flags | stacks[spec->stack].flags;

    if (spec->compile == 1 && (flags & DN_HABIT_COMPILES_STEP) != 0)
        flags |= DN_HABIT_CAPTURES;
    if (groups_experts (spec))
        flags |= DN_HABIT_GROUPED;
    return flags;
}

bool dn_runs_torch (const struct dn_spec *spec)
{
    return spec->framework == DN_FRAMEWORK_UNKNOWN
           || spec->framework == DN_FRAMEWORK_PYTORCH;
}

/* scaled_dot_product_attention came with PyTorch 2.0 in March 2023. Megatron-LM has
 * FlashAttention since 2023.
 */
#define FIRST_FUSED 200
#define YEAR_FUSED  2023

enum dn_age dn_age_of (const struct dn_spec *spec)
{
    return dn_age_by (spec, FIRST_FUSED, YEAR_FUSED);
}

enum dn_age dn_age_by (const struct dn_spec *spec, int release, int64_t year)
{
    int version = dn_spec_torch (spec);

    if (dn_runs_torch (spec) && version >= 0)
        return version >= release ? DN_AGE_MODERN : DN_AGE_OLD;
    if (spec->since != DN_UNSET)
        return spec->since >= year ? DN_AGE_MODERN : DN_AGE_OLD;
    return DN_AGE_UNKNOWN;
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

/* Is a copy of the weights spread over devices? Such code is written for networks that
 * take weeks.
 */
static bool is_spread (const struct dn_case *c)
{
    const struct dn_spec *spec = c->spec;

    return spec->parallel >= DN_PARALLEL_ZERO1 || spec->tp * spec->pp > 1
           || spec->cp > 1 || (spec->ep > 1 && c->graph->experts > 0);
}

/* Is the software of the run of 2023 or later, by what was stated of it, or because the
 * network is?
 */
static bool is_stated_modern (const struct dn_case *c)
{
    enum dn_age age = dn_age_of (c->spec);

    return age != DN_AGE_UNKNOWN ? age == DN_AGE_MODERN : c->graph->recent;
}

bool dn_reads_layout (const struct dn_case *c)
{
    bool matrix = true;

    if (c->device)
        dn_device_peak (
            c->device, dn_device_precision (c->device, c->spec->precision), &matrix);
    for (int i = 0; matrix && i < c->graph->n_ops; i++) {
        const struct dn_op *op = &c->graph->ops[i];

        if (op->kind == DN_OP_CONV && op->dims == 2 && op->batches <= 1)
            return true;
    }
    return false;
}

static bool has_modern_device (const struct dn_case *c)
{
    return c->device && c->device->generation->modern_code;
}

bool dn_reads_age (const struct dn_case *c)
{
    unsigned habits = dn_habits_of (c->spec);

    if ((habits & DN_HABIT_TUNED) != 0 || (habits & DN_HABIT_TORCH) == 0)
        return false;
    return !has_modern_device (c) || is_stated_modern (c);
}

/* Is it code of 2023 and later, as far as that counts? */
static bool is_modern (const struct dn_case *c)
{
    unsigned habits = dn_habits_of (c->spec);

    return (habits & DN_HABIT_TUNED) == 0
           && (has_modern_device (c)
               || ((habits & DN_HABIT_TORCH) != 0 && is_stated_modern (c)));
}

static double tuned_share (const struct dn_case *c, bool modern)
{
    const struct dn_constants *k = c->constants;
    const struct dn_spec *spec = c->spec;
    double share = 0;

    if (dn_habits_of (spec) & DN_HABIT_VENDOR)
        return k->tuned_vendor;
    if (dn_habits_of (spec) & DN_HABIT_TUNED)
        return 1;
    share += is_spread (c) ? k->tuned_spread : 0;
    share +=
        spec->layout == DN_LAYOUT_NHWC && dn_reads_layout (c) ? k->tuned_layout : 0;
    share += modern ? k->tuned_modern : 0;
    return dn_min (share, 1);
}

struct dn_stack_factors dn_stack_factors_of (const struct dn_case *c)
{
    const struct dn_constants *k = c->constants;
    unsigned habits = dn_habits_of (c->spec);
    bool modern = is_modern (c);
    double tuned = tuned_share (c, modern);
    double host = (c->device->generation->new_host ? k->host_new : 1)
                  * (habits & DN_HABIT_GRAPH ? k->graph_launch : 1);
    double launch = habits & DN_HABIT_PLAIN_LAUNCH ? 1 : pow (k->ngc_launch, tuned);

    return (struct dn_stack_factors){
        .tuned = tuned,
        .tensor = pow (k->ngc_tensor, tuned),
        .memory = pow (k->ngc_memory, tuned),
        .grouped = pow (k->ngc_grouped, tuned),
        .launch = host * launch * (modern ? k->modern_launch : 1),
        .step = host * pow (k->ngc_step, tuned),
    };
}
