/* collect.c - finding the metadata in a comment and in a batch script
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spec/spec.h"

#include <string.h>

static const char comment_mark[] = "dnnest:";
static const char script_mark[] = "#DNNEST";

#define MARK_LEN(mark) (sizeof (mark) - 1)

/* Where metadata inside a longer comment ends. */
static bool ends_metadata (char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ';';
}

/* The text behind "dnnest:" in a comment. The mark must begin a word: "mydnnest:x" is
 * somebody else's. Return a span with text NULL if there is none.
 */
static struct dn_span find_in_comment (struct dn_span comment)
{
    for (size_t i = 0; i + MARK_LEN (comment_mark) <= comment.len; i++) {
        size_t end = i + MARK_LEN (comment_mark);

        if ((i > 0 && !ends_metadata (comment.text[i - 1]))
            || !dn_word_equal (comment.text + i,
                               MARK_LEN (comment_mark),
                               comment_mark,
                               MARK_LEN (comment_mark)))
            continue;
        while (end < comment.len && !ends_metadata (comment.text[end]))
            end++;
        i += MARK_LEN (comment_mark);
        return (struct dn_span){comment.text + i, end - i};
    }
    return (struct dn_span){NULL, 0};
}

/* Read one carrier's text: "off", or pairs. */
static int read_metadata (struct dn_span text,
                          struct dn_spec *spec,
                          enum dn_metadata *state,
                          struct dn_err *err)
{
    if (dn_span_is (text, "off")) {
        *state = DN_METADATA_OFF;
        return 0;
    }
    if (text.len == 0)
        return dn_err_set (err, DN_E_SYNTAX, "nothing behind it, expected key=value");
    if (text.text[0] == '@')
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "'%s': a sidecar is not read on the server here, expected "
                           "key=value",
                           dn_quote (text.text, text.len).text);
    if (dn_spec_read (text, spec, err) < 0)
        return -1;
    *state = DN_METADATA_GIVEN;
    return 0;
}

/* The #DNNEST lines of a script's head, before the first command, as #SBATCH lines.
 * Pairs on one line are separated by blanks or commas; "#DNNEST off" opts out.
 */
static int read_script (struct dn_span script,
                        struct dn_spec *spec,
                        enum dn_metadata *state,
                        struct dn_err *err)
{
    int line = 0;

    if (script.len > DN_SCRIPT_HEAD_MAX)
        script.len = DN_SCRIPT_HEAD_MAX;
    while (script.text) {
        struct dn_span text = dn_span_trim (dn_span_cut (&script, "\n"));

        line++;
        if (text.len > 0 && text.text[0] != '#')
            break;
        if (text.len <= MARK_LEN (script_mark)
            || memcmp (text.text, script_mark, MARK_LEN (script_mark)) != 0
            || !ends_metadata (text.text[MARK_LEN (script_mark)]))
            continue;
        text.text += MARK_LEN (script_mark);
        text.len -= MARK_LEN (script_mark);
        text = dn_span_trim (text);
        while (text.text && text.len > 0) {
            struct dn_span word = dn_span_trim (dn_span_cut (&text, " \t"));

            if (word.len > 0 && read_metadata (word, spec, state, err) < 0)
                return dn_err_wrap (err, "script line %d: #DNNEST", line);
            if (*state == DN_METADATA_OFF)
                return 0;
        }
    }
    return 0;
}

int dn_spec_collect (const char *comment,
                     const char *script,
                     struct dn_spec *spec,
                     enum dn_metadata *state,
                     struct dn_err *err)
{
    struct dn_spec result = dn_spec_empty ();
    struct dn_span metadata;
    size_t comment_len = comment ? strnlen (comment, DN_COMMENT_MAX + 1) : 0;

    *state = DN_METADATA_NONE;
    *spec = result;
    metadata = find_in_comment ((struct dn_span){
        comment, comment_len > DN_COMMENT_MAX ? DN_COMMENT_MAX : comment_len});
    if (dn_span_is (metadata, "off")) {
        *state = DN_METADATA_OFF;
        return 0;
    }
    if (script
        && read_script ((struct dn_span){script, strnlen (script, DN_SCRIPT_HEAD_MAX)},
                        &result,
                        state,
                        err)
               < 0)
        return -1;
    if (metadata.text && read_metadata (metadata, &result, state, err) < 0)
        return dn_err_wrap (err, "comment");
    if (*state == DN_METADATA_GIVEN)
        *spec = result;
    return 0;
}
