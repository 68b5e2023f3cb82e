/* fetched.c - answers of Prometheus, and its questions
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "collect/prometheus.h"
#include "collect/prometheus.h"
#include "finished_text.h"
#include "unit.h"

TEST ("figures of Prometheus are read, and no others")
{
    static const char answer[] =
        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
        "{\"metric\":{\"dnnest\":\"Utilisation\"},\"value\":[1.5,\"0.25\"]},"
        "{\"metric\":{\"dnnest\":\"Memory\"},\"value\":[1.5,\"2147483648\"]},"
        "{\"metric\":{\"dnnest\":\"Power\"},\"value\":[1.5,\"NaN\"]},"
        "{\"metric\":{},\"value\":[1.5]}]}}";
    struct dn_finished job = finished_of ("");

    assert_int_equal (dn_prometheus_read (dn_span_of (answer), &job, &unit_err), 1);
    assert_finished (&job, "gpu_utilisation=0.25 gpu_mem_gb=2 power_w=");
    assert_int_equal (
        dn_prometheus_read (dn_span_of ("{\"status\":\"error\"}"), &job, &unit_err),
        -1);
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

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_finished job = finished_of ("start_s=1000");

        job.gpus = cases[i].gpus;
        job.gpus_used = cases[i].said;
        job.end_s = 1000 + cases[i].ran_s;
        assert_int_equal (dn_prometheus_read (dn_span_of (answer), &job, &unit_err), 1);
        assert_int_equal (job.gpus_used, cases[i].used);
    }
}

TEST ("expressions are filled in and encoded")
{
    struct dn_expressions of;
    struct dn_finished job = finished_of ("raw_id=7 host=n\"1 start_s=100");
    char text[8192];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    assert_done (
        dn_expressions_read (dn_span_of ("# ours\nPower=p{job=\"%j\",h=\"%h\"}[%ss]\n"),
                             "f",
                             &of,
                             &unit_err));
    assert_false (dn_prometheus_query (&of, &job, &buf));
    job.end_s = 160;
    assert_true (dn_prometheus_query (&of, &job, &buf));
    assert_contains (text,
                     "query?time=160&query=label_replace%28%28"
                     "p%7Bjob%3D%227%22%2Ch%3D%22n1%22%7D%5B60s%5D%29");
    assert_error (dn_expressions_read (dn_span_of ("\nHeat=1"), "f", &of, &unit_err),
                  "f: line 2: 'Heat': expected Utilisation=");
}
