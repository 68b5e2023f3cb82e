/* chart.h - plots and tables of a report inside a page
 *
 * Colours and sizes of letters are classes of the page's style sheet, so that the plots
 * follow a dark or light browser. Text from outside is escaped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CHART_H
#define DN_CHART_H

#include <stdio.h>

#include "jobs/worth/sums.h"
#include "output/grid.h"

/* Write text with '&', '<', '>' and quotes as entities; control characters, and bytes
 * that are not ASCII, become '?'.
 */
void dn_html_text (FILE *file, const char *text);

/* A table as HTML. Return the exit code. */
int dn_html_table (FILE *page, const struct dn_grid *grid);

/* Predicted against measured run times, both axes logarithmic. */
void dn_chart_points (FILE *file, const struct dn_sums *sums);

/* Share of completed jobs within the 95 % quantile and the bound, by week. */
void dn_chart_coverage (FILE *file, const struct dn_sums *sums);

/* Saved hours by week. */
void dn_chart_saved (FILE *file, const struct dn_sums *sums);

/* Requested, granted and used GPU hours, and what is wasted of them, as bars. */
struct dn_chart_bar {
    const char *name;
    double value;
    const char *style; /* class of the bar */
};
void dn_chart_bars (FILE *file, const struct dn_chart_bar bars[], int n);

#endif
