/* contradictions.c - what is wrong in a dnnest.conf whose lines are all valid
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config/contradictions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "site_gpus.h"

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

void dn_contradictions_find (const struct dn_site *site,
                             const struct dn_cluster *cluster,
                             const char *file,
                             struct dn_problems *problems,
                             struct dn_problems *warnings)
{
    const struct search search = {site, cluster, file, problems, warnings};

    check_rules (&search, &site->rules, "");
    check_policies (&search);
    for (int i = 0; i < site->gpu_types.n_types; i++)
        check_node (&search, &site->gpu_types.types[i]);
    check_targets (&search);
    check_files (&search);
}
