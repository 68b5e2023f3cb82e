/* sidecar_write.c - a job's description in JSON, written and made shorter
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/messages.h"
#include "graph/compact.h"
#include "graph/sidecar.h"

/* Whole numbers are written as integers: "%.17g" depends on the locale and is long. */
static struct json_object *number_json (double value)
{
    if (value == floor (value) && fabs (value) < 1e15)
        return json_object_new_int64 ((int64_t) value);
    return json_object_new_double (value);
}

static struct json_object *extent_json (const struct dn_extent *extent)
{
    struct json_object *array = json_object_new_array ();

    for (int i = 0; i < extent->rank; i++)
        json_object_array_add (array, number_json (extent->dim[i]));
    return array;
}

/* Shapes, and one flat shape for the elements of the other inputs or outputs. */
static void add_extents (struct json_object *op,
                         const char *key,
                         const struct dn_extent extents[],
                         int n,
                         double more)
{
    struct json_object *array = json_object_new_array ();
    struct dn_extent rest = {.dim = {more}, .rank = 1};

    for (int i = 0; i < n; i++)
        json_object_array_add (array, extent_json (&extents[i]));
    if (more > 0)
        json_object_array_add (array, extent_json (&rest));
    json_object_object_add (op, key, array);
}

static struct json_object *layer_json (const struct dn_layer *layer)
{
    struct json_object *op = json_object_new_object ();
    struct dn_layer usual = dn_layer_empty (layer->kind);
    struct dn_layer copy = *layer;
    struct json_object *kernel;

    json_object_object_add (op,
                            "op",
                            json_object_new_string (dn_names_get (&dn_layer_kind_names,
                                                                  (int) layer->kind)));
    if (layer->name[0] != '\0')
        json_object_object_add (op, "name", json_object_new_string (layer->name));
    add_extents (op, "in", layer->in, layer->n_in, layer->more_in);
    add_extents (op, "out", &layer->out, 1, layer->more_out);
    if (layer->kernel > 0) {
        kernel = json_object_new_array ();
        json_object_array_add (kernel, number_json (layer->kernel));
        json_object_object_add (op, "kernel", kernel);
    }
    for (const struct dn_layer_member *i = dn_layer_numbers; i->key; i++) {
        double number = *(double *) dn_layer_member (&copy, i);

        if (number != *(double *) dn_layer_member (&usual, i))
            json_object_object_add (op, i->key, number_json (number));
    }
    for (const struct dn_layer_member *i = dn_layer_flags; i->key; i++)
        if (*(bool *) dn_layer_member (&copy, i))
            json_object_object_add (op, i->key, json_object_new_boolean (true));
    return op;
}

static struct json_object *graph_json (const struct dn_layers *layers)
{
    struct json_object *json = json_object_new_object ();
    struct json_object *ops = json_object_new_array ();

    json_object_object_add (json, "name", json_object_new_string (layers->name));
    if (layers->blocks > 0) {
        json_object_object_add (json, "blocks", number_json (layers->blocks));
        json_object_object_add (json, "boundary", number_json (layers->boundary));
    }
    if (layers->input_bytes >= 0)
        json_object_object_add (json, "input_bytes", number_json (layers->input_bytes));
    for (int i = 0; i < layers->n; i++)
        json_object_array_add (ops, layer_json (&layers->list[i]));
    json_object_object_add (json, "ops", ops);
    return json;
}

static struct json_object *spec_json (const struct dn_spec *spec)
{
    struct json_object *json = json_object_new_object ();
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        char text[DN_VALUE_MAX];

        if (!dn_spec_has (spec, &keys[i]))
            continue;
        dn_spec_write_value (spec, &keys[i], text);
        json_object_object_add (json, keys[i].name, json_object_new_string (text));
    }
    return json;
}

char *dn_sidecar_write (const struct dn_sidecar *sidecar)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    const char *text;

    json_object_object_add (json, "dnnest", json_object_new_int (DN_SIDECAR_VERSION));
    json_object_object_add (json, "spec", spec_json (&sidecar->spec));
    if (sidecar->layers.n > 0)
        json_object_object_add (json, "graph", graph_json (&sidecar->layers));
    text = json_object_to_json_string_ext (
        json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    return text ? strdup (text) : NULL;
}

/* Difference of sizes that is similar: at first, at most, and the factor per try. */
#define ALIKE_FIRST 1e-4
#define ALIKE_MAX   0.5
#define ALIKE_STEP  1.4

/* No operator is written in fewer bytes. */
#define OP_BYTES_MIN 32

/* The text, if it has at most 'max' bytes; else NULL and its length. */
static char *write_short (const struct dn_sidecar *sidecar, size_t max, size_t *len)
{
    char *json;

    *len = (size_t) sidecar->layers.n * OP_BYTES_MIN;
    if (*len > max)
        return NULL;
    json = dn_sidecar_write (sidecar);
    *len = json ? strlen (json) : 0;
    if (*len <= max)
        return json;
    free (json);
    return NULL;
}

/* The text with fewer operators, or NULL. */
static char *write_fewer (const struct dn_sidecar *sidecar,
                          double alike,
                          int n_min,
                          size_t max,
                          size_t *len,
                          int *n)
{
    dn_cleanup (dn_sidecar_free) struct dn_sidecar fewer = *sidecar;

    fewer.layers.list = NULL;
    if (dn_layers_fewer (&sidecar->layers, alike, n_min, &fewer.layers) < 0) {
        *len = 0;
        return NULL;
    }
    *n = fewer.layers.n;
    return write_short (&fewer, max, len);
}

/* Merge as much as is needed for a text of at most 'max' bytes: with the smallest
 * tolerance that suffices, as few operators as possible.
 */
static char *shorten (const struct dn_sidecar *sidecar, size_t max, size_t *len, int *n)
{
    char *json = write_short (sidecar, max, len);
    double alike = ALIKE_FIRST;
    int most = sidecar->layers.n;
    int least;

    *n = most;
    if (json || *len == 0)
        return json;
    while (!(json = write_fewer (sidecar, alike, 1, max, len, n)) && *len > 0
           && alike <= ALIKE_MAX)
        alike *= ALIKE_STEP;
    least = *n;
    while (json && most - least > 1) {
        int middle = least + (most - least) / 2;
        char *more = write_fewer (sidecar, alike, middle, max, len, n);

        if (more) {
            free (json);
            json = more;
            least = middle;
        } else {
            most = middle;
        }
    }
    return json;
}

int dn_sidecar_compact (struct dn_span text,
                        size_t max,
                        char **json,
                        struct dn_err *err)
{
    dn_cleanup (dn_sidecar_free) struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    dn_cleanup (dn_graph_free) struct dn_graph graph = {0};
    size_t len = 0;
    int n = 0;

    *json = NULL;
    if (dn_sidecar_read (text, &sidecar, err) < 0
        || (sidecar.layers.n > 0 && dn_layers_graph (&sidecar.layers, &graph, err) < 0))
        return -1;
    if (sidecar.layers.n > 0)
        dn_layers_simplify (&sidecar.layers);
    *json = shorten (&sidecar, max, &len, &n);
    if (*json)
        return 0;
    if (len <= max)
        return dn_refuse (err, no_memory_for, "sidecar");
    return dn_refuse (err, sidecar_size, len, n, max);
}
