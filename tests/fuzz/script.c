/* script.c - fuzz target: what is found in a batch script
 *
 * Attack surface: the commands of a script of any user, in any form. The same text is
 * searched for the name of a GPU type.
 *
 * Aims at: model/request/blocks.c model/request/commands.c model/request/counts.c
 * model/request/findings.c model/request/launchers.c model/request/needs.c
 * model/request/script.c model/request/shell.c model/request/tally.c
 * model/request/variables.c model/request/fingerprint.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include <stdlib.h>
#include <string.h>

#include "request/fingerprint.h"
#include "request/script.h"

/* Bytes that may be visited besides three times those of the text. The last step before
 * the limit is noticed may be a variable's value.
 */
#define VISITED_EXTRA (size_t) (2 * 16384)

static int count_lines (const char *text)
{
    int n = 1;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void check_found (const char *text, const struct dn_script *found)
{
    expect (is_printable (found->unclear) && is_printable (found->cpus)
                && is_printable (found->gpu) && is_printable (found->clock)
                && is_printable (found->several) && is_printable (found->need_why),
            "a reason",
            NULL);
    expect (found->n_visited <= 3 * strlen (text) + VISITED_EXTRA, "the cost", NULL);
    expect (found->n_trainings >= 0 && found->n_trainings <= 2, "a number", NULL);
    expect ((found->need != DN_NEED_NONE) == (found->need_why[0] != '\0'),
            "a need without a reason",
            NULL);
    expect (found->unclear[0] != '\0'
                || (found->n_trainings > 1) == (found->several[0] != '\0'),
            "several without a reason",
            NULL);
}

/* The fingerprint is a name, or there is none; a comment at the end changes nothing. */
static void check_fingerprint (const char *text)
{
    size_t len = strlen (text);
    char *longer = malloc (len + 16);
    struct dn_job job = dn_job_empty ();
    struct dn_fingerprint prints[2];

    expect (longer != NULL, "no memory", NULL);
    memcpy (longer, text, len);
    memcpy (longer + len, "\n# comment\n", sizeof ("\n# comment\n"));
    for (int i = 0; i < 2; i++) {
        job.script = i == 0 ? text : longer;
        dn_fingerprint_of (&job, "", false, NULL, &prints[i], NULL);
    }
    expect (prints[0].text[0] == '\0' || strlen (prints[0].text) == 19,
            "the length of a fingerprint",
            NULL);
    expect (len + 12 > DN_SCRIPT_HEAD_MAX
                || strcmp (prints[0].text, prints[1].text) == 0,
            "a comment changes the fingerprint",
            NULL);
    free (longer);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static const struct dn_script_job job = {.n_tasks = 4, .n_nodes = 2, .n_gpus = 8};
    char *text = take_text (data, size);
    struct dn_script found;
    struct dn_err err = {0};
    int line = dn_script_names (text, "a100");

    if (dn_script_read (text, &job, NULL, &found, &err) < 0)
        expect_message (&err);
    else
        check_found (text, &found);
    check_fingerprint (text);
    expect (line >= -1 && line <= count_lines (text), "a line", NULL);
    free (text);
    return 0;
}
