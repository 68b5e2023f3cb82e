/* pace.c - tests of reports of progress, and of the time that a job needs by them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "guard/guard_plan.h"

#define START INT64_C (1700000000)

/* A run that reports each unit: the first after 'first_s', others after 'each_s'. */
static struct dn_progress run_of (int n, int64_t total, int64_t first_s, int64_t each_s)
{
    struct dn_progress progress = {.n_reports = 0};

    for (int i = 0; i < n; i++) {
        const struct dn_progress_report report = {
            START + first_s + i * each_s, i + 1, total};

        dn_progress_add (&progress, &report);
    }
    return progress;
}

static struct dn_pace pace_at (const struct dn_progress *progress, int64_t ran_s)
{
    const struct dn_pace_job job = {START, START + ran_s, ran_s, 60};

    return dn_pace_needed (progress, &job);
}

TEST ("a text is read as it was written")
{
    struct dn_progress progress = run_of (5, 90, 10, 100);
    struct dn_progress again;
    char text[DN_PROGRESS_BYTES_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    progress.out_of_memory_s = START + 1000;
    dn_progress_write (&progress, &buf);
    assert_false (buf.cut);
    assert_int_equal (dn_progress_read (dn_span_of (text), "12", &again, NULL), 0);
    assert_memory_equal (&again, &progress, sizeof (again));
}

TEST ("the largest file fits")
{
    struct dn_progress progress = {.n_reports = DN_PROGRESS_REPORTS_MAX,
                                   .out_of_memory_s = INT64_C (99999999999)};
    char text[DN_PROGRESS_BYTES_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    for (int i = 0; i < DN_PROGRESS_REPORTS_MAX; i++)
        progress.reports[i] = (struct dn_progress_report){
            INT64_C (99999999999), DN_PROGRESS_COUNT_MAX, DN_PROGRESS_COUNT_MAX};
    dn_progress_write (&progress, &buf);
    assert_false (buf.cut);
}

/* Read the head of a file, and so many bytes of 'text' behind it. */
static int read_behind (const char *text, size_t len)
{
    struct dn_progress progress;
    char *whole = unit_text ("dnnest-progress 1\n%s", unit_repeat (text, len));

    return dn_progress_read (dn_span_of (whole), "12", &progress, &unit_err);
}

TEST ("bad files are refused")
{
    static const char *const bad[] = {
        "",
        "\n",
        "garbage",
        "dnnest-progress",
        "dnnest-progress 2\n",
        "dnnest-progress 1\nreport\n",
        "dnnest-progress 1\nreport 1 2\n",
        "dnnest-progress 1\nreport 0 1 2\n",
        "dnnest-progress 1\nreport 1 -1 2\n",
        "dnnest-progress 1\nreport 1 1 0\n",
        "dnnest-progress 1\nreport 1 1 2 3\n",
        "dnnest-progress 1\nreport 1 1 99999999999999999999\n",
        "dnnest-progress 1\nreport 1 nan 2\n",
        "dnnest-progress 1\nout_of_memory\n",
        "dnnest-progress 1\nhello 1\n",
        "dnnest-progress 1 report 1 1 2\nx",
    };
    struct dn_progress progress;

    for (size_t i = 0; i < DN_N_ELEMENTS (bad); i++) {
        assert_error (
            dn_progress_read (dn_span_of (bad[i]), "12", &progress, &unit_err), "12: ");
        assert_int_equal (progress.n_reports, 0);
    }
    assert_error (read_behind ("report 1 1 2\n", 13 * (DN_PROGRESS_REPORTS_MAX + 1)),
                  "more than 64 reports");
    assert_error (read_behind ("\n", DN_PROGRESS_BYTES_MAX), "12: ");
}

TEST ("reports are thinned from the first to the last")
{
    struct dn_progress progress = run_of (10000, 10000, 10, 1);

    assert_true (progress.n_reports > DN_PROGRESS_REPORTS_MAX / 2 - 1);
    assert_int_equal (progress.reports[0].done, 1);
    assert_int_equal (progress.reports[progress.n_reports - 1].done, 10000);
    for (int i = 1; i < progress.n_reports; i++)
        assert_true (progress.reports[i].done > progress.reports[i - 1].done);
}

TEST ("another run begins anew")
{
    struct dn_progress progress = run_of (5, 90, 10, 100);
    struct dn_progress_report report = {START + 1000, 1, 90};

    progress.out_of_memory_s = START + 600;
    dn_progress_add (&progress, &report);
    assert_numbers ("1 0", progress.n_reports, progress.out_of_memory_s);
    report = (struct dn_progress_report){START + 1100, 2, 80};
    dn_progress_add (&progress, &report);
    assert_int_equal (progress.n_reports, 1);
    dn_progress_add (&progress, &report);
    assert_int_equal (progress.n_reports, 1);
}

TEST ("words for progress are read")
{
    static const char *const bad[] = {
        "", "%", "1", "/", "1/", "/2", "3/2", "-1/2", "1/0", "101%", "x%", "1/2/3"};
    struct dn_progress_report report;

    assert_int_equal (dn_progress_parse (dn_span_of (" 37/90 "), &report, NULL), 0);
    assert_true (report.done == 37 && report.total == 90);
    assert_int_equal (dn_progress_parse (dn_span_of ("41.5%"), &report, NULL), 0);
    assert_true (report.done == 4150 && report.total == 10000);
    for (size_t i = 0; i < DN_N_ELEMENTS (bad); i++)
        assert_int_equal (dn_progress_parse (dn_span_of (bad[i]), &report, NULL), -1);
}

TEST ("lack of memory is seen")
{
    static const char *const lines[] = {
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
        "RuntimeError: CUDA error: out of memory",
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when",
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (lines); i++)
        assert_true (dn_says_out_of_memory (dn_span_of (lines[i])));
    assert_false (dn_says_out_of_memory (dn_span_of ("java.lang.OutOfMemoryError")));
    assert_false (dn_says_out_of_memory (dn_span_of ("")));
}

TEST ("a steady run needs what is left and a tenth")
{
    struct dn_progress progress = run_of (40, 100, 300, 60);
    struct dn_pace pace = pace_at (&progress, 300 + 39 * 60);

    /* 60 units are left, of a minute; the start of 240 s does not count as work. */
    assert_int_equal (pace.needed_s, 300 + 39 * 60 + 60 * 66 + 120);
    assert_true (pace.steady);
    /* Half a minute later half a minute less is left. */
    pace = pace_at (&progress, 330 + 39 * 60);
    assert_int_equal (pace.needed_s, 300 + 39 * 60 + 60 * 66 + 120);
}

/* A run that reports n units of 100, of which some take longer; when it has run. */
static int64_t run_unevenly (struct dn_progress *progress,
                             int n,
                             bool late,
                             int64_t long_s)
{
    int64_t ran_s = 0;

    *progress = (struct dn_progress){.n_reports = 0};
    for (int i = 0; i < n; i++) {
        if (i > 0)
            ran_s += (late ? i > 20 : (i - 1) % 16 >= 8) ? long_s : 60;
        dn_progress_add (progress,
                         &(struct dn_progress_report){START + ran_s, i + 1, 100});
    }
    return ran_s;
}

TEST ("an uneven run has a wider margin")
{
    struct dn_progress progress;
    int64_t ran_s = run_unevenly (&progress, 64, false, 140);
    struct dn_pace pace = pace_at (&progress, ran_s);

    assert_true (pace.needed_s > ran_s + 36 * 100 * 3 / 2);
    assert_false (pace.steady);
}

TEST ("a run that slows down is as slow as of late")
{
    struct dn_progress progress;
    int64_t ran_s = run_unevenly (&progress, 40, true, 90);

    assert_true (pace_at (&progress, ran_s).needed_s > ran_s + 60 * 90);
}

TEST ("reports that cannot be are ignored")
{
#define IGNORED(changes)                                                               \
    do {                                                                               \
        struct dn_progress progress = run_of (40, 100, 300, 60);                       \
        int64_t now = 300 + 39 * 60;                                                   \
                                                                                       \
        assert_true (pace_at (&progress, now).needed_s > 0);                           \
        changes;                                                                       \
        assert_int_equal (pace_at (&progress, now).needed_s, DN_UNSET);                \
    } while (0)
    IGNORED ((progress = run_of (1, 100, 300, 60), now = 300));
    IGNORED ((progress.n_reports = 0, now = 300));
    IGNORED (progress.reports[20].done = 1);
    IGNORED (progress.reports[20].total = 101);
    IGNORED (progress.reports[39].done = 101);
    IGNORED (progress.reports[20].time_s = START + 10000);
    IGNORED (now -= 100);                     /* from the future */
    IGNORED (now += 1000);                    /* they have stopped coming */
    IGNORED (progress.reports[39].done = 95); /* the pace jumps */
#undef IGNORED
}

TEST ("reports of an earlier run do not count")
{
    struct dn_progress progress = run_of (40, 100, -10000, 60);

    assert_int_equal (pace_at (&progress, 60).needed_s, DN_UNSET);
}

/* Whatever a file says, an answer is above what the job has run, and below a year. */
TEST ("no file gives an absurd answer")
{
    uint64_t seed = 1;

    for (int i = 0; i < 100000; i++) {
        struct dn_progress progress = {.n_reports = i % 8};
        struct dn_pace pace;

        for (int r = 0; r < progress.n_reports; r++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            progress.reports[r].time_s =
                START + (int64_t) (seed >> 33) % (i % 3 ? 2000 : INT64_C (4000000000));
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            progress.reports[r].done =
                (int64_t) (seed >> 33) % (i % 5 ? 10 + r * 10 : DN_PROGRESS_COUNT_MAX);
            progress.reports[r].total = i % 5 ? 100 : DN_PROGRESS_COUNT_MAX;
        }
        pace = pace_at (&progress, 2000);
        assert_true (pace.needed_s == DN_UNSET
                     || (pace.needed_s >= 2000 && pace.needed_s <= 31536000));
    }
}
