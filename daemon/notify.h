/* notify.h - what dnnestd tells systemd (sd_notify); nothing without libsystemd
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_NOTIFY_H
#define DN_NOTIFY_H

#include "base/base.h"

void dn_notify_ready (void);
void dn_notify_reloading (void);
void dn_notify_stopping (void);

/* The line that systemctl status shows. */
void dn_notify_status (const char *format, ...) DN_PRINTF (1, 2);

/* Tell the watchdog that the process is alive. */
void dn_notify_alive (void);

/* How often it wants to hear that, in ms; 0: never. */
int64_t dn_notify_alive_ms (void);

#endif
