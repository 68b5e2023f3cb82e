/* batches.h - one run at many batch sizes: throughput, memory, time, cost
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BATCHES_H
#define DN_BATCHES_H

#include "site_gpus.h"

#define DN_NUMBERS_MAX 32

/* The knee is the smallest batch with this share of the best throughput. A larger batch
 * needs more memory, and often loses accuracy, for little speed.
 */
#define DN_KNEE_SHARE 0.9

/* Batch sizes per GPU, or numbers of GPUs, ascending. */
struct dn_numbers {
    int64_t list[DN_NUMBERS_MAX];
    int n;
    bool given; /* the option, perhaps without its argument */
};

/* Take the argument "8,16,32" of an option: at most its 'max' numbers in any order,
 * equal ones once, in the range of the metadata key of its name, else of batch=. Return
 * an enum dn_exit.
 */
int dn_numbers_take (struct dn_options *given, void *to);

/* One size on one device. */
struct dn_batch_point {
    struct dn_estimate estimate;
    double cost; /* of the run; -1 unknown */
    bool fits;   /* at most the row's 'largest' */
};

/* One GPU. */
struct dn_batch_row {
    const struct dn_site_gpu *gpu; /* borrowed */
    int64_t largest;               /* batch that the policy accepts there; 0 none */
    bool may_hold_one;             /* a batch of 1 may fit there */
    int knee;                      /* index of the size; -1: none fits */
    struct dn_batch_point *points; /* one per size, of the table */
};

struct dn_batches {
    struct dn_numbers sizes;
    struct dn_batch_row *rows;     /* owned */
    struct dn_batch_point *points; /* owned, row after row */
    int n_rows;
    bool timed; /* the amount of work is known */
};

/* A copy of the subject, which borrows the layers, with another number of GPUs and
 * batch per GPU. Gradient accumulation is unchanged; the number of steps and the
 * evaluation interval are scaled so that the number of samples is the same. Another
 * number of GPUs takes as many to a node as 'subject' has, or eight. Free its graph.
 */
int dn_batches_resize (const struct dn_site *site,
                       const struct dn_subject *subject,
                       int64_t gpus,
                       int64_t batch,
                       struct dn_subject *out,
                       struct dn_err *err);

/* Predict 'subject' with each of the sizes instead of its batch on each GPU. The row
 * with the best throughput at the knee comes first. Without sizes, the powers of two
 * that fit any device are used. The number of samples is the same. Free with
 * dn_batches_free ().
 */
int dn_batches_predict (const struct dn_site *site,
                        const struct dn_subject *subject,
                        const struct dn_numbers *sizes,
                        const struct dn_site_gpus *gpus,
                        struct dn_batches *batches,
                        struct dn_err *err);

/* NULL-safe. */
void dn_batches_free (struct dn_batches *batches);

/* Add "batch_sizes", an object per device, to a document. */
void dn_batches_add_json (struct json_object *to, const struct dn_batches *batches);

/* Print the devices at their knees, then a table per quantity. */
int dn_batches_print (const struct dn_batches *batches);

struct dn_front_limits {
    double budget;   /* of the run's cost at its 95 % bound; -1: none */
    int64_t seconds; /* of the run's time at its 95 % bound; DN_UNSET: none */
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

/* Predict 'subject' with each number of GPUs and each batch size on each device;
 * without sizes, with its own batch. The batch per GPU stays, the number of samples
 * too. More than eight GPUs take several nodes, unless 'subject' states how many a node
 * has. -1 with 'err': the amount of work is unknown, or a number of GPUs does not go
 * with the specification. Free with dn_front_free ().
 */
int dn_front_predict (const struct dn_site *site,
                      const struct dn_subject *subject,
                      const struct dn_numbers *counts,
                      const struct dn_numbers *sizes,
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
