/* give_back.c - tests of host memory and GPUs that a job gives back
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "rewrite/recorded.h"
#include "scene.h"

#define CHOOSE "Mode=enforce Gpus=choose GpuType=keep TimeLimit=keep"
#define DONE   "Mode=enforce GpuType=keep TimeLimit=keep"
#define KEYS                                                                           \
    "dnnest:app=net,model=resnet50,batch=128,precision=fp16,epochs=20,"                \
    "dataset=imagenet,workers=8"

/* Four A100s, of which the description says that one is used. */
static struct dn_job unused_job (void)
{
    struct dn_job job = scene_job ();

    job.min_nodes = job.max_nodes = 1;
    job.comment = KEYS ",gpus=1";
    job.script = "#!/bin/bash\nmodule load torch\npython train.py --epochs 20\n";
    return job;
}

/* 80 CPUs, whose memory follows from DefMemPerCPU: 320,000 MB. */
static struct dn_job default_job (void)
{
    struct dn_job job = unused_job ();

    job.comment = KEYS;
    job.mem_per_node_mb = DN_UNSET;
    job.default_mem_per_cpu_mb = 4000;
    job.memory_default = true;
    return job;
}

/* The advice where one run of the application with that peak is known, or more. */
static struct dn_advice *after_runs (const char *conf,
                                     const struct dn_job *job,
                                     int runs,
                                     double peak_gb,
                                     bool kept)
{
    static char types[1][DN_NAME_MAX] = {"a100"};
    struct dn_app_row row = {.key = dn_app_key_of_user (job->user_id, "net"),
                             .gpus = 4,
                             .unit = DN_WORK_RUN,
                             .freedom = 10,
                             .runs = (uint32_t) (runs > 0 ? runs : 1),
                             .unit_s = 3600,
                             .sigma = 0.05F,
                             .longest_s = 3700,
                             .mem_gb = (float) peak_gb,
                             .mem_runs = (uint8_t) runs,
                             .mem_kept = kept,
                             .work_min = 1,
                             .work_max = 1};
    const struct dn_apps apps = {
        .types = types, .n_types = 1, .rows = &row, .n_rows = 1};
    const struct dn_view view = {.apps = &apps, .now_s = SCENE_NOW};

    return scene_advise_in (conf, &view, job);
}

/* Host memory in MB, if two runs of at most 40 GiB are known. */
static int64_t mem_of (const char *conf, const struct dn_job *job)
{
    return after_runs (conf, job, 2, 40, false)->decision.mem_mb;
}

static void expect_record (const struct dn_advice *advice, int64_t gpus, int64_t mem_mb)
{
    struct dn_recorded recorded;

    assert_int_equal (dn_record_read (advice->patch.record, &recorded, NULL), 1);
    assert_int_equal (recorded.set_gpus, gpus);
    assert_int_equal (recorded.set_mem_mb, mem_mb);
    assert_int_equal (recorded.gpus, 4);
}

TEST ("memory that only follows from a default goes down by evidence")
{
    static const struct {
        const char *rules;
        int runs;
        double peak_gb;
        bool kept;
        int64_t gib;
        const char *says;
    } cases[] = {
        {"", 0, 0, false, 0, "kept, no run of the application"},
        {"", 1, 40, false, 84, "84 GiB suffice by 1 of its runs, of at most 40 GiB"},
        {"", 2, 40, false, 62, "62 GiB suffice by 2 of its runs, of at most 40 GiB"},
        {"", 2, 40, true, 0, "kept, a run of the application was killed"},
        {"", 1, 160, false, 0, "kept, it may be needed"},
        {"Memory=measured", 1, 40, false, 84, "84 GiB"},
        {"Memory=keep", 2, 30, false, 0, NULL},
        {"Cpus=keep", 2, 30, false, 0, NULL},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = default_job ();
        int64_t mb = cases[i].gib * 1024;
        struct dn_advice *advice = after_runs (unit_text (DONE " %s", cases[i].rules),
                                               &job,
                                               cases[i].runs,
                                               cases[i].peak_gb,
                                               cases[i].kept);

        assert_int_equal (advice->decision.mem_mb, mb > 0 ? mb : DN_UNSET);
        if (cases[i].says)
            scene_need_reason (advice, unit_text ("memory: %s", cases[i].says));
        if (strstr (cases[i].rules, "Cpus"))
            continue;
        /* Without evidence the total is kept, as the CPUs go down. */
        assert_int_equal (scene_number (advice, DN_FIELD_MEM_PER_NODE),
                          mb > 0 ? mb : 320000);
        expect_record (advice, DN_UNSET, mb > 0 ? mb : DN_UNSET);
        if (mb > 0)
            assert_contains (advice->patch.user_text, ", mem 312G -> ");
    }
}

TEST ("memory never goes below what is predicted")
{
    struct dn_job job = default_job ();
    struct dn_advice *advice = after_runs (DONE, &job, 5, 0.1, false);
    double predicted = advice->estimates[advice->decision.chosen].host_mem;

    assert_true (predicted > 3 * DN_GIB);
    assert_true ((double) advice->decision.mem_mb * 1048576 >= predicted);
    assert_true ((double) advice->decision.mem_mb * 1048576 < predicted + DN_GIB);
}

TEST ("memory that was requested in words goes down with Memory=measured only")
{
    struct dn_job job = default_job ();

    job.mem_per_node_mb = 256000;
    job.memory_default = false;
    assert_int_equal (mem_of (DONE, &job), DN_UNSET);
    assert_int_equal (mem_of (DONE " Memory=measured", &job), 62 * 1024);
    job.mem_per_node_mb = DN_UNSET;
    job.mem_per_cpu_mb = 3000;
    assert_int_equal (mem_of (DONE, &job), DN_UNSET);
    assert_int_equal (mem_of (DONE " Memory=measured", &job), 62 * 1024);
    job.mem_per_cpu_mb = DN_UNSET;
    job.mem_per_node_mb = 0; /* all of a node */
    assert_int_equal (mem_of (DONE " Memory=measured", &job), DN_UNSET);
}

TEST ("memory stays where a step may ask for it or nodes are several")
{
    struct dn_job job = default_job ();

    job.script = "#!/bin/bash\nsrun --mem=300G python train.py\n";
    scene_need_reason (after_runs (DONE, &job, 2, 40, false),
                       "the script names memory");
    job = default_job ();
    job.min_nodes = job.max_nodes = 2;
    job.num_tasks = 2;
    job.min_cpus = 160;
    job.comment = KEYS ",nodes=2";
    scene_need_reason (after_runs (DONE, &job, 2, 40, false), "of several nodes");
}

TEST ("GPUs that the description does not use are given back")
{
    struct dn_job job = unused_job ();
    struct dn_advice *advice = scene_advise (CHOOSE, &job);
    int64_t cpus = advice->decision.cpus_per_task;

    assert_int_equal (advice->decision.verdict, DN_VERDICT_CHANGE);
    assert_int_equal (advice->decision.gpus, 1);
    assert_string_equal (scene_text (advice, DN_FIELD_TRES_PER_NODE),
                         "gres:gpu:a100:1");
    assert_true (cpus >= 2 && cpus < 80);
    assert_int_equal (scene_number (advice, DN_FIELD_MIN_CPUS), cpus);
    /* A quarter of 256,000 MB. */
    assert_int_equal (scene_number (advice, DN_FIELD_MEM_PER_NODE), 63 * 1024);
    expect_record (advice, 1, 63 * 1024);
    assert_contains (advice->patch.user_text, "gpu a100:4 -> a100:1, -c 80 -> ");
    scene_need_reason (advice, "gpu: 1 of 4 GPUs, as the description says");
    assert_int_equal (advice->decision.n_warnings, 0);
}

TEST ("the number of GPUs is changed in all of its forms")
{
    static const struct {
        enum dn_gpu_field field;
        enum dn_field edited;
        const char *texts; /* of four GPUs, of two, and of the environment */
    } cases[] = {
        {DN_GPU_PER_NODE, DN_FIELD_TRES_PER_NODE, "gres:gpu:4|gres:gpu:2|A=1"},
        {DN_GPU_PER_NODE,
         DN_FIELD_TRES_PER_NODE,
         "gres/gpu:a100=4|gres/gpu:a100=2|SLURM_GRES=gpu:a100:4|SLURM_GRES=gpu:a100:2"},
        {DN_GPU_PER_JOB,
         DN_FIELD_TRES_PER_JOB,
         "gres:gpu:a100:4|gres:gpu:a100:2|SLURM_GPUS=a100:4|SLURM_GPUS=a100:2"},
        {DN_GPU_PER_TASK,
         DN_FIELD_TRES_PER_TASK,
         "gres:gpu:4|gres:gpu:2|SLURM_GPUS_PER_TASK=4|SLURM_GPUS_PER_TASK=2"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = unused_job ();
        struct dn_advice *advice;
        const char *texts[4];

        unit_cut (cases[i].texts, texts, 4);
        job.comment = KEYS ",gpus=2";
        job.tres[DN_GPU_PER_NODE] = NULL;
        job.tres[cases[i].field] = texts[0];
        job.env = &texts[2];
        job.n_env = 1;
        advice = scene_advise (CHOOSE, &job);
        assert_int_equal (advice->decision.gpus, 2);
        assert_string_equal (scene_text (advice, cases[i].edited), texts[1]);
        if (texts[3])
            assert_string_equal (scene_edit (advice, DN_FIELD_ENV, "G")->new_text,
                                 texts[3]);
    }
}

TEST ("CPUs per GPU are kept or raised within what the job had")
{
    struct dn_job job = unused_job ();
    struct dn_advice *advice;

    job.cpus_per_task = DN_UNSET;
    job.pn_min_cpus = DN_UNSET;
    job.cpus_per_tres = "gres:gpu:4";
    job.min_cpus = 16;
    advice = scene_advise (CHOOSE, &job);
    assert_int_equal (advice->decision.gpus, 1);
    assert_true (advice->decision.cpus_each_gpu > 4
                 && advice->decision.cpus_each_gpu <= 16);
    assert_int_equal (scene_number (advice, DN_FIELD_MIN_CPUS),
                      advice->decision.cpus_each_gpu);
}

TEST ("CPUs of an unknown pipeline stay in proportion to the GPUs")
{
    /* A quarter of 80, and not below what data of the usual kind would need. */
    SCENE_EXPECT (
        CHOOSE,
        (job = unused_job (),
         job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,gpus=1"),
        d->cpus_per_task >= 20 && d->cpus_per_task <= 24,
        ", in proportion to the GPUs");
}

TEST ("in doubt all GPUs are kept")
{
    static const char *const scripts[] = {
        "torchrun --standalone train.py",
        "python -m torch.distributed.run train.py",
        "accelerate launch train.py",
        "deepspeed train.py",
        "mpirun -np 4 python train.py",
        "srun -n 4 python train.py",
        "srun --gres=gpu:4 python train.py",
        "srun --gpus=a100:4 python train.py",
        "python train.py --gpus 4",
        "CUDA_VISIBLE_DEVICES=3 python train.py",
        "python a.py & python b.py; wait",
        "bash train.sh",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (scripts); i++) {
        struct dn_job unused = unused_job ();
        struct dn_advice *advice;

        unused.script = unit_text ("#!/bin/bash\n%s\n", scripts[i]);
        advice = scene_advise (CHOOSE, &unused);
        if (advice->decision.gpus != DN_UNSET)
            fail_msg ("'%s' has fewer GPUs", scripts[i]);
        assert_contains (advice->patch.warnings[0], "; 1 would suffice");
    }
#define KEPT(changes)                                                                  \
    SCENE_EXPECT (CHOOSE, (job = unused_job (), changes), d->gpus == DN_UNSET, "")
    KEPT ((job.num_tasks = 2, job.min_cpus = 160));
    KEPT (job.min_nodes = job.max_nodes = 2);
    KEPT ((job.mem_per_tres = "gres:gpu:64000", job.mem_per_node_mb = DN_UNSET));
#undef KEPT
}

TEST ("GPUs and memory that a limit of the site wants stay")
{
#define WIDE(limit)                                                                    \
    A100_IDLE QUEUE "Qos Name=wide\nLimit Scope=min_job Tres=" limit "\n"
    struct dn_job job = unused_job ();
    struct dn_advice *advice;

    job.qos = "wide";
    advice = scene_see (CHOOSE, WIDE ("gres/gpu Count=4"), 10, &job);
    assert_int_equal (advice->decision.verdict, DN_VERDICT_ABSTAIN);
    scene_need_reason (advice, "gpu: kept, below MinTRESPerJob=gres/gpu=4 of the QOS");
    advice = scene_see (CHOOSE, WIDE ("mem Count=200000"), 10, &job);
    assert_int_equal (advice->decision.gpus, 1);
    assert_int_equal (advice->decision.mem_mb, DN_UNSET);
    scene_need_reason (advice, "memory: kept, below MinTRESPerJob=mem=200000");
#undef WIDE
}

TEST ("the comment lines of a script are no words of it")
{
    struct dn_job job = unused_job ();

    job.comment = NULL;
    job.script = "#!/bin/bash\n#SBATCH --gres=gpu:a100:4 --mem=300G\n"
                 "#DNNEST model=resnet50,batch=128,precision=fp16,gpus=1\n"
                 "# torchrun would use all gpus\npython train.py\n";
    assert_int_equal (scene_advise (CHOOSE, &job)->decision.gpus, 1);
}

TEST ("GPUs are only advised of by default and not even that with keep")
{
    struct dn_job job = unused_job ();
    struct dn_advice *advice = scene_advise (DONE, &job);

    assert_int_equal (advice->decision.gpus, DN_UNSET);
    assert_contains (advice->patch.warnings[0],
                     "metadata says 1 GPUs, 4 were requested; 1 would suffice");
    advice = scene_advise (DONE " Gpus=keep", &job);
    assert_int_equal (advice->decision.gpus, DN_UNSET);
    assert_int_equal (advice->decision.n_warnings, 0);
}
