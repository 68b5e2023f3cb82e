/* fields.c - lines whose keys are the members of a struct
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/fields.h"
#include "base/messages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the first allocation, a power of 2. */
#define ROWS_MIN 8

void dn_integer_store (void *at, size_t size, int64_t number)
{
    switch (size) {
    case sizeof (uint8_t):
        *(uint8_t *) at = (uint8_t) number;
        break;
    case sizeof (uint16_t):
        *(uint16_t *) at = (uint16_t) number;
        break;
    case sizeof (uint32_t):
        *(uint32_t *) at = (uint32_t) number;
        break;
    default:
        *(int64_t *) at = number;
        break;
    }
}

static void store_real (const struct dn_member *field, void *at, int64_t number)
{
    *(float *) at = number < 0 ? -1 : (float) ((double) number / field->per);
}

static int read_flag (struct dn_span value,
                      const struct dn_member *field,
                      void *at,
                      struct dn_err *err)
{
    bool flag = dn_span_is (value, "yes");

    if (!flag && !dn_span_is (value, "no"))
        return dn_refuse (err, member_flag, field->key, DN_QUOTED_SPAN (value));
    memcpy (at, &flag, sizeof (flag));
    return 0;
}

static int read_text (struct dn_span value,
                      const struct dn_member *field,
                      void *at,
                      struct dn_err *err)
{
    if (value.len == 0)
        return dn_refuse (err, member_empty, field->key);
    if (memchr (value.text, '"', value.len))
        return dn_refuse (err, member_ascii, field->key, DN_QUOTED_SPAN (value));
    return dn_name_copy (value, at, field->size, field->key, err);
}

static int read_key (struct dn_span value,
                     const struct dn_member *field,
                     void *at,
                     struct dn_err *err)
{
    char text[DN_KEY_DIGITS + 1];
    struct dn_member digits = {.key = field->key, .size = sizeof (text)};

    if (read_text (value, &digits, text, err) < 0)
        return -1;
    if (strspn (text, "0123456789abcdef") != DN_KEY_DIGITS)
        return dn_refuse (err, app_key, DN_QUOTED (text), DN_KEY_DIGITS);
    *(uint64_t *) at = strtoull (text, NULL, DN_KEY_DIGITS);
    return 0;
}

static int read_name (struct dn_span value,
                      const struct dn_member *field,
                      void *at,
                      struct dn_err *err)
{
    int i = dn_names_find (field->names, value.text, value.len);
    char known[DN_ERR_TEXT_MAX];
    struct dn_buf buf = dn_buf_on (known, sizeof (known));

    if (i >= 0) {
        dn_integer_store (at, field->size, i);
        return 0;
    }
    for (i = 0; i < field->names->n_names; i++)
        dn_buf_add (&buf, " %s", field->names->names[i]);
    return dn_refuse (err, member_unknown, field->key, DN_QUOTED_SPAN (value), known);
}

static int read_list (struct dn_span value,
                      const struct dn_member *field,
                      void *at,
                      struct dn_err *err)
{
    int64_t number;
    size_t n = 0;

    memset (at, 0, field->size * sizeof (number));
    while (value.text) {
        struct dn_span item = dn_span_cut (&value, ",");

        if (n == field->size)
            return dn_refuse (err, member_many, field->key, field->size);
        if (dn_int_read (item, field->key, field->min, field->max, &number, err) < 0)
            return -1;
        memcpy ((char *) at + n++ * sizeof (number), &number, sizeof (number));
    }
    return 0;
}

static int read_field (struct dn_span value,
                       const struct dn_member *field,
                       void *at,
                       struct dn_err *err)
{
    int64_t number;

    switch (field->type) {
    case DN_MEMBER_COUNT:
    case DN_MEMBER_REAL:
        if (dn_int_read (value, field->key, field->min, field->max, &number, err) < 0)
            return -1;
        if (field->type == DN_MEMBER_REAL)
            store_real (field, at, number);
        else
            dn_integer_store (at, field->size, number);
        return 0;
    case DN_MEMBER_KEY:
        return read_key (value, field, at, err);
    case DN_MEMBER_FLAG:
        return read_flag (value, field, at, err);
    case DN_MEMBER_TEXT:
        return read_text (value, field, at, err);
    case DN_MEMBER_NAME:
        return read_name (value, field, at, err);
    case DN_MEMBER_LIST:
        return read_list (value, field, at, err);
    }
    return dn_refuse (err, member_type, field->key);
}

static void clear_field (const struct dn_member *field, void *at)
{
    if (field->type == DN_MEMBER_COUNT)
        dn_integer_store (at, field->size, field->absent);
    else if (field->type == DN_MEMBER_REAL)
        store_real (field, at, field->absent);
    else
        memset (at,
                0,
                field->size * (field->type == DN_MEMBER_LIST ? sizeof (int64_t) : 1));
}

static int unknown_key (const struct dn_line_kind *kind,
                        struct dn_span key,
                        struct dn_err *err)
{
    char known[DN_ERR_TEXT_MAX];
    struct dn_buf buf = dn_buf_on (known, sizeof (known));

    for (int i = 0; i < kind->n_fields; i++)
        dn_buf_add (&buf, " %s", kind->fields[i].key);
    return dn_refuse (err, member_key, DN_QUOTED_SPAN (key), kind->word, known);
}

static int find_field (const struct dn_line_kind *kind, struct dn_span key)
{
    for (int i = 0; i < kind->n_fields; i++)
        if (dn_span_is (key, kind->fields[i].key))
            return i;
    return -1;
}

int dn_fields_read (const struct dn_line_kind *kind,
                    const struct dn_keyline *line,
                    void *out,
                    struct dn_err *err)
{
    uint32_t seen = 0;

    for (int i = 0; i < kind->n_fields; i++)
        clear_field (&kind->fields[i], (char *) out + kind->fields[i].offset);
    for (int i = 0; i < line->n_pairs; i++) {
        const struct dn_pair *pair = &line->pairs[i];
        int found = find_field (kind, pair->key);

        if (found < 0)
            return unknown_key (kind, pair->key, err);
        if (seen & (UINT32_C (1) << found))
            return dn_refuse (err, member_twice, kind->fields[found].key);
        seen |= UINT32_C (1) << found;
        if (read_field (pair->value,
                        &kind->fields[found],
                        (char *) out + kind->fields[found].offset,
                        err)
            < 0)
            return -1;
    }
    for (int i = 0; i < kind->n_fields; i++)
        if (kind->fields[i].required && !(seen & (UINT32_C (1) << i)))
            return dn_refuse (err, member_missing, kind->fields[i].key, kind->word);
    return 0;
}

int dn_fields_version (const struct dn_keyline *line,
                       int64_t version,
                       struct dn_err *err)
{
    int64_t stated;

    for (int i = 0; i < line->n_pairs; i++)
        if (dn_span_is (line->pairs[i].key, "Version")
            && dn_int_read (
                   line->pairs[i].value, "Version", 0, INT64_MAX, &stated, NULL)
                   == 0
            && stated != version)
            return dn_refuse (err, member_version, stated, version);
    return 0;
}

int dn_rows_grow (void *rows, int64_t n, size_t size, struct dn_err *err)
{
    bool full = n == 0 || (n >= ROWS_MIN && (n & (n - 1)) == 0);
    void *now;
    void *grown;

    if (!full)
        return 0;
    memcpy (&now, rows, sizeof (now));
    grown = realloc (now, size * (size_t) (n == 0 ? ROWS_MIN : 2 * n));
    if (!grown)
        return dn_refuse (err, no_memory);
    memcpy (rows, &grown, sizeof (grown));
    return 0;
}

/* --- files of lines ----------------------------------------------------------------
 */

/* May a line of that kind follow one of the kind 'last' (-1: none yet)? */
static bool follows (const struct dn_lines *lines, int kind, int last)
{
    int end = lines->n_kinds - 1;

    if (last < 0)
        return kind == 0;
    if (kind > end)
        return last >= lines->parts_from && last < end;
    return kind > 0 && kind >= last && last < end;
}

/* Read a line after one of the kind 'last'. Return its kind, that of the line that it
 * is a part of, or -1.
 */
static int read_line (const struct dn_lines *lines,
                      const struct dn_keyline *line,
                      int last,
                      void *to,
                      struct dn_err *err)
{
    int kind = lines->n_kinds + lines->n_parts;

    while (--kind >= 0)
        if (line->word.len > 0 && dn_span_is (line->word, lines->kinds[kind].word))
            break;
    if (kind < 0)
        return dn_refuse (
            err, member_line, DN_QUOTED_SPAN (line->word), lines->expected);
    if (!follows (lines, kind, last))
        return dn_refuse (err, member_order, lines->kinds[kind].word);
    if (lines->readers[kind](to, line, err) < 0)
        return -1;
    return kind < lines->n_kinds ? kind : last;
}

int dn_lines_read (const struct dn_lines *lines,
                   struct dn_span text,
                   const char *file,
                   void *to,
                   struct dn_err *err)
{
    struct dn_keyline line = {.words = true};
    int last = -1;
    int more;

    if (text.len > lines->max)
        return dn_refuse (err, member_size, file, text.len, lines->max);
    while ((more = dn_keyline_next (&text, &line, err)) != 0) {
        if (more < 0)
            return dn_err_wrap (err, "%s", file);
        last = read_line (lines, &line, last, to, err);
        if (last < 0)
            return dn_keyline_wrap (&line, file, err);
    }
    if (last == lines->n_kinds - 1)
        return 0;
    return dn_refuse (err, member_end, file);
}
