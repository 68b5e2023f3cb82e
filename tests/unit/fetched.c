/* fetched.c - answers of slurmrestd and of Prometheus, those of other versions, and
 * hostile ones
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "collect/http.h"
#include "collect/prometheus.h"
#include "collect/slurmrestd.h"
#include "unit.h"

#define IN_22_05                                                                       \
    "{\"meta\":{\"x\":[1]},\"errors\":[],\"jobs\":[{\"account\":\"research\","         \
    "\"comment\":{\"administrator\":\"note\"},\"allocation_nodes\":2,"                 \
    "\"array\":{\"job_id\":10,\"task_id\":3,\"task\":null},\"cluster\":\"c\","         \
    "\"time\":{\"eligible\":100,\"end\":400,\"start\":200,\"submission\":90,"          \
    "\"suspended\":0,\"limit\":60},\"exit_code\":{\"status\":\"SUCCESS\","             \
    "\"return_code\":0},\"het\":{\"job_id\":0,\"job_offset\":null},\"job_id\":12,"     \
    "\"nodes\":\"n[07-9]x,m1\",\"state\":{\"current\":\"FAILED\"},\"steps\":[],"       \
    "\"tres\":{\"allocated\":[{\"type\":\"cpu\",\"name\":null,\"count\":8},"           \
    "{\"type\":\"mem\",\"name\":null,\"count\":2048},"                                 \
    "{\"type\":\"energy\",\"name\":null,\"count\":-2},"                                \
    "{\"type\":\"gres\",\"name\":\"gpu:a100\",\"count\":4}]},\"user\":\"root\"}]}"

#define IN_24_11                                                                       \
    "{\"jobs\":[{\"cluster\":\"c\",\"job_id\":13,\"restart_cnt\":1,"                   \
    "\"array\":{\"job_id\":0,\"task_id\":{\"set\":false,\"number\":0},\"task\":\"\"}," \
    "\"het\":{\"job_id\":13,\"job_offset\":{\"set\":true,\"number\":1}},"              \
    "\"time\":{\"eligible\":100,\"end\":400,\"start\":4294967294,\"submission\":90,"   \
    "\"limit\":{\"set\":false,\"infinite\":true,\"number\":0}},"                       \
    "\"exit_code\":{\"status\":[\"SIGNALED\"],\"return_code\":{\"set\":true,"          \
    "\"number\":0},\"signal\":{\"id\":{\"set\":true,\"number\":9}}},"                  \
    "\"state\":{\"current\":[\"CANCELLED\"]},\"tres\":{\"allocated\":[]},"             \
    "\"user\":\"nobody-of-this-name\"}],\"warnings\":[]}"

struct seen {
    int n;
    struct dn_finished job;
    char id[64], host[64], gpu[64], state[64], comment[64];
};

static int see (void *to, const struct dn_finished *job, const char *comment)
{
    struct seen *seen = to;

    seen->n++;
    seen->job = *job;
    snprintf (seen->id, sizeof (seen->id), "%s", job->job);
    snprintf (seen->host, sizeof (seen->host), "%s", job->host);
    snprintf (seen->gpu, sizeof (seen->gpu), "%s", job->gpu);
    snprintf (seen->state, sizeof (seen->state), "%s", job->state);
    snprintf (seen->comment, sizeof (seen->comment), "%s", comment ? comment : "");
    return 0;
}

static int read_jobs (const char *text, struct seen *seen, struct dn_err *err)
{
    struct dn_period period = {300, 500};

    memset (seen, 0, sizeof (*seen));
    return dn_slurmrestd_read (dn_span_of (text), "c", period, see, seen, err);
}

TEST ("a job of Slurm 22.05 is read")
{
    struct seen seen;

    assert_int_equal (read_jobs (IN_22_05, &seen, NULL), 0);
    assert_int_equal (seen.n, 1);
    assert_string_equal (seen.id, "10_3");
    assert_string_equal (seen.host, "n07x");
    assert_string_equal (seen.gpu, "a100");
    assert_string_equal (seen.state, "FAILED");
    assert_string_equal (seen.comment, "note");
    assert_int_equal (seen.job.gpus, 4);
    assert_int_equal (seen.job.cpus, 8);
    assert_near (seen.job.mem_gb, 2);
    assert_int_equal (seen.job.limit_s, 3600);
    assert_int_equal (seen.job.user, 0);
    assert_int_equal (seen.job.exit_code, DN_UNSET);
}

TEST ("a job of Slurm 24.11 is read")
{
    struct seen seen;

    assert_int_equal (read_jobs (IN_24_11, &seen, NULL), 0);
    assert_int_equal (seen.n, 1);
    assert_string_equal (seen.id, "13+1");
    assert_string_equal (seen.state, "CANCELLED");
    assert_int_equal (seen.job.start_s, 400);
    assert_int_equal (seen.job.limit_s, DN_UNLIMITED);
    assert_int_equal (seen.job.exit_code, 137);
    assert_int_equal (seen.job.restarts, 1);
    assert_int_equal (seen.job.user, DN_UNSET);
}

/* Every prefix of an answer, and every answer with a byte replaced. */
TEST ("an answer that is cut or wrong is refused")
{
    static const char bytes[] = "\"{}[],:\\0 ";
    char text[sizeof (IN_22_05)];
    struct seen seen;
    struct dn_err err;

    for (size_t len = 0; len < sizeof (IN_22_05) - 1; len++) {
        memcpy (text, IN_22_05, len);
        text[len] = '\0';
        err.code = DN_E_NONE;
        assert_int_equal (read_jobs (text, &seen, &err), -1);
        assert_int_not_equal (err.code, DN_E_NONE);
        for (size_t i = 0; i < sizeof (bytes) - 1; i++) {
            memcpy (text, IN_22_05, sizeof (text));
            text[len] = bytes[i];
            read_jobs (text, &seen, &err);
        }
    }
    assert_int_equal (read_jobs ("{\"jobs\": []}", &seen, &err), 0);
    assert_int_equal (read_jobs ("{\"jobs\": []} x", &seen, &err), -1);
    assert_int_equal (read_jobs ("{\"jobs\": [1]}", &seen, &err), -1);
}

TEST ("the newest version that is understood is asked")
{
    char escaped[] =
        "{\"\\/slurmdb\\/v0.0.36\\/jobs\":1,\"\\/slurmdb\\/v0.0.38\\/jobs\":1}";
    char later[] = "{\"/slurmdb/v0.0.42/jobs/\":1,\"/slurmdb/v0.0.77/jobs/\":1}";
    char other[] = "{\"/slurm/v0.0.38/jobs\":1}";
    char text[1024];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    assert_int_equal (dn_slurmrestd_version (escaped), 38);
    assert_int_equal (dn_slurmrestd_version (later), 42);
    assert_int_equal (dn_slurmrestd_version (other), 0);
    assert_true (dn_slurmrestd_query (38, (struct dn_period){10, 20}, &buf));
    assert_contains (text, "/jobs?start_time=uts10&end_time=uts19&state=COMPLETED%2C");
    buf = dn_buf_on (text, sizeof (text));
    assert_true (dn_slurmrestd_query (42, (struct dn_period){10, 20}, &buf));
    assert_contains (text,
                     "/jobs/?start_time=uts10&end_time=uts19&state=COMPLETED&state=");
}

TEST ("figures of Prometheus are read, and no others")
{
    static const char answer[] =
        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
        "{\"metric\":{\"dnnest\":\"Utilisation\"},\"value\":[1.5,\"0.25\"]},"
        "{\"metric\":{\"dnnest\":\"Memory\"},\"value\":[1.5,\"2147483648\"]},"
        "{\"metric\":{\"dnnest\":\"Power\"},\"value\":[1.5,\"NaN\"]},"
        "{\"metric\":{},\"value\":[1.5]}]}}";
    struct dn_finished job;
    struct dn_err err = {.code = DN_E_NONE};

    dn_finished_clear (&job);
    assert_int_equal (dn_prometheus_read (dn_span_of (answer), &job, &err), 1);
    assert_near (job.gpu_utilisation, 0.25);
    assert_near (job.gpu_mem_gb, 2);
    assert_true (isnan (job.power_w));
    assert_int_equal (
        dn_prometheus_read (dn_span_of ("{\"status\":\"error\"}"), &job, &err), -1);
}

TEST ("GPUs that are idle for all of a run are not used")
{
    static const struct {
        int64_t gpus;
        int64_t said; /* by the run itself */
        int64_t ran_s;
        int64_t used;
    } cases[] = {{4, DN_UNSET, 600, 1},
                 {4, DN_UNSET, 599, DN_UNSET},
                 {4, 2, 3600, 2},
                 {4, 0, 3600, 1},
                 {3, DN_UNSET, 3600, 0},
                 {2, DN_UNSET, 3600, DN_UNSET},
                 {0, DN_UNSET, 3600, DN_UNSET}};
    static const char answer[] =
        "{\"status\":\"success\",\"data\":{\"result\":["
        "{\"metric\":{\"dnnest\":\"Idle\"},\"value\":[1.5,\"3\"]}]}}";
    struct dn_err err = {.code = DN_E_NONE};

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_finished job;

        dn_finished_clear (&job);
        job.gpus = cases[i].gpus;
        job.gpus_used = cases[i].said;
        job.start_s = 1000;
        job.end_s = 1000 + cases[i].ran_s;
        assert_int_equal (dn_prometheus_read (dn_span_of (answer), &job, &err), 1);
        assert_int_equal (job.gpus_used, cases[i].used);
    }
}

TEST ("expressions are filled in and encoded")
{
    struct dn_expressions of;
    struct dn_finished job;
    struct dn_err err;
    char text[8192];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    assert_int_equal (
        dn_expressions_read (
            dn_span_of ("# ours\nPower=p{job=\"%j\",h=\"%h\"}[%ss]\n"), "f", &of, &err),
        0);
    dn_finished_clear (&job);
    job.raw_id = 7;
    job.host = "n\"1";
    job.start_s = 100;
    assert_false (dn_prometheus_query (&of, &job, &buf));
    job.end_s = 160;
    assert_true (dn_prometheus_query (&of, &job, &buf));
    assert_contains (text,
                     "query?time=160&query=label_replace%28%28"
                     "p%7Bjob%3D%227%22%2Ch%3D%22n1%22%7D%5B60s%5D%29");
    assert_int_equal (dn_expressions_read (dn_span_of ("\nHeat=1"), "f", &of, &err),
                      -1);
    assert_contains (err.text, "f: line 2: 'Heat': expected Utilisation=");
}
