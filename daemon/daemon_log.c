/* daemon_log.c - where the lines of dn_log () go
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "daemon_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* One line of the log; a longer text is cut. */
#define LINE_MAX_BYTES 1024

static const char *log_name = "dnnestd";
static enum dn_log_style log_style = DN_LOG_PLAIN;
static enum dn_log_level log_level = DN_LOG_INFO;

/* Levels of syslog. */
static const char *const journal_prefix[] = {
    [DN_LOG_ERROR] = "<3>",
    [DN_LOG_INFO] = "<6>",
    [DN_LOG_DEBUG] = "<7>",
};
static const char *const level_prefix[] = {
    [DN_LOG_ERROR] = "error: ",
    [DN_LOG_INFO] = "",
    [DN_LOG_DEBUG] = "debug: ",
};

void dn_log_begin (const char *name, enum dn_log_style style, enum dn_log_level level)
{
    log_name = name;
    log_style = style;
    log_level = level;
}

enum dn_log_style dn_log_style_of_service (void)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes the environment */
    return getenv ("JOURNAL_STREAM") ? DN_LOG_JOURNAL : DN_LOG_TIMED;
}

static void add_time (struct dn_buf *buf)
{
    const time_t now = time (NULL);
    struct tm tm;
    char text[32] = "";

    if (localtime_r (&now, &tm))
        strftime (text, sizeof (text), "%Y-%m-%dT%H:%M:%S", &tm);
    dn_buf_add (buf, "%s ", text);
}

/* Names of jobs and messages of Slurm come from outside. */
static void make_printable (char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

void dn_log (enum dn_log_level level, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    struct dn_buf buf = dn_buf_on (line, sizeof (line));
    size_t from;
    va_list args;

    if (level > log_level)
        return;
    if (log_style == DN_LOG_PLAIN)
        dn_buf_add (&buf, "%s: ", log_name);
    if (log_style == DN_LOG_JOURNAL)
        dn_buf_add (&buf, "%s", journal_prefix[level]);
    if (log_style == DN_LOG_TIMED) {
        add_time (&buf);
        dn_buf_add (&buf, "%s", level_prefix[level]);
    }
    from = buf.len;
    va_start (args, format);
    vsnprintf (line + from, sizeof (line) - from, format, args);
    va_end (args);
    make_printable (line + from);
    fprintf (stderr, "%s\n", line);
}
