/* nodes_now.h - the nodes with GPUs, as sinfo prints them to anybody
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_NODES_NOW_H
#define DN_NODES_NOW_H

#include "replay/replay_queue.h"

/* Add the pools of what "sinfo -hN -o %N|%c|%m|%G" has printed: like nodes together,
 * those of several partitions once. A node with GPUs of two types is in a pool of each.
 * -1 with 'err': more than DN_SIM_POOLS_MAX kinds.
 */
int dn_nodes_read (struct dn_sim *sim, const char *text, struct dn_err *err);

/* Ask sinfo. */
int dn_nodes_ask (struct dn_sim *sim, struct dn_err *err);

#endif
