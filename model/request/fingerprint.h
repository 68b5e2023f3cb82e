/* fingerprint.h - which application a job runs, without a name for it
 *
 * In: the head of the batch script, the arguments, and the text of the metadata. Out: a
 * name of 64 bits, "fp:" and 16 hexadecimal digits, that two jobs share if they run the
 * same program on the same network. The script is not understood as a shell does; its
 * words are compared, and these do not count:
 *
 * - comments, #SBATCH and #DNNEST lines, blank lines, blanks, quotes, and how a command
 *   is broken into lines;
 * - commands that only print or look after files: echo (unless into a file), cd, mkdir,
 *   rm, ls, date, sleep, tee and the like;
 * - the folders of an absolute path, one below ~ or a variable; of a file of settings
 *   (.yaml, .json, .toml, .ini, .cfg) the last one counts;
 * - files that output goes to (>), dates, the seconds since 1970, and a port at the end
 *   of a word;
 * - the value of an option, assignment or setting (--seed 1, SEED=1, run.seed=1, seed:
 *   1) that is a seed, port, name of a run, output or log folder, checkpoint to resume
 *   from, cache, token, or anything of wandb, mlflow, hydra and loggers;
 * - the number of nodes, GPUs, processes, which a history keeps apart anyway;
 * - epochs and steps, but only where the metadata state how many there are.
 *
 * Runs that differ in their batch alone are kin: their times are translated into each
 * other (predict/translate.h). So there is a second name that the value of a batch does
 * not count for (--batch-size 64, bs=64), with that value.
 *
 * All else counts: programs, configurations, models, options, the order of words, the
 * number of values of a loop. In doubt the fingerprint changes, and the job has no
 * history yet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FINGERPRINT_H
#define DN_FINGERPRINT_H

#include "base/digest.h"
#include "request/request.h"
#include "request/tokens.h"
#include "request/vocabulary.h"

#define DN_FINGERPRINT_MARK "fp:"
#define DN_FINGERPRINT_MAX  24

struct dn_fingerprint {
    char text[DN_FINGERPRINT_MAX];
};

/* Does a word count? */
enum dn_counts {
    DN_COUNTS,
    DN_COUNTS_UNSTATED, /* but not if the metadata state epochs and steps */
    DN_COUNTS_BATCH,    /* but not for kin */
    DN_COUNTS_NOT
};

/* What a digest is without, as bits. */
enum {
    DN_WITHOUT_WORK = 1,
    DN_WITHOUT_BATCH = 2,
    DN_N_DIGESTS = 4
};

/* The words of a script so far. It is read before it is known whether the metadata
 * state epochs or steps: from the first value on for which that matters, it is digested
 * both ways; of a batch the same.
 */
struct dn_print {
    struct dn_digester digesters[DN_N_DIGESTS]; /* by what they are without */
    unsigned begun;                             /* a bit for each of them */
    unsigned takes;                             /* those that take what is added */
    int n_batches;                              /* values of a batch */
    int64_t batch;                              /* the last of them; 0: no count */
    const struct dn_words *known;               /* borrowed */
    int64_t n_words;
    bool begins;          /* the next word is the first of a command */
    bool uncounted;       /* the words of this command do not count */
    bool is_file;         /* the next word is a file that is written */
    bool loops;           /* the next word is the variable of a loop */
    enum dn_counts value; /* the next word, unless it is an option */
    enum dn_counts named; /* what the last word names */
    enum dn_counts looped;
    struct dn_span ahead; /* the text behind the word */
};

void dn_print_begin (struct dn_print *print, const struct dn_words *known);

/* Add a token of the script. */
void dn_print_take (struct dn_print *print, const struct dn_token *token);

/* The fingerprint of a job whose script is 'print', with this text of metadata (may be
 * ""), 'counted' where these state its epochs or steps. Text "" where the job has
 * neither a script nor a command.
 */
struct dn_fingerprint dn_fingerprint_of (const struct dn_print *print,
                                         const struct dn_job *job,
                                         const char *metadata,
                                         bool counted);

/* That of its kin, with this text of metadata. '*batch': the batch that the script
 * states, DN_UNSET if it states none. Text "" where it states several, or one that is
 * no number, too.
 */
struct dn_fingerprint dn_fingerprint_of_kin (const struct dn_print *print,
                                             const struct dn_job *job,
                                             const char *metadata,
                                             bool counted,
                                             int64_t *batch);

/* A fingerprint in place of a name, where names are not recorded. */
struct dn_fingerprint dn_fingerprint_of_name (const char *name);

#endif
