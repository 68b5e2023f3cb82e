/* answer.h - what may follow in an incomplete command line
 *
 * In: the last word of the line, up to the cursor. Out, on stdout: a line for each text
 * that may be in the place of the word's end, with a tab and its meaning, and a last
 * line that says how a shell uses them:
 *
 *   model=<tab>name in the zoo
 *   : 6 nospace
 *
 * The number is that of the word's bytes before the text. A reader ignores
 * an answer without its last line: it was interrupted. Nothing is printed on stderr.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ANSWER_H
#define DN_ANSWER_H

#include "options.h"

/* Kinds of names that the shell adds itself, and how it inserts texts. */
enum dn_answer_flag {
    DN_ANSWER_FILES,
    DN_ANSWER_DIRECTORIES,
    DN_ANSWER_COMMANDS,
    DN_ANSWER_USERS,
    DN_ANSWER_NOSPACE, /* the word may go on */
    DN_ANSWER_OPEN,    /* in a command of Slurm: the other completions are right, too */
    DN_N_ANSWER_FLAGS
};

struct dn_answer {
    const char *word;
    const char *end; /* the part of 'word' that texts replace; it ends the word */
    int n;           /* texts so far */
    bool flags[DN_N_ANSWER_FLAGS];
    struct dn_options *given; /* the common options of the line, for the site */
    struct dn_site *site;     /* owned; loaded when it is needed first */
    bool asked;               /* has it been tried? */
};

/* Does the end of the word begin 'text'? Letter case does not count. */
bool dn_answer_begins (const struct dn_answer *answer, const char *text);

/* Offer 'text' and 'tail' if the end of the word begins it, in any letter case. 'help'
 * may be NULL. Texts that a shell would interpret are left out.
 */
void dn_answer_offer (struct dn_answer *answer,
                      const char *text,
                      const char *tail,
                      const char *help);

/* Offer all names of a table but the first, which is none. */
void dn_answer_offer_names (struct dn_answer *answer, const struct dn_names *names);

/* The site of the line, with all of dnnest.conf that can be read and without a bundle;
 * NULL if there is none. No user is looked up.
 */
const struct dn_site *dn_answer_site (struct dn_answer *answer);

/* Print the last line, and free the site. */
void dn_answer_end (struct dn_answer *answer);

#endif
