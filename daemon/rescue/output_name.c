/* output_name.c - where the output of a batch job is
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rescue/output_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* slurmstepd pads numbers with zeros to at most that width. */
#define WIDTH_MAX 10

static void add_text (struct dn_buf *path, const char *text)
{
    dn_buf_text (path, text ? text : "");
}

static void add_number (struct dn_buf *path, int width, int64_t number)
{
    char digits[32];

    snprintf (digits, sizeof (digits), "%0*" PRId64, width, number);
    dn_buf_text (path, digits);
}

/* Add what 'letter' stands for; false if it stands for nothing. The script is the first
 * task on the first node.
 */
static bool add_value (const struct dn_link_job *job,
                       char letter,
                       int width,
                       struct dn_buf *path)
{
    int64_t task = job->array_task == DN_UNSET ? UINT32_MAX - 1 : job->array_task;

    switch (letter) {
    case 'A':
        add_number (path, width, job->job_id);
        return true;
    case 'J':
    case 'j':
        add_number (path, width, job->raw_id);
        return true;
    case 'a':
        add_number (path, width, task);
        return true;
    case 'b':
        add_number (path, width, task % 10);
        return true;
    case 'n':
    case 't':
        add_number (path, width, 0);
        return true;
    case 's':
        dn_buf_text (path, "batch");
        return true;
    case 'N':
        if (job->host)
            dn_buf_put (path, job->host, strcspn (job->host, "."));
        return true;
    case 'u':
        add_text (path, job->user);
        return true;
    case 'x':
        add_text (path, job->title);
        return true;
    default:
        return false;
    }
}

/* Add what the '%' at 'at' begins, and return what follows. A pattern that is none
 * stays as it is.
 */
static const char *add_pattern (const struct dn_link_job *job,
                                const char *at,
                                struct dn_buf *path)
{
    const char *end = at + 1;
    int width = 0;

    if (*end == '%') {
        dn_buf_text (path, "%");
        return end + 1;
    }
    for (; dn_is_digit (*end); end++)
        width = width > WIDTH_MAX ? width : 10 * width + *end - '0';
    if (*end != '\0'
        && add_value (job, *end, width > WIDTH_MAX ? WIDTH_MAX : width, path))
        return end + 1;
    dn_buf_put (path, at, (size_t) (end - at));
    return end;
}

/* With a backslash in it a name has no patterns, and loses all backslashes. */
static void add_plain (const char *name, struct dn_buf *path)
{
    for (; *name; name++)
        if (*name != '\\')
            dn_buf_put (path, name, 1);
}

void dn_output_name (const struct dn_link_job *job,
                     const char *pattern,
                     struct dn_buf *path)
{
    if (!pattern || pattern[0] == '\0')
        pattern = job->array_task == DN_UNSET ? "slurm-%j.out" : "slurm-%A_%a.out";
    if (pattern[0] != '/') {
        add_text (path, job->work_dir);
        dn_buf_text (path, "/");
    }
    if (strchr (pattern, '\\')) {
        add_plain (pattern, path);
        return;
    }
    while (*pattern != '\0') {
        size_t len = strcspn (pattern, "%");

        dn_buf_put (path, pattern, len);
        pattern += len;
        if (*pattern == '%')
            pattern = add_pattern (job, pattern, path);
    }
}
