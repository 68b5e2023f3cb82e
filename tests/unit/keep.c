/* keep.c - what a test has made and keeps until it ends
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

/* What is kept, in the order of unit_keep (). */
static struct kept {
    void *thing;
    void (*release) (void *thing);
} * kept;
static size_t n_kept;

struct dn_err unit_err;

void *unit_keep (void *thing, void (*release) (void *thing))
{
    kept = realloc (kept, (n_kept + 1) * sizeof (*kept));
    assert_non_null (kept);
    kept[n_kept++] = (struct kept){thing, release};
    return thing;
}

void unit_release (void *thing)
{
    size_t i = n_kept;

    while (i > 0 && kept[i - 1].thing != thing)
        i--;
    assert_true (i > 0);
    kept[i - 1].release (thing);
    memmove (&kept[i - 1], &kept[i], (n_kept-- - i) * sizeof (*kept));
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
    while (n_kept > n) {
        n_kept--;
        kept[n_kept].release (kept[n_kept].thing);
    }
    if (n == 0) {
        free (kept);
        kept = NULL;
    }
}
