/* hf_capture.c - the network of a capture by its configuration of transformers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/hf_capture.h"

#include <json-c/json.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "graph/sidecar.h"
#include "import/hf_config.h"

/* As of the reader of captures. */
#define DEPTH_MAX  12
#define VALUES_MAX 65536

#define TOKENS_MAX 16777216

/* The keys of a network that was not recorded. */
static const size_t replaced[] = {offsetof (struct dn_spec, params),
                                  offsetof (struct dn_spec, flops),
                                  offsetof (struct dn_spec, activations),
                                  offsetof (struct dn_spec, trainable)};

/* The tokens of a sample: the first shape is [samples, tokens]. */
static bool read_tokens (struct json_object *network, struct dn_spec *spec)
{
    struct json_object *shapes = dn_json_member (network, "shapes");
    struct json_object *shape = json_object_is_type (shapes, json_type_array)
                                    ? json_object_array_get_idx (shapes, 0)
                                    : NULL;
    double tokens;

    if (!json_object_is_type (shape, json_type_array)
        || json_object_array_length (shape) != 2
        || !dn_json_number (json_object_array_get_idx (shape, 1), &tokens)
        || !(tokens >= 1 && tokens <= TOKENS_MAX))
        return false;
    spec->seq_len = (int64_t) tokens;
    return true;
}

/* "q_proj+v_proj" */
static bool read_targets (struct json_object *adapter, struct dn_spec *spec)
{
    struct json_object *names = dn_json_member (adapter, "targets");
    struct dn_buf buf = dn_buf_on (spec->lora_targets, sizeof (spec->lora_targets));
    size_t n = json_object_is_type (names, json_type_array)
                   ? json_object_array_length (names)
                   : 0;

    for (size_t i = 0; i < n; i++) {
        struct json_object *name = json_object_array_get_idx (names, i);

        if (!json_object_is_type (name, json_type_string))
            return false;
        dn_buf_text (&buf, i > 0 ? "+" : "");
        dn_buf_text (&buf, json_object_get_string (name));
    }
    return !buf.cut;
}

/* What of the network learns, and how its weights are stored. */
static bool read_tuning (struct json_object *network, struct dn_spec *spec)
{
    struct json_object *adapter = dn_json_member (network, "adapter");
    char kind[DN_NAME_MAX] = "";
    double trainable = 0;
    double all = 0;
    int64_t bits = DN_UNSET;

    dn_json_read_int (network, "quantised", 1, 64, &bits, NULL);
    if (bits != DN_UNSET)
        spec->quant = bits <= 4 ? DN_QUANT_NF4 : DN_QUANT_INT8;
    if (adapter) {
        dn_json_read_text (adapter, "type", kind, sizeof (kind), NULL);
        dn_json_read_int (adapter, "rank", 1, 65536, &spec->lora, NULL);
        return strcmp (kind, "lora") == 0 && spec->lora > 0
               && read_targets (adapter, spec);
    }
    return !dn_json_number (dn_json_member (network, "trainable"), &trainable)
           || !dn_json_number (dn_json_member (network, "parameters"), &all)
           || trainable >= all;
}

/* The description with the keys of the configuration. NULL: none is made. */
static struct json_object *describe (struct json_object *given,
                                     struct json_object *network)
{
    struct json_object *config = dn_json_member (network, "config");
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    dn_cleanup (dn_free_ptr) char *text = NULL;

    if (!json_object_is_type (config, json_type_object)
        || dn_sidecar_read (
               dn_span_of (json_object_to_json_string (given)), &sidecar, NULL)
               < 0)
        return NULL;
    for (size_t i = 0; i < DN_N_ELEMENTS (replaced); i++)
        dn_spec_clear (&sidecar.spec, dn_spec_key_of (dn_keyset_of (replaced[i]), 0));
    if (sidecar.layers.n == 0
        && dn_hf_config_read (
               dn_span_of (json_object_to_json_string (config)), &sidecar.spec, NULL)
               == 0
        && read_tokens (network, &sidecar.spec) && read_tuning (network, &sidecar.spec))
        text = dn_sidecar_write (&sidecar);
    dn_layers_free (&sidecar.layers);
    return text ? json_tokener_parse (text) : NULL;
}

char *dn_hf_capture (struct dn_span text)
{
    dn_cleanup (dn_json_free) struct json_object *json =
        dn_json_read (text, DEPTH_MAX, VALUES_MAX, NULL);
    struct json_object *given = json ? dn_json_member (json, "sidecar") : NULL;
    struct json_object *network = json ? dn_json_member (json, "network") : NULL;
    struct json_object *made;

    if (!json_object_is_type (given, json_type_object)
        || !json_object_is_type (network, json_type_object))
        return NULL;
    made = describe (given, network);
    if (!made)
        return NULL;
    json_object_object_add (json, "sidecar", made);
    return strdup (json_object_to_json_string (json));
}
