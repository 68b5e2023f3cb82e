/* hlo_attend.c - cuDNN's attention in HLO
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/hlo_attend.h"

#include <math.h>
#include <string.h>

/* Five products backward, two forward. */
#define BACKWARD_TIMES 2.5

/* The text after 'key' up to 'end', of a configuration in JSON, whose quotes may be
 * escaped; NULL if it is not there.
 */
static struct dn_span after (struct dn_span text, const char *key, char end)
{
    const char *at = text.text ? dn_hlo_find (text, key) : NULL;
    struct dn_span rest = {NULL, 0};
    const char *stop;

    if (!at)
        return rest;
    rest.text = at + strlen (key);
    rest.len = text.len - (size_t) (rest.text - text.text);
    stop = end ? memchr (rest.text, end, rest.len) : NULL;
    if (stop)
        rest.len = (size_t) (stop - rest.text);
    return rest;
}

/* Batch, heads, tokens and keys. */
static bool read_scores (struct dn_span config, struct dn_hlo_attention *attention)
{
    struct dn_span shape = after (config, "intermediate_tensor_shape", '\0');
    struct dn_span dims = after (shape, "dimensions", ']');
    int64_t sizes[4];

    if (!dims.text || dn_hlo_numbers (dims, sizes, 4) != 4)
        return false;
    for (int i = 0; i < 4; i++)
        if (sizes[i] < 1)
            return false;
    attention->batch = (double) sizes[0];
    attention->heads = (double) sizes[1];
    attention->tokens = (double) sizes[2];
    attention->keys = (double) sizes[3];
    return true;
}

static double elements_of (const struct dn_hlo *module,
                           const struct dn_hlo_instruction *call,
                           int operand)
{
    const struct dn_hlo_instruction *made =
        dn_hlo_at (module, dn_hlo_operand (module, call, operand));

    return made->n_arrays == 1
               ? dn_hlo_elements (module, dn_hlo_result (module, made, 0))
               : 0;
}

static bool is_whole (double number)
{
    return number >= 1 && number == floor (number);
}

/* Query, key and value by their elements; heads that share keys have equal values. */
static bool read_heads (const struct dn_hlo *module,
                        const struct dn_hlo_instruction *call,
                        struct dn_hlo_attention *a)
{
    const struct dn_hlo_instruction *made =
        dn_hlo_at (module, dn_hlo_operand (module, call, 0));
    double query = elements_of (module, call, 0);
    double key = elements_of (module, call, 1);
    double value = elements_of (module, call, 2);

    a->size = query / (a->batch * a->heads * a->tokens);
    if (!is_whole (a->size))
        return false;
    a->query = dn_hlo_result (module, made, 0);
    a->kv_heads = key / (a->batch * a->keys * a->size);
    if (!is_whole (a->kv_heads) || fmod (a->heads, a->kv_heads) != 0)
        return false;
    a->value_size = value / (a->batch * a->keys * a->kv_heads);
    return is_whole (a->value_size);
}

bool dn_hlo_attention (const struct dn_hlo *module,
                       const struct dn_hlo_instruction *instruction,
                       struct dn_hlo_attention *attention)
{
    struct dn_span target;
    struct dn_span config;
    int64_t window;

    if (instruction->op != DN_HLO_CUSTOM || instruction->n_operands < 3)
        return false;
    target = dn_hlo_attribute (instruction, "custom_call_target");
    if (!target.text || !dn_hlo_find (target, "__cudnn$fmha"))
        return false;
    config = dn_hlo_attribute (instruction, "backend_config");
    *attention = (struct dn_hlo_attention){
        .backward = dn_hlo_find (target, "Backward"),
        .dropout = dn_hlo_find (target, "Dropout"),
    };
    if (!read_scores (config, attention)
        || !read_heads (module, instruction, attention))
        return false;
    attention->causal = dn_hlo_find (after (config, "mask_type", ','), "CAUSAL");
    if (dn_hlo_numbers (after (config, "sliding_window_length", ','), &window, 1) == 1
        && window > 0)
        attention->window = (double) window;
    attention->flops = 2 * attention->batch * attention->heads * attention->tokens
                       * attention->keys * (attention->size + attention->value_size)
                       * (attention->backward ? BACKWARD_TIMES : 1);
    return true;
}
