/* terminal.h - what stdout can show: its width, and colours
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TERMINAL_H
#define DN_TERMINAL_H

#include <stdio.h>

#include "base/text.h"

/* What a text says, by which it is coloured. */
enum dn_tint {
    DN_TINT_PLAIN,
    DN_TINT_HEADING,
    DN_TINT_GOOD,
    DN_TINT_DOUBTFUL,
    DN_TINT_BAD,
    DN_N_TINTS
};

/* Set when texts are coloured, for the rest of the process: "auto" (on a terminal,
 * unless NO_COLOR is set or TERM is dumb), "always" or "never". False for another word.
 */
bool dn_terminal_color (const char *when);

/* The characters that begin and end a text on 'stream'; "" where it has no colours. */
const char *dn_tint_on (FILE *stream, enum dn_tint tint);
const char *dn_tint_off (FILE *stream, enum dn_tint tint);

/* Columns of stdout: those of the terminal, else COLUMNS of the environment, else 100.
 */
int dn_terminal_columns (void);

/* Print words on stdout, in lines of that width that begin with 'indent' blanks, but
 * the first with 'first' of them.
 */
void dn_terminal_words (const char *text, int first, int indent);

#endif
