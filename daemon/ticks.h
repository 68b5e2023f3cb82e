/* ticks.h - the counters of dnnestd or dnnest-guard, its status, and the files of both
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TICKS_H
#define DN_TICKS_H

#include "host/daemon_status.h"

/* Counters since the start, and the status that 'dnnest status' shows. One per process:
 * dn_tick () has no other argument.
 */
struct dn_ticks {
    const char *name; /* of the program: "dnnestd" */
    int64_t total[DN_N_TICKS];
    struct dn_daemon_status status;
};
extern struct dn_ticks dn_ticks;

/* Begin to count at 'now_s'; the hours of an earlier process of that name are taken
 * over from its status in 'dir', if it can be read.
 */
void dn_ticks_begin (const char *name, const char *dir, int64_t now_s);

/* Copy the text of an error; other bytes than printable ASCII become '?'. */
void dn_ticks_quote (char error[DN_ERR_TEXT_MAX], const char *text);

/* Note an error as the last one. */
void dn_ticks_error (const char *text, int64_t now_s);

/* Replace NAME.prom and NAME.status in 'dir'. -1 with 'err'. */
int dn_ticks_write (const char *dir, int64_t now_s, struct dn_err *err);

/* Its counters in Prometheus' text format 0.0.4, to be freed; NULL without memory. */
char *dn_ticks_text (const struct dn_ticks *ticks);

#endif
