/* spec.c - the key table, and reading "key=value,key=value"
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spec/spec.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/messages.h"
#include "spec/synonyms.h"

const struct dn_names dn_link_names = DN_NAMES_OF (LINKS);
const struct dn_names dn_decode_names = DN_NAMES_OF (DECODES);

#define NO_NAMES                                                                       \
    {                                                                                  \
        NULL, 0                                                                        \
    }
/* The last argument is a group. */
#define KEY(name, member, type, min, max, names, help, ...)                            \
    {                                                                                  \
        name, __VA_ARGS__, DN_KEY_##type, offsetof (struct dn_spec, member), min, max, \
            names, help                                                                \
    }
#define OTHER(group, key, type, min, max, help)                                        \
    KEY (#key, key, type, min, max, NO_NAMES, help, group)
#define INT(group, key, min, max, help)                                                \
    KEY (#key, key, INT, min, max, NO_NAMES, help, group)
#define REAL(group, key, min, max, help)                                               \
    KEY (#key, key, REAL, min, max, NO_NAMES, help, group)
#define ENUM(group, key, list, help)                                                   \
    KEY (#key, key, ENUM, 0, 0, DN_NAMES_OF (list), help, group)
#define NAME(group, key, help) KEY (#key, key, NAME, 0, 0, NO_NAMES, help, group)

/* The group of a key, and whether it says how much a run does, on what or for what
 * purpose, and not which application it is.
 */
#define ARCH  "architecture", false
#define TRAIN "training", false
#define FINE  "fine-tuning", false
#define ATT   "attention", false
#define SOFT  "software", false
#define WORK  "amount of work", true
#define DATA  "amount of work", false
#define SIZE  "parallelism", true
#define PAR   "parallelism", false
#define INPUT "input", false
#define DEV   "device", false
#define WISH  "wishes", true

/* Upper bounds are an order of magnitude above the largest published use. */
static const struct dn_key keys[] = {
    NAME (ARCH, model, "name in the zoo, or a family: cnn transformer rnn mlp recsys"),
    INT (ARCH, layers, 1, DN_LAYERS_MAX, "layers or blocks"),
    INT (ARCH, hidden, 1, 1e6, "hidden size"),
    INT (ARCH, heads, 1, 4096, "attention heads"),
    INT (ARCH, head_dim, 1, 1e5, "size of one attention head"),
    INT (ARCH, kv_heads, 1, 4096, "attention heads of keys and values"),
    INT (ARCH, ffn, 1, 1e7, "inner size of the feed-forward layer"),
    INT (ARCH,
         vocab,
         1,
         1e12,
         "vocabulary; recommenders: embedding rows over all tables"),
    INT (ARCH, experts, 1, 65536, "experts of a mixture"),
    INT (ARCH, top_k, 1, 4096, "experts that each token is routed to"),
    INT (ARCH, shared_experts, 0, 4096, "experts that process every token"),
    INT (ARCH, expert_ffn, 1, 1e7, "inner size of one expert"),
    REAL (ARCH, capacity, 0.1, 1000, "capacity of an expert over its mean load"),
    INT (ARCH, dense_layers, 0, DN_LAYERS_MAX, "first layers that have no experts"),
    INT (ARCH, positions, 1, 1e8, "rows of the learned position embedding"),
    INT (ARCH, tied, 0, 1, "1: the output layer shares the embedding's weights"),
    INT (ARCH, seq_len, 1, 1e8, "tokens of one sample; audio: samples or 10 ms frames"),
    INT (ARCH, tgt_len, 1, 1e8, "tokens of the target of one sample"),
    INT (ARCH, mem_len, 0, 1e8, "tokens of the memory (Transformer-XL)"),
    INT (ARCH, window, 1, 1e8, "tokens that a token attends to"),
    OTHER (ARCH, image, IMAGE, 1, 65536, "input size: N, HxW or DxHxW"),
    INT (ARCH, in_channels, 1, 1e6, "channels of the input; mlp: input features"),
    INT (ARCH, classes, 1, 1e8, "outputs of the classifier"),
    REAL (ARCH, width, 0.01, 128, "width multiplier"),
    ENUM (ARCH, stem, STEMS, "first layers of an image network"),
    INT (ARCH, tables, 1, 1e6, "embedding tables"),
    INT (ARCH, embed_dim, 1, 1e6, "columns of an embedding"),
    ENUM (ARCH, head, HEADS, "output layers of a language model"),
    REAL (ARCH, params, 1, 1e14, "parameters of an unknown network"),
    REAL (ARCH, flops, 1, 1e18, "forward FLOPs per sample of an unknown network"),
    REAL (ARCH,
          activations,
          1,
          1e13,
          "elements saved per sample of an unknown network"),
    INT (TRAIN, batch, 1, 1e8, "samples per GPU and step, or pipeline step"),
    INT (TRAIN, global_batch, 1, 1e9, "samples per optimizer step of the whole job"),
    INT (TRAIN, grad_accum, 1, 1e5, "forward and backward passes per optimizer step"),
    KEY ("precision",
         precision,
         ENUM,
         0,
         0,
         DN_NAMES (dn_precision_text, DN_N_PRECISIONS),
         "fp16 and bf16 mean mixed precision, half pure fp16",
         TRAIN),
    ENUM (TRAIN, optimizer, OPTIMIZERS, "none: forward and backward only"),
    ENUM (TRAIN, checkpointing, CHECKPOINTINGS, "activation recomputation"),
    ENUM (TRAIN, loss, LOSSES, "how cross entropy goes through the logits"),
    ENUM (TRAIN, method, METHODS, "what a step does beside one pass"),
    INT (TRAIN, passes, 1, 1000, "forward and backward passes, in turn, of a sample"),
    NAME (TRAIN, teacher, "network that only runs forward: teacher, reference"),
    INT (TRAIN, compile, 0, 1, "1 with torch.compile or XLA"),
    INT (TRAIN, fused_optimizer, 0, 1, "1: the optimizer is one kernel"),
    ENUM (TRAIN, layout, LAYOUTS, "memory layout of images"),
    ENUM (TRAIN, framework, FRAMEWORKS, "framework"),
    ENUM (TRAIN, stack, STACKS, "ngc: the vendor's tuned container"),
    INT (FINE, lora, 1, 65536, "rank of the adapters"),
    NAME (FINE, lora_targets, "attention, all, or names joined by +"),
    ENUM (FINE, quant, QUANTS, "format of frozen weights"),
    REAL (FINE,
          trainable,
          0,
          1,
          "share of the parameters that is trained, or their names"),
    NAME (FINE, frozen, "what is not trained: names joined by +"),
    ENUM (ATT, attention, ATTENTIONS, "kernels of attention"),
    INT (ATT, packing, 0, 1, "1: samples are packed into full sequences"),
    INT (ATT, seq_mean, 1, 1e8, "mean tokens of a sample, where lengths vary"),
    INT (SOFT, since, 2015, 2100, "year of the framework's release"),
    NAME (SOFT, torch, "version of PyTorch, such as 2.4"),
    REAL (WORK, epochs, 0.001, 1e6, "passes over the data set"),
    INT (WORK, steps, 1, 1e12, "optimizer steps"),
    NAME (DATA, dataset, "name in the data-set table"),
    INT (DATA, samples, 1, 1e13, "samples of one epoch"),
    INT (DATA, eval_every, 1, 1e12, "optimizer steps between evaluations"),
    INT (DATA, eval_samples, 1, 1e12, "samples of one evaluation"),
    REAL (WORK, tokens, 1, 1e16, "tokens of the whole run"),
    INT (WORK, runs, 1, 10000, "trainings in sequence; epochs= is for each"),
    INT (SIZE, gpus, 1, 1e5, "GPUs of the whole job"),
    INT (SIZE, nodes, 1, 1e5, "nodes of the whole job"),
    ENUM (PAR, parallel, PARALLELS, "data parallelism: replicated or sharded"),
    INT (PAR, tp, 1, 1024, "tensor-parallel GPUs"),
    INT (PAR, sp, 0, 1, "1: sequence parallelism beside tp="),
    INT (PAR, pp, 1, 1024, "pipeline stages"),
    INT (PAR, vpp, 1, 1024, "model chunks of a stage (interleaved schedule)"),
    INT (PAR, cp, 1, 1024, "context-parallel GPUs, which share a sequence"),
    INT (PAR, ep, 1, 4096, "GPUs that share the experts of a layer"),
    ENUM (PAR, offload, OFFLOADS, "what the host's memory holds"),
    ENUM (PAR, link, LINKS, "what connects the GPUs of a node"),
    NAME (PAR, net, "between nodes: ib, roce or ethernet with Gbit/s, as ib400x8"),
    INT (INPUT, workers, 0, 4096, "loader processes per GPU"),
    ENUM (INPUT, decode, DECODES, "what the loader decodes"),
    ENUM (INPUT, augment, AUGMENTS, "what the loader does to a sample"),
    ENUM (INPUT, input, INPUTS, "synthetic: no loader; gpu: decoded on the GPU"),
    INT (INPUT, sample_bytes, 1, 1e12, "stored bytes of one sample"),
    INT (DEV, power_limit, 10, 5000, "W, when set below the board's default"),
    OTHER (WISH,
           deadline,
           TIME,
           60,
           3.2e8,
           "Slurm time within which the run must finish"),
    ENUM (WISH, objective, OBJECTIVES, "what to minimise"),
    REAL (WISH, budget, 0, 1e12, "most that the run may cost, in the site's currency"),
    NAME (WISH, app, "name under which history is kept"),
    NAME (WISH, name, "what messages call the network"),
    KEY ("auto",
         automatic,
         INT,
         0,
         1,
         NO_NAMES,
         "1, or auto alone: limits from the times of earlier runs",
         WISH),
    ENUM (WISH, capture, ANSWERS, "no: the job does not describe itself"),
    /* End of keys */
};

#define N_KEYS ((int) DN_N_ELEMENTS (keys))

const struct dn_key *dn_spec_keys (int *n_keys)
{
    *n_keys = N_KEYS;
    return keys;
}

/* The member of each type when it is not set, or its beginning that tells. Members are
 * copied, since the compiler does not know the type at an offset.
 */
static const int64_t unset = DN_UNSET;
static const double unset_real = -1;
static const int unset_int = 0;

static const struct {
    size_t size;
    const void *unset;
} types[DN_N_KEY_TYPES] = {
    [DN_KEY_INT] = {sizeof (unset), &unset},
    [DN_KEY_TIME] = {sizeof (unset), &unset},
    [DN_KEY_REAL] = {sizeof (unset_real), &unset_real},
    [DN_KEY_ENUM] = {sizeof (unset_int), &unset_int},
    [DN_KEY_NAME] = {sizeof (char), ""},
    [DN_KEY_IMAGE] = {sizeof (unset_int), &unset_int}, /* n_dims */
};

static void *member (struct dn_spec *spec, const struct dn_key *key)
{
    return (char *) spec + key->offset;
}

union value {
    int64_t number;
    double real;
    int constant;
};

static union value value_of (const struct dn_spec *spec, const struct dn_key *key)
{
    union value value = {0};

    memcpy (&value, (const char *) spec + key->offset, types[key->type].size);
    return value;
}

void dn_spec_clear (struct dn_spec *spec, const struct dn_key *key)
{
    memcpy (member (spec, key), types[key->type].unset, types[key->type].size);
}

struct dn_spec dn_spec_empty (void)
{
    struct dn_spec spec;

    memset (&spec, 0, sizeof (spec));
    for (int i = 0; i < N_KEYS; i++)
        dn_spec_clear (&spec, &keys[i]);
    return spec;
}

struct dn_spec dn_spec_of_application (const struct dn_spec *spec)
{
    struct dn_spec application = *spec;

    for (int i = 0; i < N_KEYS; i++)
        if (keys[i].of_run)
            dn_spec_clear (&application, &keys[i]);
    return application;
}

static inline bool is_set (const struct dn_spec *spec, const struct dn_key *key)
{
    const char *value = (const char *) spec + key->offset;
    const void *other = types[key->type].unset;
    size_t size = types[key->type].size;

    /* Without a call. */
    switch (size) {
    case sizeof (int64_t):
        return memcmp (value, other, sizeof (int64_t)) != 0;
    case sizeof (int):
        return memcmp (value, other, sizeof (int)) != 0;
    default: /* a text */
        return value[0] != '\0';
    }
}

bool dn_spec_has (const struct dn_spec *spec, const struct dn_key *key)
{
    return is_set (spec, key);
}

_Static_assert(N_KEYS <= DN_KEYSET_MAX, "a set of keys holds the table");

/* Bytes of a value. */
static size_t size_of (const struct dn_key *key)
{
    switch (key->type) {
    case DN_KEY_NAME:
        return DN_NAME_MAX;
    case DN_KEY_IMAGE:
        return sizeof (struct dn_image);
    default:
        return types[key->type].size;
    }
}

void dn_spec_fill (struct dn_spec *spec, const struct dn_spec *other)
{
    static const size_t size_of_step[] = {offsetof (struct dn_spec, batch),
                                          offsetof (struct dn_spec, global_batch),
                                          offsetof (struct dn_spec, grad_accum)};
    struct dn_keyset kept = {{0}};
    bool sized = false;

    for (size_t i = 0; i < DN_N_ELEMENTS (size_of_step); i++) {
        struct dn_keyset key = dn_keyset_of (size_of_step[i]);

        sized = sized || dn_spec_has (spec, dn_spec_key_of (key, 0));
        for (int k = 0; k < N_KEYS; k++)
            if (dn_keyset_has (&key, k))
                dn_keyset_add (&kept, k);
    }
    for (int i = 0; i < N_KEYS; i++) {
        if (keys[i].of_run || dn_spec_has (spec, &keys[i])
            || !dn_spec_has (other, &keys[i]) || (sized && dn_keyset_has (&kept, i)))
            continue;
        memcpy (member (spec, &keys[i]),
                (const char *) other + keys[i].offset,
                size_of (&keys[i]));
        dn_keyset_add (&spec->derived, i);
        dn_keyset_add (&spec->by_run, i);
    }
}

struct dn_spec dn_spec_of_words (const struct dn_spec *spec)
{
    struct dn_spec words = *spec;

    for (int i = 0; i < N_KEYS && !dn_keyset_is_empty (spec->by_run); i++)
        if (dn_keyset_has (&spec->derived, i))
            dn_spec_clear (&words, &keys[i]);
    return words;
}

static bool same_value (const struct dn_spec *a,
                        const struct dn_spec *b,
                        const struct dn_key *key)
{
    const char *of_a = (const char *) a + key->offset;
    const char *of_b = (const char *) b + key->offset;
    size_t dims = (size_t) a->image.n_dims * sizeof (a->image.dim[0]);

    if (key->type == DN_KEY_IMAGE)
        return a->image.n_dims == b->image.n_dims
               && memcmp (a->image.dim, b->image.dim, dims) == 0;
    return key->type == DN_KEY_NAME ? strcmp (of_a, of_b) == 0
                                    : memcmp (of_a, of_b, types[key->type].size) == 0;
}

struct dn_keyset dn_spec_differing (const struct dn_spec *a, const struct dn_spec *b)
{
    struct dn_keyset set = {{0}};

    for (int i = 0; i < N_KEYS; i++)
        if (!same_value (a, b, &keys[i]))
            dn_keyset_add (&set, i);
    return set;
}

struct dn_keyset dn_keyset_of (size_t offset)
{
    struct dn_keyset set = {{0}};

    for (int i = 0; i < N_KEYS; i++)
        if (keys[i].offset == offset) {
            dn_keyset_add (&set, i);
            break;
        }
    return set;
}

bool dn_key_is_network (const struct dn_key *key)
{
    return strcmp (key->group, keys[0].group) == 0;
}

bool dn_key_takes_words (const struct dn_key *key)
{
    return key->offset == offsetof (struct dn_spec, trainable);
}

/* Does the key state what holds for any network without it? */
static bool is_neutral (const struct dn_spec *spec, const struct dn_key *key)
{
    switch (key->offset) {
    case offsetof (struct dn_spec, experts):
        return spec->experts == 1;
    case offsetof (struct dn_spec, top_k):
        return spec->top_k == 1;
    case offsetof (struct dn_spec, shared_experts):
        return spec->shared_experts == 0;
    case offsetof (struct dn_spec, dense_layers):
        return spec->dense_layers == 0;
    case offsetof (struct dn_spec, mem_len):
        return spec->mem_len == 0;
    case offsetof (struct dn_spec, width):
        return spec->width == 1;
    case offsetof (struct dn_spec, stem):
        return spec->stem == DN_STEM_IMAGENET;
    default:
        return false;
    }
}

struct dn_keyset dn_spec_given (const struct dn_spec *spec)
{
    struct dn_keyset set = {{0}};

    for (int i = 0; i < N_KEYS; i++)
        if (is_set (spec, &keys[i]))
            dn_keyset_add (&set, i);
    return dn_keyset_minus (set, spec->derived);
}

struct dn_keyset dn_spec_network_keys (const struct dn_spec *spec)
{
    struct dn_keyset others = {{0}};

    for (int i = 0; i < N_KEYS; i++)
        if (!dn_key_is_network (&keys[i]) || is_neutral (spec, &keys[i]))
            dn_keyset_add (&others, i);
    return dn_keyset_minus (dn_spec_given (spec), others);
}

bool dn_spec_is_by_history (const struct dn_spec *spec)
{
    return (spec->automatic == 1 || spec->app[0] != '\0')
           && dn_keyset_is_empty (dn_spec_network_keys (spec));
}

const struct dn_key *dn_spec_key_of (struct dn_keyset set, int i)
{
    for (int k = 0; k < N_KEYS; k++)
        if (dn_keyset_has (&set, k) && i-- == 0)
            return &keys[k];
    return NULL;
}

/* Write a real without exponent or locale where it is a whole number. */
static void write_real (struct dn_buf *buf, double value)
{
    if (value == floor (value) && fabs (value) < 9e15)
        dn_buf_number (buf, (int64_t) value);
    else
        dn_buf_add (buf,
                    "%" PRId64 ".%06" PRId64,
                    (int64_t) value,
                    (int64_t) ((value - floor (value)) * 1e6));
}

static void add_value (struct dn_buf *buf,
                       const struct dn_spec *spec,
                       const struct dn_key *key)
{
    switch (key->type) {
    case DN_KEY_INT:
        dn_buf_number (buf, value_of (spec, key).number);
        break;
    case DN_KEY_TIME:
        dn_buf_text (buf, dn_time_write (value_of (spec, key).number).text);
        break;
    case DN_KEY_REAL:
        write_real (buf, value_of (spec, key).real);
        break;
    case DN_KEY_ENUM:
        dn_buf_text (buf, dn_names_get (&key->names, value_of (spec, key).constant));
        break;
    case DN_KEY_NAME:
        dn_buf_text (buf, (const char *) spec + key->offset);
        break;
    case DN_KEY_IMAGE:
        for (int i = 0; i < spec->image.n_dims; i++)
            dn_buf_add (buf, "%s%" PRId64, i > 0 ? "x" : "", spec->image.dim[i]);
        break;
    case DN_N_KEY_TYPES:
        break;
    }
}

void dn_spec_write_value (const struct dn_spec *spec,
                          const struct dn_key *key,
                          char text[DN_VALUE_MAX])
{
    struct dn_buf buf = dn_buf_on (text, DN_VALUE_MAX);

    if (dn_spec_has (spec, key))
        add_value (&buf, spec, key);
}

/* The size of a sample that the table of data sets states. Once written it would count
 * as given, and no prediction depends on it.
 */
static bool is_of_table (const struct dn_spec *spec, int i)
{
    return keys[i].offset == offsetof (struct dn_spec, sample_bytes)
           && dn_keyset_has (&spec->derived, i);
}

bool dn_spec_write (const struct dn_spec *spec, char *text, size_t size)
{
    struct dn_buf buf = dn_buf_on (text, size);

    for (int i = 0; i < N_KEYS; i++) {
        if (!is_set (spec, &keys[i]) || is_of_table (spec, i))
            continue;
        dn_buf_text (&buf, buf.len > 0 ? "," : "");
        dn_buf_text (&buf, keys[i].name);
        dn_buf_text (&buf, "=");
        add_value (&buf, spec, &keys[i]);
    }
    if (buf.cut)
        text[0] = '\0';
    return !buf.cut;
}

const struct dn_key *dn_spec_key (struct dn_span name)
{
    for (int i = 0; i < N_KEYS; i++)
        if (name.len > 0 && dn_lower (name.text[0]) == keys[i].name[0]
            && dn_span_is (name, keys[i].name))
            return &keys[i];
    return NULL;
}

/* A name is used in logs and look-ups: letters, digits and "_.-" only. A list has '+'
 * between its names.
 */
static bool is_name (struct dn_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.text[i];

        if (!dn_is_letter (c) && !dn_is_digit (c) && (c == '\0' || !strchr ("_.-+", c)))
            return false;
    }
    return text.len > 0;
}

/* That of a network may have its publisher before a '/'. No part looks like a path. */
static int read_name (const struct dn_key *key,
                      struct dn_span value,
                      char *out,
                      struct dn_err *err)
{
    struct dn_span rest = value;
    struct dn_span first = dn_span_cut (&rest, "/");
    bool two = rest.text != NULL;

    if (!is_name (first)
        || (two && (!is_name (rest) || first.text[0] == '.' || rest.text[0] == '.')))
        return dn_refuse (err, spec_name, key->name, DN_QUOTED_SPAN (value));
    return dn_span_copy (value, out, DN_NAME_MAX, key->name, err);
}

static int read_image (const struct dn_key *key,
                       struct dn_span value,
                       struct dn_image *out,
                       struct dn_err *err)
{
    struct dn_image image = {.n_dims = 0};
    struct dn_span rest = value;

    while (rest.text) {
        struct dn_span piece = dn_span_cut (&rest, "xX");

        if (image.n_dims == 3)
            return dn_refuse (err, image, key->name, DN_QUOTED_SPAN (value));
        if (dn_int_read (piece,
                         key->name,
                         (int64_t) key->min,
                         (int64_t) key->max,
                         &image.dim[image.n_dims++],
                         err)
            < 0)
            return -1;
    }
    *out = image;
    return 0;
}

static int read_time (const struct dn_key *key,
                      struct dn_span value,
                      int64_t *out,
                      struct dn_err *err)
{
    if (dn_time_read (value, key->name, out, err) < 0)
        return -1;
    if (*out < (int64_t) key->min || *out > (int64_t) key->max)
        return dn_refuse (err, spec_time, key->name, DN_QUOTED_SPAN (value));
    return 0;
}

/* "4k" of a length is 4096, as it is in the names of networks. */
static bool is_length_in_k (const struct dn_key *key, struct dn_span value)
{
    bool length = key->offset == offsetof (struct dn_spec, seq_len)
                  || key->offset == offsetof (struct dn_spec, tgt_len)
                  || key->offset == offsetof (struct dn_spec, mem_len)
                  || key->offset == offsetof (struct dn_spec, positions);

    return length && value.len > 1 && dn_lower (value.text[value.len - 1]) == 'k';
}

static int read_int (const struct dn_key *key,
                     struct dn_span value,
                     int64_t *out,
                     struct dn_err *err)
{
    int64_t unit = is_length_in_k (key, value) ? 1024 : 1;

    value.len -= unit > 1;
    if (dn_int_read (
            value, key->name, (int64_t) key->min, (int64_t) key->max / unit, out, err)
        < 0)
        return -1;
    *out *= unit;
    return 0;
}

static int read_value (const struct dn_key *key,
                       struct dn_span value,
                       struct dn_spec *spec,
                       struct dn_err *err)
{
    int rc = -1;
    union value out = {0};

    switch (key->type) {
    case DN_KEY_INT:
        rc = read_int (key, value, &out.number, err);
        break;
    case DN_KEY_REAL:
        rc = dn_real_read (value, key->name, key->min, key->max, &out.real, err);
        break;
    case DN_KEY_ENUM:
        rc = dn_enum_read (value, key->name, &key->names, &out.constant, err);
        break;
    case DN_KEY_TIME:
        rc = read_time (key, value, &out.number, err);
        break;
    case DN_KEY_NAME:
        return read_name (key, value, member (spec, key), err);
    case DN_KEY_IMAGE:
        return read_image (key, value, &spec->image, err);
    case DN_N_KEY_TYPES:
        return dn_refuse (err, key_type, key->name);
    }
    if (rc == 0)
        memcpy (member (spec, key), &out, types[key->type].size);
    return rc;
}

static const char *key_at (const void *names, int i)
{
    (void) names;
    return i < N_KEYS ? keys[i].name : NULL;
}

static int fail_unknown (struct dn_span name, struct dn_err *err)
{
    const struct dn_synonym *synonym = dn_spec_synonym (dn_span_trim (name));
    const char *nearest =
        synonym ? synonym->key : dn_word_nearest (dn_span_trim (name), key_at, NULL);
    struct dn_quoted quoted = dn_quote (name.text, name.len);

    if (nearest)
        return dn_refuse (err, spec_key_meant, quoted.text, nearest);
    return dn_refuse (err, spec_key, quoted.text);
}

/* A number and one letter that is none of the suffixes: "1B". */
static bool has_suffix (struct dn_span value)
{
    return value.len > 1 && dn_is_digit (value.text[value.len - 2])
           && dn_is_digit (value.text[0])
           && dn_lower (value.text[value.len - 1]) == 'b';
}

/* The value of 'key' cannot be read, as 'err' states. Where it is clear what was meant,
 * say that instead.
 */
static int fail_value (const struct dn_key *key,
                       struct dn_span value,
                       struct dn_err *err)
{
    const char *other;
    const char *synonym = dn_spec_value_synonym (key->name, value, &other);
    struct dn_quoted quoted = dn_quote (value.text, value.len);

    if (value.text[0] == '"' || value.text[0] == '\'')
        return dn_refuse (err, value_quotes, key->name, key->name);
    if (other)
        return dn_refuse (err, value_either, key->name, quoted.text, synonym, other);
    if ((key->type == DN_KEY_INT || key->type == DN_KEY_REAL) && has_suffix (value))
        return dn_refuse (err, value_suffix, key->name, quoted.text);
    return -1;
}

static bool is_true (struct dn_span value)
{
    return dn_span_is (value, "true") || dn_span_is (value, "yes");
}

static bool is_false (struct dn_span value)
{
    return dn_span_is (value, "false") || dn_span_is (value, "no");
}

/* What a value of other programs means as that of 'key'; NULL: nothing, or several. */
static const char *meaning_of (const struct dn_key *key, struct dn_span value)
{
    const char *other;
    const char *meant = dn_spec_value_synonym (key->name, value, &other);

    if (key->type == DN_KEY_INT && (int) key->max == 1)
        return is_true (value) ? "1" : is_false (value) ? "0" : NULL;
    return other ? NULL : meant;
}

static int read_meaning (const struct dn_key *key,
                         struct dn_span value,
                         struct dn_spec *spec,
                         struct dn_err *err)
{
    const char *meant;

    if (read_value (key, value, spec, err) == 0)
        return 0;
    meant = meaning_of (key, value);
    return meant ? read_value (key, dn_span_of (meant), spec, err)
                 : fail_value (key, value, err);
}

enum dn_quant dn_spec_quant_named (const char *model)
{
    const struct dn_key *key = dn_spec_key (dn_span_of ("quant"));
    struct dn_span rest = dn_span_of (model);
    enum dn_quant quant = DN_QUANT_UNKNOWN;

    while (rest.text) {
        struct dn_spec one = {.quant = DN_QUANT_UNKNOWN};
        struct dn_span word = dn_span_cut (&rest, "-_./");

        /* "GPTQ-Int8" has 8 bits, "AWQ-INT4" those of AWQ. */
        if (word.len > 0 && read_meaning (key, word, &one, NULL) == 0
            && one.quant > DN_QUANT_NONE
            && (quant == DN_QUANT_UNKNOWN || one.quant == DN_QUANT_INT8))
            quant = one.quant;
    }
    return quant;
}

/* Names as the value of a key that takes a number: frozen=all_but_ them. */
static int read_words (const struct dn_key *key,
                       struct dn_span value,
                       struct dn_spec *spec,
                       struct dn_keyset *seen,
                       struct dn_err *err)
{
    const struct dn_key *frozen = dn_spec_key (dn_span_of ("frozen"));
    char text[DN_NAME_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (dn_keyset_has (seen, (int) (frozen - keys)))
        return dn_refuse (err, with_frozen, key->name, DN_QUOTED_SPAN (value));
    dn_keyset_add (seen, (int) (frozen - keys));
    dn_buf_add (&buf, "all_but_%.*s", (int) value.len, value.text);
    if (buf.cut)
        return dn_refuse (
            err, value_long, key->name, value.len, sizeof (text) - sizeof ("all_but_"));
    spec->trainable = -1;
    return read_name (key, dn_span_of (text), spec->frozen, err);
}

/* The key that needs no value. */
static const char automatic_word[] = "auto";

/* The key that a name of another program means, and its value: NULL: the pair states
 * nothing that counts.
 */
static const struct dn_key *key_meant (const struct dn_synonym *synonym,
                                       struct dn_span *value)
{
    if (!synonym->key || (synonym->on && value->text && is_false (*value)))
        return NULL;
    if (synonym->on && (!value->text || is_true (*value) || dn_span_is (*value, "1")))
        *value = dn_span_of (synonym->on);
    return dn_spec_key (dn_span_of (synonym->key));
}

/* One "key=value" into 'spec'; 'seen' has a bit for each key of this text. *at is set
 * to the place of an error.
 */
static int read_pair (struct dn_span pair,
                      struct dn_spec *spec,
                      struct dn_keyset *seen,
                      const char **at,
                      struct dn_err *err)
{
    struct dn_span value = pair;
    struct dn_span name = dn_span_trim (dn_span_cut (&value, "="));
    const struct dn_key *key = dn_spec_key (name);
    const struct dn_synonym *synonym = key ? NULL : dn_spec_synonym (name);
    const char *place;

    *at = pair.text;
    value = value.text ? dn_span_trim (value) : value;
    place = value.text ? value.text : pair.text;
    if (!value.text && dn_span_is (pair, automatic_word))
        value = dn_span_of ("1");
    if (synonym && synonym->use != DN_SYNONYM_SUGGESTED) {
        key = key_meant (synonym, &value);
        if (!key)
            return 0;
    }
    if (!key)
        return fail_unknown (name, err);
    if (!value.text || value.len == 0)
        return dn_refuse (err, no_value, key->name, key->name);
    if (dn_keyset_has (seen, (int) (key - keys)))
        return dn_refuse (err, given_twice, key->name);
    dn_keyset_add (seen, (int) (key - keys));
    *at = place;
    if (dn_key_takes_words (key) && dn_is_letter (value.text[0]))
        return read_words (key, value, spec, seen, err);
    return read_meaning (key, value, spec, err);
}

struct dn_span dn_spec_cut (struct dn_span *rest)
{
    struct dn_span piece = *rest;
    size_t i = 0;

    /* Blanks around '=' belong to the pair. */
    for (; i < rest->len && rest->text[i] != ','; i++) {
        size_t next = i;

        while (next < rest->len
               && (rest->text[next] == ' ' || rest->text[next] == '\t'))
            next++;
        if (next > i && i > 0 && next < rest->len && !strchr ("=,", rest->text[next])
            && !strchr ("= \t,", rest->text[i - 1]))
            break;
        i = next > i ? next - 1 : i;
    }
    piece.len = i;
    *rest = i < rest->len ? dn_span_after (*rest, i + 1) : (struct dn_span){NULL, 0};
    return dn_span_trim (piece);
}

int dn_spec_read_at (struct dn_span text,
                     int column,
                     struct dn_spec *spec,
                     struct dn_err *err)
{
    struct dn_spec result = *spec;
    struct dn_span rest = text;
    struct dn_keyset seen = {{0}};
    struct dn_err all = {0};

    if (text.len > DN_METADATA_MAX)
        return dn_refuse (err, metadata_long, text.len, DN_METADATA_MAX);
    while (rest.text && rest.len > 0) {
        struct dn_span pair = dn_spec_cut (&rest);
        struct dn_err one = {0};
        const char *at;

        if (pair.len == 0 || read_pair (pair, &result, &seen, &at, &one) == 0)
            continue;
        if (column > 0)
            dn_err_wrap (&one, dn_say_at_column, column + (int) (at - text.text));
        dn_err_add (&all, &one);
    }
    if (all.code != DN_E_NONE) {
        if (err)
            *err = all;
        return -1;
    }
    *spec = result;
    return 0;
}

int dn_spec_read (struct dn_span text, struct dn_spec *spec, struct dn_err *err)
{
    return dn_spec_read_at (text, 1, spec, err);
}
