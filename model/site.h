/* site.h - everything an installation has configured, read once and const ever after
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_H
#define DN_SITE_H

#include "hardware/hardware.h"
#include "policy/policy.h"
#include "policy/scope.h"
#include "predict/predict.h"
#include "spec/spec.h"

#define DN_SITE_PATH_MAX 512

/* Where a rule of the site came from, beside a line of dnnest.conf. */
#define DN_ORIGIN_DEFAULT 0
#define DN_ORIGIN_SLURM   (-1) /* slurm.conf */
#define DN_ORIGIN_SETTING (-2) /* --set of the command line */

struct dn_site {
    struct dn_rules rules;     /* of the whole site, slurm.conf's over dnnest.conf's */
    struct dn_origins origins; /* where each came from */
    uint64_t bound;            /* those of slurm.conf, which no Policy line undercuts */
    struct dn_policies policies; /* other rules for some; owned */
    bool opt_in_all;             /* OptIn=all holds for somebody */
    bool time_min_refused;       /* TimeLimit=time_min was asked for, and is keep now */
    struct dn_constants constants;
    struct dn_catalogue catalogue; /* owned */
    struct dn_gpu_types gpu_types; /* points into the catalogue */
    struct dn_datasets datasets;
    struct dn_bundle *bundle; /* NULL: none, the white box alone; owned */
    /* Why there is none, where one was meant to be; or empty. A broken bundle does not
     * make a site unusable. */
    struct dn_err bundle_err;
    double decision_ms;      /* DecisionTime=; 0: no limit */
    double carbon_g_per_kwh; /* Carbon=, -1 unset */
    double pue;              /* PUE= */
    double core_jpeg;        /* CoreJpeg=, images/s; -1 unset, as the next two */
    double core_tokens;      /* CoreTokens=, 1/s */
    double core_bytes;       /* CoreBytes=, byte/s */
    char hardware_dir[DN_SITE_PATH_MAX];  /* HardwareDir= */
    char datasets_file[DN_SITE_PATH_MAX]; /* Datasets= */
    char bundle_dir[DN_SITE_PATH_MAX];    /* Bundle=; "none" */
    char bundle_keys[DN_SITE_PATH_MAX];   /* BundleKeys=; "none" */
    char sidecar_dir[DN_SITE_PATH_MAX];  /* SidecarDir=; "": no file of users is read */
    char probe_dir[DN_SITE_PATH_MAX];    /* ProbeDir=; "none" */
    char decision_log[DN_SITE_PATH_MAX]; /* DecisionLog=; "": none */
    char counters[DN_SITE_PATH_MAX];     /* Counters=; "": none */
};

enum dn_site_key_type {
    DN_SITE_PATH,
    DN_SITE_PATH_OR_NONE, /* "none": there is none */
    DN_SITE_REAL
};

/* Keys of dnnest.conf that are neither rules nor Gpu lines. */
struct dn_site_key {
    const char *name;
    size_t offset; /* in struct dn_site */
    const char *help;
    enum dn_site_key_type type;
    double min; /* of a real */
    double max;
};
const struct dn_site_key *dn_site_keys (int *n_keys);

/* The value of a path that is optional and not there. */
#define DN_SITE_NONE "none"

/* An empty site with all defaults, and where its catalogue and data sets are read from
 * unless dnnest.conf says otherwise.
 */
int dn_site_init (struct dn_site *site,
                  const char *hardware_dir,
                  const char *datasets_file,
                  struct dn_err *err);

/* Read the paths out of the text of dnnest.conf; everything else in it is left for
 * dn_site_read (). */
int dn_site_read_paths (struct dn_site *site,
                        struct dn_span text,
                        const char *file,
                        struct dn_err *err);

/* Where errors go when the first one is not to end the reading. */
struct dn_problems {
    void (*tell) (void *to, const struct dn_err *err);
    void *to;
    int n; /* so far */
};

/* Tell of 'err'; return 0. Without 'problems', -1. */
int dn_problems_take (struct dn_problems *problems, const struct dn_err *err);

int dn_site_read_paths_with (struct dn_site *site,
                             struct dn_span text,
                             const char *file,
                             struct dn_problems *problems,
                             struct dn_err *err);

/* Read dnnest.conf. The catalogue must have been read before: "Gpu" lines name its
 * devices. Users and groups of Policy lines are known by number only. Errors name file
 * and line.
 */
int dn_site_read (struct dn_site *site,
                  struct dn_span text,
                  const char *file,
                  struct dn_err *err);

/* The same with names looked up by 'people' (NULL: none is known) and with 'problems'
 * (NULL: the first error ends it). 'gpus' is false where the catalogue could not be
 * read: then Gpu lines are passed over.
 */
struct dn_site_reading {
    const struct dn_people *people;
    struct dn_problems *problems;
    bool gpus;
};
int dn_site_read_with (struct dn_site *site,
                       struct dn_span text,
                       const char *file,
                       const struct dn_site_reading *reading,
                       struct dn_err *err);

/* Apply the "dnnest_<key>=<value>" entries of SlurmctldParameters; others are passed
 * over. 'parameters' may be NULL.
 *
 * They go over the rules of the whole site, and as one more Policy line that matches
 * all and comes last they bound what the others set. So dnnest_mode=observe stops
 * dnnest for everybody at once, whatever dnnest.conf says; and dnnest_mode=enforce does
 * not touch those whom a Policy line spares.
 */
int dn_site_override (struct dn_site *site, const char *parameters, struct dn_err *err);

/* Put what was measured of the site's loaders over the constants, whose last change it
 * has to be.
 */
void dn_site_set_loaders (struct dn_site *site);

/* Apply "key=value,..." over everything, Policy lines too: what somebody at the command
 * line wants to try. 'settings' may be NULL.
 */
int dn_site_set (struct dn_site *site, const char *settings, struct dn_err *err);

/* Does Slurm of that version (2411 for 24.11) take a least time for a wish? Only then
 * may dnnest set one: before, what backfill starts is killed at it
 * (plugin/CONTRACT.md).
 * 'parameters' are SchedulerParameters and may be NULL.
 */
bool dn_site_time_min_is_soft (int version, const char *parameters);

#define DN_SITE_TIME_MIN_REFUSED                                                       \
    "TimeLimit=time_min needs Slurm 24.11 and "                                        \
    "SchedulerParameters=time_min_as_soft_limit: time limits are kept"

/* Turn TimeLimit=time_min into keep wherever it is set. */
void dn_site_refuse_time_min (struct dn_site *site);

/* The rules for a job. 'origins' may be NULL. */
struct dn_rules dn_site_rules (const struct dn_site *site,
                               const struct dn_submitter *submitter,
                               struct dn_origins *origins);

/* Where the hook for jobs with probe= is on the nodes; NULL: there is none. */
const char *dn_site_probe_dir (const struct dn_site *site);

/* What the site predicts with. Borrows from it. */
struct dn_predictor dn_site_predictor (const struct dn_site *site);

/* NULL-safe. */
void dn_site_free (struct dn_site *site);

#endif
