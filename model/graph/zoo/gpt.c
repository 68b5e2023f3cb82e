/* gpt.c - decoders: GPT-2, OPT, BLOOM, LLaMA and similar models
 *
 * As Hugging Face implements them. A row gives the sizes, its style the structure. The
 * head is 'lm' unless head=none; its weights are the word embedding where the style
 * ties them. seq_len= beyond the position table lengthens the table. window= is that of
 * the blocks that have one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/messages.h"
#include "graph/experts.h"
#include "zoo.h"

#include <math.h>

/* What a network has besides the traits of its blocks. */
enum {
    TIED = OWN_TRAIT,               /* the head has the weights of the word embedding */
    EMBED_DROPOUT = OWN_TRAIT << 1, /* after the embeddings */
    EMBED_NORM = OWN_TRAIT << 2,
    PADDED = OWN_TRAIT << 3, /* two rows of the position table that no token has */
    BIAS_HEAD = OWN_TRAIT << 4,
    BIAS_ROUTER = OWN_TRAIT << 5,
    DROPOUTS = EMBED_DROPOUT | DROPOUT | SCORE_DROPOUT
};

enum style {
    /* Radford et al. 2019; transformers.GPT2LMHeadModel */
    GPT2 = BEFORE | GELU_TANH | BIAS_BLOCK | FUSED | TIED | DROPOUTS,
    /* Dey et al., arXiv 2304.03208: no dropout; transformers.GPT2LMHeadModel */
    CEREBRAS = BEFORE | BIAS_BLOCK | FUSED | TIED,
    /* Black et al. 2021; transformers.GPTNeoForCausalLM */
    GPT_NEO = BEFORE | GELU_TANH | BIAS_OUT | BIAS_FFN | TIED,
    /* Li et al., arXiv 2305.06161; transformers.GPTBigCodeForCausalLM */
    STARCODER = CEREBRAS | DROPOUTS,
    /* Zhang et al., arXiv 2205.01068; transformers.OPTForCausalLM. The 350m one
     * normalises after the sums, and not after the last block.
     */
    OPT_AFTER = RELU | BIAS_BLOCK | TIED | DROPOUT | PADDED,
    OPT = BEFORE | OPT_AFTER,
    /* Lin et al., arXiv 2112.10668: sinusoidal positions; transformers.XGLMForCausalLM
     */
    XGLM = BEFORE | BIAS_BLOCK | TIED | EMBED_DROPOUT | DROPOUT | SCORE_DROPOUT,
    /* Le Scao et al., arXiv 2211.05100; transformers.BloomForCausalLM */
    BLOOM = CEREBRAS | EMBED_NORM,
    /* MosaicML 2023; transformers.MptForCausalLM */
    MPT = BEFORE | SCALE | FUSED | TIED,
    /* Almazrouei et al., arXiv 2311.16867; transformers.FalconForCausalLM */
    FALCON = BEFORE | PARALLEL | FUSED | ROTARY | TIED,
    FALCON_PAIR = BEFORE | PARALLEL_PAIR | FUSED | ROTARY | TIED,
    /* ALiBi; transformers.FalconForCausalLM */
    FALCON_RW = CEREBRAS,
    /* Databricks 2024: a mixture; transformers.DbrxForCausalLM */
    DBRX = BEFORE | SCALE | FUSED | GATED | ROTARY,
    /* Black et al., arXiv 2204.06745, Biderman et al., 2304.01373;
     * transformers.GPTNeoXForCausalLM
     */
    NEOX = BEFORE | PARALLEL_PAIR | BIAS_BLOCK | FUSED | ROTARY | QUARTER,
    POLYGLOT = (NEOX & ~QUARTER) | HALF,
    /* Wang and Komatsuzaki 2021; transformers.GPTJForCausalLM: 64 features are rotated
     */
    GPT_J = BEFORE | PARALLEL | GELU_TANH | BIAS_FFN | BIAS_HEAD | ROTARY | QUARTER,
    /* Nijkamp et al., arXiv 2203.13474; transformers.CodeGenForCausalLM */
    CODEGEN =
        BEFORE | PARALLEL | GELU_TANH | BIAS_FFN | BIAS_HEAD | FUSED | ROTARY | HALF,
    /* Li et al., arXiv 2309.05463; transformers.PhiForCausalLM */
    PHI = BEFORE | PARALLEL | GELU_TANH | BIAS_BLOCK | BIAS_HEAD | ROTARY | HALF,
    /* Touvron et al., arXiv 2302.13971; transformers.LlamaForCausalLM */
    LLAMA = BEFORE | RMS | GATED | ROTARY,
    /* Abdin et al., arXiv 2404.14219, 2412.08905; transformers.Phi3ForCausalLM */
    PHI_3 = LLAMA | FUSED | FUSED_GATE,
    PHI_4_MINI = PHI_3 | QUARTER | HALF,
    /* Abdin et al., arXiv 2404.14219: a mixture; transformers.PhimoeForCausalLM */
    PHI_MOE = BEFORE | BIAS_QKV | BIAS_OUT | BIAS_HEAD | GATED | ROTARY,
    /* Lozhkov et al., arXiv 2402.19173; transformers.Starcoder2ForCausalLM */
    STARCODER2 = BEFORE | BIAS_BLOCK | ROTARY | DROPOUTS,
    /* Tow et al. 2023, Bellagente et al., arXiv 2402.17834;
     * transformers.StableLmForCausalLM
     */
    STABLELM = BEFORE | GATED | ROTARY | QUARTER,
    STABLELM_2 = STABLELM | BIAS_QKV,
    STABLELM_12B = STABLELM | PARALLEL | ALL_NORM,
    /* Yang et al., arXiv 2407.10671; transformers.Qwen2ForCausalLM */
    QWEN2 = LLAMA | BIAS_QKV,
    /* Yang et al., arXiv 2505.09388; transformers.Qwen3ForCausalLM */
    QWEN3 = LLAMA | HEAD_NORM,
    /* Mesnard et al., arXiv 2403.08295; transformers.GemmaForCausalLM */
    GEMMA = LLAMA | TIED,
    /* Riviere et al., arXiv 2408.00118; transformers.Gemma2ForCausalLM */
    GEMMA_2 = GEMMA | INSIDE | CAPPED,
    /* Kamath et al., arXiv 2503.19786; transformers.Gemma3ForCausalLM */
    GEMMA_3 = GEMMA | INSIDE | HEAD_NORM,
    /* Groeneveld et al., arXiv 2402.00838; transformers.OlmoForCausalLM */
    OLMO = BEFORE | PLAIN_NORM | GATED | ROTARY,
    /* OLMo et al., arXiv 2501.00656; transformers.Olmo2ForCausalLM, Olmo3ForCausalLM */
    OLMO2 = INSIDE | RMS | GATED | ROTARY | ALL_NORM,
    /* Cohere 2024; transformers.CohereForCausalLM, Cohere2ForCausalLM */
    COHERE = BEFORE | SCALE | PARALLEL | GATED | ROTARY | TIED,
    /* GLM Team, arXiv 2406.12793; transformers.GlmForCausalLM */
    GLM = LLAMA | BIAS_QKV | FUSED_GATE | HALF,
    /* Yang et al., arXiv 2309.10305: one product makes query, key and value; the 13b
     * ones have ALiBi.
     */
    BAICHUAN = LLAMA | FUSED,
    BAICHUAN_13B = BEFORE | RMS | GATED | FUSED,
    /* GLM-4-0414; transformers.Glm4ForCausalLM. The 32b one has no bias. */
    GLM_0414 = GLM | INSIDE,
    GLM_0414_PLAIN = LLAMA | FUSED_GATE | HALF | INSIDE,
    /* Muennighoff et al., arXiv 2409.02060; transformers.OlmoeForCausalLM */
    OLMOE = LLAMA | ALL_NORM,
    /* OpenAI, arXiv 2508.10925; transformers.GptOssForCausalLM */
    GPT_OSS = LLAMA | BIAS_BLOCK | BIAS_ROUTER | SINKS
};

/* Multi-latent attention; the size of a head is that of the row. */
struct latent {
    double rank;
    double query_rank; /* 0: queries come from the hidden features */
    double rope_dim;
    double value_dim;
};

/* DeepSeek-AI, arXiv 2405.04434; transformers.DeepseekV2ForCausalLM,
 * DeepseekV3ForCausalLM
 */
static const struct latent latent_lite = {512, 0, 64, 128};
static const struct latent latent_full = {512, 1536, 64, 128};

struct gpt {
    const char *name;
    unsigned traits;
    struct dn_transformer_sizes sizes;
    double vocab;
    double positions;            /* rows of a learned table; 0: none */
    double embed;                /* features of the word embedding; 0: hidden */
    const struct latent *latent; /* NULL: no multi-latent attention */
    struct dn_experts experts;   /* of all blocks but the first 'dense' */
    double dense;
    double window; /* tokens that a token attends to; 0: all */
    double period; /* of so many blocks the last one attends to all; 0: none does */
};

/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses): members of a row */
#define LITE                        .latent = &latent_lite
#define FULL                        .latent = &latent_full
/* NOLINTEND(bugprone-macro-parentheses) */
/* tokens of a window, blocks for each one without it */
#define NEAR(n, blocks)             .window = (n), .period = (blocks)
/* experts, visited, inner size of one (0: ffn), how many process every token */
#define EXPERTS(n, k, ffn)          .experts = {n, k, ffn}
#define SHARED(n, k, ffn, all)      .experts = {n, k, ffn, all}
#define SHARED_GATE(n, k, ffn, all) .experts = {n, k, ffn, all, .shared_gate = true}

/* style, {layers, hidden, heads, heads of keys, ffn, tokens, size of a head},
 * vocabulary, positions
 */
static const struct gpt rows[] = {
    ROW ("gpt2", GPT2, {12, 768, 12, 0, 0, 1024}, 50257, 1024),
    ROW ("gpt2_medium", GPT2, {24, 1024, 16, 0, 0, 1024}, 50257, 1024),
    ROW ("gpt2_large", GPT2, {36, 1280, 20, 0, 0, 1024}, 50257, 1024),
    ROW ("gpt2_xl", GPT2, {48, 1600, 25, 0, 0, 1024}, 50257, 1024),
    ROW ("distilgpt2", GPT2, {6, 768, 12, 0, 0, 1024}, 50257, 1024),
    /* Brown et al., arXiv 2005.14165, table 2.1, with GPT-2's structure */
    ROW ("gpt3_xl", GPT2, {24, 2048, 16, 0, 0, 2048}, 50257, 2048),
    ROW ("gpt3_2.7b", GPT2, {32, 2560, 32, 0, 0, 2048}, 50257, 2048),
    ROW ("gpt3_6.7b", GPT2, {32, 4096, 32, 0, 0, 2048}, 50257, 2048),
    ROW ("gpt3_175b", GPT2, {96, 12288, 96, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_111m", CEREBRAS, {10, 768, 12, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_256m", CEREBRAS, {14, 1088, 17, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_590m", CEREBRAS, {18, 1536, 12, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_1.3b", CEREBRAS, {24, 2048, 16, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_2.7b", CEREBRAS, {32, 2560, 32, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_6.7b", CEREBRAS, {32, 4096, 32, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_13b", CEREBRAS, {40, 5120, 40, 0, 0, 2048}, 50257, 2048),
    ROW ("gpt_neo_125m", GPT_NEO, {12, 768, 12, 0, 0, 2048}, 50257, 2048),
    ROW ("gpt_neo_1.3b", GPT_NEO, {24, 2048, 16, 0, 0, 2048}, 50257, 2048),
    ROW ("gpt_neo_2.7b", GPT_NEO, {32, 2560, 20, 0, 0, 2048}, 50257, 2048),
    ROW ("santacoder", STARCODER, {24, 2048, 16, 1, 0, 2048}, 49280, 2048),
    ROW ("starcoderbase_1b", STARCODER, {24, 2048, 16, 1, 0, 8192}, 49152, 8192),
    ROW ("starcoderbase_3b", STARCODER, {36, 2816, 22, 1, 0, 8192}, 49152, 8192),
    ROW ("starcoderbase_7b", STARCODER, {42, 4096, 32, 1, 0, 8192}, 49152, 8192),
    ROW ("starcoder", STARCODER, {40, 6144, 48, 1, 0, 8192}, 49152, 8192),
    ROW ("opt_125m", OPT, {12, 768, 12, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_350m", OPT_AFTER, {24, 1024, 16, 0, 0, 2048}, 50272, 2048, .embed = 512),
    ROW ("opt_1.3b", OPT, {24, 2048, 32, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_2.7b", OPT, {32, 2560, 32, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_6.7b", OPT, {32, 4096, 32, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_13b", OPT, {40, 5120, 40, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_30b", OPT, {48, 7168, 56, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_66b", OPT, {64, 9216, 72, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_175b", OPT, {96, 12288, 96, 0, 0, 2048}, 50272, 2048),
    ROW ("xglm_564m", XGLM, {24, 1024, 16, 0, 0, 2048}, 256008),
    ROW ("xglm_1.7b", XGLM, {24, 2048, 16, 0, 0, 2048}, 256008),
    ROW ("xglm_7.5b", XGLM, {32, 4096, 32, 0, 0, 2048}, 256008),
    ROW ("bloom_560m", BLOOM, {24, 1024, 16, 0, 0, 2048}, 250880),
    ROW ("bloom_1b1", BLOOM, {24, 1536, 16, 0, 0, 2048}, 250880),
    ROW ("bloom_1b7", BLOOM, {24, 2048, 16, 0, 0, 2048}, 250880),
    ROW ("bloom_3b", BLOOM, {30, 2560, 32, 0, 0, 2048}, 250880),
    ROW ("bloom_7b1", BLOOM, {30, 4096, 32, 0, 0, 2048}, 250880),
    ROW ("bloom_176b", BLOOM, {70, 14336, 112, 0, 0, 2048}, 250880),
    ROW ("mpt_7b", MPT, {32, 4096, 32, 0, 0, 2048}, 50432),
    ROW ("mpt_30b", MPT, {48, 7168, 64, 0, 0, 8192}, 50432),
    ROW ("falcon_7b", FALCON, {32, 4544, 71, 1, 0, 2048}, 65024),
    ROW ("falcon_40b", FALCON_PAIR, {60, 8192, 128, 8, 0, 2048}, 65024),
    ROW ("falcon_180b", FALCON_PAIR, {80, 14848, 232, 8, 0, 2048}, 65024),
    ROW ("falcon_11b", FALCON & ~TIED, {60, 4096, 32, 8, 16384, 8192}, 65024),
    ROW ("falcon_rw_1b", FALCON_RW, {24, 2048, 32, 0, 0, 2048}, 50304),
    ROW ("dbrx", DBRX, {40, 6144, 48, 8, 10752, 4096}, 100352, EXPERTS (16, 4, 0)),
    ROW ("pythia_14m", NEOX, {6, 128, 4, 0, 0, 2048}, 50304),
    ROW ("pythia_31m", NEOX, {6, 256, 8, 0, 0, 2048}, 50304),
    ROW ("pythia_70m", NEOX, {6, 512, 8, 0, 0, 2048}, 50304),
    ROW ("pythia_160m", NEOX, {12, 768, 12, 0, 0, 2048}, 50304),
    ROW ("pythia_410m", NEOX, {24, 1024, 16, 0, 0, 2048}, 50304),
    ROW ("pythia_1b", NEOX, {16, 2048, 8, 0, 0, 2048}, 50304),
    ROW ("pythia_1.4b", NEOX, {24, 2048, 16, 0, 0, 2048}, 50304),
    ROW ("pythia_2.8b", NEOX, {32, 2560, 32, 0, 0, 2048}, 50304),
    ROW ("pythia_6.9b", NEOX, {32, 4096, 32, 0, 0, 2048}, 50432),
    ROW ("pythia_12b", NEOX, {36, 5120, 40, 0, 0, 2048}, 50688),
    ROW ("gpt_neox_20b", NEOX, {44, 6144, 64, 0, 0, 2048}, 50432),
    ROW ("polyglot_ko_1.3b", POLYGLOT, {24, 2048, 16, 0, 0, 2048}, 30080),
    ROW ("polyglot_ko_5.8b", POLYGLOT, {28, 4096, 16, 0, 0, 2048}, 30080),
    ROW ("polyglot_ko_12.8b", POLYGLOT, {40, 5120, 40, 0, 0, 2048}, 30080),
    ROW ("stablecode_alpha_3b", NEOX, {32, 2560, 32, 0, 0, 4096}, 49152),
    ROW ("stablelm_base_alpha_3b", NEOX, {16, 4096, 32, 0, 0, 4096}, 50688),
    ROW ("stablelm_base_alpha_7b", NEOX, {16, 6144, 48, 0, 0, 4096}, 50432),
    ROW ("gpt_j_6b", GPT_J, {28, 4096, 16, 0, 0, 2048}, 50400),
    ROW ("codegen_350m", CODEGEN, {20, 1024, 16, 0, 0, 2048}, 51200),
    ROW ("codegen_2b", CODEGEN, {32, 2560, 32, 0, 0, 2048}, 51200),
    ROW ("codegen_6b", CODEGEN, {33, 4096, 16, 0, 0, 2048}, 51200),
    ROW ("codegen_16b", CODEGEN, {34, 6144, 24, 0, 0, 2048}, 51200),
    ROW ("phi_1", PHI, {24, 2048, 32, 0, 0, 2048}, 51200),
    ROW ("phi_1.5", PHI, {24, 2048, 32, 0, 0, 2048}, 51200),
    ROW ("phi_2", PHI, {32, 2560, 32, 0, 0, 2048}, 51200),
    ROW ("phi_3_mini", PHI_3, {32, 3072, 32, 0, 8192, 4096}, 32064),
    ROW ("phi_3.5_mini", PHI_3, {32, 3072, 32, 0, 8192, 4096}, 32064),
    ROW ("phi_3_medium", PHI_3, {40, 5120, 40, 10, 17920, 4096}, 32064),
    ROW ("phi_4", PHI_3, {40, 5120, 40, 10, 17920, 4096}, 100352),
    ROW ("phi_4_mini", PHI_4_MINI | TIED, {32, 3072, 24, 8, 8192, 4096}, 200064),
    ROW ("phi_3.5_moe", PHI_MOE, {32, 4096, 32, 8, 6400, 4096}, 32064,
         EXPERTS (16, 2, 0)),
    ROW ("starcoder2_3b", STARCODER2 | TIED, {30, 3072, 24, 2, 12288, 4096}, 49152,
         NEAR (4096, 0)),
    ROW ("starcoder2_7b", STARCODER2, {32, 4608, 36, 4, 18432, 4096}, 49152,
         NEAR (4096, 0)),
    ROW ("starcoder2_15b", STARCODER2, {40, 6144, 48, 4, 24576, 4096}, 49152,
         NEAR (4096, 0)),
    ROW ("stablelm_3b_4e1t", STABLELM, {32, 2560, 32, 0, 6912, 4096}, 50304),
    ROW ("stablelm_2_12b", STABLELM_12B, {40, 5120, 32, 8, 13824, 4096}, 100352),
    ROW ("stablelm_2_1_6b", STABLELM_2, {24, 2048, 32, 0, 5632, 4096}, 100352),
    ROW ("llama_7b", LLAMA, {32, 4096, 32, 0, 11008, 2048}, 32000),
    ROW ("llama_13b", LLAMA, {40, 5120, 40, 0, 13824, 2048}, 32000),
    ROW ("llama_30b", LLAMA, {60, 6656, 52, 0, 17920, 2048}, 32000),
    ROW ("llama_65b", LLAMA, {80, 8192, 64, 0, 22016, 2048}, 32000),
    ROW ("llama_2_7b", LLAMA, {32, 4096, 32, 0, 11008, 4096}, 32000),
    ROW ("llama_2_13b", LLAMA, {40, 5120, 40, 0, 13824, 4096}, 32000),
    ROW ("llama_2_70b", LLAMA, {80, 8192, 64, 8, 28672, 4096}, 32000),
    ROW ("llama_3_8b", LLAMA, {32, 4096, 32, 8, 14336, 8192}, 128256),
    ROW ("llama_3_70b", LLAMA, {80, 8192, 64, 8, 28672, 8192}, 128256),
    ROW ("llama_3.1_8b", LLAMA, {32, 4096, 32, 8, 14336, 8192}, 128256),
    ROW ("llama_3.1_70b", LLAMA, {80, 8192, 64, 8, 28672, 8192}, 128256),
    ROW ("llama_3.1_405b", LLAMA, {126, 16384, 128, 8, 53248, 8192}, 128256),
    ROW ("llama_3.2_1b", LLAMA | TIED, {16, 2048, 32, 8, 8192, 8192}, 128256),
    ROW ("llama_3.2_3b", LLAMA | TIED, {28, 3072, 24, 8, 8192, 8192}, 128256),
    ROW ("llama_3.3_70b", LLAMA, {80, 8192, 64, 8, 28672, 8192}, 128256),
    ROW ("codellama_34b", LLAMA, {48, 8192, 64, 8, 22016, 4096}, 32000),
    ROW ("open_llama_3b", LLAMA, {26, 3200, 32, 0, 8640, 2048}, 32000),
    ROW ("tinyllama_1.1b", LLAMA, {22, 2048, 32, 4, 5632, 2048}, 32000),
    ROW ("llama_68m", LLAMA, {2, 768, 12, 0, 3072, 2048}, 32000),
    ROW ("llama_160m", LLAMA, {12, 768, 12, 0, 3072, 2048}, 32000),
    ROW ("microllama", LLAMA, {12, 1024, 16, 4, 5632, 2048}, 32000),
    ROW ("sheared_llama_1.3b", LLAMA, {24, 2048, 16, 0, 5504, 4096}, 32000),
    ROW ("sheared_llama_2.7b", LLAMA, {32, 2560, 20, 0, 6912, 4096}, 32000),
    ROW ("solar_10.7b", LLAMA, {48, 4096, 32, 8, 14336, 4096}, 32000),
    ROW ("xgen_7b", LLAMA, {32, 4096, 32, 0, 11008, 4096}, 51200),
    ROW ("internlm2_1.8b", BAICHUAN, {24, 2048, 16, 8, 8192, 4096}, 92544),
    ROW ("internlm2_7b", BAICHUAN, {32, 4096, 32, 8, 14336, 4096}, 92544),
    ROW ("internlm2_20b", BAICHUAN, {48, 6144, 48, 8, 16384, 4096}, 92544),
    ROW ("internlm3_8b", LLAMA, {48, 4096, 32, 2, 10240, 4096}, 128512),
    ROW ("minicpm_2b", LLAMA | TIED, {40, 2304, 36, 0, 5760, 4096}, 122753),
    ROW ("minitron_4b_width", LLAMA, {32, 3072, 32, 8, 9216, 4096, 128}, 128256),
    ROW ("h2o_danube_1.8b", LLAMA, {24, 2560, 32, 8, 6912, 4096}, 32000),
    ROW ("h2o_danube3_4b", LLAMA, {24, 3840, 32, 8, 10240, 4096}, 32000),
    ROW ("eurollm_1.7b", LLAMA, {24, 2048, 16, 8, 5632, 4096}, 128000),
    ROW ("eurollm_9b", LLAMA, {42, 4096, 32, 8, 12288, 4096}, 128000),
    ROW ("salamandra_2b", LLAMA, {24, 2048, 16, 0, 5440, 4096}, 256000),
    ROW ("salamandra_7b", LLAMA, {32, 4096, 32, 8, 11008, 4096}, 256000),
    ROW ("smollm2_135m", LLAMA | TIED, {30, 576, 9, 3, 1536, 2048}, 49152),
    ROW ("smollm2_360m", LLAMA | TIED, {32, 960, 15, 5, 2560, 2048}, 49152),
    ROW ("smollm2_1.7b", LLAMA | TIED, {24, 2048, 32, 0, 8192, 2048}, 49152),
    ROW ("smollm3_3b", LLAMA | TIED, {36, 2048, 16, 4, 11008, 4096}, 128256),
    ROW ("falcon3_1b", LLAMA, {18, 2048, 8, 4, 8192, 4096, 256}, 131072),
    ROW ("falcon3_3b", LLAMA, {22, 3072, 12, 4, 9216, 4096, 256}, 131072),
    ROW ("falcon3_7b", LLAMA, {28, 3072, 12, 4, 23040, 4096, 256}, 131072),
    ROW ("falcon3_10b", LLAMA, {40, 3072, 12, 4, 23040, 4096, 256}, 131072),
    ROW ("yi_6b", LLAMA, {32, 4096, 32, 4, 11008, 4096}, 64000),
    ROW ("yi_9b", LLAMA, {48, 4096, 32, 4, 11008, 4096}, 64000),
    ROW ("yi_coder_1.5b", LLAMA, {24, 2048, 16, 0, 5504, 4096}, 64000),
    ROW ("yi_34b", LLAMA, {60, 7168, 56, 8, 20480, 4096}, 64000),
    ROW ("exaone_3.5_2.4b", LLAMA | TIED, {30, 2560, 32, 8, 7168, 4096}, 102400),
    ROW ("exaone_3.5_7.8b", LLAMA, {32, 4096, 32, 8, 14336, 4096}, 102400),
    ROW ("exaone_3.5_32b", LLAMA, {64, 5120, 40, 8, 27392, 4096}, 102400),
    ROW ("granite_3_2b", LLAMA | TIED, {40, 2048, 32, 8, 8192, 4096}, 49155),
    ROW ("granite_3_8b", LLAMA | TIED, {40, 4096, 32, 8, 12800, 4096}, 49155),
    ROW ("granite_3_1b_a400m", LLAMA | TIED, {24, 1024, 16, 8, 512, 4096}, 49155,
         EXPERTS (32, 8, 0)),
    ROW ("granite_3_3b_a800m", LLAMA | TIED, {32, 1536, 24, 8, 512, 4096}, 49155,
         EXPERTS (40, 8, 0)),
    ROW ("powermoe_3b", LLAMA | TIED, {32, 1536, 24, 8, 512, 4096}, 49152,
         EXPERTS (40, 8, 0)),
    ROW ("deepseek_coder_1.3b", LLAMA, {24, 2048, 16, 0, 5504, 4096}, 32256),
    ROW ("deepseek_coder_6.7b", LLAMA, {32, 4096, 32, 0, 11008, 4096}, 32256),
    ROW ("deepseek_coder_33b", LLAMA, {62, 7168, 56, 8, 19200, 4096}, 32256),
    ROW ("deepseek_llm_7b", LLAMA, {30, 4096, 32, 0, 11008, 4096}, 102400),
    ROW ("deepseek_llm_67b", LLAMA, {95, 8192, 64, 8, 22016, 4096}, 102400),
    ROW ("mistral_7b", LLAMA, {32, 4096, 32, 8, 14336, 4096}, 32000),
    ROW ("dictalm2_7b", LLAMA, {32, 4096, 32, 8, 14336, 4096}, 33152),
    ROW ("ministral_8b", LLAMA, {36, 4096, 32, 8, 12288, 4096}, 131072),
    ROW ("mistral_nemo", LLAMA, {40, 5120, 32, 8, 14336, 4096, 128}, 131072),
    ROW ("mistral_nemo_minitron_8b", LLAMA, {40, 4096, 32, 8, 11520, 4096, 128},
         131072),
    ROW ("mistral_small_22b", LLAMA, {56, 6144, 48, 8, 16384, 4096}, 32768),
    ROW ("mistral_small_24b", LLAMA, {40, 5120, 32, 8, 32768, 4096, 128}, 131072),
    ROW ("mistral_large", LLAMA, {88, 12288, 96, 8, 28672, 4096}, 32768),
    ROW ("mixtral_8x7b", LLAMA, {32, 4096, 32, 8, 14336, 4096}, 32000,
         EXPERTS (8, 2, 0)),
    ROW ("mixtral_8x22b", LLAMA, {56, 6144, 48, 8, 16384, 4096}, 32768,
         EXPERTS (8, 2, 0)),
    ROW ("qwen1.5_0.5b", QWEN2 | TIED, {24, 1024, 16, 0, 2816, 4096}, 151936),
    ROW ("qwen1.5_1.8b", QWEN2, {24, 2048, 16, 0, 5504, 4096}, 151936),
    ROW ("qwen1.5_4b", QWEN2, {40, 2560, 20, 0, 6912, 4096}, 151936),
    ROW ("qwen1.5_7b", QWEN2, {32, 4096, 32, 0, 11008, 4096}, 151936),
    ROW ("qwen1.5_14b", QWEN2, {40, 5120, 40, 0, 13696, 4096}, 152064),
    ROW ("qwen1.5_32b", QWEN2, {64, 5120, 40, 8, 27392, 4096}, 152064),
    ROW ("qwen1.5_72b", QWEN2, {80, 8192, 64, 0, 24576, 4096}, 152064),
    ROW ("qwen1.5_110b", QWEN2, {80, 8192, 64, 8, 49152, 4096}, 152064),
    ROW ("codeqwen1.5_7b", QWEN2, {32, 4096, 32, 4, 13440, 4096}, 92416),
    ROW ("qwen1.5_moe_a2.7b", QWEN2, {24, 2048, 16, 0, 5632, 4096}, 151936,
         SHARED_GATE (60, 4, 1408, 4)),
    ROW ("qwen2_0.5b", QWEN2 | TIED, {24, 896, 14, 2, 4864, 4096}, 151936),
    ROW ("qwen2_1.5b", QWEN2 | TIED, {28, 1536, 12, 2, 8960, 4096}, 151936),
    ROW ("qwen2_7b", QWEN2, {28, 3584, 28, 4, 18944, 4096}, 152064),
    ROW ("qwen2_72b", QWEN2, {80, 8192, 64, 8, 29568, 4096}, 152064),
    ROW ("qwen2_57b_a14b", QWEN2, {28, 3584, 28, 4, 18944, 4096}, 151936,
         SHARED_GATE (64, 8, 2560, 8)),
    ROW ("qwen2.5_0.5b", QWEN2 | TIED, {24, 896, 14, 2, 4864, 4096}, 151936),
    ROW ("qwen2.5_1.5b", QWEN2 | TIED, {28, 1536, 12, 2, 8960, 4096}, 151936),
    ROW ("qwen2.5_3b", QWEN2 | TIED, {36, 2048, 16, 2, 11008, 4096}, 151936),
    ROW ("deepseek_r1_distill_qwen_1.5b", QWEN2, {28, 1536, 12, 2, 8960, 4096}, 151936),
    ROW ("qwen2.5_7b", QWEN2, {28, 3584, 28, 4, 18944, 4096}, 152064),
    ROW ("qwen2.5_14b", QWEN2, {48, 5120, 40, 8, 13824, 4096}, 152064),
    ROW ("qwen2.5_32b", QWEN2, {64, 5120, 40, 8, 27648, 4096}, 152064),
    ROW ("qwen2.5_72b", QWEN2, {80, 8192, 64, 8, 29568, 4096}, 152064),
    ROW ("qwen3_0.6b", QWEN3 | TIED, {28, 1024, 16, 8, 3072, 4096, 128}, 151936),
    ROW ("qwen3_1.7b", QWEN3 | TIED, {28, 2048, 16, 8, 6144, 4096}, 151936),
    ROW ("qwen3_4b", QWEN3 | TIED, {36, 2560, 32, 8, 9728, 4096, 128}, 151936),
    ROW ("qwen3_8b", QWEN3, {36, 4096, 32, 8, 12288, 4096}, 151936),
    ROW ("qwen3_14b", QWEN3, {40, 5120, 40, 8, 17408, 4096}, 151936),
    ROW ("qwen3_32b", QWEN3, {64, 5120, 64, 8, 25600, 4096, 128}, 151936),
    ROW ("qwen3_30b_a3b", QWEN3, {48, 2048, 32, 4, 6144, 4096, 128}, 151936,
         EXPERTS (128, 8, 768)),
    ROW ("qwen3_235b_a22b", QWEN3, {94, 4096, 64, 4, 12288, 4096, 128}, 151936,
         EXPERTS (128, 8, 1536)),
    ROW ("qwen3_coder_480b_a35b", QWEN3, {62, 6144, 96, 8, 8192, 4096, 128}, 151936,
         EXPERTS (160, 8, 2560)),
    ROW ("gemma_2b", GEMMA, {18, 2048, 8, 1, 16384, 8192}, 256000),
    ROW ("gemma_7b", GEMMA, {28, 3072, 16, 0, 24576, 8192, 256}, 256000),
    ROW ("gemma_2_2b", GEMMA_2, {26, 2304, 8, 4, 9216, 8192, 256}, 256000,
         NEAR (4096, 2)),
    ROW ("gemma_2_9b", GEMMA_2, {42, 3584, 16, 8, 14336, 8192, 256}, 256000,
         NEAR (4096, 2)),
    ROW ("gemma_2_27b", GEMMA_2, {46, 4608, 32, 16, 36864, 8192, 128}, 256000,
         NEAR (4096, 2)),
    ROW ("gemma_3_270m", GEMMA_3, {18, 640, 4, 1, 2048, 8192, 256}, 262144,
         NEAR (512, 6)),
    ROW ("gemma_3_1b", GEMMA_3, {26, 1152, 4, 1, 6912, 8192, 256}, 262144,
         NEAR (512, 6)),
    ROW ("gemma_3_4b", GEMMA_3, {34, 2560, 8, 4, 10240, 8192, 256}, 262208,
         NEAR (1024, 6)),
    ROW ("gemma_3_12b", GEMMA_3, {48, 3840, 16, 8, 15360, 8192, 256}, 262208,
         NEAR (1024, 6)),
    ROW ("gemma_3_27b", GEMMA_3, {62, 5376, 32, 16, 21504, 8192, 128}, 262208,
         NEAR (1024, 6)),
    ROW ("command_r", COHERE, {40, 8192, 64, 0, 22528, 4096}, 256000),
    ROW ("command_r7b", COHERE, {32, 4096, 32, 8, 14336, 4096}, 256000, NEAR (4096, 4)),
    ROW ("command_r_plus", COHERE | ALL_NORM, {64, 12288, 96, 8, 33792, 4096}, 256000),
    ROW ("command_a", COHERE, {64, 12288, 96, 8, 36864, 4096}, 256000, NEAR (4096, 4)),
    ROW ("aya_expanse_8b", COHERE, {32, 4096, 32, 8, 14336, 4096}, 256000),
    ROW ("aya_expanse_32b", COHERE, {40, 8192, 64, 8, 24576, 4096}, 256000),
    ROW ("chatglm2_6b", GLM, {28, 4096, 32, 2, 13696, 8192}, 65024),
    ROW ("chatglm3_6b", GLM, {28, 4096, 32, 2, 13696, 8192}, 65024),
    ROW ("baichuan_7b", BAICHUAN, {32, 4096, 32, 0, 11008, 4096}, 64000),
    ROW ("baichuan_13b", BAICHUAN_13B, {40, 5120, 40, 0, 13696, 4096}, 64000),
    ROW ("baichuan2_7b", BAICHUAN, {32, 4096, 32, 0, 11008, 4096}, 125696),
    ROW ("baichuan2_13b", BAICHUAN_13B, {40, 5120, 40, 0, 13696, 4096}, 125696),
    ROW ("glm_4_9b", GLM, {40, 4096, 32, 2, 13696, 4096}, 151552),
    ROW ("glm_4_9b_0414", GLM_0414, {40, 4096, 32, 2, 13696, 4096}, 151552),
    ROW ("glm_4_32b_0414", GLM_0414_PLAIN, {61, 6144, 48, 2, 23040, 4096}, 151552),
    ROW ("olmo_1b", OLMO | TIED, {16, 2048, 16, 0, 8192, 2048}, 50304),
    ROW ("olmo_7b", OLMO, {32, 4096, 32, 0, 11008, 2048}, 50304),
    ROW ("olmo_2_1b", OLMO2, {16, 2048, 16, 0, 8192, 4096}, 100352),
    ROW ("olmo_2_7b", OLMO2, {32, 4096, 32, 0, 11008, 4096}, 100352),
    ROW ("olmo_2_13b", OLMO2, {40, 5120, 40, 0, 13824, 4096}, 100352),
    ROW ("olmo_2_32b", OLMO2, {64, 5120, 40, 8, 27648, 4096}, 100352),
    ROW ("olmo_3_7b", OLMO2, {32, 4096, 32, 0, 11008, 4096}, 100278, NEAR (4096, 4)),
    ROW ("olmo_3_32b", OLMO2, {64, 5120, 40, 8, 27648, 4096}, 100278, NEAR (4096, 4)),
    ROW ("olmoe_1b_7b", OLMOE, {16, 2048, 16, 0, 1024, 4096}, 50304,
         EXPERTS (64, 8, 0)),
    ROW ("deepseek_moe_16b", LLAMA, {28, 2048, 16, 0, 10944, 4096}, 102400,
         SHARED (64, 6, 1408, 2), .dense = 1),
    ROW ("deepseek_v2_lite", LLAMA, {27, 2048, 16, 0, 10944, 4096, 192}, 102400, LITE,
         SHARED (64, 6, 1408, 2), .dense = 1),
    ROW ("deepseek_v2", LLAMA, {60, 5120, 128, 0, 12288, 4096, 192}, 102400, FULL,
         SHARED (160, 6, 1536, 2), .dense = 1),
    ROW ("deepseek_v3", LLAMA, {61, 7168, 128, 0, 18432, 4096, 192}, 129280, FULL,
         SHARED (256, 8, 2048, 1), .dense = 3),
    ROW ("kimi_k2", LLAMA, {61, 7168, 64, 0, 18432, 4096, 192}, 163840, FULL,
         SHARED (384, 8, 2048, 1), .dense = 1),
    ROW ("moonlight_16b_a3b", LLAMA, {27, 2048, 16, 0, 11264, 4096, 192}, 163840, LITE,
         SHARED (64, 6, 1408, 2), .dense = 1),
    ROW ("gpt_oss_20b", GPT_OSS, {24, 2880, 64, 8, 2880, 4096, 64}, 201088,
         EXPERTS (32, 4, 0), NEAR (128, 2)),
    ROW ("gpt_oss_120b", GPT_OSS, {36, 2880, 64, 8, 2880, 4096, 64}, 201088,
         EXPERTS (128, 4, 0), NEAR (128, 2)),
    /* End of rows */
};
/* clang-format on */

/* The word embedding, and what makes 'hidden' features of it. */
static void add_embeddings (struct dn_build *build,
                            const struct gpt *row,
                            double vocab,
                            double hidden)
{
    struct dn_shape tokens = build->at;

    dn_build_embedding (build, vocab, row->embed > 0 ? row->embed : hidden);
    if (row->embed > 0)
        dn_build_linear (build, hidden, false);
    if (row->positions > 0) {
        build->at = tokens;
        dn_build_embedding (build,
                            dn_transformer_read_positions (build, row->positions)
                                + (row->traits & PADDED ? 2 : 0),
                            hidden);
        dn_build_add (build);
    }
    if (row->traits & EMBED_NORM)
        dn_build_norm (build, dn_norm_of (row->traits));
    if (row->traits & EMBED_DROPOUT)
        dn_build_dropout (build);
}

/* Hugging Face's classifiers score every token, and take the score of the last. */
static void add_head (struct dn_build *build, const struct gpt *row, double vocab)
{
    bool bias = (row->traits & BIAS_HEAD) != 0;
    enum dn_head head = dn_build_head (
        build, DN_HEAD_LM, DN_HEAD_BIT (CLASSIFIER) | DN_HEAD_BIT (NONE));

    if (row->embed > 0)
        dn_build_linear (build, row->embed, false);
    if (head == DN_HEAD_NONE)
        return;
    if (head == DN_HEAD_CLASSIFIER)
        dn_build_linear (build, DN_WANT (build, classes, 2), false);
    else
        dn_build_output (
            build, vocab, bias, DN_WANT (build, tied, row->traits & TIED ? 1 : 0) > 0);
    if (row->traits & CAPPED && head == DN_HEAD_LM) {
        dn_build_elementwise (build, 1);
        dn_build_activation (build, DN_ACTIVATION_SIGMOID);
        dn_build_elementwise (build, 1);
    }
    dn_build_loss (build);
}

static struct dn_transformer read_body (struct dn_build *build, const struct gpt *row)
{
    const unsigned llama = GATED | ROTARY;
    struct dn_transformer body = {.traits = row->traits, .causal = true};

    /* Touvron et al., arXiv 2302.13971, is the first open network with both. */
    body.recent = (row->traits & llama) == llama;
    dn_transformer_sizes_read (build, &row->sizes, &body);
    /* Megatron fuses bias and GELU into one kernel. Who trains a GPT of other sizes
     * does not use transformers' GELU of eight kernels, but PyTorch's.
     */
    if (build->spec->framework == DN_FRAMEWORK_MEGATRON)
        body.traits &= ~(unsigned) (RELU | GELU_TANH);
    else if (body.layers != row->sizes.layers || body.hidden != row->sizes.hidden)
        body.traits &= ~(unsigned) GELU_TANH;
    body.window = DN_WANT (build, window, row->window);
    if (row->latent) {
        body.latent = row->latent->rank;
        body.query_rank = row->latent->query_rank;
        body.rope_dim = row->latent->rope_dim;
        body.value_dim = row->latent->value_dim;
    }
    return body;
}

/* 'n' equal blocks; 'experts' is NULL where they are not mixtures. */
static void add_equal (struct dn_build *build,
                       const struct dn_transformer *body,
                       double n,
                       const struct dn_experts *experts)
{
    DN_REPEAT (build, n) {
        if (experts) {
            dn_transformer_add_attention (build, body, NULL);
            dn_experts_add (build, body, experts);
        } else {
            dn_transformer_add_block (build, body);
        }
    }
}

/* 'n' blocks, of which some attend to all tokens. */
static void add_some (struct dn_build *build,
                      const struct gpt *row,
                      const struct dn_transformer *body,
                      double n,
                      const struct dn_experts *experts)
{
    struct dn_transformer wide = *body;
    double n_wide = row->period > 0 ? floor (n / row->period) : 0;

    wide.window = 0;
    add_equal (build, body, n - n_wide, experts);
    add_equal (build, &wide, n_wide, experts);
}

/* The first 'dense' blocks are not mixtures. */
static void add_blocks (struct dn_build *build,
                        const struct gpt *row,
                        const struct dn_transformer *body)
{
    struct dn_experts experts = row->experts;
    double dense;

    experts.router_bias = (row->traits & BIAS_ROUTER) != 0;
    dn_experts_read (build, &experts);
    if (experts.n <= 0) {
        dn_build_blocks (build, body->layers);
        add_some (build, row, body, body->layers, NULL);
        return;
    }
    dense = DN_WANT (build, dense_layers, fmin (row->dense, body->layers));
    if (dense > body->layers)
        dn_build_refuse (
            build, net_most, "dense_layers", dense, "layers", body->layers);
    /* Nothing has the inner size of the dense part. */
    if (dense <= 0 && experts.ffn > 0)
        build->wanted = dn_keyset_minus (build->wanted, DN_KEYSET (ffn));
    dn_build_blocks (build, body->layers);
    add_some (build, row, body, dense, NULL);
    add_some (build, row, body, body->layers - dense, &experts);
}

static DN_COLD void build_gpt (struct dn_build *build, const void *data)
{
    const struct gpt *row = data;
    struct dn_transformer body = read_body (build, row);
    double vocab = DN_WANT (build, vocab, row->vocab);

    dn_build_tokens (build, body.tokens);
    add_embeddings (build, row, vocab, body.hidden);
    add_blocks (build, row, &body);
    if (row->traits & (BEFORE | INSIDE))
        dn_build_norm (build, dn_norm_of (row->traits));
    add_head (build, row, vocab);
}

const struct dn_zoo_family dn_zoo_gpt = DN_ZOO_FAMILY ("gpt", rows, build_gpt);
