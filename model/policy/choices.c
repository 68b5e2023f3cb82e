/* choices.c - what every stage of a decision adds to: its reasons and its warnings
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"

#include <string.h>

const struct dn_names dn_warning_names = DN_NAMES_OF (WARNINGS);

/* The place of a new warning: after those that are as serious. */
static int place_of (const struct dn_decision *decision, enum dn_warning_kind kind)
{
    int at = 0;

    while (at < decision->n_warnings && decision->warnings[at].kind <= kind)
        at++;
    return at;
}

struct dn_warning *dn_decision_warn (struct dn_decision *decision,
                                     enum dn_warning_kind kind,
                                     const struct dn_reason *reason)
{
    int at = place_of (decision, kind);
    struct dn_warning *warning = &decision->warnings[at];

    if (at == DN_WARNINGS_MAX)
        return NULL;
    if (decision->n_warnings < DN_WARNINGS_MAX)
        decision->n_warnings++;
    memmove (warning + 1,
             warning,
             (size_t) (decision->n_warnings - 1 - at) * sizeof (*warning));
    *warning = (struct dn_warning){.kind = kind, .parts = {*reason}, .n_parts = 1};
    return warning;
}

void dn_warning_add (struct dn_warning *warning, const struct dn_reason *part)
{
    if (warning && warning->n_parts < DN_WARNING_PARTS_MAX)
        warning->parts[warning->n_parts++] = *part;
}

struct dn_warning_text dn_warning_text (const struct dn_warning *warning)
{
    struct dn_warning_text out = {""};
    struct dn_buf buf = dn_buf_on (out.text, sizeof (out.text));

    for (int i = 0; i < warning->n_parts; i++)
        dn_reason_add (&buf, &warning->parts[i]);
    return out;
}

struct dn_warning *dn_decision_warning (struct dn_decision *decision,
                                        enum dn_warning_kind kind)
{
    for (int i = 0; i < decision->n_warnings; i++)
        if (decision->warnings[i].kind == kind)
            return &decision->warnings[i];
    return NULL;
}

void dn_decision_say (struct dn_decision *decision, const struct dn_reason *reason)
{
    if (decision->n_reasons < DN_REASONS_MAX)
        decision->reasons[decision->n_reasons++] = *reason;
}

void dn_deciding_say (const struct dn_deciding *d, const struct dn_reason *reason)
{
    dn_decision_say (d->decision, reason);
}

void dn_deciding_say_of (const struct dn_deciding *d, enum dn_reason_code code, int i)
{
    const struct dn_reason reason = {.code = code, .args = {dn_deciding_type (d, i)}};

    dn_deciding_say (d, &reason);
}

static void say_in (const struct dn_deciding *d,
                    const struct dn_reason *outer,
                    const struct dn_reason *inner)
{
    const struct dn_reason reason = dn_reason_in (outer, inner);

    dn_deciding_say (d, &reason);
}

void dn_deciding_say_kept (const struct dn_deciding *d,
                           enum dn_reason_code code,
                           const struct dn_reason *why)
{
    say_in (d, &(struct dn_reason){.code = code}, why);
}

void dn_deciding_say_not (const struct dn_deciding *d,
                          int i,
                          const struct dn_reason *why)
{
    say_in (d, &DN_REASON (gpu_not, dn_deciding_type (d, i)), why);
}

struct dn_arg dn_deciding_type (const struct dn_deciding *d, int i)
{
    return dn_arg_text (d->candidates->list[i].gpu->type);
}
