/* signals.h - the signals of dnnestd, and the only place where it waits
 *
 * SIGTERM and SIGINT end it. A request to slurmctld that waits for an answer does not
 * see the signal: a second later, and what its tasks have for leaving, the process ends
 * all the same. Its files are replaced
 * whole, so that none is left half written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SIGNALS_H
#define DN_SIGNALS_H

#include "base/err.h"

/* Install the handlers; the tasks have 'leave_s' for leaving. -1 with 'err'. */
int dn_signals_begin (int leave_s, struct dn_err *err);

/* Has a signal asked for the end? */
bool dn_signals_end (void);

/* Has SIGHUP come since the last call? */
bool dn_signals_reload (void);

/* Wait for a signal, at most 'ms'. */
void dn_signals_wait (int64_t ms);

#endif
