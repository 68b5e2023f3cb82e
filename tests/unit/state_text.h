/* state_text.h - texts of the files of dnnestd, written and changed
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STATE_TEXT_H
#define DN_STATE_TEXT_H

#include "base/fields.h"
#include "scratch.h"
#include "unit.h"

/* A text that grows, kept for the test. */
struct text {
    char *text;
    size_t len;
};

/* What is allocated for a text of that length: the next power of two. */
static inline size_t text_size (size_t len)
{
    size_t size = 64;

    while (size < len + 1)
        size *= 2;
    return size;
}

/* A dn_put_f. */
static inline int text_put (void *to, const char *piece, size_t len)
{
    struct text *text = to;
    size_t size = text_size (text->len + len);

    if (!text->text || size > text_size (text->len)) {
        char *grown = unit_keep (malloc (size), free);

        if (text->text) {
            memcpy (grown, text->text, text->len);
            unit_release (text->text);
        }
        text->text = grown;
    }
    memcpy (text->text + text->len, piece, len);
    text->len += len;
    text->text[text->len] = '\0';
    return 0;
}

/* 'base' with the first 'old' replaced by 'new', kept for the test. */
static inline char *text_with (const char *base, const char *old, const char *new)
{
    const char *at = strstr (base, old);

    if (!at)
        fail_msg ("'%s' is not in the text", old);
    return unit_text ("%.*s%s%s", (int) (at - base), base, new, at + strlen (old));
}

/* Reads a text and frees what it has read; -1 with 'err': the text is wrong. */
typedef int read_f (struct dn_span text, struct dn_err *err);

/* Of what READ (span, file, err) reads and FREE frees: read_in (), a read_f, and
 * read_text (), which keeps it for the test.
 */
#define STATE_READER(type, READ, FREE, file)                                           \
    static int read_in (struct dn_span text, struct dn_err *err)                       \
    {                                                                                  \
        type *state = READ (text, file, err);                                          \
        int rc = state ? 0 : -1;                                                       \
                                                                                       \
        FREE (state);                                                                  \
        return rc;                                                                     \
    }                                                                                  \
    static void free_state (void *state)                                               \
    {                                                                                  \
        FREE (state);                                                                  \
    }                                                                                  \
    static type *read_text (const char *text)                                          \
    {                                                                                  \
        return unit_keep (assert_made (READ (dn_span_of (text), file, &unit_err)),     \
                          free_state);                                                 \
    }

/* A part of a right text, what stands there instead, and the error that follows; NULL:
 * none.
 */
struct wrong {
    const char *old;
    const char *new;
    const char *says;
};

/* Each of them is read, or refused with its error, which begins with 'file'. */
static inline void assert_wrong (const char *whole,
                                 const struct wrong *cases,
                                 size_t n,
                                 const char *file,
                                 read_f *read)
{
    for (size_t i = 0; i < n; i++) {
        const struct wrong *wrong = &cases[i];
        struct dn_err err = {0};
        int rc = read (dn_span_of (text_with (whole, wrong->old, wrong->new)), &err);

        if (!wrong->says && rc < 0)
            fail_msg ("'%s': %s", wrong->new, err.text);
        if (wrong->says && rc == 0)
            fail_msg ("'%s' is read", wrong->new);
        if (wrong->says && !strstr (err.text, wrong->says))
            fail_msg ("'%s': '%s', expected '%s'", wrong->new, err.text, wrong->says);
        if (wrong->says && strncmp (err.text, file, strlen (file)) != 0)
            fail_msg ("'%s' does not begin with '%s'", err.text, file);
    }
}

/* The same of rows "old|new|error" (unit_cut ()). */
static inline void assert_wrong_rows (const char *whole,
                                      const char *const rows[],
                                      size_t n,
                                      const char *file,
                                      read_f *read)
{
    for (size_t i = 0; i < n; i++) {
        const char *parts[3];

        unit_cut (rows[i], parts, 3);
        assert_wrong (
            whole, &(struct wrong){parts[0], parts[1], parts[2]}, 1, file, read);
    }
}

/* No beginning of the text is read, but for one that lacks only its last byte. */
static inline void assert_no_cut (const char *whole, read_f *read)
{
    for (size_t len = 0; len + 1 < strlen (whole); len++)
        if (read ((struct dn_span){whole, len}, NULL) == 0)
            fail_msg ("%zu bytes are read", len);
}

#endif
