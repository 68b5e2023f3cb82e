/* what_if.h - what other descriptions of a run would change
 *
 * Remedies where it does not fit, or perhaps not; and the effect of what was assumed
 * for keys that were not given. Each is predicted as any description is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_WHAT_IF_H
#define DN_WHAT_IF_H

#include "policy/remedy.h"
#include "predict/assumed.h"
#include "site_gpus.h"
#include "subject.h"

/* An assumption, and the other value that changes most. */
struct dn_effect {
    struct dn_assumption what;
    char other[DN_NAME_MAX]; /* "precision=bf16"; "": none could be predicted */
    double time;             /* with it, over that as assumed */
    double memory;
    int64_t cpus;       /* of the job, as assumed; -1 unknown */
    int64_t other_cpus; /* with the other value */
    bool matters;       /* more than a tenth of time or memory, or any CPU */
};

/* The device on which the effects are shown where no run is: of the first GPU type of
 * the site, or a usual one. NULL: the catalogue has none.
 */
const struct dn_device *dn_usual_device (const struct dn_site *site);

/* The effects on 'device' of what was assumed about a built subject, which are unknown
 * where that is NULL. Return their number.
 */
int dn_effects (const struct dn_subject *subject,
                const struct dn_device *device,
                struct dn_effect list[DN_ASSUMED_MAX]);

/* Print what was assumed, and a table of what matters on 'device', which people know as
 * 'name'.
 */
int dn_effects_print (const struct dn_subject *subject,
                      const char *name,
                      const struct dn_device *device);

/* The same as an array. */
struct json_object *dn_effects_json (const struct dn_subject *subject,
                                     const struct dn_device *device);

/* The run that people look at first: one that fits, and the fastest of these. */
const struct dn_forecast *dn_best_run (const struct dn_forecast *runs, int n_runs);

/* Print, for the first of the runs that do not fit, or perhaps not, what would: at most
 * DN_REMEDIES_MAX changes, another of the runs' GPUs among them.
 */
void dn_remedies_print (const struct dn_subject *subject,
                        const struct dn_forecast *runs,
                        int n_runs);

/* On which GPU types of the site, or usual ones, a built subject fits; and what would
 * fit on the others: printed, or as an array, NULL with 'err'. Return an enum dn_exit.
 */
int dn_fits_print (const struct dn_subject *subject);
struct json_object *dn_fits_json (const struct dn_subject *subject, struct dn_err *err);

/* Add "remedies" to the row of a run; 'best' of all is that of dn_best_run (). */
void dn_remedies_add_json (struct json_object *row,
                           const struct dn_subject *subject,
                           const struct dn_forecast *best,
                           const struct dn_forecast *run);

#endif
