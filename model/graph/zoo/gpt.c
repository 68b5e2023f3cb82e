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

/* Layers that have a bias. */
enum bias {
    BIAS_QKV = 1,
    BIAS_OUT = 2, /* of the attention */
    BIAS_FFN = 4,
    BIAS_HEAD = 8,
    BIAS_ROUTER = 16,
    BIAS_BLOCK = BIAS_QKV | BIAS_OUT | BIAS_FFN
};

/* Where a block normalises. */
enum norms {
    NORMS_BEFORE, /* its two parts */
    NORMS_AROUND, /* before them, and after them before their sums */
    NORMS_INSIDE, /* after them, before their sums */
    NORMS_AFTER   /* their sums; none after the last block */
};

struct style {
    enum dn_norm norm;
    enum norms norms;
    enum dn_block block;
    enum dn_activation activation;
    unsigned biases; /* of enum bias */
    bool gated;
    bool fused_gate;
    bool fused; /* query, key and value in one layer */
    bool rotary;
    double rotary_share; /* of a head's features; 0: all */
    enum dn_query_norm query_norm;
    bool capped; /* the scores, and those of the words */
    bool sinks;
    bool tied; /* the head has the weights of the word embedding */
    bool embedding_dropout;
    bool dropout;           /* after attention and feed-forward */
    bool attention_dropout; /* of probabilities */
    bool embedding_norm;
    double extra_positions; /* rows of the position table that no token has */
};

/* Radford et al. 2019; transformers.GPT2LMHeadModel */
static const struct style gpt2 = {.norm = DN_NORM_LAYER,
                                  .activation = DN_ACTIVATION_GELU_TANH,
                                  .biases = BIAS_BLOCK,
                                  .fused = true,
                                  .tied = true,
                                  .embedding_dropout = true,
                                  .dropout = true,
                                  .attention_dropout = true};

/* Dey et al., arXiv 2304.03208: no dropout; transformers.GPT2LMHeadModel */
static const struct style cerebras = {.norm = DN_NORM_LAYER,
                                      .activation = DN_ACTIVATION_GELU,
                                      .biases = BIAS_BLOCK,
                                      .fused = true,
                                      .tied = true};

/* Black et al. 2021; transformers.GPTNeoForCausalLM */
static const struct style gpt_neo = {.norm = DN_NORM_LAYER,
                                     .activation = DN_ACTIVATION_GELU_TANH,
                                     .biases = BIAS_OUT | BIAS_FFN,
                                     .tied = true};

/* Li et al., arXiv 2305.06161; transformers.GPTBigCodeForCausalLM */
static const struct style starcoder = {.norm = DN_NORM_LAYER,
                                       .activation = DN_ACTIVATION_GELU,
                                       .biases = BIAS_BLOCK,
                                       .fused = true,
                                       .tied = true,
                                       .embedding_dropout = true,
                                       .dropout = true,
                                       .attention_dropout = true};

/* Zhang et al., arXiv 2205.01068; transformers.OPTForCausalLM. Two positions are
 * reserved for padding.
 */
static const struct style opt = {.norm = DN_NORM_LAYER,
                                 .activation = DN_ACTIVATION_RELU,
                                 .biases = BIAS_BLOCK,
                                 .tied = true,
                                 .dropout = true,
                                 .extra_positions = 2};

/* The same with normalisation after the sums: the 350m one */
static const struct style opt_after = {.norm = DN_NORM_LAYER,
                                       .norms = NORMS_AFTER,
                                       .activation = DN_ACTIVATION_RELU,
                                       .biases = BIAS_BLOCK,
                                       .tied = true,
                                       .dropout = true,
                                       .extra_positions = 2};

/* Le Scao et al., arXiv 2211.05100; transformers.BloomForCausalLM */
static const struct style bloom = {.norm = DN_NORM_LAYER,
                                   .activation = DN_ACTIVATION_GELU,
                                   .biases = BIAS_BLOCK,
                                   .fused = true,
                                   .tied = true,
                                   .embedding_norm = true};

/* MosaicML 2023; transformers.MptForCausalLM */
static const struct style mpt = {.norm = DN_NORM_SCALE,
                                 .activation = DN_ACTIVATION_GELU,
                                 .fused = true,
                                 .tied = true};

/* Almazrouei et al., arXiv 2311.16867; transformers.FalconForCausalLM */
static const struct style falcon = {.norm = DN_NORM_LAYER,
                                    .block = DN_BLOCK_PARALLEL,
                                    .activation = DN_ACTIVATION_GELU,
                                    .fused = true,
                                    .rotary = true,
                                    .tied = true};
static const struct style falcon_pair = {.norm = DN_NORM_LAYER,
                                         .block = DN_BLOCK_PARALLEL_PAIR,
                                         .activation = DN_ACTIVATION_GELU,
                                         .fused = true,
                                         .rotary = true,
                                         .tied = true};

/* Black et al., arXiv 2204.06745, Biderman et al., 2304.01373;
 * transformers.GPTNeoXForCausalLM
 */
static const struct style neox = {.norm = DN_NORM_LAYER,
                                  .block = DN_BLOCK_PARALLEL_PAIR,
                                  .activation = DN_ACTIVATION_GELU,
                                  .biases = BIAS_BLOCK,
                                  .fused = true,
                                  .rotary = true,
                                  .rotary_share = 0.25};

/* Wang and Komatsuzaki 2021; transformers.GPTJForCausalLM: 64 features are rotated. */
static const struct style gpt_j = {.norm = DN_NORM_LAYER,
                                   .block = DN_BLOCK_PARALLEL,
                                   .activation = DN_ACTIVATION_GELU_TANH,
                                   .biases = BIAS_FFN | BIAS_HEAD,
                                   .rotary = true,
                                   .rotary_share = 0.25};

/* Nijkamp et al., arXiv 2203.13474; transformers.CodeGenForCausalLM */
static const struct style codegen = {.norm = DN_NORM_LAYER,
                                     .block = DN_BLOCK_PARALLEL,
                                     .activation = DN_ACTIVATION_GELU_TANH,
                                     .biases = BIAS_FFN | BIAS_HEAD,
                                     .fused = true,
                                     .rotary = true,
                                     .rotary_share = 0.5};

/* Li et al., arXiv 2309.05463; transformers.PhiForCausalLM */
static const struct style phi = {.norm = DN_NORM_LAYER,
                                 .block = DN_BLOCK_PARALLEL,
                                 .activation = DN_ACTIVATION_GELU_TANH,
                                 .biases = BIAS_BLOCK | BIAS_HEAD,
                                 .rotary = true,
                                 .rotary_share = 0.5};

/* Abdin et al., arXiv 2404.14219, 2412.08905; transformers.Phi3ForCausalLM */
static const struct style phi_3 = {.norm = DN_NORM_RMS,
                                   .activation = DN_ACTIVATION_GELU,
                                   .gated = true,
                                   .fused = true,
                                   .fused_gate = true,
                                   .rotary = true};
static const struct style phi_4_mini = {.norm = DN_NORM_RMS,
                                        .activation = DN_ACTIVATION_GELU,
                                        .gated = true,
                                        .fused = true,
                                        .fused_gate = true,
                                        .rotary = true,
                                        .rotary_share = 0.75};

/* Abdin et al., arXiv 2404.14219: a mixture; transformers.PhimoeForCausalLM */
static const struct style phi_moe = {.norm = DN_NORM_LAYER,
                                     .activation = DN_ACTIVATION_GELU,
                                     .biases = BIAS_QKV | BIAS_OUT | BIAS_HEAD,
                                     .gated = true,
                                     .rotary = true};

/* Lozhkov et al., arXiv 2402.19173; transformers.Starcoder2ForCausalLM */
static const struct style starcoder2 = {.norm = DN_NORM_LAYER,
                                        .activation = DN_ACTIVATION_GELU,
                                        .biases = BIAS_BLOCK,
                                        .rotary = true,
                                        .embedding_dropout = true,
                                        .dropout = true,
                                        .attention_dropout = true};

/* Tow et al. 2023, Bellagente et al., arXiv 2402.17834;
 * transformers.StableLmForCausalLM
 */
static const struct style stablelm = {.norm = DN_NORM_LAYER,
                                      .activation = DN_ACTIVATION_GELU,
                                      .gated = true,
                                      .rotary = true,
                                      .rotary_share = 0.25};
static const struct style stablelm_2 = {.norm = DN_NORM_LAYER,
                                        .activation = DN_ACTIVATION_GELU,
                                        .biases = BIAS_QKV,
                                        .gated = true,
                                        .rotary = true,
                                        .rotary_share = 0.25};

static const struct style stablelm_12b = {.norm = DN_NORM_LAYER,
                                          .block = DN_BLOCK_PARALLEL,
                                          .activation = DN_ACTIVATION_GELU,
                                          .gated = true,
                                          .rotary = true,
                                          .rotary_share = 0.25,
                                          .query_norm = DN_QUERY_NORM_ALL};

/* Touvron et al., arXiv 2302.13971; transformers.LlamaForCausalLM */
static const struct style llama = {.norm = DN_NORM_RMS,
                                   .activation = DN_ACTIVATION_GELU,
                                   .gated = true,
                                   .rotary = true};

/* Yang et al., arXiv 2407.10671; transformers.Qwen2ForCausalLM */
static const struct style qwen2 = {.norm = DN_NORM_RMS,
                                   .activation = DN_ACTIVATION_GELU,
                                   .biases = BIAS_QKV,
                                   .gated = true,
                                   .rotary = true};

/* Yang et al., arXiv 2505.09388; transformers.Qwen3ForCausalLM */
static const struct style qwen3 = {.norm = DN_NORM_RMS,
                                   .activation = DN_ACTIVATION_GELU,
                                   .gated = true,
                                   .rotary = true,
                                   .query_norm = DN_QUERY_NORM_HEAD};

/* Mesnard et al., arXiv 2403.08295; transformers.GemmaForCausalLM */
static const struct style gemma = {.norm = DN_NORM_RMS,
                                   .activation = DN_ACTIVATION_GELU,
                                   .gated = true,
                                   .rotary = true,
                                   .tied = true};

/* Riviere et al., arXiv 2408.00118; transformers.Gemma2ForCausalLM */
static const struct style gemma_2 = {.norm = DN_NORM_RMS,
                                     .norms = NORMS_AROUND,
                                     .activation = DN_ACTIVATION_GELU,
                                     .gated = true,
                                     .rotary = true,
                                     .capped = true,
                                     .tied = true};

/* Kamath et al., arXiv 2503.19786; transformers.Gemma3ForCausalLM */
static const struct style gemma_3 = {.norm = DN_NORM_RMS,
                                     .norms = NORMS_AROUND,
                                     .activation = DN_ACTIVATION_GELU,
                                     .gated = true,
                                     .rotary = true,
                                     .query_norm = DN_QUERY_NORM_HEAD,
                                     .tied = true};

/* Groeneveld et al., arXiv 2402.00838; transformers.OlmoForCausalLM */
static const struct style olmo = {.norm = DN_NORM_PLAIN,
                                  .activation = DN_ACTIVATION_GELU,
                                  .gated = true,
                                  .rotary = true};

/* OLMo et al., arXiv 2501.00656; transformers.Olmo2ForCausalLM, Olmo3ForCausalLM */
static const struct style olmo2 = {.norm = DN_NORM_RMS,
                                   .norms = NORMS_INSIDE,
                                   .activation = DN_ACTIVATION_GELU,
                                   .gated = true,
                                   .rotary = true,
                                   .query_norm = DN_QUERY_NORM_ALL};

/* Cohere 2024; transformers.CohereForCausalLM, Cohere2ForCausalLM */
static const struct style cohere = {.norm = DN_NORM_SCALE,
                                    .block = DN_BLOCK_PARALLEL,
                                    .activation = DN_ACTIVATION_GELU,
                                    .gated = true,
                                    .rotary = true,
                                    .tied = true};

/* GLM Team, arXiv 2406.12793; transformers.GlmForCausalLM */
static const struct style glm = {.norm = DN_NORM_RMS,
                                 .activation = DN_ACTIVATION_GELU,
                                 .biases = BIAS_QKV,
                                 .gated = true,
                                 .fused_gate = true,
                                 .rotary = true,
                                 .rotary_share = 0.5};

/* GLM-4-0414; transformers.Glm4ForCausalLM. The 32b one has no bias. */
static const struct style glm_0414 = {.norm = DN_NORM_RMS,
                                      .norms = NORMS_AROUND,
                                      .activation = DN_ACTIVATION_GELU,
                                      .biases = BIAS_QKV,
                                      .gated = true,
                                      .fused_gate = true,
                                      .rotary = true,
                                      .rotary_share = 0.5};
static const struct style glm_0414_plain = {.norm = DN_NORM_RMS,
                                            .norms = NORMS_AROUND,
                                            .activation = DN_ACTIVATION_GELU,
                                            .gated = true,
                                            .fused_gate = true,
                                            .rotary = true,
                                            .rotary_share = 0.5};

/* Muennighoff et al., arXiv 2409.02060; transformers.OlmoeForCausalLM */
static const struct style olmoe = {.norm = DN_NORM_RMS,
                                   .activation = DN_ACTIVATION_GELU,
                                   .gated = true,
                                   .rotary = true,
                                   .query_norm = DN_QUERY_NORM_ALL};

/* OpenAI, arXiv 2508.10925; transformers.GptOssForCausalLM */
static const struct style gpt_oss = {.norm = DN_NORM_RMS,
                                     .activation = DN_ACTIVATION_GELU,
                                     .biases = BIAS_BLOCK | BIAS_ROUTER,
                                     .gated = true,
                                     .rotary = true,
                                     .sinks = true};

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
    struct dn_zoo_entry entry;
    const struct style *style;
    struct dn_transformer_sizes sizes;
    double vocab;
    double positions;            /* rows of a learned table; 0: none */
    double head_dim;             /* 0: hidden / heads */
    double embed;                /* features of the word embedding; 0: hidden */
    bool tied;                   /* where the style leaves it open */
    const struct latent *latent; /* NULL: no multi-latent attention */
    struct dn_experts experts;   /* of all blocks but the first 'dense' */
    double dense;
    double window; /* tokens that a token attends to; 0: all */
    double period; /* of so many blocks the last one attends to all; 0: none does */
};

#define ROW(name, ...)                                                                 \
    {                                                                                  \
        .entry = {name, "gpt"}, __VA_ARGS__                                            \
    }

#define HEAD_DIM(n) .head_dim = (n)
#define TIED        .tied = true
/* tokens of a window, blocks for each one without it */
#define WINDOW(n, blocks) .window = (n), .period = (blocks)
/* experts, visited, inner size of one (0: ffn) */
#define EXPERTS(number, k, inner)                                                      \
    .experts = {.n = (number), .top_k = (k), .ffn = (inner)}

/* style, {layers, hidden, heads, heads of keys, ffn, tokens}, vocabulary, positions */
static const struct gpt rows[] = {
    ROW ("gpt2", &gpt2, {12, 768, 12, 0, 0, 1024}, 50257, 1024),
    ROW ("gpt2_medium", &gpt2, {24, 1024, 16, 0, 0, 1024}, 50257, 1024),
    ROW ("gpt2_large", &gpt2, {36, 1280, 20, 0, 0, 1024}, 50257, 1024),
    ROW ("gpt2_xl", &gpt2, {48, 1600, 25, 0, 0, 1024}, 50257, 1024),
    ROW ("distilgpt2", &gpt2, {6, 768, 12, 0, 0, 1024}, 50257, 1024),
    /* Brown et al., arXiv 2005.14165, table 2.1, with GPT-2's structure */
    ROW ("gpt3_xl", &gpt2, {24, 2048, 16, 0, 0, 2048}, 50257, 2048),
    ROW ("gpt3_2.7b", &gpt2, {32, 2560, 32, 0, 0, 2048}, 50257, 2048),
    ROW ("gpt3_6.7b", &gpt2, {32, 4096, 32, 0, 0, 2048}, 50257, 2048),
    ROW ("gpt3_175b", &gpt2, {96, 12288, 96, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_111m", &cerebras, {10, 768, 12, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_256m", &cerebras, {14, 1088, 17, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_590m", &cerebras, {18, 1536, 12, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_1.3b", &cerebras, {24, 2048, 16, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_2.7b", &cerebras, {32, 2560, 32, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_6.7b", &cerebras, {32, 4096, 32, 0, 0, 2048}, 50257, 2048),
    ROW ("cerebras_gpt_13b", &cerebras, {40, 5120, 40, 0, 0, 2048}, 50257, 2048),
    ROW ("gpt_neo_125m", &gpt_neo, {12, 768, 12, 0, 0, 2048}, 50257, 2048),
    ROW ("gpt_neo_1.3b", &gpt_neo, {24, 2048, 16, 0, 0, 2048}, 50257, 2048),
    ROW ("gpt_neo_2.7b", &gpt_neo, {32, 2560, 20, 0, 0, 2048}, 50257, 2048),
    ROW ("santacoder", &starcoder, {24, 2048, 16, 1, 0, 2048}, 49280, 2048),
    ROW ("starcoderbase_1b", &starcoder, {24, 2048, 16, 1, 0, 8192}, 49152, 8192),
    ROW ("starcoderbase_3b", &starcoder, {36, 2816, 22, 1, 0, 8192}, 49152, 8192),
    ROW ("starcoderbase_7b", &starcoder, {42, 4096, 32, 1, 0, 8192}, 49152, 8192),
    ROW ("starcoder", &starcoder, {40, 6144, 48, 1, 0, 8192}, 49152, 8192),
    ROW ("opt_125m", &opt, {12, 768, 12, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_350m", &opt_after, {24, 1024, 16, 0, 0, 2048}, 50272, 2048, .embed = 512),
    ROW ("opt_1.3b", &opt, {24, 2048, 32, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_2.7b", &opt, {32, 2560, 32, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_6.7b", &opt, {32, 4096, 32, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_13b", &opt, {40, 5120, 40, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_30b", &opt, {48, 7168, 56, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_66b", &opt, {64, 9216, 72, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_175b", &opt, {96, 12288, 96, 0, 0, 2048}, 50272, 2048),
    ROW ("bloom_560m", &bloom, {24, 1024, 16, 0, 0, 2048}, 250880),
    ROW ("bloom_1b1", &bloom, {24, 1536, 16, 0, 0, 2048}, 250880),
    ROW ("bloom_1b7", &bloom, {24, 2048, 16, 0, 0, 2048}, 250880),
    ROW ("bloom_3b", &bloom, {30, 2560, 32, 0, 0, 2048}, 250880),
    ROW ("bloom_7b1", &bloom, {30, 4096, 32, 0, 0, 2048}, 250880),
    ROW ("bloom_176b", &bloom, {70, 14336, 112, 0, 0, 2048}, 250880),
    ROW ("mpt_7b", &mpt, {32, 4096, 32, 0, 0, 2048}, 50432),
    ROW ("mpt_30b", &mpt, {48, 7168, 64, 0, 0, 8192}, 50432),
    ROW ("falcon_7b", &falcon, {32, 4544, 71, 1, 0, 2048}, 65024),
    ROW ("falcon_40b", &falcon_pair, {60, 8192, 128, 8, 0, 2048}, 65024),
    ROW ("falcon_180b", &falcon_pair, {80, 14848, 232, 8, 0, 2048}, 65024),
    ROW ("pythia_14m", &neox, {6, 128, 4, 0, 0, 2048}, 50304),
    ROW ("pythia_31m", &neox, {6, 256, 8, 0, 0, 2048}, 50304),
    ROW ("pythia_70m", &neox, {6, 512, 8, 0, 0, 2048}, 50304),
    ROW ("pythia_160m", &neox, {12, 768, 12, 0, 0, 2048}, 50304),
    ROW ("pythia_410m", &neox, {24, 1024, 16, 0, 0, 2048}, 50304),
    ROW ("pythia_1b", &neox, {16, 2048, 8, 0, 0, 2048}, 50304),
    ROW ("pythia_1.4b", &neox, {24, 2048, 16, 0, 0, 2048}, 50304),
    ROW ("pythia_2.8b", &neox, {32, 2560, 32, 0, 0, 2048}, 50304),
    ROW ("pythia_6.9b", &neox, {32, 4096, 32, 0, 0, 2048}, 50432),
    ROW ("pythia_12b", &neox, {36, 5120, 40, 0, 0, 2048}, 50688),
    ROW ("gpt_neox_20b", &neox, {44, 6144, 64, 0, 0, 2048}, 50432),
    ROW ("stablelm_base_alpha_3b", &neox, {16, 4096, 32, 0, 0, 4096}, 50688),
    ROW ("stablelm_base_alpha_7b", &neox, {16, 6144, 48, 0, 0, 4096}, 50432),
    ROW ("gpt_j_6b", &gpt_j, {28, 4096, 16, 0, 0, 2048}, 50400),
    ROW ("codegen_350m", &codegen, {20, 1024, 16, 0, 0, 2048}, 51200),
    ROW ("codegen_2b", &codegen, {32, 2560, 32, 0, 0, 2048}, 51200),
    ROW ("codegen_6b", &codegen, {33, 4096, 16, 0, 0, 2048}, 51200),
    ROW ("codegen_16b", &codegen, {34, 6144, 24, 0, 0, 2048}, 51200),
    ROW ("phi_1", &phi, {24, 2048, 32, 0, 0, 2048}, 51200),
    ROW ("phi_1.5", &phi, {24, 2048, 32, 0, 0, 2048}, 51200),
    ROW ("phi_2", &phi, {32, 2560, 32, 0, 0, 2048}, 51200),
    ROW ("phi_3_mini", &phi_3, {32, 3072, 32, 0, 8192, 4096}, 32064),
    ROW ("phi_3.5_mini", &phi_3, {32, 3072, 32, 0, 8192, 4096}, 32064),
    ROW ("phi_3_medium", &phi_3, {40, 5120, 40, 10, 17920, 4096}, 32064),
    ROW ("phi_4", &phi_3, {40, 5120, 40, 10, 17920, 4096}, 100352),
    ROW ("phi_4_mini", &phi_4_mini, {32, 3072, 24, 8, 8192, 4096}, 200064, TIED),
    ROW ("phi_3.5_moe",
         &phi_moe,
         {32, 4096, 32, 8, 6400, 4096},
         32064,
         EXPERTS (16, 2, 0)),
    ROW ("starcoder2_3b",
         &starcoder2,
         {30, 3072, 24, 2, 12288, 4096},
         49152,
         TIED,
         WINDOW (4096, 0)),
    ROW ("starcoder2_7b",
         &starcoder2,
         {32, 4608, 36, 4, 18432, 4096},
         49152,
         WINDOW (4096, 0)),
    ROW ("starcoder2_15b",
         &starcoder2,
         {40, 6144, 48, 4, 24576, 4096},
         49152,
         WINDOW (4096, 0)),
    ROW ("stablelm_3b_4e1t", &stablelm, {32, 2560, 32, 0, 6912, 4096}, 50304),
    ROW ("stablelm_2_12b", &stablelm_12b, {40, 5120, 32, 8, 13824, 4096}, 100352),
    ROW ("stablelm_2_1_6b", &stablelm_2, {24, 2048, 32, 0, 5632, 4096}, 100352),
    ROW ("llama_7b", &llama, {32, 4096, 32, 0, 11008, 2048}, 32000),
    ROW ("llama_13b", &llama, {40, 5120, 40, 0, 13824, 2048}, 32000),
    ROW ("llama_30b", &llama, {60, 6656, 52, 0, 17920, 2048}, 32000),
    ROW ("llama_65b", &llama, {80, 8192, 64, 0, 22016, 2048}, 32000),
    ROW ("llama_2_7b", &llama, {32, 4096, 32, 0, 11008, 4096}, 32000),
    ROW ("llama_2_13b", &llama, {40, 5120, 40, 0, 13824, 4096}, 32000),
    ROW ("llama_2_70b", &llama, {80, 8192, 64, 8, 28672, 4096}, 32000),
    ROW ("llama_3_8b", &llama, {32, 4096, 32, 8, 14336, 8192}, 128256),
    ROW ("llama_3_70b", &llama, {80, 8192, 64, 8, 28672, 8192}, 128256),
    ROW ("llama_3.1_8b", &llama, {32, 4096, 32, 8, 14336, 8192}, 128256),
    ROW ("llama_3.1_70b", &llama, {80, 8192, 64, 8, 28672, 8192}, 128256),
    ROW ("llama_3.1_405b", &llama, {126, 16384, 128, 8, 53248, 8192}, 128256),
    ROW ("llama_3.2_1b", &llama, {16, 2048, 32, 8, 8192, 8192}, 128256, TIED),
    ROW ("llama_3.2_3b", &llama, {28, 3072, 24, 8, 8192, 8192}, 128256, TIED),
    ROW ("llama_3.3_70b", &llama, {80, 8192, 64, 8, 28672, 8192}, 128256),
    ROW ("codellama_34b", &llama, {48, 8192, 64, 8, 22016, 4096}, 32000),
    ROW ("open_llama_3b", &llama, {26, 3200, 32, 0, 8640, 2048}, 32000),
    ROW ("tinyllama_1.1b", &llama, {22, 2048, 32, 4, 5632, 2048}, 32000),
    ROW ("smollm2_135m", &llama, {30, 576, 9, 3, 1536, 2048}, 49152, TIED),
    ROW ("smollm2_360m", &llama, {32, 960, 15, 5, 2560, 2048}, 49152, TIED),
    ROW ("smollm2_1.7b", &llama, {24, 2048, 32, 0, 8192, 2048}, 49152, TIED),
    ROW ("smollm3_3b", &llama, {36, 2048, 16, 4, 11008, 4096}, 128256, TIED),
    ROW ("falcon3_1b", &llama, {18, 2048, 8, 4, 8192, 4096}, 131072, HEAD_DIM (256)),
    ROW ("falcon3_3b", &llama, {22, 3072, 12, 4, 9216, 4096}, 131072, HEAD_DIM (256)),
    ROW ("falcon3_7b", &llama, {28, 3072, 12, 4, 23040, 4096}, 131072, HEAD_DIM (256)),
    ROW ("falcon3_10b", &llama, {40, 3072, 12, 4, 23040, 4096}, 131072, HEAD_DIM (256)),
    ROW ("yi_6b", &llama, {32, 4096, 32, 4, 11008, 4096}, 64000),
    ROW ("yi_9b", &llama, {48, 4096, 32, 4, 11008, 4096}, 64000),
    ROW ("yi_34b", &llama, {60, 7168, 56, 8, 20480, 4096}, 64000),
    ROW ("exaone_3.5_2.4b", &llama, {30, 2560, 32, 8, 7168, 4096}, 102400, TIED),
    ROW ("exaone_3.5_7.8b", &llama, {32, 4096, 32, 8, 14336, 4096}, 102400),
    ROW ("exaone_3.5_32b", &llama, {64, 5120, 40, 8, 27392, 4096}, 102400),
    ROW ("granite_3_2b", &llama, {40, 2048, 32, 8, 8192, 4096}, 49155, TIED),
    ROW ("granite_3_8b", &llama, {40, 4096, 32, 8, 12800, 4096}, 49155, TIED),
    ROW ("deepseek_coder_1.3b", &llama, {24, 2048, 16, 0, 5504, 4096}, 32256),
    ROW ("deepseek_coder_6.7b", &llama, {32, 4096, 32, 0, 11008, 4096}, 32256),
    ROW ("deepseek_coder_33b", &llama, {62, 7168, 56, 8, 19200, 4096}, 32256),
    ROW ("deepseek_llm_7b", &llama, {30, 4096, 32, 0, 11008, 4096}, 102400),
    ROW ("deepseek_llm_67b", &llama, {95, 8192, 64, 8, 22016, 4096}, 102400),
    ROW ("mistral_7b", &llama, {32, 4096, 32, 8, 14336, 4096}, 32000),
    ROW ("ministral_8b", &llama, {36, 4096, 32, 8, 12288, 4096}, 131072),
    ROW ("mistral_nemo",
         &llama,
         {40, 5120, 32, 8, 14336, 4096},
         131072,
         HEAD_DIM (128)),
    ROW ("mistral_small_22b", &llama, {56, 6144, 48, 8, 16384, 4096}, 32768),
    ROW ("mistral_small_24b",
         &llama,
         {40, 5120, 32, 8, 32768, 4096},
         131072,
         HEAD_DIM (128)),
    ROW ("mistral_large", &llama, {88, 12288, 96, 8, 28672, 4096}, 32768),
    ROW ("mixtral_8x7b",
         &llama,
         {32, 4096, 32, 8, 14336, 4096},
         32000,
         EXPERTS (8, 2, 0)),
    ROW ("mixtral_8x22b",
         &llama,
         {56, 6144, 48, 8, 16384, 4096},
         32768,
         EXPERTS (8, 2, 0)),
    ROW ("qwen1.5_0.5b", &qwen2, {24, 1024, 16, 0, 2816, 4096}, 151936, TIED),
    ROW ("qwen1.5_1.8b", &qwen2, {24, 2048, 16, 0, 5504, 4096}, 151936),
    ROW ("qwen1.5_4b", &qwen2, {40, 2560, 20, 0, 6912, 4096}, 151936),
    ROW ("qwen1.5_7b", &qwen2, {32, 4096, 32, 0, 11008, 4096}, 151936),
    ROW ("qwen1.5_14b", &qwen2, {40, 5120, 40, 0, 13696, 4096}, 152064),
    ROW ("qwen1.5_32b", &qwen2, {64, 5120, 40, 8, 27392, 4096}, 152064),
    ROW ("qwen1.5_72b", &qwen2, {80, 8192, 64, 0, 24576, 4096}, 152064),
    ROW ("qwen1.5_110b", &qwen2, {80, 8192, 64, 8, 49152, 4096}, 152064),
    ROW ("qwen1.5_moe_a2.7b",
         &qwen2,
         {24, 2048, 16, 0, 5632, 4096},
         151936,
         .experts =
             {.n = 60, .top_k = 4, .ffn = 1408, .shared = 4, .shared_gate = true}),
    ROW ("qwen2_0.5b", &qwen2, {24, 896, 14, 2, 4864, 4096}, 151936, TIED),
    ROW ("qwen2_1.5b", &qwen2, {28, 1536, 12, 2, 8960, 4096}, 151936, TIED),
    ROW ("qwen2_7b", &qwen2, {28, 3584, 28, 4, 18944, 4096}, 152064),
    ROW ("qwen2_72b", &qwen2, {80, 8192, 64, 8, 29568, 4096}, 152064),
    ROW ("qwen2_57b_a14b",
         &qwen2,
         {28, 3584, 28, 4, 18944, 4096},
         151936,
         .experts =
             {.n = 64, .top_k = 8, .ffn = 2560, .shared = 8, .shared_gate = true}),
    ROW ("qwen2.5_0.5b", &qwen2, {24, 896, 14, 2, 4864, 4096}, 151936, TIED),
    ROW ("qwen2.5_1.5b", &qwen2, {28, 1536, 12, 2, 8960, 4096}, 151936, TIED),
    ROW ("qwen2.5_3b", &qwen2, {36, 2048, 16, 2, 11008, 4096}, 151936, TIED),
    ROW ("deepseek_r1_distill_qwen_1.5b",
         &qwen2,
         {28, 1536, 12, 2, 8960, 4096},
         151936),
    ROW ("qwen2.5_7b", &qwen2, {28, 3584, 28, 4, 18944, 4096}, 152064),
    ROW ("qwen2.5_14b", &qwen2, {48, 5120, 40, 8, 13824, 4096}, 152064),
    ROW ("qwen2.5_32b", &qwen2, {64, 5120, 40, 8, 27648, 4096}, 152064),
    ROW ("qwen2.5_72b", &qwen2, {80, 8192, 64, 8, 29568, 4096}, 152064),
    ROW ("qwen3_0.6b",
         &qwen3,
         {28, 1024, 16, 8, 3072, 4096},
         151936,
         HEAD_DIM (128),
         TIED),
    ROW ("qwen3_1.7b", &qwen3, {28, 2048, 16, 8, 6144, 4096}, 151936, TIED),
    ROW ("qwen3_4b",
         &qwen3,
         {36, 2560, 32, 8, 9728, 4096},
         151936,
         HEAD_DIM (128),
         TIED),
    ROW ("qwen3_8b", &qwen3, {36, 4096, 32, 8, 12288, 4096}, 151936),
    ROW ("qwen3_14b", &qwen3, {40, 5120, 40, 8, 17408, 4096}, 151936),
    ROW ("qwen3_32b", &qwen3, {64, 5120, 64, 8, 25600, 4096}, 151936, HEAD_DIM (128)),
    ROW ("qwen3_30b_a3b",
         &qwen3,
         {48, 2048, 32, 4, 6144, 4096},
         151936,
         HEAD_DIM (128),
         EXPERTS (128, 8, 768)),
    ROW ("qwen3_235b_a22b",
         &qwen3,
         {94, 4096, 64, 4, 12288, 4096},
         151936,
         HEAD_DIM (128),
         EXPERTS (128, 8, 1536)),
    ROW ("gemma_2b", &gemma, {18, 2048, 8, 1, 16384, 8192}, 256000),
    ROW ("gemma_7b", &gemma, {28, 3072, 16, 0, 24576, 8192}, 256000, HEAD_DIM (256)),
    ROW ("gemma_2_2b",
         &gemma_2,
         {26, 2304, 8, 4, 9216, 8192},
         256000,
         HEAD_DIM (256),
         WINDOW (4096, 2)),
    ROW ("gemma_2_9b",
         &gemma_2,
         {42, 3584, 16, 8, 14336, 8192},
         256000,
         HEAD_DIM (256),
         WINDOW (4096, 2)),
    ROW ("gemma_2_27b",
         &gemma_2,
         {46, 4608, 32, 16, 36864, 8192},
         256000,
         HEAD_DIM (128),
         WINDOW (4096, 2)),
    ROW ("gemma_3_270m",
         &gemma_3,
         {18, 640, 4, 1, 2048, 8192},
         262144,
         HEAD_DIM (256),
         WINDOW (512, 6)),
    ROW ("gemma_3_1b",
         &gemma_3,
         {26, 1152, 4, 1, 6912, 8192},
         262144,
         HEAD_DIM (256),
         WINDOW (512, 6)),
    ROW ("gemma_3_4b",
         &gemma_3,
         {34, 2560, 8, 4, 10240, 8192},
         262208,
         HEAD_DIM (256),
         WINDOW (1024, 6)),
    ROW ("gemma_3_12b",
         &gemma_3,
         {48, 3840, 16, 8, 15360, 8192},
         262208,
         HEAD_DIM (256),
         WINDOW (1024, 6)),
    ROW ("gemma_3_27b",
         &gemma_3,
         {62, 5376, 32, 16, 21504, 8192},
         262208,
         HEAD_DIM (128),
         WINDOW (1024, 6)),
    ROW ("command_r", &cohere, {40, 8192, 64, 0, 22528, 4096}, 256000),
    ROW ("command_r7b",
         &cohere,
         {32, 4096, 32, 8, 14336, 4096},
         256000,
         WINDOW (4096, 4)),
    ROW ("aya_expanse_8b", &cohere, {32, 4096, 32, 8, 14336, 4096}, 256000),
    ROW ("aya_expanse_32b", &cohere, {40, 8192, 64, 8, 24576, 4096}, 256000),
    ROW ("glm_4_9b", &glm, {40, 4096, 32, 2, 13696, 4096}, 151552),
    ROW ("glm_4_9b_0414", &glm_0414, {40, 4096, 32, 2, 13696, 4096}, 151552),
    ROW ("glm_4_32b_0414", &glm_0414_plain, {61, 6144, 48, 2, 23040, 4096}, 151552),
    ROW ("olmo_1b", &olmo, {16, 2048, 16, 0, 8192, 2048}, 50304, TIED),
    ROW ("olmo_7b", &olmo, {32, 4096, 32, 0, 11008, 2048}, 50304),
    ROW ("olmo_2_1b", &olmo2, {16, 2048, 16, 0, 8192, 4096}, 100352),
    ROW ("olmo_2_7b", &olmo2, {32, 4096, 32, 0, 11008, 4096}, 100352),
    ROW ("olmo_2_13b", &olmo2, {40, 5120, 40, 0, 13824, 4096}, 100352),
    ROW ("olmo_2_32b", &olmo2, {64, 5120, 40, 8, 27648, 4096}, 100352),
    ROW ("olmo_3_7b", &olmo2, {32, 4096, 32, 0, 11008, 4096}, 100278, WINDOW (4096, 4)),
    ROW ("olmo_3_32b",
         &olmo2,
         {64, 5120, 40, 8, 27648, 4096},
         100278,
         WINDOW (4096, 4)),
    ROW ("olmoe_1b_7b",
         &olmoe,
         {16, 2048, 16, 0, 1024, 4096},
         50304,
         EXPERTS (64, 8, 0)),
    ROW ("deepseek_moe_16b",
         &llama,
         {28, 2048, 16, 0, 10944, 4096},
         102400,
         .experts = {.n = 64, .top_k = 6, .ffn = 1408, .shared = 2},
         .dense = 1),
    ROW ("deepseek_v2_lite",
         &llama,
         {27, 2048, 16, 0, 10944, 4096},
         102400,
         HEAD_DIM (192),
         .latent = &latent_lite,
         .experts = {.n = 64, .top_k = 6, .ffn = 1408, .shared = 2},
         .dense = 1),
    ROW ("deepseek_v2",
         &llama,
         {60, 5120, 128, 0, 12288, 4096},
         102400,
         HEAD_DIM (192),
         .latent = &latent_full,
         .experts = {.n = 160, .top_k = 6, .ffn = 1536, .shared = 2},
         .dense = 1),
    ROW ("deepseek_v3",
         &llama,
         {61, 7168, 128, 0, 18432, 4096},
         129280,
         HEAD_DIM (192),
         .latent = &latent_full,
         .experts = {.n = 256, .top_k = 8, .ffn = 2048, .shared = 1},
         .dense = 3),
    ROW ("gpt_oss_20b",
         &gpt_oss,
         {24, 2880, 64, 8, 2880, 4096},
         201088,
         HEAD_DIM (64),
         EXPERTS (32, 4, 0),
         WINDOW (128, 2)),
    ROW ("gpt_oss_120b",
         &gpt_oss,
         {36, 2880, 64, 8, 2880, 4096},
         201088,
         HEAD_DIM (64),
         EXPERTS (128, 4, 0),
         WINDOW (128, 2)),
    /* End of rows */
};

/* The word embedding, and what makes 'hidden' features of it. */
static void add_embeddings (struct dn_build *build,
                            const struct gpt *row,
                            double vocab,
                            double hidden)
{
    const struct style *style = row->style;
    struct dn_shape tokens = build->at;

    dn_build_embedding (build, vocab, row->embed > 0 ? row->embed : hidden);
    if (row->embed > 0)
        dn_build_linear (build, hidden, false);
    if (row->positions > 0) {
        build->at = tokens;
        dn_build_embedding (build,
                            dn_transformer_read_positions (build, row->positions)
                                + style->extra_positions,
                            hidden);
        dn_build_add (build);
    }
    if (style->embedding_norm)
        dn_build_norm (build, style->norm);
    if (style->embedding_dropout)
        dn_build_dropout (build);
}

/* Hugging Face's classifiers score every token, and take the score of the last. */
static void add_head (struct dn_build *build, const struct gpt *row, double vocab)
{
    bool bias = (row->style->biases & BIAS_HEAD) != 0;
    enum dn_head head = dn_build_head (
        build, DN_HEAD_LM, DN_HEAD_BIT (CLASSIFIER) | DN_HEAD_BIT (NONE));

    if (row->embed > 0)
        dn_build_linear (build, row->embed, false);
    if (head == DN_HEAD_NONE)
        return;
    if (head == DN_HEAD_CLASSIFIER)
        dn_build_linear (build, DN_WANT (build, classes, 2), false);
    else if (DN_WANT (build, tied, row->style->tied || row->tied) > 0)
        dn_build_linear_tied (build, vocab, bias);
    else
        dn_build_linear (build, vocab, bias);
    if (row->style->capped && head == DN_HEAD_LM) {
        dn_build_elementwise (build, 1);
        dn_build_activation (build, DN_ACTIVATION_SIGMOID);
        dn_build_elementwise (build, 1);
    }
    dn_build_loss (build);
}

static struct dn_transformer read_body (struct dn_build *build, const struct gpt *row)
{
    const struct style *style = row->style;
    struct dn_transformer body = {
        .norm = style->norm,
        .activation = style->activation,
        .gated = style->gated,
        .fused_gate = style->fused_gate,
        .norm_first = style->norms == NORMS_BEFORE || style->norms == NORMS_AROUND,
        .norm_inside = style->norms == NORMS_AROUND || style->norms == NORMS_INSIDE,
        .block = style->block,
        .bias = (style->biases & BIAS_FFN) != 0,
        .dropout = style->dropout};

    /* Megatron fuses bias and GELU into one kernel. */
    if (build->spec->framework == DN_FRAMEWORK_MEGATRON)
        body.activation = DN_ACTIVATION_GELU;
    body.attention.head_dim = row->head_dim;
    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.attention.bias = (style->biases & BIAS_QKV) != 0;
    body.attention.out_bias = (style->biases & BIAS_OUT) != 0;
    body.attention.fused = style->fused;
    body.attention.causal = true;
    body.attention.window = DN_WANT (build, window, row->window);
    if (row->latent) {
        body.attention.latent = row->latent->rank;
        body.attention.query_rank = row->latent->query_rank;
        body.attention.rope_dim = row->latent->rope_dim;
        body.attention.value_dim = row->latent->value_dim;
    }
    body.attention.rotary = style->rotary;
    body.attention.rotary_share = style->rotary_share;
    body.attention.query_norm = style->query_norm;
    body.attention.capped = style->capped;
    body.attention.sinks = style->sinks;
    body.attention.dropout = style->attention_dropout;
    return body;
}

/* 'n' equal blocks; 'experts' is NULL where they are not mixtures. */
static void add_equal (struct dn_build *build,
                       const struct dn_transformer *body,
                       double n,
                       const struct dn_experts *experts)
{
    double outer = dn_build_repeat (build, n);

    if (experts) {
        dn_transformer_add_attention (build, body, &body->attention);
        dn_experts_add (build, body, experts);
    } else {
        dn_transformer_add_block (build, body);
    }
    dn_build_repeat_end (build, outer);
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

    wide.attention.window = 0;
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

    experts.router_bias = (row->style->biases & BIAS_ROUTER) != 0;
    dn_experts_read (build, &experts);
    if (experts.n <= 0) {
        dn_build_blocks (build, body->layers);
        add_some (build, row, body, body->layers, NULL);
        return;
    }
    dense = DN_WANT (build, dense_layers, fmin (row->dense, body->layers));
    if (dense > body->layers)
        dn_build_fail (build,
                       DN_E_RANGE,
                       dn_say_err_net_most,
                       "dense_layers",
                       dense,
                       "layers",
                       body->layers);
    /* Nothing has the inner size of the dense part. */
    if (dense <= 0 && experts.ffn > 0)
        build->wanted = dn_keyset_minus (build->wanted, DN_KEYSET (ffn));
    dn_build_blocks (build, body->layers);
    add_some (build, row, body, dense, NULL);
    add_some (build, row, body, body->layers - dense, &experts);
}

static void build_gpt (struct dn_build *build, const void *data)
{
    const struct gpt *row = data;
    struct dn_transformer body = read_body (build, row);
    double vocab = DN_WANT (build, vocab, row->vocab);

    dn_build_tokens (build, body.tokens);
    add_embeddings (build, row, vocab, body.hidden);
    add_blocks (build, row, &body);
    if (row->style->norms != NORMS_AFTER)
        dn_build_norm (build, row->style->norm);
    add_head (build, row, vocab);
}

const struct dn_zoo_family dn_zoo_gpt =
    DN_ZOO_FAMILY_OF (rows, build_gpt, "transformer", "gpt2");
