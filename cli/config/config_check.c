/* config_check.c - the errors, contradictions and doubts of a dnnest.conf
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config/config_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "hardware/cluster.h"
#include "output/json.h"
#include "seen.h"
#include "site.h"
#include "site_gpus.h"
#include "slurm_conf.h"

static bool has_guard (const struct dn_site *site)
{
    dn_cleanup (dn_seen_free) struct dn_seen seen;

    dn_seen_read (&seen, site, NULL);
    return seen.guarded.state == DN_SEEN_USED;
}

/* What the site lacks for limits that follow the likely time; NULL: nothing, or it does
 * not let dnnest set any. 'slurm' is the version of Slurm (2411); 'slurm_conf': its
 * parameters were read, so what is not in them is not set.
 */
static const char *site_advice (const struct dn_site *site, int slurm, bool slurm_conf)
{
    enum dn_time_mode mode = site->rules.time_limit;

    if (mode == DN_TIME_KEEP || mode == DN_TIME_TIME_MIN
        || (mode == DN_TIME_AUTO && site->time_min_is_soft))
        return NULL;
    if (mode == DN_TIME_AUTO && slurm >= DN_SOFT_TIME_MIN_SLURM)
        return slurm_conf ? "SchedulerParameters=time_min_as_soft_limit in slurm.conf "
                            "lets Slurm plan with the predicted time, and jobs keep "
                            "their whole time limits"
                          : NULL;
    return has_guard (site)
               ? NULL
               : "no guard is alive: while dnnestd runs, time limits follow "
                 "GuardedQuantile, and are extended where a job needs more";
}

/* Errors that are printed; the others are counted. */
#define PROBLEMS_MAX 100

/* The errors of a check: printed immediately, or collected for the JSON. */
struct findings {
    struct json_object *array; /* NULL: print them */
    const char *prefix;        /* of what is printed */
    int n;
};

static void find (void *to, const struct dn_err *err)
{
    struct findings *findings = to;

    if (++findings->n > PROBLEMS_MAX)
        return;
    if (findings->array)
        json_object_array_add (findings->array, dn_json_text (err->text));
    else
        dn_complain ("%s%s", findings->prefix, err->text);
}

void dn_config_warn (const char *conf,
                     const struct dn_policies *policies,
                     struct json_object *array)
{
    int n = policies->n_unknown < DN_POLICY_UNKNOWN_MAX ? policies->n_unknown
                                                        : DN_POLICY_UNKNOWN_MAX;

    for (int i = 0; i < n; i++) {
        char text[DN_ERR_TEXT_MAX];

        dn_unknown_write (&policies->unknown[i], text);
        if (array)
            json_object_array_add (array, dn_json_text (text));
        else
            dn_complain ("warning: %s: %s", conf, text);
    }
    if (policies->n_unknown > n && !array)
        dn_complain (
            "warning: %s: and %d more such names", conf, policies->n_unknown - n);
}

static void count_more (const struct findings *findings)
{
    if (findings->n > PROBLEMS_MAX)
        dn_complain ("%sand %d more", findings->prefix, findings->n - PROBLEMS_MAX);
}

/* A node has at least so much memory per GPU. Less is a number in another unit. */
#define LEAST_MB_PER_GPU 256

struct search {
    const struct dn_site *site;
    const struct dn_cluster *cluster;
    const char *file;
    struct dn_problems *problems;
    struct dn_problems *warnings;
};

static void report_to (const struct search *search,
                       struct dn_problems *problems,
                       const char *format,
                       ...) DN_PRINTF (3, 4);

static void report_to (const struct search *search,
                       struct dn_problems *problems,
                       const char *format,
                       ...)
{
    char text[DN_ERR_TEXT_MAX];
    struct dn_err err = {0};
    va_list args;

    va_start (args, format);
    vsnprintf (text, sizeof (text), format, args);
    va_end (args);
    dn_err_set (&err, DN_E_RANGE, "%s: %s", search->file, text);
    dn_problems_take (problems, &err);
}

#define report(search, ...) report_to (search, (search)->problems, __VA_ARGS__)

/* --- rules ----------------------------------------------------------------------- */

/* The plugin loads a file whose rules contradict each other, which leave jobs
 * unchanged, and reports in its log one that cannot be written. An admin who checks the
 * file wants to know before.
 */

/* 'where' is "", or the Policy line whose rules these are, with those of the site. */
static void check_rules (const struct search *search,
                         const struct dn_rules *rules,
                         const char *where)
{
    if (rules->cpus_per_gpu_min > rules->cpus_per_gpu_max)
        report (search,
                "%sCpusPerGpuMin=%" PRId64 " is above CpusPerGpuMax=%" PRId64,
                where,
                rules->cpus_per_gpu_min,
                rules->cpus_per_gpu_max);
    if (rules->time_min_s > rules->time_max_s)
        report (search,
                "%sTimeMin=%s is above TimeMax=%s",
                where,
                dn_time_write (rules->time_min_s).text,
                dn_time_write (rules->time_max_s).text);
    if (rules->mode == DN_MODE_ENFORCE && rules->time_limit == DN_TIME_KEEP
        && rules->gpu_type == DN_TYPE_KEEP && rules->cpus == DN_CHOICE_KEEP)
        report (search,
                "%sMode=enforce changes nothing: TimeLimit, GpuType and Cpus are keep",
                where);
}

/* A Policy line is checked with the rules of the site that it does not set. */
static void check_policies (const struct search *search)
{
    const struct dn_site *site = search->site;

    for (int i = 0; i < site->policies.n_policies; i++) {
        const struct dn_policy *policy = &site->policies.list[i];
        struct dn_rules rules = site->rules;
        char where[32];

        dn_policy_apply (policy, site->bound, &rules);
        snprintf (where, sizeof (where), "line %d: ", policy->line);
        check_rules (search, &rules, where);
    }
}

/* --- GPU types ------------------------------------------------------------------- */

static void check_node (const struct search *search, const struct dn_gpu_type *type)
{
    if (type->per_node == DN_UNSET)
        return;
    if (type->node_cpus != DN_UNSET && type->node_cpus < type->per_node)
        report (search,
                "Gpu Type=%s: NodeCpus=%" PRId64
                " is less than a CPU for each of PerNode=%" PRId64 " GPUs",
                type->type,
                type->node_cpus,
                type->per_node);
    if (type->node_mem_mb != DN_UNSET
        && type->node_mem_mb < LEAST_MB_PER_GPU * type->per_node)
        report (search,
                "Gpu Type=%s: NodeMemory=%" PRId64 " is too little for PerNode=%" PRId64
                " GPUs, expected megabytes",
                type->type,
                type->node_mem_mb,
                type->per_node);
}

/* What the line of a type must state where there is no snapshot; NULL: nothing more. */
static const char *find_missing (const struct dn_gpu_type *type)
{
    if (type->per_node == DN_UNSET)
        return "PerNode";
    if (type->node_cpus == DN_UNSET)
        return "NodeCpus";
    if (type->node_mem_mb == DN_UNSET)
        return "NodeMemory";
    if (type->by_partition[0] != '\0' || dn_gpu_has_partitions (type))
        return NULL;
    return type->partitions[0] == '\0' ? "Partitions"
                                       : "Partitions by their names (not ALL)";
}

static bool chooses_gpus (const struct dn_site *site)
{
    for (int i = 0; i < site->policies.n_policies; i++)
        if (site->policies.list[i].rules.gpu_type > DN_TYPE_KEEP)
            return true;
    return site->rules.gpu_type > DN_TYPE_KEEP;
}

/* Can jobs ask for the type without naming it? */
static void check_name (const struct search *search, const struct dn_gpu_type *type)
{
    const struct dn_wait *wait = dn_cluster_wait (search->cluster, type->type);

    if (type->by_feature[0] == '\0' && type->by_partition[0] == '\0' && wait
        && wait->feature[0] == '\0')
        report_to (
            search,
            search->warnings,
            "Gpu Type=%s: no feature selects it, so jobs that name it stay on it: "
            "add Feature=%s to the NodeName= lines of its nodes in slurm.conf",
            type->type,
            type->type);
}

/* Can jobs be moved to the type? Report why not, unless its line says so. */
static bool check_target (const struct search *search, const struct dn_gpu_type *type)
{
    const char *missing = search->cluster ? NULL : find_missing (type);

    if (type->no_moves)
        return false;
    if (missing)
        report_to (search,
                   search->warnings,
                   "Gpu Type=%s: no job can be moved to it without %s or a snapshot of "
                   "dnnestd",
                   type->type,
                   missing);
    if (search->cluster)
        check_name (search, type);
    if (!search->cluster || dn_site_gpus_now (search->cluster, type).n_up != DN_UNSET)
        return true;
    report (search,
            "Gpu Type=%s: no job can be moved to it: no node of the snapshot has it",
            type->type);
    return false;
}

/* One type is no choice. */
static void check_targets (const struct search *search)
{
    const struct dn_gpu_types *types = &search->site->gpu_types;
    int n_targets = 0;

    if (types->n_types < 2 || !chooses_gpus (search->site))
        return;
    for (int i = 0; i < types->n_types; i++)
        n_targets += check_target (search, &types->types[i]) ? 1 : 0;
    if (n_targets == 0)
        report (search,
                "GpuType=choose, and no job can be moved to any of the %d GPU types",
                types->n_types);
}

/* --- files ----------------------------------------------------------------------- */

static bool is_set (const char *path)
{
    return path[0] != '\0' && strcmp (path, DN_SITE_NONE) != 0;
}

/* Is it there? A path that this user may not look at may be. */
static bool is_there (const char *path, bool directory)
{
    struct stat status;

    if (stat (path, &status) < 0)
        return errno == EACCES;
    return !directory || S_ISDIR (status.st_mode);
}

static void check_directory_of (const struct search *search,
                                const char *key,
                                const char *path)
{
    char directory[DN_SITE_PATH_MAX];
    const char *slash = strrchr (path, '/');

    if (!is_set (path) || !slash || slash == path)
        return;
    snprintf (directory, sizeof (directory), "%.*s", (int) (slash - path), path);
    if (!is_there (directory, true))
        report (search, "%s=%s: there is no directory %s", key, path, directory);
}

static void check_file (const struct search *search,
                        const char *key,
                        const char *path,
                        bool directory)
{
    if (is_set (path) && !is_there (path, directory))
        report (search,
                "%s=%s: there is no such %s",
                key,
                path,
                directory ? "directory" : "file");
}

/* Where systemd runs dnnestd, it has a /tmp of its own. */
static void check_shared (const struct search *search,
                          const char *key,
                          const char *path)
{
    if (strncmp (path, "/tmp/", 5) == 0 || strncmp (path, "/var/tmp/", 9) == 0)
        report_to (search,
                   search->warnings,
                   "%s=%s: dnnestd, as a unit of systemd, does not see /tmp or "
                   "/var/tmp of jobs",
                   key,
                   path);
}

/* The directories that jobs use may be on the nodes only; dnnestd makes the default
 * StateDir.
 */
static void check_files (const struct search *search)
{
    const struct dn_site *site = search->site;

    if (strcmp (site->accounting, DN_SITE_NONE) != 0
        && strcmp (site->accounting, DN_SITE_SLURMDBD) != 0)
        report (search, "Accounting=%s: expected slurmdbd or none", site->accounting);
    check_directory_of (search, "DecisionLog", site->decision_log);
    check_directory_of (search, "Counters", site->counters);
    check_file (search, "DataDir", site->data_dir, true);
    check_shared (search, "ProgressDir", site->progress_dir);
    check_shared (search, "OutputDir", site->output_dir);
    if (strncmp (site->state_dir, DNNEST_STATE_DIR, strlen (DNNEST_STATE_DIR)) != 0)
        check_file (search, "StateDir", site->state_dir, true);
}

static const char *advice_for (const struct dn_options *given,
                               const struct dn_site *site)
{
    struct dn_slurm_conf slurm;

    if (dn_slurm_conf_read (given->paths.conf, &slurm, NULL) < 0)
        slurm.found = false;
    return site_advice (site, given->slurm_version, slurm.found);
}

/* A file that is not there has no errors, but it is not what an admin wants to check.
 */
static void find_contradictions (const char *conf,
                                 const struct dn_site *site,
                                 struct dn_problems *problems,
                                 struct dn_problems *warnings)
{
    dn_cleanup (dn_seen_free) struct dn_seen seen = {0};
    struct search search = {site, NULL, conf, problems, warnings};
    struct dn_err err = {0};

    if (!conf) {
        dn_err_set (&err,
                    DN_E_IO,
                    "%s: there is no such file, the defaults apply",
                    dn_load_default_paths ().conf);
        dn_problems_take (problems, &err);
        return;
    }
    dn_seen_read (&seen, site, NULL);
    search.cluster = dn_seen_cluster (&seen);
    check_rules (&search, &site->rules, "");
    check_policies (&search);
    for (int i = 0; i < site->gpu_types.n_types; i++)
        check_node (&search, &site->gpu_types.types[i]);
    check_targets (&search);
    check_files (&search);
}

/* Keys that were dropped. */
static void find_dropped (const char *conf,
                          const struct dn_site *site,
                          struct dn_problems *warnings)
{
    for (unsigned left = site->dropped; left != 0; left &= left - 1) {
        char text[DN_ERR_TEXT_MAX];
        struct dn_err err = {0};

        dn_rules_dropped_write (__builtin_ctz (left), text);
        dn_err_set (&err, DN_E_RANGE, "%s: %s", conf, text);
        dn_problems_take (warnings, &err);
    }
}

int dn_config_check (struct dn_options *given, const char *settings)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    const char *conf = given->paths.conf;
    struct findings findings = {NULL, "", 0};
    struct findings doubts = {NULL, "warning: ", 0};
    struct dn_problems problems = {find, &findings, 0};
    struct dn_problems warnings = {find, &doubts, 0};
    const char *advice;

    dn_json_add_text (json, "conf", conf);
    if (given->json) {
        findings.array = dn_json_add_array (json, "errors");
        doubts.array = dn_json_add_array (json, "warnings");
    }
    site = dn_options_site_with (given, settings, &problems);
    if (!site)
        return given->exit_code;
    if (findings.n == 0)
        find_contradictions (conf, site, &problems, &warnings);
    if (findings.array && site->bundle_err.code != DN_E_NONE)
        find (&findings, &site->bundle_err);
    count_more (&findings);
    find_dropped (conf, site, &warnings);
    count_more (&doubts);
    dn_config_warn (conf, &site->policies, doubts.array);
    advice = advice_for (given, site);
    dn_json_add_text (json, "advice", advice);
    if (findings.array)
        dn_json_print (json);
    if (findings.n > 0 || site->bundle_err.code != DN_E_NONE)
        return DN_EXIT_CONF; /* dn_options_site_with () has reported the bundle */
    if (!findings.array)
        printf ("%s: ok%s%s\n", conf, advice ? "\nadvice: " : "", advice ? advice : "");
    return DN_EXIT_DONE;
}
