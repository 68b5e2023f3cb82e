/* crowd.c - a client of Slurm's that submits many jobs, and shows what became of them
 *
 * usage: crowd <COMMANDS
 *
 * One command a line, words separated by tabs, '%XX' for a byte:
 *   submit TAG FIELD=VALUE...   answers "TAG id JOB MESSAGE" or "TAG error NUMBER TEXT"
 *   jobs                        answers "job FIELD=VALUE..." for each, then "end COUNT"
 * or "failed NUMBER TEXT". A FIELD that is none of the job's is an entry of its SPANK
 * environment.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

#define ENTRIES_MAX 4096

enum kind {
    TEXT,
    U16,
    U32,
    U64
};

struct field {
    const char *name;
    size_t offset;
    enum kind kind;
};

#define FIELD(type, kind, name)                                                        \
    {                                                                                  \
#name, offsetof(type, name), kind                                              \
    }
#define ASKS(kind, name)  FIELD (job_desc_msg_t, kind, name)
#define SHOWS(kind, name) FIELD (slurm_job_info_t, kind, name)
#define END                                                                            \
    {                                                                                  \
        NULL, 0, TEXT                                                                  \
    }

static const struct field asked[] = {
    ASKS (TEXT, account),       ASKS (TEXT, array_inx),
    ASKS (TEXT, comment),       ASKS (U16, cpus_per_task),
    ASKS (TEXT, cpus_per_tres), ASKS (TEXT, exc_nodes),
    ASKS (TEXT, features),      ASKS (TEXT, licenses),
    ASKS (U32, max_nodes),      ASKS (TEXT, mem_per_tres),
    ASKS (U32, min_cpus),       ASKS (U32, min_nodes),
    ASKS (TEXT, name),          ASKS (U32, num_tasks),
    ASKS (TEXT, partition),     ASKS (U16, pn_min_cpus),
    ASKS (U64, pn_min_memory),  ASKS (U32, priority),
    ASKS (TEXT, req_nodes),     ASKS (TEXT, script),
    ASKS (U32, time_limit),     ASKS (U32, time_min),
    ASKS (TEXT, tres_per_job),  ASKS (TEXT, tres_per_node),
    ASKS (TEXT, work_dir),      END};

static const struct field shown[] = {
    SHOWS (TEXT, account),         SHOWS (TEXT, admin_comment),
    SHOWS (TEXT, array_task_str),  SHOWS (TEXT, comment),
    SHOWS (U16, core_spec),        SHOWS (U16, cores_per_socket),
    SHOWS (U16, cpus_per_task),    SHOWS (TEXT, cpus_per_tres),
    SHOWS (TEXT, exc_nodes),       SHOWS (TEXT, features),
    SHOWS (U32, het_job_offset),   SHOWS (U32, job_state),
    SHOWS (TEXT, licenses),        SHOWS (U32, max_nodes),
    SHOWS (TEXT, mem_per_tres),    SHOWS (TEXT, name),
    SHOWS (U16, ntasks_per_node),  SHOWS (U32, num_cpus),
    SHOWS (U32, num_nodes),        SHOWS (U32, num_tasks),
    SHOWS (TEXT, partition),       SHOWS (U16, pn_min_cpus),
    SHOWS (U64, pn_min_memory),    SHOWS (TEXT, req_nodes),
    SHOWS (TEXT, resv_name),       SHOWS (U16, shared),
    SHOWS (U32, time_limit),       SHOWS (U32, time_min),
    SHOWS (TEXT, tres_per_job),    SHOWS (TEXT, tres_per_node),
    SHOWS (TEXT, tres_per_socket), SHOWS (TEXT, tres_per_task),
    SHOWS (TEXT, tres_req_str),    SHOWS (U32, user_id),
    SHOWS (TEXT, work_dir),        END,
};

static struct client slurm;
static char *entries[ENTRIES_MAX];
static char *environment[] = {"PATH=/bin:/usr/bin", NULL};

/* --- the protocol ---------------------------------------------------------------- */

static int digit_of (char c)
{
    const char *digits = "0123456789ABCDEF";
    const char *found = c == '\0' ? NULL : strchr (digits, c);

    return found ? (int) (found - digits) : -1;
}

/* In place. */
static void decode (char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++, to++) {
        *to = *from;
        if (from[0] == '%' && digit_of (from[1]) >= 0 && digit_of (from[2]) >= 0) {
            *to = (char) (digit_of (from[1]) * 16 + digit_of (from[2]));
            from += 2;
        }
    }
    *to = '\0';
}

static void print_encoded (const char *text)
{
    for (; *text != '\0'; text++)
        if (*text > ' ' && *text < 0x7f && *text != '%')
            putchar (*text);
        else
            printf ("%%%02X", (unsigned char) *text);
}

static const struct field *find_field (const struct field *fields, const char *name)
{
    for (; fields->name; fields++)
        if (strcmp (fields->name, name) == 0)
            return fields;
    return NULL;
}

static void set (char *object, const struct field *field, char *value)
{
    uint64_t number = field->kind == TEXT ? 0 : strtoull (value, NULL, 10);
    uint32_t number_32 = (uint32_t) number;
    uint16_t number_16 = (uint16_t) number;

    switch (field->kind) {
    case TEXT:
        memcpy (object + field->offset, &value, sizeof (value));
        break;
    case U16:
        memcpy (object + field->offset, &number_16, sizeof (number_16));
        break;
    case U32:
        memcpy (object + field->offset, &number_32, sizeof (number_32));
        break;
    case U64:
        memcpy (object + field->offset, &number, sizeof (number));
        break;
    }
}

static void print_field (const char *object, const struct field *field)
{
    const char *text;
    uint16_t number_16;
    uint32_t number_32;
    uint64_t number;

    printf ("\t%s=", field->name);
    switch (field->kind) {
    case TEXT:
        memcpy (&text, object + field->offset, sizeof (text));
        print_encoded (text ? text : "");
        break;
    case U16:
        memcpy (&number_16, object + field->offset, sizeof (number_16));
        printf ("%" PRIu16, number_16);
        break;
    case U32:
        memcpy (&number_32, object + field->offset, sizeof (number_32));
        printf ("%" PRIu32, number_32);
        break;
    case U64:
        memcpy (&number, object + field->offset, sizeof (number));
        printf ("%" PRIu64, number);
        break;
    }
}

/* --- commands -------------------------------------------------------------------- */

/* 'words' is what strtok_r () has left of the line. */
static void fill (job_desc_msg_t *desc, char **words)
{
    char *word;

    while ((word = strtok_r (NULL, "\t", words))) {
        const struct field *field = NULL;
        char *value;

        decode (word);
        value = strchr (word, '=');
        if (value) {
            *value = '\0';
            field = find_field (asked, word);
            if (field) {
                set ((char *) desc, field, value + 1);
                continue;
            }
            *value = '=';
        }
        if (desc->spank_job_env_size == ENTRIES_MAX)
            client_die ("too many entries");
        entries[desc->spank_job_env_size++] = word;
    }
}

static void submit (char **words)
{
    submit_response_msg_t *answer = NULL;
    const char *tag = strtok_r (NULL, "\t", words);
    job_desc_msg_t desc;

    if (!tag)
        client_die ("submit: no tag");
    slurm.init_desc (&desc);
    desc.user_id = getuid ();
    desc.group_id = getgid ();
    desc.environment = environment;
    desc.env_size = 1;
    desc.spank_job_env = entries;
    desc.spank_job_env_size = 0;
    fill (&desc, words);
    errno = 0;
    if (slurm.submit (&desc, &answer) != SLURM_SUCCESS) {
        int error = errno;

        printf ("%s\terror\t%d\t", tag, error);
        print_encoded (slurm.why (error));
    } else {
        printf ("%s\tid\t%" PRIu32 "\t", tag, answer->job_id);
        print_encoded (answer->job_submit_user_msg ? answer->job_submit_user_msg : "");
        slurm.free_answer (answer);
    }
    putchar ('\n');
}

static void show_jobs (void)
{
    job_info_msg_t *jobs = NULL;

    if (slurm.load_jobs (0, &jobs, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS) {
        int error = errno;

        printf ("failed\t%d\t", error);
        print_encoded (slurm.why (error));
        putchar ('\n');
        return;
    }
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        printf ("job");
        for (const struct field *field = shown; field->name; field++)
            print_field ((const char *) &jobs->job_array[i], field);
        putchar ('\n');
    }
    printf ("end\t%" PRIu32 "\n", jobs->record_count);
    slurm.free_jobs (jobs);
}

int main (void)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t len;

    client_open (&slurm);
    while ((len = getline (&line, &size, stdin)) > 0) {
        char *words = NULL;
        const char *command;

        if (line[len - 1] == '\n')
            line[len - 1] = '\0';
        command = strtok_r (line, "\t", &words);
        if (command && strcmp (command, "submit") == 0)
            submit (&words);
        else if (command && strcmp (command, "jobs") == 0)
            show_jobs ();
        else
            client_die ("unknown command");
        fflush (stdout);
    }
    free (line);
    return 0;
}
