/* accounting_text.c - fuzz target: what sacct prints
 *
 * The texts of a job are in the record, have no control characters, and its numbers are
 * unknown or within their bounds, however the pieces are cut.
 *
 * Aims at: jobs/accounting.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include "jobs/accounting.h"

#define PIECE 61

static void check_text (const char *text)
{
    for (; *text; text++)
        expect ((unsigned char) *text >= ' ' && *text != 0x7f, "a control character");
}

static int take (void *to, const struct dn_accounted *accounted)
{
    const struct dn_finished *job = &accounted->job;
    int *n = to;

    (*n)++;
    expect (job->raw_id > 0, "a number");
    expect (job->end_s == DN_UNSET || job->start_s <= job->end_s, "a start");
    expect (isnan (job->cpu_s) || job->cpu_s > 0, "CPU time");
    expect (isnan (job->host_mem_gb) || job->host_mem_gb > 0, "memory");
    expect (job->gpus >= DN_UNSET && job->cpus >= DN_UNSET, "counts");
    check_text (job->job);
    check_text (job->name);
    check_text (job->state);
    check_text (job->host);
    check_text (job->gpu);
    check_text (accounted->admin_comment);
    return 0;
}

static int read_in (const uint8_t *data, size_t size, size_t piece)
{
    int n = 0;
    struct dn_accounting *accounting =
        dn_accounting_new (DN_ACCOUNTING_ALL, "|", take, &n);
    struct dn_err err = {0};
    int rc = 0;

    if (!accounting)
        return 0;
    for (size_t at = 0; at < size && rc == 0; at += piece)
        rc =
            dn_accounting_feed (accounting,
                                (struct dn_span){(const char *) data + at,
                                                 at + piece < size ? piece : size - at},
                                &err);
    if (rc == 0)
        dn_accounting_end (accounting);
    else
        expect_message (&err);
    dn_accounting_free (accounting);
    return n;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    expect (read_in (data, size, PIECE) == read_in (data, size, size + 1),
            "other jobs in other pieces");
    return 0;
}
