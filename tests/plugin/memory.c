/* memory.c - memory and threads of the built plugin in a simulated slurmctld
 *
 * DNNEST_DECISIONS in the environment sets the number of submissions. The default is
 * for the check; use a million for a close measurement. Results are printed as
 * comments.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "large_site.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DECISIONS      24000
#define DECISIONS_MAX  1000000000
#define N_SAMPLES      10
#define RESIDENT_MAX_K (64 * 1024)

/* By how much the heap may grow: the way in which malloc () splits blocks settles
 * slowly. A block has 32 bytes: a leak of one in every hundredth submission is found.
 */
#define GROWTH_MAX 3000

/* The same where two threads allocate and free: an event has more than 1 KiB, and
 * hundreds are queued.
 */
#define TRACE_GROWTH_MAX 32000

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static long resident_before_k; /* before the plugin was loaded */

/* "VmRSS", in KiB. */
static long resident_k (void)
{
    FILE *file = fopen ("/proc/self/status", "r");
    char line[256];
    long k = 0;

    assert_non_null (file);
    while (fgets (line, sizeof (line), file))
        if (strncmp (line, "VmRSS:", 6) == 0)
            k = strtol (line + 6, NULL, 10);
    fclose (file);
    assert_true (k > 0);
    return k;
}

/* Bytes of blocks that are in use; 0 if unknown. */
static size_t heap_bytes (void)
{
    return SANITIZED ? 0 : mallinfo2 ().uordblks;
}

static long n_decisions (void)
{
    const char *text = getenv ("DNNEST_DECISIONS");
    long n = text ? strtol (text, NULL, 10) : DECISIONS;

    assert_true (n >= 100 && n <= DECISIONS_MAX);
    return n;
}

static void submit_one (enum large_job kind)
{
    job_desc_msg_t desc;

    make_large_job (&desc, kind);
    submit_and_free (&desc);
}

static void submit_many (long n)
{
    for (long i = 0; i < n; i++)
        submit_one ((enum large_job) (i % N_LARGE_JOBS));
}

TEST ("bundle and predictor fit into 64 MiB")
{
    long loaded_k = resident_k ();
    long started_k;

    start_plugin (LARGE_SITE);
    assert_contains (stand_in_info, "model bundle default");
    started_k = resident_k ();
    submit_one (LARGE_RESNET);
    print_message ("# resident: %ld KiB by the plugin and its libraries, %ld with the "
                   "bundle, %ld after a decision\n",
                   loaded_k - resident_before_k,
                   started_k - resident_before_k,
                   resident_k () - resident_before_k);
    if (!SANITIZED)
        assert_true (resident_k () - resident_before_k <= RESIDENT_MAX_K);
    stop_plugin ();
}

TEST ("decisions leave no memory behind")
{
    long n = n_decisions ();
    size_t before = 0;
    size_t after = 0;

    start_plugin (LARGE_SITE);
    /* The first half warms up this program, its streams, the plugin's thread, and the
     * caches of malloc (), whose blocks count as in use.
     */
    for (long i = 0; i <= N_SAMPLES; i++) {
        submit_many (i > 0 ? n / N_SAMPLES : 1000L * N_LARGE_JOBS);
        after = heap_bytes ();
        if (i == N_SAMPLES / 2)
            before = after;
        print_message ("# submissions %ld: resident %ld KiB, heap %zu bytes\n",
                       n / N_SAMPLES * i,
                       resident_k (),
                       after);
    }
    stop_plugin ();
    if (after > before + GROWTH_MAX)
        fail_msg ("%zu bytes more", after - before);
}

/* Wait until the plugin's thread has taken and freed all queued events. */
static void wait_for_lines (long n)
{
    for (int i = 0; i < 600; i++) {
        if (counter ("dnnest_decision_log_lines_total")
                + counter ("dnnest_decision_log_dropped_total")
            >= n)
            return;
        usleep (100000);
    }
    fail_msg ("the decision log is not written");
}

TEST ("the log and the counters leave no memory behind")
{
    const long n = 200; /* of each described kind */
    long n_lines = 0;
    size_t before = 0;
    size_t after = 0;

    start_plugin (with_traces (LARGE_SITE));
    for (int round = 0; round < 2; round++) {
        before = after;
        for (long i = 0; i < n; i++)
            for (int kind = LARGE_RESNET; kind < N_LARGE_JOBS; kind++)
                submit_one ((enum large_job) kind);
        n_lines += n * (N_LARGE_JOBS - LARGE_RESNET);
        wait_for_lines (n_lines);
        after = heap_bytes ();
    }
    stop_plugin ();
    forget_traces ();
    if (after > before + TRACE_GROWTH_MAX)
        fail_msg ("%zu bytes more", after - before);
}

static void *submit_in_thread (void *unused)
{
    submit_one (LARGE_RESNET);
    return unused;
}

TEST ("predicting starts no thread")
{
    int before = count_threads ();
    pthread_t thread;

    start_plugin (LARGE_SITE);
    /* The one that reads and writes files. */
    assert_int_equal (count_threads (), before + 1);
    submit_one (LARGE_RESNET);
    assert_int_equal (count_threads (), before + 1);
    for (int i = 0; i < 20; i++) {
        assert_int_equal (pthread_create (&thread, NULL, submit_in_thread, NULL), 0);
        assert_int_equal (pthread_join (thread, NULL), 0);
    }
    reconfigure ();
    submit_one (LARGE_BERT);
    assert_int_equal (count_threads (), before + 1);
    stop_plugin ();
    assert_int_equal (count_threads (), before);
}

static pid_t submit_in_child (job_desc_msg_t *desc)
{
    char *message = NULL;
    pid_t child = fork ();

    assert_true (child >= 0);
    if (child == 0) {
        alarm (60); /* if it hangs */
        plugin.job_submit (desc, desc->user_id, &message);
        _exit (message || desc->time_limit != 1440);
    }
    return child;
}

/* slurmctld forks to run other programs. It does not submit in the child, but a
 * submission there must do no harm: it may take no lock, and allocate no memory.
 */
TEST ("a child of a fork leaves its job unchanged")
{
    start_plugin (LARGE_SITE);
    for (int kind = LARGE_RESNET; kind <= LARGE_NEW_SIDECAR; kind++) {
        job_desc_msg_t desc;
        int status = 0;

        make_large_job (&desc, (enum large_job) kind);
        assert_int_equal (desc.time_limit, 1440);
        waitpid (submit_in_child (&desc), &status, 0);
        assert_int_equal (status, 0);
        submit_and_free (&desc);
        assert_true (desc.time_limit < 1440);
    }
    stop_plugin ();
}

int before_tests (void **state)
{
    /* A warm-up, so that the first call of malloc () and printf () is not counted. */
    print_message ("# the plugin under test, and the bundle that comes with it\n");
    resident_before_k = resident_k ();
    if (load_plugin (state) < 0)
        return -1;
    make_large_site ();
    return 0;
}
