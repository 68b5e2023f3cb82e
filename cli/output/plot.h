/* plot.h - pictures by gnuplot
 *
 * A program of gnuplot is written to 'script' and run when it is whole. gnuplot is
 * started without a shell; it reads the program from stdin and the picture is what it
 * writes to stdout, so no path is ever quoted. The picture takes its place when it is
 * whole. Text that comes from outside goes through dn_plot_text () only: gnuplot runs
 * commands that stand between back quotes.
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

/* What it takes to draw: to be said wherever a plot is offered. */
#define DN_PLOT_HELP "draw it into FILE.svg, .png or .pdf (needs gnuplot)"

/* Begin the picture 'path' of 'width' x 'height' pixels; its extension, .svg, .png or
 * .pdf, chooses the format, which the script has set already. Free with dn_plot_free
 * ().
 */
int dn_plot_open (struct dn_plot *plot,
                  const char *path,
                  int width,
                  int height,
                  struct dn_err *err);

/* Write 'text' as a quoted string of gnuplot. What could mean something to it, and all
 * but printable ASCII, becomes '?'.
 */
void dn_plot_text (struct dn_plot *plot, const char *text);

/* Run gnuplot and put the picture in its place. Errors say whether gnuplot is missing
 * (and which package has it) or what it complained about.
 */
int dn_plot_finish (struct dn_plot *plot, struct dn_err *err);

/* Take away what is not finished. NULL-safe. */
void dn_plot_free (struct dn_plot *plot);

#endif
