/* reason.c - the texts of reasons
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/reason.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define DN_ROW_REASON(id, text)  [DN_REASON_##id] = {#id, text},
#define DN_ROW_WARNING(id, text) [DN_REASON_##id] = {#id, text},
#define DN_ROW_USER(id, text)
#define DN_ROW_LOG(id, text)
#define DN_ROW_DAEMON(id, text)
#define DN_ROW_ERROR(id, text)
#define DN_ROW_FAILURE(id, text)
#define DN_ROW_PART(id, text)
#define DN_MESSAGE(to, id, text)              DN_ROW_##to (id, text)
#define DN_LISTED(to, id, text, values, when) DN_ROW_##to (id, text)
static const struct {
    const char *name;
    const char *text; /* a format of printf (), whose places are filled by their kind */
} rows[] = {
    [DN_REASON_NONE] = {"", ""},
#include "base/messages.inc"
};

_Static_assert(DN_N_ELEMENTS (rows) == DN_N_REASONS, "a row per code");

struct dn_arg dn_arg_text (const char *text)
{
    return (struct dn_arg){.text = text, .kind = DN_ARG_TEXT};
}

struct dn_arg dn_arg_span (struct dn_span word)
{
    return (struct dn_arg){
        .text = word.text, .len = (uint32_t) word.len, .kind = DN_ARG_WORD};
}

struct dn_arg dn_arg_word (const char *word)
{
    return dn_arg_span ((struct dn_span){word, strnlen (word, DN_QUOTE_MAX + 1)});
}

struct dn_arg dn_arg_count (int64_t count)
{
    return (struct dn_arg){.number = count, .kind = DN_ARG_COUNT};
}

/* A double as a whole number that fits one. */
static int64_t whole (double value)
{
    return llround (dn_min (dn_max (value, -1e15), 1e15));
}

struct dn_arg dn_arg_share (double share)
{
    return dn_arg_count (whole (100 * share));
}

struct dn_arg dn_arg_cents (double money)
{
    return (struct dn_arg){.number = whole (100 * money), .kind = DN_ARG_CENTS};
}

struct dn_arg dn_arg_time (int64_t seconds)
{
    return (struct dn_arg){.number = seconds, .kind = DN_ARG_TIME};
}

struct dn_arg dn_arg_duration (double seconds)
{
    return (struct dn_arg){.number = whole (60 * ceil (seconds / 60)),
                           .kind = DN_ARG_DURATION};
}

struct dn_reason dn_reason_in (const struct dn_reason *outer,
                               const struct dn_reason *inner)
{
    struct dn_reason reason = *outer;
    int n = 0;

    while (n < DN_ARGS_MAX && reason.args[n].kind != DN_ARG_NONE)
        n++;
    reason.in = outer->code;
    reason.code = inner->code;
    for (int i = 0; n < DN_ARGS_MAX; i++, n++)
        reason.args[n] = inner->args[i];
    return reason;
}

void dn_reason_keep (struct dn_reason *first, const struct dn_reason *reason)
{
    if (first->code == DN_REASON_NONE)
        *first = *reason;
}

void dn_reason_keep_code (struct dn_reason *first, enum dn_reason_code code)
{
    if (first->code == DN_REASON_NONE)
        *first = (struct dn_reason){.code = code};
}

/* --- texts ----------------------------------------------------------------------- */

void dn_arg_add (struct dn_buf *buf, const struct dn_arg *arg)
{
    switch (arg->kind) {
    case DN_ARG_TEXT:
        dn_buf_text (buf, arg->text);
        return;
    case DN_ARG_WORD:
        dn_buf_text (buf, DN_QUOTED_SPAN (*arg));
        return;
    case DN_ARG_COUNT:
        dn_buf_number (buf, arg->number);
        return;
    case DN_ARG_TIME:
        dn_buf_text (buf, dn_time_write (arg->number).text);
        return;
    case DN_ARG_CENTS:
        dn_buf_number (buf, arg->number / 100);
        dn_buf_add (buf, ".%02d", (int) (arg->number % 100));
        return;
    case DN_ARG_DURATION:
        dn_buf_add (
            buf, "%" PRId64 "h%02d", arg->number / 3600, (int) (arg->number / 60 % 60));
        dn_buf_text (buf, "m");
        return;
    case DN_ARG_NONE:
        break;
    }
    dn_buf_text (buf, "?");
}

static bool is_last_place (const char *format)
{
    const char *place = format;

    while ((place = strchr (place, '%')) && place[1] == '%')
        place += 2;
    return !place;
}

/* Write the text of 'code' with the values from '*arg' on; 'inner' is its last place.
 */
static void add_row (struct dn_buf *buf, // NOLINT(misc-no-recursion): one level deep
                     enum dn_reason_code code,
                     enum dn_reason_code inner,
                     const struct dn_arg *arg,
                     const struct dn_arg *end)
{
    const char *format = rows[code].text;
    const char *place;

    while ((place = strchr (format, '%'))) {
        dn_buf_put (buf, format, (size_t) (place - format));
        format = place + 1 + strspn (place + 1, "0123456789.l");
        if (*format == '\0')
            return;
        if (*format++ == '%')
            dn_buf_put (buf, "%", 1);
        else if (inner != DN_REASON_NONE && is_last_place (format))
            add_row (buf, inner, DN_REASON_NONE, arg, end);
        else if (arg < end)
            dn_arg_add (buf, arg++);
    }
    dn_buf_text (buf, format);
}

void dn_reason_add (struct dn_buf *buf, const struct dn_reason *reason)
{
    const struct dn_arg *end = reason->args + DN_ARGS_MAX;

    if (reason->in != DN_REASON_NONE)
        add_row (buf, reason->in, reason->code, reason->args, end);
    else
        add_row (buf, reason->code, DN_REASON_NONE, reason->args, end);
}

struct dn_reason_text dn_reason_text (const struct dn_reason *reason)
{
    struct dn_reason_text out = {""};
    struct dn_buf buf = dn_buf_on (out.text, sizeof (out.text));

    dn_reason_add (&buf, reason);
    return out;
}

const char *dn_reason_name (enum dn_reason_code code)
{
    return rows[code].name;
}
