/* hlo.c - tests of XLA HLO modules: parsing, counting, conversion to layers
 *
 * tests/cli/0092-import.t tests dumps of the real JAX.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "import/hlo_layers.h"

static struct dn_hlo parse (const char *text)
{
    struct dn_hlo module;
    struct dn_err err = {0};

    if (dn_hlo_parse (dn_span_of (text), &module, &err) < 0)
        fail_msg ("%s", err.text);
    return module;
}

static void expect_bad (const char *text, const char *part)
{
    struct dn_hlo module;
    struct dn_err err = {0};

    if (dn_hlo_parse (dn_span_of (text), &module, &err) == 0)
        fail_msg ("'%.60s' was parsed", text);
    assert_contains (err.text, part);
    assert_null (module.instructions.list);
}

/* Operations of an entry with these instructions. */
static struct dn_hlo_cost cost_of (const char *text)
{
    struct dn_hlo module = parse (text);
    struct dn_hlo_costs costs;
    struct dn_hlo_cost cost;

    assert_int_equal (dn_hlo_costs_find (&module, &costs, NULL), 0);
    cost = costs.list[module.entry];
    dn_hlo_costs_free (&costs);
    dn_hlo_free (&module);
    return cost;
}

static double flops_of (const char *instructions)
{
    char text[8192];

    snprintf (text,
              sizeof (text),
              "HloModule m\n"
              "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
              " ROOT s = f32[] add(a, b)\n}\n"
              "gt { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
              " ROOT g = pred[] compare(a, b), direction=GT\n}\n"
              "ENTRY e {\n%s}\n",
              instructions);
    return cost_of (text).flops;
}

/* The layers of a module; 'summary' may be NULL. */
static struct dn_sidecar import (const char *text, struct dn_hlo_summary *summary)
{
    struct dn_hlo module = parse (text);
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    struct dn_hlo_summary own;
    struct dn_err err = {0};

    if (dn_hlo_layers (
            &module, DN_HLO_PASS_GUESS, 0, &sidecar, summary ? summary : &own, &err)
        < 0)
        fail_msg ("%s", err.text);
    dn_hlo_free (&module);
    return sidecar;
}

static const struct dn_layer *find_layer (const struct dn_sidecar *sidecar,
                                          const char *name)
{
    for (int i = 0; i < sidecar->layers.n; i++)
        if (strcmp (sidecar->layers.list[i].name, name) == 0)
            return &sidecar->layers.list[i];
    fail_msg ("no layer '%s'", name);
    return NULL;
}

static void expect_extent (const struct dn_extent *extent, double first, double second)
{
    assert_int_equal (extent->rank, 2);
    assert_near (extent->dim[0], first);
    assert_near (extent->dim[1], second);
}

static void both_ways_of_printing_are_read (void **state)
{
    struct dn_hlo bare =
        parse ("HloModule a\nENTRY e {\n x = f32[2,3]{1,0} parameter(0)"
               "\n ROOT y = f32[2,3]{1,0} tanh(x)\n}\n");
    struct dn_hlo full =
        parse ("HloModule a, is_scheduled=true, entry_computation_layout={(f32[2,3]{1,0"
               ":T(8,128)})->f32[2,3]{1,0}}\n\nFileNames\n1 \"a \\\" {b\"\n\n"
               "StackFrames\n1 {file_location_id=1}\n\n"
               "ENTRY %e.1 (x: f32[2,3]) -> f32[2,3] {\n"
               "  %x = f32[2,3]{1,0:T(8,128)S(1)} parameter(0), sharding={replicated}\n"
               "  ROOT %y = f32[2,3]{1,0} tanh(f32[2,3]{1,0} /*index=0*/%x), "
               "metadata={op_name=\"a}b\" stack_frame_id=1}\n}, "
               "execution_thread=\"main\"\n");

    assert_int_equal (bare.instructions.n, 2);
    assert_int_equal (full.instructions.n, 2);
    assert_false (bare.optimised);
    assert_true (full.optimised);
    assert_int_equal (dn_hlo_at (&full, 1)->op, DN_HLO_TRANSCENDENTAL);
    assert_near (dn_hlo_result_bytes (&full, dn_hlo_at (&full, 1)), 24);
    assert_int_equal (dn_hlo_operand (&full, dn_hlo_at (&full, 1), 0), 0);
    dn_hlo_free (&bare);
    dn_hlo_free (&full);
}

static void shapes_have_their_sizes (void **state)
{
    struct dn_hlo module =
        parse ("HloModule a\nENTRY e {\n"
               " a = (f32[], (bf16[2,3]{1,0}, pred[<=5]), token[]) parameter(0)\n"
               " b = s4[10] parameter(1)\n c = f8e4m3fn[7]{0} parameter(2)\n"
               " d = () tuple()\n ROOT f = c128[2,0] parameter(3)\n}\n");

    assert_int_equal (dn_hlo_at (&module, 0)->n_arrays, 4);
    assert_false (dn_hlo_at (&module, 0)->flat);
    assert_near (dn_hlo_result_bytes (&module, dn_hlo_at (&module, 0)), 4 + 12 + 5);
    assert_near (dn_hlo_result_bytes (&module, dn_hlo_at (&module, 1)), 5);
    assert_near (dn_hlo_result_bytes (&module, dn_hlo_at (&module, 2)), 7);
    assert_int_equal (dn_hlo_at (&module, 3)->n_arrays, 0);
    assert_near (dn_hlo_result_bytes (&module, dn_hlo_at (&module, 4)), 0);
    dn_hlo_free (&module);
}

static void text_that_is_not_hlo_is_refused (void **state)
{
    expect_bad ("", "line 1: expected 'HloModule'");
    expect_bad ("ceci n'est pas un module", "found 'ceci n");
    expect_bad ("HloModule a\n", "expected computations");
    expect_bad ("HloModule a\nENTRY e {\n}\n", "expected instructions, found 'e'");
    expect_bad ("HloModule a\nENTRY e {\n x = f32[2 parameter(0)\n}\n",
                "line 3: expected a dimension");
    expect_bad (
        "HloModule a\nENTRY e {\n x = f32[99999999999999999999] parameter(0)\n}",
        "expected a dimension up to 2^40");
    expect_bad ("HloModule a\nENTRY e {\n x = f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] "
                "parameter(0)\n}\n",
                "at most 16 dimensions");
    expect_bad ("HloModule a\nENTRY e {\n x = f32[2] tanh(y)\n}\n",
                "line 3: expected an operand defined above, found 'y'");
    expect_bad ("HloModule a\nENTRY e {\n x = f32[] parameter(0)\n"
                " x = f32[] parameter(1)\n}\n",
                "a unique name, found 'x'");
    expect_bad ("HloModule a\nENTRY e {\n x = f32[] parameter(0)\n",
                "expected an instruction or '}'");
    expect_bad ("HloModule a\nENTRY e {\n x = f32[] parameter(0", "expected ')'");
}

static void cycles_of_calls_are_refused (void **state)
{
    expect_bad ("HloModule a\na {\n ROOT x = f32[] call(), to_apply=b\n}\n"
                "b {\n ROOT x = f32[] call(), to_apply=a\n}\n"
                "ENTRY e {\n ROOT x = f32[] call(), to_apply=a\n}\n",
                "line 3: expected a computation above (no cycles of calls), found 'b'");
    expect_bad ("HloModule a\nENTRY %e {\n ROOT %x = f32[] fusion(), kind=kLoop, "
                "calls=%e\n}\n",
                "no cycles of calls");
}

static void a_nul_byte_is_refused (void **state)
{
    static const char text[] = "HloModule a\nENTRY e {\0}";
    struct dn_hlo module;
    struct dn_err err = {0};

    assert_int_equal (
        dn_hlo_parse ((struct dn_span){text, sizeof (text) - 1}, &module, &err), -1);
    assert_contains (err.text, "NUL byte");
}

/* A million brackets in place of shapes, literals and attributes. */
static void a_million_brackets_take_no_time (void **state)
{
    enum {
        DEEP = 1000000
    };
    char *text = malloc (3 * DEEP + 200);
    struct dn_hlo module;
    int n;

    n = sprintf (text, "HloModule a\nENTRY e {\n x = ");
    memset (text + n, '(', DEEP);
    strcpy (text + n + DEEP, "f32[]");
    expect_bad (text, "a tuple at most 32 deep");
    n = sprintf (text, "HloModule a\nENTRY e {\n x = f32[] constant(");
    memset (text + n, '{', DEEP);
    text[n + DEEP] = '\0';
    expect_bad (text, "expected ')'");
    memset (text + n + DEEP, '}', DEEP);
    strcpy (text + n + 2 * DEEP, ")\n}\n");
    module = parse (text);
    dn_hlo_free (&module);
    n = sprintf (text, "HloModule a\nENTRY e {\n x = f32[] parameter(0), a=");
    memset (text + n, '[', DEEP);
    strcpy (text + n + DEEP, "\n}\n");
    expect_bad (text, "expected an instruction");
    free (text);
}

static void operations_are_counted_as_xla_does (void **state)
{
    assert_near (
        flops_of ("a = f32[4,8] parameter(0)\n ROOT b = f32[4,8] multiply(a, a)\n"),
        32);
    assert_near (
        flops_of ("a = f32[4,8] parameter(0)\n ROOT b = f32[4,8] exponential(a)\n"), 0);
    assert_near (
        flops_of ("a = f32[4,8] parameter(0)\n z = f32[] constant(0)\n"
                  " ROOT b = f32[4] reduce(a, z), dimensions={1}, to_apply=sum\n"),
        28);
    assert_near (flops_of ("a = f32[3,4,8] parameter(0)\n b = f32[3,8,5] parameter(1)\n"
                           " ROOT c = f32[3,4,5] dot(a, b), lhs_batch_dims={0}, "
                           "lhs_contracting_dims={2}, rhs_batch_dims={0}, "
                           "rhs_contracting_dims={1}\n"),
                 2 * 3 * 4 * 5 * 8);
    assert_near (flops_of ("a = f32[9,9] parameter(0)\n z = f32[] constant(0)\n"
                           " ROOT b = f32[4,4] reduce-window(a, z), window={size=3x3 "
                           "stride=2x2}, to_apply=sum\n"),
                 16 * 8);
    assert_near (
        flops_of ("a = f32[9,9] parameter(0)\n z = f32[] constant(0)\n"
                  " s = f32[4,4] parameter(1)\n"
                  " ROOT b = f32[9,9] select-and-scatter(a, s, z), window={size="
                  "3x3 stride=2x2}, select=gt, scatter=sum\n"),
        16 * (8 + 1));
    assert_near (flops_of ("a = f32[8,3] parameter(0)\n i = s32[5,1] parameter(1)\n"
                           " u = f32[5,3] parameter(2)\n"
                           " ROOT b = f32[8,3] scatter(a, i, u), to_apply=sum\n"),
                 15);
    assert_near (flops_of ("a = f32[8] parameter(0)\n ROOT b = f32[8] sort(a), "
                           "dimensions={0}, to_apply=gt\n"),
                 24);
}

/* Products with padding and with the zeros of a dilation do not count. */
static void convolutions_count_real_products (void **state)
{
    const double pairs = 4 + 3 + 3; /* of 4 outputs with 3 positions, padded by 1_1 */

    assert_near (
        flops_of ("x = f32[1,4,4,1] parameter(0)\n k = f32[3,3,1,1] parameter(1)\n"
                  " ROOT y = f32[1,4,4,1] convolution(x, k), window={size=3x3 "
                  "pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n"),
        2 * pairs * pairs);
    assert_near (
        flops_of ("x = f32[2,3,4] parameter(0)\n k = f32[2,2,5] parameter(1)\n"
                  " ROOT y = f32[2,5,5] convolution(x, k), window={size=2 pad=0_0"
                  " lhs_dilate=2}, dim_labels=b0f_i0o->b0f, "
                  "feature_group_count=2\n"),
        2 * 5 * 2 * 5 * 2);
    /* Windows that no network has take no time. */
    assert_true (
        flops_of ("x = f32[1,1000000000,1] parameter(0)\n"
                  " k = f32[1000000000,1,1] parameter(1)\n ROOT y = f32[1,1000000"
                  "000,1] convolution(x, k), window={size=1000000000 lhs_dilate="
                  "1000000007}, dim_labels=b0f_0io->b0f\n")
        > 1e18);
}

#define GEMM                                                                           \
    "HloModule g\nENTRY e {\n x = f32[8,16] parameter(0)\n w = f32[16,4] "             \
    "parameter(1)\n g = (f32[8,4]{1,0}, s8[99]) custom-call(x, w), "                   \
    "custom_call_target=\"%s\"\n ROOT y = f32[8,4] get-tuple-element(g), index=0\n}\n"

static void libraries_are_known_by_name (void **state)
{
    char text[1024];

    for (int i = 0; i < 3; i++) {
        static const char *const targets[] = {
            "__cublas$gemm", "__cublas$lt$matmul", "__onednn$matmul"};

        snprintf (text, sizeof (text), GEMM, targets[i]);
        assert_near (cost_of (text).products, 2 * 8 * 16 * 4);
    }
    snprintf (text, sizeof (text), GEMM, "TopK");
    assert_near (cost_of (text).products, 0);
}

#define CONV_CALL(result, a, b, target)                                                \
    "HloModule c\nENTRY e {\n a = " a " parameter(0)\n b = " b                         \
    " parameter(1)\n c = (" result                                                     \
    ", u8[0]{0}) custom-call(a, b), window={size=3x3 pad=1_1x1_1}, "                   \
    "dim_labels=b01f_01io->b01f, custom_call_target=\"__cudnn$" target "\"\n"          \
    " ROOT y = " result " get-tuple-element(c), index=0\n}\n"

/* The three directions of one convolution have the same operations. */
static void cudnn_works_in_three_directions (void **state)
{
    double forward =
        cost_of (
            CONV_CALL ("f32[2,8,8,6]", "f32[2,8,8,4]", "f32[3,3,4,6]", "convForward"))
            .products;

    assert_near (forward, 2 * 2 * 4 * 6 * 22.0 * 22);
    assert_near (cost_of (CONV_CALL ("f32[2,8,8,4]",
                                     "f32[2,8,8,6]",
                                     "f32[3,3,4,6]",
                                     "convBackwardInput"))
                     .products,
                 forward);
    assert_near (cost_of (CONV_CALL ("f32[3,3,4,6]",
                                     "f32[2,8,8,4]",
                                     "f32[2,8,8,6]",
                                     "convBackwardFilter"))
                     .products,
                 forward);
}

/* Query of 12 heads and keys of 4, in the order (batch, tokens, heads, size) of JAX;
 * the dimensions of the scores are texts, as XLA prints them.
 */
#define FMHA(target, config)                                                           \
    "HloModule a, entry_computation_layout={(bf16[2,64,12,32]{3,2,1,0})->bf16[2,64,"   \
    "12,32]{3,2,1,0}}\nENTRY e {\n q = bf16[2,64,12,32] parameter(0)\n "               \
    "c = bf16[] constant(1)\n k = bf16[2,96,4,32] broadcast(c), dimensions={}\n "      \
    "v = bf16[2,96,4,16] broadcast(c), dimensions={}\n "                               \
    "f = (bf16[2,64,12,16]{3,1,2,0}, f32[2,12,64], u8[0]{0}) custom-call(q, k, v), "   \
    "custom_call_target=\"__cudnn$" target "\", "                                      \
    "backend_config={\"cudnn_fmha_backend_config\":{\"intermediate_tensor_shape\":"    \
    "{\"element_type\":\"BF16\",\"dimensions\":[" config "}}\n "                       \
    "z = bf16[2,64,12,16] get-tuple-element(f), index=0\n "                            \
    "ROOT y = bf16[2,64,12,16] tanh(z)\n}\n"
#define SCORES "\"2\",\"12\",\"64\",\"96\"]},\"mask_type\":"
#define CAUSAL SCORES "\"CAUSAL\",\"sliding_window_length\":32,\"x\":1"

static void attention_of_cudnn_is_one_operator (void **state)
{
    const double flops = 2.0 * 2 * 12 * 64 * 96 * (32 + 16);
    struct dn_hlo_summary summary;
    struct dn_sidecar sidecar = import (FMHA ("fmhaSoftmaxDropout", CAUSAL), &summary);
    const struct dn_layer *layer = find_layer (&sidecar, "f");

    assert_int_equal (layer->kind, DN_LAYER_ATTENTION);
    assert_near (layer->repeat * layer->in[0].dim[0], 12 * 2 / summary.batch);
    assert_near (layer->in[0].dim[1], 64);
    assert_near (layer->in[0].dim[2], 32);
    assert_near (layer->in[1].dim[0], 4);
    assert_near (layer->in[1].dim[1], 96);
    assert_near (layer->in[2].dim[2], 16);
    assert_near (layer->out.dim[2], 16);
    assert_true (layer->fused && layer->causal && layer->masks > 0);
    assert_near (layer->window, 32);
    assert_near (summary.products, flops);
    assert_int_equal (summary.unknown_calls, 0);
    assert_int_equal (sidecar.spec.precision, DN_PRECISION_BF16);
    dn_sidecar_free (&sidecar);
    assert_near (cost_of (FMHA ("fmhaSoftmaxBackward", CAUSAL)).products, 2.5 * flops);
}

static void attention_of_odd_sizes_is_another_call (void **state)
{
    static const char *const texts[] = {
        FMHA ("fmhaSoftmax", "\"2\",\"12\",\"64\"]}"),
        FMHA ("fmhaSoftmax", "\"2\",\"12\",\"64\",\"0\"]}"),
        FMHA ("fmhaSoftmax", "\"2\",\"11\",\"64\",\"96\"]}"),
        FMHA ("fmhaSoftmax", "\"2\",\"12\",\"64\",\"97\"]}"),
        FMHA ("fmhaSoftmax", "]}"),
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++)
        assert_near (cost_of (texts[i]).products, 0);
}

#define LOOP(condition, end)                                                                \
    "HloModule l\nbody {\n t = (s32[], f32[4,4]) parameter(0)\n i = s32[] "                 \
    "get-tuple-element(t), index=0\n v = f32[4,4] get-tuple-element(t), index=1\n"          \
    " one = s32[] constant(2)\n n = s32[] add(i, one)\n w = f32[4,4] dot(v, v), "           \
    "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"                                  \
    " ROOT r = (s32[], f32[4,4]) tuple(n, w)\n}\n"                                          \
    "test {\n t = (s32[], f32[4,4]) parameter(0)\n i = s32[] get-tuple-element(t), "        \
    "index=0\n n = s32[] constant(9)\n ROOT c = pred[] compare(i, n), direction=" condition \
    "\n}\nENTRY e {\n x = f32[4,4] parameter(0)\n z = s32[] constant(0)\n"                  \
    " t = (s32[], f32[4,4]) tuple(z, x)\n l = (s32[], f32[4,4]) while(t), "                 \
    "condition=test, body=body" end                                                         \
    "\n ROOT y = f32[4,4] get-tuple-element(l), index=1\n}\n"

/* As TensorFlow writes it: two counters, the test in a call, the step in a fusion. */
static const char wrapped_loop[] =
    "HloModule l\nplus {\n a = s32[] parameter(0)\n b = s32[] constant(1)\n"
    " ROOT c = s32[] add(b, a)\n}\n"
    "body {\n t = (s32[], s32[], f32[4,4]) parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n j = s32[] get-tuple-element(t), index=1\n"
    " v = f32[4,4] get-tuple-element(t), index=2\n"
    " n = s32[] fusion(i), kind=kLoop, calls=plus\n m = s32[] call(j), to_apply=plus\n"
    " w = f32[4,4] dot(v, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    " ROOT r = (s32[], s32[], f32[4,4]) tuple(n, m, w)\n}\n"
    "inner {\n t = (s32[], s32[], f32[4,4]) parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n j = s32[] get-tuple-element(t), index=1\n"
    " n = s32[] constant(9)\n c = pred[] compare(i, n), direction=LT\n"
    " m = s32[] constant(7)\n d = pred[] compare(j, m), direction=LT\n"
    " a = pred[] and(c, d)\n ROOT r = (pred[]) tuple(a)\n}\n"
    "test {\n t = (s32[], s32[], f32[4,4]) parameter(0)\n"
    " c = (pred[]) call(t), to_apply=inner\n"
    " ROOT r = pred[] get-tuple-element(c), index=0\n}\n"
    "ENTRY e {\n x = f32[4,4] parameter(0)\n z = s32[] constant(0)\n"
    " o = s32[] constant(1)\n t = (s32[], s32[], f32[4,4]) tuple(z, o, x)\n"
    " l = (s32[], s32[], f32[4,4]) while(t), condition=test, body=body\n"
    " ROOT y = f32[4,4] get-tuple-element(l), index=2\n}\n";

static void loops_count_as_often_as_they_run (void **state)
{
    struct dn_hlo_summary summary;
    struct dn_sidecar sidecar = import (LOOP ("LT", ""), &summary);
    const struct dn_layer *dot = find_layer (&sidecar, "w");

    assert_near (cost_of (LOOP ("LT", "")).products, 5 * 128);
    assert_near (cost_of (LOOP ("NE", "")).products, 128);
    assert_near (
        cost_of (LOOP ("NE", ", backend_config={\"known_trip_count\":{\"n\":\"7\"}}"))
            .products,
        7 * 128);
    assert_near (
        cost_of (
            LOOP (
                "NE",
                ", backend_config=\"{\\\"known_trip_count\\\":{\\\"n\\\":\\\"3\\\"}}\""))
            .products,
        3 * 128);
    assert_near (dot->repeat, 5);
    assert_near (cost_of (wrapped_loop).products, 6 * 128);
    assert_int_equal (summary.unknown_trips, 0);
    dn_sidecar_free (&sidecar);
    sidecar = import (LOOP ("NE", ""), &summary);
    assert_int_equal (summary.unknown_trips, 1);
    dn_sidecar_free (&sidecar);
}

/* Each computation calls the one above it twice: 2^100 runs. */
static void calls_that_multiply_are_refused (void **state)
{
    char text[16384];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    struct dn_hlo_summary summary;
    struct dn_err err = {0};
    struct dn_hlo module;

    dn_buf_add (&buf,
                "HloModule m\nc0 {\n x = f32[8,8] parameter(0)\n ROOT y = f32[8,8] "
                "dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
    for (int i = 1; i <= 100; i++)
        dn_buf_add (&buf,
                    "%sc%d {\n x = f32[8,8] parameter(0)\n y = f32[8,8] call(x), "
                    "to_apply=c%d\n ROOT z = f32[8,8] call(y), to_apply=c%d\n}\n",
                    i == 100 ? "ENTRY " : "",
                    i,
                    i - 1,
                    i - 1);
    assert_false (buf.cut);
    module = parse (text);
    assert_int_equal (
        dn_hlo_layers (&module, DN_HLO_PASS_GUESS, 8, &sidecar, &summary, &err), -1);
    assert_contains (err.text, "more than 1e+30 operations");
    assert_null (sidecar.layers.list);
    dn_hlo_free (&module);
}

static void the_dearest_branch_counts (void **state)
{
    assert_near (
        cost_of (
            "HloModule b\na {\n x = f32[4,4] parameter(0)\n ROOT y = f32[4,4] dot(x, x), "
            "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"
            "b {\n x = f32[4,4] parameter(0)\n ROOT y = f32[4,4] add(x, x)\n}\n"
            "ENTRY e {\n p = pred[] parameter(0)\n x = f32[4,4] parameter(1)\n"
            " ROOT y = f32[4,4] conditional(p, x, x), true_computation=b, "
            "false_computation=a\n}\n")
            .flops,
        128);
}

/* One linear layer, its loss and its update, for a batch of 32. */
static const char step[] =
    "HloModule jit_step\nsum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
    " ROOT s = f32[] add(a, b)\n}\n"
    "ENTRY e {\n w = f32[64,16] parameter(0)\n x = f32[32,64] parameter(1)\n"
    " y = f32[32,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    " g = f32[32,16] multiply(y, y)\n"
    " dw = f32[64,16] dot(x, g), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
    " dx = f32[32,64] dot(g, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
    " c = f32[] constant(0.1)\n b = f32[64,16] broadcast(c), dimensions={}\n"
    " s = f32[64,16] multiply(dw, b)\n n = f32[64,16] subtract(w, s)\n"
    " l = f32[] reduce(dx, c), dimensions={0,1}, to_apply=sum\n"
    " ROOT r = (f32[64,16], f32[]) tuple(n, l)\n}\n";

static void a_step_is_not_changed (void **state)
{
    struct dn_hlo_summary summary;
    struct dn_sidecar sidecar = import (step, &summary);

    assert_true (summary.step);
    assert_true (sidecar.layers.whole_step);
    assert_near (summary.batch, 32);
    assert_near (summary.params, 64 * 16);
    assert_near (summary.products, 3 * 2 * 32.0 * 64 * 16);
    assert_int_equal (sidecar.spec.batch, 32);
    assert_int_equal (sidecar.spec.precision, DN_PRECISION_FP32);
    assert_int_equal (sidecar.spec.framework, DN_FRAMEWORK_JAX);
    assert_int_equal (sidecar.spec.optimizer, DN_OPTIMIZER_SGD);
    assert_int_equal (sidecar.spec.compile, 1);
    assert_near (sidecar.layers.input_bytes, 64 * 4);
    assert_near (sidecar.layers.list[0].params, 64 * 16);
    dn_sidecar_free (&sidecar);
}

/* Forward, gradient of the input and of the weights: per sample, and in each the rows
 * are those of the samples.
 */
static void products_are_per_sample (void **state)
{
    struct dn_sidecar sidecar = import (step, NULL);

    assert_int_equal (find_layer (&sidecar, "y")->kind, DN_LAYER_LINEAR);
    expect_extent (&find_layer (&sidecar, "y")->in[0], 1, 64);
    expect_extent (&find_layer (&sidecar, "y")->out, 1, 16);
    /* The gradient of the weights looks the same and is merged with it. */
    assert_near (find_layer (&sidecar, "y")->repeat, 2);
    expect_extent (&find_layer (&sidecar, "dx")->in[0], 1, 16);
    expect_extent (&find_layer (&sidecar, "dx")->out, 1, 64);
    dn_sidecar_free (&sidecar);
}

/* Before optimisation, the update is one kernel: it reads weights and gradient once and
 * writes once; the product of the gradient is never written.
 */
static void chains_are_one_kernel (void **state)
{
    struct dn_sidecar sidecar = import (step, NULL);
    const struct dn_layer *update = find_layer (&sidecar, "n");

    assert_int_equal (update->kind, DN_LAYER_OTHER);
    assert_near (update->bytes, 3 * 64 * 16 * 4.0 / 32);
    assert_near (find_layer (&sidecar, "g")->bytes, 2 * 16 * 4);
    assert_int_equal (sidecar.layers.n, 6);
    dn_sidecar_free (&sidecar);
}

/* Two kernels use a value that is computed from 'y' and a few numbers: it is not
 * written, both read 'y'. A value computed from two arrays is written once.
 */
static void cheap_values_are_computed_again (void **state)
{
    static const char text[] =
        "HloModule m\nENTRY e {\n x = f32[32,64] parameter(0)\n"
        " z = f32[32,16] parameter(1)\n w = f32[64,16] parameter(2)\n"
        " m = f32[16] parameter(3)\n"
        " y = f32[32,16] dot(x, w), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={0}\n"
        " b = f32[32,16] broadcast(m), dimensions={1}\n"
        " n = f32[32,16] subtract(y, b)\n t = f32[32,16] multiply(n, n)\n"
        " d = f32[32,16] multiply(y, z)\n"
        " u = f32[32,16] add(t, d)\n v = f32[32,16] maximum(n, d)\n"
        " ROOT r = (f32[32,16], f32[32,16]) tuple(u, v)\n}\n";
    struct dn_sidecar sidecar = import (text, NULL);
    int n_others = 0;

    for (int i = 1; i < sidecar.layers.n; i++)
        if (sidecar.layers.list[i].kind == DN_LAYER_OTHER)
            n_others += (int) sidecar.layers.list[i].repeat;
    assert_int_equal (n_others, 3);
    /* All three: two arrays in, one out. */
    assert_near (find_layer (&sidecar, "d")->bytes, 3 * 16 * 4);
    assert_near (find_layer (&sidecar, "d")->repeat, 3);
    dn_sidecar_free (&sidecar);
}

static void given_keys_are_kept (void **state)
{
    struct dn_hlo module = parse (step);
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    struct dn_hlo_summary summary;

    sidecar.spec.batch = 4;
    sidecar.spec.precision = DN_PRECISION_TF32;
    assert_int_equal (
        dn_hlo_layers (&module, DN_HLO_PASS_FORWARD, 16, &sidecar, &summary, NULL), 0);
    assert_false (summary.step);
    assert_near (summary.batch, 16);
    assert_int_equal (sidecar.spec.batch, 4);
    assert_int_equal (sidecar.spec.precision, DN_PRECISION_TF32);
    dn_sidecar_free (&sidecar);
    dn_hlo_free (&module);
}

static void without_data_the_batch_is_requested (void **state)
{
    struct dn_hlo module = parse (
        "HloModule m\nENTRY e {\n x = f32[] parameter(0)\n ROOT y = f32[] add(x, "
        "x)\n}\n");
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    struct dn_hlo_summary summary;
    struct dn_err err = {0};

    assert_int_equal (
        dn_hlo_layers (&module, DN_HLO_PASS_GUESS, 0, &sidecar, &summary, &err), -1);
    assert_contains (err.text, "batch: ");
    dn_hlo_free (&module);
}

/* A collective is not a kernel: the predictor adds it for jobs on several devices. Both
 * spellings of groups, and the asynchronous pair.
 */
static void collectives_only_show_the_devices (void **state)
{
    static const char form[] =
        "HloModule m\nsum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        " ROOT s = f32[] add(a, b)\n}\nENTRY e {\n x = f32[8,4] parameter(0)\n"
        " r = f32[8,4] all-reduce-start(x), replica_groups=%s, to_apply=sum\n"
        " ROOT y = f32[8,4] all-reduce-done(r)\n}\n";
    char text[1024];
    struct dn_hlo_summary summary;
    struct dn_sidecar sidecar;

    for (int i = 0; i < 2; i++) {
        snprintf (
            text, sizeof (text), form, i ? "[2,4]<=[8]" : "{{0,1,2,3},{4,5,6,7}}");
        sidecar = import (text, &summary);
        assert_near (summary.replicas, 4);
        assert_near (summary.flops, 32);
        assert_int_equal (sidecar.layers.n, 1);
        dn_sidecar_free (&sidecar);
    }
}

/* A fused update in place moves its slice, a fused slice its result. */
static void fusions_move_what_they_touch (void **state)
{
    struct dn_sidecar sidecar =
        import ("HloModule m\nf {\n t = f32[100,8] parameter(0)\n v = f32[8] "
                "parameter(1)\n i = s32[] parameter(2)\n z = s32[] constant(0)\n"
                " w = f32[1,8] reshape(v)\n"
                " ROOT u = f32[100,8] dynamic-update-slice(t, w, i, z)\n}\n"
                "ENTRY e {\n t = f32[100,8] parameter(0)\n v = f32[8] parameter(1)\n"
                " i = s32[] parameter(2)\n"
                " ROOT k = f32[100,8] fusion(t, v, i), kind=kLoop, calls=f\n}\n",
                NULL);

    assert_near (find_layer (&sidecar, "k")->bytes * 100, 32 + 32 + 4);
    dn_sidecar_free (&sidecar);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST ("attention that cuDNN computes is one operator, in both directions",
              attention_of_cudnn_is_one_operator),
        TEST (
            "a call of cuDNN's attention whose sizes do not fit counts its bytes only",
            attention_of_odd_sizes_is_another_call),
        TEST ("both ways of printing are read", both_ways_of_printing_are_read),
        TEST ("shapes have their sizes", shapes_have_their_sizes),
        TEST ("text that is not HLO is refused", text_that_is_not_hlo_is_refused),
        TEST ("cycles of calls are refused", cycles_of_calls_are_refused),
        TEST ("a NUL byte is refused", a_nul_byte_is_refused),
        TEST ("a million brackets take no time", a_million_brackets_take_no_time),
        TEST ("operations are counted as XLA does", operations_are_counted_as_xla_does),
        TEST ("convolutions count real products", convolutions_count_real_products),
        TEST ("libraries are known by name", libraries_are_known_by_name),
        TEST ("cuDNN works in three directions", cudnn_works_in_three_directions),
        TEST ("loops count as often as they run", loops_count_as_often_as_they_run),
        TEST ("calls that multiply are refused", calls_that_multiply_are_refused),
        TEST ("the dearest branch counts", the_dearest_branch_counts),
        TEST ("a step is not changed", a_step_is_not_changed),
        TEST ("products are per sample", products_are_per_sample),
        TEST ("chains are one kernel", chains_are_one_kernel),
        TEST ("cheap values are computed again", cheap_values_are_computed_again),
        TEST ("given keys are kept", given_keys_are_kept),
        TEST ("without data the batch is requested",
              without_data_the_batch_is_requested),
        TEST ("collectives only show the devices", collectives_only_show_the_devices),
        TEST ("fusions move what they touch", fusions_move_what_they_touch),
    };

    return cmocka_run_group_tests_name ("hlo", tests, NULL, NULL);
}
