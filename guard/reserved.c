/* reserved.c - the reservations of the cluster, and since when they are known
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "guard/reserved.h"

#include <stdlib.h>
#include <string.h>

#include "base/messages.h"

#define RESERVATIONS_MAX 4096

struct reading {
    struct dn_reservations new;
    const struct dn_reservations *old;
    int64_t now_s;
    struct dn_err *err;
};

static int64_t known_since (const struct reading *reading,
                            const struct dn_link_reservation *from,
                            const char *name)
{
    for (int64_t i = 0; i < reading->old->n; i++) {
        const struct dn_reserved *old = &reading->old->list[i];

        if (old->from == from->from && strcmp (old->name, name) == 0
            && strcmp (old->nodes, from->nodes) == 0)
            return old->known_s;
    }
    return from->changed_s;
}

static int take (void *to, const struct dn_link_reservation *from)
{
    struct reading *reading = to;
    struct dn_reservations *new = &reading->new;
    struct dn_reserved *reserved;
    const char *name = from->name ? from->name : "";

    if (!from->nodes || from->until <= reading->now_s)
        return 0;
    if (new->n == RESERVATIONS_MAX)
        return dn_err_set (
            reading->err, DN_E_LIMIT, dn_say_err_reservations, RESERVATIONS_MAX);
    if (dn_rows_grow (&new->list, new->n, sizeof (*new->list), reading->err) < 0)
        return -1;
    reserved = &new->list[new->n++];
    *reserved = (struct dn_reserved){.name = strdup (name),
                                     .nodes = strdup (from->nodes),
                                     .from = from->from,
                                     .known_s = known_since (reading, from, name)};
    return reserved->name && reserved->nodes
               ? 0
               : dn_err_set (
                   reading->err, DN_E_NOMEM, dn_say_err_no_memory_for, "guard");
}

int dn_reservations_read (struct dn_reservations *reservations,
                          struct dn_link *link,
                          int64_t now_s,
                          struct dn_err *err)
{
    struct reading reading = {.old = reservations, .now_s = now_s, .err = err};

    if (dn_link_reservations (link, take, &reading, err) != 0) {
        dn_reservations_free (&reading.new);
        return -1;
    }
    dn_reservations_free (reservations);
    *reservations = reading.new;
    return 0;
}

/* Does the job run in that reservation? */
static bool is_own (const struct dn_link_job *job, const char *name)
{
    return job->reservation && dn_list_has (job->reservation, dn_span_of (name));
}

const struct dn_reserved *dn_reservations_first (
    const struct dn_reservations *reservations,
    const struct dn_link_job *job,
    int64_t until_s)
{
    const struct dn_reserved *first = NULL;

    for (int64_t i = 0; i < reservations->n; i++) {
        const struct dn_reserved *reserved = &reservations->list[i];

        if (reserved->known_s <= job->start && reserved->from < until_s
            && !is_own (job, reserved->name) && (!first || reserved->from < first->from)
            && dn_link_share_node (job->nodes, reserved->nodes))
            first = reserved;
    }
    return first;
}

void dn_reservations_free (struct dn_reservations *reservations)
{
    for (int64_t i = 0; i < reservations->n; i++) {
        free (reservations->list[i].name);
        free (reservations->list[i].nodes);
    }
    free (reservations->list);
    *reservations = (struct dn_reservations){.n = 0};
}
