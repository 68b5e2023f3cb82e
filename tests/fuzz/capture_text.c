/* capture_text.c - fuzz target: what a job has measured and described of itself
 *
 * What is read is within its bounds; what is kept of it is short, and is read and
 * written as the same.
 *
 * Aims at: host/capture_file.c import/hf_capture.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include "host/capture_file.h"
#include "import/hf_capture.h"

static void check (const struct dn_capture *capture)
{
    struct dn_progress progress;

    expect (capture->time_s > 0, "the time");
    expect (!capture->sidecar || strlen (capture->sidecar) <= DN_CAPTURE_SIDECAR_MAX,
            "the description");
    expect (capture->gpus_used <= 65535 && capture->workers <= 4096, "a count");
    expect (!(capture->loader_share < 0 || capture->loader_share > 1), "a share");
    expect (is_printable (capture->arch) && is_printable (capture->version)
                && is_printable (capture->device),
            "a text");
    if (dn_capture_progress (capture, &progress))
        for (int i = 0; i < progress.n_reports; i++)
            expect (progress.reports[i].done >= 0
                        && progress.reports[i].done <= progress.reports[i].total,
                    "a report");
}

static void write_twice (const struct dn_capture *capture)
{
    char *first = dn_capture_write (capture);
    char *second;
    struct dn_capture again;
    struct dn_err err = {0};

    expect (first && strlen (first) <= DN_CAPTURE_KEPT_MAX, "what is kept");
    expect_done (
        dn_capture_read (dn_span_of (first), "file", DN_SIDECAR_COMPACT, &again, &err)
            == 0,
        "what was written is not read",
        &err);
    second = dn_capture_write (&again);
    expect (second && strcmp (first, second) == 0, "another text");
    dn_capture_free (&again);
    free (first);
    free (second);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    INPUT_TEXT (text);
    struct dn_span span = {text, strlen (text)};
    char *described = dn_hf_capture (span);
    struct dn_capture capture;
    struct dn_err err = {0};

    if (dn_capture_read (span, "file", DN_SIDECAR_COMPACT, &capture, &err) == 0) {
        check (&capture);
        write_twice (&capture);
        dn_capture_free (&capture);
        expect_done (dn_capture_read (span, "file", DN_SIDECAR_LEFT_OUT, &capture, &err)
                             == 0
                         && !capture.sidecar,
                     "the run alone",
                     &err);
    } else {
        expect_message (&err);
    }
    dn_capture_free (&capture);
    free (described);
    return 0;
}
