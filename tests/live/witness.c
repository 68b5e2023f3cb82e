/* witness.c - a job_submit plugin that writes what slurmctld gives it into its log
 *
 * tests/live/contract.t compiles it, in several variants, against the headers at hand.
 * Words of the job's comment say what it does with the job: "sleep=SECONDS",
 * "refuse=NAME" for the plugin of that name, "say=TEXT", and FIELD=VALUE for those
 * fields that set () knows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "submit/host.h"
#include "submit/versions.h"

/* What the variants differ in; a plugin of version 0 is never loaded. */
#ifndef WITNESS_NAME
#define WITNESS_NAME "witness"
#endif
#ifndef WITNESS_VERSION
#define WITNESS_VERSION 0
#endif
#ifndef WITNESS_INIT
#define WITNESS_INIT SLURM_SUCCESS
#endif

#define LINE_MAX 8192

extern const char plugin_name[];
extern const char plugin_type[];
extern const uint32_t plugin_version;
const char plugin_name[] = WITNESS_NAME;
const char plugin_type[] = "job_submit/" WITNESS_NAME;
const uint32_t plugin_version = WITNESS_VERSION;

int init (void);
int fini (void);
int job_submit (job_desc_msg_t *desc, uint32_t submit_uid, char **err_msg);

/* A line under construction: "name=value name=value ...". */
struct line {
    char text[LINE_MAX];
    size_t len;
};

static void add (struct line *line, const char *name, const char *value)
{
    int n = snprintf (line->text + line->len,
                      sizeof (line->text) - line->len,
                      " %s=%s",
                      name,
                      value ? value : "NULL");

    if (n > 0 && line->len + (size_t) n < sizeof (line->text))
        line->len += (size_t) n;
}

static void add_number (struct line *line,
                        const char *name,
                        uint64_t value,
                        uint64_t no_val)
{
    char number[32];

    if (value == no_val)
        snprintf (number, sizeof (number), "NO_VAL");
    else if (no_val == NO_VAL && value == INFINITE)
        snprintf (number, sizeof (number), "INFINITE");
    else
        snprintf (number, sizeof (number), "%llu", (unsigned long long) value);
    add (line, name, number);
}

static void add_memory (struct line *line, uint64_t value)
{
    bool per_cpu = value != NO_VAL64 && (value & MEM_PER_CPU);

    add_number (line,
                per_cpu ? "mem_per_cpu" : "mem_per_node",
                per_cpu ? value & ~(uint64_t) MEM_PER_CPU : value,
                NO_VAL64);
}

/* Those variables in which sbatch repeats a request. */
static void add_environment (struct line *line, const job_desc_msg_t *desc)
{
    static const char *const names[] = {"SLURM_GPUS=",
                                        "SLURM_GPUS_PER_NODE=",
                                        "SLURM_GPUS_PER_TASK=",
                                        "SLURM_GPU_FREQ=",
                                        "SLURM_TRES_PER_TASK=",
                                        "SLURM_CPUS_PER_TASK="};

    add (line, "environment", desc->environment ? "yes" : NULL);
    if (!desc->environment || desc->env_size == NO_VAL)
        return;
    for (uint32_t i = 0; i < desc->env_size; i++)
        for (size_t j = 0; j < sizeof (names) / sizeof (names[0]); j++)
            if (desc->environment[i]
                && strncmp (desc->environment[i], names[j], strlen (names[j])) == 0)
                add (line, "env", desc->environment[i]);
}

static void add_counts (struct line *line, const job_desc_msg_t *desc)
{
    add_number (line, "time_limit", desc->time_limit, NO_VAL);
    add_number (line, "time_min", desc->time_min, NO_VAL);
    add_number (line, "num_tasks", desc->num_tasks, NO_VAL);
    add_number (line, "cpus_per_task", desc->cpus_per_task, NO_VAL16);
    add_number (line, "min_cpus", desc->min_cpus, NO_VAL);
    add_number (line, "pn_min_cpus", desc->pn_min_cpus, NO_VAL16);
    add_number (line, "ntasks_per_node", desc->ntasks_per_node, NO_VAL16);
    add_number (line, "ntasks_per_core", desc->ntasks_per_core, NO_VAL16);
    add_number (line, "threads_per_core", desc->threads_per_core, NO_VAL16);
    add_number (line, "cores_per_socket", desc->cores_per_socket, NO_VAL16);
    add_number (line, "tmp_disk", desc->pn_min_tmp_disk, NO_VAL);
    add_number (line, "min_nodes", desc->min_nodes, NO_VAL);
    add_number (line, "max_nodes", desc->max_nodes, NO_VAL);
    add_number (line, "shared", desc->shared, NO_VAL16);
    add_number (line, "overcommit", desc->overcommit, NO_VAL8);
    add_number (line, "het_job_offset", desc->het_job_offset, NO_VAL);
    add_number (line, "argc", desc->argc, NO_VAL);
    add_memory (line, desc->pn_min_memory);
}

static void add_texts (struct line *line, const job_desc_msg_t *desc)
{
    add (line, "script", desc->script ? "yes" : NULL);
    add (line, "array", desc->array_inx);
    add (line, "tres_per_job", desc->tres_per_job);
    add (line, "tres_per_node", desc->tres_per_node);
    add (line, "tres_per_task", desc->tres_per_task);
    add (line, "cpus_per_tres", desc->cpus_per_tres);
    add (line, "mem_per_tres", desc->mem_per_tres);
    add (line, "tres_freq", desc->tres_freq);
    add (line, "exc_nodes", desc->exc_nodes);
    add (line, "partition", desc->partition);
    add (line, "account", desc->account);
    add (line, "qos", desc->qos);
    add (line, "admin_comment", desc->admin_comment);
}

static void testify (const char *what, const job_desc_msg_t *desc, uint32_t submit_uid)
{
    struct line line = {.len = 0};

    add_number (&line, "submitter", submit_uid, NO_VAL);
    add_number (&line, "owner", desc->user_id, NO_VAL);
    add_number (&line, "thread", (uint64_t) pthread_self (), NO_VAL64);
    add_counts (&line, desc);
    add_texts (&line, desc);
    add_environment (&line, desc);
    add (&line, "default", &default_part_name ? default_part_name : NULL);
    add (&line, "parameters", slurm_conf.slurmctld_params);
    slurm_info (WITNESS_NAME ": %s%s", what, line.text);
}

/* A copy of the word behind "NAME=" in the comment, or NULL. */
static char *word_of (const job_desc_msg_t *desc, const char *name)
{
    const char *found = desc->comment ? strstr (desc->comment, name) : NULL;

    if (!found)
        return NULL;
    found += strlen (name);
    return strndup (found, strcspn (found, " "));
}

static void set_text (char **text, const job_desc_msg_t *desc, const char *name)
{
    char *word = word_of (desc, name);

    if (!word)
        return;
    dn_host_free (text);
    *text = dn_host_dup (word);
    free (word);
}

static long number_of (const job_desc_msg_t *desc, const char *name, long otherwise)
{
    char *word = word_of (desc, name);
    long number = word ? strtol (word, NULL, 10) : otherwise;

    free (word);
    return number;
}

static void set (job_desc_msg_t *desc)
{
    set_text (&desc->admin_comment, desc, "admin_comment=");
    set_text (&desc->tres_per_node, desc, "tres_per_node=");
    desc->cpus_per_task =
        (uint16_t) number_of (desc, "cpus_per_task=", desc->cpus_per_task);
    desc->time_min = (uint32_t) number_of (desc, "time_min=", desc->time_min);
}

int init (void)
{
    slurm_info (WITNESS_NAME ": init pid=%d", (int) getpid ());
    return WITNESS_INIT;
}

int fini (void)
{
    return SLURM_SUCCESS;
}

int job_submit (job_desc_msg_t *desc, uint32_t submit_uid, char **err_msg)
{
    char *refuser = word_of (desc, "refuse=");
    char *words = word_of (desc, "say=");
    const struct timespec pause = {.tv_sec = number_of (desc, "sleep=", 0)};
    int rc = SLURM_SUCCESS;

    testify ("submit", desc, submit_uid);
    nanosleep (&pause, NULL);
    set (desc);
    if (words)
        dn_host_append_line (err_msg, words);
    if (refuser && strcmp (refuser, WITNESS_NAME) == 0)
        rc = ESLURM_INVALID_TIME_LIMIT;
    free (refuser);
    free (words);
    return rc;
}

#ifndef WITNESS_NO_MODIFY
int job_modify (DN_JOB_MODIFY_PARAMETERS);

int job_modify (DN_JOB_MODIFY_PARAMETERS)
{
    DN_JOB_MODIFY_IGNORE ();
    testify ("modify", desc, submit_uid);
#if DN_JOB_MODIFY_SPEAKS
    dn_host_append_line (err_msg, WITNESS_NAME " speaks");
#endif
    return SLURM_SUCCESS;
}
#endif
