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
#include "request/vocabulary.h"
#include "spec/spec.h"

#define DN_SITE_PATH_MAX 512

/* Where a rule of the site came from, if not from a line of dnnest.conf. */
#define DN_ORIGIN_DEFAULT 0
#define DN_ORIGIN_SLURM   (-1) /* slurm.conf */
#define DN_ORIGIN_SETTING (-2) /* --set of the command line */

/* The value of an optional path that is unset. */
#define DN_SITE_NONE "none"

/* The accounting that Slurm itself keeps. */
#define DN_SITE_SLURMDBD "slurmdbd"

/* Keys of dnnest.conf that are neither rules nor Gpu lines: TEXT (its type, its member
 * of struct dn_site, its name in the file, default, help) and REAL (member, name, min,
 * max, default, help).
 *
 * Finished jobs teach, and nothing waits for them; a year of them shows every season of
 * a site.
 */
/* clang-format off */
#define DN_SITE_KEYS(TEXT, REAL)                                                       \
    TEXT (PATH, data_dir, "DataDir", NULL,                                             \
          "directory of the hardware catalogue, data sets, networks and model bundle") \
    TEXT (PATH, sidecar_dir, "SidecarDir", NULL,                                       \
          "directory of the sidecars that comments name (dnnest:@FILE)")               \
    TEXT (PATH_OR_NONE, python_dir, "PythonDir", DNNEST_PYTHON_DIR,                    \
          "directory of the Python modules, on the nodes, or none")                    \
    TEXT (PATH, progress_dir, "ProgressDir", NULL,                                     \
          "directory in which jobs report their progress")                             \
    TEXT (PATH, output_dir, "OutputDir", NULL,                                         \
          "directory below which dnnestd reads the output of failed jobs")             \
    TEXT (PATH, decision_log, "DecisionLog", NULL,                                     \
          "file to which a line of JSON is appended per decision")                     \
    TEXT (PATH, counters, "Counters", NULL,                                            \
          "file of counters for Prometheus, rewritten every five seconds")             \
    TEXT (PATH, state_dir, "StateDir", DNNEST_STATE_DIR "/%c",                         \
          "directory of the files of dnnestd; %c is ClusterName of slurm.conf")        \
    REAL (snapshot_age_s, "SnapshotAge", 1, 86400, "300",                              \
          "age in seconds up to which decisions use the snapshot of the cluster")      \
    REAL (start_changes, "StartChanges", 0, 10000, "20",                               \
          "jobs changed in the first hour after a start, doubled each hour; 0: all")   \
    REAL (keep_jobs_days, "KeepJobs", 1, 3660, "400",                                  \
          "days that finished jobs are kept")                                          \
    TEXT (ACCOUNTING, accounting, "Accounting", DN_SITE_SLURMDBD,                      \
          "where dnnestd reads finished jobs: slurmdbd or none")                       \
    TEXT (URL, prometheus, "Prometheus", DN_SITE_NONE,                                 \
          "URL of the Prometheus that has the metrics of GPUs, or none")               \
    REAL (carbon_g_per_kwh, "Carbon", 0, 2000, NULL,                                   \
          "grams of CO2 per kWh of the grid")                                          \
    /* End of DN_SITE_KEYS */

/* Others that are obeyed and have no place in the manual: of tests, which cannot wait;
 * of loaders, which 'dnnest-dev bench conf' writes; and those that were dropped.
 * DecisionTime is many times what a decision takes with a handful of GPU types, and
 * twice what the largest network of the zoo takes with 32 (2.5 ms): no ordinary job
 * exceeds it. A snapshot is believed until five were missed.
 */
#define DN_SITE_OTHER_KEYS(TEXT, REAL)                                                 \
    TEXT (PATH, hardware_dir, "HardwareDir", NULL,                                     \
          "directory of the hardware catalogue, one file per device")                  \
    TEXT (PATH, datasets_file, "Datasets", NULL, "table of data sets")                 \
    TEXT (PATH, zoo_dir, "ZooDir", DNNEST_ZOO_DIR,                                     \
          "directory of the networks that are files")                                  \
    TEXT (PATH_OR_NONE, bundle_dir, "Bundle", DN_SITE_NONE,                            \
          "directory of the model bundle, or none")                                    \
    REAL (decision_ms, "DecisionTime", 0, 1000, "5",                                   \
          "CPU time in milliseconds after which a decision is given up; 0: no limit")  \
    REAL (watch_interval_s, "WatchInterval", 1, 3600, "60",                            \
          "seconds between two snapshots of the cluster by dnnestd")                   \
    REAL (steer_interval_s, "SteerInterval", 1, 3600, "60",                            \
          "seconds between two passes of dnnestd over the pending open jobs")          \
    REAL (guard_interval_s, "GuardInterval", 1, 600, "30",                             \
          "seconds between two passes of dnnest-guard; below 12 its timer is slow")    \
    REAL (collect_interval_s, "CollectInterval", 10, 86400, "300",                     \
          "seconds between two collections of finished jobs by dnnestd")               \
    REAL (learn_interval_s, "LearnInterval", 1, 2592000, "3600",                       \
          "seconds between two runs in which dnnestd learns from finished jobs")       \
    TEXT (PATH_OR_NONE, prometheus_queries, "PrometheusQueries", DN_SITE_NONE,         \
          "file of the expressions that Prometheus is asked for, or none: built-in "   \
          "ones")                                                                      \
    REAL (core_jpeg, "CoreJpeg", 20, 10000, NULL,                                      \
          "images per second that one core decodes and resizes")                       \
    REAL (core_tokens, "CoreTokens", 1000, 1e8, NULL,                                  \
          "tokens of text per second that one core delivers")                          \
    REAL (core_bytes, "CoreBytes", 1e6, 1e11, NULL,                                    \
          "bytes of undecoded arrays per second that one core delivers")               \
    /* End of DN_SITE_OTHER_KEYS */
/* clang-format on */

#define DN_SITE_TEXT_MEMBER(type, member, ...) char member[DN_SITE_PATH_MAX];
#define DN_SITE_REAL_MEMBER(member, ...)       double member;

struct dn_site {
    struct dn_rules rules;     /* of the whole site; slurm.conf overrides dnnest.conf */
    struct dn_origins origins; /* where each came from */
    char cluster[DN_NAME_MAX]; /* ClusterName of slurm.conf; "" not known */
    uint64_t bound;            /* those of slurm.conf, which no Policy line relaxes */
    struct dn_policies policies; /* other rules for some jobs; owned */
    bool opt_in_all;             /* OptIn=all or history, or Capture=yes, for any job */
    bool enforces;               /* Mode=enforce, for any job */
    bool time_min_refused;       /* TimeLimit=time_min was set and became keep */
    bool time_min_is_soft;       /* so TimeLimit=auto is time_min, else limit */
    struct dn_constants constants;
    struct dn_catalogue catalogue; /* owned */
    struct dn_words words;         /* the index of those of scripts */
    struct dn_gpu_types gpu_types; /* points into the catalogue */
    struct dn_datasets datasets;
    struct dn_networks networks; /* that are files; owned */
    /* Why files of networks are not loaded: the first error, and how many; or empty. */
    struct dn_err networks_err;
    int n_networks_err;
    unsigned dropped;         /* a bit for each row of DN_DROPPED_KEYS that was set */
    struct dn_bundle *bundle; /* NULL: none, white box only; owned */
    /* Why the configured bundle is not loaded; or empty. A site with a broken bundle is
     * usable. */
    struct dn_err bundle_err;
    /* Reals that are not set are -1, texts "". */
    DN_SITE_KEYS (DN_SITE_TEXT_MEMBER, DN_SITE_REAL_MEMBER)
    DN_SITE_OTHER_KEYS (DN_SITE_TEXT_MEMBER, DN_SITE_REAL_MEMBER)
};

enum dn_site_key_type {
    DN_SITE_PATH,
    DN_SITE_PATH_OR_NONE, /* may be "none" */
    DN_SITE_ACCOUNTING,   /* "slurmdbd", "none"; a URL, which dnnestd refuses */
    DN_SITE_URL,          /* "none", or a URL: http://, https:// */
    DN_SITE_REAL
};

struct dn_site_key {
    const char *name;
    size_t offset; /* in struct dn_site */
    const char *help;
    enum dn_site_key_type type;
    double min; /* of a real */
    double max;
    const char *value; /* the default; NULL: unset */
};
/* DN_SITE_KEYS */
const struct dn_site_key *dn_site_keys (int *n_keys);

/* An empty site with all defaults. Its catalogue and data sets are read from the two
 * paths unless dnnest.conf sets others.
 */
int dn_site_init (struct dn_site *site,
                  const char *hardware_dir,
                  const char *datasets_file,
                  struct dn_err *err) DN_COLD;

/* Receives the errors when the first one must not end the reading. */
struct dn_problems {
    void (*report) (void *to, const struct dn_err *err);
    void *to;
    int n; /* reported so far */
};

/* Report 'err' and return 0; return -1 when 'problems' is NULL. */
int dn_problems_take (struct dn_problems *problems, const struct dn_err *err) DN_COLD;

/* Read the paths in the text of dnnest.conf; dn_site_read () reads everything else.
 * 'problems' may be NULL: then the first error ends the reading.
 */
int dn_site_read_paths (struct dn_site *site,
                        struct dn_span text,
                        const char *file,
                        struct dn_problems *problems,
                        struct dn_err *err) DN_COLD;

/* How to read dnnest.conf; NULL: the catalogue was read, and all else is NULL. */
struct dn_site_reading {
    const struct dn_people *people; /* NULL: users and groups by number only */
    struct dn_problems *problems;   /* NULL: the first error ends the reading */
    bool gpus; /* the catalogue was read; otherwise Gpu lines are skipped */
};

/* Read dnnest.conf. The catalogue must have been read before: "Gpu" lines name its
 * devices. Errors name file and line.
 */
int dn_site_read (struct dn_site *site,
                  struct dn_span text,
                  const char *file,
                  const struct dn_site_reading *reading,
                  struct dn_err *err) DN_COLD;

/* Apply the "dnnest_<key>=<value>" entries of SlurmctldParameters and skip others.
 * 'parameters' may be NULL.
 *
 * They override the rules of the whole site. They also count as one more Policy line,
 * which matches all jobs and comes last, so that they bound the others. So
 * dnnest_mode=observe stops dnnest for all jobs regardless of dnnest.conf, and
 * dnnest_mode=enforce does not affect jobs for which a Policy line has a stricter mode.
 */
int dn_site_override (struct dn_site *site,
                      const char *parameters,
                      struct dn_err *err) DN_COLD;

/* Set the constants of the loaders to the site's measured values. This must be the last
 * change of the constants.
 */
void dn_site_set_loaders (struct dn_site *site) DN_COLD;

/* Apply "key=value,..." of --set, which overrides everything, Policy lines too.
 * 'settings' may be NULL.
 */
int dn_site_set (struct dn_site *site,
                 const char *settings,
                 struct dn_err *err) DN_COLD;

/* 24.11: the first version whose backfill was observed to keep the limit. */
#define DN_SOFT_TIME_MIN_SLURM 2411

/* Is --time-min a soft limit in that version of Slurm (2411 for 24.11)? Only then may
 * dnnest set it: otherwise a job that backfill starts is killed at that time
 * (doc/design.md). 'parameters' are SchedulerParameters and may be NULL.
 */
bool dn_site_time_min_is_soft (int version, const char *parameters) DN_COLD;

/* Name the cluster, "" if it is not known, and replace "%c" in StateDir by it. A name
 * that cannot be one of a directory, or none, leaves the part of the path out.
 */
int dn_site_set_cluster (struct dn_site *site,
                         const char *name,
                         struct dn_err *err) DN_COLD;

/* Turn TimeLimit=time_min into keep wherever it is set. */
void dn_site_refuse_time_min (struct dn_site *site) DN_COLD;

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

/* Where the nodes have the Python modules; NULL: nowhere. */
const char *dn_site_python_dir (const struct dn_site *site);

/* The predictor of the site, which borrows from it. */
struct dn_predictor dn_site_predictor (const struct dn_site *site);

/* NULL-safe. */
void dn_site_free (struct dn_site *site) DN_COLD;

#endif
