/* request.c - tests of request/: tres strings and what a submission requests
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "reading.h"

#include "request/request.h"

TEST ("tres strings of all versions are understood")
{
    static const struct {
        const char *text;
        int n_entries;
        int gpu_at;
        const char *type;
        int64_t count;
    } cases[] = {
        {"gres:gpu:a100:4", 1, 0, "a100", 4},
        {"gres/gpu:a100:4", 1, 0, "a100", 4},
        {"gres/gpu:a100=4", 1, 0, "a100", 4},
        {"gpu:a100:4", 1, 0, "a100", 4},
        {"gres:gpu", 1, 0, "", 1},
        {"gres:gpu:2", 1, 0, "", 2},
        {"gres/gpu=2", 1, 0, "", 2},
        {"gres:gpu:a100", 1, 0, "a100", 1},
        {"GRES:GPU:a100:1", 1, 0, "a100", 1},
        {"cpu=2,gres/gpu:a100=1", 2, 1, "a100", 1},
        {"cpu:2,gres/gpu:a100:1,license/x=3", 3, 1, "a100", 1},
        {"gres:gpu:1k", 1, 0, "", 1000},
        {"gres:shard:4,gres:gpu:h100_1g.10gb:1", 2, 1, "h100_1g.10gb", 1},
        /* Types that begin with a digit. */
        {"gres:gpu:3090:1", 1, 0, "3090", 1},
        {"gres/gpu:3090=2", 1, 0, "3090", 2},
        {"gres:gpu:3090", 1, 0, "", 3090},
        {"gpu:2080ti:1", 1, 0, "2080ti", 1},
        {"gpu:2080ti", 1, 0, "2080ti", 1},
        {"gres/gpu:1g.10gb:1", 1, 0, "1g.10gb", 1},
        {"gres:gpu:3g.20gb", 1, 0, "3g.20gb", 1},
        {"gres/gpu:1g.5gb+me=1", 1, 0, "1g.5gb+me", 1},
        {"gpu:1:2", 1, 0, "1", 2},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_tres_list list;
        const struct dn_tres *gpu;

        if (dn_tres_read (cases[i].text, &list, &unit_err) < 0)
            fail_msg ("%s: %s", cases[i].text, unit_err.text);
        assert_int_equal (list.n_entries, cases[i].n_entries);
        gpu = &list.entries[cases[i].gpu_at];
        assert_true (gpu->gpu);
        assert_int_equal (gpu->type.len, strlen (cases[i].type));
        assert_memory_equal (gpu->type.text ? gpu->type.text : "",
                             cases[i].type,
                             strlen (cases[i].type));
        assert_int_equal (gpu->count, cases[i].count);
    }
}

TEST ("odd tres strings are errors")
{
    char bad[] = "gres:gpu:a100:4:2|gres:gpu:a100:x|gpu:a100:-1|gpu:a100:1.5|"
                 "a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a";
    char *rest = bad;
    char *text;
    struct dn_tres_list list;

    while ((text = strsep (&rest, "|"))) {
        if (dn_tres_read (text, &list, &unit_err) == 0)
            fail_msg ("'%s' was accepted", text);
        assert_contains (unit_err.text, "tres");
    }
}

/* The job of the demonstration. */
static struct dn_job big_job (void)
{
    struct dn_job job = dn_job_empty ();

    job.kind = DN_JOB_BATCH;
    job.tres[DN_GPU_PER_NODE] = "gres:gpu:a100:4";
    job.time_limit_min = 1440;
    job.cpus_per_task = 80;
    job.min_cpus = 80;
    job.pn_min_cpus = 80;
    job.num_tasks = 1;
    return job;
}

/* Of the request 'r' that is read from that job with changes this holds. */
#define READS(changes, holds)                                                          \
    do {                                                                               \
        struct dn_request r;                                                           \
        struct dn_job job = big_job ();                                                \
                                                                                       \
        changes;                                                                       \
        assert_int_equal (read_request (&job, &r), 0);                                 \
        assert_true (holds);                                                           \
    } while (0)
#define MAY(keep)                   (r.keep.code == DN_REASON_NONE)
#define KEPT(changes, keep, reason) READS (changes, strstr (SAID (r.keep), reason))
#define NODES(n)                    job.min_nodes = job.max_nodes = n
#define PER_JOB(gpus)                                                                  \
    (job.tres[DN_GPU_PER_NODE] = NULL, job.tres[DN_GPU_PER_JOB] = gpus)
#define PER_TASK(gpus, n)                                                              \
    (job.tres[DN_GPU_PER_NODE] = NULL,                                                 \
     job.tres[DN_GPU_PER_TASK] = gpus,                                                 \
     job.num_tasks = n)

TEST ("a plain request is understood and may change")
{
    READS (, r.time_limit_s == 86400 && r.n_gpus == 4 && r.gpus_per_node == 4);
    READS (,
           strcmp (r.gpu_type, "a100") == 0 && r.n_cpus == 80 && r.cpus_per_gpu == 20);
    READS (,
           MAY (keep_time) && MAY (keep_gpu) && MAY (keep_cpus) && !r.mem_follows_cpus);
}

TEST ("GPUs are counted over tasks and nodes")
{
    READS (NODES (2), r.n_gpus == 8);
    READS ((NODES (2), PER_TASK ("gres:gpu:a100:1", 6)),
           r.n_gpus == 6 && r.gpus_per_node == 3);
    READS ((NODES (2), PER_JOB ("gres:gpu:a100:5")),
           r.n_gpus == 5 && r.gpus_per_node == 3);
    READS ((job.min_nodes = 2, job.max_nodes = 4), r.n_gpus == DN_UNSET);
}

/* Requests of four GPUs or of four tasks, and the nodes that Slurm makes of them. */
static const struct node_row {
    enum dn_gpu_field field;
    const char *gpus;
    int64_t num_tasks, ntasks_per_node, min_nodes, max_nodes, min_cpus;
    int64_t n_nodes, n_tasks, n_gpus, most_nodes;
    const char *why;
} node_rows[] = {
    /* --gpus-per-node=a100:4 --ntasks-per-node=4, as 22.05 and as 24.11 send it */
    {DN_GPU_PER_NODE, "gpu:a100:4", 4, 4, -1, -1, 64, 1, 4, 4, 1, ""},
    {DN_GPU_PER_NODE, "gpu:a100:4", -1, 4, -1, -1, 64, 1, 4, 4, 1, ""},
    /* with -n 4, as 24.11 sends it, and fewer tasks than that */
    {DN_GPU_PER_NODE, "gpu:a100:4", 4, 4, 1, -1, 64, 1, 4, 4, 1, ""},
    {DN_GPU_PER_NODE, "gpu:a100:4", 3, 4, -1, -1, 48, 1, 3, 4, 1, ""},
    {DN_GPU_PER_NODE, "gpu:a100:4", 8, 4, 2, -1, 128, 2, 8, 8, 2, ""},
    {DN_GPU_PER_TASK, "gpu:a100:1", 4, 4, -1, -1, 64, 1, 4, 4, 1, ""},
    {DN_GPU_PER_NODE, "gpu:a100:4", -1, -1, -1, -1, 16, 1, 1, 4, 1, ""},
    {DN_GPU_PER_NODE, "gpu:a100:4", -1, -1, -1, 1, 16, 1, 1, 4, 1, ""},
    {DN_GPU_PER_JOB, "gpu:a100:1", -1, -1, -1, -1, 16, 1, 1, 1, 1, ""},
    {DN_GPU_PER_JOB, "gpu:a100:4", 1, -1, 1, 1, 16, 1, 1, 4, 1, ""},
    /* -n 4 alone, and CPUs of the job that one node need not have */
    {DN_GPU_PER_NODE, "gpu:a100:4", 4, -1, -1, -1, 64, -1, 4, -1, 4, "tasks may"},
    {DN_GPU_PER_TASK, "gpu:a100:1", 4, -1, -1, -1, 64, -1, 4, 4, 4, "tasks may"},
    {DN_GPU_PER_TASK, "gpu:a100:2", 2, -1, -1, -1, 64, -1, 2, 4, 2, "tasks may"},
    {DN_GPU_PER_NODE, "gpu:a100:4", -1, -1, -1, -1, 64, -1, 1, -1, -1, "tasks may"},
    /* --gpus */
    {DN_GPU_PER_JOB, "gpu:a100:4", -1, -1, -1, -1, 16, -1, 1, 4, 4, "GPUs may"},
    {DN_GPU_PER_JOB, "gpu:a100:4", 4, -1, -1, -1, 64, -1, 4, 4, 4, "GPUs may"},
    {DN_GPU_PER_JOB, "gpu:a100:4", 4, 4, -1, -1, 64, -1, -1, 4, 4, "GPUs may"},
    {DN_GPU_PER_JOB, "gpu:a100:4", -1, 4, -1, -1, 64, -1, -1, 4, 4, "GPUs may"},
    {DN_GPU_PER_JOB, "gpu:a100:4", -1, -1, 1, 2, 16, -1, -1, 4, 2, "range"},
};

TEST ("the number of nodes is known where Slurm has no choice")
{
    for (size_t i = 0; i < DN_N_ELEMENTS (node_rows); i++) {
        const struct node_row *row = &node_rows[i];
        struct dn_job job = dn_job_empty ();
        struct dn_request request;

        job.kind = DN_JOB_BATCH;
        job.tres[row->field] = row->gpus;
        job.cpus_per_task = job.pn_min_cpus = 16;
        job.num_tasks = row->num_tasks;
        job.ntasks_per_node = row->ntasks_per_node;
        job.min_nodes = row->min_nodes;
        job.max_nodes = row->max_nodes;
        job.min_cpus = row->min_cpus;
        assert_int_equal (read_request (&job, &request), 0);
        if (request.n_nodes != row->n_nodes || request.n_tasks != row->n_tasks
            || request.n_gpus != row->n_gpus || request.most_nodes != row->most_nodes
            || (request.open_why.code == DN_REASON_NONE) != (row->why[0] == '\0')
            || !strstr (SAID (request.open_why), row->why))
            fail_msg ("row %zu: %lld nodes, at most %lld, %lld tasks, %lld GPUs, '%s'",
                      i,
                      (long long) request.n_nodes,
                      (long long) request.most_nodes,
                      (long long) request.n_tasks,
                      (long long) request.n_gpus,
                      SAID (request.open_why));
    }
}

/* What is kept although the number of nodes is open, as in the unit of a node. */
TEST ("memory per CPU is known for one task on each node")
{
    READS ((PER_JOB ("gpu:a100:4"), job.mem_per_cpu_mb = 100),
           r.n_nodes == DN_UNSET && r.mem_per_node_mb == 8000 && MAY (keep_cpus));
    READS ((PER_JOB ("gpu:a100:4"), job.mem_per_cpu_mb = 100, job.num_tasks = 2),
           r.mem_per_node_mb == DN_UNSET
               && strstr (SAID (r.keep_cpus), "memory is per CPU"));
}

TEST ("forms with a trap keep the GPU type with a reason")
{
    const char *const constraint[] = {"SLURM_CONSTRAINT=a100"};
    const char *const clock[] = {"SLURM_GPU_FREQ=low"};

    KEPT (job.tres[DN_GPU_PER_NODE] = NULL, keep_gpu, "no GPU");
    KEPT (job.tres[DN_GPU_PER_JOB] = "gpu:v100:4", keep_gpu, "several entries");
    KEPT (job.tres[DN_GPU_PER_JOB] = "gpu:4", keep_gpu, "several entries");
    KEPT (job.tres[DN_GPU_PER_NODE] = "gpu:a100:1,gpu:v100:1",
          keep_gpu,
          "several entries");
    KEPT (job.tres[DN_GPU_PER_NODE] = "gpu:a100:1,gpu:a100:1",
          keep_gpu,
          "several entries");
    KEPT (job.tres[DN_GPU_PER_JOB] = "gpu:a100:8";
          job.min_nodes = job.max_nodes = 1, keep_gpu, "different numbers of GPUs");
    KEPT (job.tres[DN_GPU_PER_NODE] = "gpu:a100:1,shard:2", keep_gpu, "shares");
    KEPT (job.tres[DN_GPU_PER_NODE] = "gpu:a100:1,tmp:5",
          keep_gpu,
          "resources other than");
    KEPT (job.exc_nodes = "/home/u/bad", keep_gpu, "excluded (-x)");
    KEPT (job.special_nodes = true, keep_gpu, "cores, threads or sockets of a node");
    KEPT (job.special_cores = true, keep_gpu, "cores, threads or sockets of a node");
    KEPT (job.gpu_freq = "gpu:low", keep_gpu, "--gpu-freq");
    KEPT (job.env = clock; job.n_env = 1, keep_gpu, "--gpu-freq");
    KEPT (job.exclusive = true, keep_gpu, "whole node");
    KEPT (job.mem_per_node_mb = 0, keep_gpu, "whole memory");
    KEPT (job.mem_per_tres = "gres:gpu:a100:1024", keep_gpu, "GPU of one type");
    KEPT (job.pn_min_cpus = 90, keep_gpu, "--mincpus");
    KEPT (job.prefer = "a100", keep_gpu, "--prefer");
    KEPT (job.batch_features = "a100", keep_gpu, "--batch");
    KEPT (job.env = constraint; job.n_env = 1, keep_gpu, "SLURM_CONSTRAINT");
    KEPT (job.req_nodes = "g1", keep_gpu, "nodes were named");
    KEPT (job.reservation = "r", keep_gpu, "reservation");
    KEPT (job.kind = DN_JOB_SRUN, keep_gpu, "of batch jobs");
    KEPT (job.script = "#!/bin/sh\nsrun --gres=gpu:a100:1 x",
          keep_gpu,
          "line 2: '--gres=gpu:a100:1' names the GPU type");
    KEPT (job.script = "srun --gpu-freq=low x", keep_gpu, "line 1: '--gpu-freq=low'");
    KEPT (job.script = "srun -C ib x", keep_gpu, "line 1: '-C' has a constraint");
    KEPT (job.script = "echo '", keep_gpu, "a quote is not closed");
}

TEST ("forms with a trap keep time and CPUs with a reason")
{
    const char *const counted[] = {"SRUN_CPUS_PER_TASK=8"};

    KEPT (job.tres[DN_GPU_PER_JOB] = "gpu:a100:8";
          job.min_nodes = job.max_nodes = 1, keep_cpus, "different numbers of GPUs");
    KEPT (job.ntasks_per_tres = 1; job.num_tasks = 4;
          job.min_nodes = job.max_nodes = 1, keep_cpus, "--ntasks-per-gpu");
    KEPT (job.ntasks_per_tres = 2, keep_time, "several tasks share a GPU");
    KEPT (job.script = "srun -n 8 x", keep_cpus, "line 1: '-n' counts tasks");
    KEPT (job.script = "srun -c $N x", keep_cpus, "line 1: '$N' counts CPUs");
    KEPT (
        job.script = "x --workers 16", counted_why, "line 1: '--workers' counts CPUs");
    KEPT (job.script = "x $((SLURM_CPUS_ON_NODE / 2))",
          keep_cpus,
          "line 1: 'SLURM_CPUS_ON_NODE' counts CPUs");
    KEPT (job.script = "vllm serve x", keep_time, "line 1: 'vllm' is a server");
    KEPT (job.script = "vllm serve x", keep_cpus, "line 1: 'vllm' is a server");
    KEPT (job.script = "srun --gpu-freq=low x", keep_time, "line 1: '--gpu-freq=low'");
    KEPT (job.script = "echo '", keep_time, "a quote is not closed");
    KEPT (job.script = "echo '", keep_cpus, "a quote is not closed");
    KEPT (job.script = "x; y", several_why, "line 1: 'y' runs besides another");
    KEPT (job.env = counted; job.n_env = 1, keep_cpus, "SRUN_CPUS_PER_TASK");
    KEPT (job.kind = DN_JOB_SALLOC, keep_cpus, "of batch jobs");
    KEPT (job.het = true, keep_time, "heterogeneous");
    KEPT (job.gpu_freq = "gpu:low", keep_time, "--gpu-freq");
    KEPT (job.time_limit_min = DN_UNLIMITED, keep_time, "unlimited");
    KEPT (job.exclusive = true, keep_cpus, "whole nodes");
    KEPT (job.overcommit = true, keep_cpus, "overcommitted");
    KEPT (job.special_cores = true, keep_cpus, "specified");
    KEPT (job.cpus_per_tres = "gres:gpu:8", keep_cpus, "CPUs per GPU");
    KEPT (job.cpus_per_tres = "gpu:a100:8", keep_cpus, "CPUs per GPU");
    KEPT (job.tres[DN_GPU_PER_TASK] = "cpu=8", keep_cpus, "different numbers of CPUs");
    KEPT (job.cpus_per_task = DN_UNSET, keep_cpus, "no CPUs per task");
}

/* Options that are no reason to keep anything, as far as the request goes. */
TEST ("options that any node can meet allow changes")
{
    READS ((job.whole_cores = true,
            job.tmp_disk_mb = 1024,
            job.exc_nodes = "bad1,bad[3-4]",
            job.partition = "gpu,long"),
           MAY (keep_gpu) && MAY (keep_cpus) && MAY (keep_time) && r.n_excluded == 3);
}

TEST ("excluded nodes are counted or keep the type")
{
    const char *longest = unit_repeat ("a", DN_NODES_TEXT_MAX + 1);
    const struct {
        const char *nodes;
        int64_t n;
    } rows[] = {
        {"a1", 1},
        {"a1,", 1},
        {"a1,a1", 2},
        {"gpu-a_1.cluster", 1},
        {"a[1-3]", 3},
        {"a[01-03,7],b2", 5},
        {"rack[1-2]n", 2},
        {"a[0-4294967296]", INT64_C (4294967297)},
        {"a[3-1]", DN_UNSET},
        {"a[1-3]b[1-2]", DN_UNSET},
        {"a[1-3", DN_UNSET},
        {"a1]", DN_UNSET},
        {"a[]", DN_UNSET},
        {"a[1-2-3]", DN_UNSET},
        {"a[1-]", DN_UNSET},
        {"a[1k]", DN_UNSET},
        {"a[-1]", DN_UNSET},
        {"a[[1]", DN_UNSET},
        {"a[99999999999999999999]", DN_UNSET},
        {"a1 a2", DN_UNSET},
        {"/home/u/bad", DN_UNSET},
        {"a{1,2}", DN_UNSET},
        {"\xc3\xa4", DN_UNSET},
        {longest, DN_UNSET},
        {longest + 1, 1},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        struct dn_job job = big_job ();
        struct dn_request request;

        job.exc_nodes = rows[i].nodes;
        assert_int_equal (read_request (&job, &request), 0);
        if (request.n_excluded != rows[i].n
            || (request.keep_gpu.code != DN_REASON_NONE) != (rows[i].n == DN_UNSET))
            fail_msg ("'%.80s': %lld, '%s'",
                      job.exc_nodes,
                      (long long) request.n_excluded,
                      SAID (request.keep_gpu));
    }
}

TEST ("scripts that name no resources allow changes")
{
    static const char *const harmless[] = {
        "#!/bin/sh\n#SBATCH --gres=gpu:a100:4\n#SBATCH -c 80\nsrun python train.py\n",
        "# a100 -c 80\nsrun python -c 'import torch'\n",
        "srun -c $SLURM_CPUS_PER_TASK ./a1000_run x-c 8\n",
        "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\nsrun hostname\n",
        "srun -c ${SLURM_CPUS_PER_TASK} head -c 8\n",
        "srun x -c 8\n",
        "",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (harmless); i++)
        READS (job.script = harmless[i],
               MAY (keep_time) && MAY (keep_gpu) && MAY (keep_cpus));
}

TEST ("the need of a script is in the request")
{
    READS (, r.need == DN_NEED_NONE);
    READS (job.script = "x\nx --bf16\n",
           r.need == DN_NEED_BF16
               && strcmp (SAID (r.need_why),
                          "the script, line 2: '--bf16' needs a GPU with bf16")
                      == 0);
}

TEST ("memory per CPU is known as memory per node")
{
    READS (job.mem_per_cpu_mb = 1000, r.mem_follows_cpus && r.mem_per_node_mb == 80000);
    READS (job.default_mem_per_cpu_mb = 2000, r.mem_per_node_mb == 160000);
    READS ((job.default_mem_per_cpu_mb = 2000,
            job.memory_default = true,
            job.default_mem_per_gpu_mb = 3000),
           !r.mem_follows_cpus && r.mem_per_node_mb == 3000 * r.gpus_per_node);
    READS ((job.default_mem_per_cpu_mb = 2000,
            job.default_mem_per_gpu_mb = 3000,
            job.mem_per_node_mb = 5000),
           !r.mem_follows_cpus && r.mem_per_node_mb == 5000);
    KEPT ((job.default_mem_per_cpu_mb = 2000,
           job.default_mem_per_gpu_mb = 3000,
           NODES (3),
           job.num_tasks = 2),
          keep_cpus,
          "memory is per CPU");
}

TEST ("a broken tres string empties the request")
{
    struct dn_job job = big_job ();
    struct dn_request request;

    job.tres[DN_GPU_PER_NODE] = "gres:gpu:a100:4:4";
    assert_int_equal (dn_request_read (&job, NULL, &request, &unit_err), -1);
    assert_null (request.job);
    job = big_job ();
    job.cpus_per_tres = "gpu:x:y:z";
    assert_error (dn_request_read (&job, NULL, &request, &unit_err), "--cpus-per-gpu");
}

TEST ("the environment is searched by whole names")
{
    const char *const env[] = {
        "SLURM_GPUS_PER_NODE=a100:2", "SLURM_GPUS=a100:4", "EMPTY="};
    struct dn_job job = dn_job_empty ();

    assert_null (dn_job_getenv (&job, "SLURM_GPUS"));
    job.env = env;
    job.n_env = 3;
    assert_string_equal (dn_job_getenv (&job, "SLURM_GPUS"), "a100:4");
    assert_string_equal (dn_job_getenv (&job, "EMPTY"), "");
    assert_null (dn_job_getenv (&job, "SLURM"));
}

TEST ("the same GPUs may be counted in several fields")
{
    READS ((job.tres[DN_GPU_PER_JOB] = "gres:gpu:a100:8", NODES (2)),
           MAY (keep_gpu) && strcmp (r.gpu_type, "a100") == 0 && r.n_gpus == 8
               && r.gpus_per_node == 4);
    READS ((PER_JOB ("gres:gpu:a100:8"), PER_TASK ("gres:gpu:a100:2", 4), NODES (2)),
           MAY (keep_gpu) && r.n_gpus == 8);
    READS ((PER_JOB (NULL), job.tres[DN_GPU_PER_SOCKET] = "gres:gpu:a100:2"),
           r.n_gpus == DN_UNSET);
    READS ((PER_JOB (NULL),
            job.tres[DN_GPU_PER_SOCKET] = "gres:gpu:a100:2",
            job.sockets_per_node = 2),
           r.n_gpus == 4);
}

/* sbatch --gres=gpu:a100:4 --cpus-per-gpu=20 */
static struct dn_job job_by_gpus (void)
{
    struct dn_job job = big_job ();

    job.cpus_per_tres = "gres:gpu:20";
    job.cpus_per_task = DN_UNSET;
    job.min_cpus = 1;
    job.pn_min_cpus = DN_UNSET;
    return job;
}

TEST ("CPUs and memory may follow GPUs")
{
    READS ((job = job_by_gpus (), job.mem_per_tres = "gres:gpu:1048576"),
           r.cpus_each_gpu == 20 && r.n_cpus == 80 && r.cpus_per_gpu == 20
               && r.mem_per_node_mb == 4 * 1048576 && !r.mem_follows_cpus
               && MAY (keep_cpus) && MAY (keep_gpu));
    READS ((job = job_by_gpus (), job.mem_per_cpu_mb = 1000),
           r.mem_follows_cpus && r.mem_per_node_mb == 80000 && MAY (keep_cpus));
    KEPT (
        (job = job_by_gpus (), job.mem_per_cpu_mb = 1000, PER_JOB ("gres:gpu:a100:4")),
        keep_cpus,
        "memory is per CPU");
    READS ((job = job_by_gpus (),
            job.mem_per_cpu_mb = 1000,
            PER_JOB ("gres:gpu:a100:4"),
            NODES (1)),
           MAY (keep_cpus));
}

TEST ("CPUs of tres_per_task are found where the field is open")
{
    struct dn_job wrong = big_job ();
    struct dn_request request;

    READS ((job.cpus_per_task = DN_UNSET, job.tres[DN_GPU_PER_TASK] = "cpu:16"),
           r.cpus_per_task == 16 && MAY (keep_cpus));
    wrong.tres[DN_GPU_PER_TASK] = "cpu=x";
    assert_int_equal (read_request (&wrong, &request), -1);
}

TEST ("only plain constraints are parsed")
{
    static const char *const plain[] = {
        "a100", "a100&ib", "a&b&c&d&e&f&g&h", "gpu:a100+x_1.0-2=3/4"};
    char other[] =
        "a100|v100;[a100|v100];a100*2;a100,ib;a100 & ib;(a100&ib);!v100;a100&;"
        "&a100;a&&b;a&b&c&d&e&f&g&h&i;a\303\244";
    char *rest = other;
    char *text;
    const char *longest = unit_repeat ("x", DN_FEATURES_TEXT_MAX);
    struct dn_features features;

    for (size_t i = 0; i < DN_N_ELEMENTS (plain); i++)
        if (!dn_features_read (plain[i], &features) || features.n_names == 0)
            fail_msg ("'%s' was not read", plain[i]);
    while ((text = strsep (&rest, ";")))
        if (dn_features_read (text, &features) || features.n_names != 0)
            fail_msg ("'%s' was read", text);
    assert_true (dn_features_read (NULL, &features) && features.n_names == 0);
    assert_true (dn_features_read ("", &features) && features.n_names == 0);
    assert_false (dn_features_read (longest, &features));
    assert_true (dn_features_read (longest + 1, &features));
    dn_features_read ("a100&ib", &features);
    assert_numbers ("2 2", features.n_names, features.names[1].len);
}
