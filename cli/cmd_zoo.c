/* cmd_zoo.c - the networks that model= knows, and the data sets that dataset= knows
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <fnmatch.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "output/rows.h"
#include "output/show.h"

/* A text that is no name and has no '*', '?' or '[' is part of a name, otherwise a
 * pattern of the whole name; '-' and '_' are the same, as everywhere in names.
 */
static bool is_like (const char *name, const char *pattern)
{
    char glob[DN_NAME_MAX + 3];
    char plain[DN_NAME_MAX];
    bool part = !strpbrk (pattern, "*?[");

    snprintf (glob, sizeof (glob), part ? "*%s*" : "%s", pattern);
    snprintf (plain, sizeof (plain), "%s", name);
    for (char *at = glob; (at = strchr (at, '-'));)
        *at = '_';
    return fnmatch (glob, plain, FNM_CASEFOLD) == 0;
}

/* What a pattern means: one network, or all that are like it. */
struct wanted {
    const char *pattern; /* NULL: all networks */
    bool one;
    struct dn_model model; /* if one */
};

static bool is_wanted (const char *name,
                       const struct dn_zoo_entry *entry,
                       const struct wanted *wanted)
{
    if (!wanted->pattern)
        return true;
    if (wanted->one)
        return strcmp (name, wanted->model.entry.name) == 0;
    return is_like (name, wanted->pattern) || is_like (entry->family, wanted->pattern);
}

/* The keys of its sizes: the totals hold for every network. */
static struct dn_keyset sizes_of (const struct dn_graph *graph)
{
    struct dn_keyset totals = dn_keyset_or (
        DN_KEYSET (params), dn_keyset_or (DN_KEYSET (flops), DN_KEYSET (activations)));

    return dn_keyset_minus (graph->read, totals);
}

static void add_network (struct json_object *array,
                         const char *name,
                         const struct dn_zoo_entry *entry,
                         const struct dn_graph *graph)
{
    struct json_object *json = dn_json_append_object (array);

    dn_json_add_text (json, "name", name);
    dn_json_add_text (json, "family", entry->family);
    dn_json_add_real (json, "params", graph->params + graph->frozen_params);
    dn_json_add_real (json, "forward_flops_per_sample", graph->flops);
    json_object_object_add (json, "keys", dn_show_keys_json (sizes_of (graph)));
}

/* Add the networks that 'pattern' means (NULL: all), with nothing but their names
 * given. Return how many, or -1.
 */
static int list (const struct dn_networks *networks,
                 const char *pattern,
                 struct json_object *array,
                 struct dn_err *err)
{
    struct wanted wanted = {.pattern = pattern};
    const char *name;
    int n = 0;

    wanted.one = pattern && dn_model_find (networks, pattern, &wanted.model);
    for (int i = 0; (name = dn_model_at (networks, i)); i++) {
        struct dn_spec spec = dn_spec_empty ();
        struct dn_model model;
        struct dn_graph graph;

        if (!dn_model_find (networks, name, &model)
            || !is_wanted (name, &model.entry, &wanted))
            continue;
        snprintf (spec.model, sizeof (spec.model), "%s", name);
        if (dn_graph_build (networks, &spec, &graph, err) < 0)
            return -1;
        add_network (array, name, &model.entry, &graph);
        dn_graph_free (&graph);
        n++;
    }
    return n;
}

/* --- data sets ------------------------------------------------------------------ */

/* What a sample is before a loader decodes it. */
static const char *kind_of (const struct dn_dataset *row)
{
    static const char *const kinds[] = {[DN_DECODE_UNKNOWN] = "text",
                                        [DN_DECODE_NONE] = "records",
                                        [DN_DECODE_JPEG] = "images",
                                        [DN_DECODE_TEXT] = "text",
                                        [DN_DECODE_AUDIO] = "audio",
                                        [DN_DECODE_VIDEO] = "video"};

    return row->samples == DN_UNSET ? "running text" : kinds[row->decode];
}

static const char *dataset_at (const void *names, int i)
{
    const struct dn_datasets *datasets = names;

    return i < datasets->n_rows ? datasets->rows[i].name : NULL;
}

static void add_dataset (struct json_object *array, const struct dn_dataset *row)
{
    struct json_object *json = dn_json_append_object (array);

    dn_json_add_text (json, "name", row->name);
    dn_json_add_text (json, "kind", kind_of (row));
    if (row->samples != DN_UNSET)
        dn_json_add_count (json, "samples", row->samples);
    else
        dn_json_add_real (json, "tokens", row->tokens);
    if (row->sample_bytes != DN_UNSET)
        dn_json_add_count (json, "sample_bytes", row->sample_bytes);
}

static int list_datasets (const struct dn_datasets *datasets,
                          const char *pattern,
                          bool as_json)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    struct json_object *array = dn_json_add_array (json, "datasets");
    char near[DN_REASON_MAX];
    struct dn_buf buf = dn_buf_on (near, sizeof (near));
    struct dn_err err;
    int n = 0;

    for (int i = 0; i < datasets->n_rows; i++) {
        const struct dn_dataset *row = &datasets->rows[i];

        if (pattern && !is_like (row->name, pattern)
            && !is_like (kind_of (row), pattern))
            continue;
        add_dataset (array, row);
        n++;
    }
    if (pattern && n == 0) {
        dn_add_near (&buf, pattern, dataset_at, datasets);
        dn_err_set (&err,
                    DN_E_RANGE,
                    "'%s' is not a data set of the table, expected a part of a name or "
                    "of a kind; a job with samples= or tokens= needs none%s",
                    dn_quote (pattern, strlen (pattern)).text,
                    near);
        return dn_fail (DN_EXIT_USAGE, &err);
    }
    if (!as_json)
        return dn_rows_print (json_object_get (array),
                              "DATA SET=name|KIND=kind|SAMPLES>=samples si|"
                              "TOKENS>=tokens si|BYTES/SAMPLE>=sample_bytes si",
                              NULL);
    dn_json_print (json);
    return DN_EXIT_DONE;
}

/* --- the command ---------------------------------------------------------------- */

struct call {
    bool datasets;
    const char *file; /* of them; NULL: that of the site */
};

static int take_datasets (struct dn_options *given, void *to)
{
    struct call *call = to;

    call->datasets = true;
    call->file = given->argument;
    return DN_EXIT_DONE;
}

static const struct dn_option options[] = {
    DN_OPT_TAKE ("datasets",
                 "[=FILE]",
                 "list the data sets of dataset=, or of FILE",
                 take_datasets),
    {0},
};

/* The data sets of a file, which needs no site. */
static int list_file (const char *file, const char *pattern, bool as_json)
{
    dn_cleanup (dn_free_ptr) struct dn_datasets *datasets =
        calloc (1, sizeof (*datasets));
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_err err = {0};

    if (!datasets)
        dn_err_set (&err, DN_E_NOMEM, "out of memory");
    else if (dn_read_input (file, &text, &err) == 0
             && dn_datasets_read (dn_span_of (text), file, datasets, &err) == 0)
        return list_datasets (datasets, pattern, as_json);
    return dn_fail (DN_EXIT_DATA, &err);
}

static int refuse (const struct dn_networks *networks, const char *pattern)
{
    char near[DN_REASON_MAX];
    struct dn_buf buf = dn_buf_on (near, sizeof (near));
    const char *nearest;
    struct dn_err err;

    nearest = dn_model_nearest (networks, pattern);
    if (nearest)
        dn_buf_add (&buf, ", near: %s", nearest);
    dn_err_set (
        &err,
        DN_E_RANGE,
        "'%s' is not a network or family of the zoo, expected a part of a name, a "
        "pattern such as 'llama*', or a hub's name%s",
        dn_quote (pattern, strlen (pattern)).text,
        near);
    return dn_fail (DN_EXIT_USAGE, &err);
}

static int run (struct dn_options *given)
{
    struct call call = {.datasets = false};
    struct dn_err err = {0};
    dn_cleanup (dn_json_free) struct json_object *json = NULL;
    struct json_object *networks;
    const char *pattern;
    int n;

    if (!dn_options_all (given, &call, 0, 1))
        return given->exit_code;
    pattern = given->n_args > 0 ? given->args[0] : NULL;
    if (call.file)
        return list_file (call.file, pattern, given->json);
    if (!dn_options_site (given, NULL))
        return given->exit_code;
    if (call.datasets)
        return list_datasets (&given->site->datasets, pattern, given->json);
    json = json_object_new_object ();
    networks = dn_json_add_array (json, "networks");
    n = list (&given->site->networks, pattern, networks, &err);
    if (n < 0)
        return dn_fail (DN_EXIT_BUG, &err);
    if (pattern && n == 0)
        return refuse (&given->site->networks, pattern);
    if (!given->json)
        return dn_rows_print (json_object_get (networks),
                              "NETWORK=name|FAMILY=family|PARAMETERS>=params si|"
                              "FLOP/SAMPLE>=forward_flops_per_sample si|KEYS=keys",
                              NULL);
    dn_json_print (json);
    return DN_EXIT_DONE;
}

const struct dn_command dn_cmd_zoo = {
    .name = "zoo",
    .summary = "List the networks that model= knows",
    .arguments = "[PATTERN]",
    .options = options,
    .run = run,
};
