/* launchers.h - commands that run other commands, private to request/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LAUNCHERS_H
#define DN_LAUNCHERS_H

#include "request/shell.h"

/* Lists of options are without their dashes, each between blanks. */
struct dn_launcher {
    const char *names;  /* of the commands */
    const char *verbs;  /* one of them must follow; NULL: none */
    const char *values; /* options with a value in the next word; NULL: all but flags */
    const char *flags;  /* options without one */
    int n_operands;     /* words in front of the command that it runs */
    bool image;         /* the operand is an image, which has a program of its own */
    bool many;          /* runs it an unknown number of times */
    const struct dn_launcher_rule {
        const char *option;
        enum dn_rule rule;
    } * rules; /* NULL, or ended by one without option */
};

/* The launcher of that name, NULL for any other command. */
const struct dn_launcher *dn_launcher_find (struct dn_span name);

/* srun, whose options are looked for behind a variable that may be srun. */
const struct dn_launcher *dn_launcher_srun (void);

/* Is 'word' in a list between blanks? */
bool dn_launcher_list_has (const char *list, struct dn_span word);

/* Judge its options. Return the index of the command that it runs, n_words for none. */
int dn_launcher_read (struct dn_shell *shell,
                      const struct dn_launcher *launcher,
                      int at);

#endif
