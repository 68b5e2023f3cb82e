/* accounting.c - tests of jobs/accounting: what sacct prints, in pieces of any length
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "finished_text.h"
#include "jobs/accounting.h"

#define SEEN_MAX 4

struct seen {
    int n;
    int stop; /* what take () returns */
    struct dn_finished jobs[SEEN_MAX];
    char *text[SEEN_MAX]; /* job, name, state, gpu, host, comment */
};

static int take (void *to, const struct dn_accounted *job)
{
    struct seen *seen = to;

    const struct dn_finished *j = &job->job;

    assert_true (seen->n < SEEN_MAX);
    seen->jobs[seen->n] = *j;
    seen->text[seen->n++] = unit_text ("%s %s %s %s %s %s",
                                       j->job,
                                       j->name,
                                       j->state,
                                       j->gpu,
                                       j->host,
                                       job->admin_comment);
    return seen->stop;
}

/* Read a text whose separators are '|', in pieces of so many bytes, with "<1>". */
static enum dn_accounting_what what = DN_ACCOUNTING_ALL;

static int read_in (const char *text,
                    size_t piece,
                    struct seen *seen,
                    struct dn_err *err)
{
    struct dn_accounting *accounting = dn_accounting_new (what, "<1>", take, seen);
    char *whole = unit_keep (calloc (3, strlen (text) + 1), free);
    size_t len = 0;
    int rc = 0;

    assert_non_null (accounting);
    for (; *text; text++)
        if (*text == '|') {
            memcpy (whole + len, "<1>", 3);
            len += 3;
        } else {
            whole[len++] = *text;
        }
    for (size_t at = 0; at < len && rc == 0; at += piece)
        rc = dn_accounting_feed (
            accounting,
            (struct dn_span){whole + at, at + piece < len ? piece : len - at},
            err);
    if (rc == 0)
        rc = dn_accounting_end (accounting);
    dn_accounting_free (accounting);
    return rc;
}

#define JOB                                                                            \
    "11|3_1|c|ann|7|lab|gpu|normal|a\nb|1700000000|1700000001|1700000010|1700000110|"  \
    "00:00:10|5|CANCELLED by 7|2|n[08-9],m|"                                           \
    "billing=4,cpu=4,gres/gpu:a100=2,gres/gpu=2,mem=20480M,node=2|"                    \
    "1-00:00:02.250||{\"dnnest\":1}|0:15\n"
#define STEP                                                                             \
    "11.0|3_1.0|c|||lab|||python|1700000010|1700000010|1700000010|1700000110|00:00:00||" \
    "COMPLETED|2|n[08-9]|cpu=4|00:02.250|cpu=00:00:02,mem=4294967296||0:0\n"
#define RUNNING                                                                        \
    "12|12|c|ann|7|lab|gpu|normal|b|1700000000|1700000001|1700000010|Unknown|"         \
    "00:00:00|UNLIMITED|RUNNING|1|m|cpu=1|00:00:00|||0:0\n"

TEST ("a job has what sacct says of it and of its steps, however the pieces are cut")
{
    static const size_t pieces[] = {1, 2, 7, 100000};

    for (size_t i = 0; i < DN_N_ELEMENTS (pieces); i++) {
        struct seen seen = {.n = 0};

        assert_int_equal (read_in (JOB STEP RUNNING, pieces[i], &seen, NULL), 0);
        assert_int_equal (seen.n, 2);
        assert_string_equal (seen.text[0], "3_1 a?b CANCELLED a100 n08 {\"dnnest\":1}");
        assert_finished (
            &seen.jobs[0],
            "raw_id=11 user=7 limit_s=300 suspended_s=10 exit_code=143 "
            "gpus=2 cpus=4 nodes=2 cpu_s=86402.25 host_mem_gb=2 mem_gb=20");
    }
}

TEST ("a job that runs has no end, and what was not measured is unknown")
{
    struct seen seen = {.n = 0};

    assert_int_equal (read_in (RUNNING, 100, &seen, NULL), 0);
    assert_int_equal (seen.n, 1);
    assert_finished (&seen.jobs[0],
                     "end_s= start_s=1700000010 limit_s=unlimited gpus=0 cpu_s= "
                     "host_mem_gb=");
}

TEST ("a name with what looks like another job is a name")
{
    static const char line[] =
        "11|11|c|ann|7|lab|gpu|normal|x\n99;99;c;root;0\n\n|1700000000|1700000001|"
        "1700000010|1700000110|00:00:00|5|COMPLETED|1|m|cpu=1|00:01.000|||0:0\n";
    struct seen seen = {.n = 0};

    assert_int_equal (read_in (line, 10, &seen, NULL), 0);
    assert_numbers ("1 11", seen.n, seen.jobs[0].raw_id);
    assert_string_equal (seen.text[0], "11 x?99;99;c;root;0?? COMPLETED  m ");
}

TEST ("lines that are none of a job's are left out, and what is too long ends it")
{
    struct seen seen = {.n = 0};

    assert_done (read_in ("\n\nsomething else\n", 5, &seen, &unit_err));
    assert_done (read_in (STEP, 5, &seen, &unit_err));
    assert_int_equal (seen.n, 0);
    assert_int_equal (
        read_in (
            unit_repeat ("x", DN_ACCOUNTING_RECORD_MAX + 1), 1000, &seen, &unit_err),
        -1);
    assert_int_equal (unit_err.code, DN_E_LIMIT);
}

TEST ("the reader may end it")
{
    struct seen seen = {.n = 0, .stop = 5};

    assert_int_equal (read_in (JOB RUNNING, 100, &seen, NULL), 5);
    assert_int_equal (seen.n, 1);
}

TEST ("a record of what was used has fewer columns, and the same use")
{
    static const char text[] =
        "12|12_3|a\nb|1000|4600|00:00:00|60|COMPLETED|1|cpu=4,gres/gpu:a100=2,mem=8G|"
        "01:00:00||x\ny|0:0\n"
        "12.batch|12_3.batch|batch|1000|4600|00:00:00||COMPLETED|1|cpu=4|01:00:00|"
        "cpu=1,mem=1073741824||0:0\n";
    char names[512];
    struct dn_buf buf = dn_buf_on (names, sizeof (names));
    struct seen seen = {.n = 0};

    dn_accounting_columns (DN_ACCOUNTING_USE, &buf);
    assert_string_equal (
        names,
        "JobIDRaw,JobID,JobName,Start,End,Suspended,TimelimitRaw,State,"
        "NNodes,AllocTRES,TotalCPU,TRESUsageInTot,AdminComment,"
        "ExitCode,");
    what = DN_ACCOUNTING_USE;
    assert_int_equal (read_in (text, 7, &seen, NULL), 0);
    what = DN_ACCOUNTING_ALL;
    assert_int_equal (seen.n, 1);
    assert_string_equal (seen.text[0], "12_3 a?b COMPLETED a100  x?y");
    assert_finished (&seen.jobs[0], "gpus=2 cpu_s=3600 host_mem_gb=1 mem_gb=8 user=");
}
