/* parallel.c - tests of work that devices share: experts, sequences, stages, shards,
 * and the host's memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "estimates.h"

#define GPT     "model=gpt2_xl,precision=bf16,optimizer=adam,framework=megatron,"
#define EXPERTS "model=switch_xl4,experts=16,precision=bf16,optimizer=adam,"
#define ONE     "model=gpt2_xl,precision=bf16,optimizer=adam,batch=2"

static double weights (const char *text)
{
    return estimate (text).memory[DN_MEMORY_WEIGHTS];
}

static void assert_refused (const char *text, const char *says)
{
    struct white white;

    if (white_try (text, A100, &white, &unit_err) == 0)
        fail_msg ("%s: not refused", text);
    assert_contains (unit_err.text, says);
}

TEST ("what holds without a key may be stated")
{
    static const char *const texts[] = {GPT "batch=4,gpus=8,tp=2",
                                        EXPERTS "batch=4,gpus=8"};

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++) {
        struct dn_estimate plain = estimate (texts[i]);
        struct dn_estimate stated = estimate (
            unit_text ("%s,sp=0,vpp=1,cp=1,ep=1,offload=none,net=ib400", texts[i]));

        assert_memory_equal (&plain, &stated, sizeof (plain));
    }
}

/* Weights that experts have, and others: w = dense + experts / ep. */
TEST ("experts are split, with their parameters")
{
    double whole = weights (EXPERTS "batch=4,gpus=8");
    double experts = 2 * (whole - weights (EXPERTS "batch=4,gpus=8,ep=2"));

    assert_true (experts > 0.8 * whole && experts < whole);
    assert_near (weights (EXPERTS "batch=4,gpus=8,ep=8"), whole - experts * 7 / 8);
    /* Shards are of all copies anyway. */
    assert_near (weights (EXPERTS "batch=4,gpus=8,ep=4,parallel=fsdp"),
                 weights (EXPERTS "batch=4,gpus=8,parallel=fsdp"));
    assert_true (memory (EXPERTS "batch=4,gpus=8,ep=8,tp=1")
                 < memory (EXPERTS "batch=4,gpus=8"));
    /* The same work in fewer and larger products. */
    assert_true (estimate (EXPERTS "batch=4,gpus=8,ep=8").stage_s[DN_STAGE_FORWARD]
                 <= estimate (EXPERTS "batch=4,gpus=8").stage_s[DN_STAGE_FORWARD]);
}

/* Over a network that is slower than all else: 24 layers of experts, four all-to-alls
 * in a step, in which half of the tokens' 1024 elements of 2 bytes go to the other
 * node.
 */
TEST ("tokens travel to their experts and back")
{
#define FAR EXPERTS "gpus=2,nodes=2,net=ethernet1,"
    double expected = 24 * 4 * 4 * 512.0 * 1024 * 2 / 2 / (0.7 * 125e6);
    /* Twice the experts of a token, twice the tokens that travel. */
    static const struct {
        const char *keys;
        double times;
    } rows[] = {{"", 1}, {"top_k=2,", 2}, {"capacity=1.5,", 1.5}};

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        const char *eight = unit_text (FAR "ep=2,%sbatch=8", rows[i].keys);
        const char *half = unit_text (FAR "ep=2,%sbatch=4", rows[i].keys);
        double four = communication (eight) - communication (half);

        assert_true (fabs (four / expected / rows[i].times - 1) < 0.01);
        assert_true (step (eight) - step (half) > four);
    }
    assert_true (communication (EXPERTS "batch=4,gpus=8,ep=8,tp=1")
                 < communication (EXPERTS "batch=4,gpus=16,ep=16"));
#undef FAR
}

/* Launches of the host; all-to-alls are launched too, two in each direction of a layer.
 */
TEST ("grouped experts are few launches")
{
#define MOE                                                                            \
    "model=switch_xl4,experts=16,precision=bf16,optimizer=none,batch=4,gpus=8,"        \
    "stack=ngc,"
    double looped = estimate (MOE "framework=mxnet").stage_s[DN_STAGE_HOST];
    double split = estimate (MOE "framework=mxnet,ep=8").stage_s[DN_STAGE_HOST];
    double grouped = estimate (MOE "framework=jax").stage_s[DN_STAGE_HOST];
    double both = estimate (MOE "framework=jax,ep=8").stage_s[DN_STAGE_HOST];

    assert_true (grouped < 0.5 * looped);
    assert_true (split > grouped && split < 0.6 * looped);
    assert_near (both, grouped + 24 * 4 * dn_constants_default.captured_s);
#undef MOE
}

TEST ("expert parallelism needs experts")
{
    struct dn_estimate dense = estimate (GPT "batch=4,gpus=8,ep=2");
    struct dn_estimate plain = estimate (GPT "batch=4,gpus=8");
    struct dn_keyset ep = DN_KEYSET (ep);

    assert_true (dn_keyset_equal (dense.unread, ep));
    assert_near (dense.gpu_mem.p50, plain.gpu_mem.p50);
    assert_near (dense.step_s.p50, plain.step_s.p50);
    assert_true (dense.step_s.sigma > plain.step_s.sigma);
    assert_true (dn_keyset_is_empty (estimate (EXPERTS "batch=4,gpus=8,ep=2").unread));
    assert_refused ("model=switch_xl4,batch=4,gpus=3,ep=3",
                    "ep: 3 does not divide experts = 4");
}

/* Korthikanti et al., arXiv 2205.05198: less memory, the same bytes to send. */
TEST ("sequence parallelism splits what tensor parallelism leaves whole")
{
    static const char *const more[] = {
        "", ",checkpointing=selective", ",checkpointing=full"};

    for (size_t i = 0; i < DN_N_ELEMENTS (more); i++)
        for (int tp = 2; tp <= 8; tp *= 2) {
            char *text = unit_text (GPT "batch=8,gpus=8,tp=%d%s", tp, more[i]);
            struct dn_estimate without = estimate (text);
            struct dn_estimate with = estimate (unit_text ("%s,sp=1", text));

            assert_true (with.gpu_mem.p50 <= without.gpu_mem.p50);
            assert_true (with.step_s.p50 < without.step_s.p50);
            assert_near (with.stage_s[DN_STAGE_COMMUNICATION],
                         without.stage_s[DN_STAGE_COMMUNICATION]);
            assert_near (with.memory[DN_MEMORY_WEIGHTS],
                         without.memory[DN_MEMORY_WEIGHTS]);
        }
    assert_true (memory (GPT "batch=8,gpus=8,tp=4,sp=1")
                 < memory (GPT "batch=8,gpus=8,tp=4"));
}

TEST ("a shared sequence takes less memory and time")
{
#define LONG GPT "batch=1,seq_len=8192,"
    struct dn_estimate one = estimate (LONG "gpus=1");
    struct dn_estimate four = estimate (LONG "gpus=4,cp=4");

    assert_near (four.memory[DN_MEMORY_WEIGHTS], one.memory[DN_MEMORY_WEIGHTS]);
    assert_true (four.memory[DN_MEMORY_ACTIVATIONS]
                 < one.memory[DN_MEMORY_ACTIVATIONS] / 3.9);
    assert_true (four.step_s.p50 < one.step_s.p50 / 2);
    assert_true (four.step_s.p50 > one.step_s.p50 / 4);
    assert_true (four.samples_per_s < 4 * one.samples_per_s);
    /* Gradients are reduced as by as many copies, keys and values travel besides. */
    assert_true (communication (LONG "gpus=4,cp=4") > communication (LONG "gpus=4"));
    /* What attention does not hide is exposed. */
    assert_true (estimate (LONG "gpus=2,nodes=2,cp=2,net=ethernet1").step_s.p50
                 > 2 * step (LONG "gpus=2,nodes=2,cp=2,net=ib400"));
    assert_refused ("model=resnet50,batch=8,gpus=4,cp=2",
                    "cp: 2 GPUs share a sequence");
#undef LONG
}

/* Narayanan et al., arXiv 2104.04473: v chunks of a stage divide the bubble by v, and
 * hold 1 + (p - 1) / (p v) times the activations.
 */
TEST ("chunks shorten the bubble and need more memory")
{
#define SMALL "vocab=1000,"
#define PIPE                                                                           \
    GPT SMALL "micro_batch=2,global_batch=64,gpus=8,pp=8,checkpointing=selective"
    struct dn_estimate one = estimate (PIPE);
    struct dn_estimate two = estimate (PIPE ",vpp=2");
    struct dn_estimate three = estimate (PIPE ",vpp=3");
    double activations = one.memory[DN_MEMORY_ACTIVATIONS];
    double more = two.memory[DN_MEMORY_ACTIVATIONS] - activations;
    double saved =
        (one.step_s.p50 - three.step_s.p50) / (one.step_s.p50 - two.step_s.p50);
    double few = memory (GPT SMALL "micro_batch=2,global_batch=8,gpus=8,pp=8");
    double many = memory (GPT SMALL "micro_batch=2,global_batch=8,gpus=8,pp=8,vpp=2");

    assert_true (two.step_s.p50 < one.step_s.p50);
    /* 1/2 and 2/3 of the bubble are saved, but for the larger number of hand-overs. */
    assert_true (saved > 1.2 && saved < 1.34);
    assert_near (more / (three.memory[DN_MEMORY_ACTIVATIONS] - activations), 3.0 / 2);
    assert_true (more < activations * 7 / 16);
    /* With as many micro-batches as the formula holds, all are held anyway, now on the
     * stage with the head, too.
     */
    assert_true (many >= few && many < 1.03 * few);
#undef PIPE
}

TEST ("shards within nodes are between copies and full shards")
{
#define NODES                                                                          \
    "model=gpt2_xl,precision=bf16,optimizer=adam,batch=1,seq_len=128,gpus=32,nodes=4,"
    struct dn_estimate node = estimate (ONE ",gpus=8,parallel=hsdp");
    struct dn_estimate full = estimate (ONE ",gpus=8,parallel=fsdp");

    assert_true (memory (NODES "parallel=hsdp") < memory (NODES "parallel=dp"));
    assert_true (memory (NODES "parallel=fsdp") < memory (NODES "parallel=hsdp"));
    assert_near (estimate (NODES "parallel=hsdp").memory[DN_MEMORY_OPTIMIZER],
                 node.memory[DN_MEMORY_OPTIMIZER]);
    assert_near (node.gpu_mem.p50, full.gpu_mem.p50);
    assert_near (node.step_s.p50, full.step_s.p50);
    /* Between nodes only gradients travel, not weights: 8 to 8 bytes of a parameter in
     * fp32 gradients, 4 to 6 in those of 16 bits. */
#define SLOW NODES "framework=megatron,net=ethernet10,parallel="
    assert_true (communication (SLOW "hsdp") < 0.7 * communication (SLOW "fsdp"));
#undef SLOW
#undef NODES
}

/* Gathered weights have the bytes in which they are used: two blocks of 48. */
TEST ("gathered weights have the bytes of their precision")
{
#define SHARDED "model=gpt2_xl,optimizer=adam,batch=2,gpus=8,parallel=zero3,precision="
    double params = weights ("model=gpt2_xl,batch=1,precision=fp32") / 4;

    assert_near (estimate (SHARDED "bf16").memory[DN_MEMORY_BUCKETS], 2 * params / 24);
    assert_near (estimate (SHARDED "fp32").memory[DN_MEMORY_BUCKETS], 4 * params / 24);
#undef SHARDED
}

/* 2 bytes of gradient, 4 of weights and 8 of state per parameter. */
TEST ("the host holds the optimizer")
{
    struct dn_estimate plain = estimate (ONE);
    struct dn_estimate host = estimate (ONE ",offload=optimizer");
    struct dn_estimate weights = estimate (ONE ",offload=params");
    double update;
    double params = plain.memory[DN_MEMORY_WEIGHTS] / 6;

    assert_true (host.gpu_mem.p50 < plain.gpu_mem.p50);
    assert_true (weights.gpu_mem.p50 < host.gpu_mem.p50);
    assert_near (host.memory[DN_MEMORY_OPTIMIZER], 0);
    assert_near (host.memory[DN_MEMORY_WEIGHTS], 2 * params);
    assert_near (weights.memory[DN_MEMORY_WEIGHTS], 0);
    assert_near (host.host_mem - plain.host_mem, 14 * params);
    assert_near (weights.host_mem - plain.host_mem, 16 * params);
    assert_true (host.step_s.p50 > plain.step_s.p50);
    assert_true (weights.step_s.p50 > plain.step_s.p50);
    /* Ren et al., arXiv 2101.06840, table 4: 2.57 s for 10 G parameters on 48 cores,
     * and twice as long on half of them. */
    host = white_estimate (ONE ",offload=optimizer", A100, 48);
    weights = white_estimate (ONE ",offload=optimizer", A100, 24);
    update = weights.stage_s[DN_STAGE_HOST] - host.stage_s[DN_STAGE_HOST];
    assert_true (fabs (update / (params / 10e9 * 2.57) - 1) < 0.01);
}

TEST ("each GPU updates its shard on the host")
{
    static const char *const kinds[] = {"zero1", "zero2", "zero3", "fsdp", "hsdp"};

    for (size_t i = 0; i < DN_N_ELEMENTS (kinds); i++) {
        char *text = unit_text (ONE ",gpus=8,parallel=%s", kinds[i]);
        struct dn_estimate plain = estimate (text);
        struct dn_estimate host = estimate (unit_text ("%s,offload=optimizer", text));

        assert_true (host.gpu_mem.p50 < plain.gpu_mem.p50);
        assert_true (host.host_mem > plain.host_mem);
        assert_true (host.step_s.p50 > plain.step_s.p50);
    }
    assert_refused (ONE ",gpus=8,offload=optimizer", "offload: optimizer on 8 GPUs");
    assert_refused (ONE ",gpus=8,parallel=dp,offload=optimizer",
                    "expected parallel=zero1");
    assert_refused (ONE ",gpus=8,parallel=zero2,offload=params",
                    "expected parallel=zero3");
}

TEST ("the host holds activations")
{
#define MANY "model=gpt2_xl,precision=bf16,optimizer=sgd,batch=64,"
    struct dn_estimate plain = estimate (MANY "checkpointing=full");
    struct dn_estimate host = estimate (MANY "checkpointing=full,offload=activations");
    double gone =
        plain.memory[DN_MEMORY_ACTIVATIONS] - host.memory[DN_MEMORY_ACTIVATIONS];

    assert_true (gone > 0);
    /* Two blocks of 48 stay. */
    assert_near ((host.host_mem - plain.host_mem) * 46 / 48, gone);
    assert_true (host.step_s.p50 >= plain.step_s.p50);
    assert_true (host.stage_s[DN_STAGE_COMMUNICATION] > 0);
    /* Scores of attention are too many to be moved in time. */
    assert_true (step (ONE ",framework=jax,offload=activations")
                 > 1.5 * step (ONE ",framework=jax"));
#undef MANY
}

TEST ("a known network counts")
{
#define FAR "model=gpt2_xl,precision=bf16,optimizer=adam,batch=2,gpus=16,nodes=2"
    struct dn_estimate unknown = estimate (FAR);
    struct dn_estimate known = estimate (FAR ",net=ib200x8");

    assert_true (known.step_s.sigma < unknown.step_s.sigma);
    /* The assumed network is an adapter of 200 Gbit/s for each GPU. */
    assert_true (fabs (known.step_s.p50 / unknown.step_s.p50 - 1) < 0.1);
    assert_true (step (FAR ",net=ib400") < step (FAR ",net=ib100"));
    assert_true (step (FAR ",net=ib400x2") < step (FAR ",net=ib400"));
    assert_near (step (FAR ",net=ib400x8"), step (FAR ",net=ib400x64"));
    assert_true (step (FAR ",net=roce100") < step (FAR ",net=ethernet100"));
    assert_true (step (FAR ",link=pcie,net=ethernet100")
                 < step (FAR ",link=pcie,net=ethernet10"));
#undef FAR
}

/* The scores of attention are computed again, not the rest. */
TEST ("selective recomputation is of attention")
{
    struct dn_estimate none = estimate (GPT "batch=8");
    struct dn_estimate some = estimate (GPT "batch=8,checkpointing=selective");
    struct dn_estimate all = estimate (GPT "batch=8,checkpointing=full");

    assert_near (none.stage_s[DN_STAGE_RECOMPUTE], 0);
    assert_true (some.stage_s[DN_STAGE_RECOMPUTE] > 0);
    assert_true (some.stage_s[DN_STAGE_RECOMPUTE] < all.stage_s[DN_STAGE_RECOMPUTE]);
    assert_true (some.step_s.p50 > none.step_s.p50 && some.step_s.p50 < all.step_s.p50);
    assert_true (some.gpu_mem.p50 < none.gpu_mem.p50);
}

/* Encoder and decoder repeat half of the blocks each; blocks of experts are some of
 * all.
 */
TEST ("blocks of two kinds are blocks")
{
    static const char *const names[] = {
        "t5_base", "bart_large", "switch_xl4", "albert_base"};

    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++) {
        char *text = unit_text (
            "model=%s,batch=64,precision=bf16,optimizer=sgd,framework=jax", names[i]);
        struct dn_estimate plain = estimate (text);
        struct dn_estimate again = estimate (unit_text ("%s,checkpointing=full", text));

        assert_true (again.gpu_mem.p50 < 0.6 * plain.gpu_mem.p50);
        assert_true (again.stage_s[DN_STAGE_RECOMPUTE]
                     > 0.5 * plain.stage_s[DN_STAGE_FORWARD]);
        assert_true (again.step_s.p50 > 1.1 * plain.step_s.p50);
    }
    assert_true (step ("model=t5_base,global_batch=64,micro_batch=4,gpus=4,pp=4")
                 < 0.6 * step ("model=t5_base,global_batch=64,micro_batch=4,gpus=1"));
}

/* Seconds that two thirds of a batch's work on the scores of attention take forward:
 * of separate kernels over those of one. Code of stack=ngc is as tuned with tp= as
 * without.
 */
static double scores_forward (int tp)
{
    static const char *const ways[] = {"plain", "fused"};
    static const int batches[] = {4, 12};
    double all = 0;

    for (int i = 0; i < 4; i++)
        all += (i == 1 || i == 2 ? 1 : -1)
               * estimate (unit_text ("model=gpt2_xl,precision=bf16,gpus=8,stack=ngc,"
                                      "tp=%d,attention=%s,batch=%d",
                                      tp,
                                      ways[i / 2],
                                      batches[i % 2]))
                     .stage_s[DN_STAGE_FORWARD];
    return all;
}

TEST ("scores of attention are split by heads")
{
    assert_true (scores_forward (1) > 0);
    assert_true (fabs (scores_forward (8) * 8 / scores_forward (1) - 1) < 1e-6);
}

TEST ("a frozen block without a backward pass is not computed again")
{
#define FROZEN "model=vit_b_16,precision=bf16,batch=64,gpus=1,frozen=backbone"
    struct dn_estimate plain = estimate (FROZEN);
    struct dn_estimate full = estimate (FROZEN ",checkpointing=full");

    assert_memory_equal (&plain, &full, sizeof (plain));
    /* Those before a block that learns are computed again: gradients pass them. */
    assert_true (estimate ("model=vit_b_16,precision=bf16,batch=64,gpus=1,"
                           "frozen=attention,checkpointing=full")
                     .stage_s[DN_STAGE_RECOMPUTE]
                 > 0);
#undef FROZEN
}

/* Three micro-batches in flight need one more boundary of each of the stage's 12 blocks
 * than two: 1024 tokens of 1600 elements of 2 bytes.
 */
TEST ("one block is computed again at a time")
{
#define FLOWING GPT SMALL "gpus=4,pp=4,micro_batch=4,checkpointing=full,global_batch="
    struct dn_estimate two = estimate (FLOWING "8");
    struct dn_estimate three = estimate (FLOWING "12");

    assert_near (three.memory[DN_MEMORY_ACTIVATIONS]
                     - two.memory[DN_MEMORY_ACTIVATIONS],
                 4 * 12 * 1024.0 * 1600 * 2);
#undef FLOWING
}

/* Of the weights of LLaMA with 7 billion parameters 96 % have 4.127 bits, not 16. */
TEST ("quantised weights are gathered as they are")
{
#define SHARDED                                                                        \
    "model=llama_7b,precision=bf16,batch=1,gpus=8,parallel=fsdp,lora=8,optimizer=adam"
    struct dn_estimate whole = estimate (SHARDED);
    struct dn_estimate quantised = estimate (SHARDED ",quant=nf4");
    const double root = 2 * (2 * 32000.0 * 4096 + 4096); /* stays gathered */
    double bytes = (quantised.memory[DN_MEMORY_BUCKETS] - root)
                   / (whole.memory[DN_MEMORY_BUCKETS] - root);

    assert_true (bytes > 4.127 / 16 && bytes < 0.32);
    assert_true (quantised.stage_s[DN_STAGE_COMMUNICATION]
                 < 0.4 * whole.stage_s[DN_STAGE_COMMUNICATION]);
#define OFFLOADED "model=llama_7b,batch=1,precision=bf16,lora=8,offload=params"
    assert_true (communication (OFFLOADED ",quant=nf4")
                 < 0.32 * communication (OFFLOADED));
#undef SHARDED
}

/* FSDP gathers the network for a checkpoint on one node, unless the software is stated
 * to write shards: the peak is then that of a step.
 */
TEST ("shards need no room for the whole network")
{
#define SHARDED                                                                        \
    "model=gpt2_xl,seq_len=128,batch=1,precision=bf16,optimizer=adam,gpus=8,"          \
    "checkpointing=full,attention=flash,parallel=fsdp"
    double gathered = memory (SHARDED ",torch=2.3");

    assert_near (memory (SHARDED ",since=2023"), gathered);
    assert_true (gathered > memory (SHARDED ",torch=2.4") + 3e9);
    assert_near (memory (SHARDED ",torch=2.4"), memory (SHARDED ",since=2024"));
    assert_near (memory (SHARDED ",nodes=2,torch=2.3"),
                 memory (SHARDED ",nodes=2,torch=2.4"));
#undef SHARDED
}

/* Nodes of the device have 8 of it. */
TEST ("a host has the processes of its node")
{
    assert_near (estimate (GPT "batch=1,gpus=64").host_mem,
                 estimate (GPT "batch=1,gpus=64,nodes=8").host_mem);
}

/* Values at the ends of their ranges. */
TEST ("hostile values give numbers")
{
    static const char *const texts[] = {
        "model=gpt2,batch=100000000,seq_len=1024,gpus=1024,cp=1024,grad_accum=100000",
        "model=gpt2,batch=1,gpus=100000,nodes=100000,parallel=hsdp,net=ethernet1",
        "model=gpt2,batch=1,gpus=100000,nodes=1,parallel=hsdp,net=ib10000x64",
        "model=gpt2,layers=1,batch=1,gpus=1024,pp=1024,vpp=1,tp=1",
        "model=gpt2,batch=1,gpus=65536,pp=64,tp=1024,sp=1,vpp=1024,offload=activations",
        "model=switch_xl4,experts=65536,top_k=4096,batch=1,gpus=4096,ep=4096",
        "model=switch_xl4,experts=65536,top_k=1,capacity=0.1,batch=1,gpus=4096,ep=4096,"
        "parallel=fsdp,offload=params,framework=megatron",
        "model=switch_xl4,experts=1,top_k=1,capacity=1000,batch=1,gpus=8,tp=8,sp=1",
        "model=gpt2,batch=1,gpus=64,tp=64,sp=1,parallel=zero3,offload=params,"
        "optimizer=none",
        "model=gpt2,batch=1,trainable=0,offload=params",
        "model=gpt2,batch=1,trainable=0,offload=optimizer,optimizer=none",
        "model=ncf,batch=1,gpus=8,parallel=zero3,offload=params",
        "params=1,flops=1,activations=1,batch=1,gpus=8,parallel=hsdp,offload=optimizer",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++) {
        struct dn_estimate e = estimate (texts[i]);

        if (!isfinite (e.step_s.p50) || e.step_s.p50 <= 0 || !isfinite (e.gpu_mem.p50)
            || !isfinite (e.host_mem) || e.host_mem <= 0 || !isfinite (e.power_w))
            fail_msg ("%s: %g s, %g bytes", texts[i], e.step_s.p50, e.gpu_mem.p50);
        for (int s = 0; s < DN_N_STAGES; s++)
            assert_true (isfinite (e.stage_s[s]) && e.stage_s[s] >= 0);
        for (int m = 0; m < DN_N_MEMORY_CLASSES; m++)
            assert_true (isfinite (e.memory[m]) && e.memory[m] >= 0);
    }
}

/* 16 nodes of four devices, within one domain or within two. */
TEST ("links may join the devices of several nodes")
{
    const char *slow = GPT "batch=4,gpus=64,nodes=16,tp=8,net=ethernet10";
    const char *fast = GPT "batch=4,gpus=64,nodes=16,tp=8,net=ib400";
    const char *pcie = GPT "batch=4,gpus=64,nodes=16,tp=8,net=ethernet10,link=pcie";
    struct dn_device device = scene_plain ()->catalogue.devices[A100];
    double alone = communication_on (slow, &device);
    double two;

    device.domain = 64;
    assert_near (communication_on (slow, &device), communication_on (fast, &device));
    device.domain = 32;
    two = communication_on (slow, &device);
    assert_true (two > communication_on (fast, &device));
    assert_true (alone > two);
    /* Links that the job does not use join nothing. */
    assert_near (communication_on (pcie, &device), communication (pcie));
}
