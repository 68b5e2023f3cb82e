/* front.h - GPU types x numbers of GPUs x batch sizes, and the best of them
 *
 * A combination is on the Pareto front if no other one that fits, ends by the deadline
 * and costs at most the budget is both faster and cheaper.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FRONT_H
#define DN_FRONT_H

#include "output/batches.h"

#define DN_COUNTS_MAX 16

struct dn_counts {
    int64_t counts[DN_COUNTS_MAX]; /* of GPUs, ascending */
    int n;
};

struct dn_front_limits {
    double budget;  /* of the run's cost at its 95 % bound; -1: none */
    double seconds; /* of the run's time at its 95 % bound; -1: none */
};

/* One combination that was tried. */
struct dn_combination {
    const struct dn_site_gpu *gpu; /* borrowed */
    int64_t gpus;
    int64_t nodes;
    int64_t batch; /* per GPU */
    struct dn_batch_point point;
    bool within; /* fits, and is within the limits */
    bool best;   /* on the front */
};

struct dn_front {
    struct dn_combination *list; /* owned; by time, those that fit first */
    int n;
    bool limited; /* there is a budget or a deadline */
};

/* Read "1,2,4": at most DN_COUNTS_MAX numbers of GPUs in any order, equal ones once. */
int dn_counts_read (const char *text, struct dn_counts *counts, struct dn_err *err);

/* Predict 'subject' with each number of GPUs and each batch size on each device;
 * without sizes, with its own batch. The batch per GPU stays, the number of samples
 * too. More than eight GPUs take several nodes, unless 'subject' states how many a node
 * has. -1 with 'err': the amount of work is unknown, or a number of GPUs does not go
 * with the specification. Free with dn_front_free ().
 */
int dn_front_predict (const struct dn_site *site,
                      const struct dn_subject *subject,
                      const struct dn_counts *counts,
                      const struct dn_batch_sizes *sizes,
                      const struct dn_site_gpus *gpus,
                      const struct dn_front_limits *limits,
                      struct dn_front *front,
                      struct dn_err *err);

/* NULL-safe. */
void dn_front_free (struct dn_front *front);

/* Add "combinations", an object per combination, to a document. */
void dn_front_add_json (struct json_object *to, const struct dn_front *front);

/* Print the front, the fastest first. Return an enum dn_exit. */
int dn_front_print (const struct dn_front *front);

#endif
