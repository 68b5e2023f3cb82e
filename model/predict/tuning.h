/* tuning.h - what a site has learned from its own runs
 *
 * In: the text of site.json (dnnest(1), JSON), made by learn/site_fit.h and edited
 * by people. Out: struct dn_tuning: the white box's constants as they are here, a scale
 * per device and per application, and how far off a prediction still is. Const after
 * reading, shared by all threads.
 *
 * time = white box (constants) * scale * those of device, application and cell
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TUNING_H
#define DN_TUNING_H

#include "predict/predict.h"

struct json_object;

#define DN_TUNING_FORMAT 1

/* An application, a device and a precision. */
#define DN_SCALE_NAME_MAX (2 * DN_NAME_MAX + 16)

/* Measured over predicted, and the standard deviation of its logarithm. */
struct dn_scale {
    char name[DN_SCALE_NAME_MAX];
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
    struct dn_scales applications;
    struct dn_scales cells; /* an application on one device in one precision */
    /* Spread of ln (measured / predicted) where the cell has been seen, where both
     * application and device have, where only the device has, and where neither has. */
    double cell;
    double known;
    double device;
    double none;
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

/* The name of a run's cell: "APPLICATION DEVICE PRECISION". */
void dn_tuning_cell (const struct dn_spec *spec,
                     const struct dn_device *device,
                     char name[DN_SCALE_NAME_MAX]);

/* The constants to predict with. NULL-safe: the shipped ones. */
const struct dn_constants *dn_tuning_constants (const struct dn_tuning *tuning);

/* What to multiply the step time with, and the spread that is left. NULL-safe: 1, and
 * no spread (0).
 */
struct dn_range dn_tuning_step (const struct dn_tuning *tuning,
                                const struct dn_spec *spec,
                                const struct dn_device *device);

/* The spread of a step time that is 'sigma' without the site's runs, 'step' being what
 * dn_tuning_step () says. Where the site knows better it is the site's, the more the
 * more runs there are. Where it knows less, because it has not seen the application,
 * 'sigma' stays, but for what even alike runs of the site scatter by. NULL-safe.
 */
double dn_tuning_sigma (const struct dn_tuning *tuning,
                        const struct dn_range *step,
                        double sigma);

#endif
