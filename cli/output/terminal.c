/* terminal.c - what stdout can show: its width, and colours
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_USUAL 100
#define COLUMNS_MIN   40
#define COLUMNS_MAX   1000

/* Parameters of SGR (ECMA-48, 8.3.117). */
static const char *const tint_text[DN_N_TINTS] = {
    [DN_TINT_PLAIN] = "",
    [DN_TINT_HEADING] = "\033[1m",
    [DN_TINT_GOOD] = "\033[32m",
    [DN_TINT_DOUBTFUL] = "\033[33m",
    [DN_TINT_BAD] = "\033[31m",
};

static enum {
    COLOR_AUTO,
    COLOR_ALWAYS,
    COLOR_NEVER,
} wanted = COLOR_AUTO;

bool dn_terminal_color (const char *when)
{
    if (strcmp (when, "auto") == 0)
        wanted = COLOR_AUTO;
    else if (strcmp (when, "always") == 0)
        wanted = COLOR_ALWAYS;
    else if (strcmp (when, "never") == 0)
        wanted = COLOR_NEVER;
    else
        return false;
    return true;
}

/* NO_COLOR counts if it is not empty (no-color.org). */
static bool has_color (FILE *stream)
{
    const char *no_color = getenv ("NO_COLOR");
    const char *term = getenv ("TERM");

    if (wanted != COLOR_AUTO)
        return wanted == COLOR_ALWAYS;
    return (!no_color || no_color[0] == '\0') && term && strcmp (term, "dumb") != 0
           && isatty (fileno (stream));
}

const char *dn_tint_on (FILE *stream, enum dn_tint tint)
{
    return has_color (stream) ? tint_text[tint] : "";
}

const char *dn_tint_off (FILE *stream, enum dn_tint tint)
{
    return tint != DN_TINT_PLAIN && has_color (stream) ? "\033[0m" : "";
}

int dn_terminal_columns (void)
{
    const char *text = getenv ("COLUMNS");
    struct winsize size;
    int64_t columns = COLUMNS_USUAL;

    if (ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        columns = size.ws_col;
    else if (text
             && dn_int_read (
                    dn_span_of (text), "COLUMNS", 1, COLUMNS_MAX, &columns, NULL)
                    < 0)
        columns = COLUMNS_USUAL;
    return columns < COLUMNS_MIN ? COLUMNS_MIN : (int) columns;
}

void dn_terminal_words (const char *text, int first, int indent)
{
    int columns = dn_terminal_columns ();
    int at = printf ("%*s", first, "");
    struct dn_span rest = dn_span_of (text);
    struct dn_span word;
    bool begun = false;

    while ((word = dn_span_cut (&rest, " ")).text) {
        if (begun && at + 1 + (int) word.len > columns) {
            at = printf ("\n%*s", indent, "") - 1;
            begun = false;
        }
        at += printf ("%s%.*s", begun ? " " : "", (int) word.len, word.text);
        begun = true;
    }
    printf ("\n");
}
