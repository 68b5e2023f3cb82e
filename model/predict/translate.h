/* translate.h - the time of a run, from a measured one of another configuration
 *
 * In: the measured time, and the estimates of its configuration and of the wanted one
 * by one and the same predictor, without history. Out: the measured time, times the
 * ratio of the estimates, and the law of its error by what differs (translate.inc).
 * Between chips the ratio is corrected: the higher the rate of a multiprocessor is, the
 * less of it work reaches. Of a measured level a part is the host's and a part the
 * device's: it does not go along to another type or precision. Pure; nothing is
 * allocated.
 *
 * The level of a prediction is off by a quarter for code that was never measured, and
 * ratios by a twentieth to an eighth: one measured run removes most of the error.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TRANSLATE_H
#define DN_TRANSLATE_H

#include "predict/apps.h"
#include "spec/spec.h"

/* What may differ. */
enum dn_gap {
#define DN_GAP(NAME, ...) DN_GAP_##NAME,
#include "predict/translate.inc"
#undef DN_GAP
    DN_N_GAPS
};

/* A configuration whose time is known or wanted. Both members are borrowed. */
struct dn_setting {
    const struct dn_spec *spec;         /* resolved (dn_spec_resolve ()) */
    const struct dn_estimate *estimate; /* of it, without history */
    /* of a measured run that is not known to have waited for its data: it may be bound
     * by its device, whatever is predicted, and the larger ratio counts */
    bool unbound;
};

/* What differs, a bit 1 << enum dn_gap each; 0: nothing that changes a step. The
 * amount of work and wishes do not count.
 */
unsigned dn_changes_between (const struct dn_setting *measured,
                             const struct dn_setting *wanted);

/* The description without what a time is translated over within a network: the batch
 * and other sizes of a step, the precision, and the GPUs.
 */
struct dn_spec dn_spec_of_kin (const struct dn_spec *spec);

/* The law of one step, from the seconds that one took. Its quantiles are static; p50 is
 * -1 where an estimate has no step.
 */
struct dn_range dn_translate_step (double step_s,
                                   const struct dn_setting *measured,
                                   const struct dn_setting *wanted);

/* Wanted over measured seconds of a step that waits for no data; not positive if one is
 * unknown.
 */
double dn_free_ratio (const struct dn_setting *measured,
                      const struct dn_setting *wanted);

/* The law of a whole run, from the row of the measured configuration. 'work' is that of
 * the wanted run in the row's unit (dn_learned_work ()); of DN_WORK_PREDICTED, seconds
 * that are predicted on the wanted device. The start-up stays as it is. A run of no
 * stated amount of work processes as many samples as those of the row. The longest run
 * and work outside that of the runs count as in dn_app_row_law ().
 */
struct dn_range dn_learned_translate (const struct dn_app_row *row,
                                      double work,
                                      const struct dn_setting *measured,
                                      const struct dn_setting *wanted) DN_COLD;

#endif
