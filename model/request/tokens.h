/* tokens.h - the words of a script
 *
 * The one tokeniser for everything that is read in a script: its #DNNEST lines, its
 * words, and its fingerprint. Quotes are removed from words, comments are tokens of
 * their own. What is in quotes or in a here-document is marked as such.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TOKENS_H
#define DN_TOKENS_H

#include "base/text.h"

/* Longest word that is one token; of a longer one each part is. */
#define DN_TOKEN_MAX 512

enum dn_token_kind {
    DN_TOKEN_END,
    DN_TOKEN_WORD,
    DN_TOKEN_MARK,   /* one of '\n' ; & | ( ) < > */
    DN_TOKEN_COMMENT /* from its '#' to the end of the line */
};

struct dn_token {
    enum dn_token_kind kind;
    struct dn_span text;  /* of a word without quotes; valid until the next token */
    struct dn_span ahead; /* the text behind a word, or from a mark on */
    char mark;
    int line;
    bool first;  /* of its line; only of comments */
    bool quoted; /* a word or mark within quotes that an earlier word opened */
    bool here;   /* in a here-document */
    bool glued;  /* a word behind a bracket, without a blank */
};

struct dn_tokens {
    struct dn_span script;
    size_t at;
    int line;
    char before;        /* the character before 'at' */
    char line_quote;    /* open in this line: an apostrophe ends with it */
    char quote;         /* open, over lines */
    bool escaped;       /* it is a '\\' that counts */
    bool glued;         /* nothing but quotes since a bracket */
    struct dn_span end; /* the word that ends the here-document; len 0 for none */
    enum {
        DN_HERE_NONE,
        DN_HERE_NEXT, /* begins with the next line */
        DN_HERE_IN,
        DN_HERE_LAST /* this line ends it */
    } here;
    size_t look;          /* where the deadline is looked at next */
    bool broken;          /* a here-document that is not understood */
    struct dn_token next; /* a mark that follows the word before it */
    size_t len;
    char word[DN_TOKEN_MAX];
};

struct dn_tokens dn_tokens_of (struct dn_span script);

/* The next token. Return false, and a token of kind DN_TOKEN_END, after the last. */
bool dn_tokens_next (struct dn_tokens *tokens, struct dn_token *token);

/* Is it time to look at the deadline? Once for some 40 microseconds of reading. */
bool dn_tokens_due (struct dn_tokens *tokens);

/* Is a quote or a here-document open, or not understood, at the end? */
bool dn_tokens_open (const struct dn_tokens *tokens);

#endif
