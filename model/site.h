/* site.h - the configuration of an installation, read once and then constant
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_H
#define DN_SITE_H

#include "graph/network.h"
#include "hardware/hardware.h"
#include "policy/policy.h"
#include "policy/scope.h"
#include "predict/predict.h"
#include "spec/spec.h"

#define DN_SITE_PATH_MAX 512

/* Where a rule of the site came from, if not from a line of dnnest.conf. */
#define DN_ORIGIN_DEFAULT 0
#define DN_ORIGIN_SLURM   (-1) /* slurm.conf */
#define DN_ORIGIN_SETTING (-2) /* --set of the command line */

struct dn_site {
    struct dn_rules rules;     /* of the whole site; slurm.conf overrides dnnest.conf */
    struct dn_origins origins; /* where each came from */
    uint64_t bound;            /* those of slurm.conf, which no Policy line relaxes */
    struct dn_policies policies; /* other rules for some jobs; owned */
    bool opt_in_all;             /* OptIn=all or history holds for any job */
    bool time_min_refused;       /* TimeLimit=time_min was set and became keep */
    bool time_min_is_soft;       /* so TimeLimit=auto is time_min, else limit */
    struct dn_constants constants;
    struct dn_catalogue catalogue; /* owned */
    struct dn_gpu_types gpu_types; /* points into the catalogue */
    struct dn_datasets datasets;
    struct dn_networks networks; /* that are files; owned */
    /* Why files of networks are not loaded: the first error, and how many; or empty. */
    struct dn_err networks_err;
    int n_networks_err;
    struct dn_bundle *bundle; /* NULL: none, white box only; owned */
    /* Why the configured bundle is not loaded; or empty. A site with a broken bundle is
     * usable. */
    struct dn_err bundle_err;
    double decision_ms;        /* DecisionTime=; 0: no limit */
    double snapshot_age_s;     /* SnapshotAge= */
    double watch_interval_s;   /* WatchInterval= */
    double guard_interval_s;   /* GuardInterval= */
    double learn_interval_s;   /* LearnInterval= */
    double collect_interval_s; /* CollectInterval= */
    double keep_jobs_days;     /* KeepJobs= */
    double carbon_g_per_kwh;   /* Carbon=, -1 unset */
    double pue;                /* PUE= */
    double core_jpeg;          /* CoreJpeg=, images/s; -1 unset, as the next two */
    double core_tokens;        /* CoreTokens=, 1/s */
    double core_bytes;         /* CoreBytes=, byte/s */
    char hardware_dir[DN_SITE_PATH_MAX];  /* HardwareDir= */
    char datasets_file[DN_SITE_PATH_MAX]; /* Datasets= */
    char zoo_dir[DN_SITE_PATH_MAX];       /* ZooDir= */
    char bundle_dir[DN_SITE_PATH_MAX];    /* Bundle=; "none" */
    char sidecar_dir[DN_SITE_PATH_MAX];  /* SidecarDir=; "": no users' files are read */
    char probe_dir[DN_SITE_PATH_MAX];    /* ProbeDir=; "none" */
    char progress_dir[DN_SITE_PATH_MAX]; /* ProgressDir=; "": jobs report nothing */
    char output_dir[DN_SITE_PATH_MAX];   /* OutputDir=; "": no outputs are read */
    char decision_log[DN_SITE_PATH_MAX]; /* DecisionLog=; "": none */
    char counters[DN_SITE_PATH_MAX];     /* Counters=; "": none */
    char state_dir[DN_SITE_PATH_MAX];    /* StateDir= */
    char accounting[DN_SITE_PATH_MAX];   /* Accounting=; "slurmdbd", "none" or a URL */
    char accounting_token[DN_SITE_PATH_MAX];   /* AccountingToken=; "none" */
    char prometheus[DN_SITE_PATH_MAX];         /* Prometheus=, a URL; "none" */
    char prometheus_queries[DN_SITE_PATH_MAX]; /* PrometheusQueries=; "none" */
    char control_salt[DN_NAME_MAX];            /* ControlSalt=; "": none */
};

enum dn_site_key_type {
    DN_SITE_PATH,
    DN_SITE_PATH_OR_NONE, /* may be "none" */
    DN_SITE_ACCOUNTING,   /* "slurmdbd", "none", or a URL: http://, https://, unix:/ */
    DN_SITE_URL,          /* "none", or a URL: http://, https:// */
    DN_SITE_REAL,
    DN_SITE_SECRET /* a text that is never shown, of less than DN_NAME_MAX bytes */
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

/* The value of an optional path that is unset. */
#define DN_SITE_NONE "none"

/* The accounting that Slurm itself keeps. */
#define DN_SITE_SLURMDBD "slurmdbd"

/* An empty site with all defaults. Its catalogue and data sets are read from the two
 * paths unless dnnest.conf sets others.
 */
int dn_site_init (struct dn_site *site,
                  const char *hardware_dir,
                  const char *datasets_file,
                  struct dn_err *err);

/* Read the paths in the text of dnnest.conf; dn_site_read () reads everything else. */
int dn_site_read_paths (struct dn_site *site,
                        struct dn_span text,
                        const char *file,
                        struct dn_err *err);

/* Receives the errors when the first one must not end the reading. */
struct dn_problems {
    void (*report) (void *to, const struct dn_err *err);
    void *to;
    int n; /* reported so far */
};

/* Report 'err' and return 0; return -1 when 'problems' is NULL. */
int dn_problems_take (struct dn_problems *problems, const struct dn_err *err);

int dn_site_read_paths_with (struct dn_site *site,
                             struct dn_span text,
                             const char *file,
                             struct dn_problems *problems,
                             struct dn_err *err);

/* Read dnnest.conf. The catalogue must have been read before: "Gpu" lines name its
 * devices. Policy lines can give users and groups by number only. Errors name file and
 * line.
 */
int dn_site_read (struct dn_site *site,
                  struct dn_span text,
                  const char *file,
                  struct dn_err *err);

/* The same, with names looked up by 'people' (NULL: no names) and with 'problems'
 * (NULL: the first error ends the reading). 'gpus' is false where the catalogue could
 * not be read: then Gpu lines are skipped.
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

/* Apply the "dnnest_<key>=<value>" entries of SlurmctldParameters and skip others.
 * 'parameters' may be NULL.
 *
 * They override the rules of the whole site. They also count as one more Policy line,
 * which matches all jobs and comes last, so that they bound the others. So
 * dnnest_mode=observe stops dnnest for all jobs regardless of dnnest.conf, and
 * dnnest_mode=enforce does not affect jobs for which a Policy line has a stricter mode.
 */
int dn_site_override (struct dn_site *site, const char *parameters, struct dn_err *err);

/* Set the constants of the loaders to the site's measured values. This must be the last
 * change of the constants.
 */
void dn_site_set_loaders (struct dn_site *site);

/* Apply "key=value,..." of --set, which overrides everything, Policy lines too.
 * 'settings' may be NULL.
 */
int dn_site_set (struct dn_site *site, const char *settings, struct dn_err *err);

/* 24.11: the first version whose backfill was observed to keep the limit. */
#define DN_SOFT_TIME_MIN_SLURM 2411

/* Is --time-min a soft limit in that version of Slurm (2411 for 24.11)? Only then may
 * dnnest set it: otherwise a job that backfill starts is killed at that time
 * (doc/design.md). 'parameters' are SchedulerParameters and may be NULL.
 */
bool dn_site_time_min_is_soft (int version, const char *parameters);

/* Turn TimeLimit=time_min into keep wherever it is set. */
void dn_site_refuse_time_min (struct dn_site *site);

/* What TimeLimit=auto is on this controller. */
enum dn_time_mode dn_site_auto_time (const struct dn_site *site);

/* The rules for a job, as configured. 'origins' may be NULL. */
struct dn_rules dn_site_rules (const struct dn_site *site,
                               const struct dn_submitter *submitter,
                               struct dn_origins *origins);

/* Is the snapshot (NULL: no) neither older than SnapshotAge nor from the future? */
bool dn_site_believes (const struct dn_site *site,
                       const struct dn_cluster *cluster,
                       int64_t now_s);

/* The same, with what TimeLimit=auto is in its place. */
struct dn_rules dn_site_rules_in_force (const struct dn_site *site,
                                        const struct dn_submitter *submitter);

/* Where the hook for jobs with probe= is on the nodes; NULL: there is none. */
const char *dn_site_probe_dir (const struct dn_site *site);

/* The predictor of the site, which borrows from it. */
struct dn_predictor dn_site_predictor (const struct dn_site *site);

/* NULL-safe. */
void dn_site_free (struct dn_site *site);

#endif
