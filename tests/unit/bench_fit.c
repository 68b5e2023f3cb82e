/* bench_fit.c - tests of what measured rates do to predictions, and of drivers' names
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "hardware/gpu_names.h"
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
        char *text =
            unit_text ("Device=%s Vendor=nvidia Arch=ampere Fp32=1T Memory=%fGiB "
                       "Bandwidth=1T Tdp=1",
                       catalogue_names[i],
                       catalogue_gib[i]);

        assert_int_equal (
            dn_catalogue_add (
                &catalogue, dn_span_of (text), catalogue_names[i], false, NULL),
            0);
    }
    for (size_t i = 0; i < DN_N_ELEMENTS (drivers); i++) {
        double memory = drivers[i].gib * 1024 * 1024 * 1024;
        const struct dn_device *best = NULL;
        int most = 1;
        int n = 0;

        for (int k = 0; k < catalogue.n_devices; k++) {
            const struct dn_device *device = &catalogue.devices[k];
            int like = dn_device_match (device, drivers[i].driver, memory);

            if (like > most) {
                most = like;
                n = 0;
            }
            if (like == most) {
                best = device;
                n++;
            }
        }
        if (drivers[i].name) {
            assert_int_equal (n, 1);
            assert_string_equal (best->name, drivers[i].name);
        } else {
            assert_int_not_equal (n, 1);
        }
    }
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
