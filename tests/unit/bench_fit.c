/* bench_fit.c - tests of what measured rates do to predictions
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "predict/predict.h"
#include "white.h"

#define SHEET                                                                          \
    "Device=a100_sxm4_40gb\nVendor=nvidia\nArch=ampere\nFp32=19.5T\nTf32=156T\n"       \
    "Fp16=312T\nBf16=312T\nMemory=40GiB\nBandwidth=1555G\nSms=108\nLink=nvlink\n"      \
    "LinkBandwidth=300G\nPcieBandwidth=24G\nTdp=400\nIdle=55\n"

static double step_of (const struct dn_device *device, const char *metadata)
{
    return white_estimate_on (metadata, device, 0).step_s.p50;
}

#define FP32_RUN                                                                       \
    "model=vgg16,batch=64,precision=fp32,optimizer=sgd,input=synthetic,steps=10"
#define BF16_RUN                                                                       \
    "model=bert_large,batch=32,seq_len=512,precision=bf16,optimizer=adam,"             \
    "input=synthetic,steps=10"

TEST ("a device is predicted slower where its rate is lower")
{
    struct dn_catalogue catalogue = {0};
    double fp32;
    double bf16;

    assert_int_equal (
        dn_catalogue_add (&catalogue, dn_span_of (SHEET), "sheet", false, NULL), 0);
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
        dn_catalogue_add (&catalogue, dn_span_of (SHEET), "sheet", false, NULL), 0);
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

TEST ("measured loaders are those of the predictions")
{
    struct dn_site *site =
        scene_site ("CoreJpeg=400\nCoreTokens=5.12e+05\nCoreBytes=1e+09\n");

    dn_site_set_loaders (site);
    assert_near (site->constants.core_jpeg, 400);
    assert_near (site->constants.core_tokens, 512000);
    assert_near (site->constants.core_bytes, 1e9);
}
