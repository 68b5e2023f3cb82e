/* err.c - filling and wrapping the error on the caller's stack
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Format into 'text' of DN_ERR_TEXT_MAX bytes; mark a cut with '+'. */
static void format_text (char *text, const char *format, va_list args)
    __attribute__ ((format (printf, 2, 0)));

static void format_text (char *text, const char *format, va_list args)
{
    int n = vsnprintf (text, DN_ERR_TEXT_MAX, format, args);

    if (n >= DN_ERR_TEXT_MAX)
        text[DN_ERR_TEXT_MAX - 2] = '+';
}

int (dn_err_set) (struct dn_err *err, enum dn_errc code, const char *format, ...)
{
    int saved_errno = errno;
    va_list args;

    if (err) {
        err->code = code;
        va_start (args, format);
        format_text (err->text, format, args);
        va_end (args);
    }
    errno = saved_errno;
    return -1;
}

int (dn_err_wrap) (struct dn_err *err, const char *format, ...)
{
    int saved_errno = errno;
    va_list args;
    char context[DN_ERR_TEXT_MAX];
    char inner[DN_ERR_TEXT_MAX];

    if (err) {
        va_start (args, format);
        format_text (context, format, args);
        va_end (args);
        memcpy (inner, err->text, sizeof (inner));
        if (snprintf (err->text, sizeof (err->text), "%s: %s", context, inner)
            >= DN_ERR_TEXT_MAX)
            err->text[DN_ERR_TEXT_MAX - 2] = '+';
    }
    errno = saved_errno;
    return -1;
}

struct dn_quoted dn_quote (const char *text, size_t len)
{
    struct dn_quoted quoted = {{0}};
    size_t n = len < DN_QUOTE_MAX ? len : DN_QUOTE_MAX;

    /* cppcheck-suppress knownConditionTrueFalse ; true of one caller only */
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\'' && c != '\\';

        quoted.text[i] = plain ? c : '?';
    }
    if (len > DN_QUOTE_MAX)
        memcpy (quoted.text + DN_QUOTE_MAX, "...", 4);
    return quoted;
}

struct dn_errno_text dn_errno_text (int code)
{
    struct dn_errno_text out;
    char buffer[sizeof (out.text)];

    snprintf (
        out.text, sizeof (out.text), "%s", strerror_r (code, buffer, sizeof (buffer)));
    return out;
}

void dn_err_add (struct dn_err *err, const struct dn_err *one)
{
    size_t len = strlen (err->text);

    if (err->code == DN_E_NONE)
        *err = *one;
    else if (len + strlen (one->text) + 3 < sizeof (err->text))
        snprintf (err->text + len, sizeof (err->text) - len, "; %s", one->text);
}
