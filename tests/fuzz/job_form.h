/* job_form.h - a submission out of the bytes of a fuzz target's input
 *
 * A line per field, "time_limit=1440", in any order; what is not understood is passed
 * over, so that every input makes a job. Numbers may be "none" and "all", Slurm's
 * NO_VAL and INFINITE in the width of the field, and are cut to that width. Times are
 * seconds from now on. In texts a form feed stands for a newline.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JOB_FORM_H
#define DN_JOB_FORM_H

#include "stand_in.h"

/* What of slurmctld's own the job is submitted to; lines of the same form. */
struct job_form {
    job_desc_msg_t desc;
    unsigned site;           /* "site": which of the sites */
    int allocations;         /* "allocations": that succeed; -1: all */
    char *message;           /* "message": what another plugin has said */
    char *default_partition; /* "default_partition" */
};

/* Read 'text', which is taken apart. slurm_conf is set, too. */
void job_form_read (char *text, struct job_form *form);
void job_form_free (struct job_form *form);

#endif
