/* probe_sweep.c - many probes as one job array
 *
 * The script contains the whole command of every task, quoted. The shell combines no
 * values at run time, so it cannot interpret any of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "probe_sweep.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/child.h"
#include "common.h"
#include "host/files.h"
#include "probe_report.h"

/* --- the keys -------------------------------------------------------------------- */

static bool is_spec_key (const char *name)
{
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys; i++)
        if (strcmp (keys[i].name, name) == 0)
            return true;
    return false;
}

static int read_name (struct dn_span span, struct dn_sweep_key *key, struct dn_err *err)
{
    bool right = span.len > 0 && span.len < sizeof (key->name)
                 && !isdigit ((unsigned char) span.text[0]);

    for (size_t i = 0; i < span.len && right; i++) {
        char c = span.text[i];

        right = isalnum ((unsigned char) c) || c == '_' || c == '-';
        key->name[i] = (char) (c == '-' ? '_' : tolower ((unsigned char) c));
    }
    if (!right)
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "--sweep: '%s' is not a name, expected KEY=VALUE,VALUE",
                           dn_quote (span.text, span.len).text);
    key->is_spec = is_spec_key (key->name);
    return 0;
}

static int read_values (struct dn_span rest,
                        struct dn_sweep_key *key,
                        struct dn_err *err)
{
    while (rest.text) {
        struct dn_span piece = dn_span_trim (dn_span_cut (&rest, ","));

        if (key->n_values == DN_SWEEP_VALUES_MAX)
            return dn_err_set (err,
                               DN_E_LIMIT,
                               "--sweep: more than %d values of %s",
                               DN_SWEEP_VALUES_MAX,
                               key->name);
        if (piece.len == 0)
            return dn_err_set (
                err, DN_E_SYNTAX, "--sweep: an empty value of %s", key->name);
        if (dn_span_copy (piece,
                          key->values[key->n_values++],
                          sizeof (key->values[0]),
                          "--sweep",
                          err)
            < 0)
            return -1;
    }
    return 0;
}

int dn_sweep_add (struct dn_sweep *sweep, const char *text, struct dn_err *err)
{
    struct dn_span rest = dn_span_of (text);
    struct dn_span name = dn_span_trim (dn_span_cut (&rest, "="));
    struct dn_sweep_key *key = &sweep->keys[sweep->n_keys];

    if (sweep->n_keys == DN_SWEEP_KEYS_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, "--sweep: more than %d of them", DN_SWEEP_KEYS_MAX);
    memset (key, 0, sizeof (*key));
    if (read_name (name, key, err) < 0)
        return -1;
    if (!rest.text)
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "--sweep: no values of %s, expected KEY=VALUE,VALUE",
                           key->name);
    for (int i = 0; i < sweep->n_keys; i++)
        if (strcmp (sweep->keys[i].name, key->name) == 0)
            return dn_err_set (
                err, DN_E_RANGE, "--sweep: %s is given twice", key->name);
    if (read_values (rest, key, err) < 0)
        return -1;
    sweep->n_tasks = (sweep->n_keys == 0 ? 1 : sweep->n_tasks) * key->n_values;
    sweep->n_keys++;
    if (sweep->n_tasks > DN_SWEEP_TASKS_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, "--sweep: more than %d combinations", DN_SWEEP_TASKS_MAX);
    return 0;
}

/* --- one task -------------------------------------------------------------------- */

/* The value of a key in a task; the last key changes fastest. */
static const char *value_of (const struct dn_sweep *sweep, int at, int task)
{
    for (int i = sweep->n_keys - 1; i > at; i--)
        task /= sweep->keys[i].n_values;
    return sweep->keys[at].values[task % sweep->keys[at].n_values];
}

/* The key of the placeholder "{key}" at 'text', -1: none. */
static int holder_at (const struct dn_sweep *sweep, const char *text)
{
    for (int i = 0; i < sweep->n_keys; i++) {
        size_t len = strlen (sweep->keys[i].name);

        if (text[0] == '{' && strncmp (text + 1, sweep->keys[i].name, len) == 0
            && text[1 + len] == '}')
            return i;
    }
    return -1;
}

static void replace (const struct dn_sweep *sweep,
                     const char *text,
                     int task,
                     struct dn_buf *out)
{
    while (*text) {
        int key = holder_at (sweep, text);

        if (key < 0) {
            dn_buf_add (out, "%c", *text++);
            continue;
        }
        dn_buf_add (out, "%s", value_of (sweep, key, task));
        text += strlen (sweep->keys[key].name) + 2;
    }
}

static bool is_held (const struct dn_sweep_job *job, int key)
{
    for (int i = 0; job->argv[i]; i++)
        for (const char *c = job->argv[i]; *c; c++)
            if (holder_at (job->sweep, c) == key)
                return true;
    for (const char *c = job->spec; *c; c++)
        if (holder_at (job->sweep, c) == key)
            return true;
    return false;
}

/* The metadata of a task: placeholders are replaced, then swept keys are set. */
static int write_spec (const struct dn_sweep_job *job,
                       int task,
                       char *text,
                       size_t size,
                       struct dn_err *err)
{
    struct dn_buf buf = dn_buf_on (text, size);
    struct dn_subject subject = {.spec = dn_spec_empty ()};

    replace (job->sweep, job->spec, task, &buf);
    if (buf.cut)
        return dn_err_set (err, DN_E_LIMIT, "metadata: too long");
    if (dn_spec_read (dn_span_trim (dn_span_of (text)), &subject.spec, err) < 0)
        return -1;
    for (int i = 0; i < job->sweep->n_keys; i++) {
        char pair[2 * DN_NAME_MAX + 2];

        if (!job->sweep->keys[i].is_spec)
            continue;
        snprintf (pair,
                  sizeof (pair),
                  "%s=%s",
                  job->sweep->keys[i].name,
                  value_of (job->sweep, i, task));
        if (dn_spec_read (dn_span_of (pair), &subject.spec, err) < 0)
            return -1;
    }
    if (dn_subject_write (&subject.spec, text, size, err) < 0
        || dn_subject_build (job->site, DN_UNSET, &subject, err) < 0)
        return -1;
    dn_subject_free (&subject);
    return 0;
}

static void write_word (FILE *script, const char *text)
{
    char word[DN_COMMAND_TEXT_MAX];
    struct dn_buf buf = dn_buf_on (word, sizeof (word));

    dn_shell_word (&buf, text);
    fputs (word, script);
}

/* Quoting may make a word four times as long. */
#define WORD_MAX (DN_COMMAND_TEXT_MAX / 4 - 4)

static int write_task (const struct dn_sweep_job *job,
                       int task,
                       FILE *script,
                       struct dn_err *err)
{
    char text[WORD_MAX];

    fprintf (script, "%d)\n", task);
    for (int i = 0; i < job->sweep->n_keys; i++) {
        fputs ("    export DNNEST_PROBE_", script);
        for (const char *c = job->sweep->keys[i].name; *c; c++)
            fputc (toupper ((unsigned char) *c), script);
        fputc ('=', script);
        write_word (script, value_of (job->sweep, i, task));
        fputc ('\n', script);
    }
    if (write_spec (job, task, text, sizeof (text), err) < 0)
        return -1;
    fputs ("    exec", script);
    for (int i = 0; job->options[i]; i++) {
        fputc (' ', script);
        write_word (script, job->options[i]);
    }
    fputc (' ', script);
    write_word (script, text);
    fputs (" --", script);
    for (int i = 0; job->argv[i]; i++) {
        struct dn_buf buf = dn_buf_on (text, sizeof (text));

        replace (job->sweep, job->argv[i], task, &buf);
        if (buf.cut)
            return dn_err_set (err,
                               DN_E_LIMIT,
                               "COMMAND: a word of more than %d characters",
                               WORD_MAX);
        fputc (' ', script);
        write_word (script, text);
    }
    fputs ("\n    ;;\n", script);
    return 0;
}

static int write_script (const struct dn_sweep_job *job,
                         FILE *script,
                         struct dn_err *err)
{
    fprintf (script,
             "#!/bin/bash\n"
             "#SBATCH --job-name=dnnest-probe\n"
             "#SBATCH --array=0-%d\n",
             job->sweep->n_tasks - 1);
    for (int i = 0; i < job->n_directives; i++)
        fprintf (script, "#SBATCH %s\n", job->directives[i]);
    fputs ("case $SLURM_ARRAY_TASK_ID in\n", script);
    for (int i = 0; i < job->sweep->n_tasks; i++)
        if (write_task (job, i, script, err) < 0)
            return -1;
    fputs ("esac\n", script);
    return 0;
}

char *dn_sweep_script (const struct dn_sweep_job *job, struct dn_err *err)
{
    char *text = NULL;
    size_t len = 0;
    FILE *script;
    int rc;

    for (int i = 0; i < job->sweep->n_keys; i++)
        if (!job->sweep->keys[i].is_spec && !is_held (job, i)) {
            dn_err_set (err,
                        DN_E_RANGE,
                        "--sweep: %s is not a metadata key, and COMMAND has no {%s}",
                        job->sweep->keys[i].name,
                        job->sweep->keys[i].name);
            return NULL;
        }
    for (int i = 0; i < job->n_directives; i++)
        if (strpbrk (job->directives[i], "\r\n")) {
            dn_err_set (err, DN_E_SYNTAX, "--sbatch: more than one line");
            return NULL;
        }
    script = open_memstream (&text, &len);
    if (!script) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    rc = write_script (job, script, err);
    if (fclose (script) != 0 && rc == 0)
        rc = dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (rc == 0)
        return text;
    free (text);
    return NULL;
}

/* --- submitting ------------------------------------------------------------------ */

int dn_sweep_submit (const char *script, struct dn_err *err)
{
    char *argv[] = {"sbatch", NULL};
    dn_cleanup (dn_fd_cleanup) int in = dn_child_file (script, strlen (script));
    int status = 0;
    pid_t pid;
    int rc;

    if (in < 0)
        return dn_err_set (err, DN_E_IO, "sbatch: %s", strerror (errno));
    rc = dn_child_start (argv, (const int[]){in, -1, -1}, &pid);
    if (rc != 0)
        return dn_err_set (err, DN_E_IO, "sbatch: %s", strerror (rc));
    if (dn_child_wait (pid, &status) < 0)
        return dn_err_set (err, DN_E_IO, "sbatch: %s", strerror (errno));
    return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}
