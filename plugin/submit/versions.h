/* versions.h - the differences between versions of Slurm
 *
 * slurmctld loads a job_submit plugin only if it was built with the headers of the same
 * release (major, minor and micro), so all of this is decided at compile time. Other
 * names of fields are the same in all of these; the offsets differ.
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

/* The release as text, "22.05.8". The headers have it only as a number. */
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

/* A job in slurmctld's table; its members are private in all versions. */
struct job_record;

/* job_modify () can send a message to the user since 23.02. */
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

/* The bit of slurm_conf.select_type_param that makes memory a resource that jobs
 * consume. It was renamed after 24.11, in 25.11 at the latest.
 */
#ifdef CR_MEMORY
#define DN_SELECT_MEMORY CR_MEMORY
#else
#define DN_SELECT_MEMORY SELECT_MEMORY
#endif

/* How a GPU is spelled in the request that job_submit () gets, from any client. dnnest
 * keeps the spelling of the request, so only tests need this.
 */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
#define DN_TRES_GPU "gres/gpu:"
#else
#define DN_TRES_GPU "gres:gpu:"
#endif

#endif
