/* script.h - what a batch script needs, private to request/
 *
 * The script is read like a shell reads it: comments, continued lines, quotes, here
 * documents, substitutions, functions, loops, branches and variables are understood,
 * and the launchers in front of a program (srun, torchrun, apptainer ...). Nothing is
 * run. What other files and the user's environment contain is unknown. In doubt a field
 * is kept: after a wrong guess the job is what its user requested.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SCRIPT_H
#define DN_SCRIPT_H

#include "request/request.h"

/* Tasks, nodes and GPUs of the job, DN_UNSET if unknown. A step may have as many. */
struct dn_script_job {
    int64_t n_tasks;
    int64_t n_nodes;
    int64_t n_gpus;
};

/* What was found. A reason is empty if there is none, else it names the line and the
 * word; the first one in the script counts.
 */
struct dn_script {
    char unclear[DN_REASON_MAX];  /* not understood: anything may be in it */
    char cpus[DN_REASON_MAX];     /* a number of CPUs or tasks, or arithmetic on it */
    char gpu[DN_REASON_MAX];      /* a constraint or node of a step */
    char clock[DN_REASON_MAX];    /* the frequency or power of the GPU is set */
    char fewer[DN_REASON_MAX];    /* a program uses fewer GPUs than the job has */
    char several[DN_REASON_MAX];  /* more than one program may be a training */
    char need_why[DN_REASON_MAX]; /* the word of 'need' */
    enum dn_need need;
    int n_trainings;  /* programs that may be trainings: 0, 1, 2 for more or unknown */
    size_t n_visited; /* bytes that were read, those of variables each time */
};

/* Read 'script', which may be NULL. Takes linear time: at most 3 * length + 16 KiB
 * bytes are visited. Return -1 with DN_E_TIME when 'deadline' (NULL: none) passes, or
 * with DN_E_NOMEM. A script that is too long or not understood is no error, but
 * 'unclear'.
 */
int dn_script_read (const char *script,
                    const struct dn_script_job *job,
                    const struct dn_deadline *deadline,
                    struct dn_script *out,
                    struct dn_err *err);

/* The line of the first command that contains 'word', in capitals or not, and no digit
 * behind it; a word of one or two characters must be separate. 0 for none. Comments and
 * messages do not count. -1 for a script longer than DN_SCRIPT_MAX.
 */
int dn_script_names (const char *script, const char *word);

#endif
