/* shell.h - the state of reading a script, private to request/
 *
 * One workspace of fixed size. Open commands, quotes and blocks are frames on a stack;
 * the words of open commands lie one after the other in 'text'. Where the workspace
 * does not suffice, or the text is no valid shell, reading ends with 'unclear'.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SHELL_H
#define DN_SHELL_H

#include <string.h>

#include "request/script.h"

/* Sizes of the workspace. Megatron's scripts have commands of 100 words. */
#define DN_SHELL_TEXT_MAX      16384
#define DN_SHELL_WORDS_MAX     512
#define DN_SHELL_FRAMES_MAX    40
#define DN_SHELL_SOURCES_MAX   5
#define DN_SHELL_HERE_MAX      4
#define DN_SHELL_VARIABLES_MAX 96
#define DN_SHELL_VALUES_MAX    16384
#define DN_SHELL_FUNCTIONS_MAX 32
#define DN_SHELL_CALLS_MAX     4
#define DN_SHELL_NAME_MAX      40
#define DN_SHELL_SAID_MAX      29 /* a word in a reason that has two of them */

/* What stands for the output of a command or a calculation in a word. */
#define DN_SHELL_OUTPUT          "$()"
#define DN_SHELL_OUTPUT_CPUS     "$(SLURM_CPUS)"
#define DN_SHELL_OUTPUT_SETTINGS "$(:)" /* of conda and others that set variables */

struct dn_word {
    uint32_t start; /* in 'text' */
    uint32_t len;
    int line;
    bool plain; /* without quotes, escapes and variables */
};

/* The programs that a part of the script runs, up to several. */
enum dn_several {
    DN_SEVERAL_SEQUENCE,
    DN_SEVERAL_LOOP,
    DN_SEVERAL_BRANCHES
};

struct dn_tally {
    int n; /* 2: several, or an unknown number */
    enum dn_several why;
    int line;
    int other_line;
    char word[DN_SHELL_SAID_MAX];  /* the last one, quoted */
    char other[DN_SHELL_SAID_MAX]; /* of several: an earlier one */
};

struct dn_function {
    char name[DN_SHELL_NAME_MAX];
    struct dn_tally tally;
    /* Commands of its body that may be functions that are defined later. */
    struct dn_call {
        char name[DN_SHELL_NAME_MAX];
        bool loop;
        int line;
    } calls[DN_SHELL_CALLS_MAX];
    int n_calls;
};

struct dn_variable {
    char name[DN_SHELL_NAME_MAX];
    uint32_t start; /* in 'values' */
    uint32_t len;
    bool known; /* else it may have several values */
};

enum dn_frame_kind {
    /* Commands are read. */
    DN_FRAME_SOURCE, /* the script, or a text that a command runs */
    DN_FRAME_PAREN,
    DN_FRAME_OUTPUT, /* $( ), <( ), >( ) */
    DN_FRAME_BACKQUOTE,
    DN_FRAME_BRACE,
    DN_FRAME_LOOP,
    DN_FRAME_IF,
    DN_FRAME_CASE,
    /* A part of a word is read. */
    DN_FRAME_QUOTE,
    DN_FRAME_DEFAULT, /* ${NAME:- } */
    DN_FRAME_SUM,     /* $(( )), $[ ], (( )) */
    DN_FRAME_ARRAY,   /* NAME=( ) */
};

/* Where in a command the reader is. */
struct dn_place {
    int first;  /* the first word of the command */
    int define; /* the function that the next block is the body of, or -1 */
    struct dn_word word;
    bool in_word;
    bool redirect;    /* the next word is a file */
    bool here_string; /* the next word is text for stdin */
    bool here_cpus;   /* that text has the number of CPUs */
    bool cpus;        /* a word of the command has it */
    bool reduced;     /* a word has an operator that may make it less */
    bool output_cpus; /* a command here had it */
    bool settings;    /* the output of the command is settings */
    bool output_settings;
};

struct dn_frame {
    enum dn_frame_kind kind;
    int line;
    struct dn_place place; /* to return to */
    int n_words;
    uint32_t text_len;
    size_t at; /* in the source */
    int depth; /* of brackets in a sum */
    bool quoted;
    bool discard;  /* ${ }: the variable is used, not this text */
    bool square;   /* $[ ] */
    bool command;  /* (( )) */
    bool mute;     /* what runs here does not count */
    bool written;  /* it is a script for later */
    bool captured; /* as a value */
    bool often;    /* source: it runs an unknown number of times */
    bool pattern;  /* case: a pattern is next */
    int function;  /* whose body it is, or -1 */
    int outer;     /* the function around it, or -1 */
    struct dn_tally tally;
    struct dn_tally before; /* if: of the conditions */
    struct dn_tally best;   /* if, case: of the branches before */
};

struct dn_source {
    const char *text;
    size_t len;
    size_t at;
    int line;
    int frame;
};

/* What a here-document is for. */
enum dn_stdin {
    DN_STDIN_DATA,
    DN_STDIN_PYTHON,
    DN_STDIN_SHELL,
    DN_STDIN_SCRIPT
};

struct dn_here {
    char end[DN_SHELL_NAME_MAX];
    bool tabs; /* <<- */
    bool quoted;
};

struct dn_shell {
    const struct dn_script_job *job;
    struct dn_script *found;
    struct dn_source sources[DN_SHELL_SOURCES_MAX];
    int n_sources;
    struct dn_frame frames[DN_SHELL_FRAMES_MAX];
    int n_frames;
    struct dn_place now;
    struct dn_word words[DN_SHELL_WORDS_MAX];
    int n_words;
    char text[DN_SHELL_TEXT_MAX];
    uint32_t text_len;
    struct dn_variable variables[DN_SHELL_VARIABLES_MAX];
    int n_variables;
    char values[DN_SHELL_VALUES_MAX];
    uint32_t values_len;
    struct dn_function functions[DN_SHELL_FUNCTIONS_MAX];
    int n_functions;
    int function; /* whose body is read, or -1 */
    int n_mute;   /* frames on the stack */
    int n_written;
    int n_captured;
    struct dn_here here[DN_SHELL_HERE_MAX]; /* those that begin at the next line */
    int n_here;
    enum dn_stdin stdin_is;
    char
        target[DN_SHELL_NAME_MAX]; /* the script or file that a here-document goes to */
    bool pipe_cpus;                /* the text in the pipe has the number of CPUs */
    bool pipe_reduced;
    bool pipe_settings;
    bool passes_cpus;            /* the number of CPUs is an argument or is read */
    char sum_why[DN_REASON_MAX]; /* a sum with an argument that may be it */
    bool conditional;            /* the command is behind && or || */
    struct dn_span more; /* text of the command that is to be read as commands */
    bool more_mute;
    bool more_often;
    enum dn_need pending; /* of an option that the next word may negate */
    char pending_why[DN_REASON_MAX];
};

static inline struct dn_frame *dn_shell_top (struct dn_shell *shell)
{
    return &shell->frames[shell->n_frames - 1];
}

static inline struct dn_span dn_shell_word (const struct dn_shell *shell, int i)
{
    return (struct dn_span){shell->text + shell->words[i].start, shell->words[i].len};
}

static inline bool dn_shell_is_name (char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || c == '_';
}

/* The same characters: dn_span_is () ignores case. */
static inline bool dn_shell_is (struct dn_span span, const char *word)
{
    return span.len == strlen (word) && memcmp (span.text, word, span.len) == 0;
}

/* A path without its folders. */
static inline struct dn_span dn_shell_base (struct dn_span path)
{
    size_t at = path.len;

    while (at > 0 && path.text[at - 1] != '/')
        at--;
    return (struct dn_span){path.text + at, path.len - at};
}

/* Read the script: findings into shell->found. Return -1 when the deadline passes. */
int dn_shell_read (struct dn_shell *shell,
                   struct dn_span script,
                   const struct dn_deadline *deadline,
                   struct dn_err *err);

/* --- findings.c: reasons -----------------------------------------------------------
 */

/* "the script, line 3: 'word' does it", unless there is a reason already. */
void dn_finding (char reason[DN_REASON_MAX],
                 int line,
                 struct dn_span word,
                 const char *does);

/* Stop reading: "the script, line 3: what it is". */
void dn_finding_unclear (struct dn_shell *shell, int line, const char *what);

/* --- needs.c: words that need arithmetic of the GPU --------------------------------
 */

/* Search a word of a command. */
void dn_needs_word (struct dn_shell *shell, struct dn_span word, int line);

/* The command has ended. */
void dn_needs_end (struct dn_shell *shell);

/* Search text: that of a here-document. */
void dn_needs_text (struct dn_shell *shell, struct dn_span text, int line);

/* --- tally.c: how many trainings ---------------------------------------------------
 */

/* 'a', then 'b'. */
void dn_tally_then (struct dn_tally *a, const struct dn_tally *b);

/* Either 'a' or 'b'. The same program in both is one training. */
void dn_tally_or (struct dn_tally *a, const struct dn_tally *b);

/* 'a' in a loop. */
void dn_tally_loop (struct dn_tally *a);

/* A program runs, 'loop': an unknown number of times. */
void dn_tally_program (struct dn_shell *shell,
                       struct dn_span word,
                       int line,
                       bool loop);

/* Call the function of that name. Return false if there is none. */
bool dn_tally_call (struct dn_shell *shell, struct dn_span name, int line, bool loop);

/* The body of a function has a command that is not known: a function that is defined
 * later, or a program. Return false outside of a body.
 */
bool dn_tally_call_later (struct dn_shell *shell,
                          struct dn_span name,
                          int line,
                          bool loop);

/* A script that was written here, of several trainings, runs. Return false for others.
 */
bool dn_tally_script (struct dn_shell *shell, struct dn_span path, int line);

/* A file was written here that may be commands: if it is run, then several times. */
void dn_tally_file (struct dn_shell *shell, struct dn_span name, int line);

/* Define a function; -1 if there are too many, or its name is too long. */
int dn_tally_define (struct dn_shell *shell, struct dn_span name);

/* The body of the function has ended. */
void dn_tally_body (struct dn_shell *shell, int function, const struct dn_tally *tally);

/* Write the findings of the whole script. */
void dn_tally_report (struct dn_shell *shell);

/* Does the name of a program say that it trains? */
bool dn_tally_is_training (struct dn_span name);

/* --- variables.c -------------------------------------------------------------------
 */

/* The variable, or NULL. */
const struct dn_variable *dn_variable_find (const struct dn_shell *shell,
                                            struct dn_span name);
struct dn_span dn_variable_value (const struct dn_shell *shell,
                                  const struct dn_variable *variable);

/* Assign. After other values in branches and loops a variable has several. */
void dn_variable_set (struct dn_shell *shell,
                      struct dn_span name,
                      struct dn_span value,
                      bool append);

/* Its value is unknown from now on. */
void dn_variable_forget (struct dn_shell *shell, struct dn_span name);

/* Split NAME=VALUE or NAME+=VALUE; NAME[INDEX]=VALUE appends, too. Return false for any
 * other word.
 */
bool dn_variable_split (struct dn_span word,
                        struct dn_span *name,
                        struct dn_span *value,
                        bool *append);

/* --- counts.c: numbers of CPUs -----------------------------------------------------
 */

enum dn_rule {
    DN_RULE_NONE,
    DN_RULE_COUNT,      /* a number of CPUs */
    DN_RULE_TASKS,      /* of tasks */
    DN_RULE_NODE_TASKS, /* of tasks per node */
    DN_RULE_LIST,       /* digits in it are CPUs */
    DN_RULE_ANY,        /* names CPUs whatever it is */
    DN_RULE_BIND,       /* map_cpu: or mask_cpu: */
    DN_RULE_MAP,        /* PE=N */
    DN_RULE_AFFINITY,   /* proclist= */
    DN_RULE_CLOCK,      /* of the GPU */
    DN_RULE_FEATURE,    /* a constraint */
    DN_RULE_NODES,      /* names of nodes */
    DN_RULE_VARIABLE    /* NAME=VALUE for the program */
};

/* Judge 'value', of an option or a variable. 'word' is what the reason names. */
void dn_counts_judge (struct dn_shell *shell,
                      enum dn_rule rule,
                      struct dn_span value,
                      struct dn_span word,
                      int line);

/* Judge an assignment or an exported variable. */
void dn_counts_variable (struct dn_shell *shell,
                         struct dn_span name,
                         struct dn_span value,
                         int line);

/* Does the text have the number of CPUs that Slurm gave? */
bool dn_counts_cpus (struct dn_span text);

/* Does a word other than an option have an operator that may make a number less? */
bool dn_counts_reduces (struct dn_span word);

/* Judge a sum; 'word' is the text as written. True if it has the number of CPUs. */
bool dn_counts_sum (struct dn_shell *shell,
                    struct dn_span sum,
                    struct dn_span word,
                    int line);

/* Judge code in another language, such as Python's. */
void dn_counts_code (struct dn_shell *shell, struct dn_span code, int line);

/* Judge the words of any command, from now.first on. */
void dn_counts_words (struct dn_shell *shell);

/* Judge the word of "case word in". */
void dn_counts_case (struct dn_shell *shell, struct dn_span word, int line);

/* Judge the words of a command that computes or compares. */
void dn_counts_compute (struct dn_shell *shell, int first, bool test);

/* --- commands.c: launchers and programs --------------------------------------------
 */

/* Judge the command of the words from now.first on. Text that it runs as commands is
 * left in 'more'.
 */
void dn_command_read (struct dn_shell *shell);

/* --- blocks.c: reserved words and the stack ----------------------------------------
 */

/* Push a frame and return it; NULL, and reading ends, if there are too many. */
struct dn_frame *dn_block_push (struct dn_shell *shell, enum dn_frame_kind kind);

/* Pop the top frame; what ran in it counts for the frame below. */
void dn_block_pop (struct dn_shell *shell);

/* Forget the words of the command. */
void dn_block_drop_words (struct dn_shell *shell);

/* The last word of the command is complete: is it a reserved one? */
void dn_block_word (struct dn_shell *shell);

/* ";;" was read; 'through': ";&" or ";;&", behind which the next one may run, too. */
void dn_block_next_case (struct dn_shell *shell, bool through);

#endif
