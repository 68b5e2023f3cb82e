/* versions.h - where the versions of Slurm differ, and nothing else
 *
 * Slurm loads a job_submit plugin only into the very release (major, minor and micro)
 * whose headers it was built with, so all of this is decided when it is compiled. What
 * is not here is the same from 22.05 to 26.05: the names of the fields, not their
 * places.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_VERSIONS_H
#define DN_VERSIONS_H

#include <stdio.h>

#include <slurm/slurm.h>

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
#error "dnnest needs Slurm 22.05 or later"
#endif

/* The release as people write it, "22.05.8": the headers do not have it as text. */
#define DN_SLURM_VERSION_MAX 16
static inline const char *dn_slurm_version (char text[DN_SLURM_VERSION_MAX])
{
    const unsigned number = SLURM_VERSION_NUMBER;

    snprintf (text,
              DN_SLURM_VERSION_MAX,
              "%u.%02u.%u",
              number >> 16 & 0xff,
              number >> 8 & 0xff,
              number & 0xff);
    return text;
}

/* The release as one number that compares: 2205 is 22.05. */
#define DN_SLURM_RELEASE                                                               \
    ((SLURM_VERSION_NUMBER >> 16) * 100 + ((SLURM_VERSION_NUMBER >> 8) & 0xff))

/* A job of slurmctld's table; its members are private in every version. */
struct job_record;

/* job_modify () can speak to the user since 23.02. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
#define DN_JOB_MODIFY_SPEAKS 1
#define DN_JOB_MODIFY_PARAMETERS                                                       \
    job_desc_msg_t *desc, struct job_record *job, uint32_t submit_uid, char **err_msg
#define DN_JOB_MODIFY_IGNORE()                                                         \
    ((void) desc, (void) job, (void) submit_uid, (void) err_msg)
#else
#define DN_JOB_MODIFY_SPEAKS 0
#define DN_JOB_MODIFY_PARAMETERS                                                       \
    job_desc_msg_t *desc, struct job_record *job, uint32_t submit_uid
#define DN_JOB_MODIFY_IGNORE() ((void) desc, (void) job, (void) submit_uid)
#endif

/* The bit of slurm_conf.select_type_param that makes memory a resource which jobs use
 * up; it got another name after 24.11, up to 25.11.
 */
#ifdef CR_MEMORY
#define DN_SELECT_MEMORY CR_MEMORY
#else
#define DN_SELECT_MEMORY SELECT_MEMORY
#endif

/* How job_submit () reads a GPU in a request, whoever sent it. What dnnest changes
 * keeps its spelling, so only tests need it.
 */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
#define DN_TRES_GPU "gres/gpu:"
#else
#define DN_TRES_GPU "gres:gpu:"
#endif

#endif
