/* constraint.c - parsing a constraint, if it is a plain one
 *
 * Slurm's constraints know alternatives ("a|b"), one of several for all nodes
 * ("[a|b]"), counts ("a*2"), negation and brackets; their precedence differs by
 * version. Only names joined by "&" mean the same in all versions, and only these may
 * be replaced one by one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/request.h"

#include <string.h>

static bool is_name (struct dn_span text)
{
    static const char others[] = "_-.+:=/";

    for (size_t i = 0; i < text.len; i++) {
        char c = text.text[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
              || (c != '\0' && strchr (others, c))))
            return false;
    }
    return text.len > 0;
}

bool dn_features_read (const char *text, struct dn_features *features)
{
    struct dn_span rest = {text, text ? strnlen (text, DN_FEATURES_TEXT_MAX) : 0};

    features->n_names = 0;
    if (rest.len == 0)
        return true;
    if (rest.len == DN_FEATURES_TEXT_MAX)
        return false;
    while (rest.text) {
        struct dn_span name = dn_span_cut (&rest, "&");

        if (!is_name (name) || features->n_names == DN_FEATURES_MAX) {
            features->n_names = 0;
            return false;
        }
        features->names[features->n_names++] = name;
    }
    return true;
}
