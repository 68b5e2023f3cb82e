/* network_read.c - one size of a network that is a file
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/network_read.h"

#include <json-c/json.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/messages.h"
#include "graph/build.h"
#include "graph/sidecar.h"

#define COUNT_MAX 1e18

#define NUMBER(name, grows)                                                            \
    {                                                                                  \
#name, offsetof(struct dn_op, name), (grows)                                   \
    }

const struct dn_network_number dn_op_numbers[] = {
    NUMBER (repeat, false),
    NUMBER (m, true),
    NUMBER (n, false),
    NUMBER (k, false),
    NUMBER (batches, false),
    NUMBER (flops, true),
    NUMBER (in, true),
    NUMBER (out, true),
    NUMBER (weights, false),
    NUMBER (params, false),
    NUMBER (tensors, false),
    NUMBER (frozen_params, false),
    NUMBER (frozen_bytes, false),
    NUMBER (saved, true),
    NUMBER (input_saved, true),
    NUMBER (wide_saved, true),
    NUMBER (amp_saved, true),
    NUMBER (masks, true),
    NUMBER (steps, false),
    NUMBER (calls, false),
    NUMBER (each, false),
    NUMBER (kv_heads, false),
    NUMBER (value_dim, false),
    NUMBER (window, false),
};
const int dn_n_op_numbers = (int) DN_N_ELEMENTS (dn_op_numbers);

/* Those that a layer of a sidecar has not. */
static const char *const layer_numbers[] =
    {"input_saved", "wide_saved", "steps", "calls", "each", NULL};

const struct dn_network_number dn_graph_numbers[] = {
    {"input", offsetof (struct dn_graph, input), false},
    {"input_bytes", offsetof (struct dn_graph, input_bytes), false},
    {"boundary", offsetof (struct dn_graph, block_boundary), false},
    {"padding", offsetof (struct dn_graph, padding), false},
    {"longest", offsetof (struct dn_graph, longest), false},
    {"experts", offsetof (struct dn_graph, experts), false},
};
const int dn_n_graph_numbers = (int) DN_N_ELEMENTS (dn_graph_numbers);

/* Words of "is" that stand for members of struct dn_op. */
static const struct flag {
    const char *word;
    size_t offset;
} flags[] = {
    {"direct", offsetof (struct dn_op, direct)},
    {"first", offsetof (struct dn_op, first)},
    {"frozen", offsetof (struct dn_op, frozen)},
    {"passed", offsetof (struct dn_op, passed)},
    {"fixed", offsetof (struct dn_op, fixed)},
    {"tied", offsetof (struct dn_op, tied)},
    {"expert", offsetof (struct dn_op, expert)},
    {"block", offsetof (struct dn_op, block)},
    {"single", offsetof (struct dn_op, single)},
    {"wide", offsetof (struct dn_op, wide)},
    {"causal", offsetof (struct dn_op, causal)},
    {"masked", offsetof (struct dn_op, masked)},
    {"dropout", offsetof (struct dn_op, dropout)},
    {"moved", offsetof (struct dn_op, moved)},
    {"composed", offsetof (struct dn_op, composed)},
    {"fused", offsetof (struct dn_op, fused)},
    {"kernel", offsetof (struct dn_op, kernel)},
};

/* Words of "is" that stand for usual values. */
struct habits {
    bool bias;   /* a product's weights have a bias */
    bool shared; /* its parameters are counted elsewhere */
    bool keeps;  /* it keeps its input */
};

static const char *const role_text[] = {"",
                                        "query",
                                        "key",
                                        "value",
                                        "key_value",
                                        "qkv",
                                        "attention_out",
                                        "gate",
                                        "up",
                                        "down"};
static const struct dn_names role_names = DN_NAMES (role_text, DN_ROLE_DOWN + 1);
static const char *const part_text[] = {"", "encoder", "decoder", "head"};
static const struct dn_names part_names = DN_NAMES (part_text, DN_PART_HEAD + 1);

static const char *const kind_text[] = {"", "conv1d", "conv2d", "conv3d"};
static const struct dn_names conv_names = DN_NAMES (kind_text, 4);

/* Members of an operator besides its numbers. */
static const char *const op_words[] =
    {"op", "role", "part", "is", "with", "source", NULL};

static const char *const graph_words[] = {"name",
                                          "source",
                                          "family",
                                          "decode",
                                          "sized",
                                          "blocks",
                                          "step",
                                          "at",
                                          "ops",
                                          "operators",
                                          NULL};

/* Members of a graph that the reader of sidecars knows. */
static const char *const sidecar_words[] =
    {"name", "source", "ops", "blocks", "step", "boundary", "input_bytes", NULL};

double *dn_network_number (void *of, const struct dn_network_number *number)
{
    return (double *) (void *) ((char *) of + number->offset);
}

static bool is_among (const char *word, const char *const words[])
{
    for (; *words; words++)
        if (strcmp (word, *words) == 0)
            return true;
    return false;
}

static bool is_number (const char *word,
                       const struct dn_network_number *numbers,
                       int n_numbers)
{
    for (int i = 0; i < n_numbers; i++)
        if (strcmp (word, numbers[i].key) == 0)
            return true;
    return false;
}

static int fail_member (const char *key, struct dn_err *err)
{
    return dn_err_set (
        err, DN_E_SYNTAX, dn_say_err_network_member, dn_quote (key, strlen (key)).text);
}

/* "direct first" */
static int read_flags (struct json_object *json,
                       struct dn_op *op,
                       struct habits *habits,
                       struct dn_err *err)
{
    char text[DN_NAME_MAX] = "";
    struct dn_span rest = {text, 0};

    if (dn_json_read_text (json, "is", text, sizeof (text), err) < 0)
        return -1;
    rest.len = strlen (text);
    for (struct dn_span word; (word = dn_span_cut (&rest, " ")).text;) {
        bool known = word.len == 0;

        for (size_t i = 0; i < DN_N_ELEMENTS (flags); i++)
            if (dn_span_is (word, flags[i].word))
                *(bool *) ((char *) op + flags[i].offset) = known = true;
        if (dn_span_is (word, "bias"))
            habits->bias = known = true;
        if (dn_span_is (word, "shared"))
            habits->shared = known = true;
        if (dn_span_is (word, "keeps"))
            habits->keeps = known = true;
        if (!known)
            return dn_err_set (err,
                               DN_E_RANGE,
                               dn_say_err_network_word,
                               "is",
                               dn_quote (word.text, word.len).text);
    }
    return 0;
}

/* "image": the keys with which the operator grows in proportion */
static int read_growth (struct json_object *json,
                        struct dn_keyset *growth,
                        struct dn_err *err)
{
    char text[DN_NAME_MAX] = "";
    struct dn_span rest = {text, 0};

    if (dn_json_read_text (json, "with", text, sizeof (text), err) < 0)
        return -1;
    rest.len = strlen (text);
    for (struct dn_span word; (word = dn_span_cut (&rest, " ")).text;) {
        const struct dn_key *key = dn_spec_key (word);

        if (!key && word.len > 0)
            return dn_err_set (err,
                               DN_E_RANGE,
                               dn_say_err_network_word,
                               "with",
                               dn_quote (word.text, word.len).text);
        if (key)
            *growth = dn_keyset_or (*growth, dn_keyset_of (key->offset));
    }
    return 0;
}

static int read_words (struct json_object *json,
                       struct dn_op *op,
                       struct habits *habits,
                       struct dn_keyset *growth,
                       struct dn_err *err)
{
    int role = 0;
    int part = 0;
    int64_t source = 0;

    if (dn_json_read_enum (json, "role", &role_names, &role, err) < 0
        || dn_json_read_enum (json, "part", &part_names, &part, err) < 0
        || dn_json_read_int (json, "source", 0, 1000000, &source, err) < 0
        || read_flags (json, op, habits, err) < 0
        || read_growth (json, growth, err) < 0)
        return -1;
    op->role = (enum dn_role) role;
    op->part = (enum dn_part) part;
    op->source = (int) source;
    return 0;
}

static void put (double *number, double usual)
{
    if (*number < 0)
        *number = usual;
}

/* What a product has where the file does not say it. */
static void fill_product (struct dn_op *op, const struct habits *habits)
{
    double weights = op->n * op->k * op->batches;

    put (&op->flops, 2 * op->m * weights);
    if (op->kind != DN_OP_RNN)
        put (&op->out, op->m * op->n * op->batches);
    if (op->kind == DN_OP_LINEAR)
        put (&op->in, op->m * op->k * op->batches);
    if (op->kind == DN_OP_MATMUL)
        put (&op->in, op->batches * (op->m * op->k + op->k * op->n));
    if (op->kind != DN_OP_CONV && op->kind != DN_OP_LINEAR)
        return;
    if (habits->bias)
        weights += op->n * op->batches;
    put (&op->weights, weights);
    put (&op->params, op->passed || habits->shared ? 0 : weights);
    put (&op->frozen_params, op->passed && !habits->shared ? weights : 0);
    put (&op->tensors, op->params == 0 ? 0 : habits->bias ? 2 : 1);
}

/* What any operator has where the file does not say it. */
static void fill_usual (struct dn_op *op, const struct habits *habits)
{
    bool product = dn_op_has_weights (op) || op->kind == DN_OP_MATMUL;

    put (&op->repeat, 1);
    put (&op->steps, 1);
    put (&op->calls, 1);
    put (&op->m, 0);
    put (&op->n, 0);
    put (&op->k, 0);
    put (&op->batches, product || op->kind == DN_OP_ATTENTION ? 1 : 0);
    if (product)
        fill_product (op, habits);
    put (&op->out, 0);
    put (&op->in, op->kind == DN_OP_ELEMENTWISE ? 2 * op->out : op->out);
    put (&op->params, 0);
    put (&op->frozen_params, 0);
    put (&op->weights,
         op->kind == DN_OP_EMBEDDING ? op->out : op->params + op->frozen_params);
    put (&op->tensors, op->params == 0 ? 0 : op->kind == DN_OP_NORM ? 2 : 1);
    put (&op->saved, habits->keeps ? op->in : 0);
    put (&op->input_saved,
         habits->keeps && (op->kind == DN_OP_CONV || op->kind == DN_OP_LINEAR) ? op->in
                                                                               : 0);
    put (&op->masks,
         op->kind == DN_OP_EMBEDDING ? 8 * op->in
         : op->kind == DN_OP_DROPOUT ? op->in
                                     : 0);
}

static int read_kind (struct json_object *json, struct dn_op *op, struct dn_err *err)
{
    int kind = DN_OP_UNKNOWN;
    int dims = 0;
    struct dn_err ignored;

    if (dn_json_read_enum (json, "op", &conv_names, &dims, &ignored) == 0 && dims > 0) {
        op->kind = DN_OP_CONV;
        op->dims = dims;
        return 0;
    }
    if (dn_json_read_enum (json, "op", &dn_op_kind_names, &kind, err) < 0)
        return -1;
    if (kind == DN_OP_UNKNOWN)
        return dn_err_set (err, DN_E_RANGE, dn_say_err_op_missing);
    op->kind = (enum dn_op_kind) kind;
    return 0;
}

/* An operator with the members of struct dn_op. */
static int read_operator (struct json_object *json,
                          struct dn_op *op,
                          struct dn_keyset *growth,
                          struct dn_err *err)
{
    struct habits habits = {0};

    *op = (struct dn_op){0};
    json_object_object_foreach (json, key, value)
    {
        (void) value;
        if (!is_number (key, dn_op_numbers, dn_n_op_numbers)
            && !is_among (key, op_words))
            return fail_member (key, err);
    }
    for (int i = 0; i < dn_n_op_numbers; i++) {
        double *number = dn_network_number (op, &dn_op_numbers[i]);

        *number = -1;
        if (dn_json_read_real (json, dn_op_numbers[i].key, 0, COUNT_MAX, number, err)
            < 0)
            return -1;
    }
    if (read_kind (json, op, err) < 0
        || read_words (json, op, &habits, growth, err) < 0)
        return -1;
    fill_usual (op, &habits);
    for (int i = 0; i < dn_n_op_numbers; i++)
        put (dn_network_number (op, &dn_op_numbers[i]), 0);
    return 0;
}

/* What an operator of a sidecar has besides its layer. */
static int read_besides (struct json_object *json,
                         struct dn_op *op,
                         struct dn_keyset *growth,
                         struct dn_err *err)
{
    struct habits habits = {0};
    bool first = op->first;

    for (int i = 0; i < dn_n_op_numbers; i++)
        if (is_among (dn_op_numbers[i].key, layer_numbers)
            && dn_json_read_real (json,
                                  dn_op_numbers[i].key,
                                  0,
                                  COUNT_MAX,
                                  dn_network_number (op, &dn_op_numbers[i]),
                                  err)
                   < 0)
            return -1;
    if (read_words (json, op, &habits, growth, err) < 0)
        return -1;
    op->first = op->first || first;
    return 0;
}

/* The members of 'json' that are, or are not, among 'words'. */
static struct json_object *select_members (struct json_object *json,
                                           const char *const words[],
                                           bool among)
{
    struct json_object *some = json_object_new_object ();

    json_object_object_foreach (json, key, value)
    {
        if (is_among (key, words) == among)
            json_object_object_add (some, key, json_object_get (value));
    }
    return some;
}

/* The object for the reader of sidecars, to be freed with json_object_put (). */
static struct json_object *plain_layers (struct json_object *json)
{
    static const char *const besides[] = {"role", "part", "is", "with", "source", NULL};
    struct json_object *plain = select_members (json, sidecar_words, true);
    struct json_object *ops = dn_json_member (json, "ops");
    struct json_object *layers = json_object_new_array ();

    for (size_t i = 0; i < json_object_array_length (ops); i++) {
        struct json_object *op = json_object_array_get_idx (ops, i);
        struct json_object *layer;

        if (!json_object_is_type (op, json_type_object)) {
            json_object_array_add (layers, json_object_get (op));
            continue;
        }
        layer = select_members (op, besides, false);
        for (int k = 0; layer_numbers[k]; k++)
            json_object_object_del (layer, layer_numbers[k]);
        json_object_array_add (layers, layer);
    }
    json_object_object_add (plain, "ops", layers);
    return plain;
}

static int read_layers (struct json_object *json,
                        const struct dn_deadline *deadline,
                        struct dn_drawn *drawn,
                        struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *plain = plain_layers (json);
    dn_cleanup (dn_layers_free) struct dn_layers layers = {.input_bytes = -1};
    struct json_object *ops = dn_json_member (json, "ops");

    if (dn_sidecar_read_layers (plain, &layers, deadline, err) < 0
        || dn_layers_graph_by (&layers, deadline, &drawn->graph, err) < 0)
        return -1;
    drawn->graph.params = drawn->graph.tensors = drawn->graph.frozen_params = 0;
    drawn->graph.flops = 0;
    drawn->growth = calloc ((size_t) drawn->graph.n_ops + 1, sizeof (*drawn->growth));
    if (!drawn->growth)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    for (int i = 0; i < drawn->graph.n_ops; i++)
        if (read_besides (json_object_array_get_idx (ops, (size_t) i),
                          &drawn->graph.ops[i],
                          &drawn->growth[i],
                          err)
            < 0)
            return dn_err_wrap (err, "ops[%d]", i);
    return 0;
}

/* Operators between two looks at the deadline: some 20 microseconds. */
#define OPS_PER_LOOK 8

static int read_operators (struct json_object *ops,
                           const struct dn_deadline *deadline,
                           struct dn_drawn *drawn,
                           struct dn_err *err)
{
    size_t n = json_object_array_length (ops);

    drawn->graph.ops = calloc (n + 1, sizeof (*drawn->graph.ops));
    drawn->growth = calloc (n + 1, sizeof (*drawn->growth));
    if (!drawn->graph.ops || !drawn->growth)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    for (size_t i = 0; i < n; i++) {
        struct json_object *op = json_object_array_get_idx (ops, i);

        if (i % OPS_PER_LOOK == 0
            && dn_deadline_check (deadline, dn_say_rest_of_ops, err) < 0)
            return -1;
        if (!json_object_is_type (op, json_type_object))
            return dn_err_set (err, DN_E_SYNTAX, dn_say_err_op_missing);
        if (read_operator (op, &drawn->graph.ops[i], &drawn->growth[i], err) < 0)
            return dn_err_wrap (err, "operators[%zu]", i);
        drawn->graph.n_ops++;
    }
    return 0;
}

static int read_rest (struct json_object *json,
                      struct dn_graph *graph,
                      struct dn_err *err)
{
    int decode = DN_DECODE_UNKNOWN;
    int64_t blocks = graph->block_layers;

    for (int i = 0; i < dn_n_graph_numbers; i++)
        if (dn_json_read_real (json,
                               dn_graph_numbers[i].key,
                               0,
                               COUNT_MAX,
                               dn_network_number (graph, &dn_graph_numbers[i]),
                               err)
            < 0)
            return -1;
    if (dn_json_read_bool (json, "step", &graph->whole_step, err) < 0
        || dn_json_read_int (json, "blocks", 0, DN_LAYERS_MAX, &blocks, err) < 0
        || dn_json_read_enum (json,
                              "decode",
                              &dn_spec_key (dn_span_of ("decode"))->names,
                              &decode,
                              err)
               < 0)
        return -1;
    graph->block_layers = blocks;
    graph->decode = (enum dn_decode) decode;
    return 0;
}

static int read_all (struct json_object *json,
                     const struct dn_deadline *deadline,
                     struct dn_drawn *drawn,
                     struct dn_err *err)
{
    struct json_object *ops;
    struct json_object *operators;

    json_object_object_foreach (json, key, value)
    {
        (void) value;
        if (!is_number (key, dn_graph_numbers, dn_n_graph_numbers)
            && !is_among (key, graph_words))
            return fail_member (key, err);
    }
    if (dn_json_read_array (json, "ops", DN_GRAPH_OPS_MAX, &ops, err) < 0
        || dn_json_read_array (json, "operators", DN_GRAPH_OPS_MAX, &operators, err)
               < 0)
        return -1;
    if (!ops == !operators)
        return dn_err_set (err, DN_E_RANGE, dn_say_err_network_ops);
    drawn->graph.padding = 1;
    if (ops ? read_layers (json, deadline, drawn, err) < 0
            : read_operators (operators, deadline, drawn, err) < 0)
        return -1;
    if (drawn->graph.n_ops == 0)
        return dn_err_set (err, DN_E_RANGE, dn_say_err_ops_missing);
    return read_rest (json, &drawn->graph, err);
}

int dn_network_read (struct json_object *json,
                     const struct dn_deadline *deadline,
                     struct dn_drawn *drawn,
                     struct dn_err *err)
{
    *drawn = (struct dn_drawn){.growth = NULL};
    if (read_all (json, deadline, drawn, err) == 0)
        return 0;
    dn_drawn_free (drawn);
    return -1;
}

/* 'json' with the members of 'over' in their place. */
static struct json_object *overlay (struct json_object *json, struct json_object *over)
{
    static const char *const none[] = {NULL};
    struct json_object *both = select_members (json, none, false);

    json_object_object_foreach (over, key, value)
    {
        json_object_object_add (both, key, json_object_get (value));
    }
    return both;
}

struct json_object *dn_network_resized (struct json_object *json,
                                        struct json_object *size,
                                        struct dn_err *err)
{
    static const char *const own[] = {"at", "ops", NULL};
    const char *list = dn_json_member (json, "operators") ? "operators" : "ops";
    struct json_object *base = dn_json_member (json, list);
    struct json_object *ops;
    struct json_object *resized;
    struct json_object *members;
    struct json_object *all;
    size_t n = json_object_is_type (base, json_type_array)
                   ? json_object_array_length (base)
                   : 0;

    if (dn_json_read_array (size, "ops", n, &ops, err) < 0)
        return NULL;
    members = select_members (size, own, false);
    resized = overlay (json, members);
    json_object_put (members);
    all = json_object_new_array ();
    for (size_t i = 0; i < n; i++) {
        struct json_object *op = json_object_array_get_idx (base, i);
        struct json_object *over = ops && i < json_object_array_length (ops)
                                       ? json_object_array_get_idx (ops, i)
                                       : NULL;

        json_object_array_add (all,
                               json_object_is_type (op, json_type_object)
                                       && json_object_is_type (over, json_type_object)
                                   ? overlay (op, over)
                                   : json_object_get (op));
    }
    json_object_object_add (resized, list, all);
    return resized;
}

void dn_drawn_free (struct dn_drawn *drawn)
{
    if (!drawn)
        return;
    dn_graph_free (&drawn->graph);
    free (drawn->growth);
    drawn->growth = NULL;
}
