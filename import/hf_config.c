/* hf_config.c - a config.json of Hugging Face as a description
 *
 * The types, their fields and the values of missing ones are those of transformers
 * 5.23.0.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/hf_config.h"

#include <json-c/json.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "graph/sidecar.h"

/* A config.json has some dozens of fields; those of classifiers a name per class. */
#define DEPTH_MAX  16
#define VALUES_MAX 65536

/* Names of one field in the configurations of different types. */
#define NAMES_MAX 5

/* Fields that are a key of the metadata. */
enum field {
    LAYERS = 1 << 0,
    HIDDEN = 1 << 1,
    HEADS = 1 << 2,
    KV_HEADS = 1 << 3,
    HEAD_DIM = 1 << 4,
    FFN = 1 << 5,
    VOCAB = 1 << 6,
    POSITIONS = 1 << 7,
    EMBED = 1 << 8,
    EXPERTS = 1 << 9,
    TOP_K = 1 << 10,
    EXPERT_FFN = 1 << 11,
    SHARED_EXPERTS = 1 << 12,
    DENSE = 1 << 13,
    WINDOW = 1 << 14,
    SIZES = LAYERS | HIDDEN | HEADS | VOCAB
};

#define KEY(field, member, ...)                                                        \
    {                                                                                  \
        field, offsetof (struct dn_spec, member),                                      \
        {                                                                              \
            __VA_ARGS__                                                                \
        }                                                                              \
    }

static const struct key {
    enum field field;
    size_t offset;
    const char *names[NAMES_MAX];
} keys[] = {
    KEY (LAYERS,
         layers,
         "num_hidden_layers",
         "n_layer",
         "num_layers",
         "n_layers",
         "encoder_layers"),
    KEY (HIDDEN, hidden, "hidden_size", "n_embd", "d_model", "dim", "n_embed"),
    KEY (HEADS,
         heads,
         "num_attention_heads",
         "n_head",
         "num_heads",
         "n_heads",
         "encoder_attention_heads"),
    KEY (KV_HEADS, kv_heads, "num_key_value_heads", "num_kv_heads"),
    KEY (HEAD_DIM, head_dim, "head_dim", "d_kv"),
    KEY (FFN,
         ffn,
         "ffn_hidden_size",
         "n_inner",
         "ffn_dim",
         "hidden_dim",
         "intermediate_size"),
    KEY (FFN, ffn, "d_ff", "encoder_ffn_dim"),
    KEY (VOCAB, vocab, "vocab_size"),
    KEY (POSITIONS, positions, "max_position_embeddings", "n_positions"),
    KEY (EMBED, embed_dim, "embedding_size"),
    KEY (EXPERTS, experts, "num_local_experts", "num_experts", "n_routed_experts"),
    KEY (SHARED_EXPERTS, shared_experts, "n_shared_experts"),
    KEY (DENSE, dense_layers, "first_k_dense_replace"),
    KEY (TOP_K, top_k, "num_experts_per_tok"),
    KEY (EXPERT_FFN, expert_ffn, "moe_intermediate_size"),
    KEY (WINDOW, window, "sliding_window", "local_attention"),
};

/* A field that must have a value, as JSON writes it; 'usual' is what transformers
 * assumes where it is missing.
 */
struct fact {
    const char *name;
    const char *value;
    const char *usual;
};

#define FACTS_MAX 8

enum side {
    ENCODES = 1,
    DECODES = 2
};

/* A type has a row for each of its structures. */
struct type {
    const char *name; /* model_type */
    const char *model;
    unsigned needs; /* of enum field */
    unsigned may;   /* the same; the network has a rule for those that are missing */
    enum side sides;
    bool tied; /* output layers where tie_word_embeddings is missing */
    int64_t kv_heads;
    struct fact facts[FACTS_MAX];
};

#define FALSE(field)                                                                   \
    {                                                                                  \
        field, "false", "false"                                                        \
    }
#define TRUE(field)                                                                    \
    {                                                                                  \
        field, "true", "true"                                                          \
    }
#define NO_BIAS FALSE ("attention_bias")
#define SHARED  TRUE ("tie_word_embeddings")
#define SEGMENTS(n)                                                                    \
    {                                                                                  \
        "type_vocab_size", n, "2"                                                      \
    }
#define GATED                                                                          \
    {                                                                                  \
        "feed_forward_proj", "\"gated-gelu\"", "\"relu\""                              \
    }
#define BOTH (enum side) (ENCODES | DECODES)
#define ABSOLUTE                                                                       \
    {                                                                                  \
        "position_embedding_type", "\"absolute\"", "\"absolute\""                      \
    }
#define ALL_SPARSE                                                                     \
    {"decoder_sparse_step", "1", "1"},                                                 \
    {                                                                                  \
        "mlp_only_layers", "[]", "[]"                                                  \
    }
#define NO_WINDOW FALSE ("use_sliding_window")
#define NO_CROSS  FALSE ("add_cross_attention")
#define QKV_BIAS  TRUE ("qkv_bias")
#define GROUPED   (SIZES | KV_HEADS | FFN)
#define SPARSE    (EXPERTS | TOP_K)
#define ENCODER   (SIZES | FFN | POSITIONS)
#define FALCON(pair)                                                                   \
    {                                                                                  \
        "new_decoder_architecture", pair, "false"                                      \
    }
#define STABLE(bias, parallel, norm)                                                   \
    {"use_qkv_bias", bias, "false"}, {"use_parallel_residual", parallel, "false"},     \
    {                                                                                  \
        "qk_layernorm", norm, "false"                                                  \
    }

#define DEEPSEEK (SIZES | FFN | SPARSE | EXPERT_FFN | SHARED_EXPERTS | DENSE)
#define LATENT                                                                         \
    {"kv_lora_rank", "512", "512"}, {"qk_nope_head_dim", "128", "128"},                \
        {"qk_rope_head_dim", "64", "64"},                                              \
    {                                                                                  \
        "v_head_dim", "128", "128"                                                     \
    }

#define DISTANCES                                                                      \
    {"relative_attention", "true", "false"}, {"position_buckets", "256", "-1"},        \
        {"norm_rel_ebd", "\"layer_norm\"", "\"none\""},                                \
        {"share_att_key", "true", "false"}, {"pos_att_type", "\"p2c|c2p\"", "null"},   \
        {"position_biased_input", "false", "true"},                                    \
    {                                                                                  \
        "type_vocab_size", "0", "0"                                                    \
    }

/* name, model, needs, may, sides, tied, heads of keys, facts */
/* clang-format off */
static const struct type types[] = {
    {"llama", "llama_7b", SIZES | FFN, KV_HEADS | HEAD_DIM, DECODES, false, 0,
     {NO_BIAS, FALSE ("mlp_bias")}},
    {"smollm3", "smollm3_3b", GROUPED, HEAD_DIM, DECODES, true, 0,
     {NO_BIAS, FALSE ("mlp_bias"), NO_WINDOW}},
    {"granite", "granite_3_8b", GROUPED, 0, DECODES, false, 0,
     {NO_BIAS, FALSE ("mlp_bias")}},
    {"mistral", "mistral_7b", GROUPED, HEAD_DIM | WINDOW, DECODES, false, 0, {{0}}},
    {"mixtral", "mixtral_8x7b", GROUPED | SPARSE, HEAD_DIM | WINDOW, DECODES, false, 0,
     {{0}}},
    {"qwen2", "qwen2_7b", GROUPED, 0, DECODES, false, 0, {NO_WINDOW}},
    {"qwen2_moe", "qwen1.5_moe_a2.7b",
     SIZES | KV_HEADS | SPARSE | EXPERT_FFN, 0, DECODES, false, 0,
     {ALL_SPARSE, QKV_BIAS, NO_WINDOW}},
    {"qwen3", "qwen3_8b", GROUPED | HEAD_DIM, 0, DECODES, false, 0,
     {NO_BIAS, NO_WINDOW}},
    {"qwen3_moe", "qwen3_30b_a3b",
     SIZES | KV_HEADS | HEAD_DIM | SPARSE | EXPERT_FFN, 0, DECODES, false, 0,
     {NO_BIAS, ALL_SPARSE, NO_WINDOW}},
    {"gemma", "gemma_2b", GROUPED | HEAD_DIM, 0, DECODES, true, 0, {NO_BIAS}},
    {"gemma2", "gemma_2_2b", GROUPED | HEAD_DIM, WINDOW, DECODES, true, 0, {NO_BIAS}},
    {"gemma3_text", "gemma_3_1b", GROUPED | HEAD_DIM, WINDOW, DECODES, true, 0,
     {NO_BIAS, {"sliding_window_pattern", "6", "6"}}},
    {"phi", "phi_1.5", SIZES | FFN, KV_HEADS, DECODES, false, 0,
     {FALSE ("qk_layernorm")}},
    {"phi3", "phi_3_mini", SIZES | FFN, KV_HEADS | WINDOW, DECODES, false, 0, {{0}}},
    {"phimoe", "phi_3.5_moe", GROUPED | SPARSE, WINDOW, DECODES, false, 0,
     {{"attention_bias", "true", "false"}, {"lm_head_bias", "true", "false"}}},
    {"cohere", "command_r", GROUPED, 0, DECODES, true, 0,
     {NO_BIAS, FALSE ("use_qk_norm")}},
    {"cohere2", "command_r7b", GROUPED, WINDOW, DECODES, true, 0, {NO_BIAS}},
    {"glm", "glm_4_9b", GROUPED | HEAD_DIM, 0, DECODES, false, 0,
     {{"attention_bias", "true", "true"}}},
    {"glm4", "glm_4_9b_0414", GROUPED | HEAD_DIM, 0, DECODES, false, 0,
     {{"attention_bias", "true", "true"}}},
    {"glm4", "glm_4_32b_0414", GROUPED | HEAD_DIM, 0, DECODES, false, 0,
     {{"attention_bias", "false", "true"}}},
    {"falcon", "falcon_7b", SIZES, FFN, DECODES, true, 1,
     {FALCON ("false"), TRUE ("multi_query"), TRUE ("parallel_attn"), FALSE ("bias"),
      FALSE ("alibi")}},
    {"falcon", "falcon_40b", SIZES | KV_HEADS, FFN, DECODES, true, 0,
     {FALCON ("true"), FALSE ("bias"), FALSE ("alibi"),
      {"num_ln_in_parallel_attn", "2", "2"}}},
    {"mpt", "mpt_7b", SIZES, 0, DECODES, true, 0,
     {{"expansion_ratio", "4", "4"}, TRUE ("no_bias")}},
    {"gpt_neox", "pythia_70m", SIZES | FFN, 0, DECODES, false, 0,
     {TRUE ("use_parallel_residual"), TRUE ("attention_bias")}},
    {"gptj", "gpt_j_6b", SIZES, FFN, DECODES, false, 0, {{0}}},
    {"codegen", "codegen_350m", SIZES, FFN, DECODES, false, 0, {{0}}},
    {"gpt_bigcode", "santacoder", SIZES | POSITIONS, FFN, DECODES, true, 1,
     {TRUE ("multi_query"), NO_CROSS}},
    {"starcoder2", "starcoder2_3b", GROUPED, WINDOW, DECODES, true, 0,
     {TRUE ("use_bias")}},
    {"stablelm", "stablelm_3b_4e1t", GROUPED, 0, DECODES, false, 0,
     {STABLE ("false", "false", "false")}},
    {"stablelm", "stablelm_2_1_6b", GROUPED, 0, DECODES, false, 0,
     {STABLE ("true", "false", "false")}},
    {"stablelm", "stablelm_2_12b", GROUPED, 0, DECODES, false, 0,
     {STABLE ("false", "true", "true")}},
    {"bloom", "bloom_560m", SIZES, 0, DECODES, true, 0, {{0}}},
    {"opt", "opt_125m", SIZES | FFN | POSITIONS, 0, DECODES, true, 0,
     {TRUE ("do_layer_norm_before"), TRUE ("enable_bias"),
      TRUE ("layer_norm_elementwise_affine"), FALSE ("_remove_final_layer_norm")}},
    {"opt", "opt_350m", SIZES | FFN | POSITIONS, 0, DECODES, true, 0,
     {{"do_layer_norm_before", "false", "true"}, TRUE ("enable_bias"),
      TRUE ("layer_norm_elementwise_affine"), {"word_embed_proj_dim", "512", "768"}}},
    {"gpt2", "gpt2", SIZES | POSITIONS, FFN, DECODES, true, 0, {NO_CROSS}},
    {"gpt_neo", "gpt_neo_125m", SIZES | POSITIONS, FFN, DECODES, true, 0, {{0}}},
    {"olmo", "olmo_7b", SIZES | FFN, KV_HEADS, DECODES, false, 0, {NO_BIAS}},
    {"olmo2", "olmo_2_7b", SIZES | FFN, KV_HEADS, DECODES, false, 0, {NO_BIAS}},
    {"olmo3", "olmo_3_7b", SIZES | FFN, KV_HEADS | WINDOW, DECODES, false, 0,
     {NO_BIAS}},
    {"olmoe", "olmoe_1b_7b", SIZES | FFN | SPARSE, KV_HEADS, DECODES, false, 0,
     {NO_BIAS}},
    {"gpt_oss", "gpt_oss_20b", GROUPED | HEAD_DIM | SPARSE, WINDOW, DECODES, false, 0,
     {TRUE ("attention_bias")}},
    {"deepseek_v2", "deepseek_v2_lite", DEEPSEEK, 0, DECODES, false, 0,
     {LATENT, NO_BIAS, {"q_lora_rank", "null", "1536"}}},
    {"deepseek_v2", "deepseek_v2", DEEPSEEK, 0, DECODES, false, 0,
     {LATENT, NO_BIAS, {"q_lora_rank", "1536", "1536"}}},
    {"deepseek_v3", "deepseek_v3", DEEPSEEK, 0, DECODES, false, 0,
     {LATENT, NO_BIAS, {"q_lora_rank", "1536", "1536"}}},
    {"bert", "bert_base", ENCODER, 0, ENCODES, true, 0,
     {SHARED, SEGMENTS ("2"), ABSOLUTE, NO_CROSS}},
    {"roberta", "roberta_base", ENCODER, 0, ENCODES, true, 0,
     {SHARED, SEGMENTS ("1"), ABSOLUTE, NO_CROSS}},
    {"xlm-roberta", "roberta_base", ENCODER, 0, ENCODES, true, 0,
     {SHARED, SEGMENTS ("1"), ABSOLUTE, NO_CROSS}},
    {"camembert", "roberta_base", ENCODER, 0, ENCODES, true, 0,
     {SHARED, SEGMENTS ("1"), ABSOLUTE, NO_CROSS}},
    {"distilbert", "distilbert", ENCODER, 0, ENCODES, true, 0, {SHARED}},
    {"electra", "electra_base", ENCODER | EMBED, 0, ENCODES, true, 0,
     {SHARED, SEGMENTS ("2"), ABSOLUTE, NO_CROSS}},
    {"albert", "albert_base", ENCODER | EMBED, 0, ENCODES, true, 0,
     {SHARED, SEGMENTS ("2"), ABSOLUTE, {"num_hidden_groups", "1", "1"},
      {"inner_group_num", "1", "1"}}},
    {"deberta-v2", "deberta_v3_base", SIZES | FFN, 0, ENCODES, true, 0,
     {DISTANCES,
      {"conv_kernel_size", "0", "0"}}},
    {"deberta-v2", "deberta_v2_xlarge", SIZES | FFN, 0, ENCODES, true, 0,
     {DISTANCES,
      {"conv_kernel_size", "3", "0"}}},
    {"modernbert", "modernbert_base", SIZES | FFN, WINDOW, ENCODES, true, 0,
     {NO_BIAS, SHARED, FALSE ("norm_bias"), FALSE ("mlp_bias"),
      FALSE ("classifier_bias"), TRUE ("decoder_bias"),
      {"global_attn_every_n_layers", "3", "3"}}},
    {"t5", "t5_small", SIZES | HEAD_DIM | FFN, 0, BOTH, true, 0,
     {{"feed_forward_proj", "\"relu\"", "\"relu\""}}},
    {"t5", "flan_t5_small", SIZES | HEAD_DIM | FFN, 0, BOTH, true, 0, {GATED}},
    {"t5", "ul2", SIZES | HEAD_DIM | FFN, 0, BOTH, true, 0,
     {{"feed_forward_proj", "\"gated-silu\"", "\"relu\""}}},
    {"mt5", "mt5_small", SIZES | HEAD_DIM | FFN, 0, BOTH, true, 0,
     {{"feed_forward_proj", "\"gated-gelu\"", "\"gated-gelu\""}}},
    {"bart", "bart_base", ENCODER, 0, BOTH, true, 0, {SHARED}},
    {"mbart", "mbart_large", ENCODER, 0, BOTH, true, 0, {SHARED}},
    {"pegasus", "pegasus_large", SIZES | FFN, 0, BOTH, true, 0, {SHARED}},
    {"m2m_100", "nllb_200_distilled_600m", SIZES | FFN, 0, BOTH, true, 0, {SHARED}},
    {"marian", "opus_mt", SIZES | FFN, 0, BOTH, true, 0,
     {SHARED, TRUE ("share_encoder_decoder_embeddings")}},
    /* End of types */
};
/* clang-format on */

#define N_TYPES ((int) DN_N_ELEMENTS (types))

/* Parts of a config.json of networks that also see or hear. */
static const char *const other_parts[] = {"vision_config",
                                          "audio_config",
                                          "text_config",
                                          "encoder",
                                          NULL};

static bool has (struct dn_span text, const char *part)
{
    return text.text && memmem (text.text, text.len, part, strlen (part));
}

bool dn_hf_config_is (struct dn_span text)
{
    return !has (text, "\"dnnest\"")
           && (has (text, "\"model_type\"") || has (text, "\"architectures\""));
}

static const char *type_at (const void *names, int i)
{
    (void) names;
    return dn_hf_config_type_at (i);
}

const char *dn_hf_config_type_at (int i)
{
    for (int k = 0; i >= 0 && k < N_TYPES; k++) {
        if (k > 0 && strcmp (types[k].name, types[k - 1].name) == 0)
            continue;
        if (i-- == 0)
            return types[k].name;
    }
    return NULL;
}

/* What no key states has another way in. */
static void name_exporter (struct dn_err *err)
{
    size_t len = err ? strlen (err->text) : 0;

    if (!err)
        return;
    snprintf (err->text + len,
              sizeof (err->text) - len,
              "; dnnest_export.py hf:FILE describes what transformers loads");
}

static int fail_type (const struct json_object *json,
                      const char *name,
                      struct dn_err *err)
{
    const char *nearest = dn_word_nearest (dn_span_of (name), type_at, NULL);
    struct dn_quoted quoted = dn_quote (name, strlen (name));

    for (int i = 0; other_parts[i]; i++)
        if (dn_json_member (json, other_parts[i]))
            return dn_err_set (err,
                               DN_E_RANGE,
                               "model_type: '%s' has parts of its own (%s), which no "
                               "key states, expected a model of text, or export it "
                               "with 'dnnest_export.py hf:DIRECTORY'",
                               quoted.text,
                               other_parts[i]);
    if (nearest)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "model_type: '%s' is not known, did you mean %s?",
                           quoted.text,
                           nearest);
    return dn_err_set (err,
                       DN_E_RANGE,
                       "model_type: '%s' is not known, expected one that "
                       "dnnest.spec(5) lists",
                       quoted.text);
}

/* The first fact that does not hold, NULL if all do. *found is what the file states. */
static const struct fact *find_misfit (const struct json_object *json,
                                       const struct type *type,
                                       const char **found)
{
    for (int i = 0; i < FACTS_MAX && type->facts[i].name; i++) {
        const struct fact *fact = &type->facts[i];
        struct json_object *member = dn_json_member (json, fact->name);

        /* A null is a missing value, unless it is the one that is wanted. */
        if (!member && strcmp (fact->value, "null") == 0
            && json_object_object_get_ex (json, fact->name, NULL))
            continue;
        *found = member
                     ? json_object_to_json_string_ext (member, JSON_C_TO_STRING_PLAIN)
                     : fact->usual;
        if (strcmp (*found, fact->value) != 0)
            return fact;
    }
    return NULL;
}

/* The row of the file's type and structure. */
static const struct type *find_type (const struct json_object *json, struct dn_err *err)
{
    char name[DN_NAME_MAX] = "";
    const struct fact *fact = NULL;
    const char *found = "";

    if (dn_json_need_text (json, "model_type", name, sizeof (name), err) < 0)
        return NULL;
    for (int i = 0; i < N_TYPES; i++) {
        const struct fact *misfit;

        if (strcmp (types[i].name, name) != 0)
            continue;
        misfit = find_misfit (json, &types[i], &found);
        if (!misfit)
            return &types[i];
        fact = misfit;
    }
    if (!fact)
        fail_type (json, name, err);
    else
        dn_err_set (err,
                    DN_E_RANGE,
                    "%s: %s of model_type %s is not among what keys state, expected %s",
                    fact->name,
                    dn_quote (found, strlen (found)).text,
                    name,
                    fact->value);
    name_exporter (err);
    return NULL;
}

/* Read a field under any of its names. */
static int read_key (const struct json_object *json,
                     const struct key *key,
                     struct dn_spec *spec,
                     struct dn_err *err)
{
    const struct dn_key *row = dn_spec_key_of (dn_keyset_of (key->offset), 0);

    for (int i = 0; i < NAMES_MAX && key->names[i]; i++) {
        int64_t value = DN_UNSET;

        if (!dn_json_member (json, key->names[i]))
            continue;
        if (dn_json_read_int (json,
                              key->names[i],
                              (int64_t) row->min,
                              (int64_t) row->max,
                              &value,
                              err)
            < 0)
            return -1;
        memcpy ((char *) spec + key->offset, &value, sizeof (value));
        return 0;
    }
    return 0;
}

static int read_keys (const struct json_object *json,
                      const struct type *type,
                      struct dn_spec *spec,
                      struct dn_err *err)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (keys); i++)
        if (((type->needs | type->may) & keys[i].field)
            && read_key (json, &keys[i], spec, err) < 0)
            return -1;
    for (size_t i = 0; i < DN_N_ELEMENTS (keys); i++)
        if ((type->needs & keys[i].field)
            && !dn_spec_has (spec, dn_spec_key_of (dn_keyset_of (keys[i].offset), 0)))
            return dn_err_set (err,
                               DN_E_RANGE,
                               "%s: missing, model_type %s needs it",
                               keys[i].names[0],
                               type->name);
    return 0;
}

/* Fields that must be equal, unless the type has a rule of its own for the first. */
static const char *const equal[][2] = {
    {"word_embed_proj_dim", "hidden_size"},
    {"num_decoder_layers", "num_layers"},
    {"decoder_vocab_size", "vocab_size"},
    {"decoder_layers", "encoder_layers"},
    {"decoder_ffn_dim", "encoder_ffn_dim"},
    {"decoder_attention_heads", "encoder_attention_heads"},
};

static int check_equal (const struct json_object *json,
                        const struct type *type,
                        struct dn_err *err)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (equal); i++) {
        struct json_object *a = dn_json_member (json, equal[i][0]);
        struct json_object *b = dn_json_member (json, equal[i][1]);
        bool own = false;

        for (int k = 0; k < FACTS_MAX && type->facts[k].name; k++)
            own = own || strcmp (type->facts[k].name, equal[i][0]) == 0;
        if (!own && a && b && json_object_get_int64 (a) != json_object_get_int64 (b))
            return dn_err_set (err,
                               DN_E_RANGE,
                               "%s: %lld, expected that of %s, %lld",
                               equal[i][0],
                               (long long) json_object_get_int64 (a),
                               equal[i][1],
                               (long long) json_object_get_int64 (b));
    }
    return 0;
}

/* The experts that process every token are as large as some of the others together. */
static int read_shared_experts (const struct json_object *json,
                                struct dn_spec *spec,
                                struct dn_err *err)
{
    int64_t size = 0;

    if (!dn_json_member (json, "shared_expert_intermediate_size"))
        return 0;
    if (dn_json_read_int (
            json, "shared_expert_intermediate_size", 1, DN_COUNT_MAX, &size, err)
        < 0)
        return -1;
    if (size % spec->expert_ffn != 0)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "shared_expert_intermediate_size: %lld, expected a multiple "
                           "of moe_intermediate_size %lld",
                           (long long) size,
                           (long long) spec->expert_ffn);
    spec->shared_experts = size / spec->expert_ffn;
    return 0;
}

static bool ends_with (const char *text, const char *end)
{
    size_t len = strlen (text);

    return len >= strlen (end) && strcmp (text + len - strlen (end), end) == 0;
}

/* Output layers by the end of a class's name. */
static const struct {
    const char *end;
    enum dn_head head;
} heads[] = {
    {"ForCausalLM", DN_HEAD_LM},
    {"LMHeadModel", DN_HEAD_LM},
    {"LMHeadCustomModel", DN_HEAD_LM},
    {"ForMaskedLM", DN_HEAD_LM},
    {"ForConditionalGeneration", DN_HEAD_LM},
    {"ForPreTraining", DN_HEAD_PRETRAIN},
    {"ForSequenceClassification", DN_HEAD_CLASSIFIER},
    {"MTModel", DN_HEAD_LM},
    {"EncoderModel", DN_HEAD_UNKNOWN},
    {"HeadsModel", DN_HEAD_UNKNOWN},
    {"Model", DN_HEAD_NONE},
};

static enum dn_head head_of (const char *class)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (heads); i++)
        if (ends_with (class, heads[i].end))
            return heads[i].head;
    return DN_HEAD_UNKNOWN;
}

static int count_members (struct json_object *json)
{
    struct json_object_iterator at = json_object_iter_begin (json);
    struct json_object_iterator end = json_object_iter_end (json);
    int n = 0;

    for (; !json_object_iter_equal (&at, &end); json_object_iter_next (&at))
        n++;
    return n;
}

static int read_head (const struct json_object *json,
                      struct dn_spec *spec,
                      struct dn_err *err)
{
    struct json_object *list;
    struct json_object *first;
    struct json_object *classes;
    const char *name;

    spec->head = DN_HEAD_LM;
    if (dn_json_read_array (json, "architectures", 64, &list, err) < 0)
        return -1;
    if (!list || json_object_array_length (list) == 0)
        return 0;
    first = json_object_array_get_idx (list, 0);
    if (!json_object_is_type (first, json_type_string))
        return dn_err_set (
            err, DN_E_SYNTAX, "architectures: expected the names of classes");
    name = json_object_get_string (first);
    spec->head = head_of (name);
    if (spec->head == DN_HEAD_UNKNOWN)
        return dn_err_set (
            err,
            DN_E_RANGE,
            "architectures: the output layers of '%s' are not known, "
            "expected ...ForCausalLM, ...ForMaskedLM, ...ForPreTraining, "
            "...ForSequenceClassification or ...Model",
            dn_quote (name, strlen (name)).text);
    if (spec->head != DN_HEAD_CLASSIFIER)
        return 0;
    if (dn_json_read_object (json, "id2label", &classes, err) < 0)
        return -1;
    spec->classes = classes ? count_members (classes) : 2;
    return 0;
}

/* The decoder alone of a network with an encoder: BartForCausalLM. */
static int check_sides (const struct json_object *json,
                        const struct type *type,
                        struct dn_err *err)
{
    /* read_head () has found a string there, or nothing. */
    struct json_object *list = dn_json_member (json, "architectures");
    const char *class =
        list && json_object_array_length (list) > 0
            ? json_object_get_string (json_object_array_get_idx (list, 0))
            : type->name;
    bool both = true;

    if (dn_json_read_bool (json, "is_encoder_decoder", &both, err) < 0)
        return -1;
    if (type->sides != BOTH || (both && !ends_with (class, "ForCausalLM")))
        return 0;
    return dn_err_set (err,
                       DN_E_RANGE,
                       "architectures: '%s' is a decoder alone, which no key states: "
                       "export it with 'dnnest_export.py hf:DIRECTORY'",
                       dn_quote (class, strlen (class)).text);
}

/* The embedding's weights are those of the output layer. */
static int read_tied (const struct json_object *json,
                      const struct type *type,
                      struct dn_spec *spec,
                      struct dn_err *err)
{
    bool tied = type->tied;

    if (type->sides == ENCODES || spec->head != DN_HEAD_LM)
        return 0;
    if (dn_json_read_bool (json, "tie_word_embeddings", &tied, err) < 0)
        return -1;
    spec->tied = tied;
    return 0;
}

/* Positions limit the length of a sample, also where they have no table. */
static int read_tokens (const struct json_object *json,
                        const struct type *type,
                        struct dn_spec *spec,
                        struct dn_err *err)
{
    int64_t positions = DN_HF_TOKENS;
    static const char *const names[] = {
        "max_position_embeddings", "n_positions", "max_seq_len"};

    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++)
        if (dn_json_member (json, names[i])
            && dn_json_read_int (json, names[i], 1, 100000000, &positions, err) < 0)
            return -1;
    /* Numbers begin after that of padding. */
    if (strcmp (type->model, "roberta_base") == 0 && positions > 2)
        positions -= 2;
    spec->seq_len = positions < DN_HF_TOKENS ? positions : DN_HF_TOKENS;
    if (type->sides == BOTH)
        spec->tgt_len = spec->seq_len;
    return 0;
}

/* The format of weights that were quantised, as endings of names state it: with lora=
 * it is quant=. Others are as large as without it.
 */
static const char *quant_ending (const struct json_object *json)
{
    static const char *const methods[] = {"-gptq", "-awq", "-fp8"};
    const struct json_object *quant = dn_json_member (json, "quantization_config");
    char name[DN_NAME_MAX] = "";
    bool four = false;
    bool eight = false;

    if (!quant
        || dn_json_read_text (quant, "quant_method", name, sizeof (name), NULL) < 0
        || dn_json_read_bool (quant, "load_in_4bit", &four, NULL) < 0
        || dn_json_read_bool (quant, "load_in_8bit", &eight, NULL) < 0)
        return "";
    for (size_t i = 0; i < DN_N_ELEMENTS (methods); i++)
        if (strcmp (name, methods[i] + 1) == 0)
            return methods[i];
    return four ? "-bnb-4bit" : eight ? "-bnb-8bit" : "";
}

static int read_config (const struct json_object *json,
                        struct dn_spec *spec,
                        struct dn_err *err)
{
    const struct type *type = find_type (json, err);

    if (!type || read_keys (json, type, spec, err) < 0
        || check_equal (json, type, err) < 0)
        return -1;
    if (type->kv_heads > 0)
        spec->kv_heads = type->kv_heads;
    if ((type->needs & EXPERT_FFN) && read_shared_experts (json, spec, err) < 0)
        return -1;
    if (spec->dense_layers == 0)
        spec->ffn = DN_UNSET;
    snprintf (spec->model, sizeof (spec->model), "%s", type->model);
    snprintf (spec->name, sizeof (spec->name), "%s%s", type->name, quant_ending (json));
    if (read_head (json, spec, err) < 0 || check_sides (json, type, err) < 0
        || read_tied (json, type, spec, err) < 0)
        return -1;
    return read_tokens (json, type, spec, err);
}

int dn_hf_config_read (struct dn_span text, struct dn_spec *spec, struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *json =
        dn_json_read (text, DEPTH_MAX, VALUES_MAX, err);
    struct dn_spec result = *spec;

    if (!json || read_config (json, &result, err) < 0)
        return dn_err_wrap (err, "config.json");
    *spec = result;
    return 0;
}

int dn_hf_config_convert (struct dn_span text, char **sidecar, struct dn_err *err)
{
    struct dn_sidecar result = {.spec = dn_spec_empty ()};

    *sidecar = NULL;
    if (!dn_hf_config_is (text))
        return 0;
    if (dn_hf_config_read (text, &result.spec, err) < 0)
        return -1;
    *sidecar = dn_sidecar_write (&result);
    return *sidecar ? 0 : dn_err_set (err, DN_E_NOMEM, "out of memory");
}
