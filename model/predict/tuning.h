/* tuning.h - what a site has learned from its own runs
 *
 * In: the text of site.json (dnnest-dev(1)), made by learn/site_fit.h and edited
 * by people. Out: struct dn_tuning: the white box's constants as they are here, a scale
 * of the site and one per device, and what each user's runs of each application took.
 * Const after reading, shared by all threads.
 *
 * time = white box (constants) * scale * that of the device
 *        * what the user's runs of the application that are alike took (history.h)
 *
 * Constants and scales are learned from all users. They move the median of a prediction
 * both ways, but its upper bounds only up: these are not below those of the shipped
 * constants and the user's own runs (dn_tuning_floor ()).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TUNING_H
#define DN_TUNING_H

#include "predict/history.h"

struct json_object;

/* Versions 1 and 2 had scales of applications and of what they share with devices and
 * precisions, and compared the runs of all applications. In version 3 no run had a
 * user.
 */
#define DN_TUNING_FORMAT 4
#define DN_TUNING_KEY    "dnnest_site" /* of the format */

/* Measured over predicted, and the standard deviation of its logarithm. */
struct dn_scale {
    char name[DN_NAME_MAX];
    double scale;
    double sigma;
    int64_t runs; /* that it was learned from; 0: none, the scale is 1 */
};

struct dn_scales {
    struct dn_scale *rows; /* by name, owned */
    int n_rows;
};

struct dn_tuning {
    int64_t runs;
    struct dn_constants constants; /* the shipped ones, and the site's own over them */
    struct dn_tuned_constant {
        bool set;       /* the site has its own */
        double shipped; /* around which it was fitted */
        double sigma;   /* of its logarithm */
    } tuned[DN_CONSTANT_FIELDS];
    struct dn_scale step; /* of all times; has no name, nor have the next two */
    struct dn_scale memory;
    struct dn_scale power;
    struct dn_scales devices;
    struct dn_history *history; /* NULL: none; owned */
};

/* A tuning that changes nothing, of a site without runs. NULL without memory. */
struct dn_tuning *dn_tuning_new (void);

/* Read site.json. NULL with 'err' naming the member. */
struct dn_tuning *dn_tuning_read (struct dn_span text, struct dn_err *err) DN_COLD;

/* The same as a document, with members in order; NULL without memory. Freed with
 * json_object_put ().
 */
struct json_object *dn_tuning_write (const struct dn_tuning *tuning) DN_COLD;

/* NULL-safe. */
void dn_tuning_free (struct dn_tuning *tuning) DN_COLD;

/* Add a scale, keeping the order of names. */
int dn_scales_add (struct dn_scales *scales,
                   const struct dn_scale *scale,
                   struct dn_err *err);

/* The scale of that name, or NULL. */
const struct dn_scale *dn_scales_find (const struct dn_scales *scales,
                                       const char *name);

/* The constants to predict with. NULL-safe: the shipped ones. */
const struct dn_constants *dn_tuning_constants (const struct dn_tuning *tuning);

/* What to multiply the step time with, and the spread that is left, for a run of
 * 'user'; 'features' are those of the run by the constants that ship. NULL-safe: 1, and
 * no spread (0).
 */
struct dn_outlook dn_tuning_step (const struct dn_tuning *tuning,
                                  int64_t user,
                                  const struct dn_spec *spec,
                                  const struct dn_device *device,
                                  const float features[DN_N_FEATURES]);

/* The spread and the law of a step time that are those of 'base' without the site's
 * runs, 'step' being what dn_tuning_step () says. NULL-safe.
 *
 * Of an application that the user has run, its own are taken where they bound the time
 * closer, or where its runs scatter more than was thought. Of another one they are
 * taken only where they bound it wider.
 */
struct dn_range dn_tuning_spread (const struct dn_tuning *tuning,
                                  const struct dn_outlook *step,
                                  struct dn_range base);

/* The law below which no upper bound may be: that of a step time whose median would be
 * 'ratio' times the site's without the runs of others, and whose spread would be that
 * of 'base', or of the user's own runs. Ratio 0 where nothing was learned: NULL, or
 * without a history, as of a file that was written by hand.
 */
struct dn_range_floor dn_tuning_floor (const struct dn_tuning *tuning,
                                       const struct dn_outlook *step,
                                       struct dn_range base,
                                       double ratio);

#endif
