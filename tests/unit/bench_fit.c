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

/* Of the test: its device, as the sheet or the site's own file states it. */
static struct dn_catalogue catalogue;

static void state_it (const char *text, bool own)
{
    assert_done (
        dn_catalogue_add (&catalogue, dn_span_of (text), "file", own, &unit_err));
}

static double step_of (const char *metadata)
{
    return white_estimate_on (metadata, &catalogue.devices[0], 0).step_s.p50;
}

int before_test (void **unused)
{
    state_it (SHEET, false);
    return 0;
}

int after_test (void **unused)
{
    dn_catalogue_free (&catalogue);
    return 0;
}

#define FP32_RUN                                                                       \
    "model=vgg16,batch=64,precision=fp32,optimizer=sgd,input=synthetic,steps=10"
#define BF16_RUN                                                                       \
    "model=bert_large,batch=32,seq_len=512,precision=bf16,optimizer=adam,"             \
    "input=synthetic,steps=10"

TEST ("a device is predicted slower where its rate is lower")
{
    double fp32 = step_of (FP32_RUN);
    double bf16 = step_of (BF16_RUN);

    state_it ("Device=a100_sxm4_40gb LinearBf16=50T", true);
    assert_near (step_of (FP32_RUN), fp32);
    assert_true (step_of (BF16_RUN) > 1.3 * bf16 && step_of (BF16_RUN) < 5 * bf16);
    state_it ("Device=a100_sxm4_40gb ConvFp32=10T Stream=0.7T", true);
    assert_true (step_of (FP32_RUN) > 1.3 * fp32);
}

TEST ("a measured ring replaces the link")
{
    static const char run[] =
        "model=vgg16,batch=8,precision=fp32,optimizer=sgd,gpus=8,input=synthetic,"
        "parallel=dp,steps=10";
    double sheet = step_of (run);

    state_it ("Device=a100_sxm4_40gb Ring=214.5G",
              true); /* 300 GB/s times nvlink_eff */
    assert_true (fabs (step_of (run) / sheet - 1) < 1e-6);
    state_it ("Device=a100_sxm4_40gb Ring=20G", true);
    assert_true (step_of (run) > 1.2 * sheet);
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
