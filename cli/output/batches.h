/* batches.h - one run at many batch sizes: throughput, memory, time, cost
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BATCHES_H
#define DN_BATCHES_H

#include "site_gpus.h"

#define DN_BATCHES_MAX 32

/* The knee is the smallest batch with this share of the best throughput. A larger batch
 * needs more memory, and often loses accuracy, for little speed.
 */
#define DN_KNEE_SHARE 0.9

/* Batch sizes per GPU, ascending. */
struct dn_batch_sizes {
    int64_t sizes[DN_BATCHES_MAX];
    int n;
};

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
    struct dn_batch_sizes sizes;
    struct dn_batch_row *rows;     /* owned */
    struct dn_batch_point *points; /* owned, row after row */
    int n_rows;
    bool timed; /* the amount of work is known */
};

/* How a list of numbers is read: named 'what' in errors, in the range of 'key'. */
struct dn_batch_list {
    const char *what;
    const struct dn_key *key;
    int max; /* numbers */
};

/* Read "8,16,32" into 'numbers', which has room for list->max: ascending, equal ones
 * once.
 */
int dn_batch_list_read (const char *text,
                        const struct dn_batch_list *list,
                        int64_t *numbers,
                        int *n,
                        struct dn_err *err);

/* Read "8,16,32": at most DN_BATCHES_MAX numbers in any order, equal ones once. */
int dn_batch_sizes_read (const char *text,
                         struct dn_batch_sizes *sizes,
                         struct dn_err *err);

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
                        const struct dn_batch_sizes *sizes,
                        const struct dn_site_gpus *gpus,
                        struct dn_batches *batches,
                        struct dn_err *err);

/* NULL-safe. */
void dn_batches_free (struct dn_batches *batches);

/* Add "batch_sizes", an object per device, to a document. */
void dn_batches_add_json (struct json_object *to, const struct dn_batches *batches);

/* Print the devices at their knees, then a table per quantity. */
int dn_batches_print (const struct dn_batches *batches);

#endif
