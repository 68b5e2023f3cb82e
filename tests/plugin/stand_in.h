/* stand_in.h - a simulation of what slurmctld gives its plugins
 *
 * Like Slurm's, the allocator marks its blocks, so that memory freed by the wrong
 * allocator ends the test. It counts blocks, and can be made to fail.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STAND_IN_H
#define DN_STAND_IN_H

#include "unit.h"

#include <stdbool.h>

#include <slurm/slurm.h>

#include "submit/versions.h"

#define GPU DN_TRES_GPU

#define SLURM_SYMBOL __attribute__ ((visibility ("default")))

extern SLURM_SYMBOL slurm_conf_t slurm_conf;

/* Blocks in use, and how many allocations still succeed (-1: all). */
extern int stand_in_blocks;
extern int stand_in_allocations_left;

/* This thread is in an allocation without which slurmctld itself would end. */
extern _Thread_local volatile bool stand_in_essential;

/* What was logged since the last stand_in_forget (). */
extern int stand_in_n_errors;
extern int stand_in_n_infos;
extern char stand_in_error[2048]; /* the last one */
extern char stand_in_info[2048];

void stand_in_forget (void);

/* A string in Slurm's memory; NULL stays NULL. */
char *slurm_text (const char *text);
void slurm_text_free (char **text);

/* An empty submission, as slurm_init_job_desc_msg () leaves it. */
void job_init (job_desc_msg_t *desc);

/* Give the job an environment of these entries, NULL at the end. */
void job_set_env (job_desc_msg_t *desc, const char *const *entries);

/* The same for its SPANK environment. */
void job_set_spank_env (job_desc_msg_t *desc, const char *const *entries);

/* Value of a variable of the job, or NULL. */
const char *job_getenv (const job_desc_msg_t *desc, const char *name);

/* Free all that the job holds. */
void job_free (job_desc_msg_t *desc);

/* The i-th string of a job that the plugin reads, without the environments; NULL after
 * the last.
 */
char **job_text (job_desc_msg_t *desc, int i);

/* All parts of a job that the plugin could change, for comparison. */
#define PHOTO_TEXTS 64
struct photo {
    job_desc_msg_t desc;
    char *texts[PHOTO_TEXTS]; /* as job_text () has them, then both environments */
    int n_texts;
};

struct photo photo_take (const job_desc_msg_t *desc);

/* Fails the test unless the job is byte for byte as it was. */
void photo_compare (struct photo *photo, const job_desc_msg_t *desc);
void photo_free (struct photo *photo);

#endif
