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

const struct dn_network_number dn_graph_numbers[] = {
    {"input", offsetof (struct dn_graph, input), false},
    {"input_bytes", offsetof (struct dn_graph, input_bytes), false},
    {"boundary", offsetof (struct dn_graph, block_boundary), false},
    {"padding", offsetof (struct dn_graph, padding), false},
    {"longest", offsetof (struct dn_graph, longest), false},
    {"experts", offsetof (struct dn_graph, experts), false},
};
const int dn_n_graph_numbers = (int) DN_N_ELEMENTS (dn_graph_numbers);

/* An operator that is read. */
struct member {
    struct json_object *json;
    struct dn_op *op;
    struct dn_keyset *growth;
    bool bias;   /* a product's weights have a bias */
    bool shared; /* its parameters are counted elsewhere */
    bool keeps;  /* it keeps its input */
};

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

static const char *const role_text[] = {DN_ROLES (DN_ENUM_WORD)};
static const struct dn_names role_names = DN_NAMES (role_text, DN_ROLE_DOWN + 1);
static const char *const part_text[] = {DN_PARTS (DN_ENUM_WORD)};
static const struct dn_names part_names = DN_NAMES (part_text, DN_PART_HEAD + 1);

static const char *const kind_text[] = {"", "conv1d", "conv2d", "conv3d"};
static const struct dn_names conv_names = DN_NAMES (kind_text, 4);

/* Members of an operator besides its numbers. */
static const char op_keys[] = "op role part is with source";
static const char graph_keys[] =
    "name source family decode augment sized blocks with at ops operators";

double *dn_network_number (void *of, const struct dn_network_number *number)
{
    return (double *) (void *) ((char *) of + number->offset);
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

/* "direct" */
static bool take_flag (struct member *member, struct dn_span word)
{
    bool known = false;

    for (size_t i = 0; i < DN_N_ELEMENTS (flags); i++)
        if (dn_span_is (word, flags[i].word))
            *(bool *) ((char *) member->op + flags[i].offset) = known = true;
    if (dn_span_is (word, "bias"))
        member->bias = known = true;
    if (dn_span_is (word, "shared"))
        member->shared = known = true;
    if (dn_span_is (word, "keeps"))
        member->keeps = known = true;
    return known;
}

/* "image": a key with which the operator grows in proportion */
static bool take_growth (struct member *member, struct dn_span word)
{
    const struct dn_key *key = dn_spec_key (word);

    if (key)
        *member->growth = dn_keyset_or (*member->growth, dn_keyset_of (key->offset));
    return key;
}

/* The words of the member 'key', between blanks. */
static int read_list (struct member *member,
                      const char *key,
                      bool (*take) (struct member *member, struct dn_span word),
                      struct dn_err *err)
{
    char text[DN_NAME_MAX] = "";
    struct dn_span rest = {text, 0};

    if (dn_json_read_text (member->json, key, text, sizeof (text), err) < 0)
        return -1;
    rest.len = strlen (text);
    for (struct dn_span word; (word = dn_span_cut (&rest, " ")).text;)
        if (word.len > 0 && !take (member, word))
            return dn_refuse (err, network_word, key, DN_QUOTED_SPAN (word));
    return 0;
}

static int read_words (struct member *member, struct dn_err *err)
{
    struct json_object *json = member->json;
    int role = (int) member->op->role;
    int part = (int) member->op->part;
    int64_t source = member->op->source;

    if (dn_json_read_enum (json, "role", &role_names, &role, err) < 0
        || dn_json_read_enum (json, "part", &part_names, &part, err) < 0
        || dn_json_read_int (json, "source", 0, 1000000, &source, err) < 0
        || read_list (member, "is", take_flag, err) < 0
        || read_list (member, "with", take_growth, err) < 0)
        return -1;
    member->op->role = (enum dn_role) role;
    member->op->part = (enum dn_part) part;
    member->op->source = (int) source;
    return 0;
}

static int read_numbers (struct json_object *json, struct dn_op *op, struct dn_err *err)
{
    for (int i = 0; i < dn_n_op_numbers; i++) {
        const struct dn_network_number *number = &dn_op_numbers[i];

        if (dn_json_read_real (
                json, number->key, 0, COUNT_MAX, dn_network_number (op, number), err)
            < 0)
            return -1;
    }
    return 0;
}

static void put (double *number, double usual)
{
    if (*number < 0)
        *number = usual;
}

/* What a product has where the file does not say it. */
static void fill_product (const struct member *member)
{
    struct dn_op *op = member->op;
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
    if (member->bias)
        weights += op->n * op->batches;
    put (&op->weights, weights);
    put (&op->params, op->passed || member->shared ? 0 : weights);
    put (&op->frozen_params, op->passed && !member->shared ? weights : 0);
    put (&op->tensors, op->params == 0 ? 0 : member->bias ? 2 : 1);
}

/* What any operator has where the file does not say it. */
static void fill_usual (const struct member *member)
{
    struct dn_op *op = member->op;
    bool product = dn_op_has_weights (op) || op->kind == DN_OP_MATMUL;

    put (&op->repeat, 1);
    put (&op->steps, 1);
    put (&op->calls, 1);
    put (&op->m, 0);
    put (&op->n, 0);
    put (&op->k, 0);
    put (&op->batches, product || op->kind == DN_OP_ATTENTION ? 1 : 0);
    if (product)
        fill_product (member);
    put (&op->out, 0);
    put (&op->in, op->kind == DN_OP_ELEMENTWISE ? 2 * op->out : op->out);
    put (&op->params, 0);
    put (&op->frozen_params, 0);
    put (&op->weights,
         op->kind == DN_OP_EMBEDDING ? op->out : op->params + op->frozen_params);
    put (&op->tensors, op->params == 0 ? 0 : op->kind == DN_OP_NORM ? 2 : 1);
    put (&op->saved, member->keeps ? op->in : 0);
    put (&op->input_saved,
         member->keeps && (op->kind == DN_OP_CONV || op->kind == DN_OP_LINEAR) ? op->in
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

    if (dn_json_read_enum (json, "op", &conv_names, &dims, NULL) == 0 && dims > 0) {
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

/* All members are among those, numbers or words. */
static int check_members (struct json_object *json,
                          const struct dn_network_number *numbers,
                          int n_numbers,
                          const char *words,
                          struct dn_err *err)
{
    if (!json)
        return 0;
    if (!json_object_is_type (json, json_type_object))
        return dn_refuse (err, json_object);
    json_object_object_foreach (json, key, value)
    {
        (void) value;
        if (!is_number (key, numbers, n_numbers) && !dn_json_is_key (key, words))
            return dn_refuse (err, network_member, DN_QUOTED (key));
    }
    return 0;
}

/* The members of the operator in 'json', then those of 'change', if any, over them. */
static int read_members (struct member *member,
                         struct json_object *json,
                         struct json_object *change,
                         struct dn_err *err)
{
    for (int i = 0; i < (change ? 2 : 1); i++) {
        member->json = i == 0 ? json : change;
        if (check_members (member->json, dn_op_numbers, dn_n_op_numbers, op_keys, err)
                < 0
            || read_numbers (member->json, member->op, err) < 0
            || read_words (member, err) < 0)
            return -1;
    }
    return 0;
}

/* An operator with the members of struct dn_op; those of 'change' replace it. What it
 * grows with, if it does not say so, is said once in 'graph'.
 */
static int read_operator (struct json_object *graph,
                          struct json_object *json,
                          struct json_object *change,
                          struct dn_op *op,
                          struct dn_keyset *growth,
                          struct dn_err *err)
{
    struct member member = {.op = op, .growth = growth};

    *op = (struct dn_op){0};
    for (int i = 0; i < dn_n_op_numbers; i++)
        *dn_network_number (op, &dn_op_numbers[i]) = -1;
    if (read_kind (json, op, err) < 0 || read_members (&member, json, change, err) < 0)
        return -1;
    member.json = graph;
    if (!json_object_object_get_ex (json, "with", NULL)
        && read_list (&member, "with", take_growth, err) < 0)
        return -1;
    fill_usual (&member);
    for (int i = 0; i < dn_n_op_numbers; i++)
        put (dn_network_number (op, &dn_op_numbers[i]), 0);
    return 0;
}

/* Operators as layers of a sidecar. */
static int read_layers (struct json_object *json,
                        struct json_object *changes,
                        const struct dn_deadline *deadline,
                        struct dn_drawn *drawn,
                        struct dn_err *err)
{
    dn_cleanup (dn_layers_free) struct dn_layers layers = {.input_bytes = -1};
    struct dn_graph *graph = &drawn->graph;

    if (dn_sidecar_read_layers (json, true, changes, &layers, deadline, err) < 0
        || dn_layers_graph_by (&layers, deadline, graph, err) < 0)
        return -1;
    drawn->growth = calloc ((size_t) graph->n_ops + 1, sizeof (*drawn->growth));
    if (!drawn->growth)
        return dn_refuse (err, no_memory);
    graph->params = graph->tensors = graph->frozen_params = graph->flops = 0;
    return 0;
}

/* Operators between two looks at the deadline: some 20 microseconds. */
#define OPS_PER_LOOK 8

static int read_operators (struct json_object *graph,
                           struct json_object *ops,
                           struct json_object *changes,
                           const struct dn_deadline *deadline,
                           struct dn_drawn *drawn,
                           struct dn_err *err)
{
    struct dn_sidecar_changes next = {.list = changes};
    size_t n = json_object_array_length (ops);

    drawn->graph.ops = calloc (n + 1, sizeof (*drawn->graph.ops));
    drawn->growth = calloc (n + 1, sizeof (*drawn->growth));
    if (!drawn->graph.ops || !drawn->growth)
        return dn_refuse (err, no_memory);
    for (size_t i = 0; i < n; i++) {
        struct json_object *op = json_object_array_get_idx (ops, i);

        if (i % OPS_PER_LOOK == 0
            && dn_deadline_check (deadline, dn_say_rest_of_ops, err) < 0)
            return -1;
        if (!json_object_is_type (op, json_type_object))
            return dn_err_set (err, DN_E_SYNTAX, dn_say_err_op_missing);
        if (read_operator (graph,
                           op,
                           dn_sidecar_change (&next),
                           &drawn->graph.ops[i],
                           &drawn->growth[i],
                           err)
            < 0)
            return dn_err_wrap (err, "operators[%zu]", i);
        drawn->graph.n_ops++;
    }
    return 0;
}

static int read_rest (struct json_object *json,
                      struct dn_graph *graph,
                      struct dn_err *err)
{
    const struct dn_names decodes = dn_spec_key (dn_span_of ("decode"))->names;
    const struct dn_names augments = dn_spec_key (dn_span_of ("augment"))->names;
    int decode = (int) graph->decode;
    int augment = (int) graph->augment;
    int64_t blocks = graph->block_layers;

    for (int i = 0; i < dn_n_graph_numbers; i++) {
        const char *key = dn_graph_numbers[i].key;
        double *number = dn_network_number (graph, &dn_graph_numbers[i]);

        if (dn_json_read_real (json, key, 0, COUNT_MAX, number, err) < 0)
            return -1;
    }
    if (dn_json_read_int (json, "blocks", 0, DN_LAYERS_MAX, &blocks, err) < 0
        || dn_json_read_enum (json, "decode", &decodes, &decode, err) < 0
        || dn_json_read_enum (json, "augment", &augments, &augment, err) < 0)
        return -1;
    graph->block_layers = blocks;
    graph->decode = (enum dn_decode) decode;
    graph->augment = (enum dn_augment) augment;
    return 0;
}

static int read_all (struct json_object *json,
                     struct json_object *size,
                     const struct dn_deadline *deadline,
                     struct dn_drawn *drawn,
                     struct dn_err *err)
{
    struct json_object *ops;
    struct json_object *operators;
    struct json_object *changes = NULL;
    size_t n;

    if (check_members (json, dn_graph_numbers, dn_n_graph_numbers, graph_keys, err) < 0
        || dn_json_read_array (json, "ops", DN_GRAPH_OPS_MAX, &ops, err) < 0
        || dn_json_read_array (json, "operators", DN_GRAPH_OPS_MAX, &operators, err)
               < 0)
        return -1;
    if (!ops == !operators)
        return dn_refuse (err, network_ops);
    n = json_object_array_length (ops ? ops : operators);
    if (n == 0)
        return dn_refuse (err, ops_missing);
    drawn->graph.padding = 1;
    if (check_members (size, dn_graph_numbers, dn_n_graph_numbers, graph_keys, err) < 0
        || (size && dn_json_read_array (size, "ops", n, &changes, err) < 0)
        || (ops ? read_layers (json, changes, deadline, drawn, err) < 0
                : read_operators (json, operators, changes, deadline, drawn, err) < 0)
        || read_rest (json, &drawn->graph, err) < 0)
        return -1;
    return size ? read_rest (size, &drawn->graph, err) : 0;
}

int dn_network_read (struct json_object *json,
                     struct json_object *size,
                     const struct dn_deadline *deadline,
                     struct dn_drawn *drawn,
                     struct dn_err *err)
{
    *drawn = (struct dn_drawn){.growth = NULL};
    if (read_all (json, size, deadline, drawn, err) == 0)
        return 0;
    dn_drawn_free (drawn);
    return -1;
}

void dn_drawn_free (struct dn_drawn *drawn)
{
    if (!drawn)
        return;
    dn_graph_free (&drawn->graph);
    free (drawn->growth);
    drawn->growth = NULL;
}
