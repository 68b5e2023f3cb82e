/* script.c - what the words of a batch script keep
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/script.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "request/tokens.h"
#include "request/vocabulary.h"

/* Brackets within brackets, and functions. */
#define DEEP_MAX      16
#define FUNCTIONS_MAX 16

/* What is read of a command, from its first word to the mark that ends it. */
struct command {
    enum {
        AT_COMMAND, /* the next word is a command */
        IN_OPTIONS, /* of a launcher, in front of the command that it runs */
        IN_ARGUMENTS
    } where;
    enum {
        NO_BRACKET,      /* or a subshell */
        CAPTURE,         /* $( ) */
        SUM,             /* (( )) */
        LIST             /* a=( ) and other brackets without commands */
    } bracket;           /* that it is in */
    enum dn_word word;   /* of what it runs */
    enum dn_word option; /* of the launcher */
    bool bare;           /* the last word is an option, whose value may come next */
    bool file;           /* the next word is a file that is read or written */
    bool texts;          /* its quoted text has commands */
    bool many;           /* runs several times */
    bool program;        /* may train */
    bool named;          /* by the name of its script */
    bool code;           /* the rest is code of Python */
    struct dn_script_fact what;
};

/* The one pass over a script. */
struct pass {
    const struct dn_script_job *job;
    const struct dn_words *words;
    struct dn_reading *reading;
    struct dn_script *found; /* of the reading */
    struct dn_tokens tokens;
    bool ruled;             /* the words are judged */
    bool wanted;            /* more than the marks */
    bool command;           /* one was read */
    bool here;              /* a here-document was */
    char type[DN_NAME_MAX]; /* of the GPU, in lower case */
    size_t type_len;
    int depth;
    int n_functions;
    bool defining; /* a function */
    int braces;
    int loops;
    int n;                      /* programs up to here */
    struct dn_script_fact last; /* of them */
    bool beside;                /* a program runs in the background */
    bool counts;                /* the word is an option whose value counts CPUs */
    enum dn_word part;          /* the last part of a word */
    enum dn_word pending;       /* a part whose value comes next */
    bool is_pair;               /* it has a name in front of it: --x=1, x: 1 */
    struct dn_script_fact pending_what;
    struct command stack[DEEP_MAX];    /* from here on set when they are used */
    uint32_t functions[FUNCTIONS_MAX]; /* hashes of their names */
};

/* --- facts -------------------------------------------------------------------------
 */

#define BIT(field) (1 << DN_KEEPS_##field)
#define RUN        (BIT (SEVERAL) | BIT (CPUS) | BIT (MEMORY))
#define TYPE       (BIT (TIME) | BIT (GPU))
#define ALL        (TYPE | BIT (CPUS) | BIT (MEMORY))

static const unsigned char keeps[DN_N_REASONS] = {
    [DN_REASON_script_unread] = ALL,
    [DN_REASON_script_programs] = BIT (SEVERAL),
    [DN_REASON_script_loop] = BIT (SEVERAL),
    [DN_REASON_script_sweep] = BIT (SEVERAL),
    [DN_REASON_script_script] = RUN,
    [DN_REASON_script_language] = RUN,
    [DN_REASON_script_beside] = RUN,
    [DN_REASON_script_server] = ALL,
    [DN_REASON_script_passes] = TYPE,
    [DN_REASON_script_staging] = TYPE,
    [DN_REASON_script_stop] = TYPE,
    [DN_REASON_script_pinned] = BIT (CPUS),
    [DN_REASON_script_cpus] = BIT (CPUS),
    [DN_REASON_script_computes] = BIT (CPUS),
    [DN_REASON_script_tasks] = BIT (CPUS),
    [DN_REASON_script_fewer] = TYPE,
    [DN_REASON_script_clock] = TYPE,
    [DN_REASON_script_step] = BIT (GPU),
    [DN_REASON_script_type] = BIT (GPU),
    [DN_REASON_script_bf16] = BIT (NEED),
    [DN_REASON_script_fp8] = BIT (NEED),
};

/* What a command, or a part of a word, says by itself. */
static const enum dn_reason_code says[DN_N_WORDS] = {
    [DN_W_STAGING] = DN_REASON_script_staging,
    [DN_W_SERVER] = DN_REASON_script_server,
    [DN_W_LANGUAGE] = DN_REASON_script_language,
    [DN_W_WORKFLOW] = DN_REASON_script_sweep,
    [DN_W_MAKE] = DN_REASON_script_script,
    [DN_W_REMOTE] = DN_REASON_script_script,
    [DN_W_GPU_TASKS] = DN_REASON_script_beside,
    [DN_W_CONSTRAINT] = DN_REASON_script_step,
    [DN_W_TIME] = DN_REASON_script_stop,
    [DN_W_PINS] = DN_REASON_script_pinned,
    [DN_W_STOPS] = DN_REASON_script_stop,
    [DN_W_SWEEP] = DN_REASON_script_sweep,
    [DN_W_PASSES] = DN_REASON_script_passes,
    [DN_W_STOP] = DN_REASON_script_stop,
    [DN_W_PINNED] = DN_REASON_script_pinned,
    [DN_W_BESIDE] = DN_REASON_script_beside,
    [DN_W_CLOCK] = DN_REASON_script_clock,
};

static void set_fact (struct dn_script_fact *fact,
                      enum dn_reason_code code,
                      const struct dn_script_fact *what)
{
    struct dn_quoted quoted = dn_quote (what->word, strlen (what->word));

    *fact = (struct dn_script_fact){.code = code, .line = what->line};
    memcpy (fact->word, quoted.text, sizeof (quoted.text));
}

/* The first fact of each field; of what the GPU needs the highest. */
static void keep (struct pass *r,
                  enum dn_reason_code code,
                  const struct dn_script_fact *what)
{
    for (int f = 0; f < DN_N_KEEPS; f++) {
        struct dn_script_fact *first = &r->found->first[f];

        if ((keeps[code] >> f & 1)
            && (first->code == DN_REASON_NONE
                || (f == DN_KEEPS_NEED && code > first->code)))
            set_fact (first, code, what);
    }
}

/* A part of the token, as it is; facts that are kept have it as a reason shows it. */
static struct dn_script_fact fact_with (const struct dn_token *token,
                                        struct dn_span part)
{
    struct dn_script_fact fact = {.line = token->line};

    memcpy (fact.word,
            part.text,
            part.len < sizeof (fact.word) ? part.len : sizeof (fact.word) - 1);
    return fact;
}

static struct dn_script_fact fact_of (const struct dn_token *token)
{
    return fact_with (token, token->text);
}

static void keep_token (struct pass *r,
                        enum dn_reason_code code,
                        const struct dn_token *token)
{
    const struct dn_script_fact fact = fact_of (token);

    keep (r, code, &fact);
}

static struct command *top (struct pass *r)
{
    return &r->stack[r->depth];
}

static inline bool begins (struct dn_span text, const char *with)
{
    return text.len >= strlen (with) && memcmp (text.text, with, strlen (with)) == 0;
}

static bool has (struct dn_span text, const char *part)
{
    return memmem (text.text, text.len, part, strlen (part));
}

/* --- parts of words ----------------------------------------------------------------
 */

static inline char lower (char c)
{
    if (c == '-')
        return '_';
    return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

static inline bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_alnum (char c)
{
    return (c >= 'a' && c <= 'z') || is_digit (c);
}

/* A word in lower case, part by part. */
struct parts {
    const struct dn_token *token;
    size_t len;
    size_t at;
    struct dn_span part;
    struct dn_span pair; /* with the part before it, "max_time" */
    uint32_t hash;       /* of the part */
    uint32_t pair_hash;
    char text[DN_TOKEN_MAX];
};

static void parts_begin (struct parts *p, const struct dn_token *token)
{
    p->token = token;
    p->len = token->text.len;
    p->at = 0;
    p->hash = 0;
    p->part = p->pair = (struct dn_span){NULL, 0};
    for (size_t i = 0; i < p->len; i++)
        p->text[i] = lower (token->text.text[i]);
}

/* The part that begins at 'at'. */
static void cut_part (struct parts *p)
{
    struct dn_span last = p->part;
    char before = p->at > 0 ? p->text[p->at - 1] : ' ';

    p->pair_hash = dn_words_add (p->hash, before);
    p->hash = DN_WORDS_SEED;
    p->part = (struct dn_span){p->text + p->at, 0};
    for (; p->at < p->len && is_alnum (p->text[p->at]); p->at++) {
        p->hash = dn_words_add (p->hash, p->text[p->at]);
        p->pair_hash = dn_words_add (p->pair_hash, p->text[p->at]);
    }
    p->part.len = (size_t) (p->text + p->at - p->part.text);
    p->pair.len = 0;
    if (before == '_' && last.text && last.text + last.len + 1 == p->part.text)
        p->pair = (struct dn_span){last.text, last.len + 1 + p->part.len};
}

static enum dn_word kind_of (const struct pass *r, const struct parts *p)
{
    enum dn_word kind = DN_W_NONE;

    if (p->pair.len > 0)
        kind = dn_words_find (r->words, DN_SET_PARTS, p->pair, p->pair_hash);
    return kind != DN_W_NONE ? kind
                             : dn_words_find (r->words, DN_SET_PARTS, p->part, p->hash);
}

/* The number that the text is; -1 for none. */
static int64_t number_of (struct dn_span text)
{
    int64_t number = 0;

    if (text.len == 0 || text.len > 9)
        return -1;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit (text.text[i]))
            return -1;
        number = number * 10 + text.text[i] - '0';
    }
    return number;
}

bool dn_script_has (const struct dn_script *script, const char *word)
{
    struct dn_token token = {.text = dn_span_of (word)};
    struct parts p;

    if (token.text.len > DN_TOKEN_MAX)
        return true;
    for (parts_begin (&p, &token); p.at < p.len;) {
        if (!is_alnum (p.text[p.at])) {
            p.at++;
            continue;
        }
        cut_part (&p);
        if (!(script->names[(p.hash >> 6) % 64] & UINT64_C (1) << (p.hash % 64)))
            return false;
    }
    return true;
}

/* --- values ------------------------------------------------------------------------
 */

static void await (struct pass *r, enum dn_word word, const struct dn_token *token)
{
    r->pending = word;
    r->is_pair = false;
    r->pending_what = fact_of (token);
}

/* No value follows, or none that says no. */
static void settle (struct pass *r)
{
    if (r->pending == DN_W_BF16 || r->pending == DN_W_FP8)
        keep (r,
              r->pending == DN_W_FP8 ? DN_REASON_script_fp8 : DN_REASON_script_bf16,
              &r->pending_what);
    r->pending = DN_W_NONE;
}

static void count_cpus (struct pass *r, int64_t n)
{
    struct dn_script *found = r->found;

    if (n > found->n_counted) {
        found->n_counted = n;
        set_fact (&found->counted, DN_REASON_script_cpus, &r->pending_what);
    }
    r->pending = DN_W_NONE;
}

/* A number of GPUs, or a list of them. */
static void count_gpus (struct pass *r, const struct parts *p, int64_t n)
{
    const struct dn_script_job *job = r->job;
    int64_t n_nodes = job->n_nodes > 0 ? job->n_nodes : 1;
    struct dn_span rest = {p->part.text, (size_t) (p->text + p->len - p->part.text)};
    const char *option = r->pending_what.word;

    if (memchr (rest.text, ',', rest.len) || strstr (option, "VISIBLE"))
        for (n = 0; rest.text; n++)
            dn_span_cut (&rest, ",");
    if (n > 0 && n * n_nodes < job->n_gpus && !strstr (option, "per-task"))
        keep (r, DN_REASON_script_fewer, &r->pending_what);
    r->pending = DN_W_NONE;
}

/* The value of a word. */
static void take_value (struct pass *r, const struct parts *p)
{
    static const char off[] =
        "false 0 no off none null disabled disable n auto sdpa eager";
    int64_t n = number_of (p->part);

    if (r->pending == DN_W_CPUS)
        count_cpus (r, n);
    else if (r->pending == DN_W_GPUS)
        count_gpus (r, p, n);
    else if (r->pending == DN_W_ARCH_LIST) {
        if ((n >= 8 && n < 20) || n >= 80)
            keep (r, DN_REASON_script_bf16, &r->pending_what);
        r->pending = DN_W_NONE;
    } else if (!dn_span_is (p->part, "enabled")) {
        if (dn_words_list_has (off, p->part))
            r->pending = DN_W_NONE;
        settle (r);
    }
}

/* The number of CPUs that Slurm gave. As the value of workers or threads it follows the
 * allocation; messages have it, too. What else a program does with it is unknown.
 */
static void use_allotted (struct pass *r, const struct dn_token *token)
{
    const struct command *c = top (r);
    bool computes = c->bracket == SUM || c->code || c->word == DN_W_TEST
                    || (c->word == DN_W_PRINTS && r->depth > 0);

    if (r->pending == DN_W_CPUS && c->bracket != SUM && !c->code
        && (c->bracket != CAPTURE
            || (c->word == DN_W_NPROC && c[-1].bracket != CAPTURE)))
        r->pending = DN_W_NONE;
    else
        keep_token (
            r, computes ? DN_REASON_script_computes : DN_REASON_script_cpus, token);
}

/* A variable at 'at': "$NAME", "${NAME:-8}". */
static void read_variable (struct pass *r, struct parts *p)
{
    enum dn_word kind = DN_W_NONE;
    bool differs = r->part == DN_W_DIFFERS;
    bool named = false;

    p->at++;
    while (p->at < p->len && p->text[p->at] != '\0' && strchr ("{#!", p->text[p->at]))
        p->at++;
    for (p->part.text = NULL;
         p->at < p->len && (is_alnum (p->text[p->at]) || p->text[p->at] == '_');) {
        enum dn_word found;

        named = true;
        if (p->text[p->at] == '_') {
            p->at++;
            continue;
        }
        cut_part (p);
        found = kind_of (r, p);
        if (found == DN_W_TASK && differs)
            keep_token (r, DN_REASON_script_beside, p->token);
        if (found == DN_W_ALLOTTED || (found == DN_W_CPUS && kind == DN_W_NONE))
            kind = found;
    }
    p->part.text = NULL;
    r->part = DN_W_NONE;
    if (kind == DN_W_ALLOTTED)
        use_allotted (r, p->token);
    else if (kind == DN_W_CPUS && top (r)->bracket == SUM)
        keep_token (r, DN_REASON_script_computes, p->token);
    else if (named && r->pending == DN_W_CPUS && kind == DN_W_NONE) {
        keep (r, DN_REASON_script_cpus, &r->pending_what);
        r->pending = DN_W_NONE;
    } else if (named && r->pending != DN_W_CPUS)
        settle (r);
}

/* --- words -------------------------------------------------------------------------
 */

static void take_version (struct pass *r,
                          const struct dn_token *token,
                          enum dn_software kind,
                          int64_t number)
{
    struct dn_version *newest = &r->found->versions[kind];
    const struct dn_script_fact fact = fact_of (token);

    if (number <= newest->number)
        return;
    newest->number = number;
    set_fact (&newest->at, DN_REASON_script_kernels, &fact);
}

/* A version of CUDA, of a framework or of NVIDIA's containers. The number stands behind
 * the name: "cuda/12.8", "cu128", "pytorch-gpu/py3/2.8", "pytorch:25.08-py3".
 */
static void read_version (struct pass *r, const struct parts *p, bool cuda)
{
    const char *end = p->text + p->len;
    const char *begin = p->part.text;
    const char *at;
    int64_t version[2] = {0, 0}; /* major and minor */
    int n = 0;

    while (begin < end && is_alnum (*begin) && !is_digit (*begin))
        begin++;
    for (at = begin;
         at < end && !(is_digit (*at) && (at == begin || !is_alnum (at[-1])));)
        at++;
    for (; n < 2 && at < end && is_digit (*at); n++, at += at + 1 < end)
        for (; at < end && is_digit (*at) && version[n] < 1000; at++)
            version[n] = 10 * version[n] + *at - '0';
    if (cuda && version[0] >= 100) {
        version[1] = version[0] % 10;
        version[0] /= 10;
    }
    if (version[0] == 0 || version[0] >= 100 || version[1] >= 100
        || has (p->token->text, "VISIBLE"))
        return;
    version[1] += 100 * version[0];
    if (cuda && version[0] >= 7)
        take_version (r, p->token, DN_SOFTWARE_CUDA, version[1]);
    else if (!cuda && version[0] >= 17)
        take_version (r, p->token, DN_SOFTWARE_CONTAINER, version[1]);
    else if (!cuda && (version[0] > 2 || n == 2))
        take_version (r, p->token, DN_SOFTWARE_TORCH, version[1]);
}

/* "cu128", "cuda12.8" */
static bool is_cuda (struct dn_span part)
{
    size_t letters = begins (part, "cuda") ? 4 : 2;

    return part.len > 4 && begins (part, "cu") && is_digit (part.text[letters]);
}

/* A part that is in no variable. */
static void read_part (struct pass *r, struct parts *p)
{
    const struct dn_token *token = p->token;
    const struct command *c = top (r);
    bool in_sum = c->bracket == SUM;
    enum dn_word kind;

    cut_part (p);
    r->found->names[(p->hash >> 6) % 64] |= UINT64_C (1) << (p->hash % 64);
    r->part = kind = kind_of (r, p);
    if (r->pending != DN_W_NONE && r->is_pair && kind != DN_W_ALLOTTED)
        take_value (r, p);
    if (kind == DN_W_CUDA || kind == DN_W_TORCH || is_cuda (p->part))
        read_version (r, p, kind != DN_W_TORCH);
    /* "--cv 5" and "PE=16", but not any other word that has them. */
    if (kind == DN_W_NONE || (dn_span_is (p->part, "cv") && token->text.text[0] != '-')
        || (dn_span_is (p->part, "pe") && !has (token->text, "=")))
        return;
    if (says[kind] != DN_REASON_NONE)
        keep_token (r, says[kind], token);
    if (kind == DN_W_ALLOTTED && (c->code || c->word != DN_W_NONE || in_sum))
        use_allotted (r, token);
    if (kind == DN_W_CPUS && in_sum)
        keep_token (r, DN_REASON_script_computes, token);
    if (kind >= DN_W_CPUS && kind <= DN_W_ARCH_LIST)
        settle (r);
    if (kind >= DN_W_ALLOTTED && kind <= DN_W_ARCH_LIST)
        await (r, kind == DN_W_ALLOTTED ? DN_W_CPUS : kind, token);
}

static void name_type (struct pass *r, const struct parts *p)
{
    size_t len = r->type_len;
    struct dn_span rest = {p->text, p->len};
    const char *at;

    if (len <= 2 || !memchr (p->text, r->type[0], p->len))
        return;
    while ((at = memmem (rest.text, rest.len, r->type, len))) {
        rest.len -= (size_t) (at + len - rest.text);
        rest.text = at + len;
        if (rest.len == 0 || !is_digit (rest.text[0]))
            keep_token (r, DN_REASON_script_type, p->token);
    }
}

/* The versions that the name of an image has. */
static void read_image (struct pass *r, const struct dn_token *image)
{
    struct parts p = {.len = 0};

    for (parts_begin (&p, image); p.at < p.len;) {
        enum dn_word kind;

        /* -Wanalyzer-use-of-uninitialized-value: parts_begin () has set it */
        if (!is_alnum (p.text[p.at])) {
            p.at++;
            continue;
        }
        cut_part (&p);
        kind = kind_of (r, &p);
        if (kind == DN_W_CUDA || kind == DN_W_TORCH || is_cuda (p.part))
            read_version (r, &p, kind != DN_W_TORCH);
    }
}

/* The image that an #SBATCH line names, unless sbatch was given another. */
static void find_image (struct pass *r, const struct dn_token *comment)
{
    static const char option[] = "--container-image";
    struct dn_span text = comment->text;
    struct dn_token token = *comment;
    const char *at = memmem (text.text, text.len, option, strlen (option));

    if (!at || !has (text, "SBATCH") || r->job->image[0])
        return;
    token.text = (struct dn_span){at, text.len - (size_t) (at - text.text)};
    if (token.text.len > DN_TOKEN_MAX)
        token.text.len = DN_TOKEN_MAX;
    read_image (r, &token);
}

/* Judge a word by its parts. A value may be in the word of its name or the next one. */
static void scan_word (struct pass *r, const struct dn_token *token)
{
    struct parts p;
    char last = token->text.text[token->text.len - 1];

    parts_begin (&p, token);
    if (p.text[0] == '_' && (p.len < 2 || !is_digit (p.text[1])))
        settle (r);
    r->is_pair = r->pending != DN_W_NONE;
    name_type (r, &p);
    while (p.at < p.len) {
        char c = p.text[p.at];

        if (is_alnum (c)) {
            read_part (r, &p);
        } else if (c == '$') {
            read_variable (r, &p);
        } else {
            r->is_pair |= c == '=' || c == ':';
            p.at++;
        }
    }
    if (p.part.text && token->text.text[0] != '-' && last != ':'
        && r->pending != DN_W_CPUS && r->pending != DN_W_GPUS
        && r->pending != DN_W_ARCH_LIST)
        settle (r);
    if (r->is_pair && !strchr ("$=:{", last))
        settle (r);
}

/* --- commands ----------------------------------------------------------------------
 */

static struct dn_span behind (struct dn_span text, char separator)
{
    const char *at = memrchr (text.text, separator, text.len);

    if (!at)
        return (struct dn_span){NULL, 0};
    return (struct dn_span){at + 1, text.len - (size_t) (at + 1 - text.text)};
}

static struct dn_span base_of (struct dn_span path)
{
    struct dn_span base = behind (path, '/');

    return base.text ? base : path;
}

/* A command by its name, or by its path where that is of the system or of tools. */
static enum dn_word command_kind (const struct pass *r, struct dn_span path)
{
    struct dn_span base = base_of (path);
    size_t folder = path.len - base.len;

    if (folder > 0 && (folder < 4 || memcmp (base.text - 4, "bin/", 4) != 0))
        return DN_W_NONE;
    return dn_words_find (r->words, DN_SET_COMMANDS, base, dn_words_hash (base));
}

static bool is_shell_script (struct dn_span path)
{
    return dn_words_list_has ("sh bash slurm sbatch job", behind (path, '.'));
}

static bool is_assignment (struct dn_span word)
{
    size_t i = 0;

    while (i < word.len
           && (is_alnum (lower (word.text[i])) || strchr ("_[]", word.text[i])))
        i++;
    return i > 0 && i < word.len
           && (word.text[i] == '=' || (word.text[i] == '+' && has (word, "+=")));
}

/* A function begins, whose programs are counted where it is defined, and not where it
 * is called.
 */
static void define_function (struct pass *r, struct dn_span name)
{
    r->defining = true;
    r->braces = 0;
    if (r->n_functions < FUNCTIONS_MAX)
        r->functions[r->n_functions++] = dn_words_hash (name);
}

/* A program, a script or a function of the user; or a text that is run as commands and
 * stands elsewhere: eval "$COMMANDS".
 */
static void run_unknown (struct pass *r, struct command *c, struct dn_span word)
{
    uint32_t hash = dn_words_hash (word);

    for (int i = 0; i < r->n_functions; i++)
        if (r->functions[i] == hash)
            return;
    c->program =
        !is_shell_script (word) && !(c->texts && word.len > 1 && word.text[0] == '$');
    if (!c->program)
        keep (r, DN_REASON_script_script, &c->what);
}

/* The first word of a command, or that of one behind a launcher. */
static void begin_command (struct pass *r,
                           const struct dn_token *token,
                           enum dn_word word)
{
    struct command *c = top (r);
    struct dn_span name = base_of (token->text);

    c->word = word;
    c->what = fact_with (token, name.len > 0 ? name : token->text);
    c->program = word == DN_W_PYTHON;
    c->many |= word == DN_W_MANY;
    c->texts |= word == DN_W_EVAL;
    c->bare = false;
    c->where = IN_ARGUMENTS;
    if (word >= DN_W_SHELL && word <= DN_W_STOPS)
        c->where = IN_OPTIONS;
    else if (word >= DN_W_OPENS && word <= DN_W_BEGIN)
        c->where = AT_COMMAND;
    if (says[word] != DN_REASON_NONE)
        keep (r, says[word], &c->what);
    if (word == DN_W_MAKE)
        keep (r, DN_REASON_script_staging, &c->what);
    if (word == DN_W_NONE)
        run_unknown (r, c, token->text);
    else if (word == DN_W_NPROC)
        use_allotted (r, token);
    r->loops += word == DN_W_FOR || word == DN_W_LOOP;
    r->loops -= word == DN_W_DONE && r->loops > 0;
    r->braces += word == DN_W_BEGIN;
    if (word == DN_W_END && r->braces > 0 && --r->braces == 0)
        r->defining = false;
}

/* The value of an option of srun or mpirun. */
static void judge_option (struct pass *r,
                          const struct dn_token *token,
                          struct dn_span value)
{
    const struct dn_script_job *job = r->job;
    enum dn_word option = top (r)->option;
    int64_t most = job->n_tasks;
    int64_t n = number_of (value);

    if (option == DN_W_NODES && top (r)->word == DN_W_STEP
        && !memchr (value.text, '$', value.len))
        keep_token (r, DN_REASON_script_step, token);
    if (option == DN_W_NODE_TASKS && most > 0 && job->n_nodes > 1)
        most = (most + job->n_nodes - 1) / job->n_nodes;
    if ((option == DN_W_TASKS || option == DN_W_NODE_TASKS)
        && (n < 0 ? !has (value, "$SLURM_") && !has (value, "${SLURM_") : n > most))
        keep_token (r, DN_REASON_script_tasks, token);
}

/* "-j 16" and "-j16" count CPUs, as -c of srun. */
static void count_option (struct pass *r,
                          const struct dn_token *token,
                          struct dn_span value)
{
    int64_t n = number_of (value);

    r->counts = value.len == 0;
    if (n < 0)
        return;
    await (r, DN_W_CPUS, token);
    count_cpus (r, n);
}

/* An option of a launcher: "-n 4", "-n4", "--ntasks=4". */
static void read_option (struct pass *r,
                         struct command *c,
                         const struct dn_token *token)
{
    struct dn_span value = token->text;
    struct dn_span name = dn_span_cut (&value, "=");

    c->option = DN_W_NONE;
    if (c->word == DN_W_SHELL && name.text[1] != '-'
        && memchr (name.text, 'c', name.len)) {
        c->texts = true;
        c->where = AT_COMMAND;
    } else if (c->word == DN_W_STEP || c->word == DN_W_MPI) {
        c->option =
            dn_words_find (r->words, DN_SET_OPTIONS, name, dn_words_hash (name));
        if (c->option == DN_W_NONE && !value.text && name.len > 2
            && name.text[1] != '-') {
            value = (struct dn_span){name.text + 2, name.len - 2};
            name.len = 2;
            c->option =
                dn_words_find (r->words, DN_SET_OPTIONS, name, dn_words_hash (name));
        }
        if (says[c->option] != DN_REASON_NONE && c->word == DN_W_STEP)
            keep_token (r, says[c->option], token);
        if (c->word == DN_W_STEP && dn_span_is (name, "-c"))
            count_option (r, token, value);
        if (value.text)
            judge_option (r, token, value);
    }
    c->bare = !value.text;
}

/* In front of the command that a launcher runs. Each option may have its value in the
 * next word, but what matters as a command is one.
 */
static void read_launcher (struct pass *r,
                           struct command *c,
                           const struct dn_token *token)
{
    struct dn_span word = token->text;
    struct dn_span name = c->word == DN_W_PYTHON ? dn_span_cut (&word, ".") : word;
    enum dn_word kind = command_kind (r, name);
    bool matters = kind >= DN_W_STAGING && kind <= DN_W_CONTAINER;

    word = token->text;
    if (word.text[0] == '-' && word.len > 1) {
        read_option (r, c, token);
    } else if (is_assignment (word)) {
        c->bare = false;
    } else if (matters || (!c->bare && kind != DN_W_NONE)
               || (!c->bare && c->word != DN_W_PYTHON && c->word != DN_W_SHELL
                   && c->word < DN_W_BEHIND)) {
        begin_command (r, token, kind);
    } else {
        if (c->bare)
            judge_option (r, token, word);
        else if (c->word < DN_W_BEHIND)
            c->where = IN_ARGUMENTS;
        c->bare = false;
        c->program = c->word != DN_W_SHELL;
        c->named |= c->word == DN_W_PYTHON;
        c->what = fact_of (token);
        if (c->word == DN_W_SHELL || is_shell_script (word))
            keep (r, DN_REASON_script_script, &c->what);
    }
}

/* The verb of a program that installs, downloads or runs. */
static void read_verb (struct pass *r, struct command *c, struct dn_span verb)
{
    static const char quiet[] =
        "activate deactivate info list show config login logout status log"
        " rev-parse describe diff branch version whoami check test ps images"
        " offline online init freeze cache inspect"
        " checkout add commit instance kill rm stop auth";

    if (verb.text[0] == '-')
        return;
    if (dn_words_list_has ("run exec start launch compose", verb)) {
        c->where = IN_OPTIONS;
    } else if (has (verb, "shell") || has (verb, "hook")) {
        c->word = DN_W_SETTINGS;
    } else {
        if (!dn_words_list_has (quiet, verb))
            keep (r, DN_REASON_script_staging, &c->what);
        c->word = DN_W_HARMLESS;
    }
}

/* A program is named by its script. Hydra's -m may run it for each of several values.
 */
static void read_program (struct pass *r,
                          struct command *c,
                          const struct dn_token *token)
{
    struct dn_span word = token->text;
    struct dn_span ending = behind (word, '.');
    bool python = c->word == DN_W_PYTHON && !c->named;

    if (word.len > 1 && word.text[0] == '-' && strchr ("jpPwT@", word.text[1]))
        count_option (r, token, (struct dn_span){word.text + 2, word.len - 2});
    if (!c->program)
        return;
    if (dn_span_is (word, ":")) { /* srun A : B */
        keep (r, DN_REASON_script_beside, &c->what);
    } else if (dn_span_is (word, "-m")) {
        if (c->named)
            keep (r, DN_REASON_script_sweep, &c->what);
        c->where = python ? IN_OPTIONS : c->where;
    } else if (python && dn_words_list_has ("-c -", word)) {
        c->code = c->named = true;
        c->program = false;
    } else if (dn_words_list_has ("jl R m lua rb pl jar scala lisp js go", ending)) {
        keep (r, DN_REASON_script_language, &c->what);
    } else if (!c->named && dn_span_is (ending, "py") && !is_assignment (word)) {
        c->named = true;
        c->what = fact_with (token, base_of (word));
    }
}

/* What the text of Python may run. */
static void read_code (struct command *c, struct dn_span word)
{
    static const char calls[] = "fit main run system Popen check_call check_output call"
                                " exec launch run_path run_module spawn sweep";
    struct dn_span last = behind (word, '.');

    if (!last.text)
        last = word;
    c->program |= has (word, "subprocess") || dn_words_list_has (calls, last)
                  || (has (last, "train") && !has (last, "pretrained"));
    c->many |= dn_words_list_has ("for while", word);
}

/* The argument of a command that is harmless without it. A session sleeps for hours,
 * which end with the job.
 */
static void judge_argument (struct pass *r,
                            const struct command *c,
                            struct dn_span word)
{
    struct dn_span program = dn_span_of (c->what.word);
    char last = word.text[word.len - 1];

    if (dn_span_is (program, "sleep")
        && (number_of (word) >= 3600 || begins (word, "inf") || last == 'h'
            || last == 'd'))
        keep (r, DN_REASON_script_server, &c->what);
    else if (dn_span_is (program, "squeue") && has (word, "%L"))
        keep (r, DN_REASON_script_stop, &c->what);
    else if (dn_span_is (program, "nvidia-smi")
             && dn_words_list_has ("-pl -lgc -ac -lmc --power-limit", word))
        keep (r, DN_REASON_script_clock, &c->what);
    else if (dn_span_is (program, "cp") && word.text[0] == '-'
             && (has (word, "r") || has (word, "a") || has (word, "R")))
        keep (r, DN_REASON_script_staging, &c->what);
    else if (dn_span_is (program, "wandb") && dn_words_list_has ("agent sweep", word))
        keep (r, DN_REASON_script_sweep, &c->what);
}

static void read_argument (struct pass *r,
                           struct command *c,
                           const struct dn_token *token)
{
    struct dn_span word = token->text;

    if (c->word == DN_W_MANAGER || c->word == DN_W_CONTAINER)
        read_verb (r, c, word);
    else if (c->word == DN_W_JUDGED)
        judge_argument (r, c, word);
    else if (c->word == DN_W_FUNCTION && !dn_span_is (word, "{"))
        define_function (r, word);
    else if (c->word == DN_W_FUNCTION)
        begin_command (r, token, DN_W_BEGIN);
    else if (c->word == DN_W_FIND && begins (word, "-exec")) {
        c->many = true;
        c->where = AT_COMMAND;
    }
    if (c->program || c->word == DN_W_STAGING || c->word == DN_W_MAKE)
        read_program (r, c, token);
}

static void read_word (struct pass *r, const struct dn_token *token)
{
    struct command *c = top (r);
    bool hidden = (token->here || token->quoted) && !c->texts;

    if (c->file) {
        c->file = false;
        return;
    }
    if (c->code)
        read_code (c, token->text);
    else if (hidden || c->bracket == SUM || c->bracket == LIST)
        ; /* not of a command */
    else if (c->where == AT_COMMAND && token->glued)
        c->where = IN_ARGUMENTS;
    else if (c->where == AT_COMMAND && !is_assignment (token->text)
             && token->text.text[0] != '-')
        begin_command (r, token, command_kind (r, token->text));
    else if (c->where == IN_OPTIONS)
        read_launcher (r, c, token);
    else if (c->where == IN_ARGUMENTS)
        read_argument (r, c, token);
    if (c->word != DN_W_PRINTS || r->depth > 0)
        scan_word (r, token);
    if (r->counts)
        await (r, DN_W_CPUS, token);
    r->counts = false;
}

/* --- marks -------------------------------------------------------------------------
 */

static void end_command (struct pass *r, bool background, bool within)
{
    struct command *c = top (r);

    settle (r);
    if (c->where == IN_OPTIONS && c->word == DN_W_SHELL)
        keep (r, DN_REASON_script_script, &c->what);
    if (c->program) {
        if (r->loops > 0 || c->many || r->defining)
            keep (r, DN_REASON_script_loop, &c->what);
        else if (r->n > 0)
            keep (r, DN_REASON_script_programs, &c->what);
        r->n++;
        r->last = c->what;
    }
    r->beside |= background && r->n > 0;
    if ((c->program && r->defining) || (r->beside && r->n > 1)
        || (background && r->n > 0 && (r->loops > 0 || c->many)))
        keep (r, DN_REASON_script_beside, &r->last);
    *c = (struct command){
        .bracket = c->bracket, .texts = c->texts && within, .many = c->many && within};
}

/* Behind a bracket. The text of $( ) may be settings, and no program; what is in front
 * of a ')' that closes none is a pattern.
 */
static void pop (struct pass *r)
{
    bool settings = top (r)->word == DN_W_SETTINGS;

    if (r->depth == 0)
        top (r)->program = false;
    end_command (r, false, false);
    if (r->depth == 0)
        return;
    r->depth--;
    if (settings)
        top (r)->program = false;
}

static void open_bracket (struct pass *r, const struct dn_token *token, char before)
{
    struct command *c = top (r);
    struct command inner = {.bracket = LIST, .texts = c->texts};

    if (before == '(' && r->pending == DN_W_CPUS) {
        keep (r, DN_REASON_script_computes, &r->pending_what);
        r->pending = DN_W_NONE;
    }
    if (before == '(' || c->bracket == SUM) {
        inner.bracket = SUM;
    } else if (strchr ("$<>", before)) {
        c->file = false;
        inner = (struct command){.bracket = CAPTURE, .texts = token->quoted};
    } else if (c->program && token->ahead.len > 1 && token->ahead.text[1] == ')') {
        define_function (r, dn_span_of (c->what.word));
        c->program = false;
        c->where = AT_COMMAND;
    } else if (c->where == AT_COMMAND && before != '=') {
        inner.bracket = NO_BRACKET;
    }
    if (r->depth + 1 < DEEP_MAX)
        r->stack[++r->depth] = inner;
}

/* A mark between words, of which some end the command. */
static void follow_mark (struct pass *r, const struct dn_token *token, char before)
{
    struct command *c = top (r);
    char next = token->ahead.len > 1 ? token->ahead.text[1] : '\n';
    bool is_file = token->mark == '<' || token->mark == '>';
    bool ends = token->mark == '&' ? !strchr ("<>|", before) && next != '>'
                                   : !is_file && (token->mark != '|' || before != '>');

    c->file |= is_file;
    if (token->mark == '<' && before == '<' && c->word == DN_W_PYTHON && !c->named)
        c->code = c->named = true;
    if (ends)
        end_command (r,
                     token->mark == '&' && before != '&' && next != '&',
                     token->quoted || token->here);
}

static void read_mark (struct pass *r, const struct dn_token *token)
{
    struct command *c = top (r);
    const char *text = token->ahead.text;
    char before = text > r->tokens.script.text ? text[-1] : '\n';
    bool in_here = r->tokens.here == DN_HERE_IN || r->tokens.here == DN_HERE_LAST;

    /* A line ends here-documents, and their lines do not end the command. */
    if (token->mark == '\n' ? in_here : token->here)
        return;
    if (token->quoted && !c->texts && !(token->mark == '(' && before == '$'))
        return;
    if (token->mark == '(') {
        open_bracket (r, token, before);
    } else if (token->mark == ')') {
        pop (r);
    } else if (c->bracket != SUM && c->bracket != LIST) {
        follow_mark (r, token, before);
    }
}

/* --- the script --------------------------------------------------------------------
 */

static void read_token (struct pass *r, const struct dn_token *token)
{
    struct dn_reading *reading = r->reading;
    bool head = r->tokens.at <= DN_SCRIPT_HEAD_MAX;

    r->here |= r->tokens.here != DN_HERE_NONE;
    if (token->kind == DN_TOKEN_COMMENT) {
        if (token->first && !r->here && head)
            dn_marks_take (&reading->marks, r->tokens.script, token, r->command);
        if (r->ruled && !r->command)
            find_image (r, token);
        return;
    }
    if (!r->command && (token->kind == DN_TOKEN_WORD || token->mark != '\n')) {
        r->command = true;
        r->wanted |= reading->marks.n > reading->marks.n_odd;
    }
    if (r->command && !r->wanted)
        return;
    if (head)
        dn_print_take (&reading->print, token);
    if (r->ruled && token->kind == DN_TOKEN_WORD)
        read_word (r, token);
    else if (r->ruled)
        read_mark (r, token);
}

static int read_tokens (struct pass *r,
                        const struct dn_deadline *deadline,
                        struct dn_err *err)
{
    struct dn_token token;
    int n = 0;

    while (dn_tokens_next (&r->tokens, &token)) {
        if (token.kind != DN_TOKEN_COMMENT && ++n > DN_SCRIPT_TOKENS_MAX) {
            const struct dn_script_fact all = {.line = r->tokens.line, .word = "..."};

            keep (r, DN_REASON_script_unread, &all);
            break;
        }
        if (dn_tokens_due (&r->tokens)
            && dn_deadline_check (deadline, dn_say_script_end, err) < 0)
            return -1;
        read_token (r, &token);
    }
    if (r->ruled)
        end_command (r, false, false);
    return 0;
}

void dn_reading_begin (struct dn_reading *reading, const struct dn_words *words)
{
    memset (reading, 0, offsetof (struct dn_reading, marks.list));
    dn_print_begin (&reading->print, words);
}

int dn_script_read (const struct dn_words *words,
                    const char *script,
                    const struct dn_script_job *job,
                    const struct dn_deadline *deadline,
                    struct dn_reading *reading,
                    struct dn_err *err)
{
    struct dn_span text = {script, script ? strnlen (script, DN_SCRIPT_MAX + 1) : 0};
    struct dn_span rest = text;
    struct dn_span line = dn_span_cut (&rest, "\n");
    struct dn_script_fact all = {.line = 1, .word = "#!"};
    const struct dn_token image = {.text = dn_span_of (job->image)};
    dn_cleanup (dn_free_ptr) struct pass *r = NULL;

    dn_reading_begin (reading, words);
    if (text.len == 0 && image.text.len == 0)
        return 0;
    r = malloc (sizeof (*r)); /* a thread of slurmctld has a small stack */
    if (!r)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    memset (r, 0, offsetof (struct pass, stack[1]));
    r->job = job;
    r->words = words;
    r->reading = reading;
    r->found = &reading->script;
    r->wanted = job->wanted;
    r->ruled = text.len <= DN_SCRIPT_MAX && (!begins (line, "#!") || has (line, "sh"));
    r->type_len = strnlen (job->gpu_type, DN_NAME_MAX);
    for (size_t i = 0; i < r->type_len; i++)
        r->type[i] = lower (job->gpu_type[i]);
    if (!r->ruled) {
        keep (r, DN_REASON_script_unread, &all);
        text.len = text.len < DN_SCRIPT_HEAD_MAX ? text.len : DN_SCRIPT_HEAD_MAX;
    }
    read_image (r, &image);
    r->tokens = dn_tokens_of (text);
    if (read_tokens (r, deadline, err) < 0)
        return -1;
    all = (struct dn_script_fact){.line = r->tokens.line, .word = "\""};
    if (r->ruled && (dn_tokens_open (&r->tokens) || r->depth > 0))
        keep (r, DN_REASON_script_unread, &all);
    return 0;
}
