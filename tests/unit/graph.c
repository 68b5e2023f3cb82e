/* graph.c - unit tests of model/graph: the zoo against its references
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "graph/graph.h"
#include "rows.h"
#include "scratch.h"
#include "tests/unit/networks.h"

/* The saved elements of the references include statistics of normalisations, and what
 * single operators keep changes between versions. The memory model needs no higher
 * accuracy.
 */
#define SAVED_TOLERANCE 0.04

/* A file has three sizes; others lie on a parabola. */
#define RESIZED 0.02

static struct dn_spec read_spec (const char *text)
{
    struct dn_spec spec = dn_spec_empty ();

    if (dn_spec_read (dn_span_of (text), &spec, &unit_err) < 0)
        fail_msg ("%s: %s", text, unit_err.text);
    return spec;
}

/* It is kept for the test. */
static struct dn_graph build (const char *text)
{
    struct dn_spec spec = read_spec (text);
    struct dn_graph graph;

    if (dn_graph_build (shipped_networks (), &spec, &graph, &unit_err) < 0)
        fail_msg ("%s: %s", text, unit_err.text);
    unit_keep (graph.ops, free);
    return graph;
}

/* Build what a row "spec|error" describes, which must fail and leave an empty graph. */
static void expect_failures (const char *const rows[], size_t n, enum dn_errc code)
{
    for (size_t i = 0; i < n; i++) {
        struct dn_graph graph;
        struct dn_spec spec;
        const char *row[2];

        unit_cut (rows[i], row, 2);
        spec = read_spec (row[0]);
        memset (&graph, 0xff, sizeof (graph));
        assert_error (dn_graph_build (shipped_networks (), &spec, &graph, &unit_err),
                      row[1]);
        assert_int_equal (unit_err.code, code);
        assert_true (!graph.ops && graph.n_ops == 0);
    }
}

TEST ("bad arguments are refused and freeing twice is harmless")
{
    struct dn_graph graph = {0};
    struct dn_spec spec = read_spec ("model=resnet5O");

    dn_graph_free (NULL);
    dn_graph_free (&graph);
    dn_graph_free (&graph);
    assert_int_equal (dn_graph_build (shipped_networks (), &spec, &graph, NULL), -1);
    assert_null (dn_zoo_at (shipped_networks (), -1).name);
    assert_null (dn_zoo_at (shipped_networks (), 100000).name);
}

TEST ("an unknown model is named with the nearest known one")
{
    static const char *const rows[] = {
        "model=resnet5O|model: 'resnet5O' is not in the zoo, did you mean resnet50?",
        "model=bert_bas|did you mean bert_base?",
        "model=something_else|'something_else'",
        "batch=1|model: missing",
        "model=nobodys_net,params=1M,flops=1G|activations",
    };

    expect_failures (rows, DN_N_ELEMENTS (rows), DN_E_RANGE);
}

TEST ("a network of more parameters than are counted exactly is refused")
{
    static const char *const row = "model=gpt2,hidden=1000000,heads=1000,layers=4096,"
                                   "seq_len=100M|model: gpt2 has";

    expect_failures (&row, 1, DN_E_LIMIT);
}

TEST ("keys that do not fit each other or the model are errors")
{
    static const char *const rows[] = {
        "model=gpt2,heads=7|heads: 7, expected a divisor of hidden 768",
        "model=gpt2,positions=512|positions: 512, expected at least seq_len 1024",
        "model=deepseek_v2_lite,layers=4,dense_layers=5|dense_layers: 5, expected at most "
        "layers 4",
        "model=gpt2,kv_heads=5|kv_heads: 5, expected",
        "model=resnet50,image=8x8x8|image: 3 dimensions",
        "model=unet,image=8|image: 8 is too small",
        "model=unet,layers=99|layers: 99 out of range",
        "model=bert_base,tgt_len=600|tgt_len: 600",
        "model=gnmt,layers=1|layers: 1 for gnmt, which is known from 3 to 8",
        "model=switch_xl4,top_k=5|top_k: 5, expected at most experts 4",
    };

    expect_failures (rows, DN_N_ELEMENTS (rows), DN_E_RANGE);
}

TEST ("keys that the model does not read are reported, not refused")
{
    struct dn_graph plain = build ("model=resnet50,image=256");
    struct dn_graph odd = build ("model=resnet50,image=256,heads=3");
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    assert_true (dn_keyset_is_empty (plain.unread));
    for (int i = 0; i < n_keys; i++)
        assert_int_equal (dn_keyset_has (&odd.unread, i),
                          strcmp (keys[i].name, "heads") == 0);
    assert_true (odd.params == plain.params);
}

/* Every name, alone and with all sizes at their largest and smallest, either builds or
 * fails with a reason.
 */
TEST ("every name takes the extremes of every key")
{
    const char *name;
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; (name = dn_zoo_at (shipped_networks (), i).name); i++) {
        for (int k = 0; k < n_keys; k++) {
            for (int end = 0; end < 2; end++) {
                struct dn_spec spec = dn_spec_empty ();
                struct dn_graph graph;
                int64_t value = (int64_t) (end ? keys[k].max : keys[k].min);

                if (keys[k].type != DN_KEY_INT)
                    continue;
                snprintf (spec.model, sizeof (spec.model), "%s", name);
                memcpy ((char *) &spec + keys[k].offset, &value, sizeof (value));
                if (dn_graph_build (shipped_networks (), &spec, &graph, &unit_err) < 0)
                    assert_true (unit_err.text[0] != '\0');
                else
                    assert_true (isfinite (graph.flops) && isfinite (graph.params));
                dn_graph_free (&graph);
            }
        }
    }
}

/* How many attentions of the network see 'window' tokens (0: all). */
static double count_attentions (const char *text, double window)
{
    struct dn_graph graph = build (text);
    double n = 0;

    for (int i = 0; i < graph.n_ops; i++)
        if (graph.ops[i].kind == DN_OP_ATTENTION && graph.ops[i].window == window)
            n += graph.ops[i].repeat;
    return n;
}

TEST ("a window is that of the blocks that have one")
{
    assert_numbers ("22 4 0",
                    count_attentions ("model=gemma_3_1b", 512),
                    count_attentions ("model=gemma_3_1b", 0),
                    count_attentions ("model=gemma_3_1b,layers=5", 0));
    assert_numbers ("13 13",
                    count_attentions ("model=gemma_2_2b,window=100", 100),
                    count_attentions ("model=gemma_2_2b,window=100", 0));
    assert_numbers ("12 12",
                    count_attentions ("model=gpt_oss_20b", 128),
                    count_attentions ("model=gpt_oss_20b", 0));
    assert_numbers ("32 14 8",
                    count_attentions ("model=mistral_7b,window=64", 64),
                    count_attentions ("model=modernbert_base", 128),
                    count_attentions ("model=modernbert_base", 0));
}

TEST ("a hybrid's few attentions keep their share of the layers")
{
    assert_numbers ("4 2 4 1",
                    count_attentions ("model=jamba_v0.1", 0),
                    count_attentions ("model=jamba_v0.1,layers=16", 0),
                    count_attentions ("model=nemotron_h_8b", 0),
                    count_attentions ("model=granite_4.0_h_tiny,layers=4", 0));
}

static void expect_near (const struct dn_row *row,
                         const char *column,
                         double found,
                         double tolerance)
{
    const char *expected = rows_get (row, column);
    double value = strtod (expected, NULL);

    if (expected[0] != '\0' && fabs (found - value) > tolerance * value)
        fail_msg (
            "%s: %s %.0f, expected %.0f", rows_get (row, "spec"), column, found, value);
}

static int check_row (const struct dn_row *row, void *n_rows, struct dn_err *err)
{
    const char *spec = rows_get (row, "spec");
    struct dn_graph graph = build (spec);
    bool resized = dn_networks_find (shipped_networks (), rows_get (row, "name"))
                   && strchr (spec, ',');

    expect_near (row, "params", graph.params, resized ? RESIZED : 0);
    expect_near (row, "tensors", graph.tensors, 0);
    expect_near (row, "forward_macs", graph.flops / 2, resized ? RESIZED : 0.01);
    expect_near (row, "saved", SUM_OF (&graph, saved), SAVED_TOLERANCE);
    if (strtod (rows_get (row, "masks"), NULL) > 1e6)
        expect_near (row, "masks", SUM_OF (&graph, masks), SAVED_TOLERANCE);
    ++*(int *) n_rows;
    return 0;
}

TEST ("every reference is met in parameters, MACs and saved elements")
{
    int n_rows = 0;

    rows_each ("zoo.csv", check_row, &n_rows);
    assert_true (n_rows > 40);
}

/* Is there a row of the reference table for 'name'? */
static bool has_reference (const char *table, const char *name)
{
    return strstr (table, unit_text ("\n%s,", name)) != NULL;
}

TEST ("every name of the zoo has a reference")
{
    char *table = unit_keep (tree_text ("tests/data/zoo.csv"), free);
    const char *name;

    for (int i = 0; (name = dn_zoo_at (shipped_networks (), i).name); i++) {
        /* NAME.HEAD is NAME with another head. */
        char *plain = unit_text ("%s", name);

        if (strrchr (plain, '.'))
            *strrchr (plain, '.') = '\0';
        if (!has_reference (table, name)
            && !(dn_networks_find (shipped_networks (), name)
                 && dn_networks_find (shipped_networks (), plain)
                 && has_reference (table, plain)))
            fail_msg ("%s has no reference", name);
    }
}

TEST ("twice the image is four times the convolutions")
{
    struct dn_graph small = build ("model=resnet50,image=256");
    struct dn_graph large = build ("model=resnet50,image=512");
    double linear = 2.0 * 2048 * 1000;

    assert_true (large.flops - linear == 4 * (small.flops - linear));
    assert_true (large.params == small.params);
    assert_true (large.input == 3 * 512 * 512);
    assert_true (large.input_bytes == 4 * large.input);
}

TEST ("layers override a name, and families are general names")
{
    struct dn_graph base = build ("model=gpt2");
    struct dn_graph deep = build ("model=gpt2,layers=60");
    struct dn_graph same = build ("model=transformer,layers=60,seq_len=1024");

    /* 12 h^2 + 13 h per block */
    assert_true (deep.params - base.params == 48 * (12.0 * 768 * 768 + 13 * 768));
    assert_true (deep.params == same.params);
    assert_true (deep.flops == same.flops);
    assert_int_equal (deep.block_layers, 60);
    assert_true (deep.block_boundary == 1024 * 768);
}

TEST ("an alias of a family builds the row that it stands for")
{
    static const char *const aliases[][2] = {{"model=transformer", "model=gpt2"},
                                             {"model=rnn", "model=lstm_lm"},
                                             {"model=recsys", "model=dlrm"}};

    for (size_t i = 0; i < DN_N_ELEMENTS (aliases); i++) {
        struct dn_graph alias = build (aliases[i][0]);
        struct dn_graph row = build (aliases[i][1]);

        assert_true (alias.params == row.params);
        assert_true (alias.flops == row.flops);
    }
}

TEST ("experts add parameters, not work; top_k adds work")
{
    struct dn_graph few = build ("model=switch_xl4");
    struct dn_graph many = build ("model=switch_xl4,experts=8");
    struct dn_graph two = build ("model=switch_xl4,top_k=2");
    double expert = 2.0 * 1024 * 16384;
    double router = 1024;

    /* 24 sparse layers of 512 tokens each; a router has one output per expert. */
    assert_true (many.params - few.params == 24 * 4 * (expert + router));
    assert_true (many.flops - few.flops == 24 * 4 * 2 * 512 * router);
    assert_true (two.params == few.params);
    assert_true (two.flops - few.flops == 24 * 2 * 512 * expert);
}

TEST ("equal blocks are listed once")
{
    struct dn_graph graph = build ("model=gpt2_xl,layers=47");
    struct dn_graph deep = build ("model=gpt2_xl,layers=4096");

    assert_true (graph.n_ops < 40);
    assert_int_equal (deep.n_ops, graph.n_ops);
}

TEST ("only the first operator reads the sample")
{
    struct dn_graph graph = build ("model=resnet50");
    int n_first = 0;

    for (int i = 0; i < graph.n_ops; i++)
        n_first += graph.ops[i].first;
    assert_int_equal (n_first, 1);
    assert_true (graph.ops[0].first);
    assert_int_equal (graph.ops[0].kind, DN_OP_CONV);
    assert_numbers ("12544 64 147", graph.ops[0].m, graph.ops[0].n, graph.ops[0].k);
}

TEST ("given totals are met exactly")
{
    struct dn_graph graph =
        build ("model=nobodys_net,params=25M,flops=8G,activations=11M");
    struct dn_graph mlp = build ("model=mlp,layers=10,in_channels=1003,classes=190,"
                                 "params=3738002,flops=7476004,activations=15311");

    assert_true (fabs (graph.params - 25e6) < 1);
    assert_true (fabs (graph.flops - 8e9) < 1);
    assert_true (fabs (SUM_OF (&graph, saved) - 11e6) < 1);
    assert_string_equal (graph.name, "nobodys_net");
    assert_true (fabs (mlp.params - 3738002) < 1);
    assert_true (fabs (mlp.flops - 7476004) < 1);
    assert_true (fabs (SUM_OF (&mlp, saved) - 15311) < 1);
}

TEST ("families build from sizes")
{
    static const char *const families[] = {
        "model=cnn,layers=20,hidden=32,image=64,classes=10",
        "model=transformer,layers=6,hidden=512,heads=8,seq_len=256,vocab=32000",
        "model=rnn,layers=3,hidden=256,vocab=10000,seq_len=50",
        "model=mlp,layers=4,hidden=256,in_channels=100,classes=10",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (families); i++) {
        struct dn_graph graph = build (families[i]);

        assert_true (graph.params > 0 && graph.flops > 0 && graph.n_ops > 0);
        assert_true (graph.input_bytes > 0 && SUM_OF (&graph, saved) > 0);
    }
}

TEST ("names ignore case and dashes")
{
    struct dn_graph a = build ("model=ResNet50");
    struct dn_graph b = build ("model=gpt2-medium");

    assert_true (a.params == 25557032);
    assert_true (b.params == 354823168);
}

TEST ("what is frozen keeps nothing")
{
    struct dn_graph graph = build ("model=maskrcnn_resnet50_fpn");
    int n_frozen = 0;
    double each = 0;

    for (int i = 0; i < graph.n_ops; i++) {
        const struct dn_op *op = &graph.ops[i];

        if (op->frozen)
            assert_near (op->saved + op->masks, 0);
        /* The frozen ones come before all others. */
        assert_true (!op->frozen || i == n_frozen);
        n_frozen += op->frozen;
        each += op->each;
        assert_true (i < 5 || op->kind != DN_OP_NORM);
    }
    assert_true (n_frozen > 10 && n_frozen < graph.n_ops / 2);
    assert_true (each > 100);
}

/* The parts of a training that do not learn are run forward only, except the decoder of
 * a U-Net or a language model that gradients pass through.
 */
TEST ("parts that do not learn count as frozen, and gradients pass through some")
{
    struct dn_graph latents = build ("model=stable_diffusion_v1_5_latents");
    struct dn_graph whole = build ("model=stable_diffusion_v1_5");
    struct dn_graph words = build ("model=llava_1.5_7b_pretrain");
    int n_passed = 0;

    assert_near (latents.frozen_params, 0);
    /* The text encoder, and the encoder of the latents. */
    assert_near (whole.frozen_params, 123060480 + 34163664);
    assert_true (whole.params == latents.params);
    assert_true (SUM_OF (&whole, saved) == SUM_OF (&latents, saved));
    assert_true (latents.input == 4 * 64 * 64 + 77 * 768);
    assert_true (whole.input == 3 * 512 * 512 + 77);
    assert_int_equal (latents.decode, DN_DECODE_NONE);
    assert_int_equal (whole.decode, DN_DECODE_UNKNOWN);
    for (int i = 0; i < words.n_ops; i++)
        n_passed += dn_op_is_frozen (&words.ops[i]) && !words.ops[i].frozen;
    assert_true (n_passed > 5);
}

TEST ("the blocks of a vision tower and of its language model are blocks")
{
    struct dn_graph graph = build ("model=qwen2.5_vl_7b");
    struct dn_graph tower = build ("model=qwen2.5_vl_7b,frozen=decoder+head");

    assert_int_equal (graph.block_layers, 32 + 28);
    /* The image is two equal frames. */
    assert_near (graph.input, 3 * 672 * 672 + 2048);
    assert_near (graph.input_bytes, 2 * 4 * 3 * 672 * 672 + 8 * 2048);
    assert_near (tower.params, 676550144);
}

TEST ("loops of the host are counted, and joined tables")
{
    struct dn_graph graph = build ("model=tacotron2,tgt_len=600");
    struct dn_graph tables = build ("model=dlrm,tables=20");
    double longest = 0;

    assert_near (graph.padding, 1.5);
    for (int i = 0; i < graph.n_ops; i++) {
        assert_true (graph.ops[i].calls == 1 || graph.ops[i].calls == 600 * 1.5);
        longest = fmax (longest, graph.ops[i].calls);
    }
    assert_numbers ("900 1", longest, tables.padding);
    for (int i = 0; i < tables.n_ops; i++)
        if (tables.ops[i].kind == DN_OP_EMBEDDING)
            assert_near (tables.ops[i].repeat * tables.ops[i].calls, 1);
}

TEST ("an alignment loss processes the tokens in sequence")
{
    struct dn_graph graph = build ("model=wav2vec2_base,seq_len=98400");
    const struct dn_op *last = &graph.ops[graph.n_ops - 1];

    assert_int_equal (last->kind, DN_OP_LOSS);
    assert_true (last->single);
    assert_near (last->steps, 307);
}

TEST ("every file is sound at all its sizes")
{
    const struct dn_networks *shipped = shipped_networks ();
    struct dn_networks copies = {.n = 0};

    assert_true (shipped->n > 400 && shipped->bytes < 4 * 1024 * 1024);
    for (int i = 0; i < shipped->n; i++) {
        const struct dn_network *network = shipped->list[i];
        char *file = unit_text ("%s.json", network->name);

        if (dn_zoo_has (network->name)
            || dn_networks_add (&copies,
                                file,
                                strndup (network->text, network->len),
                                network->len,
                                true,
                                &unit_err)
                   < 0)
            fail_msg ("%s: %s", file, unit_err.text);
    }
    dn_networks_free (&copies);
}

TEST ("each kind of operator has a name")
{
    assert_int_equal (dn_op_kind_names.n_names, DN_N_OP_KINDS);
    assert_string_equal (dn_names_get (&dn_op_kind_names, DN_OP_CONV), "conv");
    assert_string_equal (dn_names_get (&dn_op_kind_names, DN_OP_LOSS), "loss");
}
