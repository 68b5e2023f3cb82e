/* fields_write.c - write lines whose keys are the members of a struct
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/fields.h"

#include <inttypes.h>
#include <string.h>

static int64_t clamp (const struct dn_member *field, int64_t number)
{
    if (number < field->min)
        return field->min;
    return number > field->max ? field->max : number;
}

static void write_count (const struct dn_member *field,
                         const void *at,
                         struct dn_buf *buf)
{
    int64_t number;

    memcpy (&number, at, sizeof (number));
    if (field->required || (number != field->absent && number >= 0))
        dn_buf_add (buf, " %s=%" PRId64, field->key, clamp (field, number));
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

static void write_name (const struct dn_member *field,
                        const void *at,
                        struct dn_buf *buf)
{
    int i;

    memcpy (&i, at, sizeof (i));
    dn_buf_add (buf, " %s=%s", field->key, dn_names_get (field->names, i));
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

void dn_fields_write (const struct dn_line_kind *kind,
                      const void *in,
                      struct dn_buf *buf)
{
    dn_buf_add (buf, "%s", kind->word);
    for (int i = 0; i < kind->n_fields; i++) {
        const struct dn_member *field = &kind->fields[i];
        const void *at = (const char *) in + field->offset;

        switch (field->type) {
        case DN_MEMBER_COUNT:
            write_count (field, at, buf);
            break;
        case DN_MEMBER_FLAG:
            write_flag (field, at, buf);
            break;
        case DN_MEMBER_TEXT:
            write_text (field, at, buf);
            break;
        case DN_MEMBER_NAME:
            write_name (field, at, buf);
            break;
        case DN_MEMBER_LIST:
            write_list (field, at, buf);
            break;
        }
    }
    dn_buf_add (buf, "\n");
}
