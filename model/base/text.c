/* text.c - strings of bounded length, and numbers without the locale
 *
 * strtod () and printf ("%f") obey LC_NUMERIC; slurmctld may run under any locale. So
 * this file parses numbers itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/messages.h"

/* A name at a greater distance is not suggested, nor one that is mostly different. */
#define NEAR_EDITS   3
#define NEAR_LETTERS 3 /* per edit */

/* Parts of a word and beginnings of names that are shorter say nothing. */
#define NEAR_PART  4
#define NEAR_BEGIN 3

struct dn_span dn_span_of (const char *text)
{
    return (struct dn_span){text, text ? strlen (text) : 0};
}

static bool is_blank (char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct dn_span dn_span_trim (struct dn_span span)
{
    while (span.len > 0 && is_blank (span.text[0]))
        span = dn_span_after (span, 1);
    while (span.len > 0 && is_blank (span.text[span.len - 1]))
        span.len--;
    return span;
}

bool dn_span_is (struct dn_span span, const char *word)
{
    return span.text && dn_word_equal (span.text, span.len, word, strlen (word));
}

/* Length of 'text' before the first of 'separators' or a NUL. A single separator is
 * searched with memchr (), since a script may have a megabyte of lines.
 */
static size_t length_until (struct dn_span text, const char *separators)
{
    size_t len = text.len;
    const char *found;

    if (separators[0] == '\0' || separators[1] != '\0') {
        for (len = 0; len < text.len; len++) {
            for (found = separators; *found && *found != text.text[len];)
                found++;
            if (*found == text.text[len])
                break;
        }
        return len;
    }
    found = memchr (text.text, separators[0], len);
    if (found)
        len = (size_t) (found - text.text);
    found = memchr (text.text, '\0', len);
    return found ? (size_t) (found - text.text) : len;
}

struct dn_span dn_span_cut (struct dn_span *rest, const char *separators)
{
    struct dn_span piece = {rest->text, 0};

    if (!rest->text)
        return piece;
    piece.len = length_until (*rest, separators);
    *rest = piece.len == rest->len ? (struct dn_span){NULL, 0}
                                   : dn_span_after (*rest, piece.len + 1);
    return piece;
}

bool dn_words_have (const char *words, struct dn_span word)
{
    struct dn_span rest = dn_span_of (words);

    for (struct dn_span one; (one = dn_span_cut (&rest, " ")).text;)
        if (dn_word_equal (one.text, one.len, word.text, word.len))
            return true;
    return false;
}

int dn_span_copy (struct dn_span span,
                  char *out,
                  size_t size,
                  const char *what,
                  struct dn_err *err)
{
    out[0] = '\0';
    if (span.len >= size)
        return dn_refuse (err, text_long, what, DN_QUOTED_SPAN (span), size - 1);
    if (span.len > 0)
        memcpy (out, span.text, span.len);
    out[span.len] = '\0';
    return 0;
}

int dn_name_copy (struct dn_span span,
                  char *out,
                  size_t size,
                  const char *what,
                  struct dn_err *err)
{
    out[0] = '\0';
    for (size_t i = 0; i < span.len; i++)
        if (span.text[i] < ' ' || span.text[i] > '~')
            return dn_refuse (err, text_name, what, DN_QUOTED_SPAN (span));
    return dn_span_copy (span, out, size, what, err);
}

struct dn_buf dn_buf_on (char *text, size_t size)
{
    text[0] = '\0';
    return (struct dn_buf){text, size, 0, false};
}

void dn_buf_put (struct dn_buf *buf, const char *text, size_t len)
{
    if (len >= buf->size - buf->len) {
        buf->cut = true;
        return;
    }
    memcpy (buf->text + buf->len, text, len);
    buf->len += len;
    buf->text[buf->len] = '\0';
}

void dn_buf_text (struct dn_buf *buf, const char *text)
{
    dn_buf_put (buf, text, strlen (text));
}

/* A number with zeros before it up to 'width' digits. */
static void put_number (struct dn_buf *buf, int64_t number, size_t width)
{
    char digits[24];
    size_t at = sizeof (digits);
    uint64_t rest = number < 0 ? -(uint64_t) number : (uint64_t) number;

    do {
        digits[--at] = (char) ('0' + rest % 10);
        rest /= 10;
    } while (rest > 0 || sizeof (digits) - at < width);
    if (number < 0)
        digits[--at] = '-';
    dn_buf_put (buf, digits + at, sizeof (digits) - at);
}

void dn_buf_number (struct dn_buf *buf, int64_t number)
{
    put_number (buf, number, 0);
}

void dn_buf_escape (struct dn_buf *buf, struct dn_span text, char coded)
{
    while (text.len > 0) {
        size_t n = 0;
        char c;

        while (n < text.len && text.text[n] >= ' ' && text.text[n] <= '~'
               && text.text[n] != '"' && text.text[n] != '\\' && text.text[n] != coded)
            n++;
        dn_buf_put (buf, text.text, n);
        if (n == text.len)
            return;
        c = text.text[n];
        if (c == coded && c != '\0')
            dn_buf_add (buf, "\\u%04x", (unsigned) c);
        else if (c == '"' || c == '\\')
            dn_buf_add (buf, "\\%c", c);
        else
            dn_buf_put (buf, "?", 1);
        text = dn_span_after (text, n + 1);
    }
}

/* What stands between '%' and the letter of a conversion. */
struct conversion {
    size_t width; /* of a number, with zeros; 0: none */
    bool precise; /* .* */
    bool wide;    /* l or z */
};

static struct conversion read_conversion (const char **format)
{
    struct conversion is = {.width = 0};
    const char *at = *format;

    if (at[0] == '0' && at[1] >= '1' && at[1] <= '9') {
        is.width = (size_t) (at[1] - '0');
        at += 2;
    } else if (at[0] == '.' && at[1] == '*') {
        is.precise = true;
        at += 2;
    }
    for (; *at == 'l' || *at == 'z'; at++)
        is.wide = true;
    *format = at;
    return is;
}

/* The conversions of which nearly all texts are made: %s, %.*s, %c, %%, and %d, %0Nd,
 * %u of int, long and size_t. False for another one, and for a number whose sign these
 * do not write.
 */
static bool add_plain (struct dn_buf *buf, const char *format, va_list args)
{
    for (;;) {
        size_t len = strcspn (format, "%");
        struct conversion is;
        const char *text;
        size_t most = SIZE_MAX;
        int64_t number;
        char c;

        dn_buf_put (buf, format, len);
        if (format[len] == '\0')
            return true;
        format += len + 1;
        is = read_conversion (&format);
        if (is.precise) {
            int precision = va_arg (args, int);

            most = precision < 0 ? SIZE_MAX : (size_t) precision;
        }
        c = *format++;
        switch (c) {
        case 's':
            text = va_arg (args, const char *);
            if (!text)
                return false;
            dn_buf_put (buf, text, strnlen (text, most));
            break;
        case 'd':
        case 'u':
            if (is.wide)
                number = va_arg (args, int64_t);
            else
                number =
                    c == 'd' ? va_arg (args, int) : (int64_t) va_arg (args, unsigned);
            if (is.precise || (number < 0 && (c == 'u' || is.width > 0)))
                return false;
            put_number (buf, number, is.width);
            break;
        case 'c':
            c = (char) va_arg (args, int);
            dn_buf_put (buf, &c, 1);
            break;
        case '%':
            dn_buf_put (buf, "%", 1);
            break;
        default:
            return false;
        }
    }
}

/* A decision writes some twenty texts, so vsnprintf (), which takes ten times as long,
 * is for the rare ones.
 */
void dn_buf_add (struct dn_buf *buf, const char *format, ...)
{
    const size_t before = buf->len;
    bool was_cut = buf->cut;
    size_t room = buf->size - before;
    bool plain;
    va_list args;
    int n;

    buf->cut = false;
    va_start (args, format);
    plain = add_plain (buf, format, args);
    va_end (args);
    if (!plain) {
        va_start (args, format);
        n = vsnprintf (buf->text + before, room, format, args);
        va_end (args);
        buf->cut = n < 0 || (size_t) n >= room;
        buf->len = before + (size_t) (buf->cut ? 0 : n);
    }
    if (buf->cut) {
        buf->len = before;
        buf->text[before] = '\0';
    }
    buf->cut = buf->cut || was_cut;
}

/* The power of 1000 that a suffix letter means, 0 for any other letter. */
static double multiplier (char c)
{
    static const double powers[] = {1e3, 1e6, 1e9, 1e12};
    static const char letters[] = "kmgt";
    const char *found = memchr (letters, dn_lower (c), DN_N_ELEMENTS (powers));

    return found ? powers[found - letters] : 0;
}

/* Read digits at 'span' from '*at' on into '*value'; return how many there were. */
static int read_digits (struct dn_span span, size_t *at, double *value)
{
    int n = 0;

    for (; *at < span.len && dn_is_digit (span.text[*at]); (*at)++, n++)
        *value = *value * 10 + (span.text[*at] - '0');
    return n;
}

/* Read "[+-]digits[.digits][e[+-]digits][kMGT]". Return false if it is anything else.
 */
static bool read_decimal (struct dn_span span, double *out)
{
    size_t at = 0;
    double value = 0;
    double fraction = 0;
    double exponent = 0;
    bool negative = false;
    int n_digits;

    if (span.len == 0 || span.len > 40)
        return false;
    if (span.text[0] == '-' || span.text[0] == '+')
        negative = span.text[at++] == '-';
    n_digits = read_digits (span, &at, &value);
    if (at < span.len && span.text[at] == '.') {
        int n;

        at++;
        n = read_digits (span, &at, &fraction);
        value += fraction / pow (10, n);
        n_digits += n;
    }
    if (n_digits == 0)
        return false;
    if (at < span.len && (span.text[at] == 'e' || span.text[at] == 'E')) {
        double sign = 1;

        at++;
        if (at < span.len && (span.text[at] == '-' || span.text[at] == '+'))
            sign = span.text[at++] == '-' ? -1 : 1;
        if (read_digits (span, &at, &exponent) == 0 || exponent > 300)
            return false;
        value *= pow (10, sign * exponent);
    }
    if (at + 1 == span.len && multiplier (span.text[at]) > 0)
        value *= multiplier (span.text[at++]);
    *out = negative ? -value : value;
    return at == span.len && isfinite (*out);
}

int dn_int_read (struct dn_span span,
                 const char *what,
                 int64_t min,
                 int64_t max,
                 int64_t *out,
                 struct dn_err *err)
{
    double value;
    bool number = read_decimal (span, &value);

    /* "32.7M" is a whole number except for the rounding of 32.7. */
    if (number && fabs (value - round (value)) <= 1e-12 * fabs (value))
        value = round (value);
    number = number && value == floor (value);
    /* Compared as reals first: a double above 2^63 must not be converted. */
    if (!number || value < (double) min || value > (double) max || fabs (value) > 9e15)
        return dn_err_set (err,
                           number ? DN_E_RANGE : DN_E_SYNTAX,
                           number ? dn_say_err_text_int_range : dn_say_err_text_int,
                           what,
                           DN_QUOTED_SPAN (span),
                           min,
                           max);
    *out = (int64_t) value;
    return 0;
}

int dn_real_read (struct dn_span span,
                  const char *what,
                  double min,
                  double max,
                  double *out,
                  struct dn_err *err)
{
    double value;
    bool number = read_decimal (span, &value);

    if (!number || value < min || value > max)
        return dn_err_set (err,
                           number ? DN_E_RANGE : DN_E_SYNTAX,
                           number ? dn_say_err_text_real_range : dn_say_err_text_real,
                           what,
                           DN_QUOTED_SPAN (span),
                           min,
                           max);
    *out = value;
    return 0;
}

/* The constants of an enum from the second one on: the first is "unknown". */
static const char *constant_at (const void *names, int i)
{
    const struct dn_names *table = names;

    return i + 1 < table->n_names ? table->names[i + 1] : NULL;
}

int dn_enum_read (struct dn_span span,
                  const char *what,
                  const struct dn_names *names,
                  int *out,
                  struct dn_err *err)
{
    int found = span.text ? dn_names_find (names, span.text, span.len) : -1;
    char expected[DN_ERR_TEXT_MAX];
    struct dn_buf buf = dn_buf_on (expected, sizeof (expected));

    if (found > 0) {
        *out = found;
        return 0;
    }
    if (!err) /* no search for what may be meant */
        return -1;
    for (int i = 1; i < names->n_names; i++)
        dn_buf_add (&buf, " %s", names->names[i]);
    return dn_refuse (err,
                      text_unknown,
                      what,
                      DN_QUOTED_SPAN (span),
                      expected,
                      dn_word_meant (span, constant_at, names).text);
}

static bool is_same_letter (char a, char b)
{
    return dn_word_equal (&a, 1, &b, 1);
}

/* Optimal string alignment: 'row' has the distances from the first i letters of the
 * word to all beginnings of the name, 'last' and 'before' those of i - 1 and i - 2.
 */
int dn_word_distance (struct dn_span word, const char *name)
{
    int rows[3][DN_NAME_MAX + 1];
    size_t n = strnlen (name, DN_NAME_MAX + 1);

    if (word.len > DN_NAME_MAX || n > DN_NAME_MAX)
        return DN_NAME_MAX;
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = (int) j;
    for (size_t i = 1; i <= word.len; i++) {
        int *row = rows[i % 3];
        const int *last = rows[(i + 2) % 3];
        const int *before = rows[(i + 1) % 3];
        const char *at = word.text + i - 1;

        row[0] = (int) i;
        for (size_t j = 1; j <= n; j++) {
            int cost = is_same_letter (*at, name[j - 1]) ? 0 : 1;

            row[j] = 1 + (last[j] < row[j - 1] ? last[j] : row[j - 1]);
            if (row[j] > last[j - 1] + cost)
                row[j] = last[j - 1] + cost;
            if (i > 1 && j > 1 && row[j] > before[j - 2] + 1
                && is_same_letter (*at, name[j - 2])
                && is_same_letter (at[-1], name[j - 1]))
                row[j] = before[j - 2] + 1;
        }
    }
    return rows[word.len % 3][n];
}

static bool is_word_letter (char c)
{
    return dn_is_letter (c) || dn_is_digit (c);
}

/* Is 'name' a part of 'word', with no letter or digit before and after it? */
static bool has_part (struct dn_span word, const char *name, size_t len)
{
    for (size_t i = 0; i + len <= word.len; i++)
        if (dn_word_equal (word.text + i, len, name, len)
            && (i == 0 || !is_word_letter (word.text[i - 1]))
            && (i + len == word.len || !is_word_letter (word.text[i + len])))
            return true;
    return false;
}

/* How well 'name' explains 'word'; 0: not at all. Any distance is better than any part,
 * and any part better than a beginning.
 */
static int likeness (struct dn_span word, const char *name)
{
    const int by_part = DN_NAME_MAX + 1;
    const int by_distance = 2 * by_part;
    int len = (int) strnlen (name, DN_NAME_MAX);
    int change = len - (int) word.len;

    if (change >= -NEAR_EDITS && change <= NEAR_EDITS) {
        int distance = dn_word_distance (word, name);

        if (distance <= NEAR_EDITS && NEAR_LETTERS * distance <= len)
            return by_distance + NEAR_EDITS - distance;
    }
    if (len >= NEAR_PART && has_part (word, name, (size_t) len))
        return by_part + len;
    if (word.len >= NEAR_BEGIN && change > 0
        && dn_word_equal (word.text, word.len, name, word.len))
        return 1;
    return 0;
}

const char *dn_word_nearest (struct dn_span word, dn_name_at_f name, const void *names)
{
    const char *nearest = NULL;
    const char *candidate;
    int most = 0;

    if (!word.text || word.len == 0 || word.len > DN_NAME_MAX)
        return NULL;
    for (int i = 0; (candidate = name (names, i)); i++) {
        int now = likeness (word, candidate);

        if (now > most) {
            most = now;
            nearest = candidate;
        }
    }
    return nearest;
}

struct dn_meant dn_word_meant (struct dn_span word,
                               dn_name_at_f name,
                               const void *names)
{
    const char *nearest = dn_word_nearest (word, name, names);
    struct dn_meant meant = {""};
    struct dn_buf buf = dn_buf_on (meant.text, sizeof (meant.text));

    if (nearest)
        dn_buf_add (&buf, dn_say_meant, nearest);
    return meant;
}

/* Fields of a Slurm time between ':', at most three. Return how many, or -1. */
static int read_clock (struct dn_span span, int64_t field[3])
{
    int n = 0;

    while (span.text) {
        double value = 0;
        size_t at = 0;
        struct dn_span piece = dn_span_cut (&span, ":");

        if (n == 3 || piece.len == 0 || piece.len > 9)
            return -1;
        read_digits (piece, &at, &value);
        if (at != piece.len)
            return -1;
        field[n++] = (int64_t) value;
    }
    return n;
}

int dn_time_read (struct dn_span span,
                  const char *what,
                  int64_t *seconds,
                  struct dn_err *err)
{
    struct dn_span rest = span;
    struct dn_span days = {NULL, 0};
    int64_t day[3] = {0};
    int64_t field[3] = {0};
    int n;

    if (span.text && memchr (span.text, '-', span.len))
        days = dn_span_cut (&rest, "-");
    n = read_clock (rest, field);
    if (n <= 0 || (days.text && read_clock (days, day) != 1))
        return dn_refuse (err, text_time, what, DN_QUOTED_SPAN (span));
    if (days.text)
        *seconds = day[0] * 86400 + field[0] * 3600 + field[1] * 60 + field[2];
    else if (n == 3)
        *seconds = field[0] * 3600 + field[1] * 60 + field[2];
    else
        *seconds = field[0] * 60 + field[1];
    return 0;
}

struct dn_time_text dn_time_write (int64_t seconds)
{
    struct dn_time_text out = {""};
    struct dn_buf buf = dn_buf_on (out.text, sizeof (out.text));

    if (seconds == DN_UNLIMITED) {
        dn_buf_add (&buf, "unlimited");
        return out;
    }
    if (seconds < 0) {
        dn_buf_add (&buf, "unset");
        return out;
    }
    if (seconds >= 86400)
        dn_buf_add (&buf, "%" PRId64 "-", seconds / 86400);
    put_number (&buf, seconds % 86400 / 3600, 2);
    dn_buf_put (&buf, ":", 1);
    put_number (&buf, seconds % 3600 / 60, 2);
    dn_buf_put (&buf, ":", 1);
    put_number (&buf, seconds % 60, 2);
    return out;
}

char *dn_dirs_with (const char *dir, const char *dirs)
{
    size_t len = strlen (dir);
    size_t more = dirs ? strlen (dirs) : 0;
    char *with;

    if (more > 0 && strncmp (dirs, dir, len) == 0
        && (dirs[len] == ':' || dirs[len] == '\0'))
        return NULL;
    with = malloc (len + more + 2);
    if (!with)
        return NULL;
    memcpy (with, dir, len + 1);
    if (more > 0) {
        with[len] = ':';
        memcpy (with + len + 1, dirs, more + 1);
    }
    return with;
}
