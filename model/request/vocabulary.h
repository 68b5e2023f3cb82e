/* vocabulary.h - what single words of a script say, private to request/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_VOCABULARY_H
#define DN_VOCABULARY_H

#include "base/text.h"

enum dn_word {
    DN_W_NONE,

    /* Commands. */
    DN_W_HARMLESS, /* short, or nothing on the GPU */
    DN_W_STAGING,
    DN_W_MANAGER, /* installs, downloads or runs, by its verb */
    DN_W_SERVER,
    DN_W_LANGUAGE,
    DN_W_WORKFLOW,
    DN_W_MAKE, /* builds or runs */
    DN_W_PINS, /* from here on: and runs the rest */
    DN_W_STOPS,
    DN_W_SHELL, /* runs a script, or the text behind -c */
    DN_W_EVAL,  /* runs its text */
    DN_W_RUNS,  /* runs the rest behind its options */
    DN_W_MANY,  /* runs the rest many times */
    DN_W_OPENS, /* runs the next word */
    DN_W_PYTHON,
    DN_W_TEST,
    DN_W_FIND,
    DN_W_LOOP,
    DN_W_DONE,
    DN_W_IF,
    DN_W_ELSE,
    DN_W_FI,
    DN_W_CASE,
    DN_W_ESAC,
    DN_W_FUNCTION,
    DN_W_BEGIN,
    DN_W_END,

    /* Parts of words. */
    DN_W_SWEEP,
    DN_W_PASSES,
    DN_W_STOP,
    DN_W_CPUS,
    DN_W_ALLOTTED, /* the number of CPUs that Slurm gave */
    DN_W_PINNED,
    DN_W_GPUS,
    DN_W_BESIDE,
    DN_W_CLOCK,
    DN_W_BF16,
    DN_W_FP8,
    DN_W_ARCH_LIST,
    DN_W_CUDA,
    DN_W_TORCH,
    DN_N_WORDS
};

/* An index of all words, built in some microseconds in zeros. */
struct dn_words {
    uint32_t slots[2048];
};

void dn_words_index (struct dn_words *words);

/* The command of that name, or the part of a word, which may be a pair "max_time". */
enum dn_word dn_words_command (const struct dn_words *words, struct dn_span name);
enum dn_word dn_words_part (const struct dn_words *words, struct dn_span part);

/* Is 'word' in a list between blanks? */
bool dn_words_list_has (const char *list, struct dn_span word);

/* Options of the launcher that have their value in the next word, and the words in
 * front of the command that it runs.
 */
const char *dn_words_options (struct dn_span launcher, int *n_operands);

#endif
