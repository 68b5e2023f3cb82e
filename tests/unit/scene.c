/* scene.c - a small site and the demonstration's job
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"

static const char v100[] =
    "Device=v100_16gb\nVendor=nvidia\nArch=volta\nFp32=15.7T\nFp16=125T\nMemory=16GiB\n"
    "Bandwidth=900G\nSms=80\nLink=nvlink\nLinkBandwidth=150G\nPcieBandwidth=12G\n"
    "Tdp=300\nIdle=40\n";
static const char a100[] =
    "Device=a100_40gb\nVendor=nvidia\nArch=ampere\nFp32=19.5T\nTf32=156T\nFp16=312T\n"
    "Bf16=312T\nMemory=40GiB\nBandwidth=1555G\nSms=108\nLink=nvlink\n"
    "LinkBandwidth=300G\nPcieBandwidth=24G\nTdp=400\nIdle=55\n";
static const char gpus[] =
    "Gpu Type=v100 Device=v100_16gb Cost=1 PerNode=4 NodeCpus=96 NodeMemory=512000 "
    "Nodes=2 NodeTmp=900000 ThreadsPerCore=2 Partitions=ALL ByPartition=gpu-v100 MaxTime=2-0 ByFeature=volta Features=ib\n"
    "Gpu Type=a100 Device=a100_40gb Cost=4 PerNode=4 NodeCpus=96 NodeMemory=512000 "
    "Nodes=2 NodeTmp=900000 ThreadsPerCore=2 Partitions=ALL ByPartition=gpu-a100 MaxTime=2-0 ByFeature=ampere Features=ib\n";
static const char datasets[] =
    "Dataset=imagenet Samples=1281167 SampleBytes=110k Decode=jpeg\n";

struct dn_site *scene_site (const char *conf)
{
    struct dn_site *site = malloc (sizeof (*site));
    struct dn_err err = {0};

    assert_non_null (site);
    if (dn_site_init (site, "/hardware", "/datasets", &err) < 0
        || dn_catalogue_add (&site->catalogue, dn_span_of (v100), "v100", &err) < 0
        || dn_catalogue_add (&site->catalogue, dn_span_of (a100), "a100", &err) < 0
        || dn_datasets_read (dn_span_of (datasets), "datasets", &site->datasets, &err)
               < 0
        || dn_site_read (site, dn_span_of (gpus), "gpus", &err) < 0
        || dn_site_read (site, dn_span_of (conf), "conf", &err) < 0)
        fail_msg ("%s", err.text);
    return site;
}

void scene_free (struct dn_site *site)
{
    dn_site_free (site);
    free (site);
}

struct dn_job scene_job (void)
{
    struct dn_job job = dn_job_empty ();

    job.kind = DN_JOB_BATCH;
    job.user_id = 1000;
    job.tres[DN_GPU_PER_NODE] = "gres:gpu:a100:4";
    job.time_limit_min = 1440;
    job.cpus_per_task = 80;
    job.min_cpus = 80;
    job.pn_min_cpus = 80;
    job.num_tasks = 1;
    job.mem_per_node_mb = 256000;
    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,optimizer=momentum,"
                  "epochs=20,dataset=imagenet";
    job.script = "#!/bin/sh\nsrun hostname\n";
    return job;
}

struct dn_advice *scene_advise (const char *conf, const struct dn_job *job)
{
    struct dn_site *site = scene_site (conf);
    struct dn_advice *advice = dn_advice_new ();
    struct dn_err err = {0};

    if (dn_advise (site, NULL, job, NULL, NULL, advice, &err) < 0)
        fail_msg ("%s", err.text);
    scene_free (site);
    return advice;
}
