/* submit_many.c - a client that submits one job many times, and times it
 *
 * usage: submit_many COUNT COMMENT GRES
 *
 * Prints the microseconds of every submission, a line each, from the call to libslurm
 * until the answer is there. The jobs are held: nothing is scheduled meanwhile. Script
 * and environment are as large as people's are. A '#' of COMMENT becomes a number of
 * nine digits that no other job of the last quarter of an hour has had.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define COUNT_MAX   1000000
#define N_VARIABLES 60
#define N_LINES     40

/* Like that of a login shell with some modules loaded. */
static char **make_environment (void)
{
    static char texts[N_VARIABLES][96];
    static char *entries[N_VARIABLES];

    for (int i = 0; i < N_VARIABLES; i++) {
        snprintf (texts[i],
                  sizeof (texts[i]),
                  "MODULE_VARIABLE_%d=/opt/software/library-%d/1.2.3/lib:/usr/lib",
                  i,
                  i);
        entries[i] = texts[i];
    }
    return entries;
}

/* The same for all jobs, made once. */
static char *make_script (void)
{
    static char text[N_LINES * 64 + 256];
    size_t len;

    if (text[0] != '\0')
        return text;
    len = (size_t) snprintf (text,
                             sizeof (text),
                             "#!/bin/bash\n#SBATCH --job-name=train\n"
                             "#SBATCH --output=out-%%j\n#SBATCH --gres=gpu:a100:4\n"
                             "#SBATCH --cpus-per-task=80\n#SBATCH --time=1-00:00:00\n"
                             "\nmodule load cuda python\n");
    for (int i = 0; i < N_LINES; i++)
        len +=
            (size_t) snprintf (text + len,
                               sizeof (text) - len,
                               "export SETTING=1 # what people write into scripts\n");
    snprintf (text + len,
              sizeof (text) - len,
              "srun python train.py --epochs 90 --batch-size 64\n");
    return text;
}

static void describe (job_desc_msg_t *desc, char *comment, char *gres)
{
    desc->user_id = getuid ();
    desc->group_id = getgid ();
    desc->name = "train";
    desc->work_dir = "/tmp";
    desc->std_out = "/dev/null";
    desc->script = make_script ();
    desc->environment = make_environment ();
    desc->env_size = N_VARIABLES;
    desc->comment = comment;
    desc->tres_per_node = gres;
    desc->min_nodes = 1;
    desc->num_tasks = 1;
    desc->cpus_per_task = 80;
    desc->pn_min_cpus = 80;
    desc->min_cpus = 80;
    desc->pn_min_memory = 256000;
    desc->time_limit = 1440;
    desc->priority = 0; /* held */
}

static double now_us (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return 1e6 * (double) now.tv_sec + 1e-3 * (double) now.tv_nsec;
}

/* The comment of the next job, NULL without one. */
static char *number_comment (const char *comment)
{
    static char text[1024];
    const char *place = strchr (comment, '#');

    if (place)
        snprintf (text,
                  sizeof (text),
                  "%.*s%09lld%s",
                  (int) (place - comment),
                  comment,
                  (long long) now_us () % 1000000000,
                  place + 1);
    else
        snprintf (text, sizeof (text), "%s", comment);
    return text[0] != '\0' ? text : NULL;
}

int main (int argc, char **argv)
{
    struct client slurm;
    long count = argc == 4 ? strtol (argv[1], NULL, 10) : 0;

    if (count < 1 || count > COUNT_MAX)
        client_die ("usage: submit_many COUNT COMMENT GRES");
    client_open (&slurm);
    for (long i = 0; i < count; i++) {
        submit_response_msg_t *answer = NULL;
        job_desc_msg_t desc;
        double start;

        slurm.init_desc (&desc);
        describe (&desc, number_comment (argv[2]), argv[3]);
        start = now_us ();
        if (slurm.submit (&desc, &answer) != SLURM_SUCCESS)
            client_die (slurm.why (errno));
        printf ("%.0f\n", now_us () - start);
        slurm.free_answer (answer);
    }
    return 0;
}
