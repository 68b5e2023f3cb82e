/* passes.c - tests of steps of several passes: the sum of their parts
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "white.h"

/* Seconds of a stage, or of several. */
static double forward (const struct white *run)
{
    return run->estimate.stage_s[DN_STAGE_FORWARD];
}

static double backward (const struct white *run)
{
    return run->estimate.stage_s[DN_STAGE_BACKWARD_DATA]
           + run->estimate.stage_s[DN_STAGE_BACKWARD_WEIGHT];
}

static double weights (const struct white *run)
{
    return run->estimate.memory[DN_MEMORY_WEIGHTS];
}

static struct white begin (const char *keys, const char *more)
{
    return white_run (unit_text ("%s,%s", keys, more), A100);
}

#define assert_about(a, b, share)                                                      \
    do {                                                                               \
        print_message ("%g %g\n", (a), (b));                                           \
        assert_true ((a) > (b) * (1 - (share)) && (a) < (b) * (1 + (share)));          \
    } while (0)

#define IMAGES "model=resnet50,precision=bf16,optimizer=momentum,input=synthetic"
#define TEXT   "model=llama_7b,layers=4,seq_len=512,precision=bf16_pure,optimizer=adamw"

/* The views of a sample are in one batch: a pair is two samples. */
TEST ("views of a sample cost as much as samples")
{
    static const char *const rows[][2] = {{"method=contrastive,batch=32", "batch=64"},
                                          {"method=triplet,batch=32", "batch=96"}};

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        struct white views = begin (IMAGES, rows[i][0]);
        struct white samples = begin (IMAGES, rows[i][1]);

        assert_near (forward (&views), forward (&samples));
        assert_near (backward (&views), backward (&samples));
        assert_near (views.estimate.gpu_mem.p50, samples.estimate.gpu_mem.p50);
        assert_near (views.graph.params, samples.graph.params);
        assert_near (views.estimate.power_w, samples.estimate.power_w);
    }
}

/* Pairs of texts attend to themselves. */
TEST ("texts of a pair attend to their own tokens")
{
    struct white pairs = begin (TEXT, "method=orpo,batch=2");
    struct white texts = begin (TEXT, "batch=4");

    assert_near (forward (&pairs), forward (&texts));
    assert_near (backward (&pairs), backward (&texts));
    assert_near (pairs.estimate.gpu_mem.p50, texts.estimate.gpu_mem.p50);
}

/* A pass of the same network leaves nothing: only the last one's activations are kept.
 */
TEST ("passes in turn take the time of each and the memory of one")
{
    struct white one = begin (IMAGES, "batch=32");
    struct white three = begin (IMAGES, "batch=32,passes=3");
    struct white sam = begin (IMAGES, "batch=32,method=sam");

    assert_near (forward (&three), 3 * forward (&one));
    assert_about (backward (&three), 3 * backward (&one), 0.01);
    assert_near (forward (&sam), 2 * forward (&one));
    assert_near (three.estimate.gpu_mem.p50, one.estimate.gpu_mem.p50);
    assert_near (three.graph.params, one.graph.params);
    assert_near (three.graph.tensors, one.graph.tensors);
}

/* Ten steps of an attack, each forward and back to the image, then one of training. */
TEST ("an attack computes no gradient of weights")
{
    struct white one = begin (IMAGES, "batch=32");
    struct white attacked = begin (IMAGES, "batch=32,method=adversarial");
    struct white once = begin (IMAGES, "batch=32,method=adversarial,passes=2");
    double weight = one.estimate.stage_s[DN_STAGE_BACKWARD_WEIGHT];
    double data = one.estimate.stage_s[DN_STAGE_BACKWARD_DATA];

    assert_near (forward (&attacked), 11 * forward (&one));
    assert_near (attacked.estimate.stage_s[DN_STAGE_BACKWARD_WEIGHT], weight);
    /* And that of the first layer's input, which training leaves out. */
    assert_true (attacked.estimate.stage_s[DN_STAGE_BACKWARD_DATA] > 11 * data);
    assert_true (attacked.estimate.stage_s[DN_STAGE_BACKWARD_DATA] < 12 * data);
    assert_near (attacked.estimate.gpu_mem.p50, one.estimate.gpu_mem.p50);
    assert_near (forward (&once), 2 * forward (&one));
}

TEST ("a teacher adds its forward pass and its weights")
{
    struct white student = begin (IMAGES, "batch=32");
    struct white teacher = begin ("model=resnet101,precision=bf16", "batch=32");
    struct white both = begin (IMAGES, "batch=32,teacher=resnet101");
    struct white distilled =
        begin (IMAGES, "batch=32,teacher=resnet101,method=distill");

    assert_near (forward (&both), forward (&student) + forward (&teacher));
    assert_near (backward (&both), backward (&student));
    assert_near (both.graph.params, student.graph.params);
    assert_near (both.graph.frozen_params, teacher.graph.params);
    assert_true (weights (&both) > weights (&student) + 4 * teacher.graph.params);
    assert_near (both.estimate.memory[DN_MEMORY_OPTIMIZER],
                 student.estimate.memory[DN_MEMORY_OPTIMIZER]);
    assert_near (distilled.estimate.step_s.p50, both.estimate.step_s.p50);
}

/* Policy and reference, two texts each. Beside adapters the reference is the network
 * without them.
 */
TEST ("DPO is two texts through policy and reference")
{
    struct white pair = begin (TEXT, "batch=2");
    struct white dpo = begin (TEXT, "method=dpo,batch=1");
    struct white adapted = begin (TEXT, "batch=2,lora=16");
    struct white adapted_dpo = begin (TEXT, "method=dpo,batch=1,lora=16");
    struct white frozen = begin (TEXT, "batch=2,frozen=all_but_head");

    assert_near (forward (&dpo), 2 * forward (&pair));
    assert_near (backward (&dpo), backward (&pair));
    assert_near (dpo.graph.frozen_params, pair.graph.params);
    assert_near (weights (&dpo), 2 * weights (&pair));
    assert_near (weights (&adapted_dpo), weights (&adapted));
    assert_near (adapted_dpo.estimate.gpu_mem.p50, adapted.estimate.gpu_mem.p50);
    /* The reference has no adapters. */
    assert_near (forward (&adapted_dpo), forward (&adapted) + forward (&frozen));
    assert_near (backward (&adapted_dpo), backward (&adapted));
}

TEST ("a reference has the weights of the policy in as few bits")
{
    struct white pair = begin (TEXT, "batch=2,lora=16,quant=nf4");
    struct white plain = begin (TEXT, "batch=2,frozen=all_but_head,quant=nf4");
    struct white dpo = begin (TEXT, "method=dpo,batch=1,lora=16,quant=nf4");

    assert_near (forward (&dpo), forward (&pair) + forward (&plain));
    assert_near (dpo.estimate.gpu_mem.p50, pair.estimate.gpu_mem.p50);
}

/* Each token reads all weights; those of several passes are generated together. */
TEST ("generated tokens take at least the time to read the weights")
{
    const double tokens = 128;
    struct white one = begin (TEXT, "batch=4");
    struct white grpo = begin (TEXT, "batch=4,method=grpo,tgt_len=128");
    struct white half = begin (TEXT, "batch=4,method=grpo,tgt_len=64");
    struct white large = begin (TEXT, "batch=8,method=grpo,tgt_len=128");
    struct white parts = begin (TEXT, "batch=4,method=grpo,tgt_len=128,grad_accum=4");
    double read = one.graph.params * 2 / one.device->bandwidth;
    double generated = forward (&grpo) - 2 * forward (&one);

    print_message ("%g s, %g s to read\n", generated, tokens * read);
    assert_true (generated > tokens * read);
    assert_true (generated < 3 * tokens * read);
    assert_about (forward (&half) - 2 * forward (&one), generated / 2, 0.2);
    /* A larger batch reads the weights as often. */
    assert_true (forward (&large) < 1.5 * forward (&grpo));
    assert_about (forward (&parts) - 8 * forward (&one), generated, 0.3);
    assert_near (backward (&grpo), backward (&one));
    assert_near (grpo.graph.frozen_params, one.graph.params);
}

TEST ("PPO trains two networks beside two that do not learn")
{
    struct white one = begin (TEXT, "batch=4");
    struct white ppo = begin (TEXT, "batch=4,method=ppo");

    assert_near (ppo.graph.params, 2 * one.graph.params);
    assert_near (ppo.graph.tensors, 2 * one.graph.tensors);
    assert_near (ppo.graph.frozen_params, 2 * one.graph.params);
    assert_near (backward (&ppo), 2 * backward (&one));
    assert_near (weights (&ppo), 4 * weights (&one));
}

/* No step of several passes has been measured. */
TEST ("further passes widen the bounds")
{
    struct white one = begin (IMAGES, "batch=32");
    struct white pair = begin (IMAGES, "batch=32,method=contrastive");
    struct white sam = begin (IMAGES, "batch=32,method=sam");

    assert_near (pair.estimate.step_s.sigma, one.estimate.step_s.sigma);
    assert_true (sam.estimate.step_s.sigma > one.estimate.step_s.sigma);
}

/* Devices that share a layer exchange activations in every pass. */
TEST ("tensor parallelism communicates in every pass")
{
    struct white one = begin (TEXT, "batch=2,tp=2,gpus=2");
    struct white three = begin (TEXT, "batch=2,tp=2,gpus=2,passes=3");
    double step = one.estimate.step_s.p50 - one.estimate.stage_s[DN_STAGE_OPTIMIZER];

    assert_about (three.estimate.step_s.p50
                      - three.estimate.stage_s[DN_STAGE_OPTIMIZER],
                  3 * step,
                  0.1);
}

static void fails (const char *text, const char *expected)
{
    struct white white;

    assert_error (white_try (text, A100, &white, &unit_err), expected);
}

TEST ("a method that the network cannot run is refused by name")
{
    fails (IMAGES ",batch=8,method=distill", "expected teacher=");
    fails (IMAGES ",batch=8,method=grpo", "resnet50 generates no tokens");
    fails (IMAGES ",batch=8,teacher=resnet5000", "teacher: model");
    fails (TEXT ",batch=8,method=grpo,tgt_len=1024", "at most seq_len 512");
}

/* A described network has the same passes. */
TEST ("a sidecar's network has passes, too")
{
    static const char net[] =
        "{\"dnnest\": 1, \"spec\": {\"batch\": 8, \"precision\": \"bf16\"},"
        " \"graph\": {\"name\": \"n\", \"ops\": ["
        "{\"op\": \"linear\", \"in\": [[64, 512]], \"out\": [[64, 2048]],"
        " \"params\": 1048576, \"repeat\": 8}]}}";
    struct white one = white_described (net, "");
    struct white two = white_described (net, "passes=2");

    assert_near (forward (&two), 2 * forward (&one));
    assert_near (two.graph.params, one.graph.params);
}
