/* page.c - what the pages of reports are made of
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "report/page.h"

#include "common.h"
#include "output/show.h"

static const char style[] =
#include "report/page_style.inc"
    ;

/* --- text and tables ---------------------------------------------------------------
 */

void dn_html_text (FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            fputs ("&amp;", file);
        else if (*text == '<')
            fputs ("&lt;", file);
        else if (*text == '>')
            fputs ("&gt;", file);
        else if (*text == '"')
            fputs ("&quot;", file);
        else if (*text == '\'')
            fputs ("&#39;", file);
        else
            fputc (*text >= ' ' && *text <= '~' ? *text : '?', file);
    }
}

static void write_cell (FILE *file, const char *tag, bool right, const char *text)
{
    fprintf (file, right ? "<%s>" : "<%s class=\"words\">", tag);
    dn_html_text (file, text);
    fprintf (file, "</%s>", tag);
}

int dn_html_table (FILE *page, const struct dn_grid *grid)
{
    size_t n = (size_t) grid->n_columns;

    fputs ("<div class=\"table\"><table><tr>", page);
    for (size_t i = 0; i < n; i++)
        write_cell (page, "th", grid->columns[i].right, grid->columns[i].heading);
    for (size_t i = 0; i < grid->n_cells; i++) {
        fputs (i % n == 0 ? "</tr>\n<tr>" : "", page);
        write_cell (page, "td", grid->columns[i % n].right, grid->cells[i].text);
    }
    fputs ("</tr>\n</table></div>\n", page);
    return grid->failed ? DN_EXIT_BUG : DN_EXIT_DONE;
}

/* --- parts of a page ---------------------------------------------------------------
 */

void dn_page_head (FILE *file, const char *title)
{
    fputs ("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
           "<meta name=\"color-scheme\" content=\"light dark\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" "
           "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>",
           file);
    dn_html_text (file, title);
    fprintf (file, "</title>\n<style>%s</style></head><body><main>\n<h1>", style);
    dn_html_text (file, title);
    fputs ("</h1>\n", file);
}

void dn_page_card (FILE *file,
                   const char *kind,
                   const char *question,
                   const char *link,
                   const char *answer,
                   const char *text)
{
    fprintf (file, "<div class=\"card %s\"><h2>%s</h2><b>", kind, question);
    fprintf (file, "<a href=\"#%s\">", link);
    dn_html_text (file, answer);
    fputs ("</a></b><p>", file);
    dn_html_text (file, text);
    fputs ("</p></div>\n", file);
}
