/* assumed.c - what a prediction takes for keys that were not given
 *
 * The values are those of the predictor: precision.h and dn_device_precision (),
 * habits.c, attend.c, input.c, setup.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/assumed.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/messages.h"
#include "predict/stages.h"

struct assumed {
    struct dn_assumption *list;
    int n;
};

static void add_words (struct assumed *assumed, const char *key, const char *words)
{
    struct dn_assumption *next = &assumed->list[assumed->n++];
    struct dn_buf buf = dn_buf_on (next->value, sizeof (next->value));

    next->key = key;
    next->is_value = false;
    dn_buf_text (&buf, words);
}

/* The constant of an enumerated key. */
static void add_value (struct assumed *assumed, const char *key, int value)
{
    const struct dn_names *names = &dn_spec_key (dn_span_of (key))->names;

    add_words (assumed, key, dn_names_get (names, value));
    assumed->list[assumed->n - 1].is_value = true;
}

static void add_input (struct assumed *assumed,
                       const struct dn_spec *spec,
                       const struct dn_graph *graph)
{
    enum dn_decode decode = dn_decode_of (spec, graph);
    enum dn_augment augment = dn_augment_of (spec, graph);

    if (decode == DN_DECODE_UNKNOWN || spec->input == DN_INPUT_SYNTHETIC)
        return;
    if (spec->decode == DN_DECODE_UNKNOWN)
        add_value (assumed, "decode", decode);
    if (spec->augment == DN_AUGMENT_UNKNOWN && augment != DN_AUGMENT_UNKNOWN)
        add_value (assumed, "augment", augment);
    if (decode == DN_DECODE_JPEG && spec->sample_bytes == DN_UNSET)
        add_words (assumed, "sample_bytes", dn_say_assumed_image);
    if (spec->workers == DN_UNSET && spec->input != DN_INPUT_GPU)
        add_words (assumed, "workers", dn_say_assumed_workers);
}

/* Does the network's description say that fused kernels run its attention? */
static bool is_fused (const struct dn_graph *graph)
{
    for (int i = 0; i < graph->n_ops; i++)
        if (graph->ops[i].kind == DN_OP_ATTENTION && graph->ops[i].fused)
            return true;
    return false;
}

/* The year of the software. How well code is tuned is that of 2022, on newer devices of
 * 2023; the kernels of attention are those of today, unless the stack is an old one.
 */
static void add_age (struct assumed *assumed,
                     const struct dn_spec *spec,
                     const struct dn_graph *graph)
{
    const struct dn_case c = {.spec = spec, .graph = graph};
    bool attention = dn_attention_reads_age (&c);
    bool today = dn_attention_is_modern (&c) || spec->attention == DN_ATTENTION_FLASH
                 || is_fused (graph);

    if (spec->since != DN_UNSET || spec->torch[0] != '\0')
        return;
    if (attention && spec->attention <= DN_ATTENTION_AUTO)
        add_words (assumed, "attention", dn_say_assumed_attention);
    if (dn_reads_age (&c))
        add_words (
            assumed, "since", attention ? dn_say_assumed_ages : dn_say_assumed_age);
    else if (attention)
        add_words (assumed, "since", today ? "2024" : "2022");
}

int dn_assumed (const struct dn_spec *spec,
                const struct dn_graph *graph,
                struct dn_assumption list[DN_ASSUMED_MAX])
{
    struct assumed assumed = {list, 0};
    char tokens[DN_VALUE_MAX];

    if (graph->tokens > 0) {
        snprintf (tokens, sizeof (tokens), "%" PRId64, graph->tokens);
        add_words (&assumed, "seq_len", tokens);
        list->is_value = true;
    }
    if (spec->precision == DN_PRECISION_UNKNOWN)
        add_value (&assumed, "precision", DN_PRECISION_FP32);
    if (spec->optimizer == DN_OPTIMIZER_UNKNOWN)
        add_words (&assumed, "optimizer", dn_say_assumed_optimizer);
    if (spec->framework == DN_FRAMEWORK_UNKNOWN)
        add_value (&assumed, "framework", DN_FRAMEWORK_PYTORCH);
    add_age (&assumed, spec, graph);
    add_input (&assumed, spec, graph);
    if (spec->gpus > 1 && spec->parallel == DN_PARALLEL_UNKNOWN
        && spec->optimizer != DN_OPTIMIZER_NONE)
        add_value (&assumed, "parallel", DN_PARALLEL_DP);
    if (spec->nodes > 1 && spec->net[0] == '\0')
        add_words (&assumed, "net", dn_say_assumed_net);
    return assumed.n;
}
