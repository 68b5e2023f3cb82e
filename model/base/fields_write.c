/* fields_write.c - write lines whose keys are the members of a struct
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/fields.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static int64_t clamp (const struct dn_member *field, int64_t number)
{
    if (number < field->min)
        return field->min;
    return number > field->max ? field->max : number;
}

static int64_t integer_at (const struct dn_member *field, const void *at)
{
    bool is_signed = field->absent < 0;

    switch (field->size) {
    case sizeof (uint8_t):
        return is_signed ? *(const int8_t *) at : *(const uint8_t *) at;
    case sizeof (uint16_t):
        return is_signed ? *(const int16_t *) at : *(const uint16_t *) at;
    case sizeof (uint32_t):
        return is_signed ? (int64_t) * (const int32_t *) at : *(const uint32_t *) at;
    default:
        return *(const int64_t *) at;
    }
}

/* What is no number, or too large, as the end of a range. */
static int64_t real_at (const struct dn_member *field, const void *at)
{
    double value = (double) *(const float *) at;
    double scaled = value * field->per;

    if (value < 0 && field->absent < 0)
        return field->absent;
    if (!(scaled > 0))
        return 0;
    return scaled < 1e18 ? llround (scaled) : INT64_MAX;
}

static void write_count (const struct dn_member *field,
                         int64_t number,
                         struct dn_buf *buf)
{
    if (field->required || (number != field->absent && number >= 0))
        dn_buf_add (buf, " %s=%" PRId64, field->key, clamp (field, number));
}

static void write_key (const struct dn_member *field,
                       const void *at,
                       struct dn_buf *buf)
{
    uint64_t key = *(const uint64_t *) at;

    if (field->required || key != 0)
        dn_buf_add (buf, " %s=%0*" PRIx64, field->key, DN_KEY_DIGITS, key);
}

static void write_flag (const struct dn_member *field,
                        const void *at,
                        struct dn_buf *buf)
{
    bool flag;

    memcpy (&flag, at, sizeof (flag));
    if (field->required || flag)
        dn_buf_add (buf, " %s=%s", field->key, flag ? "yes" : "no");
}

static bool is_text (char c)
{
    return c >= ' ' && c <= '~' && c != '"';
}

/* A required text that is empty is written as "?". */
static void write_text (const struct dn_member *field,
                        const char *text,
                        struct dn_buf *buf)
{
    const char *quote = strchr (text, ' ') || strchr (text, '#') ? "\"" : "";
    size_t at;

    if (text[0] == '\0' && !field->required)
        return;
    dn_buf_add (buf, " %s=%s", field->key, quote);
    at = buf->len;
    dn_buf_add (buf, "%s", text[0] == '\0' ? "?" : text);
    for (; at < buf->len; at++)
        if (!is_text (buf->text[at]))
            buf->text[at] = '?';
    dn_buf_add (buf, "%s", quote);
}

static void write_name (const struct dn_member *field, int64_t i, struct dn_buf *buf)
{
    bool known = i >= 0 && i < field->names->n_names;

    dn_buf_add (buf, " %s=%s", field->key, field->names->names[known ? i : 0]);
}

static void write_list (const struct dn_member *field,
                        const void *at,
                        struct dn_buf *buf)
{
    size_t n = field->size;
    int64_t number = 0;

    while (n > 0 && number == 0)
        memcpy (&number, (const char *) at + --n * sizeof (number), sizeof (number));
    dn_buf_add (buf, " %s=", field->key);
    for (size_t i = 0; i <= n; i++) {
        memcpy (&number, (const char *) at + i * sizeof (number), sizeof (number));
        dn_buf_add (buf, "%s%" PRId64, i > 0 ? "," : "", clamp (field, number));
    }
}

static void write_line (const struct dn_line_kind *kind,
                        const void *in,
                        struct dn_buf *buf)
{
    dn_buf_add (buf, "%s", kind->word);
    for (int i = 0; i < kind->n_fields; i++) {
        const struct dn_member *field = &kind->fields[i];
        const void *at = (const char *) in + field->offset;

        switch (field->type) {
        case DN_MEMBER_COUNT:
            write_count (field, integer_at (field, at), buf);
            break;
        case DN_MEMBER_REAL:
            write_count (field, real_at (field, at), buf);
            break;
        case DN_MEMBER_KEY:
            write_key (field, at, buf);
            break;
        case DN_MEMBER_FLAG:
            write_flag (field, at, buf);
            break;
        case DN_MEMBER_TEXT:
            write_text (field, at, buf);
            break;
        case DN_MEMBER_NAME:
            write_name (field, integer_at (field, at), buf);
            break;
        case DN_MEMBER_LIST:
            write_list (field, at, buf);
            break;
        }
    }
    dn_buf_add (buf, "\n");
}

int dn_fields_put (const struct dn_line_kind *kind,
                   const void *in,
                   dn_put_f put,
                   void *to)
{
    char text[DN_FIELDS_LINE_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    write_line (kind, in, &buf);
    return put (to, text, buf.len);
}
