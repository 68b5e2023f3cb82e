/* keep.c - what a test has made and keeps until it ends
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <time.h>

/* What is kept, the newest first. A test may keep a hundred thousand things. */
static struct kept {
    void *thing;
    void (*release) (void *thing);
    struct kept *older;
} * kept;
static size_t n_kept;

struct dn_err unit_err;

void *unit_keep (void *thing, void (*release) (void *thing))
{
    struct kept *one = malloc (sizeof (*one));

    assert_non_null (one);
    *one = (struct kept){thing, release, kept};
    kept = one;
    n_kept++;
    return thing;
}

/* Release the thing that 'at' points to, and keep it no longer. */
static void drop (struct kept **at)
{
    struct kept *one = *at;

    *at = one->older;
    n_kept--;
    one->release (one->thing);
    free (one);
}

void unit_release (void *thing)
{
    struct kept **at = &kept;

    while (*at && (*at)->thing != thing)
        at = &(*at)->older;
    assert_non_null (*at);
    drop (at);
}

char *unit_text (const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int len;

    va_start (args, format);
    len = vasprintf (&text, format, args);
    va_end (args);
    assert_true (len >= 0);
    return unit_keep (text, free);
}

char *unit_repeat (const char *text, size_t len)
{
    char *all = unit_keep (malloc (len + 1), free);

    for (size_t i = 0; i < len; i++)
        all[i] = text[i % strlen (text)];
    all[len] = '\0';
    return all;
}

static double seconds_of (clockid_t clock)
{
    struct timespec now;

    clock_gettime (clock, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

double unit_clock_s (void)
{
    return seconds_of (CLOCK_MONOTONIC);
}

double unit_cpu_s (void)
{
    return seconds_of (CLOCK_THREAD_CPUTIME_ID);
}

char *unit_numbers (const long double numbers[], size_t n)
{
    char *text = unit_text ("%s", "");

    for (size_t i = 0; i < n; i++)
        text = unit_text (floorl (numbers[i]) == numbers[i] ? "%s%s%.0Lf" : "%s%s%.9Lg",
                          text,
                          i > 0 ? " " : "",
                          numbers[i]);
    return text;
}

void unit_cut (const char *row, const char *parts[], size_t n)
{
    char *rest = unit_text ("%s", row);

    for (char *at = rest; (at = strchr (at, '`'));)
        *at = '"';
    for (size_t i = 0; i < n; i++)
        parts[i] = i + 1 < n ? strsep (&rest, "|") : rest;
}

size_t unit_kept (void)
{
    return n_kept;
}

void unit_release_to (size_t n)
{
    while (n_kept > n)
        drop (&kept);
}
