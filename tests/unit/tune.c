/* tune.c - tests of fine-tuning: adapters, what is frozen, quantised weights
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "rows.h"
#include "white.h"
#include "tests/unit/networks.h"

#define MIB 1048576.0

static struct white begin (const char *keys)
{
    return white_run (keys, A100);
}

/* MiB of one class of memory. */
static double mib (const struct white *run, enum dn_memory_class which)
{
    return run->estimate.memory[which] / MIB;
}

/* A row of tests/data/adapters.csv: what peft makes of a network, learned and frozen.
 */
static int check_adapter (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct white run =
        begin (unit_text ("%s,batch=1,precision=bf16_pure", rows_get (row, "spec")));

    print_message ("%s\n", rows_get (row, "spec"));
    assert_near (run.graph.params, atof (rows_get (row, "params")));
    assert_near (run.graph.tensors, atof (rows_get (row, "tensors")));
    assert_near (run.graph.frozen_params, atof (rows_get (row, "frozen")));
    return 0;
}

TEST ("adapters have as many parameters as in peft")
{
    rows_each ("adapters.csv", check_adapter, NULL);
}

/* Query and value of a layer that gives query, key and value have an A of their own. */
TEST ("a part of a layer can be adapted")
{
    struct white run =
        begin ("model=gpt2,lora=8,lora_targets=q+v,batch=1,precision=bf16_pure");

    assert_near (run.graph.params, 12 * 2 * 8 * (768 + 768));
}

#define LLAMA "model=llama_7b,layers=2,seq_len=64,batch=1,precision=bf16_pure,"

/* Per block and token: 2 x 4096 x 2 of both norms, 4096 and 11008 of the inputs of the
 * feed-forward part. Attention keeps its output itself.
 */
TEST ("only adapters keep the input of a linear layer")
{
    struct white whole = begin (LLAMA "optimizer=adamw");
    struct white values = begin (LLAMA "optimizer=adamw,lora=8,lora_targets=v");
    struct white keys = begin (LLAMA "optimizer=adamw,lora=8,lora_targets=k");
    struct white some = begin (LLAMA "optimizer=adamw,lora=8,lora_targets=o+down");
    struct white all = begin (LLAMA "optimizer=adamw,lora=8,lora_targets=all");
    double tokens = 64;
    double norms = (2 * 2 + 1) * 4096 * tokens; /* what their scales multiply */
    double head = 4096 * tokens;
    double block = 2 * tokens;

    /* The input of query, key and value is kept once, for any of them. */
    assert_near (SUM_OF (&values.graph, saved), SUM_OF (&keys.graph, saved));
    assert_near (SUM_OF (&whole.graph, saved) - SUM_OF (&values.graph, saved),
                 norms + head + block * (4096 + 11008 - 8));
    assert_near (SUM_OF (&some.graph, saved) - SUM_OF (&values.graph, saved),
                 block * (11008 + 8 - 4096));
    /* All of them, and seven inputs of B. */
    assert_near (SUM_OF (&whole.graph, saved) - SUM_OF (&all.graph, saved),
                 norms + head - block * 7 * 8);
}

/* MiB that are kept for the backward pass, and no gradient that takes its memory over.
 */
static double kept (const char *keys)
{
    struct white run = begin (
        unit_text ("model=llama_7b,layers=2,seq_len=1024,batch=8,optimizer=adamw,"
                   "lora=8,%s",
                   keys));

    return mib (&run, DN_MEMORY_ACTIVATIONS) + mib (&run, DN_MEMORY_GRADIENTS);
}

/* Counted with peft 0.21: two adapters beside LLaMA in bf16 keep 4 bytes each of every
 * element that they read, and the layers nothing; under autocast they keep 2.
 */
TEST ("adapters in fp32 keep their own copies of what they read")
{
    const double read = 2.0 * 8 * 1024 * 4096 / MIB; /* elements, both blocks */
    const double rank = 2.0 * 8 * 1024 * 8 / MIB;

#define ONE_MORE(keys) (kept ("lora_targets=q+v," keys) - kept ("lora_targets=v," keys))
    assert_near (ONE_MORE ("precision=bf16_pure"), 4 * read + 2 * rank);
    assert_near (ONE_MORE ("precision=bf16"), 2 * read + 2 * rank);
    assert_near (ONE_MORE ("precision=fp32"), 4 * rank);
    /* The first one has a copy of 4 bytes in place of the layer's 2. */
    assert_near (kept ("lora_targets=v,precision=bf16_pure")
                     - kept ("lora_targets=v,precision=bf16_pure,parallel=fsdp,gpus=2"),
                 2 * read);
    /* Blocks are computed again with their adapters. */
    assert_near (ONE_MORE ("precision=bf16_pure,checkpointing=full"), 2 * read + rank);
#undef ONE_MORE
}

TEST ("gradients pass through frozen layers")
{
    struct white whole = begin (LLAMA "optimizer=adamw");
    struct white run = begin (LLAMA "optimizer=adamw,lora=8");
    const double *stage = run.estimate.stage_s;
    const struct dn_op *first = &run.graph.ops[0];

    assert_int_equal (first->kind, DN_OP_EMBEDDING);
    assert_true (first->frozen);
    assert_false (run.graph.ops[1].frozen);
    assert_true (stage[DN_STAGE_BACKWARD_DATA]
                 > 0.95 * whole.estimate.stage_s[DN_STAGE_BACKWARD_DATA]);
    assert_true (stage[DN_STAGE_BACKWARD_WEIGHT]
                 < 0.2 * whole.estimate.stage_s[DN_STAGE_BACKWARD_WEIGHT]);
    assert_true (stage[DN_STAGE_FORWARD] > whole.estimate.stage_s[DN_STAGE_FORWARD]);
}

/* Parts that are frozen already keep nothing, and totals of the metadata scale all that
 * is kept: what freezing drops is never more than what was kept.
 */
TEST ("no layer drops more than it keeps")
{
    static const char *const texts[] = {
        "model=stable_diffusion_v1_5,batch=1,lora=4",
        "model=dit_s_4,batch=1,lora=4",
        "model=llava_1.5_7b_pretrain,batch=1,lora=4",
        "model=distilgpt2,batch=1,lora=4,activations=1000",
        "model=bert_base,batch=1,frozen=ffn+norm,activations=1000",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++) {
        struct white run = begin (texts[i]);

        for (int k = 0; k < run.graph.n_ops; k++)
            if (run.graph.ops[k].saved < 0)
                fail_msg ("%s: %g elements are kept", texts[i], run.graph.ops[k].saved);
    }
}

TEST ("only what learns has gradients and states")
{
    struct white pure =
        begin ("model=llama_7b,lora=8,batch=1,precision=bf16_pure,optimizer=adamw");
    struct white mixed =
        begin ("model=llama_7b,lora=8,batch=1,precision=bf16,optimizer=adamw");
    struct white sent = begin ("model=llama_7b,lora=8,batch=1,precision=bf16_pure,"
                               "optimizer=adamw,gpus=4");
    const double n = 4194304;
    const double base = 6738415616;

    /* peft makes adapters in fp32, whatever the network is converted to. */
    assert_near (mib (&pure, DN_MEMORY_WEIGHTS), (2 * base + 4 * n) / MIB);
    /* Adapters in fp32 with a copy, the network loaded in 16 bits. */
    assert_near (mib (&mixed, DN_MEMORY_WEIGHTS), (2 * base + 6 * n) / MIB);
    for (int i = 0; i < 2; i++) {
        assert_near (mib (i ? &mixed : &pure, DN_MEMORY_GRADIENTS), 4 * n / MIB);
        assert_near (mib (i ? &mixed : &pure, DN_MEMORY_OPTIMIZER), 8 * n / MIB);
    }
    assert_near (mib (&sent, DN_MEMORY_BUCKETS), 4 * n / MIB);
    /* Adapters with their states in fp32, and the frozen weights as they are. */
    assert_near ((pure.estimate.host_mem - mixed.estimate.host_mem) / MIB, 0);
    assert_true (pure.estimate.host_mem < 2 * base + 12 * n + 12e9);
}

#define QUANTISED "model=llama_7b,lora=8,batch=1,precision=bf16_pure,optimizer=adamw,"
#define LINEAR    (32 * (4.0 * 4096 * 4096 + 3 * 4096.0 * 11008)) /* their elements */

TEST ("quantised weights have four or eight bits")
{
    const double rows = 32 * (4.0 * 4096 + 2 * 11008 + 4096);
    /* 4.127 bits (Dettmers et al., arXiv 2305.14314); head and embedding are not. */
    const struct {
        const char *keys;
        double saved; /* bytes */
    } ways[] = {{QUANTISED "quant=nf4", LINEAR * (2 - 4.127 / 8)},
                {QUANTISED "quant=int8", LINEAR - 4 * rows},
                {QUANTISED "quant=gptq", LINEAR * (2 - (4 + 20.0 / 128) / 8)}};
    struct white plain = begin (QUANTISED "quant=none");

    for (size_t i = 0; i < DN_N_ELEMENTS (ways); i++) {
        struct white run = begin (ways[i].keys);

        assert_near (mib (&plain, DN_MEMORY_WEIGHTS) - mib (&run, DN_MEMORY_WEIGHTS),
                     ways[i].saved / MIB);
    }
}

TEST ("what is beside weights that were quantised before stays in 16 bits")
{
#define MIXED "model=llama_7b,lora=8,batch=1,precision=bf16,optimizer=adamw,"
    struct white awq = begin (MIXED "quant=awq");
    struct white nf4 = begin (MIXED "quant=nf4");
    const double rest = 2 * 32000.0 * 4096 + 65 * 4096;

    /* Embedding, head and norms: 4 bytes and a copy of 2 beside NF4. */
    assert_near (mib (&nf4, DN_MEMORY_WEIGHTS) - mib (&awq, DN_MEMORY_WEIGHTS),
                 (4 * rest - LINEAR * (20.0 / 128 - 0.127) / 8) / MIB);
}

TEST ("quantised weights are unpacked in every pass")
{
    struct white none = begin (QUANTISED "checkpointing=full,quant=none");
    struct white nf4 = begin (QUANTISED "checkpointing=full,quant=nf4");
    const struct dn_device *device = nf4.estimate.device;
    double least =
        LINEAR * (2 + 4.127 / 8) / (device->bandwidth * nf4.site->constants.unpack);

    for (int d = 0; d < DN_N_STAGES; d++) {
        double more = nf4.estimate.stage_s[d] - none.estimate.stage_s[d];

        if (d == DN_STAGE_FORWARD || d == DN_STAGE_BACKWARD_DATA
            || d == DN_STAGE_RECOMPUTE)
            assert_true (more >= least && more < 1.3 * least);
        if (d == DN_STAGE_BACKWARD_WEIGHT)
            assert_near (more, 0);
    }
}

/* Parameters that learn, of torchvision's and transformers' modules. */
static const struct part {
    const char *keys;
    double params;
} parts[] = {
    {"model=resnet50,frozen=backbone", 2049000},
    {"model=resnet50,frozen=all_but_head", 2049000},
    {"model=resnet50,frozen=all-but-norm", 53120},
    {"model=resnet50,frozen=norm", 25557032 - 53120},
    {"model=bert_base,head=classifier,frozen=backbone", 1538},
    /* BitFit: all biases; norms have one too */
    {"model=bert_base,head=classifier,frozen=all_but_bias",
     12 * (4 * 768 + 3072 + 768 + 2 * 768) + 768 + 768 + 2},
    {"model=bert_base,head=classifier,frozen=embedding",
     109483778 - (30522 + 512 + 2) * 768.0},
    {"model=gpt2,frozen=embedding", 124439808 - (50257 + 1024) * 768.0},
    /* The word embedding is the head's weight. */
    {"model=gpt2,frozen=backbone", 50257 * 768.0},
    {"model=gpt2,frozen=all_but_attention",
     12 * (768 * 2304.0 + 2304 + 768 * 768 + 768)},
    {"model=llama_7b,frozen=attention+ffn", 2 * 32000 * 4096.0 + 65 * 4096},
    {"model=llama_7b,lora=8,frozen=all_but_embedding+norm",
     4194304 + 32000 * 4096.0 + 65 * 4096},
    {"model=t5_small,frozen=encoder", 60506624 - 18881280},
};

TEST ("a name freezes a part")
{
    for (size_t i = 0; i < DN_N_ELEMENTS (parts); i++) {
        struct white run =
            begin (unit_text ("%s,batch=1,precision=fp32", parts[i].keys));

        print_message ("%s\n", parts[i].keys);
        assert_near (run.graph.params, parts[i].params);
    }
}

TEST ("nothing runs backward in a frozen backbone")
{
    struct white run = begin ("model=resnet50,frozen=backbone,batch=32,precision=fp32,"
                              "optimizer=adamw");
    int n = run.graph.n_ops;

    /* The linear layer and the loss are left. */
    for (int i = 0; i < n - 2; i++)
        assert_true (run.graph.ops[i].frozen);
    assert_true (run.graph.ops[n - 2].first);
    assert_near (SUM_OF (&run.graph, saved), 2048 + 1000);
    assert_near (run.graph.tensors, 2);
}

static void expect_error (const char *keys, const char *part)
{
    struct dn_spec spec = dn_spec_empty ();
    struct dn_graph graph = {0};

    assert_done (dn_spec_read (dn_span_of (keys), &spec, &unit_err));
    if (dn_graph_build (shipped_networks (), &spec, &graph, &unit_err) == 0)
        fail_msg ("%s is accepted", keys);
    assert_contains (unit_err.text, part);
    assert_null (graph.ops);
}

TEST ("unknown names are errors that list what exists")
{
    expect_error ("model=resnet50,lora=8", "lora: resnet50 has no linear layer");
    expect_error (
        "model=gpt2,lora=8,lora_targets=gate",
        "lora_targets: 'gate' is not a layer of gpt2, expected some of attention "
        "mlp all q k v qkv o up down head, joined by +");
    expect_error ("model=llama_7b,lora=8,lora_targets=q+foo",
                  "lora_targets: 'foo' is not a layer of llama_7b, expected some of "
                  "attention mlp all q k v o gate up down head");
    expect_error ("model=llama_7b,frozen=vae",
                  "frozen: 'vae' is not a part of llama_7b, expected some of embedding "
                  "backbone attention ffn norm head");
    expect_error ("model=resnet50,frozen=all_but_embedding",
                  "frozen: 'embedding' is not a part of resnet50, expected some of "
                  "backbone norm bias head");
    expect_error ("model=resnet50,frozen=head+backbone", "is all of resnet50");
}

TEST ("keys that contradict each other are errors")
{
    expect_error ("model=gpt2,lora_targets=q", "expected lora= too");
    expect_error ("model=gpt2,lora=8,trainable=0.1", "trainable: together with lora=");
    expect_error ("model=gpt2,frozen=head,trainable=0.1",
                  "trainable: together with lora=");
    expect_error ("model=gpt2,quant=nf4", "quant: no linear layer of gpt2 is frozen");
}

TEST ("what learns can be named")
{
    struct dn_spec spec = dn_spec_empty ();
    struct white named = begin ("model=vit_b_16,batch=1,precision=fp32,trainable=head");
    struct white same =
        begin ("model=vit_b_16,batch=1,precision=fp32,frozen=all_but_head");

    assert_near (named.graph.params, 768 * 1000 + 1000);
    assert_near (named.graph.frozen_params, same.graph.frozen_params);
    assert_done (dn_spec_read (dn_span_of ("trainable=0.1"), &spec, &unit_err));
    assert_done (dn_spec_read (dn_span_of ("trainable=Norm+bias"), &spec, &unit_err));
    assert_string_equal (spec.frozen, "all_but_Norm+bias");
    assert_true (spec.trainable < 0);
    expect_error ("model=resnet50,trainable=vae", "'vae' is not a part of resnet50");
    assert_error (
        dn_spec_read (dn_span_of ("frozen=bias,trainable=head"), &spec, &unit_err),
        "trainable: 'head' together with frozen=");
    assert_int_equal (
        dn_spec_read (dn_span_of ("trainable=head/../x"), &spec, &unit_err), -1);
    assert_int_equal (dn_spec_read (dn_span_of ("trainable=1.5"), &spec, &unit_err),
                      -1);
}

/* A described network says what of it learns. */
TEST ("keys of fine-tuning are unread beside a description")
{
    static const char text[] =
        "{\"dnnest\":1,\"spec\":{\"lora\":\"8\",\"quant\":\"nf4\",\"batch\":\"1\"},"
        "\"graph\":{\"ops\":[{\"op\":\"linear\",\"in\":[[64]],\"out\":[[64]],"
        "\"params\":4096}]}}";
    struct white run = white_described (text, "");
    struct dn_keyset both = dn_keyset_or (DN_KEYSET (lora), DN_KEYSET (quant));

    assert_true (dn_keyset_equal (dn_keyset_and (run.estimate.unread, both), both));
    assert_near (run.graph.params, 4096);
}
