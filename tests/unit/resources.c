/* resources.c - tests of predict/'s memory, power, CPUs and run
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "estimates.h"

static double gib (const char *text, int device)
{
    return white_estimate (text, device, 0).gpu_mem.p50 / DN_GIB;
}

static double sum_of_classes (const struct dn_estimate *e)
{
    double sum = 0;

    for (int i = 0; i < DN_N_MEMORY_CLASSES; i++) {
        assert_true (e->memory[i] >= 0);
        sum += e->memory[i];
    }
    return sum;
}

TEST ("the classes of memory add up at either peak")
{
    /* The optimizer's peak, and that of the activations. */
    struct dn_estimate late = estimate ("model=mlp,params=100M,batch=8,optimizer=adam");
    struct dn_estimate early = estimate ("model=resnet50,batch=128,optimizer=adam");

    assert_near (sum_of_classes (&late), late.gpu_mem.p50);
    assert_near (sum_of_classes (&early), early.gpu_mem.p50);
    assert_near (late.memory[DN_MEMORY_ACTIVATIONS], 0);
    assert_near (late.memory[DN_MEMORY_WORKSPACE], late.memory[DN_MEMORY_GRADIENTS]);
    assert_true (early.memory[DN_MEMORY_ACTIVATIONS] > 8 * DN_GIB);
}

TEST ("gradients take the place of activations")
{
#define BERT "model=bert_large,batch=8,optimizer=adam,"
    struct dn_estimate one = estimate (BERT "gpus=1");
    struct dn_estimate four = estimate (BERT "gpus=4");
    struct dn_estimate parts = estimate (BERT "grad_accum=2");

    assert_true (four.memory[DN_MEMORY_BUCKETS] > 0);
    assert_near (four.gpu_mem.p50, one.gpu_mem.p50);
    /* Between the passes of one step the gradients stay. */
    assert_true (parts.gpu_mem.p50
                 > one.gpu_mem.p50 + 0.99 * one.memory[DN_MEMORY_GRADIENTS]);
}

TEST ("more of anything needs more memory")
{
    static const char *const pairs[][2] = {
        {"model=resnet50,batch=32", "model=resnet50,batch=33"},
        {"model=resnet50,batch=64,precision=fp16",
         "model=resnet50,batch=64,precision=fp32"},
        {"model=bert_base,batch=32,seq_len=128",
         "model=bert_base,batch=32,seq_len=256"},
        {"model=gpt2,batch=8,optimizer=sgd", "model=gpt2,batch=8,optimizer=momentum"},
        {"model=gpt2,batch=8,optimizer=momentum", "model=gpt2,batch=8,optimizer=adam"},
        {"model=gpt2,batch=8,checkpointing=full",
         "model=gpt2,batch=8,checkpointing=none"},
        {"model=gpt2,batch=8,stack=ngc,compile=1", "model=gpt2,batch=8,stack=ngc"},
        {"model=gpt2,batch=8,framework=megatron,checkpointing=selective",
         "model=gpt2,batch=8,framework=megatron"},
        {"model=gpt2,batch=8,gpus=2,tp=2,framework=megatron",
         "model=gpt2,batch=8,gpus=1,framework=megatron"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (pairs); i++)
        if (!(gib (pairs[i][0], A100) < gib (pairs[i][1], A100)))
            fail_msg ("%s does not need less than %s", pairs[i][0], pairs[i][1]);
}

TEST ("a workspace takes what is left")
{
    const char *text = "model=vgg16,batch=96,precision=fp32";
    struct dn_estimate tight = white_estimate (text, V100, 0);
    struct dn_estimate wide = estimate (text);

    assert_true (wide.gpu_mem.p50 > 16 * DN_GIB);
    assert_true (tight.memory[DN_MEMORY_WORKSPACE] < wide.memory[DN_MEMORY_WORKSPACE]);
    assert_true (tight.fits);
}

/* Device memory in use, GiB: gpu_memory.csv, the networks and cards named there. */
TEST ("measured memory is met within 15 %")
{
    static const struct {
        const char *text;
        int device;
        double gib;
    } rows[] = {
        {"model=mlp,layers=10,in_channels=1003,classes=190,params=3738002,"
         "flops=7476004,activations=15311,batch=565,precision=fp32",
         A100,
         1.5127},
        {"model=resnet50,image=224,batch=128,precision=fp32", A100, 14.8135},
        {"model=resnet18,image=224,batch=32,precision=fp32", A100, 3.2139},
        {"model=vgg19,image=224,batch=32,precision=fp32", A100, 8.4209},
        {"model=vit_b_16,image=224,batch=64,precision=fp32", A100, 9.958},
        {"model=bert_base,seq_len=384,batch=16,precision=fp32,optimizer=adam,stack=ngc",
         V100,
         14.973},
        {"model=bert_large,seq_len=384,batch=8,precision=fp16,optimizer=adam,stack=ngc",
         V100,
         14.385},
        {"model=resnet50,image=224,batch=720,precision=fp16,optimizer=momentum,"
         "stack=ngc",
         A100,
         39.002},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        double ratio = gib (rows[i].text, rows[i].device) / rows[i].gib;

        if (ratio < 0.85 || ratio > 1.15)
            fail_msg ("%s: %.2f of measured", rows[i].text, ratio);
    }
}

TEST ("a loss that works on parts needs less memory")
{
#define LARGE_HEAD "model=llama_3.2_1b,batch=4,seq_len=2048,precision=bf16_pure"
    const double logits = 4.0 * 2048 * 128256 / DN_GIB;
    double full = gib (LARGE_HEAD ",loss=full", A100);
    double chunked = gib (LARGE_HEAD ",loss=chunked", A100);

    assert_near (full, gib (LARGE_HEAD, A100));
    /* Seven eighths of three arrays of 4 bytes; then nearly all of one of 2. */
    assert_near (full - chunked, 12 * logits * 7 / 8 * 1.01);
    assert_true (gib (LARGE_HEAD ",loss=fused", A100) < chunked - logits);
}

TEST ("PyTorch's selective checkpointing keeps products of blocks")
{
#define SELECTED                                                                       \
    "model=llama_3_8b,batch=2,seq_len=8192,precision=bf16,optimizer=adamw,gpus=8,"     \
    "parallel=fsdp,framework=pytorch,since=2025,checkpointing="
    double selective = gib (SELECTED "selective", A100);

    assert_true (gib (SELECTED "none", A100) > 1.5 * selective);
    assert_true (selective > 1.2 * gib (SELECTED "full", A100));
    /* gpu_memory_3.csv, pytorch/torchtitan: 82.4 reserved */
    assert_true (fabs (selective / (82.4 + 1.5) - 1) < 0.1);
}

TEST ("a stage of a pipeline has most micro-batches or the head")
{
#define STAGES                                                                         \
    "model=gpt2,layers=32,hidden=4096,heads=32,vocab=50304,seq_len=2048,"              \
    "global_batch=64,micro_batch=1,gpus=4,pp=4,framework=megatron,since=2024,"         \
    "precision=bf16,optimizer=adam"
    /* The first stage decides, which has no head. */
    assert_true (fabs (gib (STAGES, A100) / gib (STAGES ",head=classifier", A100) - 1)
                 < 0.03);
}

TEST ("the spread is wider where less is known")
{
    double conv = estimate ("model=resnet50,batch=8").gpu_mem.sigma;
    double other = estimate ("model=bert_base,batch=8").gpu_mem.sigma;
    double eager = estimate ("model=bert_base,batch=8,stack=ngc").gpu_mem.sigma;

    assert_true (conv > 0);
    assert_true (conv <= other && other <= eager);
}

TEST ("the largest batch fits and one more does not")
{
    static const char *const texts[] = {
        "model=resnet50,batch=1,precision=fp16",
        "model=bert_large,batch=512,optimizer=adam",
        "model=gpt2,batch=4,grad_accum=4,checkpointing=full"};

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++) {
        struct white run = white_of (texts[i], V100);
        int64_t median = dn_whitebox_largest_batch (white_case (&run, 0), 0.5, 0);
        int64_t bound = dn_whitebox_largest_batch (white_case (&run, 0), 0.95, 0);
        struct dn_estimate e;

        assert_true (bound >= 1 && bound < median);
        run.spec.batch = median;
        dn_whitebox (white_case (&run, 0), &e);
        assert_true (e.gpu_mem.p50 <= run.device->memory);
        run.spec.batch = median + 1;
        dn_whitebox (white_case (&run, 0), &e);
        assert_true (e.gpu_mem.p50 > run.device->memory);
    }
}

TEST ("power lies between floor and limit")
{
    double waiting =
        white_estimate (
            "model=ncf,layers=3,vocab=9746,embed_dim=32,batch=64,precision=fp32,"
            "optimizer=adam",
            V100,
            0)
            .power_w;
    double working =
        white_estimate ("model=bert_base,batch=32,seq_len=384,precision=fp32", V100, 0)
            .power_w;
    double last = 0;

    /* Of 300 W; energy.csv has 0.15 and 0.91 of a V100's 250. */
    assert_in_range (waiting, 40, 75);
    assert_in_range (working, 250, 290);
    for (int limit = 100; limit <= 350; limit += 50) {
        double power =
            white_estimate (
                unit_text ("model=bert_base,batch=32,precision=fp32,power_limit=%d",
                           limit),
                V100,
                0)
                .power_w;

        assert_true (power <= limit && power >= last);
        if (limit <= 200)
            assert_true (power > 0.9 * limit);
        last = power;
    }
}

TEST ("a device that hardly works draws Idle, or a share of its limit")
{
    const char *text = "model=ncf,layers=3,vocab=9746,embed_dim=32,batch=1";
    struct dn_device device = *white_of (text, V100).device;

    device.idle_w = 80;
    assert_in_range (white_estimate_on (text, &device, 0).power_w, 80, 90);
    device.idle_w = 0;
    assert_in_range (white_estimate_on (text, &device, 0).power_w, 60, 70); /* of 300 */
}

TEST ("a recurrent layer draws less than other layers")
{
    double speech =
        white_estimate ("model=deepspeech2,batch=64,precision=fp32", V100, 0).power_w;
    double images =
        white_estimate ("model=resnet50,batch=64,precision=fp32", V100, 0).power_w;

    /* energy_3.csv and energy.csv: 191 and 223 W of a V100's 250 */
    assert_true (speech < 0.92 * images && speech > 0.6 * images);
}

TEST ("the bound of the power ends at the limit")
{
    struct dn_estimate waiting =
        white_estimate ("model=ncf,batch=64,precision=fp32", V100, 0);
    struct dn_estimate limited = white_estimate (
        "model=bert_base,batch=32,precision=fp32,power_limit=150", V100, 0);

    assert_true (waiting.power_w_p95 > 1.2 * waiting.power_w);
    assert_near (limited.power_w_p95, 150);
}

TEST ("a lower power limit slows kernels")
{
    struct white run = white_of ("model=resnet50,batch=64", V100);
    const struct dn_constants *k = &run.site->constants;
    struct dn_device pcie = *run.device;
    double last = 1;

    assert_near (dn_power_slowdown (k, run.device, DN_UNSET), 1);
    assert_near (dn_power_slowdown (k, run.device, 300), 1);
    assert_near (dn_power_slowdown (k, run.device, 500), 1);
    for (int64_t limit = 275; limit >= 100; limit -= 25) {
        double factor = dn_power_slowdown (k, run.device, limit);

        assert_true (factor > last);
        last = factor;
    }
    /* energy.csv, BERT and ResNet-50 on a V100 of 250 W: 1.04-1.08, 1.11-1.32,
     * 1.39-2.13 */
    pcie.tdp_w = 250;
    assert_true (fabs (dn_power_slowdown (k, &pcie, 200) - 1.06) < 0.03);
    assert_true (fabs (dn_power_slowdown (k, &pcie, 150) - 1.2) < 0.08);
    assert_true (fabs (dn_power_slowdown (k, &pcie, 100) - 1.9) < 0.3);
}

TEST ("a compiled step waits for no host")
{
    const char *text = "model=mobilenet_v2,batch=8,precision=fp16";
    struct dn_device device = scene_plain ()->catalogue.devices[A100];
    struct dn_estimate launched = white_estimate_on (text, &device, 0);
    struct dn_estimate compiled;

    device.compiled = 1;
    compiled = white_estimate_on (text, &device, 0);
    assert_near (compiled.stage_s[DN_STAGE_HOST], 0);
    assert_true (compiled.step_s.p50 < launched.step_s.p50 / 4);
    device.sustained = 0.5;
    assert_near (white_estimate_on (text, &device, 0).stage_s[DN_STAGE_FORWARD],
                 2 * compiled.stage_s[DN_STAGE_FORWARD]);
}

TEST ("data on the chip move at its rate")
{
#define FORWARD                                                                        \
    white_estimate_on ("model=resnet50,batch=128,precision=fp16", &device, 0)          \
        .stage_s[DN_STAGE_FORWARD]
    struct dn_device device = scene_plain ()->catalogue.devices[A100];
    double off = FORWARD;

    device.chip_bw = 100 * device.bandwidth;
    device.l2 = 1e12;
    assert_true (FORWARD < off);
    device.l2 = 1;
    assert_near (FORWARD, off);
}

TEST ("throughput rises with CPUs and levels off")
{
    /* msr-fiddle/synergy: AlexNet on a V100, relative to 3 cores per GPU. */
    static const double measured[][2] = {
        {1, 0.3}, {2, 0.66}, {4, 1.25}, {5, 1.53}, {6, 1.75}, {9, 2}, {24, 2}};
    struct white run = white_of ("model=alexnet,image=224,batch=512,decode=jpeg", V100);
    double three = dn_whitebox_throughput (white_case (&run, 3));
    double last = 0;

    for (size_t i = 0; i < DN_N_ELEMENTS (measured); i++) {
        double rate = dn_whitebox_throughput (white_case (&run, measured[i][0]));

        assert_true (rate >= last);
        assert_true (fabs (rate / three - measured[i][1]) < 0.3);
        last = rate;
    }
    assert_true (dn_whitebox_throughput (white_case (&run, 96)) < 1.05 * last);
}

TEST ("crowded workers deliver less")
{
    struct white run =
        white_of ("model=alexnet,batch=512,decode=jpeg,workers=16", V100);
    struct white fair =
        white_of ("model=alexnet,batch=512,decode=jpeg,workers=4", V100);

    assert_true (dn_whitebox_throughput (white_case (&run, 4))
                 < 0.6 * dn_whitebox_throughput (white_case (&fair, 4)));
}

TEST ("host memory follows processes and loaders")
{
#define HOST(keys)                                                                     \
    white_estimate ("model=resnet50,batch=64,workers=" keys, V100, 0).host_mem
    double plain = HOST ("2");
    double four = HOST ("2,gpus=4");

    assert_true (HOST ("2,input=synthetic") < plain && plain < HOST ("8"));
    assert_true (four > 3.5 * plain && four <= 4 * plain);
    assert_near (HOST ("2,gpus=4,nodes=4"), plain);
    assert_in_range (plain / DN_GIB, 4, 12);
}

TEST ("carbon is energy times intensity")
{
    assert_near (dn_estimate_carbon_g (3.6e6, 400), 400);
    assert_near (dn_estimate_carbon_g (-1, 400), -1);
    assert_near (dn_estimate_carbon_g (3.6e6, -1), -1);
}

TEST ("a run is longer than its steps")
{
#define EVALUATED                                                                      \
    "model=resnet50,batch=64,samples=64000,epochs=10,eval_samples=6400,eval_every="
    struct dn_estimate e = white_estimate (EVALUATED "1000", V100, 0);
    struct dn_estimate often = white_estimate (EVALUATED "100", V100, 0);

    assert_near (e.n_steps, 10000);
    assert_true (e.train_s.p50 > 10000 * e.step_s.p50);
    assert_true (often.train_s.p50 > 1.2 * e.n_steps * e.step_s.p50);
    assert_true (often.train_s.p50 > e.train_s.p50);
}
