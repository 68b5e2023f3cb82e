/* frozen.c - tests of parameters that do not learn: their bytes, and the work that they
 * spare
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "graph/compact.h"
#include "scratch.h"
#include "white.h"

#define MIB 1048576.0

/* A linear layer of 4096 x 4096, 64 MiB in fp32, with more members. */
#define LINEAR(more) "{\"op\":\"linear\",\"in\":[[4096]],\"out\":[[4096]]" more "}"
#define LEARNED      LINEAR (",\"params\":16777216")
#define FROZEN       LINEAR (",\"frozen\":16777216")

struct run {
    struct white white;
    struct dn_op_time times[128];
};

/* A run of these operators, or with NULL of the network of the keys. */
static struct run run_of (const char *ops, const char *keys)
{
    struct run run = {
        .white = ops ? white_described (
                     unit_text ("{\"dnnest\":1,\"graph\":{\"ops\":[%s]}}", ops), keys)
                     : white_run (keys, A100)};

    assert_in_range (run.white.graph.n_ops, 1, 128);
    dn_whitebox_operators (white_case (&run.white, 0), run.times);
    return run;
}

/* MiB of weights, gradients and optimizer state. */
static void expect_mib (const char *ops, const char *keys, const char *expected)
{
    struct run run = run_of (ops, keys);
    const double *memory = run.white.estimate.memory;

    print_message ("%s\n", keys);
    assert_numbers (expected,
                    memory[DN_MEMORY_WEIGHTS] / MIB,
                    memory[DN_MEMORY_GRADIENTS] / MIB,
                    memory[DN_MEMORY_OPTIMIZER] / MIB);
}

/* Sixteen layers, the last of which learns: 16 x 64 MiB of weights. */
#define SIXTEEN LINEAR (",\"frozen\":16777216,\"repeat\":15") "," LEARNED

TEST ("frozen parameters are weights, without gradients and optimizer state")
{
    expect_mib (SIXTEEN, "batch=1,precision=fp32,optimizer=adam", "1024 64 128");
    expect_mib (SIXTEEN, "batch=1,precision=fp32,optimizer=sgd", "1024 64 0");
    expect_mib (FROZEN, "batch=1,precision=fp32,optimizer=adam", "64 0 0");
    /* As much as if all learned. */
    expect_mib (LINEAR (",\"params\":16777216,\"repeat\":16"),
                "batch=1,precision=fp32,optimizer=adam",
                "1024 1024 2048");
}

TEST ("mixed precision copies frozen weights too")
{
    expect_mib (SIXTEEN, "batch=1,precision=fp16,optimizer=adam", "1536 64 128");
    expect_mib (SIXTEEN, "batch=1,precision=half,optimizer=sgd", "512 32 0");
}

#define HALVED    LINEAR (",\"frozen\":16777216,\"frozen_bytes\":33554432")
#define QUANTISED LINEAR (",\"frozen\":16777216,\"frozen_bytes\":8388608")

TEST ("the stored bytes of frozen weights count")
{
    expect_mib (HALVED, "batch=1,precision=fp16", "32 0 0");
    expect_mib (HALVED, "batch=1,precision=fp32", "32 0 0");
    expect_mib (QUANTISED, "batch=1,precision=fp16", "8 0 0");
    /* stored in fp32, and halved by the run */
    expect_mib (LINEAR (",\"frozen\":16777216,\"frozen_bytes\":67108864"),
                "batch=1,precision=half",
                "32 0 0");
    /* an adapter beside quantised weights */
    expect_mib (LINEAR (",\"frozen\":16777216,\"frozen_bytes\":8388608,"
                        "\"params\":1048576"),
                "batch=1,precision=fp32,optimizer=adam",
                "12 4 8");
    /* bytes of nothing */
    expect_mib (LINEAR (",\"params\":16777216,\"frozen_bytes\":1e18"),
                "batch=1,precision=fp32,trainable=0.5,optimizer=sgd",
                "64 32 0");
}

TEST ("quantised weights are unpacked one at a time")
{
    struct run packed = run_of (QUANTISED, "batch=1,precision=fp16");
    struct run halved = run_of (HALVED, "batch=1,precision=fp16");

    assert_near (packed.white.estimate.memory[DN_MEMORY_ACTIVATIONS]
                     - halved.white.estimate.memory[DN_MEMORY_ACTIVATIONS],
                 32 * MIB);
}

TEST ("frozen weights are sharded as others are")
{
#define FOUR "batch=1,gpus=4,optimizer=adam,precision=fp16,parallel="
    /* DeepSpeed: 2 bytes; of what learns 2 + 2 + 12 */
    expect_mib (SIXTEEN, FOUR "zero1", "512 32 48");
    expect_mib (SIXTEEN, FOUR "zero3", "128 8 48");
    expect_mib (SIXTEEN, FOUR "fsdp", "256 16 32");
    expect_mib (
        SIXTEEN, "batch=1,gpus=4,tp=2,pp=2,precision=fp32,optimizer=sgd", "256 16 0");
}

/* Seconds of the communication of a step. */
static double sent_s (const char *ops, const char *keys)
{
    return run_of (ops, keys).white.estimate.stage_s[DN_STAGE_COMMUNICATION];
}

TEST ("frozen parameters are not all-reduced")
{
    static const char *const modes[] = {"dp", "zero1", "zero2"};

    for (size_t i = 0; i < DN_N_ELEMENTS (modes); i++) {
        char *keys = unit_text ("batch=1,gpus=4,parallel=%s", modes[i]);
        struct run some = run_of (SIXTEEN, keys);
        struct run one = run_of (LEARNED, keys);

        assert_true (sent_s (LEARNED, keys) > 0);
        assert_near (sent_s (SIXTEEN, keys), sent_s (LEARNED, keys));
        assert_near (some.white.estimate.memory[DN_MEMORY_BUCKETS],
                     one.white.estimate.memory[DN_MEMORY_BUCKETS]);
    }
}

/* Sharded weights are gathered in both passes, whether they learn or not; nn.Data-
 * Parallel copies all of them in every step.
 */
TEST ("sharded and copied weights are sent, frozen or not")
{
    static const char *const modes[] = {"zero3", "fsdp", "dataparallel"};

    for (size_t i = 0; i < DN_N_ELEMENTS (modes); i++) {
        char *keys = unit_text ("batch=1,gpus=4,parallel=%s", modes[i]);
        double some = sent_s (SIXTEEN, keys);
        double one = sent_s (LEARNED, keys);

        assert_true (some > 4 * one && some < 16 * one);
    }
}

TEST ("a frozen layer computes no gradient of its weights")
{
    struct run learned = run_of (LEARNED, "batch=64");
    struct run frozen = run_of (FROZEN, "batch=64");
    struct run adapted =
        run_of (LINEAR (",\"frozen\":16777216,\"params\":65536"), "batch=64");
    struct run shared = run_of (LINEAR (""), "batch=64");

    assert_near (frozen.times[0].backward_weight_s, 0);
    assert_near (frozen.times[0].forward_s, learned.times[0].forward_s);
    assert_near (frozen.times[0].backward_data_s, learned.times[0].backward_data_s);
    assert_true (learned.times[0].backward_weight_s > 0);
    assert_true (adapted.times[0].backward_weight_s
                 >= learned.times[0].backward_weight_s);
    /* Its parameters count elsewhere. */
    assert_near (shared.times[0].backward_weight_s, learned.times[0].backward_weight_s);
    assert_near (frozen.white.estimate.stage_s[DN_STAGE_OPTIMIZER], 0);
    assert_true (learned.white.estimate.stage_s[DN_STAGE_OPTIMIZER] > 0);
}

TEST ("nothing runs backward before what learns")
{
#define GELU "{\"op\":\"activation\",\"in\":[[4096]],\"out\":[[4096]]"
    struct run run = run_of (
        LINEAR (",\"frozen\":16777216,\"first\":true") "," GELU ",\"first\":true}," LINEAR (
            ",\"params\":16777216,\"first\":true") "," GELU "}",
        "batch=64");

    for (int i = 0; i < 4; i++)
        assert_true (run.times[i].forward_s > 0);
    assert_near (run.times[0].backward_data_s + run.times[0].backward_weight_s, 0);
    assert_near (run.times[1].backward_data_s + run.times[1].backward_weight_s, 0);
    assert_near (run.times[2].backward_data_s, 0);
    assert_true (run.times[2].backward_weight_s > 0);
    assert_true (run.times[3].backward_data_s > 0);
}

/* What the i-th of some operators keeps, per sample. */
static double saved (const char *ops, int i)
{
    return run_of (ops, "batch=1").white.graph.ops[i].saved;
}

TEST ("a frozen layer does not keep its input")
{
    assert_numbers ("4096 0", saved (LEARNED, 0), saved (FROZEN, 0));
    assert_near (saved (LINEAR (",\"frozen\":16777216,\"params\":65536"), 0), 4096);
    assert_near (saved (LINEAR (",\"frozen\":16777216,\"saved\":7"), 0), 7);
    /* The gradient of a norm's input needs the input. */
    assert_near (saved ("{\"op\":\"layernorm\",\"in\":[[64]],\"out\":[[64]],"
                        "\"frozen\":128}",
                        0),
                 64);
    /* A rectifier without a gradient keeps nothing, but the next layer its input. */
    assert_near (saved (GELU ",\"first\":true}," LEARNED, 0), 0);
    assert_near (saved (GELU ",\"first\":true}," LEARNED, 1), 4096);
    /* What is given counts, such as the input of the next layer. */
    assert_near (saved (GELU ",\"first\":true,\"saved\":4096}", 0), 4096);
}

TEST ("frozen layers are not merged with others")
{
    struct dn_sidecar equal = white_sidecar (
        "{\"dnnest\":1,\"graph\":{\"ops\":[" LEARNED "," FROZEN "," HALVED "," QUANTISED
        "," FROZEN "," LINEAR (",\"frozen\":16777216,\"params\":65536") "]}}");
    struct dn_layers fewer;
    struct dn_graph before;
    struct dn_graph after;

    assert_int_equal (dn_layers_graph (&equal.layers, &before, NULL), 0);
    dn_layers_simplify (&equal.layers);
    assert_int_equal (equal.layers.n, 5);
    assert_int_equal (dn_layers_fewer (&equal.layers, 0.5, 1, &fewer), 0);
    /* Of similar ones only those whose bytes are known become one. */
    assert_int_equal (fewer.n, 4);
    assert_int_equal (dn_layers_graph (&fewer, &after, NULL), 0);
    assert_near (after.params, before.params);
    assert_near (after.frozen_params, before.frozen_params);
    assert_near (after.ops[2].repeat, 2);
    assert_near (after.ops[2].frozen_bytes, (33554432 + 8388608) / 2);
    dn_graph_free (&before);
    dn_graph_free (&after);
    dn_layers_free (&fewer);
}

TEST ("a share that learns has gradients and optimizer state")
{
    const double all = 6738415616.0;
    const double gib = 1024 * MIB;
    struct run whole = run_of (NULL, "model=llama_7b,batch=1,precision=half");
    struct run some = run_of (
        NULL, "model=llama_7b,batch=1,precision=half,optimizer=adamw,trainable=0.01");
    const double *memory = some.white.estimate.memory;

    assert_near (some.white.graph.params, 0.01 * all);
    assert_near (some.white.graph.params + some.white.graph.frozen_params, all);
    assert_near (memory[DN_MEMORY_WEIGHTS] / gib, 2 * all / gib);
    assert_near (memory[DN_MEMORY_GRADIENTS] / gib, 0.01 * 2 * all / gib);
    assert_near (memory[DN_MEMORY_OPTIMIZER] / gib, 0.01 * 8 * all / gib);
    assert_near (whole.white.graph.spared, 0);
    /* Adapters in every layer: nearly no gradient of weights, all of the rest. */
    assert_true (some.white.graph.spared > 0.95 && some.white.graph.spared < 0.99);
    for (int d = DN_STAGE_FORWARD; d <= DN_STAGE_BACKWARD_DATA; d++)
        assert_near (some.white.estimate.stage_s[d], whole.white.estimate.stage_s[d]);
}

TEST ("no choice of what learns takes longer than predicted")
{
    /* The first convolution of ResNet-50 has 0.04 % of its parameters and 3 % of the
     * operations: the bound must allow that the share is there.
     */
    struct run whole = run_of (NULL, "model=resnet18,batch=64");
    struct run some = run_of (NULL, "model=resnet18,batch=64,trainable=0.001");
    struct run none = run_of (NULL, "model=resnet18,batch=64,trainable=0");
    struct run all = run_of (NULL, "model=resnet18,batch=64,trainable=1");
    enum dn_stage stage = DN_STAGE_BACKWARD_WEIGHT;

    assert_true (some.white.estimate.stage_s[stage]
                 >= whole.times[0].backward_weight_s);
    assert_true (some.white.estimate.stage_s[stage]
                 < whole.white.estimate.stage_s[stage]);
    assert_numbers ("0 0", none.white.estimate.stage_s[stage], none.white.graph.params);
    assert_memory_equal (&all.white.estimate.memory,
                         &whole.white.estimate.memory,
                         sizeof (all.white.estimate.memory));
    assert_near (all.white.estimate.step_s.p50, whole.white.estimate.step_s.p50);
    assert_near (all.white.estimate.step_s.sigma, whole.white.estimate.step_s.sigma);
    assert_true (some.white.estimate.step_s.sigma > whole.white.estimate.step_s.sigma);
}

TEST ("a share counts the frozen parameters of a sidecar")
{
    /* One of 16 layers learns: 6.25 %. */
    expect_mib (
        SIXTEEN, "batch=1,precision=fp32,trainable=0.5,optimizer=sgd", "1024 64 0");
    expect_mib (
        SIXTEEN, "batch=1,precision=fp32,trainable=0.03125,optimizer=sgd", "1024 32 0");
}

/* Recommenders spread their tables over the devices, frozen ones too. */
TEST ("frozen tables are spread over the devices")
{
    struct run whole = run_of (NULL, "model=dlrm,batch=64,gpus=4");
    struct run frozen = run_of (NULL, "model=dlrm,batch=64,gpus=4,trainable=0");

    assert_near (frozen.white.estimate.memory[DN_MEMORY_WEIGHTS],
                 whole.white.estimate.memory[DN_MEMORY_WEIGHTS]);
    assert_near (frozen.white.estimate.memory[DN_MEMORY_GRADIENTS], 0);
}

/* The text without the members "frozen" and "frozen_bytes" of its operators. */
static char *without_frozen (const char *text)
{
    char *out = unit_text ("%s", text);
    char *at;

    while ((at = strstr (out, ",\"frozen"))) {
        char *end = at + 1 + strcspn (at + 1, ",}");

        memmove (at, end, strlen (end) + 1);
    }
    return out;
}

/* A LLaMA of 7 billion parameters in 16 bits, with adapters: three blocks that the
 * exporter wrote, the middle one counted 30 times; and the same of the zoo. A V100
 * holds 16 GiB and costs less.
 */
TEST ("a job that trains adapters of a large network keeps the GPU that can hold it")
{
#define ZOO                                                                            \
    "model=llama_7b,seq_len=256,batch=4,precision=half,optimizer=adamw,trainable=0.001"
#define OPTION ",input=synthetic,steps=2000"
#define DECIDES(text, words, holds, why)                                               \
    SCENE_EXPECT ("Mode=enforce",                                                      \
                  (job.comment = NULL,                                                 \
                   job.tres[DN_GPU_PER_NODE] = "gres:gpu:a100:1",                      \
                   job.time_limit_min = 1440,                                          \
                   job.sidecar = (text),                                               \
                   job.option = words),                                                \
                  d->verdict == DN_VERDICT_CHANGE && (holds),                          \
                  why)
    char *lora = unit_keep (tree_text ("tests/data/torch/lora_7b.json"), free);

    DECIDES (lora, "@lora.json" OPTION, !d->gpu, "not v100: may need ");
    DECIDES (without_frozen (lora), "@lora.json" OPTION, d->gpu, "");
    DECIDES (NULL, ZOO OPTION, !d->gpu, "not v100: may need ");
    DECIDES (NULL, ZOO OPTION ",layers=4", d->gpu, "");
}
