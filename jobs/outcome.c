/* outcome.c - how a job ended, and what its run time says
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/outcome.h"

#include <string.h>

/* A job that fails within this time has not begun its work: an error of its start. */
#define EARLY_S 300

static const char *const outcome_names[] = {
    [DN_OUTCOME_UNKNOWN] = "unknown",
    [DN_OUTCOME_COMPLETED] = "completed",
    [DN_OUTCOME_FAILED_EARLY] = "failed_early",
    [DN_OUTCOME_FAILED] = "failed",
    [DN_OUTCOME_OUT_OF_MEMORY] = "out_of_memory",
    [DN_OUTCOME_LIMIT_OURS] = "limit_ours",
    [DN_OUTCOME_LIMIT_USER] = "limit_user",
    [DN_OUTCOME_DEADLINE] = "deadline",
    [DN_OUTCOME_PREEMPTED] = "preempted",
    [DN_OUTCOME_REQUEUED] = "requeued",
    [DN_OUTCOME_NODE_FAILURE] = "node_failure",
    [DN_OUTCOME_CANCELLED] = "cancelled",
};
const struct dn_names dn_outcome_names = DN_NAMES (outcome_names, DN_N_OUTCOMES);

/* What Slurm's states say alone. */
static const struct {
    const char *state;
    enum dn_outcome outcome;
} states[] = {
    {"COMPLETED", DN_OUTCOME_COMPLETED},
    {"FAILED", DN_OUTCOME_FAILED},
    {"OUT_OF_MEMORY", DN_OUTCOME_OUT_OF_MEMORY},
    {"TIMEOUT", DN_OUTCOME_LIMIT_USER},
    {"DEADLINE", DN_OUTCOME_DEADLINE},
    {"PREEMPTED", DN_OUTCOME_PREEMPTED},
    {"REQUEUED", DN_OUTCOME_REQUEUED},
    {"NODE_FAIL", DN_OUTCOME_NODE_FAILURE},
    {"BOOT_FAIL", DN_OUTCOME_NODE_FAILURE},
    {"CANCELLED", DN_OUTCOME_CANCELLED},
};

/* Was the limit at the end below the user's own, because dnnest had changed it? */
static bool limit_is_ours (const struct dn_finished *job)
{
    if (!dn_finished_changed (job) || job->set_limit_s == DN_UNSET)
        return false;
    if (job->asked_limit_s == DN_UNSET) /* the user had stated none */
        return job->limit_s == job->set_limit_s;
    return job->limit_s != DN_UNLIMITED
           && (job->asked_limit_s == DN_UNLIMITED || job->limit_s < job->asked_limit_s);
}

enum dn_outcome dn_outcome_of (const struct dn_finished *job)
{
    enum dn_outcome outcome = DN_OUTCOME_UNKNOWN;

    for (size_t i = 0; i < DN_N_ELEMENTS (states); i++)
        if (strcmp (job->state, states[i].state) == 0)
            outcome = states[i].outcome;
    if (outcome == DN_OUTCOME_FAILED && dn_finished_ran_s (job) < EARLY_S)
        return DN_OUTCOME_FAILED_EARLY;
    if (outcome == DN_OUTCOME_LIMIT_USER && limit_is_ours (job))
        return DN_OUTCOME_LIMIT_OURS;
    return outcome;
}

enum dn_evidence dn_outcome_evidence (enum dn_outcome outcome)
{
    switch (outcome) {
    case DN_OUTCOME_COMPLETED:
        return DN_EVIDENCE_EXACT;
    case DN_OUTCOME_LIMIT_OURS:
    case DN_OUTCOME_LIMIT_USER:
    case DN_OUTCOME_DEADLINE:
    case DN_OUTCOME_PREEMPTED:
    case DN_OUTCOME_CANCELLED:
        return DN_EVIDENCE_AT_LEAST;
    default:
        return DN_EVIDENCE_NOTHING;
    }
}
