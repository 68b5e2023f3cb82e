/* gpu_types.c - the Gpu lines of a site: its types, and how jobs request them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/hardware.h"

#include <string.h>

#include "base/messages.h"

#define KEY(name, type, member, help)                                                  \
    {                                                                                  \
        name, help, DN_GPU_KEY_##type, offsetof (struct dn_gpu_type, member),          \
            sizeof (((struct dn_gpu_type *) NULL)->member)                             \
    }

/* NOLINTBEGIN(bugprone-sizeof-expression): members may be pointers */
/* clang-format off */
static const struct dn_gpu_key gpu_keys[] = {
    KEY ("Type", TEXT, type,
         "gres type, as gres.conf spells it; any name where gres have no types"),
    KEY ("Device", DEVICE, device, "name in the hardware catalogue"),
    KEY ("Cost", COST, cost,
         "price of one GPU hour in the site's unit; if no line states it, "
         "TRESBillingWeights or the catalogue"),
    KEY ("PerNode", COUNT, per_node,
         "GPUs of this type on one node; needed to move jobs to it"),
    KEY ("Nodes", COUNT, n_nodes, "number of nodes with this type"),
    KEY ("NodeCpus", COUNT, node_cpus,
         "CPUs of one such node; needed to move jobs to it"),
    KEY ("NodeMemory", COUNT, node_mem_mb,
         "memory of one such node in MB; needed to move jobs to it"),
    KEY ("NodeTmp", COUNT, node_tmp_mb,
         "temporary disk of one such node in MB; needed to move jobs with --tmp"),
    KEY ("ThreadsPerCore", COUNT, threads_per_core,
         "threads per core of its CPUs; needed to move jobs that request whole cores"),
    KEY ("MoveTo", MOVES, no_moves,
         "whether jobs are moved to it: yes or no; yes if not stated"),
    KEY ("Partitions", TEXT, partitions,
         "partitions that have this type, separated by commas; needed to move jobs to "
         "it (ALL, of a type that all have, does not suffice)"),
    KEY ("ByPartition", PARTITION, by_partition,
         "partition whose jobs have this type, whatever gres they name"),
    KEY ("MaxTime", TIME, max_time_s,
         "longest time limit of that partition, or UNLIMITED; needed to move jobs to "
         "it"),
    KEY ("ByFeature", FEATURE, by_feature,
         "feature of the nodes by which jobs ask for this type"),
    KEY ("Features", TEXT, features,
         "features that all nodes of this type have, separated by commas"),
    /* End of gpu_keys */
};
/* clang-format on */
/* NOLINTEND(bugprone-sizeof-expression) */

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
                        const struct dn_device **device,
                        struct dn_err *err)
{
    char name[DN_NAME_MAX];

    if (dn_span_copy (value, name, sizeof (name), "Device", err) < 0)
        return -1;
    *device = dn_catalogue_find (catalogue, name);
    if (!*device)
        return dn_refuse (err,
                          no_device,
                          DN_QUOTED_SPAN (value),
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

/* A partition or a feature must be a single name: a move to another type replaces it.
 */
static bool is_single (enum dn_gpu_key_type type, struct dn_span value)
{
    char text[DN_NAME_MAX];
    struct dn_features features;

    if (type == DN_GPU_KEY_PARTITION)
        return dn_span_cut (&value, ", \t").len > 0 && !value.text;
    return type != DN_GPU_KEY_FEATURE
           || (dn_span_copy (value, text, sizeof (text), "ByFeature", NULL) == 0
               && dn_features_read (text, &features) && features.n_names == 1);
}

static int read_value (const struct dn_gpu_key *key,
                       struct dn_span value,
                       const struct dn_catalogue *catalogue,
                       struct dn_gpu_type *type,
                       struct dn_err *err)
{
    const int64_t most = 1000000000;
    const struct dn_quoted shown = dn_quote (value.text, value.len);
    void *at = (char *) type + key->offset;

    if (!is_single (key->type, value))
        return key->type == DN_GPU_KEY_FEATURE
                   ? dn_refuse (err, by_feature, shown.text)
                   : dn_refuse (err, by_partition, shown.text);
    switch (key->type) {
    case DN_GPU_KEY_TEXT:
    case DN_GPU_KEY_PARTITION:
    case DN_GPU_KEY_FEATURE:
        return dn_name_copy (value, at, key->size, key->name, err);
    case DN_GPU_KEY_COUNT:
        return dn_int_read (value, key->name, 1, most, at, err);
    case DN_GPU_KEY_COST:
        return dn_real_read (value, key->name, 0, 1e6, at, err);
    case DN_GPU_KEY_TIME:
        return read_max_time (value, at, err);
    case DN_GPU_KEY_DEVICE:
        return read_device (value, catalogue, at, err);
    case DN_GPU_KEY_MOVES:
        break;
    }
    type->no_moves = dn_span_is (value, "no");
    return type->no_moves || dn_span_is (value, "yes")
               ? 0
               : dn_refuse (err, move_to, shown.text);
}

static int read_pair (const struct dn_pair *pair,
                      const struct dn_catalogue *catalogue,
                      struct dn_gpu_type *type,
                      struct dn_err *err)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (gpu_keys); i++)
        if (dn_span_is (pair->key, gpu_keys[i].name))
            return read_value (&gpu_keys[i], pair->value, catalogue, type, err);
    return dn_refuse (err,
                      gpu_key,
                      DN_QUOTED_SPAN (pair->key),
                      dn_word_meant (pair->key, gpu_key_at, NULL).text);
}

/* A name means one type: no two lines share a type, a partition or a feature. */
static int check_unique (const struct dn_gpu_types *types,
                         const struct dn_gpu_type *type,
                         struct dn_err *err)
{
    const struct {
        const char *key;
        size_t offset;
    } names[] = {{"Type", offsetof (struct dn_gpu_type, type)},
                 {"ByPartition", offsetof (struct dn_gpu_type, by_partition)},
                 {"ByFeature", offsetof (struct dn_gpu_type, by_feature)}};

    for (int i = 0; i < types->n_types; i++)
        for (size_t k = 0; k < DN_N_ELEMENTS (names); k++) {
            const char *name = (const char *) type + names[k].offset;
            const char *other = (const char *) &types->types[i] + names[k].offset;

            if (name[0] != '\0' && strcmp (name, other) == 0)
                return dn_refuse (err, mapped, names[k].key, name);
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
        return dn_refuse (err, gpu_line);
    if (check_unique (types, &type, err) < 0)
        return -1;
    if (types->n_types == DN_CANDIDATES_MAX)
        return dn_refuse (err, gpu_lines, DN_CANDIDATES_MAX);
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

bool dn_gpu_by_partition (const struct dn_gpu_type *type, const struct dn_job *job)
{
    return type && type->by_partition[0] != '\0' && job->partition
           && strcmp (type->by_partition, job->partition) == 0;
}

bool dn_gpu_has_partitions (const struct dn_gpu_type *type)
{
    return type->partitions[0] != '\0' && strcmp (type->partitions, "ALL") != 0;
}

/* Features, like partitions, are case-sensitive in Slurm. */
bool dn_is_feature (const char *feature, struct dn_span name)
{
    size_t len = feature ? strlen (feature) : 0;

    return len > 0 && name.len == len && memcmp (name.text, feature, len) == 0;
}
