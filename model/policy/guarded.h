/* guarded.h - what the guard leaves for the plugin: its heartbeat, and whom it trusts
 *
 * In: the text of the file 'guard', lines of Key=Value. Out: struct dn_guarded. While
 * its time is recent, limits may follow GuardedQuantile, because the guard extends
 * them; but not those of a user whose past jobs needed more too often.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GUARDED_H
#define DN_GUARDED_H

#include "base/fields.h"

#define DN_GUARDED_VERSION 1

/* Its name in StateDir. */
#define DN_GUARDED_FILE "guard"

/* Jobs of a user that count, the newest. */
#define DN_GUARDED_JOBS 20

/* Users with a tally, at most: those with the newest jobs are kept. */
#define DN_GUARDED_USERS_MAX 20000

/* The last jobs of one user that ended or passed the first limit that dnnest had set.
 */
struct dn_tally {
    int64_t user_id;
    int64_t n_jobs;                /* at most DN_GUARDED_JOBS */
    int64_t jobs[DN_GUARDED_JOBS]; /* ids, the newest first */
    uint32_t needed;               /* bit i: jobs[i] needed more than that limit */
};

struct dn_guarded {
    int64_t time_s;           /* of the last complete pass, seconds since 1970 */
    int64_t interval_s;       /* between two passes */
    struct dn_tally *tallies; /* sorted by user; owned */
    int64_t n_tallies;
};

/* The kinds of lines of the file, in the order in which they come. */
enum dn_guarded_line {
    DN_GUARDED_LINE_GUARD,
    DN_GUARDED_LINE_USER,
    DN_GUARDED_LINE_END,
    DN_N_GUARDED_LINES
};

/* The lines, with what is not in struct dn_guarded as it is written. */
struct dn_guarded_head {
    int64_t version;
    int64_t time_s;
    int64_t interval_s;
};
struct dn_guarded_user {
    int64_t id;
    char jobs[DN_GUARDED_JOBS * 12]; /* "14+,13,12": '+' has needed more */
};
struct dn_guarded_tail {
    int64_t users;
};

const struct dn_line_kind *dn_guarded_line (enum dn_guarded_line line);

/* Read the file. NULL with 'err'; freed with dn_guarded_free (). */
struct dn_guarded *dn_guarded_read (struct dn_span text,
                                    const char *file,
                                    struct dn_err *err) DN_COLD;

/* Write it, by calls of 'put' with pieces of the text. Return what 'put' returned, if
 * not 0.
 */
typedef int (*dn_guarded_put_f) (void *to, const char *text, size_t len);
int dn_guarded_write (const struct dn_guarded *guarded, dn_guarded_put_f put, void *to);

/* NULL-safe. */
void dn_guarded_free (struct dn_guarded *guarded) DN_COLD;

/* The tally of a user, or NULL. */
struct dn_tally *dn_guarded_find (const struct dn_guarded *guarded, int64_t user_id);

/* Index of the first tally of this user or a later one; index of a job, or -1. */
int64_t dn_guarded_place (const struct dn_guarded *guarded, int64_t user_id);
int dn_tally_find (const struct dn_tally *tally, int64_t job_id);

/* Note a job of a user; one that is noted already only becomes 'needed'. Without memory
 * -1 with 'err' and no change.
 */
int dn_guarded_note (struct dn_guarded *guarded,
                     int64_t user_id,
                     int64_t job_id,
                     bool needed,
                     struct dn_err *err);

/* Seconds before the end of a limit in which the guard extends it, at least. */
int64_t dn_guarded_lead (int64_t interval_s);

/* Is a guard alive at 'now_s' (its last pass is not older than three intervals, and not
 * in the future)? False for NULL.
 */
bool dn_guarded_is_alive (const struct dn_guarded *guarded, int64_t now_s);

/* May limits of this user follow GuardedQuantile: did less than 'share' of the jobs
 * need more, or fewer than three? False for NULL.
 */
bool dn_guarded_trusts (const struct dn_guarded *guarded,
                        int64_t user_id,
                        double share);

#endif
