/* optimizer.c - tests of optimizers and number formats: bytes, traffic, arithmetic
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "white.h"

#define V100_16GB "v100_16gb"
#define A100_40GB "a100_40gb"
#define H100      "h100_sxm5_80gb"

static const char h100[] =
    "Device=" H100 "\nVendor=nvidia\nArch=hopper\nFp32=67T\nTf32=495T\nFp16=989T\n"
    "Bf16=989T\nFp8=1979T\nMemory=80GiB\nBandwidth=3350G\nSms=132\nLink=nvlink\n"
    "LinkBandwidth=450G\nPcieBandwidth=48G\nTdp=700\nIdle=80\n";

#define MIB 1048576.0

static struct dn_estimate estimate_on (const char *text, const char *device)
{
    struct dn_site *site = scene_site ("");

    assert_done (dn_catalogue_add (
        &site->catalogue, dn_span_of (h100), "h100", false, &unit_err));
    scene_generations (&site->catalogue);
    return white_estimate_on (text, dn_catalogue_find (&site->catalogue, device), 0);
}

static struct dn_estimate estimate (const char *text)
{
    return estimate_on (text, A100_40GB);
}

#define GPT2 "model=gpt2,batch=1,precision=fp32,optimizer="

/* GPT-2 has 124,439,808 parameters, of which 12 blocks have 768 x 9216 in matrices, and
 * the embeddings (50257 + 1024) x 768.
 */
#define ALL      124439808.0
#define MATRICES (12 * 768 * 9216.0)
#define TABLES   (51281 * 768.0)

TEST ("states of optimizers have their bytes")
{
    static const struct {
        const char *optimizer;
        double bytes;
    } rows[] = {
        {"sgd", 0},
        {"momentum", 4 * ALL},
        {"adamw", 8 * ALL},
        {"lion", 4 * ALL},
        {"muon", 4 * MATRICES + 8 * (ALL - MATRICES)},
        /* two states of 1 byte and 4 for each block of 256; tables in fp32 */
        {"adam8bit", 2 * (1 + 4.0 / 256) * (ALL - TABLES) + 8 * TABLES},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        struct dn_estimate found = estimate (unit_text (GPT2 "%s", rows[i].optimizer));

        print_message ("%s\n", rows[i].optimizer);
        assert_near (found.memory[DN_MEMORY_OPTIMIZER] / MIB, rows[i].bytes / MIB);
    }
}

static double optimizer_s (const char *optimizer)
{
    return estimate (unit_text (GPT2 "%s", optimizer)).stage_s[DN_STAGE_OPTIMIZER];
}

TEST ("fewer bytes take less time")
{
    assert_near (optimizer_s ("lion"), optimizer_s ("momentum"));
    assert_true (optimizer_s ("lion") < optimizer_s ("adamw"));
    /* It is one kernel in every framework. */
    assert_true (optimizer_s ("adam8bit") < optimizer_s ("adamw,fused_optimizer=1"));
    assert_true (optimizer_s ("adam8bit")
                 > 3.0 / 7 * optimizer_s ("adamw,fused_optimizer=1"));
}

/* Five iterations of 4 m m n + 2 m m m operations, at most the peak of 312 TFLOP/s. */
TEST ("Muon multiplies matrices")
{
    const double h = 768;
    const double square = 6 * h * h * h;
    double flops = 12 * 5
                   * (square + (4 * h * h * 3 * h + 2 * h * h * h)
                      + 2 * (4 * h * h * 4 * h + 2 * h * h * h));
    double more = optimizer_s ("muon") - optimizer_s ("lion");

    assert_true (more > flops / 312e12);
    assert_true (more < 40 * flops / 312e12);
}

TEST ("a fused optimizer is one kernel")
{
    const struct dn_constants *k = &dn_constants_default;
    double passes = k->optimizer / k->fused_optimizer;
    double usual_s = optimizer_s ("adamw");
    struct dn_estimate usual = estimate (GPT2 "adamw");
    struct dn_estimate fused = estimate (GPT2 "adamw,fused_optimizer=1");

    assert_near (passes * optimizer_s ("adamw,fused_optimizer=1"), usual_s);
    assert_near (optimizer_s ("adamw,fused_optimizer=0"), usual_s);
    assert_near (passes * optimizer_s ("adamw,stack=ngc"),
                 optimizer_s ("adamw,stack=ngc,fused_optimizer=0"));
    assert_true (fused.stage_s[DN_STAGE_HOST] < usual.stage_s[DN_STAGE_HOST]);
    usual = estimate (GPT2 "adamw,seq_len=16");
    fused = estimate (GPT2 "adamw,seq_len=16,fused_optimizer=1");
    assert_true (fused.gpu_mem.p50 < usual.gpu_mem.p50);
}

TEST ("pure bf16 has two bytes of all")
{
    struct dn_estimate pure =
        estimate ("model=gpt2,batch=1,precision=bf16_pure,optimizer=adamw");
    struct dn_estimate mixed =
        estimate ("model=gpt2,batch=1,precision=bf16,optimizer=adamw");

    assert_near (pure.memory[DN_MEMORY_WEIGHTS] / MIB, 2 * ALL / MIB);
    assert_near (pure.memory[DN_MEMORY_GRADIENTS] / MIB, 2 * ALL / MIB);
    assert_near (pure.memory[DN_MEMORY_OPTIMIZER] / MIB, 4 * ALL / MIB);
    assert_near (mixed.memory[DN_MEMORY_OPTIMIZER] / MIB, 8 * ALL / MIB);
    assert_near (2 * pure.stage_s[DN_STAGE_OPTIMIZER],
                 mixed.stage_s[DN_STAGE_OPTIMIZER]);
    assert_near (pure.stage_s[DN_STAGE_FORWARD], mixed.stage_s[DN_STAGE_FORWARD]);
    assert_true (pure.supported);
    assert_false (
        estimate_on ("model=gpt2,batch=1,precision=bf16_pure", V100_16GB).supported);
}

#define LLAMA "model=llama_7b,layers=4,batch=8,optimizer=adamw,precision="

TEST ("fp8 speeds up linear layers only")
{
    struct dn_estimate bf16 = estimate_on (LLAMA "bf16", H100);
    struct dn_estimate fp8 = estimate_on (LLAMA "fp8", H100);
    static const enum dn_stage passes[] = {
        DN_STAGE_FORWARD, DN_STAGE_BACKWARD_DATA, DN_STAGE_BACKWARD_WEIGHT};

    for (size_t i = 0; i < DN_N_ELEMENTS (passes); i++) {
        assert_true (fp8.stage_s[passes[i]] < bf16.stage_s[passes[i]]);
        assert_true (fp8.stage_s[passes[i]] > bf16.stage_s[passes[i]] / 2);
    }
    /* Casts cost more than short products gain. */
    assert_true (
        estimate_on (LLAMA "fp8,seq_len=16", H100).stage_s[DN_STAGE_FORWARD]
        > estimate_on (LLAMA "bf16,seq_len=16", H100).stage_s[DN_STAGE_FORWARD]);
    assert_near (fp8.stage_s[DN_STAGE_OPTIMIZER], bf16.stage_s[DN_STAGE_OPTIMIZER]);
}

TEST ("fp8 keeps shorter inputs and two copies of weights")
{
    struct dn_estimate bf16 = estimate_on (LLAMA "bf16", H100);
    struct dn_estimate fp8 = estimate_on (LLAMA "fp8", H100);

    assert_true (fp8.memory[DN_MEMORY_ACTIVATIONS]
                 < bf16.memory[DN_MEMORY_ACTIVATIONS]);
    for (int i = 0; i <= DN_MEMORY_OPTIMIZER; i++)
        assert_near (fp8.memory[i] / MIB, bf16.memory[i] / MIB);
}
