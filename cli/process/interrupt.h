/* interrupt.h - orderly termination on a signal
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_INTERRUPT_H
#define DN_INTERRUPT_H

#include "base/base.h"

/* From now on SIGHUP, SIGINT and SIGTERM only set a flag. */
void dn_interrupt_hold (void);

/* Has a signal come? */
bool dn_interrupted (void);

/* Restore the signals. The first signal that came ends the program now, so that its
 * parent sees which signal ended it. */
void dn_interrupt_release (void);

#endif
