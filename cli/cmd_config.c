/* cmd_config.c - shows the rules that apply, and checks a dnnest.conf
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/messages.h"
#include "common.h"
#include "config/config_view.h"
#include "hardware/cluster.h"
#include "hardware/gpu_names.h"
#include "host/files.h"
#include "host/people.h"
#include "options.h"
#include "output/json.h"
#include "policy/scope.h"
#include "process/child.h"
#include "seen.h"
#include "site.h"
#include "site_gpus.h"
#include "slurm_conf.h"

#define LIST_MAX (DN_NAME_MAX * 4)

/* --- Gpu lines from what a cluster has ---------------------------------------------
 */

/* The snapshot states everything about the nodes; only which device of the catalogue a
 * gres type is must be guessed.
 */

/* A snapshot of this moment, by the dnnest.conf 'conf' (NULL: there is none). */
static char *make_snapshot (const char *conf, struct dn_err *err)
{
    const char *given = getenv ("DNNESTD");
    dn_cleanup (dn_free_ptr) char *program = strdup (given ? given : "dnnestd");
    char option[PATH_MAX + sizeof ("--conf=")];
    char *argv[] = {program, "watch", "--once", "--out=-", conf ? option : NULL, NULL};

    if (conf)
        snprintf (option, sizeof (option), "--conf=%s", conf);
    if (program)
        return dn_child_output (argv, false, err);
    dn_err_set (err, DN_E_NOMEM, "dnnestd: out of memory");
    return NULL;
}

/* The text of the snapshot (the file 'given', "-" stdin; NULL: of StateDir, else made
 * now), and where it is from.
 */
static char *read_snapshot (const char *given,
                            const char *conf,
                            const struct dn_site *site,
                            char path[DN_SITE_PATH_MAX + 32],
                            struct dn_err *err)
{
    struct dn_buf buf = dn_buf_on (path, DN_SITE_PATH_MAX + 32);
    char *text = NULL;

    if (given) {
        dn_buf_add (&buf, "%s", given);
        if (dn_read_large_input (path, DN_STATE_FILE_MAX, &text, err) < 0)
            return NULL;
        return text;
    }
    dn_buf_add (&buf, "%s/%s", site->state_dir, DN_CLUSTER_FILE);
    if (access (path, F_OK) == 0)
        return dn_file_read (path, DN_STATE_FILE_MAX, &text, err) < 0 ? NULL : text;
    dn_buf_add (&buf, " of now");
    return make_snapshot (conf, err);
}

/* --- types ------------------------------------------------------------------------ */

/* A type with the least that its nodes have. */
struct found {
    struct dn_node_group least;
    struct dn_gpu_guess guess;
    bool differ; /* the nodes do, in more than their partitions */
};

static int64_t least (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Put the names of 'from' that are in 'other', or that are not, behind those of 'list'.
 */
static void add_names (char list[LIST_MAX],
                       const char *from,
                       const char *other,
                       bool common)
{
    struct dn_span rest = dn_span_of (from);
    struct dn_span name;

    while ((name = dn_span_cut (&rest, ",")).text) {
        size_t len = strlen (list);

        if (name.len == 0 || dn_list_has (other, name) != common
            || len + name.len + 2 > LIST_MAX)
            continue;
        if (len > 0)
            list[len++] = ',';
        memcpy (list + len, name.text, name.len);
        list[len + name.len] = '\0';
    }
}

static void add_group (struct found *found, const struct dn_node_group *group)
{
    struct dn_node_group *sum = &found->least;
    char features[LIST_MAX] = "";

    found->differ = found->differ || sum->gpus != group->gpus
                    || sum->cpus != group->cpus || sum->mem_mb != group->mem_mb
                    || sum->tmp_mb != group->tmp_mb
                    || sum->threads_per_core != group->threads_per_core
                    || strcmp (sum->features, group->features) != 0;
    sum->gpus = least (sum->gpus, group->gpus);
    sum->cpus = least (sum->cpus, group->cpus);
    sum->mem_mb = least (sum->mem_mb, group->mem_mb);
    sum->tmp_mb = least (sum->tmp_mb, group->tmp_mb);
    if (sum->threads_per_core != group->threads_per_core)
        sum->threads_per_core = DN_UNSET;
    add_names (features, sum->features, group->features, true);
    memcpy (sum->features, features, sizeof (features));
    add_names (sum->partitions, group->partitions, sum->partitions, false);
    sum->n_nodes += group->n_nodes;
}

/* The types of the cluster, in their order, and the names of those beyond the most that
 * dnnest.conf can have. Return their number.
 */
static int find_types (const struct dn_cluster *cluster,
                       struct found list[DN_CANDIDATES_MAX],
                       char left_out[LIST_MAX])
{
    int n = 0;

    for (int64_t i = 0; i < cluster->n_groups; i++) {
        const struct dn_node_group *group = &cluster->groups[i];
        int at = 0;

        while (at < n && strcmp (list[at].least.type, group->type) != 0)
            at++;
        if (at < n)
            add_group (&list[at], group);
        else if (n < DN_CANDIDATES_MAX)
            list[n++] = (struct found){.least = *group};
        else
            add_names (left_out, group->type, left_out, false);
    }
    return n;
}

/* --- lines ------------------------------------------------------------------------ */

static void add_number (struct dn_buf *buf, const char *key, int64_t number)
{
    if (number > 0)
        dn_buf_add (buf, " %s=%" PRId64, key, number);
}

/* A line of dnnest.conf; a comment where no device is known. */
static void write_line (const struct found *found, struct dn_buf *buf)
{
    const struct dn_node_group *node = &found->least;
    const struct dn_device *device = found->guess.device;

    dn_buf_add (buf,
                "%sGpu Type=%s Device=%s",
                device && node->type[0] ? "" : "#",
                node->type[0] ? node->type : "NAME",
                device ? device->name : "DEVICE");
    add_number (buf, "PerNode", node->gpus);
    add_number (buf, "Nodes", node->n_nodes);
    add_number (buf, "NodeCpus", node->cpus);
    add_number (buf, "NodeMemory", node->mem_mb);
    add_number (buf, "NodeTmp", node->tmp_mb);
    add_number (buf, "ThreadsPerCore", node->threads_per_core);
    if (node->partitions[0])
        dn_buf_add (buf, " Partitions=%s", node->partitions);
    if (node->features[0])
        dn_buf_add (buf, " Features=%s", node->features);
}

static void add_doubt (struct dn_buf *buf, const char *text)
{
    dn_buf_add (buf, "%s%s", buf->len > 0 ? "; " : "", text);
}

/* What is not sure about the line, or special; "" nothing. */
static void write_doubts (const struct found *found, struct dn_buf *buf)
{
    const struct dn_gpu_guess *guess = &found->guess;
    const char *type = found->least.type;

    if (type[0] == '\0')
        dn_buf_add (buf,
                    "GPUs without a type: if all of a partition are of one device, "
                    "name it and add ByPartition= and MaxTime=");
    else if (!guess->device)
        dn_buf_add (buf,
                    "left out: not in the catalogue by this name, see dnnest-dev "
                    "hardware");
    else if (guess->doubt[0])
        dn_buf_add (buf, "%s assumed %s; check", guess->doubt, guess->device->name);
    if (guess->device && guess->device->slice)
        add_doubt (buf, "a slice (MIG), for jobs of one GPU");
    if (found->least.gpus == DN_NODE_GPUS_MAX)
        add_doubt (buf, "PerNode is that or more");
    if (found->differ)
        add_doubt (buf, "its nodes differ: the line has the least of them");
}

static void print_text (const struct found *list, int n, const char *from)
{
    printf ("# GPU types of %s; nvidia-smi -L shows which devices they are\n", from);
    for (int i = 0; i < n; i++) {
        char line[2048];
        char doubts[1024];
        struct dn_buf line_buf = dn_buf_on (line, sizeof (line));
        struct dn_buf doubts_buf = dn_buf_on (doubts, sizeof (doubts));

        write_line (&list[i], &line_buf);
        write_doubts (&list[i], &doubts_buf);
        if (doubts_buf.len > 0)
            printf ("# %s: %s\n", list[i].least.type, doubts);
        printf ("%s\n", line);
    }
}

static void print_json (const struct found *list, int n, const char *from)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    struct json_object *array;

    dn_json_add_text (json, "snapshot", from);
    array = dn_json_add_array (json, "gpus");
    for (int i = 0; i < n; i++) {
        struct json_object *row = dn_json_append_object (array);
        const struct dn_device *device = list[i].guess.device;
        char line[2048];
        char doubts[1024];
        struct dn_buf line_buf = dn_buf_on (line, sizeof (line));
        struct dn_buf doubts_buf = dn_buf_on (doubts, sizeof (doubts));

        write_line (&list[i], &line_buf);
        write_doubts (&list[i], &doubts_buf);
        dn_json_add_text (row, "type", list[i].least.type);
        dn_json_add_text (row, "device", device ? device->name : NULL);
        dn_json_add_text (row, "doubt", doubts_buf.len > 0 ? doubts : NULL);
        dn_json_add_text (row, "line", line);
    }
    dn_json_print (json);
}

/* Guess the devices. */
static void guess_all (struct found *list, int n, const struct dn_catalogue *catalogue)
{
    struct dn_products all = {.n = 0};
    bool sure = true;

    for (int i = 0; i < n; i++) {
        struct dn_gpu_guess *guess = &list[i].guess;

        *guess = dn_gpu_guess (catalogue, list[i].least.type, list[i].least.gpus, NULL);
        if (guess->device && guess->device->slice)
            continue;
        if (guess->device)
            dn_products_add (&all, guess->device);
        sure = sure && guess->doubt[0] == '\0';
    }
    /* Slices are probably of devices that other nodes have whole. */
    for (int i = 0; i < n; i++) {
        struct dn_gpu_guess *guess = &list[i].guess;
        struct dn_gpu_guess near;

        if (!guess->device || !guess->device->slice || !guess->doubt[0])
            continue;
        near = dn_gpu_guess (catalogue, list[i].least.type, list[i].least.gpus, &all);
        guess->device = near.device;
        if (sure && !near.doubt[0])
            guess->doubt[0] = '\0';
    }
}

/* Print a Gpu line for each type. Return an enum dn_exit. */
static int discover (const struct dn_options *given, const char *snapshot)
{
    const struct dn_site *site = given->site;
    char from[DN_SITE_PATH_MAX + 32];
    struct dn_err err = {0};
    dn_cleanup (dn_free_ptr) char *text =
        read_snapshot (snapshot, given->paths.conf, site, from, &err);
    struct found list[DN_CANDIDATES_MAX];
    char left_out[LIST_MAX] = "";
    struct dn_cluster *cluster;
    int n;

    if (!text)
        return dn_fail (DN_EXIT_DATA, &err);
    cluster = dn_cluster_read (dn_span_of (text), from, &err);
    if (!cluster)
        return dn_fail (DN_EXIT_DATA, &err);
    n = find_types (cluster, list, left_out);
    dn_cluster_free (cluster);
    if (n == 0) {
        dn_complain ("%s: no node has GPUs", from);
        return DN_EXIT_ABSTAINED;
    }
    guess_all (list, n, &site->catalogue);
    if (left_out[0])
        dn_complain ("left out, as dnnest.conf has at most %d types: %s",
                     DN_CANDIDATES_MAX,
                     left_out);
    if (given->json)
        print_json (list, n, from);
    else
        print_text (list, n, from);
    return DN_EXIT_DONE;
}

/* --- errors, contradictions and doubts of a dnnest.conf -------------------------- */

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

/* Report the names of the Policy lines that no user or group has: no error, since the
 * line matches by its other names. 'array' gets them; NULL: print them.
 */
static void warn_of_policies (const char *conf,
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
    const struct dn_slurm_conf *slurm;
    const char *file;
    struct dn_problems *problems;
    struct dn_problems *warnings;
};

static void DN_PRINTF (3, 4) report_to (const struct search *search,
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

/* --- names of slurm.conf -----------------------------------------------------------
 */

/* The plugin cannot see which features and partitions there are. Slurm refuses a job
 * that requests another one, and a Policy line of another one matches no job. They may
 * also have been set by scontrol, so this is a warning.
 */

static bool is_feature (const struct search *search, struct dn_span name)
{
    const struct dn_cluster *cluster = search->cluster;

    for (int64_t i = 0; cluster && i < cluster->n_groups; i++)
        if (dn_list_has (cluster->groups[i].features, name))
            return true;
    return dn_list_has (search->slurm->features, name);
}

static bool is_partition (const struct search *search, struct dn_span name)
{
    const struct dn_cluster *cluster = search->cluster;

    for (int64_t i = 0; cluster && i < cluster->n_partitions; i++)
        if (dn_span_is (name, cluster->partitions[i].name))
            return true;
    return dn_list_has (search->slurm->partitions, name);
}

/* Each name of "a,b" must be one that 'is' knows. */
static void check_list (const struct search *search,
                        bool (*is) (const struct search *search, struct dn_span name),
                        const char *where,
                        const char *key,
                        const char *list)
{
    struct dn_span rest = dn_span_of (list);
    struct dn_span name;

    if (!search->slurm->found || search->slurm->names_cut)
        return;
    while ((name = dn_span_trim (dn_span_cut (&rest, ","))).text)
        if (name.len > 0 && !dn_span_is (name, "ALL") && !is (search, name))
            report_to (search,
                       search->warnings,
                       "%s%s: '%.*s' is in no line of %s, expected the name of a %s",
                       where,
                       key,
                       (int) name.len,
                       name.text,
                       search->slurm->path,
                       is == is_feature ? "feature" : "partition");
}

static void check_names (const struct search *search)
{
    const struct dn_site *site = search->site;
    char where[DN_NAME_MAX + 32];

    for (int i = 0; i < site->policies.n_policies; i++) {
        const struct dn_policy *policy = &site->policies.list[i];

        snprintf (where, sizeof (where), "line %d: ", policy->line);
        check_list (search,
                    is_partition,
                    where,
                    "Partition",
                    policy->scopes[DN_SCOPE_PARTITION].text);
    }
    for (int i = 0; i < site->gpu_types.n_types; i++) {
        const struct dn_gpu_type *type = &site->gpu_types.types[i];

        snprintf (where, sizeof (where), "Gpu Type=%s: ", type->type);
        check_list (search, is_feature, where, "ByFeature", type->by_feature);
        check_list (search, is_feature, where, "Features", type->features);
        check_list (search, is_partition, where, "ByPartition", type->by_partition);
        check_list (search, is_partition, where, "Partitions", type->partitions);
    }
}

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

/* A file that is not there has no errors, but it is not what an admin wants to check.
 */
static void find_contradictions (const char *conf,
                                 const struct dn_site *site,
                                 const struct dn_slurm_conf *slurm,
                                 struct dn_problems *problems,
                                 struct dn_problems *warnings)
{
    dn_cleanup (dn_seen_free) struct dn_seen seen = {0};
    struct search search = {site, NULL, slurm, conf, problems, warnings};
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
    check_names (&search);
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

/* Print every error of the configuration that 'given' names, one per line, and what
 * would make its time limits better; or all of it as JSON. 'settings' override rules.
 * Return an enum dn_exit.
 */
static int check_config (struct dn_options *given, const char *settings)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    const struct dn_site *site;
    const char *conf = given->paths.conf;
    struct findings findings = {NULL, "", 0};
    struct findings doubts = {NULL, "warning: ", 0};
    struct dn_problems problems = {find, &findings, 0};
    struct dn_problems warnings = {find, &doubts, 0};
    struct dn_slurm_conf slurm;
    const char *advice;

    dn_json_add_text (json, "conf", conf);
    if (given->json) {
        findings.array = dn_json_add_array (json, "errors");
        doubts.array = dn_json_add_array (json, "warnings");
    }
    if (!dn_options_site_with (given, settings, &problems))
        return given->exit_code;
    site = given->site;
    if (dn_slurm_conf_read (conf, &slurm, NULL) < 0)
        slurm.found = false;
    if (findings.n == 0)
        find_contradictions (conf, site, &slurm, &problems, &warnings);
    if (findings.array && site->bundle_err.code != DN_E_NONE)
        find (&findings, &site->bundle_err);
    count_more (&findings);
    find_dropped (conf, site, &warnings);
    count_more (&doubts);
    warn_of_policies (conf, &site->policies, doubts.array);
    advice = site_advice (site, given->slurm_version, slurm.found);
    dn_json_add_text (json, "advice", advice);
    if (findings.array)
        dn_json_print (json);
    if (findings.n > 0 || site->bundle_err.code != DN_E_NONE)
        return DN_EXIT_CONF; /* dn_options_site_with () has reported the bundle */
    if (!findings.array)
        printf ("%s: ok%s%s\n", conf, advice ? "\nadvice: " : "", advice ? advice : "");
    return DN_EXIT_DONE;
}

struct call {
    struct dn_options *given;
    struct dn_settings settings;
    struct dn_submitter submitter;
    bool submits; /* a submitter was named */
    bool check;
    bool discovers;
    const char *snapshot; /* of --discover; NULL: that of the site */
};

/* Look up a user of this system, by name or number. */
static int take_user (struct dn_options *given, void *to)
{
    struct dn_submitter *submitter = to;
    const struct passwd *entry;

    if (dn_options_user (given->argument, &submitter->user_id) != DN_EXIT_DONE)
        return DN_EXIT_USAGE;
    /* cppcheck-suppress getpwuidCalled ; there is one thread */
    entry = getpwuid ((uid_t) submitter->user_id);
    if (entry && submitter->group_id == DN_UNSET)
        submitter->group_id = (int64_t) entry->pw_gid;
    return DN_EXIT_DONE;
}

static int take_group (struct dn_options *given, void *to)
{
    struct dn_submitter *submitter = to;
    const struct dn_people *system = &dn_people_of_system;
    const char *name = given->argument;
    struct dn_person group = {0};
    struct dn_err err = {0};

    if (dn_int_read (dn_span_of (name), "group", 0, UINT32_MAX, &group.id, NULL) < 0
        && system->find_group (system->self, name, &group, &err) < 0) {
        dn_complain ("--group: %s", err.text);
        return DN_EXIT_USAGE;
    }
    submitter->group_id = group.id;
    dn_person_free (&group);
    return DN_EXIT_DONE;
}

static int take_check (struct dn_options *given, void *to)
{
    struct call *call = to;

    call->check = true;
    if (given->argument)
        dn_options_conf (given, given->argument);
    return DN_EXIT_DONE;
}

static int take_discover (struct dn_options *given, void *to)
{
    struct call *call = to;

    call->discovers = true;
    call->snapshot = given->argument;
    return DN_EXIT_DONE;
}

static const struct dn_option options[] = {
    DN_OPT_TEXT ("account",
                 "NAME",
                 "the rules for jobs of this account",
                 submitter.account,
                 .letter = 'A'),
    DN_OPT_TAKE ("check",
                 "[=FILE]",
                 "print all errors of this dnnest.conf",
                 take_check),
    DN_OPT_TAKE ("discover",
                 "[=FILE]",
                 "print Gpu lines for the nodes of this snapshot",
                 take_discover),
    DN_OPT_TAKE ("group",
                 "NAME",
                 "the rules for jobs of this group",
                 take_group,
                 DN_OPT_AT (submitter)),
    DN_OPT_TEXT ("partition",
                 "NAME",
                 "the rules for jobs in this partition",
                 submitter.partition,
                 .letter = 'p'),
    DN_OPT_TEXT ("qos",
                 "NAME",
                 "the rules for jobs of this QOS",
                 submitter.qos,
                 .letter = 'q'),
    DN_OPT_RULE ("set", "KEY=VALUE", "override a rule; may be repeated", settings),
    DN_OPT_SLURM,
    DN_OPT_TAKE ("user",
                 "NAME",
                 "the rules for jobs of this user",
                 take_user,
                 DN_OPT_AT (submitter)),
    DN_OPT_END,
};

/* Return false to leave with the exit code of 'given'. */
static bool take_options (struct call *call)
{
    struct dn_options *given = call->given;
    const struct dn_submitter *submitter = &call->submitter;

    if (dn_options_take (given, call) != DN_OPTION_END
        || !dn_options_count (given, 0, call->check ? 1 : 0))
        return false;
    call->submits = submitter->account || submitter->partition || submitter->qos
                    || submitter->user_id != DN_UNSET
                    || submitter->group_id != DN_UNSET;
    if (given->n_args > 0)
        dn_options_conf (given, given->args[0]);
    if (call->check && call->discovers)
        dn_options_misuse (given, "--check cannot be combined with --discover");
    return given->exit_code == DN_EXIT_DONE;
}

static int show (const struct call *call, const struct dn_site *site)
{
    const struct dn_submitter *submitter = &call->submitter;
    dn_cleanup (dn_seen_free) struct dn_seen seen = {0};
    struct dn_origins origins;
    struct dn_rules rules = dn_site_rules (site, submitter, &origins);
    const struct dn_config_view view = {.site = site,
                                        .conf = call->given->paths.conf,
                                        .submitter = call->submits ? submitter : NULL,
                                        .rules = &rules,
                                        .origins = &origins,
                                        .seen = &seen};

    if (site->time_min_refused)
        dn_complain ("%s", dn_say_time_min_refused);
    warn_of_policies (view.conf, &site->policies, NULL);
    dn_seen_read (&seen, site, NULL);
    if (!call->given->json)
        return dn_config_print (&view);
    dn_config_print_json (&view);
    return DN_EXIT_DONE;
}

static int run (struct dn_options *given)
{
    struct call call = {.given = given,
                        .submitter = {.user_id = DN_UNSET, .group_id = DN_UNSET}};

    if (!take_options (&call))
        return given->exit_code;
    if (call.check)
        return check_config (given, call.settings.text);
    if (!dn_options_site (given, call.settings.text))
        return given->exit_code;
    return call.discovers ? discover (given, call.snapshot) : show (&call, given->site);
}

const struct dn_command dn_cmd_config = {
    .name = "config",
    .summary = "Show the rules that apply, and to whom, or check a dnnest.conf",
    .arguments = "",
    .options = options,
    .run = run,
};
