/* line_words.h - commands, options and arguments that may follow in a command line
 *
 * All comes from the tables: the commands and their summaries, the options and what
 * they take, and the arguments of the usage line. What an argument of these is called
 * says what it may be: "yes|no" two words, FILE a file, SPEC metadata.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LINE_WORDS_H
#define DN_LINE_WORDS_H

#include "completion/answer.h"

/* A command line up to the cursor. Its first word is the program, its last one, which
 * may be empty, is what the answer is about. There are at least two.
 */
struct dn_line {
    char *const *words;
    int n;
};

/* Answer for a line of dnnest. The commands end with NULL. */
void dn_line_words (const struct dn_line *line,
                    const struct dn_command *const commands[],
                    struct dn_answer *answer);

/* Answer for a line of sbatch, salloc or srun: the options that carry metadata. */
void dn_slurm_line_words (const struct dn_line *line, struct dn_answer *answer);

#endif
