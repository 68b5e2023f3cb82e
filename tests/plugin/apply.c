/* apply.c - tests of the adapter: fields are translated, patches applied completely or
 * not
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "stand_in.h"

#include "submit/adapter.h"
#include "submit/host.h"

SLURM_SYMBOL char *slurm_get_extra_conf_path (char *name)
{
    return slurm_text (name);
}

static void make_job (job_desc_msg_t *desc)
{
    static const char *const env[] = {"PATH=/bin", "SLURM_GPUS=a100:4", NULL};

    job_init (desc);
    desc->script = slurm_text ("#!/bin/sh\n");
    desc->tres_per_job = slurm_text (GPU "a100:4");
    desc->cpus_per_tres = slurm_text (GPU "20");
    desc->partition = slurm_text ("gpu-a100");
    desc->features = slurm_text ("a100&ib");
    desc->time_limit = 1440;
    desc->cpus_per_task = 80;
    desc->min_cpus = 80;
    desc->pn_min_cpus = 80;
    desc->pn_min_memory = 1000 | MEM_PER_CPU;
    job_set_env (desc, env);
}

static struct dn_edit number (enum dn_field field, int64_t old, int64_t new)
{
    return (struct dn_edit){.field = field, .old_number = old, .new_number = new};
}

/* The literals of a test are not freed: the patch is not given to dn_patch_free (). */
static struct dn_edit text (enum dn_field field, const char *old, const char *new)
{
    return (struct dn_edit){.field = field,
                            .old_text = (char *) (uintptr_t) old,
                            .new_text = (char *) (uintptr_t) new};
}

static void add (struct dn_patch *patch, struct dn_edit edit)
{
    patch->edits[patch->n_edits++] = edit;
}

static struct dn_patch whole_patch (void)
{
    struct dn_patch patch = {.n_edits = 0};

    add (&patch, number (DN_FIELD_TIME_LIMIT, 1440, 60));
    add (&patch, number (DN_FIELD_CPUS_PER_TASK, 80, 8));
    add (&patch, number (DN_FIELD_MIN_CPUS, 80, 8));
    add (&patch, number (DN_FIELD_PN_MIN_CPUS, 80, 8));
    add (&patch, number (DN_FIELD_MEM_PER_NODE, DN_UNSET, 80000));
    add (&patch, text (DN_FIELD_TRES_PER_JOB, GPU "a100:4", GPU "v100:4"));
    add (&patch, text (DN_FIELD_CPUS_PER_TRES, GPU "20", GPU "16"));
    add (&patch, text (DN_FIELD_PARTITION, "gpu-a100", "gpu-v100"));
    add (&patch, text (DN_FIELD_FEATURES, "a100&ib", "v100&ib"));
    add (&patch, text (DN_FIELD_ENV, "SLURM_GPUS=a100:4", "SLURM_GPUS=v100:4"));
    add (&patch, text (DN_FIELD_ADMIN_COMMENT, NULL, "{}"));
    add (&patch, text (DN_FIELD_ENV, NULL, "NEW=1"));
    return patch;
}

/* An environment has these entries, a '|' behind each, and ends with NULL. */
static void assert_list (char *const *list, uint32_t n, const char *entries)
{
    const char *all = "";

    for (uint32_t i = 0; i < n; i++)
        all = unit_text ("%s%s|", all, list[i]);
    assert_string_equal (all, entries);
    assert_null (list[n]);
}

TEST ("every field reaches the model")
{
    job_desc_msg_t desc;
    struct dn_job job;

    make_job (&desc);
    dn_adapter_read (&desc, &job);
    assert_int_equal (job.kind, DN_JOB_BATCH);
    assert_int_equal (job.time_limit_min, 1440);
    assert_int_equal (job.time_min_min, DN_UNSET);
    assert_int_equal (job.cpus_per_task, 80);
    assert_int_equal (job.num_tasks, DN_UNSET);
    assert_int_equal (job.mem_per_node_mb, DN_UNSET);
    assert_int_equal (job.mem_per_cpu_mb, 1000);
    assert_string_equal (job.tres[DN_GPU_PER_JOB], GPU "a100:4");
    assert_null (job.tres[DN_GPU_PER_NODE]);
    assert_int_equal (job.n_env, 2);
    assert_false (job.exclusive || job.overcommit || job.special_cores || job.het);
    job_free (&desc);
}

/* Of an empty submission with changes of 'desc' the model reads what holds of 'job'. */
#define READS(changes, holds)                                                          \
    do {                                                                               \
        job_desc_msg_t desc;                                                           \
        struct dn_job job;                                                             \
                                                                                       \
        job_init (&desc);                                                              \
        changes;                                                                       \
        dn_adapter_read (&desc, &job);                                                 \
        assert_true (holds);                                                           \
        job_free (&desc);                                                              \
    } while (0)

TEST ("sentinels become unset and unlimited")
{
    READS (,
           job.kind == DN_JOB_SALLOC && job.time_limit_min == DN_UNSET
               && job.cpus_per_task == DN_UNSET && job.mem_per_node_mb == DN_UNSET
               && job.mem_per_cpu_mb == DN_UNSET && job.n_env == 0);
    READS ((desc.time_limit = INFINITE, desc.argc = 2, desc.pn_min_memory = 0),
           job.kind == DN_JOB_SRUN && job.time_limit_min == DN_UNLIMITED
               && job.mem_per_node_mb == 0);
}

TEST ("what was passed on is read and removed")
{
    static const char *const spank[] = {"OTHER=1",
                                        "DNNEST_OPTION=batch=4",
                                        "_SLURM_SPANK_OPTION_dnnest_dnnest=x.json",
                                        "DNNEST_SIDECAR={}",
                                        "DNNEST_OPTIONS=not ours",
                                        "DNNEST_OPTION=batch=5",
                                        "DNNEST_SIDECAR",
                                        NULL};
    static const char *const env[] = {"SLURM_SPANK_DNNEST_OPTION=batch=4",
                                      "DNNEST_OPTION=the user's own",
                                      "SLURM_SPANK_DNNEST_SIDECAR={}",
                                      NULL};
    job_desc_msg_t desc;
    struct dn_job job;

    job_init (&desc);
    job_set_spank_env (&desc, spank);
    job_set_env (&desc, env);
    dn_adapter_read (&desc, &job);
    assert_string_equal (job.option, "batch=4");
    assert_string_equal (job.sidecar, "{}");
    dn_adapter_forget (&desc);
    assert_list (desc.spank_job_env,
                 desc.spank_job_env_size,
                 "OTHER=1|DNNEST_OPTIONS=not ours|DNNEST_SIDECAR|");
    assert_list (desc.environment, desc.env_size, "DNNEST_OPTION=the user's own|");
    dn_adapter_read (&desc, &job);
    assert_null (job.option);
    assert_null (job.sidecar);
    job_free (&desc);
    assert_int_equal (stand_in_blocks, 0);
}

TEST ("without a SPANK environment nothing is read")
{
    static const char *const empty[] = {NULL};
    static const uint32_t sizes[] = {NO_VAL, 0, 7};
    job_desc_msg_t desc;
    struct dn_job job;

    for (size_t i = 0; i < DN_N_ELEMENTS (sizes); i++) {
        job_init (&desc); /* no list, with any count */
        desc.spank_job_env_size = sizes[i];
        dn_adapter_read (&desc, &job);
        assert_null (job.option);
        dn_adapter_forget (&desc);
        assert_int_equal (desc.spank_job_env_size, sizes[i]);
    }
    job_init (&desc); /* a list, and no count */
    job_set_spank_env (&desc, empty);
    desc.spank_job_env_size = NO_VAL;
    dn_adapter_read (&desc, &job);
    assert_null (job.sidecar);
    dn_adapter_forget (&desc);
    assert_int_equal (desc.spank_job_env_size, NO_VAL);
    desc.spank_job_env_size = 0;
    job_free (&desc);
    assert_int_equal (stand_in_blocks, 0);
}

TEST ("flags are seen one by one")
{
    READS ((desc.shared = JOB_SHARED_NONE,
            desc.bitflags = JOB_CPUS_SET,
            desc.het_job_offset = 0),
           job.exclusive && job.het && !job.overcommit && !job.special_cores);
    READS ((desc.bitflags = CRON_JOB, desc.het_job_offset = 0), !job.het);
    READS (
        (desc.shared = JOB_SHARED_OK, desc.overcommit = 1, desc.threads_per_core = 1),
        job.overcommit && job.whole_cores && !job.exclusive && !job.het
            && !job.special_cores);
    READS (desc.threads_per_core = 2, job.special_cores && !job.whole_cores);
    READS (desc.ntasks_per_core = 1, job.whole_cores && !job.special_cores);
    /* --hint=multithread */
    READS (desc.ntasks_per_core = INFINITE16, !job.whole_cores && !job.special_cores);
    READS (desc.core_spec = 0, job.special_cores && job.tmp_disk_mb == DN_UNSET);
    READS (desc.pn_min_tmp_disk = NO_VAL, job.tmp_disk_mb == DN_UNSET);
    READS ((desc.pn_min_tmp_disk = 1024, desc.tres_freq = slurm_text ("gpu:low")),
           job.tmp_disk_mb == 1024 && !job.special_nodes
               && strcmp (job.gpu_freq, "gpu:low") == 0);
    READS ((desc.sockets_per_node = 2, desc.batch_features = slurm_text ("ib")),
           job.sockets_per_node == 2 && strcmp (job.batch_features, "ib") == 0);
}

TEST ("memory that was not given is a default")
{
    memset (&slurm_conf, 0, sizeof (slurm_conf));
    READS (, !job.memory_default && !job.memory_open);
    slurm_conf.select_type_param = DN_SELECT_MEMORY;
    READS (, job.memory_default && job.memory_open);
    slurm_conf.def_mem_per_cpu = 1000 | MEM_PER_CPU;
    READS (, job.memory_default && !job.memory_open);
    READS (desc.pn_min_memory = 1000, !job.memory_default && !job.memory_open);
    READS (desc.mem_per_tres = slurm_text (GPU "1000"),
           !job.memory_default && !job.memory_open);
    memset (&slurm_conf, 0, sizeof (slurm_conf));
}

TEST ("the default memory per CPU is the cluster's")
{
    slurm_conf.def_mem_per_cpu = 5000 | MEM_PER_CPU;
    READS (, job.default_mem_per_cpu_mb == 5000);
    slurm_conf.select_type_param = DN_SELECT_MEMORY;
    /* never looked into */
    READS (slurm_conf.job_defaults_list = (void *) &desc, job.memory_open);
    slurm_conf.job_defaults_list = NULL;
    slurm_conf.select_type_param = 0;
    slurm_conf.def_mem_per_cpu = 64000; /* per node */
    READS (, job.default_mem_per_cpu_mb == DN_UNSET);
    slurm_conf.def_mem_per_cpu = 0;
    READS (, job.default_mem_per_cpu_mb == DN_UNSET);
}

TEST ("a patch is applied in all places")
{
    struct dn_patch patch = whole_patch ();
    job_desc_msg_t desc;

    make_job (&desc);
    assert_int_equal (dn_adapter_apply (&desc, &patch, NULL), 0);
    assert_numbers ("60 8", desc.time_limit, desc.cpus_per_task);
    assert_numbers ("8 8 80000", desc.min_cpus, desc.pn_min_cpus, desc.pn_min_memory);
    assert_string_equal (desc.tres_per_job, GPU "v100:4");
    assert_string_equal (desc.cpus_per_tres, GPU "16");
    assert_string_equal (desc.partition, "gpu-v100");
    assert_string_equal (desc.features, "v100&ib");
    assert_string_equal (job_getenv (&desc, "SLURM_GPUS"), "v100:4");
    assert_string_equal (job_getenv (&desc, "PATH"), "/bin");
    assert_string_equal (desc.admin_comment, "{}");
    job_free (&desc);
    assert_int_equal (stand_in_blocks, 0);
}

TEST ("new variables follow the others")
{
    job_desc_msg_t desc;
    struct dn_patch patch = {.n_edits = 0};

    make_job (&desc);
    add (&patch, text (DN_FIELD_ENV, "PATH=/bin", "PATH=/sbin:/bin"));
    add (&patch, text (DN_FIELD_ENV, NULL, "FIRST=1"));
    add (&patch, text (DN_FIELD_ENV, NULL, "SECOND=2"));
    assert_int_equal (dn_adapter_apply (&desc, &patch, NULL), 0);
    assert_list (desc.environment,
                 desc.env_size,
                 "PATH=/sbin:/bin|SLURM_GPUS=a100:4|FIRST=1|SECOND=2|");
    job_free (&desc);
}

TEST ("the variables of one job do not outlive a submission")
{
    static const char *const env[] = {"A=1",
                                      DN_CAPTURE_HOOK "=/x",
                                      DN_CAPTURE_STEPS "=1",
                                      "B=" DN_CAPTURE_HOOK,
                                      DN_JOB_VARIABLES "={}",
                                      NULL};
    job_desc_msg_t desc;

    job_init (&desc);
    job_set_env (&desc, env);
    dn_adapter_forget_job (&desc);
    assert_list (desc.environment, desc.env_size, "A=1|B=" DN_CAPTURE_HOOK "|");
    job_free (&desc);
    job_init (&desc);
    dn_adapter_forget_job (&desc); /* there is no environment */
    job_free (&desc);
}

/* With so many allocations that succeed, -1 for all. */
static void assert_refused (const struct dn_patch *patch, int left, const char *part)
{
    job_desc_msg_t desc;
    struct photo photo;

    make_job (&desc);
    photo = photo_take (&desc);
    stand_in_allocations_left = left;
    assert_error (dn_adapter_apply (&desc, patch, &unit_err), part);
    stand_in_allocations_left = -1;
    photo_compare (&photo, &desc);
    photo_free (&photo);
    job_free (&desc);
    assert_int_equal (stand_in_blocks, 0);
}

TEST ("a field that holds something else stops the whole patch")
{
    struct dn_patch patch;

    for (int i = 0; i < whole_patch ().n_edits; i++) {
        patch = whole_patch ();
        if (patch.edits[i].field == DN_FIELD_MEM_PER_NODE)
            continue; /* replaces memory per CPU */
        if (dn_field_is_number (patch.edits[i].field))
            patch.edits[i].old_number++;
        else
            patch.edits[i] = text (patch.edits[i].field, "other", "new");
        assert_refused (
            &patch, -1, dn_names_get (&dn_field_names, (int) patch.edits[i].field));
    }
}

TEST ("values that do not fit their field are refused")
{
    static const struct {
        int edit;
        int64_t value;
    } cases[] = {{0, 0}, {0, -1}, {0, NO_VAL}, {1, NO_VAL16}, {1, 65536}, {3, 65535}};

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_patch patch = whole_patch ();

        patch.edits[cases[i].edit].new_number = cases[i].value;
        assert_refused (&patch, -1, "out of range");
    }
}

TEST ("a field is not edited twice")
{
    struct dn_patch patch = whole_patch ();

    add (&patch, text (DN_FIELD_TRES_PER_JOB, GPU "a100:4", GPU "k80:4"));
    assert_refused (&patch, -1, "edited twice");
}

TEST ("without memory nothing is changed")
{
    struct dn_patch patch = whole_patch ();

    for (int left = 0; left < 6; left++) {
        assert_refused (&patch, left, "");
        assert_int_equal (unit_err.code, DN_E_NOMEM);
    }
}

TEST ("lines are appended to what others said")
{
    char *message = NULL;

    dn_host_append_line (&message, "one");
    assert_string_equal (message, "one");
    dn_host_append_line (&message, "two");
    assert_string_equal (message, "one\ntwo");
    stand_in_allocations_left = 0;
    dn_host_append_line (&message, "three");
    stand_in_allocations_left = -1;
    assert_string_equal (message, "one\ntwo");
    dn_host_append_line (NULL, "ignored");
    dn_host_free (&message);
    assert_int_equal (stand_in_blocks, 0);
}
