/* memory.c - peak memory of one device, by class; memory of a node
 *
 * Classes as in Centimani (ATC'24) and DNNMem: weights, gradients, optimizer state,
 * activations saved for the backward pass, workspace; and what a process adds on a real
 * GPU: context, communication buckets, the allocator's rounding. Bytes per parameter by
 * precision and optimizer are those of PyTorch's native mixed precision.
 *
 * A step has two peaks. When the backward pass starts, all activations are allocated
 * and no gradient is (they are freed between steps, PyTorch's default since 2.0). When
 * the optimizer runs, gradients, buckets and its temporaries are allocated and no
 * activation is. In between, gradients take the memory that activations free. The
 * higher peak counts. The allocator does not return memory, so that the device reports
 * the peak for the rest of the run. Counting both together was too high by the
 * gradients for every network of itu-rad/GPUMemNet, and by gradients and buckets for
 * lambdal's jobs on several GPUs, which need no more per device than those on one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

/* ZeRO's elements of a bucket (DeepSpeed's documentation of its configuration:
 * reduce_bucket_size and allgather_bucket_size are 5e8), and its buffers of that size:
 * one to reduce gradients, one to gather weights.
 */
#define ZERO_BUCKET  5e8
#define ZERO_BUFFERS 2

/* The first year of PyTorch 2, and its first release. */
#define YEAR_FREED  2023
#define FIRST_FREED 200

/* The first year in which PyTorch's users no longer composed norms and GELU of single
 * kernels, and its first release of that year.
 */
#define YEAR_WHOLE  2021
#define FIRST_WHOLE 108

/* The first year, and the first release of PyTorch, whose trainers write shards of a
 * network that FSDP has spread: torch.distributed.checkpoint and FSDP2 (fully_shard).
 */
#define YEAR_SHARDED  2024
#define FIRST_SHARDED 204

/* How a run keeps activations. */
struct keeping {
    bool again;    /* scores are computed again: the same bytes */
    bool products; /* of blocks: what PyTorch's selective checkpointing keeps */
    bool outputs;  /* every operator's output is kept, not what its derivative needs */
    double loss;   /* share of the logits at a time */
    int head;      /* the operator that makes them, -1: none */
    bool convolutions;
    bool widens;   /* operators in single precision keep their elements so */
    bool composed; /* of single kernels, each of which keeps its operands */
    bool amp;      /* torch.amp decides on the precision of each operator */
    bool casts;    /* adapters cast what they read */
};

/* Does the age of the software decide whether norms and GELU are composed? */
static bool may_be_composed (const struct dn_case *c)
{
    unsigned habits = dn_habits_of (c->spec);

    if ((habits & DN_HABIT_TORCH) == 0 || (habits & DN_HABIT_OUTPUTS) != 0
        || (habits & DN_HABIT_COMPOSED) != 0)
        return false;
    return c->spec->compile != 1 && !dn_graph_has (c->graph, DN_OP_CONV)
           && (dn_graph_has (c->graph, DN_OP_NORM)
               || dn_graph_has (c->graph, DN_OP_ACTIVATION));
}

/* Does it decide how FSDP writes checkpoints? */
static bool may_gather (const struct dn_spec *spec,
                        enum dn_parallel parallel,
                        double nodes)
{
    return parallel >= DN_PARALLEL_FSDP && nodes <= 1
           && (dn_habits_of (spec) & DN_HABIT_TORCH) != 0;
}

/* Does it decide whether gradients are freed between steps? Where the optimizer is that
 * of NVIDIA's apex, they are in every version (FusedAdam: set_grad_none).
 */
static bool may_be_zeroed (const struct dn_spec *spec, enum dn_parallel parallel)
{
    unsigned habits = dn_habits_of (spec);

    return (habits & DN_HABIT_TORCH) != 0 && (habits & DN_HABIT_IN_PLACE) == 0
           && parallel < DN_PARALLEL_ZERO1;
}

/* Does it decide how many kernels a process loads? NVIDIA's examples are older than
 * that.
 */
static bool may_be_lazy (const struct dn_spec *spec)
{
    unsigned habits = dn_habits_of (spec);

    return (habits & DN_HABIT_TORCH) != 0 && (habits & DN_HABIT_TUNED) == 0;
}

bool dn_memory_reads_age (const struct dn_case *c)
{
    return may_be_lazy (c->spec) || may_be_composed (c)
           || may_be_zeroed (c->spec, c->spec->parallel)
           || may_gather (c->spec, c->spec->parallel, (double) c->spec->nodes);
}

/* Was PyTorch stated to be of a time when zero_grad () kept gradients and set them to
 * zero? (Release notes of PyTorch 2.0: set_to_none is True by default.)
 */
static bool is_stated_zeroed (const struct dn_spec *spec)
{
    return dn_age_by (spec, FIRST_FREED, YEAR_FREED) == DN_AGE_OLD;
}

/* Networks were composed of single kernels in TensorFlow, and in PyTorch until it had
 * kernels for them: GELU in 1.4, of January 2020.
 */
static bool is_composed (const struct dn_setup *c)
{
    const struct dn_case as_case = {.spec = c->spec, .graph = c->graph};

    return dn_has_habit (c, DN_HABIT_COMPOSED)
           || (may_be_composed (&as_case)
               && dn_age_by (c->spec, FIRST_WHOLE, YEAR_WHOLE) == DN_AGE_OLD);
}

/* Mixed precision is that of torch.amp, unless the whole network is halved: by apex
 * (O2) in NVIDIA's examples, ZeRO, FSDP and Megatron-LM. Compiled code computes in
 * single precision, and keeps what it was given.
 */
static bool runs_amp (const struct dn_setup *c)
{
    return dn_has_habit (c, DN_HABIT_TORCH) && c->traits->copy > 0
           && !dn_has_habit (c, DN_HABIT_SHORT_LOSS) && !dn_is_fused (c)
           && c->parallel < DN_PARALLEL_ZERO1 && !dn_is_offloaded (c);
}

/* The share of the logits that cross entropy works on at a time: one of eight parts
 * (torchtune's CEWithChunkedOutputLoss); where the output layer is fused with it, parts
 * of as many logits as the layer has inputs (Hsu et al., arXiv 2410.10989, section
 * 3.2).
 */
static double loss_part (const struct dn_setup *c)
{
    int head = dn_head_of (c->graph);

    switch (c->spec->loss) {
    case DN_LOSS_CHUNKED:
        return 1.0 / 8;
    case DN_LOSS_FUSED:
        return head < 0 ? 1 : dn_min (c->graph->ops[head].k / c->graph->ops[head].n, 1);
    default:
        return 1;
    }
}

bool dn_keeps_products (const struct dn_spec *spec)
{
    return spec->checkpointing == DN_CHECKPOINTING_SELECTIVE && dn_runs_torch (spec);
}

/* Are adapters in fp32 beside a network of 16 bits? So peft makes them (get_peft_model:
 * autocast_adapter_dtype). ZeRO and FSDP need one type for all weights.
 */
static bool has_wide_adapters (const struct dn_setup *c)
{
    return c->spec->lora != DN_UNSET && dn_has_habit (c, DN_HABIT_TORCH)
           && c->traits->activation < 4 && c->parallel < DN_PARALLEL_ZERO1;
}

static struct keeping find_keeping (const struct dn_setup *c)
{
    bool compiled = c->spec->compile == 1;
    struct keeping keeping = {.loss = loss_part (c), .head = dn_head_of (c->graph)};

    keeping.convolutions = dn_graph_has (c->graph, DN_OP_CONV);
    keeping.products = dn_keeps_products (c->spec) && c->graph->block_layers > 1;
    keeping.again =
        c->spec->checkpointing == DN_CHECKPOINTING_SELECTIVE && !keeping.products;
    keeping.outputs =
        dn_has_habit (c, DN_HABIT_OUTPUTS) && !keeping.convolutions && !compiled;
    keeping.composed = is_composed (c) && !keeping.convolutions && !compiled;
    keeping.amp = runs_amp (c);
    keeping.casts = has_wide_adapters (c) && !keeping.outputs && !dn_is_fused (c)
                    && c->traits->linear <= 0;
    keeping.widens = !dn_is_fused (c) && !keeping.outputs;
    return keeping;
}

/* Losses are computed in fp32 in every precision of the network, unless the whole
 * network is halved.
 */
static double loss_bytes (const struct dn_setup *c)
{
    return dn_has_habit (c, DN_HABIT_SHORT_LOSS) ? c->traits->activation : 4;
}

/* Copies of the logits beside what a loss keeps of them: log-softmax and its gradient.
 * Megatron-LM computes the gradient in the place of what it keeps, the softmax; the
 * logits in single precision are the one copy
 * (megatron/core/tensor_parallel/cross_entropy.py).
 */
static double loss_copies (const struct dn_setup *c)
{
    return c->spec->framework == DN_FRAMEWORK_MEGATRON ? 1 : 2;
}

/* More that an operator keeps where it is composed of single kernels, elements. As
 * TensorFlow's code of BERT computes them (google-research/bert, modeling.py, with
 * tf.contrib.layers.layer_norm and tf.nn.dropout of TensorFlow 1): a norm keeps its
 * input, the scale over all elements and the mean's share; GELU its input, that of erf,
 * its result and the factor; dropout, which is one kernel in PyTorch, the scaled input
 * and the mask.
 */
static double composed_elements (const struct dn_setup *c, const struct dn_op *op)
{
    bool torch = dn_has_habit (c, DN_HABIT_TORCH);

    if (op->kind == DN_OP_NORM)
        return 2 * op->saved;
    if (op->kind == DN_OP_ACTIVATION)
        return 3 * op->saved;
    return op->kind == DN_OP_DROPOUT && !torch ? 2 * op->masks : 0;
}

/* More that an operator keeps under torch.amp, whose lists say what it computes in
 * single precision (pytorch.org/docs/stable/amp.html): norms other than batch norms,
 * softmax, powers. A product that reads the result of softmax, and each product that
 * reads that of a norm, keeps a copy of 16 bits.
 */
static double amp_bytes (const struct dn_setup *c, const struct dn_op *op)
{
    double element = c->traits->activation;
    bool again = op->role == DN_ROLE_KEY || op->role == DN_ROLE_VALUE
                 || op->role == DN_ROLE_KEY_VALUE || op->role == DN_ROLE_UP;

    if (op->amp_saved > 0)
        return element * op->amp_saved;
    if (op->kind == DN_OP_SOFTMAX)
        return (4 - element + (op->dropout ? 0 : element)) * op->saved;
    if (op->wide)
        return (4 - element) * (op->saved - op->wide_saved);
    if (op->kind == DN_OP_LINEAR && again && op->input_saved <= 0 && !op->frozen
        && !op->passed && !(op->fixed && op->frozen_bytes <= 0))
        return element * op->in;
    return 0;
}

/* More that an operator keeps because adapters compute in fp32 beside layers of 16
 * bits: each casts what it reads, and keeps that; torch.amp casts it back (peft,
 * LoraLayer: _cast_input_dtype).
 */
static double cast_bytes (const struct dn_setup *c, const struct dn_op *op)
{
    double element = c->traits->activation;
    double own = c->traits->copy > 0 ? element : 4;

    return op->cast_saved * (op->cast_saved > 0 ? own : element);
}

/* Bytes that an operator, after one of kind 'last', keeps for the backward pass, per
 * sample, on one of the devices that share a layer. Norms, the dropout between layers
 * and the input of the first product after a norm are not split, except by sequence
 * parallelism (Korthikanti et al., arXiv 2205.05198, eq. 2: 10 + 24 / t; eq. 4: 34 /
 * t).
 */
static double part_bytes (const struct dn_setup *c,
                          const struct keeping *keeping,
                          const struct dn_op *op,
                          enum dn_op_kind last)
{
    bool scores = op->kind == DN_OP_SOFTMAX
                  || (op->kind == DN_OP_DROPOUT && last == DN_OP_SOFTMAX);
    bool whole = op->kind == DN_OP_NORM || (op->kind == DN_OP_DROPOUT && !scores)
                 || (op->kind == DN_OP_LINEAR && last == DN_OP_NORM);
    double saved = (keeping->outputs && !op->frozen ? op->out : op->saved)
                   * (op->kind == DN_OP_LOSS ? keeping->loss : 1);
    double element = op->kind == DN_OP_LOSS ? loss_bytes (c) : c->traits->activation;
    double shorter = c->traits->linear > 0 && op->kind == DN_OP_LINEAR
                         ? (element - c->traits->linear) * op->input_saved
                         : 0;

    if (scores && keeping->again)
        return 0;
    if (keeping->widens && op->wide_saved > 0)
        shorter -= dn_max (4 - element, 0) * op->wide_saved;
    if (keeping->amp)
        shorter -= amp_bytes (c, op);
    if (keeping->composed)
        shorter -= composed_elements (c, op) * element;
    if (keeping->casts)
        shorter -= cast_bytes (c, op);
    return (saved * element - shorter + op->masks)
           / (whole ? c->norm_split : (double) c->spec->tp);
}

/* Bytes that an operator keeps under PyTorch's selective checkpointing, per sample: the
 * output of every second product with weights and that of one kernel of attention, as
 * torchtitan's policy has it ("Current and New Activation Checkpointing Techniques in
 * PyTorch", pytorch.org/blog, 2025).
 */
static double product_bytes (const struct dn_setup *c, const struct dn_op *op)
{
    double kept = op->kind == DN_OP_ATTENTION
                      ? op->out * c->traits->activation + op->masks
                  : dn_op_has_weights (op) ? op->out * c->traits->activation / 2
                                           : 0;

    return op->frozen ? 0 : kept / (double) c->spec->tp;
}

/* Micro-batches whose activations the first stage of a pipeline holds: as many as there
 * are stages, since forward and backward passes alternate; with several chunks per
 * stage (p - 1) / v more (Korthikanti et al. 2022, section 4.2.3).
 */
static double in_flight (const struct dn_setup *c)
{
    double stages = (double) c->spec->pp;
    double most = stages + (c->chunks > 1 ? (stages - 1) / c->chunks : 0);

    return dn_min (most, (double) c->spec->grad_accum);
}

/* Those of the last stage: one, whose backward pass follows at once; with several
 * chunks all of them but the last have p, too.
 */
static double in_flight_last (const struct dn_setup *c)
{
    double most = (double) c->spec->pp * (1 - 1 / c->chunks) + 1 / c->chunks;

    return dn_min (most, (double) c->spec->grad_accum);
}

/* Samples of the longest batch, as long as the others: it sets the peak of the run. */
static double largest_batch (const struct dn_setup *c)
{
    return c->padded * dn_max (c->graph->longest / c->graph->padding, 1);
}

/* Experts whose tokens are in one tensor: those of a grouped kernel; otherwise one,
 * with the tokens of all devices that share it.
 */
static double experts_at_once (const struct dn_setup *c, const struct dn_op *op)
{
    if (!op->expert)
        return 1;
    return dn_has_habit (c, DN_HABIT_GROUPED) ? dn_max (c->graph->experts, 1)
                                              : c->experts;
}

/* Convolutions over more than one position transform their input and output (Winograd,
 * Fourier, channels last); one workspace serves all of them. Depthwise ones and those
 * of one position need none.
 */
static bool is_transformed (const struct dn_op *op)
{
    double channels = op->in / dn_max (op->m, 1);

    return op->kind == DN_OP_CONV && op->n > 1
           && op->k * op->batches / dn_max (channels, 1) > 1.01;
}

/* Add the i-th operator, or the kernels that run in its place. */
static void add_operator (const struct dn_setup *c,
                          const struct keeping *keeping,
                          int i,
                          struct dn_content *content)
{
    const struct dn_op *op = &c->graph->ops[i];
    double element = c->traits->activation;
    enum dn_op_kind last = i > 0 ? op[-1].kind : DN_OP_UNKNOWN;
    struct dn_op room[DN_PARTS_MAX];
    int n;
    const struct dn_op *parts = dn_parts_of (c->spec, c->device, 1, op, room, &n);

    for (int j = 0; j < n; j++) {
        double out =
            parts[j].out
            * (i == keeping->head && c->spec->loss == DN_LOSS_FUSED ? keeping->loss
                                                                    : 1);
        double elements = (parts[j].in + out) * experts_at_once (c, op);

        *(op->block ? &content->blocks : &content->rest) +=
            parts[j].repeat * part_bytes (c, keeping, &parts[j], last);
        if (keeping->products && op->block)
            content->products += parts[j].repeat * product_bytes (c, &parts[j]);
        if (op->kind != DN_OP_LOSS)
            content->largest = dn_max (content->largest, elements * element);
        if (op->block)
            content->inner = dn_max (content->inner, elements * element);
        last = parts[j].kind;
    }
    if (op->kind == DN_OP_LOSS)
        content->loss = dn_max (
            content->loss, op->in * loss_bytes (c) * loss_copies (c) * keeping->loss);
    if (op->frozen_bytes > 0 && op->frozen_bytes < op->weights * element)
        content->unpacked = dn_max (content->unpacked, op->weights * element);
    if (is_transformed (op))
        content->window = dn_max (content->window, (op->in + op->out) * element);
    content->images = content->images || op->dims > 1;
    content->loops = content->loops || op->each > 0;
}

/* Checkpointing of blocks keeps their boundaries, which sequence parallelism splits,
 * and the inside of one block; nothing where no block has a backward pass. What it
 * keeps besides, 'products', is of the inside, too.
 */
static struct dn_content find_content (const struct dn_setup *c,
                                       const struct keeping *keeping)
{
    const struct dn_graph *graph = c->graph;
    double layers = (double) graph->block_layers;
    double batch = largest_batch (c);
    struct dn_content content = {0};
    bool backward = false;

    for (int i = 0; i < graph->n_ops && !dn_time_is_up (c, i, 1); i++) {
        if (graph->ops[i].earlier) /* of a pass whose memory is free again */
            continue;
        add_operator (c, keeping, i, &content);
        backward = backward || (graph->ops[i].block && !graph->ops[i].frozen);
    }
    content.blocks *= batch;
    content.rest *= batch;
    content.products *= batch;
    content.largest *= batch;
    content.inner *= batch;
    content.loss *= batch;
    content.window *= batch;
    if ((c->spec->checkpointing == DN_CHECKPOINTING_FULL || keeping->products)
        && layers > 1 && backward) {
        content.inside = dn_max (content.blocks - content.products, 0) / layers;
        content.blocks = graph->block_boundary * c->traits->activation * layers * batch
                             / c->norm_split
                         + content.products;
    }
    return content;
}

static bool stores_activations (const struct dn_setup *c)
{
    return c->spec->offload == DN_OFFLOAD_ACTIVATIONS && c->graph->block_layers > 1;
}

double dn_stored_activations (const struct dn_setup *c)
{
    struct keeping keeping;

    if (!stores_activations (c))
        return 0;
    keeping = find_keeping (c);
    return find_content (c, &keeping).blocks / (double) c->spec->pp;
}

/* Bytes of blocks that a stage of a pipeline keeps of 'held' micro-batches. Of
 * activations that the host holds two blocks are on the device: one is used while the
 * other is copied. One block of one micro-batch is computed again at a time.
 */
static double kept_blocks (const struct dn_setup *c,
                           const struct dn_content *content,
                           double held)
{
    double stages = (double) c->spec->pp;

    if (stores_activations (c))
        held = dn_min (2 * stages / (double) c->graph->block_layers, held);
    return content->blocks * held / stages + content->inside;
}

/* Activations and the tensors of one operator at their peak: on the last stage of a
 * pipeline, which has the head and its loss, or on the first, which has most
 * micro-batches.
 */
static double peak_activations (const struct dn_setup *c,
                                const struct dn_content *content)
{
    double tp = (double) c->spec->tp;
    double last = kept_blocks (c, content, in_flight_last (c)) + content->rest
                  + (content->largest + content->loss + content->unpacked) / tp;
    double first = kept_blocks (c, content, in_flight (c))
                   + (content->inner + content->unpacked) / tp;

    return c->spec->pp > 1 ? dn_max (first, last) : last;
}

static bool is_prepared (enum dn_quant quant)
{
    return quant == DN_QUANT_INT8 || quant == DN_QUANT_NF4;
}

/* Bytes of the parameters that do not learn, on one device: weights without gradient
 * and optimizer state. In mixed precision a product keeps its copy of a longer weight
 * for the backward pass. ZeRO halves the whole network, and has fp32 weights only of
 * what learns. FSDP casts what it gathers. Beside adapters the network is loaded in 16
 * bits, as the recipes of peft, torchtune and axolotl do; beside layers that are
 * quantised as they are loaded it stays in fp32 (peft,
 * prepare_model_for_kbit_training, which leaves GPTQ and AWQ as they are).
 */
static double frozen_bytes (const struct dn_setup *c)
{
    const struct dn_precision_traits *bytes = c->traits;
    bool zero = c->parallel >= DN_PARALLEL_ZERO1 && c->parallel <= DN_PARALLEL_ZERO3;
    bool sharded = c->parallel >= DN_PARALLEL_ZERO3;
    double all = 0;

    if (c->frozen_params <= 0)
        return 0;
    for (int i = 0; i < c->graph->n_ops; i++) {
        const struct dn_op *op = &c->graph->ops[i];
        double n = dn_is_sparse (op) ? 0 : op->frozen_params;
        double stored = n * bytes->weights;

        double devices = op->expert ? c->experts * (sharded ? c->expert_shards : 1)
                                    : (sharded ? c->shards : 1);

        if (n <= 0)
            continue;
        if (op->frozen_bytes > 0)
            stored = dn_min (stored, op->frozen_bytes);
        if (c->spec->lora != DN_UNSET && !is_prepared (c->spec->quant)
            && bytes->copy > 0)
            stored = dn_min (stored, n * bytes->copy);
        if (zero && bytes->copy > 0)
            stored = dn_min (stored, n * bytes->copy);
        else if (c->parallel < DN_PARALLEL_FSDP && stored > n * bytes->activation)
            stored += n * bytes->copy;
        all += op->repeat * stored / devices;
    }
    return all / c->model_parallel;
}

/* Megatron-LM's distributed optimizer sums gradients in fp32 with bf16, 6 + 12 / d
 * bytes per parameter (its docs, "Distributed optimizer"), and sends them from where
 * they are. It steps with the fused Adam of apex or Transformer Engine, without copies
 * (megatron/core/optimizer). With fp16 it is taken for DeepSpeed's, which such runs of
 * V100 had.
 */
static bool has_own_optimizer (const struct dn_setup *c)
{
    return c->spec->framework == DN_FRAMEWORK_MEGATRON
           && c->precision != DN_PRECISION_FP16;
}

/* Weights, gradients and optimizer state of one device, wherever they are.
 *
 * ZeRO trains fp16 weights and counts the fp32 ones as optimizer state: 2 + 2 + 12
 * bytes per parameter with Adam (Rajbhandari et al. 2020, section 3.1), and so does an
 * optimizer on the host. FSDP keeps fp32 shards and casts what it gathers.
 */
static void find_state (const struct dn_setup *c, double memory[DN_N_MEMORY_CLASSES])
{
    const struct dn_precision_traits *bytes = c->traits;
    enum dn_parallel parallel = c->parallel;
    double params = dn_own_params (c);
    double share = params > 0 ? dn_shard_params (c) / params : 1;
    bool mixed = bytes->copy > 0;
    bool zero = parallel >= DN_PARALLEL_ZERO1 && parallel <= DN_PARALLEL_ZERO3;
    bool own = zero && has_own_optimizer (c);
    double least = has_wide_adapters (c) ? 4 : 0;

    memory[DN_MEMORY_WEIGHTS] = params * (dn_max (bytes->weights, least) + bytes->copy);
    memory[DN_MEMORY_GRADIENTS] = params * dn_max (bytes->gradients, least);
    memory[DN_MEMORY_OPTIMIZER] =
        params * dn_optimizer_bytes (c, dn_max (bytes->state, least));
    if (mixed && parallel >= DN_PARALLEL_FSDP) {
        memory[DN_MEMORY_WEIGHTS] = params * bytes->weights;
    } else if (mixed && (zero || dn_is_offloaded (c))) {
        memory[DN_MEMORY_WEIGHTS] = params * bytes->copy;
        memory[DN_MEMORY_GRADIENTS] = params * (own ? bytes->gradients : bytes->copy);
        memory[DN_MEMORY_OPTIMIZER] += params * bytes->weights;
    }
    if (parallel >= DN_PARALLEL_ZERO1)
        memory[DN_MEMORY_OPTIMIZER] *= share;
    if (parallel >= DN_PARALLEL_ZERO2)
        memory[DN_MEMORY_GRADIENTS] *= share;
    if (parallel >= DN_PARALLEL_ZERO3)
        memory[DN_MEMORY_WEIGHTS] *= share;
    memory[DN_MEMORY_WEIGHTS] +=
        frozen_bytes (c) + c->normed_params * bytes->weights / c->model_parallel;
}

/* Parts of a network that are on the device at a time where its weights are not: a
 * block that is used and one that comes or goes.
 */
static double two_blocks (const struct dn_setup *c)
{
    return c->graph->block_layers > 0 ? dn_min (2 / (double) c->graph->block_layers, 1)
                                      : 1;
}

/* What the host holds is not on the device, except what is just sent. */
static void move_to_host (const struct dn_setup *c, double memory[DN_N_MEMORY_CLASSES])
{
    if (!dn_is_offloaded (c))
        return;
    memory[DN_MEMORY_OPTIMIZER] = 0;
    memory[DN_MEMORY_GRADIENTS] *= two_blocks (c);
    if (c->spec->offload == DN_OFFLOAD_PARAMS)
        memory[DN_MEMORY_WEIGHTS] = 0;
}

double dn_offload_bytes (const struct dn_setup *c)
{
    double memory[DN_N_MEMORY_CLASSES] = {0};
    double activations = dn_stored_activations (c) * in_flight (c);

    if (!dn_is_offloaded (c))
        return activations;
    find_state (c, memory);
    return activations + memory[DN_MEMORY_OPTIMIZER] + memory[DN_MEMORY_GRADIENTS]
           + (c->spec->offload == DN_OFFLOAD_PARAMS ? memory[DN_MEMORY_WEIGHTS] : 0);
}

/* FSDP wraps blocks. What is outside of them is its root, which stays gathered from the
 * forward to the backward pass, with whole gradients of what learns ("Getting started
 * with FSDP": reshard_after_forward is False for the root).
 */
static double root_bytes (const struct dn_setup *c)
{
    const struct dn_precision_traits *bytes = c->traits;
    double element = bytes->copy > 0 ? bytes->copy : bytes->weights;
    double all = 0;

    for (int i = 0; i < c->graph->n_ops && c->graph->block_layers > 0; i++) {
        const struct dn_op *op = &c->graph->ops[i];

        if (!op->block)
            all += op->repeat * (2 * op->params + op->frozen_params) * element;
    }
    return c->parallel >= DN_PARALLEL_FSDP ? all / c->model_parallel : 0;
}

/* Bytes that follow from the parameters. Return the bytes of one more copy, which
 * optimizers that are not fused hold while they process lists of tensors (PyTorch's
 * foreach).
 */
static double parameter_bytes (const struct dn_setup *c,
                               double memory[DN_N_MEMORY_CLASSES])
{
    const struct dn_precision_traits *bytes = c->traits;
    double gathered =
        dn_own_params (c) * (bytes->copy > 0 ? bytes->copy : bytes->weights)
        + c->dense.frozen_bytes + c->in_experts.frozen_bytes;

    find_state (c, memory);
    if (has_own_optimizer (c))
        memory[DN_MEMORY_BUCKETS] = 0;
    else if (c->parallel >= DN_PARALLEL_ZERO1 && c->parallel <= DN_PARALLEL_ZERO2)
        memory[DN_MEMORY_BUCKETS] = ZERO_BUFFERS * ZERO_BUCKET * bytes->activation;
    else if (c->replicas > 1 && c->parallel < DN_PARALLEL_ZERO2)
        memory[DN_MEMORY_BUCKETS] = memory[DN_MEMORY_GRADIENTS];
    move_to_host (c, memory);
    if (c->parallel >= DN_PARALLEL_ZERO3 || c->spec->offload == DN_OFFLOAD_PARAMS)
        memory[DN_MEMORY_BUCKETS] = gathered * two_blocks (c) + root_bytes (c);
    memory[DN_MEMORY_WEIGHTS] += c->table_params / (double) c->spec->gpus * 4;
    if (dn_has_habit (c, DN_HABIT_IN_PLACE) || has_own_optimizer (c)
        || dn_is_offloaded (c) || dn_optimizer_is_fused (c)
        || dn_optimizer_traits[c->spec->optimizer].states < 2)
        return 0;
    return (c->parallel >= DN_PARALLEL_ZERO1 ? dn_shard_params (c) : dn_own_params (c))
           * bytes->state;
}

/* PyTorch's FSDP gathers the whole network on a device to write a checkpoint of all
 * ranks (FULL_STATE_DICT, its default), beside its shards: the temporaries of a step's
 * end are these. Runs of several nodes, and those whose network is larger than the room
 * of a device, write shards, as newer software does.
 */
static double written_bytes (const struct dn_setup *c, double room)
{
    double written = dn_own_params (c) * c->traits->weights + c->dense.frozen_bytes
                     + c->in_experts.frozen_bytes;

    return may_gather (c->spec, c->parallel, c->nodes)
                   && dn_age_by (c->spec, FIRST_SHARDED, YEAR_SHARDED) != DN_AGE_MODERN
                   && written <= room
               ? written
               : 0;
}

/* TensorFlow's graph holds all gradients until their common norm is known, and then a
 * second copy of them, which is clipped (tf.clip_by_global_norm).
 */
static bool keeps_gradients (const struct dn_setup *c)
{
    return dn_has_habit (c, DN_HABIT_COMPOSED) && c->spec->compile != 1
           && !dn_graph_has (c->graph, DN_OP_CONV);
}

/* Are gradients allocated before the backward pass? Between the passes of one step they
 * are kept. Megatron-LM has one buffer of them all, made before training
 * (megatron/core/distributed/param_and_grad_buffer.py).
 */
static bool has_gradients (const struct dn_setup *c)
{
    return c->spec->grad_accum > 1 || keeps_gradients (c) || has_own_optimizer (c)
           || (may_be_zeroed (c->spec, c->parallel) && is_stated_zeroed (c->spec));
}

/* NVIDIA's example of collaborative filtering holds its data set on the device
 * (DeepLearningExamples, PyTorch/Recommendation/NCF/dataloading.py), and four pairs
 * without a rating for each with one: two numbers of 8 bytes, and a label of 4. A
 * device has its share of them in random order.
 */
#define NCF_PAIR   16
#define NCF_SAMPLE 20
#define NCF_DRAWN  5

static double data_bytes (const struct dn_setup *c)
{
    double pairs =
        c->spec->stack == DN_STACK_NGC && dn_runs_torch (c->spec) ? c->graph->pairs : 0;

    return pairs * (NCF_PAIR + NCF_DRAWN * NCF_SAMPLE / (double) c->spec->gpus);
}

/* More of it while an epoch is prepared, without activations: all samples as they were
 * drawn, and a random order of its share: four arrays of 8 bytes, which a radix sort
 * works on.
 */
static double drawn_bytes (const struct dn_setup *c)
{
    double pairs = data_bytes (c) > 0 ? c->graph->pairs : 0;

    return pairs * NCF_DRAWN * (NCF_SAMPLE + 4 * 8 / (double) c->spec->gpus);
}

/* Join the two peaks. Memory that gradients and buckets take over from the activations
 * counts as theirs, so that the classes add up to the higher peak. A workspace is
 * optional: where memory is short, the library uses an algorithm that needs less.
 */
static void join_peaks (const struct dn_setup *c,
                        const struct dn_content *content,
                        double temporaries,
                        double memory[DN_N_MEMORY_CLASSES])
{
    double activations = peak_activations (c, content);
    double room =
        (c->device->memory - memory[DN_MEMORY_CONTEXT]) / (1 + c->constants->slack)
        - memory[DN_MEMORY_WEIGHTS] - memory[DN_MEMORY_OPTIMIZER];
    double workspace;
    double late = 0;

    if (keeps_gradients (c))
        activations += memory[DN_MEMORY_GRADIENTS];
    activations += data_bytes (c);
    temporaries = dn_max (temporaries, drawn_bytes (c)) + data_bytes (c);
    workspace = c->constants->workspace * content->window / (double) c->spec->tp;
    workspace = dn_max (dn_min (workspace, room - activations), 0);
    /* The gathered weights of ZeRO-3 are allocated together with the activations. */
    if (!has_gradients (c))
        late += memory[DN_MEMORY_GRADIENTS];
    if (c->parallel < DN_PARALLEL_ZERO3)
        late += memory[DN_MEMORY_BUCKETS];
    temporaries = dn_max (temporaries, written_bytes (c, room) - late);
    if (activations + workspace - late < temporaries) {
        memory[DN_MEMORY_ACTIVATIONS] = 0;
        memory[DN_MEMORY_WORKSPACE] = temporaries;
        return;
    }
    memory[DN_MEMORY_WORKSPACE] = dn_min (workspace, activations + workspace - late);
    memory[DN_MEMORY_ACTIVATIONS] =
        activations + workspace - late - memory[DN_MEMORY_WORKSPACE];
}

/* Processes, their loaders, the batches that the loaders hold ready and the same again
 * in pinned buffers; and a checkpoint, which is gathered before it is written, or the
 * frozen weights as they are loaded.
 */
static double host_bytes (const struct dn_setup *c)
{
    const struct dn_constants *k = c->constants;
    double per_node = (double) c->spec->gpus / c->nodes;
    double workers =
        c->spec->workers >= 0 ? (double) c->spec->workers : k->host_workers;
    double batch_bytes = c->batch * c->graph->input_bytes;
    double checkpoint =
        c->graph->params * 4 * (1 + dn_optimizer_traits[c->spec->optimizer].states)
        + (c->graph->frozen_params - c->frozen_params) * 4
        + dn_min (c->frozen_params * 4, frozen_bytes (c) * c->model_parallel);

    if (c->spec->input == DN_INPUT_SYNTHETIC)
        workers = 0;
    return per_node
               * (k->host_process
                  + workers * (k->host_worker + 2 * k->host_prefetch * batch_bytes)
                  + dn_offload_bytes (c))
           + checkpoint;
}

static bool is_split (const struct dn_setup *c)
{
    return c->model_parallel > 1 || c->context > 1 || c->experts > 1
           || c->parallel >= DN_PARALLEL_ZERO1 || stores_activations (c)
           || dn_is_offloaded (c);
}

static bool is_dense (const struct dn_graph *graph)
{
    return dn_graph_has (graph, DN_OP_LINEAR) && !dn_graph_has (graph, DN_OP_RNN)
           && !dn_graph_has (graph, DN_OP_EMBEDDING)
           && !dn_graph_has (graph, DN_OP_MATMUL) && !dn_graph_has (graph, DN_OP_COPY);
}

static enum dn_memory_kind memory_kind (const struct dn_setup *c,
                                        const struct keeping *keeping,
                                        const struct dn_content *content)
{
    const struct dn_graph *graph = c->graph;
    bool attention =
        dn_graph_has (graph, DN_OP_ATTENTION) || dn_graph_has (graph, DN_OP_SOFTMAX);

    if (is_split (c))
        return DN_MEMORY_KIND_SPLIT;
    /* Shapes change from batch to batch, and the allocator keeps blocks of all sizes.
     */
    if (content->loops)
        return DN_MEMORY_KIND_DETECTORS;
    if (keeping->outputs)
        return DN_MEMORY_KIND_TUNED;
    if (attention)
        return DN_MEMORY_KIND_ATTENTION;
    if (content->images)
        return DN_MEMORY_KIND_IMAGES;
    return is_dense (graph) ? DN_MEMORY_KIND_DENSE : DN_MEMORY_KIND_OTHER;
}

struct dn_content dn_content_find (const struct dn_setup *c)
{
    struct keeping keeping = find_keeping (c);
    struct dn_content content = find_content (c, &keeping);

    content.kind = memory_kind (c, &keeping, &content);
    return content;
}

/* Of the driver and of the libraries that a process of its age loads. */
static double context_bytes (const struct dn_setup *c)
{
    const struct dn_constants *k = c->constants;
    bool lazy = may_be_lazy (c->spec) && dn_age_of (c->spec) == DN_AGE_MODERN;

    return k->context_bytes
           + (dn_graph_has (c->graph, DN_OP_CONV) ? k->context_conv : 0)
           - (lazy ? k->context_lazy : 0);
}

void dn_whitebox_memory (const struct dn_setup *c,
                         const struct dn_content *content,
                         struct dn_estimate *estimate)
{
    const struct dn_constants *k = c->constants;
    double *memory = estimate->memory;
    double allocated = 0;

    memory[DN_MEMORY_CONTEXT] = context_bytes (c);
    join_peaks (c, content, parameter_bytes (c, memory), memory);
    for (int i = 0; i <= DN_MEMORY_BUCKETS; i++)
        allocated += memory[i];
    memory[DN_MEMORY_SLACK] = k->slack * allocated;
    estimate->gpu_mem.p50 =
        allocated + memory[DN_MEMORY_SLACK] + memory[DN_MEMORY_CONTEXT];
    estimate->gpu_mem.sigma = k->sigma_memory[content->kind];
    estimate->host_mem = host_bytes (c);
}

/* Does a batch of that many samples, with the headroom on top, fit the device? */
static bool holds_batch (struct dn_setup *c,
                         double quantile,
                         double headroom,
                         int64_t batch)
{
    struct dn_estimate estimate = {.device = c->device};
    struct dn_content content;

    dn_setup_batch (c, batch);
    content = dn_content_find (c);
    dn_whitebox_memory (c, &content, &estimate);
    return dn_range_at (estimate.gpu_mem, quantile) * (1 + headroom)
           <= c->device->memory;
}

int64_t dn_whitebox_largest_batch (const struct dn_case *c,
                                   double quantile,
                                   double headroom)
{
    const int64_t most = (int64_t) 1 << 30;
    struct dn_setup setup;
    int64_t good = 0;
    int64_t bad = 1;

    dn_setup_init (&setup, c, NULL);
    while (bad < most && holds_batch (&setup, quantile, headroom, bad)) {
        good = bad;
        bad *= 4;
    }
    while (bad - good > 1) {
        int64_t middle = good + (bad - good) / 2;

        if (holds_batch (&setup, quantile, headroom, middle))
            good = middle;
        else
            bad = middle;
    }
    return good;
}
