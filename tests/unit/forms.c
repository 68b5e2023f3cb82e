/* forms.c - tests of the work of operators whose kernels differ from plain products
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "graph/build.h"
#include "predict/stages.h"
#include "white.h"

/* 'value' is 'expected' but for a share of it. */
#define assert_within(value, expected, share)                                          \
    assert_float_equal ((float) ((value) / (expected)), 1, (float) (share))

/* Seconds of all operators of one kind in a step of 'text' on an A100, forward and
 * backward.
 */
static struct dn_op_time time_of (const char *text, enum dn_op_kind kind)
{
    struct white white = white_of (text, A100);
    int n = white.graph.n_ops;
    struct dn_op_time *times = unit_keep (calloc ((size_t) n, sizeof (*times)), free);
    struct dn_op_time sum = {0};

    dn_whitebox_operators (white_case (&white, 0), times);
    for (int i = 0; i < n; i++)
        if (white.graph.ops[i].kind == kind)
            dn_op_add (&sum, &times[i]);
    return sum;
}

/* An LSTM of one layer, as xwang233/code-snippet measured them (PyTorch 1.11, cuDNN 8,
 * cudnn-rnn-bench-62143/{forward,backward}/readme.txt), milliseconds.
 */
TEST ("an LSTM takes about as long as measured, forward and backward")
{
    static const struct {
        const char *text;
        double forward;
        double backward;
    } rows[] = {
        {"model=lstm_lm,layers=1,seq_len=2721,batch=6,embed_dim=128,hidden=72,"
         "torch=1.11",
         18.6,
         34.2},
        {"model=lstm_lm,layers=1,seq_len=3854,batch=16,embed_dim=112,hidden=128,"
         "torch=1.11",
         36.6,
         58.9},
        {"model=lstm_lm,layers=4,seq_len=2091,batch=7,embed_dim=320,hidden=152",
         55.2,
         109.3},
        {"model=lstm_lm,layers=1,seq_len=2721,batch=6,embed_dim=128,hidden=72",
         2.4,
         4.5},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        struct dn_op_time time = time_of (rows[i].text, DN_OP_RNN);

        assert_within (1e3 * time.forward_s, rows[i].forward, 0.35);
        assert_within (1e3 * (time.backward_data_s + time.backward_weight_s),
                       rows[i].backward,
                       0.35);
    }
}

TEST (
    "the steps of a recurrent layer wait for one another, its weights' gradient does not")
{
    const char *text = "model=lstm_lm,layers=1,hidden=512,batch=8,seq_len=400";
    struct dn_op_time half =
        time_of ("model=lstm_lm,layers=1,hidden=512,batch=16,seq_len=200", DN_OP_RNN);
    struct dn_op_time time = time_of (text, DN_OP_RNN);

    assert_within (time.flops, half.flops, 1e-9);
    assert_true (time.forward_s > 1.5 * half.forward_s);
    assert_true (time.backward_data_s > 1.5 * half.backward_data_s);
    assert_within (time.backward_weight_s, half.backward_weight_s, 0.1);
}

/* Share of the time of layout=nhwc that convolutions take longer forward with nchw, or
 * without the key if 'order' is "".
 */
static double longer (const char *net, const char *order)
{
    double times[2];

    for (int i = 0; i < 2; i++) {
        times[i] =
            time_of (unit_text ("%s,stack=ngc%s", net, i ? order : ",layout=nhwc"),
                     DN_OP_CONV)
                .forward_s;
    }
    return times[1] / times[0] - 1;
}

/* A100: matrix units for tf32 and fp16. */
TEST ("16-bit images with their channels first are moved for matrix units")
{
    static const char *const nets[] = {"model=resnet50,batch=64,precision=fp16",
                                       "model=vgg16,batch=8,precision=bf16"};

    for (size_t i = 0; i < DN_N_ELEMENTS (nets); i++) {
        assert_near (longer (nets[i], ""), 0);
        assert_in_range ((int) (100 * longer (nets[i], ",layout=nchw")), 5, 100);
    }
    assert_near (longer ("model=resnet50,batch=64,precision=fp32", ",layout=nchw"), 0);
    assert_near (longer ("model=vgg16,batch=8,precision=tf32", ",layout=nchw"), 0);
}

TEST ("only plain convolutions of 3 x 3 are transformed")
{
    static const struct {
        int kernel;
        int stride;
        int groups;
        int n_dims;
        bool direct;
    } rows[] = {
        {3, 1, 1, 2, false},
        {3, 1, 1, 1, true},
        {3, 1, 1, 3, true},
        {1, 1, 1, 2, true},
        {5, 1, 1, 2, true},
        {3, 2, 1, 2, true},
        {3, 1, 64, 2, true},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        struct dn_spec spec = dn_spec_empty ();
        struct dn_graph graph;
        struct dn_build build;

        dn_build_start (&build, &spec, NULL, "one", NULL);
        dn_build_image (&build, 64, 32, rows[i].n_dims);
        dn_build_conv (
            &build, 64, rows[i].kernel, rows[i].stride, 1, rows[i].groups, false);
        assert_int_equal (dn_build_finish (&build, &graph), 0);
        assert_int_equal (graph.ops[0].direct, rows[i].direct);
        dn_graph_free (&graph);
    }
}

/* Bytes of ResNet-50's sums and of its largest pooling, by their shapes. */
TEST ("sums and poolings count every array once")
{
    const char *text = "model=resnet50,batch=1,precision=fp32,optimizer=none";
    double sums =
        3 * 256 * 56 * 56 + 4 * 512 * 28 * 28 + 6 * 1024 * 14 * 14 + 3 * 2048 * 7 * 7;
    double before = 64 * 112 * 112;
    double after = 64 * 56 * 56;
    double last = 2048 * 7 * 7;

    assert_near (time_of (text, DN_OP_ELEMENTWISE).bytes, 4 * sums * (3 + 3));
    assert_near (time_of (text, DN_OP_POOL).bytes,
                 4 * (2 * before + 3 * after + 2 * last + 3 * 2048));
}

TEST ("a sample that reads several rows of a table moves all of them")
{
    struct dn_op_time one =
        time_of ("model=dcn_v2,batch=4096,precision=fp32", DN_OP_EMBEDDING);
    struct dn_op_time several =
        time_of ("model=dlrm_dcnv2,batch=4096,precision=fp32", DN_OP_EMBEDDING);

    /* 214 rows and 26 sums, not 26 and 26. */
    assert_within (several.bytes / one.bytes, (214.0 + 26) / 52, 0.01);
}
