/* forms.c - golden submissions: every form of a request, and its edits
 *
 * The submissions are in forms.txt, as the clients of several versions fill them. Each
 * passes through the plugin, from the job description to its edits, and all differences
 * must be those of the file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "stand_in.h"

#include "job_form.h"
#include "scene.h"
#include "scratch.h"
#include "submit/adapter.h"

#define CONF                                                                              \
    "Mode=enforce EvidenceTime=words\nMinConfidence=0\nMaxSlowdown=9\nTimeMin=12:00:00\n" \
    "CpusPerGpuMin=16\n"
#define METADATA                                                                       \
    "dnnest:model=resnet50,batch=128,precision=fp16,optimizer=momentum,epochs=2,"      \
    "dataset=imagenet,input=synthetic"

enum {
    LINES_MAX = 2048,
    TOKENS_MAX = 32,
    TEXT_MAX = 1024
};

SLURM_SYMBOL char *slurm_get_extra_conf_path (char *name)
{
    return slurm_text (name);
}

#define TEXTS(_)                                                                       \
    _ (form) _ (slurm) _ (job) _ (script) _ (comment) _ (edits) _ (why) _ (user)

/* One submission of the file. Empty texts were not given. */
struct golden {
    int line;
#define TEXT(key) char key[TEXT_MAX];
    TEXTS (TEXT)
};

static struct dn_site *site;

/* --- the file -------------------------------------------------------------------- */

static bool take (const char *line, const char *key, char text[TEXT_MAX])
{
    size_t len = strlen (key);

    if (strncmp (line, key, len) != 0 || strncmp (line + len, ": ", 2) != 0)
        return false;
    assert_true (strlen (line + len + 2) < TEXT_MAX);
    strcpy (text, line + len + 2);
    return true;
}

/* The next submission; false at the end of the file. */
static bool next_golden (FILE *file, struct golden *golden, int *number)
{
    char line[LINES_MAX];

    memset (golden, 0, sizeof (*golden));
    while (fgets (line, sizeof (line), file)) {
        ++*number;
        line[strcspn (line, "\n")] = '\0';
        if (line[0] == '#' || (line[0] == '\0' && golden->line == 0))
            continue;
        if (line[0] == '\0')
            return true;
        if (golden->line == 0)
            golden->line = *number;
#define TAKE(key) || take (line, #key, golden->key)
        if (!(false TEXTS (TAKE)))
            fail_msg ("forms.txt line %d: '%s'", *number, line);
    }
    return golden->line != 0;
}

/* Cut 'text' at its blanks. Return the number of pieces. */
static int cut (char *text, char *tokens[TOKENS_MAX])
{
    int n = 0;

    for (char *token = strtok (text, " "); token; token = strtok (NULL, " ")) {
        assert_true (n < TOKENS_MAX);
        tokens[n++] = token;
    }
    return n;
}

static void make_job (struct golden *golden, struct job_form *form)
{
    char text[4 * TEXT_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    char *tokens[TOKENS_MAX];
    int n = cut (golden->job, tokens);

    dn_buf_add (&buf,
                "select_type_param=%d\nsockets_per_node=none\npn_min_tmp_disk=none\n"
                "priority=none\ntime_limit=1440\npn_min_memory=256000\nenv=PATH=/bin\n"
                "comment=" METADATA "%s%s\n",
                DN_SELECT_MEMORY,
                golden->comment[0] ? "," : "",
                golden->comment);
    if (strcmp (golden->script, "none") != 0)
        dn_buf_add (&buf,
                    "script=#!/bin/sh\f%s\f\n",
                    golden->script[0] ? golden->script : "srun hostname");
    for (int i = 0; i < n; i++)
        dn_buf_add (&buf, "%s\n", tokens[i]);
    assert_false (buf.cut);
    if (job_form_read (text, form) > 0)
        fail_msg ("forms.txt line %d: a name is no field", golden->line);
}

/* --- the result ------------------------------------------------------------------ */

static int compare_tokens (const void *a, const void *b)
{
    return strcmp (*(char *const *) a, *(char *const *) b);
}

static void join (char *tokens[TOKENS_MAX], int n, struct dn_buf *buf)
{
    qsort (tokens, (size_t) n, sizeof (tokens[0]), compare_tokens);
    for (int i = 0; i < n; i++)
        dn_buf_add (buf, "%s%s", i > 0 ? " " : "", tokens[i]);
}

/* The lines of 'now' that were not in 'before', sorted; without the record. */
static void write_edits (char *before, char *now, struct dn_buf *buf)
{
    static const char record[] = "admin_comment=";
    const size_t n_record = sizeof (record) - 1;
    char *edits[TOKENS_MAX];
    int n = 0;

    while (before && now) {
        char *old_line = strsep (&before, "\n");
        char *new_line = strsep (&now, "\n");

        if (strcmp (old_line, new_line) == 0
            || strncmp (new_line, record, n_record) == 0)
            continue;
        assert_true (n < TOKENS_MAX);
        edits[n++] = new_line;
    }
    assert_true (!before && !now);
    join (edits, n, buf);
    if (n == 0)
        dn_buf_add (buf, "nothing");
}

/* Is 'text' in one of the lines for the user? */
static bool reads (const struct dn_patch *patch, const char *text)
{
    for (int i = 0; i < patch->n_warnings; i++)
        if (strstr (patch->warnings[i], text))
            return true;
    return strstr (patch->user_text, text) != NULL;
}

static void check (struct golden *golden)
{
    char before[8192];
    char now[8192];
    char edits[TEXT_MAX];
    char wanted[TEXT_MAX];
    char *tokens[TOKENS_MAX];
    struct dn_buf buf;
    struct dn_err err = {.code = DN_E_NONE};
    struct dn_advice *advice = dn_advice_new ();
    char log[DN_LOG_TEXT_MAX];
    struct job_form form;
    struct dn_view view;
    struct dn_job job;
    int n;

    make_job (golden, &form);
    buf = dn_buf_on (before, sizeof (before));
    job_form_write (&form.desc, &buf);
    dn_adapter_read (&form.desc, &job);
    scene_idle (&view);
    if (dn_advise (site, &view, &job, NULL, NULL, advice, &err) < 0)
        fail_msg ("forms.txt line %d: %s", golden->line, err.text);
    dn_advice_log (advice, log);
    if (dn_adapter_apply (&form.desc, &advice->patch, &err) < 0)
        fail_msg ("forms.txt line %d: %s", golden->line, err.text);
    buf = dn_buf_on (now, sizeof (now));
    job_form_write (&form.desc, &buf);
    assert_false (buf.cut);
    buf = dn_buf_on (edits, sizeof (edits));
    write_edits (before, now, &buf);
    n = cut (golden->edits, tokens);
    buf = dn_buf_on (wanted, sizeof (wanted));
    join (tokens, n, &buf);
    if (strcmp (edits, wanted) != 0 || !strstr (log, golden->why)
        || !reads (&advice->patch, golden->user))
        fail_msg ("forms.txt line %d: %s (%s)\nis:     %s\nwanted: %s\n"
                  "log: %s\nuser: %s",
                  golden->line,
                  golden->form,
                  golden->slurm,
                  edits,
                  wanted,
                  log,
                  advice->patch.user_text);
    dn_advice_free (advice);
    job_form_free (&form);
}

TEST ("every form has the edits of the file")
{
    struct golden golden;
    FILE *file = tree_open ("tests/plugin/forms.txt");
    int number = 0;
    int n = 0;

    site = scene_site (CONF);
    while (next_golden (file, &golden, &number)) {
        if (!golden.form[0] || !golden.slurm[0] || !golden.job[0] || !golden.edits[0])
            fail_msg ("forms.txt line %d: form, slurm, job or edits is missing",
                      golden.line);
        check (&golden);
        n++;
    }
    fclose (file);
    print_message ("# %d submissions\n", n);
    assert_true (n >= 90);
    assert_int_equal (stand_in_blocks, 0);
}
