/* outcome.h - how a job ended, and what its run time says
 *
 * In: a finished job (finished.h). Out: its class. Exact: the run time is that of the
 * whole work. At least: the work would have taken longer. Nothing: the run time says
 * nothing about the work.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_OUTCOME_H
#define DN_OUTCOME_H

#include "jobs/finished.h"

enum dn_outcome {
    DN_OUTCOME_UNKNOWN,
    DN_OUTCOME_COMPLETED,     /* exact */
    DN_OUTCOME_FAILED_EARLY,  /* with an error in the first minutes: nothing */
    DN_OUTCOME_FAILED,        /* with an error later: nothing */
    DN_OUTCOME_OUT_OF_MEMORY, /* of the host, or of the GPU: nothing of the time */
    DN_OUTCOME_LIMIT_OURS,    /* killed at a limit below the user's own: at least */
    DN_OUTCOME_LIMIT_USER,    /* killed at the user's own limit: at least */
    DN_OUTCOME_DEADLINE,      /* at least */
    DN_OUTCOME_PREEMPTED,     /* at least */
    DN_OUTCOME_REQUEUED,      /* started again later: nothing */
    DN_OUTCOME_NODE_FAILURE,  /* nothing */
    DN_OUTCOME_CANCELLED,     /* at least, if it ran */
    DN_N_OUTCOMES
};

extern const struct dn_names dn_outcome_names;

enum dn_evidence {
    DN_EVIDENCE_NOTHING,
    DN_EVIDENCE_EXACT,
    DN_EVIDENCE_AT_LEAST,
    DN_N_EVIDENCES
};

enum dn_outcome dn_outcome_of (const struct dn_finished *job);

/* What the run time of a job of that class says. */
enum dn_evidence dn_outcome_evidence (enum dn_outcome outcome);

#endif
