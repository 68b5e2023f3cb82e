/* fake_site.c - the built plugin, a site for it, and jobs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fake_site.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm_errno.h>

struct plugin plugin;
void *plugin_handle;

static int blocks_before;
char bundle_dir[256] = "none";

/* --- site ------------------------------------------------------------------------ */

SLURM_SYMBOL char *slurm_get_extra_conf_path (char *name)
{
    return slurm_text (scratch_path (name));
}

void write_file (const char *name, const char *text, const char *more)
{
    FILE *file = fopen (scratch_path (name), "w");

    assert_non_null (file);
    assert_true (fprintf (file, "%s%s", text, more) >= 0);
    assert_int_equal (fclose (file), 0);
}

/* Copy: the checkout may be writable by a group, and the plugin refuses such files. */
static void copy_device (const char *name)
{
    char *path = unit_text ("etc/hardware/%s.conf", name);

    scratch_put (path + strlen ("etc/"), unit_keep (tree_text (path), free));
}

/* Decisions on a busy machine or with a sanitizer may be slow. All jobs are changed,
 * unless the text says otherwise.
 */
void write_conf (const char *text)
{
    unlink (scratch_path ("dnnest.conf"));
    write_file ("dnnest.conf",
                unit_text ("DataDir=%s Bundle=%s\nDecisionTime=1000 StartChanges=0\n",
                           scratch_path (""),
                           bundle_dir),
                text);
}

char *cluster_name;

static bool running;

/* Those of a_job (). */
#define N_JOBS_MAX 64
static job_desc_msg_t jobs[N_JOBS_MAX];
static int n_jobs;

static void stop_if_running (void *flag)
{
    if (running)
        stop_plugin ();
}

void start_plugin (const char *conf)
{
    unit_keep (&running, stop_if_running);
    stop_if_running (NULL);
    memset (&slurm_conf, 0, sizeof (slurm_conf));
    slurm_conf.last_update = 1;
    slurm_conf.cluster_name = cluster_name;
    if (conf)
        write_conf (conf);
    else
        unlink (scratch_path ("dnnest.conf"));
    stand_in_forget ();
    blocks_before = stand_in_blocks;
    assert_int_equal (plugin.init (), SLURM_SUCCESS);
    running = true;
}

void stop_plugin (void)
{
    running = false;
    assert_int_equal (plugin.fini (), SLURM_SUCCESS);
    while (n_jobs > 0)
        job_free (&jobs[--n_jobs]);
    assert_int_equal (stand_in_blocks, blocks_before);
}

/* --- jobs ------------------------------------------------------------------------ */

/* sbatch --gres=gpu:a100:4 -c 80 -t 1-0 --mem=400000 */
void make_job (job_desc_msg_t *desc, const char *comment)
{
    static const char *const env[] = {
        "PATH=/bin", "SLURM_GPUS=a100:4", "SLURM_TRES_PER_TASK=cpu=80", NULL};

    job_init (desc);
    desc->script = slurm_text ("#!/bin/sh\nsrun hostname\n");
    desc->comment = slurm_text (comment);
    desc->tres_per_node = slurm_text (GPU "a100:4");
    desc->time_limit = 1440;
    desc->cpus_per_task = 80;
    desc->min_cpus = 80;
    desc->pn_min_cpus = 80;
    desc->pn_min_memory = 400000;
    desc->bitflags = JOB_CPUS_SET;
    desc->partition = slurm_text ("gpu");
    job_set_env (desc, env);
}

job_desc_msg_t *a_job (const char *comment)
{
    assert_true (n_jobs < N_JOBS_MAX);
    make_job (&jobs[n_jobs], comment);
    return &jobs[n_jobs++];
}

char *submit (job_desc_msg_t *desc)
{
    char *message = NULL;

    assert_int_equal (plugin.job_submit (desc, desc->user_id, &message), SLURM_SUCCESS);
    return message;
}

void submit_quietly (job_desc_msg_t *desc)
{
    char *message = submit (desc);

    slurm_text_free (&message);
}

void submit_and_free (job_desc_msg_t *desc)
{
    submit_quietly (desc);
    job_free (desc);
}

void assert_untouched (job_desc_msg_t *desc, const char *expected)
{
    struct photo photo = photo_take (desc);
    char *message = submit (desc);

    photo_compare (&photo, desc);
    photo_free (&photo);
    if (expected && !message)
        fail_msg ("no message, expected '%s'", expected);
    if (expected)
        assert_contains (message, expected);
    else if (message)
        fail_msg ("unexpected message '%s'", message);
    slurm_text_free (&message);
    job_free (desc);
}

void assert_comment_untouched (const char *comment, const char *expected)
{
    job_desc_msg_t desc;

    make_job (&desc, comment);
    assert_untouched (&desc, expected);
}

void assert_moved (job_desc_msg_t *desc)
{
    char *message = submit (desc);

    if (!message)
        fail_msg ("no message; log: %s", stand_in_info);
    assert_contains (message, "dnnest: ");
    slurm_text_free (&message);
    if (desc->time_limit >= 1440 || desc->cpus_per_task >= 80)
        fail_msg ("not moved; log: %s", stand_in_info);
}

uint32_t limit_given (void)
{
    job_desc_msg_t desc;

    make_job (&desc, RESNET);
    submit_and_free (&desc);
    return desc.time_limit;
}

/* --- traces ---------------------------------------------------------------------- */

const char *with_traces (const char *conf)
{
    return unit_text ("%sDecisionLog=%s\nCounters=%s\n",
                      conf,
                      scratch_path ("log.jsonl"),
                      scratch_path ("dnnest.prom"));
}

void forget_traces (void)
{
    unlink (scratch_path ("log.jsonl"));
    unlink (scratch_path ("dnnest.prom"));
}

int count_lines (const char *name, const char *part)
{
    FILE *file = fopen (scratch_path (name), "r");
    char line[16384];
    int n = 0;

    while (file && fgets (line, sizeof (line), file))
        n += strstr (line, part) != NULL;
    if (file)
        fclose (file);
    return n;
}

long counter (const char *name)
{
    FILE *file = fopen (scratch_path ("dnnest.prom"), "r");
    char line[512];
    long value = 0;

    while (file && fgets (line, sizeof (line), file))
        if (strncmp (line, name, strlen (name)) == 0)
            value += strtol (strrchr (line, ' '), NULL, 10);
    if (file)
        fclose (file);
    return value;
}

int count_threads (void)
{
    DIR *dir = opendir ("/proc/self/task");
    int n = -2; /* . and .. */

    assert_non_null (dir);
    while (readdir (dir))
        n++;
    closedir (dir);
    return n;
}

/* --- reconfiguration ------------------------------------------------------------- */

static long now_ms (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A job that opts out waits for the new configuration. If that times out in the plugin,
 * the machine is busy.
 */
void await_news (void)
{
    long start_ms = now_ms ();

    assert_comment_untouched ("dnnest:off", NULL);
    if (now_ms () - start_ms > 90)
        sleep (5);
}

void reconfigure (void)
{
    slurm_conf.last_update++;
    await_news ();
}

void make_bundle (void)
{
    const char *top = getenv ("abs_top_builddir");

    snprintf (bundle_dir, sizeof (bundle_dir), "%s", scratch_path ("bundle"));
    assert_int_equal (system (unit_text ("mkdir %s && %s/tests/unit/make_bundle %s",
                                         bundle_dir,
                                         top ? top : ".",
                                         bundle_dir)),
                      0);
}

void remove_bundle (void)
{
    static const char *const names[] = {"bundle/manifest.json",
                                        "bundle/step.trees",
                                        "bundle/memory.trees",
                                        "bundle/domain.points",
                                        "bundle"};

    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++)
        remove (scratch_path (names[i]));
    snprintf (bundle_dir, sizeof (bundle_dir), "none");
}

/* --- program --------------------------------------------------------------------- */

static void *find (const char *name)
{
    void *symbol = dlsym (plugin_handle, name);

    if (!symbol)
        fail_msg ("%s is not exported", name);
    return symbol;
}

int load_plugin (void **state)
{
    const char *top = getenv ("abs_top_builddir");
    const char *given = getenv ("DNNEST_PLUGIN");
    char *path = unit_text ("%s/.libs/job_submit_dnnest.so", top ? top : ".");

    plugin_handle = dlopen (given ? given : path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin_handle) {
        print_error ("%s\n", dlerror ());
        return -1;
    }
    *(void **) &plugin.init = find ("init");
    *(void **) &plugin.fini = find ("fini");
    *(void **) &plugin.job_submit = find ("job_submit");
    *(void **) &plugin.job_modify = find ("job_modify");
    umask (022);
    scratch_folder ("hardware");
    copy_device ("generations");
    copy_device ("a100_sxm4_40gb");
    copy_device ("v100_sxm2_16gb");
    scratch_put ("datasets.conf",
                 "Dataset=imagenet Samples=1281167 SampleBytes=110000 Decode=jpeg\n");
    return 0;
}
