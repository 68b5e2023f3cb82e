/* script.h - what the words of a batch script keep, private to request/
 *
 * One pass over the words, by tables of words; nothing is run and no variable is
 * followed. A script is plain if it runs one training and nothing in it counts CPUs,
 * time, trainings or companions by itself. Else fields of the job are kept, and the
 * first word that says so is the reason. In doubt a field is kept.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SCRIPT_H
#define DN_SCRIPT_H

#include "request/request.h"

/* Tasks, nodes and GPUs of the job, DN_UNSET if unknown. */
struct dn_script_job {
    int64_t n_tasks;
    int64_t n_nodes;
    int64_t n_gpus;
    const char *gpu_type; /* "" for none */
};

/* Read 'script', which may be NULL, in linear time. Return -1 with DN_E_TIME when
 * 'deadline' (NULL: none) passes.
 */
int dn_script_read (const char *script,
                    const struct dn_script_job *job,
                    const struct dn_deadline *deadline,
                    struct dn_script *out,
                    struct dn_err *err);

#endif
