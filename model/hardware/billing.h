/* billing.h - what TRESBillingWeights make of a job
 *
 * In: the TRESBillingWeights of a partition ("CPU=1.0,Mem=0.25G,GRES/gpu:a100=4"), and
 * counts. Out: prices and billing counts, in the site's unit. A text is read up to the
 * first entry that is wrong.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BILLING_H
#define DN_BILLING_H

#include "base/text.h"

/* What a job has; -1: unknown. */
struct dn_billed {
    double cpus;
    double mem_mb;
    double nodes;
    double gpus;
    const char *gpu_type;
};

/* How much of the trackable resource "cpu", "mem", "node", "gres/gpu", "gres/gpu:TYPE"
 * a job has; -1: unknown, 0 of one that is none of these.
 */
double dn_billed_amount (const struct dn_billed *billed, struct dn_span name);

/* The billing count of a job: the sum over its resources, and the largest of them,
 * which counts instead where the site has PriorityFlags=MAX_TRES; without weights its
 * CPUs. Return false if a resource with a weight is unknown.
 */
bool dn_billing_of (const char *weights,
                    const struct dn_billed *billed,
                    double *sum,
                    double *largest);

/* The weight of one GPU of that type; -1 if it has none. A weight of GRES/gpu counts
 * for all types, in addition to one of the type.
 */
double dn_billing_gpu (const char *weights, const char *type);

#endif
