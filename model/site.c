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

/* clang-format off */
#define TEXT_ROW(type, member, key, value, help)                                       \
    {key, offsetof (struct dn_site, member), help, DN_SITE_##type, 0, 0, value},
#define REAL_ROW(member, key, min, max, value, help)                                   \
    {key, offsetof (struct dn_site, member), help, DN_SITE_REAL, min, max, value},
/* clang-format on */

static const struct dn_site_key site_keys[] = {
    DN_SITE_KEYS (TEXT_ROW, REAL_ROW) DN_SITE_OTHER_KEYS (TEXT_ROW, REAL_ROW)};

#define COUNT_ROW(...) 0,
#define N_SHOWN        ((int) sizeof ((char[]){DN_SITE_KEYS (COUNT_ROW, COUNT_ROW)}))

const struct dn_site_key *dn_site_keys (int *n_keys)
{
    *n_keys = N_SHOWN;
    return site_keys;
}

static void *member_of (struct dn_site *site, const struct dn_site_key *key)
{
    return (char *) site + key->offset;
}

static int set_real (struct dn_site *site,
                     const struct dn_site_key *key,
                     struct dn_span value,
                     struct dn_err *err)
{
    double real;

    if (dn_real_read (value, key->name, key->min, key->max, &real, err) < 0)
        return -1;
    memcpy (member_of (site, key), &real, sizeof (real));
    return 0;
}

static int set_default (struct dn_site *site,
                        const struct dn_site_key *key,
                        struct dn_err *err)
{
    const double unset = -1;

    if (key->type == DN_SITE_REAL && key->value)
        return set_real (site, key, dn_span_of (key->value), err);
    if (key->type == DN_SITE_REAL)
        memcpy (member_of (site, key), &unset, sizeof (unset));
    else if (key->value)
        return dn_span_copy (dn_span_of (key->value),
                             member_of (site, key),
                             DN_SITE_PATH_MAX,
                             key->name,
                             err);
    return 0;
}

int dn_site_init (struct dn_site *site,
                  const char *hardware_dir,
                  const char *datasets_file,
                  struct dn_err *err)
{
    struct dn_site_key key;

    memset (site, 0, sizeof (*site));
    site->rules = dn_rules_default ();
    site->constants = dn_constants_default;
    dn_words_index (&site->words);
    for (size_t i = 0; i < DN_N_ELEMENTS (site_keys); i++) {
        key = site_keys[i];
        if (key.offset == offsetof (struct dn_site, hardware_dir))
            key.value = hardware_dir;
        if (key.offset == offsetof (struct dn_site, datasets_file))
            key.value = datasets_file;
        if (set_default (site, &key, err) < 0)
            return -1;
    }
    return 0;
}

static const struct dn_site_key *find_key (struct dn_span key)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (site_keys); i++)
        if (dn_span_is (key, site_keys[i].name))
            return &site_keys[i];
    return NULL;
}

/* The words that a key takes, what another value begins with, and both for errors. */
static const struct {
    const char *const words[3];
    const char *const starts[4];
    const char *expected;
} forms[] = {
    [DN_SITE_PATH] = {{NULL}, {"/"}, dn_say_site_path},
    [DN_SITE_PATH_OR_NONE] = {{DN_SITE_NONE}, {"/"}, dn_say_site_path_or_none},
    [DN_SITE_ACCOUNTING] = {{DN_SITE_NONE, DN_SITE_SLURMDBD},
                            {"http://", "https://", "unix:/"},
                            dn_say_site_source},
    [DN_SITE_URL] = {{DN_SITE_NONE}, {"http://", "https://"}, dn_say_site_url},
};

/* A URL is more than its beginning; "/" is a path. */
static bool begins_with (struct dn_span text, const char *start)
{
    size_t len = strlen (start);

    return (text.len > len || (text.len == len && len == 1))
           && strncmp (text.text, start, len) == 0;
}

static bool is_path (const struct dn_site_key *key)
{
    return key->type == DN_SITE_PATH || key->type == DN_SITE_PATH_OR_NONE;
}

/* Where the tables are in DataDir; later lines may say otherwise. */
static int set_data_dir (struct dn_site *site, struct dn_err *err)
{
    const struct {
        char *path;
        const char *name;
    } parts[] = {{site->hardware_dir, "hardware"},
                 {site->datasets_file, "datasets.conf"},
                 {site->zoo_dir, "zoo"}};

    for (size_t i = 0; i < DN_N_ELEMENTS (parts); i++) {
        struct dn_buf buf = dn_buf_on (parts[i].path, DN_SITE_PATH_MAX);

        dn_buf_add (&buf, "%s/%s", site->data_dir, parts[i].name);
        if (buf.cut)
            return dn_refuse (err, file_path, "DataDir");
    }
    return 0;
}

static int set_text (struct dn_site *site,
                     const struct dn_site_key *key,
                     struct dn_span value,
                     struct dn_err *err)
{
    const char *const *word = forms[key->type].words;
    const char *const *start = forms[key->type].starts;

    while (*word && !dn_span_is (value, *word))
        word++;
    if (*word)
        value = dn_span_of (*word);
    while (!*word && *start && !begins_with (value, *start))
        start++;
    if (!*start)
        return dn_refuse (err,
                          site_text,
                          key->name,
                          DN_QUOTED_SPAN (value),
                          forms[key->type].expected);
    if ((is_path (key) ? dn_span_copy : dn_name_copy) (
            value, member_of (site, key), DN_SITE_PATH_MAX, key->name, err)
        < 0)
        return -1;
    return member_of (site, key) == site->data_dir ? set_data_dir (site, err) : 0;
}

/* DNNEST_STATE_DIR/model has the bundle. */
static bool is_folder (const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-.";

    return *name != '\0' && !strchr ("-.", *name) && strcmp (name, "model") != 0
           && strspn (name, letters) == strlen (name);
}

int dn_site_set_cluster (struct dn_site *site, const char *name, struct dn_err *err)
{
    char path[DN_SITE_PATH_MAX];
    struct dn_buf buf = dn_buf_on (path, sizeof (path));
    const char *at = site->state_dir;
    const char *folder = is_folder (name) ? name : "";
    const char *mark;

    for (; (mark = strstr (at, "%c")); at = mark + 2) {
        bool slash = folder[0] == '\0' && mark > at && mark[-1] == '/';

        dn_buf_put (&buf, at, (size_t) (mark - at) - slash);
        dn_buf_text (&buf, folder);
    }
    dn_buf_text (&buf, at);
    if (buf.cut)
        return dn_refuse (err, file_path, "StateDir");
    memcpy (site->state_dir, path, buf.len + 1);
    return dn_span_copy (
        dn_span_of (name), site->cluster, sizeof (site->cluster), "ClusterName", err);
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

/* The bit of a rule in a set of keys; of no rule, such as one that was dropped, none.
 */
static uint64_t bit_of (struct dn_span key)
{
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);
    const struct dn_rule_key *found = dn_rules_find (key);

    return found ? UINT64_C (1) << (found - keys) : 0;
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
    return i < N_SHOWN ? site_keys[i].name : NULL;
}

static void note_dropped (struct dn_site *site, struct dn_span key)
{
    int row = dn_rules_dropped (key);

    if (row >= 0)
        site->dropped |= 1u << row;
}

static int read_rule (struct dn_site *site,
                      const struct dn_pair *pair,
                      int origin,
                      struct dn_err *err)
{
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);
    const struct dn_rule_key *key = dn_rules_find (pair->key);

    if (!key && dn_rules_dropped (pair->key) >= 0)
        return 0;
    if (!key)
        return dn_refuse (err,
                          key,
                          DN_QUOTED_SPAN (pair->key),
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

    if (pass->reading)
        note_dropped (pass->site, pair->key);
    /* Paths are set in the first pass, all else in the second. */
    if ((key && is_path (key)) != !pass->reading)
        return 0;
    if (!key)
        return read_rule (pass->site, pair, line, err);
    return (key->type == DN_SITE_REAL ? set_real
                                      : set_text) (pass->site, key, pair->value, err);
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
    for (int i = 0; pass->reading && i < line->n_pairs; i++)
        note_dropped (site, line->pairs[i].key);
    if (dn_span_is (line->word, "Policy"))
        return pass->reading
                   ? dn_policies_add (&site->policies, line, pass->reading->people, err)
                   : 0;
    if (leaves_to_second (pass))
        return 0;
    return dn_refuse (err, key_value, DN_QUOTED_SPAN (line->word));
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
    uint64_t opt_in = bit_of (dn_span_of ("OptIn"));
    uint64_t capture = bit_of (dn_span_of ("Capture"));
    uint64_t mode = bit_of (dn_span_of ("Mode"));

    site->enforces = site->rules.mode == DN_MODE_ENFORCE;
    site->opt_in_all = site->rules.opt_in != DN_OPT_IN_METADATA
                       || site->rules.capture == DN_CAPTURE_YES;
    for (int i = 0; i < policies->n_policies; i++) {
        const struct dn_policy *policy = &policies->list[i];

        if (((policy->set & opt_in) && policy->rules.opt_in != DN_OPT_IN_METADATA)
            || ((policy->set & capture) && policy->rules.capture == DN_CAPTURE_YES))
            site->opt_in_all = true;
        if ((policy->set & mode & ~site->bound)
            && policy->rules.mode == DN_MODE_ENFORCE)
            site->enforces = true;
    }
}

int dn_site_read_paths (struct dn_site *site,
                        struct dn_span text,
                        const char *file,
                        struct dn_problems *problems,
                        struct dn_err *err)
{
    return read_lines (&(struct pass){site, file, NULL, problems}, text, err);
}

int dn_site_read (struct dn_site *site,
                  struct dn_span text,
                  const char *file,
                  const struct dn_site_reading *reading,
                  struct dn_err *err)
{
    static const struct dn_site_reading plain = {.gpus = true};

    if (!reading)
        reading = &plain;
    if (read_lines (&(struct pass){site, file, reading, reading->problems}, text, err)
        < 0)
        return -1;
    settle (site);
    return 0;
}

/* Apply 'pair' to all jobs. */
static int override_pair (struct dn_site *site,
                          const struct dn_pair *pair,
                          int origin,
                          struct dn_err *err)
{
    const struct dn_site_key *key = find_key (pair->key);

    note_dropped (site, pair->key);
    if (key && key->type == DN_SITE_REAL)
        return set_real (site, key, pair->value, err);
    if (read_rule (site, pair, origin, err) < 0)
        return -1;
    if (origin == DN_ORIGIN_SLURM)
        site->bound |= bit_of (pair->key);
    for (int i = 0; origin == DN_ORIGIN_SETTING && i < site->policies.n_policies; i++)
        site->policies.list[i].set &= ~bit_of (pair->key);
    return 0;
}

/* Apply "key=value,...": of a 'prefix', the keys that begin with it. */
static int override (struct dn_site *site,
                     const char *pairs,
                     const char *prefix,
                     int origin,
                     struct dn_err *err)
{
    struct dn_span rest = dn_span_of (pairs);
    size_t len = strlen (prefix);

    while (rest.text) {
        struct dn_span value = dn_span_trim (dn_span_cut (&rest, ","));
        struct dn_span key = dn_span_cut (&value, "=");

        if (len > 0 && (key.len <= len || !dn_word_equal (key.text, len, prefix, len)))
            continue;
        key = dn_span_after (key, len);
        if (override_pair (site, &(struct dn_pair){key, value}, origin, err) < 0)
            return -1;
    }
    settle (site);
    return 0;
}

int dn_site_override (struct dn_site *site, const char *parameters, struct dn_err *err)
{
    if (override (site, parameters, "dnnest_", DN_ORIGIN_SLURM, err) < 0)
        return dn_err_wrap (err, "SlurmctldParameters");
    return 0;
}

int dn_site_set (struct dn_site *site, const char *settings, struct dn_err *err)
{
    return override (site, settings, "", DN_ORIGIN_SETTING, err);
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
        rules.time_limit = site->time_min_is_soft ? DN_TIME_TIME_MIN : DN_TIME_LIMIT;
    return rules;
}

const char *dn_site_python_dir (const struct dn_site *site)
{
    return strcmp (site->python_dir, DN_SITE_NONE) == 0 ? NULL : site->python_dir;
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
