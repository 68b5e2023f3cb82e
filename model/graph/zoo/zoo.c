/* zoo.c - from a specification to the operators of its network
 *
 * A model= is looked up among the names of the zoo, then among the names of the
 * families, in each of the spellings that it can have (names.h). A network that is in
 * neither is described by the numbers params=, flops= and activations=. The same
 * numbers given with a known name replace the totals of its graph.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/messages.h"
#include "graph/network.h"
#include "graph/tune.h"
#include "names.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FAMILY(name) &dn_zoo_##name,
static const struct dn_zoo_family *const families[] = {DN_ZOO_FAMILIES (FAMILY)};

#define N_FAMILIES ((int) DN_N_ELEMENTS (families))

/* Names of families that are described by their sizes, and the rows they begin with. */
static const char *const aliases[][2] = {{"cnn", "cnn"},
                                         {"transformer", "gpt2"},
                                         {"rnn", "lstm_lm"},
                                         {"recsys", "dlrm"}};

/* What a name stands for: a row of a family, or a file. */
struct found {
    struct dn_zoo_entry entry; /* its name is NULL: neither */
    const struct dn_zoo_family *family;
    const void *row; /* begins with its name */
    const struct dn_network *network;
    int64_t image; /* size of images that the name states */
};

static struct found row_of (const struct dn_zoo_family *family, int i)
{
    const void *row = (const char *) family->rows + (size_t) i * family->row_size;

    return (struct found){.entry = {*(const char *const *) row, family->name},
                          .family = family,
                          .row = row,
                          .image = DN_UNSET};
}

static struct found file_of (const struct dn_network *network)
{
    struct found found = {.network = network, .image = DN_UNSET};

    if (network)
        found.entry = (struct dn_zoo_entry){network->name, network->family};
    return found;
}

static struct found find_exactly (const struct dn_networks *networks, const char *name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (aliases); i++)
        if (dn_texts_equal (aliases[i][0], name))
            name = aliases[i][1];
    for (int f = 0; f < N_FAMILIES; f++)
        for (int i = 0; i < families[f]->n_rows; i++) {
            struct found found = row_of (families[f], i);

            if (dn_texts_equal (found.entry.name, name))
                return found;
        }
    return file_of (dn_networks_find (networks, name));
}

struct dn_zoo_entry dn_zoo_at (const struct dn_networks *networks, int i)
{
    /* The last family is cnn, which is no network by itself. */
    for (int f = 0; i >= 0 && f < N_FAMILIES - 1; i -= families[f++]->n_rows)
        if (i < families[f]->n_rows)
            return row_of (families[f], i).entry;
    return file_of (dn_networks_at (networks, i)).entry;
}

const char *dn_model_at (const void *networks, int i)
{
    int n = (int) DN_N_ELEMENTS (aliases);

    if (i >= 0 && i < n)
        return aliases[i][0];
    return dn_zoo_at (networks, i - n).name;
}

bool dn_zoo_has (const char *name)
{
    return find_exactly (NULL, name).row;
}

/* What 'text' as it is, or in one of its spellings, stands for. */
static struct found find_network (const struct dn_networks *networks, const char *text)
{
    struct dn_spelling spellings[DN_SPELLINGS_MAX];
    struct found found = find_exactly (networks, text);
    int n = found.entry.name ? 0 : dn_spellings_of (text, spellings);

    for (int i = 0; i < n && !found.entry.name; i++) {
        found = find_exactly (networks, spellings[i].name);
        if (found.entry.name)
            found.image = spellings[i].image;
    }
    if (found.entry.name && !dn_publishes (text, found.entry.name))
        found = (struct found){.image = DN_UNSET};
    return found;
}

/* The file of a network with another head or stem is NAME.VALUE. */
static void turn (const struct dn_networks *networks,
                  const struct dn_spec *spec,
                  const char *key,
                  struct found *found)
{
    const struct dn_network *other;
    char name[2 * DN_NAME_MAX];
    char value[DN_VALUE_MAX];

    if (!found->network || !dn_spec_has (spec, dn_spec_key (dn_span_of (key))))
        return;
    dn_spec_write_value (spec, dn_spec_key (dn_span_of (key)), value);
    snprintf (name, sizeof (name), "%s.%s", found->entry.name, value);
    other = dn_networks_find (networks, name);
    if (other)
        found->network = other;
}

bool dn_model_find (const struct dn_networks *networks,
                    const char *text,
                    struct dn_model *model)
{
    struct found found = find_network (networks, text);

    if (!found.entry.name)
        return false;
    *model = (struct dn_model){.entry = found.entry, .image = found.image};
    return true;
}

const char *dn_model_nearest (const struct dn_networks *networks, const char *text)
{
    const char *kin = dn_name_kin (dn_kins, text, dn_model_at, networks);

    return kin ? kin : dn_name_nearest (text, dn_model_at, networks);
}

const char *dn_model_class (const char *text)
{
    return dn_name_kin (dn_classes, text, dn_model_at, NULL);
}

/* Is it one of the families that sizes describe? */
static bool is_class (const char *name)
{
    bool is = dn_texts_equal (name, "mlp");

    for (size_t i = 0; i < DN_N_ELEMENTS (aliases); i++)
        is = is || dn_texts_equal (name, aliases[i][0]);
    return is;
}

static int fail_unknown (const struct dn_networks *networks,
                         const char *name,
                         const struct dn_deadline *deadline,
                         struct dn_err *err)
{
    struct dn_quoted quoted = dn_quote (name, strlen (name));
    const char *kin;
    const char *nearest;

    if (dn_deadline_check (deadline, dn_say_names_like_model, err) < 0)
        return -1;
    if (name[0] == '\0')
        return dn_refuse (err, zoo_none);
    kin = dn_name_kin (dn_kins, name, dn_model_at, networks);
    nearest = kin ? kin : dn_name_nearest (name, dn_model_at, networks);
    if (!nearest)
        nearest = kin = dn_model_class (name);
    if (!nearest)
        return dn_refuse (err, zoo_unknown, quoted.text);
    return dn_err_set (err,
                       DN_E_RANGE,
                       !kin             ? dn_say_err_zoo_meant
                       : is_class (kin) ? dn_say_err_zoo_class
                                        : dn_say_err_zoo_kin,
                       quoted.text,
                       nearest);
}

/* Scale the graph to the totals of the specification, which may be more exact than the
 * graph: a modified network is assumed to have the proportions of the original.
 */
static void scale_totals (struct dn_graph *graph,
                          double params,
                          double flops,
                          double activations)
{
    double saved = 0;
    double by_params;
    double by_flops;
    double by_saved;

    for (int i = 0; i < graph->n_ops; i++)
        saved += graph->ops[i].repeat * graph->ops[i].saved;
    by_params = params > 0 && graph->params > 0 ? params / graph->params : 1;
    by_flops = flops > 0 && graph->flops > 0 ? flops / graph->flops : 1;
    by_saved = activations > 0 && saved > 0 ? activations / saved : 1;
    for (int i = 0; i < graph->n_ops; i++) {
        struct dn_op *op = &graph->ops[i];

        op->params *= by_params;
        op->weights *= by_params;
        op->flops *= by_flops;
        op->k *= by_flops;
        op->saved *= by_saved;
        op->input_saved *= by_saved;
        op->wide_saved *= by_saved;
        op->amp_saved *= by_saved;
        op->in *= by_saved;
        op->out *= by_saved;
        op->masks *= by_saved;
    }
    graph->params *= by_params;
    graph->flops *= by_flops;
    graph->block_boundary *= by_saved;
}

int dn_graph_build_by (const struct dn_networks *networks,
                       const struct dn_spec *spec,
                       const struct dn_deadline *deadline,
                       struct dn_graph *graph,
                       struct dn_err *err)
{
    struct found found = find_network (networks, spec->model);
    struct dn_spec sized = *spec;
    struct dn_build build;
    double params;
    double flops;
    double activations;

    *graph = (struct dn_graph){0};
    turn (networks, spec, "head", &found);
    turn (networks, spec, "stem", &found);
    if (!found.entry.name
        && !(spec->params > 0 && spec->flops > 0 && spec->activations > 0))
        return fail_unknown (networks, spec->model, deadline, err);
    if (found.image != DN_UNSET && spec->image.n_dims == 0)
        sized.image = (struct dn_image){.dim = {found.image}, .n_dims = 1};
    dn_build_start (&build,
                    &sized,
                    deadline,
                    found.entry.name ? found.entry.name : spec->model,
                    err);
    params = DN_WANT_REAL (&build, params, 0);
    flops = DN_WANT_REAL (&build, flops, 0);
    activations = DN_WANT_REAL (&build, activations, 0);
    if (found.network && !build.failed)
        dn_network_build (&build, found.network);
    else if (found.row && !build.failed)
        found.family->build (&build, found.row);
    else if (!build.failed)
        dn_zoo_unknown (&build);
    if (dn_build_finish (&build, graph) < 0)
        return -1;
    if (dn_graph_check (graph, spec, err) < 0) {
        dn_graph_free (graph);
        return -1;
    }
    scale_totals (graph, params, flops, activations);
    if (spec->name[0] != '\0')
        memcpy (graph->name, spec->name, sizeof (graph->name));
    if (dn_tune (graph, spec, deadline, err) == 0)
        return 0;
    dn_graph_free (graph);
    return -1;
}
