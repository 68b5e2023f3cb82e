/* attention.c - tests of which kernels run attention, of their work and their memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "graph/transformer.h"
#include "predict/attend.h"
#include "learn/reals.h"
#include "learn/table.h"
#include "scratch.h"
#include "white.h"

static struct dn_device device_of (const char *arch)
{
    struct dn_device device = scene_plain ()->catalogue.devices[A100];

    device.generation = scene_generation (arch);
    return device;
}

/* A run on a device of that generation. */
static struct white run_of (const char *text, const char *arch)
{
    static struct dn_device device;

    device = device_of (arch);
    return white_run_on (text, &device);
}

static const struct dn_op *attention_of (const struct white *run)
{
    for (int i = 0; i < run->graph.n_ops; i++)
        if (run->graph.ops[i].kind == DN_OP_ATTENTION)
            return &run->graph.ops[i];
    fail_msg ("no attention");
    return NULL;
}

static enum dn_attention_kind way_of (const char *text, const char *arch)
{
    struct white run = run_of (text, arch);

    return dn_attention_way (&run.spec, run.device, attention_of (&run));
}

/* One step of it, or a part of its memory. */
static double step_of (const char *text, const char *arch)
{
    return run_of (text, arch).estimate.step_s.p50;
}

static double activations_of (const char *text, const char *arch)
{
    return run_of (text, arch).estimate.memory[DN_MEMORY_ACTIVATIONS];
}

static bool is_unread (const char *text, const char *arch, struct dn_keyset key)
{
    struct dn_keyset unread = run_of (text, arch).estimate.unread;

    return !dn_keyset_is_empty (dn_keyset_and (unread, key));
}

#define PLAIN DN_ATTENTION_PLAIN
#define FUSED DN_ATTENTION_FUSED
#define FLASH DN_ATTENTION_FLASH

TEST ("software, chip and precision decide which kernels run attention")
{
    static const struct {
        const char *text;
        const char *arch;
        enum dn_attention_kind way;
    } rows[] = {
        {"precision=fp16", "ampere", FLASH},
        {"precision=bf16", "hopper", FLASH},
        {"precision=fp16", "volta", PLAIN},
        {"precision=fp16", "turing", PLAIN},
        {"precision=fp32", "ampere", PLAIN},
        {"precision=tf32", "ampere", PLAIN},
        {"precision=fp32", "hopper", PLAIN},
        {"precision=fp16,torch=2.4", "volta", FUSED},
        {"precision=fp16,since=2023", "turing", FUSED},
        {"precision=fp32,since=2023", "ampere", FUSED},
        {"precision=fp32", "kepler", PLAIN},
        {"precision=fp16,head_dim=512", "ampere", FUSED},
        {"precision=fp16,framework=pytorch,torch=2.4", "ampere", FLASH},
        {"precision=fp16,torch=2.10.1", "ampere", FLASH},
        {"precision=fp16,torch=2.0", "ampere", FLASH},
        {"precision=fp16,torch=2.0,head_dim=256", "ampere", FUSED},
        {"precision=fp16,torch=1.13.1", "ampere", PLAIN},
        {"precision=fp16,since=2022", "ampere", PLAIN},
        {"precision=fp16,since=2023", "ampere", FLASH},
        {"precision=fp16,since=2022,torch=2.2", "ampere", FLASH},
        {"precision=fp16,stack=ngc", "ampere", FLASH},
        {"precision=fp16,stack=ngc,since=2022", "ampere", PLAIN},
        {"precision=fp16,stack=mlperf,since=2022", "ampere", FLASH},
        {"precision=fp32,stack=mlperf", "volta", FUSED},
        {"precision=fp16,framework=megatron", "ampere", PLAIN},
        {"precision=fp16,framework=megatron,since=2023", "ampere", FLASH},
        {"precision=fp16,framework=megatron,attention=flash", "ampere", FLASH},
        {"precision=fp16,framework=jax", "ampere", FLASH},
        {"precision=fp16,framework=jax,since=2022", "ampere", PLAIN},
        {"precision=tf32,framework=jax,since=2025", "ampere", PLAIN},
        {"precision=fp16,framework=jax,attention=fused", "ampere", FUSED},
        {"precision=fp16,framework=paddle", "ampere", FLASH},
        {"precision=fp16,attention=auto", "ampere", FLASH},
        {"precision=fp16,attention=plain", "ampere", PLAIN},
        {"precision=fp16,attention=fused", "ampere", FUSED},
        {"precision=fp16,attention=flash", "volta", FUSED},
        {"precision=fp32,attention=flash", "ampere", FUSED},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        char *text = unit_text ("model=gpt2,batch=1,%s", rows[i].text);

        if (way_of (text, rows[i].arch) != rows[i].way)
            fail_msg ("row %zu: %s", i, rows[i].text);
    }
}

TEST ("the network decides, too, which kernels run attention")
{
    /* Encoders run in the kernels of their framework. */
    assert_int_equal (way_of ("model=bert_base,batch=1,precision=fp16", "ampere"),
                      FLASH);
    assert_int_equal (
        way_of ("model=bert_base,batch=1,precision=fp16,stack=ngc", "ampere"), PLAIN);
    assert_int_equal (
        way_of ("model=bert_base,batch=1,precision=fp16,framework=jax", "ampere"),
        PLAIN);
    /* The software of a network is not older than it. */
    assert_int_equal (way_of ("model=llama_7b,batch=1,precision=fp32", "volta"), FUSED);
    assert_int_equal (
        way_of ("model=llama_7b,batch=1,precision=fp16,framework=megatron", "ampere"),
        FLASH);
    /* Relative positions are within the scores. */
    assert_int_equal (way_of ("model=t5_small,batch=1,precision=fp16", "ampere"),
                      PLAIN);
    assert_int_equal (
        way_of ("model=transformer_xl_base,batch=1,attention=flash", "ampere"), PLAIN);
}

TEST ("a version of PyTorch is two numbers")
{
    static const char *const bad[] = {
        "2", "2.", ".4", "v2.4", "two.four", "2.x", "100.1", "2.1234", "-1.2"};
    struct dn_spec spec;

    for (size_t i = 0; i < DN_N_ELEMENTS (bad); i++) {
        char *text;

        spec = dn_spec_empty ();
        text = unit_text ("model=gpt2,batch=1,torch=%s", bad[i]);
        assert_int_equal (dn_spec_read (dn_span_of (text), &spec, NULL), 0);
        assert_error (dn_spec_resolve (&spec, NULL, DN_UNSET, &unit_err),
                      "is not a version, expected one such as 2.4");
        assert_contains (unit_err.text, bad[i]);
    }
    spec = dn_spec_empty ();
    assert_int_equal (dn_spec_torch (&spec), -1);
    snprintf (spec.torch, sizeof (spec.torch), "2.12.0a0");
    assert_int_equal (dn_spec_torch (&spec), 212);
}

static double sum_of (const struct white *run, bool saved)
{
    const struct dn_op *op = attention_of (run);
    struct dn_op room[DN_PARTS_MAX];
    int n;
    const struct dn_op *parts = dn_parts_of (&run->spec, run->device, 1, op, room, &n);
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += parts[i].repeat / op->repeat * (saved ? parts[i].saved : parts[i].flops);
    return sum;
}

TEST ("separate kernels do the work of the operator, and keep its elements")
{
    static const char *const texts[] = {
        "model=gpt2,batch=1,attention=plain",
        "model=mistral_7b,batch=1,attention=plain",
        "model=bart_large,batch=1,attention=plain",
        "model=vit_b_16,batch=1,attention=plain",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++) {
        struct white run = run_of (texts[i], "ampere");
        const struct dn_op *op = attention_of (&run);

        assert_near (sum_of (&run, false), op->flops);
        assert_near (sum_of (&run, true), op->saved);
    }
}

/* Query, key, value, output; keys and values of 8 heads, not of all 32. */
TEST ("flash keeps what it reads and writes, shared keys once")
{
    struct white run =
        run_of ("model=mistral_7b,batch=1,precision=bf16,seq_len=4096", "ampere");
    double row = 4096.0 * 128;

    assert_near (sum_of (&run, true), row * (32 + 8 + 8 + 32));
    run =
        run_of ("model=mistral_7b,batch=1,precision=bf16,seq_len=4096,attention=fused",
                "ampere");
    assert_near (sum_of (&run, true), row * 4 * 32);
}

TEST ("flash leaves out what a causal mask or a window hides")
{
    struct white gpt = run_of ("model=gpt2,batch=1,precision=fp16", "ampere");
    struct white bert = run_of ("model=bert_base,batch=1,precision=fp16", "ampere");
    struct white windowed =
        run_of ("model=gpt2,batch=1,precision=fp16,window=256", "ampere");
    struct white plain = run_of (
        "model=gpt2,batch=1,precision=fp16,window=256,attention=plain", "ampere");

    /* The mean of 1, 2, ... 1024 keys. */
    assert_near (sum_of (&gpt, false), attention_of (&gpt)->flops * 512.5 / 1024);
    assert_near (sum_of (&bert, false), attention_of (&bert)->flops);
    /* 1, 2, ... 256 keys, and then 256. */
    assert_near (sum_of (&windowed, false),
                 attention_of (&windowed)->flops * (256 * 128.5 + 768 * 256) / 1024
                     / 1024);
    assert_near (sum_of (&plain, false), attention_of (&plain)->flops);
}

TEST ("one kernel is never slower than several at long sequences")
{
    static const char *const precisions[] = {"fp32", "tf32", "fp16", "bf16"};
    static const char *const models[] = {"gpt2", "llama_7b", "bert_base", "mistral_7b"};

    for (int d = 0; d < scene_plain ()->catalogue.n_devices; d++)
        for (size_t i = 0; i < 16; i++)
            for (int tokens = 1024; tokens <= 32768; tokens *= 2) {
                char *text;
                double found[3];
                static const char *const ways[] = {"flash", "fused", "plain"};

                for (int w = 0; w < 3; w++) {
                    text = unit_text (
                        "model=%s,batch=2,seq_len=%d,precision=%s,attention=%s",
                        models[i / 4],
                        tokens,
                        precisions[i % 4],
                        ways[w]);
                    found[w] = white_estimate (text, d, 0).step_s.p50;
                }
                if (found[0] > found[1] * (1 + 1e-9) || found[1] > found[2])
                    fail_msg ("%s: %g, %g, %g s", text, found[0], found[1], found[2]);
            }
}

/* What 16384 more tokens add, over what 8192 did before. */
TEST ("memory grows with the tokens unless scores are kept")
{
    static const char *const ways[] = {"flash", "fused", "plain"};

    for (int w = 0; w < 3; w++) {
        double found[3];
        double growth;

        for (int i = 0; i < 3; i++) {
            char *text = unit_text (
                "model=llama_7b,batch=1,precision=bf16,optimizer=sgd,head=none,"
                "seq_len=%d,attention=%s",
                8192 << i,
                ways[w]);

            found[i] = activations_of (text, "ampere");
        }
        growth = (found[2] - found[1]) / (found[1] - found[0]);
        assert_true (w < 2 ? fabs (growth - 2) < 0.01 : growth > 3);
    }
}

TEST ("selective checkpointing repeats separate kernels, and only these")
{
    static const char plain[] = "model=gpt2,batch=8,framework=megatron,precision=fp16";
    static const char flash[] = "model=gpt2,batch=8,framework=megatron,precision=fp16,"
                                "checkpointing=selective,attention=flash";
    struct dn_keyset key = DN_KEYSET (checkpointing);
    char *again = unit_text ("%s,checkpointing=selective", plain);

    assert_true (step_of (again, "ampere") > step_of (plain, "ampere"));
    assert_true (activations_of (again, "ampere")
                 < 0.8 * activations_of (plain, "ampere"));
    assert_false (is_unread (again, "ampere", key));
    assert_true (is_unread (flash, "ampere", key));
}

TEST ("the first version of flash attention is slower")
{
    static const char text[] = "model=llama_7b,batch=2,precision=bf16,seq_len=16384";
    char *old = unit_text ("%s,torch=2.1", text);

    assert_true (step_of (old, "ampere") > 1.05 * step_of (text, "ampere"));
    assert_near (activations_of (old, "ampere"), activations_of (text, "ampere"));
}

TEST ("documents of a packed sequence do not attend to one another")
{
    static const char full[] = "model=gpt2,batch=8,precision=fp16,seq_len=8192";
    char *joined = unit_text ("%s,packing=1", full);
    char *packed = unit_text ("%s,packing=1,seq_mean=256", full);

    assert_near (step_of (joined, "ampere"), step_of (full, "ampere"));
    assert_true (step_of (packed, "ampere") < 0.9 * step_of (full, "ampere"));
    assert_near (step_of (packed, "volta"), step_of (full, "volta"));
    assert_true (is_unread (packed, "volta", DN_KEYSET (seq_mean)));
    assert_false (is_unread (packed, "ampere", DN_KEYSET (seq_mean)));
    assert_true (is_unread (joined, "ampere", DN_KEYSET (packing)));
}

/* The longest of eight is 2.72 times as long as the mean. */
TEST ("samples are padded to the longest of a batch")
{
    static const char full[] = "model=gpt2,batch=8,precision=fp16,seq_len=1024";
    struct white run;
    double means[] = {128, 64, 1};
    double before = step_of (full, "ampere");

    for (size_t i = 0; i < DN_N_ELEMENTS (means); i++) {
        char *text = unit_text ("%s,seq_mean=%g", full, means[i]);

        run = run_of (text, "ampere");
        assert_true (
            fabs (dn_attention_share (white_case (&run, 0)) - means[i] * 2.7179 / 1024)
            < 1e-4);
        assert_true (run.estimate.step_s.p50 < before);
        before = run.estimate.step_s.p50;
        /* Some batch has a sample of full length. */
        assert_near (activations_of (text, "ampere"), activations_of (full, "ampere"));
    }
    assert_true (is_unread (
        "model=resnet50,batch=8,seq_mean=9", "ampere", DN_KEYSET (seq_mean)));
}

TEST ("samples longer than their sequence are refused")
{
    struct dn_spec spec = dn_spec_empty ();

    assert_int_equal (
        dn_spec_read (
            dn_span_of ("model=gpt2,batch=1,seq_len=512,seq_mean=513"), &spec, NULL),
        0);
    assert_int_equal (dn_spec_resolve (&spec, NULL, DN_UNSET, &unit_err), -1);
    assert_string_equal (unit_err.text, "seq_mean: 513, expected at most seq_len 512");
}

TEST ("keys that decide nothing are named")
{
#define KEY(name) offsetof (struct dn_spec, name)
    static const struct {
        const char *text;
        size_t key;
        bool unread;
    } rows[] = {
        {"model=resnet50,batch=8,attention=flash", KEY (attention), true},
        {"model=t5_small,batch=8,attention=flash", KEY (attention), true},
        {"model=gpt2,batch=8,attention=flash", KEY (attention), false},
        {"model=resnet50,batch=8,since=2020", KEY (since), false},
        {"model=resnet50,batch=8,since=2020,stack=ngc", KEY (since), true},
        {"model=gpt2,batch=8,since=2020", KEY (since), false},
        {"model=gpt2,batch=8,since=2020,torch=2.4", KEY (since), true},
        {"model=gpt2,batch=8,since=2020,attention=plain", KEY (since), false},
        {"model=gpt2,batch=8,since=2020,attention=plain,stack=ngc", KEY (since), true},
        {"model=gpt2,batch=8,since=2020,framework=jax", KEY (since), false},
        {"model=bert_base,batch=8,since=2020,framework=jax", KEY (since), true},
        {"model=gpt2,batch=8,torch=2.4", KEY (torch), false},
        {"model=gpt2,batch=8,torch=2.4,framework=megatron", KEY (torch), true},
        {"model=resnet50,batch=8,torch=2.4", KEY (torch), false},
        {"model=resnet50,batch=8,torch=2.4,stack=ngc", KEY (torch), true},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++)
        if (is_unread (rows[i].text, "ampere", dn_keyset_of (rows[i].key))
            != rows[i].unread)
            fail_msg ("%s", rows[i].text);
}

/* --- kernels that others measured, fp32 ------------------------------------------- */

#define KERNELS_MAX 4096
#define LINEAR      "learn/data/kernels_linear.csv"
#define BATCHED     "learn/data/kernels_bmm.csv"
#define PASSES      "learn/data/kernels_elementwise.csv"

/* Rates of the long kernels of one GPU in a table of learn/data. */
struct kernels {
    const char *gpu;
    const char *table; /* of products: FLOP/s, else byte/s */
    double rates[KERNELS_MAX];
    int n;
};

static double number_of (const struct dn_row *row, const char *column)
{
    return strtod (dn_row_get (row, column), NULL);
}

static int add_kernel (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct kernels *kernels = context;
    double ms = number_of (row, "latency_ms");
    bool product = strcmp (kernels->table, PASSES) != 0;
    double work;

    (void) err;
    if (strcmp (dn_row_get (row, "gpu"), kernels->gpu) != 0
        || ms < (product ? 0.5 : 0.1))
        return 0;
    if (product)
        work = 2 * number_of (row, "b") * number_of (row, "m") * number_of (row, "n")
               * number_of (row, "k");
    else /* of two arrays, or of one */
        work = (strstr ("add mul div pow", dn_row_get (row, "op")) ? 3 : 2) * 4.0
               * number_of (row, "b") * number_of (row, "h");
    assert_true (kernels->n < KERNELS_MAX);
    kernels->rates[kernels->n++] = 1000 * work / ms;
    return 0;
}

/* The median. */
static double rate_of (const char *gpu, const char *name)
{
    struct kernels kernels = {.gpu = gpu, .table = name};
    dn_cleanup (dn_table_cleanup) struct dn_table *table =
        dn_table_new (add_kernel, &kernels);
    char *text = unit_keep (tree_text (name), free);

    if (dn_table_feed (table, text, strlen (text), &unit_err) < 0
        || dn_table_feed (table, text, 0, &unit_err) < 0)
        fail_msg ("%s", unit_err.text);
    assert_true (kernels.n > 10);
    qsort (kernels.rates, (size_t) kernels.n, sizeof (double), dn_reals_compare);
    return kernels.rates[kernels.n / 2];
}

static struct dn_catalogue kernel_devices (void)
{
    struct dn_catalogue catalogue = {.n_devices = 0};

    scene_catalogue_add (&catalogue, "etc/hardware/t4_16gb.conf");
    scene_catalogue_add (&catalogue, "etc/hardware/v100_pcie_32gb.conf");
    scene_catalogue_add (&catalogue, "etc/hardware/a100_pcie_40gb.conf");
    scene_generations (&catalogue);
    return catalogue;
}

/* Two products, and eight passes over the scores: scale, mask, softmax, dropout. */
TEST ("attention in fp32 takes as long as the kernels that PyTorch runs for it")
{
    static const char text[] = "model=gpt2_large,batch=4,precision=fp32,optimizer=none";
    struct dn_catalogue catalogue = kernel_devices ();
    struct white run = run_of (text, "ampere");
    const struct dn_op *op = attention_of (&run);
    struct dn_op_time *times =
        unit_keep (calloc ((size_t) run.graph.n_ops, sizeof (*times)), free);

    for (int i = 0; i < catalogue.n_devices; i++) {
        const char *gpu = catalogue.devices[i].name;
        double scores = op->repeat * 4 * op->batches * op->m * op->n;
        double measured = op->repeat * 4 * op->flops / rate_of (gpu, BATCHED)
                          + 8 * 4 * scores / rate_of (gpu, PASSES);
        double found;

        run.device = &catalogue.devices[i];
        dn_whitebox_operators (white_case (&run, 0), times);
        found = times[op - run.graph.ops].forward_s;
        if (found < 0.8 * measured || found > 1.6 * measured)
            fail_msg ("%s: %g s, the kernels %g s", gpu, found, measured);
    }
    dn_catalogue_free (&catalogue);
}

/* Three products of each layer, forward and backward. Boards of 70 and 250 W do not
 * hold their clock: by the data sheet they would be off by up to a factor of two.
 */
TEST ("linear layers in fp32 take as long as the kernels that PyTorch runs for them")
{
    static const char text[] = "model=gpt2_large,batch=4,precision=fp32,optimizer=none";
    struct dn_catalogue catalogue = kernel_devices ();
    struct white run = run_of (text, "ampere");
    struct dn_op_time *times =
        unit_keep (calloc ((size_t) run.graph.n_ops, sizeof (*times)), free);

    for (int i = 0; i < catalogue.n_devices; i++) {
        double found = 0;
        double measured = 0;

        run.device = &catalogue.devices[i];
        dn_whitebox_operators (white_case (&run, 0), times);
        for (int j = 0; j < run.graph.n_ops; j++) {
            const struct dn_op *op = &run.graph.ops[j];

            if (op->kind != DN_OP_LINEAR)
                continue;
            measured += 3 * 4 * op->repeat * op->flops;
            found += dn_op_seconds (&times[j]);
        }
        measured /= rate_of (run.device->name, LINEAR);
        if (fabs (found / measured - 1) > 0.07)
            fail_msg ("%s: %g s, the kernels %g s", run.device->name, found, measured);
    }
    dn_catalogue_free (&catalogue);
}

/* An attention alone: params and the sizes of its operator. */
static void build_alone (const struct dn_transformer *transformer,
                         double hidden,
                         struct dn_graph *graph)
{
    struct dn_spec spec = dn_spec_empty ();
    struct dn_transformer sized = *transformer;
    struct dn_build build;

    sized.hidden = hidden;
    dn_build_start (&build, &spec, NULL, "alone", NULL);
    dn_build_features (&build, hidden, 64);
    dn_transformer_attend (&build, &sized, NULL);
    assert_int_equal (dn_build_finish (&build, graph), 0);
}

/* The attention of DeepSeek-V2-Lite and DeepSeek-V3 (their config.json; counted in
 * transformers' DeepseekV3Attention), and of Qwen3-0.6B and OLMo-2-1B with their norms.
 */
TEST ("the layers of every form of attention are counted")
{
    static const struct {
        struct dn_transformer transformer;
        double hidden;
        double params;
    } rows[] = {
        {{.heads = 16,
          .kv_heads = 16,
          .head_dim = 192,
          .value_dim = 128,
          .latent = 512,
          .rope_dim = 64,
          .traits = ROTARY},
         2048,
         2048.0 * 16 * 192 + 2048 * 576 + 512 + 512 * 16 * 256 + 16 * 128 * 2048},
        {{.heads = 128,
          .kv_heads = 128,
          .head_dim = 192,
          .value_dim = 128,
          .latent = 512,
          .query_rank = 1536,
          .rope_dim = 64,
          .traits = ROTARY},
         7168,
         7168.0 * 1536 + 1536 + 1536 * 128 * 192.0 + 7168 * 576 + 512
             + 512 * 128 * 256.0 + 128 * 128 * 7168.0},
        {{.heads = 16, .kv_heads = 8, .head_dim = 128, .traits = ROTARY | HEAD_NORM},
         1024,
         1024.0 * 128 * (16 + 8 + 8) + 2 * 128 + 16 * 128 * 1024},
        {{.heads = 16, .kv_heads = 16, .head_dim = 128, .traits = ROTARY | ALL_NORM},
         2048,
         4 * 2048.0 * 2048 + 2 * 2048},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        struct dn_graph graph;
        const struct dn_transformer *one = &rows[i].transformer;
        double value = one->value_dim > 0 ? one->value_dim : one->head_dim;

        build_alone (one, rows[i].hidden, &graph);
        assert_near (graph.params, rows[i].params);
        for (int j = 0; j < graph.n_ops; j++)
            if (graph.ops[j].kind == DN_OP_ATTENTION)
                assert_near (graph.ops[j].flops,
                             2 * one->heads * 64 * 64 * (one->head_dim + value));
        dn_graph_free (&graph);
    }
}

/* PyTorch's flash kernel has values of the size of keys; the library pads them. */
TEST ("values of another size than keys are fused, not flash")
{
    struct dn_spec spec = dn_spec_empty ();
    struct dn_device device = device_of ("ampere");
    struct dn_op op = {.kind = DN_OP_ATTENTION, .k = 192, .value_dim = 128};

    spec.precision = DN_PRECISION_BF16;
    assert_int_equal (dn_attention_way (&spec, &device, &op), FUSED);
    spec.attention = DN_ATTENTION_FLASH;
    assert_int_equal (dn_attention_way (&spec, &device, &op), FLASH);
}

/* What a description has seen to be fused is so in any framework. */
TEST ("a description may state that attention is fused")
{
    struct dn_spec spec = dn_spec_empty ();
    struct dn_device device = device_of ("hopper");
    struct dn_op op = {
        .kind = DN_OP_ATTENTION, .k = 128, .value_dim = 128, .fused = true};

    spec.precision = DN_PRECISION_BF16;
    spec.framework = DN_FRAMEWORK_JAX;
    assert_int_equal (dn_attention_way (&spec, &device, &op), FLASH);
    op.fused = false;
    assert_int_equal (dn_attention_way (&spec, &device, &op), PLAIN);
    op.fused = true;
    spec.attention = DN_ATTENTION_PLAIN;
    assert_int_equal (dn_attention_way (&spec, &device, &op), PLAIN);
}
