/* host.c - tests of what surrounds the device's work: data, launches, links and nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "predict/stages.h"
#include "estimates.h"

static struct dn_estimate estimate_on (const char *text,
                                       const struct dn_device *device,
                                       double cpus_per_gpu)
{
    return device ? white_estimate_on (text, device, cpus_per_gpu)
                  : white_estimate (text, A100, cpus_per_gpu);
}

/* Its input, with so many CPUs. */
static double input_s (const char *text, double cpus_per_gpu)
{
    return estimate_on (text, NULL, cpus_per_gpu).stage_s[DN_STAGE_INPUT];
}

/* A copy of the scene's A100, without what points into the scene. */
static struct dn_device a100 (void)
{
    return scene_site ("")->catalogue.devices[A100];
}

/* --- data --------------------------------------------------------------------------
 */

/* 'network' with input= against the same without any input and with one by the host. */
static void check_input_on_gpu (const char *network, const struct dn_device *device)
{
    struct dn_estimate none =
        estimate_on (unit_text ("%s,input=synthetic", network), device, 0);
    struct dn_estimate gpu =
        estimate_on (unit_text ("%s,input=gpu", network), device, 0);

    if (gpu.step_s.p50 < none.step_s.p50
        || gpu.step_s.p50 > (none.step_s.p50 + gpu.stage_s[DN_STAGE_INPUT]) * 1.0001)
        fail_msg ("%s on %s: %g s, without input %g, its kernels %g",
                  network,
                  device->name,
                  gpu.step_s.p50,
                  none.step_s.p50,
                  gpu.stage_s[DN_STAGE_INPUT]);
}

TEST ("Decoding on the GPU adds no more than its kernels")
{
    static const char *const networks[] = {
        "model=resnet18,batch=256,precision=fp16",
        "model=resnet50,batch=64",
        "model=efficientnet_b0,batch=128,precision=fp16,framework=tensorflow",
        "model=resnet50,batch=408,precision=fp16,framework=mxnet,stack=ngc",
        "model=maskrcnn_resnet50_fpn,batch=4",
        "model=vit_b_16,batch=64",
        "model=unet3d,batch=2",
        "model=jasper,batch=32",
        "model=bert_base,batch=16",
        "model=ncf,batch=4096"};
    struct dn_catalogue catalogue = {0};

    scene_shipped (&catalogue);
    assert_done (dn_catalogue_link (&catalogue, &unit_err));
    assert_true (catalogue.n_devices > 20);
    for (size_t i = 0; i < DN_N_ELEMENTS (networks); i++)
        for (int k = 0; k < catalogue.n_devices; k++)
            check_input_on_gpu (networks[i], &catalogue.devices[k]);
    dn_catalogue_free (&catalogue);
    assert_true (stage ("model=resnet50,batch=64,input=gpu", DN_STAGE_INPUT) > 0);
    assert_near (stage ("model=bert_base,batch=8,input=gpu", DN_STAGE_INPUT), 0);
}

TEST ("Tokens cost nearly nothing, raw text more")
{
    static const char *const texts[] = {"model=bert_base,batch=32,precision=fp16",
                                        "model=gpt2,batch=8,precision=bf16",
                                        "model=t5_base,batch=8,precision=bf16",
                                        "model=gnmt,batch=128,precision=fp16"};

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++) {
        struct dn_estimate e = estimate (texts[i]);
        char *none = unit_text ("%s,input=synthetic", texts[i]);
        char *raw = unit_text ("%s,decode=text", texts[i]);

        assert_true (e.stage_s[DN_STAGE_INPUT] > 0);
        assert_true (e.step_s.p50 < 1.01 * estimate (none).step_s.p50);
        assert_true (input_s (raw, 1) > 3 * input_s (texts[i], 1));
    }
}

TEST ("Small pictures are arrays")
{
    const char *arrays = "model=resnet18,image=32,classes=10,stem=cifar,batch=512";
    struct dn_estimate a = estimate_on (arrays, NULL, 2);
    struct dn_estimate b = estimate_on (unit_text ("%s,decode=jpeg", arrays), NULL, 2);

    assert_true (5 * a.stage_s[DN_STAGE_INPUT] < b.stage_s[DN_STAGE_INPUT]);
    assert_true (a.cpus_per_gpu < b.cpus_per_gpu);
    assert_true (a.cpus_per_gpu >= 2);
    assert_true (input_s ("model=resnet18,image=64,batch=256", 2) > 0.25);
}

TEST ("Stored pictures are decoded and then resized")
{
    double usual = input_s ("model=resnet50,batch=64", 4);
    double small = input_s ("model=resnet50,batch=64,sample_bytes=11000", 4);
    double large = input_s ("model=resnet50,batch=64,sample_bytes=1100000", 4);
    double resized =
        input_s ("model=resnet50,batch=64,image=448,sample_bytes=110000", 4);

    assert_true (small < 0.7 * usual && small > 0.3 * usual);
    assert_true (large > 4 * usual && large < 10 * usual);
    assert_true (resized > 1.5 * usual && resized < 4 * usual);
}

/* Of one core: ImageNet at 224 x 224 takes 1 with a crop, 4 with heavy augmentation. */
TEST ("Augmentation costs cores, by the samples' elements")
{
    const char *image = "model=resnet50,batch=64,sample_bytes=110000";
    const char *volume = "model=nnunet_3d,batch=2,framework=pytorch";
    double plain = input_s (image, 1);
    double heavy = input_s (unit_text ("%s,augment=heavy", image), 1);

    assert_near (input_s (unit_text ("%s,augment=none", image), 1), plain);
    assert_true (heavy > 3.5 * plain && heavy < 4.5 * plain);
    /* Networks whose programs always do it: 500 patches took nnU-Net 160 s with 6
     * cores, 0.64 s for two. */
    assert_true (input_s (volume, 6) > 0.3 && input_s (volume, 6) < 0.9);
    assert_true (estimate (volume).cpus_per_gpu > 6);
    assert_int_equal (estimate (unit_text ("%s,augment=none", volume)).cpus_per_gpu, 2);
    /* DALI does it on the GPU. */
    assert_int_equal (estimate (unit_text ("%s,stack=ngc", volume)).cpus_per_gpu, 2);
}

TEST ("Loaders that the job starts keep a core each")
{
    const char *text = "model=bert_base,batch=32,precision=fp16";

    assert_int_equal (estimate (text).cpus_per_gpu, 2);
    assert_int_equal (estimate (unit_text ("%s,workers=8", text)).cpus_per_gpu, 8);
}

TEST ("Loaders in Python need more cores")
{
    const char *net = "model=resnet50,batch=256,precision=fp16,framework=";
    int64_t torch = estimate (unit_text ("%spytorch", net)).cpus_per_gpu;
    int64_t tensorflow = estimate (unit_text ("%stensorflow", net)).cpus_per_gpu;

    assert_true (torch > 2 * tensorflow && tensorflow > 4);
}

TEST ("Cores of the usual node feed fast devices")
{
    const char *text = "model=resnet18,batch=256,precision=fp16,stack=ngc";
    struct dn_device device = a100 ();
    double unknown = estimate_on (text, &device, 0).step_s.p50;

    device.cores = 16;
    assert_true (estimate_on (text, &device, 0).step_s.p50 < 0.9 * unknown);
    assert_near (estimate_on (text, &device, 4).step_s.p50,
                 estimate_on (text, NULL, 4).step_s.p50);
}

TEST ("Unknown cores feed the device as those of the usual node")
{
    const char *text = "model=resnet18,batch=256,precision=fp16";
    struct dn_device device = a100 ();

    device.cores = 32;
    assert_near (estimate_on (text, &device, 0).stage_s[DN_STAGE_INPUT],
                 estimate_on (text, &device, 32).stage_s[DN_STAGE_INPUT]);
}

/* --- launches ----------------------------------------------------------------------
 */

TEST ("Compiled code launches kernels without a framework")
{
    const char *eager = "model=dlrm,batch=1024,precision=fp16,optimizer=sgd";
    double host = stage (eager, DN_STAGE_HOST);

    assert_true (stage ("model=dlrm,batch=1024,precision=fp16,optimizer=sgd,"
                        "framework=hugectr,stack=ngc",
                        DN_STAGE_HOST)
                 < 0.3 * host);
    assert_true (stage ("model=bert_base,batch=4,framework=jax", DN_STAGE_HOST)
                 < 0.5 * stage ("model=bert_base,batch=4", DN_STAGE_HOST));
    assert_true (
        stage ("model=bert_base,batch=4,framework=tensorflow,compile=1", DN_STAGE_HOST)
        < 0.5 * stage ("model=bert_base,batch=4,framework=tensorflow", DN_STAGE_HOST));
    assert_true (stage ("model=bert_base,batch=4,compile=1", DN_STAGE_HOST)
                 > stage ("model=bert_base,batch=4,framework=jax", DN_STAGE_HOST));
}

/* Both are compiled by XLA. */
TEST ("Loops that run ahead of the device hide their time")
{
    const struct dn_constants *k = &dn_constants_default;
    const char *net =
        "model=resnet50,batch=256,precision=fp16,input=synthetic,compile=1,framework=";
    double ahead = estimate (unit_text ("%sjax", net)).step_s.p50;
    double fixed = k->step_s * k->graph_launch * k->host_new;

    assert_near (estimate (unit_text ("%stensorflow", net)).step_s.p50, ahead + fixed);
    assert_true (estimate ("model=mlp,batch=1,framework=jax").step_s.p50
                 >= 0.999 * fixed);
}

/* --- links and nodes ---------------------------------------------------------------
 */

#define BERT "model=bert_large,batch=8,precision=fp16,"

TEST ("Links of devices without NVLink count")
{
    struct dn_device device = a100 ();
    double pcie;

    device.link = DN_LINK_PCIE;
    device.link_bw = device.pcie_bw;
    pcie = communication_on (BERT "gpus=8", &device);
    device.link_bw = 10 * device.pcie_bw;
    assert_true (communication_on (BERT "gpus=8", &device) < 0.3 * pcie);
    assert_near (communication_on (BERT "gpus=8,link=pcie", &device), pcie);
    device.generation = scene_generation ("other");
    assert_true (communication_on (BERT "gpus=8", &device) < 0.3 * pcie);
    /* One link to each of the others: a ring of two uses one of seven. */
    device.generation = scene_generation ("cdna");
    assert_true (communication_on (BERT "gpus=2", &device)
                 > 2 * communication_on (BERT "gpus=8", &device));
}

TEST ("Cards in nodes use the usual network unless net= says more")
{
    struct dn_device device = a100 ();
    double unknown;
    double usual;

    device.link = DN_LINK_PCIE;
    device.link_bw = device.pcie_bw;
    unknown = communication_on (BERT "gpus=8,nodes=2", &device);
    device.adapter_bw = 12.5e9;
    device.adapters = 1;
    usual = communication_on (BERT "gpus=8,nodes=2", &device);
    assert_true (usual < 0.5 * unknown);
    assert_near (communication_on (BERT "gpus=8,nodes=2,net=ib100", &device), usual);
    assert_true (communication_on (BERT "gpus=8,nodes=2,net=ethernet10", &device)
                 > 2 * usual);
    assert_true (communication_on (BERT "gpus=8,nodes=2,net=ib100x4", &device) < usual);
    device.adapters = 4;
    assert_near (communication_on (BERT "gpus=8,nodes=2,net=ib100x4", &device),
                 communication_on (BERT "gpus=8,nodes=2", &device));
}

/* A message of one byte passes log2 (n) nodes of a tree. */
TEST ("Small messages go up a tree")
{
    struct dn_setup c = {.constants = &dn_constants_default,
                         .net = {.rdma = true, .rate = 12.5e9, .adapters = 1}};
    double hop = dn_constants_default.net_hop_s;

    for (int i = 0; i <= 8; i++) {
        struct dn_ring ring = {.n = 1 << i, .nodes = 1 << i, .sharing = 1};

        assert_true (fabs (dn_half_between (&c, 1, &ring) / hop - i) < 1e-3);
    }
    assert_true (dn_half_between (&c, 1e9, &(struct dn_ring){2, 2, 1}) > 0.5 / 12.5);
}

/* Nothing is computed any more when the gradients of an embedding are complete. */
TEST ("Gradients of an embedding are exposed")
{
    struct dn_device device = a100 ();
    double tables = 50257.0 * 768 + 1024 * 768;
    struct dn_estimate e;

    device.measured.ring = 10e9;
    e = estimate_on ("model=gpt2,batch=64,precision=bf16,gpus=8", &device, 0);
    assert_true (e.stage_s[DN_STAGE_EXPOSED] > 2 * 7.0 / 8 * 4 * tables / 10e9);
    assert_true (e.stage_s[DN_STAGE_EXPOSED] < e.stage_s[DN_STAGE_COMMUNICATION]);
}

/* Gradients do not pass the network while tokens do. */
TEST ("Exchanges between blocks and gradients share links")
{
#define FAR                                                                            \
    "model=switch_xl4,experts=16,precision=bf16,optimizer=adam,gpus=2,nodes=2,ep=2,"
    const char *four = FAR "net=ethernet1,batch=4,input=synthetic";
    const char *eight = FAR "net=ethernet1,batch=8,input=synthetic";
    double more =
        stage (eight, DN_STAGE_COMMUNICATION) - stage (four, DN_STAGE_COMMUNICATION);
    double exposed = stage (eight, DN_STAGE_EXPOSED) - stage (four, DN_STAGE_EXPOSED);
    double work = 0;

    for (int s = DN_STAGE_FORWARD; s <= DN_STAGE_BACKWARD_WEIGHT; s++)
        work += stage (eight, (enum dn_stage) s) - stage (four, (enum dn_stage) s);
    assert_true (work > 0 && more > 2 * work);
    assert_true (exposed > more - work);
#undef FAR
}

/* How much longer a step takes where copies wait for one another. */
static double slow_down (const char *format, const char *gpus)
{
    struct dn_device device = a100 ();

    device.measured.ring = 1e13;
    device.measured.ring_start_s = 1e-12;
    return estimate_on (unit_text ("%s%s", format, gpus), &device, 0).step_s.p50
           / estimate_on (format, &device, 0).step_s.p50;
}

TEST ("Waiting averages out over the passes of a step")
{
    const char *one = "model=resnet50,batch=64,input=synthetic";
    const char *many = "model=resnet50,batch=64,input=synthetic,grad_accum=16";
    double two = slow_down (one, ",gpus=2") - 1;
    double four = slow_down (one, ",gpus=4") - 1;
    double eight = slow_down (one, ",gpus=8") - 1;
    double passes = slow_down (many, ",gpus=8") - 1;

    assert_true (two > 0 && four > two && eight > four);
    assert_true (eight - four < four - two);
    assert_true (fabs (eight / passes - 4) < 0.8);
}
