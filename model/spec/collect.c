/* collect.c - finding the metadata in a script, a comment and an option
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spec/spec.h"

#include <string.h>

#include "base/messages.h"

static const char comment_mark[] = DN_COMMENT_MARK;

#define MARK_LEN(mark) (sizeof (mark) - 1)

/* Where metadata inside a longer comment ends. */
#define METADATA_ENDS " \t\n\r;"

static struct dn_span span_within (const char *text, size_t max)
{
    return (struct dn_span){text, text ? strnlen (text, max) : 0};
}

/* Does the mark end at 'end'? It must begin a word: "mydnnest:x" does not count. */
static bool is_marked (struct dn_span comment, size_t end)
{
    size_t begin = end - MARK_LEN (comment_mark);

    return end >= MARK_LEN (comment_mark)
           && (begin == 0 || strchr (METADATA_ENDS, comment.text[begin - 1]))
           && dn_word_equal (comment.text + begin,
                             MARK_LEN (comment_mark),
                             comment_mark,
                             MARK_LEN (comment_mark));
}

/* The first that is marked, but "off" wherever it stands. Most characters are passed
 * over by the search for the mark's colon.
 */
static struct dn_span find_in_comment (struct dn_span comment)
{
    struct dn_span first = {NULL, 0};
    size_t begin = 0;
    const char *colon;

    while (begin < comment.len
           && (colon = memchr (comment.text + begin, ':', comment.len - begin))) {
        struct dn_span found;
        size_t len;

        begin = (size_t) (colon + 1 - comment.text);
        if (!is_marked (comment, begin))
            continue;
        found = dn_span_after (comment, begin);
        len = strcspn (found.text, METADATA_ENDS);
        found.len = len < found.len ? len : found.len;
        if (dn_span_is (found, "off"))
            return found;
        if (!first.text)
            first = found;
    }
    return first;
}

/* "@FILE,key=value": the file, and the text after it. */
static struct dn_note split_file (struct dn_span text)
{
    struct dn_note note = {.off = false};
    note.pairs = dn_span_after (text, 1);
    note.file = dn_span_cut (&note.pairs, ",");
    return note;
}

static struct dn_note split_note (struct dn_span text)
{
    if (dn_span_is (text, "off"))
        return (struct dn_note){.off = true};
    if (text.len > 0 && text.text[0] == '@')
        return split_file (text);
    return (struct dn_note){.pairs = text};
}

struct dn_note dn_note_of_comment (const char *comment)
{
    return split_note (find_in_comment (span_within (comment, DN_COMMENT_MAX)));
}

/* "config.json,batch=4": a file, and the text after it. */
static bool begins_with_json (struct dn_span text)
{
    static const char suffix[] = ".json";
    const size_t len = sizeof (suffix) - 1;
    struct dn_span file = dn_span_cut (&text, ",");

    return text.text && file.len > len && !memchr (file.text, '=', file.len)
           && memcmp (file.text + file.len - len, suffix, len) == 0;
}

/* "train.json" and "./a=b.json" are files, "batch=4" is not. */
static bool is_path (struct dn_span text)
{
    return text.len > 0 && !dn_span_is (text, "auto")
           && (text.text[0] == '/' || text.text[0] == '.'
               || !memchr (text.text, '=', text.len));
}

struct dn_note dn_note_of_option (const char *option)
{
    struct dn_span text = dn_span_trim (span_within (option, DN_COMMENT_MAX));
    struct dn_note note = split_note (text);

    if (note.off || note.file.text || !text.text)
        return note;
    if (dn_span_is (text, "help"))
        return (struct dn_note){.help = true};
    if (begins_with_json (text)) {
        note.pairs = text;
        note.file = dn_span_cut (&note.pairs, ",");
        return note;
    }
    if (is_path (text))
        return (struct dn_note){.file = text};
    return note;
}

/* Read the keys of a comment or an option. Its file, if it names one, was read by the
 * caller. Columns are counted from 'begin'.
 */
static int read_note (const struct dn_note *note,
                      const char *begin,
                      const struct dn_carriers *carriers,
                      struct dn_spec *spec,
                      enum dn_metadata *state,
                      struct dn_err *err)
{
    if (note->file.text && !carriers->sidecar) {
        dn_refuse (err, sidecar_unread, DN_QUOTED_SPAN (note->file));
        return dn_err_wrap (err, dn_say_at_column, (int) (note->file.text - begin) + 1);
    }
    if (!note->pairs.text)
        return 0;
    if (note->pairs.len == 0 && !note->file.text)
        return dn_refuse (err, metadata_none);
    if (dn_spec_read_at (note->pairs, (int) (note->pairs.text - begin) + 1, spec, err)
        < 0)
        return -1;
    *state = DN_METADATA_GIVEN;
    return 0;
}

/* Words of #DNNEST lines between two looks at the deadline: some 20 microseconds. */
#define WORDS_PER_LOOK 32

/* One #DNNEST line: pairs separated by blanks or commas, or "off". '*n_words' counts
 * the pairs of all lines.
 */
static int read_line (struct dn_span line,
                      int first_column,
                      const struct dn_deadline *deadline,
                      int *n_words,
                      struct dn_spec *spec,
                      enum dn_metadata *state,
                      struct dn_err *err)
{
    struct dn_span text = line;
    struct dn_err all = {0};

    while (text.text && text.len > 0) {
        struct dn_span word = dn_spec_cut (&text);
        struct dn_err one = {0};
        int column = first_column + (int) (word.text - line.text);

        if (++*n_words % WORDS_PER_LOOK == 0
            && dn_deadline_check (deadline, dn_say_rest_of_script, err) < 0)
            return -1;
        if (word.len == 0)
            continue;
        if (dn_span_is (word, "off")) {
            *state = DN_METADATA_OFF;
            return 0;
        }
        if (dn_spec_read_at (word, column, spec, &one) < 0)
            dn_err_add (&all, &one);
        else
            *state = DN_METADATA_GIVEN;
    }
    if (all.code != DN_E_NONE && err)
        *err = all;
    return all.code == DN_E_NONE ? 0 : -1;
}

/* The #DNNEST lines of a script's head, before the first command, like #SBATCH lines.
 */
static int read_marks (const struct dn_marks *marks,
                       const struct dn_deadline *deadline,
                       struct dn_spec *spec,
                       enum dn_metadata *state,
                       struct dn_err *err)
{
    int n_words = 0;

    for (int i = 0; i < marks->n && *state != DN_METADATA_OFF; i++) {
        const struct dn_script_mark *mark = &marks->list[i];

        if (mark->kind == DN_MARK_EXACT
            && read_line (dn_mark_text (marks, mark),
                          mark->column,
                          deadline,
                          &n_words,
                          spec,
                          state,
                          err)
                   < 0)
            return dn_err_wrap (err, dn_say_at_script_line, mark->line);
    }
    if (marks->more && *state != DN_METADATA_OFF)
        return dn_refuse (err, marks, DN_MARKS_MAX);
    return 0;
}

int dn_spec_collect (const struct dn_carriers *carriers,
                     struct dn_spec *spec,
                     enum dn_metadata *state,
                     struct dn_err *err)
{
    struct dn_note comment = dn_note_of_comment (carriers->comment);
    struct dn_note option = dn_note_of_option (carriers->option);
    struct dn_spec result = *spec;

    *state = comment.off || option.off ? DN_METADATA_OFF : DN_METADATA_NONE;
    if (*state == DN_METADATA_OFF)
        return 0;
    if (option.help)
        return dn_refuse (err, option_help);
    if (carriers->marks
        && read_marks (carriers->marks, carriers->deadline, &result, state, err) < 0)
        return -1;
    if (*state == DN_METADATA_OFF)
        return 0;
    if (read_note (&comment, carriers->comment, carriers, &result, state, err) < 0)
        return dn_err_wrap (err, "comment");
    if (read_note (&option, carriers->option, carriers, &result, state, err) < 0)
        return dn_err_wrap (err, "--dnnest");
    *spec = result;
    return 0;
}
