/* gres.c - GPUs in Slurm's texts of generic resources
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "watch/gres.h"

#include <string.h>

/* GPUs of an entry, at most: far more than any node or job has. */
#define COUNT_MAX INT64_C (1000000)

/* Cut the next entry off 'rest'; commas inside of parentheses do not end it. */
static struct dn_span cut_entry (struct dn_span *rest)
{
    struct dn_span entry = *rest;
    size_t at = 0;
    int depth = 0;

    for (; at < rest->len; at++) {
        char c = rest->text[at];

        if (c == ',' && depth <= 0)
            break;
        depth += c == '(' ? 1 : 0;
        depth -= c == ')' ? 1 : 0;
    }
    entry.len = at;
    if (at < rest->len)
        at++;
    rest->text += at;
    rest->len -= at;
    return entry;
}

/* A word of digits is a count, unless another one follows: types may begin with digits,
 * "gpu:2080:4", "gpu:1g.10gb:7", or be of digits alone.
 */
static bool is_count (struct dn_span word, int64_t *count)
{
    for (size_t i = 0; i < word.len; i++)
        if (!dn_is_digit (word.text[i]))
            return false;
    if (word.len > 0 && dn_int_read (word, "count", 0, COUNT_MAX, count, NULL) < 0)
        *count = COUNT_MAX;
    return word.len > 0;
}

/* Can it be a name of Slurm? */
static bool is_name (struct dn_span type)
{
    for (size_t i = 0; i < type.len; i++) {
        char c = dn_lower (type.text[i]);

        if (!dn_is_digit (c) && !(c >= 'a' && c <= 'z') && c != '_' && c != '-'
            && c != '.' && c != '+')
            return false;
    }
    return true;
}

static void add (struct dn_gres *gres, struct dn_span type, int64_t count)
{
    int i = 0;

    while (i < gres->n_gpus && !dn_span_is (type, gres->gpus[i].type))
        i++;
    if (i == DN_GRES_TYPES_MAX)
        return;
    if (i == gres->n_gpus) {
        struct dn_gres_gpus *gpus = &gres->gpus[i];

        if (dn_name_copy (type, gpus->type, sizeof (gpus->type), "type", NULL) < 0)
            return;
        gpus->count = 0;
        gres->n_gpus++;
    }
    gres->gpus[i].count += count;
}

/* "gpu:a100:4(S:0-1)", "gres/gpu:a100=4", "gpu:4", "gpu:2080:4", "gpu" */
static void read_entry (struct dn_gres *gres, struct dn_span entry)
{
    const char *parenthesis = memchr (entry.text, '(', entry.len);
    struct dn_span type = dn_span_of ("");
    struct dn_span last = type;
    int64_t count = 1;
    struct dn_span word;

    if (parenthesis)
        entry.len = (size_t) (parenthesis - entry.text);
    entry = dn_span_trim (entry);
    word = dn_span_cut (&entry, ":/=");
    if (dn_span_is (word, "gres"))
        word = dn_span_cut (&entry, ":/=");
    if (!word.text || !dn_span_is (word, "gpu"))
        return;
    while ((word = dn_span_cut (&entry, ":=")).text) {
        if (dn_span_is (word, "no_consume"))
            continue;
        if (last.len > 0)
            type = last;
        last = word;
    }
    if (!is_count (last, &count))
        type = last;
    if (is_name (type))
        add (gres, type, count);
}

struct dn_gres dn_gres_read (const char *text)
{
    struct dn_gres gres = {.n_gpus = 0};
    struct dn_span rest = dn_span_of (text ? text : "");

    while (rest.len > 0)
        read_entry (&gres, cut_entry (&rest));
    return gres;
}

int64_t dn_gres_count (const struct dn_gres *gres, const char *type)
{
    for (int i = 0; i < gres->n_gpus; i++)
        if (strcmp (gres->gpus[i].type, type) == 0)
            return gres->gpus[i].count;
    return 0;
}
