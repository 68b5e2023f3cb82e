/* tuning.h - what a site has learned from its own runs
 *
 * In: the text of site.json (dnnest(1), JSON), made by learn/site_fit.h and edited
 * by people. Out: struct dn_tuning: the white box's constants as they are here, a scale
 * per device and per application, and how far off a prediction still is. Const after
 * reading, shared by all threads.
 *
 * time = white box (constants) * scale * those of device, application, precision and
 *        what they have together * what runs that are alike took (history.h)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TUNING_H
#define DN_TUNING_H

#include "predict/history.h"

struct json_object;

/* Version 1 had no history. */
#define DN_TUNING_FORMAT 2

/* An application, a device and a precision. */
#define DN_SCALE_NAME_MAX (3 * DN_NAME_MAX)

/* Measured over predicted, and the standard deviation of its logarithm. */
struct dn_scale {
    char name[DN_SCALE_NAME_MAX];
    double scale;
    double sigma;
    double doubling; /* factor per doubling of the GPUs; 1 but for applications */
    int64_t runs;    /* that it was learned from; 0: none, the scale is 1 */
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
    struct dn_scales applications;
    /* An application on one device in one precision, or "*" for any of them. */
    struct dn_scales cells;
    /* Spread of ln (measured / predicted) where the cell has been seen, where both
     * application and device have, where only the device has, and where neither has. */
    double cell;
    double known;
    double device;
    double none;
    struct dn_history *history; /* NULL: none; owned */
};

/* A tuning that changes nothing, of a site without runs. NULL without memory. */
struct dn_tuning *dn_tuning_new (void);

/* Read site.json. NULL with 'err' naming the member. */
struct dn_tuning *dn_tuning_read (struct dn_span text, struct dn_err *err);

/* The same as a document, with members in order; NULL without memory. Freed with
 * json_object_put ().
 */
struct json_object *dn_tuning_write (const struct dn_tuning *tuning);

/* NULL-safe. */
void dn_tuning_free (struct dn_tuning *tuning);

/* Add a scale, keeping the order of names. */
int dn_scales_add (struct dn_scales *scales,
                   const struct dn_scale *scale,
                   struct dn_err *err);

/* The scale of that name, or NULL. */
const struct dn_scale *dn_scales_find (const struct dn_scales *scales,
                                       const char *name);

/* The name under which runs of an application are put together: app= if it is given,
 * else the model's; "" for neither.
 */
const char *dn_tuning_application (const struct dn_spec *spec);

/* The name of the precision that was asked for, or "unknown". */
void dn_tuning_precision (const struct dn_spec *spec, char name[DN_NAME_MAX]);

/* The name of what runs share by this effect: of a device, an application, or
 * "APPLICATION DEVICE PRECISION" with "*" for what the effect leaves open; "" of the
 * site.
 */
void dn_tuning_label (enum dn_effect effect,
                      const struct dn_trace *trace,
                      char name[DN_SCALE_NAME_MAX]);

/* The constants to predict with. NULL-safe: the shipped ones. */
const struct dn_constants *dn_tuning_constants (const struct dn_tuning *tuning);

/* What to multiply the step time with, and the spread that is left; 'features' are
 * those of the run by the constants that ship. NULL-safe: 1, and no spread (0).
 */
struct dn_range dn_tuning_step (const struct dn_tuning *tuning,
                                const struct dn_spec *spec,
                                const struct dn_device *device,
                                const float features[DN_N_FEATURES]);

/* The spread and the law of a step time that are those of 'base' without the site's
 * runs, 'step' being what dn_tuning_step () says. NULL-safe.
 *
 * With a history the site's own are taken where they bound the time closer, or where
 * its runs scatter more than was thought. Without one, where the site knows better it
 * is the site's, the more the more runs there are. Where it knows less, because it has
 * not seen the application, that of 'base' stays, but for what even alike runs of the
 * site scatter by.
 */
struct dn_range dn_tuning_spread (const struct dn_tuning *tuning,
                                  const struct dn_range *step,
                                  struct dn_range base);

#endif
