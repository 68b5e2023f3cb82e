/* page.h - what the pages of reports are made of
 *
 * A page has no scripts and needs no other file. Text from outside is escaped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PAGE_H
#define DN_PAGE_H

#include <stdio.h>

#include "jobs/worth/sample.h"
#include "output/grid.h"

/* Write text with '&', '<', '>' and quotes as entities; control characters, and bytes
 * that are not ASCII, become '?'.
 */
void dn_html_text (FILE *file, const char *text);

/* Write a name as a part of an anchor: what is not a letter, a digit or '_' is '-'. */
void dn_html_anchor (FILE *file, const char *text);

/* A table as HTML. Return the exit code. */
int dn_html_table (FILE *page, const struct dn_grid *grid);

/* The page up to its heading, which is its title. */
void dn_page_head (FILE *file, const char *title);

/* A question, its answer, and what else must be known of it. 'kind' is "good", "bad",
 * "fair" (not known) or ""; the answer is a link to 'link'.
 */
void dn_page_card (FILE *file,
                   const char *kind,
                   const char *question,
                   const char *link,
                   const char *answer,
                   const char *text);

/* Jobs behind a figure, the aim of a link to 'id': what they are, by what they are
 * ordered, and of each the two times with the words before them: "limit ", " -> ".
 * Nothing if there are none.
 */
struct dn_page_jobs {
    const char *id;
    const char *what;
    const char *order;
    const char *words[2];
};
void dn_page_jobs (FILE *file,
                   const struct dn_page_jobs *jobs,
                   const struct dn_listing *listing);

#endif
