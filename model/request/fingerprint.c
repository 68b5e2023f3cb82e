/* fingerprint.c - which application a job runs, by the words of its script
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/fingerprint.h"

#include <string.h>

#include "request/vocabulary.h"

/* Bytes behind a command that are searched for a file that it prints into. */
#define AHEAD_MAX 256

/* Arguments of a command that count. */
#define ARGUMENTS_MAX 256

static bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

/* --- names of options and variables ------------------------------------------------
 */

static enum dn_word find (const struct dn_print_words *r,
                          enum dn_word_set set,
                          struct dn_span name)
{
    return dn_words_find (r->known, set, name, dn_words_hash (name));
}

/* Does one of the parts between 'separators' say so? */
static bool has_part (const struct dn_print_words *r,
                      enum dn_word kind,
                      struct dn_span name,
                      const char separators[2])
{
    uint32_t hash = DN_WORDS_SEED;
    size_t begin = 0;

    for (size_t i = 0; i <= name.len; i++) {
        struct dn_span part = {name.text + begin, i - begin};

        if (i < name.len && name.text[i] != separators[0]
            && name.text[i] != separators[1]) {
            hash = dn_words_add (hash, name.text[i]);
            continue;
        }
        if (dn_words_find (r->known, DN_SET_NAME_PARTS, part, hash) == kind)
            return true;
        hash = DN_WORDS_SEED;
        begin = i + 1;
    }
    return false;
}

/* "--Max-Epochs" as "max_epochs"; false where it is no name. */
static bool simplify (struct dn_span given, char name[DN_NAME_MAX], size_t *len)
{
    while (given.len > 0 && strchr ("-+~", given.text[0])) {
        given.text++;
        given.len--;
    }
    if (given.len == 0 || given.len >= DN_NAME_MAX)
        return false;
    for (size_t i = 0; i < given.len; i++) {
        char c = given.text[i];

        if (c >= 'A' && c <= 'Z')
            c = (char) (c - 'A' + 'a');
        name[i] = c == '-' ? '_' : c;
    }
    *len = given.len;
    return true;
}

/* Does the value under that name not count? */
static bool is_volatile (struct dn_print_words *r, struct dn_span given)
{
    char text[DN_NAME_MAX];
    struct dn_span name = {text, 0};
    struct dn_span last;
    enum dn_word kind;
    const char *dot;

    if (!simplify (given, text, &name.len))
        return false;
    last = name;
    dot = memrchr (text, '.', name.len);
    if (dot) {
        last.text = dot + 1;
        last.len = name.len - (size_t) (last.text - text);
    }
    kind = find (r, DN_SET_NAMES, last);
    if (kind == DN_W_VOLATILE || (kind == DN_W_VOLATILE_BARE && !dot)
        || has_part (r, DN_W_VOLATILE_PART, last, "__")
        || has_part (r, DN_W_VOLATILE_PREFIX, name, "./"))
        return true;
    if (kind != DN_W_WORK)
        return false;
    r->asked = true;
    return r->counted;
}

/* --- values ------------------------------------------------------------------------
 */

static bool is_settings_file (struct dn_span path)
{
    static const char *const ends[] = {
        ".yaml", ".yml", ".json", ".toml", ".ini", ".cfg"};

    for (size_t i = 0; i < DN_N_ELEMENTS (ends); i++) {
        size_t len = strlen (ends[i]);

        if (path.len > len
            && dn_word_equal (path.text + path.len - len, len, ends[i], len))
            return true;
    }
    return false;
}

/* The part of a path that counts: all of a relative one. */
static struct dn_span significant (struct dn_span path)
{
    struct dn_span given = path;
    int left;
    size_t at;

    while (path.len > 1 && path.text[path.len - 1] == '/')
        path.len--;
    if (path.len > 2 && memcmp (path.text, "./", 2) == 0)
        return (struct dn_span){path.text + 2, path.len - 2};
    if (path.len == 0 || !strchr ("/~$", path.text[0])
        || !memchr (path.text, '/', path.len))
        return path;
    left = is_settings_file (given) ? 2 : 1;
    for (at = path.len; at > 0; at--)
        if (path.text[at - 1] == '/' && --left == 0)
            break;
    return (struct dn_span){path.text + at, path.len - at};
}

/* Two digits that make a number from 1 to 'max'. */
static bool is_number_to (const char *text, int max)
{
    int number;

    if (!is_digit (text[0]) || !is_digit (text[1]))
        return false;
    number = 10 * (text[0] - '0') + text[1] - '0';
    return number >= 1 && number <= max;
}

/* The length of a date at 'text', with a time behind it; 0: there is none. */
static size_t date_length (struct dn_span text)
{
    size_t at = 4;

    if (text.len < 8 || memcmp (text.text, "20", 2) != 0 || !is_digit (text.text[2])
        || !is_digit (text.text[3]))
        return 0;
    at += strchr ("-_.", text.text[at]) != NULL;
    if (!is_number_to (text.text + at, 12))
        return 0;
    at += 2;
    at += strchr ("-_.", text.text[at]) != NULL;
    if (at + 2 > text.len || !is_number_to (text.text + at, 31))
        return 0;
    at += 2;
    while (at < text.len
           && (is_digit (text.text[at])
               || (at + 1 < text.len && strchr ("-_:.T", text.text[at])
                   && is_digit (text.text[at + 1]))))
        at++;
    return at;
}

/* The length of seconds since 1970 at 'text'; 0: there are none. */
static size_t clock_length (struct dn_span text)
{
    size_t at = 0;

    while (at < text.len && is_digit (text.text[at]))
        at++;
    return at == 10 && text.text[0] == '1' ? at : 0;
}

/* ":29500" at the end. */
static size_t port_length (struct dn_span text)
{
    size_t at = text.len;

    while (at > 0 && is_digit (text.text[at - 1]))
        at--;
    return at > 0 && text.text[at - 1] == ':' && text.len - at >= 4
                   && text.len - at <= 5
               ? text.len - at
               : 0;
}

static void add (struct dn_print_words *r, const char *text, size_t len)
{
    dn_digest_add (&r->digester, (struct dn_span){text, len});
}

static void add_value (struct dn_print_words *r, struct dn_span value)
{
    size_t begin = 0;
    size_t i = 0;

    while (value.len > 0 && strchr (",:", value.text[value.len - 1]))
        value.len--;
    value = significant (value);
    value.len -= port_length (value);
    while (i < value.len) {
        struct dn_span rest = {value.text + i, value.len - i};
        size_t skip = 0;

        if (is_digit (value.text[i]) && (i == 0 || !is_digit (value.text[i - 1]))) {
            skip = date_length (rest);
            if (skip == 0)
                skip = clock_length (rest);
        }
        if (skip > 0) {
            add (r, value.text + begin, i - begin);
            begin = i + skip;
        }
        i += skip > 0 ? skip : 1;
    }
    add (r, value.text + begin, value.len - begin);
}

/* --- words -------------------------------------------------------------------------
 */

static void end_word (struct dn_print_words *r)
{
    add (r, "\n", 1);
    r->n_words++;
}

/* Does the text behind the command, up to its end, go into a file or a program? */
static bool prints_into (const struct dn_print_words *r)
{
    struct dn_span text = r->ahead;

    for (size_t i = 0; i < text.len && i < AHEAD_MAX && text.text[i] != '\n'; i++)
        if (text.text[i] == '>' || text.text[i] == '|')
            return true;
    return false;
}

/* The first word of a command. Return true where it says what follows. */
static bool begin_command (struct dn_print_words *r, struct dn_span word)
{
    enum dn_word kind = find (r, DN_SET_PRINTED, word);

    r->begins = kind == DN_W_OPENING;
    r->loop = dn_span_is (word, "for") ? 1 : 0;
    r->uncounted =
        kind == DN_W_UNCOUNTED || (kind == DN_W_PRINTING && !prints_into (r));
    return r->uncounted;
}

/* A word in "for NAME in VALUE VALUE". Return true where it is one of values that do
 * not count; that there is one does.
 */
static bool is_looped (struct dn_print_words *r, struct dn_span word)
{
    if (r->loop == 1) {
        r->loop = is_volatile (r, word) ? 2 : 0;
        return false;
    }
    return r->loop == 2 && !dn_span_is (word, "in");
}

/* NAME=VALUE, as if a blank were in place of the '=' at 'at'. */
static void read_pair (struct dn_print_words *r, struct dn_span word, size_t at)
{
    struct dn_span name = {word.text, at};

    add (r, name.text, name.len);
    end_word (r);
    if (is_volatile (r, name))
        add (r, "*", 1);
    else
        add_value (r, (struct dn_span){word.text + at + 1, word.len - at - 1});
    end_word (r);
}

/* Is it an option, or does it have the form "NAME:", "NAME (", "NAME =" or "NAME :"? */
static bool may_name (const struct dn_print_words *r, struct dn_span word)
{
    size_t i = 0;

    if (word.text[0] == '-' || word.text[word.len - 1] == ':')
        return true;
    while (i < r->ahead.len && i < AHEAD_MAX && r->ahead.text[i] == ' ')
        i++;
    return i < r->ahead.len && strchr ("=:(", r->ahead.text[i]);
}

static void read_word (struct dn_print_words *r, struct dn_span word)
{
    const char *equals = memchr (word.text, '=', word.len);
    bool skips = r->skips;
    bool is_file = r->is_file;
    bool names = r->names;
    bool first = r->begins;

    r->skips = r->is_file = r->names = false;
    if (is_file || r->uncounted || (r->begins && begin_command (r, word)))
        return;
    if (names && (dn_span_is (word, "=") || dn_span_is (word, ":"))) {
        r->skips = true;
        return;
    }
    if ((skips && word.text[0] != '-') || (!first && is_looped (r, word))) {
        add (r, "*", 1);
        end_word (r);
        return;
    }
    if (equals && equals > word.text) {
        read_pair (r, word, (size_t) (equals - word.text));
        return;
    }
    r->names =
        may_name (r, word)
        && is_volatile (
            r,
            (struct dn_span){word.text, word.len - (word.text[word.len - 1] == ':')});
    r->skips = r->names && (word.text[0] == '-' || word.text[word.len - 1] == ':');
    add_value (r, word);
    end_word (r);
}

static void end_command (struct dn_print_words *r)
{
    r->begins = true;
    r->uncounted = r->skips = r->is_file = r->names = false;
    r->loop = 0;
}

/* --- the script --------------------------------------------------------------------
 */

static void read_mark (struct dn_print_words *r, char mark)
{
    switch (mark) {
    case '(':
        r->skips = r->skips || r->names;
        r->begins = true;
        break;
    case '>':
        r->is_file = true;
        break;
    case '<':
        break;
    default:
        end_command (r);
    }
}

void dn_print_begin (struct dn_print *print, const struct dn_words *known)
{
    print->n = 1;
    print->words[0] = (struct dn_print_words){
        .digester = dn_digest_begin (), .known = known, .begins = true};
}

static void read_token (struct dn_print_words *r, const struct dn_token *token)
{
    r->ahead = token->ahead;
    if (token->kind == DN_TOKEN_WORD)
        read_word (r, token->text);
    else if (token->kind == DN_TOKEN_MARK)
        read_mark (r, token->mark);
}

void dn_print_take (struct dn_print *print, const struct dn_token *token)
{
    struct dn_print_words *words = print->words;

    if (print->n == 2)
        read_token (&words[1], token);
    else if (!words[0].asked)
        words[1] = words[0];
    read_token (&words[0], token);
    if (print->n == 2 || !words[0].asked)
        return;
    print->n = 2;
    words[1].counted = true;
    read_token (&words[1], token);
}

/* The first argument of a batch job is its script. */
static void read_arguments (struct dn_print_words *r, const struct dn_job *job)
{
    int64_t n = job->n_args < ARGUMENTS_MAX ? job->n_args : ARGUMENTS_MAX;

    r->ahead.len = 0;
    for (int64_t i = job->kind == DN_JOB_BATCH ? 1 : 0; i < n; i++) {
        const char *text = job->args[i] ? job->args[i] : "";
        size_t len = strnlen (text, DN_SCRIPT_HEAD_MAX);

        if (len > 0)
            read_word (r, (struct dn_span){text, len});
    }
    end_command (r);
}

static struct dn_fingerprint finish (struct dn_digester *digester)
{
    struct dn_digest digest = dn_digest_end (digester);
    struct dn_fingerprint fingerprint = {""};
    struct dn_buf buf = dn_buf_on (fingerprint.text, sizeof (fingerprint.text));

    dn_buf_add (&buf, "%s%.16s", DN_FINGERPRINT_MARK, digest.hex);
    return fingerprint;
}

struct dn_fingerprint dn_fingerprint_of (const struct dn_print *print,
                                         const struct dn_job *job,
                                         const char *metadata,
                                         bool counted)
{
    struct dn_print_words words = print->words[counted ? print->n - 1 : 0];

    words.counted = counted;
    end_command (&words);
    read_arguments (&words, job);
    if (words.n_words == 0)
        return (struct dn_fingerprint){""};
    add (&words, "\n\n", 2);
    dn_digest_add (&words.digester, dn_span_of (metadata));
    return finish (&words.digester);
}

struct dn_fingerprint dn_fingerprint_of_name (const char *name)
{
    struct dn_digester digester = dn_digest_begin ();

    dn_digest_add (&digester, dn_span_of ("name:"));
    dn_digest_add (&digester, dn_span_of (name));
    return finish (&digester);
}
