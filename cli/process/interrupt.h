/* interrupt.h - ending in an orderly way when a signal comes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_INTERRUPT_H
#define DN_INTERRUPT_H

#include "base/base.h"

/* From now on SIGHUP, SIGINT and SIGTERM only leave a note. */
void dn_interrupt_hold (void);

/* Has one come? */
bool dn_interrupted (void);

/* Let go: the first signal that came ends the program now, so that whoever waits for it
 * sees how it ended. */
void dn_interrupt_release (void);

#endif
