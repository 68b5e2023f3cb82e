/* progress_text.c - fuzz target: the progress that a job reports
 *
 * What is read has no more than its bounds, is written and read as the same, and gives
 * no time beyond a year.
 *
 * Aims at: host/progress_file.c guard/guard_plan.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include "guard/guard_plan.h"

#define NOW INT64_C (1700003600)

static void check (struct dn_progress *progress)
{
    const struct dn_pace_job job = {NOW - 3600, NOW, 3600, 60};
    const struct dn_progress_report report = {NOW, 37, 90};
    struct dn_pace pace = dn_pace_needed (progress, &job);

    expect (pace.needed_s == DN_UNSET
                || (pace.needed_s >= 3600 && pace.needed_s <= 31536000),
            "a time");
    dn_progress_add (progress, &report);
    expect (progress->n_reports >= 1 && progress->n_reports <= DN_PROGRESS_REPORTS_MAX,
            "a report");
}

static void read_again (const struct dn_progress *progress)
{
    char text[DN_PROGRESS_BYTES_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    struct dn_progress again;
    struct dn_err err = {0};

    dn_progress_write (progress, &buf);
    expect (!buf.cut, "what was read is too long");
    expect_done (dn_progress_read (dn_span_of (text), "file", &again, &err) == 0,
                 "what was written is not read",
                 &err);
    expect (memcmp (&again, progress, sizeof (again)) == 0, "another progress");
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    INPUT_TEXT (text);
    struct dn_span span = {text, strlen (text)};
    struct dn_progress progress;
    struct dn_progress_report report;
    struct dn_err err = {0};

    dn_says_out_of_memory (span);
    dn_progress_parse (span, &report, NULL);
    if (dn_progress_read (span, "file", &progress, &err) == 0) {
        read_again (&progress);
        check (&progress);
    } else {
        expect_message (&err);
    }
    return 0;
}
