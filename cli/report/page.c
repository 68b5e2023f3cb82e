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

/* --- text and tables -------------------------------------------------------------- */

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

void dn_html_anchor (FILE *file, const char *text)
{
    for (; *text; text++) {
        char low = dn_lower (*text);
        bool plain = dn_is_digit (*text) || (low >= 'a' && low <= 'z') || *text == '_';

        fputc (plain ? *text : '-', file);
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
    for (size_t i = 0; i < grid->n_cells; i++) {
        fputs (i > 0 && i % n == 0 ? "</tr>\n<tr>" : "", page);
        write_cell (
            page, i < n ? "th" : "td", grid->right >> i % n & 1, grid->cells[i].text);
    }
    fputs ("</tr>\n</table></div>\n", page);
    return grid->failed ? DN_EXIT_BUG : DN_EXIT_DONE;
}

/* --- parts of a page -------------------------------------------------------------- */

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

void dn_page_jobs (FILE *file,
                   const struct dn_page_jobs *jobs,
                   const struct dn_listing *listing)
{
    int n = dn_listing_shown (listing);

    if (n == 0)
        return;
    fprintf (file, "<h3 id=\"%s\">%s: ", jobs->id, jobs->what);
    if (n < listing->n)
        fprintf (file, "%d of %lld, ", n, (long long) listing->n);
    fprintf (file, "%s</h3><ul class=\"jobs\">\n", jobs->order);
    for (int i = 0; i < n; i++) {
        const struct dn_listed *job = &listing->jobs[i];

        fputs ("<li>", file);
        dn_html_text (file, job->job);
        fprintf (file, ": %s%s", jobs->words[0], dn_show_time (job->from).text);
        fprintf (file, "%s%s</li>\n", jobs->words[1], dn_show_time (job->to).text);
    }
    fputs ("</ul>\n", file);
}
