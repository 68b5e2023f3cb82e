/* finished.c - tests of a finished job: its row, its record, the class of its end
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "finished_text.h"
#include "jobs/finished.h"
#include "rewrite/recorded.h"

TEST ("unknown means unknown in every column")
{
    struct dn_finished job;

    memset (&job, 0, sizeof (job));
    dn_finished_clear (&job);
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++) {
        const struct dn_finished_column *column = &dn_finished_columns[i];
        const void *member = (const char *) &job + column->offset;

        if (column->type == DN_FINISHED_TEXT)
            assert_string_equal (*(const char *const *) member, "");
        else if (column->type == DN_FINISHED_COUNT)
            assert_int_equal (*(const int64_t *) member, DN_UNSET);
        else
            assert_true (isnan (*(const double *) member));
    }
}

/* --- tables ---------------------------------------------------------------------- */

static int read_cells (const char *const names[],
                       const char *const values[],
                       int n,
                       struct dn_finished *job,
                       struct dn_err *err)
{
    const struct dn_row row = {.n_columns = n, .names = names, .values = values};

    return dn_finished_read (&row, job, err);
}

TEST ("a row is read by the names of its columns")
{
    static const char *const names[] = {
        "gpu", "unknown", "end_s", "limit_s", "asked_limit_s", "cpu_s", "job"};
    static const char *const values[] = {
        "a100", "x", "1700000100", "unlimited", "", "12.5", "12_3"};
    struct dn_finished job;

    assert_int_equal (read_cells (names, values, 7, &job, NULL), 0);
    assert_finished (&job, "gpu=a100 job=12_3 end_s=1700000100 cpu_s=12.5 start_s=");
    assert_int_equal (job.limit_s, DN_UNLIMITED);
    assert_int_equal (job.asked_limit_s, DN_UNSET);
}

TEST ("a cell that cannot be read is an error with its column")
{
    static const struct {
        const char *name;
        const char *value;
    } wrong[] = {
        {"end_s", "yesterday"},
        {"end_s", "-1"},
        {"end_s", "99999999999999999999"},
        {"submit_s", "UNLIMITED"},
        {"cpus", "1.5"},
        {"cpu_s", "nan"},
        {"power_w", "-3"},
        {"limit_s", "UNLIMITED "},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (wrong); i++) {
        struct dn_finished job;

        if (read_cells (&wrong[i].name, &wrong[i].value, 1, &job, &unit_err) == 0)
            fail_msg ("%s '%s' is accepted", wrong[i].name, wrong[i].value);
        assert_contains (unit_err.text, wrong[i].name);
    }
}

TEST ("a job ran without the time that it was suspended")
{
    struct dn_finished job = finished_of ("");

    assert_near (dn_finished_ran_s (&job), 0);
    finished_set (&job, "start_s=1000 end_s=1600");
    assert_near (dn_finished_ran_s (&job), 600);
    job.suspended_s = 100;
    assert_near (dn_finished_ran_s (&job), 500);
    job.suspended_s = 700;
    assert_near (dn_finished_ran_s (&job), 0);
}

/* --- the record ------------------------------------------------------------------ */

#define RECORD                                                                         \
    "{\"dnnest\":1,\"version\":\"0.2\",\"mode\":\"enforce\",\"verdict\":\"change\","   \
    "\"app\":\"fp:0123456789abcdef\",\"unit\":\"epochs\",\"work\":30,"                 \
    "\"req\":{\"time_s\":86400,\"gpu\":\"a100\",\"gpus\":4,\"nodes\":1,\"tasks\":2,"   \
    "\"cpus_per_task\":40,\"mem_mb\":256000},"                                         \
    "\"set\":{\"time_s\":23400,\"gpu\":\"v100\",\"cpus_each_gpu\":6,\"gpus\":2,"       \
    "\"mem_mb\":24576},"                                                               \
    "\"pred\":{\"gpu\":\"v100_sxm2_16gb\",\"step_us\":228000,\"train_s\":9000,"        \
    "\"bound_s\":12000,\"bound_bp\":8000,\"p95_s\":15000,\"p99_s\":21000,"             \
    "\"mem_mb\":13312,\"cpus_per_gpu\":6,\"conf\":65,\"bundle\":\"b7\",\"hist\":5,"    \
    "\"base_s\":8000},\"later\":[30000,40000],\"rescued\":1,"                          \
    "\"warn\":\"limit\",\"spec\":\"model=resnet50,batch=256\"}"

TEST ("of a job that was moved while it waited, times and limits are those there")
{
    struct dn_recorded recorded;
    struct dn_finished job = finished_of ("");

    dn_finished_from_record (
        &job,
        "{\"dnnest\":1,\"mode\":\"enforce\",\"verdict\":\"change\",\"req\":{\"time_s\":"
        "36000,\"gpu\":\"a100\"},\"set\":{\"time_s\":3600},\"pred\":{\"gpu\":\"a\","
        "\"train_s\":2000},\"open\":[{\"gpu\":\"a100\",\"slow\":100},{\"gpu\":\"v100\","
        "\"slow\":150}],\"steer\":{\"gpu\":\"v100\",\"time_s\":7020,\"cap_s\":70200}}",
        &recorded);
    assert_finished (&job,
                     "asked_limit_s=70200 set_limit_s=7020 asked_gpu=a100 set_gpu=v100 "
                     "likely_s=3000 pred_gpu=");
}

TEST ("a record fills what dnnest did")
{
    struct dn_recorded recorded;
    struct dn_finished job = finished_of ("");

    dn_finished_from_record (&job, "note: " RECORD " by root", &recorded);
    assert_finished (
        &job,
        "mode=enforce verdict=change warn=limit why= app=fp:0123456789abcdef "
        "work_unit=epochs work=30 asked_limit_s=86400 asked_gpu=a100 asked_cpus=80 "
        "set_limit_s=23400 set_gpu=v100 set_cpus=12 asked_gpus=4 gpus=2 set_mem_gb=24 "
        "asked_mem_gb=250 extensions=2 rescued=1 base_s=8000 likely_s=9000 "
        "bound_s=12000 bound_bp=8000 p95_s=15000 pred_gpu=v100_sxm2_16gb "
        "pred_mem_gb=13 pred_cpus=6 confidence=0.65 bundle=b7 history_runs=5 "
        "spec=model=resnet50,batch=256");
}

TEST ("a record that is missing or wrong leaves all unknown")
{
    static const char *const comments[] = {
        NULL,
        "",
        "approved by the committee",
        "{\"dnnest\":2,\"mode\":\"enforce\"}",
        "{\"dnnest\":1,\"mode\":\"enforce\"",
        RECORD RECORD,
        "{\"dnnest\":1,\"mode\":{\"mode\":1},\"req\":7,\"set\":[],\"pred\":\"x\"}",
        "{\"dnnest\":1,\"mode\":\"caf\303\251\",\"req\":{\"time_s\":-5}}",
        "{\"dnnest\":1,\"work\":1e400,\"pred\":{\"train_s\":\"9\"},\"later\":[1]}",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (comments); i++) {
        struct dn_recorded recorded;
        struct dn_finished job = finished_of ("state=COMPLETED");

        dn_finished_from_record (&job, comments[i], &recorded);
        assert_finished (
            &job,
            "mode= asked_limit_s= set_limit_s= likely_s= work= outcome=completed");
    }
}

/* Any cut of a record, and any byte of it replaced, is read without harm. */
TEST ("a damaged record does no harm")
{
    struct dn_recorded recorded;
    struct dn_finished job;
    char text[] = RECORD;

    for (size_t i = 0; i < sizeof (text) - 1; i++) {
        static const char bytes[] = "\"{}[],:9-e\\ \001\377";
        char was = text[i];

        for (size_t b = 0; b < sizeof (bytes); b++) {
            text[i] = bytes[b];
            dn_finished_clear (&job);
            dn_finished_from_record (&job, text, &recorded);
            assert_true (strlen (job.spec) < sizeof (recorded.spec));
            assert_true (job.asked_cpus >= DN_UNSET);
        }
        text[i] = was;
    }
}

/* --- the class of the end -------------------------------------------------------- */

struct ended {
    const char *state;
    int64_t ran_s;
    const char *verdict;
    int64_t asked_s, set_s, limit_s;
    enum dn_outcome outcome;
    enum dn_evidence evidence;
};

static const struct ended ends[] = {
    {"COMPLETED", 60, "", -1, -1, 3600, DN_OUTCOME_COMPLETED, DN_EVIDENCE_EXACT},
    {"FAILED", 299, "", -1, -1, 3600, DN_OUTCOME_FAILED_EARLY, DN_EVIDENCE_NOTHING},
    {"FAILED", 300, "", -1, -1, 3600, DN_OUTCOME_FAILED, DN_EVIDENCE_NOTHING},
    {"OUT_OF_MEMORY", 9, "", -1, -1, 9, DN_OUTCOME_OUT_OF_MEMORY, DN_EVIDENCE_NOTHING},
    {"CANCELLED", 60, "", -1, -1, 3600, DN_OUTCOME_CANCELLED, DN_EVIDENCE_AT_LEAST},
    {"PREEMPTED", 60, "", -1, -1, 3600, DN_OUTCOME_PREEMPTED, DN_EVIDENCE_AT_LEAST},
    {"DEADLINE", 60, "", -1, -1, 3600, DN_OUTCOME_DEADLINE, DN_EVIDENCE_AT_LEAST},
    {"REQUEUED", 60, "", -1, -1, 3600, DN_OUTCOME_REQUEUED, DN_EVIDENCE_NOTHING},
    {"NODE_FAIL", 60, "", -1, -1, 360, DN_OUTCOME_NODE_FAILURE, DN_EVIDENCE_NOTHING},
    {"BOOT_FAIL", 60, "", -1, -1, 360, DN_OUTCOME_NODE_FAILURE, DN_EVIDENCE_NOTHING},
    {"ANYTHING", 60, "", -1, -1, 3600, DN_OUTCOME_UNKNOWN, DN_EVIDENCE_NOTHING},
    /* killed at a limit: whose? */
    {"TIMEOUT", 60, "", -1, -1, 60, DN_OUTCOME_LIMIT_USER, DN_EVIDENCE_AT_LEAST},
    {"TIMEOUT", 9, "change", 99, 9, 9, DN_OUTCOME_LIMIT_OURS, DN_EVIDENCE_AT_LEAST},
    {"TIMEOUT", 9, "change", -2, 9, 9, DN_OUTCOME_LIMIT_OURS, DN_EVIDENCE_AT_LEAST},
    {"TIMEOUT", 9, "change", -1, 9, 9, DN_OUTCOME_LIMIT_OURS, DN_EVIDENCE_AT_LEAST},
    {"TIMEOUT", 9, "change", 99, 9, 99, DN_OUTCOME_LIMIT_USER, DN_EVIDENCE_AT_LEAST},
    {"TIMEOUT", 9, "change", 99, -1, 9, DN_OUTCOME_LIMIT_USER, DN_EVIDENCE_AT_LEAST},
    {"TIMEOUT", 9, "control", 99, 9, 9, DN_OUTCOME_LIMIT_USER, DN_EVIDENCE_AT_LEAST},
};

TEST ("an end has one class, and says something of the run time or nothing")
{
    for (size_t i = 0; i < DN_N_ELEMENTS (ends); i++) {
        struct dn_finished job = finished_of ("start_s=1000 mode=enforce");

        job.state = ends[i].state;
        job.end_s = 1000 + ends[i].ran_s;
        job.verdict = ends[i].verdict;
        job.asked_limit_s = ends[i].asked_s;
        job.set_limit_s = ends[i].set_s;
        job.limit_s = ends[i].limit_s;
        if (dn_outcome_of (&job) != ends[i].outcome)
            fail_msg ("row %zu (%s) is %s",
                      i,
                      ends[i].state,
                      dn_names_get (&dn_outcome_names, (int) dn_outcome_of (&job)));
        assert_int_equal (dn_outcome_evidence (ends[i].outcome), ends[i].evidence);
        job.mode = "observe";
        assert_int_not_equal (dn_outcome_of (&job), DN_OUTCOME_LIMIT_OURS);
    }
}

TEST ("the first host of a list of nodes is that of Slurm")
{
    static const char *const rows[][2] = {
        {"n1", "n1"},
        {"n[1-4],m7", "n1"},
        {"m7,n[1-4]", "m7"},
        {"rack[2-3]-n[007,9]", "rack2-n007"},
        {"n[3]x,n4", "n3x"},
        {"n[3", "n3"},
        {"None assigned", ""},
        {"", ""},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        char text[256];
        struct dn_buf host = dn_buf_on (text, sizeof (text));

        dn_first_host (rows[i][0], &host);
        assert_string_equal (text, rows[i][1]);
    }
}
