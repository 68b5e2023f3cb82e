/* chart.h - charts of a report inside a page
 *
 * Colours and sizes of letters are classes of the page's style sheet, so that the
 * charts follow a dark or light browser, and a narrow one. What a chart draws is a link
 * to the rows that it is made of. Text from outside is escaped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CHART_H
#define DN_CHART_H

#include <stdio.h>

#include "jobs/worth/sums.h"
#include "report/when.h"

/* The Monday of a week, which begins at 00:00 UTC. */
struct dn_when_text dn_chart_week (const struct dn_week *week);

/* Changed jobs by week, and the harmed ones of them: harmed[i] of week i. Linked to
 * "changed-2026-01-05" and "week-2026-01-05".
 */
void dn_chart_weeks (FILE *file, const struct dn_sums *sums, const int64_t harmed[]);

/* Intervals of the effects that are differences, as shares of the control group's
 * figures. Linked to "waits", "turnarounds" and "failures", or without jobs of the
 * control group, to "control".
 */
void dn_chart_effects (FILE *file, struct dn_sums *sums);

/* Predicted against measured run times, both axes logarithmic. Linked to "ran-JOB". */
void dn_chart_points (FILE *file, const struct dn_sums *sums);

/* Share of jobs within the 95 % quantile and the bound, by week. Linked to
 * "beyond-2026-01-05", or if all are within, to the weeks.
 */
void dn_chart_coverage (FILE *file, const struct dn_sums *sums);

#endif
