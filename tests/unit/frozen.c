/* frozen.c - tests of parameters that do not learn: their bytes, and the work that they
 * spare
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "graph/compact.h"
#include "graph/sidecar.h"
#include "scene.h"
#include "tests/unit/networks.h"

#define V100 0
#define A100 1

#define MIB 1048576.0

/* A linear layer of 4096 x 4096, 64 MiB in fp32, with more members. */
#define LINEAR(more) "{\"op\":\"linear\",\"in\":[[4096]],\"out\":[[4096]]" more "}"
#define LEARNED      LINEAR (",\"params\":16777216")
#define FROZEN       LINEAR (",\"frozen\":16777216")

/* A run on one of the scene's devices. */
struct run {
    struct dn_site *site;
    struct dn_spec spec;
    struct dn_graph graph; /* its totals; the operators are freed */
    struct dn_estimate estimate;
    struct dn_op_time times[128];
};

static struct run run_of (const char *ops, const char *keys, int device)
{
    struct run run = {.site = scene_site ("")};
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    struct dn_err err = {0};
    char text[8192] = "{\"dnnest\":1}";
    struct dn_case c = {&run.site->constants,
                        &run.spec,
                        &run.graph,
                        &run.site->catalogue.devices[device],
                        0};

    if (ops)
        snprintf (text, sizeof (text), "{\"dnnest\":1,\"graph\":{\"ops\":[%s]}}", ops);
    if (dn_sidecar_read (dn_span_of (text), &sidecar, &err) < 0
        || dn_spec_read (dn_span_of (keys), &sidecar.spec, &err) < 0
        || dn_spec_resolve (&sidecar.spec, &run.site->datasets, DN_UNSET, &err) < 0
        || dn_sidecar_graph (
               shipped_networks (), &sidecar.layers, &sidecar.spec, &run.graph, &err)
               < 0)
        fail_msg ("%s: %s", keys, err.text);
    run.spec = sidecar.spec;
    dn_whitebox (&c, &run.estimate);
    assert_in_range (run.graph.n_ops, 1, 128);
    dn_whitebox_operators (&c, run.times);
    dn_sidecar_free (&sidecar);
    free (run.graph.ops);
    run.graph.ops = NULL;
    scene_free (run.site);
    return run;
}

static void expect_mib (const char *ops,
                        const char *keys,
                        double weights,
                        double gradients,
                        double optimizer)
{
    struct run run = run_of (ops, keys, A100);
    const double *memory = run.estimate.memory;

    print_message ("%s\n", keys);
    assert_near (memory[DN_MEMORY_WEIGHTS] / MIB, weights);
    assert_near (memory[DN_MEMORY_GRADIENTS] / MIB, gradients);
    assert_near (memory[DN_MEMORY_OPTIMIZER] / MIB, optimizer);
}

/* Sixteen layers, the last of which learns: 16 x 64 MiB of weights. */
#define SIXTEEN LINEAR (",\"frozen\":16777216,\"repeat\":15") "," LEARNED

TEST ("frozen parameters are weights, without gradients and optimizer state")
{
    expect_mib (SIXTEEN, "batch=1,precision=fp32,optimizer=adam", 1024, 64, 128);
    expect_mib (SIXTEEN, "batch=1,precision=fp32,optimizer=sgd", 1024, 64, 0);
    expect_mib (FROZEN, "batch=1,precision=fp32,optimizer=adam", 64, 0, 0);
    /* As much as if all learned. */
    expect_mib (LINEAR (",\"params\":16777216,\"repeat\":16"),
                "batch=1,precision=fp32,optimizer=adam",
                1024,
                1024,
                2048);
}

TEST ("mixed precision copies frozen weights too")
{
    expect_mib (SIXTEEN, "batch=1,precision=fp16,optimizer=adam", 1536, 64, 128);
    expect_mib (SIXTEEN, "batch=1,precision=half,optimizer=sgd", 512, 32, 0);
}

#define HALVED    LINEAR (",\"frozen\":16777216,\"frozen_bytes\":33554432")
#define QUANTISED LINEAR (",\"frozen\":16777216,\"frozen_bytes\":8388608")

TEST ("the stored bytes of frozen weights count")
{
    expect_mib (HALVED, "batch=1,precision=fp16", 32, 0, 0);
    expect_mib (HALVED, "batch=1,precision=fp32", 32, 0, 0);
    expect_mib (QUANTISED, "batch=1,precision=fp16", 8, 0, 0);
    /* stored in fp32, and halved by the run */
    expect_mib (LINEAR (",\"frozen\":16777216,\"frozen_bytes\":67108864"),
                "batch=1,precision=half",
                32,
                0,
                0);
    /* an adapter beside quantised weights */
    expect_mib (LINEAR (",\"frozen\":16777216,\"frozen_bytes\":8388608,"
                        "\"params\":1048576"),
                "batch=1,precision=fp32,optimizer=adam",
                12,
                4,
                8);
    /* bytes of nothing */
    expect_mib (LINEAR (",\"params\":16777216,\"frozen_bytes\":1e18"),
                "batch=1,precision=fp32,trainable=0.5,optimizer=sgd",
                64,
                32,
                0);
}

TEST ("quantised weights are unpacked one at a time")
{
    struct run packed = run_of (QUANTISED, "batch=1,precision=fp16", A100);
    struct run halved = run_of (HALVED, "batch=1,precision=fp16", A100);

    assert_near (packed.estimate.memory[DN_MEMORY_ACTIVATIONS]
                     - halved.estimate.memory[DN_MEMORY_ACTIVATIONS],
                 32 * MIB);
}

TEST ("frozen weights are sharded as others are")
{
#define FOUR "batch=1,gpus=4,optimizer=adam,precision=fp16,parallel="
    /* DeepSpeed: 2 bytes; of what learns 2 + 2 + 12 */
    expect_mib (SIXTEEN, FOUR "zero1", 512, 32, (128 + 64) / 4.0);
    expect_mib (SIXTEEN, FOUR "zero3", 512 / 4.0, 32 / 4.0, (128 + 64) / 4.0);
    expect_mib (SIXTEEN, FOUR "fsdp", 1024 / 4.0, 64 / 4.0, 128 / 4.0);
    expect_mib (
        SIXTEEN, "batch=1,gpus=4,tp=2,pp=2,precision=fp32,optimizer=sgd", 256, 16, 0);
}

TEST ("frozen parameters are not all-reduced")
{
    static const char *const modes[] = {"dp", "zero1", "zero2"};

    for (size_t i = 0; i < DN_N_ELEMENTS (modes); i++) {
        char keys[96];
        struct run some;
        struct run one;

        snprintf (keys, sizeof (keys), "batch=1,gpus=4,parallel=%s", modes[i]);
        some = run_of (SIXTEEN, keys, A100);
        one = run_of (LEARNED, keys, A100);
        assert_true (one.estimate.stage_s[DN_STAGE_COMMUNICATION] > 0);
        assert_near (some.estimate.stage_s[DN_STAGE_COMMUNICATION],
                     one.estimate.stage_s[DN_STAGE_COMMUNICATION]);
        assert_near (some.estimate.memory[DN_MEMORY_BUCKETS],
                     one.estimate.memory[DN_MEMORY_BUCKETS]);
    }
}

/* Sharded weights are gathered in both passes, whether they learn or not; nn.Data-
 * Parallel copies all of them in every step.
 */
TEST ("sharded and copied weights are sent, frozen or not")
{
    static const char *const modes[] = {"zero3", "fsdp", "dataparallel"};

    for (size_t i = 0; i < DN_N_ELEMENTS (modes); i++) {
        char keys[96];
        double some;
        double one;

        snprintf (keys, sizeof (keys), "batch=1,gpus=4,parallel=%s", modes[i]);
        some = run_of (SIXTEEN, keys, A100).estimate.stage_s[DN_STAGE_COMMUNICATION];
        one = run_of (LEARNED, keys, A100).estimate.stage_s[DN_STAGE_COMMUNICATION];
        assert_true (some > 4 * one && some < 16 * one);
    }
}

TEST ("a frozen layer computes no gradient of its weights")
{
    struct run learned = run_of (LEARNED, "batch=64", A100);
    struct run frozen = run_of (FROZEN, "batch=64", A100);
    struct run adapted =
        run_of (LINEAR (",\"frozen\":16777216,\"params\":65536"), "batch=64", A100);
    struct run shared = run_of (LINEAR (""), "batch=64", A100);

    assert_near (frozen.times[0].backward_weight_s, 0);
    assert_near (frozen.times[0].forward_s, learned.times[0].forward_s);
    assert_near (frozen.times[0].backward_data_s, learned.times[0].backward_data_s);
    assert_true (learned.times[0].backward_weight_s > 0);
    assert_true (adapted.times[0].backward_weight_s
                 >= learned.times[0].backward_weight_s);
    /* Its parameters count elsewhere. */
    assert_near (shared.times[0].backward_weight_s, learned.times[0].backward_weight_s);
    assert_near (frozen.estimate.stage_s[DN_STAGE_OPTIMIZER], 0);
    assert_true (learned.estimate.stage_s[DN_STAGE_OPTIMIZER] > 0);
}

TEST ("nothing runs backward before what learns")
{
#define GELU "{\"op\":\"activation\",\"in\":[[4096]],\"out\":[[4096]]"
    struct run run = run_of (
        LINEAR (",\"frozen\":16777216,\"first\":true") "," GELU ",\"first\":true}," LINEAR (
            ",\"params\":16777216,\"first\":true") "," GELU "}",
        "batch=64",
        A100);

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
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    struct dn_graph graph = {0};
    struct dn_err err = {0};
    char text[2048];
    double elements;

    snprintf (text, sizeof (text), "{\"dnnest\":1,\"graph\":{\"ops\":[%s]}}", ops);
    if (dn_sidecar_read (dn_span_of (text), &sidecar, &err) < 0
        || dn_layers_graph (&sidecar.layers, &graph, &err) < 0)
        fail_msg ("%s", err.text);
    elements = graph.ops[i].saved;
    dn_graph_free (&graph);
    dn_sidecar_free (&sidecar);
    return elements;
}

TEST ("a frozen layer does not keep its input")
{
    assert_near (saved (LEARNED, 0), 4096);
    assert_near (saved (FROZEN, 0), 0);
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

static struct dn_sidecar sidecar_of (const char *text)
{
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    struct dn_err err = {0};

    if (dn_sidecar_read (dn_span_of (text), &sidecar, &err) < 0)
        fail_msg ("%s", err.text);
    return sidecar;
}

TEST ("frozen layers are not merged with others")
{
    struct dn_sidecar equal = sidecar_of (
        "{\"dnnest\":1,\"graph\":{\"ops\":[" LEARNED "," FROZEN "," HALVED "," QUANTISED
        "," FROZEN "," LINEAR (",\"frozen\":16777216,\"params\":65536") "]}}");
    struct dn_layers fewer;
    struct dn_graph before;
    struct dn_graph after;
    struct dn_err err = {0};

    assert_int_equal (dn_layers_graph (&equal.layers, &before, &err), 0);
    dn_layers_simplify (&equal.layers);
    assert_int_equal (equal.layers.n, 5);
    assert_int_equal (dn_layers_fewer (&equal.layers, 0.5, 1, &fewer), 0);
    /* Of similar ones only those whose bytes are known become one. */
    assert_int_equal (fewer.n, 4);
    assert_int_equal (dn_layers_graph (&fewer, &after, &err), 0);
    assert_near (after.params, before.params);
    assert_near (after.frozen_params, before.frozen_params);
    assert_near (after.ops[2].repeat, 2);
    assert_near (after.ops[2].frozen_bytes, (33554432 + 8388608) / 2);
    dn_graph_free (&before);
    dn_graph_free (&after);
    dn_layers_free (&fewer);
    dn_sidecar_free (&equal);
}

TEST ("a share that learns has gradients and optimizer state")
{
    const double all = 6738415616.0;
    const double gib = 1024 * MIB;
    struct run whole = run_of (NULL, "model=llama_7b,batch=1,precision=half", A100);
    struct run some =
        run_of (NULL,
                "model=llama_7b,batch=1,precision=half,optimizer=adamw,trainable=0.01",
                A100);
    const double *memory = some.estimate.memory;

    assert_near (some.graph.params, 0.01 * all);
    assert_near (some.graph.params + some.graph.frozen_params, all);
    assert_near (memory[DN_MEMORY_WEIGHTS] / gib, 2 * all / gib);
    assert_near (memory[DN_MEMORY_GRADIENTS] / gib, 0.01 * 2 * all / gib);
    assert_near (memory[DN_MEMORY_OPTIMIZER] / gib, 0.01 * 8 * all / gib);
    assert_near (whole.graph.spared, 0);
    /* Adapters in every layer: nearly no gradient of weights, all of the rest. */
    assert_true (some.graph.spared > 0.95 && some.graph.spared < 0.99);
    for (int d = DN_STAGE_FORWARD; d <= DN_STAGE_BACKWARD_DATA; d++)
        assert_near (some.estimate.stage_s[d], whole.estimate.stage_s[d]);
}

TEST ("no choice of what learns takes longer than predicted")
{
    /* The first convolution of ResNet-50 has 0.04 % of its parameters and 3 % of the
     * operations: the bound must allow that the share is there.
     */
    struct run whole = run_of (NULL, "model=resnet18,batch=64", A100);
    struct run some = run_of (NULL, "model=resnet18,batch=64,trainable=0.001", A100);
    struct run none = run_of (NULL, "model=resnet18,batch=64,trainable=0", A100);
    struct run all = run_of (NULL, "model=resnet18,batch=64,trainable=1", A100);
    enum dn_stage stage = DN_STAGE_BACKWARD_WEIGHT;

    assert_true (some.estimate.stage_s[stage] >= whole.times[0].backward_weight_s);
    assert_true (some.estimate.stage_s[stage] < whole.estimate.stage_s[stage]);
    assert_near (none.estimate.stage_s[stage], 0);
    assert_near (none.graph.params, 0);
    assert_memory_equal (
        &all.estimate.memory, &whole.estimate.memory, sizeof (all.estimate.memory));
    assert_near (all.estimate.step_s.p50, whole.estimate.step_s.p50);
    assert_near (all.estimate.step_s.sigma, whole.estimate.step_s.sigma);
    assert_true (some.estimate.step_s.sigma > whole.estimate.step_s.sigma);
}

TEST ("a share counts the frozen parameters of a sidecar")
{
    /* One of 16 layers learns: 6.25 %. */
    expect_mib (
        SIXTEEN, "batch=1,precision=fp32,trainable=0.5,optimizer=sgd", 1024, 64, 0);
    expect_mib (
        SIXTEEN, "batch=1,precision=fp32,trainable=0.03125,optimizer=sgd", 1024, 32, 0);
}

/* Recommenders spread their tables over the devices, frozen ones too. */
TEST ("frozen tables are spread over the devices")
{
    struct run whole = run_of (NULL, "model=dlrm,batch=64,gpus=4", A100);
    struct run frozen = run_of (NULL, "model=dlrm,batch=64,gpus=4,trainable=0", A100);

    assert_near (frozen.estimate.memory[DN_MEMORY_WEIGHTS],
                 whole.estimate.memory[DN_MEMORY_WEIGHTS]);
    assert_near (frozen.estimate.memory[DN_MEMORY_GRADIENTS], 0);
}
