/* reason.h - why a field is kept or changed: a code with arguments
 *
 * A reason is one row of base/messages.inc with the audience REASON or WARNING, and the
 * values of its places. It is passed by value; its text is made where somebody reads
 * it. Decisions compare codes. A reason may be part of another: "gpu: not a100: ..." of
 * which the code is that of the part, because this is the cause.
 *
 * Texts are borrowed: from the job, the site or the snapshot, or they are constants.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REASON_H
#define DN_REASON_H

#include "base/limits.h"
#include "base/text.h"

#define DN_CODE_REASON(id)  DN_REASON_##id,
#define DN_CODE_WARNING(id) DN_REASON_##id,
#define DN_CODE_USER(id)
#define DN_CODE_LOG(id)
#define DN_CODE_DAEMON(id)
#define DN_CODE_ERROR(id)
#define DN_CODE_FAILURE(id)
#define DN_CODE_PART(id)
#define DN_MESSAGE(to, id, text)              DN_CODE_##to (id)
#define DN_LISTED(to, id, text, values, when) DN_CODE_##to (id)
enum dn_reason_code {
    DN_REASON_NONE,
#include "base/messages.inc"
    DN_N_REASONS
};
#undef DN_MESSAGE
#undef DN_LISTED

enum dn_arg_kind {
    DN_ARG_NONE,
    DN_ARG_TEXT,     /* of dnnest or of the site */
    DN_ARG_WORD,     /* of a user: quoted */
    DN_ARG_COUNT,    /* a whole number */
    DN_ARG_CENTS,    /* of money */
    DN_ARG_TIME,     /* seconds, as Slurm writes limits */
    DN_ARG_DURATION, /* seconds, as "6h34m" */
};

struct dn_arg {
    union {
        const char *text;
        int64_t number;
    };
    uint32_t len; /* of a word */
    enum dn_arg_kind kind;
};

/* The most values of a reason and of the one that it is part of. */
#define DN_ARGS_MAX 6

struct dn_reason {
    enum dn_reason_code code; /* DN_REASON_NONE: there is no reason */
    enum dn_reason_code in;   /* the reason that it is the last place of, or NONE */
    struct dn_arg args[DN_ARGS_MAX]; /* those of 'in' come first */
};

/* DN_REASON (other_cpus, dn_arg_count (64), dn_arg_count (48)) */
#define DN_REASON(id, ...) ((struct dn_reason){DN_REASON_##id, 0, {__VA_ARGS__}})
#define DN_NO_REASON       ((struct dn_reason){DN_REASON_NONE, 0, {}})

struct dn_arg dn_arg_text (const char *text);
struct dn_arg dn_arg_word (const char *word);
struct dn_arg dn_arg_span (struct dn_span word);
struct dn_arg dn_arg_count (int64_t count);
struct dn_arg dn_arg_share (double share); /* 0.5: 50, of a place with a percent sign */
struct dn_arg dn_arg_cents (double money);
struct dn_arg dn_arg_time (int64_t seconds);
struct dn_arg dn_arg_duration (double seconds); /* rounded up to a minute */

/* 'inner' as the last place of 'outer', which has values for its other places. */
struct dn_reason dn_reason_in (const struct dn_reason *outer,
                               const struct dn_reason *inner);

/* Is it a reason, and not none? */
static inline bool dn_given (struct dn_reason reason)
{
    return reason.code != DN_REASON_NONE;
}

/* Set a reason unless there is an earlier one. */
void dn_reason_keep (struct dn_reason *first, const struct dn_reason *reason);

/* The same of a reason without values. */
void dn_reason_keep_code (struct dn_reason *first, enum dn_reason_code code);

/* Append a value as it is shown. */
void dn_arg_add (struct dn_buf *buf, const struct dn_arg *arg);

/* Append the sentence. */
void dn_reason_add (struct dn_buf *buf, const struct dn_reason *reason);

/* The sentence alone; "" for no reason. */
struct dn_reason_text {
    char text[DN_REASON_MAX];
};
struct dn_reason_text dn_reason_text (const struct dn_reason *reason);

/* The name of a code in records, such as "other_cpus". */
const char *dn_reason_name (enum dn_reason_code code);

#endif
