/* script.c - what the words of a batch script keep
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/script.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "request/tokens.h"
#include "request/vocabulary.h"

/* Brackets within brackets, and functions. */
#define DEEP_MAX      16
#define FUNCTIONS_MAX 16

enum where {
    AT_COMMAND, /* the next word is a command */
    IN_OPTIONS, /* of a launcher, in front of the command that it runs */
    IN_ARGUMENTS
};

enum bracket {
    NO_BRACKET,
    SUBSHELL,
    CAPTURE, /* $( ) */
    SUM,     /* (( )) */
    LIST     /* a=( ) and other brackets without commands */
};

struct command {
    enum where where;
    enum bracket bracket; /* that it is in */
    enum dn_word word;    /* of what it runs */
    enum dn_word launcher;
    const char *options;
    int n_operands;
    bool step;       /* of srun */
    char option[24]; /* of the launcher, whose value comes next */
    bool value;      /* the next word is the value of an option */
    bool file;       /* the next word is a file that is read or written */
    bool texts;      /* its quoted text has commands */
    bool many;       /* runs several times */
    bool prints;     /* only a text */
    bool program;    /* may train */
    bool named;      /* by the name of its script */
    bool module;     /* the next word is a module of Python */
    bool code;       /* the text is code of Python */
    bool calls;      /* something that may train */
    bool repeats;    /* the code has a loop, or the option -m */
    bool group;      /* a subshell in it has a program */
    bool settings;   /* prints settings for the shell */
    struct dn_script_fact what;
};

struct rule {
    const struct dn_script_job *job;
    struct dn_script *found;
    const struct dn_tokens *tokens;
    const struct dn_words *words;
    struct command stack[DEEP_MAX];
    int depth;
    struct dn_span functions[FUNCTIONS_MAX]; /* their names, within the script */
    int n_functions;
    bool defining; /* a function */
    int braces;
    int loops;
    int cases;            /* that are open */
    bool pattern;         /* of one */
    int n;                /* programs up to here */
    bool beside;          /* a program runs in the background */
    enum dn_word pending; /* a word whose value comes next */
    bool differs;         /* the last word names what makes trainings differ */
    bool counts;          /* the word is an option whose value counts CPUs */
    bool is_pair;         /* it has a name in front of it: --x=1, x: 1 */
    struct dn_script_fact pending_what;
};

/* --- facts -------------------------------------------------------------------------
 */

enum {
    TIME = 1,
    GPU = 2,
    CPUS = 4,
    MEMORY = 8,
    SEVERAL = 16,
    NEED = 32
};

static const int keeps[DN_N_SCRIPT_WORDS] = {
    [DN_SCRIPT_UNREAD] = TIME | GPU | CPUS | MEMORY,
    [DN_SCRIPT_PROGRAMS] = SEVERAL,
    [DN_SCRIPT_LOOP] = SEVERAL,
    [DN_SCRIPT_SWEEP] = SEVERAL,
    [DN_SCRIPT_SCRIPT] = SEVERAL | CPUS | MEMORY,
    [DN_SCRIPT_LANGUAGE] = SEVERAL | CPUS | MEMORY,
    [DN_SCRIPT_BESIDE] = SEVERAL | CPUS | MEMORY,
    [DN_SCRIPT_SERVER] = TIME | GPU | CPUS | MEMORY,
    [DN_SCRIPT_PASSES] = TIME | GPU,
    [DN_SCRIPT_STAGING] = TIME | GPU,
    [DN_SCRIPT_STOP] = TIME | GPU,
    [DN_SCRIPT_PINNED] = CPUS,
    [DN_SCRIPT_CPUS] = CPUS,
    [DN_SCRIPT_COMPUTES] = CPUS,
    [DN_SCRIPT_TASKS] = CPUS,
    [DN_SCRIPT_FEWER] = TIME | GPU,
    [DN_SCRIPT_CLOCK] = TIME | GPU,
    [DN_SCRIPT_STEP] = GPU,
    [DN_SCRIPT_TYPE] = GPU,
    [DN_SCRIPT_NEWER] = GPU,
    [DN_SCRIPT_BF16] = NEED,
    [DN_SCRIPT_FP8] = NEED,
};

static void quote_fact (struct dn_script_fact *fact,
                        enum dn_script_word code,
                        const struct dn_script_fact *what)
{
    struct dn_quoted quoted = dn_quote (what->word, strlen (what->word));

    *fact = (struct dn_script_fact){.code = code, .line = what->line};
    memcpy (fact->word, quoted.text, sizeof (quoted.text));
}

static void set (struct dn_script_fact *fact,
                 enum dn_script_word code,
                 const struct dn_script_fact *what)
{
    if (fact->code != DN_SCRIPT_NOTHING)
        return;
    quote_fact (fact, code, what);
}

static void keep (struct rule *r,
                  enum dn_script_word code,
                  const struct dn_script_fact *what)
{
    struct dn_script *found = r->found;
    int fields = keeps[code];

    if (fields & TIME)
        set (&found->time, code, what);
    if (fields & GPU)
        set (&found->gpu, code, what);
    if (fields & CPUS)
        set (&found->cpus, code, what);
    if (fields & MEMORY)
        set (&found->memory, code, what);
    if (fields & SEVERAL)
        set (&found->several, code, what);
    if ((fields & NEED) && code > found->need.code)
        quote_fact (&found->need, code, what);
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

static void keep_word (struct rule *r,
                       enum dn_script_word code,
                       const struct dn_token *token)
{
    struct dn_script_fact fact = fact_of (token);

    keep (r, code, &fact);
}

static struct command *top (struct rule *r)
{
    return &r->stack[r->depth];
}

static bool begins (struct dn_span text, const char *with)
{
    return text.len >= strlen (with) && memcmp (text.text, with, strlen (with)) == 0;
}

static bool ends (struct dn_span text, const char *with)
{
    size_t len = strlen (with);

    return text.len >= len && memcmp (text.text + text.len - len, with, len) == 0;
}

static bool has (struct dn_span text, const char *part)
{
    return memmem (text.text, text.len, part, strlen (part));
}

/* --- programs ----------------------------------------------------------------------
 */

static bool is_preparing_name (struct dn_span name)
{
    static const char *const parts[] = {
        "download", "prepare", "preprocess", "prepro", "install", "setup", "convert"};

    for (size_t i = 0; i < DN_N_ELEMENTS (parts); i++)
        if (has (name, parts[i]) && !has (name, "train") && !has (name, "run"))
            return true;
    return false;
}

/* A program that may train ends here. A function may be called several times, or beside
 * another.
 */
static void count_program (struct rule *r, const struct command *c, bool background)
{
    if (r->loops > 0 || c->many || c->repeats || r->defining)
        keep (r, DN_SCRIPT_LOOP, &c->what);
    else if (r->n > 0)
        keep (r, DN_SCRIPT_PROGRAMS, &c->what);
    r->n++;
    r->beside |= background;
    if (r->defining || (background && (r->loops > 0 || c->many))
        || (r->beside && r->n > 1))
        keep (r, DN_SCRIPT_BESIDE, &c->what);
}

/* A call of a function, whose program was counted where it was defined. */
static bool is_function (const struct rule *r, struct dn_span name)
{
    for (int i = 0; i < r->n_functions; i++)
        if (name.len == r->functions[i].len
            && memcmp (name.text, r->functions[i].text, name.len) == 0)
            return true;
    return false;
}

/* A function whose name of that length ends at 'end'. */
static void define_function (struct rule *r, size_t len, const char *end)
{
    while (end[-1] == ' ')
        end--;
    r->defining = true;
    r->braces = 0;
    if (r->n_functions < FUNCTIONS_MAX)
        r->functions[r->n_functions++] = (struct dn_span){end - len, len};
}

static void end_brace (struct rule *r)
{
    if (r->braces > 0 && --r->braces == 0)
        r->defining = false;
}

/* --- parts of words ----------------------------------------------------------------
 */

static char lower (char c)
{
    if (c == '-')
        return '_';
    return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

static bool is_alnum (char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* A word in lower case, part by part. */
struct parts {
    const struct dn_token *token;
    char text[DN_TOKEN_MAX];
    size_t len;
    size_t at;
    struct dn_span part;
    struct dn_span pair; /* with the part before it, "max_time" */
    uint32_t hash;       /* of the part */
    uint32_t pair_hash;
};

static void parts_begin (struct parts *p, const struct dn_token *token)
{
    p->token = token;
    p->len = token->text.len;
    p->at = 0;
    p->hash = p->pair_hash = 0;
    p->part = p->pair = (struct dn_span){NULL, 0};
    for (size_t i = 0; i < p->len; i++)
        p->text[i] = lower (token->text.text[i]);
}

/* The part that begins at 'at'. */
static void cut_part (struct parts *p)
{
    struct dn_span last = p->part;

    p->pair_hash = p->at > 0 ? dn_words_add (p->hash, p->text[p->at - 1]) : 0;
    p->hash = DN_WORDS_SEED;
    p->part = (struct dn_span){p->text + p->at, 0};
    for (; p->at < p->len && is_alnum (p->text[p->at]); p->at++) {
        p->hash = dn_words_add (p->hash, p->text[p->at]);
        p->pair_hash = dn_words_add (p->pair_hash, p->text[p->at]);
    }
    p->part.len = (size_t) (p->text + p->at - p->part.text);
    p->pair = (struct dn_span){NULL, 0};
    if (last.text && last.text + last.len + 1 == p->part.text
        && p->part.text[-1] == '_')
        p->pair = (struct dn_span){last.text, last.len + 1 + p->part.len};
}

static enum dn_word kind_of (const struct rule *r, const struct parts *p)
{
    enum dn_word kind = DN_W_NONE;

    if (p->pair.text)
        kind = dn_words_find (r->words, DN_SET_PARTS, p->pair, p->pair_hash);
    return kind != DN_W_NONE ? kind
                             : dn_words_find (r->words, DN_SET_PARTS, p->part, p->hash);
}

/* The number that the part is, or that follows 'prefix' in it; -1 for none. */
static int64_t number_of (struct dn_span part, const char *prefix)
{
    int64_t number = 0;
    size_t at = 0;

    for (; prefix[at] != '\0'; at++)
        if (at == part.len || part.text[at] != prefix[at])
            return -1;
    if (part.len == at || part.len > at + 9)
        return -1;
    for (; at < part.len; at++) {
        if (part.text[at] < '0' || part.text[at] > '9')
            return -1;
        number = number * 10 + part.text[at] - '0';
    }
    return number;
}

static void keep_pending (struct rule *r, enum dn_script_word code)
{
    keep (r, code, &r->pending_what);
    r->pending = DN_W_NONE;
}

static void await (struct rule *r, enum dn_word word, const struct dn_token *token)
{
    r->pending = word;
    r->is_pair = false;
    r->pending_what = fact_of (token);
}

static void count_cpus (struct rule *r, int64_t n)
{
    if (n > r->found->n_counted) {
        r->found->n_counted = n;
        quote_fact (&r->found->counted, DN_SCRIPT_CPUS, &r->pending_what);
    }
    r->pending = DN_W_NONE;
}

/* A number of GPUs, or a list of them. */
static void count_gpus (struct rule *r, const struct parts *p, int64_t n)
{
    const struct dn_script_job *job = r->job;
    int64_t n_nodes = job->n_nodes > 0 ? job->n_nodes : 1;
    struct dn_span rest = {p->part.text, (size_t) (p->text + p->len - p->part.text)};

    if (memchr (rest.text, ',', rest.len)
        || has (dn_span_of (r->pending_what.word), "VISIBLE"))
        for (n = 0; rest.text; n++)
            dn_span_cut (&rest, ",");
    if (n > 0 && n * n_nodes < job->n_gpus
        && !has (dn_span_of (r->pending_what.word), "per-task"))
        keep (r, DN_SCRIPT_FEWER, &r->pending_what);
    r->pending = DN_W_NONE;
}

/* The value of a word. */
static void take_value (struct rule *r, const struct parts *p)
{
    static const char off[] =
        "false 0 no off none null disabled disable n auto sdpa eager";
    int64_t n = number_of (p->part, "");

    switch (r->pending) {
    case DN_W_CPUS:
        count_cpus (r, n);
        break;
    case DN_W_GPUS:
        count_gpus (r, p, n);
        break;
    case DN_W_ARCH_LIST:
        if ((n >= 8 && n < 20) || n >= 80)
            keep (r, DN_SCRIPT_BF16, &r->pending_what);
        r->pending = DN_W_NONE;
        break;
    default:
        if (dn_span_is (p->part, "enabled"))
            break;
        if (!dn_words_list_has (off, p->part))
            keep_pending (r, r->pending == DN_W_FP8 ? DN_SCRIPT_FP8 : DN_SCRIPT_BF16);
        r->pending = DN_W_NONE;
    }
}

/* No value follows. */
static void settle (struct rule *r)
{
    if (r->pending == DN_W_BF16 || r->pending == DN_W_FP8)
        keep_pending (r, r->pending == DN_W_FP8 ? DN_SCRIPT_FP8 : DN_SCRIPT_BF16);
    r->pending = DN_W_NONE;
}

/* Is it the text of a command other than nproc? */
static bool is_computed (const struct rule *r)
{
    int n = 0;

    for (int i = 0; i <= r->depth; i++)
        n += r->stack[i].bracket == CAPTURE ? 1 : 0;
    if (strcmp (r->stack[r->depth].what.word, "nproc") == 0)
        n--;
    return n > 0;
}

/* The number of CPUs that Slurm gave. As the value of workers or threads it follows the
 * allocation; messages have it, too. What else a program does with it is unknown.
 */
static void use_allotted (struct rule *r, const struct dn_token *token)
{
    const struct command *c = top (r);
    bool computes = c->bracket == SUM || c->code || c->word == DN_W_TEST
                    || (c->prints && r->depth > 0);

    if (r->pending == DN_W_CPUS && c->bracket != SUM && !c->code && !is_computed (r))
        r->pending = DN_W_NONE;
    else if (computes)
        keep_word (r, DN_SCRIPT_COMPUTES, token);
    else if (!c->prints)
        keep_word (r, DN_SCRIPT_CPUS, token);
}

/* A variable at 'at': "$NAME", "${NAME:-8}". */
static void scan_variable (struct rule *r, struct parts *p)
{
    enum dn_word kind = DN_W_NONE;
    bool of_task = false;
    bool differs = r->differs
                   || (p->part.text
                       && dn_words_find (r->words, DN_SET_PARTS, p->part, p->hash)
                              == DN_W_DIFFERS);
    bool named = false;

    p->at++;
    while (p->at < p->len && p->text[p->at] != '\0' && strchr ("{#!", p->text[p->at]))
        p->at++;
    p->part.text = NULL;
    for (; p->at < p->len && (is_alnum (p->text[p->at]) || p->text[p->at] == '_');
         named = true) {
        enum dn_word found;

        if (p->text[p->at] == '_') {
            p->at++;
            continue;
        }
        cut_part (p);
        found = kind_of (r, p);
        of_task |= dn_span_is (p->part, "procid") || dn_span_is (p->part, "localid");
        if (found == DN_W_ALLOTTED || (found == DN_W_CPUS && kind == DN_W_NONE))
            kind = found;
    }
    p->part.text = NULL;
    if (of_task && differs)
        keep_word (r, DN_SCRIPT_BESIDE, p->token);
    if (kind == DN_W_ALLOTTED)
        use_allotted (r, p->token);
    else if (kind == DN_W_CPUS && top (r)->bracket == SUM)
        keep_word (r, DN_SCRIPT_COMPUTES, p->token);
    else if (named && r->pending == DN_W_CPUS && kind == DN_W_NONE)
        keep_pending (r, DN_SCRIPT_CPUS);
    else if (named && r->pending != DN_W_CPUS)
        settle (r);
}

/* A version of CUDA, PyTorch or NVIDIA's containers that has no kernels for Pascal or
 * Volta: PyTorch from 2.8 on, CUDA from 12.8 on, containers of 2025.
 */
static void judge_version (struct rule *r,
                           const struct parts *p,
                           enum dn_word what,
                           const int64_t version[2])
{
    int64_t major = version[0];
    int64_t minor = version[1] > 0 ? version[1] : 0;
    bool newer = what == DN_W_CUDA ? major > 12 || (major == 12 && minor >= 8)
                                   : major >= 25 || (major == 2 && minor >= 8)
                                         || (major > 2 && major < 20);

    if (newer && major < 100)
        keep_word (r, DN_SCRIPT_NEWER, p->token);
}

/* What a part of a word says, whatever is behind it. */
static const enum dn_script_word part_says[DN_N_WORDS] = {
    [DN_W_SWEEP] = DN_SCRIPT_SWEEP,
    [DN_W_PASSES] = DN_SCRIPT_PASSES,
    [DN_W_STOP] = DN_SCRIPT_STOP,
    [DN_W_PINNED] = DN_SCRIPT_PINNED,
    [DN_W_BESIDE] = DN_SCRIPT_BESIDE,
    [DN_W_CLOCK] = DN_SCRIPT_CLOCK,
};

static void judge_part (struct rule *r, const struct parts *p, enum dn_word kind)
{
    const struct dn_token *token = p->token;
    bool in_sum = top (r)->bracket == SUM;

    if (kind == DN_W_NONE)
        return;
    /* "--cv 5" and "PE=16", but not any other word that has them. */
    if ((dn_span_is (p->part, "cv") && token->text.text[0] != '-')
        || (dn_span_is (p->part, "pe") && !has (token->text, "=")))
        return;
    if (part_says[kind] != DN_SCRIPT_NOTHING)
        keep_word (r, part_says[kind], token);
    if (kind == DN_W_ALLOTTED
        && (top (r)->code || top (r)->word != DN_W_NONE || in_sum))
        use_allotted (r, token);
    if (kind == DN_W_CPUS && in_sum)
        keep_word (r, DN_SCRIPT_COMPUTES, token);
    if (kind == DN_W_ALLOTTED)
        await (r, DN_W_CPUS, token);
    else if (kind == DN_W_CPUS || kind == DN_W_GPUS || kind == DN_W_ARCH_LIST
             || kind == DN_W_BF16 || kind == DN_W_FP8) {
        settle (r);
        await (r, kind, token);
    }
}

static void add_name (struct dn_script *found, uint32_t hash)
{
    found->names[(hash >> 6) % 64] |= UINT64_C (1) << (hash % 64);
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

/* The number of a version stands behind its name: "cuda/12.8", "cu128", "torch==2.8".
 */
static void read_version (struct rule *r,
                          const struct parts *p,
                          enum dn_word kind,
                          enum dn_word *what,
                          int64_t version[2])
{
    int64_t n = number_of (p->part, "");
    int64_t cuda = number_of (p->part, "cuda");
    int64_t cu = cuda < 0 ? number_of (p->part, "cu") : -1;

    if (*what != DN_W_NONE && n >= 0 && version[0] < 0) {
        version[0] = n;
    } else if (*what != DN_W_NONE && n >= 0 && version[1] < 0) {
        version[1] = n;
        judge_version (r, p, *what, version);
    } else if (kind == DN_W_CUDA || kind == DN_W_TORCH || cuda >= 0 || cu >= 100) {
        *what = kind == DN_W_TORCH ? DN_W_TORCH : DN_W_CUDA;
        version[0] = cu >= 100 ? cu / 10 : cuda;
        version[1] = cu >= 100 ? cu % 10 : -1;
        if (cu >= 100)
            judge_version (r, p, *what, version);
    } else if (*what != DN_W_NONE && dn_span_is (p->part, "visible")) {
        *what = DN_W_NONE;
    }
}

static void name_type (struct rule *r, const struct parts *p)
{
    const char *type = r->job->gpu_type;
    size_t len = type ? strlen (type) : 0;
    char first = len > 0 ? lower (type[0]) : '\0';

    for (size_t i = 0; len > 2 && i + len <= p->len; i++)
        if (first == p->text[i] && dn_word_equal (p->text + i, len, type, len)
            && (i + len == p->len || p->text[i + len] < '0' || p->text[i + len] > '9'))
            keep_word (r, DN_SCRIPT_TYPE, p->token);
}

/* Judge a word by its parts. A value may be in the word of its name or the next one. */
static void scan_word (struct rule *r, const struct dn_token *token)
{
    struct parts p;
    enum dn_word what = DN_W_NONE;
    enum dn_word last = DN_W_NONE;
    int64_t version[2] = {-1, -1};

    parts_begin (&p, token);
    /* -Wanalyzer-use-of-uninitialized-value: not of what is behind the length */
    if (p.text[0] == '_' && (p.len < 2 || !(p.text[1] >= '0' && p.text[1] <= '9')))
        settle (r);
    r->is_pair = r->pending != DN_W_NONE;
    name_type (r, &p);
    while (p.at < p.len) {
        char c = p.text[p.at];
        enum dn_word kind;

        if (c == '$') {
            scan_variable (r, &p);
            continue;
        }
        if (!is_alnum (c)) {
            r->is_pair |= c == '=' || c == ':';
            p.at++;
            continue;
        }
        cut_part (&p);
        add_name (r->found, p.hash);
        kind = kind_of (r, &p);
        if (r->pending != DN_W_NONE && r->is_pair && kind != DN_W_ALLOTTED)
            take_value (r, &p);
        read_version (r, &p, kind, &what, version);
        judge_part (r, &p, kind);
        last = kind;
    }
    if (version[0] >= 0 && version[1] < 0)
        judge_version (r, &p, what, version);
    r->differs = p.part.text && last == DN_W_DIFFERS;
    if (p.part.text && token->text.text[0] != '-' && !ends (token->text, ":"))
        if (r->pending == DN_W_BF16 || r->pending == DN_W_FP8)
            settle (r);
    if (r->pending != DN_W_NONE && r->is_pair && !strchr ("$=:{", p.text[p.len - 1]))
        settle (r);
}

/* --- commands ----------------------------------------------------------------------
 */

static struct dn_span base_of (struct dn_span path)
{
    const char *slash = memrchr (path.text, '/', path.len);

    if (!slash)
        return path;
    return (struct dn_span){slash + 1, path.len - (size_t) (slash + 1 - path.text)};
}

/* A command by its name, or by its path where that is of the system or of tools. */
static enum dn_word command_kind (const struct rule *r, struct dn_span path)
{
    struct dn_span base = base_of (path);
    size_t folder = path.len - base.len;

    if (folder > 0 && (folder < 4 || memcmp (base.text - 4, "bin/", 4) != 0))
        return DN_W_NONE;
    return dn_words_find (r->words, DN_SET_COMMANDS, base, dn_words_hash (base));
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

/* Behind the command that a launcher may run. */
static void launch (struct command *c, enum dn_word word, struct dn_span name)
{
    c->where = IN_OPTIONS;
    c->launcher = word;
    c->options = dn_words_options (name, &c->n_operands);
    c->step = dn_span_is (name, "srun");
}

/* What is behind the last dot of a word, or of the name of its file. */
static struct dn_span ending_of (struct dn_span word)
{
    const char *dot = memrchr (word.text, '.', word.len);

    if (!dot)
        return (struct dn_span){NULL, 0};
    return (struct dn_span){dot + 1, word.len - (size_t) (dot + 1 - word.text)};
}

static void keep_script (struct rule *r,
                         const struct dn_script_fact *what,
                         struct dn_span path)
{
    keep (r,
          is_preparing_name (base_of (path)) ? DN_SCRIPT_STAGING : DN_SCRIPT_SCRIPT,
          what);
}

/* A program, a script or a function of the user. */
static void run_unknown (struct rule *r,
                         struct command *c,
                         const struct dn_token *token)
{
    struct dn_span word = token->text;

    if (is_function (r, word))
        return;
    c->program = !dn_words_list_has ("sh bash slurm sbatch job", ending_of (word));
    if (!c->program)
        keep_script (r, &c->what, word);
}

/* What a command says, whatever is behind it. */
static const enum dn_script_word command_says[DN_N_WORDS] = {
    [DN_W_STAGING] = DN_SCRIPT_STAGING,
    [DN_W_SERVER] = DN_SCRIPT_SERVER,
    [DN_W_LANGUAGE] = DN_SCRIPT_LANGUAGE,
    [DN_W_WORKFLOW] = DN_SCRIPT_SWEEP,
    [DN_W_MAKE] = DN_SCRIPT_SCRIPT,
    [DN_W_PINS] = DN_SCRIPT_PINNED,
    [DN_W_STOPS] = DN_SCRIPT_STOP,
};

static void begin_known (struct rule *r,
                         struct command *c,
                         enum dn_word word,
                         struct dn_span name,
                         const struct dn_token *token)
{
    if (command_says[word] != DN_SCRIPT_NOTHING)
        keep (r, command_says[word], &c->what);
    if (word == DN_W_MAKE)
        keep (r, DN_SCRIPT_STAGING, &c->what);
    c->many |= word == DN_W_MANY;
    c->texts |= word == DN_W_EVAL;
    c->program = word == DN_W_PYTHON;
    if (word >= DN_W_PINS && word <= DN_W_MANY)
        launch (c, word, name);
    if (word == DN_W_EVAL && dn_span_is (name, "ssh"))
        c->n_operands = 1;
    c->prints = word == DN_W_PRINTS;
    c->settings = word == DN_W_SETTINGS;
    if (c->prints && dn_span_is (name, "nproc"))
        use_allotted (r, token);
}

static void begin_block (struct rule *r, struct command *c, enum dn_word word)
{
    c->where = AT_COMMAND;
    switch (word) {
    case DN_W_LOOP:
        r->loops++;
        if (dn_span_is (dn_span_of (c->what.word), "for"))
            c->where = IN_ARGUMENTS;
        break;
    case DN_W_DONE:
        r->loops -= r->loops > 0;
        c->where = IN_ARGUMENTS;
        break;
    case DN_W_ESAC:
        r->cases -= r->cases > 0;
        c->where = IN_ARGUMENTS;
        break;
    case DN_W_CASE:
        r->cases++;
        c->where = IN_ARGUMENTS;
        break;
    case DN_W_FI:
        c->where = IN_ARGUMENTS;
        break;
    case DN_W_BEGIN:
        r->braces++;
        break;
    case DN_W_END:
        end_brace (r);
        c->where = IN_ARGUMENTS;
        break;
    case DN_W_FUNCTION:
        c->where = IN_ARGUMENTS;
        break;
    default: /* DN_W_OPENS, DN_W_IF, DN_W_ELSE */
        break;
    }
}

/* The first word of a command, or that of one behind a launcher. */
static void begin_command (struct rule *r, const struct dn_token *token)
{
    struct command *c = top (r);
    enum dn_word word = command_kind (r, token->text);
    struct dn_span name = base_of (token->text);

    c->where = IN_ARGUMENTS;
    c->word = word;
    c->program = false;
    c->what = fact_with (token, name.len > 0 ? name : token->text);
    if (word == DN_W_OPENS || (word >= DN_W_LOOP && word <= DN_W_END))
        begin_block (r, c, word);
    else if (word == DN_W_NONE)
        run_unknown (r, c, token);
    else
        begin_known (r, c, word, name, token);
}

/* The value of an option of srun or mpirun. */
static void judge_option (struct rule *r,
                          const struct dn_token *token,
                          struct dn_span option,
                          struct dn_span value)
{
    const struct dn_script_job *job = r->job;
    int64_t most = job->n_tasks;
    int64_t n = number_of (value, "");
    bool variable = has (value, "$");

    if (top (r)->step
        && (dn_words_list_has ("-C --constraint", option)
            || (!variable
                && dn_words_list_has ("-w --nodelist -x --exclude -F --nodefile",
                                      option))))
        keep_word (r, DN_SCRIPT_STEP, token);
    if (top (r)->step && dn_words_list_has ("-t --time", option))
        keep_word (r, DN_SCRIPT_STOP, token);
    if (begins (option, "--ntasks-per-gpu"))
        keep_word (r, DN_SCRIPT_BESIDE, token);
    if (dn_words_list_has ("--ntasks-per-node -npernode --npernode -ppn", option)
        && most > 0 && job->n_nodes > 1)
        most = (most + job->n_nodes - 1) / job->n_nodes;
    else if (!dn_words_list_has ("-n --ntasks -np --np --ntasks-per-node", option))
        return;
    if ((n < 0 && !has (value, "$SLURM_") && !has (value, "${SLURM_")) || n > most)
        keep_word (r, DN_SCRIPT_TASKS, token);
}

/* An option of a launcher; -c of srun counts CPUs. */
static void read_option (struct rule *r,
                         struct command *c,
                         const struct dn_token *token)
{
    struct dn_span rest = token->text;
    struct dn_span name = dn_span_cut (&rest, "=");
    bool shell = c->launcher == DN_W_SHELL;

    if (shell && name.len > 1 && name.text[1] != '-'
        && memchr (name.text, 'c', name.len)) {
        c->texts = true;
        c->where = AT_COMMAND;
        return;
    }
    if (c->launcher != DN_W_RUNS)
        c->value = !rest.text && dn_words_list_has (c->options, name);
    else if (rest.text)
        judge_option (r, token, name, rest);
    else if (dn_words_list_has (c->options, name))
        c->value = true;
    else if (name.len > 2 && name.text[1] != '-') {
        judge_option (r,
                      token,
                      (struct dn_span){name.text, 2},
                      (struct dn_span){name.text + 2, name.len - 2});
        if (name.text[1] == 'c' && number_of (name, "-c") >= 0) {
            await (r, DN_W_CPUS, token);
            count_cpus (r, number_of (name, "-c"));
        }
    }
    snprintf (c->option, sizeof (c->option), "%.*s", (int) name.len, name.text);
    r->counts = c->step && dn_span_is (name, "-c");
}

static void read_options (struct rule *r,
                          struct command *c,
                          const struct dn_token *token)
{
    struct dn_span word = token->text;

    if (c->value) {
        c->value = false;
        if (c->launcher == DN_W_RUNS)
            judge_option (r, token, dn_span_of (c->option), word);
    } else if (word.text[0] == '-' && word.len > 1) {
        read_option (r, c, token);
    } else if (is_assignment (word)) {
        return;
    } else if (c->n_operands > 0) {
        c->n_operands--;
        c->program = c->launcher == DN_W_MANAGER;
        c->what = fact_of (token);
    } else if (c->launcher == DN_W_SHELL && !c->texts) {
        c->where = IN_ARGUMENTS;
        c->what = fact_of (token);
        keep_script (r, &c->what, word);
    } else {
        begin_command (r, token);
    }
}

/* The verb of a program that installs, downloads or runs. */
static void read_verb (struct rule *r, struct command *c, const struct dn_token *token)
{
    static const char quiet[] =
        "activate deactivate info list show config login logout status log"
        " rev-parse describe diff branch version whoami check test ps images"
        " shell.bash shell.zsh shell hook offline online init freeze cache inspect"
        " checkout add commit instance kill rm stop env auth";
    struct dn_span verb = token->text;
    struct dn_span program = dn_span_of (c->what.word);

    if (verb.text[0] == '-')
        return;
    c->word = DN_W_HARMLESS;
    c->settings = has (verb, "shell") || has (verb, "hook");
    if (dn_words_list_has ("run exec start launch compose", verb)
        || dn_span_is (program, "ch-run") || dn_span_is (program, "shifter")) {
        c->program = dn_words_list_has ("accelerate mlflow", program);
        if (!c->program)
            launch (c, DN_W_MANAGER, program);
    } else if (dn_words_list_has ("agent repro exp", verb)) {
        keep (r, DN_SCRIPT_SWEEP, &c->what);
    } else if (dn_words_list_has ("server ui", verb)) {
        keep (r, DN_SCRIPT_SERVER, &c->what);
    } else if (dn_span_is (verb, "sync") && dn_span_is (program, "wandb")) {
        return;
    } else if (!dn_words_list_has (quiet, verb)
               || (dn_span_is (verb, "env") && !dn_span_is (program, "accelerate"))) {
        keep (r, DN_SCRIPT_STAGING, &c->what);
    }
}

/* "-m MODULE", "-c CODE", or the script of Python. */
static void read_python (struct rule *r,
                         struct command *c,
                         const struct dn_token *token)
{
    struct dn_span word = token->text;

    if (c->module) {
        struct dn_span rest = word;
        enum dn_word kind;

        c->module = false;
        kind = command_kind (r, dn_span_cut (&rest, "."));
        if (command_says[kind] != DN_SCRIPT_NOTHING)
            keep_word (r, command_says[kind], token);
        if (kind == DN_W_MANAGER || kind == DN_W_HARMLESS || kind == DN_W_SERVER) {
            c->program = false;
            c->word = kind;
            c->what = fact_of (token);
            return;
        }
        c->what = fact_of (token);
        c->named = !begins (word, "torch.distributed");
    } else if (dn_span_is (word, "-m")) {
        c->module = true;
    } else if (dn_words_list_has ("-c -", word)) {
        c->code = true;
        c->named = true;
    }
}

/* A program is named by its script, whose name may say that it only prepares. Hydra's
 * -m may run it for each of several values.
 */
static void read_argument (struct rule *r,
                           struct command *c,
                           const struct dn_token *token)
{
    struct dn_span word = token->text;

    if (dn_words_list_has ("jl R m lua rb pl jar scala lisp js go", ending_of (word)))
        keep (r, DN_SCRIPT_LANGUAGE, &c->what);
    if (!c->named && ends (word, ".py") && !is_assignment (word)) {
        struct dn_span base = base_of (word);

        c->named = true;
        c->what = fact_with (token, base);
        if (is_preparing_name (base))
            keep (r, DN_SCRIPT_STAGING, &c->what);
    } else if (c->named && dn_span_is (word, "-m")) {
        keep (r, DN_SCRIPT_SWEEP, &c->what);
    }
}

/* What the text of Python may run. */
static void read_code (struct command *c, const struct dn_token *token)
{
    static const char calls[] = "fit main run system Popen check_call check_output call"
                                " exec launch run_path run_module spawn sweep";
    struct dn_span word = token->text;
    struct dn_span last = ending_of (word);

    if (!last.text)
        last = word;
    if (has (word, "subprocess")
        || (token->ahead.len > 0 && token->ahead.text[0] == '('
            && (dn_words_list_has (calls, last)
                || (has (last, "train") && !has (last, "pretrained")))))
        c->calls = true;
    c->repeats |= dn_words_list_has ("for while", word);
}

/* "-j 16" and "-j16" count CPUs, as -p of pigz. */
static void count_option (struct rule *r, const struct dn_token *token)
{
    static const char *const options[] = {"-j", "-p", "-P", "-w", "-T", "-@"};

    for (size_t i = 0; i < DN_N_ELEMENTS (options); i++) {
        int64_t n = number_of (token->text, options[i]);

        r->counts |= dn_span_is (token->text, options[i]);
        if (n < 0)
            continue;
        await (r, DN_W_CPUS, token);
        count_cpus (r, n);
    }
}

/* Seconds that a session sleeps, which ends with the job. */
static bool is_long (struct dn_span word)
{
    return number_of (word, "") >= 3600 || begins (word, "inf") || ends (word, "h")
           || ends (word, "d");
}

/* The argument of a command that is harmless without it. */
static void judge_argument (struct rule *r,
                            const struct command *c,
                            struct dn_span word)
{
    struct dn_span program = dn_span_of (c->what.word);

    if (dn_span_is (program, "sleep") && is_long (word))
        keep (r, DN_SCRIPT_SERVER, &c->what);
    else if (dn_span_is (program, "squeue") && has (word, "%L"))
        keep (r, DN_SCRIPT_STOP, &c->what);
    else if (dn_span_is (program, "nvidia-smi")
             && dn_words_list_has ("-pl -lgc -ac -lmc --power-limit", word))
        keep (r, DN_SCRIPT_CLOCK, &c->what);
    else if (dn_span_is (program, "cp") && word.text[0] == '-'
             && (has (word, "r") || has (word, "a") || has (word, "R")))
        keep (r, DN_SCRIPT_STAGING, &c->what);
}

static void read_arguments (struct rule *r,
                            struct command *c,
                            const struct dn_token *token)
{
    struct dn_span word = token->text;

    if (c->word == DN_W_MANAGER)
        read_verb (r, c, token);
    else if (c->word == DN_W_PYTHON && !c->named)
        read_python (r, c, token);
    else if (c->word == DN_W_FUNCTION && dn_span_is (word, "{"))
        begin_block (r, c, DN_W_BEGIN);
    else if (c->word == DN_W_FUNCTION)
        define_function (r, word.len, token->ahead.text);
    else if (c->word == DN_W_FIND && begins (word, "-exec")) {
        c->many = true;
        c->where = AT_COMMAND;
    } else if (c->word == DN_W_CASE && dn_span_is (word, "in")) {
        r->pattern = true;
    } else if (c->word == DN_W_JUDGED) {
        judge_argument (r, c, word);
    }
    if (c->program && !c->code)
        read_argument (r, c, token);
    if ((c->program && c->word != DN_W_MANAGER) || c->word == DN_W_STAGING
        || c->word == DN_W_MAKE)
        count_option (r, token);
}

static void read_word (struct rule *r, const struct dn_token *token)
{
    struct command *c = top (r);
    bool hidden = token->quoted && !c->texts;

    if (c->file) {
        c->file = false;
        return;
    }
    if (r->pattern) {
        if (dn_span_is (token->text, "esac")) {
            r->pattern = false;
            r->cases -= r->cases > 0;
            c->where = IN_ARGUMENTS;
        }
        return;
    }
    if (c->code)
        read_code (c, token);
    if (c->bracket == SUM || c->bracket == LIST || (token->here && !c->texts) || hidden)
        ; /* Not of a command. */
    else if (c->where == AT_COMMAND && token->glued)
        c->where = IN_ARGUMENTS;
    else if (c->where == AT_COMMAND && !is_assignment (token->text)
             && token->text.text[0] != '-')
        begin_command (r, token);
    else if (c->where == IN_OPTIONS)
        read_options (r, c, token);
    else if (c->where == IN_ARGUMENTS)
        read_arguments (r, c, token);
    if (!c->prints || r->depth > 0)
        scan_word (r, token);
    if (r->counts)
        await (r, DN_W_CPUS, token);
    r->counts = false;
}

/* --- marks -------------------------------------------------------------------------
 */

static void end_command (struct rule *r, bool background, bool within)
{
    struct command *c = top (r);

    settle (r);
    if (c->where == IN_OPTIONS && c->launcher == DN_W_SHELL)
        keep (r, DN_SCRIPT_SCRIPT, &c->what);
    if (c->code)
        c->program = c->calls;
    if (c->program)
        count_program (r, c, background);
    r->beside |= background && c->group;
    *c = (struct command){.bracket = c->bracket,
                          .texts = c->texts && within,
                          .many = c->many && within,
                          .settings = c->settings};
}

static void push (struct rule *r, enum bracket bracket, bool texts)
{
    if (r->depth + 1 == DEEP_MAX)
        return;
    r->depth++;
    *top (r) = (struct command){.bracket = bracket, .texts = texts};
}

/* Behind a bracket: what the text of $( ) has said of the command. */
static void pop (struct rule *r)
{
    struct command *c;
    bool settings;
    bool group;

    if (r->depth == 0)
        return;
    end_command (r, false, false);
    settings = top (r)->settings;
    group = top (r)->bracket == SUBSHELL && r->n > 0;
    r->depth--;
    c = top (r);
    c->group |= group;
    if (settings)
        c->program = false;
}

static void open_bracket (struct rule *r, const struct dn_token *token)
{
    struct command *c = top (r);
    const char *text = token->ahead.text;
    char before = text > r->tokens->script.text ? text[-1] : '\n';
    bool captures = strchr ("$<>", before) != NULL;

    if (before == '(' && !token->here) {
        if (r->pending == DN_W_CPUS)
            keep_pending (r, DN_SCRIPT_COMPUTES);
        push (r, SUM, c->texts);
    } else if (captures) {
        c->file = false;
        push (r, CAPTURE, token->quoted);
    } else if (c->bracket == SUM || before == '=') {
        push (r, c->bracket == SUM ? SUM : LIST, c->texts);
    } else if (token->ahead.len > 1 && text[1] == ')' && c->program) {
        define_function (r, strlen (c->what.word), text);
        c->program = false;
        c->where = AT_COMMAND;
        push (r, LIST, c->texts);
    } else {
        push (r, c->where == AT_COMMAND ? SUBSHELL : LIST, c->texts);
    }
}

static void read_ampersand (struct rule *r, const struct dn_token *token, bool within)
{
    const char *text = token->ahead.text;
    char before = text > r->tokens->script.text ? text[-1] : '\n';
    char next = token->ahead.len > 1 ? text[1] : '\n';

    if (strchr ("<>|", before) || next == '>')
        return;
    end_command (r, before != '&' && next != '&', within);
}

/* A here-document begins, whose text is commands of a shell, code, or only words; or
 * the line with its last word ends.
 */
static bool read_here (struct rule *r, const struct dn_token *token)
{
    struct command *c = top (r);
    bool in_text = r->tokens->here == DN_HERE_IN || r->tokens->here == DN_HERE_LAST;

    if (token->mark != '\n')
        return token->here && !c->texts;
    if (token->here && !in_text) {
        end_command (r, false, false);
        return true;
    }
    if (token->here || !in_text)
        return token->here && !c->texts;
    if (c->word == DN_W_PYTHON)
        c->code = c->named = true;
    else if (c->launcher == DN_W_SHELL || c->launcher == DN_W_EVAL)
        c->texts = true;
    if (c->texts)
        c->where = AT_COMMAND;
    return true;
}

static void read_mark (struct rule *r, const struct dn_token *token)
{
    struct command *c = top (r);
    const char *text = token->ahead.text;
    char before = text > r->tokens->script.text ? text[-1] : '\n';
    bool within = token->quoted || token->here;

    if (read_here (r, token))
        return;
    if (token->quoted && !c->texts && !(token->mark == '(' && before == '$'))
        return;
    if (token->mark == '(' && !r->pattern)
        open_bracket (r, token);
    else if (token->mark == ')' && r->pattern) {
        r->pattern = false;
        c->where = AT_COMMAND;
    } else if (token->mark == ')')
        pop (r);
    else if (c->bracket == SUM || c->bracket == LIST || r->pattern)
        return;
    else if (token->mark == '<' || token->mark == '>')
        c->file = true;
    else if (token->mark == '&')
        read_ampersand (r, token, within);
    else if (token->mark != '|' || before != '>')
        end_command (r, false, within);
    if (token->mark == ';' && before == ';')
        r->pattern = r->cases > 0;
}

/* --- the script --------------------------------------------------------------------
 */

static bool is_shell (struct dn_span script)
{
    struct dn_span line = dn_span_cut (&script, "\n");

    return !begins (line, "#!") || has (line, "sh");
}

/* The readers of the one pass over a script. */
struct pass {
    struct rule rule;
    struct dn_tokens tokens;
    struct dn_reading *reading;
    bool ruled;   /* the rule reads it */
    bool wanted;  /* more than the marks */
    bool command; /* one was read */
    bool here;    /* a here-document was */
};

static void read_comment (struct pass *p, const struct dn_token *token)
{
    if (token->first && !p->here && p->tokens.at <= DN_SCRIPT_HEAD_MAX)
        dn_marks_take (&p->reading->marks, p->tokens.script, token, p->command);
}

static void read_token (struct pass *p, const struct dn_token *token)
{
    const struct dn_marks *marks = &p->reading->marks;

    p->here |= p->tokens.here != DN_HERE_NONE;
    if (token->kind == DN_TOKEN_COMMENT) {
        read_comment (p, token);
        return;
    }
    if (!p->command && (token->kind == DN_TOKEN_WORD || token->mark != '\n')) {
        p->command = true;
        p->wanted |= marks->n > marks->n_odd;
    }
    if (p->command && !p->wanted)
        return;
    if (p->tokens.at <= DN_SCRIPT_HEAD_MAX)
        dn_print_take (&p->reading->print, token);
    if (!p->ruled)
        return;
    if (token->kind == DN_TOKEN_WORD)
        read_word (&p->rule, token);
    else
        read_mark (&p->rule, token);
}

static int read_tokens (struct pass *p,
                        const struct dn_deadline *deadline,
                        struct dn_err *err)
{
    struct dn_token token;

    while (dn_tokens_next (&p->tokens, &token)) {
        if (dn_tokens_due (&p->tokens)
            && dn_deadline_check (deadline, dn_say_script_end, err) < 0)
            return -1;
        read_token (p, &token);
    }
    if (p->ruled)
        end_command (&p->rule, false, false);
    return 0;
}

void dn_reading_begin (struct dn_reading *reading, const struct dn_words *words)
{
    memset (reading, 0, offsetof (struct dn_reading, marks.list));
    dn_print_begin (&reading->print, words);
}

/* On the heap, as a thread of slurmctld has a small stack. NULL: no memory. */
static struct pass *make_pass (const struct dn_words *words,
                               const struct dn_script_job *job,
                               bool wanted,
                               struct dn_reading *reading)
{
    struct pass *p = calloc (1, sizeof (*p));

    if (!p)
        return NULL;
    p->reading = reading;
    p->wanted = wanted;
    p->rule.job = job;
    p->rule.found = &reading->script;
    p->rule.tokens = &p->tokens;
    p->rule.words = words;
    return p;
}

int dn_script_read (const struct dn_words *words,
                    const char *script,
                    const struct dn_script_job *job,
                    bool wanted,
                    const struct dn_deadline *deadline,
                    struct dn_reading *reading,
                    struct dn_err *err)
{
    struct dn_span text = {script, script ? strnlen (script, DN_SCRIPT_MAX + 1) : 0};
    struct dn_script_fact all = {.line = 1, .word = "#!"};
    dn_cleanup (dn_free_ptr) struct pass *p = NULL;

    dn_reading_begin (reading, words);
    if (text.len == 0)
        return 0;
    p = make_pass (words, job, wanted, reading);
    if (!p)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    p->ruled = text.len <= DN_SCRIPT_MAX && is_shell (text);
    if (!p->ruled) {
        keep (&p->rule, DN_SCRIPT_UNREAD, &all);
        text.len = text.len < DN_SCRIPT_HEAD_MAX ? text.len : DN_SCRIPT_HEAD_MAX;
    }
    p->tokens = dn_tokens_of (text);
    if (read_tokens (p, deadline, err) < 0)
        return -1;
    all = (struct dn_script_fact){.line = p->tokens.line, .word = "\""};
    if (p->ruled && (dn_tokens_open (&p->tokens) || p->rule.depth > 0))
        keep (&p->rule, DN_SCRIPT_UNREAD, &all);
    return 0;
}
