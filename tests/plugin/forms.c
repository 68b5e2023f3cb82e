/* forms.c - golden submissions: every form of a request, and its edits
 *
 * The submissions are in forms.txt, as the clients of several versions fill them. Each
 * passes through the plugin, from the job description to its edits, and all differences
 * must be those of the file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "stand_in.h"

#include <stdio.h>
#include <stdlib.h>

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

/* One submission of the file. Empty texts were not given. */
struct golden {
    int line;
    char form[TEXT_MAX];
    char slurm[TEXT_MAX];
    char job[TEXT_MAX];
    char script[TEXT_MAX];
    char comment[TEXT_MAX];
    char edits[TEXT_MAX];
    char why[TEXT_MAX];
    char user[TEXT_MAX];
};

static struct dn_site *site;

/* --- fields of a description by name --------------------------------------------- */

/* The width of a number, or that of a pointer to a text. */
#define FIELD(member)                                                                  \
    {                                                                                  \
#member, offsetof(job_desc_msg_t, member),                                     \
            sizeof(((job_desc_msg_t *) NULL)->member)                                  \
    }

/* All that a client may fill, but memory, flags, comments and environment. */
static const struct field {
    const char *name;
    size_t offset;
    size_t size;
} fields[] = {
    FIELD (time_limit),       FIELD (time_min),         FIELD (cpus_per_task),
    FIELD (min_cpus),         FIELD (pn_min_cpus),      FIELD (num_tasks),
    FIELD (ntasks_per_node),  FIELD (ntasks_per_tres),  FIELD (sockets_per_node),
    FIELD (cores_per_socket), FIELD (threads_per_core), FIELD (min_nodes),
    FIELD (max_nodes),        FIELD (priority),         FIELD (het_job_offset),
    FIELD (shared),           FIELD (tres_per_job),     FIELD (tres_per_node),
    FIELD (tres_per_socket),  FIELD (tres_per_task),    FIELD (cpus_per_tres),
    FIELD (mem_per_tres),     FIELD (features),         FIELD (prefer),
    FIELD (batch_features),   FIELD (partition),        FIELD (req_nodes),
    FIELD (exc_nodes),        FIELD (reservation),      FIELD (array_inx),
    FIELD (pn_min_tmp_disk),  FIELD (tres_freq),
};

static void *at_field (job_desc_msg_t *desc, const struct field *field)
{
    return (char *) desc + field->offset;
}

static const struct field *find_field (const char *name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (fields); i++)
        if (strcmp (fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

static uint64_t memory_of (const char *value)
{
    static const char per_cpu[] = "percpu:";
    size_t len = sizeof (per_cpu) - 1;

    if (value[0] == '\0')
        return NO_VAL64;
    if (strncmp (value, per_cpu, len) == 0)
        return strtoull (value + len, NULL, 10) | MEM_PER_CPU;
    return strtoull (value, NULL, 10);
}

/* Names that are no field, or no plain field. */
static bool set_special (job_desc_msg_t *desc, const char *name, const char *value)
{
    if (strcmp (name, "pn_min_memory") == 0)
        desc->pn_min_memory = memory_of (value);
    else if (strcmp (name, "DefMemPerCPU") == 0)
        slurm_conf.def_mem_per_cpu = strtoull (value, NULL, 10) | MEM_PER_CPU;
    else if (strcmp (name, "overcommit") == 0)
        desc->overcommit = 1;
    else if (strcmp (name, "bitflags") == 0 && strcmp (value, "cron") == 0)
        desc->bitflags |= CRON_JOB;
    else if (strcmp (name, "kind") == 0) {
        slurm_text_free (&desc->script);
        desc->argc = strcmp (value, "srun") == 0 ? 2 : 0;
    } else
        return false;
    return true;
}

static void set_field (job_desc_msg_t *desc,
                       const struct golden *golden,
                       const char *name,
                       const char *value)
{
    const struct field *field = find_field (name);
    bool none = value[0] == '\0';
    uint32_t number = (uint32_t) strtoul (value, NULL, 10);
    void *at;

    if (set_special (desc, name, value))
        return;
    if (!field)
        fail_msg ("forms.txt line %d: '%s' is no field", golden->line, name);
    at = at_field (desc, field);
    if (strcmp (value, "infinite") == 0)
        number = INFINITE;
    if (field->size == sizeof (uint16_t)) {
        *(uint16_t *) at = none ? NO_VAL16 : (uint16_t) number;
    } else if (field->size == sizeof (uint32_t)) {
        *(uint32_t *) at = none ? NO_VAL : number;
    } else {
        slurm_text_free (at);
        *(char **) at = none ? NULL : slurm_text (value);
    }
}

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
        if (!take (line, "form", golden->form) && !take (line, "slurm", golden->slurm)
            && !take (line, "job", golden->job)
            && !take (line, "script", golden->script)
            && !take (line, "comment", golden->comment)
            && !take (line, "edits", golden->edits) && !take (line, "why", golden->why)
            && !take (line, "user", golden->user))
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

static void make_job (const struct golden *golden, job_desc_msg_t *desc)
{
    char text[TEXT_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    char *tokens[TOKENS_MAX];
    const char *env[TOKENS_MAX + 2] = {"PATH=/bin"};
    int n_env = 1;
    int n;

    memset (&slurm_conf, 0, sizeof (slurm_conf));
    slurm_conf.select_type_param = DN_SELECT_MEMORY;
    job_init (desc);
    desc->sockets_per_node = NO_VAL16;
    desc->priority = NO_VAL;
    desc->pn_min_tmp_disk = NO_VAL;
    desc->time_limit = 1440;
    desc->pn_min_memory = 256000;
    dn_buf_add (
        &buf, "#!/bin/sh\n%s\n", golden->script[0] ? golden->script : "srun hostname");
    desc->script = slurm_text (text);
    buf = dn_buf_on (text, sizeof (text));
    dn_buf_add (&buf, METADATA "%s%s", golden->comment[0] ? "," : "", golden->comment);
    desc->comment = slurm_text (text);
    strcpy (text, golden->job);
    n = cut (text, tokens);
    for (int i = 0; i < n; i++) {
        char *value = strchr (tokens[i], '=');

        assert_non_null (value);
        if (strncmp (tokens[i], "env:", 4) == 0) {
            env[n_env++] = tokens[i] + 4;
            continue;
        }
        *value = '\0';
        set_field (desc, golden, tokens[i], value + 1);
    }
    job_set_env (desc, env);
}

/* --- the result ------------------------------------------------------------------ */

static void add_line (struct dn_buf *buf, const char *name, const char *value)
{
    dn_buf_add (buf, "%s=%s\n", name, value ? value : "");
}

/* One per line, so that an unexpected change is seen. */
static void write_job (job_desc_msg_t *desc, struct dn_buf *buf)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (fields); i++) {
        const void *at = at_field (desc, &fields[i]);

        if (fields[i].size == sizeof (uint16_t))
            dn_buf_add (buf, "%s=%u\n", fields[i].name, *(const uint16_t *) at);
        else if (fields[i].size == sizeof (uint32_t))
            dn_buf_add (buf, "%s=%u\n", fields[i].name, *(const uint32_t *) at);
        else
            add_line (buf, fields[i].name, *(char *const *) at);
    }
    dn_buf_add (buf, "pn_min_memory=%llu\n", (unsigned long long) desc->pn_min_memory);
    dn_buf_add (buf, "bitflags=%llu\n", (unsigned long long) desc->bitflags);
    add_line (buf, "comment", desc->comment);
    for (uint32_t i = 0; i < desc->env_size; i++)
        dn_buf_add (buf, "env:%s\n", desc->environment[i]);
    assert_false (buf->cut);
}

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

/* The lines of 'now' that were not in 'before', sorted. */
static void write_edits (char *before, char *now, struct dn_buf *buf)
{
    char *edits[TOKENS_MAX];
    int n = 0;

    while (before && now) {
        char *old_line = strsep (&before, "\n");
        char *new_line = strsep (&now, "\n");

        if (strcmp (old_line, new_line) == 0)
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

static void check (const struct golden *golden)
{
    char before[8192];
    char now[8192];
    char edits[TEXT_MAX];
    char wanted[TEXT_MAX];
    char text[TEXT_MAX];
    char *tokens[TOKENS_MAX];
    struct dn_buf buf;
    struct dn_err err = {.code = DN_E_NONE};
    struct dn_advice *advice = dn_advice_new ();
    char log[DN_LOG_TEXT_MAX];
    job_desc_msg_t desc;
    struct dn_view view;
    struct dn_job job;
    int n;

    make_job (golden, &desc);
    buf = dn_buf_on (before, sizeof (before));
    write_job (&desc, &buf);
    dn_adapter_read (&desc, &job);
    scene_idle (&view);
    if (dn_advise (site, &view, &job, NULL, NULL, advice, &err) < 0)
        fail_msg ("forms.txt line %d: %s", golden->line, err.text);
    dn_advice_log (advice, log);
    if (dn_adapter_apply (&desc, &advice->patch, &err) < 0)
        fail_msg ("forms.txt line %d: %s", golden->line, err.text);
    buf = dn_buf_on (now, sizeof (now));
    write_job (&desc, &buf);
    buf = dn_buf_on (edits, sizeof (edits));
    write_edits (before, now, &buf);
    strcpy (text, golden->edits);
    n = cut (text, tokens);
    buf = dn_buf_on (wanted, sizeof (wanted));
    join (tokens, n, &buf);
    if (strcmp (edits, wanted) != 0)
        fail_msg ("forms.txt line %d: %s (%s)\nis:     %s\nwanted: %s\nlog: %s",
                  golden->line,
                  golden->form,
                  golden->slurm,
                  edits,
                  wanted,
                  log);
    if (!strstr (log, golden->why) || !reads (&advice->patch, golden->user))
        fail_msg ("forms.txt line %d: %s (%s)\nlog:  %s\nuser: %s",
                  golden->line,
                  golden->form,
                  golden->slurm,
                  log,
                  advice->patch.user_text);
    dn_advice_free (advice);
    for (size_t i = 0; i < 5; i++) {
        static const char *const names[] = {
            "prefer", "batch_features", "req_nodes", "reservation", "array_inx"};

        slurm_text_free (at_field (&desc, find_field (names[i])));
    }
    job_free (&desc);
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
