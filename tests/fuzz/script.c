/* script.c - fuzz target: what is found in a batch script
 *
 * Attack surface: the commands of a script of any user, in any form. The same text is
 * searched for the name of a GPU type.
 *
 * Aims at: model/request/script.c model/request/tokens.c model/request/vocabulary.c
 * model/request/fingerprint.c model/request/marks.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include "request/fingerprint.h"
#include "request/script.h"
#include "tests/unit/all_words.h"

static int count_lines (const char *text)
{
    int n = 1;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void check_fact (const char *text, const struct dn_script_fact *fact)
{
    struct dn_reason why = dn_script_reason (fact);

    expect (is_printable (dn_reason_text (&why).text), "a reason");
    expect ((fact->code != DN_REASON_NONE) == (why.code != DN_REASON_NONE),
            "a fact without a reason");
    expect (fact->line <= count_lines (text), "a line");
}

static void check_found (const char *text, const struct dn_script *found)
{
    for (int f = 0; f < DN_N_KEEPS; f++)
        check_fact (text, &found->first[f]);
    check_fact (text, &found->counted);
    expect ((found->n_counted > 0) == (found->counted.code != DN_REASON_NONE),
            "a number without a word");
}

/* The fingerprint is a name, or there is none; a comment at the end changes nothing. */
static void check_fingerprint (const char *text)
{
    size_t len = strlen (text);
    char *longer = malloc (len + 16);
    struct dn_job job = dn_job_empty ();
    struct dn_fingerprint prints[2];
    struct dn_reading reading;

    expect (longer != NULL, "no memory");
    memcpy (longer, text, len);
    memcpy (longer + len, "\n# comment\n", sizeof ("\n# comment\n"));
    for (int i = 0; i < 2; i++) {
        job.script = i == 0 ? text : longer;
        expect (dn_reading_of (all_words (), &job, true, NULL, NULL, &reading, NULL)
                    == 0,
                "read");
        prints[i] = dn_fingerprint_of (&reading.print, &job, "", false);
    }
    expect (prints[0].text[0] == '\0' || strlen (prints[0].text) == 19,
            "the length of a fingerprint");
    expect (len + 12 > DN_SCRIPT_HEAD_MAX
                || strcmp (prints[0].text, prints[1].text) == 0,
            "a comment changes the fingerprint");
    free (longer);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static const struct dn_script_job job = {
        .n_tasks = 4, .n_nodes = 2, .n_gpus = 8, .gpu_type = "a100", .wanted = true};
    INPUT_TEXT (text);
    struct dn_reading reading;
    struct dn_err err = {0};

    if (dn_script_read (all_words (), text, &job, NULL, &reading, &err) < 0)
        expect_message (&err);
    else
        check_found (text, &reading.script);
    check_fingerprint (text);
    return 0;
}
