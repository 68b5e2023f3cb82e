/* ignored.c - texts that look like metadata, but are not read as such
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spec/spec.h"

#include <string.h>

#include "base/messages.h"

/* The part of "dnnest:" that all misspellings have. */
static const char word[] = "dnnest";

#define WORD_LEN (sizeof (word) - 1)

/* Slurm refuses longer comments. */
#define SEARCHED_MAX 1024

/* Part of a longer word, such as "mydnnest:". */
static bool is_name (char c)
{
    return dn_is_letter (c) || dn_is_digit (c) || c == '_' || c == '-' || c == '.';
}

static bool is_quote (char c)
{
    return c == '\'' || c == '"' || c == '`' || c == '\\';
}

static bool begins_with_word (struct dn_span text)
{
    return text.len >= WORD_LEN && dn_word_equal (text.text, WORD_LEN, word, WORD_LEN);
}

/* "key=" with a known key, without the quotes before it. */
static bool is_pair (struct dn_span text)
{
    struct dn_span rest = text;
    struct dn_span name;

    while (rest.len > 0 && is_quote (rest.text[0]))
        rest = dn_span_after (rest, 1);
    name = dn_span_cut (&rest, "=");
    return rest.text && dn_spec_key (dn_span_trim (name));
}

/* What can follow a mark: a pair, a sidecar, "off". */
static bool is_metadata (struct dn_span text)
{
    struct dn_span first;

    if (text.len > 2 * DN_NAME_MAX)
        text.len = 2 * DN_NAME_MAX;
    first = dn_span_cut (&text, " \t\r\n;,'\"\\");
    return first.len > 0
           && (first.text[0] == '@' || dn_span_is (first, "off") || is_pair (first));
}

/* Metadata behind a mark that is not at the beginning of a word. */
static bool find_hidden_mark (struct dn_span comment, struct dn_buf *text)
{
    for (size_t i = 1; i + WORD_LEN < comment.len; i++) {
        struct dn_span at = dn_span_after (comment, i);
        char before = comment.text[i - 1];

        if (is_name (before) || !begins_with_word (at) || at.text[WORD_LEN] != ':'
            || !is_metadata (dn_span_after (at, WORD_LEN + 1)))
            continue;
        if (is_quote (before))
            dn_buf_add (text, dn_say_ignored_quote);
        else
            dn_buf_add (text, dn_say_ignored_before, dn_quote (&before, 1).text);
        return true;
    }
    return false;
}

/* A pair after the blank or the semicolon at which the metadata of a comment end. */
static bool find_rest (struct dn_span rest, struct dn_buf *text)
{
    while (rest.text) {
        struct dn_span piece = dn_span_trim (dn_span_cut (&rest, " \t\r\n;,"));

        if (begins_with_word (piece) && piece.len > WORD_LEN + 1
            && piece.text[WORD_LEN] == ':')
            piece = dn_span_after (piece, WORD_LEN + 1);
        if (!is_pair (piece))
            continue;
        dn_buf_add (text, dn_say_ignored_rest, DN_QUOTED_SPAN (piece));
        return true;
    }
    return false;
}

static bool find_in_comment (const char *comment, struct dn_buf *text)
{
    struct dn_span whole = {comment, comment ? strnlen (comment, SEARCHED_MAX) : 0};
    struct dn_note note = dn_note_of_comment (comment);
    struct dn_span last = note.pairs.text ? note.pairs : note.file;

    if (!comment || note.off)
        return false;
    return last.text ? find_rest (
               dn_span_after (whole, (size_t) (last.text + last.len - comment)), text)
                     : find_hidden_mark (whole, text);
}

/* #DNNEST lines after the first command, and lines that resemble them. */
static void find_in_script (const struct dn_marks *marks, struct dn_buf *text)
{
    for (int i = 0; i < marks->n; i++) {
        const struct dn_script_mark *mark = &marks->list[i];

        if (mark->kind == DN_MARK_EXACT || !is_metadata (dn_mark_text (marks, mark)))
            continue;
        dn_buf_add (text,
                    mark->kind == DN_MARK_LATE ? dn_say_ignored_late
                                               : dn_say_ignored_mark,
                    mark->line);
        return;
    }
}

void dn_spec_ignored (const struct dn_carriers *carriers, char text[DN_REASON_MAX])
{
    struct dn_buf buf = dn_buf_on (text, DN_REASON_MAX);

    if (dn_note_of_option (carriers->option).off)
        return;
    if (!find_in_comment (carriers->comment, &buf) && carriers->marks)
        find_in_script (carriers->marks, &buf);
}
