/* grid.c - aligned tables of short ASCII cells, as wide as the terminal
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "grid.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

/* Blanks between two columns. */
#define GAP 2

/* A column of text is not made narrower than this. */
#define TEXT_MIN 16

static void add_cell (struct dn_grid *grid, const char *format, va_list args)
{
    struct dn_grid_cell *grown =
        realloc (grid->cells, (grid->n_cells + 1) * sizeof (*grid->cells));
    char *text = NULL;

    if (grown)
        grid->cells = grown;
    if (!grown || vasprintf (&text, format, args) < 0)
        grid->failed = true;
    else
        grid->cells[grid->n_cells++] = (struct dn_grid_cell){text, DN_TINT_PLAIN};
}

void dn_grid_add (struct dn_grid *grid, const char *format, ...)
{
    va_list args;

    va_start (args, format);
    add_cell (grid, format, args);
    va_end (args);
}

void dn_grid_count (struct dn_grid *grid, int64_t count)
{
    dn_grid_add (grid, count < 0 ? "-" : "%" PRId64, count);
}

void dn_grid_head (struct dn_grid *grid, const char *format, ...)
{
    char text[512];
    struct dn_span rest = {text, 0};
    va_list args;

    va_start (args, format);
    rest.len = (size_t) vsnprintf (text, sizeof (text), format, args);
    va_end (args);
    for (struct dn_span head; (head = dn_span_cut (&rest, "|")).text;
         grid->n_columns++) {
        bool right = head.len > 0 && head.text[head.len - 1] == '>';

        grid->right |= (uint64_t) right << grid->n_columns;
        dn_grid_add (grid, "%.*s", (int) head.len - right, head.text);
        dn_grid_tint (grid, DN_TINT_HEADING);
    }
}

struct dn_grid dn_grid_of (const char *headings)
{
    struct dn_grid grid = {.cells = NULL};

    dn_grid_head (&grid, "%s", headings);
    return grid;
}

bool dn_grid_is_empty (const struct dn_grid *grid)
{
    return grid->n_cells <= (size_t) grid->n_columns;
}

void dn_grid_tint (struct dn_grid *grid, enum dn_tint tint)
{
    if (grid->n_cells > 0)
        grid->cells[grid->n_cells - 1].tint = tint;
}

static bool is_right (const struct dn_grid *grid, int column)
{
    return grid->right >> column & 1;
}

/* --- widths ---------------------------------------------------------------------- */

/* A column as it is printed. */
struct track {
    int width;
    int least; /* width of a column of words at least; of another one its width */
    bool gone; /* left out */
    bool here; /* in the block that is printed */
};

/* Characters of the longest word. */
static int word_width (const char *text)
{
    struct dn_span rest = dn_span_of (text);
    struct dn_span word;
    size_t width = 0;

    while ((word = dn_span_cut (&rest, " ")).text)
        if (word.len > width)
            width = word.len;
    return (int) width;
}

static int text_width (const char *text)
{
    return (int) strlen (text);
}

/* The most of any cell of a column; 'from' is the first of them. */
static int cells_width (const struct dn_grid *grid, int from, int (*of) (const char *))
{
    int width = 0;

    for (size_t i = (size_t) from; i < grid->n_cells; i += (size_t) grid->n_columns)
        if (of (grid->cells[i].text) > width)
            width = of (grid->cells[i].text);
    return width;
}

static int larger (int a, int b)
{
    return a > b ? a : b;
}

static int total_width (const struct dn_grid *grid, const struct track tracks[])
{
    int total = -GAP;

    for (int c = 0; c < grid->n_columns; c++)
        if (!tracks[c].gone)
            total += tracks[c].width + GAP;
    return total;
}

/* Leave spare columns out until 'columns' are enough. */
static void leave_out (const struct dn_grid *grid, struct track tracks[], int columns)
{
    struct dn_span rest = dn_span_of (grid->spare);

    for (struct dn_span name; (name = dn_span_cut (&rest, "|")).text;)
        for (int c = 0; c < grid->n_columns; c++)
            if (total_width (grid, tracks) > columns
                && dn_span_is (name, grid->cells[c].text))
                tracks[c].gone = true;
}

/* Numbers with units stay on one line. */
static int least_width (const struct dn_grid *grid, int c, int width)
{
    int words = cells_width (grid, c, word_width);

    return is_right (grid, c) ? width
                              : larger (words, width < TEXT_MIN ? width : TEXT_MIN);
}

/* Make columns of words narrower, always the widest, until 'columns' are enough. */
static void narrow (const struct dn_grid *grid, struct track tracks[], int columns)
{
    while (total_width (grid, tracks) > columns) {
        int widest = -1;

        for (int c = 0; c < grid->n_columns; c++)
            if (!tracks[c].gone && tracks[c].width > tracks[c].least
                && (widest < 0 || tracks[c].width > tracks[widest].width))
                widest = c;
        if (widest < 0)
            return;
        tracks[widest].width--;
    }
}

static void fit (const struct dn_grid *grid, struct track tracks[], int columns)
{
    for (int c = 0; c < grid->n_columns; c++)
        tracks[c].width = cells_width (grid, c, text_width);
    if (total_width (grid, tracks) <= columns)
        return;
    for (int c = 0; c < grid->n_columns; c++) {
        tracks[c].width = larger (word_width (grid->cells[c].text),
                                  cells_width (grid, c + grid->n_columns, text_width));
        tracks[c].least = least_width (grid, c, tracks[c].width);
    }
    leave_out (grid, tracks, columns);
    narrow (grid, tracks, columns);
}

/* --- printing -------------------------------------------------------------------- */

/* Cut the words off 'rest' that fit into 'width', at least one. */
static struct dn_span cut_line (struct dn_span *rest, int width)
{
    struct dn_span line = {rest->text, 0};
    struct dn_span word;

    while (rest->text) {
        struct dn_span after = *rest;

        word = dn_span_cut (&after, " ");
        if (line.len > 0 && word.text + word.len - line.text > width)
            return line;
        line.len = (size_t) (word.text + word.len - line.text);
        *rest = after;
    }
    return line;
}

/* A line of stdout. Blanks are printed before the next text only, so that no line ends
 * in one.
 */
struct line {
    int blanks;
};

static void put (struct line *line,
                 struct dn_span text,
                 int width,
                 bool right,
                 int tint)
{
    int pad = larger (width - (int) text.len, 0);

    line->blanks += right ? pad : 0;
    if (text.len > 0) {
        printf ("%*s%s%.*s%s",
                line->blanks,
                "",
                dn_tint_on (stdout, (enum dn_tint) tint),
                (int) text.len,
                text.text,
                dn_tint_off (stdout, (enum dn_tint) tint));
        line->blanks = 0;
    }
    line->blanks += (right ? 0 : pad) + GAP;
}

/* Print the cells of a row in as many lines as the longest of them needs. 'rests' is
 * used up.
 */
static void print_row (const struct dn_grid *grid,
                       const struct track tracks[],
                       struct dn_span rests[],
                       const struct dn_grid_cell *cells)
{
    bool more = true;

    while (more) {
        struct line line = {0};

        more = false;
        for (int c = 0; c < grid->n_columns; c++) {
            if (!tracks[c].here)
                continue;
            put (&line,
                 cut_line (&rests[c], tracks[c].width),
                 tracks[c].width,
                 is_right (grid, c),
                 (int) cells[c].tint);
            more = more || rests[c].text;
        }
        printf ("\n");
    }
}

static void print_block (const struct dn_grid *grid,
                         const struct track tracks[],
                         struct dn_span rests[])
{
    size_t n = (size_t) grid->n_columns;

    for (size_t i = 0; i + n <= grid->n_cells; i += n) {
        for (size_t c = 0; c < n; c++)
            rests[c] = dn_span_of (grid->cells[i + c].text);
        print_row (grid, tracks, rests, &grid->cells[i]);
    }
}

/* Print the first column and those from '*next' on that fit beside it. */
static void print_next (const struct dn_grid *grid,
                        struct track tracks[],
                        struct dn_span rests[],
                        int columns,
                        int *next)
{
    int width = tracks[0].width;
    bool any = false;

    for (int c = 1; c < grid->n_columns; c++)
        tracks[c].here = false;
    tracks[0].here = true;
    for (; *next < grid->n_columns; ++*next) {
        if (tracks[*next].gone)
            continue;
        width += GAP + tracks[*next].width;
        if (any && width > columns)
            break;
        any = tracks[*next].here = true;
    }
    print_block (grid, tracks, rests);
}

static void name_left_out (const struct dn_grid *grid, const struct track tracks[])
{
    char text[512];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    for (int c = 0; c < grid->n_columns; c++)
        if (tracks[c].gone)
            dn_buf_add (&buf,
                        "%s%s",
                        buf.len > 0 ? ", " : "No room for: ",
                        grid->cells[c].text);
    dn_buf_add (&buf, " (a wider terminal or --json shows them)");
    dn_terminal_words (text, 0, 0);
}

int dn_grid_print (const struct dn_grid *grid)
{
    size_t n = (size_t) grid->n_columns;
    dn_cleanup (dn_free_ptr) struct track *tracks = calloc (n, sizeof (*tracks));
    dn_cleanup (dn_free_ptr) struct dn_span *rests = calloc (n, sizeof (*rests));
    int columns = dn_terminal_columns ();
    bool gone = false;
    int next = 1;

    if (grid->failed || !tracks || !rests) {
        dn_complain ("out of memory");
        return DN_EXIT_BUG;
    }
    fit (grid, tracks, columns);
    print_next (grid, tracks, rests, columns, &next);
    while (next < grid->n_columns) {
        printf ("\n");
        print_next (grid, tracks, rests, columns, &next);
    }
    for (int c = 0; c < grid->n_columns; c++)
        gone = gone || tracks[c].gone;
    if (gone)
        name_left_out (grid, tracks);
    return DN_EXIT_DONE;
}

void dn_grid_free (struct dn_grid *grid)
{
    if (!grid)
        return;
    for (size_t i = 0; i < grid->n_cells; i++)
        free (grid->cells[i].text);
    free (grid->cells);
    grid->cells = NULL;
    grid->n_cells = 0;
}
