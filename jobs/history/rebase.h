/* rebase.h - what a past job would be predicted to take today, without history
 *
 * In: the metadata, device and CPUs of a finished job, and what the site predicts with.
 * Out: the median of its run time. A job whose network was described in a sidecar is
 * not known: accounting does not keep it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REBASE_H
#define DN_REBASE_H

#include "jobs/finished.h"
#include "predict/predict.h"
#include "site.h"

/* Seconds, or NaN. 'to' is a struct dn_rebase *: this is a dn_build_base_f. */
struct dn_rebase {
    const struct dn_site *site;
};
double dn_rebase (void *to, const struct dn_finished *job);

#endif
