/* room.c - the log of idle GPUs, and whether a job would have had room
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/worth/room.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fields.h"
#include "base/hash.h"
#include "base/messages.h"
#include "host/files.h"
#include "host/put_file.h"
#include "host/view_files.h"

#define BEFORE DN_ROOM_LOG ".1"

/* A line of the file. */
struct idle {
    int64_t at_s;
    uint64_t type;
    int32_t node; /* idle GPUs of one node, at most */
    int32_t all;
};

struct dn_room {
    struct idle *list; /* by time */
    int64_t n;
};

/* --- writing ---------------------------------------------------------------------- */

static const char *shown (const char *type)
{
    return type[0] != '\0' ? type : "-";
}

/* Add the groups from 'first' on that have its type. */
static void add_type (const struct dn_cluster *cluster,
                      int64_t first,
                      struct dn_put_text *text)
{
    const char *type = cluster->groups[first].type;
    char line[DN_NAME_MAX + 64];
    struct dn_buf buf = dn_buf_on (line, sizeof (line));
    int64_t node = 0;
    int64_t all = 0;

    for (int64_t i = first; i < cluster->n_groups; i++) {
        const struct dn_node_group *group = &cluster->groups[i];

        if (strcmp (group->type, type) != 0)
            continue;
        for (int64_t k = 1; k <= DN_NODE_GPUS_MAX; k++) {
            node = group->n_idle[k] > 0 && k > node ? k : node;
            all += group->n_idle[k] * k;
        }
    }
    dn_buf_add (&buf, "%" PRId64 " %s", cluster->time_s, shown (type));
    dn_buf_add (&buf, " %" PRId64 " %" PRId64 "\n", node, all);
    dn_put_text_add (text, line, buf.len);
}

static bool is_first (const struct dn_cluster *cluster, int64_t group)
{
    for (int64_t i = 0; i < group; i++)
        if (strcmp (cluster->groups[i].type, cluster->groups[group].type) == 0)
            return false;
    return true;
}

int dn_room_log (const struct dn_cluster *cluster,
                 const char *state_dir,
                 struct dn_err *err)
{
    const struct dn_view_path path = dn_view_path (state_dir, DN_ROOM_LOG);
    const struct dn_view_path before = dn_view_path (state_dir, BEFORE);
    dn_cleanup (dn_put_text_free) struct dn_put_text text = {.len = 0};
    struct stat st;

    for (int64_t i = 0; i < cluster->n_groups; i++)
        if (is_first (cluster, i))
            add_type (cluster, i, &text);
    if (text.len == 0)
        return 0;
    if (lstat (path.text, &st) == 0 && st.st_size >= DN_ROOM_BYTES
        && rename (path.text, before.text) < 0)
        return dn_file_fail (before.text, dn_say_file_written, err);
    return dn_put_append (
        path.text, state_dir, (struct dn_span){text.text, text.len}, err);
}

/* --- reading ---------------------------------------------------------------------- */

static uint64_t type_of (const char *type)
{
    return dn_hash_text (DN_HASH_SEED, shown (type));
}

/* A number that ends before a blank, which goes, too. */
static bool take_number (struct dn_span *rest, int64_t max, int64_t *number)
{
    return dn_int_read (dn_span_cut (rest, " "), "", 0, max, number, NULL) == 0;
}

/* False: out of memory. */
static bool read_line (struct dn_room *room, struct dn_span line)
{
    int64_t at_s;
    int64_t node;
    int64_t all;
    struct dn_span type;
    struct idle idle;

    if (!take_number (&line, INT32_MAX * INT64_C (1000), &at_s))
        return true;
    type = dn_span_cut (&line, " ");
    if (!take_number (&line, INT32_MAX, &node) || !take_number (&line, INT32_MAX, &all)
        || line.len > 0 || (room->n > 0 && at_s < room->list[room->n - 1].at_s))
        return true;
    idle = (struct idle){.at_s = at_s,
                         .type = dn_hash_bytes (DN_HASH_SEED, type.text, type.len),
                         .node = (int32_t) node,
                         .all = (int32_t) all};
    return dn_rows_add (room->list, room->n, idle, NULL) == 0;
}

static bool read_file (struct dn_room *room, const char *state_dir, const char *name)
{
    const struct dn_view_path path = dn_view_path (state_dir, name);
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_err err = {0};
    struct dn_span rest;
    size_t len;

    if (dn_view_text (
            path.text, DN_VIEW_THEIRS, DN_ROOM_BYTES + 65536, &text, &len, &err)
            < 0
        || !text)
        return err.code != DN_E_NOMEM;
    for (rest = (struct dn_span){text, len}; rest.len > 0;)
        if (!read_line (room, dn_span_cut (&rest, "\n")))
            return false;
    return true;
}

struct dn_room *dn_room_read (const char *state_dir)
{
    struct dn_room *room = calloc (1, sizeof (*room));

    if (room && read_file (room, state_dir, BEFORE)
        && read_file (room, state_dir, DN_ROOM_LOG))
        return room;
    dn_room_free (room);
    return NULL;
}

void dn_room_free (struct dn_room *room)
{
    if (room)
        free (room->list);
    free (room);
}

/* --- a job ------------------------------------------------------------------------ */

static int64_t first_at (const struct dn_room *room, int64_t at_s)
{
    int64_t low = 0;
    int64_t high = room->n;

    while (low < high) {
        int64_t at = low + (high - low) / 2;

        if (room->list[at].at_s < at_s)
            low = at + 1;
        else
            high = at;
    }
    return low;
}

static bool has_room (const struct idle *idle, int64_t gpus, int64_t nodes)
{
    return idle->all >= gpus && idle->node >= (gpus + nodes - 1) / nodes;
}

int64_t dn_room_since (const struct dn_room *room,
                       const char *type,
                       int64_t gpus,
                       int64_t nodes,
                       int64_t from_s,
                       int64_t to_s)
{
    uint64_t wanted = type_of (type);
    int64_t last_s = from_s;
    int64_t since_s = 0;

    if (!room || gpus <= 0)
        return -1;
    nodes = nodes > 0 ? nodes : 1;
    for (int64_t i = first_at (room, from_s); i < room->n && room->list[i].at_s < to_s;
         i++) {
        const struct idle *idle = &room->list[i];

        if (idle->type != wanted)
            continue;
        if (idle->at_s - last_s > DN_ROOM_GAP_S)
            return -1;
        last_s = idle->at_s;
        if (!has_room (idle, gpus, nodes))
            since_s = 0;
        else if (since_s == 0)
            since_s = idle->at_s;
        if (since_s > 0 && idle->at_s - since_s >= DN_ROOM_LASTS_S)
            return since_s;
    }
    return to_s - last_s > DN_ROOM_GAP_S ? -1 : 0;
}
