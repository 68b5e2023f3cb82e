/* forge.c - a client of Slurm's that a user has written, to submit what sbatch would
 * not
 *
 * usage: forge FIELD=VALUE...
 *
 * The value @FILE is what stands in the file. Prints the job's number and, on stderr,
 * what the user is told.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

#define ENTRIES_MAX 200000

static char *entries[ENTRIES_MAX]; /* of the job's SPANK environment */
static uint32_t n_entries;
static char *environment[ENTRIES_MAX];
static uint32_t env_size;

static const struct {
    const char *name;
    size_t offset;
} texts[] = {
    {"account", offsetof (job_desc_msg_t, account)},
    {"admin_comment", offsetof (job_desc_msg_t, admin_comment)},
    {"comment", offsetof (job_desc_msg_t, comment)},
    {"exc_nodes", offsetof (job_desc_msg_t, exc_nodes)},
    {"features", offsetof (job_desc_msg_t, features)},
    {"gres", offsetof (job_desc_msg_t, tres_per_node)},
    {"licenses", offsetof (job_desc_msg_t, licenses)},
    {"mem_per_tres", offsetof (job_desc_msg_t, mem_per_tres)},
    {"name", offsetof (job_desc_msg_t, name)},
    {"partition", offsetof (job_desc_msg_t, partition)},
    {"prefer", offsetof (job_desc_msg_t, prefer)},
    {"qos", offsetof (job_desc_msg_t, qos)},
    {"req_nodes", offsetof (job_desc_msg_t, req_nodes)},
    {"reservation", offsetof (job_desc_msg_t, reservation)},
    {"script", offsetof (job_desc_msg_t, script)},
    {"tres_per_task", offsetof (job_desc_msg_t, tres_per_task)},
    {"work_dir", offsetof (job_desc_msg_t, work_dir)},
};

static char *read_file (const char *path)
{
    FILE *file = fopen (path, "r");
    char *text = NULL;
    size_t size = 0;

    if (!file || (getdelim (&text, &size, '\0', file) < 0 && ferror (file)))
        client_die (path);
    fclose (file);
    return text;
}

/* What stands behind the '='; it lives as long as the program. */
static char *value_of (char *argument)
{
    char *value = strchr (argument, '=');

    if (!value)
        client_die (argument);
    *value++ = '\0';
    return value[0] == '@' ? read_file (value + 1) : value;
}

static char *joined (const char *name, const char *value)
{
    char *text = malloc (strlen (name) + strlen (value) + 2);

    if (!text)
        client_die ("out of memory");
    sprintf (text, "%s=%s", name, value);
    return text;
}

static void set (job_desc_msg_t *desc, char *name, char *value)
{
    for (size_t i = 0; i < sizeof (texts) / sizeof (texts[0]); i++)
        if (strcmp (name, texts[i].name) == 0) {
            memcpy ((char *) desc + texts[i].offset, &value, sizeof (value));
            return;
        }
    if (strcmp (name, "uid") == 0) {
        desc->user_id = (uint32_t) strtoul (value, NULL, 10);
    } else if (strcmp (name, "variables") == 0) {
        for (unsigned long n = strtoul (value, NULL, 10); n > 0; n--)
            environment[env_size++] = joined ("SLURM_GPUS", "a100:4");
    } else if (strcmp (name, "entries") == 0) {
        for (unsigned long n = strtoul (value, NULL, 10); n > 0; n--)
            entries[n_entries++] = "DNNEST_OPTION";
    } else {
        entries[n_entries++] = joined (name, value);
    }
}

int main (int argc, char **argv)
{
    struct client slurm;
    submit_response_msg_t *answer = NULL;
    job_desc_msg_t desc;

    client_open (&slurm);
    slurm.init_desc (&desc);
    desc.user_id = getuid ();
    desc.group_id = getgid ();
    desc.work_dir = "/tmp";
    desc.script = "#!/bin/sh\ntrue\n";
    desc.tres_per_node = "gres:gpu:a100:4";
    desc.min_nodes = 1;
    desc.num_tasks = 1;
    desc.cpus_per_task = 80;
    desc.pn_min_cpus = 80;
    desc.min_cpus = 80;
    desc.time_limit = 1440;
    desc.priority = 0; /* held */
    environment[env_size++] = "PATH=/bin:/usr/bin";
    for (int i = 1; i < argc; i++) {
        char *value = value_of (argv[i]);

        set (&desc, argv[i], value);
    }
    desc.environment = environment;
    desc.env_size = env_size;
    desc.spank_job_env = entries;
    desc.spank_job_env_size = n_entries;
    if (slurm.submit (&desc, &answer) != SLURM_SUCCESS) {
        fprintf (stderr, "forge: refused: %s\n", slurm.why (errno));
        return 1;
    }
#ifdef HAVE_SUBMIT_RESPONSE_MSG_T_JOB_ID
    printf ("%u\n", answer->job_id);
#else
    printf ("%u\n", answer->step_id.job_id);
#endif
    if (answer->job_submit_user_msg)
        fprintf (stderr, "%s\n", answer->job_submit_user_msg);
    return 0;
}
