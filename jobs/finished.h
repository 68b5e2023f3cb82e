/* finished.h - a finished job, and the single table of its columns
 *
 * In: a row of accounting (daemon/collect), of a store (jobs/store.h) or of a CSV
 * table. Out: struct dn_finished, with a member for each column of
 * finished_columns.inc. All code that collects, stores, learns from or reports jobs
 * uses that table.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FINISHED_H
#define DN_FINISHED_H

#include "base/err.h"
#include "base/limits.h"
#include "learn/table.h"

enum dn_finished_type {
    DN_FINISHED_TEXT,
    DN_FINISHED_COUNT,
    DN_FINISHED_REAL,
    DN_N_FINISHED_TYPES
};

/* C types of the members. */
#define DN_FINISHED_TEXT_MEMBER  const char *
#define DN_FINISHED_COUNT_MEMBER int64_t
#define DN_FINISHED_REAL_MEMBER  double

/* Texts are borrowed: from a row until the next one is read, else from the caller. */
struct dn_finished {
#define DN_FINISHED_COLUMN(name, type, help) DN_FINISHED_##type##_MEMBER name;
#include "jobs/finished_columns.inc"
#undef DN_FINISHED_COLUMN
};

struct dn_finished_column {
    const char *name;
    enum dn_finished_type type;
    size_t offset;    /* in struct dn_finished */
    const char *help; /* with its unit */
};

enum {
#define DN_FINISHED_COLUMN(name, type, help) DN_FINISHED_AT_##name,
#include "jobs/finished_columns.inc"
#undef DN_FINISHED_COLUMN
    DN_N_FINISHED_COLUMNS
};

extern const struct dn_finished_column dn_finished_columns[DN_N_FINISHED_COLUMNS];

/* Set all members to unknown. */
void dn_finished_clear (struct dn_finished *job);

/* Make start_s and eligible_s what the store has, with end_s and what slurmdbd says: 0,
 * DN_UNSET or a number after all times where it knows none. A job that never started
 * has its end for a start.
 */
void dn_finished_settle_times (struct dn_finished *job);

/* Add the first of "n[1-4],m7" to 'host'; nothing of a job that had none. */
void dn_first_host (const char *nodes, struct dn_buf *host);

/* Fill what the admin comment of a job records, and the class of its end, for which
 * what accounting knows must be there. A comment without a record, or with one that is
 * not valid, leaves the members unknown. The record is read into 'recorded'
 * (rewrite/recorded.h), which must live as long as the texts are used.
 */
struct dn_recorded;
void dn_finished_from_record (struct dn_finished *job,
                              const char *admin_comment,
                              struct dn_recorded *recorded);

/* Did dnnest change the job: mode enforce, verdict change? */
bool dn_finished_changed (const struct dn_finished *job);

/* Was the job killed for host memory that dnnest had lowered? */
bool dn_finished_memory_killed (const struct dn_finished *job);

/* Read a row of a CSV table: a cell that is empty, and a column that the table does not
 * have, is unknown. A limit may be UNLIMITED. Texts are those of the row. -1 with
 * 'err', which names the column.
 */
int dn_finished_read (const struct dn_row *row,
                      struct dn_finished *job,
                      struct dn_err *err);

/* Seconds that the job ran: end - start - suspended; 0 if it never started. */
double dn_finished_ran_s (const struct dn_finished *job);

/* The time from which it waited: it could start, or else was submitted. */
int64_t dn_finished_waits_from (const struct dn_finished *job);

/* How a job ended, and what its run time says. Exact: the run time is that of the whole
 * work. At least: the work would have taken longer. Nothing: the run time says nothing
 * about the work.
 */
/* clang-format off */
#define DN_OUTCOMES(ROW)                                                               \
    ROW (OUTCOME_UNKNOWN, "unknown")                                                   \
    ROW (OUTCOME_COMPLETED, "completed") /* exact */                                   \
    /* with an error in the first minutes: nothing */                                  \
    ROW (OUTCOME_FAILED_EARLY, "failed_early")                                         \
    ROW (OUTCOME_FAILED, "failed") /* with an error later: nothing */                  \
    /* of the host, or of the GPU: nothing of the time */                              \
    ROW (OUTCOME_OUT_OF_MEMORY, "out_of_memory")                                       \
    /* killed at a limit below the user's own: at least */                             \
    ROW (OUTCOME_LIMIT_OURS, "limit_ours")                                             \
    /* killed at the user's own limit: at least */                                     \
    ROW (OUTCOME_LIMIT_USER, "limit_user")                                             \
    ROW (OUTCOME_DEADLINE, "deadline") /* at least */                                  \
    ROW (OUTCOME_PREEMPTED, "preempted") /* at least */                                \
    ROW (OUTCOME_REQUEUED, "requeued") /* started again later: nothing */              \
    ROW (OUTCOME_NODE_FAILURE, "node_failure") /* nothing */                           \
    ROW (OUTCOME_CANCELLED, "cancelled") /* at least, if it ran */
DN_ENUM (dn_outcome, OUTCOMES);
/* clang-format on */

extern const struct dn_names dn_outcome_names;

enum dn_evidence {
    DN_EVIDENCE_NOTHING,
    DN_EVIDENCE_EXACT,
    DN_EVIDENCE_AT_LEAST,
    DN_N_EVIDENCES
};

enum dn_outcome dn_outcome_of (const struct dn_finished *job);

/* The class of its column, or if it has none the one above. */
enum dn_outcome dn_finished_outcome (const struct dn_finished *job);

/* What the run time of a job of that class says. */
enum dn_evidence dn_outcome_evidence (enum dn_outcome outcome);

#endif
