/* keyline.c - lines of "Key=Value Key=Value"
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/keyline.h"
#include "base/messages.h"

#include <string.h>

static bool is_blank (char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Cut a comment off, which begins at a '#' outside of quotes. */
static struct dn_span without_comment (struct dn_span line)
{
    bool quoted = false;

    for (size_t i = 0; i < line.len; i++) {
        if (line.text[i] == '"')
            quoted = !quoted;
        else if (line.text[i] == '#' && !quoted)
            line.len = i;
    }
    return line;
}

/* Cut one value off the front: up to a blank, or up to the closing quote. */
static int cut_value (struct dn_span *rest, struct dn_span *value, struct dn_err *err)
{
    size_t end = 0;
    bool quoted = rest->len > 0 && rest->text[0] == '"';

    if (quoted)
        *rest = dn_span_after (*rest, 1);
    while (end < rest->len
           && (quoted ? rest->text[end] != '"' : !is_blank (rest->text[end])))
        end++;
    if (quoted && end == rest->len)
        return dn_refuse (err, key_quote);
    *value = (struct dn_span){rest->text, end};
    *rest = dn_span_after (*rest, end + (quoted ? 1 : 0));
    return 0;
}

/* Length of the key or keyword in front of 'text'. */
static size_t key_length (struct dn_span text)
{
    size_t len = 0;

    while (len < text.len && text.text[len] != '=' && !is_blank (text.text[len]))
        len++;
    return len;
}

/* Refuse 'text', which begins with no pair, behind the word and the pairs that have
 * been read. A blank before the '=', which Slurm takes, would be a second meaning of a
 * word.
 */
static int refuse_pair (struct dn_span text,
                        struct dn_span key,
                        const struct dn_keyline *keyline,
                        struct dn_err *err)
{
    if (dn_span_is (key, "\\"))
        return dn_refuse (err, key_continued);
    if (key.len > 0)
        text = key;
    else if (keyline->word.len > 0 && keyline->n_pairs == 0)
        text = (struct dn_span){keyline->word.text,
                                (size_t) (text.text + text.len - keyline->word.text)};
    return dn_refuse (err, key_value, DN_QUOTED_SPAN (text));
}

static int read_pairs (struct dn_span text,
                       struct dn_keyline *keyline,
                       struct dn_err *err)
{
    text = dn_span_trim (text);
    if (keyline->words) {
        size_t len = key_length (text);

        if (len == text.len || text.text[len] != '=') {
            keyline->word = (struct dn_span){text.text, len};
            text = dn_span_trim (dn_span_after (text, len));
        }
    }
    while (text.len > 0) {
        struct dn_pair pair = {.key = {text.text, key_length (text)}};

        if (pair.key.len == 0 || pair.key.len == text.len
            || text.text[pair.key.len] != '=')
            return refuse_pair (text, pair.key, keyline, err);
        text = dn_span_after (text, pair.key.len + 1);
        if (cut_value (&text, &pair.value, err) < 0)
            return -1;
        if (keyline->n_pairs == DN_KEYLINE_PAIRS_MAX)
            return dn_refuse (err, key_many, DN_KEYLINE_PAIRS_MAX);
        keyline->pairs[keyline->n_pairs++] = pair;
        text = dn_span_trim (text);
    }
    return 0;
}

int dn_keyline_next (struct dn_span *rest,
                     struct dn_keyline *keyline,
                     struct dn_err *err)
{
    while (rest->text) {
        struct dn_span line = without_comment (dn_span_cut (rest, "\n"));

        keyline->line++;
        keyline->n_pairs = 0;
        keyline->word = (struct dn_span){NULL, 0};
        if (read_pairs (line, keyline, err) < 0)
            return dn_err_wrap (err, dn_say_err_line, keyline->line);
        if (keyline->n_pairs > 0 || keyline->word.len > 0)
            return 1;
    }
    return 0;
}

int dn_keyline_wrap (const struct dn_keyline *keyline,
                     const char *file,
                     struct dn_err *err)
{
    return dn_err_wrap (err, dn_say_err_file_line, file, keyline->line);
}
