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

/* Brackets within brackets. */
#define DEEP_MAX 16

/* What is read of a command, from its first word to the mark that ends it. */
struct command {
    enum dn_word word; /* of what it runs */
    bool list;         /* in brackets without commands, a=( ) or (( )) */
    bool sum;          /* in (( )) */
    bool begun;        /* the next word is an option or argument */
    bool bare;         /* the last word is an option, whose value may come next */
    bool file;         /* the next word is a file that is read or written */
    bool texts;        /* its quoted text has commands */
    bool many;         /* runs several times */
    bool program;      /* may train */
    bool named;        /* by the name of its script or module */
    bool module;       /* the next word is one of Python */
    bool code;         /* the rest is code of Python */
    struct dn_script_fact what;
};

/* A name in a word, read from the script, quotes or not. */
struct name {
    const char *at;  /* behind it in the script, which may be its value */
    const char *end; /* of the word */
    bool variable;
    size_t len;
    bool begun; /* to be read part by part: "max" and "time" */
    struct dn_span part;
    struct dn_span pair;     /* with the part before it */
    char text[DN_TOKEN_MAX]; /* in lower case, with '_' for '-' */
};

/* The one pass over a script. */
struct pass {
    const struct dn_script_job *job;
    const struct dn_words *words;
    struct dn_reading *reading;
    struct dn_script *found; /* of the reading */
    struct dn_tokens tokens;
    struct dn_token token;
    const char *end;            /* of the token before it */
    bool ruled;                 /* the words are judged */
    bool wanted;                /* more than the marks */
    bool command;               /* one was read */
    bool here;                  /* a here-document was */
    bool beside;                /* a program runs in the background */
    bool follows;               /* the next variable is a number of CPUs by its name */
    bool differs;               /* the last word is from training to training */
    int loops;                  /* that are open */
    int n;                      /* programs up to here */
    struct dn_script_fact last; /* of them */
    char type[DN_NAME_MAX];     /* of the GPU, as in a name */
    size_t type_len;
    struct command *now;            /* in the innermost brackets */
    struct command stack[DEEP_MAX]; /* from here on set when they are used */
    struct name name;
};

/* A text as it is; facts that are kept have it as a reason shows it. */
static struct dn_script_fact fact_of (const struct pass *r, struct dn_span text)
{
    struct dn_script_fact fact = {.line = r->token.line};

    if (text.len > 0)
        memcpy (fact.word,
                text.text,
                text.len < sizeof (fact.word) ? text.len : sizeof (fact.word) - 1);
    return fact;
}

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
    int fields = dn_words_keep (code);

    for (int f = 0; f < DN_N_KEEPS && fields != 0; f++) {
        enum dn_reason_code first = r->found->first[f].code;

        if ((fields >> f & 1)
            && (first == DN_REASON_NONE || (f == DN_KEEPS_NEED && code > first)))
            set_fact (&r->found->first[f], code, what);
    }
}

static void keep_word (struct pass *r, enum dn_reason_code code)
{
    const struct dn_script_fact what = fact_of (r, r->token.text);

    if (r->token.line > 0) /* not the image of the job */
        keep (r, code, &what);
}

static inline bool begins (struct dn_span text, const char *with)
{
    return text.len >= strlen (with) && memcmp (text.text, with, strlen (with)) == 0;
}

static bool has (struct dn_span text, const char *part)
{
    return memmem (text.text, text.len, part, strlen (part));
}

/* What is behind the last 'separator'; all of the text without one. */
static struct dn_span behind (struct dn_span text, char separator)
{
    const char *at = memrchr (text.text, separator, text.len);
    size_t n = at ? (size_t) (at + 1 - text.text) : 0;

    return (struct dn_span){text.text + n, text.len - n};
}

static enum dn_word find (const struct pass *r,
                          enum dn_word_set set,
                          struct dn_span word)
{
    return dn_words_find (r->words, set, word, dn_words_hash (word));
}

/* --- names: letters, digits, '-' and '_' ----------------------------------------- */

static inline bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

#define LETTER(small, large) [small] = (small), [large] = (small)

/* Characters as they are in the text of a name; 0 for those of none. */
static const char in_name[256] = {
    ['-'] = '_',       ['_'] = '_',       ['0'] = '0',       ['1'] = '1',
    ['2'] = '2',       ['3'] = '3',       ['4'] = '4',       ['5'] = '5',
    ['6'] = '6',       ['7'] = '7',       ['8'] = '8',       ['9'] = '9',
    LETTER ('a', 'A'), LETTER ('b', 'B'), LETTER ('c', 'C'), LETTER ('d', 'D'),
    LETTER ('e', 'E'), LETTER ('f', 'F'), LETTER ('g', 'G'), LETTER ('h', 'H'),
    LETTER ('i', 'I'), LETTER ('j', 'J'), LETTER ('k', 'K'), LETTER ('l', 'L'),
    LETTER ('m', 'M'), LETTER ('n', 'N'), LETTER ('o', 'O'), LETTER ('p', 'P'),
    LETTER ('q', 'Q'), LETTER ('r', 'R'), LETTER ('s', 'S'), LETTER ('t', 'T'),
    LETTER ('u', 'U'), LETTER ('v', 'V'), LETTER ('w', 'W'), LETTER ('x', 'X'),
    LETTER ('y', 'Y'), LETTER ('z', 'Z'),
};

static inline char of_name (char c)
{
    return in_name[(unsigned char) c];
}

static inline bool is_alnum (char c)
{
    return is_digit (c) || of_name (c) > '_';
}

/* The next name. Return false after the last. */
static bool next_name (struct name *name)
{
    const char *at = name->at;
    size_t len = 0;
    char c;

    name->variable = false;
    for (; at < name->end && !of_name (*at); at++)
        if (*at == '$' || (name->variable && !strchr ("{#!", *at)))
            name->variable = *at == '$';
    for (; at < name->end && len < DN_TOKEN_MAX && (c = of_name (*at)); at++)
        name->text[len++] = c;
    name->at = at;
    name->len = len;
    name->part = (struct dn_span){name->text, 0};
    name->begun = false;
    return name->len > 0;
}

static bool next_part (struct name *name)
{
    const char *end = name->text + name->len;
    const char *begin = name->part.text + name->part.len + name->begun;
    size_t len = 0;

    while (begin + len < end && begin[len] != '_')
        len++;
    name->pair = (struct dn_span){begin, len};
    if (name->part.len > 0)
        name->pair = (struct dn_span){name->part.text, name->part.len + 1 + len};
    name->part = (struct dn_span){begin, len};
    name->begun = true;
    return begin <= end;
}

bool dn_script_has (const struct dn_script *script, const char *word)
{
    struct name name = {.at = word, .end = word + strlen (word)};

    while (next_name (&name))
        while (next_part (&name)) {
            uint32_t hash = dn_words_hash (name.part);

            if (name.part.len > 0
                && !(script->names[hash >> 6 & 63] >> (hash & 63) & 1))
                return false;
        }
    return true;
}

/* What follows a name: "x=1", "-x 1", "x: {enabled: 1". */
static struct dn_span value_of (const char *at)
{
    size_t len = 0;

    while (*at
           && (strchr (" \t\"'=:{[\\", *at) || strncmp (at, "enabled", 7) == 0
               || (*at == '\n' && strchr ("{\\", at[-1]))))
        at += *at == 'e' ? 7 : 1;
    while (len < DN_TOKEN_MAX && !strchr (" \t\r\n\"';&|<>)}]", at[len]))
        len++;
    return (struct dn_span){at, len};
}

/* The number that the text begins with; -1 for none. */
static int64_t number_of (struct dn_span text)
{
    int64_t number = 0;
    size_t i = 0;

    for (; i < text.len && i < 9 && is_digit (text.text[i]); i++)
        number = number * 10 + text.text[i] - '0';
    return i > 0 && (i == text.len || of_name (text.text[i]) <= '_') ? number : -1;
}

/* A number of workers or threads, the variable that Slurm sets, or one that is unknown.
 */
static void count_cpus (struct pass *r, struct dn_span value)
{
    struct dn_script_fact what;
    int64_t n = number_of (value);
    bool unknown = begins (value, "$(");

    r->follows = begins (value, "$") && !unknown;
    if (unknown || begins (value, "`"))
        keep_word (r, DN_REASON_script_cpus);
    if (n > r->found->n_counted) {
        r->found->n_counted = n;
        what = fact_of (r, r->token.text);
        set_fact (&r->found->counted, DN_REASON_script_cpus, &what);
    }
}

/* The value of an option or variable of this kind. */
static void judge_value (struct pass *r, enum dn_word kind, struct dn_span value)
{
    int64_t nodes = r->job->n_nodes > 1 ? r->job->n_nodes : 1;
    int64_t n = number_of (value);
    bool keeps = true;

    if (kind == DN_W_CPUS) {
        count_cpus (r, value);
    } else if (kind == DN_W_GPUS) {
        bool list =
            memchr (value.text, ',', value.len) || has (r->token.text, "VISIBLE");

        for (n = list && n >= 0 ? 0 : n; list && n >= 0 && value.text; n++)
            dn_span_cut (&value, ",");
        keeps = n > 0 && n * nodes < r->job->n_gpus && !has (r->token.text, "per-task");
    } else if (kind == DN_W_ARCH_LIST) {
        keeps = (n >= 8 && n < 20) || n >= 80;
    } else if (kind == DN_W_BF16 || kind == DN_W_FP8) {
        keeps = find (r, DN_SET_VALUES, value) != DN_W_OFF;
    } else if (kind == DN_W_NODES) {
        keeps = !begins (value, "$");
    } else if (kind == DN_W_TASKS || kind == DN_W_NODE_TASKS) {
        n *= kind == DN_W_TASKS ? 1 : nodes;
        keeps = n < 0 ? !has (value, "$SLURM_") && !has (value, "${SLURM_")
                      : n > r->job->n_tasks;
    }
    if (keeps)
        keep_word (r, dn_words_say (kind));
}

/* --- words ----------------------------------------------------------------------- */

/* A version of CUDA, of a framework or of NVIDIA's containers. The number stands behind
 * the part: "cuda/12.8", "cu128", "pytorch-gpu/py3/2.8", "pytorch:25.08-py3".
 */
static void read_version (struct pass *r, const struct name *name, bool cuda)
{
    const char *begin = name->at - name->len + (name->part.text - name->text);
    const char *at;
    int64_t major;
    int64_t minor;
    struct dn_version *newest;
    struct dn_script_fact what;

    while (begin < name->end && of_name (*begin) > '_')
        begin++;
    for (at = begin;
         at < name->end && (!is_digit (*at) || (at > begin && is_alnum (at[-1])));)
        at++;
    major = number_of ((struct dn_span){at, (size_t) (name->end - at)});
    while (at < name->end && is_digit (*at))
        at++;
    at += at < name->end;
    minor = number_of ((struct dn_span){at, (size_t) (name->end - at)});
    if (cuda && major >= 100) {
        minor = major % 10;
        major /= 10;
    }
    newest = &r->found->versions[cuda          ? DN_SOFTWARE_CUDA
                                 : major >= 17 ? DN_SOFTWARE_CONTAINER
                                               : DN_SOFTWARE_TORCH];
    if (major < (cuda ? 7 : 1) || (!cuda && major < 3 && minor < 0) || major >= 100
        || minor >= 100 || has (r->token.text, "VISIBLE"))
        return;
    major = 100 * major + (minor > 0 ? minor : 0);
    if (major <= newest->number)
        return;
    newest->number = major;
    what = fact_of (r, r->token.text);
    set_fact (&newest->at, DN_REASON_script_kernels, &what);
}

/* Return what a part of a name says. */
static enum dn_word read_part (struct pass *r, const struct name *name)
{
    struct dn_span part = name->part;
    uint32_t hash = dn_words_hash (part);
    enum dn_word kind = DN_W_NONE;
    bool cuda = begins (part, "cu") && part.len > 4
                && is_digit (part.text[begins (part, "cuda") ? 4 : 2]);

    if (name->pair.len > part.len)
        kind = find (r, DN_SET_PARTS, name->pair);
    if (kind == DN_W_NONE && part.len > 1) /* no letter alone says anything */
        kind = dn_words_find (r->words, DN_SET_PARTS, part, hash);
    if (name->variable)
        return kind;
    if (kind == DN_W_TORCH || kind == DN_W_CUDA || cuda)
        read_version (r, name, kind != DN_W_TORCH);
    r->found->names[hash >> 6 & 63] |= UINT64_C (1) << (hash & 63);
    if (kind < DN_W_ALLOTTED && kind != DN_W_NONE)
        keep_word (r, dn_words_say (kind));
    r->now->program |= r->now->code && kind == DN_W_CALLS;
    r->now->many |= r->now->code && kind == DN_W_REPEATS;
    return kind;
}

/* Judge a name by its parts, and what they say of the value behind it. */
static void read_name (struct pass *r, struct name *name)
{
    enum dn_word says = DN_W_NONE;
    enum dn_word kind = DN_W_NONE;
    size_t len = r->type_len;
    const char *type = NULL;
    bool follows = r->follows && name->variable;

    if (len > 2 && len <= name->len && memchr (name->text, r->type[0], name->len))
        type = memmem (name->text, name->len, r->type, len);
    if (type && (type + len == name->text + name->len || !is_digit (type[len])))
        keep_word (r, DN_REASON_script_type);
    while (next_part (name)) {
        if (name->part.len == 0)
            continue;
        kind = read_part (r, name);
        if (kind == DN_W_TASK && name->variable && r->differs)
            keep_word (r, DN_REASON_script_beside);
        if (kind >= DN_W_ALLOTTED && kind <= DN_W_ARCH_LIST && says != DN_W_ALLOTTED
            && says != DN_W_FP8)
            says = kind;
    }
    r->differs = kind == DN_W_DIFFERS && !name->variable;
    r->follows &= !name->variable;
    if (follows ? says == DN_W_NONE
                : says == DN_W_ALLOTTED || (says == DN_W_CPUS && r->now->sum))
        keep_word (r, DN_REASON_script_cpus);
    if (says > DN_W_ALLOTTED && r->token.line > 0
        && (!name->variable || strncmp (name->at, ":-", 2) == 0))
        judge_value (r, says, value_of (name->at + 2 * name->variable));
}

static void read_names (struct pass *r, const char *begin, const char *end)
{
    struct name *name = &r->name;

    name->at = begin;
    name->end = end;
    while (next_name (name))
        read_name (r, name);
}

/* The image that an #SBATCH line names, unless sbatch was given another. */
static void read_image (struct pass *r)
{
    static const char option[] = "--container-image";
    struct dn_span text = r->token.text;
    const char *at = memmem (text.text, text.len, option, strlen (option));

    if (at && r->job->image[0] == '\0')
        read_names (r, at, text.text + text.len);
}

/* --- commands -------------------------------------------------------------------- */

/* A command by its name, or by its path where that is of the system or of tools. */
static enum dn_word command_kind (const struct pass *r, struct dn_span path)
{
    struct dn_span base = behind (path, '/');
    size_t folder = path.len - base.len;

    if (folder > 0 && (folder < 4 || memcmp (base.text - 4, "bin/", 4) != 0))
        return DN_W_NONE;
    return find (r, DN_SET_COMMANDS, base);
}

static bool is_assignment (struct dn_span word)
{
    const char *value = memchr (word.text, '=', word.len);
    size_t len = value ? (size_t) (value - word.text) : 0;

    return len > 0 && word.text[0] != '-' && !memchr (word.text, '/', len)
           && !memchr (word.text, '.', len);
}

/* A program, or commands that stand elsewhere: a script, eval "$COMMANDS". */
static void run_unknown (struct pass *r)
{
    struct command *c = r->now;
    struct dn_span word = r->token.text;

    c->what = fact_of (r, behind (word, '/'));
    c->program = c->word != DN_W_SHELL
                 && find (r, DN_SET_ENDINGS, behind (word, '.')) != DN_W_OF_SHELL
                 && !(c->texts && word.len > 1 && word.text[0] == '$');
    if (!c->program)
        keep (r, DN_REASON_script_script, &c->what);
}

/* The first word of a command, or that of one behind a launcher. */
static void begin_command (struct pass *r, enum dn_word word)
{
    struct command *c = r->now;

    c->word = word;
    c->begun = word < DN_W_OPENS || word > DN_W_LOOP;
    c->bare = false;
    c->program = word == DN_W_PYTHON;
    c->many |= word == DN_W_MANY;
    c->texts |= word == DN_W_EVAL;
    c->what = fact_of (r, behind (r->token.text, '/'));
    keep (r, dn_words_say (word), &c->what);
    if (word == DN_W_NONE)
        run_unknown (r);
    r->loops += word == DN_W_LOOP || word == DN_W_FOR;
    r->loops -= word == DN_W_DONE && r->loops > 0;
}

/* An option of srun or mpirun: "-n 4", "-n4", "--ntasks=4". */
static void read_step_option (struct pass *r)
{
    struct dn_span rest = r->token.text;
    struct dn_span name = dn_span_cut (&rest, "=");
    struct dn_span value = rest.text ? rest : value_of (r->token.ahead.text);
    enum dn_word option = find (r, DN_SET_OPTIONS, name);

    if (option == DN_W_NONE && name.len > 2 && name.text[1] != '-') {
        value = (struct dn_span){name.text + 2, name.len - 2};
        option = find (r, DN_SET_OPTIONS, (struct dn_span){name.text, 2});
    }
    if (r->now->word == DN_W_STEP || option == DN_W_TASKS || option == DN_W_NODE_TASKS)
        judge_value (r, option == DN_W_STEP_CPUS ? DN_W_CPUS : option, value);
}

/* Hydra's -m may run a program for each of several values. */
static void read_option (struct pass *r)
{
    struct command *c = r->now;
    struct dn_span word = r->token.text;
    bool python = c->word == DN_W_PYTHON && !c->named;
    bool counts = c->program || c->word == DN_W_STAGING;

    c->bare = !memchr (word.text, '=', word.len);
    if (c->word == DN_W_STEP || c->word == DN_W_MPI) {
        read_step_option (r);
    } else if (python && (dn_span_is (word, "-c") || dn_span_is (word, "-"))) {
        c->code = c->named = true;
        c->program = false;
    } else if (dn_span_is (word, "-m") && c->program) {
        c->module = python;
        if (!python)
            keep (r, DN_REASON_script_sweep, &c->what);
    } else if (c->word == DN_W_SHELL && word.text[1] != '-' && has (word, "c")) {
        c->texts = true;
        c->begun = false;
    } else if (begins (word, "-exec")) {
        keep (r, DN_REASON_script_script, &c->what);
    } else if (c->word == DN_W_COPY) {
        keep (r, DN_REASON_script_staging, &c->what);
    } else if (counts && word.len > 1 && strchr ("jpPwT@", word.text[1])
               && (word.len == 2 || is_digit (word.text[2]))) {
        struct dn_span rest = {word.text + 2, word.len - 2};

        count_cpus (r, rest.len > 0 ? rest : value_of (r->token.ahead.text));
    }
}

/* The verb of a program that installs, downloads or runs. */
static void read_verb (struct pass *r)
{
    struct command *c = r->now;
    enum dn_word kind = find (r, DN_SET_VERBS, r->token.text);

    keep (r, dn_words_say (kind), &c->what);
    if (kind == DN_W_NONE && c->word != DN_W_TOOL)
        keep (r, DN_REASON_script_staging, &c->what);
    if (kind == DN_W_VERB_RUNS)
        c->word = c->word == DN_W_CONTAINER ? DN_W_BEHIND : DN_W_RUNS;
    else
        c->word = kind == DN_W_VERB_SETTINGS ? DN_W_SETTINGS : DN_W_HARMLESS;
}

/* Behind a launcher each option may have its value in the next word, but what matters
 * as a command is one. A program is named by its script.
 */
static void read_argument (struct pass *r)
{
    struct command *c = r->now;
    struct dn_span word = r->token.text;
    struct dn_span rest = word;
    enum dn_word ending = memchr (word.text, '.', word.len)
                              ? find (r, DN_SET_ENDINGS, behind (word, '.'))
                              : DN_W_NONE;
    enum dn_word kind = command_kind (r, c->module ? dn_span_cut (&rest, ".") : word);
    bool launcher = c->word >= DN_W_SHELL && c->word <= DN_W_STOPS;
    bool matters = kind >= DN_W_COPY && kind <= DN_W_STOPS;

    if (((c->module || launcher) && matters)
        || (launcher && kind != DN_W_NONE && !c->bare
            && (!c->program || c->word < DN_W_BEHIND))) {
        begin_command (r, kind);
        return;
    }
    if (c->word >= DN_W_MANAGER && c->word <= DN_W_CONTAINER) {
        read_verb (r);
    } else if (c->word == DN_W_SLEEP
               && (number_of (word) > 3599
                   || (number_of (word) < 0 && word.text[0] != '$'))) {
        keep (r, DN_REASON_script_server, &c->what);
    } else if (launcher && !is_assignment (word)) {
        run_unknown (r);
        if (!c->bare && c->word < DN_W_BEHIND)
            c->word = DN_W_NONE;
    }
    if (c->program && dn_span_is (word, ":")) /* srun A : B */
        keep (r, DN_REASON_script_beside, &c->what);
    if (c->program && ending == DN_W_OF_LANGUAGE)
        keep (r, DN_REASON_script_language, &c->what);
    if (c->program && !c->named && (c->module || ending == DN_W_OF_PYTHON)
        && !is_assignment (word)) {
        c->named = true;
        c->what = fact_of (r, behind (word, '/'));
    }
    c->bare = c->module = false;
}

static void read_word (struct pass *r)
{
    struct command *c = r->now;
    struct dn_span word = r->token.text;
    bool option = word.text[0] == '-';

    if (c->file) {
        c->file = false;
        return;
    }
    if (c->code || c->list || ((r->token.here || r->token.quoted) && !c->texts))
        ; /* not of a command */
    else if (c->begun && option)
        read_option (r);
    else if (c->begun)
        read_argument (r);
    else if (r->token.glued)
        c->begun = true;
    else if (!option && !is_assignment (word))
        begin_command (r, command_kind (r, word));
    if (c->word != DN_W_PRINTS || c > r->stack)
        read_names (r, r->end, r->token.ahead.text);
}

/* --- marks ----------------------------------------------------------------------- */

static void end_command (struct pass *r, bool background)
{
    struct command *c = r->now;
    bool many = r->loops > 0 || c->many;
    bool within = r->token.quoted || r->token.here;

    if (c->word == DN_W_SHELL && c->begun)
        keep (r, DN_REASON_script_script, &c->what);
    if (c->program) {
        if (many || r->n > 0)
            keep (
                r, many ? DN_REASON_script_loop : DN_REASON_script_programs, &c->what);
        r->n++;
        r->last = c->what;
    }
    r->beside |= background && r->n > 0;
    if (r->beside && (r->n > 1 || (background && many)))
        keep (r, DN_REASON_script_beside, &r->last);
    *c = (struct command){.list = c->list,
                          .sum = c->sum,
                          .texts = c->texts && within,
                          .many = c->many && within};
}

/* The text of $( ) may be settings, and no program; what is in front of a ')' that
 * closes none is a pattern.
 */
static void close_bracket (struct pass *r)
{
    bool settings = r->now->word == DN_W_SETTINGS;

    r->now->program &= r->now > r->stack;
    end_command (r, false);
    if (r->now == r->stack)
        return;
    r->now--;
    if (r->now->texts && r->now->program && !settings) /* eval "$(COMMAND)" */
        keep (r, DN_REASON_script_script, &r->now->what);
    r->now->program &= !settings;
}

static void open_bracket (struct pass *r, char before, char next)
{
    struct command *c = r->now;
    bool capture = strchr ("$<>", before);

    if (c->program && next == ')') /* a function */
        keep (r, DN_REASON_script_script, &c->what);
    c->file = false;
    if (r->now == &r->stack[DEEP_MAX - 1]) {
        keep_word (r, DN_REASON_script_unread);
        return;
    }
    *++r->now = (struct command){
        .sum = before == '(' || c->sum,
        .list = before == '(' || c->sum || (!capture && (c->begun || before == '=')),
        .texts = capture ? r->token.quoted : c->texts,
    };
}

static void read_mark (struct pass *r)
{
    struct command *c = r->now;
    const char *text = r->token.ahead.text;
    char mark = r->token.mark;
    char before = text > r->tokens.script.text ? text[-1] : '\n';
    char next = r->token.ahead.len > 1 ? text[1] : '\n';
    bool in_here = r->tokens.here == DN_HERE_IN || r->tokens.here == DN_HERE_LAST;

    /* A line ends here-documents, and their lines do not end the command. */
    if (mark == '\n' ? in_here : r->token.here)
        return;
    if (r->token.quoted && !c->texts && !(mark == '(' && before == '$'))
        return;
    if (mark == '(') {
        open_bracket (r, before, next);
    } else if (mark == ')') {
        close_bracket (r);
    } else if (mark == '<' || mark == '>') {
        c->file = !c->list;
        if (before == '<' && c->word == DN_W_PYTHON && !c->named)
            c->code = c->named = true;
    } else if (!c->list
               && (mark == '&' ? !strchr ("<>|", before) && next != '>'
                               : mark != '|' || before != '>')) {
        end_command (r, mark == '&' && before != '&' && next != '&');
    }
}

/* --- the script ------------------------------------------------------------------ */

static void read_token (struct pass *r)
{
    struct dn_reading *reading = r->reading;
    const struct dn_token *token = &r->token;
    bool head = r->tokens.at <= DN_SCRIPT_HEAD_MAX;

    r->here |= r->tokens.here != DN_HERE_NONE;
    if (token->kind == DN_TOKEN_COMMENT) {
        if (token->first && !r->here && head)
            dn_marks_take (&reading->marks, r->tokens.script, token, r->command);
        if (r->ruled && !r->command && begins (token->text, "#SBATCH"))
            read_image (r);
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
        read_word (r);
    else if (r->ruled)
        read_mark (r);
}

/* The rest is not read: keep all. */
static void stop_at (struct pass *r, const char *word)
{
    r->token = (struct dn_token){.line = r->tokens.line, .text = dn_span_of (word)};
    keep_word (r, DN_REASON_script_unread);
}

static int read_tokens (struct pass *r,
                        const struct dn_deadline *deadline,
                        struct dn_err *err)
{
    for (int n = 0; dn_tokens_next (&r->tokens, &r->token);) {
        n += r->token.kind != DN_TOKEN_COMMENT;
        if (n > DN_SCRIPT_TOKENS_MAX) {
            stop_at (r, "...");
            break;
        }
        if (dn_tokens_due (&r->tokens)
            && dn_deadline_check (deadline, dn_say_script_end, err) < 0)
            return -1;
        read_token (r);
        r->end = r->token.kind == DN_TOKEN_COMMENT
                     ? r->tokens.script.text + r->tokens.at
                     : r->token.ahead.text;
    }
    if (!r->ruled)
        return 0;
    end_command (r, false);
    if (dn_tokens_open (&r->tokens) || r->now > r->stack)
        stop_at (r, "\"");
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
    dn_cleanup (dn_free_ptr) struct pass *r = NULL;

    dn_reading_begin (reading, words);
    if (text.len == 0 && job->image[0] == '\0')
        return 0;
    r = malloc (sizeof (*r)); /* a thread of slurmctld has a small stack */
    if (!r)
        return dn_refuse (err, no_memory);
    memset (r, 0, offsetof (struct pass, stack[1]));
    r->job = job;
    r->words = words;
    r->reading = reading;
    r->found = &reading->script;
    r->wanted = job->wanted;
    r->now = r->stack;
    r->end = script;
    r->ruled = text.len <= DN_SCRIPT_MAX && (!begins (line, "#!") || has (line, "sh"));
    for (size_t i = 0; i + 1 < DN_NAME_MAX && of_name (job->gpu_type[i]); i++)
        r->type[i] = of_name (job->gpu_type[i]);
    r->type_len = strlen (r->type);
    r->token.text = dn_span_of (job->image);
    read_names (r, job->image, job->image + r->token.text.len);
    r->tokens = dn_tokens_of (text);
    if (!r->ruled) {
        stop_at (r, "#!");
        r->tokens.script.len =
            text.len < DN_SCRIPT_HEAD_MAX ? text.len : DN_SCRIPT_HEAD_MAX;
    }
    return read_tokens (r, deadline, err);
}
