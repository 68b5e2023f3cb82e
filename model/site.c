/* site.c - dnnest.conf: rules, GPU types, paths
 *
 * A line is a rule ("Mode=enforce"), a path ("HardwareDir=/..."), or begins with a
 * word: "Gpu Type=a100 Device=..." maps a GPU type, "Policy User=... Mode=..." sets
 * other rules for some jobs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "site.h"

#include <stdlib.h>
#include <string.h>

#include "base/keyline.h"
#include "base/messages.h"

/* Many times what a decision takes with a handful of GPU types, and twice what the
 * largest network of the zoo takes with 32 (2.5 ms). No ordinary job exceeds it.
 */
#define DECISION_MS 5

/* Of dnnestd, seconds. A snapshot is believed until five were missed. */
#define INTERVAL_S       60
#define LEARN_INTERVAL_S 3600
#define SNAPSHOT_AGE_S   300

/* Finished jobs, seconds and days: they teach, and nothing waits for them. A year shows
 * every season of a site.
 */
#define COLLECT_INTERVAL_S 300
#define KEEP_JOBS_DAYS     400

static const struct dn_site_key site_keys[] = {
    {"HardwareDir",
     offsetof (struct dn_site, hardware_dir),
     "directory of the hardware catalogue, one file per device",
     DN_SITE_PATH,
     0,
     0},
    {"Datasets",
     offsetof (struct dn_site, datasets_file),
     "table of data sets",
     DN_SITE_PATH,
     0,
     0},
    {"ZooDir",
     offsetof (struct dn_site, zoo_dir),
     "directory of the networks that are files",
     DN_SITE_PATH,
     0,
     0},
    {"Bundle",
     offsetof (struct dn_site, bundle_dir),
     "directory of the model bundle, or none",
     DN_SITE_PATH_OR_NONE,
     0,
     0},
    {"SidecarDir",
     offsetof (struct dn_site, sidecar_dir),
     "directory of the sidecars that comments name (dnnest:@FILE)",
     DN_SITE_PATH,
     0,
     0},
    {"ProbeDir",
     offsetof (struct dn_site, probe_dir),
     "directory of the hook for jobs with probe=, on the nodes, or none",
     DN_SITE_PATH_OR_NONE,
     0,
     0},
    {"ProgressDir",
     offsetof (struct dn_site, progress_dir),
     "directory in which jobs report their progress",
     DN_SITE_PATH,
     0,
     0},
    {"OutputDir",
     offsetof (struct dn_site, output_dir),
     "directory below which dnnestd reads the output of failed jobs",
     DN_SITE_PATH,
     0,
     0},
    {"DecisionLog",
     offsetof (struct dn_site, decision_log),
     "file to which a line of JSON is appended per decision",
     DN_SITE_PATH,
     0,
     0},
    {"Counters",
     offsetof (struct dn_site, counters),
     "file of counters for Prometheus, rewritten every five seconds",
     DN_SITE_PATH,
     0,
     0},
    {"StateDir",
     offsetof (struct dn_site, state_dir),
     "directory of the files of dnnestd",
     DN_SITE_PATH,
     0,
     0},
    {"DecisionTime",
     offsetof (struct dn_site, decision_ms),
     "CPU time in milliseconds after which a decision is given up; 0: no limit",
     DN_SITE_REAL,
     0,
     1000},
    {"SnapshotAge",
     offsetof (struct dn_site, snapshot_age_s),
     "age in seconds up to which decisions use the snapshot of the cluster",
     DN_SITE_REAL,
     1,
     86400},
    {"WatchInterval",
     offsetof (struct dn_site, watch_interval_s),
     "seconds between two snapshots of the cluster by dnnestd",
     DN_SITE_REAL,
     1,
     3600},
    {"GuardInterval",
     offsetof (struct dn_site, guard_interval_s),
     "seconds between two passes of dnnestd over the running jobs",
     DN_SITE_REAL,
     1,
     3600},
    {"CollectInterval",
     offsetof (struct dn_site, collect_interval_s),
     "seconds between two collections of finished jobs by dnnestd",
     DN_SITE_REAL,
     10,
     86400},
    {"KeepJobs",
     offsetof (struct dn_site, keep_jobs_days),
     "days that finished jobs are kept",
     DN_SITE_REAL,
     1,
     3660},
    {"Accounting",
     offsetof (struct dn_site, accounting),
     "where dnnestd reads finished jobs: slurmdbd, none, or the URL of slurmrestd",
     DN_SITE_ACCOUNTING,
     0,
     0},
    {"LearnInterval",
     offsetof (struct dn_site, learn_interval_s),
     "seconds between two runs in which dnnestd learns from finished jobs",
     DN_SITE_REAL,
     1,
     2592000},
    {"AccountingToken",
     offsetof (struct dn_site, accounting_token),
     "file with a token (JWT) for slurmrestd, or none",
     DN_SITE_PATH_OR_NONE,
     0,
     0},
    {"Prometheus",
     offsetof (struct dn_site, prometheus),
     "URL of the Prometheus that has the metrics of GPUs, or none",
     DN_SITE_URL,
     0,
     0},
    {"PrometheusQueries",
     offsetof (struct dn_site, prometheus_queries),
     "file of the expressions that Prometheus is asked for, or none: built-in ones",
     DN_SITE_PATH_OR_NONE,
     0,
     0},
    {"Carbon",
     offsetof (struct dn_site, carbon_g_per_kwh),
     "grams of CO2 per kWh of the grid",
     DN_SITE_REAL,
     0,
     2000},
    {"PUE",
     offsetof (struct dn_site, pue),
     "energy of the data centre divided by that of its computers",
     DN_SITE_REAL,
     1,
     10},
    {"CoreJpeg",
     offsetof (struct dn_site, core_jpeg),
     "images per second that one core decodes and resizes",
     DN_SITE_REAL,
     20,
     10000},
    {"CoreTokens",
     offsetof (struct dn_site, core_tokens),
     "tokens of text per second that one core delivers",
     DN_SITE_REAL,
     1000,
     1e8},
    {"CoreBytes",
     offsetof (struct dn_site, core_bytes),
     "bytes of undecoded arrays per second that one core delivers",
     DN_SITE_REAL,
     1e6,
     1e11},
    {"ControlSalt",
     offsetof (struct dn_site, control_salt),
     "text that the draw of the control group depends on",
     DN_SITE_SECRET,
     0,
     0},
    /* End of site_keys */
};

const struct dn_site_key *dn_site_keys (int *n_keys)
{
    *n_keys = (int) DN_N_ELEMENTS (site_keys);
    return site_keys;
}

/* All keys but the paths that the caller of dn_site_init () gives. */
static void set_defaults (struct dn_site *site)
{
    memset (site, 0, sizeof (*site));
    site->rules = dn_rules_default ();
    site->constants = dn_constants_default;
    site->decision_ms = DECISION_MS;
    site->snapshot_age_s = SNAPSHOT_AGE_S;
    site->watch_interval_s = site->guard_interval_s = INTERVAL_S;
    site->collect_interval_s = COLLECT_INTERVAL_S;
    site->keep_jobs_days = KEEP_JOBS_DAYS;
    site->learn_interval_s = LEARN_INTERVAL_S;
    site->carbon_g_per_kwh = -1;
    site->pue = 1;
    site->core_jpeg = site->core_tokens = site->core_bytes = -1;
    memcpy (site->bundle_dir, DN_SITE_NONE, sizeof (DN_SITE_NONE));
    memcpy (site->zoo_dir, DNNEST_ZOO_DIR, sizeof (DNNEST_ZOO_DIR));
    memcpy (site->probe_dir, DNNEST_PROBE_DIR, sizeof (DNNEST_PROBE_DIR));
    memcpy (site->state_dir, DNNEST_STATE_DIR, sizeof (DNNEST_STATE_DIR));
    memcpy (site->accounting_token, DN_SITE_NONE, sizeof (DN_SITE_NONE));
    memcpy (site->prometheus, DN_SITE_NONE, sizeof (DN_SITE_NONE));
    memcpy (site->prometheus_queries, DN_SITE_NONE, sizeof (DN_SITE_NONE));
    memcpy (site->accounting, DN_SITE_SLURMDBD, sizeof (DN_SITE_SLURMDBD));
}

int dn_site_init (struct dn_site *site,
                  const char *hardware_dir,
                  const char *datasets_file,
                  struct dn_err *err)
{
    set_defaults (site);
    if (dn_span_copy (dn_span_of (hardware_dir),
                      site->hardware_dir,
                      sizeof (site->hardware_dir),
                      "HardwareDir",
                      err)
            < 0
        || dn_span_copy (dn_span_of (datasets_file),
                         site->datasets_file,
                         sizeof (site->datasets_file),
                         "Datasets",
                         err)
               < 0)
        return -1;
    return 0;
}

static const struct dn_site_key *find_key (struct dn_span key)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (site_keys); i++)
        if (dn_span_is (key, site_keys[i].name))
            return &site_keys[i];
    return NULL;
}

static int set_path (struct dn_site *site,
                     const struct dn_site_key *key,
                     struct dn_span value,
                     struct dn_err *err)
{
    bool none = key->type == DN_SITE_PATH_OR_NONE && dn_span_is (value, DN_SITE_NONE);

    if (!none && (value.len == 0 || value.text[0] != '/'))
        return dn_err_set (err,
                           DN_E_RANGE,
                           dn_say_err_site_path,
                           key->name,
                           dn_quote (value.text, value.len).text,
                           key->type == DN_SITE_PATH_OR_NONE ? " or " DN_SITE_NONE
                                                             : "");
    if (none)
        value = dn_span_of (DN_SITE_NONE);
    return dn_span_copy (
        value, (char *) site + key->offset, DN_SITE_PATH_MAX, key->name, err);
}

static int set_real (struct dn_site *site,
                     const struct dn_site_key *key,
                     struct dn_span value,
                     struct dn_err *err)
{
    double real;

    if (dn_real_read (value, key->name, key->min, key->max, &real, err) < 0)
        return -1;
    memcpy ((char *) site + key->offset, &real, sizeof (real));
    return 0;
}

/* No error shows the value. */
static int set_secret (struct dn_site *site,
                       const struct dn_site_key *key,
                       struct dn_span value,
                       struct dn_err *err)
{
    if (value.len == 0 || value.len >= DN_NAME_MAX)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           dn_say_err_site_secret,
                           key->name,
                           value.len,
                           DN_NAME_MAX - 1);
    return dn_span_copy (
        value, (char *) site + key->offset, DN_NAME_MAX, key->name, err);
}

static bool begins_with (struct dn_span text, const char *start)
{
    size_t len = strlen (start);

    return text.len > len && strncmp (text.text, start, len) == 0;
}

static int set_accounting (struct dn_site *site,
                           const struct dn_site_key *key,
                           struct dn_span value,
                           struct dn_err *err)
{
    char *out = (char *) site + key->offset;

    if (dn_span_is (value, DN_SITE_NONE))
        value = dn_span_of (DN_SITE_NONE);
    else if (dn_span_is (value, DN_SITE_SLURMDBD))
        value = dn_span_of (DN_SITE_SLURMDBD);
    else if (!begins_with (value, "http://") && !begins_with (value, "https://")
             && !begins_with (value, "unix:/"))
        return dn_err_set (err,
                           DN_E_RANGE,
                           dn_say_err_site_source,
                           key->name,
                           dn_quote (value.text, value.len).text);
    return dn_name_copy (value, out, DN_SITE_PATH_MAX, key->name, err);
}

static int set_url (struct dn_site *site,
                    const struct dn_site_key *key,
                    struct dn_span value,
                    struct dn_err *err)
{
    if (dn_span_is (value, DN_SITE_NONE))
        value = dn_span_of (DN_SITE_NONE);
    else if (!begins_with (value, "http://") && !begins_with (value, "https://"))
        return dn_err_set (err,
                           DN_E_RANGE,
                           dn_say_err_site_url,
                           key->name,
                           dn_quote (value.text, value.len).text);
    return dn_name_copy (
        value, (char *) site + key->offset, DN_SITE_PATH_MAX, key->name, err);
}

/* A key of the site itself. Paths are set in the first pass, the others in the second.
 */
static int set_key (struct dn_site *site,
                    const struct dn_site_key *key,
                    struct dn_span value,
                    bool paths,
                    struct dn_err *err)
{
    bool path = key->type == DN_SITE_PATH || key->type == DN_SITE_PATH_OR_NONE;

    if (path != paths)
        return 0;
    if (path)
        return set_path (site, key, value, err);
    if (key->type == DN_SITE_ACCOUNTING)
        return set_accounting (site, key, value, err);
    if (key->type == DN_SITE_URL)
        return set_url (site, key, value, err);
    return key->type == DN_SITE_REAL ? set_real (site, key, value, err)
                                     : set_secret (site, key, value, err);
}

int dn_problems_take (struct dn_problems *problems, const struct dn_err *err)
{
    if (!problems)
        return -1;
    problems->n++;
    problems->report (problems->to, err);
    return 0;
}

/* One pass over the lines: the first reads the paths, the second everything else. */
struct pass {
    struct dn_site *site;
    const char *file;
    const struct dn_site_reading *reading; /* NULL: the first pass */
    struct dn_problems *problems;
};

/* The bit of an existing key in a set of keys. */
static uint64_t bit_of (struct dn_span key)
{
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    return UINT64_C (1) << (dn_rules_find (key) - keys);
}

/* The keys of a line that are no word: rules, then those of the site. */
static const char *conf_key_at (const void *names, int i)
{
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    (void) names;
    if (i < n_keys)
        return keys[i].name;
    i -= n_keys;
    return (size_t) i < DN_N_ELEMENTS (site_keys) ? site_keys[i].name : NULL;
}

static int read_rule (struct dn_site *site,
                      const struct dn_pair *pair,
                      int origin,
                      struct dn_err *err)
{
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);
    const struct dn_rule_key *key = dn_rules_find (pair->key);

    if (!key)
        return dn_err_set (err,
                           DN_E_RANGE,
                           dn_say_err_key,
                           dn_quote (pair->key.text, pair->key.len).text,
                           dn_word_meant (pair->key, conf_key_at, NULL).text);
    if (dn_rules_read (key, pair->value, &site->rules, err) < 0)
        return -1;
    site->origins.line[key - keys] = origin;
    return 0;
}

static int read_pair (const struct pass *pass,
                      const struct dn_pair *pair,
                      int line,
                      struct dn_err *err)
{
    const struct dn_site_key *key = find_key (pair->key);

    if (key)
        return set_key (pass->site, key, pair->value, !pass->reading, err);
    return pass->reading ? read_rule (pass->site, pair, line, err) : 0;
}

/* Only the second pass reports a line that cannot be parsed, so that it is not reported
 * twice. */
static bool leaves_to_second (const struct pass *pass)
{
    return pass->problems && !pass->reading;
}

/* A line that begins with a word. */
static int read_word_line (const struct pass *pass,
                           const struct dn_keyline *line,
                           struct dn_err *err)
{
    struct dn_site *site = pass->site;

    if (dn_span_is (line->word, "Gpu"))
        return pass->reading && pass->reading->gpus
                   ? dn_gpu_types_add (&site->gpu_types, line, &site->catalogue, err)
                   : 0;
    if (dn_span_is (line->word, "Policy"))
        return pass->reading
                   ? dn_policies_add (&site->policies, line, pass->reading->people, err)
                   : 0;
    if (leaves_to_second (pass))
        return 0;
    return dn_err_set (err,
                       DN_E_SYNTAX,
                       dn_say_err_key_value,
                       dn_quote (line->word.text, line->word.len).text);
}

/* Add file and line to the error. With 'problems' reading goes on. */
static int take_error (const struct pass *pass,
                       const struct dn_keyline *line,
                       struct dn_err *err)
{
    dn_keyline_wrap (line, pass->file, err);
    return dn_problems_take (pass->problems, err);
}

static int read_line (const struct pass *pass,
                      const struct dn_keyline *line,
                      struct dn_err *err)
{
    if (line->word.len > 0)
        return read_word_line (pass, line, err) < 0 ? take_error (pass, line, err) : 0;
    for (int i = 0; i < line->n_pairs; i++)
        if (read_pair (pass, &line->pairs[i], line->line, err) < 0
            && take_error (pass, line, err) < 0)
            return -1;
    return 0;
}

static int read_lines (const struct pass *pass, struct dn_span text, struct dn_err *err)
{
    struct dn_keyline line = {.words = true};
    struct dn_err local;
    int more;

    if (!err)
        err = &local;
    while ((more = dn_keyline_next (&text, &line, err)) != 0) {
        if (more > 0 && read_line (pass, &line, err) < 0)
            return -1;
        if (more > 0 || leaves_to_second (pass))
            continue;
        dn_err_wrap (err, "%s", pass->file);
        if (dn_problems_take (pass->problems, err) < 0)
            return -1;
    }
    return 0;
}

/* Compute what is needed of the rules before those of a job are known. */
static void settle (struct dn_site *site)
{
    const struct dn_policies *policies = &site->policies;
    uint64_t bit = bit_of (dn_span_of ("OptIn"));

    site->opt_in_all = site->rules.opt_in != DN_OPT_IN_METADATA;
    for (int i = 0; i < policies->n_policies; i++)
        if ((policies->list[i].set & bit)
            && policies->list[i].rules.opt_in != DN_OPT_IN_METADATA)
            site->opt_in_all = true;
}

int dn_site_read_paths_with (struct dn_site *site,
                             struct dn_span text,
                             const char *file,
                             struct dn_problems *problems,
                             struct dn_err *err)
{
    return read_lines (&(struct pass){site, file, NULL, problems}, text, err);
}

int dn_site_read_paths (struct dn_site *site,
                        struct dn_span text,
                        const char *file,
                        struct dn_err *err)
{
    return dn_site_read_paths_with (site, text, file, NULL, err);
}

int dn_site_read_with (struct dn_site *site,
                       struct dn_span text,
                       const char *file,
                       const struct dn_site_reading *reading,
                       struct dn_err *err)
{
    const struct pass pass = {site, file, reading, reading->problems};

    if (read_lines (&pass, text, err) < 0)
        return -1;
    settle (site);
    return 0;
}

int dn_site_read (struct dn_site *site,
                  struct dn_span text,
                  const char *file,
                  struct dn_err *err)
{
    return dn_site_read_with (
        site, text, file, &(struct dn_site_reading){.gpus = true}, err);
}

/* Set a number of the site from slurm.conf or the command line. Return 1 when the key
 * is not one.
 */
static int set_number (struct dn_site *site,
                       struct dn_span name,
                       struct dn_span value,
                       struct dn_err *err)
{
    const struct dn_site_key *key = find_key (name);

    return key && key->type == DN_SITE_REAL ? set_real (site, key, value, err) : 1;
}

/* Apply 'pair' to all jobs. */
static int override_pair (struct dn_site *site,
                          const struct dn_pair *pair,
                          int origin,
                          struct dn_err *err)
{
    int rc = set_number (site, pair->key, pair->value, err);

    if (rc <= 0)
        return rc;
    if (read_rule (site, pair, origin, err) < 0)
        return -1;
    if (origin == DN_ORIGIN_SLURM)
        site->bound |= bit_of (pair->key);
    for (int i = 0; origin == DN_ORIGIN_SETTING && i < site->policies.n_policies; i++)
        site->policies.list[i].set &= ~bit_of (pair->key);
    return 0;
}

int dn_site_override (struct dn_site *site, const char *parameters, struct dn_err *err)
{
    static const char prefix[] = "dnnest_";
    struct dn_span rest = dn_span_of (parameters);

    while (rest.text) {
        struct dn_span value = dn_span_trim (dn_span_cut (&rest, ","));
        struct dn_span key = dn_span_cut (&value, "=");

        if (key.len < sizeof (prefix)
            || !dn_word_equal (
                key.text, sizeof (prefix) - 1, prefix, sizeof (prefix) - 1))
            continue;
        key.text += sizeof (prefix) - 1;
        key.len -= sizeof (prefix) - 1;
        if (override_pair (site, &(struct dn_pair){key, value}, DN_ORIGIN_SLURM, err)
            < 0)
            return dn_err_wrap (err, "SlurmctldParameters");
    }
    settle (site);
    return 0;
}

void dn_site_set_loaders (struct dn_site *site)
{
    if (site->core_jpeg > 0)
        site->constants.core_jpeg = site->core_jpeg;
    if (site->core_tokens > 0)
        site->constants.core_tokens = site->core_tokens;
    if (site->core_bytes > 0)
        site->constants.core_bytes = site->core_bytes;
}

int dn_site_set (struct dn_site *site, const char *settings, struct dn_err *err)
{
    struct dn_span rest = dn_span_of (settings);

    while (rest.text) {
        struct dn_span value = dn_span_cut (&rest, ",");
        struct dn_span key = dn_span_cut (&value, "=");

        if (override_pair (site, &(struct dn_pair){key, value}, DN_ORIGIN_SETTING, err)
            < 0)
            return -1;
    }
    settle (site);
    return 0;
}

bool dn_site_time_min_is_soft (int version, const char *parameters)
{
    struct dn_span rest = dn_span_of (parameters);

    while (version >= DN_SOFT_TIME_MIN_SLURM && rest.text)
        if (dn_span_is (dn_span_trim (dn_span_cut (&rest, ",")),
                        "time_min_as_soft_limit"))
            return true;
    return false;
}

static void refuse_time_min (struct dn_site *site, struct dn_rules *rules)
{
    if (rules->time_limit != DN_TIME_TIME_MIN)
        return;
    rules->time_limit = DN_TIME_KEEP;
    site->time_min_refused = true;
}

void dn_site_refuse_time_min (struct dn_site *site)
{
    refuse_time_min (site, &site->rules);
    for (int i = 0; i < site->policies.n_policies; i++)
        refuse_time_min (site, &site->policies.list[i].rules);
}

enum dn_time_mode dn_site_auto_time (const struct dn_site *site)
{
    return site->time_min_is_soft ? DN_TIME_TIME_MIN : DN_TIME_LIMIT;
}

struct dn_rules dn_site_rules (const struct dn_site *site,
                               const struct dn_submitter *submitter,
                               struct dn_origins *origins)
{
    struct dn_rules rules = site->rules;
    struct dn_origins lines;

    dn_policies_apply (
        &site->policies, site->bound, submitter, &rules, origins ? &lines : NULL);
    for (int i = 0; origins && i < DN_RULE_KEYS_MAX; i++)
        origins->line[i] = lines.line[i] ? lines.line[i] : site->origins.line[i];
    return rules;
}

bool dn_site_believes (const struct dn_site *site,
                       const struct dn_cluster *cluster,
                       int64_t now_s)
{
    return cluster && cluster->time_s <= now_s
           && (double) (now_s - cluster->time_s) <= site->snapshot_age_s;
}

struct dn_rules dn_site_rules_in_force (const struct dn_site *site,
                                        const struct dn_submitter *submitter)
{
    struct dn_rules rules = dn_site_rules (site, submitter, NULL);

    if (rules.time_limit == DN_TIME_AUTO)
        rules.time_limit = dn_site_auto_time (site);
    return rules;
}

const char *dn_site_probe_dir (const struct dn_site *site)
{
    return strcmp (site->probe_dir, DN_SITE_NONE) == 0 ? NULL : site->probe_dir;
}

struct dn_predictor dn_site_predictor (const struct dn_site *site)
{
    return (struct dn_predictor){
        .constants = &site->constants, .bundle = site->bundle, .user = DN_UNSET};
}

void dn_site_free (struct dn_site *site)
{
    if (!site)
        return;
    dn_catalogue_free (&site->catalogue);
    dn_policies_free (&site->policies);
    dn_bundle_free (site->bundle);
    dn_networks_free (&site->networks);
    memset (site, 0, sizeof (*site));
}
