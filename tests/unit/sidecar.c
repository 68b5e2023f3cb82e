/* sidecar.c - tests of descriptions in JSON: strict reading, and their graphs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "base/json_read.h"
#include "graph/compact.h"
#include "white.h"

static const char cnn[] =
    "{\"dnnest\": 1,"
    " \"spec\": {\"batch\": 64, \"precision\": \"fp16\", \"epochs\": 1.5},"
    " \"graph\": {\"name\": \"my_net\", \"source\": \"by hand\", \"ops\": ["
    "  {\"op\": \"conv2d\", \"name\": \"stem\", \"in\": [[3,224,224]],"
    "   \"out\": [[64,112,112]], \"kernel\": [7,7], \"stride\": [2,2], \"groups\": 1,"
    "   \"params\": 9408, \"repeat\": 1, \"first\": true},"
    "  {\"op\": \"batchnorm\", \"in\": [[64,112,112]], \"out\": [[64,112,112]],"
    "   \"params\": 128},"
    "  {\"op\": \"activation\", \"in\": [[64,112,112]], \"out\": [[64,112,112]]},"
    "  {\"op\": \"conv2d\", \"in\": [[64,112,112]], \"out\": [[64,112,112]],"
    "   \"kernel\": [3,3], \"params\": 36864, \"repeat\": 4},"
    "  {\"op\": \"reduce\", \"in\": [[64,112,112]], \"out\": [[64]]},"
    "  {\"op\": \"linear\", \"in\": [[64]], \"out\": [[1000]], \"params\": 65000},"
    "  {\"op\": \"loss\", \"in\": [[1000]], \"out\": [[1]]}]}}";

/* The only operator of a graph. */
static char *text_of_op (const char *op)
{
    return unit_text ("{\"dnnest\":1,\"graph\":{\"ops\":[%s]}}", op);
}

static void expect_bad_span (struct dn_span text, const char *part)
{
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};

    if (dn_sidecar_read (text, &sidecar, &unit_err) == 0)
        fail_msg ("'%s' was read", text.text);
    assert_contains (unit_err.text, "sidecar: ");
    assert_contains (unit_err.text, part);
    assert_int_equal (sidecar.layers.n, 0);
    assert_null (sidecar.layers.list);
    assert_int_equal (sidecar.spec.batch, DN_UNSET);
}

static void expect_bad (const char *text, const char *part)
{
    expect_bad_span (dn_span_of (text), part);
}

static void expect_bad_op (const char *op, const char *part)
{
    expect_bad (text_of_op (op), part);
}

static void expect_no_graph (const char *op, const char *part)
{
    struct dn_sidecar sidecar = white_sidecar (text_of_op (op));
    struct dn_graph graph;

    assert_error (dn_layers_graph (&sidecar.layers, &graph, &unit_err), part);
    assert_null (graph.ops);
}

TEST ("a sidecar gives keys and a graph")
{
    struct dn_sidecar sidecar = white_sidecar (cnn);
    struct dn_graph graph = white_graph (&sidecar);
    double positions = 112 * 112;

    assert_int_equal (sidecar.spec.batch, 64);
    assert_int_equal (sidecar.spec.precision, DN_PRECISION_FP16);
    assert_near (sidecar.spec.epochs, 1.5);
    assert_string_equal (graph.name, "my_net");
    assert_near (graph.params, 9408 + 128 + 4 * 36864 + 65000);
    assert_near (graph.flops,
                 2 * (positions * 64 * 147 + 4 * positions * 64 * 576 + 64 * 1000));
    assert_near (graph.input, 3 * 224 * 224);
    assert_near (graph.input_bytes, 4 * 3 * 224 * 224);
    assert_true (graph.ops[0].first);
    assert_true (graph.ops[0].direct);
    assert_false (graph.ops[3].direct);
}

/* What a rectifier keeps is what the next convolution reads. */
TEST ("what two layers keep is counted once")
{
    struct dn_sidecar sidecar = white_sidecar (cnn);
    struct dn_graph graph = white_graph (&sidecar);

    assert_near (graph.ops[2].saved, 64 * 112 * 112);
    assert_near (graph.ops[3].saved, 0);
}

/* Of norms and softmax by the rule, of other kinds as given. */
TEST ("what torch.amp keeps besides follows from the kind")
{
    struct dn_sidecar sidecar = white_sidecar (
        "{\"dnnest\":1,\"graph\":{\"ops\":["
        "{\"op\":\"layernorm\",\"in\":[[8,64]],\"out\":[[8,64]],\"saved\":16},"
        "{\"op\":\"batchnorm\",\"in\":[[8,64]],\"out\":[[8,64]]},"
        "{\"op\":\"softmax\",\"in\":[[8,8]],\"out\":[[8,8]]},"
        "{\"op\":\"dropout\",\"in\":[[8,8]],\"out\":[[8,8]]},"
        "{\"op\":\"softmax\",\"in\":[[8,8]],\"out\":[[8,8]]},"
        "{\"op\":\"linear\",\"in\":[[8,64]],\"out\":[[8,8]],\"amp_saved\":512}]}}");
    const double expected[] = {512, 0, 64, 0, 128, 512};
    struct dn_graph graph = white_graph (&sidecar);

    for (size_t i = 0; i < DN_N_ELEMENTS (expected); i++)
        assert_near (graph.ops[i].amp_saved, expected[i]);
}

TEST ("written and read again it is the same")
{
    struct dn_sidecar sidecar = white_sidecar (cnn);
    struct dn_graph graph = white_graph (&sidecar);
    char *text = unit_keep (dn_sidecar_write (&sidecar), free);
    struct dn_sidecar again = white_sidecar (text);
    struct dn_graph same = white_graph (&again);
    char *text_again = unit_keep (dn_sidecar_write (&again), free);

    assert_string_equal (text, text_again);
    assert_int_equal (same.n_ops, graph.n_ops);
    assert_near (same.flops, graph.flops);
    assert_near (same.params, graph.params);
    assert_near (same.tensors, graph.tensors);
}

TEST ("equal layers are merged without loss")
{
    struct dn_sidecar once = white_sidecar (cnn);
    struct dn_sidecar twice = {.spec = dn_spec_empty ()};
    struct dn_graph before;
    struct dn_graph after;
    int n = once.layers.n;

    for (int i = 0; i < 2 * n; i++) {
        struct dn_layer copy = once.layers.list[i % n];

        snprintf (copy.name, sizeof (copy.name), "layer%d", i);
        assert_int_equal (dn_layers_add (&twice.layers, &copy, NULL), 0);
    }
    before = white_graph (&twice);
    dn_layers_merge (&twice.layers);
    assert_int_equal (twice.layers.n, n);
    after = white_graph (&twice);
    dn_sidecar_free (&twice);
    assert_near (after.flops, before.flops);
    assert_near (after.params, before.params);
    assert_near (after.tensors, before.tensors);
}

#define OP(name, in, out, more)                                                        \
    "{\"op\":\"" name "\",\"in\":[" in "],\"out\":[" out "]" more "}"

/* An operator of a sidecar, the kind of the graph's first operator, and its FLOPs. */
static const struct {
    const char *op;
    enum dn_op_kind kind;
    double flops;
} kinds[] = {
    {OP ("conv1d", "[8,100]", "[16,50]", ",\"kernel\":[3]"),
     DN_OP_CONV,
     2.0 * 50 * 16 * 8 * 3},
    {OP ("conv3d", "[8,4,4,4]", "[16,4,4,4]", ",\"kernel\":[3,3,3],\"groups\":2"),
     DN_OP_CONV,
     2.0 * 64 * 16 * 4 * 27},
    {OP ("conv_transpose", "[8,4,4]", "[16,8,8]", ",\"kernel\":[2,2]"),
     DN_OP_CONV,
     2.0 * 16 * 16 * 4 * 8},
    {OP ("linear", "[128,768]", "[128,3072]", ""),
     DN_OP_LINEAR,
     2.0 * 128 * 768 * 3072},
    {OP ("matmul", "[12,128,64],[12,64,128]", "[12,128,128]", ""),
     DN_OP_MATMUL,
     2.0 * 12 * 128 * 128 * 64},
    {OP ("attention",
         "[12,128,64],[12,128,64],[12,128,64]",
         "[12,128,64]",
         ",\"fused\":true,\"causal\":true,\"window\":64"),
     DN_OP_ATTENTION,
     2.0 * 2 * 12 * 128 * 128 * 64},
    {OP ("embedding", "[128]", "[128,768]", ",\"params\":23440896"),
     DN_OP_EMBEDDING,
     0},
    {OP ("rnn",
         "[35,650]",
         "[35,650]",
         ",\"hidden\":650,\"gates\":4,\"params\":3385200"),
     DN_OP_RNN,
     2.0 * 35 * 4 * 650 * 1300},
    {OP ("layernorm", "[128,768]", "[128,768]", ""), DN_OP_NORM, 0},
    {OP ("pool", "[64,8,8]", "[64,4,4]", ""), DN_OP_POOL, 0},
    {OP ("concat", "[64,8,8],[32,8,8]", "[96,8,8]", ""), DN_OP_COPY, 0},
    {"{\"op\":\"other\",\"flops\":2e9,\"bytes\":4e6}", DN_OP_MATMUL, 2e9},
    {"{\"op\":\"other\",\"flops\":0,\"bytes\":4e6}", DN_OP_COPY, 0},
};

/* Spatial dimensions of a convolution, which determine its layout in memory. */
static int dims_of (const char *op)
{
    return strstr (op, "conv1d")           ? 1
           : strstr (op, "conv3d")         ? 3
           : strstr (op, "conv_transpose") ? 2
                                           : 0;
}

/* Simplified layers give the same operators. */
TEST ("every kind becomes an operator")
{
    for (size_t i = 0; i < DN_N_ELEMENTS (kinds); i++) {
        struct dn_sidecar sidecar = white_sidecar (text_of_op (kinds[i].op));
        struct dn_graph graph = white_graph (&sidecar);
        struct dn_graph simple;

        assert_int_equal (graph.ops[0].kind, kinds[i].kind);
        assert_near (graph.flops, kinds[i].flops);
        assert_int_equal (graph.ops[0].dims, dims_of (kinds[i].op));
        dn_layers_simplify (&sidecar.layers);
        simple = white_graph (&sidecar);
        assert_int_equal (simple.n_ops, graph.n_ops);
        assert_memory_equal (
            simple.ops, graph.ops, sizeof (*graph.ops) * (size_t) graph.n_ops);
        assert_near (simple.input, graph.input);
    }
}

TEST ("attention is the operator that the zoo has")
{
    struct dn_sidecar sidecar =
        white_sidecar ("{\"dnnest\":1,\"graph\":{\"ops\":[{\"op\":\"attention\","
                       "\"in\":[[12,128,64],[4,256,64],[4,256,32]],"
                       "\"out\":[[12,128,32]],\"causal\":true,\"window\":100}]}}");
    struct dn_graph graph = white_graph (&sidecar);
    const struct dn_op *op = &graph.ops[0];

    assert_int_equal (graph.n_ops, 1);
    assert_int_equal (op->kind, DN_OP_ATTENTION);
    assert_numbers ("12 4 128", op->batches, op->kv_heads, op->m);
    assert_numbers ("256 64 32 100", op->n, op->k, op->value_dim, op->window);
    assert_true (op->causal && !op->fused);
    assert_near (op->flops, 2.0 * 12 * 128 * 256 * (64 + 32));
}

TEST ("attention whose shapes do not fit is refused")
{
#define ATTENTION "{\"op\":\"attention\",\"in\":[[12,128,64]"
    expect_no_graph (ATTENTION ",[5,128,64]],\"out\":[[12,128,64]]}",
                     "5 heads of keys, expected a divisor of 12");
    expect_no_graph (ATTENTION ",[12,128,64]],\"out\":[[12,64,64]]}",
                     "out: expected the 12 heads and 128 tokens");
    expect_no_graph (ATTENTION "],\"out\":[[12,128,64]]}", "in: 1 shapes, expected 2");
}

TEST ("bad JSON is refused")
{
    expect_bad ("", "empty");
    expect_bad ("{", "ends in the middle");
    expect_bad ("[]", "not a JSON object");
    expect_bad ("\"7\"", "not a JSON object");
    expect_bad ("{\"dnnest\":1}}", "after the JSON value");
    expect_bad ("{\"dnnest\":1,}", "not JSON");
    expect_bad ("{'dnnest':1}", "not JSON");
    expect_bad ("{\"dnnest\":1,\"spec\":{\"model\":\"a\xff\"}}", "not JSON");
    expect_bad ("{\"dnnest\":1,\"dnnest\":1}", "'dnnest': given twice");
    expect_bad ("{\"dnnest\":1,\"\\u0064nnest\":1}", "a key with an escape");
    expect_bad ("{\"dnnest\":1,\"spec\":[[[[[[[[[[1]]]]]]]]]]}", "nested too deeply");
    expect_bad ("\xff\xfe{\"dnnest\":1}", "not JSON");
}

TEST ("a NUL byte is refused")
{
    static const char text[] = "{\"dnnest\":1}\0{}";

    expect_bad_span ((struct dn_span){text, sizeof (text) - 1}, "NUL");
}

TEST ("a million brackets take no time")
{
    expect_bad (unit_repeat ("[", 1000000), "nested too deeply");
}

/* An object of 'n' members, those from 'n_names' on with the names of the first. */
static char *many_keys (int n, int n_names)
{
    size_t size = 16 + 16 * (size_t) n;
    char *text = unit_keep (malloc (size), free);
    struct dn_buf buf = dn_buf_on (text, size);

    for (int i = 0; i < n; i++)
        dn_buf_add (&buf, "%s\"k%d\":1", i > 0 ? "," : "{", i % n_names);
    dn_buf_add (&buf, "}");
    assert_false (buf.cut);
    return text;
}

static void expect_unread (const char *text, int depth, size_t n, const char *part)
{
    if (dn_json_read (dn_span_of (text), depth, n, &unit_err))
        fail_msg ("read, expected '%s'", part);
    assert_contains (unit_err.text, part);
}

TEST ("depth, keys and values are limited")
{
    const int most = DN_JSON_KEYS_MAX;
    dn_cleanup (dn_json_free) struct json_object *json = assert_made (
        dn_json_read (dn_span_of (many_keys (most, most)), 2, most, &unit_err));

    expect_unread (
        many_keys (most + 1, most + 1), 2, SIZE_MAX, "'k2048': more than 2048 keys");
    expect_unread (
        many_keys (most, most - 1), 2, SIZE_MAX, "'k0': given twice in one object");
    expect_unread ("{\"a\":[1,2,3]}", 3, 1, "more than 1 values");
    expect_unread ("{\"a\":[1]}", 2, 9, "nested too deeply");
}

TEST ("the place of an error is named")
{
    expect_unread ("{\"a\":1,\n \"b\":{},\n  \"a\":2}",
                   4,
                   9,
                   "line 3, column 4: 'a': given twice");
    expect_unread ("{\"o\":{\"b\":1,\"c\":2,\"b\":3}}", 4, 9, "'b': given twice");
    expect_unread ("{\"a\":[1,\n2 x]}", 4, 9, "line 2, column 3: not JSON");
    /* the same key in two objects, or as a value, is allowed */
    expect_unread ("{\"a\":{\"a\":[\"a\",\"a\",{\"a\":1}]}} x", 5, 9, "text after");
}

TEST ("missing members are refused")
{
    static const char text[] = "{\"n\":7,\"r\":-0.5,\"t\":\"x\",\"a\":[1,2],\"o\":{},"
                               "\"null\":null,\"big\":9223372036854775807}";
    struct dn_err *err = &unit_err;
    dn_cleanup (dn_json_free) struct json_object *json =
        assert_made (dn_json_read (dn_span_of (text), 3, 20, err));
    int64_t n = 0;
    double r[2];
    char t[2];

    assert_done (dn_json_need_int (json, "n", 0, 7, &n, err));
    assert_int_equal (n, 7);
    assert_done (dn_json_need_int (json, "big", 0, INT64_MAX, &n, err));
    assert_true (n == INT64_MAX);
    assert_done (dn_json_need_real (json, "r", -1, 0, r, err));
    assert_near (r[0], -0.5);
    assert_done (dn_json_need_text (json, "t", t, sizeof (t), err));
    assert_done (dn_json_need_reals (json, "a", 0, 2, r, 2, err));
    assert_near (r[1], 2);
    assert_made (dn_json_need_object (json, "o", err));
    assert_made (dn_json_need_array (json, "a", 0, 2, err));

    assert_error (dn_json_need_int (json, "x", 0, 9, &n, err),
                  "x: missing, expected a whole number");
    assert_error (dn_json_need_int (json, "n", 8, 9, &n, err),
                  "n: 7 out of range 8..9");
    assert_error (dn_json_need_int (json, "big", 0, INT64_MAX - 1, &n, err),
                  "big: 9223372036854775807 out of range");
    assert_error (dn_json_need_int (json, "r", -9, 9, &n, err),
                  "r: found double, expected a whole number");
    assert_error (dn_json_need_real (json, "x", 0, 9, r, err), "x: missing");
    assert_error (dn_json_need_text (json, "x", t, sizeof (t), err), "x: missing");
    assert_error (dn_json_need_reals (json, "x", 0, 9, r, 2, err), "x: missing");
    assert_error (dn_json_need_reals (json, "a", 0, 9, r, 1, err),
                  "a: 2 values, expected 1");
    assert_error (dn_json_need_reals (json, "a", 0, 1, r, 2, err),
                  "a: value 1 is not a number in 0..1");
    assert_error (dn_json_need_array (json, "a", 3, 4, err) ? 0 : -1,
                  "a: 2 values, expected 3..4");
    assert_error (dn_json_need_array (json, "o", 0, 4, err) ? 0 : -1,
                  "expected an array");
    assert_error (dn_json_need_object (json, "x", err) ? 0 : -1,
                  "x: missing, expected an object");
    assert_error (dn_json_need_object (json, "null", err) ? 0 : -1, "null: found null");
}

TEST ("bad members are named")
{
    expect_bad ("{}", "dnnest: missing");
    expect_bad ("{\"dnnest\":2}", "dnnest: another version");
    expect_bad ("{\"dnnest\":\"1\"}", "dnnest: found string, expected a whole number");
    expect_bad ("{\"dnnest\":1,\"sepc\":{}}",
                "'sepc': unknown, expected one of dnnest");
    expect_bad ("{\"dnnest\":1,\"spec\":[]}", "spec: found array, expected an object");
    expect_bad ("{\"dnnest\":1,\"spec\":{\"batch\":[1]}}", "spec: batch: found array");
    expect_bad ("{\"dnnest\":1,\"spec\":{\"batch\":-4}}", "batch");
    expect_bad ("{\"dnnest\":1,\"spec\":{\"batch\":null}}", "spec: batch: found null");
    expect_bad ("{\"dnnest\":1,\"spec\":{\"batch\":\"1,epochs=2\"}}",
                "one short value");
    expect_bad ("{\"dnnest\":1,\"spec\":{\"btach\":4}}", "btach");
    expect_bad ("{\"dnnest\":1,\"graph\":{}}", "graph: ops: missing or empty");
    expect_bad ("{\"dnnest\":1,\"graph\":{\"ops\":[]}}",
                "graph: ops: missing or empty");
    expect_bad ("{\"dnnest\":1,\"graph\":{\"ops\":{}}}", "ops: found object");
    expect_bad_op ("7", "graph: ops[0]: not an object");
    expect_bad_op ("{}", "ops[0]: op: missing");
    expect_bad_op ("{\"op\":\"conv4d\"}", "op: 'conv4d'");
    expect_bad_op ("{\"op\":\"copy\",\"kernal\":[3]}", "'kernal': unknown");
    expect_bad_op ("{\"op\":\"copy\",\"params\":1e400}", "params");
    expect_bad_op ("{\"op\":\"copy\",\"params\":NaN}", "params");
    expect_bad_op ("{\"op\":\"copy\",\"params\":-1}", "params: -1 out of range");
    expect_bad_op ("{\"op\":\"copy\",\"frozen\":-1}", "frozen: -1 out of range");
    expect_bad_op ("{\"op\":\"copy\",\"frozen\":true}", "frozen: found boolean");
    expect_bad_op ("{\"op\":\"copy\",\"frozen_bytes\":1e19}", "frozen_bytes: 1");
    expect_bad_op ("{\"op\":\"copy\",\"repeat\":0}", "repeat: 0 out of range");
    expect_bad_op ("{\"op\":\"copy\",\"in\":[[3,0]]}", "in: 0 in a shape");
    expect_bad_op ("{\"op\":\"copy\",\"in\":[[3,-1]]}", "in: -1 in a shape");
    expect_bad_op ("{\"op\":\"copy\",\"in\":[[1.5]]}", "in: 1.5 in a shape");
    expect_bad_op ("{\"op\":\"copy\",\"in\":[3]}", "in: a shape is not an array");
    expect_bad_op ("{\"op\":\"copy\",\"in\":[[1,1,1,1,1,1,1]]}", "7 dimensions");
    expect_bad_op ("{\"op\":\"copy\",\"kernel\":[]}",
                   "kernel: 0 values, expected 1..3");
    expect_bad_op ("{\"op\":\"copy\",\"name\":\"a\\u0007b\"}", "printable");
}

TEST ("layers that do not fit together are named")
{
    expect_no_graph ("{\"op\":\"conv2d\",\"kernel\":[3,3]}", "in: 0 shapes");
    expect_no_graph ("{\"op\":\"conv2d\",\"in\":[[3,8,8]],\"out\":[[8,8,8]]}",
                     "kernel: missing");
    expect_no_graph ("{\"op\":\"conv2d\",\"in\":[[3,8,8]],\"out\":[[8,8,8]],"
                     "\"kernel\":[3,3],\"groups\":2}",
                     "groups: 2, expected a divisor of 3");
    expect_no_graph ("{\"op\":\"linear\",\"in\":[[8]]}", "out: 0 dimensions");
    expect_no_graph ("{\"op\":\"rnn\",\"in\":[[5,8]],\"out\":[[5,8]]}",
                     "hidden, gates");
    expect_no_graph ("{\"op\":\"other\",\"flops\":7}", "flops, bytes: missing");
    expect_no_graph ("{\"op\":\"linear\",\"in\":[[1000000000]],\"out\":"
                     "[[1000000000,1000000000,1000000000]],\"params\":1e18}",
                     "expected at most");
}
