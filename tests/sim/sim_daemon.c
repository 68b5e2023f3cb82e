/* sim_daemon.c - counters and log of a daemon, for tests of its tasks
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sim_daemon.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int64_t sim_ticks[DN_N_TICKS];
char sim_said[8192];

void dn_tick (enum dn_tick what)
{
    sim_ticks[what]++;
}

void dn_log (enum dn_log_level level, const char *format, ...)
{
    size_t len = strlen (sim_said);
    va_list args;

    if (level == DN_LOG_DEBUG)
        return;
    va_start (args, format);
    vsnprintf (sim_said + len, sizeof (sim_said) - len, format, args);
    va_end (args);
}

void sim_daemon_forget (void)
{
    memset (sim_ticks, 0, sizeof (sim_ticks));
    sim_said[0] = '\0';
}
