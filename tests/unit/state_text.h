/* state_text.h - texts of the files of dnnestd, written and changed
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STATE_TEXT_H
#define DN_STATE_TEXT_H

#include "base/fields.h"
#include "scratch.h"
#include "unit.h"

/* A text that grows; freed with text_free (). */
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

/* A dn_cluster_put_f and dn_guarded_put_f. */
static inline int text_put (void *to, const char *piece, size_t len)
{
    struct text *text = to;
    size_t size = text_size (text->len + len);

    if (!text->text || size > text_size (text->len))
        text->text = realloc (text->text, size);
    assert_non_null (text->text);
    memcpy (text->text + text->len, piece, len);
    text->len += len;
    text->text[text->len] = '\0';
    return 0;
}

/* 'base' with the first 'old' replaced by 'new'; owned by the caller. */
static inline char *text_with (const char *base, const char *old, const char *new)
{
    const char *at = strstr (base, old);
    char *text = malloc (strlen (base) + strlen (new) + 1);

    if (!at)
        fail_msg ("'%s' is not in the text", old);
    assert_non_null (text);
    sprintf (text, "%.*s%s%s", (int) (at - base), base, new, at + strlen (old));
    return text;
}

/* The page dnnest.snapshot(5) has the keys of a kind of line below its heading, in the
 * order of the code.
 */
static inline void assert_documented (const char *page, const struct dn_line_kind *kind)
{
    char heading[64];
    const char *at;
    const char *end;

    snprintf (heading, sizeof (heading), "\n## %s\n", kind->word);
    at = strstr (page, heading);
    if (!at)
        fail_msg ("no heading of the line %s", kind->word);
    at += strlen (heading);
    end = strstr (at, "\n#");
    for (int i = 0; i < kind->n_fields; i++) {
        char entry[64];

        snprintf (entry, sizeof (entry), "\n*%s*=", kind->fields[i].key);
        at = strstr (at, "\n*");
        if (!at || at > end || strncmp (at, entry, strlen (entry)) != 0)
            fail_msg ("%s: %s is not the next key", kind->word, kind->fields[i].key);
        at++;
    }
    at = strstr (at, "\n*");
    if (at && at < end)
        fail_msg ("%s: more keys than in the code", kind->word);
}

/* The text of the page; owned by the caller. */
static inline char *read_page (void)
{
    return tree_text ("cli/pages/dnnest.snapshot.5.scd");
}

#endif
