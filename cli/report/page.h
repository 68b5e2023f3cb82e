/* page.h - what the pages of reports are made of
 *
 * A page has no scripts and needs no other file. Text from outside is escaped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PAGE_H
#define DN_PAGE_H

#include <stdio.h>

#include "output/grid.h"

/* Write text with '&', '<', '>' and quotes as entities; control characters, and bytes
 * that are not ASCII, become '?'.
 */
void dn_html_text (FILE *file, const char *text);

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

#endif
