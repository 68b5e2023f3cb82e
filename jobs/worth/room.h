/* room.h - the log of idle GPUs, and whether a job would have had room
 *
 * dnnestd watch appends a line for each GPU type at each pass to idle.log of StateDir:
 * seconds since 1970, the type ("-": GPUs without one), the most idle GPUs of a node,
 * and of all nodes, each GPU with what a job needs beside it (hardware/cluster.h). The
 * file becomes idle.log.1 when it has DN_ROOM_BYTES: with two types that is after a
 * hundred days.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ROOM_H
#define DN_ROOM_H

#include "hardware/cluster.h"

#define DN_ROOM_LOG   "idle.log"
#define DN_ROOM_BYTES (8 * 1024 * 1024)

/* Room counts that lasted this long: others may take what was idle for a moment. */
#define DN_ROOM_LASTS_S 300

/* Between two passes, at most; else it is not known. */
#define DN_ROOM_GAP_S 600

struct dn_room;

/* Append the lines of a snapshot. -1 with 'err'. */
int dn_room_log (const struct dn_cluster *cluster,
                 const char *state_dir,
                 struct dn_err *err);

/* Read both files; what is no line of theirs is left out. NULL without memory. */
struct dn_room *dn_room_read (const char *state_dir);
void dn_room_free (struct dn_room *room);

/* Since when a job of so many GPUs in all could have had nodes of the type, which it
 * needed between two times: 0 never, -1 unknown.
 */
int64_t dn_room_since (const struct dn_room *room,
                       const char *type,
                       int64_t gpus,
                       int64_t nodes,
                       int64_t from_s,
                       int64_t to_s);

#endif
