/* job_form.h - a submission out of the bytes of a fuzz target's input
 *
 * A line per field, "time_limit=1440", in any order; what is not understood is passed
 * over, so that every input makes a job. Numbers may be "none" and "all", Slurm's
 * NO_VAL and INFINITE in the width of the field, "percpu:1000", memory per CPU, and
 * "cron", the flag; they are cut to the width of the field. Times are seconds from now
 * on. In texts a form feed stands for a newline.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JOB_FORM_H
#define DN_JOB_FORM_H

#include "stand_in.h"

#include "base/text.h"

/* What of slurmctld's own the job is submitted to; lines of the same form. */
struct job_form {
    job_desc_msg_t desc;
    unsigned site;           /* "site": which of the sites */
    int allocations;         /* "allocations": that succeed; -1: all */
    char *message;           /* "message": what another plugin has said */
    char *default_partition; /* "default_partition" */
};

/* Read 'text', which is taken apart. slurm_conf is set, too. The number of lines whose
 * name is no field.
 */
int job_form_read (char *text, struct job_form *form);

/* Every field that is read, a line each, and then the environment. */
void job_form_write (const job_desc_msg_t *desc, struct dn_buf *buf);
void job_form_free (struct job_form *form);

#endif
