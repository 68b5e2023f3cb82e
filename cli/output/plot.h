/* plot.h - pictures drawn by gnuplot
 *
 * A gnuplot script is written to 'script' and run when it is complete. gnuplot is
 * started without a shell. It reads the script from stdin and writes the picture to
 * stdout, so no path needs quoting. The complete picture then replaces the file. Text
 * from outside must be written by dn_plot_text (), because gnuplot runs commands
 * between back quotes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PLOT_H
#define DN_PLOT_H

#include "replace.h"

/* Empty when zeroed. */
struct dn_plot {
    FILE *script; /* write gnuplot's commands and inline data here */
    char *text;   /* owned, what was written */
    size_t len;
    struct dn_replace out;
};

/* The help of every --plot option. */
#define DN_PLOT_HELP "draw FILE.svg, .png or .pdf"

/* Begin the picture 'path' of 'width' x 'height' pixels; its extension, .svg, .png or
 * .pdf, chooses the format. The script already sets its terminal. Free with
 * dn_plot_free ().
 */
int dn_plot_open (struct dn_plot *plot,
                  const char *path,
                  int width,
                  int height,
                  struct dn_err *err);

/* Write 'text' as a quoted string of gnuplot. Special characters, and all characters
 * that are not printable ASCII, become '?'.
 */
void dn_plot_text (struct dn_plot *plot, const char *text);

/* Run gnuplot and replace the file with the picture. The error states that gnuplot is
 * missing (and which package has it), or contains gnuplot's message.
 */
int dn_plot_finish (struct dn_plot *plot, struct dn_err *err);

/* Remove an unfinished picture. NULL-safe. */
void dn_plot_free (struct dn_plot *plot);

#endif
