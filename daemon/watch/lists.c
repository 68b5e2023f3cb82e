/* lists.c - GPUs and nodes in Slurm's texts, and texts that are stored once
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "watch/lists.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "hardware/cluster.h"

/* --- GPUs ------------------------------------------------------------------------- */

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

/* --- names ------------------------------------------------------------------------ */

bool dn_lists_meet (const char *a, const char *b)
{
    struct dn_span rest = dn_span_of (a);
    struct dn_span one;

    while ((one = dn_span_cut (&rest, ",")).text)
        if (dn_list_has (b, one))
            return true;
    return false;
}

/* --- nodes ------------------------------------------------------------------------ */

/* slurmctld writes at most one pair of brackets per name, at its end; a name with a
 * second pair ends the list.
 */
#define DIGITS_MAX 9

struct dn_hosts dn_hosts_of (const char *list)
{
    return (struct dn_hosts){.rest = dn_span_of (list ? list : ""), .last = -1};
}

static bool read_digits (struct dn_span text, int64_t *number)
{
    *number = 0;
    if (text.len == 0 || text.len > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (!dn_is_digit (text.text[i]))
            return false;
        *number = *number * 10 + (text.text[i] - '0');
    }
    return true;
}

/* Begin the next of 'ranges'; "08-11" has two digits. */
static bool begin_range (struct dn_hosts *hosts)
{
    struct dn_span range = dn_span_cut (&hosts->ranges, ",");
    struct dn_span first;

    if (!range.text)
        return false;
    first = dn_span_cut (&range, "-");
    hosts->digits = (int) first.len;
    if (!read_digits (first, &hosts->next))
        return false;
    hosts->last = hosts->next;
    return !range.text || range.len == 0 || read_digits (range, &hosts->last);
}

/* Cut the next entry off the list. */
static bool begin_entry (struct dn_hosts *hosts)
{
    struct dn_span *rest = &hosts->rest;
    size_t at = 0;
    size_t open;

    while (at < rest->len && rest->text[at] != ',' && rest->text[at] != '[')
        at++;
    hosts->prefix = (struct dn_span){rest->text, at};
    hosts->ranges = hosts->suffix = dn_span_of ("");
    if (at < rest->len && rest->text[at] == '[') {
        open = at + 1;
        while (at < rest->len && rest->text[at] != ']')
            at++;
        if (at == rest->len)
            return false;
        hosts->ranges = (struct dn_span){rest->text + open, at - open};
        open = ++at;
        while (at < rest->len && rest->text[at] != ',' && rest->text[at] != '[')
            at++;
        hosts->suffix = (struct dn_span){rest->text + open, at - open};
        if (at < rest->len && rest->text[at] == '[')
            return false;
    }
    at += at < rest->len ? 1 : 0;
    rest->text += at;
    rest->len -= at;
    return true;
}

bool dn_hosts_next (struct dn_hosts *hosts, char name[DN_NAME_MAX])
{
    struct dn_buf buf = dn_buf_on (name, DN_NAME_MAX);
    bool plain = false;

    if (hosts->n++ >= DN_HOSTS_MAX)
        return false;
    if (hosts->next > hosts->last || hosts->last < 0) {
        if (hosts->ranges.len == 0) {
            if (hosts->rest.len == 0 || !begin_entry (hosts))
                return false;
            plain = hosts->ranges.len == 0;
        }
        if (!plain && (!begin_range (hosts) || hosts->next > hosts->last))
            return false;
    }
    dn_buf_add (&buf, "%.*s", (int) hosts->prefix.len, hosts->prefix.text);
    if (!plain) {
        dn_buf_add (&buf, "%0*" PRId64, hosts->digits, hosts->next++);
        dn_buf_add (&buf, "%.*s", (int) hosts->suffix.len, hosts->suffix.text);
    }
    return !buf.cut && buf.len > 0;
}

/* --- texts ------------------------------------------------------------------------ */

/* Expected are some 5,000 names of nodes, and at most 100,000; they are never removed.
 */
#define SLOTS_MIN 256U
#define TEXTS_MAX (UINT32_C (1) << 28)

/* The slot of the text, or the free one where it belongs. */
static struct dn_interned_slot *slot_of (const struct dn_interned *interned,
                                         const char *text)
{
    uint32_t mask = interned->n_slots - 1;

    for (uint64_t i = dn_hash_text (DN_HASH_SEED, text) & mask;; i = (i + 1) & mask) {
        struct dn_interned_slot *slot = &interned->slots[i];

        if (slot->at == 0 || strcmp (interned->texts.text + slot->at - 1, text) == 0)
            return slot;
    }
}

/* At most half of the slots are in use. */
static bool grow_slots (struct dn_interned *interned)
{
    struct dn_interned new = *interned;

    if (interned->n_slots > 2 * (uint32_t) interned->n + 1)
        return true;
    new.n_slots = interned->n_slots ? interned->n_slots * 2 : SLOTS_MIN;
    new.slots = calloc (new.n_slots, sizeof (new.slots[0]));
    if (!new.slots)
        return false;
    for (uint32_t i = 0; i < interned->n_slots; i++)
        if (interned->slots[i].at)
            *slot_of (&new, interned->texts.text + interned->slots[i].at - 1) =
                interned->slots[i];
    free (interned->slots);
    *interned = new;
    return true;
}

int32_t dn_interned_put (struct dn_interned *interned, const char *text)
{
    struct dn_interned_slot *slot;
    size_t at = interned->texts.len;
    size_t len = strlen (text) + 1;

    if (!grow_slots (interned))
        return -1;
    slot = slot_of (interned, text);
    if (slot->at)
        return slot->number;
    if (len > TEXTS_MAX - at || dn_put_text_add (&interned->texts, text, len) < 0)
        return -1;
    *slot = (struct dn_interned_slot){(uint32_t) at + 1, interned->n};
    return interned->n++;
}

int32_t dn_interned_find (const struct dn_interned *interned, const char *text)
{
    const struct dn_interned_slot *slot;

    if (interned->n_slots == 0)
        return -1;
    slot = slot_of (interned, text);
    return slot->at ? slot->number : -1;
}

void dn_interned_free (struct dn_interned *interned)
{
    if (!interned)
        return;
    dn_put_text_free (&interned->texts);
    free (interned->slots);
    *interned = (struct dn_interned){.n = 0};
}
