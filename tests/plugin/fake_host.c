/* fake_host.c - the built plugin in a simulated slurmctld
 *
 * Calls job_submit () directly; see fake_site.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fake_site.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rewrite/rewrite.h"

TEST ("the plugin names itself and its version")
{
    const uint32_t *version = dlsym (plugin_handle, "plugin_version");

    assert_string_equal (dlsym (plugin_handle, "plugin_type"), "job_submit/dnnest");
    assert_non_null (dlsym (plugin_handle, "plugin_name"));
    assert_int_equal (*version, SLURM_VERSION_NUMBER);
}

TEST ("a job is rewritten in all places")
{
    job_desc_msg_t *desc;
    uint16_t cpus;
    char *number;

    start_plugin (ENFORCE);
    desc = a_job (SHORT_RESNET);
    slurm_text_free (&desc->tres_per_node);
    desc->tres_per_job = slurm_text (GPU "a100:4");
    desc->tres_per_task = slurm_text ("cpu=80");
    assert_moved (desc);
    cpus = desc->cpus_per_task;
    assert_string_equal (desc->tres_per_job, GPU "4");
    assert_string_equal (job_getenv (desc, "SLURM_GPUS"), "4");
    assert_string_equal (desc->features, "[a100|v100]");
    assert_string_equal (desc->prefer, "a100");
    assert_int_equal (desc->min_cpus, cpus);
    assert_int_equal (desc->pn_min_cpus, cpus);
    number = unit_text ("cpu=%u", cpus);
    assert_string_equal (desc->tres_per_task, number);
    assert_string_equal (job_getenv (desc, "SLURM_TRES_PER_TASK"), number);
    assert_string_equal (job_getenv (desc, "PATH"), "/bin");
    assert_int_equal (desc->pn_min_memory, 400000);
}

TEST ("the whole memory per CPU is kept")
{
    job_desc_msg_t *desc;

    start_plugin (ENFORCE);
    desc = a_job (RESNET);
    desc->pn_min_memory = 5000 | MEM_PER_CPU;
    assert_moved (desc);
    assert_int_equal (desc->pn_min_memory, 400000);
    slurm_conf.def_mem_per_cpu = 5000 | MEM_PER_CPU;
    desc = a_job (RESNET);
    desc->pn_min_memory = NO_VAL64;
    assert_moved (desc);
    assert_int_equal (desc->pn_min_memory, 400000);
}

TEST ("a job that has been advised is not advised again")
{
    job_desc_msg_t *desc;

    start_plugin (ENFORCE);
    desc = a_job (RESNET);
    assert_moved (desc);
    assert_untouched (desc, NULL);
}

/* A sibling of a federation gets the job as the first cluster left it. A job that is
 * submitted from within another one is not that job.
 */
TEST ("a job describes itself on a sibling, and those that it submits by themselves")
{
    job_desc_msg_t *desc;

    start_plugin (ENFORCE "PythonDir=/opt/python\nProgressDir=/tmp/progress\n");
    desc = a_job (RESNET);
    for (int i = 0; i < 2; i++) {
        submit_quietly (desc);
        assert_string_equal (job_getenv (desc, DN_CAPTURE_HOOK), "/opt/python/hook");
        assert_true (strncmp (job_getenv (desc, "PYTHONPATH"), "/opt/python/hook", 16)
                     == 0);
    }
    slurm_text_free (&desc->admin_comment);
    slurm_text_free (&desc->comment);
    submit_quietly (desc);
    assert_null (job_getenv (desc, DN_CAPTURE_HOOK));
}

TEST ("jobs that do not concern dnnest are untouched")
{
    job_desc_msg_t desc;

    start_plugin (ENFORCE);
    stand_in_forget ();
    assert_comment_untouched (NULL, NULL);
    assert_comment_untouched ("", NULL);
    assert_comment_untouched ("ticket:42 mydnnest:model=resnet50", NULL);
    assert_comment_untouched ("dnnest:off", NULL);
    job_init (&desc);
    assert_untouched (&desc, NULL);
    assert_int_equal (stand_in_n_errors + stand_in_n_infos, 0);
}

TEST ("bad metadata leaves the job and is reported once")
{
    static const char *const bad[] = {
        "dnnest:",
        "dnnest:model",
        "dnnest:colour=red",
        "dnnest:model=resnet50",
        "dnnest:model=nosuchnet,batch=64,precision=fp16",
        "dnnest:model=resnet50,batch=-4,precision=fp16",
        "dnnest:model=resnet50,batch=1e300,precision=fp16",
        "dnnest:model=resnet50,batch=64,batch=32",
        "dnnest:model=\001\033[31m,batch=64",
        "dnnest:model=resnet\303,batch=64",
    };

    start_plugin (ENFORCE);
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        stand_in_forget ();
        assert_comment_untouched (bad[i], "; job submitted as written");
        assert_int_equal (stand_in_n_errors + stand_in_n_infos, 1);
        for (const char *c = stand_in_info; *c; c++)
            assert_true (*c >= ' ' && *c <= '~');
    }
}

TEST ("every warning is a line of the message")
{
    job_desc_msg_t *desc;
    char *message;

    start_plugin (ENFORCE);
    desc = a_job (RESNET ",gpus=2");
    desc->time_limit = 10;
    message = submit (desc);
    assert_contains (message,
                     "dnnest: warning: -t 00:10:00 is shorter than the likely ");
    assert_contains (message,
                     "\ndnnest: warning: metadata says 2 GPUs, 4 were requested");
    slurm_text_free (&message);
}

TEST ("long texts are bounded")
{
    const size_t size = 4 * 1024 * 1024;
    job_desc_msg_t *desc;

    start_plugin (ENFORCE);
    assert_comment_untouched (unit_text ("dnnest:model=%s", unit_repeat ("x", size)),
                              "; job submitted as written");
    desc = a_job (NULL);
    slurm_text_free (&desc->script);
    desc->script = slurm_text (unit_repeat ("#", size));
    assert_untouched (desc, NULL);
}

#define SIDECAR                                                                        \
    "DNNEST_SIDECAR={\"dnnest\":1,\"spec\":{\"model\":\"resnet50\",\"batch\":64,"      \
    "\"precision\":\"fp16\",\"epochs\":20,\"dataset\":\"imagenet\"}}"

/* Submit a job with entries that spank_dnnest would not send: the job is unchanged,
 * except that the entries are removed.
 */
static void assert_forgery (const char *entry, const char *expected)
{
    const char *const spank[] = {
        "OTHER=1", entry, "_SLURM_SPANK_OPTION_dnnest_dnnest=x", NULL};
    char *message;
    job_desc_msg_t *desc = a_job (NULL);

    job_set_spank_env (desc, spank);
    message = submit (desc);
    if (expected)
        assert_contains (message ? message : "nothing", expected);
    else
        assert_null (message);
    slurm_text_free (&message);
    assert_int_equal (desc->spank_job_env_size, 1);
    assert_string_equal (desc->spank_job_env[0], "OTHER=1");
    assert_int_equal (desc->time_limit, 1440);
    assert_int_equal (desc->cpus_per_task, 80);
    assert_string_equal (desc->tres_per_node, GPU "a100:4");
    assert_null (desc->admin_comment);
}

TEST ("forged entries are refused and removed")
{
    const size_t size = 1024 * 1024;

    start_plugin (ENFORCE);
    assert_forgery ("DNNEST_OPTION=", "--dnnest: no metadata");
    assert_forgery ("DNNEST_OPTION=/etc/shadow",
                    "'/etc/shadow': the file was not read");
    assert_forgery ("DNNEST_OPTION=batch=\033[31m", "--dnnest: column 7");
    assert_forgery ("DNNEST_OPTION=off", NULL);
    assert_forgery ("DNNEST_SIDECAR=", "sidecar: ");
    assert_forgery (unit_text ("DNNEST_SIDECAR=%s", unit_repeat ("[", size)),
                    "sidecar: more than 16384 bytes were passed");
    for (size_t n = 16; n <= 16384; n *= 1024)
        assert_forgery (unit_text ("DNNEST_SIDECAR=%s", unit_repeat ("[", n)),
                        "sidecar: line 1, column");
    assert_forgery (unit_text ("DNNEST_OPTION=model=%s", unit_repeat ("x", size)),
                    "expected at most 4096");
}

TEST ("a comment names a file below the directory")
{
    job_desc_msg_t *desc;
    char *message;

    start_plugin (ENFORCE);
    assert_comment_untouched ("dnnest:@job.json", "sidecars of comments are not read");
    stop_plugin ();
    write_file ("job.json", SIDECAR + 15, "");
    start_plugin (unit_text ("%sSidecarDir=%s\n", ENFORCE, scratch_path ("")));
    desc = a_job ("dnnest:@job.json,steps=100");
    desc->user_id = getuid ();
    message = submit (desc);
    assert_non_null (message);
    if (strstr (message, "openat2")) /* before Linux 5.6 */
        print_message ("no openat2\n");
    else
        assert_true (desc->time_limit < 1440);
    slurm_text_free (&message);
    assert_comment_untouched ("dnnest:@../job.json", "comment: ../job.json: ");
    desc = a_job ("dnnest:@job.json");
    desc->user_id = getuid () + 1;
    assert_untouched (desc, "owned by uid");
    unlink (scratch_path ("job.json"));
}

TEST ("without configuration nothing is done")
{
    start_plugin (NULL);
    assert_int_equal (stand_in_n_errors, 0);
    assert_int_equal (stand_in_n_infos, 1);
    assert_contains (stand_in_info, "not found");
    assert_comment_untouched (RESNET, NULL);
    assert_int_equal (stand_in_n_infos, 1);
}

TEST ("a catalogue that others could write is not trusted")
{
    chmod (scratch_path ("hardware"), 0775);
    start_plugin (ENFORCE);
    assert_contains (stand_in_error, "hardware: writable by group or others");
    chmod (scratch_path ("hardware"), 0755);
}

/* slurm_conf.last_update counts seconds: two changes may have the same value. */
TEST ("other parameters are detected with the same time stamp")
{
    static char parameters[] = "dnnest_mode=observe";

    start_plugin (ENFORCE);
    slurm_conf.slurmctld_params = parameters;
    await_news ();
    assert_comment_untouched ("dnnest:colour=red", NULL);
    assert_contains (stand_in_info, "colour");
    slurm_conf.slurmctld_params = NULL;
    await_news ();
    assert_comment_untouched ("dnnest:colour=red", "; job submitted as written");
}

TEST ("a reconfiguration loads again and a broken one keeps the old")
{
    job_desc_msg_t *desc;

    start_plugin (ENFORCE);
    write_conf ("Mode=observe\n");
    reconfigure ();
    assert_comment_untouched ("dnnest:colour=red", NULL);
    write_conf (ENFORCE);
    reconfigure ();
    desc = a_job (RESNET);
    assert_moved (desc);
    write_conf ("Mode=sideways\n");
    stand_in_forget ();
    reconfigure ();
    for (int i = 0; i < 3; i++) {
        desc = a_job (RESNET);
        assert_moved (desc);
    }
    assert_int_equal (stand_in_n_errors, 1);
    assert_contains (stand_in_error, "sideways");
    unlink (scratch_path ("dnnest.conf"));
    reconfigure ();
    assert_comment_untouched (RESNET, NULL);
}

TEST ("job_modify changes nothing")
{
    job_desc_msg_t *desc;
    struct photo photo;

    start_plugin (ENFORCE);
    desc = a_job (RESNET);
    photo = photo_take (desc);
#if DN_JOB_MODIFY_SPEAKS
    char *message = NULL;

    assert_int_equal (plugin.job_modify (desc, NULL, 0, &message), SLURM_SUCCESS);
    assert_null (message);
#else
    assert_int_equal (plugin.job_modify (desc, NULL, 0), SLURM_SUCCESS);
#endif
    photo_compare (&photo, desc);
    photo_free (&photo);
}

TEST ("a bundle bounds the time, and a broken one does not replace it")
{
    uint32_t white;
    uint32_t bounded;

    start_plugin (ENFORCE);
    assert_contains (stand_in_info, "model bundle none");
    white = limit_given ();
    stop_plugin ();
    make_bundle ();
    start_plugin (ENFORCE);
    assert_int_equal (stand_in_n_errors, 0);
    assert_contains (stand_in_info, "model bundle small");
    bounded = limit_given ();
    assert_true (bounded != white);
    write_file ("bundle/step.trees", "{}", "");
    stand_in_forget ();
    for (int i = 0; i < 2; i++) {
        reconfigure ();
        assert_int_equal (limit_given (), bounded);
        /* Said once for changes within seconds; a slow machine may take longer. */
        assert_in_range (stand_in_n_errors, 1, i + 1);
        assert_contains (stand_in_error,
                         "bundle: step.trees: 2 bytes, the manifest says");
        assert_contains (stand_in_error, "the model bundle in use is kept");
    }
    write_conf ("Mode=observe\n" GPU_LINES); /* the rest of the site may change */
    reconfigure ();
    assert_int_equal (limit_given (), 1440);
    stop_plugin ();
    remove_bundle ();
}

int before_tests (void **state)
{
    return load_plugin (state);
}
