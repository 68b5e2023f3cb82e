/* scores_plot.h - predictions against measured runs as a picture
 *
 * Runs are added one by one while the table is read. Memory is bounded: of more than
 * DN_PLOT_POINTS_MAX runs a random sample with a fixed seed is drawn.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SCORES_PLOT_H
#define DN_SCORES_PLOT_H

#include "learn/evaluate.h"
#include "output/plot.h"

#define DN_PLOT_POINTS_MAX 20000

struct dn_plot_point; /* one run */

/* Empty when zeroed. */
struct dn_scores_plot {
    struct dn_plot plot;
    struct dn_plot_point *points; /* owned */
    size_t n;
    size_t size; /* there is room for */
    size_t n_seen;
    uint64_t random;
    int metric; /* of the points: the first one that any row had */
};

/* Begin the picture 'path'; errors are those of dn_plot_open (). Free with
 * dn_scores_plot_free ().
 */
int dn_scores_plot_open (struct dn_scores_plot *picture,
                         const char *path,
                         struct dn_err *err);

/* Add the row that was added to the evaluation last; -1 with DN_E_NOMEM. */
int dn_scores_plot_add (struct dn_scores_plot *picture,
                        const struct dn_evaluation *evaluation,
                        const struct dn_row_result *result,
                        struct dn_err *err);

/* Draw the picture and write its file; do nothing if no point was added. Colours and
 * shares are those of one grouping; with DN_BY_ALL, of the table's own groups, or of
 * the models if it has none. Sorts the scores.
 */
int dn_scores_plot_finish (struct dn_scores_plot *picture,
                           struct dn_evaluation *evaluation,
                           enum dn_grouping grouping,
                           struct dn_err *err);

/* Remove an unfinished picture. NULL-safe. */
void dn_scores_plot_free (struct dn_scores_plot *picture);

#endif
