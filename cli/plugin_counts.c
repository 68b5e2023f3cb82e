/* plugin_counts.c - what the plugin has counted, read from its file of counters
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "plugin_counts.h"

#include <string.h>

/* A counter of a process does not get there. */
#define COUNT_MAX INT64_C (1000000000000000)

struct metric {
    const char *name;
    size_t offset; /* in struct dn_plugin_counts */
};

#define MEMBER(member) offsetof (struct dn_plugin_counts, member)

static const struct metric metrics[] = {
    {"dnnest_start_time_seconds", MEMBER (started_s)},
    {"dnnest_submissions_total", MEMBER (submissions)},
    {"dnnest_described_total", MEMBER (described)},
    {"dnnest_changed_total", MEMBER (changed)},
    {"dnnest_errors_total", MEMBER (errors)},
};

static int64_t *find (struct dn_plugin_counts *counts, struct dn_span name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (metrics); i++)
        if (dn_span_is (name, metrics[i].name))
            return (int64_t *) (void *) ((char *) counts + metrics[i].offset);
    return NULL;
}

/* "NAME VALUE" or "NAME{LABELS} VALUE"; values of one name are added. */
static int read_line (struct dn_span line,
                      struct dn_plugin_counts *counts,
                      struct dn_err *err)
{
    struct dn_span rest = line;
    int64_t *sum = find (counts, dn_span_cut (&rest, " {"));
    int64_t value = 0;
    size_t from = line.len;

    if (!sum)
        return 0;
    while (from > 0 && line.text[from - 1] != ' ')
        from--;
    if (dn_int_read ((struct dn_span){line.text + from, line.len - from},
                     "counter",
                     0,
                     COUNT_MAX,
                     &value,
                     err)
        < 0)
        return -1;
    if (value > COUNT_MAX - *sum)
        return dn_err_set (err, DN_E_RANGE, "counter: the sum is too large");
    *sum += value;
    return 0;
}

int dn_plugin_counts_read (struct dn_span text,
                           const char *file,
                           struct dn_plugin_counts *counts,
                           struct dn_err *err)
{
    struct dn_span line;
    int n = 0;

    memset (counts, 0, sizeof (*counts));
    while ((line = dn_span_cut (&text, "\n")).text) {
        n++;
        if (line.len > 0 && line.text[0] != '#' && read_line (line, counts, err) < 0)
            return dn_err_wrap (err, "%s: line %d", file, n);
    }
    if (counts->started_s == 0)
        return dn_err_set (
            err, DN_E_SYNTAX, "%s: no dnnest_start_time_seconds: not of dnnest", file);
    return 0;
}
