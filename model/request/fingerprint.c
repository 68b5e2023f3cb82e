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

/* --- names of options and variables ------------------------------------------------
 */

static enum dn_word find (const struct dn_print *r,
                          enum dn_word_set set,
                          struct dn_span name)
{
    return dn_words_find (r->known, set, name, dn_words_hash (name));
}

/* The last part of a name so far. */
struct part {
    const char *begin;
    uint32_t hash;
};

/* What the text from 'begin' on says, which ends as the part does. */
static enum dn_word look_up (const struct dn_print *r,
                             enum dn_word_set set,
                             const char *begin,
                             const struct part *part,
                             const char *end)
{
    struct dn_span text = {begin, (size_t) (end - begin)};

    return dn_words_find (
        r->known, set, text, begin == part->begin ? part->hash : dn_words_hash (text));
}

/* Does the value under that name count? "--Max-Epochs" is max_epochs. The name behind
 * the last dot is known as a whole, or by a part of it; or another part between dots
 * is.
 */
static enum dn_counts counts (const struct dn_print *r, struct dn_span given)
{
    char text[DN_NAME_MAX];
    struct part part = {text, DN_WORDS_SEED}; /* between '_', '/' and dots */
    const char *last = text;                  /* behind the last dot */
    const char *group = text;                 /* between dots and '/' */
    bool by_part = false;
    bool by_group = false;
    enum dn_word kind = DN_W_NONE;

    while (given.len > 0 && strchr ("-+~", given.text[0])) {
        given.text++;
        given.len--;
    }
    if (given.len == 0 || given.len >= DN_NAME_MAX)
        return DN_COUNTS;
    for (size_t i = 0; i <= given.len; i++) {
        char c = i < given.len ? given.text[i] : '\0';

        text[i] = c = c == '-' ? '_' : dn_lower (c);
        if (c != '\0' && c != '/' && c != '_' && c != '.') {
            part.hash = dn_words_add (part.hash, c);
            continue;
        }
        by_part |= look_up (r, DN_SET_NAME_PARTS, part.begin, &part, text + i)
                   == DN_W_VOLATILE_PART;
        by_group |= c != '_'
                    && look_up (r, DN_SET_NAME_PARTS, group, &part, text + i)
                           == DN_W_VOLATILE_PREFIX;
        if (i == given.len)
            kind = look_up (r, DN_SET_NAMES, last, &part, text + i);
        by_part &= c != '.';
        part = (struct part){text + i + 1, DN_WORDS_SEED};
        group = c == '_' ? group : part.begin;
        last = c == '.' ? part.begin : last;
    }
    if (kind == DN_W_VOLATILE || by_part || by_group
        || (kind == DN_W_VOLATILE_BARE && !memchr (text, '.', given.len)))
        return DN_COUNTS_NOT;
    if (kind == DN_W_BATCH)
        return DN_COUNTS_BATCH;
    return kind == DN_W_WORK ? DN_COUNTS_UNSTATED : DN_COUNTS;
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

    if (!dn_is_digit (text[0]) || !dn_is_digit (text[1]))
        return false;
    number = 10 * (text[0] - '0') + text[1] - '0';
    return number >= 1 && number <= max;
}

/* The length of a date at 'text', with a time behind it; 0: there is none. Seconds
 * since 1970 are ten digits.
 */
static size_t date_length (struct dn_span text)
{
    size_t at = 4;

    if (text.len < 8 || memcmp (text.text, "20", 2) != 0 || !dn_is_digit (text.text[2])
        || !dn_is_digit (text.text[3]))
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
           && (dn_is_digit (text.text[at])
               || (at + 1 < text.len && strchr ("-_:.T", text.text[at])
                   && dn_is_digit (text.text[at + 1]))))
        at++;
    return at;
}

/* ":29500" at the end. */
static size_t port_length (struct dn_span text)
{
    size_t at = text.len;

    while (at > 0 && dn_is_digit (text.text[at - 1]))
        at--;
    return at > 0 && text.text[at - 1] == ':' && text.len - at >= 4
                   && text.len - at <= 5
               ? text.len - at
               : 0;
}

static void add (struct dn_print *r, const char *text, size_t len)
{
    const struct dn_span span = {text, len};

    if (r->takes == 1) {
        dn_digest_add (&r->digesters[0], span);
        return;
    }
    for (int i = 0; i < DN_N_DIGESTS; i++)
        if ((r->takes >> i & 1) != 0)
            dn_digest_add (&r->digesters[i], span);
}

static void add_counted (struct dn_print *r, struct dn_span value)
{
    size_t begin = 0;
    size_t i = 0;

    while (value.len > 0
           && (value.text[value.len - 1] == ',' || value.text[value.len - 1] == ':'))
        value.len--;
    value = significant (value);
    value.len -= port_length (value);
    while (i < value.len) {
        struct dn_span rest = {value.text + i, value.len - i};
        size_t n = 1; /* digits */
        size_t date;

        if (!dn_is_digit (rest.text[0])) {
            i++;
            continue;
        }
        while (n < rest.len && dn_is_digit (rest.text[n]))
            n++;
        date = date_length (rest);
        if (date > 0 || (n == 10 && rest.text[0] == '1')) {
            n = date > 0 ? date : n;
            add (r, value.text + begin, i - begin);
            begin = i + n;
        }
        i += n;
    }
    add (r, value.text + begin, value.len - begin);
}

/* What a value that counts for some only is left out of; 0: of none. */
static int left_out (enum dn_counts counted)
{
    if (counted == DN_COUNTS_UNSTATED)
        return DN_WITHOUT_WORK;
    return counted == DN_COUNTS_BATCH ? DN_WITHOUT_BATCH : 0;
}

/* Let only those digesters take what is added that are with it. From the first such
 * value on there are those without it.
 */
static void take_with (struct dn_print *r, int without)
{
    unsigned with = 0;

    for (int i = 0; i < DN_N_DIGESTS; i++) {
        if ((i & without) != 0 || (r->begun >> i & 1) == 0)
            continue;
        with |= 1U << i;
        if ((r->begun >> (i | without) & 1) == 0)
            r->digesters[i | without] = r->digesters[i];
    }
    for (int i = 0; i < DN_N_DIGESTS; i++)
        if ((with >> i & 1) != 0)
            r->begun |= 1U << (i | without);
    r->takes = with;
}

static void take_all (struct dn_print *r)
{
    r->takes = r->begun;
}

static void note_batch (struct dn_print *r, struct dn_span value)
{
    while (value.len > 0 && strchr (",:;", value.text[value.len - 1]))
        value.len--;
    r->n_batches++;
    if (dn_int_read (value, "batch", 1, INT32_MAX, &r->batch, NULL) < 0)
        r->batch = 0;
}

/* A word that is a value. That there is one counts in any case. */
static void add_value (struct dn_print *r, enum dn_counts counted, struct dn_span value)
{
    int without = left_out (counted);

    if (without == DN_WITHOUT_BATCH)
        note_batch (r, value);
    if (without != 0)
        take_with (r, without);
    if (counted == DN_COUNTS_NOT)
        add (r, "*", 1);
    else
        add_counted (r, value);
    if (without != 0) {
        r->takes = r->begun & ~r->takes;
        add (r, "*", 1);
    }
    take_all (r);
    add (r, "\n", 1);
    r->n_words++;
}

/* --- words -------------------------------------------------------------------------
 */

/* Does the text behind the command, up to its end, go into a file or a program? */
static bool prints_into (const struct dn_print *r)
{
    struct dn_span text = r->ahead;

    for (size_t i = 0; i < text.len && i < AHEAD_MAX && text.text[i] != '\n'; i++)
        if (text.text[i] == '>' || text.text[i] == '|')
            return true;
    return false;
}

/* The first word of a command. Return true where it says what follows. */
static bool begin_command (struct dn_print *r, struct dn_span word)
{
    enum dn_word kind = find (r, DN_SET_PRINTED, word);

    r->begins = kind == DN_W_OPENING;
    r->loops = dn_span_is (word, "for");
    r->uncounted =
        kind == DN_W_UNCOUNTED || (kind == DN_W_PRINTING && !prints_into (r));
    return r->uncounted;
}

/* Is it an option, or does it have the form "NAME:", "NAME (", "NAME =" or "NAME :"? */
static bool may_name (const struct dn_print *r, struct dn_span word)
{
    size_t i = 0;

    if (word.text[0] == '-' || word.text[word.len - 1] == ':')
        return true;
    while (i < r->ahead.len && i < AHEAD_MAX && r->ahead.text[i] == ' ')
        i++;
    return i < r->ahead.len && strchr ("=:(", r->ahead.text[i]);
}

/* What "for NAME in VALUE VALUE" says of a word. */
static enum dn_counts follow_loop (struct dn_print *r, struct dn_span word)
{
    enum dn_counts counted = dn_span_is (word, "in") ? DN_COUNTS : r->looped;

    if (r->loops)
        r->looped = counts (r, word);
    r->loops = false;
    return counted;
}

/* A word that may be a name, or is none. */
static void read_name (struct dn_print *r, struct dn_span word)
{
    bool colon = word.text[word.len - 1] == ':';

    if (may_name (r, word))
        r->named = counts (r, (struct dn_span){word.text, word.len - colon});
    if (word.text[0] == '-' || colon)
        r->value = r->named;
    add_value (r, DN_COUNTS, word);
}

static void read_word (struct dn_print *r, struct dn_span word)
{
    const char *equals = memchr (word.text, '=', word.len);
    enum dn_counts value = word.text[0] == '-' ? DN_COUNTS : r->value;
    enum dn_counts named = r->named;
    bool is_file = r->is_file;
    bool first = r->begins;

    r->value = r->named = DN_COUNTS;
    r->is_file = false;
    if (is_file || r->uncounted || (first && begin_command (r, word)))
        return;
    if (named != DN_COUNTS && (dn_span_is (word, "=") || dn_span_is (word, ":"))) {
        r->value = named;
        if (left_out (named) != 0) {
            take_with (r, left_out (named));
            add_counted (r, word);
            add (r, "\n", 1);
            r->n_words++;
            take_all (r);
        }
        return;
    }
    if (value == DN_COUNTS && !first)
        value = follow_loop (r, word);
    if (value != DN_COUNTS) {
        add_value (r, value, word);
    } else if (equals && equals > word.text) {
        struct dn_span name = {word.text, (size_t) (equals - word.text)};

        add (r, name.text, name.len);
        add (r, "\n", 1);
        add_value (
            r, counts (r, name), (struct dn_span){equals + 1, word.len - name.len - 1});
    } else {
        read_name (r, word);
    }
}

static void end_command (struct dn_print *r)
{
    r->begins = true;
    r->uncounted = r->is_file = r->loops = false;
    r->value = r->named = r->looped = DN_COUNTS;
}

/* --- the script --------------------------------------------------------------------
 */

void dn_print_begin (struct dn_print *print, const struct dn_words *known)
{
    *print = (struct dn_print){.digesters = {dn_digest_begin ()},
                               .begun = 1,
                               .takes = 1,
                               .known = known,
                               .begins = true};
}

void dn_print_take (struct dn_print *print, const struct dn_token *token)
{
    print->ahead = token->ahead;
    if (token->kind == DN_TOKEN_WORD) {
        read_word (print, token->text);
    } else if (token->kind == DN_TOKEN_MARK && token->mark == '(') {
        print->value = print->value != DN_COUNTS ? print->value : print->named;
        print->begins = true;
    } else if (token->kind == DN_TOKEN_MARK && token->mark == '>') {
        print->is_file = true;
    } else if (token->kind == DN_TOKEN_MARK && token->mark != '<') {
        end_command (print);
    }
}

/* The first argument of a batch job is its script. */
static void read_arguments (struct dn_print *r, const struct dn_job *job)
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

/* The digest without as much of 'without' as the words have. */
static struct dn_fingerprint end_print (struct dn_print *all,
                                        int without,
                                        const char *metadata)
{
    struct dn_digester *digester;

    if (all->n_words == 0)
        return (struct dn_fingerprint){""};
    for (int bit = 1; bit < DN_N_DIGESTS; bit <<= 1)
        if ((all->begun >> bit & 1) == 0)
            without &= ~bit;
    digester = &all->digesters[without];
    dn_digest_add (digester, dn_span_of ("\n\n"));
    dn_digest_add (digester, dn_span_of (metadata));
    return finish (digester);
}

struct dn_fingerprint dn_fingerprint_of (const struct dn_print *print,
                                         const struct dn_job *job,
                                         const char *metadata,
                                         bool counted)
{
    struct dn_print all = *print;

    end_command (&all);
    read_arguments (&all, job);
    return end_print (&all, counted ? DN_WITHOUT_WORK : 0, metadata);
}

struct dn_fingerprint dn_fingerprint_of_kin (const struct dn_print *print,
                                             const struct dn_job *job,
                                             const char *metadata,
                                             bool counted,
                                             int64_t *batch)
{
    struct dn_print all = *print;

    end_command (&all);
    read_arguments (&all, job);
    *batch = all.n_batches > 0 ? all.batch : DN_UNSET;
    if (all.n_batches > 1 || *batch == 0)
        return (struct dn_fingerprint){""};
    return end_print (
        &all, DN_WITHOUT_BATCH | (counted ? DN_WITHOUT_WORK : 0), metadata);
}

struct dn_fingerprint dn_fingerprint_of_name (const char *name)
{
    struct dn_digester digester = dn_digest_begin ();

    dn_digest_add (&digester, dn_span_of ("name:"));
    dn_digest_add (&digester, dn_span_of (name));
    return finish (&digester);
}
