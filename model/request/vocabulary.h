/* vocabulary.h - what single words of a script say
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_VOCABULARY_H
#define DN_VOCABULARY_H

#include "base/reason.h"
#include "base/text.h"

enum dn_word {
    DN_W_NONE,

    /* Commands. */
    DN_W_HARMLESS, /* short, or nothing on the GPU */
    DN_W_PRINTS,   /* the same, and only a text */
    DN_W_NPROC,
    DN_W_SETTINGS, /* the same, settings for the shell */
    DN_W_COPY,     /* the same, but for options */
    DN_W_SLEEP,    /* the same, but for hours */
    DN_W_TIME_LEFT,
    DN_W_STAGING, /* from here on: matters wherever it stands behind a launcher */
    DN_W_MANAGER, /* installs, downloads or runs, by its verb */
    DN_W_TOOL,    /* the same, but most verbs are harmless */
    DN_W_CONTAINER,
    DN_W_SERVER,
    DN_W_LANGUAGE,
    DN_W_WORKFLOW,
    DN_W_MAKE,
    DN_W_REMOTE,
    DN_W_PYTHON,
    DN_W_SHELL, /* from here on launchers. Runs a script, or the text behind -c */
    DN_W_MANY,  /* runs the rest many times */
    DN_W_RUNS,  /* runs the rest */
    DN_W_MPI,
    DN_W_STEP,
    DN_W_BEHIND, /* runs what is behind its first word, as the next ones */
    DN_W_PINS,
    DN_W_STOPS,
    DN_W_OPENS, /* runs the next word, as those to DN_W_LOOP */
    DN_W_EVAL,
    DN_W_LOOP,
    DN_W_FOR,
    DN_W_DONE,

    /* Options of srun and mpirun. */
    DN_W_TASKS,
    DN_W_NODE_TASKS,
    DN_W_GPU_TASKS,
    DN_W_CONSTRAINT,
    DN_W_NODES,
    DN_W_TIME,
    DN_W_STEP_CPUS,

    /* Verbs of managers. */
    DN_W_VERB_HARMLESS,
    DN_W_VERB_SETTINGS,
    DN_W_VERB_RUNS,
    DN_W_VERB_SWEEP,

    /* Values, and endings of files. */
    DN_W_OFF,
    DN_W_OF_SHELL,
    DN_W_OF_PYTHON,
    DN_W_OF_LANGUAGE,

    /* Parts of words. */
    DN_W_SWEEP,
    DN_W_PASSES,
    DN_W_STOP,
    DN_W_PINNED,
    DN_W_BESIDE,
    DN_W_CLOCK,
    DN_W_ALLOTTED, /* the number of CPUs that Slurm gave; to ARCH_LIST of a name */
    DN_W_CPUS,     /* from here on with a value */
    DN_W_GPUS,
    DN_W_BF16,
    DN_W_FP8,
    DN_W_ARCH_LIST,
    DN_W_CUDA,
    DN_W_TORCH,
    DN_W_DIFFERS, /* from training to training */
    DN_W_TASK,    /* the number of a task */
    DN_W_CALLS,   /* in code of Python: may train */
    DN_W_REPEATS, /* in code of Python: a loop */

    /* Commands for the fingerprint. */
    DN_W_UNCOUNTED,
    DN_W_PRINTING, /* the same, unless into a file */
    DN_W_OPENING,  /* a command follows */

    /* Names of options and variables in lower case, with '_' in place of '-', whose
     * values do not count: of the run, of where it writes and runs, and on how much of
     * the cluster.
     */
    DN_W_VOLATILE,
    DN_W_VOLATILE_BARE, /* not behind a dot: model.name is not of the run */
    DN_W_BATCH,         /* not for kin (fingerprint.h) */
    DN_W_WORK,          /* only if the metadata state it */

    /* Parts of such names. */
    DN_W_VOLATILE_PART,
    DN_W_VOLATILE_PREFIX,
    DN_N_WORDS
};

/* Sets of words, in the order of their kinds. */
enum dn_word_set {
    DN_SET_COMMANDS,
    DN_SET_OPTIONS,
    DN_SET_VERBS,
    DN_SET_VALUES,
    DN_SET_ENDINGS,
    DN_SET_PARTS, /* of words, which may be a pair "max_time" */
    DN_SET_PRINTED,
    DN_SET_NAMES,
    DN_SET_NAME_PARTS
};

/* An index of all words, built once for a site. */
struct dn_words {
    uint32_t slots[4096];
};

void dn_words_index (struct dn_words *words);

/* The hash of a word, which may be made character by character. */
#define DN_WORDS_SEED 5381U

static inline uint32_t dn_words_add (uint32_t hash, char c)
{
    return hash * 33 + (unsigned char) c;
}

static inline uint32_t dn_words_hash (struct dn_span word)
{
    uint32_t hash = DN_WORDS_SEED;

    for (size_t i = 0; i < word.len; i++)
        hash = dn_words_add (hash, word.text[i]);
    return hash;
}

/* What a word of a set says, DN_W_NONE if it is not in it. */
enum dn_word dn_words_find (const struct dn_words *words,
                            enum dn_word_set set,
                            struct dn_span word,
                            uint32_t hash);

/* The reason of the script that a word is by itself; none for most. */
enum dn_reason_code dn_words_say (enum dn_word word);

/* The fields that a reason keeps, a bit of each dn_script_keeps. */
int dn_words_keep (enum dn_reason_code code);

#endif
