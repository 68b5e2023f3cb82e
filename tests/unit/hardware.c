/* hardware.c - tests of hardware/: catalogue files, Gpu lines, candidates
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "reading.h"

#include "hardware/gpu_names.h"
#include "rows.h"
#include "scene.h"

#define V100                                                                           \
    "Device=v100\nVendor=nvidia\nArch=volta\nFp32=15.7T\nFp16=125T\nMemory=16GiB\n"    \
    "Bandwidth=900G\nTdp=300\nIdle=40\nLink=nvlink\nLinkBandwidth=150G\nCost=2.5\n"
#define A100                                                                           \
    "Device=a100\nVendor=nvidia\nArch=ampere\nFp32=19.5T\nTf32=156T\nFp16=312T\n"      \
    "Bf16=312T\nMemory=40GiB\nBandwidth=1555G\nTdp=400\n"

/* Those of the test. */
static struct dn_catalogue catalogue;
static struct dn_gpu_types types;

int before_test (void **state)
{
    catalogue = (struct dn_catalogue){0};
    types = (struct dn_gpu_types){.n_types = 0};
    return 0;
}

int after_test (void **state)
{
    dn_catalogue_free (&catalogue);
    return 0;
}

/* Add a file of the catalogue, or an own one. */
static int add (const char *text)
{
    return dn_catalogue_add (&catalogue, dn_span_of (text), "file", false, &unit_err);
}
static int amend (const char *text)
{
    return dn_catalogue_add (&catalogue, dn_span_of (text), "own", true, &unit_err);
}

/* Add a Gpu line. */
static int add_type (const char *text)
{
    struct dn_span rest = dn_span_of (text);
    struct dn_keyline line = {.words = true};

    if (dn_keyline_next (&rest, &line, &unit_err) != 1)
        return -1;
    return dn_gpu_types_add (&types, &line, &catalogue, &unit_err);
}

#define ADD(text)      assert_done (add (text))
#define ADD_TYPE(text) assert_done (add_type (text))

/* Each of the texts is refused with its error, and changes nothing. */
static void expect_errors (const struct unit_said *cases,
                           size_t n,
                           int (*add_it) (const char *))
{
    int n_devices = catalogue.n_devices;
    int n_types = types.n_types;

    for (size_t i = 0; i < n; i++) {
        assert_error (add_it (cases[i].text), cases[i].says);
        assert_int_equal (catalogue.n_devices, n_devices);
        assert_int_equal (types.n_types, n_types);
        assert_true (n_devices == 0 || catalogue.devices[0].bandwidth == 900e9);
    }
}

TEST ("bad catalogue files are named")
{
    static const struct unit_said cases[] = {
        {"", "file: Device= is missing"},
        {"Device=x", "file: Vendor= is missing"},
        {V100 "Speed=1", "file: line 13: unknown key 'Speed'"},
        {V100 "Memroy=1", "unknown key 'Memroy'; did you mean Memory?"},
        {V100 "Fp8=fast", "file: line 13: Fp8: 'fast' is not a number"},
        {V100 "Memory=0", "Memory: 0 out of range"},
        {V100 "PerNode=0", "PerNode: 0 out of range"},
        {"Generation=volta\nSpeed=1", "file: line 2: unknown key 'Speed'"},
        {"Generation=volta NewHost=2", "NewHost: 2 out of range 0..1"},
        {"Generation=volta TorchEnd=2.", "TorchEnd: '' is not a whole number"},
        {V100 "Gpu Type=x", "'Gpu' is not of the form Key=Value"},
    };

    expect_errors (cases, DN_N_ELEMENTS (cases), add);
}

TEST ("a generation is a section that devices refer to")
{
    ADD (V100);
    assert_error (dn_catalogue_link (&catalogue, &unit_err),
                  "device 'v100': Arch: 'volta' is unknown");
    ADD ("Generation=volt Number=3\nTorchEnd=2.11\nGeneration=ampere");
    assert_error (dn_catalogue_link (&catalogue, &unit_err), "; did you mean volt?");
    assert_done (amend ("Generation=volta Number=3 TorchEnd=2.11"));
    assert_done (dn_catalogue_link (&catalogue, &unit_err));
    assert_int_equal (catalogue.devices[0].generation->number, 3);
    assert_int_equal (catalogue.devices[0].generation->software[DN_SOFTWARE_TORCH].end,
                      211);
    assert_int_equal (catalogue.n_generations, 3);
}

TEST ("a device is read in SI units")
{
    const struct dn_device *device;

    ADD (V100);
    assert_error (add (V100), "'v100' is described twice, expected once");
    device = dn_catalogue_find (&catalogue, "V100");
    assert_non_null (device);
    assert_near (device->memory, 16.0 * 1024 * 1024 * 1024);
    assert_near (device->fp16, 125e12);
    assert_near (device->cost, 2.5);
    assert_int_equal (device->per_node, DN_PER_NODE);
    assert_null (dn_catalogue_find (&catalogue, "v10"));
    dn_catalogue_free (&catalogue);
    dn_catalogue_free (NULL);
}

TEST ("bf16 runs only where there is a unit for it")
{
    ADD (V100);
    ADD (A100);
    assert_false (dn_device_supports (&catalogue.devices[0], DN_PRECISION_BF16));
    assert_true (dn_device_supports (&catalogue.devices[0], DN_PRECISION_TF32));
    assert_true (dn_device_supports (&catalogue.devices[0], DN_PRECISION_FP16));
    assert_true (dn_device_supports (&catalogue.devices[1], DN_PRECISION_BF16));
}

/* By the rows of dn_precision_traits; only devices that differ name a precision. */
TEST ("a precision runs as its row says")
{
    const struct dn_device *v100;
    const struct dn_device *a100;

    ADD (V100);
    ADD (A100);
    v100 = &catalogue.devices[0];
    a100 = &catalogue.devices[1];
    for (int i = 0; i < DN_N_PRECISIONS; i++) {
        enum dn_precision precision = (enum dn_precision) i;
        const struct dn_precision_traits *traits = &dn_precision_traits[i];
        enum dn_precision runs = dn_device_precision (v100, precision);
        double unit = dn_device_unit (a100, traits->format);
        bool matrix;
        double peak = dn_device_peak (a100, precision, &matrix);

        assert_int_equal (dn_device_precision (a100, precision),
                          unit > 0 ? precision : traits->fallback);
        assert_int_equal (dn_device_precision (v100, runs), runs);
        assert_int_equal (matrix, traits->matrix && unit > 0);
        assert_near (peak, matrix ? unit : a100->fp32);
        assert_true (traits->activation > 0 && traits->weights > 0
                     && traits->gradients > 0 && traits->state > 0);
        assert_true (traits->copy == 0 || traits->copy == traits->activation);
    }
    assert_int_equal (dn_device_precision (v100, DN_PRECISION_TF32), DN_PRECISION_FP32);
    assert_int_equal (dn_device_precision (a100, DN_PRECISION_UNKNOWN),
                      DN_PRECISION_FP32);
    assert_near (dn_device_unit (a100, DN_FORMAT_FP8), 0);
}

static void note_value (void *to,
                        const struct dn_device *device,
                        const char *file,
                        const struct dn_pair *pair)
{
    struct dn_buf *buf = to;

    dn_buf_add (buf,
                "%s %s %.*s=%.*s\n",
                file,
                device->name,
                (int) pair->key.len,
                pair->key.text,
                (int) pair->value.len,
                pair->value.text);
}

TEST ("own values override those of the catalogue")
{
    char text[4096];
    struct dn_buf shown = dn_buf_on (text, sizeof (text));
    const struct dn_device *device;

    catalogue.show = note_value;
    catalogue.to = &shown;
    ADD (V100);
    assert_false (dn_device_is_measured (&catalogue.devices[0]));
    assert_done (amend ("Device=V100\nBandwidth=850G\nLinearFp16=90T\n"));
    assert_done (amend ("LinearFp16=95T\nDevice=v100\nStream=8e11"));
    assert_int_equal (catalogue.n_devices, 1);
    device = &catalogue.devices[0];
    assert_true (dn_device_is_measured (device));
    assert_near (device->bandwidth, 850e9);
    assert_near (device->fp16, 125e12);
    assert_near (dn_device_rate (device, DN_RATE_LINEAR, DN_PRECISION_HALF), 95e12);
    assert_near (dn_device_rate (device, DN_RATE_LINEAR, DN_PRECISION_FP32), 0);
    assert_near (dn_device_rate (device, DN_RATE_CONV, DN_PRECISION_FP16), 0);
    assert_near (device->measured.stream, 8e11);
    assert_contains (text, "file v100 Fp16=125T\n");
    assert_contains (text, "own V100 Bandwidth=850G\n");
    assert_contains (text, "own v100 LinearFp16=95T\n");
    assert_non_null (strstr (text, "own v100 Stream=8e11\n"));
}

TEST ("an own device must be complete")
{
    assert_error (amend ("Device=new\nStream=8e11"), "own: Vendor= is missing");
    assert_done (amend (V100 "Stream=8e11"));
    assert_int_equal (catalogue.n_devices, 1);
}

TEST ("an own file with an error changes nothing")
{
    static const struct unit_said cases[] = {
        {"Device=v100\nBandwidth=1G\nSpeed=1", "own: line 3: unknown key 'Speed'"},
        {"Device=v100\nBandwidth=1G\nLinearFp32=0", "LinearFp32: 0 out of range"},
        {"Device=v100\nBandwidth=1G\nRing=nan", "Ring: 'nan' is not a number"},
        {"Device=v100\nBandwidth=1G\nRecurrence=1e9", "Recurrence: 1e9 out of range"},
        {"Device=v100 Device=a100 Bandwidth=1G", "more than one device, expected one"},
        {"Device=v100\nBandwidth=1G\nVendor=\"x", "a quote is not closed"},
        {"", "Device= is missing"},
    };

    ADD (V100);
    expect_errors (cases, DN_N_ELEMENTS (cases), amend);
}

TEST ("bad Gpu lines say what is wrong")
{
    static const struct unit_said cases[] = {
        {"Gpu Type=x", "needs Type= and Device="},
        {"Gpu Device=v100", "needs Type= and Device="},
        {"Gpu Type=x Device=h900", "Device: 'h900' is not in the hardware catalogue"},
        {"Gpu Type=x Device=v100 PerNode=0", "PerNode: 0 out of range"},
        {"Gpu Type=x Device=v100 Cost=-1", "Cost: -1 out of range"},
        {"Gpu Type=x Device=v100 Price=1", "unknown key 'Price'"},
        {"Gpu Type=known Device=v100",
         "Type: 'known' is mapped twice, expected one Gpu line for it"},
        {"Gpu Type=x Device=v100 ByPartition=p",
         "ByPartition: 'p' is mapped twice, expected one Gpu line for it"},
        {"Gpu Type=x Device=v100 ByFeature=f",
         "ByFeature: 'f' is mapped twice, expected one Gpu line for it"},
        {"Gpu Type=x Device=v100 ByPartition=a,b", "not the name of one partition"},
        {"Gpu Type=x Device=v100 ByPartition=\"\"", "not the name of one partition"},
        {"Gpu Type=x Device=v100 ByFeature=a&b", "not the name of one feature"},
        {"Gpu Type=x Device=v100 ByFeature=a|b", "not the name of one feature"},
        {"Gpu Type=x Device=v100 ByFeature=\"\"", "not the name of one feature"},
        {"Gpu Type=x Device=v100 MaxTime=soon", "MaxTime: 'soon'"},
        {"Gpu Type=x Device=v100 MoveTo=never",
         "MoveTo: 'never' is neither yes nor no"},
        {"Gpu Type=x Device=v100 ThreadsPerCore=0", "ThreadsPerCore: 0 out of range"},
        {"Gpu Type=x Device=v100 NodeTmp=-1", "NodeTmp: -1 out of range"},
    };

    ADD (V100);
    ADD_TYPE ("Gpu Type=known Device=v100 ByPartition=p ByFeature=f");
    expect_errors (cases, DN_N_ELEMENTS (cases), add_type);
    assert_near (types.types[0].cost, 2.5);
}

TEST ("candidates that cannot run the request are blocked")
{
    struct dn_job job = dn_job_empty ();
    struct dn_request request;
    struct dn_candidates found;

    ADD (V100);
    ADD (A100);
#define NODES(type, rest) ADD_TYPE ("Gpu Type=" type " Device=v100 NodeCpus=40 " rest)
    ADD_TYPE ("Gpu Type=a100 Device=a100");
    NODES ("ok", "PerNode=4 NodeMemory=200k Nodes=2 Partitions=p,p2");
    NODES ("all", "PerNode=4 NodeMemory=200k Nodes=2 Partitions=ALL");
    NODES ("few", "PerNode=2 NodeMemory=200k Partitions=p");
    NODES ("small", "PerNode=4 NodeMemory=1k Partitions=p");
    NODES ("far", "PerNode=4 NodeMemory=200k Partitions=p1,p2");
#undef NODES
    job.kind = DN_JOB_BATCH;
    job.tres[DN_GPU_PER_NODE] = "gres:gpu:a100:4";
    job.mem_per_node_mb = 100000;
    job.partition = "p";
    assert_int_equal (read_request (&job, &request), 0);
    dn_hardware_candidates (&types, &request, NULL, &found);
    assert_int_equal (found.n_candidates, 6);
    assert_true (found.list[0].requested);
    assert_false (found.list[1].requested);
    assert_contains (SAID (found.list[0].blocked), "lacks PerNode");
    assert_int_equal (found.list[1].blocked.code, DN_REASON_NONE);
    /* The nodes of one of them may have another type: Slurm would refuse the job. */
    assert_contains (SAID (found.list[2].blocked), "lacks Partitions");
    assert_contains (SAID (found.list[3].blocked),
                     "would need 4 GPUs per node, it has 2");
    assert_contains (SAID (found.list[4].blocked),
                     "would need 100000 MB of memory per node, it has 1000");
    assert_contains (SAID (found.list[5].blocked), "not in the job's partition");
    job.partition = "p2";
    job.min_nodes = job.max_nodes = 3;
    assert_int_equal (read_request (&job, &request), 0);
    dn_hardware_candidates (&types, &request, NULL, &found);
    assert_int_equal (found.list[5].blocked.code, DN_REASON_NONE);
    assert_contains (SAID (found.list[1].blocked),
                     "3 nodes are needed or excluded, 2 of its 2");
}

/* That name of a driver, and GiB (0: by the name alone), is that device, or "none". */
static void assert_product (const char *product, double gib, const char *expected)
{
    const struct dn_device *device =
        dn_catalogue_find_product (&catalogue, product, gib * 1024 * 1024 * 1024, NULL);
    const char *found = device ? device->name : "none";

    if (strcmp (found, expected) != 0)
        fail_msg ("'%s' is %s", product, found);
}

static int check_product (const struct dn_row *row, void *context, struct dn_err *err)
{
    assert_product (rows_get (row, "product"),
                    atof (rows_get (row, "gib")),
                    rows_get (row, "device"));
    return 0;
}

TEST ("products of a driver are devices of the catalogue")
{
    scene_shipped (&catalogue);
    rows_each ("gpu_products.csv", check_product, NULL);
    assert_product ("", 16, "none");
    assert_product ("\xc3\x28 \n\t;$(reboot)", 16, "none");
}

/* The catalogue's own files, with what NVIDIA states of these slices. */
static void add_sliced (void)
{
    static const char *const files[] = {"mig",
                                        "generations",
                                        "a30_24gb",
                                        "a100_sxm4_40gb",
                                        "a100_sxm4_80gb",
                                        "a100_pcie_80gb",
                                        "h100_sxm5_80gb",
                                        "h100_nvl_94gb",
                                        "t4_16gb"};
    char path[64];

    for (size_t i = 0; i < DN_N_ELEMENTS (files); i++) {
        snprintf (path, sizeof (path), "etc/hardware/%s.conf", files[i]);
        scene_catalogue_add (&catalogue, path);
    }
    assert_done (dn_catalogue_link (&catalogue, &unit_err));
}

static const struct dn_device *named (const char *name)
{
    const struct dn_device *device = dn_catalogue_find (&catalogue, name);

    if (!device)
        fail_msg ("no device %s", name);
    return device;
}

TEST ("a slice has its share of the device's units, memory and bandwidth")
{
    const struct dn_device *slice;
    int n;

    add_sliced ();
    n = catalogue.n_devices;
    assert_int_equal (n, 7 + 3 + 5 * 6);
    assert_int_equal (dn_catalogue_link (&catalogue, NULL), 0);
    assert_int_equal (catalogue.n_devices, n);
    assert_false (named ("a100_sxm4_40gb")->slice);

    slice = named ("a100_sxm4_40gb_1g.5gb");
    assert_true (slice->slice);
    assert_non_null (slice->generation);
    assert_int_equal (slice->sms, 14);
    assert_near (slice->fp16, 312e12 * 14 / 108);
    assert_near (slice->fp32, 19.5e12 * 14 / 108);
    assert_near (slice->memory, 4.75 * 1024 * 1024 * 1024);
    assert_near (slice->bandwidth, 1555e9 / 8);
    assert_near (slice->l2, 5e6);
    assert_near (slice->pcie_bw, 3e9);
    assert_near (slice->tdp_w, 400.0 * 14 / 108);
    assert_near (slice->idle_w, 71.0 * 14 / 108);
    assert_near (slice->cost, 3.67 * 14 / 108);
    assert_numbers ("64 0", slice->per_node, slice->link_bw);

    slice = named ("A100-SXM4-80GB_3g.40gb");
    assert_near (slice->fp16, 312e12 * 42 / 108);
    assert_near (slice->memory, 39.25 * 1024 * 1024 * 1024);
    assert_near (slice->bandwidth, 2039e9 / 2);
    slice = named ("h100_sxm5_80gb_1g.20gb"); /* with the memory of two */
    assert_near (slice->bf16, 989e12 * 26 / 132);
    assert_near (slice->bandwidth, 3350e9 / 4);
    slice = named ("a30_24gb_2g.12gb");
    assert_near (slice->bandwidth, 933e9 / 2);
    assert_int_equal (slice->sms, 28);
    assert_null (dn_catalogue_find (&catalogue, "t4_16gb_1g.5gb"));
}

TEST ("wrong profiles of slices are named")
{
    static const char *const bad[] = {"Slice=1g.5gb Of=x Units=14 Parts=1",
                                      "Slice=1g.5gb Of=x Units=200 Parts=1 Bytes=4GiB"};

    for (size_t i = 0; i < DN_N_ELEMENTS (bad); i++) {
        ADD (bad[i]);
        ADD (A100 "Sms=108 Mig=x");
        assert_error (dn_catalogue_slice (&catalogue, &unit_err), "Slice '1g.5gb'");
        dn_catalogue_free (&catalogue);
    }
    assert_error (add ("Slice=1g.5gb Parts=9"), "Parts: 9 out of range 1..8");
}

TEST ("names of GPUs mean devices and slices of them")
{
    static const struct {
        const char *name;
        int n;
        const char *first; /* that it means */
    } cases[] = {
        {"t4", 1, "t4_16gb"},
        {"H100-NVL", 1, "h100_nvl_94gb"},
        {"h100", 2, "h100_sxm5_80gb"},
        {"A100", 3, "a100_sxm4_40gb"},
        {"a100_40g", 1, "a100_sxm4_40gb"},
        {"a100-80", 2, "a100_sxm4_80gb"},
        {"a100_sxm4_40gb_1g.5gb", 1, "a100_sxm4_40gb_1g.5gb"},
        {"nvidia_a100_3g.20gb", 1, "a100_sxm4_40gb_3g.20gb"},
        {"A100_3G.20GB", 1, "a100_sxm4_40gb_3g.20gb"},
        {"NVIDIA A100-SXM4-40GB MIG 3g.20gb", 1, "a100_sxm4_40gb_3g.20gb"},
        {"NVIDIA H100 80GB HBM3 MIG 1g.10gb", 1, "h100_sxm5_80gb_1g.10gb"},
        {"1g.5gb", 1, "a100_sxm4_40gb_1g.5gb"},
        {"1g.10gb", 4, "a100_sxm4_40gb_1g.10gb"},
        {"1g.6gb+me", 1, "a30_24gb_1g.6gb"},
        {"a30-4g.24gb", 1, "a30_24gb_4g.24gb"},
        {"1c.3g.20gb", 0, NULL}, /* compute instances share one slice */
        {"3g.21gb", 0, NULL},
        {"", 0, NULL},
    };
    add_sliced ();
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_gpus_meant meant = dn_gpus_meant (&catalogue, cases[i].name);

        if (meant.n != cases[i].n
            || (meant.n > 0 && strcmp (meant.list[0]->name, cases[i].first) != 0))
            fail_msg ("'%s' means %d, first %s",
                      cases[i].name,
                      meant.n,
                      meant.n > 0 ? meant.list[0]->name : "none");
    }
    assert_product ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", 0, "a100_sxm4_40gb_3g.20gb");
    assert_product ("NVIDIA A100-SXM4-80GB MIG 3g.20gb", 0, "none"); /* no profile */
    assert_product ("NVIDIA A100 80GB PCIe MIG 1g.20gb", 0, "a100_pcie_80gb_1g.20gb");
    assert_product ("NVIDIA H100 NVL MIG 1g.12gb", 10.5, "h100_nvl_94gb_1g.12gb");
    assert_product ("NVIDIA H100 NVL", 93, "h100_nvl_94gb");
    assert_product ("NVIDIA A30 MIG 4g.24gb+me", 0, "a30_24gb_4g.24gb");
}

#define NODE " PerNode=4 NodeCpus=40 NodeMemory=200k "

/* Two types by partition and feature, one by gres alone. */
static void add_named (void)
{
    static const char *const lines[] = {
        "Gpu Type=a100 Device=a100" NODE "ByPartition=pa MaxTime=1-0 ByFeature=fa "
        "Partitions=p",
        "Gpu Type=v100 Device=v100" NODE "ByPartition=pv MaxTime=1-0 ByFeature=fv "
        "Partitions=p Features=ib,nvme",
        "Gpu Type=old Device=v100" NODE "Partitions=p",
    };

    ADD (V100);
    ADD (A100);
    for (size_t i = 0; i < DN_N_ELEMENTS (lines); i++)
        ADD_TYPE (lines[i]);
}

/* A job of one day with two GPUs of any type. */
static struct dn_job untyped_job (void)
{
    struct dn_job job = dn_job_empty ();

    job.kind = DN_JOB_BATCH;
    job.tres[DN_GPU_PER_NODE] = "gres:gpu:2";
    job.time_limit_min = 1440;
    job.mem_per_node_mb = 1000;
    return job;
}

static struct dn_candidates find (const struct dn_job *job)
{
    struct dn_candidates found;
    struct dn_request request;

    assert_int_equal (read_request (job, &request), 0);
    dn_hardware_candidates (&types, &request, NULL, &found);
    assert_int_equal (found.n_candidates, types.n_types);
    return found;
}

TEST ("partitions and features name a type")
{
    static const struct {
        const char *tres;
        const char *partition;
        const char *features;
        const char *named; /* "": none, all are possible */
        const char *keep;
    } cases[] = {
        {"gres:gpu:2", NULL, NULL, "", "untyped"},
        {"gres:gpu:2", "p", NULL, "", "untyped"},
        {"gres:gpu:2", "PA", NULL, "", "untyped"},
        {"gres:gpu:2", "p,pb", NULL, "", "untyped"},
        {"gres:gpu:2", "pa,pv", NULL, "", "several partitions"},
        {"gres:gpu:a100:2", "p,pa", NULL, "a100", "pa has only a100"},
        {"gres:gpu:a100:2", "p,q", NULL, "a100", ""},
        {"gres:gpu:a100:2",
         "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q",
         NULL,
         "a100",
         "more than 16 partitions"},
        {"gres:gpu:2", "pa", NULL, "a100", ""},
        {"gres:gpu:2", NULL, "fa", "a100", ""},
        {"gres:gpu:2", NULL, "ib&fv", "v100", ""},
        {"gres:gpu:2", "pa", "fa", "a100", ""},
        {"gres:gpu:a100:2", "pa", "fa", "a100", ""},
        {"gres:gpu:2", "pa", "fv", "a100", "two GPU types, a100 and v100"},
        {"gres:gpu:old:2", "pv", NULL, "old", "two GPU types, old and v100"},
        {"gres:gpu:2", NULL, "fa&fv", "a100", "two GPU types"},
        {"gres:gpu:2", NULL, "fa|fv", "", "more than names"},
        {"gres:gpu:2", "pa", "[fa]", "a100", "more than names"},
    };

    add_named ();
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = untyped_job ();
        struct dn_candidates found;

        job.tres[DN_GPU_PER_NODE] = cases[i].tres;
        job.partition = cases[i].partition;
        job.features = cases[i].features;
        found = find (&job);
        assert_string_equal (found.named ? found.named->type : "", cases[i].named);
        assert_contains (SAID (found.keep), cases[i].keep);
        if (cases[i].keep[0] == '\0')
            assert_int_equal (found.keep.code, DN_REASON_NONE);
        for (int k = 0; k < found.n_candidates; k++)
            if (cases[i].named[0] == '\0' || cases[i].keep[0] == '\0')
                assert_int_equal (found.list[k].requested,
                                  !found.named || found.list[k].gpu == found.named);
    }
}

TEST ("another partition or constraint must be safe")
{
    struct dn_candidates found;
    struct dn_job job;

    add_named ();
#define BLOCKED(change, i, reason)                                                     \
    do {                                                                               \
        job = untyped_job ();                                                          \
        change;                                                                        \
        found = find (&job);                                                           \
        if (reason[0] == '\0')                                                         \
            assert_int_equal (found.list[i].blocked.code, DN_REASON_NONE);             \
        assert_contains (SAID (found.list[i].blocked), reason);                        \
    } while (0)
    BLOCKED (job.partition = "pa", 1, "");
    BLOCKED (job.partition = "pa", 2, "lacks ByPartition or MaxTime");
    BLOCKED (job.partition = "pa"; job.time_limit_min = DN_UNSET, 1, "no time limit");
    BLOCKED (job.partition = "pa"; job.time_limit_min = 1441, 1, "above the MaxTime");
    BLOCKED (job.partition = "pa";
             job.time_limit_min = DN_UNLIMITED, 1, "above the MaxTime");
    BLOCKED (job.partition = "pa"; job.memory_default = true, 1, "no memory");
    BLOCKED (job.features = "fa"; job.partition = "p", 1, "");
    BLOCKED (job.features = "fa"; job.partition = "p", 2, "lacks ByFeature");
    BLOCKED (job.features = "fa", 1, "not in the job's partition");
    BLOCKED (job.features = "fa&ib"; job.partition = "pa", 1, "");
    BLOCKED (job.features = "nvme&fa&ib"; job.partition = "p", 1, "");
    BLOCKED (job.features = "fa&big";
             job.partition = "p", 1, "'big' of the constraint");
    BLOCKED (job.features = "fv&ib"; job.partition = "p", 0, "'ib' of the constraint");
#undef BLOCKED
    job = untyped_job ();
    job.features = "fa";
    job.script = "#!/bin/sh\nsrun -C fa hostname\n";
    found = find (&job);
    assert_contains (SAID (found.keep), "script names the feature fa");
}

/* Types that state what a job may need, and one that states it with other values. */
static void add_stated (void)
{
    static const char node[] = "Device=v100 PerNode=4 NodeCpus=96 NodeMemory=200k "
                               "Partitions=gpu,long";
    static const char *const rest[] = {
        "", "Nodes=4 NodeTmp=5000 ThreadsPerCore=2", "ThreadsPerCore=1", "MoveTo=no"};

    ADD (V100);
    for (size_t i = 0; i < DN_N_ELEMENTS (rest); i++)
        ADD_TYPE (unit_text ("Gpu Type=t%zu %s %s", i, node, rest[i]));
}

static struct dn_job small_job (void)
{
    struct dn_job job = untyped_job ();

    job.tres[DN_GPU_PER_NODE] = "gres:gpu:t0:2";
    job.partition = "gpu";
    return job;
}

#define TARGET(change, type, reason)                                                   \
    do {                                                                               \
        struct dn_job job = small_job ();                                              \
        struct dn_candidates found;                                                    \
        change;                                                                        \
        found = find (&job);                                                           \
        assert_int_equal (found.keep.code, DN_REASON_NONE);                            \
        if (*(reason))                                                                 \
            assert_contains (SAID (found.list[type].blocked), reason);                 \
        else                                                                           \
            assert_int_equal (found.list[type].blocked.code, DN_REASON_NONE);          \
    } while (0)

TEST ("a type is no target unless its line states what the job needs")
{
    add_stated ();
    TARGET ((void) job, 0, "");
    TARGET ((void) job, 3, "its Gpu line says MoveTo=no");
    TARGET (job.tmp_disk_mb = 5000, 0, "unknown how many MB of temporary disk");
    TARGET (job.tmp_disk_mb = 5000, 1, "");
    TARGET (
        job.tmp_disk_mb = 5001, 1, "5001 MB of temporary disk per node, it has 5000");
    TARGET (job.whole_cores = true, 0, "unknown how many threads per core");
    TARGET (job.whole_cores = true, 1, "");
    TARGET (job.exc_nodes = "a1", 0, "lacks Nodes");
    TARGET (job.exc_nodes = "a[1-3]", 1, "");
    TARGET (job.exc_nodes = "a[1-4]", 1, "5 nodes are needed or excluded, 4 of its 4");
    TARGET (job.exc_nodes = "a1,a2,a3"; job.min_nodes = job.max_nodes = 2,
                                        1,
                                        "5 nodes are needed or excluded, 4 of its 4");
    TARGET (job.exc_nodes = "a1,a2"; job.min_nodes = job.max_nodes = 2, 1, "");
    TARGET (job.exc_nodes = "a1";
            job.num_tasks = 4, 1, "5 nodes are needed or excluded, 4 of its 4");
    TARGET (job.exc_nodes = "a1"; job.num_tasks = 3, 1, "");
    TARGET (job.partition = "gpu,long", 1, "");
    TARGET (job.partition = "long, gpu", 1, "");
    TARGET (job.partition = "gpu,short", 1, "not in the job's partition");
    TARGET (job.partition = "gpu,", 1, "not in the job's partition");
}
#undef TARGET

TEST ("a whole core is all threads of it")
{
    struct dn_job job = small_job ();
    struct dn_candidates found;

    add_stated ();
    found = find (&job);
    assert_int_equal (found.list[1].node_cpus, 96);
    job.whole_cores = true;
    found = find (&job);
    assert_int_equal (found.list[0].node_cpus, DN_UNSET);
    assert_numbers ("48 96", found.list[1].node_cpus, found.list[2].node_cpus);
}
