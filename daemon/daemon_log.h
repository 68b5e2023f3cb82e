/* daemon_log.h - where the lines of dn_log () go
 *
 * Always stderr. The service manager adds the time itself and takes the level as a
 * prefix "<3>"; a terminal or a file gets the time in front.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_DAEMON_LOG_H
#define DN_DAEMON_LOG_H

#include "task.h"

enum dn_log_style {
    DN_LOG_PLAIN,  /* "NAME: text", for a command */
    DN_LOG_TIMED,  /* "2026-11-23T10:00:00 error: text" */
    DN_LOG_JOURNAL /* "<3>text" */
};

/* Lines above 'level' are dropped. 'name' is that of the program. Without a call:
 * "dnnestd", plain, up to DN_LOG_INFO.
 */
void dn_log_begin (const char *name, enum dn_log_style style, enum dn_log_level level);

/* The style for a process that runs for long: is stderr the journal? */
enum dn_log_style dn_log_style_of_service (void);

#endif
