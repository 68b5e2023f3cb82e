/* unread.c - every key on every network: what is given is read, or it is named, and
 * what that does to a job
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "graph/sidecar.h"
#include "predict/assumed.h"
#include "scene.h"
#include "tests/unit/networks.h"

#define V100   0
#define VALUES 12

/* Of these, how many are tried, of whole numbers from small to large: few of a network
 * that is a file, all of which one reader builds, or whose family was tried before, as
 * its sizes alone differ; and with a sanitizer, where each takes ten times as long.
 */
#define FEW 3
#if defined(__SANITIZE_ADDRESS__)
#define ALL FEW
#else
#define ALL VALUES
#endif
static int tried;

/* A network with its sizes by totals has the fewest keys. */
#define TOTALS "totals"

/* Values of a key by its type, in the form of metadata; constants of an enum in
 * addition. Numbers are small, so that they fit most networks.
 */
static const char *const whole_values[VALUES] =
    {"2", "3", "4", "5", "6", "8", "16", "32", "128", "512", "1024", "20000"};
static const char *const real_values[VALUES] = {"0.5", "2", "1M", "1G"};
static const char *const image_values[VALUES] =
    {"32", "96x64", "64", "128", "256", "300", "512", "768"};

/* Ages of software at which a formula changes. */
static const char *const years[VALUES] = {"2024", "2019", "2021", "2023"};
static const char *const versions[VALUES] = {"2.4", "1.7", "1.10", "1.13", "2.0"};

static const char *value_of (const struct dn_key *key, int i)
{
    if (i >= tried)
        return NULL;
    if (strcmp (key->name, "since") == 0)
        return years[i];
    if (strcmp (key->name, "torch") == 0)
        return versions[i];
    switch (key->type) {
    case DN_KEY_INT:
        return whole_values[i * (VALUES / tried)];
    case DN_KEY_REAL:
        return real_values[i];
    case DN_KEY_IMAGE:
        return image_values[i];
    case DN_KEY_ENUM:
        return i + 1 < key->names.n_names ? key->names.names[i + 1] : NULL;
    default:
        return NULL;
    }
}

/* All that is wrong is printed, not only the first. */
static int n_problems;

static void report (const char *network, const char *format, ...) DN_PRINTF (2, 3);

static void report (const char *network, const char *format, ...)
{
    va_list args;

    va_start (args, format);
    print_message ("%s: ", network);
    vprint_message (format, args);
    print_message ("\n");
    va_end (args);
    n_problems++;
}

/* The i-th network: all that model= knows, then one by its totals. */
static bool describe_network (int i, char *text, size_t size)
{
    if (dn_model_at (shipped_networks (), i))
        snprintf (text, size, "model=%s", dn_model_at (shipped_networks (), i));
    else
        snprintf (text, size, "model=%s,params=30M,flops=9G,activations=20M", TOTALS);
    return i == 0 || dn_model_at (shipped_networks (), i - 1);
}

static bool is_of_file (const char *name)
{
    return dn_networks_find (shipped_networks (), name) != NULL;
}

/* Is no network before it of its family, by code or by files as it is? To be asked in
 * their order.
 */
static bool is_first_of_family (int n)
{
    static char seen[400][2 * DN_NAME_MAX];
    static int n_seen;
    const char *name = dn_model_at (shipped_networks (), n);
    struct dn_model model;
    char *family;

    if (!name || !dn_model_find (shipped_networks (), name, &model))
        return true;
    n_seen = n == 0 ? 0 : n_seen;
    assert_true (n_seen + 1 < (int) DN_N_ELEMENTS (seen));
    family = seen[n_seen];
    snprintf (family,
              sizeof (seen[0]),
              "%s%s",
              model.entry.family,
              is_of_file (name) ? " of files" : "");
    for (int i = 0; i < n_seen; i++)
        if (strcmp (seen[i], family) == 0)
            return false;
    n_seen++;
    return true;
}

/* How many values of a key are tried on the n-th network. Of files the first of every
 * family suffices.
 */
static int values_of (int n)
{
    const char *name = dn_model_at (shipped_networks (), n);
    bool file = name && is_of_file (name);

    if (is_first_of_family (n))
        return file ? FEW : ALL;
    return ALL == VALUES && !file ? FEW : 0;
}

/* The graph of 'base' with the key at 'value'; false if they do not go together. */
static bool build (const char *base,
                   const struct dn_key *key,
                   const char *value,
                   struct dn_spec *spec,
                   struct dn_graph *graph)
{
    char pair[DN_VALUE_MAX];

    *spec = dn_spec_empty ();
    if (dn_spec_read (dn_span_of (base), spec, NULL) < 0)
        fail_msg ("%s: not readable", base);
    snprintf (pair, sizeof (pair), "%s=%s", key->name, value);
    return dn_spec_read (dn_span_of (pair), spec, NULL) == 0
           && dn_graph_build (shipped_networks (), spec, graph, NULL) == 0;
}

static bool is_same_op (const struct dn_op *a, const struct dn_op *b)
{
    return a->kind == b->kind && a->repeat == b->repeat && a->m == b->m && a->n == b->n
           && a->k == b->k && a->batches == b->batches && a->flops == b->flops
           && a->in == b->in && a->out == b->out && a->weights == b->weights
           && a->params == b->params && a->tensors == b->tensors && a->saved == b->saved
           && a->masks == b->masks && a->steps == b->steps && a->calls == b->calls
           && a->each == b->each && a->kv_heads == b->kv_heads
           && a->value_dim == b->value_dim && a->window == b->window;
}

static bool is_same_graph (const struct dn_graph *a, const struct dn_graph *b)
{
    if (a->n_ops != b->n_ops || a->params != b->params || a->input != b->input
        || a->input_bytes != b->input_bytes || a->padding != b->padding
        || a->block_layers != b->block_layers || a->block_boundary != b->block_boundary)
        return false;
    for (int i = 0; i < a->n_ops; i++)
        if (!is_same_op (&a->ops[i], &b->ops[i]))
            return false;
    return true;
}

static bool overlap (struct dn_keyset a, struct dn_keyset b)
{
    return !dn_keyset_is_empty (dn_keyset_and (a, b));
}

/* Give the key all its values on one network. One value may be the network's own, so
 * that it is read and changes nothing.
 */
static void try_network_key (const char *network,
                             const struct dn_graph *plain,
                             const struct dn_key *key)
{
    const char *own = NULL;
    const char *value;
    bool totals = strstr (network, TOTALS);

    for (int i = 0; (value = value_of (key, i)); i++) {
        struct dn_spec spec;
        struct dn_graph graph = {0};
        struct dn_keyset bit = dn_keyset_of (key->offset);
        bool same;
        bool unread;

        if (!build (network, key, value, &spec, &graph))
            continue;
        same = is_same_graph (plain, &graph);
        unread = overlap (graph.unread, bit);
        dn_graph_free (&graph);
        /* The predictor reads these of a network without layers. */
        if (totals
            && overlap (bit, dn_keyset_or (DN_KEYSET (seq_len), DN_KEYSET (image))))
            continue;
        if (unread && !same)
            report (network, "%s=%s is unread, but changes it", key->name, value);
        if (unread || !same || !overlap (dn_spec_network_keys (&spec), bit))
            continue;
        if (own)
            report (network,
                    "%s=%s and =%s do nothing, but are read",
                    key->name,
                    own,
                    value);
        own = value;
    }
}

TEST ("every key of a network changes it, or is named as unread")
{
    char network[DN_VALUE_MAX];
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);
    int n_built = 0;

    for (int n = 0; describe_network (n, network, sizeof (network)); n++) {
        struct dn_spec spec = dn_spec_empty ();
        struct dn_graph plain;

        tried = values_of (n);
        if (tried == 0)
            continue;
        n_built++;
        assert_int_equal (dn_spec_read (dn_span_of (network), &spec, NULL), 0);
        assert_int_equal (dn_graph_build (shipped_networks (), &spec, &plain, NULL), 0);
        if (!dn_keyset_is_empty (plain.unread))
            report (network, "unread without a key");
        for (int k = 0; k < n_keys; k++)
            if (dn_key_is_network (&keys[k]))
                try_network_key (network, &plain, &keys[k]);
        dn_graph_free (&plain);
    }
    assert_true (n_built > (ALL == VALUES ? 100 : 20));
    assert_int_equal (n_problems, 0);
}

/* What holds without a key may be stated. */
TEST ("a key may state what holds without it")
{
    struct dn_spec spec = dn_spec_empty ();
    struct dn_graph graph;

    assert_int_equal (
        dn_spec_read (dn_span_of ("model=mistral_7b,experts=1,top_k=1,mem_len=0,"
                                  "width=1,stem=imagenet"),
                      &spec,
                      NULL),
        0);
    assert_int_equal (dn_graph_build (shipped_networks (), &spec, &graph, NULL), 0);
    assert_true (dn_keyset_is_empty (graph.unread));
    dn_graph_free (&graph);
}

static const char *const trainings[] = {
    "batch=8,precision=fp16,optimizer=adam,epochs=3,samples=100000,gpus=4",
    "batch=8,optimizer=sgd,steps=5000,gpus=8,nodes=2,tp=2,workers=4,eval_every=100,"
    "eval_samples=900,grad_accum=4,compile=0,input=real",
    "batch=8,tokens=1G,seq_len=512,gpus=2,parallel=dp,input=gpu",
    "batch=64,steps=100,framework=tensorflow,optimizer=sgd",
};

static struct dn_site *site;

/* The estimate without what a key that is not used may change. */
static bool estimate (const char *network,
                      const char *training,
                      const char *pair,
                      struct dn_estimate *result,
                      struct dn_range *range)
{
    char text[DN_METADATA_MAX];
    const struct dn_layers none = {.n = 0};
    struct dn_spec spec = dn_spec_empty ();
    struct dn_graph graph = {0};
    struct dn_case c = {.constants = &site->constants,
                        .spec = &spec,
                        .graph = &graph,
                        .device = &site->catalogue.devices[V100],
                        .cpus_per_gpu = 6};

    snprintf (text, sizeof (text), "%s,%s", network, training);
    assert_int_equal (dn_spec_read (dn_span_of (text), &spec, NULL), 0);
    if (dn_spec_read (dn_span_of (pair), &spec, NULL) < 0
        || dn_spec_resolve (&spec, &site->datasets, DN_UNSET, NULL) < 0
        || dn_sidecar_graph (shipped_networks (), &none, &spec, &graph, NULL) < 0)
        return false;
    dn_whitebox (&c, result);
    dn_graph_free (&graph);
    *range = result->step_s;
    result->step_s.sigma = result->train_s.sigma = result->confidence = 0;
    return true;
}

static bool is_same_estimate (const struct dn_estimate *a, const struct dn_estimate *b)
{
    struct dn_estimate x = *a;
    struct dn_estimate y = *b;

    x.unread = y.unread = (struct dn_keyset){{0}};
    return memcmp (&x, &y, sizeof (x)) == 0;
}

/* What all values of a key do on one network. */
struct effect {
    int n_silent; /* values that change nothing and are not named, of one training */
    bool changes; /* some value changes the estimate */
};

static void try_training_key (const char *network,
                              const char *training,
                              const struct dn_key *key,
                              struct effect *effect)
{
    struct dn_estimate plain;
    struct dn_range plain_step;
    struct dn_keyset bit = dn_keyset_of (key->offset);
    const char *value;
    int n_silent = 0;

    /* No training of this network. */
    if (!estimate (network, training, "", &plain, &plain_step))
        return;
    for (int i = 0; (value = value_of (key, i)); i++) {
        char pair[DN_VALUE_MAX];
        struct dn_estimate now;
        struct dn_range step;
        bool same;

        snprintf (pair, sizeof (pair), "%s=%s", key->name, value);
        if (!estimate (network, training, pair, &now, &step))
            continue;
        same = is_same_estimate (&plain, &now);
        effect->changes |= !same;
        n_silent += same && !overlap (now.unread, bit) ? 1 : 0;
        if (!overlap (now.unread, bit))
            continue;
        if (!same && !overlap (plain.unread, bit))
            report (
                network, "%s: %s is unused, but changes the estimate", training, pair);
        if (!overlap (plain.unread, bit) && !(step.sigma > plain_step.sigma))
            report (network, "%s: %s is unused, and as sure as before", training, pair);
    }
    if (n_silent > effect->n_silent)
        effect->n_silent = n_silent;
}

/* Keys without an effect by themselves: wishes, names but that of a version, and what
 * the number of steps makes of samples= and epochs=.
 */
static bool is_of_training (const struct dn_key *key)
{
    return !dn_key_is_network (key) && strcmp (key->group, "wishes") != 0
           && (key->type != DN_KEY_NAME || strcmp (key->name, "torch") == 0);
}

/* The first network of every family: others differ in sizes, and a key of the training
 * does not depend on them.
 */
TEST (
    "every key of the training changes an estimate, or is named and makes it less sure")
{
    char network[DN_VALUE_MAX];
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    site = scene_site ("");
    for (int n = 0; describe_network (n, network, sizeof (network)); n++) {
        bool first = is_first_of_family (n);
        const char *name = dn_model_at (shipped_networks (), n);

        tried = !first ? 0 : name && is_of_file (name) ? FEW : ALL;
        for (int k = 0; tried > 0 && k < n_keys; k++) {
            struct effect effect = {0, false};

            if (!is_of_training (&keys[k]))
                continue;
            for (size_t t = 0; t < DN_N_ELEMENTS (trainings); t++)
                try_training_key (network, trainings[t], &keys[k], &effect);
            /* One may be what holds without the key. */
            if (effect.n_silent > 1 && !effect.changes)
                report (
                    network, "%s= changes no estimate, but is not named", keys[k].name);
        }
    }
    assert_int_equal (n_problems, 0);
}

static struct dn_advice *advise (const char *comment)
{
    return SCENE_ADVICE ("Mode=enforce\nMinConfidence=0\n", job.comment = comment);
}

TEST ("a network of other keys is not judged, and its user gets a message")
{
    struct dn_advice *advice =
        advise ("dnnest:model=resnet50,batch=128,precision=fp16,epochs=20,"
                "dataset=imagenet,heads=8");

    assert_int_equal (advice->decision.abstain, DN_ABSTAIN_UNREAD_KEY);
    assert_string_equal (advice->patch.user_text,
                         "dnnest: job unchanged (key heads= is not read by resnet50: "
                         "the prediction would be of another network)");
}

TEST ("a key that is not used widens the bound")
{
    static const char plain[] = "dnnest:model=resnet50,batch=128,precision=fp32,"
                                "optimizer=momentum,epochs=20,dataset=imagenet";
    struct dn_advice *without = advise (plain);
    struct dn_advice *with = advise (unit_text ("%s,layout=nhwc", plain));

    assert_string_equal (SAID (with->decision.reasons[0]),
                         "confidence: lower, the prediction does not use layout=");
    assert_true (with->estimates[0].confidence
                 < 0.95 * without->estimates[0].confidence);
    assert_true (with->estimates[0].step_s.sigma > without->estimates[0].step_s.sigma);
    assert_near (with->estimates[0].step_s.p50, without->estimates[0].step_s.p50);
    assert_true (with->decision.time_limit_s > without->decision.time_limit_s);
}

/* 'since' is what is assumed of the age of the software, NULL if nothing. */
static void check_age (const char *text, const char *since)
{
    struct dn_spec spec = dn_spec_empty ();
    struct dn_graph graph = {0};
    struct dn_assumption list[DN_ASSUMED_MAX];
    const char *found = NULL;

    assert_int_equal (dn_spec_read (dn_span_of (text), &spec, NULL), 0);
    assert_int_equal (dn_graph_build (shipped_networks (), &spec, &graph, NULL), 0);
    for (int i = dn_assumed (&spec, &graph, list) - 1; i >= 0; i--)
        if (strcmp (list[i].key, "since") == 0)
            found = list[i].value;
    assert_string_equal (found ? found : "none", since ? since : "none");
    dn_graph_free (&graph);
}

TEST ("the age of the software is assumed where it matters and is not given")
{
    static const char tuned[] = "2022 (on Hopper and later 2023)";

    check_age ("model=resnet50,batch=4", tuned);
    check_age ("model=bert_base,batch=4",
               "2022 (on Hopper and later 2023), for attention 2024");
    check_age ("model=bert_base,batch=4,attention=fused", tuned);
    check_age ("model=bert_base,batch=4,framework=megatron", "2022");
    check_age ("model=bert_base,batch=4,framework=megatron,attention=flash", "2024");
    check_age ("model=resnet50,batch=4,since=2020", NULL);
    check_age ("model=resnet50,batch=4,torch=2.4", NULL);
    check_age ("model=resnet50,batch=4,stack=ngc", NULL);
    check_age ("model=bert_base,batch=4,framework=jax", NULL);
}

TEST ("five runs take five times as long")
{
#define RUN "dnnest:model=resnet50,batch=128,precision=fp16,epochs=2,dataset=imagenet"
    const struct dn_estimate *one = &advise (RUN)->estimates[0];
    const struct dn_estimate *five = &advise (RUN ",runs=5")->estimates[0];

    assert_near (five->train_s.p50, 5 * one->train_s.p50);
    assert_near (five->energy_j, 5 * one->energy_j);
    assert_near (five->gpu_mem.p50, one->gpu_mem.p50);
    assert_near (five->step_s.p50, one->step_s.p50);
}

int before_test (void **state)
{
    n_problems = 0;
    return 0;
}
