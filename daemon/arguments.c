/* arguments.c - the command line of dnnestd and of dnnest-guard, and their log
 *
 * The log always goes to stderr. The service manager adds the time itself and takes the
 * level as a prefix "<3>"; a terminal or a file gets the time in front.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "arguments.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/base.h"

enum log_style {
    LOG_PLAIN,  /* "NAME: text", for a command */
    LOG_TIMED,  /* "2026-11-23T10:00:00 error: text" */
    LOG_JOURNAL /* "<3>text" */
};

/* One line of the log; a longer text is cut. */
#define LINE_MAX_BYTES 1024

static const char *log_name = "dnnestd";
static enum log_style log_style = LOG_PLAIN;
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

void dn_arguments_log (const struct dn_arguments *arguments, bool ends)
{
    log_name = arguments->options.name;
    log_level = arguments->verbose ? DN_LOG_DEBUG : DN_LOG_INFO;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes the environment */
    log_style = ends ? LOG_PLAIN : getenv ("JOURNAL_STREAM") ? LOG_JOURNAL : LOG_TIMED;
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
    if (log_style == LOG_PLAIN)
        dn_buf_add (&buf, "%s: ", log_name);
    if (log_style == LOG_JOURNAL)
        dn_buf_add (&buf, "%s", journal_prefix[level]);
    if (log_style == LOG_TIMED) {
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

/* Options of one program and of both. */
#define OPTIONS_MAX 16

/* A list, and the same for getopt_long (), behind the first n of both. Return how many
 * there are then.
 */
static int add_options (const struct dn_argument *list,
                        struct dn_argument *all,
                        struct option *options,
                        int n)
{
    for (; list->name; list++, n++) {
        all[n] = *list;
        options[n] = (struct option){list->name, list->value != NULL, NULL, 0};
    }
    return n;
}

enum dn_daemon_exit dn_arguments_read (int argc,
                                       char **argv,
                                       const struct dn_argument *own,
                                       void (*help) (void),
                                       struct dn_arguments *arguments)
{
    bool asks_help = false;
    bool asks_version = false;
    const struct dn_argument common[] = {
        {"conf", NULL, &arguments->options.daemon.conf},
        {"dry-run", &arguments->options.daemon.dry_run, NULL},
        {"once", &arguments->once, NULL},
        {"help", &asks_help, NULL},
        {"version", &asks_version, NULL},
        {0},
    };
    struct dn_argument all[OPTIONS_MAX];
    struct option options[OPTIONS_MAX + 1] = {{0}};
    int which;
    int option;

    add_options (own, all, options, add_options (common, all, options, 0));
    while (!asks_help && !asks_version) {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is no other thread yet */
        option = getopt_long (argc, argv, "Dv", options, &which);
        if (option == -1)
            break;
        if (option == '?')
            return DN_DAEMON_USAGE; /* getopt_long () has said why */
        if (option == 'v')
            arguments->verbose = true;
        else if (option == 0 && all[which].flag)
            *all[which].flag = true;
        else if (option == 0)
            *all[which].value = optarg;
    }
    if (asks_help)
        help ();
    if (asks_version)
        printf ("%s %s\n", arguments->options.name, PACKAGE_VERSION);
    arguments->done = asks_help || asks_version;
    return DN_DAEMON_DONE;
}
