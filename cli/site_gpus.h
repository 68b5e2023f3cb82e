/* site_gpus.h - the GPUs that a command looks at
 *
 * They have two names each: that of the gres type, as in "--gpus=a100:4", and that of
 * the device in the hardware catalogue, "a100_sxm4_40gb". Gpu lines of dnnest.conf say
 * which device a type is; without them the types of a snapshot are guessed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_GPUS_H
#define DN_SITE_GPUS_H

#include "hardware/cluster.h"
#include "options.h"
#include "subject.h"

struct dn_site_gpu {
    char name[DN_NAME_MAX]; /* as the user knows it: of the type, or of the device */
    bool is_type;
    const struct dn_device *device; /* in the catalogue of the site */
    double cost;                    /* per hour */
    struct dn_gpus_now now;
};

enum dn_gpus_from {
    DN_GPUS_NAMED,     /* by --gpu */
    DN_GPUS_CONF,      /* all types of dnnest.conf */
    DN_GPUS_SNAPSHOT,  /* all types of the snapshot, as far as their names are known */
    DN_GPUS_CATALOGUE, /* all devices but CPUs, or the usual ones */
};

struct dn_site_gpus {
    const struct dn_site *site;       /* borrowed */
    const struct dn_cluster *cluster; /* borrowed while GPUs are found; may be NULL */
    struct dn_site_gpu list[DN_DEVICES_MAX];
    const struct dn_device *devices[DN_DEVICES_MAX]; /* those of the list */
    int n;
    enum dn_gpus_from from;
};

/* What a user names; no names: the types of the site. */
struct dn_gpus_wanted {
    char names[DN_DEVICES_MAX][DN_NAME_MAX];
    int n_names;
    bool all;   /* the catalogue; overrides the names */
    bool usual; /* of a catalogue: those that people have, without names */
};

/* Take the argument of --gpu, names with commas between, into a struct dn_gpus_wanted.
 * Return an enum dn_exit.
 */
int dn_gpus_wanted_take (struct dn_options *given, void *to);

/* Fill 'gpus', which has site and cluster. -1 with 'err' for an unknown name. */
int dn_site_gpus_find (struct dn_site_gpus *gpus,
                       const struct dn_gpus_wanted *wanted,
                       struct dn_err *err);

/* Add a device of the catalogue unless it is in the list. */
void dn_site_gpus_add (struct dn_site_gpus *gpus, const struct dn_device *device);

/* Add one GPU by its name, likewise. */
int dn_site_gpus_add_name (struct dn_site_gpus *gpus,
                           const char *name,
                           struct dn_err *err);

/* The run of an estimate on one of these GPUs, at this site. */
struct dn_forecast dn_site_gpus_run (const struct dn_subject *subject,
                                     const struct dn_site_gpu *gpu,
                                     const struct dn_estimate *estimate);

/* Predict one run per GPU; 'runs' borrows 'estimates'. -1 with 'err'. */
int dn_site_gpus_predict (const struct dn_subject *subject,
                          const struct dn_site_gpus *gpus,
                          struct dn_forecast *runs,
                          struct dn_estimate *estimates,
                          struct dn_err *err);

/* GPUs of a type in the snapshot (NULL: unknown). */
struct dn_gpus_now dn_site_gpus_now (const struct dn_cluster *cluster,
                                     const struct dn_gpu_type *type);

/* Print which devices the types are, and how to see others. */
void dn_site_gpus_explain (const struct dn_site_gpus *gpus);

#endif
