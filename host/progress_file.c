/* progress_file.c - how far a job is, as it says itself
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/progress_file.h"
#include "base/messages.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEAD "dnnest-progress"

#define TIME_MAX INT64_C (99999999999) /* seconds; the year 5138 */

/* Percent are counted in hundredths. */
#define PERCENT 100

/* --- the file ------------------------------------------------------------------ */

static int read_number (struct dn_span *rest,
                        const char *what,
                        int64_t min,
                        int64_t max,
                        int64_t *out,
                        struct dn_err *err)
{
    struct dn_span word = dn_span_cut (rest, " ");

    if (!word.text)
        return dn_refuse (err, progress_missing, what);
    return dn_int_read (word, what, min, max, out, err);
}

static int read_report (struct dn_span rest,
                        struct dn_progress *progress,
                        struct dn_err *err)
{
    struct dn_progress_report *report = &progress->reports[progress->n_reports];

    if (progress->n_reports == DN_PROGRESS_REPORTS_MAX)
        return dn_refuse (err, progress_many, DN_PROGRESS_REPORTS_MAX);
    if (read_number (&rest, "time", 1, TIME_MAX, &report->time_s, err) < 0
        || read_number (&rest, "done", 0, DN_PROGRESS_COUNT_MAX, &report->done, err) < 0
        || read_number (&rest, "total", 1, DN_PROGRESS_COUNT_MAX, &report->total, err)
               < 0)
        return -1;
    if (rest.text && rest.len > 0)
        return dn_refuse (err, progress_numbers);
    progress->n_reports++;
    return 0;
}

static int read_line (struct dn_span rest,
                      struct dn_progress *progress,
                      struct dn_err *err)
{
    struct dn_span word = dn_span_cut (&rest, " ");

    if (dn_span_is (word, "report"))
        return read_report (rest, progress, err);
    if (dn_span_is (word, "out_of_memory"))
        return read_number (
            &rest, "time", 1, TIME_MAX, &progress->out_of_memory_s, err);
    return dn_refuse (
        err, progress_line, dn_quote (word.text ? word.text : "", word.len).text);
}

static int read_head (struct dn_span rest, struct dn_err *err)
{
    int64_t version = 0;
    struct dn_span word = dn_span_cut (&rest, " ");

    if (!dn_span_is (word, HEAD))
        return dn_refuse (err, progress_head, HEAD);
    if (read_number (&rest, "version", 0, INT32_MAX, &version, err) < 0)
        return -1;
    if (version == DN_PROGRESS_VERSION)
        return 0;
    return dn_refuse (err, version, (int) version, DN_PROGRESS_VERSION);
}

static int read_lines (struct dn_span text,
                       struct dn_progress *progress,
                       struct dn_err *err)
{
    struct dn_span line = dn_span_cut (&text, "\n");

    if (read_head (line, err) < 0)
        return -1;
    while ((line = dn_span_cut (&text, "\n")).text)
        if (line.len > 0 && read_line (line, progress, err) < 0)
            return -1;
    return 0;
}

int dn_progress_read (struct dn_span text,
                      const char *file,
                      struct dn_progress *progress,
                      struct dn_err *err)
{
    memset (progress, 0, sizeof (*progress));
    if (text.len > DN_PROGRESS_BYTES_MAX)
        dn_refuse (err, progress_size, text.len, DN_PROGRESS_BYTES_MAX);
    else if (read_lines (text, progress, err) == 0)
        return 0;
    memset (progress, 0, sizeof (*progress));
    return dn_err_wrap (err, "%s", DN_QUOTED (file));
}

void dn_progress_write (const struct dn_progress *progress, struct dn_buf *buf)
{
    dn_buf_add (buf, HEAD " %d\n", DN_PROGRESS_VERSION);
    for (int i = 0; i < progress->n_reports; i++)
        dn_buf_add (buf,
                    "report %" PRId64 " %" PRId64 " %" PRId64 "\n",
                    progress->reports[i].time_s,
                    progress->reports[i].done,
                    progress->reports[i].total);
    if (progress->out_of_memory_s > 0)
        dn_buf_add (buf, "out_of_memory %" PRId64 "\n", progress->out_of_memory_s);
}

/* --- reports ------------------------------------------------------------------- */

/* Drop every other report, but neither the first nor the last. */
static void thin (struct dn_progress *progress)
{
    int n = 0;

    for (int i = 0; i < progress->n_reports; i++)
        if (i % 2 == 0 || i == progress->n_reports - 1)
            progress->reports[n++] = progress->reports[i];
    progress->n_reports = n;
}

void dn_progress_add (struct dn_progress *progress,
                      const struct dn_progress_report *report)
{
    int n = progress->n_reports;
    const struct dn_progress_report *last = n > 0 ? &progress->reports[n - 1] : NULL;

    if (last
        && (report->total != last->total || report->done < last->done
            || report->time_s < last->time_s))
        progress->n_reports = 0;
    else if (last && report->done == last->done)
        return;
    else if (n > 1 && report->time_s == last->time_s)
        progress->n_reports--;
    else if (n == DN_PROGRESS_REPORTS_MAX)
        thin (progress);
    progress->out_of_memory_s = 0;
    progress->reports[progress->n_reports++] = *report;
}

/* "41.5" of 100 */
static int parse_percent (struct dn_span text,
                          struct dn_progress_report *report,
                          struct dn_err *err)
{
    double percent;

    if (dn_real_read (text, "percent", 0, 100, &percent, err) < 0)
        return -1;
    report->done = (int64_t) (percent * PERCENT + 0.5);
    report->total = INT64_C (100) * PERCENT;
    return 0;
}

int dn_progress_parse (struct dn_span text,
                       struct dn_progress_report *report,
                       struct dn_err *err)
{
    struct dn_span rest = dn_span_trim (text);
    struct dn_span done;

    if (rest.len > 1 && rest.text[rest.len - 1] == '%')
        return parse_percent (
            dn_span_trim ((struct dn_span){rest.text, rest.len - 1}), report, err);
    done = dn_span_cut (&rest, "/");
    if (!done.text || !rest.text)
        return dn_refuse (
            err, progress_form, dn_quote (text.text ? text.text : "", text.len).text);
    if (dn_int_read (
            dn_span_trim (rest), "total", 1, DN_PROGRESS_COUNT_MAX, &report->total, err)
        < 0)
        return -1;
    return dn_int_read (
        dn_span_trim (done), "done", 0, report->total, &report->done, err);
}

/* --- out of memory ------------------------------------------------------------- */

bool dn_says_out_of_memory (struct dn_span line)
{
    static const char *const words[] = {
        "CUDA out of memory",
        "HIP out of memory",
        "CUDA error: out of memory",
        "torch.OutOfMemoryError",
        "cuda.OutOfMemoryError",
        "CUDA_ERROR_OUT_OF_MEMORY",
        "cudaErrorMemoryAllocation",
        "CUBLAS_STATUS_ALLOC_FAILED",
        "OOM when allocating tensor",
        "ResourceExhaustedError",
        "RESOURCE_EXHAUSTED: ",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (words); i++)
        if (memmem (line.text, line.len, words[i], strlen (words[i])))
            return true;
    return false;
}
