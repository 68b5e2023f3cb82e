/* job_form.c - make a submission from the bytes of a fuzz target's input
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "job_form.h"

#include <time.h>
#include <unistd.h>

#define ENV_MAX   16
#define SPANK_MAX 8

#define WIDTH(member) sizeof (((job_desc_msg_t *) 0)->member)

static const struct field {
    const char *name;
    size_t offset;
    size_t width; /* of a number in bytes; 0: a text */
} fields[] = {
#define NUMBER(name, absent) {#name, offsetof (job_desc_msg_t, name), WIDTH (name)},
#define TEXT(name)           {#name, offsetof (job_desc_msg_t, name), 0},
#include "job_fields.inc"
};

/* A sentinel has all bits set, or all but the lowest, in every width. */
static uint64_t read_number (const char *text)
{
    static const char per_cpu[] = "percpu:";

    if (strcmp (text, "none") == 0)
        return NO_VAL64;
    if (strcmp (text, "all") == 0)
        return INFINITE64;
    if (strcmp (text, "cron") == 0)
        return CRON_JOB;
    if (strncmp (text, per_cpu, sizeof (per_cpu) - 1) == 0)
        return strtoull (text + sizeof (per_cpu) - 1, NULL, 0) | MEM_PER_CPU;
    return strtoull (text, NULL, 0);
}

static void set_number (job_desc_msg_t *desc,
                        const struct field *field,
                        const char *text)
{
    char *place = (char *) desc + field->offset;
    uint64_t number = read_number (text);
    bool is_time =
        place == (char *) &desc->begin_time || place == (char *) &desc->deadline;

    if (is_time && number == NO_VAL64)
        number = NO_VAL;
    else if (is_time && number != 0)
        number = (uint64_t) time (NULL) + (number & INT32_MAX);
    memcpy (place, &number, field->width); /* little endian */
}

static void set_field (job_desc_msg_t *desc,
                       const struct field *field,
                       const char *text)
{
    char **place = (char **) (void *) ((char *) desc + field->offset);

    if (field->width > 0) {
        set_number (desc, field, text);
        return;
    }
    slurm_text_free (place);
    *place = slurm_text (text);
}

static bool take_field (job_desc_msg_t *desc, const char *key, const char *text)
{
    for (size_t i = 0; i < sizeof (fields) / sizeof (fields[0]); i++)
        if (strcmp (fields[i].name, key) == 0) {
            set_field (desc, &fields[i], text);
            return true;
        }
    return false;
}

static bool take_surrounding (struct job_form *form, const char *key, const char *text)
{
    uint64_t number = read_number (text);

    if (strcmp (key, "site") == 0)
        form->site = (unsigned) number;
    else if (strcmp (key, "allocations") == 0)
        form->allocations = (int) (number & 15);
    else if (strcmp (key, "message") == 0 && !form->message)
        form->message = slurm_text (text);
    else if (strcmp (key, "default_partition") == 0 && !form->default_partition)
        form->default_partition = slurm_text (text);
    else if (strcmp (key, "def_mem_per_cpu") == 0)
        slurm_conf.def_mem_per_cpu = number;
    else if (strcmp (key, "select_type_param") == 0)
        slurm_conf.select_type_param = (uint16_t) number;
    else
        return false;
    return true;
}

/* Entries of an environment that is built when all are known. */
struct entries {
    const char *list[ENV_MAX + 1];
    int n;
};

/* An entry without a text is NULL in the list. */
static void clear_empty (char **list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i][0] == '\0')
            slurm_text_free (&list[i]);
}

static void add_entry (struct entries *entries, int max, const char *text)
{
    if (entries->n < max)
        entries->list[entries->n++] = text;
}

int job_form_read (char *text, struct job_form *form)
{
    struct entries env = {.n = 0};
    struct entries spank = {.n = 0};
    int n_unknown = 0;
    char *line;

    memset (&slurm_conf, 0, sizeof (slurm_conf));
    *form = (struct job_form){.allocations = -1};
    job_init (&form->desc);
    form->desc.user_id = getuid ();
    while ((line = strsep (&text, "\n"))) {
        const char *key = strsep (&line, "=");

        if (!line)
            continue;
        for (char *c = line; (c = strchr (c, '\f'));)
            *c = '\n';
        if (strcmp (key, "env") == 0)
            add_entry (&env, ENV_MAX, line);
        else if (strcmp (key, "spank") == 0)
            add_entry (&spank, SPANK_MAX, line);
        else if (!take_field (&form->desc, key, line)
                 && !take_surrounding (form, key, line))
            n_unknown++;
    }
    if (env.n > 0) {
        job_set_env (&form->desc, env.list);
        clear_empty (form->desc.environment, env.n);
    }
    if (spank.n > 0) {
        job_set_spank_env (&form->desc, spank.list);
        clear_empty (form->desc.spank_job_env, spank.n);
    }
    return n_unknown;
}

void job_form_write (const job_desc_msg_t *desc, struct dn_buf *buf)
{
    for (size_t i = 0; i < sizeof (fields) / sizeof (fields[0]); i++) {
        const char *place = (const char *) desc + fields[i].offset;
        const char *text = NULL;
        uint64_t number = 0;

        dn_buf_add (buf, "%s=", fields[i].name);
        memcpy (&number, place, fields[i].width);
        if (fields[i].width == 0)
            memcpy (&text, place, sizeof (text));
        if (fields[i].width > 0)
            dn_buf_add (buf, "%llu\n", (unsigned long long) number);
        else
            dn_buf_add (buf, "%s\n", text ? text : "");
    }
    for (uint32_t i = 0; desc->environment && i < desc->env_size; i++)
        dn_buf_add (buf, "env=%s\n", desc->environment[i]);
}

void job_form_free (struct job_form *form)
{
    job_free (&form->desc);
    slurm_text_free (&form->message);
    slurm_text_free (&form->default_partition);
}
