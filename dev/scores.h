/* scores.h - the accuracy of predictions, as JSON and as tables
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SCORES_H
#define DN_SCORES_H

#include "output/json.h"
#include "learn/evaluate.h"

/* The document of 'dnnest-dev evaluate --json' (dnnest.1), with the groupings of 'by'.
 * Sorts the scores.
 */
struct json_object *dn_scores_json (struct dn_evaluation *evaluation,
                                    const bool by[DN_N_GROUPINGS]);

/* Print the figures of every metric, then those of the groups, worst first. Return
 * an enum dn_exit.
 */
int dn_scores_print (struct dn_evaluation *evaluation, const bool by[DN_N_GROUPINGS]);

#endif
