/* rescue_plan.h - whether and how a job that ran out of memory is started again
 *
 * In: a job that has failed, its record. Out: the request with which it is started
 * again, or why it is not. Such a job was moved by dnnest to a GPU type whose memory
 * did not suffice, or dnnest had lowered its host memory: its user would not have lost
 * the run without dnnest.
 *
 * Slurm changes the GPU type of a pending job from 23.02 on; 22.05 takes the change and
 * then never starts the job. The environment of a job keeps the old type. Only --gres
 * sets no variable there, so only such jobs can be rescued.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RESCUE_PLAN_H
#define DN_RESCUE_PLAN_H

#include "rewrite/recorded.h"
#include "site.h"
#include "slurm/slurm_link.h"

/* Why a job is not started again. */
enum dn_rescue_refusal {
    DN_REFUSAL_NONE,
    DN_REFUSAL_RULES,   /* Rescue=off */
    DN_REFUSAL_VERSION, /* Slurm cannot change the type */
    DN_REFUSAL_NO_REQUEUE,
    DN_REFUSAL_RESCUED, /* it was, once */
    DN_REFUSAL_FORM,    /* the type is in its environment, too */
    DN_REFUSAL_CHANGED, /* somebody has changed the type since */
    DN_REFUSAL_PART,    /* of a heterogeneous or federated job */
    DN_N_REFUSALS
};

/* The reason, for the log. */
const char *dn_rescue_refusal_text (enum dn_rescue_refusal refusal);

struct dn_rescue_plan {
    enum dn_rescue_refusal refusal;
    char gres[DN_TRES_MAX + DN_NAME_MAX]; /* of a node, with the requested type; "" */
    int64_t mem_mb;                       /* host memory of a node; 0: unchanged */
    int64_t limit_s;                      /* 0: unchanged */
    char partition[DN_RECORD_MAX + 1];    /* "": unchanged, as the next */
    char features[DN_RECORD_MAX + 1];
};

/* Did the job fail by itself, or was it killed for host memory? */
bool dn_rescue_failed (const struct dn_link_job *job);

/* Did dnnest move the job to another GPU type, or ('of_host') lower its host memory,
 * and did it fail then?
 */
bool dn_rescue_concerns (const struct dn_link_job *job,
                         const struct dn_recorded *recorded,
                         bool of_host);

/* How such a job is started again under 'slurm', 2411 for 24.11. */
struct dn_rescue_plan dn_rescue_plan (const struct dn_link_job *job,
                                      const struct dn_recorded *recorded,
                                      bool of_host,
                                      bool enabled,
                                      int slurm);

/* Did a job fail for lack of memory (evidence.c)?
 *
 * Slurm's state OUT_OF_MEMORY is about the memory of the host; a job whose step was
 * killed may only be FAILED, with a line of slurmstepd in its output. The memory of a
 * GPU is known only by what the job says: in its reports of progress, or in its output,
 * which is read only below OutputDir.
 */

/* Bytes of the end of an output that are read. */
#define DN_EVIDENCE_MAX 65536

/* Of that of the host, or that of a GPU. */
bool dn_evidence_find (const struct dn_site *site,
                       const struct dn_link_job *job,
                       bool of_host);

/* Write the path of the output for 'pattern' (NULL or "": Slurm's own); the buffer is
 * cut if it is too long. slurmstepd makes the path of a pattern (sbatch(1), filename
 * pattern) on the node; the functions of libslurm know some patterns only.
 */
void dn_output_name (const struct dn_link_job *job,
                     const char *pattern,
                     struct dn_buf *path);

#endif
