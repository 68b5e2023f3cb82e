/* gpu_types.c - the Gpu lines of a site: its types, and how jobs request them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/hardware.h"

#include <string.h>

#include "base/messages.h"

static const struct dn_gpu_key gpu_keys[] = {
    {"Type", "gres type, as gres.conf spells it; any name where gres have no types"},
    {"Device", "name in the hardware catalogue"},
    {"Cost",
     "price of one GPU hour in the site's unit; if no line states it, "
     "TRESBillingWeights or the catalogue"},
    {"PerNode", "GPUs of this type on one node; needed to move jobs to it"},
    {"Nodes", "number of nodes with this type"},
    {"NodeCpus", "CPUs of one such node; needed to move jobs to it"},
    {"NodeMemory", "memory of one such node in MB; needed to move jobs to it"},
    {"NodeTmp",
     "temporary disk of one such node in MB; needed to move jobs with --tmp"},
    {"ThreadsPerCore",
     "threads per core of its CPUs; needed to move jobs that request whole cores"},
    {"MoveTo", "whether jobs are moved to it: yes or no; yes if not stated"},
    {"Partitions",
     "partitions that have this type, separated by commas, or ALL; needed to move "
     "jobs to it"},
    {"ByPartition", "partition whose jobs have this type, whatever gres they name"},
    {"MaxTime",
     "longest time limit of that partition, or UNLIMITED; needed to move jobs to it"},
    {"ByFeature", "feature of the nodes by which jobs ask for this type"},
    {"Features", "features that all nodes of this type have, separated by commas"},
    /* End of gpu_keys */
};

const struct dn_gpu_key *dn_gpu_keys (int *n_keys)
{
    *n_keys = (int) DN_N_ELEMENTS (gpu_keys);
    return gpu_keys;
}

static const char *gpu_key_at (const void *names, int i)
{
    (void) names;
    return (size_t) i < DN_N_ELEMENTS (gpu_keys) ? gpu_keys[i].name : NULL;
}

static int read_device (struct dn_span value,
                        const struct dn_catalogue *catalogue,
                        struct dn_gpu_type *type,
                        struct dn_err *err)
{
    char name[DN_NAME_MAX];

    if (dn_span_copy (value, name, sizeof (name), "Device", err) < 0)
        return -1;
    type->device = dn_catalogue_find (catalogue, name);
    if (!type->device)
        return dn_err_set (err,
                           DN_E_RANGE,
                           dn_say_err_no_device,
                           dn_quote (value.text, value.len).text,
                           dn_word_meant (value, dn_catalogue_name_at, catalogue).text);
    return 0;
}

static int read_max_time (struct dn_span value, int64_t *seconds, struct dn_err *err)
{
    if (dn_span_is (value, "UNLIMITED") || dn_span_is (value, "INFINITE")) {
        *seconds = DN_UNLIMITED;
        return 0;
    }
    return dn_time_read (value, "MaxTime", seconds, err);
}

static int read_move_to (struct dn_span value, bool *no_moves, struct dn_err *err)
{
    *no_moves = dn_span_is (value, "no");
    if (!*no_moves && !dn_span_is (value, "yes"))
        return dn_err_set (
            err, DN_E_RANGE, dn_say_err_move_to, dn_quote (value.text, value.len).text);
    return 0;
}

/* The feature must be a single name, because a move to another type replaces it. */
static int read_by_feature (struct dn_span value, char *feature, struct dn_err *err)
{
    struct dn_features features;

    if (dn_name_copy (value, feature, DN_NAME_MAX, "ByFeature", err) < 0)
        return -1;
    if (!dn_features_read (feature, &features) || features.n_names != 1)
        return dn_err_set (err,
                           DN_E_RANGE,
                           dn_say_err_by_feature,
                           dn_quote (value.text, value.len).text);
    return 0;
}

static int read_by_partition (struct dn_span value, char *name, struct dn_err *err)
{
    struct dn_span rest = value;
    struct dn_span first = dn_span_cut (&rest, ", \t");

    if (first.len == 0 || rest.text)
        return dn_err_set (err,
                           DN_E_RANGE,
                           dn_say_err_by_partition,
                           dn_quote (value.text, value.len).text);
    return dn_name_copy (value, name, DN_NAME_MAX, "ByPartition", err);
}

/* Read the keys of the type's partitions and features. Return 1 when it is another key.
 */
static int read_place (const struct dn_pair *pair,
                       struct dn_gpu_type *type,
                       struct dn_err *err)
{
    if (dn_span_is (pair->key, "Partitions"))
        return dn_name_copy (pair->value,
                             type->partitions,
                             sizeof (type->partitions),
                             "Partitions",
                             err);
    if (dn_span_is (pair->key, "ByPartition"))
        return read_by_partition (pair->value, type->by_partition, err);
    if (dn_span_is (pair->key, "MaxTime"))
        return read_max_time (pair->value, &type->max_time_s, err);
    if (dn_span_is (pair->key, "ByFeature"))
        return read_by_feature (pair->value, type->by_feature, err);
    if (dn_span_is (pair->key, "Features"))
        return dn_name_copy (
            pair->value, type->features, sizeof (type->features), "Features", err);
    return 1;
}

/* Read the keys of one node of the type. Return 1 when it is another key. */
static int read_node (const struct dn_pair *pair,
                      struct dn_gpu_type *type,
                      struct dn_err *err)
{
    const struct {
        const char *name;
        int64_t *number;
    } keys[] = {{"PerNode", &type->per_node},
                {"Nodes", &type->n_nodes},
                {"NodeCpus", &type->node_cpus},
                {"NodeMemory", &type->node_mem_mb},
                {"NodeTmp", &type->node_tmp_mb},
                {"ThreadsPerCore", &type->threads_per_core}};
    const int64_t most = 1000000000;

    for (size_t i = 0; i < DN_N_ELEMENTS (keys); i++)
        if (dn_span_is (pair->key, keys[i].name))
            return dn_int_read (
                pair->value, keys[i].name, 1, most, keys[i].number, err);
    return 1;
}

static int read_pair (const struct dn_pair *pair,
                      const struct dn_catalogue *catalogue,
                      struct dn_gpu_type *type,
                      struct dn_err *err)
{
    int rc = read_place (pair, type, err);

    if (rc > 0)
        rc = read_node (pair, type, err);
    if (rc <= 0)
        return rc;
    if (dn_span_is (pair->key, "Type"))
        return dn_name_copy (pair->value, type->type, sizeof (type->type), "Type", err);
    if (dn_span_is (pair->key, "Device"))
        return read_device (pair->value, catalogue, type, err);
    if (dn_span_is (pair->key, "Cost"))
        return dn_real_read (pair->value, "Cost", 0, 1e6, &type->cost, err);
    if (dn_span_is (pair->key, "MoveTo"))
        return read_move_to (pair->value, &type->no_moves, err);
    return dn_err_set (err,
                       DN_E_RANGE,
                       dn_say_err_gpu_key,
                       dn_quote (pair->key.text, pair->key.len).text,
                       dn_word_meant (pair->key, gpu_key_at, NULL).text);
}

/* A name means one type: no two lines share a type, a partition or a feature. */
static int check_unique (const struct dn_gpu_types *types,
                         const struct dn_gpu_type *type,
                         struct dn_err *err)
{
    for (int i = 0; i < types->n_types; i++) {
        const struct dn_gpu_type *other = &types->types[i];

        if (strcmp (other->type, type->type) == 0)
            return dn_err_set (err, DN_E_RANGE, dn_say_err_mapped, "Type", type->type);
        if (type->by_partition[0] != '\0'
            && strcmp (other->by_partition, type->by_partition) == 0)
            return dn_err_set (
                err, DN_E_RANGE, dn_say_err_mapped, "ByPartition", type->by_partition);
        if (type->by_feature[0] != '\0'
            && strcmp (other->by_feature, type->by_feature) == 0)
            return dn_err_set (
                err, DN_E_RANGE, dn_say_err_mapped, "ByFeature", type->by_feature);
    }
    return 0;
}

int dn_gpu_types_add (struct dn_gpu_types *types,
                      const struct dn_keyline *line,
                      const struct dn_catalogue *catalogue,
                      struct dn_err *err)
{
    struct dn_gpu_type type = {.cost = -1,
                               .per_node = DN_UNSET,
                               .n_nodes = DN_UNSET,
                               .node_cpus = DN_UNSET,
                               .node_mem_mb = DN_UNSET,
                               .node_tmp_mb = DN_UNSET,
                               .threads_per_core = DN_UNSET,
                               .max_time_s = DN_UNSET};

    for (int i = 0; i < line->n_pairs; i++)
        if (read_pair (&line->pairs[i], catalogue, &type, err) < 0)
            return -1;
    if (type.type[0] == '\0' || !type.device)
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_gpu_line);
    if (check_unique (types, &type, err) < 0)
        return -1;
    if (types->n_types == DN_CANDIDATES_MAX)
        return dn_err_set (err, DN_E_LIMIT, dn_say_err_gpu_lines, DN_CANDIDATES_MAX);
    type.cost_stated = type.cost >= 0;
    if (!type.cost_stated)
        type.cost = type.device->cost;
    types->types[types->n_types++] = type;
    return 0;
}

/* Gres types are case-sensitive in Slurm. */
const struct dn_gpu_type *dn_gpu_types_find (const struct dn_gpu_types *types,
                                             const char *type)
{
    for (int i = 0; i < types->n_types; i++)
        if (strcmp (types->types[i].type, type) == 0)
            return &types->types[i];
    return NULL;
}

const struct dn_gpu_type *dn_gpu_types_resemble (const struct dn_gpu_types *types,
                                                 const char *type)
{
    const struct dn_gpu_type *same = dn_gpu_types_find (types, type);

    for (int i = 0; i < types->n_types && !same; i++)
        if (dn_span_is (dn_span_of (type), types->types[i].type))
            same = &types->types[i];
    return same;
}

bool dn_gpu_by_partition (const struct dn_gpu_type *type, const struct dn_job *job)
{
    return type && type->by_partition[0] != '\0' && job->partition
           && strcmp (type->by_partition, job->partition) == 0;
}

/* Features, like partitions, are case-sensitive in Slurm. */
bool dn_gpu_by_feature (const struct dn_gpu_type *type, struct dn_span name)
{
    size_t len = type ? strlen (type->by_feature) : 0;

    return len > 0 && name.len == len && memcmp (name.text, type->by_feature, len) == 0;
}
