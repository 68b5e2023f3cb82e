/* marks.c - the #DNNEST lines of a script, and those that resemble them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/marks.h"

#include <string.h>

#include "base/limits.h"

static const char word[] = "DNNEST";

#define WORD_LEN (sizeof (word) - 1)

/* Lines that resemble metadata are examined more closely: their number bounds the time.
 */
#define ODD_MAX 64

static bool is_blank (char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct dn_span skip (struct dn_span text, size_t n)
{
    return (struct dn_span){text.text + n, text.len - n};
}

/* The text behind the mark of a comment, or one with text NULL. *exact: the mark is
 * written as it must be.
 */
static struct dn_span after_mark (struct dn_span comment, bool *exact)
{
    struct dn_span at = skip (comment, 1);

    while (at.len > 0 && is_blank (at.text[0]))
        at = skip (at, 1);
    if (at.len < WORD_LEN || !dn_word_equal (at.text, WORD_LEN, word, WORD_LEN))
        return (struct dn_span){NULL, 0};
    *exact = at.text == comment.text + 1 && memcmp (at.text, word, WORD_LEN) == 0
             && (at.len == WORD_LEN || is_blank (at.text[WORD_LEN])
                 || at.text[WORD_LEN] == ';');
    at = skip (at, WORD_LEN);
    if (!*exact && at.len > 0 && at.text[0] != ':' && !is_blank (at.text[0]))
        return (struct dn_span){NULL, 0};
    while (at.len > 0 && (at.text[0] == ':' || is_blank (at.text[0])))
        at = skip (at, 1);
    return at;
}

/* The column of 'at' in its line, from 1. */
static int column_of (struct dn_span script, const char *at)
{
    const char *line = at;

    while (line > script.text && line[-1] != '\n')
        line--;
    return (int) (at - line) + 1;
}

void dn_marks_take (struct dn_marks *marks,
                    struct dn_span script,
                    const struct dn_token *comment,
                    bool late)
{
    bool exact;
    struct dn_span text = after_mark (dn_span_trim (comment->text), &exact);
    struct dn_script_mark *mark = &marks->list[marks->n];

    if (!text.text || (!(exact && !late) && marks->n_odd == ODD_MAX))
        return;
    if (marks->n == DN_MARKS_MAX) {
        marks->more = true;
        return;
    }
    marks->script = script.text;
    *mark = (struct dn_script_mark){.at = (size_t) (text.text - script.text),
                                    .len = text.len,
                                    .line = comment->line,
                                    .column = column_of (script, text.text),
                                    .kind = !exact ? DN_MARK_MISSPELLED
                                            : late ? DN_MARK_LATE
                                                   : DN_MARK_EXACT};
    marks->n++;
    marks->n_odd += mark->kind != DN_MARK_EXACT;
}

struct dn_span dn_mark_text (const struct dn_marks *marks,
                             const struct dn_script_mark *mark)
{
    return (struct dn_span){marks->script + mark->at, mark->len};
}

/* Capital letters differ from others in one bit. */
bool dn_marks_may_be (const char *script)
{
    static const char mark[] = "dnnest";
    const size_t len = sizeof (mark) - 1;
    size_t left = script ? strnlen (script, DN_SCRIPT_HEAD_MAX) : 0;
    const char *at = script;
    const char *found;
    size_t n;

    while (left > 0 && (found = memchr (at, '#', left))) {
        left -= (size_t) (found + 1 - at);
        for (at = found + 1; left > 0 && (*at == ' ' || *at == '\t'); at++)
            left--;
        if (left < len)
            return false;
        for (n = 0; n < len && (at[n] | 0x20) == mark[n]; n++)
            ;
        if (n == len)
            return true;
    }
    return false;
}
