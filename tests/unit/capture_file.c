/* capture_file.c - tests of what a job has measured and described of itself
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "scratch.h"
#include "host/capture_file.h"

#include <unistd.h>

#include "state_text.h"

static const char whole[] =
    "{\"dnnest_capture\": 1, \"time\": 1700000600, \"started\": 1699999990,\n"
    " \"software\": {\"framework\": \"pytorch\", \"version\": \"2.4.0\", \"cuda\": null,"
    " \"python\": \"3.11.2\", \"arch\": [\"sm_70\", \"sm_80\", \"gfx90a:xnack-\"]},\n"
    " \"devices\": {\"seen\": 4, \"used\": 1, \"name\": \"NVIDIA A100-SXM4-40GB\"},\n"
    " \"sidecar\": {\"dnnest\": 1, \"spec\": {\"batch\": 256, \"precision\": \"bf16\"},\n"
    "   \"graph\": {\"ops\": [{\"op\": \"linear\", \"in\": [[1, 100]], "
    "\"out\": [[1, 50]], \"params\": 5050}]}},\n"
    " \"run\": {\"world\": 2, \"parallel\": \"ddp\", \"trainings\": 1, \"step\": 120,"
    " \"steps\": 5000, \"steps_per_epoch\": 500, \"epochs\": 10, \"workers\": 4,"
    " \"loader_share\": 0.02},\n"
    " \"measured\": {\"start_s\": 12.5, \"step_ms\": 210.5, \"step_p95_ms\": 230.25,"
    " \"steps\": 110, \"gpu_allocated\": 1073741824, \"gpu_reserved\": 2147483648,"
    " \"gpu_device\": 3221225472}, \"newer\": {\"any\": [1]}}\n";

/* Its sidecar is kept for the test. */
static struct dn_capture read_text (const char *text)
{
    struct dn_capture capture;

    assert_done (dn_capture_read (
        dn_span_of (text), "12.capture", DN_SIDECAR_COMPACT, &capture, &unit_err));
    unit_keep (capture.sidecar, free);
    return capture;
}

static struct dn_capture read_with (const char *old, const char *new)
{
    return read_text (text_with (whole, old, new));
}

TEST ("all members are read")
{
    struct dn_capture capture = read_text (whole);

    assert_true (capture.time_s == 1700000600 && capture.started_s == 1699999990);
    assert_string_equal (capture.framework, "pytorch");
    assert_string_equal (capture.version, "2.4.0");
    assert_string_equal (capture.cuda, "");
    assert_string_equal (capture.python, "3.11.2");
    assert_string_equal (capture.arch, "sm_70,sm_80,gfx90a");
    assert_true (capture.gpus_seen == 4 && capture.gpus_used == 1);
    assert_string_equal (capture.device, "NVIDIA A100-SXM4-40GB");
    assert_true (capture.world == 2 && capture.trainings == 1 && capture.step == 120);
    assert_true (capture.steps == 5000 && capture.steps_per_epoch == 500);
    assert_true (capture.epochs == 10 && capture.workers == 4);
    assert_string_equal (capture.parallel, "ddp");
    assert_true (capture.loader_share == 0.02 && capture.start_up_s == 12.5);
    assert_true (capture.step_ms == 210.5 && capture.step_p95_ms == 230.25);
    assert_true (capture.steps_measured == 110);
    assert_true (capture.gpu_allocated_gb == 1 && capture.gpu_reserved_gb == 2
                 && capture.gpu_device_gb == 3);
    assert_non_null (strstr (capture.sidecar, "\"precision\":\"bf16\""));
    assert_non_null (strstr (capture.sidecar, "\"linear\""));
}

TEST ("a file with only a time is read, and all else is unknown")
{
    struct dn_capture capture = read_text ("{\"dnnest_capture\": 1, \"time\": 5}");

    assert_true (capture.started_s == DN_UNSET && capture.workers == DN_UNSET);
    assert_true (isnan (capture.step_ms) && isnan (capture.gpu_device_gb));
    assert_true (capture.arch[0] == '\0' && !capture.sidecar);
}

TEST ("a member of a wrong type or out of range is unknown")
{
#define AT(member) offsetof (struct dn_capture, member)
    static const struct {
        const char *old;
        const char *new;
        size_t offset;
        int64_t count; /* or -2: a real, which is NaN; -3: a text, which is "" */
    } cases[] = {
        {"\"workers\": 4", "\"workers\": \"4\"", AT (workers), -1},
        {"\"workers\": 4", "\"workers\": 4097", AT (workers), -1},
        {"\"workers\": 4", "\"workers\": -4", AT (workers), -1},
        {"\"workers\": 4", "\"workers\": 4.5", AT (workers), -1},
        {"\"used\": 1", "\"used\": 65536", AT (gpus_used), -1},
        {"\"used\": 1", "\"used\": 1e99", AT (gpus_used), -1},
        {"0.02", "1.5", AT (loader_share), -2},
        {"210.5", "NaN", AT (step_ms), -2},
        {"210.5", "-1", AT (step_ms), -2},
        {"210.5", "[210.5]", AT (step_ms), -2},
        {"2147483648", "1e300", AT (gpu_reserved_gb), -2},
        {"\"2.4.0\"", "\"2.4\\u0007\"", AT (version), -3},
        {"\"2.4.0\"", "24", AT (version), -3},
        {"[\"sm_70\", \"sm_80\", \"gfx90a:xnack-\"]", "{\"sm_70\": 1}", AT (arch), -3},
        {"[\"sm_70\", \"sm_80\", \"gfx90a:xnack-\"]",
         "[70, \"\", \"=x\", null]",
         AT (arch),
         -3},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_capture capture = read_with (cases[i].old, cases[i].new);
        const char *at = (const char *) &capture + cases[i].offset;
        double real;
        int64_t count;

        memcpy (&real, at, sizeof (real));
        memcpy (&count, at, sizeof (count));
        if (cases[i].count == -3   ? at[0] != '\0'
            : cases[i].count == -2 ? !isnan (real)
                                   : count != DN_UNSET)
            fail_msg ("case %zu", i);
        assert_true (capture.time_s == 1700000600 && capture.steps == 5000);
    }
}

/* What is refused is also as if nothing had been there. */
static int read_in (struct dn_span text, struct dn_err *err)
{
    struct dn_capture capture;
    int rc = dn_capture_read (text, "12.capture", DN_SIDECAR_COMPACT, &capture, err);

    if (rc < 0)
        assert_true (capture.time_s == DN_UNSET && !capture.sidecar);
    dn_capture_free (&capture);
    return rc;
}

TEST ("a file that cannot be used is refused with one error")
{
    static const char *const cases[] = {
        "{`dnnest_capture`|[`dnnest_capture`|12.capture",
        "`dnnest_capture`: 1|`dnnest_capture`: 2|version 2, expected 1",
        "`dnnest_capture`: 1,||dnnest_capture",
        "`time`: 1700000600|`time`: 0|time is missing",
        "`time`: 1700000600|`time`: `now`|time is missing",
        "1700000600,|1700000600, `time`: 1,|time",
        "[1]}}|[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]}}|12.capture",
    };

    assert_wrong_rows (whole, cases, DN_N_ELEMENTS (cases), "", read_in);
}

/* A description of 'n' operators that are all different. */
static char *description (int n)
{
    size_t size = 128 + (size_t) n * 96;
    char *text = unit_keep (malloc (size), free);
    struct dn_buf buf = dn_buf_on (text, size);

    dn_buf_add (
        &buf,
        "{\"dnnest_capture\":1,\"time\":5,\"sidecar\":{\"dnnest\":1,\"spec\":{},"
        "\"graph\":{\"ops\":[");
    for (int i = 0; i < n; i++)
        dn_buf_add (
            &buf,
            "%s{\"op\":\"linear\",\"in\":[[1,%d]],\"out\":[[1,%d]],\"params\":%d}",
            i > 0 ? "," : "",
            1000 + i * 13 % 101,
            1000 + i * 31 % 99,
            1 + i * 17);
    dn_buf_add (&buf, "]}}}");
    assert_false (buf.cut);
    return text;
}

TEST ("a long description is made short, and a longer one is dropped")
{
    char *text = description (500);
    struct dn_capture capture = read_text (text);

    assert_non_null (capture.sidecar);
    assert_true (strlen (capture.sidecar) <= DN_CAPTURE_SIDECAR_MAX);
    text = description (3000);
    assert_true (strlen (text) < DN_CAPTURE_BYTES_MAX);
    capture = read_text (text);
    assert_null (capture.sidecar);
    assert_true (capture.time_s == 5);
    capture = read_with ("\"batch\": 256", "\"patch\": 256");
    assert_null (capture.sidecar);
    assert_true (capture.gpus_seen == 4);
}

TEST ("what is kept is read again, without what was measured")
{
    struct dn_capture capture = read_text (whole);
    char *kept = unit_keep (dn_capture_write (&capture), free);
    struct dn_capture again = read_text (kept);
    char *twice = unit_keep (dn_capture_write (&again), free);
    struct dn_capture as_it_is;

    assert_null (strstr (kept, "measured"));
    assert_null (strchr (kept, '\n'));
    assert_string_equal (kept, twice);
    assert_string_equal (again.sidecar, capture.sidecar);
    assert_string_equal (again.arch, capture.arch);
    assert_true (again.steps == 5000 && again.loader_share == 0.02);
    assert_int_equal (
        dn_capture_read (
            dn_span_of (kept), "kept", DN_SIDECAR_AS_KEPT, &as_it_is, NULL),
        0);
    assert_string_equal (as_it_is.sidecar, capture.sidecar);
    dn_capture_free (&as_it_is);
}

TEST ("the steps of a run are reports of progress")
{
    struct dn_capture capture = read_text (whole);
    struct dn_progress progress;

    assert_true (dn_capture_progress (&capture, &progress));
    assert_int_equal (progress.n_reports, 2);
    assert_true (progress.reports[0].time_s == 1700000002
                 && progress.reports[0].done == 10);
    assert_true (progress.reports[1].time_s == 1700000600
                 && progress.reports[1].done == 120
                 && progress.reports[1].total == 5000);
    capture = read_with ("\"steps\": 5000, ", "");
    assert_true (dn_capture_progress (&capture, &progress));
    assert_int_equal (progress.reports[1].total, 5000);
}

TEST ("no progress is made of what is not known")
{
    static const char *const cases[][2] = {
        {"\"trainings\": 1", "\"trainings\": 2"},
        {"\"steps\": 5000, \"steps_per_epoch\": 500", "\"steps_per_epoch\": null"},
        {"\"step\": 120", "\"step\": 5001"},
        {"\"step\": 120", "\"step\": null"},
        {"\"steps\": 110", "\"steps\": 121"},
        {"\"steps\": 110", "\"steps\": 0"},
        {"\"start_s\": 12.5", "\"start_s\": null"},
        {"\"start_s\": 12.5", "\"start_s\": 100000"},
        {"\"started\": 1699999990", "\"started\": null"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_capture capture = read_with (cases[i][0], cases[i][1]);
        struct dn_progress progress;

        if (dn_capture_progress (&capture, &progress))
            fail_msg ("case %zu", i);
        assert_int_equal (progress.n_reports, 0);
    }
}

TEST ("the steps of a capture count where a job has reported nothing")
{
    const char *dir = scratch_path ("");
    struct dn_progress progress;
    struct dn_err err = {0};

    assert_int_equal (dn_job_progress (dir, 12, geteuid (), &progress, &err), -1);
    scratch_put ("12.capture", whole);
    assert_int_equal (dn_job_progress (dir, 12, geteuid () + 1, &progress, &err), -1);
    assert_int_equal (progress.n_reports, 0);
    assert_int_equal (dn_job_progress (dir, 12, geteuid (), &progress, &err), 0);
    assert_numbers ("2 5000", progress.n_reports, progress.reports[1].total);
    scratch_put ("12", "dnnest-progress 1\nout_of_memory 7\n");
    assert_int_equal (dn_job_progress (dir, 12, geteuid (), &progress, &err), 0);
    assert_true (progress.n_reports == 2 && progress.out_of_memory_s == 7);
    scratch_put ("12", "dnnest-progress 1\nreport 7 1 90\n");
    assert_int_equal (dn_job_progress (dir, 12, geteuid (), &progress, &err), 0);
    assert_true (progress.n_reports == 1 && progress.reports[0].total == 90);
    scratch_put ("12", "dnnest-progress 9\n");
    scratch_put ("12.capture", "{");
    assert_int_equal (dn_job_progress (dir, 12, geteuid (), &progress, &err), -1);
    assert_contains (err.text, "version 9");
}
