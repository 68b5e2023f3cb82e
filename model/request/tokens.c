/* tokens.c - the words of a script
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/tokens.h"

#include <string.h>

#define BYTES_PER_LOOK 4096

struct dn_tokens dn_tokens_of (struct dn_span script)
{
    return (struct dn_tokens){.script = script, .line = 1, .before = '\n'};
}

bool dn_tokens_due (struct dn_tokens *tokens)
{
    if (tokens->at < tokens->look)
        return false;
    tokens->look = tokens->at + BYTES_PER_LOOK;
    return true;
}

bool dn_tokens_open (const struct dn_tokens *tokens)
{
    return tokens->broken || tokens->quote != '\0' || tokens->here == DN_HERE_NEXT
           || tokens->here == DN_HERE_IN;
}

/* The word behind "<<", which ends a here-document. */
static void begin_here (struct dn_tokens *t)
{
    const char *text = t->script.text;
    size_t at = t->at + 1;
    size_t end;

    if (t->quote != '\0' || t->here == DN_HERE_IN || t->at == 0
        || text[t->at - 1] != '<' || (t->at > 1 && text[t->at - 2] == '<')
        || (at < t->script.len && text[at] == '<'))
        return;
    while (at < t->script.len && strchr ("-'\"\\ ", text[at]))
        at++;
    for (end = at; end < t->script.len && !strchr ("'\" \t\n;|&<>()", text[end]); end++)
        ;
    t->broken |= t->here == DN_HERE_NEXT || end == at;
    t->here = DN_HERE_NEXT;
    t->end = (struct dn_span){text + at, end - at};
}

/* A line begins at 'at': does it end the here-document? */
static void begin_line (struct dn_tokens *t, size_t at)
{
    t->line++;
    t->line_quote = '\0';
    if (t->here == DN_HERE_LAST)
        t->here = DN_HERE_NONE;
    else if (t->here == DN_HERE_NEXT)
        t->here = DN_HERE_IN;
    if (t->here != DN_HERE_IN)
        return;
    while (at < t->script.len && t->script.text[at] == '\t')
        at++;
    if (t->script.len - at >= t->end.len
        && memcmp (t->script.text + at, t->end.text, t->end.len) == 0
        && (t->script.len - at == t->end.len
            || t->script.text[at + t->end.len] == '\n'))
        t->here = DN_HERE_LAST;
}

static void follow_quotes (struct dn_tokens *t, char c)
{
    if (c != '"' && c != '\'')
        return;
    if (t->line_quote == '\0' || t->line_quote == c)
        t->line_quote = t->line_quote == c ? '\0' : c;
    if (t->here == DN_HERE_IN || t->here == DN_HERE_LAST
        || (t->escaped && t->quote != '\''))
        return;
    if (t->quote == '\0' || t->quote == c)
        t->quote = t->quote == c ? '\0' : c;
}

/* The comment at 'at', up to the newline. A quote that is open over lines may end in
 * it.
 */
static void cut_comment (struct dn_tokens *t, struct dn_token *token)
{
    const char *begin = t->script.text + t->at;
    const char *end = memchr (begin, '\n', t->script.len - t->at);
    const char *line = begin;

    token->kind = DN_TOKEN_COMMENT;
    token->text =
        (struct dn_span){begin, end ? (size_t) (end - begin) : t->script.len - t->at};
    token->line = t->line;
    while (line > t->script.text && (line[-1] == ' ' || line[-1] == '\t'))
        line--;
    token->first = line == t->script.text || line[-1] == '\n';
    token->here = t->here != DN_HERE_NONE;
    if (t->quote != '\0' && memchr (begin, t->quote, token->text.len))
        t->quote = '\0';
    t->at += token->text.len;
    t->before = ' ';
}

enum char_kind {
    OF_WORD,
    HASH, /* of a word, or it begins a comment */
    MARK,
    BLANK,
    DROPPED
};

static const unsigned char char_kinds[256] = {
    ['#'] = HASH,
    ['\n'] = MARK,
    [';'] = MARK,
    ['&'] = MARK,
    ['|'] = MARK,
    ['('] = MARK,
    [')'] = MARK,
    ['<'] = MARK,
    ['>'] = MARK,
    [' '] = BLANK,
    ['\t'] = BLANK,
    ['\r'] = BLANK,
    ['"'] = DROPPED,
    ['\''] = DROPPED,
    ['`'] = DROPPED,
    ['\\'] = DROPPED,
};

/* The quick way over characters that mean nothing but themselves. */
static void take_plain (struct dn_tokens *t)
{
    const char *at = t->script.text + t->at;
    size_t left = t->script.len - t->at;
    size_t room = DN_TOKEN_MAX - 1 - t->len;
    const char *end = at + (left < room ? left : room);
    char *to = t->word + t->len;

    while (at < end && char_kinds[(unsigned char) *at] == OF_WORD)
        *to++ = *at++;
    t->at = (size_t) (at - t->script.text);
    t->len = (size_t) (to - t->word);
    t->before = at[-1];
}

static enum char_kind kind_of (char c)
{
    return (enum char_kind) char_kinds[(unsigned char) c];
}

/* Gather a character into the word. Return true where the word is complete: at a blank,
 * at a mark, which is the next token then, and at its greatest length.
 */
static bool take (struct dn_tokens *t, char c)
{
    struct dn_span ahead = {t->script.text + t->at, t->script.len - t->at};

    if (kind_of (c) == MARK) {
        t->next =
            (struct dn_token){.kind = DN_TOKEN_MARK,
                              .mark = c,
                              .ahead = ahead,
                              .line = t->line,
                              .quoted = t->quote != '\0',
                              .here = t->here == DN_HERE_IN || t->here == DN_HERE_LAST};
        return true;
    }
    if (kind_of (c) == BLANK) {
        t->glued = false;
        return t->len > 0;
    }
    if (kind_of (c) == DROPPED)
        return false;
    t->word[t->len++] = c;
    return t->len == DN_TOKEN_MAX;
}

static void finish_word (struct dn_tokens *t, struct dn_token *token)
{
    token->kind = t->len > 0 ? DN_TOKEN_WORD : DN_TOKEN_END;
    token->text = (struct dn_span){t->word, t->len};
    t->len = 0;
    if (t->next.kind == DN_TOKEN_MARK)
        t->glued = t->next.mark == ')';
}

/* The mark that was read behind a word. */
static bool pop_mark (struct dn_tokens *t, struct dn_token *token)
{
    if (t->next.kind != DN_TOKEN_MARK)
        return false;
    *token = t->next;
    t->next.kind = DN_TOKEN_END;
    return true;
}

bool dn_tokens_next (struct dn_tokens *t, struct dn_token *token)
{
    if (pop_mark (t, token))
        return true;
    *token = (struct dn_token){.kind = DN_TOKEN_END};
    for (bool begun = false; t->at < t->script.len;) {
        char c = t->script.text[t->at];
        bool complete;

        if (c == '#' && t->line_quote == '\0' && strchr (" \t\n;", t->before)) {
            cut_comment (t, token);
            return true;
        }
        if (c == '\\' && t->at + 1 < t->script.len
            && t->script.text[t->at + 1] == '\n') {
            t->at++;
            t->line++;
            c = ' ';
        }
        if (c == '<')
            begin_here (t);
        if (!begun) {
            token->line = t->line;
            token->quoted = t->quote != '\0';
            token->here = t->here == DN_HERE_IN || t->here == DN_HERE_LAST;
            token->glued = t->glued;
        }
        begun = t->len > 0 || kind_of (c) != BLANK;
        complete = take (t, c);
        if (complete)
            token->ahead =
                (struct dn_span){t->script.text + t->at, t->script.len - t->at};
        follow_quotes (t, c);
        t->at++;
        t->escaped = c == '\\' && !t->escaped;
        t->before = c;
        if (c == '\n')
            begin_line (t, t->at);
        if (kind_of (c) == OF_WORD && !complete)
            take_plain (t);
        if (!complete)
            continue;
        finish_word (t, token);
        return token->kind == DN_TOKEN_WORD || pop_mark (t, token);
    }
    token->ahead = (struct dn_span){t->script.text + t->script.len, 0};
    finish_word (t, token);
    return token->kind == DN_TOKEN_WORD;
}
