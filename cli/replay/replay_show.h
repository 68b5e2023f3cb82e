/* replay_show.h - the sums of a replay as text and as JSON
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REPLAY_SHOW_H
#define DN_REPLAY_SHOW_H

#include "output/json.h"
#include "replay_queue.h"

/* 'queue' is NULL without a simulation. */
int dn_replay_print (const struct dn_replay *replay,
                     const struct dn_replay_queue *queue,
                     struct dn_err *err);
int dn_replay_print_json (const struct dn_replay *replay,
                          const struct dn_replay_queue *queue,
                          struct dn_err *err);

#endif
