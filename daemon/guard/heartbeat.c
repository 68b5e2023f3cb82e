/* heartbeat.c - the file 'guard' of StateDir: that the guard is alive, and the tallies
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "guard/heartbeat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/messages.h"
#include "host/files.h"
#include "output.h"

/* A line of 20 jobs has some 250 bytes. */
#define FILE_MAX (DN_GUARDED_USERS_MAX * 512)

static void path_in (const struct dn_daemon *d, char path[DN_SITE_PATH_MAX + 16])
{
    snprintf (path, DN_SITE_PATH_MAX + 16, "%s/" DN_GUARDED_FILE, d->site->state_dir);
}

static struct dn_guarded *read_left (const struct dn_daemon *d)
{
    char path[DN_SITE_PATH_MAX + 16];
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_guarded *guarded = NULL;
    struct dn_err err = {0};

    path_in (d, path);
    if (access (path, F_OK) < 0)
        return NULL;
    if (dn_file_read (path, FILE_MAX, &text, &err) == 0)
        guarded = dn_guarded_read (dn_span_of (text), path, &err);
    if (!guarded)
        dn_log (DN_LOG_ERROR, dn_say_guard_counts_lost, err.text);
    return guarded;
}

int dn_heartbeat_begin (struct dn_heartbeat *heartbeat,
                        const struct dn_daemon *d,
                        struct dn_err *err)
{
    if (heartbeat->guarded)
        return 0;
    heartbeat->guarded = read_left (d);
    if (!heartbeat->guarded)
        heartbeat->guarded = calloc (1, sizeof (*heartbeat->guarded));
    if (!heartbeat->guarded)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "guard");
    return 0;
}

int dn_heartbeat_note (struct dn_heartbeat *heartbeat,
                       int64_t user_id,
                       int64_t job_id,
                       bool needed,
                       struct dn_err *err)
{
    return dn_guarded_note (heartbeat->guarded, user_id, job_id, needed, err);
}

int dn_heartbeat_write (struct dn_heartbeat *heartbeat,
                        const struct dn_daemon *d,
                        struct dn_err *err)
{
    dn_cleanup (dn_put_text_free) struct dn_put_text text = {.len = 0};

    heartbeat->guarded->time_s = d->now_s;
    heartbeat->guarded->interval_s = (int64_t) d->site->guard_interval_s;
    if (dn_guarded_write (heartbeat->guarded, dn_put_text_add, &text) != 0)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "guard");
    return dn_output_write (&text, d, DN_GUARDED_FILE, err) < 0 ? -1 : 0;
}

void dn_heartbeat_free (struct dn_heartbeat *heartbeat)
{
    dn_guarded_free (heartbeat->guarded);
    heartbeat->guarded = NULL;
}
