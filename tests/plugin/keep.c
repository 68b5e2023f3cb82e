/* keep.c - tests of the plugin's thread: changed files, log and counters, forks and
 * exits
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fake_site.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A change is found within four seconds; the limit allows for a busy machine. */
#define FIND_S 60

#define WAIT(holds, what)                                                              \
    for (time_t end = time (NULL) + FIND_S; !(holds); usleep (100000))                 \
        if (time (NULL) > end)                                                         \
    fail_msg ("not: %s; log: %s%s", what, stand_in_error, stand_in_info)

static void assert_becomes (bool rewritten)
{
    WAIT ((limit_given () < 1440) == rewritten, "the change is found");
}

static void assert_said (const char *text)
{
    WAIT (strstr (stand_in_error, text), text);
}

TEST ("changed files are found, and broken ones reported once")
{
    start_plugin (ENFORCE);
    assert_true (limit_given () < 1440);
    write_conf ("Mode=observe\n" GPU_LINES);
    assert_becomes (false);
    write_conf (ENFORCE);
    assert_becomes (true);
    stand_in_forget ();
    write_file ("datasets.conf", "Dataset=imagenet Samples=many\n", "");
    assert_said ("datasets.conf: line 1");
    assert_contains (stand_in_error, "the configuration in use is kept");
    assert_true (limit_given () < 1440);
    chmod (scratch_path ("datasets.conf"), 0600); /* changed, and as broken as before */
    sleep (5);
    assert_int_equal (stand_in_n_errors, 1);
    write_file ("datasets.conf",
                "Dataset=imagenet Samples=1281167 SampleBytes=110000 Decode=jpeg\n",
                "");
    chmod (scratch_path ("datasets.conf"), 0644);
    write_file ("hardware/new.conf", "Nonsense=1\n", "");
    assert_said ("hardware/new.conf: ");
    assert_true (limit_given () < 1440);
    unlink (scratch_path ("hardware/new.conf"));
    unlink (scratch_path ("dnnest.conf"));
    assert_becomes (false);
    write_conf (ENFORCE);
    assert_becomes (true);
}

static int count_rewritten (int n)
{
    int count = 0;

    for (int i = 0; i < n; i++)
        count += limit_given () < 1440;
    return count;
}

/* The job that is looked at until the change is found is the first of the two. */
TEST ("jobs beyond StartChanges are left, told so, and counted anew with Mode=enforce")
{
    char *message;
    job_desc_msg_t *desc;

    start_plugin (with_traces ("StartChanges=2\n" ENFORCE));
    assert_int_equal (count_rewritten (5), 2);
    desc = a_job (SHORT_RESNET);
    message = submit (desc);
    assert_contains (message,
                     "dnnest: job unchanged (after a start dnnest changes only some "
                     "jobs an hour (StartChanges)");
    assert_contains (desc->admin_comment, "\"verdict\":\"abstain\"");
    assert_contains (desc->admin_comment, "start_changes");
    slurm_text_free (&message);
    write_conf (with_traces ("StartChanges=2\nMode=observe\n" GPU_LINES));
    sleep (5);
    write_conf (with_traces ("StartChanges=2\n" ENFORCE));
    assert_becomes (true);
    assert_int_equal (count_rewritten (5), 1);
    stop_plugin ();
    assert_int_equal (count_lines ("log.jsonl", "\"abstained\":\"start\""), 8);
    forget_traces ();
}

TEST ("every decision is in the log when the plugin ends")
{
    job_desc_msg_t *desc;

    start_plugin (with_traces (ENFORCE));
    limit_given ();
    desc = a_job ("dnnest:colour=red");
    desc->name = slurm_text ("a\n\"b\033");
    submit_quietly (desc);
    assert_comment_untouched ("dnnest:off", NULL);
    assert_comment_untouched ("nothing", NULL);
    stop_plugin ();
    assert_int_equal (count_lines ("log.jsonl", "\"time\":"), 2);
    assert_int_equal (count_lines ("log.jsonl", "\"verdict\":\"change\""), 1);
    assert_int_equal (count_lines ("log.jsonl", "\"name\":\"a?\\\"b?\""), 1);
    assert_int_equal (count_lines ("dnnest.prom", "dnnest_opted_out_total 1\n"), 1);
    assert_int_equal (
        count_lines ("dnnest.prom", "dnnest_errors_total{kind=\"range\"} 1\n"), 1);
    forget_traces ();
}

/* A job that moves to another partition loses the text of its own. */
TEST ("the log has a job as it was submitted")
{
#define SHAPE "PerNode=4 Nodes=2 NodeCpus=96 NodeMemory=512000 MaxTime=2-0\n"
    static const char conf[] =
        "Mode=enforce EvidenceTime=words\nMaxSlowdown=9\nMinConfidence=0\n"
        "Gpu Type=a100 Device=a100_sxm4_40gb Cost=4 ByPartition=gpu-a100 " SHAPE
        "Gpu Type=v100 Device=v100_sxm2_16gb Cost=1 ByPartition=gpu-v100 " SHAPE;
    job_desc_msg_t *desc;

    start_plugin (with_traces (conf));
    desc = a_job ("dnnest:model=resnet50,batch=256,precision=fp32,epochs=1,"
                  "dataset=imagenet");
    slurm_text_free (&desc->tres_per_node);
    desc->tres_per_node = slurm_text (GPU "4");
    slurm_text_free (&desc->partition);
    desc->partition = slurm_text ("gpu-v100");
    assert_moved (desc);
    assert_string_equal (desc->partition, "gpu-a100");
    stop_plugin ();
    assert_int_equal (count_lines ("log.jsonl", "\"partition\":\"gpu-v100\""), 1);
    forget_traces ();
}

static void wait_for_child (pid_t child)
{
    int status;

    for (int i = 0; i < 600; i++) {
        if (waitpid (child, &status, WNOHANG) == child) {
            assert_true (WIFEXITED (status));
            assert_int_equal (WEXITSTATUS (status), 0);
            return;
        }
        usleep (50000);
    }
    kill (child, SIGKILL);
    fail_msg ("the child does not end");
}

/* fini () is not called on every exit. */
TEST ("a controller that only exits writes the remaining lines")
{
    pid_t child = fork ();

    if (child == 0) {
        start_plugin (with_traces (ENFORCE));
        limit_given ();
        exit (0);
    }
    wait_for_child (child);
    assert_int_equal (count_lines ("log.jsonl", "\"verdict\":\"change\""), 1);
    forget_traces ();
}

/* With a sanitizer the child would report memory of its missing thread as leaks. */
#if !defined(__SANITIZE_ADDRESS__)
TEST ("a child of a fork does not wait for a thread it lacks")
{
    time_t start = time (NULL);
    pid_t child;

    start_plugin (ENFORCE);
    child = fork ();
    if (child == 0)
        exit (0);
    wait_for_child (child);
    assert_true (time (NULL) - start < 4);
    assert_true (limit_given () < 1440);
}
#endif

TEST ("threads do not pile up")
{
    int before = count_threads ();

    for (int i = 0; i < 20; i++) {
        start_plugin (i % 2 == 0 ? ENFORCE : NULL);
        assert_int_equal (count_threads (), before + 1);
        stop_plugin ();
    }
    assert_int_equal (count_threads (), before);
}

int after_tests (void **state)
{
    forget_traces ();
    return 0;
}

/* Decisions so far that needed no prediction; ends the plugin. */
static long stop_and_count_reused (void)
{
    long n;

    stop_plugin ();
    n = counter ("dnnest_estimates_reused_total ");
    forget_traces ();
    return n;
}

TEST ("estimates are reused until the site is loaded again")
{
    job_desc_msg_t *desc;
    uint32_t limit;
    long before;

    start_plugin (with_traces (ENFORCE));
    before = stop_and_count_reused ();
    start_plugin (with_traces (ENFORCE));
    limit = limit_given ();
    assert_true (limit < 1440);
    assert_int_equal (limit_given (), limit);
    assert_int_equal (limit_given (), limit);
    desc = a_job (SHORT_RESNET);
    assert_moved (desc);
    assert_true (desc->time_limit < limit);
    reconfigure ();
    assert_int_equal (limit_given (), limit);
    assert_int_equal (limit_given (), limit);
    assert_int_equal (stop_and_count_reused () - before, 3);
}

/* The name service of this program: "anna" is user 1000, and there is no other. */
static bool has_anna;
static bool service_fails;

__attribute__ ((visibility ("default"))) int getpwnam_r (const char *restrict name,
                                                         struct passwd *restrict entry,
                                                         char *restrict text,
                                                         size_t size,
                                                         struct passwd **restrict found)
{
    *found = NULL;
    if (service_fails)
        return EIO;
    if (!has_anna || strcmp (name, "anna") != 0 || size < sizeof ("anna"))
        return 0;
    memset (entry, 0, sizeof (*entry));
    memcpy (text, "anna", sizeof ("anna"));
    entry->pw_name = text;
    entry->pw_uid = 1000;
    *found = entry;
    return 0;
}

TEST ("a user who comes and a name service that fails are told apart")
{
    static const char conf[] = ENFORCE "Policy User=anna,1234 Mode=observe\n";

    has_anna = service_fails = false;
    start_plugin (conf);
    assert_contains (stand_in_error, "User: 'anna' is not known, the name is skipped");
    assert_true (limit_given () < 1440);
    has_anna = true;
    assert_becomes (false); /* without a change of a file */
    service_fails = true;
    stand_in_forget ();
    reconfigure ();
    assert_said ("User: 'anna' cannot be looked up: ");
    assert_contains (stand_in_error, "the configuration in use is kept");
    assert_int_equal (limit_given (), 1440);
    service_fails = false;
    write_conf (ENFORCE);
    assert_becomes (true);
    stop_plugin ();
    service_fails = true;
    start_plugin (conf);
    assert_contains (stand_in_error, "jobs are not changed");
    assert_int_equal (limit_given (), 1440);
    service_fails = has_anna = false;
    assert_becomes (true); /* looked up again, and not known */
}

int before_tests (void **state)
{
    return load_plugin (state);
}
