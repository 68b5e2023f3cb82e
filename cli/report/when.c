/* when.c - times that users give
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "when.h"

#include <string.h>
#include <strings.h>
#include <time.h>

static const struct {
    const char *name;
    int64_t seconds;
} units[] = {
    {"seconds", 1},
    {"minutes", 60},
    {"hours", 3600},
    {"days", 86400},
    {"weeks", 604800},
};

/* mktime () takes 30 February for 2 March. */
static bool is_a_day (struct tm tm)
{
    int day = tm.tm_mday;

    return timegm (&tm) != -1 && tm.tm_mday == day;
}

/* "7days", "1week", "60" in seconds. */
static int read_delay (const char *text, int64_t *seconds)
{
    size_t digits = strspn (text, "0123456789");
    const char *unit = text + digits;
    size_t len = strlen (unit);
    int64_t n;

    if (dn_int_read ((struct dn_span){text, digits}, "", 0, INT32_MAX, &n, NULL) < 0)
        return -1;
    *seconds = n;
    if (len == 0)
        return 0;
    for (size_t i = 0; i < DN_N_ELEMENTS (units); i++) {
        size_t full = strlen (units[i].name);

        if ((len == full || len == full - 1)
            && strncasecmp (unit, units[i].name, len) == 0) {
            *seconds = n * units[i].seconds;
            return 0;
        }
    }
    return -1;
}

static int read_date (const char *text, int64_t *time_s)
{
    static const char *const forms[] = {
        "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"};

    for (size_t i = 0; i < DN_N_ELEMENTS (forms); i++) {
        struct tm tm = {.tm_isdst = -1};
        const char *end = strptime (text, forms[i], &tm);

        if (end && (*end == '\0' || strcmp (end, "Z") == 0)) {
            if (!is_a_day (tm))
                return -1;
            tm.tm_isdst = -1;
            *time_s = (int64_t) (*end == 'Z' ? timegm (&tm) : mktime (&tm));
            return *time_s >= 0 ? 0 : -1;
        }
    }
    return -1;
}

int dn_when_read (const char *text,
                  const char *what,
                  int64_t now_s,
                  int64_t *time_s,
                  struct dn_err *err)
{
    int64_t delay = 0;

    if (text[0] == '@'
        && dn_int_read (dn_span_of (text + 1), "", 0, INT64_C (1) << 40, time_s, NULL)
               == 0)
        return 0;
    if (strcasecmp (text, "now") == 0
        || (strncasecmp (text, "now", 3) == 0 && text[3] != '\0'
            && strchr ("+-", text[3]) && read_delay (text + 4, &delay) == 0)) {
        *time_s = text[3] == '-' ? now_s - delay : now_s + delay;
        return 0;
    }
    if (read_date (text, time_s) == 0)
        return 0;
    return dn_err_set (
        err,
        DN_E_SYNTAX,
        "%s: '%s' is not a time, expected 2026-01-31, 2026-01-31T12:00 or "
        "now-7days",
        what,
        dn_quote (text, strlen (text)).text);
}

static bool local (int64_t time_s, struct tm *tm)
{
    time_t time = (time_t) time_s;

    return time_s > 0 && localtime_r (&time, tm);
}

struct dn_when_text dn_when_day (int64_t time_s)
{
    struct dn_when_text text = {"-"};
    struct tm tm;

    if (local (time_s, &tm))
        strftime (text.text, sizeof (text.text), "%Y-%m-%d", &tm);
    return text;
}

struct dn_when_text dn_when_minute (int64_t time_s)
{
    struct dn_when_text text = {"-"};
    struct tm tm;

    if (local (time_s, &tm))
        strftime (text.text, sizeof (text.text), "%Y-%m-%d %H:%M", &tm);
    return text;
}
