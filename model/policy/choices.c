/* choices.c - what every stage of a decision adds to: its reasons and its warnings
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const warning_text[] = {
    [DN_WARNING_NONE] = "none",
    [DN_WARNING_MEMORY] = "memory",
    [DN_WARNING_PRECISION] = "precision",
    [DN_WARNING_NODES] = "nodes",
    [DN_WARNING_LIMIT] = "limit",
    [DN_WARNING_DEADLINE] = "deadline",
    [DN_WARNING_METADATA] = "metadata",
    [DN_WARNING_OPEN] = "open",
};

const struct dn_names dn_warning_names = DN_NAMES (warning_text, DN_N_WARNINGS);

/* The place of a new warning: after those that are as serious. */
static int place_of (const struct dn_decision *decision, enum dn_warning_kind kind)
{
    int at = 0;

    while (at < decision->n_warnings && decision->warnings[at].kind <= kind)
        at++;
    return at;
}

void dn_decision_warn (struct dn_decision *decision,
                       enum dn_warning_kind kind,
                       const char *format,
                       ...)
{
    int at = place_of (decision, kind);
    int n_after;
    va_list args;

    if (at == DN_WARNINGS_MAX)
        return;
    if (decision->n_warnings < DN_WARNINGS_MAX)
        decision->n_warnings++;
    n_after = decision->n_warnings - 1 - at;
    memmove (&decision->warnings[at + 1],
             &decision->warnings[at],
             (size_t) n_after * sizeof (decision->warnings[0]));
    decision->warnings[at].kind = kind;
    va_start (args, format);
    vsnprintf (decision->warnings[at].text, DN_WARNING_MAX, format, args);
    va_end (args);
}

struct dn_warning *dn_decision_warning (struct dn_decision *decision,
                                        enum dn_warning_kind kind)
{
    for (int i = 0; i < decision->n_warnings; i++)
        if (decision->warnings[i].kind == kind)
            return &decision->warnings[i];
    return NULL;
}

void dn_scene_say (const struct dn_scene *scene, const char *format, ...)
{
    struct dn_decision *decision = scene->decision;
    va_list args;

    if (decision->n_reasons == DN_REASONS_MAX)
        return;
    va_start (args, format);
    vsnprintf (decision->reasons[decision->n_reasons++], DN_REASON_MAX, format, args);
    va_end (args);
}

const char *dn_scene_type (const struct dn_scene *scene, int i)
{
    return scene->candidates->list[i].gpu->type;
}
