/* admin_comment.c - fuzz target: the record of a job, read by the guard and continued
 *
 * Attack surface: an admin comment, into which another plugin may have copied text of a
 * user.
 *
 * Aims at: model/rewrite/recorded.c model/base/json_read.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include "rewrite/recorded.h"

/* A time that the guard can compute with. */
static bool is_time (int64_t seconds)
{
    return seconds == DN_UNSET || (seconds >= 0 && seconds <= INT64_C (300000000000));
}

static void check (const struct dn_recorded *recorded)
{
    expect (recorded->asked_s == DN_UNLIMITED || is_time (recorded->asked_s),
            "the requested time");
    expect (is_time (recorded->set_s) && is_time (recorded->soft_s)
                && is_time (recorded->signal_s) && is_time (recorded->likely_s)
                && is_time (recorded->p95_s) && is_time (recorded->p99_s),
            "a time");
    expect (is_printable (recorded->asked_gpu) && is_printable (recorded->set_gpu),
            "a GPU type");
    expect (recorded->n_later >= 0 && recorded->n_later <= DN_EXTENSIONS_MAX,
            "the number of limits");
    for (int i = 0; i < recorded->n_later; i++)
        expect (recorded->later_s[i] >= 60 && is_time (recorded->later_s[i]),
                "a limit");
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    INPUT_TEXT (text);
    struct dn_recorded recorded;
    struct dn_recorded again;
    struct dn_err err = {0};
    int found = dn_record_read (text, &recorded, &err);
    char *noted = dn_record_note (text, 7200, found < 0 ? NULL : &err);

    if (found < 0)
        expect_message (&err);
    else
        check (&recorded);
    expect (found == 1 || !noted, "noted without a record");
    if (noted) {
        expect (strlen (noted) <= strlen (text) + DN_RECORD_MAX, "the length");
        expect_done (dn_record_read (noted, &again, &err) == 1, "read again", &err);
        check (&again);
        expect (again.n_later > 0 && again.later_s[again.n_later - 1] == 7200,
                "the last limit");
        expect (again.asked_s == recorded.asked_s && again.set_s == recorded.set_s,
                "the limits before");
    }
    free (noted);
    return 0;
}
