/* when.h - times that users give: 2026-01-31, 2026-01-31T12:00, now-7days
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_WHEN_H
#define DN_WHEN_H

#include "base/text.h"

/* Read a local time, "now", "now-N" with minutes, hours, days or weeks, or seconds
 * since 1970 after '@'. 'what' names it in 'err'.
 */
int dn_when_read (const char *text,
                  const char *what,
                  int64_t now_s,
                  int64_t *time_s,
                  struct dn_err *err);

/* "2026-01-31", or with the time "2026-01-31 12:00", local; "-" for 0 and before. */
struct dn_when_text {
    char text[40];
};
struct dn_when_text dn_when_day (int64_t time_s);
struct dn_when_text dn_when_minute (int64_t time_s);

#endif
