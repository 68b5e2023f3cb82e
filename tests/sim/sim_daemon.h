/* sim_daemon.h - counters and log of a daemon, for tests of its tasks
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SIM_DAEMON_H
#define DN_SIM_DAEMON_H

#include "task.h"
#include "ticks.h"

extern int64_t sim_ticks[DN_N_TICKS];

/* The log without lines of debugging, as far as it fits. */
extern char sim_said[8192];

/* Nothing is counted or said. */
void sim_daemon_forget (void);

#endif
