/* network.c - networks that are files
 *
 * A file has its network at one size, and for each key that may differ ("sized") two
 * more. Each number of each operator is then taken from the parabola through the three:
 * over the pixels of image=, over the value of any other key. Where several keys are
 * given, their ratios are multiplied.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/network.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/messages.h"
#include "graph/build.h"
#include "graph/network_read.h"

/* {"graph": {"sized": {"image": [{"ops": [{"in": [[3, 224, 224]]}]}]}}} */
#define DEPTH_MAX 11

/* A file of DN_NETWORK_FILE_MAX has no more. */
#define VALUES_MAX (DN_NETWORK_FILE_MAX / 2)

/* How far beyond the sizes of the file, in proportion, image= may be, where layers
 * round.
 */
#define BELOW 0.5
#define ABOVE 2.0

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";

const struct dn_network *dn_networks_at (const struct dn_networks *networks, int i)
{
    return networks && i >= 0 && i < networks->n ? networks->list[i] : NULL;
}

const struct dn_network *dn_networks_find (const struct dn_networks *networks,
                                           const char *name)
{
    for (int i = 0; networks && i < networks->n; i++)
        if (dn_texts_equal (networks->list[i]->name, name))
            return networks->list[i];
    return NULL;
}

/* The family is what people read in lists: it stands at the beginning of the file. */
#define FAMILY_WITHIN 512

static void find_family (struct dn_network *network)
{
    static const char mark[] = "\"family\":";
    char head[FAMILY_WITHIN + 1];
    const char *at;

    snprintf (head, sizeof (head), "%.*s", FAMILY_WITHIN, network->text);
    at = strstr (head, mark);
    at = at ? strchr (at + sizeof (mark) - 1, '"') : NULL;
    snprintf (network->family,
              sizeof (network->family),
              "%.*s",
              at ? (int) strcspn (at + 1, "\"") : 0,
              at ? at + 1 : "");
    if (network->family[strspn (network->family, name_letters)] != '\0'
        || network->family[0] == '\0')
        memcpy (network->family, "network", sizeof ("network"));
}

static int check_name (const struct dn_networks *networks,
                       const char *file,
                       const struct dn_network *network,
                       struct dn_err *err)
{
    if (network->name[0] == '\0'
        || network->name[strspn (network->name, name_letters)] != '\0')
        return dn_refuse (err, network_name, file);
    if (dn_networks_find (networks, network->name))
        return dn_refuse (err, network_twice, file, network->name);
    return 0;
}

static struct dn_network *make_network (const char *file, char *text, size_t len)
{
    struct dn_network *network = calloc (1, sizeof (*network));
    size_t n = strlen (file);
    size_t suffix = sizeof (DN_NETWORK_SUFFIX) - 1;

    if (!network)
        return NULL;
    if (n > suffix && n - suffix < sizeof (network->name)
        && strcmp (file + n - suffix, DN_NETWORK_SUFFIX) == 0)
        snprintf (
            network->name, sizeof (network->name), "%.*s", (int) (n - suffix), file);
    network->text = text;
    network->len = len;
    find_family (network);
    return network;
}

static void free_network (struct dn_network *network)
{
    free (network->text);
    free (network);
}

void dn_networks_free (struct dn_networks *networks)
{
    if (!networks)
        return;
    for (int i = 0; i < networks->n; i++)
        free_network (networks->list[i]);
    free (networks->list);
    *networks = (struct dn_networks){.n = 0};
}

/* A network that is being read. */
struct reading {
    struct dn_build *build;
    const struct dn_network *network;
    struct json_object *graph;
    struct json_object *at; /* the values of keys that the network has; may be NULL */
    struct json_object *sized; /* NULL: none may differ */
    struct dn_drawn base;
    bool check;                /* read all sizes, whatever is wanted */
    struct dn_graph graph_now; /* as it becomes; its operators are owned by 'build' */
};

/* A key, its values at the three sizes, how many positions these have, and those of the
 * size that is wanted.
 */
struct change {
    const struct dn_key *key;
    int n_dims;
    struct json_object *values[3];
    double x[3];
    double x_wanted;
    struct dn_drawn drawn[2];
};

static void change_free (struct change *change)
{
    dn_drawn_free (&change->drawn[0]);
    dn_drawn_free (&change->drawn[1]);
}

/* The value on the parabola through the three; below zero: the size is too small. */
static double value_at (const struct change *c, double y0, double y1, double y2)
{
    const double *x = c->x;
    double at = c->x_wanted;
    double y = y0 * (at - x[1]) * (at - x[2]) / ((x[0] - x[1]) * (x[0] - x[2]))
               + y1 * (at - x[0]) * (at - x[2]) / ((x[1] - x[0]) * (x[1] - x[2]))
               + y2 * (at - x[0]) * (at - x[1]) / ((x[2] - x[0]) * (x[2] - x[1]));

    return y0 == y1 && y0 == y2 ? y0 : y;
}

/* Change 'number', which was 'y0' in the file, to what it is at the wanted size. */
static void bend (const struct change *c,
                  double *number,
                  double y0,
                  double y1,
                  double y2)
{
    double y = dn_max (value_at (c, y0, y1, y2), 0);

    *number = y0 > 0 ? *number * y / y0 : *number + y;
}

/* "8x224x224", "224", or a word */
static void write_value (struct json_object *value, char text[DN_NAME_MAX])
{
    struct dn_buf buf = dn_buf_on (text, DN_NAME_MAX);

    if (!json_object_is_type (value, json_type_array)) {
        dn_buf_add (&buf, "%s", json_object_get_string (value));
        return;
    }
    for (size_t i = 0; i < json_object_array_length (value); i++)
        dn_buf_add (&buf,
                    "%s%s",
                    i > 0 ? "x" : "",
                    json_object_get_string (json_object_array_get_idx (value, i)));
}

/* The parabola is no good for the wanted size. */
static void refuse_size (struct reading *r, const struct change *c)
{
    int least = 0;
    int most = 0;
    char from[DN_NAME_MAX];
    char to[DN_NAME_MAX];
    char wanted[DN_VALUE_MAX];

    for (int i = 1; i < 3; i++) {
        least = c->x[i] < c->x[least] ? i : least;
        most = c->x[i] > c->x[most] ? i : most;
    }
    write_value (c->values[least], from);
    write_value (c->values[most], to);
    dn_spec_write_value (r->build->spec, c->key, wanted);
    dn_build_refuse (
        r->build, network_range, c->key->name, wanted, r->network->name, from, to);
}

/* Refuse a size of images that the parabola is no good for. */
static void check_wanted (struct reading *r, const struct change *c)
{
    double power = 1.0 / c->n_dims;
    double least = dn_min (c->x[0], dn_min (c->x[1], c->x[2]));
    double most = dn_max (c->x[0], dn_max (c->x[1], c->x[2]));

    if (c->key->type == DN_KEY_IMAGE
        && (pow (c->x_wanted / least, power) < BELOW
            || pow (c->x_wanted / most, power) > ABOVE))
        refuse_size (r, c);
}

static void bend_operator (struct reading *r, const struct change *c, int i)
{
    struct dn_op *now = &r->graph_now.ops[i];
    struct dn_op *at[3] = {
        &r->base.graph.ops[i], &c->drawn[0].graph.ops[i], &c->drawn[1].graph.ops[i]};
    struct dn_keyset key = dn_keyset_of (c->key->offset);
    bool grows = !dn_keyset_is_empty (dn_keyset_and (r->base.growth[i], key));

    if (value_at (c, at[0]->repeat, at[1]->repeat, at[2]->repeat) < -0.5)
        refuse_size (r, c);
    for (int k = 0; k < dn_n_op_numbers; k++) {
        const struct dn_network_number *number = &dn_op_numbers[k];

        if (grows && number->grows)
            *dn_network_number (now, number) *= c->x_wanted / c->x[0];
        else
            bend (c,
                  dn_network_number (now, number),
                  *dn_network_number (at[0], number),
                  *dn_network_number (at[1], number),
                  *dn_network_number (at[2], number));
    }
}

static void bend_graph (struct reading *r, struct change *c)
{
    struct dn_graph *now = &r->graph_now;
    struct dn_graph *at[3] = {&r->base.graph, &c->drawn[0].graph, &c->drawn[1].graph};
    double blocks = (double) now->block_layers;

    for (int k = 0; k < dn_n_graph_numbers; k++)
        bend (c,
              dn_network_number (now, &dn_graph_numbers[k]),
              *dn_network_number (at[0], &dn_graph_numbers[k]),
              *dn_network_number (at[1], &dn_graph_numbers[k]),
              *dn_network_number (at[2], &dn_graph_numbers[k]));
    bend (c,
          &blocks,
          (double) at[0]->block_layers,
          (double) at[1]->block_layers,
          (double) at[2]->block_layers);
    now->block_layers = (int64_t) round (blocks);
    for (int i = 0; i < now->n_ops; i++)
        bend_operator (r, c, i);
}

/* The i-th value of the key, 'name' in 'json': a number, or of image= up to three, of
 * which one number is a square.
 */
static int read_size (struct json_object *json,
                      const char *name,
                      int i,
                      struct change *c,
                      struct dn_err *err)
{
    bool image = c->key->type == DN_KEY_IMAGE;
    double dim[3] = {-1};
    int n = 1;

    c->values[i] = dn_json_member (json, name);
    if (json_object_is_type (c->values[i], json_type_array)) {
        if (dn_json_read_reals (json, name, 1, c->key->max, 1, 3, dim, &n, err) < 0)
            return -1;
        c->n_dims = i == 0 ? n : c->n_dims;
    } else {
        if (dn_json_read_real (json, name, c->key->min, c->key->max, dim, err) < 0)
            return -1;
        c->n_dims = i > 0 ? c->n_dims : image ? 2 : 1;
    }
    if (dim[0] < 0 || (!image && n != 1))
        return dn_refuse (err, network_at, name);
    c->x[i] = 1;
    for (int k = 0; k < (n > 1 ? n : c->n_dims); k++)
        c->x[i] *= dim[n > 1 ? k : 0];
    return 0;
}

/* Read one of the two further sizes. */
static int read_further (struct reading *r,
                         struct json_object *entry,
                         struct change *change,
                         int i,
                         struct dn_err *err)
{
    if (read_size (entry, "at", i + 1, change, err) < 0)
        return -1;
    return dn_network_read (
        r->graph, entry, r->build->deadline, &change->drawn[i], err);
}

static int read_sizes (struct reading *r, struct change *change, struct dn_err *err)
{
    const char *name = change->key->name;
    struct json_object *pair = dn_json_need_array (r->sized, name, 2, 2, err);

    if (!pair)
        return -1;
    for (int i = 0; i < 2; i++)
        if (read_further (
                r, json_object_array_get_idx (pair, (size_t) i), change, i, err)
            < 0)
            return dn_err_wrap (err, "sized.%s[%d]", name, i);
    if (change->x[0] == change->x[1] || change->x[0] == change->x[2]
        || change->x[1] == change->x[2]) {
        dn_refuse (err, network_sizes);
        return dn_err_wrap (err, "sized.%s", name);
    }
    return 0;
}

/* The value of the key that the specification gives; false if it gives none, or has an
 * error.
 */
static bool want (struct reading *r, struct change *change)
{
    const struct dn_spec *spec = r->build->spec;
    const struct dn_image *image = &spec->image;
    int n_dims = change->n_dims;
    int64_t value;

    if (change->key->type != DN_KEY_IMAGE) {
        memcpy (&value, (const char *) spec + change->key->offset, sizeof (value));
        change->x_wanted = (double) value;
        return value != DN_UNSET;
    }
    if (image->n_dims == 0)
        return false;
    if (image->n_dims != 1 && image->n_dims != n_dims) {
        dn_build_refuse (
            r->build, image_dims_of, image->n_dims, n_dims, r->network->name);
        return false;
    }
    change->x_wanted = 1;
    for (int i = 0; i < n_dims; i++)
        change->x_wanted *= (double) image->dim[image->n_dims == 1 ? 0 : i];
    return true;
}

/* The key has one value in the file. */
static void refuse (struct reading *r,
                    const struct dn_key *key,
                    struct json_object *value)
{
    char text[DN_NAME_MAX];

    write_value (value, text);
    dn_build_refuse (r->build, network_one, key->name, r->network->name, text);
}

/* The builder has read the key. */
static void read_key (struct reading *r, const struct dn_key *key)
{
    r->build->wanted = dn_keyset_or (r->build->wanted, dn_keyset_of (key->offset));
}

/* Refuse a value of a key of words, or of width=, that is not the network's. */
static void follow_word (struct reading *r,
                         const struct dn_key *key,
                         struct json_object *value)
{
    char given[DN_VALUE_MAX];

    if (!dn_spec_has (r->build->spec, key))
        return;
    dn_spec_write_value (r->build->spec, key, given);
    read_key (r, key);
    if (strcmp (given, json_object_get_string (value)) != 0)
        refuse (r, key, value);
}

/* Follow the specification in one key of "at". */
static int follow (struct reading *r, const char *name, struct dn_err *err)
{
    dn_cleanup (change_free) struct change change = {
        .key = dn_spec_key (dn_span_of (name))};
    bool may_differ = dn_json_member (r->sized, name);

    if (change.key && dn_key_is_network (change.key)
        && (change.key->type == DN_KEY_ENUM || change.key->type == DN_KEY_REAL)) {
        follow_word (r, change.key, dn_json_member (r->at, name));
        return 0;
    }
    if (!change.key || !dn_key_is_network (change.key)
        || (change.key->type != DN_KEY_INT && change.key->type != DN_KEY_IMAGE))
        return dn_refuse (err, network_at, name);
    if (read_size (r->at, name, 0, &change, err) < 0)
        return -1;
    if (may_differ)
        read_key (r, change.key);
    if (r->check && may_differ)
        return read_sizes (r, &change, err);
    if (!want (r, &change))
        return 0;
    if (change.x_wanted == change.x[0]) {
        read_key (r, change.key);
        return 0;
    }
    if (!may_differ) {
        refuse (r, change.key, change.values[0]);
        return 0;
    }
    if (read_sizes (r, &change, err) < 0)
        return -1;
    check_wanted (r, &change);
    bend_graph (r, &change);
    return 0;
}

static int copy_base (struct reading *r, struct dn_err *err)
{
    size_t size = (size_t) r->base.graph.n_ops * sizeof (struct dn_op);

    r->graph_now = r->base.graph;
    r->graph_now.ops = malloc (size);
    if (!r->graph_now.ops)
        return dn_refuse (err, no_memory);
    memcpy (r->graph_now.ops, r->base.graph.ops, size);
    return 0;
}

static int read_keys (struct reading *r, struct dn_err *err)
{
    if (!r->at)
        return 0;
    json_object_object_foreach (r->at, name, value)
    {
        (void) value;
        if (follow (r, name, err) < 0)
            return -1;
        if (r->build->failed)
            return 0;
    }
    return 0;
}

static int check_sized (const struct reading *r, struct dn_err *err)
{
    if (!r->sized)
        return 0;
    json_object_object_foreach (r->sized, name, value)
    {
        (void) value;
        if (!dn_json_member (r->at, name))
            return dn_refuse (err, network_at, name);
    }
    return 0;
}

static struct json_object *parse (const struct dn_network *network,
                                  const struct dn_deadline *deadline,
                                  struct reading *r,
                                  struct dn_err *err)
{
    struct json_object *json =
        dn_json_read_by ((struct dn_span){network->text, network->len},
                         DEPTH_MAX,
                         VALUES_MAX,
                         deadline,
                         err);
    int64_t version = 0;

    if (!json)
        return NULL;
    if (dn_json_read_keys (json, "dnnest spec graph", err) == 0
        && dn_json_need_int (json, "dnnest", 1, 1, &version, err) == 0
        && (r->graph = dn_json_need_object (json, "graph", err))
        && dn_json_read_object (r->graph, "sized", &r->sized, err) == 0
        && dn_json_read_object (r->graph, "at", &r->at, err) == 0
        && check_sized (r, err) == 0)
        return json;
    json_object_put (json);
    return NULL;
}

static void build_network (struct dn_build *build,
                           const struct dn_network *network,
                           bool check)
{
    struct reading r = {.build = build, .network = network, .check = check};
    struct dn_err err = {0};
    dn_cleanup (dn_json_free) struct json_object *json =
        parse (network, build->deadline, &r, &err);
    char name[DN_NAME_MAX];

    if (!json || dn_network_read (r.graph, NULL, build->deadline, &r.base, &err) < 0
        || copy_base (&r, &err) < 0 || read_keys (&r, &err) < 0)
        dn_build_fail (
            build, err.code, "%s%s: %s", network->name, DN_NETWORK_SUFFIX, err.text);
    dn_drawn_free (&r.base);
    memcpy (name, build->graph.name, sizeof (name));
    build->graph = r.graph_now;
    memcpy (build->graph.name, name, sizeof (name));
}

void dn_network_build (struct dn_build *build, const struct dn_network *network)
{
    build_network (build, network, false);
}

static int check_network (const struct dn_network *network, struct dn_err *err)
{
    struct dn_spec spec = dn_spec_empty ();
    struct dn_build build;
    dn_cleanup (dn_graph_free) struct dn_graph graph = {0};

    dn_build_start (&build, &spec, NULL, network->name, err);
    build_network (&build, network, true);
    return dn_build_finish (&build, &graph);
}

static int take_in (struct dn_networks *networks,
                    const char *file,
                    struct dn_network *network,
                    bool check,
                    struct dn_err *err)
{
    if (check_name (networks, file, network, err) < 0
        || (check && check_network (network, err) < 0))
        return -1;
    /* -Wanalyzer-null-dereference: no caller passes NULL */
    if (networks->n == DN_NETWORKS_MAX
        || networks->bytes + network->len > DN_NETWORKS_BYTES)
        return dn_refuse (
            err, network_many, file, DN_NETWORKS_MAX, DN_NETWORKS_BYTES / 1024 / 1024);
    if (!networks->list)
        networks->list = calloc (DN_NETWORKS_MAX, sizeof (struct dn_network *));
    if (!networks->list)
        return dn_refuse (err, no_memory_for, file);
    networks->list[networks->n++] = network;
    networks->bytes += network->len;
    return 0;
}

int dn_networks_add (struct dn_networks *networks,
                     const char *file,
                     char *text,
                     size_t len,
                     bool check,
                     struct dn_err *err)
{
    struct dn_network *network = make_network (file, text, len);

    if (!network) {
        free (text);
        return dn_refuse (err, no_memory_for, file);
    }
    if (take_in (networks, file, network, check, err) == 0)
        return 0;
    free_network (network);
    return -1;
}
