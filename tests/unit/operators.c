/* operators.c - tests of the times of single operators, of their step, and of the
 * largest batch
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "white.h"

/* A job on a device of the scene, predicted. */
struct run {
    struct white white;
    struct dn_op_time *times;
};

static void predict (struct run *run, double cpus_per_gpu)
{
    run->times = unit_keep (
        calloc ((size_t) run->white.graph.n_ops, sizeof (*run->times)), free);
    dn_whitebox (white_case (&run->white, cpus_per_gpu), &run->white.estimate);
    dn_whitebox_operators (white_case (&run->white, 0), run->times);
}

static struct run run_of (const char *text, int device, double cpus_per_gpu)
{
    struct run run = {.white = white_of (text, device)};

    predict (&run, cpus_per_gpu);
    return run;
}

static enum dn_bottleneck step_bottleneck (const struct run *run)
{
    return dn_step_bottleneck (
        &run->white.estimate, run->times, run->white.graph.n_ops);
}

TEST ("operators add up to the stages")
{
    static const char *const texts[] = {
        "model=resnet50,batch=64,precision=fp16,optimizer=momentum",
        "model=mobilenet_v2,batch=3,precision=fp32,power_limit=150",
        "model=bert_large,batch=8,grad_accum=4,gpus=2",
        "model=gpt2,batch=4,checkpointing=full,gpus=4",
        "model=gpt2_medium,global_batch=64,micro_batch=2,gpus=8,tp=2,pp=4,"
        "framework=megatron,precision=fp16,checkpointing=full",
        "model=lstm_lm,batch=20",
        "model=dlrm,batch=1024,gpus=4",
        "model=ncf,batch=256,stack=ngc",
        "params=25M,flops=8G,activations=11M,batch=64",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++) {
        struct run run = run_of (texts[i], i % 2 ? A100 : V100, 0);
        double sums[4] = {0};

        for (int op = 0; op < run.white.graph.n_ops; op++) {
            const struct dn_op_time *time = &run.times[op];

            sums[0] += time->forward_s;
            sums[1] += time->backward_data_s;
            sums[2] += time->backward_weight_s;
            sums[3] += time->recompute_s;
            assert_near (time->compute_s + time->memory_s + time->fixed_s,
                         dn_op_seconds (time));
            assert_true (time->compute_s >= 0 && time->memory_s > 0 && time->fixed_s > 0
                         && time->host_s > 0 && time->bytes > 0);
            assert_true (time->bottleneck != DN_BOTTLENECK_UNKNOWN);
        }
        for (int stage = DN_STAGE_FORWARD; stage <= DN_STAGE_RECOMPUTE; stage++)
            assert_near (sums[stage] * 1e3, run.white.estimate.stage_s[stage] * 1e3);
    }
}

/* Forward once, both gradients once each, but no gradient of the network's input.
 * Attention in one kernel computes its scores once more.
 */
TEST ("the operations of a step are three forward passes")
{
    static const char *const texts[] = {
        "model=resnet50,batch=7",
        "model=bert_base,batch=3,grad_accum=5,attention=fused",
        "model=bert_base,batch=3,attention=plain",
        "model=vgg16,batch=2,precision=fp16"};

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++) {
        struct run run = run_of (texts[i], V100, 0);
        double samples = (double) (run.white.spec.batch * run.white.spec.grad_accum);
        double want = 0;
        double sum = 0;

        for (int op = 0; op < run.white.graph.n_ops; op++) {
            const struct dn_op *o = &run.white.graph.ops[op];
            bool product = o->kind == DN_OP_CONV || o->kind == DN_OP_LINEAR
                           || o->kind == DN_OP_MATMUL || o->kind == DN_OP_RNN
                           || o->kind == DN_OP_ATTENTION;
            double passes = o->kind == DN_OP_ATTENTION
                                    && run.white.spec.attention == DN_ATTENTION_FUSED
                                ? 3.5
                                : 3;

            sum += run.times[op].flops;
            if (product)
                want += (o->first ? 2 : passes) * o->repeat * o->flops * samples;
            else
                assert_near (run.times[op].flops, 0);
        }
        assert_near (sum / 1e9, want / 1e9);
    }
}

/* A graph of one operator. */
static void replace_graph (struct run *run, struct dn_op op)
{
    op.calls = 1;
    run->white.graph.ops[0] = op;
    run->white.graph.n_ops = 1;
    run->white.graph.block_layers = 0;
    predict (run, 0);
}

TEST ("an operator is bound by its largest part")
{
#define LINEAR(M, N, K, in_, out_, weights_)                                           \
    {                                                                                  \
        .kind = DN_OP_LINEAR, .repeat = 1, .m = M, .n = N, .k = K, .batches = 1,       \
        .flops = 2.0 * M * N * K, .in = in_, .out = out_, .weights = weights_          \
    }
#define OTHER(kind_, times, size)                                                      \
    {                                                                                  \
        .kind = DN_OP_##kind_, .repeat = times, .in = size, .out = size                \
    }
    static const struct {
        struct dn_op op;
        enum dn_bottleneck bottleneck;
    } rows[] = {
        /* large matrices: 2 m n k operations for m k + k n + m n elements */
        {LINEAR (4096, 4096, 4096, 16777216, 16777216, 16777216),
         DN_BOTTLENECK_COMPUTE},
        /* few operations for many elements */
        {LINEAR (128, 128, 1, 1e9, 1, 1), DN_BOTTLENECK_BANDWIDTH},
        {OTHER (ACTIVATION, 1, 1e9), DN_BOTTLENECK_BANDWIDTH},
        {OTHER (COPY, 30, 1e9), DN_BOTTLENECK_BANDWIDTH},
        {OTHER (ACTIVATION, 1, 10), DN_BOTTLENECK_LAUNCH},
        {LINEAR (1, 8, 8, 8, 8, 64), DN_BOTTLENECK_LAUNCH},
    };
    struct run run = run_of ("model=mlp,batch=1,precision=fp32", V100, 0);

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        replace_graph (&run, rows[i].op);
        if (run.times[0].bottleneck != rows[i].bottleneck)
            fail_msg ("row %zu is bound by %s",
                      i,
                      dn_names_get (&dn_bottleneck_names, run.times[0].bottleneck));
    }
}

TEST ("a step is bound by what takes longest")
{
    static const struct {
        const char *text;
        double cpus;
        enum dn_bottleneck bottleneck;
    } rows[] = {
        {"gpt2_large,batch=16,seq_len=1024,precision=fp32", 0, DN_BOTTLENECK_COMPUTE},
        {"densenet121,batch=256,precision=fp16,stack=ngc,input=gpu",
         0,
         DN_BOTTLENECK_BANDWIDTH},
        {"resnet18,batch=1,precision=fp16,input=synthetic", 0, DN_BOTTLENECK_HOST},
        {"resnet18,batch=256,precision=fp16,decode=jpeg", 1, DN_BOTTLENECK_INPUT},
        {"vgg16,batch=1,gpus=8,link=pcie,optimizer=none,input=synthetic",
         0,
         DN_BOTTLENECK_NETWORK},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        struct run run =
            run_of (unit_text ("model=%s", rows[i].text), V100, rows[i].cpus);

        if (step_bottleneck (&run) != rows[i].bottleneck)
            fail_msg ("%s is bound by %s",
                      rows[i].text,
                      dn_names_get (&dn_bottleneck_names, step_bottleneck (&run)));
    }
}

TEST ("a step of short kernels is bound by their launch")
{
    struct run run =
        run_of ("model=mlp,batch=1,optimizer=none,input=synthetic", V100, 0);

    replace_graph (
        &run,
        (struct dn_op){.kind = DN_OP_ACTIVATION, .repeat = 1e6, .in = 10, .out = 10});
    run.white.estimate.stage_s[DN_STAGE_HOST] = 0; /* as if the host were not slower */
    assert_int_equal (step_bottleneck (&run), DN_BOTTLENECK_LAUNCH);
}

static int64_t largest (const char *text, int device, double quantile, double headroom)
{
    struct white white = white_of (text, device);

    return dn_whitebox_largest_batch (white_case (&white, 0), quantile, headroom);
}

TEST ("the largest batch follows memory and caution")
{
    static const char *const texts[] = {"model=resnet50,batch=1,precision=fp16",
                                        "model=bert_base,batch=1,optimizer=adam",
                                        "model=braggnn,batch=1"};

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++) {
        assert_true (largest (texts[i], V100, 0.95, 0.05)
                     < largest (texts[i], A100, 0.95, 0.05));
        for (int n = 1; n < 5; n++) {
            assert_true (largest (texts[i], V100, 0.5 + n / 10.0, 0)
                         < largest (texts[i], V100, 0.4 + n / 10.0, 0));
            assert_true (n == 4
                         || largest (texts[i], V100, 0.5, n / 4.0)
                                < largest (texts[i], V100, 0.5, (n - 1) / 4.0));
        }
        assert_true (largest (texts[i], V100, 0.9, 0) > 0);
        assert_true (largest (texts[i], V100, 0.5, 0.75) > 0);
    }
}

TEST ("the policy's largest batch is the last that fits")
{
    struct run run = run_of ("model=resnet50,batch=3,precision=fp16", V100, 0);
    const struct dn_rules *rules = &run.white.site->rules;
    int64_t batch = dn_policy_largest_batch (rules, white_case (&run.white, 0));

    assert_true (batch > 1);
    for (int more = 0; more < 2; more++) {
        double bound;

        run.white.spec.batch = batch + more;
        predict (&run, 0);
        bound = dn_policy_memory (rules, &run.white.estimate);
        assert_int_equal (bound > run.white.device->memory, more);
    }
}

/* The result depends on the device's memory only, not on the batch of the request. */
TEST ("the largest batch is found from any batch")
{
    int64_t one = largest ("model=resnet50,batch=1", A100, 0.95, 0.05);

    assert_int_equal (largest ("model=resnet50,batch=100000", A100, 0.95, 0.05), one);
    assert_int_equal (largest ("model=gpt2_xl,batch=1,optimizer=adam", V100, 0.95, 0),
                      0);
}
