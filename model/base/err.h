/* err.h - the one error type
 *
 * Lives on the caller's stack, is always the last parameter and may be NULL; there is
 * nothing to free. A message is lower case, without full stop or newline, names the
 * thing and the value and states what was expected: "batch: -4 out of
 * range 1..1000000".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ERR_H
#define DN_ERR_H

#include "base/base.h"

#define DN_ERR_TEXT_MAX 240

/* What the caller may do about it. */
/* clang-format off */
#define DN_ERRORS(ROW)                                                                 \
    ROW (E_NONE, "none")                                                               \
    ROW (E_NOMEM, "memory") /* try later */                                            \
    ROW (E_IO, "file") /* look at the file system */                                   \
    ROW (E_SYNTAX, "syntax") /* the text does not follow the grammar */                \
    ROW (E_RANGE, "range") /* a value is outside of its range, or a name is unknown */ \
    ROW (E_LIMIT, "limit") /* larger than a limit of limits.h */                       \
    ROW (E_VERSION, "version") /* made by another version */                           \
    ROW (E_TIME, "time") /* not done by its deadline */                                \
    ROW (E_BUG, "bug") /* cannot happen */
DN_ENUM (dn_errc, ERRORS);
/* clang-format on */

struct dn_err {
    enum dn_errc code;
    char text[DN_ERR_TEXT_MAX];
};

/* Fill 'err' (if not NULL) and return -1. Text that comes from users is passed through
 * dn_quote () first. A cut text ends in '+'. errno is kept.
 */
int dn_err_set (struct dn_err *err, enum dn_errc code, const char *format, ...)
    DN_PRINTF (3, 4) DN_COLD;

/* Put "<formatted>: " in front of the text of 'err' and return -1. */
int dn_err_wrap (struct dn_err *err, const char *format, ...) DN_PRINTF (2, 3) DN_COLD;

/* Add an error to those before it, if its text fits. */
void dn_err_add (struct dn_err *err, const struct dn_err *one) DN_COLD;

/* dn_err_set () and dn_err_wrap () always return -1. The macros below make this visible
 * where callers are compiled, so that compilers and analyzers know it.
 */
static inline int dn_err_always (int minus_one)
{
    (void) minus_one;
    return -1;
}
#define dn_err_set(...)  dn_err_always (dn_err_set (__VA_ARGS__))
#define dn_err_wrap(...) dn_err_always (dn_err_wrap (__VA_ARGS__))

/* What a function that returns a pointer returns then. */
#define DN_NULL(minus_one) ((void) (minus_one), NULL)

/* Maximum number of characters of a user's value in a message. */
#define DN_QUOTE_MAX 40

/* A user's text made safe for logs, terminals and JSON: printable ASCII only (anything
 * else is shown as '?'), without quotes, cut to DN_QUOTE_MAX with '...' at its end.
 */
struct dn_quoted {
    char text[DN_QUOTE_MAX + 4];
};

struct dn_quoted dn_quote (const char *text, size_t len) DN_COLD;

/* The same of a string and of a struct dn_span, as an argument. */
#define DN_QUOTED(string)    (dn_quote ((string), strlen (string)).text)
#define DN_QUOTED_SPAN(span) (dn_quote ((span).text, (span).len).text)

/* What a code of errno means. strerror () is not thread-safe before glibc 2.32. */
struct dn_errno_text {
    char text[80];
};

struct dn_errno_text dn_errno_text (int code);

#endif
