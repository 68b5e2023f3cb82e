/* predict.c - tests of predict/: properties that must hold, and measured anchors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "learn/reals.h"
#include "predict/apps.h"
#include "predict/habits.h"
#include "rows.h"
#include "estimates.h"

static int64_t cpus (const char *text)
{
    return estimate (text).cpus_per_gpu;
}

TEST ("bounds follow the normal quantiles")
{
    struct dn_range range = {.p50 = 100, .sigma = 0.5};

    /* z(.95) = 1.644854, z(.99) = 2.326348, to the approximation's 4.5e-4 */
    assert_true (fabs (log (dn_range_at (range, 0.95) / 100) / 0.5 - 1.644854) < 5e-4);
    assert_true (fabs (log (dn_range_at (range, 0.99) / 100) / 0.5 - 2.326348) < 5e-4);
    assert_true (fabs (log (dn_range_at (range, 0.05) / 100) / 0.5 + 1.644854) < 5e-4);
    assert_near (dn_range_at (range, 0.5), 100);
    assert_near (dn_range_at ((struct dn_range){.p50 = -1, .sigma = 0.5}, 0.99), -1);
    assert_true (isfinite (dn_range_at (range, 1)));
    assert_true (isfinite (dn_range_at (range, 0)));
}

TEST ("Confidence is the probability of a factor, and falls with the spread")
{
    static const struct dn_quantiles symmetric = {
        .n = 2, .scores = {0.5, 1}, .values = {1, 2}};
    static const struct dn_quantiles bounds = {
        .n = 2, .scores = {0, 1}, .values = {0.5, 3}, .within = &symmetric};
    const struct dn_quantiles *laws[] = {NULL, dn_student_law (3), &symmetric, &bounds};
    struct dn_range range = {.p50 = 7, .sigma = log (1.5)};

    assert_float_equal (dn_range_within (range, 1.5), 0.682689, 1e-5);
    assert_float_equal (dn_range_within (range, 2.25), 0.954500, 1e-5);
    range.quantiles = dn_student_law (3);
    assert_float_equal (dn_range_within (range, 1.5), 0.6090, 1e-2);
    range.quantiles = &bounds;
    assert_float_equal (dn_range_within (range, 1.5), erf (0.5 / sqrt (2)), 1e-6);
    range.sigma = 2 * log (1.5); /* half way to the first point */
    assert_float_equal (dn_range_within (range, 1.5), erf (0.25 / sqrt (2)), 1e-6);
    range.sigma = 0;
    assert_near (dn_range_within (range, 1.5), 1);
    for (size_t i = 0; i < DN_N_ELEMENTS (laws); i++) {
        double least = 1;

        range.quantiles = laws[i];
        for (range.sigma = 0.01; range.sigma < 3; range.sigma += 0.01) {
            double confidence = dn_range_within (range, 1.5);

            assert_true (confidence >= 0 && confidence <= least);
            least = confidence;
        }
        assert_true (least < 0.2);
    }
}

TEST ("more work takes longer")
{
    static const char *const pairs[][2] = {
        {"resnet50,batch=32,precision=fp32", "resnet50,batch=64,precision=fp32"},
        {"resnet50,batch=64,precision=fp16", "resnet50,batch=64,precision=fp32"},
        {"resnet50,batch=64", "resnet50,batch=64,image=288"},
        {"resnet50,batch=64", "resnet101,batch=64"},
        {"bert_base,batch=8", "bert_large,batch=8"},
        {"bert_base,batch=8,seq_len=128", "bert_base,batch=8,seq_len=256"},
        {"gpt2,batch=4,optimizer=none", "gpt2,batch=4,optimizer=adam"},
        {"gpt2,batch=4", "gpt2,batch=4,checkpointing=full"},
        {"gpt2,batch=4", "gpt2,batch=4,grad_accum=2"},
        {"vgg16,batch=32,gpus=1", "vgg16,batch=32,gpus=4"},
        {"vgg16,batch=32,gpus=4", "vgg16,batch=32,gpus=4,link=pcie"},
        {"vgg16,batch=32,gpus=4", "vgg16,batch=32,gpus=4,nodes=2"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (pairs); i++)
        if (!(white_estimate (unit_text ("model=%s", pairs[i][0]), V100, 0).step_s.p50
              < white_estimate (unit_text ("model=%s", pairs[i][1]), V100, 0)
                    .step_s.p50))
            fail_msg ("%s is not faster than %s", pairs[i][0], pairs[i][1]);
}

/* Seconds of a run besides its steps. */
static double beside_steps (const char *text)
{
    struct dn_estimate e = estimate (text);

    return e.train_s.p50 - 1.03 * e.n_steps * e.step_s.p50;
}

TEST ("a start takes longer with weights, files, nodes and compilation")
{
#define SHORT "model=resnet18,batch=128,precision=fp16,optimizer=momentum,"
    double small = beside_steps (SHORT "stem=cifar,image=32,epochs=1,samples=50000");
    double files = beside_steps (SHORT "epochs=1,samples=1281167");
    double nodes = beside_steps (SHORT "epochs=1,samples=1281167,gpus=16,nodes=4");
    double many = beside_steps (SHORT "stem=cifar,image=32,epochs=11,samples=50000");

    /* A minute, and 4 s of an epoch with 90 MB of a checkpoint. */
    assert_true (small > 64 && small < 65);
    assert_true (fabs (files - small - 1281167 / 5e4) < 0.1);
    assert_true (fabs (nodes - files - 20) < 0.1);
    assert_true (fabs ((many - small) / 10 - 4.1) < 0.1);
    assert_true (
        beside_steps (SHORT "stem=cifar,image=32,epochs=1,samples=50000,compile=1")
        > small + 4);
    assert_true (beside_steps ("model=llama_7b,lora=8,batch=1,seq_len=64,steps=10,"
                               "precision=bf16_pure,optimizer=adamw")
                 > small + 12);
}

/* Work that a loop of the host hands out costs the host; padding costs as the work
 * itself.
 */
TEST ("loops cost the host")
{
    double dense = stage ("model=resnet50,batch=2,image=640", DN_STAGE_HOST);
    double boxes =
        stage ("model=maskrcnn_resnet50_fpn,batch=2,image=640", DN_STAGE_HOST);
    double more =
        stage ("model=maskrcnn_resnet50_fpn,batch=4,image=640", DN_STAGE_HOST);

    assert_true (boxes > 1.5 * dense);
    assert_true (more > 1.1 * boxes);
}

TEST ("dense rows need loaders")
{
    double sparse = stage ("model=vae_cf,batch=512", DN_STAGE_INPUT);
    double dense = stage ("model=autoencoder,batch=512", DN_STAGE_INPUT);

    assert_true (sparse > 0);
    assert_true (dense > 2 * sparse);
}

TEST ("rows of tables are read one by one, but by tuned loaders")
{
    double plain = stage ("model=ncf,batch=512", DN_STAGE_INPUT);

    assert_near (stage ("model=ncf,batch=51200", DN_STAGE_INPUT), 100 * plain);
    /* ml-energy/zeus: 2.0 us a row on P100 and Quadro RTX 6000, 1.2 on V100 */
    assert_in_range (plain / 512 * 1e6, 0.5, 3);
    assert_near (stage ("model=ncf,batch=512,stack=ngc", DN_STAGE_INPUT), 0);
}

TEST ("a run has the habits of its framework and its stack")
{
    struct dn_spec spec = dn_spec_empty ();

    spec.framework = DN_FRAMEWORK_PYTORCH;
    assert_int_equal (dn_habits_of (&spec), DN_HABIT_TORCH);
    spec.stack = DN_STACK_PLAIN;
    assert_int_equal (dn_habits_of (&spec), DN_HABIT_TORCH);
    spec.stack = DN_STACK_NGC;
    assert_int_equal (dn_habits_of (&spec) & DN_HABIT_FUSED, 0);
    assert_true ((dn_habits_of (&spec) & DN_HABIT_FAST_LOADER) != 0);
    spec.framework = DN_FRAMEWORK_MEGATRON;
    assert_true ((dn_habits_of (&spec) & DN_HABIT_FUSED) != 0);
    assert_true ((dn_habits_of (&spec) & DN_HABIT_FAST_LOADER) != 0);
}

/* The framework's number comes before the stack's; the share of tuning lies between the
 * numbers of several kernels and of one, as a power.
 */
TEST ("a number of a habit is a constant")
{
    static const struct {
        enum dn_framework framework;
        enum dn_stack stack;
        int64_t compile;
        double tuned;
        double expected[DN_N_HABIT_NUMBERS];
    } rows[] = {
        {DN_FRAMEWORK_UNKNOWN, DN_STACK_UNKNOWN, DN_UNSET, 0, {2, 3, 4}},
        {DN_FRAMEWORK_PYTORCH, DN_STACK_PLAIN, 1, 0, {2, 3, 4}},
        {DN_FRAMEWORK_PYTORCH, DN_STACK_PLAIN, 1, 1, {5, 6, 4}},
        {DN_FRAMEWORK_JAX, DN_STACK_UNKNOWN, 0, 0, {2, 3, 4}},
        {DN_FRAMEWORK_JAX, DN_STACK_UNKNOWN, 1, 0, {5, 6, 4}},
        {DN_FRAMEWORK_PYTORCH, DN_STACK_NGC, DN_UNSET, 0, {5, 6, 4}},
        {DN_FRAMEWORK_MEGATRON, DN_STACK_UNKNOWN, 1, 0, {7, 8, 9}},
        {DN_FRAMEWORK_MEGATRON, DN_STACK_NGC, DN_UNSET, 0, {7, 8, 9}},
    };
    const struct dn_constants constants = {.optimizer = 2,
                                           .optimizer_launches = 3,
                                           .loss_launches = 4,
                                           .fused_optimizer = 5,
                                           .fused_launches = 6,
                                           .megatron_optimizer = 7,
                                           .megatron_launches = 8,
                                           .megatron_loss = 9};

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        struct dn_spec spec = dn_spec_empty ();

        spec.framework = rows[i].framework;
        spec.stack = rows[i].stack;
        spec.compile = rows[i].compile;
        for (int n = 0; n < DN_N_HABIT_NUMBERS; n++)
            assert_near (
                dn_habit_number (
                    &constants, &spec, rows[i].tuned, (enum dn_habit_number) n),
                rows[i].expected[n]);
    }
}

/* GiB that a run with the first keys takes more than with the second on A100. */
TEST ("memory follows what the code of a run keeps")
{
    static const struct {
        const char *run;
        const char *more;
        const char *less;
        double gib;
        double within;
    } rows[] = {
        /* A data set on the device, shuffled there */
        {"ncf,batch=12000,optimizer=adam", ",stack=ngc", "", 7, 0.5},
        {"ncf,batch=12000,optimizer=adam,gpus=2", ",stack=ngc", "", 4.6, 0.5},
        {"ncf,vocab=5000,batch=12000,optimizer=adam", ",stack=ngc", "", 0, 0.1},
        /* Kernels that are loaded before they are used: 0.38 GB with PyTorch */
        {"resnet50,batch=4,gpus=2,parallel=zero1",
         ",since=2022",
         ",since=2023",
         0.354,
         0.001},
        {"resnet50,batch=4,framework=tensorflow",
         ",since=2022",
         ",since=2023",
         0,
         0.001},
        /* These, and gradients that are set to zero, not freed: 335 and 138 million of
         * 4 bytes
         */
        {"bert_large,batch=32,optimizer=adam,attention=plain",
         ",since=2022",
         ",since=2023",
         1.6,
         0.02},
        {"vgg16,batch=128,optimizer=adam", ",torch=1.13", ",torch=2.0", 0.87, 0.02},
        /* Inputs of batch norms: 236 million elements of 4 bytes and two samples */
        {"mask_rcnn_r",
         "101_fpn,image=800x1344,batch=2",
         "_101_fpn,image=800x1344,batch=2",
         1.7,
         0.3},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        double more = memory (unit_text ("model=%s%s", rows[i].run, rows[i].more))
                      - memory (unit_text ("model=%s%s", rows[i].run, rows[i].less));

        assert_true (fabs (more / DN_GIB - rows[i].gib) < rows[i].within);
    }
}

TEST ("Megatron-LM steps without copies and keeps its gradients")
{
#define STEP "model=gpt2,batch=1,seq_len=64,precision=bf16,optimizer=adam,framework="
    struct dn_estimate ours = estimate (STEP "megatron");
    struct dn_estimate theirs = estimate (STEP "pytorch");

    assert_near (ours.memory[DN_MEMORY_WORKSPACE], 0);
    assert_true (ours.memory[DN_MEMORY_ACTIVATIONS] > 0);
    assert_true (theirs.memory[DN_MEMORY_WORKSPACE] > 0);
    assert_near (theirs.memory[DN_MEMORY_ACTIVATIONS], 0);
#undef STEP
}

/* WaveGlow computes 255 million weights from their directions, DCGAN none. */
TEST ("weights that a pass computes are kept")
{
    struct dn_estimate e = estimate ("model=waveglow,batch=1");

    assert_true (
        fabs ((e.memory[DN_MEMORY_WEIGHTS] - e.memory[DN_MEMORY_GRADIENTS]) / 4e6 - 255)
        < 10);
    e = estimate ("model=dcgan,batch=1");
    assert_near (e.memory[DN_MEMORY_WEIGHTS], e.memory[DN_MEMORY_GRADIENTS]);
}

TEST ("sharding and checkpointing save memory")
{
#define XL "model=gpt2_xl,batch=1,seq_len=256,gpus=8,optimizer=adam"
    static const char *const texts[] = {XL,
                                        XL ",parallel=zero1",
                                        XL ",parallel=zero2",
                                        XL ",parallel=zero3",
                                        XL ",parallel=zero3,checkpointing=full"};
    double last = INFINITY;

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++) {
        assert_true (memory (texts[i]) < last);
        last = memory (texts[i]);
    }
}

/* Rajbhandari et al. 2020: 2 + 2 + 12 bytes per parameter with Adam in fp16, of which
 * the stages divide 12, 14 and 16 by the number of devices.
 */
TEST ("shards are those of the formulas")
{
    static const char *const names[] = {"zero1", "zero2", "zero3", "fsdp"};
    static const double kept[] = {4 + 12.0 / 8, 2 + 14.0 / 8, 16.0 / 8, 16.0 / 8};
    double params =
        estimate ("model=gpt2_xl,batch=1,precision=fp32").memory[DN_MEMORY_WEIGHTS] / 4;

    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++) {
        char *text = unit_text (
            "model=gpt2_xl,batch=4,gpus=8,optimizer=adam,precision=fp16,parallel=%s",
            names[i]);
        struct dn_estimate e = estimate (text);

        assert_near (e.memory[DN_MEMORY_WEIGHTS] + e.memory[DN_MEMORY_GRADIENTS]
                         + e.memory[DN_MEMORY_OPTIMIZER],
                     kept[i] * params);
    }
}

/* ZeRO-3 and FSDP gather the weights twice: half as much again as an all-reduce. */
TEST ("gathered weights cost time")
{
#define BASE "model=gpt2_large,batch=2,gpus=8,optimizer=adam,link=pcie"
    double dp = communication (BASE ",parallel=dp");

    assert_in_range (1000 * communication (BASE ",parallel=zero1") / dp, 950, 1050);
    assert_in_range (1000 * communication (BASE ",parallel=zero2") / dp, 950, 1050);
    assert_in_range (1000 * communication (BASE ",parallel=zero3") / dp, 1400, 1600);
    assert_in_range (1000 * communication (BASE ",parallel=fsdp") / dp, 1400, 1600);
    assert_true (step (BASE ",parallel=dp") < step (BASE ",parallel=zero3"));
    assert_true (memory (BASE ",parallel=zero3") < memory (BASE ",parallel=dp"));
    /* The gradients of one pass in four are reduced, or those of each. */
    assert_near (communication (BASE ",grad_accum=4,parallel=dp"), dp);
    assert_true (communication (BASE ",grad_accum=4,parallel=zero2") > 2 * dp);
#undef BASE
}

/* 'slower' takes longer for its communication than 'faster'. */
static void assert_slower (const char *slower, const char *faster)
{
    if (!(communication (slower) > communication (faster)))
        fail_msg ("%s communicates no longer than %s", slower, faster);
}

TEST ("the all-reduce is hierarchical")
{
#define BASE "model=bert_large,batch=8,"
    assert_near (communication (BASE "gpus=1"), 0);
    assert_slower (BASE "gpus=4", BASE "gpus=2");
    assert_slower (BASE "gpus=4,link=pcie", BASE "gpus=4");
    assert_slower (BASE "gpus=16,nodes=4", BASE "gpus=4");
    assert_slower (BASE "gpus=8,nodes=4", BASE "gpus=8,nodes=2");
    /* Every device sends its share over its own adapter, so that many devices of few
     * nodes are faster than one device of as many nodes. */
    assert_slower (BASE "gpus=2,nodes=2", BASE "gpus=16,nodes=2");
    /* A node holds eight. */
    assert_near (communication (BASE "gpus=16"),
                 communication (BASE "gpus=16,nodes=2"));
    assert_near (communication (BASE "gpus=9"), communication (BASE "gpus=9,nodes=2"));
    assert_true (step (BASE "gpus=16") > step (BASE "gpus=8"));
#undef BASE
}

/* 76 % of 300 GB/s for 1 GiB and 80-110 us for 1 MiB on eight A100 (allreduce.csv): a
 * linear network of that many gradients.
 */
TEST ("the last bucket is never hidden")
{
    struct dn_estimate e =
        estimate ("params=256M,flops=1T,activations=1M,batch=64,gpus=8");

    assert_true (e.stage_s[DN_STAGE_COMMUNICATION] > 1.75 * 1.024e9 / 300e9);
    assert_true (e.stage_s[DN_STAGE_COMMUNICATION] < 2 * 1.75 * 1.024e9 / 229e9);
    assert_true (e.stage_s[DN_STAGE_EXPOSED] > 0);
    assert_true (e.stage_s[DN_STAGE_EXPOSED] <= e.stage_s[DN_STAGE_COMMUNICATION]);
}

TEST ("one process for all GPUs is slow")
{
#define BASE "model=mobilenet_v2,batch=12,optimizer=none,framework=pytorch"
    double two = step (BASE ",gpus=2,parallel=dataparallel");
    double four = step (BASE ",gpus=4,parallel=dataparallel");

    assert_true (two > 1.3 * step (BASE ",gpus=2,parallel=dp"));
    /* The second GPU costs as much as the two after it. */
    assert_true (four > two && four < 1.58 * two);
    assert_near (four, step (BASE ",gpus=4"));
    assert_near (step (BASE ",gpus=1,parallel=dataparallel"), step (BASE));
#undef BASE
}

TEST ("AdaptDL computes statistics of each tensor's gradient, of one copy the most")
{
#define BASE "model=mobilenet_v2,framework=pytorch,optimizer=sgd,batch="
    double one_more = step (BASE "8,parallel=adaptdl") - step (BASE "8");
    double more =
        step (BASE "8,gpus=2,parallel=adaptdl") - step (BASE "8,gpus=2,parallel=dp");

    /* The host is the slower one: 158 tensors, 6 + 14 and 6 + 5 operations on each. */
    assert_true (fabs (one_more / more - 20.0 / 11) < 0.1);
    assert_true (one_more > 158 * 20 * 10e-6 && one_more < 158 * 20 * 30e-6);
    /* A device that works for long hides what the backward pass does. */
    assert_true (step (BASE "512,parallel=adaptdl") - step (BASE "512")
                 < 0.8 * one_more);
#undef BASE
}

/* Bubbles: of p stages and m micro-batches all but m / (m + p - 1) stand idle. */
TEST ("a pipeline fills up")
{
#define BASE                                                                           \
    "model=gpt2_xl,micro_batch=1,framework=megatron,precision=fp16,optimizer=adam"
    double few = step (BASE ",gpus=4,pp=4,global_batch=4") / 4;
    double many = step (BASE ",gpus=4,pp=4,global_batch=64") / 64;

    assert_true (few > 1.3 * many);
    assert_true (few < 7.0 / 4 * many);
    assert_slower (BASE ",gpus=4,tp=4,global_batch=4",
                   BASE ",gpus=2,tp=2,global_batch=4");
    assert_slower (BASE ",gpus=16,tp=16,global_batch=4",
                   BASE ",gpus=8,tp=8,global_batch=4");
#undef BASE
}

TEST ("CPUs follow the input pipeline")
{
    static const struct {
        const char *text;
        int64_t least, most;
    } rows[] = {
        {"model=resnet18,batch=256,precision=fp16,decode=jpeg", 6, 40},
        {"model=bert_base,batch=32,precision=fp16", 2, 2},
        {"model=bert_base,batch=32,precision=fp16,decode=text", 3, 10},
        {"model=resnet18,batch=256,precision=fp16,workers=3", 4, 4},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++)
        if (cpus (rows[i].text) < rows[i].least || cpus (rows[i].text) > rows[i].most)
            fail_msg ("%s: %d", rows[i].text, (int) cpus (rows[i].text));
    assert_in_range (white_estimate ("model=resnet152,batch=64,precision=fp32", V100, 0)
                         .cpus_per_gpu,
                     2,
                     5);
    assert_int_equal (white_estimate ("model=bert_large,batch=8", V100, 0).cpus_per_gpu,
                      2);
    assert_int_equal (
        white_estimate ("model=resnet18,batch=256,input=synthetic", V100, 0)
            .cpus_per_gpu,
        1);
    /* Latents that were computed before are not decoded. */
    assert_true (cpus ("model=dit_s_8_latents,batch=256,precision=fp16")
                 < cpus ("model=dit_s_8,batch=256,precision=fp16"));
}

/* A spectrogram has as many numbers as a book has words, and a clip is many images. */
TEST ("clips and speech are read as such, not as images or text")
{
    const char *speech = "model=rnnt,batch=128,precision=fp16";
    double clip =
        white_estimate ("model=r3d_18,batch=64,precision=fp16", A100, 1).step_s.p50;
    double image =
        white_estimate ("model=r3d_18,batch=64,precision=fp16,decode=jpeg", A100, 1)
            .step_s.p50;

    assert_true (white_estimate (speech, A100, 16).step_s.p50 < 0.5);
    assert_true (clip > 2 * image);
}

TEST ("missing facts widen the bound")
{
#define CONFIDENCE(text) white_estimate (text, V100, 0).confidence
    double full = CONFIDENCE ("model=resnet50,batch=64,precision=fp16,optimizer=sgd");

    assert_true (CONFIDENCE ("model=resnet50,batch=64,optimizer=sgd") < full);
    assert_true (CONFIDENCE ("params=25M,flops=8G,activations=11M,batch=64,"
                             "precision=fp16,optimizer=sgd")
                 < full);
    assert_true (full < 1 && full > 0.5);
}

TEST ("energy is time times power, between idle and limit")
{
    struct dn_estimate e = white_estimate (
        "model=resnet50,batch=64,precision=fp32,steps=1000,gpus=2", V100, 0);
    struct dn_estimate capped =
        white_estimate ("model=resnet50,batch=64,steps=1000,power_limit=150", V100, 0);

    assert_in_range (e.power_w, 40, 300);
    assert_true (capped.power_w <= 150);
    assert_near (e.energy_j, e.train_s.p50 * e.power_w * 2);
    assert_near (dn_estimate_cost (&e, 2, 3), e.train_s.p50 / 3600 * 2 * 3);
    assert_true (e.train_s.p50 > 1000 * e.step_s.p50);
    assert_near (dn_estimate_cost (&capped, 1, 0), 0);
    e = white_estimate ("model=resnet50,batch=64", V100, 0);
    assert_numbers ("-1 -1", e.energy_j, dn_estimate_cost (&e, 2, 3));
}

/* Ratios predicted / measured of one model, chip and precision, and of one source. */
struct anchor_group {
    char name[160];
    char source[80];
    double ratios[128];
    int n;
};

struct anchors {
    struct dn_catalogue catalogue;
    struct anchor_group groups[48];
    int n_groups;
};

static void load_device (struct anchors *anchors, const char *name)
{
    if (dn_catalogue_find (&anchors->catalogue, name))
        return;
    scene_catalogue_add (&anchors->catalogue, unit_text ("etc/hardware/%s.conf", name));
    scene_generations (&anchors->catalogue);
}

static struct anchor_group *find_group (struct anchors *anchors,
                                        const char *name,
                                        const char *source)
{
    struct anchor_group *group = anchors->groups;

    for (; group < anchors->groups + anchors->n_groups; group++)
        if (strcmp (group->name, name) == 0 && strcmp (group->source, source) == 0)
            return group;
    assert_true (anchors->n_groups++ < (int) DN_N_ELEMENTS (anchors->groups));
    snprintf (group->name, sizeof (group->name), "%s", name);
    snprintf (group->source, sizeof (group->source), "%s", source);
    return group;
}

static int add_anchor (const struct dn_row *row, void *context, struct dn_err *err)
{
    const char *text = rows_get (row, "spec");
    const char *gpu = rows_get (row, "gpu");
    struct anchors *anchors = context;
    struct white white;
    struct anchor_group *group;
    char *name;
    char precision[DN_VALUE_MAX] = "";

    load_device (anchors, gpu);
    white = white_run_on (text, dn_catalogue_find (&anchors->catalogue, gpu));
    dn_spec_write_value (
        &white.spec, dn_spec_key (dn_span_of ("precision")), precision);
    name = unit_text ("%s on %.4s in %s", rows_get (row, "group"), gpu, precision);
    group = find_group (anchors, name, rows_get (row, "source"));
    group->ratios[group->n++] =
        white.estimate.step_s.p50 * 1000 / strtod (rows_get (row, "step_ms"), NULL);
    return 0;
}

static double median_of (double *values, int n)
{
    qsort (values, (size_t) n, sizeof (double), dn_reals_compare);
    return values[n / 2];
}

/* The median over sources of the median of each; the groups are used up. */
static double median_of_sources (struct anchors *anchors, const char *name, int *n)
{
    double medians[DN_N_ELEMENTS (anchors->groups)];

    *n = 0;
    for (int i = 0; i < anchors->n_groups; i++) {
        struct anchor_group *group = &anchors->groups[i];

        if (group->n == 0 || strcmp (group->name, name) != 0)
            continue;
        medians[(*n)++] = median_of (group->ratios, group->n);
        group->n = 0;
    }
    return median_of (medians, *n);
}

/* Of each model, chip and precision the median over sources, one vote each: they differ
 * by 1.6, which no predictor without a site's own runs can know.
 */
TEST ("measured steps are met within half again")
{
    struct anchors *anchors = calloc (1, sizeof (*anchors));

    assert_non_null (anchors);
    rows_each ("anchors.csv", add_anchor, anchors);
    assert_true (anchors->n_groups >= 8);
    for (int i = 0; i < anchors->n_groups; i++) {
        const char *name = anchors->groups[i].name;
        double median;
        int n;

        if (anchors->groups[i].n == 0)
            continue;
        median = median_of_sources (anchors, name, &n);
        print_message (
            "# %s: %d sources, median predicted / measured %.2f\n", name, n, median);
        if (median > 1.5 || median < 1 / 1.5)
            fail_msg ("%s: median ratio %.2f", name, median);
    }
    dn_catalogue_free (&anchors->catalogue);
    free (anchors);
}
