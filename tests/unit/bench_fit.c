/* bench_fit.c - tests of samples, of the rates fitted to them, and of their effect
 *
 * All samples here are made up, from known curves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "learn/bench_fit.h"
#include "predict/predict.h"
#include "scene.h"
#include "tests/unit/networks.h"

#define HEAD "op,precision,pass,shape,devices,flops,bytes,seconds,spread,runs\n"

static int read_text (const char *text, struct dn_samples *samples, struct dn_err *err)
{
    return dn_samples_read (dn_span_of (text), samples, err);
}

TEST ("samples are written as they are read")
{
    struct dn_sample row = {DN_SAMPLE_CONV,
                            DN_PRECISION_BF16,
                            DN_SAMPLE_BACKWARD_DATA,
                            "n64 c64 k3 s1",
                            1,
                            1.5e9,
                            2e6,
                            1.25e-4,
                            0.02,
                            15};
    struct dn_samples samples;
    char line[DN_SAMPLE_LINE_MAX];
    char text[2 * DN_SAMPLE_LINE_MAX];

    dn_sample_write (&row, line);
    assert_string_equal (
        line,
        "conv,bf16,backward_data,n64 c64 k3 s1,1,1.5e+09,2e+06,0.000125,0.02,15\n");
    snprintf (text, sizeof (text), "%s%s", dn_samples_head, line);
    assert_int_equal (read_text (text, &samples, NULL), 0);
    assert_int_equal (samples.n_rows, 1);
    assert_int_equal (samples.rows[0].op, DN_SAMPLE_CONV);
    assert_int_equal (samples.rows[0].precision, DN_PRECISION_BF16);
    assert_near (samples.rows[0].seconds, 1.25e-4);
    assert_true (dn_samples_has (&samples, &row));
    row.pass = DN_SAMPLE_FORWARD;
    assert_false (dn_samples_has (&samples, &row));
    dn_samples_free (&samples);
    dn_samples_free (&samples);
    dn_samples_free (NULL);
}

TEST ("a row that was cut off is ignored")
{
    const char *text = HEAD "gemm,fp32,forward,m1,1,1,1,1,0,1\ngemm,fp32,forw";
    struct dn_samples samples;

    assert_int_equal (read_text (text, &samples, NULL), 0);
    assert_int_equal (samples.n_rows, 1);
    assert_int_equal (samples.whole, strlen (text) - strlen ("gemm,fp32,forw"));
    dn_samples_free (&samples);
    assert_int_equal (read_text ("op,prec", &samples, NULL), 0);
    assert_int_equal (samples.whole, 0);
    assert_int_equal (read_text ("", &samples, NULL), 0);
    assert_int_equal (samples.n_rows, 0);
}

TEST ("facts are found by their key")
{
    struct dn_samples samples;

    assert_int_equal (
        read_text (HEAD "fact,,,gpus=4,,,,,,\nfact,,,gpu=X 1,,,,,,\n", &samples, NULL),
        0);
    assert_string_equal (dn_samples_fact (&samples, "gpu"), "X 1");
    assert_null (dn_samples_fact (&samples, "gp"));
    dn_samples_free (&samples);
}

TEST ("bad samples are named with their line")
{
    static const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"a,b\n1,2\n", "line 2: column 'op' is missing"},
        {HEAD "gem,fp32,forward,m1,1,1,1,1,0,1\n", "line 2: op: 'gem' is unknown"},
        {HEAD ",fp32,forward,m1,1,1,1,1,0,1\n", "op is empty"},
        {HEAD "gemm,fp64,forward,m1,1,1,1,1,0,1\n", "precision: 'fp64' is unknown"},
        {HEAD "gemm,fp32,up,m1,1,1,1,1,0,1\n", "pass: 'up' is unknown"},
        {HEAD "gemm,fp32,forward,m1,-1,1,1,1,0,1\n", "devices: -1 out of range"},
        {HEAD "gemm,fp32,forward,m1,1,nan,1,1,0,1\n", "flops: 'nan' is not a number"},
        {HEAD "gemm,fp32,forward,m1,1,1,1e30,1,0,1\n", "bytes: 1e30 out of range"},
        {HEAD "gemm,fp32,forward,m1,1,1,1,0,0,1\n", "seconds: 0 is not the time"},
        {HEAD "gemm,fp32,forward,m1,1,1,1,-1,0,1\n", "seconds: -1 out of range"},
        {HEAD "gemm,fp32,forward,m1,1,1,1,,0,1\n", "seconds: 0 is not the time"},
        {HEAD "fact,,,alone,,,,,,\n", "'alone' is not a fact"},
        {HEAD "gemm,fp32,forward,"
              "0123456789012345678901234567890123456789012345678901234567890123456789"
              "0123456789012345678901234567890123456789,1,1,1,1,0,1\n",
         "shape"},
        {HEAD "a,b,c,d,e,f,g,h,i,j,k\n", "line 2"},
        {HEAD "\"gemm\n", "line 2"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_samples samples;
        struct dn_err err = {0};

        assert_int_equal (read_text (cases[i].text, &samples, &err), -1);
        assert_contains (err.text, cases[i].says);
        assert_null (samples.rows);
    }
}

/* The text of a shape becomes a comment of a catalogue file. */
TEST ("a shape cannot break out of its line")
{
    struct dn_samples samples;

    assert_int_equal (
        read_text (HEAD "fact,,,\"gpu=a\nDevice=b,\"\"c\",,,,,,\n", &samples, NULL), 0);
    assert_string_equal (dn_samples_fact (&samples, "gpu"), "a Device=b  c");
    dn_samples_free (&samples);
}

/* --- curves ----------------------------------------------------------------------- */

TEST ("a curve is found despite a busy machine")
{
    double work[24];
    double seconds[24];
    struct dn_bench_fit fit;

    for (int i = 0; i < 24; i++) {
        work[i] = 1e6 * pow (2, i);
        seconds[i] = (work[i] + 2e9) / 1e14 * (i % 5 == 0 ? 3 : 1);
    }
    assert_true (dn_bench_fit_curve (work, seconds, 24, &fit, NULL));
    assert_true (fabs (fit.rate / 1e14 - 1) < 0.02);
    assert_true (fabs (fit.half / 2e9 - 1) < 0.06);
    assert_true (fit.spread < 0.03);
    assert_int_equal (fit.n, 24);
}

TEST ("a curve without saturation is a constant")
{
    const double work[4] = {1e9, 2e9, 4e9, 8e9};
    const double seconds[4] = {1, 2, 4, 8};
    struct dn_bench_fit fit;

    assert_true (dn_bench_fit_curve (work, seconds, 4, &fit, NULL));
    assert_true (fabs (fit.rate / 1e9 - 1) < 1e-6);
    assert_near (fit.half, 0);
    assert_false (dn_bench_fit_curve (work, seconds, 3, &fit, NULL));
    assert_near (fit.rate, 0);
}

/* Add a sample with a time on a curve. */
static void put (struct dn_samples *samples,
                 enum dn_sample_op op,
                 enum dn_precision precision,
                 const char *shape,
                 double work,
                 bool bytes,
                 double rate,
                 double half)
{
    struct dn_sample row = {.op = op,
                            .precision = precision,
                            .pass = DN_SAMPLE_FORWARD,
                            .devices = op == DN_SAMPLE_ALLREDUCE ? 4 : 1,
                            .seconds = (work + half) / rate,
                            .runs = 9};

    if (bytes)
        row.bytes = work;
    else
        row.flops = work;
    if (op == DN_SAMPLE_ALLREDUCE)
        row.bytes = work / 1.5;
    snprintf (row.shape, sizeof (row.shape), "%s", shape);
    assert_int_equal (dn_samples_add (samples, &row, NULL), 0);
}

static void put_fact (struct dn_samples *samples, const char *fact)
{
    struct dn_sample row = {.op = DN_SAMPLE_FACT};

    snprintf (row.shape, sizeof (row.shape), "%s", fact);
    assert_int_equal (dn_samples_add (samples, &row, NULL), 0);
}

/* Made up: an A100 that reaches exactly what the constants expect. */
static void make_samples (struct dn_samples *samples)
{
    const struct dn_constants *k = &dn_constants_default;

    *samples = (struct dn_samples){NULL, 0, 0};
    put_fact (samples, "gpu=NVIDIA A100-SXM4-40GB");
    put_fact (samples, "driver=CUDA 12.4");
    put_fact (samples, "capability=8.0");
    put_fact (samples, "memory=42505273344");
    put_fact (samples, "sms=108");
    put_fact (samples, "tdp_w=400");
    for (int i = 0; i < 8; i++) {
        double work = 1e8 * pow (4, i);

#define PUT(op, precision, shape, bytes, rate, half)                                   \
    put (samples,                                                                      \
         DN_SAMPLE_##op,                                                               \
         DN_PRECISION_##precision,                                                     \
         shape,                                                                        \
         work,                                                                         \
         bytes,                                                                        \
         rate,                                                                         \
         half)
        PUT (GEMM, FP32, "m1", false, 19.5e12 * k->seen_linear_fp32, 1e9);
        PUT (GEMM, BF16, "m1", false, 312e12 * k->seen_linear_tensor, 4e9);
        PUT (CONV, FP32, "n8 k3 s1", false, 19.5e12 * k->seen_conv_fp32, 3e9);
        PUT (CONV, FP32, "n8 k1 s1", false, 1e12, 0); /* of another kind */
        PUT (CONV, BF16, "n8 k3 s2", false, 1e12, 0);
        PUT (ELEMENTWISE, FP32, "add", true, 1555e9 * k->seen_stream, 1e6);
        PUT (H2D, UNKNOWN, "n", true, 22e9, 1e5);
        PUT (ALLREDUCE, FP32, "n", true, 200e9, 200e9 * (5e-5 + 6 * k->hop_s));
#undef PUT
    }
    put (samples,
         DN_SAMPLE_RNN,
         DN_PRECISION_FP32,
         "lstm n16 h64 t32",
         37,
         false,
         1e6,
         5);
    put (samples,
         DN_SAMPLE_RNN,
         DN_PRECISION_FP32,
         "lstm n16 h64 t256",
         709,
         false,
         1e6,
         5);
    put (samples, DN_SAMPLE_LAUNCH, DN_PRECISION_UNKNOWN, "empty", 2.5, false, 1e6, 0);
}

TEST ("measured rates and times are found")
{
    const struct dn_constants *k = &dn_constants_default;
    struct dn_samples samples;
    struct dn_bench_result result;

    make_samples (&samples);
    assert_int_equal (dn_bench_analyse (&samples, k, &result, NULL), 0);
#define SHARE(value, expected) assert_true (fabs ((value) / (expected) -1) < 0.02)
    SHARE (result.curves[DN_RATE_LINEAR][DN_FORMAT_FP32].rate,
           19.5e12 * k->seen_linear_fp32);
    SHARE (result.curves[DN_RATE_LINEAR][DN_FORMAT_BF16].rate,
           312e12 * k->seen_linear_tensor);
    SHARE (result.curves[DN_RATE_CONV][DN_FORMAT_FP32].rate,
           19.5e12 * k->seen_conv_fp32);
    assert_near (result.curves[DN_RATE_CONV][DN_FORMAT_BF16].rate, 0);
    assert_near (result.curves[DN_RATE_LINEAR][DN_FORMAT_FP16].rate, 0);
    SHARE (result.stream.rate, 1555e9 * k->seen_stream);
    SHARE (result.pcie.rate, 22e9);
    SHARE (result.ring.rate, 200e9);
    assert_int_equal (result.ring_devices, 4);
    assert_true (fabs (result.ring_start_s / 5e-5 - 1) < 0.1);
    SHARE (result.recurrence_s, 3e-6);
    SHARE (result.launch_s, 2.5e-6);
#undef SHARE
    dn_samples_free (&samples);
}

TEST ("products bound by the memory do not count")
{
    struct dn_samples samples = {NULL, 0, 0};
    struct dn_bench_result result;

    for (int i = 0; i < 6; i++) {
        struct dn_sample row = {DN_SAMPLE_GEMM,
                                DN_PRECISION_FP32,
                                DN_SAMPLE_FORWARD,
                                "m1",
                                1,
                                1e10 * (i + 1),
                                1e6,
                                1e-3 * (i + 1),
                                0,
                                9};

        assert_int_equal (dn_samples_add (&samples, &row, NULL), 0);
        row.bytes = 1e9; /* a third of a second's worth at the stream's rate */
        row.seconds = 1;
        assert_int_equal (dn_samples_add (&samples, &row, NULL), 0);
        put (&samples,
             DN_SAMPLE_ELEMENTWISE,
             DN_PRECISION_FP32,
             "add",
             1e8 * (i + 1),
             true,
             1.5e9,
             0);
    }
    assert_int_equal (dn_bench_analyse (&samples, &dn_constants_default, &result, NULL),
                      0);
    assert_true (fabs (result.curves[DN_RATE_LINEAR][DN_FORMAT_FP32].rate / 1e13 - 1)
                 < 1e-6);
    dn_samples_free (&samples);
}

/* --- the entry -------------------------------------------------------------------- */

#define A100                                                                           \
    "Device=a100_sxm4_40gb\nVendor=nvidia\nArch=ampere\nFp32=19.5T\nTf32=156T\n"       \
    "Fp16=312T\nBf16=312T\nMemory=40GiB\nBandwidth=1555G\nSms=108\nLink=nvlink\n"      \
    "LinkBandwidth=300G\nPcieBandwidth=24G\nTdp=400\nIdle=55\n"

static struct dn_catalogue generations;

static void write_entry (const char *device,
                         const struct dn_device *known,
                         const struct dn_samples *samples,
                         char text[8192])
{
    struct dn_bench_result result;
    struct dn_buf buf = dn_buf_on (text, 8192);
    struct dn_bench_entry entry = {device,
                                   &generations,
                                   known,
                                   samples,
                                   &result,
                                   &dn_constants_default,
                                   "made up"};
    struct dn_err err = {0};

    if (generations.n_generations == 0)
        scene_generations (&generations);
    assert_int_equal (dn_bench_analyse (samples, &dn_constants_default, &result, &err),
                      0);
    if (dn_bench_write_entry (&entry, &buf, &err) < 0)
        fail_msg ("%s", err.text);
}

static double step_of (const struct dn_device *device, const char *metadata)
{
    struct dn_spec spec = dn_spec_empty ();
    struct dn_datasets datasets = {.n_rows = 0};
    struct dn_graph graph;
    struct dn_estimate estimate;
    struct dn_err err = {0};

    if (dn_spec_read (dn_span_of (metadata), &spec, &err) < 0
        || dn_spec_resolve (&spec, &datasets, DN_UNSET, &err) < 0
        || dn_graph_build (shipped_networks (), &spec, &graph, &err) < 0)
        fail_msg ("%s", err.text);
    dn_whitebox (&(struct dn_case){&dn_constants_default, &spec, &graph, device, 0},
                 &estimate);
    dn_graph_free (&graph);
    return estimate.step_s.p50;
}

#define FP32_RUN                                                                       \
    "model=vgg16,batch=64,precision=fp32,optimizer=sgd,input=synthetic,steps=10"
#define BF16_RUN                                                                       \
    "model=bert_large,batch=32,seq_len=512,precision=bf16,optimizer=adam,"             \
    "input=synthetic,steps=10"

TEST ("a device with the expected rates is predicted as before")
{
    struct dn_catalogue catalogue = {0};
    struct dn_samples samples;
    char text[8192];
    double fp32;
    double bf16;
    double scale;

    make_samples (&samples);
    assert_int_equal (
        dn_catalogue_add (&catalogue, dn_span_of (A100), "sheet", false, NULL), 0);
    fp32 = step_of (&catalogue.devices[0], FP32_RUN);
    bf16 = step_of (&catalogue.devices[0], BF16_RUN);
    write_entry ("a100_sxm4_40gb", &catalogue.devices[0], &samples, text);
    assert_null (strstr (text, "Vendor="));
    assert_contains (text, "80 % of the data sheet");
    assert_int_equal (
        dn_catalogue_add (&catalogue, dn_span_of (text), "own", true, NULL), 0);
    assert_int_equal (catalogue.devices[0].per_node, 4);
    scale = step_of (&catalogue.devices[0], FP32_RUN) / fp32;
    assert_true (fabs (scale - 1) < 0.02);
    scale = step_of (&catalogue.devices[0], BF16_RUN) / bf16;
    assert_true (fabs (scale - 1) < 0.02);
    dn_catalogue_free (&catalogue);
    dn_samples_free (&samples);
}

TEST ("a device is predicted slower where its rate is lower")
{
    struct dn_catalogue catalogue = {0};
    double fp32;
    double bf16;

    assert_int_equal (
        dn_catalogue_add (&catalogue, dn_span_of (A100), "sheet", false, NULL), 0);
    fp32 = step_of (&catalogue.devices[0], FP32_RUN);
    bf16 = step_of (&catalogue.devices[0], BF16_RUN);
    assert_int_equal (
        dn_catalogue_add (&catalogue,
                          dn_span_of ("Device=a100_sxm4_40gb LinearBf16=50T"),
                          "own",
                          true,
                          NULL),
        0);
    assert_near (step_of (&catalogue.devices[0], FP32_RUN), fp32);
    assert_true (step_of (&catalogue.devices[0], BF16_RUN) > 1.3 * bf16);
    assert_true (step_of (&catalogue.devices[0], BF16_RUN) < 5 * bf16);
    assert_int_equal (dn_catalogue_add (&catalogue,
                                        dn_span_of ("Device=a100_sxm4_40gb "
                                                    "ConvFp32=10T Stream=0.7T"),
                                        "own",
                                        true,
                                        NULL),
                      0);
    assert_true (step_of (&catalogue.devices[0], FP32_RUN) > 1.3 * fp32);
    dn_catalogue_free (&catalogue);
}

TEST ("a measured ring replaces the link")
{
    static const char run[] =
        "model=vgg16,batch=8,precision=fp32,optimizer=sgd,gpus=8,input=synthetic,"
        "parallel=dp,steps=10";
    struct dn_catalogue catalogue = {0};
    double sheet;
    double same;

    assert_int_equal (
        dn_catalogue_add (&catalogue, dn_span_of (A100), "sheet", false, NULL), 0);
    sheet = step_of (&catalogue.devices[0], run);
    assert_int_equal (
        dn_catalogue_add (&catalogue,
                          dn_span_of ("Device=a100_sxm4_40gb Ring=214.5G"),
                          "own",
                          true,
                          NULL),
        0);
    same = step_of (&catalogue.devices[0], run); /* 300 GB/s times nvlink_eff */
    assert_true (fabs (same / sheet - 1) < 1e-6);
    assert_int_equal (dn_catalogue_add (&catalogue,
                                        dn_span_of ("Device=a100_sxm4_40gb Ring=20G"),
                                        "own",
                                        true,
                                        NULL),
                      0);
    assert_true (step_of (&catalogue.devices[0], run) > 1.2 * sheet);
    dn_catalogue_free (&catalogue);
}

TEST ("a new device gets a complete entry")
{
    struct dn_catalogue catalogue = {0};
    struct dn_samples samples;
    const struct dn_device *device;
    char text[8192];

    make_samples (&samples);
    write_entry ("brand_new", NULL, &samples, text);
    assert_int_equal (
        dn_catalogue_add (&catalogue, dn_span_of (text), "own", true, NULL), 0);
    device = dn_catalogue_find (&catalogue, "brand_new");
    assert_non_null (device);
    assert_string_equal (device->arch, "ampere");
    assert_int_equal (device->sms, 108);
    assert_true (fabs (device->fp32 / 19.5e12 - 1) < 0.02);
    assert_true (fabs (device->bf16 / 312e12 - 1) < 0.02);
    assert_near (device->tf32, 0);
    assert_true (fabs (device->bandwidth / 1555e9 - 1) < 0.02);
    assert_true (dn_device_is_measured (device));
    dn_catalogue_free (&catalogue);
    dn_samples_free (&samples);
}

TEST ("too few samples make no entry")
{
    struct dn_samples samples = {NULL, 0, 0};
    struct dn_bench_result result = {.stream = {.rate = 1e12}};
    char text[8192];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    struct dn_bench_entry entry = {
        "new", &generations, NULL, &samples, &result, &dn_constants_default, "x"};
    struct dn_err err = {0};

    assert_int_equal (dn_bench_write_entry (&entry, &buf, &err), -1);
    assert_contains (err.text, "'new' is not in the catalogue");
    result.stream.rate = 0;
    assert_int_equal (dn_bench_write_entry (&entry, &buf, &err), -1);
    assert_contains (err.text, "no kernel");
    assert_int_equal (dn_bench_write_host (&result, &buf, &err), -1);
    assert_contains (err.text, "no loader");
}

static const char *const catalogue_names[] = {"a100_sxm4_40gb",
                                              "a100_sxm4_80gb",
                                              "a100_pcie_40gb",
                                              "a10_24gb",
                                              "v100_sxm2_16gb",
                                              "v100_pcie_16gb",
                                              "t4_16gb",
                                              "h200_sxm_141gb",
                                              "rtx_2080_ti_11gb",
                                              "rtx_6000_ada_48gb",
                                              "quadro_rtx_6000_24gb"};
static const double catalogue_gib[] = {40, 80, 40, 24, 16, 16, 16, 141, 11, 48, 24};
static const struct {
    const char *driver;
    double gib;
    const char *name; /* NULL: none, or several */
} drivers[] = {
    {"NVIDIA A100-SXM4-40GB", 39.6, "a100_sxm4_40gb"},
    {"NVIDIA A100-SXM4-80GB", 79.2, "a100_sxm4_80gb"},
    {"NVIDIA A100-PCIE-40GB", 39.4, "a100_pcie_40gb"},
    {"Tesla V100-SXM2-16GB", 15.8, "v100_sxm2_16gb"},
    {"Tesla V100-DGXS-16GB", 15.8, NULL},
    {"NVIDIA A10", 22.5, "a10_24gb"},
    {"Tesla T4", 14.7, "t4_16gb"},
    {"NVIDIA H200", 139.8, "h200_sxm_141gb"},
    {"NVIDIA GeForce RTX 2080 Ti", 10.8, "rtx_2080_ti_11gb"},
    {"NVIDIA GeForce RTX 2080", 7.8, NULL},
    {"Quadro RTX 6000", 23.6, "quadro_rtx_6000_24gb"},
    {"NVIDIA RTX 6000 Ada Generation", 47.5, "rtx_6000_ada_48gb"},
    {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", 4.7, NULL},
    {"", 0, NULL},
};

TEST ("a driver's name finds the catalogue's device")
{
    struct dn_catalogue catalogue = {0};

    for (size_t i = 0; i < DN_N_ELEMENTS (catalogue_names); i++) {
        char text[512];

        snprintf (text,
                  sizeof (text),
                  "Device=%s Vendor=nvidia Arch=ampere Fp32=1T Memory=%fGiB "
                  "Bandwidth=1T Tdp=1",
                  catalogue_names[i],
                  catalogue_gib[i]);
        assert_int_equal (
            dn_catalogue_add (
                &catalogue, dn_span_of (text), catalogue_names[i], false, NULL),
            0);
    }
    for (size_t i = 0; i < DN_N_ELEMENTS (drivers); i++) {
        struct dn_err err = {0};
        const struct dn_device *device = dn_bench_device (
            &catalogue, drivers[i].driver, drivers[i].gib * 1024 * 1024 * 1024, &err);

        if (drivers[i].name && !device)
            fail_msg ("%s: %s", drivers[i].driver, err.text);
        if (drivers[i].name)
            assert_string_equal (device->name, drivers[i].name);
        else {
            assert_null (device);
            assert_contains (err.text, "--device");
        }
    }
    dn_catalogue_free (&catalogue);
}

TEST ("loaders become lines of the configuration")
{
    struct dn_samples samples;
    struct dn_bench_result result;
    struct dn_site *site;
    char text[512];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    assert_int_equal (read_text (HEAD "jpeg,,,x,8,0,0,0.0025,0.1,9\n"
                                      "text,,,x,8,0,512,0.001,0.1,9\n"
                                      "array,,,x,8,0,1e5,0.0001,0.1,9\n",
                                 &samples,
                                 NULL),
                      0);
    assert_int_equal (dn_bench_analyse (&samples, &dn_constants_default, &result, NULL),
                      0);
    assert_int_equal (dn_bench_write_host (&result, &buf, NULL), 0);
    assert_string_equal (text, "CoreJpeg=400\nCoreTokens=5.12e+05\nCoreBytes=1e+09\n");
    site = scene_site (text);
    dn_site_set_loaders (site);
    assert_near (site->constants.core_jpeg, 400);
    assert_near (site->constants.core_tokens, 512000);
    assert_near (site->constants.core_bytes, 1e9);
    dn_site_free (site);
    free (site);
    dn_samples_free (&samples);
}
