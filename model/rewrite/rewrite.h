/* rewrite.h - a decision as edits of Slurm's fields, and as text
 *
 * In: the request, the decision, the estimate that it is based on. Out: struct
 * dn_patch, a complete list of (field, old, new) with all places in which Slurm keeps
 * the same value (doc/design.md), the environment too; and the texts for the user,
 * the log and the record. Never: Slurm's structures; the adapter applies the edits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REWRITE_H
#define DN_REWRITE_H

#include "policy/policy.h"
#include "request/request.h"

/* Fields of a submission that may be edited. Numbers first, then strings. */
/* clang-format off */
#define DN_FIELDS(ROW)                                                                 \
    ROW (FIELD_NONE, "none")                                                           \
    ROW (FIELD_TIME_LIMIT, "time_limit") /* minutes */                                 \
    ROW (FIELD_TIME_MIN, "time_min") /* minutes */                                     \
    ROW (FIELD_CPUS_PER_TASK, "cpus_per_task")                                         \
    ROW (FIELD_MIN_CPUS, "min_cpus")                                                   \
    ROW (FIELD_PN_MIN_CPUS, "pn_min_cpus")                                             \
    ROW (FIELD_MEM_PER_NODE, "mem_per_node") /* MB; also replaces a request per CPU */ \
    ROW (FIELD_TRES_PER_JOB, "tres_per_job")                                           \
    ROW (FIELD_TRES_PER_NODE, "tres_per_node")                                         \
    ROW (FIELD_TRES_PER_SOCKET, "tres_per_socket")                                     \
    ROW (FIELD_TRES_PER_TASK, "tres_per_task")                                         \
    ROW (FIELD_CPUS_PER_TRES, "cpus_per_tres")                                         \
    ROW (FIELD_PARTITION, "partition")                                                 \
    ROW (FIELD_FEATURES, "features") /* the constraint */                              \
    ROW (FIELD_PREFER, "prefer") /* of a constraint that leaves a choice */            \
    ROW (FIELD_ENV, "environment") /* a whole entry "NAME=value", replaced or added */ \
    ROW (FIELD_ADMIN_COMMENT, "admin_comment")
/* clang-format on */
DN_ENUM (dn_field, FIELDS);

extern const struct dn_names dn_field_names;

bool dn_field_is_number (enum dn_field field);

/* One edit. Texts are owned by the patch. */
struct dn_edit {
    enum dn_field field;
    int64_t old_number;
    int64_t new_number;
    char *old_text; /* NULL when there was none */
    char *new_text;
};

/* Variables of one job, which those that it submits do not inherit. */
#define DN_JOB_VARIABLES "DNNEST_JOB_" /* their common prefix */

/* The directory of the hook of a job that describes itself. */
#define DN_CAPTURE_HOOK DN_JOB_VARIABLES "CAPTURE"

/* By which Python finds it. */
#define DN_PYTHON_PATH "PYTHONPATH"

/* The number of steps that a program measures, which then ends ('dnnest describe'). */
#define DN_CAPTURE_STEPS DN_JOB_VARIABLES "CAPTURE_STEPS"

/* Below the directory of the Python modules (PythonDir): what is put on PYTHONPATH. */
#define DN_HOOK_FOLDER "/hook"

/* The variable that names the directory for reports of progress. */
#define DN_PROGRESS_DIR "DNNEST_PROGRESS_DIR"

#define DN_USER_TEXT_MAX 640
#define DN_WARN_TEXT_MAX (DN_WARNING_MAX + 32)
#define DN_LOG_TEXT_MAX  1024

struct dn_patch {
    int n_edits;
    struct dn_edit edits[DN_EDITS_MAX];
    /* The decided partition and constraint, in every mode; empty: unchanged. */
    char partition[DN_NAME_MAX];
    char features[DN_FEATURES_TEXT_MAX + DN_NAME_MAX];
    /* The constraint with which the job runs on each open type; "": by its partition */
    char places[DN_OPEN_MAX][DN_FEATURES_TEXT_MAX + DN_NAME_MAX];
    char user_text[DN_USER_TEXT_MAX]; /* one line for the user; empty: none */
    char warnings[DN_WARNINGS_MAX][DN_WARN_TEXT_MAX]; /* a line each for the user */
    int n_warnings;
    char record[DN_RECORD_MAX + 1]; /* the decision record, also with Record=none */
};

/* An empty patch. The edits and warnings are not cleared: there are none. */
void dn_patch_begin (struct dn_patch *patch);

/* What a patch is made of. */
struct dn_story {
    const struct dn_rules *rules;
    const struct dn_request *request;
    const struct dn_spec *spec;
    const struct dn_estimate *base;   /* on the requested type; NULL: unknown */
    const struct dn_estimate *chosen; /* NULL when no candidate was chosen */
    const struct dn_decision *decision;
    const struct dn_patch *patch; /* for its partition and constraint */
};

/* Write the patch of the story. In modes observe and advise it holds the texts and the
 * record, but no other edit. Return 0, or -1 with 'err' and an empty patch.
 */
int dn_rewrite_plan (const struct dn_story *story,
                     struct dn_patch *patch,
                     struct dn_err *err) DN_COLD;

/* Write the lines about what is likely to go wrong with the job; none for jobs of the
 * control group. They are part of what Message switches, and are not in mode observe.
 */
void dn_rewrite_warn (const struct dn_story *story, struct dn_patch *patch) DN_COLD;

/* Write the patch of a job without a verdict: the warnings, and what makes it describe
 * itself. Of the request only its job is used.
 */
int dn_rewrite_leave (const struct dn_story *story,
                      struct dn_patch *patch,
                      struct dn_err *err) DN_COLD;

/* Write the one line about the decision for slurmctld's log; the patch is written. */
void dn_rewrite_log (const struct dn_story *story, char text[DN_LOG_TEXT_MAX]);

/* NULL-safe, leaves an empty patch. */
void dn_patch_free (struct dn_patch *patch);

#endif
