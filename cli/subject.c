/* subject.c - the subject of a command: a specification, its network, devices
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "subject.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "hardware/gpu_names.h"
#include "host/carry.h"
#include "import/hf_config.h"
#include "spec/synonyms.h"

/* dn_predict () takes this as unknown: the run then has all CPUs that it needs. */
#define CPUS_UNKNOWN (-1)

struct dn_keyset dn_subject_unread (const struct dn_subject *subject)
{
    const struct dn_case any = {.spec = &subject->spec, .graph = &subject->graph};

    return dn_unread_keys (&any);
}

/* The plugin abstains if a key of the network is not read. Where the amount of work is
 * unknown there is no time, so tokens= widens no bounds; dn_show_lacks_work () says so.
 */
static void warn_unread (const struct dn_subject *subject)
{
    struct dn_keyset unread = dn_subject_unread (subject);
    const struct dn_key *key;

    if (dn_spec_steps (&subject->spec) < 0)
        /* -Wanalyzer-use-of-uninitialized-value is wrong here: it is set */
        unread = dn_keyset_minus (unread, DN_KEYSET (tokens));
    for (int i = 0; (key = dn_spec_key_of (unread, i)); i++) {
        if (dn_key_is_network (key))
            dn_complain ("warning: key %s= is not read by %s: the prediction is of "
                         "another network, and such a job is not changed",
                         key->name,
                         subject->graph.name);
        else
            dn_complain ("warning: the prediction does not use %s=, its bounds are "
                         "wider",
                         key->name);
    }
}

/* Weights that the name says are quantised, which learn with adapters only. */
static void tell_quant (const struct dn_spec *spec)
{
    enum dn_quant quant = dn_spec_quant_named (spec->model);
    const char *name = quant == DN_QUANT_UNKNOWN ? spec->name : spec->model;
    const struct dn_key *key = dn_spec_key (dn_span_of ("quant"));
    const char *word;

    if (quant == DN_QUANT_UNKNOWN)
        quant = dn_spec_quant_named (name);
    if (quant == DN_QUANT_UNKNOWN)
        return;
    word = dn_names_get (&key->names, (int) quant);
    if (spec->quant == quant
        && !dn_keyset_is_empty (dn_keyset_and (spec->derived, DN_KEYSET (quant))))
        dn_complain ("note: quant=%s, as '%s' says", word, name);
    else if (spec->quant == DN_QUANT_UNKNOWN)
        dn_complain (
            "note: the weights of '%s' are quantised (quant=%s) and learn with "
            "lora= only: without it, this is a training of all weights",
            name,
            word);
}

int dn_subject_write (const struct dn_spec *spec,
                      char *text,
                      size_t size,
                      struct dn_err *err)
{
    return dn_spec_write (spec, text, size)
               ? 0
               : dn_err_set (err, DN_E_LIMIT, "metadata: too long");
}

int dn_subject_build (const struct dn_site *site,
                      int64_t n_gpus,
                      struct dn_subject *subject,
                      struct dn_err *err)
{
    subject->site = site;
    if (dn_spec_resolve (&subject->spec, &site->datasets, n_gpus, err) < 0)
        return -1;
    if (dn_sidecar_graph (
            &site->networks, &subject->layers, &subject->spec, &subject->graph, err)
        < 0)
        return subject->file.len == 0
                   ? -1
                   : dn_err_wrap (
                       err, "%.*s", (int) subject->file.len, subject->file.text);
    if (subject->open_tokens)
        subject->graph.tokens = subject->spec.seq_len;
    subject->user = (int64_t) getuid ();
    warn_unread (subject);
    tell_quant (&subject->spec);
    return 0;
}

/* The first word of a description, before its pairs. */
static struct dn_span first_word (const char *text)
{
    struct dn_span rest = dn_span_of (text);

    return dn_span_cut (&rest, ", \t\n");
}

bool dn_subject_is_json (const char *text)
{
    static const char suffix[] = ".json";
    size_t len = sizeof (suffix) - 1;
    struct dn_span first = first_word (text);

    return text[0] == '@'
           || (first.len > len && !memchr (first.text, '=', first.len)
               && memcmp (first.text + first.len - len, suffix, len) == 0);
}

bool dn_subject_is_network (const struct dn_site *site, const char *text)
{
    struct dn_model model;
    char name[DN_NAME_MAX];

    return dn_span_copy (first_word (text), name, sizeof (name), "model", NULL) == 0
           && dn_model_find (&site->networks, name, &model);
}

/* Is the first word no pair, as in "model = gpt2"? */
static bool is_bare (char *const args[], int n_args)
{
    struct dn_span first = first_word (args[0]);
    const char *next = first.text + first.len;

    next += strspn (next, " \t\n");
    if (*next == '\0' && n_args > 1)
        next = args[1];
    return first.len > 0 && *next != '=' && !memchr (first.text, '=', first.len)
           && !dn_span_is (first, "-");
}

/* The arguments as one text: "gpt2 batch=4" is "model=gpt2,batch=4". 'bare' is set
 * where its first word was no pair. Freed with free (); NULL without memory.
 */
static char *join (char *const args[], int n_args, bool *bare)
{
    size_t size = sizeof ("model=");
    char *text;
    struct dn_buf buf;

    for (int i = 0; i < n_args; i++)
        size += strlen (args[i]) + 1;
    text = malloc (size);
    if (!text)
        return NULL;
    buf = dn_buf_on (text, size);
    *bare = is_bare (args, n_args);
    if (*bare && args[0][0] != '@')
        dn_buf_text (
            &buf,
            dn_subject_is_json (args[0]) || strchr ("/.", args[0][0]) ? "@" : "model=");
    for (int i = 0; i < n_args; i++) {
        bool glued = i == 0 || args[i][0] == '=' || args[i][0] == ',' || buf.len == 0
                     || strchr ("=,", text[buf.len - 1]);

        dn_buf_text (&buf, glued ? "" : ",");
        dn_buf_text (&buf, args[i]);
    }
    return text;
}

int dn_subject_fail (const struct dn_err *err)
{
    return dn_fail (err->code == DN_E_IO ? DN_EXIT_DATA : DN_EXIT_USAGE, err);
}

/* A sidecar, or a config.json of Hugging Face. */
static int read_sidecar (const char *argument,
                         struct dn_subject *subject,
                         struct dn_err *err)
{
    struct dn_note note = dn_note_of_option (argument);
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_spec own;
    struct dn_spec words = dn_spec_empty ();
    char path[PATH_MAX];
    bool config;

    if (dn_span_copy (note.file, path, sizeof (path), "file", err) < 0
        || dn_read_input (path, &text, err) < 0)
        return -1;
    config = dn_hf_config_is (dn_span_of (text));
    if ((config ? dn_hf_config_read (dn_span_of (text), &sidecar.spec, err)
                : dn_sidecar_read (dn_span_of (text), &sidecar, err))
        < 0)
        return dn_err_wrap (err, "%s", path);
    own = sidecar.spec;
    if (note.pairs.len > 0
        && (dn_spec_read (note.pairs, &sidecar.spec, err) < 0
            || dn_spec_read (note.pairs, &words, err) < 0)) {
        dn_sidecar_free (&sidecar);
        return -1;
    }
    sidecar.layers.overridden = dn_describe_overridden (&own, &sidecar.spec);
    subject->spec = sidecar.spec;
    subject->layers = sidecar.layers;
    subject->file = note.file;
    subject->open_tokens =
        config && own.seq_len != DN_UNSET && words.seq_len == DN_UNSET;
    return 0;
}

/* Keys of other programs that are no keys here, and those that have gone. */
static void tell_passed_over (struct dn_span text)
{
    char names[DN_REASON_MAX];
    struct dn_buf buf = dn_buf_on (names, sizeof (names));

    while (text.text) {
        struct dn_span pair = dn_spec_cut (&text);
        struct dn_span name = dn_span_trim (dn_span_cut (&pair, "="));
        const struct dn_synonym *synonym =
            dn_spec_key (name) ? NULL : dn_spec_synonym (name);

        if (synonym && synonym->use == DN_SYNONYM_GONE)
            dn_complain (
                "warning: %s= has gone, say %s=", synonym->words, synonym->key);
        else if (synonym && !synonym->key)
            dn_buf_add (
                &buf, "%s%.*s", buf.len > 0 ? ", " : "", (int) name.len, name.text);
    }
    if (buf.len > 0)
        dn_complain ("note: the prediction does not use %s", names);
}

/* What is wrong with 'text', which cannot be read: a line for each pair, the last one
 * in 'err', which is left as it is if no pair is wrong by itself.
 */
static void find_errors (struct dn_span text, struct dn_err *err)
{
    struct dn_span rest = text;
    struct dn_err last = {0};

    while (rest.text) {
        struct dn_span pair = dn_spec_cut (&rest);
        struct dn_spec spec = dn_spec_empty ();
        struct dn_err one = {0};

        if (dn_spec_read_at (pair, (int) (pair.text - text.text) + 1, &spec, &one) == 0)
            continue;
        if (last.code != DN_E_NONE)
            dn_complain ("%s", last.text);
        last = one;
    }
    if (last.code != DN_E_NONE)
        *err = last;
}

int dn_subject_read_pairs (const char *text, struct dn_spec *spec, struct dn_err *err)
{
    struct dn_span pairs = dn_span_trim (dn_span_of (text));

    if (dn_spec_read (pairs, spec, err) == 0) {
        tell_passed_over (pairs);
        return 0;
    }
    if (pairs.len <= DN_METADATA_MAX)
        find_errors (pairs, err);
    return -1;
}

/* Refuse files that people have beside the description of their network. */
int dn_subject_refuse_weights (const char *text, struct dn_err *err)
{
    static const char *const endings[] = {
        ".gguf", ".safetensors", ".bin", ".pth", ".ckpt", ".h5", ".keras"};
    struct dn_span rest = dn_span_of (text);
    struct dn_span name = dn_span_cut (&rest, ",= ");

    for (size_t i = 0; i < DN_N_ELEMENTS (endings); i++) {
        size_t len = strlen (endings[i]);

        if (name.len > len
            && dn_word_equal (name.text + name.len - len, len, endings[i], len))
            return dn_err_set (err,
                               DN_E_SYNTAX,
                               "'%s' has weights, expected the config.json of its "
                               "network, a name of the zoo, or what 'dnnest describe' "
                               "writes",
                               dn_quote (name.text, name.len).text);
    }
    return 0;
}

static int read_text (const char *text, struct dn_subject *subject, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *input = NULL;

    if (text[0] == '@')
        return read_sidecar (text, subject, err);
    if (strcmp (text, "-") == 0) {
        if (dn_read_input (text, &input, err) < 0)
            return -1;
        /* A pair may have a line of its own. */
        for (char *at = input; (at = strpbrk (at, "\r\n"));)
            *at = ',';
        text = input;
    }
    return dn_subject_read_pairs (text, &subject->spec, err);
}

/* Where no batch is given, the smallest and the largest are looked at. */
static void open_batch (struct dn_subject *subject)
{
    struct dn_spec *spec = &subject->spec;

    subject->open_batch = spec->batch == DN_UNSET && spec->global_batch == DN_UNSET;
    if (subject->open_batch)
        spec->batch = 1;
}

int dn_subject_parse (char *const args[],
                      int n_args,
                      struct dn_subject *subject,
                      struct dn_err *err)
{
    struct dn_spec *spec = &subject->spec;
    bool bare = false;

    memset (subject, 0, sizeof (*subject));
    *spec = dn_spec_empty ();
    if (dn_subject_refuse_weights (args[0], err) < 0)
        return -1;
    subject->text = join (args, n_args, &bare);
    if (!subject->text)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (read_text (subject->text, subject, err) < 0) {
        dn_subject_free (subject);
        return -1;
    }
    if (bare)
        open_batch (subject);
    return 0;
}

int dn_subject_read (const struct dn_site *site,
                     char *const args[],
                     int n_args,
                     struct dn_subject *subject,
                     struct dn_err *err)
{
    if (dn_subject_parse (args, n_args, subject, err) < 0)
        return -1;
    if (!subject->open_batch)
        open_batch (subject);
    if (dn_subject_build (site, DN_UNSET, subject, err) == 0)
        return 0;
    dn_subject_free (subject);
    return -1;
}

int dn_subject_carry (const struct dn_site *site,
                      struct dn_job *job,
                      char **sidecar,
                      struct dn_err *err)
{
    if (dn_carry_option (job->option, dn_hf_config_convert, sidecar, err) < 0)
        return -1;
    job->sidecar = *sidecar;
    if (!*sidecar && dn_carry_comment (job, site->sidecar_dir, sidecar, err) < 0)
        return -1;
    job->sidecar = *sidecar;
    return 0;
}

void dn_subject_free (struct dn_subject *subject)
{
    if (!subject)
        return;
    dn_layers_free (&subject->layers);
    dn_graph_free (&subject->graph);
    free (subject->text);
    subject->text = NULL;
}

/* The names of GPU types, then those of devices. */
static const char *gpu_name (const void *names, int i)
{
    const struct dn_site *site = names;

    if (i < site->gpu_types.n_types)
        return site->gpu_types.types[i].type;
    return dn_catalogue_name_at (&site->catalogue, i - site->gpu_types.n_types);
}

const struct dn_device *dn_subject_device (const struct dn_site *site,
                                           const char *name,
                                           struct dn_err *err)
{
    const struct dn_gpu_type *type = dn_gpu_types_resemble (&site->gpu_types, name);
    const struct dn_device *device =
        type ? type->device : dn_catalogue_find (&site->catalogue, name);
    char near[DN_ERR_TEXT_MAX];
    struct dn_buf buf = dn_buf_on (near, sizeof (near));
    struct dn_gpus_meant meant;

    if (device)
        return device;
    meant = dn_gpus_meant (&site->catalogue, name);
    if (meant.n == 1)
        return meant.list[0];
    dn_gpus_meant_write (&meant, &buf);
    if (meant.n > 1) {
        dn_err_set (err,
                    DN_E_RANGE,
                    "gpu: '%s' may be %s: name one",
                    dn_quote (name, strlen (name)).text,
                    near);
        return NULL;
    }
    dn_add_near (&buf, name, gpu_name, site);
    dn_err_set (err,
                DN_E_RANGE,
                "gpu: '%s' is unknown, expected a GPU type of dnnest.conf or a device "
                "that 'dnnest-dev hardware' lists%s",
                dn_quote (name, strlen (name)).text,
                near);
    return NULL;
}

const struct dn_gpu_type *dn_subject_type (const struct dn_site *site,
                                           const struct dn_device *device)
{
    for (int i = 0; i < site->gpu_types.n_types; i++)
        if (site->gpu_types.types[i].device == device)
            return &site->gpu_types.types[i];
    return NULL;
}

struct dn_case dn_subject_case (const struct dn_subject *subject,
                                const struct dn_device *device,
                                double cpus_per_gpu)
{
    return (struct dn_case){.constants = &subject->site->constants,
                            .spec = &subject->spec,
                            .graph = &subject->graph,
                            .device = device,
                            .cpus_per_gpu = cpus_per_gpu};
}

int dn_subject_predict (const struct dn_subject *subject,
                        const struct dn_device *const devices[],
                        int n_devices,
                        struct dn_estimate estimates[],
                        struct dn_err *err)
{
    struct dn_predictor predictor = dn_site_predictor (subject->site);
    const struct dn_case c = dn_subject_case (subject, NULL, CPUS_UNKNOWN);

    predictor.user = subject->user;
    return dn_predict (&predictor, &c, devices, n_devices, estimates, err);
}

struct dn_forecast dn_subject_run (const struct dn_subject *subject,
                                   const char *name,
                                   double cost_per_hour,
                                   const struct dn_estimate *estimate)
{
    const struct dn_case c = dn_subject_case (subject, estimate->device, CPUS_UNKNOWN);

    int64_t largest = dn_policy_largest_batch (&subject->site->rules, &c);

    return (struct dn_forecast){
        .name = name,
        .type = NULL,
        .estimate = estimate,
        .cost_per_hour = cost_per_hour,
        .carbon_g =
            dn_estimate_carbon_g (estimate->energy_j, subject->site->carbon_g_per_kwh),
        .largest_batch = largest,
        .may_hold_one = largest > 0 || dn_policy_may_hold_one (&c),
        .now = DN_GPUS_NOW_UNKNOWN,
    };
}

int dn_sidecar_put (const struct dn_sidecar *sidecar,
                    const char *out,
                    struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = dn_sidecar_write (sidecar);

    if (!text)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (out)
        return dn_write_output (out, text, err);
    printf ("%s\n", text);
    return 0;
}
