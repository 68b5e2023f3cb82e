/* hf_config.c - tests of config.json: sizes, structures, bad files
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "graph/graph.h"
#include "import/hf_capture.h"
#include "import/hf_config.h"
#include "scratch.h"
#include "tests/unit/networks.h"

#define LLAMA                                                                          \
    "\"model_type\":\"llama\",\"num_hidden_layers\":2,\"hidden_size\":64,"             \
    "\"num_attention_heads\":4,\"intermediate_size\":100,\"vocab_size\":1000"

static struct dn_spec read_config (const char *text)
{
    struct dn_spec spec = dn_spec_empty ();

    if (dn_hf_config_read (dn_span_of (text), &spec, &unit_err) < 0)
        fail_msg ("%s: %s", text, unit_err.text);
    return spec;
}

/* A row "text|error" (unit_cut ()): the text is refused, and the specification stays. A
 * text ",key:value" is added to LLAMA.
 */
static void expect_bad (const char *row)
{
    struct dn_spec spec = dn_spec_empty ();
    struct dn_spec before = spec;
    const char *bad[2];

    unit_cut (row[0] == ',' ? unit_text ("{%s%s", LLAMA, row) : row, bad, 2);
    if (row[0] == ',')
        bad[0] = unit_text ("%s}", bad[0]);
    assert_error (dn_hf_config_read (dn_span_of (bad[0]), &spec, &unit_err), bad[1]);
    assert_contains (unit_err.text, "config.json: ");
    assert_memory_equal (&spec, &before, sizeof (spec));
}

static void check_line (const char *line)
{
    const char *text = strchr (line, ' ') + 1;
    struct dn_spec spec = read_config (text);
    struct dn_graph graph;

    if (dn_graph_build (shipped_networks (), &spec, &graph, &unit_err) < 0)
        fail_msg ("%s: %s", text, unit_err.text);
    if (graph.params != strtod (line, NULL))
        fail_msg ("%s: %.0f parameters", text, graph.params);
    if (!dn_keyset_is_empty (graph.unread))
        fail_msg ("%s: a key is not read", text);
    assert_string_equal (graph.name, spec.name);
    assert_contains (text, unit_text ("\"model_type\":\"%s\"", graph.name));
    dn_graph_free (&graph);
}

TEST ("every configuration has the parameters of its reference")
{
    char *rest = unit_keep (tree_text ("tests/data/hf_configs.txt"), free);
    int n = 0;

    for (char *line; (line = strsep (&rest, "\n"));)
        if (line[0] != '#' && line[0] != '\0') {
            check_line (line);
            n++;
        }
    assert_true (n > 100);
}

TEST ("a config.json is recognised by its content")
{
    assert_true (dn_hf_config_is (dn_span_of ("{" LLAMA "}")));
    assert_true (dn_hf_config_is (dn_span_of ("{\"architectures\":[]}")));
    assert_false (dn_hf_config_is (dn_span_of ("{\"dnnest\":1," LLAMA "}")));
    assert_false (dn_hf_config_is (dn_span_of ("{\"model\":\"llama\"}")));
    assert_false (dn_hf_config_is ((struct dn_span){NULL, 0}));
}

TEST ("fields become keys")
{
    struct dn_spec spec = read_config (
        "{" LLAMA ",\"max_position_embeddings\":512,\"tie_word_embeddings\":true,"
        "\"torch_dtype\":\"bfloat16\",\"rope_scaling\":{\"factor\":8.0}}");

    assert_string_equal (spec.model, "llama_7b");
    assert_numbers ("2 100 512 1", spec.layers, spec.ffn, spec.seq_len, spec.tied);
    assert_int_equal (spec.head, DN_HEAD_LM);
    assert_int_equal (spec.precision, DN_PRECISION_UNKNOWN);
    spec = read_config ("{" LLAMA ",\"max_position_embeddings\":131072}");
    assert_int_equal (spec.seq_len, DN_HF_TOKENS);
    spec = read_config ("{" LLAMA
                        ",\"architectures\":[\"LlamaForSequenceClassification\"],"
                        "\"id2label\":{\"0\":\"a\",\"1\":\"b\",\"2\":\"c\"}}");
    assert_int_equal (spec.head, DN_HEAD_CLASSIFIER);
    assert_int_equal (spec.classes, 3);
    spec = read_config ("{" LLAMA ",\"architectures\":[\"LlamaModel\"]}");
    assert_int_equal (spec.head, DN_HEAD_NONE);
}

/* A network with encoder and decoder, of this type and class. */
#define SIDES(type, class)                                                             \
    "{\"model_type\":\"" type "\",\"architectures\":[\"" class                         \
        "\"],"                                                                         \
        "\"encoder_layers\":2,\"d_model\":64,\"encoder_attention_heads\":4,"           \
        "\"encoder_ffn_dim\":100,\"vocab_size\":1000,\"max_position_embeddings\":128"

TEST ("a decoder without its encoder is refused")
{
#define ALONE "}|is a decoder alone, which no key states: export it"
    read_config (SIDES ("bart", "BartForConditionalGeneration") "}");
    read_config (SIDES ("marian", "MarianMTModel") ",\"is_encoder_decoder\":true}");
    expect_bad (SIDES ("bart", "BartForCausalLM") ALONE);
    expect_bad (SIDES ("mbart", "MBartForCausalLM") ALONE);
    expect_bad (SIDES ("marian", "MarianForCausalLM") ALONE);
    expect_bad (SIDES ("pegasus", "PegasusForCausalLM") ALONE);
    expect_bad (SIDES (
        "bart", "BartForConditionalGeneration") ",`is_encoder_decoder`:false" ALONE);
#undef ALONE
}

/* A network of twelve blocks of 64 features, of this type. */
#define SMALL(type)                                                                    \
    "\"model_type\":\"" type "\",\"num_hidden_layers\":12,\"hidden_size\":64,"         \
    "\"num_attention_heads\":4,\"num_key_value_heads\":2,\"intermediate_size\":100,"   \
    "\"vocab_size\":1000,\"head_dim\":16"

TEST ("the window of attention becomes a key")
{
    static const struct {
        const char *text;
        int64_t window;
    } cases[] = {
        {"{" SMALL ("mistral") ",\"sliding_window\":300}", 300},
        {"{" SMALL ("mistral") ",\"sliding_window\":null}", DN_UNSET},
        {"{" SMALL ("gemma3_text") ",\"sliding_window\":512}", 512},
        {"{" SMALL ("modernbert") ",\"local_attention\":64}", 64},
        {"{" SMALL ("qwen2") ",\"sliding_window\":300,\"use_sliding_window\":false}",
         DN_UNSET},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        assert_int_equal (read_config (cases[i].text).window, cases[i].window);
    expect_bad ("{" SMALL ("qwen2") ",`use_sliding_window`:true}|"
                                    "use_sliding_window: true of model_type qwen2");
    expect_bad ("{" SMALL ("gemma3_text") ",`sliding_window_pattern`:2}|"
                                          "sliding_window_pattern: 2");
    expect_bad ("{" SMALL ("mistral") ",`sliding_window`:0}|sliding_window: 0");
}

TEST ("an unknown type is named, with one that resembles it")
{
    expect_bad (
        "{`model_type`:`lama`}|model_type: 'lama' is not known, did you mean llama?");
    expect_bad ("{`model_type`:`quite_another`}|'quite_another' is not known");
    expect_bad ("{`model_type`:`llava`,`vision_config`:{}}|"
                "'llava' has parts of its own (vision_config)");
    expect_bad ("{`architectures`:[`LlamaForCausalLM`]}|model_type: missing");
    expect_bad ("{`model_type`:7}|model_type");
    expect_bad (",`architectures`:[`LlamaForQuestionAnswering`]|"
                "architectures: the output layers of 'LlamaForQuestionAnswering'");
    expect_bad (",`architectures`:[3]|architectures");
    expect_bad (",`architectures`:`LlamaModel`|architectures");
}

TEST ("a structure that no key states is an error")
{
    expect_bad (",`attention_bias`:true|attention_bias: true of model_type llama");
    expect_bad ("{`model_type`:`falcon`,`alibi`:true}|falcon");
    expect_bad ("{`model_type`:`bert`,`type_vocab_size`:3}|type_vocab_size: 3 of "
                "model_type bert is not among what keys state, expected 2");
    expect_bad ("{`model_type`:`opt`,`hidden_size`:64,`num_hidden_layers`:2,"
                "`num_attention_heads`:4,`ffn_dim`:99,`vocab_size`:100,"
                "`max_position_embeddings`:90,`word_embed_proj_dim`:32}|"
                "word_embed_proj_dim: 32, expected that of hidden_size, 64");
    expect_bad ("{`model_type`:`qwen2_moe`,`hidden_size`:64,`num_hidden_layers`:2,"
                "`num_attention_heads`:4,`vocab_size`:100,`num_key_value_heads`:2,"
                "`num_experts`:4,`num_experts_per_tok`:2,`moe_intermediate_size`:30,"
                "`shared_expert_intermediate_size`:50}|"
                "shared_expert_intermediate_size: 50, expected a multiple");
}

TEST ("a bad value is named")
{
    static const char *const rows[] = {
        "|",
        "{`model_type`:`llama`|",
        "{`model_type`:`llama`}|num_hidden_layers: missing",
        ",`num_key_value_heads`:0|num_key_value_heads: 0",
        ",`num_key_value_heads`:`2`|num_key_value_heads",
        ",`num_key_value_heads`:2.5|num_key_value_heads",
        ",`head_dim`:1e300|head_dim",
        ",`head_dim`:NaN|",
        ",`max_position_embeddings`:-1|max_position_embeddings",
        ",`tie_word_embeddings`:`yes`|tie_word_embeddings",
        ",`vocab_size`:1|vocab_size",
        ",`x`:[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]|nested",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++)
        expect_bad (rows[i]);
}

TEST ("a config.json becomes a sidecar")
{
    char *sidecar;

    assert_done (
        dn_hf_config_convert (dn_span_of ("{" LLAMA "}"), &sidecar, &unit_err));
    assert_contains (sidecar, "{\"dnnest\":1,\"spec\":{\"model\":\"llama_7b\"");
    free (sidecar);
    assert_done (
        dn_hf_config_convert (dn_span_of ("{\"dnnest\":1}"), &sidecar, &unit_err));
    assert_null (sidecar);
    assert_int_equal (dn_hf_config_convert (
                          dn_span_of ("{\"model_type\":\"x\"}"), &sidecar, &unit_err),
                      -1);
    assert_null (sidecar);
}

TEST ("at least thirty types are known, each once")
{
    int n = 0;

    while (dn_hf_config_type_at (n))
        n++;
    assert_true (n >= 30);
    assert_null (dn_hf_config_type_at (-1));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal (dn_hf_config_type_at (i),
                                     dn_hf_config_type_at (k));
}

/* --- captures ----------------------------------------------------------------------
 */

#define CONFIG                                                                         \
    "\"config\":{\"model_type\":\"llama\",\"hidden_size\":4096,"                       \
    "\"intermediate_size\":11008,\"num_hidden_layers\":32,"                            \
    "\"num_attention_heads\":32,\"num_key_value_heads\":32,\"vocab_size\":32000,"      \
    "\"max_position_embeddings\":4096,\"tie_word_embeddings\":false}"

/* The description of a capture with that network, or NULL. */
static char *capture_of (const char *sidecar, const char *network)
{
    char *text =
        unit_text ("{\"dnnest_capture\":1,\"time\":5,\"sidecar\":%s,\"network\":{%s}}",
                   sidecar,
                   network);

    return dn_hf_capture (dn_span_of (text));
}

TEST ("a network that was not recorded is described by its configuration")
{
    static const char sums[] =
        "{\"dnnest\":1,\"spec\":{\"batch\":4,\"precision\":\"bf16\","
        "\"params\":6738415616,\"flops\":27e12,\"trainable\":0.01}}";
    const char *has[6];
    char *text = unit_keep (
        capture_of (sums,
                    CONFIG ",\"shapes\":[[4,512]],\"quantised\":4,\"adapter\":"
                           "{\"type\":\"lora\",\"rank\":16,\"targets\":["
                           "\"q_proj\",\"v_proj\"]}"),
        free);
    char *flat;

    assert_non_null (text);
    flat = text;
    for (char *at = text; *at; at++) /* without blanks */
        if (*at != ' ')
            *flat++ = *at;
    *flat = '\0';
    unit_cut (
        "`lora`:`16`|`lora_targets`:`q_proj+v_proj`|`quant`:`nf4`|`seq_len`:`512`|"
        "`batch`:`4`|`hidden`:`4096`",
        has,
        6);
    for (size_t i = 0; i < DN_N_ELEMENTS (has); i++)
        assert_contains (text, has[i]);
    assert_null (strstr (text, "params"));
}

TEST ("a capture without such a configuration stays as it is")
{
    static const char sums[] =
        "{\"dnnest\":1,\"spec\":{\"batch\":4,\"params\":6738415616,\"flops\":27e12}}";
    static const char *const cases[][2] = {
        {sums, "\"shapes\":[[4,512]]"},
        {sums, CONFIG},
        {sums, CONFIG ",\"shapes\":[[4,3,8,8]]"},
        {sums, "\"config\":{\"model_type\":\"unheard_of\"},\"shapes\":[[4,512]]"},
        {sums, CONFIG ",\"shapes\":[[4,512]],\"adapter\":{\"type\":\"ia3\"}"},
        {sums, CONFIG ",\"shapes\":[[4,512]],\"trainable\":5,\"parameters\":9"},
        {"7", CONFIG ",\"shapes\":[[4,512]]"},
        {"{\"dnnest\":1,\"spec\":{\"colour\":1}}", CONFIG ",\"shapes\":[[4,512]]"},
        {"{\"dnnest\":1,\"graph\":{\"ops\":[{\"op\":\"linear\",\"in\":[[9]],\"out\":[[9]],"
         "\"params\":81}]}}",
         CONFIG ",\"shapes\":[[4,512]]"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        char *text = capture_of (cases[i][0], cases[i][1]);

        if (text)
            fail_msg ("case %zu: %s", i, text);
    }
    assert_null (dn_hf_capture (dn_span_of ("{")));
}
