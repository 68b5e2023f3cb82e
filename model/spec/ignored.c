/* ignored.c - texts that look like metadata, but are not read as such
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spec/spec.h"

#include <string.h>

#include "base/messages.h"

/* The parts of "dnnest:" and "#DNNEST" that all misspellings have. */
static const char word[] = "dnnest";

#define WORD_LEN (sizeof (word) - 1)

/* Slurm refuses longer comments. */
#define SEARCHED_MAX 1024

/* Lines of a script that are examined more closely: their number bounds the time. */
#define LINES_MAX 64

/* Lines of a script between two looks at the deadline. */
#define LINES_PER_LOOK 1024

static bool is_blank (char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Part of a longer word, such as "mydnnest:". */
static bool is_name (char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || c == '_' || c == '-' || c == '.';
}

static bool is_quote (char c)
{
    return c == '\'' || c == '"' || c == '`' || c == '\\';
}

static struct dn_span skip (struct dn_span text, size_t n)
{
    return n < text.len ? (struct dn_span){text.text + n, text.len - n}
                        : (struct dn_span){text.text + text.len, 0};
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
        rest = skip (rest, 1);
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
        struct dn_span at = skip (comment, i);
        char before = comment.text[i - 1];

        if (is_name (before) || !begins_with_word (at) || at.text[WORD_LEN] != ':'
            || !is_metadata (skip (at, WORD_LEN + 1)))
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
            piece = skip (piece, WORD_LEN + 1);
        if (!is_pair (piece))
            continue;
        dn_buf_add (text, dn_say_ignored_rest, dn_quote (piece.text, piece.len).text);
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
               skip (whole, (size_t) (last.text + last.len - comment)), text)
                     : find_hidden_mark (whole, text);
}

/* The text after the mark of a line that begins with '#', or one with text NULL.
 * *exact: it is written as it must be.
 */
static struct dn_span after_mark (struct dn_span line, bool *exact)
{
    struct dn_span at = skip (line, 1);

    *exact = false;
    while (at.len > 0 && is_blank (at.text[0]))
        at = skip (at, 1);
    if (!begins_with_word (at))
        return (struct dn_span){NULL, 0};
    *exact = at.text == line.text + 1 && memcmp (at.text, "DNNEST", WORD_LEN) == 0
             && (at.len == WORD_LEN || is_blank (at.text[WORD_LEN]));
    at = skip (at, WORD_LEN);
    if (!*exact && at.len > 0 && at.text[0] != ':' && !is_blank (at.text[0]))
        return (struct dn_span){NULL, 0};
    while (at.len > 0 && (at.text[0] == ':' || is_blank (at.text[0])))
        at = skip (at, 1);
    return at;
}

/* #DNNEST lines after the first command, and lines that resemble them. Here-documents
 * may hold the scripts of other jobs, so the search ends at the first.
 */
static bool find_in_script (const struct dn_carriers *carriers, struct dn_buf *text)
{
    const char *script = carriers->script;
    struct dn_span rest = {script, script ? strnlen (script, DN_SCRIPT_HEAD_MAX) : 0};
    bool command = false;
    int n_marks = 0;

    for (int number = 1; rest.text && n_marks < LINES_MAX; number++) {
        struct dn_span line = dn_span_trim (dn_span_cut (&rest, "\n"));
        struct dn_span at;
        bool exact;

        if (number % LINES_PER_LOOK == 0 && dn_deadline_passed (carriers->deadline))
            break;
        if (line.len == 0)
            continue;
        if (line.text[0] != '#') {
            command = true;
            if (memmem (line.text, line.len, "<<", 2))
                break;
            continue;
        }
        at = after_mark (line, &exact);
        if (!at.text || (exact && !command))
            continue;
        n_marks++;
        if (!is_metadata (at))
            continue;
        dn_buf_add (text, exact ? dn_say_ignored_late : dn_say_ignored_mark, number);
        return true;
    }
    return false;
}

void dn_spec_ignored (const struct dn_carriers *carriers, char text[DN_REASON_MAX])
{
    struct dn_buf buf = dn_buf_on (text, DN_REASON_MAX);

    if (dn_note_of_option (carriers->option).off)
        return;
    if (!find_in_comment (carriers->comment, &buf))
        find_in_script (carriers, &buf);
}
