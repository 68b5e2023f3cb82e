/* known_run.h - the whole run of a program, by the steps that it has measured
 *
 * In: what a program has described of itself (described.h), and how many cores it kept
 * busy. Out: its run on GPUs, as the plugin sees a job whose application has run once,
 * with dnnest:auto (predict/learned.h): the measured time, on another device times the
 * ratio of the predicted steps.
 *
 * A CPU and a GPU have nothing in common: what one measured says nothing of the other,
 * whose rows are by the model alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_KNOWN_RUN_H
#define DN_KNOWN_RUN_H

#include "describe/described.h"
#include "site_gpus.h"

struct dn_known_run {
    const struct dn_device *device; /* that was measured; NULL: nothing is predicted */
    int64_t steps;                  /* that were measured */
    struct dn_subject subject;
    struct dn_site_gpus gpus;
    struct dn_estimate *estimates; /* owned; of the GPUs, then of the device */
    struct dn_forecast runs[DN_DEVICES_MAX];
};

/* Predict the run; the network of 'described' moves to it. -1 with 'err', and nothing
 * is predicted. Freed with dn_known_run_free ().
 */
int dn_known_run_find (const struct dn_site *site,
                       struct dn_described *described,
                       double cores,
                       const struct dn_gpus_wanted *wanted,
                       struct dn_known_run *known,
                       struct dn_err *err);

/* Print the table of 'dnnest predict'. Return an enum dn_exit. */
int dn_known_run_print (struct dn_known_run *known);

/* Add the members "measured_on", "candidates" and "assumed". */
void dn_known_run_add_json (struct json_object *to, const struct dn_known_run *known);

/* NULL-safe. */
void dn_known_run_free (struct dn_known_run *known);

#endif
