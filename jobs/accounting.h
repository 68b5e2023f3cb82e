/* accounting.h - jobs as sacct prints them
 *
 * In: the output of 'sacct -n -P --noconvert' with SLURM_TIME_FORMAT=%s, of the columns
 * of dn_accounting_columns (), in pieces of any length. Out: one call per job, with
 * what its steps used.
 *
 * sacct quotes nothing: a user's name of a job may have lines and any separator in it.
 * So the separator is a text that no user knows (--delimiter), and a record ends when
 * it has all columns. Control characters become '?'.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ACCOUNTING_H
#define DN_ACCOUNTING_H

#include "jobs/finished.h"

/* What is asked for: all columns, or those that say which job it is and what it has
 * used, which slurmdbd and sacct write in less time.
 */
enum dn_accounting_what {
    DN_ACCOUNTING_ALL,
    DN_ACCOUNTING_USE
};

/* As of sacct's option -o; 22.05 to 26.05 have them all. */
void dn_accounting_columns (enum dn_accounting_what what, struct dn_buf *buf);

/* Bytes of a record: nearly all are those of its admin comment. */
#define DN_ACCOUNTING_RECORD_MAX (256 * 1024)

/* A job as it is known until now: end_s of one that has not ended, and start_s of one
 * that has not started, are DN_UNSET. Texts are borrowed until the call returns.
 */
struct dn_accounted {
    struct dn_finished job;
    const char *admin_comment; /* "" none */
};

/* A value other than 0 ends the reading and is returned. */
typedef int (*dn_accounted_f) (void *to, const struct dn_accounted *job);

/* The next "name=count" of a text of TRES, which is cut off. False at its end. */
bool dn_tres_next (struct dn_span *rest, struct dn_span *name, int64_t *count);

/* The count of that name; DN_UNSET: the text has none. */
int64_t dn_tres_count (const char *text, const char *wanted);

struct dn_accounting;

/* 'delimiter' is copied and cut. NULL: no memory; freed with dn_accounting_free (). */
struct dn_accounting *dn_accounting_new (enum dn_accounting_what what,
                                         const char *delimiter,
                                         dn_accounted_f take,
                                         void *to);

/* Read the next piece. -1 with 'err': a record is too long; or what 'take' returned. */
int dn_accounting_feed (struct dn_accounting *accounting,
                        struct dn_span piece,
                        struct dn_err *err);

/* Records that did not have the columns, so far. */
int64_t dn_accounting_refused (const struct dn_accounting *accounting);

/* After the last piece: the last job. */
int dn_accounting_end (struct dn_accounting *accounting);

/* NULL-safe. */
void dn_accounting_free (struct dn_accounting *accounting);

#endif
