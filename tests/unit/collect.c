/* collect.c - tests of the collection of finished jobs, from a source made up here
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "a_store.h"
#include "scratch.h"
#include "collect/collecting.h"
#include "finished_text.h"

#define DAY 86400
#define NOW (INT64_C (1000) * DAY)

/* Jobs that end every 'every_s', but those in a gap, and late ones. */
struct fake {
    int64_t every_s;
    int64_t from_s;
    int64_t hidden_since_s; /* not known yet */
    int64_t hidden_until_s;
    int64_t fails_at_s; /* 0: never */
    int64_t reads;
    int64_t earliest_s;
    int64_t longest_n; /* of one answer */
    int64_t burst_s;   /* when 'burst_n' more end, over 'burst_for_s' */
    int64_t burst_for_s;
    int64_t burst_n;
    int64_t room; /* jobs of an answer that kills the process; 0: any number fits */
    int64_t most; /* of one answer without that */
    const char *comment;
    const char *name;
};

static int give (const struct fake *fake,
                 const char *cluster,
                 int64_t id,
                 int64_t end_s,
                 dn_ended_f take,
                 void *to)
{
    struct dn_finished job;

    dn_finished_clear (&job);
    job.cluster = cluster;
    job.raw_id = id;
    job.job = "12";
    job.name = fake->name;
    job.submit_s = job.start_s = end_s - 10;
    job.end_s = end_s;
    job.state = "COMPLETED";
    return take (to, &job, fake->comment);
}

/* The first job of a burst that ends at or after that time. */
static int64_t burst_at (const struct fake *fake, int64_t time_s)
{
    int64_t past_s = time_s - fake->burst_s;

    if (fake->burst_n == 0 || past_s <= 0)
        return 0;
    return past_s >= fake->burst_for_s ? fake->burst_n
                                       : past_s * fake->burst_n / fake->burst_for_s;
}

static int read_fake (void *self,
                      const char *cluster,
                      struct dn_period period,
                      dn_ended_f take,
                      void *to,
                      struct dn_err *err)
{
    struct fake *fake = self;
    int64_t first = (period.since_s + fake->every_s - 1) / fake->every_s;
    int64_t at = burst_at (fake, period.since_s);
    int64_t n = burst_at (fake, period.until_s) - at;
    int rc = 0;

    fake->reads++;
    if (fake->room > 0 && n > fake->room)
        _exit (9);
    if (fake->earliest_s == 0 || period.since_s < fake->earliest_s)
        fake->earliest_s = period.since_s;
    if (fake->fails_at_s > 0 && period.until_s > fake->fails_at_s)
        return dn_err_set (err, DN_E_TIME, "no answer");
    if (fake->most > 0 && n > fake->most)
        return dn_err_set (err, DN_E_LIMIT, "too long");
    for (int64_t i = at; rc == 0 && i < at + n; i++)
        rc = give (fake,
                   cluster,
                   INT64_C (1) << 40 | i,
                   fake->burst_s + i * fake->burst_for_s / fake->burst_n,
                   take,
                   to);
    for (int64_t i = first; rc == 0 && i * fake->every_s < period.until_s; i++) {
        int64_t end_s = i * fake->every_s;

        if (end_s < fake->from_s
            || (end_s >= fake->hidden_since_s && end_s < fake->hidden_until_s))
            continue;
        rc = give (fake, cluster, i, end_s, take, to);
        n++;
    }
    fake->longest_n = n > fake->longest_n ? n : fake->longest_n;
    return rc;
}

static struct fake fake; /* of the test */

int before_test (void **state)
{
    fake = (struct fake){.every_s = 600, .from_s = NOW - 30 * DAY, .name = "train"};
    store_remove ();
    return 0;
}

/* More jobs end from 'since_s' for so long. */
static void burst (int64_t since_s, int64_t for_s, int64_t n)
{
    fake.burst_s = since_s;
    fake.burst_for_s = for_s;
    fake.burst_n = n;
}

/* One pass at 'now_s'. Sets unit_err. */
static int pass (int64_t now_s, int64_t since_s, struct dn_collecting *c)
{
    const struct dn_source source = {"fake", &fake, read_fake, NULL};
    dn_cleanup (dn_store_cleanup) struct dn_store *store = store_open (true);

    c->source = &source;
    c->store = store;
    c->cluster = "c1";
    c->progress_dir = "";
    c->now_s = now_s;
    c->since_s = since_s;
    c->first_s = now_s - 60 * DAY;
    fake.reads = fake.earliest_s = fake.longest_n = 0;
    return dn_collect (c, &unit_err);
}

static void pass_well (int64_t now_s)
{
    struct dn_collecting c = {.after = NULL};

    assert_done (pass (now_s, DN_UNSET, &c));
}

TEST ("all jobs are stored, and later passes read little")
{
    pass_well (NOW);
    assert_int_equal (fake.earliest_s, NOW - 60 * DAY);
    assert_int_equal (store_count (NULL), 30 * 144);
    pass_well (NOW + 300);
    pass_well (NOW + 600);
    assert_int_equal (fake.earliest_s, NOW + 300 - DN_COLLECT_OVERLAP_S);
    assert_int_equal (store_count (NULL), 30 * 144 + 1);
}

TEST ("answers stay small where jobs are many")
{
    fake.every_s = 2;
    fake.from_s = NOW - 2 * DAY;
    pass_well (NOW);
    assert_int_equal (store_count (NULL), DAY);
    assert_true (fake.longest_n < DAY); /* the first of them may be long */
    pass_well (NOW + DAY);
    assert_int_equal (store_count (NULL), 3 * DAY / 2);
    assert_true (fake.longest_n <= 8000);
}

/* Passes that end by themselves or by an answer that does not fit, until one has read
 * all; how many of them.
 */
static int passes_until_done (int64_t now_s)
{
    int status = 1;
    int n = 0;

    while (status != 0 && n < 50) {
        pid_t pid = fork ();

        if (pid == 0) {
            pass_well (now_s);
            _exit (fake.longest_n > fake.room ? 8 : 0);
        }
        assert_int_equal (waitpid (pid, &status, 0), pid);
        assert_true (status == 0 || WEXITSTATUS (status) == 9);
        n++;
    }
    return n;
}

/* What the process has in memory is that of an answer: at most 5,000 jobs. */
TEST (
    "200000 jobs of an hour are read by few processes of which each has little memory")
{
    struct rusage usage;
    int n;

    burst (NOW - 5 * 3600, 3600, 200000);
    fake.room = DN_COLLECT_JOBS_MAX;
    n = passes_until_done (NOW);
    assert_true (n > 1 && n < 12);
    assert_int_equal (store_count (NULL), 30 * 144 + 200000);
    assert_int_equal (getrusage (RUSAGE_CHILDREN, &usage), 0);
#if !defined(__SANITIZE_ADDRESS__)
    assert_true (usage.ru_maxrss < 128 * 1024);
#endif
}

TEST ("a second with more jobs than fit is left out")
{
    burst (NOW - 3 * DAY, 1, 20000);
    fake.room = DN_COLLECT_JOBS_MAX;
    assert_true (passes_until_done (NOW) < 12);
    assert_int_equal (store_count (NULL),
                      30 * 144 - 1); /* one of these ended in it, too */
}

TEST ("an answer that is too long is asked for in parts")
{
    burst (NOW - DAY, 3600, 20000);
    fake.most = 1000;
    pass_well (NOW);
    assert_int_equal (store_count (NULL), 30 * 144 + 20000);
}

TEST ("an end that is known late is found")
{
    fake.hidden_since_s = NOW - DAY / 2;
    fake.hidden_until_s = NOW - 600;
    pass_well (NOW);
    pass_well (NOW + 60);
    assert_true (store_count (NULL) < 30 * 144);
    fake.hidden_until_s = fake.hidden_since_s;
    pass_well (NOW + DAY / 2);
    assert_true (store_count (NULL) < 30 * 144 + 72);
    pass_well (NOW + 2 * DAY);
    assert_int_equal (store_count (NULL), 32 * 144);
    pass_well (NOW + 2 * DAY + 60);
    assert_int_equal (fake.earliest_s, NOW + 2 * DAY - DN_COLLECT_OVERLAP_S);
}

TEST ("what was read before an error is kept, and the rest follows")
{
    struct dn_collecting c = {.after = NULL};
    int64_t n;

    fake.fails_at_s = NOW - 10 * DAY;
    assert_int_equal (pass (NOW, DN_UNSET, &c), -1);
    assert_int_equal (unit_err.code, DN_E_TIME);
    n = store_count (NULL);
    assert_true (n > 0 && n <= 20 * 144);
    fake.fails_at_s = 0;
    pass_well (NOW);
    assert_true (fake.earliest_s > NOW - 32 * DAY);
    assert_int_equal (store_count (NULL), 30 * 144);
}

static int stop (void *to, const struct dn_collecting *c)
{
    (void) to;
    return c->n_jobs > 500;
}

TEST ("a pass that is ended goes on later")
{
    struct dn_collecting c = {.after = stop};
    int passes = 1;

    while (pass (NOW, DN_UNSET, &c) == 1 && passes < 50) {
        assert_true (c.n_jobs < 2000);
        passes++;
    }
    assert_true (passes > 4 && passes < 50);
    assert_int_equal (store_count (NULL), 30 * 144);
}

TEST ("a mark never moves over jobs that were not read")
{
    struct dn_collecting c = {.after = NULL};

    pass_well (NOW - 20 * DAY);
    assert_done (pass (NOW, NOW - DAY, &c));
    assert_int_equal (store_count (NULL), 11 * 144);
    pass_well (NOW);
    assert_int_equal (store_count (NULL), 30 * 144);
    assert_done (pass (NOW, 0, &c));
    assert_int_equal (c.begun_s, 0);
    assert_int_equal (store_count (NULL), 30 * 144);
}

static int see_name (void *to, const struct dn_finished *job)
{
    snprintf (to, 2048, "%s %s", job->mode, job->name);
    return 1;
}

TEST ("names of users are tamed, and records are read")
{
    char *name = unit_repeat ("x", 2999);
    struct dn_store_filter all = dn_store_all ();
    struct dn_collecting c = {.after = NULL};
    char seen[2048] = "";

    memcpy (name, "a\nb\033", 4);
    fake.name = name;
    fake.comment = "{\"dnnest\":1,\"mode\":\"observe\"}";
    fake.every_s = DAY;
    assert_done (pass (NOW, DN_UNSET, &c));
    assert_numbers ("30 30", c.n_jobs, c.n_records);
    {
        dn_cleanup (dn_store_cleanup) struct dn_store *store =
            dn_store_open (store_path (), false, &unit_err);

        assert_int_equal (dn_store_read (store, &all, see_name, seen, &unit_err), 1);
    }
    assert_int_equal (strncmp (seen, "observe a?b?xxx", 15), 0);
    assert_int_equal (strlen (seen), strlen ("observe ") + 1023);
}

/* In memory where there is such a folder: each period is a commit. */
int before_tests (void **state)
{
    return access ("/dev/shm", W_OK) == 0 ? setenv ("TMPDIR", "/dev/shm", 1) : 0;
}

/* --- what jobs have left ---------------------------------------------------------- */

/* Not root, of whom no capture is believed. */
static uid_t user_of_jobs (void)
{
    return geteuid () > 0 ? geteuid () : 1;
}

static void leave (const char *name, const char *text)
{
    scratch_put (name, text);
    assert_int_equal (chown (scratch_path (name), user_of_jobs (), (gid_t) -1), 0);
}

static void write_capture (int64_t id, int64_t time_s, const char *more)
{
    char *name = unit_text ("%" PRId64 ".capture", id);
    char *text = unit_text (
        "{\"dnnest_capture\": 1, \"time\": %" PRId64
        ", \"devices\": {\"seen\": 4, \"used\": 1}, \"measured\": "
        "{\"step_ms\": 210.5, \"start_s\": 12, \"gpu_reserved\": 2147483648}%s}",
        time_s,
        more);

    leave (name, text);
}

static struct dn_finished a_job (int64_t id)
{
    struct dn_finished job = finished_of ("job=12");

    job.raw_id = id;
    job.user = user_of_jobs ();
    job.start_s = NOW - 1000;
    job.end_s = NOW - 10;
    return job;
}

static bool is_filled (struct dn_finished job)
{
    char *text = unit_keep (dn_captured_fill (scratch_path (""), &job), free);
    bool filled = job.step_ms == 210.5;

    assert_true (filled == (text != NULL));
    assert_true (filled || isnan (job.step_ms));
    return filled;
}

TEST ("a capture fills the columns of its own run alone")
{
    struct dn_finished job = a_job (7);
    char *text;

    assert_false (is_filled (a_job (7)));
    write_capture (7, NOW - 500, ", \"software\": {\"arch\": [\"sm_80\"]}");
    assert_true (is_filled (a_job (7)));
    assert_false (is_filled (a_job (8)));
    text = dn_captured_fill (scratch_path (""), &job);
    assert_finished (
        &job, "gpus_used=1 start_up_s=12 said_gpu_mem_gb=2 gpu_mem_gb= loader_share=");
    assert_null (strstr (text, "measured"));
    assert_contains (text, "sm_80");
    free (text);
    job.captured = "";
    job.step_ms = NAN;
    for (int other = 0; other < 2; other++) {
        job.user = other ? user_of_jobs () + 1 : 0;
        assert_false (is_filled (job));
    }
    write_capture (7, NOW - 1000 - DN_CAPTURED_SKEW_S - 1, "");
    assert_false (is_filled (a_job (7)));
    write_capture (7, NOW - 10 + DN_CAPTURED_SKEW_S + 1, "");
    assert_false (is_filled (a_job (7)));
    leave ("7.capture", "{\"dnnest_capture\": 1, \"time\": ");
    assert_false (is_filled (a_job (7)));
}

static bool exists (const char *name)
{
    struct stat st;

    return lstat (scratch_path (name), &st) == 0;
}

static void set_time (const char *name, int64_t time_s)
{
    const struct timespec times[2] = {{time_s, 0}, {time_s, 0}};

    assert_int_equal (utimensat (AT_FDCWD, scratch_path (name), times, 0), 0);
}

TEST ("the files of a job are removed unless a later run or another user wrote them")
{
    struct dn_finished other = a_job (7);
    struct dn_finished job = a_job (7);

    leave ("7", "dnnest-progress 1\n");
    leave ("8", "dnnest-progress 1\n");
    write_capture (7, NOW - 500, "");
    dn_captured_remove (scratch_path (""), &job);
    assert_true (exists ("7") && exists ("7.capture"));
    set_time ("7", NOW - 100);
    set_time ("7.capture", NOW - 100);
    set_time ("8", NOW - 100);
    other.user = user_of_jobs () + 1;
    dn_captured_remove (scratch_path (""), &other);
    assert_true (exists ("7") && exists ("7.capture"));
    dn_captured_remove (scratch_path (""), &job);
    assert_true (!exists ("7") && !exists ("7.capture") && exists ("8"));
    assert_int_equal (symlink ("8", scratch_path ("7")), 0);
    dn_captured_remove (scratch_path (""), &job);
    assert_true (exists ("7") && exists ("8"));
}
