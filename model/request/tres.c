/* tres.c - parsing a tres string
 *
 * The spellings differ by version and by field (doc/design.md, Versions):
 * "gres:gpu:a100:4" up to 23.02, "gres/gpu:a100:4" from 23.11, "=" before the count in
 * tres_per_task, a bare "gpu:4" from the command line. Every build reads all of them in
 * the same way.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/request.h"

#include <string.h>

#include "base/messages.h"

/* Cut "gres:" or "gres/" off the front. */
static struct dn_span without_prefix (struct dn_span entry)
{
    static const char prefix[] = "gres";
    size_t len = sizeof (prefix) - 1;

    if (entry.len > len + 1 && dn_word_equal (entry.text, len, prefix, len)
        && (entry.text[len] == ':' || entry.text[len] == '/'))
        return (struct dn_span){entry.text + len + 1, entry.len - len - 1};
    return entry;
}

/* Is it a count? Types may begin with a digit, too: "3090", "1g.10gb". */
static bool is_count (struct dn_span text)
{
    int64_t count;

    return text.len > 0 && dn_is_digit (text.text[0])
           && dn_int_read (text, "", 0, DN_COUNT_MAX, &count, NULL) == 0;
}

/* One entry after its prefix: "NAME[:TYPE][:COUNT|=COUNT]". The last part is a count if
 * it can be one.
 */
static int read_entry (struct dn_span whole, struct dn_tres *entry, struct dn_err *err)
{
    struct dn_span rest = without_prefix (whole);
    struct dn_span name = dn_span_cut (&rest, ":=");
    struct dn_span part;

    *entry = (struct dn_tres){.whole = whole, .name = name, .count = 1};
    entry->gpu = dn_span_is (name, "gpu");
    entry->cpu = dn_span_is (name, "cpu");
    if ((!entry->gpu && !entry->cpu) || !rest.text)
        return 0;
    part = dn_span_cut (&rest, ":=");
    if (entry->gpu && (rest.text || !is_count (part))) {
        entry->type = part;
        if (!rest.text)
            return 0;
        part = dn_span_cut (&rest, ":=");
    }
    if (rest.text)
        return dn_refuse (err,
                          tres_parts,
                          DN_QUOTED_SPAN (whole),
                          entry->gpu ? "gpu[:TYPE][:COUNT]" : "cpu:COUNT");
    return dn_int_read (part,
                        entry->gpu ? dn_say_tres_gpus : dn_say_tres_cpus,
                        0,
                        DN_COUNT_MAX,
                        &entry->count,
                        err);
}

int dn_tres_read (const char *text, struct dn_tres_list *list, struct dn_err *err)
{
    struct dn_span rest;

    list->n_entries = 0;
    if (!text || text[0] == '\0')
        return 0;
    rest = (struct dn_span){text, strnlen (text, DN_TRES_MAX + 1)};
    if (rest.len > DN_TRES_MAX)
        return dn_refuse (err, tres_long, DN_TRES_MAX, DN_QUOTED_SPAN (rest));
    while (rest.text) {
        struct dn_span whole = dn_span_trim (dn_span_cut (&rest, ","));

        if (list->n_entries == DN_TRES_ENTRIES_MAX)
            return dn_refuse (err, tres_entries, DN_TRES_ENTRIES_MAX);
        if (read_entry (whole, &list->entries[list->n_entries++], err) < 0)
            return dn_err_wrap (err, "tres");
    }
    return 0;
}
